//! `ssdyno fio` on block devices: they can always be read, but everything else requires
//! `--destroy`. Trims are counted as in fio.

use std::fs;

use serde_json::Value;

use crate::common::{Loop, MIB, Mounted, Place, Said, or_skip, root, tool};

const BYTES: u64 = 16 * MIB;

/// A device filled with bytes of value 1, and the option that confirms overwriting it.
fn device() -> Result<(Loop, String), String> {
    root()?;
    let device = Loop::new(BYTES, "", &[])?;
    fs::write(&device.path, vec![1; BYTES as usize]).map_err(|e| e.to_string())?;
    tool("sync", &[])?;
    Ok((device, format!("--destroy={BYTES}")))
}

fn fio(place: &Place, device: &Loop, words: &[&str]) -> Said {
    let file = format!("--filename={}", device.path);
    let usual = ["fio", "--name=x", "--direct=1", "--output-format=json", &file];
    place.ssdyno(&[&usual[..], words].concat())
}

fn counts(json: &Value) -> [(u64, u64); 3] {
    ["read", "write", "trim"].map(|side| {
        let side = &json["jobs"][0][side];
        (side["total_ios"].as_u64().expect("a count"), side["io_bytes"].as_u64().expect("bytes"))
    })
}

#[test]
fn a_device_is_read_without_confirmation() {
    let (device, _) = or_skip!(device());
    let (place, before) = (Place::new(), device.hash());
    for rw in ["read", "randread"] {
        let rw = format!("--rw={rw}");
        let words = [rw.as_str(), "--bs=64k", "--ioengine=io_uring", "--iodepth=4"];
        let json = fio(&place, &device, &words).good().json();
        assert_eq!(counts(&json), [(BYTES >> 16, BYTES), (0, 0), (0, 0)], "{rw}");
    }
    assert_eq!(device.hash(), before);
}

#[test]
fn changing_data_requires_destroy() {
    let (device, _) = or_skip!(device());
    let (place, before) = (Place::new(), device.hash());
    for rw in ["write", "randwrite", "randrw", "rw", "trim", "randtrim", "trimwrite"] {
        let rw = format!("--rw={rw}");
        fio(&place, &device, &[&rw]).refuses(3, "would overwrite it");
        fio(&place, &device, &[&rw, "--destroy=17"]).refuses(3, &device.path);
        // fio's `allow_mounted_write` is no substitute for `--destroy`.
        fio(&place, &device, &[&rw, "--allow_mounted_write=1"]).refuses(3, "would overwrite it");
    }
    let verify = ["--rw=write", "--verify=crc32c"];
    fio(&place, &device, &verify).refuses(3, "would overwrite it");
    assert_eq!(device.hash(), before, "unchanged");
    assert!(place.runs().is_empty());
}

#[test]
fn a_device_is_written_and_verified_with_destroy() {
    let (device, destroy) = or_skip!(device());
    let (place, before) = (Place::new(), device.hash());
    let words = ["--rw=randwrite", "--size=4m", "--verify=crc32c", &destroy];
    let json = fio(&place, &device, &words).good().json();
    assert_eq!(counts(&json)[1], (1024, 4 * MIB));
    assert_ne!(device.hash(), before);
    let image = fs::read(&device.image).expect("the image");
    assert!(image[4 * MIB as usize..].iter().all(|byte| *byte == 1), "nothing beyond size=");
}

#[test]
fn a_mounted_device_is_refused_despite_destroy() {
    or_skip!(root());
    let device = or_skip!(Loop::new(BYTES, "mkfs.ext4 -q", &[]));
    let mounted = or_skip!(Mounted::new(&["-o", "ro", &device.path]));
    let (place, before) = (Place::new(), device.hash());
    let destroy = format!("--destroy={BYTES}");
    for rw in ["--rw=write", "--rw=trim"] {
        fio(&place, &device, &[rw, &destroy]).refuses(3, "is mounted at");
    }
    drop(mounted);
    assert_eq!(device.hash(), before);
}

/// Gives the same arguments to fio, on the same device.
#[test]
fn trims_are_counted_as_in_fio() {
    let (device, destroy) = or_skip!(device());
    or_skip!(tool("fio", &["--version"]));
    let place = Place::new();
    for (rw, bs) in [("trim", "64k"), ("randtrim", "64k"), ("trimwrite", "32k")] {
        let rw = format!("--rw={rw}");
        let bs = format!("--bs={bs}");
        let words = [rw.as_str(), &bs, "--size=8m"];
        let ours = fio(&place, &device, &[&words[..], &[&destroy]].concat()).good().json();
        let file = format!("--filename={}", device.path);
        let usual = ["--name=x", "--direct=1", "--output-format=json", &file];
        let theirs = or_skip!(tool("fio", &[&usual[..], &words].concat()));
        let theirs: Value = serde_json::from_str(&theirs).expect("JSON");
        assert_eq!(counts(&ours), counts(&theirs), "{rw}");
        assert!(counts(&ours)[2].0 > 0, "{rw}");
    }
    let words = ["--rw=trim", "--bs=64k", "--size=8m", &destroy];
    fs::write(&device.path, vec![1; BYTES as usize]).expect("written");
    or_skip!(tool("sync", &[]));
    fio(&place, &device, &words).good();
    let image = fs::read(&device.image).expect("the image");
    let (first, second) = image.split_at(8 * MIB as usize);
    assert!(first.iter().all(|byte| *byte == 0) && second.iter().all(|byte| *byte == 1));
}
