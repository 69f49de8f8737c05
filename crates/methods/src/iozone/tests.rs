//! `iozone` on the tests' virtual drive.

use workload::{Caching, Calls, Content, Pattern};

use super::{IOZONE, Iozone, IozoneFigure, Row};
use crate::find;
use script::test_drive::{Fake, Traits, perform};
use script::{MethodError, Options, Outcome, Result, plan};

fn spec(tests: &[u32]) -> Iozone {
    let row = Row { file_bytes: 8 << 20, record_bytes: 4096 };
    Iozone { rows: vec![row], tests: tests.to_vec(), ..Iozone::default() }
}

fn run(fake: &mut Fake, spec: Iozone) -> (Outcome, Result<()>) {
    let mut out = Outcome::default();
    let options = Options::default().with(&IOZONE, Some(spec));
    let method = find("iozone").expect("exists");
    let plan = plan(method, &fake.info, &options).expect("room");
    let result = perform(method, fake, &options, &mut out);
    assert!(fake.written <= plan.write_bytes_max, "{} {}", fake.written, plan.write_bytes_max);
    (out, result)
}

#[test]
fn every_figure_transfers_the_file_once_in_its_own_order() {
    let mut fake = Fake::new(Traits::default());
    let (out, result) = run(&mut fake, spec(&[0, 1, 2, 3, 4, 5, 6, 7]));
    result.expect("no error");
    let names: Vec<_> = out.metrics.iter().map(|m| m.name.as_str()).collect();
    for figure in IozoneFigure::ALL {
        let name = format!("iozone-8MiB-4KiB.{}", figure.name());
        assert!(names.contains(&name.as_str()), "{names:?}");
        let w = fake.issued.iter().find(|w| w.name == name).expect("issued");
        // Flushes would count among the operations of writes.
        let amount = if figure.writes() { (None, Some(8 << 20)) } else { (Some(2048), None) };
        assert_eq!((w.stop.ops, w.stop.bytes), amount, "{name}");
        assert_eq!(w.calls, Calls::Plain, "{name}");
        assert_eq!((w.caching, &w.content), (Caching::Buffered, &Content::Repeated));
        assert_eq!(w.sync_writes, figure.writes() && !figure.streams(), "{name}");
        assert_eq!(w.flush_at_end, figure.writes(), "{name}");
    }
    let issued = |name: &str| {
        let name = format!("iozone-8MiB-4KiB.{name}");
        fake.issued.iter().find(|w| w.name == name).expect("issued")
    };
    assert_eq!(issued("backward-read").pattern, Pattern::Backwards);
    assert_eq!(issued("strided-read").pattern, Pattern::Strided { stride_bytes: 17 * 4096 });
    assert_eq!(issued("record-rewrite").region.bytes, 4096);
    // The same permutation for both, and every record once.
    let (read, write) = (issued("random-read"), issued("random-write"));
    assert_eq!((&read.pattern, read.seed), (&Pattern::UniformOnce, write.seed));
    assert_eq!(issued("cold-read").caching, Caching::Buffered);
    assert_eq!(issued("rewrite-random-content").content, Content::Random);
}

/// `fwrite` and `fread` of the C library, which have neither direct I/O nor a queue.
#[test]
fn streams_are_buffered_and_have_one_record_in_flight() {
    let mut fake = Fake::new(Traits::default());
    let direct = Iozone { direct: true, depth: 4, ..spec(&[0, 1, 2, 3, 4, 5, 6, 7]) };
    run(&mut fake, direct).1.expect("no error");
    for figure in IozoneFigure::ALL {
        let name = format!("iozone-8MiB-4KiB.{}", figure.name());
        let w = fake.issued.iter().find(|w| w.name == name).expect("issued");
        let is_stream = figure.name().starts_with('f');
        let expected = if is_stream {
            (Caching::Buffered, 1, false)
        } else {
            (Caching::Bypass, 4, figure.writes())
        };
        assert_eq!((w.caching, w.depth, w.sync_writes), expected, "{name}");
    }
}

#[test]
fn reads_from_memory_are_reported() {
    let (out, result) = run(&mut Fake::new(Traits::default()), spec(&[0, 1, 2]));
    result.expect("no error");
    let ram = out.verdicts.iter().find(|v| v.kind.name() == "RAM").expect("a verdict");
    assert!(ram.text.starts_with("3 of 3 read results came from memory"), "{}", ram.text);
    assert!(ram.text.contains("after the cache was dropped"), "{}", ram.text);
    let flush = out.verdicts.iter().find(|v| v.kind.name().contains("FLUSH")).expect("a verdict");
    assert!(flush.evidence.iter().any(|e| e.name == "a commit" && e.value > 0.0), "{flush:?}");
}

#[test]
fn a_twentieth_of_the_file_may_stay_in_the_cache_and_more_is_reported() {
    for (percent, reported) in [(4, false), (6, true)] {
        let mut fake = Fake::new(Traits::default());
        let left = (8 << 20) * percent / 100;
        fake.stays_cached = Some(left);
        let (out, result) = run(&mut fake, spec(&[0, 1]));
        result.expect("no error");
        let warned = out.warnings.iter().any(|w| w.kind.name() == "cache-not-dropped");
        assert_eq!(warned, reported, "{percent}% left");
        let cached = out.metrics.iter().find(|m| m.name == "iozone-8MiB-4KiB.cold-read.cached");
        assert_eq!(cached.and_then(|m| m.value), Some(left as f64));
    }
}

#[test]
fn without_a_first_write_the_file_is_filled_and_a_read_only_target_skips_writes() {
    let mut fake = Fake::new(Traits::default());
    run(&mut fake, spec(&[1])).1.expect("no error");
    assert_eq!(fake.filled, 8 << 20);
    assert_eq!(Row { file_bytes: 8 << 20, record_bytes: 4096 }.bytes_of_all(3), 24 << 20);
    let mut fake = Fake::read_only(Traits::default());
    let (out, result) = run(&mut fake, Iozone { once: true, ..spec(&[0, 1, 2]) });
    result.expect("reads are allowed");
    assert_eq!((fake.written, out.warnings[0].kind.name()), (0, "reads-only"));
    assert!(out.metrics.iter().all(|m| !m.name.contains("write") && !m.name.contains("reread")));
    let large = Row { file_bytes: 1 << 30, record_bytes: 4096 };
    let options =
        Options::default().with(&IOZONE, Some(Iozone { rows: vec![large], ..spec(&[0]) }));
    let small = plan(find("iozone").expect("exists"), &fake.info, &options).expect_err("no room");
    assert!(matches!(small, MethodError::TooSmall { .. }), "{small}");
}

/// A file of `--size 200MB` has 190 MiB.
#[test]
fn a_size_between_two_large_blocks_has_room() {
    let mut fake = Fake::new(Traits::default());
    fake.info.bytes = 190 << 20;
    let sized = |bytes| {
        let options = Options { size: Some(bytes), ..Options::default() };
        plan(find("iozone").expect("exists"), &fake.info, &options)
    };
    assert_eq!(sized(200_000_000).expect("room").region_bytes, 190 << 20);
    assert!(matches!(sized(192 << 20), Err(MethodError::TooSmall { .. })));
}
