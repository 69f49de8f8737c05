//! A record with its JSON text, which includes fields unknown to this version, and its hash.
//!
//! A [`Run`] has the fields of this version. A record written by a later version may have more, at
//! any level, and must be passed on unchanged. A [`Document`] therefore keeps the text of every
//! member next to the parsed `Run`. A store splits it into a body of text and the long parts
//! (metrics, series, histograms), which it packs. [`Document::body`] keeps a long part as text if
//! `Run` does not represent all of it, and [`Document::join`] reassembles the record.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::Run;
use crate::canonical::{canonical, put_member, says_nothing};

/// Members excluded from the hash: the number is local to one store, and the origin describes how
/// another tool's result was read.
const OUTSIDE: [&str; 2] = ["number", "origin"];

const EMPTY: &str = "[]";

/// Identity of a record's content: SHA-256 of its canonical JSON without `number` and `origin`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordHash(pub [u8; 32]);

impl fmt::Display for RecordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RecordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A record and the text it was read from.
#[derive(Clone, Debug)]
pub struct Document {
    run: Run,
    members: Members,
}

impl Document {
    /// Reads a record. Fails if the text is not JSON or not a record.
    pub fn parse(json: &str) -> serde_json::Result<Document> {
        Ok(Document { run: Run::parse(json)?, members: serde_json::from_str(&compact(json))? })
    }

    /// Creates the document of a record of this version.
    pub fn from_run(run: Run) -> serde_json::Result<Document> {
        let members = serde_json::from_str(&serde_json::to_string(&run)?)?;
        Ok(Document { run, members })
    }

    /// Reassembles a record from its body and its `Run`. The long parts missing from the body, the
    /// number and `cut_short` come from the `Run`.
    pub fn join(body: &str, run: Run) -> serde_json::Result<Document> {
        let mut members: Members = serde_json::from_str(body)?;
        for (name, json) in long_parts(&run)? {
            if json != EMPTY && members.get(name).is_none_or(|own| own == EMPTY) {
                members.set(name, json);
            }
        }
        members.set("number", serde_json::to_string(&run.number)?);
        members.set("cut_short", serde_json::to_string(&run.cut_short)?);
        Ok(Document { run, members })
    }

    /// The fields of this version.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The text of a member; `None` if the record does not have it.
    pub fn member(&self, name: &str) -> Option<&str> {
        self.members.get(name)
    }

    /// The record as one line of JSON, with its members in their original order.
    pub fn text(&self) -> serde_json::Result<String> {
        self.members.text()
    }

    /// [`Document::text`] with its number replaced by the one a store assigned.
    pub fn numbered(&self, number: Option<i64>) -> serde_json::Result<String> {
        let mut members = self.members.clone();
        members.set("number", serde_json::to_string(&number)?);
        members.text()
    }

    /// The text without the number. Metrics, series and histograms are included only if
    /// [`Document::run`] does not represent all of them.
    pub fn body(&self) -> serde_json::Result<String> {
        let mut members = self.members.clone();
        for (name, json) in long_parts(&self.run)? {
            let Some(own_json) = members.get(name) else { continue };
            if canonical(own_json)? == canonical(&json)? {
                members.set(name, EMPTY.into());
            }
        }
        members.set("number", serde_json::to_string(&None::<i64>)?);
        members.text()
    }

    /// The hash of its content.
    pub fn hash(&self) -> serde_json::Result<RecordHash> {
        let mut members: Vec<_> = self.members.0.iter().collect();
        members.retain(|(name, _)| !OUTSIDE.contains(&name.as_str()));
        members.sort_by(|a, b| a.0.cmp(&b.0));
        let mut text = String::from("{");
        for (name, value) in members {
            let value = canonical(value)?;
            if !says_nothing(&value) {
                put_member(&mut text, name, &value)?;
            }
        }
        text.push('}');
        Ok(RecordHash(Sha256::digest(text.as_bytes()).into()))
    }
}

/// The long parts of a record, as JSON: metrics, series and histograms.
fn long_parts(run: &Run) -> serde_json::Result<[(&'static str, String); 3]> {
    Ok([
        ("metrics", serde_json::to_string(&run.metrics)?),
        ("series", serde_json::to_string(&run.series)?),
        ("latencies", serde_json::to_string(&run.latencies)?),
    ])
}

/// The members of an object in order, each with its JSON.
#[derive(Clone, Debug, Default)]
struct Members(Vec<(String, String)>);

impl Members {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, json)| json.as_str())
    }

    /// Replaces or adds a member.
    fn set(&mut self, name: &str, json: String) {
        match self.0.iter_mut().find(|(own, _)| own == name) {
            Some((_, own)) => *own = json,
            None => self.0.push((name.to_string(), json)),
        }
    }

    fn text(&self) -> serde_json::Result<String> {
        let bytes = self.0.iter().map(|(name, json)| name.len() + json.len() + 4).sum();
        let mut text = String::with_capacity(bytes);
        text.push('{');
        self.0.iter().try_for_each(|(name, json)| put_member(&mut text, name, json))?;
        text.push('}');
        Ok(text)
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Members::default();
                while let Some((name, json)) = map.next_entry::<String, Box<RawValue>>()? {
                    members.set(&name, Box::<str>::from(json).into_string());
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// JSON on one line, without white space outside strings.
fn compact(json: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    json.chars()
        .filter(|&letter| {
            match letter {
                _ if escaped => escaped = false,
                '\\' => escaped = inside,
                '"' => inside = !inside,
                _ => {}
            }
            inside || !matches!(letter, ' ' | '\t' | '\n' | '\r')
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Answer, Better, Chart, ChartKind, Confidence, Covers, Finding, FindingKind, Histogram,
        LatencyProfile, Level, Limit, Metric, Origin, Plan, Safety, Series, Stamp, Tile, Unit,
        VerdictKind,
    };

    fn sample() -> Run {
        let origin = Origin { start_known: true, ..Origin::imported(None, "a file") };
        let mut run = Run::elsewhere("0.1.0", "quick", origin);
        (run.id, run.started) = ("01A".into(), "2026-11-21T14:30:00Z".into());
        run.metrics = vec![Metric::single("iops", Unit::Iops, 1.5)];
        let mut series = Series::new("a", 0, 0);
        series.push(1, &[("read", Unit::BytesPerSecond, Some(2.5)), ("x", Unit::Number, None)]);
        run.series = vec![series];
        let mut service = Histogram::default();
        [5, 70, 1000].into_iter().for_each(|ns| service.record(ns));
        run.latencies = vec![LatencyProfile::new("a", "read", service)];
        run
    }

    fn document(run: &Run) -> Document {
        Document::from_run(run.clone()).expect("plain data")
    }

    fn parsed(json: &str) -> Document {
        Document::parse(json).unwrap_or_else(|e| panic!("{json}: {e}"))
    }

    fn hash(document: &Document) -> String {
        document.hash().expect("JSON").to_string()
    }

    #[test]
    fn the_hash_covers_only_the_content() {
        let run = sample();
        let own = hash(&document(&run));
        assert_eq!(own.len(), 64);
        let elsewhere = Run { number: Some(7), origin: None, ..run.clone() };
        assert_eq!(hash(&document(&elsewhere)), own, "number and origin are excluded");
        let pretty = serde_json::to_string_pretty(&run).expect("plain data");
        assert_eq!(hash(&parsed(&pretty)), own, "white space is ignored");
        let mut forged = run.clone();
        forged.metrics[0].value = Some(1.5000000000000002);
        assert_ne!(hash(&document(&forged)), own);
        let mut forged = run;
        forged.latencies[0].service.record(5);
        assert_ne!(hash(&document(&forged)), own);
    }

    #[test]
    fn the_hash_of_a_known_record_is_stable() {
        // Written by hand. If this value changed, every carried record would become a conflict.
        let json = r#"{"schema":"ssdyno.run/1","id":"01A","started":"2026-11-21T14:30:00Z",
            "seconds":1.0,"method":"io","target":{"spec":".","kind":"null","path":null,"bytes":null,
            "drive":null,"filesystem":null,"direct":null},"environment":{"ssdyno":"0.1.0",
            "host":null,"board":null,"os":null,"kernel":null,"cpu":{"model":null,"threads":null,
            "governor":null},"memory_bytes":null,"hypervisor":null,"load":0.5,"backend":null,
            "clock":null,"instrument_ns_per_io":null},"plan":null,"state_before":"unknown",
            "state_after":"unknown","metrics":[],"series":[],"verdicts":[],"warnings":[],
            "errors":[],"complete":true}"#;
        let canonical = concat!(
            r#"{"complete":true,"environment":{"load":0.5,"ssdyno":"0.1.0"},"id":"01A","#,
            r#""method":"io","schema":"ssdyno.run/1","seconds":1,"#,
            r#""started":"2026-11-21T14:30:00Z","state_after":"unknown","#,
            r#""state_before":"unknown","target":{"kind":"null","spec":"."}}"#
        );
        let expected = RecordHash(Sha256::digest(canonical.as_bytes()).into());
        assert_eq!(parsed(json).hash().expect("JSON"), expected);
        let typed = document(parsed(json).run());
        assert_eq!(typed.hash().expect("JSON"), expected, "new empty fields do not count");
    }

    #[test]
    fn fields_of_a_later_version_are_kept_at_every_level() {
        let mut value = serde_json::to_value(sample()).expect("plain data");
        value["later"] = serde_json::json!({ "b": [1, null], "a": 1e-7 });
        value["target"]["later"] = "x".into();
        value["metrics"][0]["later"] = 7.into();
        value["latencies"][0]["service"]["later"] = true.into();
        let line = value.to_string();
        let carried = parsed(&line);
        assert_eq!(carried.text().expect("JSON"), line);
        let body = carried.body().expect("JSON");
        assert!(body.contains(r#""later":7"#) && body.contains(r#""series":[]"#), "{body}");
        let joined = Document::join(&body, carried.run().clone()).expect("JSON");
        assert_eq!(hash(&joined), hash(&carried));
        let again: serde_json::Value =
            serde_json::from_str(&joined.text().expect("JSON")).expect("JSON");
        assert_eq!(again, value);
        assert_ne!(
            hash(&document(carried.run())),
            hash(&carried),
            "the run alone lacks the fields"
        );
    }

    #[test]
    fn kinds_of_a_later_version_are_read_and_kept() {
        let bars = Chart::bars("t", Unit::Iops).source("a", "a");
        let metric = Metric::single("a", Unit::Iops, 1.0);
        let limit =
            Limit { metric: "a".into(), by: VerdictKind::Heat, confidence: Confidence::Likely };
        let answer = Answer {
            tiles: vec![Tile::from_metric("a", &metric, Better::Higher)],
            charts: vec![bars],
            limits: vec![limit],
            ..Answer::new("Which?", "This", Stamp::Believable)
        };
        let run = Run { answer: Some(answer), ..sample() };
        let mut value = serde_json::to_value(run).expect("plain data");
        let answer = &mut value["answer"];
        answer["charts"][0]["kind"] = "violin".into();
        answer["charts"][0]["x"] = "power_state".into();
        answer["tiles"][0]["better"] = "nearer_to_one".into();
        answer["limits"][0]["confidence"] = "proved".into();
        let line = value.to_string();
        let carried = parsed(&line);
        assert_eq!(carried.text().expect("JSON"), line);
        // Even the typed record keeps the names.
        assert_eq!(hash(&document(carried.run())), hash(&carried));
        let kept = carried.run().answer.as_ref().expect("an answer");
        assert_eq!(kept.charts[0].kind, ChartKind::Other("violin".into()));
        assert_eq!(kept.charts[0].x.name(), "power_state");
        let body = carried.body().expect("JSON");
        let joined = Document::join(&body, carried.run().clone()).expect("JSON");
        assert_eq!(hash(&joined), hash(&carried));
    }

    #[test]
    fn stamps_of_a_later_version_are_read_and_kept() {
        let answer = Answer::new("Which?", "This", Stamp::Believable);
        let value = serde_json::to_value(Run { answer: Some(answer), ..sample() }).expect("data");
        let later = [
            (r#""proved""#, "proved"),
            (r#"{"after_repair":["governor",{"z":1,"a":null}]}"#, "after_repair"),
            (r#"{"reservations":[{"kind":"governor","weight":0.1}]}"#, "reservations"),
            (r#"{"not_the_drive":["served-from-ram"]}"#, "not_the_drive"),
            (r#"{"level":2,"by":"hand"}"#, ""),
            ("7", ""),
            ("null", ""),
        ];
        for (stamp, name) in later {
            let line = value
                .to_string()
                .replace(r#""stamp":"believable""#, &format!(r#""stamp":{stamp}"#));
            let carried = parsed(&line);
            assert_eq!(carried.text().expect("JSON"), line);
            let kept = &carried.run().answer.as_ref().expect("an answer").stamp;
            assert_eq!((kept.name(), kept.level()), (name, Level::Warn), "{stamp}");
            let typed = document(carried.run());
            assert_eq!(hash(&typed), hash(&carried), "{stamp}: even the typed record keeps it");
            let body = carried.body().expect("JSON");
            let joined = Document::join(&body, carried.run().clone()).expect("JSON");
            assert_eq!(joined.member("answer"), carried.member("answer"), "{stamp}");
        }
        for known in [
            Stamp::Believable,
            Stamp::Reservations(vec![FindingKind::Governor]),
            Stamp::NotTheDrive(FindingKind::Other("later".into())),
        ] {
            let json = serde_json::to_string(&known).expect("plain data");
            assert_eq!(serde_json::from_str::<Stamp>(&json).expect("a stamp"), known);
            assert!(json.contains(known.name()), "{json}");
        }
    }

    #[test]
    fn names_of_a_later_version_are_read_and_kept_everywhere() {
        let mut run = sample();
        run.metrics[0].covers = Some(Covers::Mean);
        run.warnings = vec![Finding::new(FindingKind::Governor, Level::Warn, "slow")];
        run.plan = Some(Plan {
            safety: Safety::Reads,
            seconds: 1.0,
            write_bytes_expected: None,
            range: None,
            write_bytes_max: 0,
            region_bytes: 0,
            destroys: None,
            steps: Vec::new(),
            workloads: Vec::new(),
            command: Vec::new(),
        });
        let value = serde_json::to_value(run).expect("plain data");
        let places = [
            "/metrics/0/unit",
            "/metrics/0/covers",
            "/series/0/columns/0/unit",
            "/state_before",
            "/state_after",
            "/warnings/0/level",
            "/plan/safety",
            "/target/kind",
            "/origin/kind",
        ];
        let long = "a-name-that-is-longer-than-a-word-has-room-for";
        for (place, name) in places.iter().flat_map(|place| [(place, "later"), (place, long)]) {
            let mut value = value.clone();
            *value.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = name.into();
            let line = value.to_string();
            let carried = parsed(&line);
            assert_eq!(carried.text().expect("JSON"), line, "{place}");
            if name != long {
                let typed = document(carried.run());
                assert_eq!(hash(&typed), hash(&carried), "{place}: even the typed record keeps it");
            }
            let body = carried.body().expect("JSON");
            let joined = Document::join(&body, carried.run().clone()).expect("JSON");
            assert_eq!(hash(&joined), hash(&carried), "{place}");
            let again = joined.text().expect("JSON");
            assert!(again.contains(&format!("\"{name}\"")), "{place}: {again}");
        }
    }

    #[test]
    fn body_and_long_parts_make_up_the_record() {
        let whole = document(&sample());
        let body = whole.body().expect("JSON");
        for part in ["metrics", "series", "latencies"] {
            assert!(body.contains(&format!("\"{part}\":[]")), "{body}");
        }
        let joined = Document::join(&body, sample()).expect("JSON");
        assert_eq!(joined.text().expect("JSON"), whole.text().expect("JSON"));
    }

    #[test]
    fn white_space_is_removed_only_outside_strings() {
        assert_eq!(compact("{ \"a b\\\" c\" : [ 1 ,\n2 ] }"), "{\"a b\\\" c\":[1,2]}");
        assert_eq!(compact("\"\\\\\" \" \""), "\"\\\\\"\" \"");
    }
}
