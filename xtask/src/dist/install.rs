//! `cargo xtask dist --check`: the package, the image and the binary as people use them.
//!
//! The package is installed, upgraded and removed in a clean Debian root made by debootstrap, for
//! other machines under qemu-user; no file may be left. The image is unpacked by umoci and runs
//! under crun. The binary measures a directory and answers README's questions. This needs root. The
//! Debian roots stay in `target/roots` for the next time. cargo-deny judges the crates of others.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{Dist, deb, deny, image, questions};
use crate::run::{output, program};
use crate::{emulated, packages};

/// The release of Debian that is installed.
const SUITE: &str = "bookworm";

/// What the package is asked to do in the root, by `sh -e`; the arguments are its versions.
const SCRIPT: &str = r#"
files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /packages \
        -o -path /var/lib/dpkg -o -path /var/log \) -prune -o -print | sort
}
files >/tmp/before
dpkg --install /packages/old.deb >/dev/null
dpkg --install /packages/new.deb >/dev/null
test "$(ssdyno --version)" = "ssdyno $1"
test "$(ssdyno-web --version)" = "ssdyno-web $1"
test "$(ssdyno-fleet --version)" = "ssdyno-fleet $1"
test -z "$(dpkg --verify ssdyno)"
test -s /usr/share/man/man1/ssdyno.1.gz
test -s /usr/share/bash-completion/completions/ssdyno
ssdyno run sim:sd-class2 -m sdclass --seed 1 --store /tmp/runs.sqlite 2>/dev/null | grep "The card"
dpkg --remove ssdyno >/dev/null
dpkg --purge ssdyno 2>/dev/null
if dpkg --status ssdyno >/dev/null 2>&1; then exit 1; fi
files >/tmp/after
diff /tmp/before /tmp/after
rm -rf /tmp/before /tmp/after /tmp/runs.sqlite* /tmp/reports
"#;

/// Starts a bundle under a name. Control groups are hidden, because crun refuses to start on a
/// machine that mixes both versions of them, even if it is told to use none.
const CRUN: &str = "mount -t tmpfs none /sys/fs/cgroup && \
    exec crun --cgroup-manager=disabled run --bundle \"$1\" \"$2\"";

/// Checks the package, the image and the binary of a machine.
pub fn check(dist: &Dist) -> Result<()> {
    let needs: [packages::Need; 4] = [
        (&["debootstrap"], "debootstrap"),
        (&["umoci"], "umoci"),
        (&["crun"], "crun"),
        (&["unshare"], "util-linux"),
    ];
    let said = packages::install(&needs);
    ensure!(packages::missing(&needs).is_empty(), "--check needs more packages: {said}");
    println!("      ok   crates of others: {}", deny::check(dist)?);
    let name = dist.target.debian;
    let answer = check_package(dist).with_context(|| format!("the package for {name}"))?;
    println!("      ok   .deb for {name}: installed, upgraded, removed; {answer}");
    let answer = check_image(dist).with_context(|| format!("the image for {name}"))?;
    println!("      ok   image for {name} under crun; {answer}");
    println!("      ok   binary for {name} in a directory: {}", measure_directory(dist)?);
    let answers = questions::check(dist).with_context(|| format!("the binary for {name}"))?;
    println!("      ok   binary for {name}: {answers} answers of README, bit for bit");
    Ok(())
}

/// Measures a directory of this machine; returns the answer.
fn measure_directory(dist: &Dist) -> Result<String> {
    let place = dist.scratch("measured")?;
    let mut ssdyno = dist.target.program(&dist.binary(), &["run", ".", "--json", "--quiet"]);
    ssdyno.current_dir(&place).env("XDG_DATA_HOME", &place).env("XDG_STATE_HOME", &place);
    let record: Value = serde_json::from_str(&output(&mut ssdyno)?).context("the record")?;
    fs::remove_dir_all(place)?;
    let answer = record["answer"]["headline"].as_str();
    Ok(answer.context("a run of a directory without an answer")?.to_string())
}

fn check_package(dist: &Dist) -> Result<String> {
    let root = debian_root(dist)?;
    let packages = root.join("packages");
    fs::create_dir_all(&packages)?;
    deb::pack(dist, "0.0.0~before", &packages.join("old.deb"))?;
    let new = dist.dir.join(format!("ssdyno_{}_{}.deb", dist.version, dist.target.debian));
    fs::copy(&new, packages.join("new.deb")).with_context(|| new.display().to_string())?;
    let mut script = program("chroot", &[]);
    script.arg(&root).args(["sh", "-ec", SCRIPT, "sh", &dist.version]);
    script.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C");
    let said = emulated::output(dist.target, &script);
    fs::remove_dir_all(packages)?;
    Ok(said?.trim().to_string())
}

/// A clean minimal Debian for the target, made once.
fn debian_root(dist: &Dist) -> Result<PathBuf> {
    let roots = dist.dir.with_file_name("roots");
    fs::create_dir_all(&roots)?;
    let root = roots.join(dist.target.debian);
    if root.exists() {
        return Ok(root);
    }
    // Renamed when it is complete.
    let part = roots.join(format!("{}.part", dist.target.debian));
    if part.exists() {
        fs::remove_dir_all(&part)?;
    }
    let architecture = format!("--arch={}", dist.target.debian);
    let mut first = program("debootstrap", &["--variant=minbase", &architecture]);
    if !dist.target.is_native() {
        first.arg("--foreign");
    }
    output(first.arg(SUITE).arg(&part))?;
    if !dist.target.is_native() {
        let mut second = program("chroot", &[]);
        second.arg(&part).args(["/debootstrap/debootstrap", "--second-stage"]);
        second.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C");
        // It binds devices of this machine then instead of creating them.
        second.env("container", "lxc");
        emulated::output(dist.target, &second)?;
    }
    fs::rename(&part, &root)?;
    Ok(root)
}

fn check_image(dist: &Dist) -> Result<String> {
    let layout = dist.scratch("layout")?;
    output(program("tar", &["-xf"]).arg(dist.file("oci.tar")).arg("-C").arg(&layout))?;
    let bundle = image::unpack(dist, &layout)?;
    let words = ["ssdyno", "run", "sim:sd-class2", "-m", "sdclass", "--seed", "1"];
    configure(&bundle, &words)?;
    let name = format!("ssdyno-{}-{}", dist.target.name, std::process::id());
    let mut crun = program("unshare", &["--mount", "sh", "-c", CRUN, "sh"]);
    crun.arg(&bundle).arg(name);
    let said = emulated::output(dist.target, &crun)?;
    fs::remove_dir_all(bundle)?;
    fs::remove_dir_all(layout)?;
    let answer = said.lines().find(|line| line.starts_with("The card"));
    Ok(answer.with_context(|| format!("no answer in its output:\n{said}"))?.to_string())
}

/// Sets the command of a bundle, and replaces the terminal by this program's streams.
fn configure(bundle: &Path, words: &[&str]) -> Result<()> {
    let path = bundle.join("config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path)?)?;
    if config["process"]["args"][0] != "/usr/bin/ssdyno" {
        bail!("the image starts {}", config["process"]["args"]);
    }
    config["process"]["args"] = json!(words);
    config["process"]["terminal"] = json!(false);
    fs::write(&path, config.to_string())?;
    Ok(())
}
