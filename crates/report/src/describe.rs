//! A workload described in the usual terms.

use workload::units::{amount, binary, latency, span};
use workload::{BlockSizes, Caching, Content, Mix, Pacing, Pattern, Workload};

/// The parts of a description: order and kind, sizes, depth, pacing, region, content, seed.
pub(crate) fn workload(w: &Workload) -> Vec<String> {
    let mut items = vec![format!("{} {}", pattern(&w.pattern), mix(&w.mix)), blocks(&w.blocks)];
    items.push(format!("depth {}", w.depth));
    if w.batch > 1 {
        items.push(format!("batch {}", w.batch));
    }
    if w.jobs > 1 {
        items.push(format!("{} jobs", w.jobs));
    }
    items.extend(pacing(&w.pacing));
    items.push(format!("over {}", binary(w.region.bytes)));
    if w.shift_bytes > 0 {
        items.push(format!("shifted by {}", binary(w.shift_bytes)));
    }
    if w.mix.write > 0 {
        items.push(content(&w.content));
    }
    items.extend(w.flush_every.map(|n| format!("flush every {n} writes")));
    if w.caching == Caching::Buffered {
        items.push("buffered".to_string());
    }
    if w.verify {
        items.push("verified".to_string());
    }
    items.push(format!("seed {}", w.seed));
    items
}

fn pattern(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Sequential => "sequential".to_string(),
        Pattern::Backwards => "backward".to_string(),
        Pattern::Strided { stride_bytes } => format!("strided ({})", binary(*stride_bytes)),
        Pattern::UniformOnce | Pattern::Uniform => "random".to_string(),
        Pattern::Zipf { theta } => format!("zipf {theta}"),
        Pattern::Zones { zones } => format!("{}-zone random", zones.len()),
        Pattern::Trace { .. } => "traced".to_string(),
    }
}

fn mix(mix: &Mix) -> String {
    if let Some(kind) = mix.only() {
        return kind.name().to_string();
    }
    let total = mix.total().max(1) as f64;
    let kinds = workload::OpKind::ALL.into_iter().filter(|k| mix.weight(*k) > 0);
    let shares =
        kinds.map(|k| format!("{:.0}% {}", 100.0 * f64::from(mix.weight(k)) / total, k.name()));
    shares.collect::<Vec<_>>().join(" ")
}

fn blocks(blocks: &BlockSizes) -> String {
    match blocks {
        BlockSizes::Fixed(bytes) => binary(u64::from(*bytes)),
        BlockSizes::Split(parts) => {
            let sizes: Vec<_> = parts.iter().map(|p| binary(u64::from(p.0))).collect();
            format!("split {}", sizes.join(", "))
        }
    }
}

fn pacing(pacing: &Pacing) -> Option<String> {
    match *pacing {
        Pacing::Closed => None,
        Pacing::Fixed { rate } => Some(format!("{}/s", amount(rate))),
        Pacing::Poisson { rate } => Some(format!("{}/s Poisson", amount(rate))),
        Pacing::OnOff { on_ns, off_ns, .. } => {
            let [active, pause] = [on_ns, off_ns].map(|ns| span(ns as f64 / 1e9));
            Some(format!("bursts of {active}, {pause} apart"))
        }
        Pacing::Pauses { every, pause_ns } => {
            Some(format!("a pause of {} after every {every}", latency(pause_ns as f64)))
        }
        Pacing::Source => Some("pauses that differ by access".to_string()),
    }
}

fn content(content: &Content) -> String {
    match content {
        Content::Random => "random content".to_string(),
        Content::Compressible(share) => format!("{:.0}% compressible", share * 100.0),
        Content::Duplicate(share) => format!("{:.0}% repeated", share * 100.0),
        Content::Repeated => "repeated content".to_string(),
        Content::Zeros => "zeros".to_string(),
        Content::Original => "their original content".to_string(),
        Content::Blend(blend) => {
            format!("{}% pattern or zeros, {}% copies", blend.plain_percent, blend.copy_percent)
        }
    }
}
