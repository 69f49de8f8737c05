//! Tests making and reading images, intact and damaged.

use std::fs;

use methods::ImageFile;
use rig::{Event, Rig};
use script::{Options, Session};

use super::{ImageOnDisk, make};

const MIB: usize = 1 << 20;

/// Three blocks of different kinds, and a shorter one.
fn source() -> Vec<u8> {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    let mut bytes = vec![0; 3 * MIB + 4096];
    bytes[..MIB].iter_mut().for_each(|byte| *byte = random());
    bytes[MIB..2 * MIB].iter_mut().enumerate().for_each(|(i, byte)| *byte = (i / 512) as u8);
    bytes[3 * MIB..].iter_mut().for_each(|byte| *byte = random());
    bytes
}

/// Reads all blocks up to a defect; returns them and the defect.
fn read(image: &ImageOnDisk) -> (Vec<u8>, Option<String>) {
    let (mut bytes, mut blocks) = (Vec::new(), image.open().expect("the image opens"));
    loop {
        match blocks.next_block() {
            Ok(Some(block)) => {
                assert_eq!(block.offset, bytes.len() as u64);
                bytes.extend(block.bytes);
            }
            Ok(None) => return (bytes, None),
            Err(why) => return (bytes, Some(why)),
        }
    }
}

#[test]
fn an_image_restores_its_source_and_a_damaged_one_ends_before_the_damaged_block() {
    let dir = tempfile::tempdir().expect("a directory");
    let (from, to) = (dir.path().join("source"), dir.path().join("image"));
    let bytes = source();
    fs::write(&from, &bytes).expect("written");
    let made = make(&from, &to, &mut |_, _| true).expect("made");
    assert_eq!((made.bytes, made.blocks), (bytes.len() as u64, 4));
    assert!(made.image_bytes < 2 * MIB as u64, "zeros and patterns compress well: {made:?}");
    let image = ImageOnDisk::open(&to).expect("an image");
    assert_eq!((read(&image), image.bytes()), ((bytes.clone(), None), made.bytes));
    let whole = fs::read(&to).expect("there");
    // Flips one bit of every 40,993rd byte: it is detected, and nothing of that block is returned.
    for at in (40..whole.len()).step_by(40_993).chain([41, 50, 60, whole.len() - 1]) {
        let mut broken = whole.clone();
        broken[at] ^= 1;
        fs::write(&to, &broken).expect("written");
        let (good, why) = read(&image);
        let why = why.expect("a fault");
        assert!(why.contains(&format!("block {} of 4", good.len() / MIB)), "{at}: {why}");
        assert_eq!(good, bytes[..good.len()]);
    }
    for length in [whole.len() - 1, whole.len() / 2, 41] {
        fs::write(&to, &whole[..length]).expect("written");
        let (good, why) = read(&image);
        let why = why.expect("a fault");
        assert!(why.starts_with("it ends within block "), "{length}: {why}");
        assert_eq!(good, bytes[..good.len()]);
    }
    for (content, why) in [(&whole[1..], "not an"), (&whole[..39], "header"), (&[], "not an")] {
        fs::write(&to, content).expect("written");
        let error = ImageOnDisk::open(&to).expect_err("refused").to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn an_interrupted_image_leaves_no_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let (from, to) = (dir.path().join("source"), dir.path().join("image"));
    fs::write(&from, source()).expect("written");
    let mut asked = Vec::new();
    let error = make(&from, &to, &mut |done, bytes| {
        asked.push((done, bytes));
        asked.len() < 3
    });
    assert_eq!(error.expect_err("interrupted").kind(), crate::ErrorKind::Interrupted);
    let (mib, bytes) = (MIB as u64, source().len() as u64);
    assert_eq!(asked, [(0, bytes), (mib, bytes), (2 * mib, bytes)]);
    let names = fs::read_dir(dir.path()).expect("listed").flatten().map(|entry| entry.file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["source"], "neither an image nor a draft");
}

#[test]
fn sources_that_are_empty_or_unreadable_are_named_with_the_reason() {
    let dir = tempfile::tempdir().expect("a directory");
    let (from, to) = (dir.path().join("source"), dir.path().join("image"));
    fs::write(&from, []).expect("written");
    let error = make(&from, &to, &mut |_, _| true).expect_err("empty").to_string();
    assert!(error.ends_with("source is empty"), "{error}");
    fs::write(&from, source()).expect("written");
    // The source ends within its second block while it is read.
    let error = make(&from, &to, &mut |at, _| {
        if at > 0 {
            let file = fs::OpenOptions::new().write(true).open(&from).expect("ours");
            file.set_len(MIB as u64 + 512).expect("truncated");
        }
        true
    });
    let error = error.expect_err("truncated").to_string();
    assert!(error.contains("the block of 1048576 bytes at byte 1048576: "), "{error}");
    assert!(!to.exists());
}

#[test]
fn a_restored_drive_contains_the_source_and_the_slowest_part_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let (from, to) = (dir.path().join("source"), dir.path().join("image"));
    let bytes = source();
    fs::write(&from, &bytes).expect("written");
    make(&from, &to, &mut |_, _| true).expect("made");
    let restore = |spec: &str| {
        let typed = [("image".to_string(), vec![to.display().to_string()])];
        let usual = Options::default();
        let options = crate::work::options(&["restore".into()], &typed, usual).expect("an image");
        let spec = model::DriveSpec::preset(spec).expect("known");
        let never = std::sync::Arc::default();
        let nobody = Box::new(|_: &Event| {});
        let mut rig = engine::Simulator::new(spec, "sim:drive", never, nobody);
        let mut session = Session::new(&mut rig);
        let result = session.run(methods::find("restore").expect("known"), &options);
        let out = session.finish();
        let mut held = vec![0; bytes.len()];
        rig.blocks().expect("block access").read(0, &mut held).expect("read");
        (result.map_err(|error| error.to_string()), out, held)
    };
    // A card of 6 MB/s is slower than any processor.
    let (result, out, held) = restore("sd-class2");
    assert_eq!((result, held == bytes), (Ok(()), true));
    assert_eq!(out.verdicts[0].kind.name(), "WRITES", "{}", out.verdicts[0].text);
    assert!(out.answer.expect("one").headline.ends_with("the drive is the limit."));
    // The second block is damaged: the first is written, and nothing after it.
    let mut broken = fs::read(&to).expect("there");
    let at = 40 + 24 + MIB + 24 + 10;
    broken[at] ^= 1;
    fs::write(&to, broken).expect("written");
    let (result, _, held) = restore("sd-class2");
    let error = result.expect_err("broken");
    assert!(error.contains("block 1 of 4 at byte 1048640 is damaged"), "{error}");
    assert!(held[..MIB] == bytes[..MIB] && held[MIB..].iter().all(|byte| *byte == 0));
}
