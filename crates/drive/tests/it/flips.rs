//! The name of a file is repeatedly moved between it and another file while it is opened for
//! writing. `SSDYNO_FLIPS` sets the minimum number of moves (`cargo xtask bench flips`: 100,000).

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use drive::OpenRequest;
use record::Safety;

const BYTES: usize = 64 << 10;

#[test]
fn only_the_confirmed_file_is_written() {
    let count = std::env::var("SSDYNO_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(500u64);
    let dir = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let [mine, other, name, draft] =
        ["mine", "other", "name", "draft"].map(|name| dir.path().join(name));
    // The other file has another size, so that no confirmation fits both.
    fs::write(&mine, vec![0; BYTES]).expect("a file");
    fs::write(&other, vec![7; 2 * BYTES]).expect("a file");
    symlink(&mine, &name).expect("a link");
    let (over, flips) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut written, mut refused) = (0u64, 0u64);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for to in [&other, &mine] {
                    symlink(to, &draft).and_then(|()| fs::rename(&draft, &name)).expect("moved");
                    flips.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let destroy = Some(BYTES.to_string());
        let request = OpenRequest { destroy, ..OpenRequest::to(Safety::Destroys) };
        while written + refused < 50 || flips.load(Ordering::Relaxed) < count {
            match drive::open(name.to_str().expect("UTF-8"), &request) {
                Ok(opened) => {
                    opened.guard.check_again().expect("as it was opened");
                    opened.file().write_all_at(&[1; 512], 0).expect("written");
                    written += 1;
                }
                Err(_) => refused += 1,
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    println!("{flips:?} flips: {written} writes, {refused} refusals");
    assert!(written > 0 && refused > 0, "{written} writes, {refused} refusals");
    assert!(
        fs::read(&other).expect("there").iter().all(|byte| *byte == 7),
        "the other file was written"
    );
}
