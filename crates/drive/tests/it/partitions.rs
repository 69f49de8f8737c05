//! The partition table of a file opened like a drive: written, read and renumbered.

use std::fs::File;

use drive::OpenRequest;
use drive::partitions::PartitionLayout;
use record::Safety;

const BYTES: u64 = 1 << 30;

#[test]
fn a_table_is_written_read_and_renumbered_through_the_opened_target() {
    let dir = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let path = dir.path().join("drive.img");
    File::create(&path).and_then(|file| file.set_len(BYTES)).expect("sparse");
    let destroy = Some(BYTES.to_string());
    let request = OpenRequest { destroy, ..OpenRequest::to(Safety::Destroys) };
    let opened = drive::open(path.to_str().expect("UTF-8"), &request).expect("opened");
    assert_eq!(opened.partition_table(BYTES, 512), None);
    let layout = PartitionLayout::parse("fat32=100M,fat32=200M,ext4").expect("words");
    let mut places = layout.plan(BYTES, 512).expect("it fits");
    places.rotate_left(1);
    opened.write_partitions((BYTES, 512), &places, 7).expect("written");
    let read = |opened: &drive::Opened| {
        let table = opened.partition_table(BYTES, 512).expect("a table");
        table.entries.iter().map(|entry| entry.start).collect::<Vec<_>>()
    };
    let mut starts: Vec<u64> = places.iter().map(|place| place.start).collect();
    assert_eq!(read(&opened), starts);
    assert_eq!(opened.partition_order(512).expect("read"), Some(vec![3, 1, 2]));
    assert_eq!(opened.renumber_partitions(512).expect("written"), Some(vec![3, 1, 2]));
    starts.sort_unstable();
    assert_eq!(read(&opened), starts);
    assert_eq!(opened.partition_order(512).expect("read"), None);
}
