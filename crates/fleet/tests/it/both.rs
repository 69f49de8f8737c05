//! The whole way: jobs, records, refusals, and the loss of parts.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use async_nats::jetstream::AckKind;
use fleet::collect::{Collector, Posted};
use fleet::envelope::{CollectorReply, Envelope, LetterKind};
use fleet::hub::Hub;
use fleet::key::{AgentKey, Enrolment};
use futures_util::StreamExt as _;
use record::{Document, Metric, Run, Target, TargetKind, Unit};

use crate::fleet_on_loopback::{AS_NOBODY, IN_BACKGROUND, LoopDevice, Loopback, command};

const CAMPAIGN: &str = "name = 'trial'\npresets = ['sd-class2', 'usb-16k']\nmethods = ['quick']\n\
                        seeds = '1-3'\noptions = { time = '1s' }\n";

const DOCUMENT: &str = "
title = 'two experiments'
about = ''
[[experiment]]
id = 'fill, rest, read'
drive = 'sd-class2?host=pi5'
steps = [
  { name = 'fill', io = '--rw write --bs 1M --size 64MiB --coverage 1' },
  { idle = '1m' },
  { name = 'r', io = '--rw randread --bs 4k --size 64MiB --time 1s' },
]
[[experiment]]
id = 'method'
drive = 'usb-16k'
method = 'mark'
options = { size = '64MiB' }
[[figure]]
what = 'reads after a rest'
experiment = 'fill, rest, read'
read = 'r.iops'
published = 1000
unit = 'IOPS'
tolerance = 1
source = 'none'
";

pub const MACHINE: &str = "00112233445566778899aabbccddeeff";

/// A record of a real drive, measured by a machine.
pub fn record_of(machine: &str, value: f64) -> Document {
    let target = Target { kind: TargetKind::Device, spec: "/dev/x".into(), ..Target::default() };
    let mut run = Run { complete: true, ..Run::new("quick", target) };
    (run.id, run.started) = (format!("01{value}"), "2026-11-29T10:00:00Z".into());
    run.environment.machine_id = Some(machine.into());
    run.metrics = vec![Metric::single("seq-read-1MiB-q8", Unit::BytesPerSecond, value)];
    Document::from_run(run).expect("plain data")
}

pub fn sealed(key: &AgentKey, document: &Document) -> Vec<u8> {
    let hash = document.hash().expect("JSON").0;
    Envelope::seal(key, LetterKind::Record, hash, &document.text().expect("JSON")).to_bytes()
}

pub fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

/// Sends a letter as the agent of [`MACHINE`].
pub async fn send(agent: &Hub, letter: Vec<u8>) -> CollectorReply {
    let request = agent.client.request(format!("record.{MACHINE}"), letter.into());
    let reply = request.await.expect("a reply");
    serde_json::from_slice(&reply.payload).expect("a reply")
}

#[test]
fn a_campaign_over_agents_that_are_lost_gives_the_records_of_one_process() {
    let Some(mut trial) = Loopback::up() else { return };
    trial.start_agent("second", &["--label", "rack=3"]);
    std::fs::write(trial.path("campaign.toml"), CAMPAIGN).expect("written");
    trial.ask(&[&trial.word("campaign.toml")]);
    trial.kill_agent();
    let text = trial.ask(&[&trial.word("campaign.toml"), "--wait"]);
    assert!(text.contains("has 6 records"), "{text}");
    let out = trial.path("out");
    let words = format!(
        "run sim:sd-class2 sim:usb-16k -m quick --seeds 1-3 --time 1s --tag campaign=trial --quiet --out {}",
        out.display()
    );
    let alone = trial.hashes_of(&words.split(' ').collect::<Vec<_>>(), &out);
    let central = run(async { trial.central().await.hashes(Some("campaign=trial")).await });
    let central: BTreeSet<Vec<u8>> = central.expect("hashes").into_iter().collect();
    assert_eq!(central, alone);
    replicate_over_agents(&trial);
    let parquet = trial.path("central.parquet");
    for _ in 0..2 {
        let hub = trial.word("trial/hub.toml");
        let output = trial.fleet(&["parquet", "--hub", &hub, &trial.word("central.parquet")]);
        assert!(output.status.success(), "{output:?}");
    }
    let bytes = std::fs::read(parquet).expect("a file");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{} bytes", bytes.len());
    assert!(trial.down().status.success());
    assert!(!trial.path("trial").exists());
}

/// The experiments of a document over agents have the records of one process, and its figures.
fn replicate_over_agents(trial: &Loopback) {
    let [campaign, document, export] =
        ["replicate.toml", "document.toml", "records"].map(|name| trial.path(name));
    std::fs::write(&document, DOCUMENT).expect("written");
    std::fs::write(&campaign, "name = 'both'\ndocument = 'document.toml'\n").expect("written");
    let text = trial.ask(&[&trial.word("replicate.toml"), "--wait"]);
    assert!(text.contains("has 2 records"), "{text}");
    let records = trial.ask(&["export", "--tag", "campaign=both"]);
    std::fs::write(&export, records).expect("written");
    let (out, document) = (trial.path("experiments"), trial.word("document.toml"));
    let replicate = ["replicate", &document, "--tag", "campaign=both", "--quiet", "--out"];
    let alone = trial.hashes_of(&[&replicate[..], &[&trial.word("experiments")]].concat(), &out);
    let central = run(async { trial.central().await.hashes(Some("campaign=both")).await });
    let central: BTreeSet<Vec<u8>> = central.expect("hashes").into_iter().collect();
    assert_eq!(central, alone);
    let figures = ["experiments", "records"].map(|records| {
        let words = ["replicate", &document, "--json", "--from", &trial.word(records)];
        let output = Command::new(command()).args(words).output().expect("started");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        json["figures"][0]["here"].as_f64().expect("a figure")
    });
    assert!(figures[0] > 0.0 && figures[0] == figures[1], "{figures:?}");
}

#[test]
fn runs_that_end_every_agent_are_given_up_and_told() {
    let Some(trial) = Loopback::up() else { return };
    let file = trial.path("campaign.toml");
    std::fs::write(&file, format!("{CAMPAIGN}on = ['rack=9']\n")).expect("written");
    run(async {
        let hub = trial.hub();
        let campaign = fleet::ask::campaign(&hub, &file).await.expect("asked");
        let agent = Hub::connect(&hub, "test").await.expect("connected");
        let pools = agent.pools().await.expect("pools");
        let labels = campaign.labels().expect("labels");
        let (pool, _) = pools.iter().find(|(_, of_pool)| *of_pool == labels).expect("its pool");
        let jobs = agent.pool_jobs(pool).await.expect("a queue");
        assert_eq!(agent.give_up(&labels).await.expect("an answer"), 0, "they wait");
        // An agent asks again after each of them; NATS counts only then.
        let ending = async {
            loop {
                let batch = jobs.batch().max_messages(100).expires(Duration::from_secs(1));
                let mut batch = batch.messages().await.expect("messages");
                while let Some(message) = batch.next().await {
                    let message = message.expect("a run");
                    message.ack_with(AckKind::Nak(None)).await.expect("put back");
                }
            }
        };
        let error = tokio::select! {
            ended = fleet::ask::wait(&hub, &campaign) => ended.expect_err("nothing was measured"),
            () = ending => unreachable!(),
        };
        assert!(error.to_string().starts_with("6 runs were begun 10 times"), "{error}");
        assert_eq!(agent.give_up(&labels).await.expect("an answer"), 0, "told once");
    });
}

#[test]
fn what_is_forged_is_refused_and_what_is_repeated_is_there_once() {
    let Some(trial) = Loopback::up() else { return };
    let stranger = AgentKey::from_secret(&[6; 32]);
    let (key, config) = run(trial.enrol(5, MACHINE));
    let enrolment = Enrolment { key: key.public(), machine: MACHINE.into(), host: "lab".into() };
    let own = record_of(MACHINE, 12.0);
    let altered = {
        let hash = own.hash().expect("JSON").0;
        let text = own.text().expect("JSON").replace("12.0", "99.0");
        Envelope::seal(&key, LetterKind::Record, hash, &text).to_bytes()
    };
    let letters = [
        sealed(&key, &own),
        altered,
        sealed(&stranger, &own),
        sealed(&key, &record_of("ff", 13.0)),
        b"nonsense".to_vec(),
        sealed(&key, &own),
    ];
    run(async {
        let central = trial.central().await;
        let other = Enrolment { machine: "ff".repeat(16), ..enrolment.clone() };
        central.enrol(&other).await.expect_err("the key is that of another machine");
        let agent = Hub::stay_as(&config, MACHINE).await.expect("connected");
        let mut replies = Vec::new();
        for letter in &letters {
            replies.push(send(&agent, letter.clone()).await);
        }
        let committed = CollectorReply::Committed(own.hash().expect("JSON").to_string());
        assert_eq!((&replies[0], &replies[5]), (&committed, &committed));
        for reply in &replies[1..5] {
            assert!(matches!(reply, CollectorReply::Refused(_)), "{reply:?}");
        }
        // The same letter twice in one transaction, too.
        let mut collector =
            Collector::connect(trial.hub().postgres().expect("words")).await.expect("a collector");
        let twice = sealed(&key, &record_of(MACHINE, 14.0));
        let twice = Posted { sender: MACHINE, bytes: &twice };
        collector.collect(&[twice, twice]).await.expect("collected");
        assert_eq!(central.hashes(None).await.expect("hashes").len(), 2);
        let medians = central.medians("seq-read-1MiB-q8").await.expect("medians");
        assert_eq!((medians.len(), medians[0].runs, medians[0].median), (1, 2, 13.0));
    });
    let refusals = trial.ask(&["refusals"]);
    for reason in ["altered", "unknown key", "measured by machine ff", "not an envelope"] {
        assert!(refusals.contains(reason), "{reason}: {refusals}");
    }
}

#[test]
fn nobody_destroys_without_the_host_and_nobody_enters_without_a_password() {
    let Some(mut trial) = Loopback::up() else { return };
    let drive = trial.word("drive.img");
    std::fs::write(&drive, vec![0; 64 << 20]).expect("a file");
    trial.start_agent("host", &["--target", &drive, "--label", "rack=3"]);
    trial.wait_for(&["agents"], "rack=3");
    let on = ["--on", "rack=3", "--option", "time=1s", "--option", "size=16MiB"];
    trial.ask(&[&["run", &drive, "--destroy", "67108864"], &on[..]].concat());
    let text = trial.wait_for(&["refusals"], "grants nothing");
    assert!(text.contains("host"), "{text}");
    // Without a destruction, the job is measured, and its record arrives.
    trial.ask(&[&["run", &drive, "--tag", "here=yes"], &on[..]].concat());
    trial.wait_for(&["jobs"], "measured");
    let records = run(async { trial.central().await.hashes(Some("here=yes")).await });
    assert_eq!(records.expect("hashes").len(), 1);
    run(async {
        for password in ["", "wrong"] {
            let mut hub = trial.hub();
            hub.password = password.into();
            assert!(Hub::connect(&hub, "test").await.is_err(), "NATS with '{password}'");
            let words = trial.hub().postgres.expect("words");
            let words = words
                .split(' ')
                .map(|word| if word.starts_with("password=") { "password=wrong" } else { word });
            let words: Vec<&str> = words.collect();
            let central = fleet::central::Central::connect(&words.join(" ")).await;
            assert!(central.is_err(), "PostgreSQL with a wrong password");
        }
    });
    assert!(trial.down().status.success());
}

#[test]
fn whoever_starts_a_trial_and_however_its_end_leaves_nothing() {
    for starter in [IN_BACKGROUND, AS_NOBODY] {
        let Some(trial) = Loopback::up_by(starter) else { continue };
        let text = std::fs::read_to_string(trial.path("trial/servers.toml")).expect("servers");
        let ports: Vec<u16> = text
            .lines()
            .filter(|line| line.contains("port"))
            .map(|line| line.split(" = ").nth(1).expect("a value").parse().expect("a port"))
            .collect();
        assert_eq!(ports.len(), 2, "{text}");
        for port in &ports {
            TcpStream::connect(("127.0.0.1", *port)).expect("it listens");
        }
        assert!(trial.processes().len() >= 4, "{:?}", trial.processes());
        let down = trial.down();
        assert!(down.status.success(), "{down:?}");
        assert_eq!(trial.processes(), [""; 0]);
        assert!(!trial.path("trial").exists());
        for port in ports {
            assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "port {port} is still open");
        }
    }
}

#[test]
fn a_granted_destruction_is_done_and_the_one_beside_it_is_refused() {
    let Some(mut trial) = Loopback::up() else { return };
    let devices = [64 << 20, 48 << 20].map(|bytes| LoopDevice::over(&trial, bytes));
    let [Ok(granted), Ok(other)] = &devices else {
        println!("skipped: no loop device: {:?}", devices.iter().find_map(|d| d.as_ref().err()));
        return;
    };
    let grants = trial.path("grants.toml");
    let text = "[[drive]]\nserial = '67108864'\nbytes_a_day = '1TB'\nuntil = 2999-12-31\n";
    std::fs::write(&grants, text).expect("written");
    let words = ["--target", &granted.path, "--target", &other.path];
    let more = ["--grants", &trial.word("grants.toml"), "--label", "rack=3"];
    trial.start_agent("host", &[&words[..], &more[..]].concat());
    trial.wait_for(&["agents"], "rack=3");
    let options = ["--option", "time=1s", "--tag", "here=yes"];
    let ask = |device: &LoopDevice, serial: &str| {
        let text = trial.ask(&[&["run", &device.path, "--destroy", serial], &options[..]].concat());
        text.split_whitespace().next().expect("an id").to_string()
    };
    let ids = [ask(other, "50331648"), ask(granted, "67108864"), ask(other, "67108864")];
    trial.wait_for(&["jobs", &ids[0]], "grants nothing for drive 50331648");
    trial.wait_for(&["jobs", &ids[1]], "measured");
    // Another drive than that of the grant: the guard of the command.
    trial.wait_for(&["jobs", &ids[2]], "refused");
    assert!(granted.written() > 0 && other.written() == 0, "{}", other.written());
    // From now on, others than root can write there.
    std::fs::set_permissions(&grants, Permissions::from_mode(0o666)).expect("a mode");
    let last = ask(granted, "67108864");
    trial.wait_for(&["jobs", &last], "others may write");
    let records = run(async {
        let central = trial.central().await;
        let hashes = central.hashes(Some("here=yes")).await.expect("hashes");
        assert_eq!(hashes.len(), 1);
        central.packed(&hashes[0]).await.expect("read").expect("a record")
    });
    let record = fleet::envelope::inflate(&records).expect("text");
    let record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    assert_eq!(record["plan"]["safety"], "destroys");
}
