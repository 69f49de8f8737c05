//! Plans, refusals and notes on a simulated machine. Detaching and returning a drive are tested in
//! the guest.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use record::Safety;
use tempfile::TempDir;

use super::bound::{Holder, holder, left, listed};
use super::claim::{ControllerClaim, take};
use super::function::Function;
use super::note::{Note, Notes};
use super::{Spec, keys_of, plan};
use crate::key::DriveKey;
use crate::machine::Machine;
use crate::node::Node;
use crate::open::OpenRequest;

const SPEC: &str = "pci:0000:00:05.0";
const SERIAL: &str = "S1";

/// A machine with an NVMe controller, alone in its IOMMU group, with one namespace.
struct Bench {
    root: TempDir,
    machine: Machine,
    notes: Notes,
}

impl Bench {
    fn new() -> Bench {
        let root = TempDir::new().expect("a directory");
        let machine = Machine::at(root.path());
        let bench = Bench { notes: Notes::new(&machine), machine, root };
        let controller = "sys/devices/pci0000:00/0000:00:05.0";
        bench.write(&format!("{controller}/class"), "0x010802");
        let block = format!("{controller}/nvme/nvme0/nvme0n1");
        let files = [("size", "2048"), ("dev", "259:0"), ("nsid", "1")];
        files.iter().for_each(|(file, text)| bench.write(&format!("{block}/{file}"), text));
        bench.write(&format!("{block}/queue/logical_block_size"), "512");
        bench.write(&format!("{controller}/nvme/nvme0/serial"), SERIAL);
        bench.link(&format!("{block}/device"), &format!("{controller}/nvme/nvme0"));
        bench.link("sys/class/block/nvme0n1", &block);
        bench.link("sys/dev/block/259:0", &block);
        bench.link("sys/bus/pci/devices/0000:00:05.0", controller);
        bench.write("sys/kernel/iommu_groups/7/type", "DMA");
        let group = "sys/kernel/iommu_groups/7";
        bench.link(&format!("{group}/devices/0000:00:05.0"), controller);
        bench.link(&format!("{controller}/iommu_group"), group);
        bench.write("proc/sys/kernel/random/boot_id", "boot-1");
        bench.write("proc/self/mountinfo", "");
        bench.write("proc/swaps", "");
        bench.driver(Some("nvme"));
        bench
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        fs::write(path, format!("{text}\n")).expect("written");
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        let _ = fs::remove_file(&path);
        symlink(self.path(target), path).expect("linked");
    }

    fn driver(&self, name: Option<&str>) {
        let link = "sys/devices/pci0000:00/0000:00:05.0/driver";
        let _ = fs::remove_file(self.path(link));
        if let Some(name) = name {
            fs::create_dir_all(self.path(&format!("sys/bus/pci/drivers/{name}"))).expect("made");
            self.link(link, &format!("sys/bus/pci/drivers/{name}"));
        }
    }

    fn plan(&self, wants: Safety, destroy: Option<&str>) -> Result<Safety, String> {
        let destroy = destroy.map(str::to_string);
        self.asked(&OpenRequest { destroy, ..OpenRequest::to(wants) })
    }

    fn asked(&self, request: &OpenRequest) -> Result<Safety, String> {
        let plan = plan(&self.machine, &self.notes, SPEC, self.function(), request);
        plan.map(|plan| plan.info.allowed).map_err(|error| error.to_string())
    }

    /// The reason for refusing to overwrite the drive despite a correct serial number.
    fn refusal(&self) -> String {
        self.plan(Safety::Destroys, Some(SERIAL)).expect_err("refused")
    }

    fn note(&self, kept: bool) -> Note {
        let function = self.function();
        let taken = super::takeable(&self.machine, SPEC, &function, Some(SERIAL), false);
        Note { kept, ..taken.expect("free") }
    }

    fn function(&self) -> Function {
        let spec = Spec::parse(SPEC).expect("an address");
        Function::find(&self.machine, SPEC, spec).expect("there")
    }
}

#[test]
fn a_free_drive_is_detached_only_with_its_serial_number() {
    let bench = Bench::new();
    assert_eq!(bench.plan(Safety::Destroys, Some(SERIAL)), Ok(Safety::Destroys));
    let none = bench.plan(Safety::Scratch, None).expect_err("refused");
    assert!(none.contains("requires its serial number"), "{none}");
    let wrong = bench.plan(Safety::Destroys, Some("S2")).expect_err("refused");
    assert_eq!(wrong, "'S2' is not the serial number of pci:0000:00:05.0: nothing was touched");
    let borrowed = bench.plan(Safety::Borrows, None).expect_err("refused");
    assert!(borrowed.contains("cannot be borrowed"), "{borrowed}");
}

#[test]
fn a_namespace_has_the_same_key_with_the_kernel_and_without() {
    let bench = Bench::new();
    let note = bench.note(false);
    let node = Node::named(&bench.machine, "nvme0n1").expect("there");
    let own = DriveKey::from_node(&bench.machine, &node).expect("known");
    let keys = || keys_of(&bench.machine, &bench.notes, &bench.function());
    assert_eq!(keys(), std::slice::from_ref(&own));
    fs::remove_dir_all(bench.path("sys/devices/pci0000:00/0000:00:05.0/nvme")).expect("detached");
    assert!(keys().is_empty(), "nothing identifies the drive");
    bench.notes.keep(bench.function().address, &note).expect("written");
    assert_eq!(keys(), [own]);
}

#[test]
fn a_drive_whose_namespaces_changed_stays_with_the_kernel() {
    let bench = Bench::new();
    let note = Note { group: None, ..bench.note(false) };
    fs::remove_dir_all(bench.path("sys/devices/pci0000:00/0000:00:05.0/nvme")).expect("removed");
    let taken = take(&bench.machine, &bench.notes, &bench.function(), &note);
    let text =
        "pci:0000:00:05.0 changed since it was opened: the number of its namespaces was 1, now 0";
    assert_eq!(taken.expect_err("changed").to_string(), text);
}

#[test]
fn a_namespace_in_use_stays_with_the_kernel() {
    let bench = Bench::new();
    bench.write("proc/self/mountinfo", "29 1 259:0 / /mnt rw - ext4 /dev/nvme0n1 rw");
    let text = bench.refusal();
    assert!(text.contains("cannot be taken from the kernel: /dev/nvme0n1 is mounted"), "{text}");
}

#[test]
fn a_drive_without_an_iommu_or_isolation_stays_with_the_kernel() {
    let bench = Bench::new();
    let peer = "sys/devices/pci0000:00/0000:00:05.1";
    bench.write(&format!("{peer}/class"), "0x010601");
    bench.link("sys/bus/pci/devices/0000:00:05.1", peer);
    bench.link("sys/kernel/iommu_groups/7/devices/0000:00:05.1", peer);
    assert!(bench.plan(Safety::Destroys, Some(SERIAL)).is_ok(), "without a driver");
    fs::create_dir_all(bench.path("sys/bus/pci/drivers/ahci")).expect("made");
    bench.link(&format!("{peer}/driver"), "sys/bus/pci/drivers/ahci");
    let text = bench.refusal();
    assert_eq!(text, "the IOMMU cannot isolate pci:0000:00:05.0 from 0000:00:05.1 (ahci)");
    // Bridges do not count.
    bench.write(&format!("{peer}/class"), "0x060400");
    assert!(bench.plan(Safety::Destroys, Some(SERIAL)).is_ok());
    fs::remove_file(bench.path("sys/devices/pci0000:00/0000:00:05.0/iommu_group")).expect("gone");
    assert!(bench.refusal().contains("has no IOMMU"));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_drive_without_an_iommu_is_taken_only_if_allowed_and_resettable() {
    let bench = Bench::new();
    let function = "sys/devices/pci0000:00/0000:00:05.0";
    fs::remove_file(bench.path(&format!("{function}/iommu_group"))).expect("gone");
    assert!(bench.refusal().contains("has no IOMMU"));
    let destroy = Some(SERIAL.to_string());
    let allowed = OpenRequest { destroy, no_iommu: true, ..OpenRequest::to(Safety::Destroys) };
    let never = bench.asked(&allowed).expect_err("refused");
    assert!(never.contains("cannot be reset, so nothing could stop it"), "{never}");
    bench.write(&format!("{function}/config"), "0123456789abcdef");
    bench.write(&format!("{function}/reset"), "");
    assert_eq!(bench.asked(&allowed), Ok(Safety::Destroys));
    // The serial number must match even with `--no-iommu`.
    let wrong = OpenRequest { destroy: Some("S2".into()), ..allowed };
    assert!(bench.asked(&wrong).expect_err("refused").contains("is not the serial number"));
}

#[test]
fn a_silenced_function_is_no_longer_bus_master_and_was_reset() {
    let bench = Bench::new();
    let function = "sys/devices/pci0000:00/0000:00:05.0";
    assert!(bench.function().silence().is_err(), "without its files");
    let config = bench.path(&format!("{function}/config"));
    // Vendor, device, then the command register: interrupts off, bus master, memory.
    fs::write(&config, [0x36, 0x1b, 0x10, 0x00, 0x06, 0x04, 0x10, 0x00]).expect("written");
    bench.write(&format!("{function}/reset"), "");
    bench.function().silence().expect("silenced");
    assert_eq!(fs::read(&config).expect("there")[4..], [0x02, 0x04, 0x10, 0x00]);
    assert_eq!(fs::read(bench.path(&format!("{function}/reset"))).expect("there"), b"1");
}

#[test]
fn a_drive_with_another_holder_is_refused() {
    let bench = Bench::new();
    let note = bench.note(false);
    bench.driver(Some("vfio-pci"));
    assert!(bench.refusal().contains("not by ssdyno"));
    assert_eq!(listed(&bench.machine, &bench.notes)[0].holder, "bound by another program");
    let address = bench.function().address;
    let lock = bench.notes.keep(address, &note).expect("kept");
    assert_eq!(bench.refusal(), "pci:0000:00:05.0 is used by another ssdyno");
    drop(lock);
    assert!(bench.refusal().contains("left by a run that was killed"));
    let shown = &listed(&bench.machine, &bench.notes)[0];
    assert_eq!(shown.give_back.as_deref(), Some("ssdyno recover"));
    assert_eq!(shown.serial.as_deref(), Some(SERIAL));
    // A note from an earlier boot is void.
    bench.write("proc/sys/kernel/random/boot_id", "boot-2");
    assert!(bench.refusal().contains("not by ssdyno"));
    bench.driver(Some("other"));
    assert!(bench.refusal().contains("has the driver other"));
    bench.driver(None);
    assert!(bench.refusal().contains("has no driver"));
}

/// Earlier versions wrote notes to the home directory of the user who ran them.
#[test]
fn a_note_from_an_earlier_version_is_found_in_any_home_if_trusted() {
    let bench = Bench::new();
    let note = serde_json::to_string(&bench.note(false)).expect("plain data");
    bench.driver(Some("vfio-pci"));
    bench.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/users/ann:/bin/sh");
    let notes = Notes::new(&bench.machine);
    let found = || left(&bench.machine, &notes).len();
    let path = "users/ann/.local/state/ssdyno/bound/0000:00:05.0.json";
    assert_eq!(found(), 0);
    bench.write(path, &note);
    assert_eq!(found(), 1);
    let words = left(&bench.machine, &notes)[0].1.in_words();
    assert_eq!(words, format!("{SPEC} (serial number {SERIAL})"));
    assert_eq!(listed(&bench.machine, &notes)[0].give_back.as_deref(), Some("ssdyno recover"));
    // Locked by a run of the earlier version.
    let lock = notes.lock(bench.function().address).expect("free");
    assert_eq!(listed(&bench.machine, &notes)[0].holder, "used by a run of ssdyno");
    drop(lock);
    let file = bench.path(path);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("changed");
    assert_eq!(found(), 0, "any user could have written it");
    fs::remove_file(&file).expect("removed");
    bench.write("tmp/note", &note);
    symlink(bench.path("tmp/note"), &file).expect("linked");
    assert_eq!(found(), 0, "it is a link");
    fs::remove_file(&file).expect("removed");
    bench.write(path, &note.replace("boot-1", "boot-0"));
    assert_eq!(found(), 0, "it is from another boot");
    bench.write(path, &note);
    notes.forget(bench.function().address).expect("removed");
    assert!(!file.exists());
}

#[test]
fn a_drive_bound_by_prepare_is_read_without_its_serial_number() {
    let bench = Bench::new();
    let note = bench.note(true);
    bench.driver(Some("vfio-pci"));
    drop(bench.notes.keep(bench.function().address, &note).expect("kept"));
    let found = holder(&bench.machine, &bench.notes, &bench.function());
    assert!(matches!(found, Holder::Kept(kept) if *kept == note));
    assert_eq!(bench.plan(Safety::Scratch, None), Ok(Safety::Reads));
    assert_eq!(bench.plan(Safety::Destroys, Some(SERIAL)), Ok(Safety::Destroys));
    assert!(bench.plan(Safety::Destroys, Some("S2")).is_err());
    let shown = &listed(&bench.machine, &bench.notes)[0];
    assert_eq!(shown.give_back.as_deref(), Some("ssdyno prepare pci:0000:00:05.0 --unbind"));
}

#[test]
fn a_bound_drive_is_recognised_after_a_format() {
    let bench = Bench::new();
    let note = bench.note(true);
    bench.driver(Some("vfio-pci"));
    let function = || bench.function();
    drop(bench.notes.keep(function().address, &note).expect("kept"));
    let claim = ControllerClaim::from_kept(bench.notes.clone(), function(), note, 1);
    // 256 blocks, in the second of two formats: 512 and 4096 bytes.
    let mut page = [0; nvme::identify::STRUCTURE_BYTES];
    page[..8].copy_from_slice(&256u64.to_le_bytes());
    (page[25], page[26], page[130], page[134]) = (1, 1, 9, 12);
    let found = nvme::identify::Namespace::parse(&page).expect("whole");
    let mut claim = claim.expect("free");
    claim.formatted(&found).expect("noted");
    assert!(bench.notes.lock(function().address).is_none(), "still claimed");
    drop(claim);
    let again =
        plan(&bench.machine, &bench.notes, SPEC, function(), &OpenRequest::to(Safety::Reads));
    let info = again.map(|plan| plan.info).expect("planned");
    assert_eq!((info.bytes, info.logical_block_bytes), (1 << 20, 4096));
    assert_eq!(info.target.drive.and_then(|drive| drive.logical_block_bytes), Some(4096));
}

#[test]
fn one_of_several_namespaces_must_be_named() {
    let bench = Bench::new();
    let mut note = bench.note(true);
    let second = super::note::Namespace { nsid: 2, ..note.namespaces[0].clone() };
    note.namespaces.push(second);
    let chosen = |nsid| super::chosen(SPEC, &note, nsid).map(|n| n.nsid).map_err(|e| e.to_string());
    assert_eq!(chosen(None), Err("pci:0000:00:05.0 has 2 namespaces: name one".into()));
    assert_eq!(chosen(Some(2)), Ok(2));
    assert_eq!(chosen(Some(3)), Err("pci:0000:00:05.0: there is no such namespace".into()));
}
