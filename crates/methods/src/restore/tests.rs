//! `restore` on a test drive: the slowest part, images that do not fit, and broken images.

use std::sync::Arc;

use record::TargetKind;

use super::{BlockSource, IMAGE, INFO, Image, ImageBlock, ImageFile, SOURCE_RATE, Spent};
use script::test_drive::{Fake, Traits, perform};
use script::{Options, Outcome, plan};

const MIB: u64 = 1 << 20;

/// An image of `blocks` blocks, one of them possibly broken, with fixed times for its parts.
#[derive(Clone, Copy, Default)]
struct Parts {
    blocks: u64,
    /// Bytes after the last block.
    tail: u64,
    broken: Option<u64>,
    source_ns: u64,
    processor_ns: u64,
    next: u64,
}

impl ImageFile for Parts {
    fn name(&self) -> String {
        "os.img".into()
    }

    fn bytes(&self) -> u64 {
        self.blocks * MIB + self.tail
    }

    fn open(&self) -> Result<Box<dyn BlockSource>, String> {
        Ok(Box::new(*self))
    }
}

impl BlockSource for Parts {
    fn next_block(&mut self) -> Result<Option<ImageBlock>, String> {
        if Some(self.next) == self.broken {
            return Err(format!("block {} is damaged", self.next));
        }
        let offset = self.next * MIB;
        self.next += 1;
        Ok((self.next <= self.blocks).then(|| ImageBlock { offset, bytes: vec![7; MIB as usize] }))
    }

    fn spent(&self) -> Spent {
        let elapsed_ns = self.source_ns.max(self.processor_ns);
        let (source_ns, processor_ns) = (self.source_ns, self.processor_ns);
        Spent { image_bytes: self.next * MIB / 2, source_ns, processor_ns, elapsed_ns }
    }
}

fn restored(parts: Parts, fake: &mut Fake) -> (Outcome, Result<(), String>) {
    let options = Options::default().with(&IMAGE, Image::Opened(Arc::new(parts)));
    let mut out = Outcome::default();
    let result = perform(&INFO, fake, &options, &mut out);
    (out, result.map_err(|error| error.to_string()))
}

#[test]
fn the_slowest_part_is_the_limit_and_equal_parts_are_undetermined() {
    // 16 MiB at 500 MB/s and depth 8: at least 34 ms.
    for (source_ns, processor_ns, kind) in [
        (1_000_000, 2_000_000, "WRITES"),
        (1_000_000_000, 2_000_000, "SOURCE"),
        (500_000_000, 1_000_000_000, "CPU"),
        (1_000_000_000, 1_050_000_000, "UNDETERMINED"),
    ] {
        let mut fake = Fake::confirmed(Traits::default(), 64 * MIB);
        let parts = Parts { blocks: 16, source_ns, processor_ns, ..Parts::default() };
        let (out, result) = restored(parts, &mut fake);
        assert_eq!((result, fake.written), (Ok(()), 16 * MIB));
        assert_eq!(out.verdicts[0].kind.name(), kind, "{}", out.verdicts[0].text);
    }
}

/// The source delivers 16 MiB in 0.3 s.
#[test]
fn the_same_image_is_held_back_by_its_source_or_by_a_slow_drive() {
    let said = |rate: f64| {
        let mut fake = Fake::confirmed(Traits { rate, ..Traits::default() }, 64 * MIB);
        let parts = Parts { blocks: 16, source_ns: 300_000_000, ..Parts::default() };
        let (out, _) = restored(parts, &mut fake);
        let sentence = out.answer.expect("one").headline;
        (
            out.verdicts[0].kind.name().to_string(),
            sentence.split_once("; ").expect("a limit").1.to_string(),
        )
    };
    let limit = |kind: &str, part: &str| (kind.to_string(), format!("the {part} is the limit."));
    assert_eq!(said(500e6), limit("SOURCE", "source"));
    assert_eq!(said(1e6), limit("WRITES", "drive"));
}

#[test]
fn writing_stops_at_a_broken_block() {
    let mut fake = Fake::confirmed(Traits::default(), 64 * MIB);
    let parts = Parts { blocks: 16, broken: Some(11), ..Parts::default() };
    let (out, result) = restored(parts, &mut fake);
    assert_eq!(result, Err("os.img: block 11 is damaged".to_string()));
    assert_eq!((fake.written, out.verdicts.len()), (11 * MIB, 0));
}

fn value(out: &Outcome, name: &str) -> Option<f64> {
    out.metrics.iter().find(|metric| metric.name == name).and_then(|metric| metric.value)
}

#[test]
fn a_refused_write_or_flush_leaves_all_results_so_far() {
    let parts = Parts { blocks: 16, ..Parts::default() };
    let mut fake = Fake::confirmed(Traits::default(), 64 * MIB);
    fake.door.dead_from = Some(8 * MIB);
    let (out, result) = restored(parts, &mut fake);
    assert!(result.is_err_and(|error| error.starts_with("write at 8388608: ")));
    assert_eq!(value(&out, "restore-written"), Some((8 * MIB) as f64));
    assert_eq!((out.errors[0].op.as_str(), out.errors[0].first_offsets[0]), ("write", 8 * MIB));
    assert!(out.verdicts.is_empty());
    let mut fake = Fake::confirmed(Traits::default(), 64 * MIB);
    fake.door.flushes = Some(0);
    let (out, result) = restored(parts, &mut fake);
    assert!(result.is_err_and(|error| error.starts_with("flush: ")));
    assert_eq!(value(&out, "restore-written"), Some((16 * MIB) as f64));
    assert_eq!((out.errors[0].op.as_str(), out.verdicts.len()), ("flush", 0));
}

#[test]
fn an_image_with_part_of_a_block_is_refused_before_the_first_write() {
    let parts = Parts { blocks: 16, tail: 512, ..Parts::default() };
    let mut fake = Fake::confirmed(Traits::default(), 64 * MIB);
    fake.info.logical_block_bytes = 4096;
    let (_, result) = restored(parts, &mut fake);
    let text = "the image needs 16777728 bytes, and /dev/x has blocks of 4096 bytes";
    assert_eq!((result, fake.written), (Err(text.to_string()), 0));
}

#[test]
fn an_image_must_fit_and_the_target_must_allow_writes() {
    let mut small = Fake::confirmed(Traits::default(), 8 * MIB);
    let parts = Parts { blocks: 16, ..Parts::default() };
    let (_, result) = restored(parts, &mut small);
    assert_eq!(result, Err("the image needs 16 MiB, and /dev/x has 8 MiB".to_string()));
    let mut read_only = Fake::read_only(Traits::default());
    let (_, result) = restored(parts, &mut read_only);
    assert!(result.is_err_and(|error| error.contains("was not opened with --destroy")));
    assert_eq!((small.written, read_only.written), (0, 0));
    let options = Options::default().with(&IMAGE, Image::Opened(Arc::new(parts)));
    let plan = plan(&INFO, &Fake::new(Traits::default()).info, &options).expect("room");
    assert_eq!((plan.write_bytes_max, plan.safety), (16 * MIB, record::Safety::Scratch));
    assert_eq!(Fake::new(Traits::default()).info.target.kind, TargetKind::Directory);
}

#[test]
fn generated_blocks_have_the_requested_size_or_fit_the_target() {
    let size = |mib| Options { size: Some(mib * MIB), ..Options::default() };
    let cases = [
        (256, Options::default(), 64),
        (16, Options::default(), 16),
        (256, size(96), 96),
        (256, size(8), 8),
    ];
    for (drive, options, written) in cases {
        let mut fake = Fake::confirmed(Traits::default(), drive * MIB);
        let mut out = Outcome::default();
        perform(&INFO, &mut fake, &options, &mut out).expect("written");
        assert_eq!(fake.written, written * MIB, "{drive} MiB");
    }
}

/// 64 MiB from sources of 10 and 1000 MB/s, on drives that take a block at 20 or 500 MB/s, 8 at
/// once: the slower part sets the time, the source in the plan as well.
#[test]
fn a_slow_source_sets_the_time_of_every_faster_drive() {
    const BYTES: f64 = 67_108_864.0;
    for (drive, source, kind) in
        [(500e6, 10e6, "SOURCE"), (20e6, 10e6, "SOURCE"), (20e6, 1000e6, "WRITES")]
    {
        let traits = Traits { rate: drive, ..Traits::default() };
        let mut fake = Fake::confirmed(traits, 256 * MIB);
        let options = Options::default().with(&SOURCE_RATE, Some(source));
        let mut out = Outcome::default();
        let plan = plan(&INFO, &fake.info, &options).expect("room");
        perform(&INFO, &mut fake, &options, &mut out).expect("written");
        assert_eq!(out.verdicts[0].kind.name(), kind, "{drive}, {source}");
        let seconds = value(&out, "restore-time").expect("a time") / 1e9;
        let from_source = BYTES / source;
        assert!(seconds >= 0.99 * from_source, "{drive}, {source}: {seconds} s");
        if kind == "SOURCE" {
            assert!(seconds < 1.1 * from_source, "{drive}, {source}: {seconds} s");
            assert!((plan.seconds / from_source - 1.0).abs() < 0.1, "{} s planned", plan.seconds);
        }
    }
    let mut options = Options::default();
    for wrong in ["10", "0MB/s", "fast", "-1MB/s"] {
        assert!(options.parse(&SOURCE_RATE, &[wrong.to_string()]).is_err(), "{wrong}");
    }
}

#[test]
fn a_source_has_a_rate_with_its_unit_and_bits_are_not_bytes() {
    let rate = |word: &str| {
        let mut options = Options::default();
        options
            .parse(&super::SOURCE_RATE, &[word.to_string()])
            .map(|()| options.get(&super::SOURCE_RATE))
    };
    assert_eq!((rate("10MB/s"), rate("80Mb/s")), (Ok(Some(10e6)), Ok(Some(10e6))));
    assert!(rate("10MB").is_err() && rate("10").is_err());
}
