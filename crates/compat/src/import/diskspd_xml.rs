//! diskspd's XML (`-Rxml`). Only the elements with figures are read, by name; a result is one
//! `<Results>`. Several `<Thread>`s and targets add up.

use record::Run;

use super::diskspd::Body;
use super::found::run;
use super::lines::{ImportError, Lines};

/// The longest result, lines. Arbitrary; one has about ten lines per thread and target.
const LINES_MAX: usize = 1_000_000;

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| line.trim_start().starts_with("<Results>"))
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let mut text = String::new();
    for _ in 0..LINES_MAX {
        let Some(line) = lines.next() else { break };
        text.push_str(line);
        text.push('\n');
        if line.contains("</Results>") {
            break;
        }
    }
    if !text.contains("</Results>") {
        return Err(lines.wrong_at(begin, "diskspd's XML ends before </Results>"));
    }
    let mut run = run("diskspd", "diskspd", None, begin);
    let reason = "diskspd's XML has no results";
    body(&text, &mut run).ok_or_else(|| lines.wrong_at(begin, reason))?.enter(&mut run);
    Ok(vec![run])
}

fn body(text: &str, run: &mut Run) -> Option<Body> {
    let (profile, results) = text.split_once("</Profile>")?;
    if let Some(origin) = &mut run.origin {
        origin.version = element(profile, "Version").map(String::from);
    }
    let mut body = Body::default();
    run.target.spec = element(profile, "Path").unwrap_or_default().to_string();
    let is_cached = element(profile, "DisableOSCache") != Some("true");
    run.target.direct = Some(!is_cached);
    // Several time spans are several tests, which do not add up.
    let [seconds] = elements(results, "TestTimeSeconds")[..] else { return None };
    body.seconds = Some(seconds).filter(|seconds| seconds.is_finite() && *seconds > 0.0)?;
    body.shape.block_bytes = value(profile, "BlockSize").map(|bytes| bytes as u64);
    body.shape.random = value(profile, "Random").is_some_and(|bytes| bytes > 0.0);
    let writes = value(profile, "WriteRatio").unwrap_or(0.0);
    body.shape.mixed = writes > 0.0 && writes < 100.0;
    body.shape.depth = value(profile, "RequestCount").map(|depth| depth as u32);
    body.shape.jobs = value(results, "ThreadCount").map_or(1, |threads| threads as u64);
    for (i, direction) in ["Read", "Write"].into_iter().enumerate() {
        let [counts, bytes] =
            ["Count", "Bytes"].map(|figure| elements(results, &format!("{direction}{figure}")));
        if !counts.is_empty() {
            body.totals[i] = Some((bytes.iter().sum(), counts.iter().sum()));
        }
        body.means_ms[i] = value(results, &format!("Average{direction}Milliseconds"));
    }
    for bucket in results.split("<Bucket>").skip(1) {
        let bucket = bucket.split("</Bucket>").next().unwrap_or(bucket);
        let share = value(bucket, "Percentile")? / 100.0;
        for (i, direction) in ["Read", "Write"].into_iter().enumerate() {
            let Some(ms) = value(bucket, &format!("{direction}Milliseconds")) else { continue };
            if share > 0.0 {
                body.percentiles[i].push((share, ms * 1e6));
            } else {
                body.min_ms[i] = Some(ms);
            }
            if share >= 1.0 {
                body.max_ms[i] = Some(ms);
            }
        }
    }
    body.totals.iter().any(Option::is_some).then_some(body)
}

/// The text of the first element of that name.
fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inside, _)| inside.trim())
}

fn value(text: &str, name: &str) -> Option<f64> {
    element(text, name)?.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The values of all elements of that name.
fn elements(text: &str, name: &str) -> Vec<f64> {
    let opening = format!("<{name}>");
    let parts = text.split(opening.as_str()).skip(1);
    parts.filter_map(|part| part.split('<').next()?.trim().parse().ok()).collect()
}
