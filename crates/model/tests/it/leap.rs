//! A leap leaves the drive in the state in which the same writes, one by one, leave it.

use model::{Drive, DriveSpec, Leap, Traffic};
use workload::{Op, OpKind};

const BYTES: u64 = 2 << 30;

fn drive(preset: &str) -> Drive {
    let spec = DriveSpec::preset(preset).expect("a preset");
    let capacity = BYTES.to_string();
    Drive::new(&spec.with_overrides(&[("capacity", &capacity)]).expect("parameters"), 1)
}

/// Random offsets of 4 KiB blocks, from this seed.
fn offsets(seed: u64, count: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    (0..count).map(move |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(state) * u128::from(BYTES / 4096)) >> 64) as u64 * 4096
    })
}

fn write(drive: &mut Drive, now: u64, offset: u64, bytes: u32) -> u64 {
    drive.submit(now, &Op { kind: OpKind::Write, offset, bytes }).done_ns
}

/// Live pages of each superblock, sorted.
fn live_pages(drive: &Drive) -> Vec<u32> {
    let blocks = drive.page_mapped().expect("maps pages").blocks();
    let mut live: Vec<u32> = (0..blocks.count()).map(|sb| blocks.live(sb)).collect();
    live.sort_unstable();
    live
}

/// Rates of what is done in a drive write, and live pages at the tenths of the superblocks, per page of
/// the fullest.
fn aged(preset: &str, leaps: bool) -> (Vec<f64>, Vec<f64>) {
    let mut drive = drive(preset);
    let mut now =
        (0..BYTES).step_by(1 << 20).fold(0, |now, at| write(&mut drive, now, at, 1 << 20));
    let state = |drive: &Drive| {
        let (work, health) = (drive.work(), drive.health());
        let erases = drive.page_mapped().expect("maps pages").blocks().total_erases();
        let pages = [work.host, work.moved + work.folded, erases, health.programmed_bytes];
        pages.map(|amount| amount as f64)
    };
    let (round, mut begin) = (BYTES / 4096 / 16, None);
    for number in 0..64 {
        if number == 24 {
            begin = Some(state(&drive));
        }
        let timed = if leaps { round / 8 } else { round };
        now = offsets(number, timed).fold(now, |now, at| write(&mut drive, now, at, 4096));
        let leap = Leap {
            ns: 1_000_000_000,
            traffic: Traffic::default(),
            read_bytes: 0,
            write_bytes: 4096,
            in_order: false,
        };
        drive.leap(&leap, offsets(!number, round - timed));
        now += if leaps { leap.ns } else { 0 };
        drive.check_counts();
    }
    drive.check();
    let live = live_pages(&drive);
    let most = f64::from(live[live.len() - 1]);
    let tenths = (1..10).map(|i| f64::from(live[i * live.len() / 10]) / most).collect();
    let pairs = begin.into_iter().flatten().zip(state(&drive));
    (pairs.map(|(before, after)| after - before).collect(), tenths)
}

#[test]
fn random_writes_that_are_skipped_cost_as_much_as_timed_ones() {
    for preset in ["samsung-970-evo-plus-250", "samsung-970-pro-1t", "crucial-bx100-120"] {
        let [timed, skipped] = [false, true].map(|leaps| aged(preset, leaps));
        for (timed, skipped) in timed.0.iter().zip(&skipped.0) {
            assert!((skipped / timed - 1.0).abs() < 0.01, "{preset}: {skipped}, {timed} if timed");
        }
        for (timed, skipped) in timed.1.iter().zip(&skipped.1) {
            assert!((skipped - timed).abs() < 0.01, "{preset}: {skipped} live, {timed} if timed");
        }
    }
}

#[test]
fn a_skipped_fill_leaves_the_state_of_a_timed_one() {
    const BLOCK: u32 = 8192;
    for preset in ["samsung-970-evo-plus-250", "samsung-970-pro-1t", "crucial-bx100-120"] {
        let places = || (0..2 * BYTES / u64::from(BLOCK)).map(|i| i * u64::from(BLOCK) % BYTES);
        let [timed, skipped] = [false, true].map(|leaps| {
            let mut drive = drive(preset);
            if leaps {
                let traffic = Traffic::default();
                let leap = Leap {
                    ns: 60_000_000_000,
                    traffic,
                    read_bytes: 0,
                    write_bytes: BLOCK,
                    in_order: true,
                };
                assert!(drive.leap(&leap, places()), "{preset}");
            } else {
                places().fold(0, |now, at| write(&mut drive, now, at, BLOCK));
            }
            drive.check();
            assert!((0..BYTES).step_by(4096).all(|byte| drive.is_mapped(byte)), "{preset}");
            let health = drive.health();
            let bytes = (health.programmed_bytes, health.counters.written_bytes);
            (drive.work(), live_pages(&drive), bytes)
        });
        assert_eq!(timed, skipped, "{preset}");
    }
}

#[test]
fn parts_of_a_mapping_unit_in_order_are_written_once() {
    let mut drive = drive("samsung-970-evo-plus-250");
    let leap = Leap {
        ns: 1_000_000,
        traffic: Traffic::default(),
        read_bytes: 0,
        write_bytes: 512,
        in_order: true,
    };
    drive.leap(&leap, (0..1024).map(|i| i * 512));
    assert_eq!(drive.work().host, 1024 * 512 / 4096);
    drive.check();
}

#[test]
fn time_and_temperature_go_on_during_a_leap() {
    let mut drive = drive("samsung-970-evo-plus-250");
    let now = write(&mut drive, 0, 0, 4096);
    let cold = drive.temperature(now);
    let leap = Leap {
        ns: 600_000_000_000,
        traffic: Traffic { sensed: 600_000_000_000, ..Traffic::default() },
        read_bytes: 600_000_000_000,
        write_bytes: 4096,
        in_order: false,
    };
    assert!(drive.longest_leap(true, 0.0) == u64::MAX && drive.leap(&leap, std::iter::empty()));
    let after = now + leap.ns;
    assert!(drive.temperature(after) > cold + 3.0, "{cold} and {}", drive.temperature(after));
    let took = write(&mut drive, after, 4096, 4096) - after;
    assert!(took < 1_000_000, "{took} ns");
    assert_eq!(drive.health().counters.read_bytes, leap.read_bytes);
}
