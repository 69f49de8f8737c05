//! The fuzz targets of this room: partition tables and contents of drives, their responses, and
//! notes of drives detached from the kernel.

use fuzz::{FuzzTarget, bytes, outcome};

/// Every parser of this room.
pub const TARGETS: &[FuzzTarget] = &[CONTENTS, ANSWERS, NOTE];

/// First and last sectors of drives: tables, file systems, labels.
const CONTENTS: FuzzTarget = FuzzTarget { name: "drive-contents", run: contents, corpus: IMAGES };

/// Responses of drives to every command: identify pages, logs, card registers.
const ANSWERS: FuzzTarget = FuzzTarget { name: "drive-answers", run: answers, corpus: PAGES };

/// Notes of detached drives, which other users may have written.
const NOTE: FuzzTarget = FuzzTarget { name: "drive-note", run: note, corpus: NOTES };

fn note(input: &[u8]) -> u64 {
    outcome(&drive::fuzzing::note(input))
}

const NOTES: &[&str] = &[
    r#"{"address":"0000:00:05.0","serial":"S1","group":"7","kept":true,"boot":"b","namespaces":[]}"#,
    r#"{"address":"0000:00:05.0","serial":"S1","group":null,"kept":false,"boot":"b","namespaces":[
        {"nsid":1,"bytes":4096,"block_bytes":512,"drive":{"name":"nvme0n1","bus":"PCIe"},
        "key":{"path":"/dev/nvme0n1","model":"ACME","serial":"S1","disk_bytes":4096,"start":null,
        "bytes":4096,"backing_file":null},"contents":"empty"}]}"#,
];

/// Size of an image, bytes.
const IMAGE: usize = 160 << 10;

fn contents(input: &[u8]) -> u64 {
    let mut image = bytes(input, IMAGE);
    image.resize(IMAGE, 0);
    let words = [512, 4096].map(|block| drive::fuzzing::contents(&image, block));
    outcome(&words.join(" "))
}

fn answers(input: &[u8]) -> u64 {
    outcome(&drive::fuzzing::answers(&bytes(input, 8192)))
}

const IMAGES: &[&str] = &[
    // MBR: FAT32, Linux, extended, and a logical partition.
    "446 80 010100 0c feffff 08000000 40000000\n462 00 feffff 83 feffff 48000000 40000000\n\
     478 00 feffff 05 feffff 88000000 40000000\n510 55aa\n\
     70144 0000000000000000 55aa\n70102 00 feffff 83 feffff 08000000 10000000\n70142 55aa\n",
    // GPT: an EFI system and a Linux partition with names.
    "450 ee\n510 55aa\n512 4546492050415254 00000100 5c000000\n\
     584 0200000000000000 04000000 80000000\n\
     1024 28732ac11ff8d211ba4b00a0c93ec93b 01 02 03\n1056 2200000000000000 4100000000000000\n\
     1080 450046004900\n\
     1152 af3dc60f838472478e793d69d8477de4 04 05 06\n1184 4200000000000000 8100000000000000\n",
    // ext4, XFS, btrfs, swap, exFAT and FAT.
    "1024 00100000 00400000\n1080 53ef 0100\n1144 6c6162656c\n",
    "0 58465342 00001000\n108 6c6162656c\n",
    "65600 5f42485266535f4d\n65835 6c6162656c\n",
    "4086 5357415053504143 4532\n1052 6c6162656c\n",
    "0 eb7690 4558464154202020\n510 55aa\n",
    "0 eb5890 6d6b66732e666174 0002 08 2000 02\n82 4641543332202020\n71 4c4142454c\n510 55aa\n",
];

const PAGES: &[&str] = &[
    "0 4000\n20 53313233\n54 41434d45 20205831\n120 00000010\n338 0100\n434 0100\n512 0001\n",
    "0 86 80 86 80\n4 534e31323334 20202020\n24 41434d4520583120\n64 34423251\n80 00040100\n512 6644\n",
    "0 00 00 06 12 5b 00 00 02 41434d4520202020 583120202020\n32 34423251\n",
    "0 70 00 06 00 00 00 00 0a 00 00 00 00 20 00\n",
    "0 72 05 20 00 00 00 00 0e 09 0c 01 00 00 40\n",
    "0 01000500 64 00 00 05 0064 00 00\n2 09 3200 64 64 1027\n14 f1 3200 64 64 00ffffff\n511 99\n",
    "0 0353445355313238\n8 80 12345678 0163 7f\n16 400e00325b59 0000 ed c8 7f 80 0a 40 40\n",
    "0 03 8000000c a003\n192 08\n212 00 e0 9c 03\n267 0a 01 02\n",
    "0 00 83 00 24 01 03 00 08 5000c50012345678 01 02 00 10 0011223344556677\n",
];
