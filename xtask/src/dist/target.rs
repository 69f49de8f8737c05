//! The machines that a distribution is built for.
//!
//! Debian's C library is linked statically on each of them. A cross build takes the linker and the
//! libraries from Debian's cross packages and runs the result under qemu-user.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::packages;
use crate::run::{output, program};

/// A machine, in the words of everybody who names one.
#[derive(Debug)]
pub struct Target {
    /// In file names and on the command line, as printed by `uname -m`, without a suffix.
    pub name: &'static str,
    /// Of rustc.
    pub triple: &'static str,
    /// Of Debian's packages.
    pub debian: &'static str,
    /// Architecture and variant of an image.
    pub oci: (&'static str, Option<&'static str>),
    /// Prefix of Debian's cross tools.
    pub gnu: &'static str,
    /// Suffix of qemu-user's programs.
    pub qemu: &'static str,
    /// The debian package with the C library for cross builds.
    libc: &'static str,
    /// `e_machine` and the word size in bits in an ELF file (elf(5)).
    pub elf: (usize, u8),
}

/// All machines, by the number of people who have one.
pub const TARGETS: [Target; 4] = [
    Target {
        name: "x86_64",
        triple: "x86_64-unknown-linux-gnu",
        debian: "amd64",
        oci: ("amd64", None),
        gnu: "x86_64-linux-gnu",
        qemu: "x86_64",
        libc: "libc6-dev-amd64-cross",
        elf: (62, 64),
    },
    Target {
        name: "aarch64",
        triple: "aarch64-unknown-linux-gnu",
        debian: "arm64",
        oci: ("arm64", Some("v8")),
        gnu: "aarch64-linux-gnu",
        qemu: "aarch64",
        libc: "libc6-dev-arm64-cross",
        elf: (183, 64),
    },
    Target {
        name: "armv7",
        triple: "armv7-unknown-linux-gnueabihf",
        debian: "armhf",
        oci: ("arm", Some("v7")),
        gnu: "arm-linux-gnueabihf",
        qemu: "arm",
        libc: "libc6-dev-armhf-cross",
        elf: (40, 32),
    },
    Target {
        name: "riscv64",
        triple: "riscv64gc-unknown-linux-gnu",
        debian: "riscv64",
        oci: ("riscv64", None),
        gnu: "riscv64-linux-gnu",
        qemu: "riscv64",
        libc: "libc6-dev-riscv64-cross",
        elf: (243, 64),
    },
];

impl Target {
    /// The machine with this name or triple.
    pub fn named(word: &str) -> Result<&'static Target> {
        let target = TARGETS.iter().find(|target| target.name == word || target.triple == word);
        let names = || TARGETS.map(|target| target.name).join(", ");
        target.with_context(|| format!("unknown target '{word}'; there are {}", names()))
    }

    /// This machine.
    pub fn host() -> Result<&'static Target> {
        let about = output(&mut program("rustc", &["-vV"]))?;
        let triple = about.lines().find_map(|line| line.strip_prefix("host: "));
        Target::named(triple.context("rustc -vV names no host")?)
    }

    /// Whether this machine runs the target's programs without qemu-user.
    pub fn is_native(&self) -> bool {
        std::env::consts::ARCH == self.name
    }

    /// The program of qemu-user that runs this target's programs.
    pub fn emulator(&self) -> String {
        format!("qemu-{}-static", self.qemu)
    }

    /// Debian's notice of the copyrights of the C library that is linked.
    pub fn libc_copyright(&self) -> PathBuf {
        let package = if self.is_native() { "libc6-dev" } else { self.libc };
        Path::new("/usr/share/doc").join(package).join("copyright")
    }

    /// A program of this target, started directly or under qemu-user.
    pub fn program(&self, binary: &Path, arguments: &[&str]) -> Command {
        if self.is_native() {
            return program(binary, arguments);
        }
        let mut command = program(self.emulator(), &[]);
        command.arg(binary).args(arguments);
        command
    }

    /// Installs the cross tools and Rust's libraries, if they are missing.
    pub fn prepare(&self) -> Result<()> {
        let libraries = ["--print", "target-libdir", "--target", self.triple];
        let libraries = output(&mut program("rustc", &libraries))?;
        if !Path::new(libraries.trim()).exists() {
            output(&mut program("rustup", &["target", "add", self.triple]))?;
        }
        if self.is_native() {
            return Ok(());
        }
        let (compiler, emulator) = (format!("{}-gcc", self.gnu), self.emulator());
        let package = format!("gcc-{}", self.gnu);
        let archive = format!("/usr/{}/lib/libc.a", self.gnu);
        let needed: [(&[&str], &str); 3] = [
            (&[&compiler], &package),
            (&[&archive], self.libc),
            (&[&emulator], "qemu-user-static"),
        ];
        let said = packages::install(&needed);
        if let Some(missing) = packages::missing(&needed).first() {
            bail!("a build for {} needs {missing}: {said}", self.name);
        }
        Ok(())
    }

    /// Flags of rustc for a static binary, separated by spaces.
    pub fn rustflags(&self) -> String {
        let flags = "-Ctarget-feature=+crt-static";
        // The same as in .cargo/config.toml, which RUSTFLAGS replaces.
        if self.elf.1 == 32 {
            format!("{flags} --cfg io_uring_skip_arch_check")
        } else {
            flags.into()
        }
    }

    /// Sets the flags and the linker of a cargo command.
    pub fn configure(&self, cargo: &mut Command, more_flags: &str) {
        cargo.args(["--target", self.triple]);
        let flags = format!("{} {more_flags}", self.rustflags());
        // Examples in the documentation are compiled by rustdoc.
        for variable in ["RUSTFLAGS", "RUSTDOCFLAGS"] {
            cargo.env(variable, flags.trim_end());
        }
        if !self.is_native() {
            let name = self.triple.to_uppercase().replace('-', "_");
            cargo.env(format!("CARGO_TARGET_{name}_LINKER"), format!("{}-gcc", self.gnu));
        }
    }
}

/// Whether an ELF file is for this machine and no program header entry names a loader (elf(5),
/// `PT_INTERP`).
pub fn is_static(elf: &[u8], target: &Target) -> bool {
    const PT_INTERP: usize = 3;
    let (machine, bits) = target.elf;
    let field = |at: usize, bytes: usize| -> Option<usize> {
        let raw = elf.get(at..at + bytes)?.iter().rev();
        Some(raw.fold(0, |n, &byte| n << 8 | usize::from(byte)))
    };
    // Offsets of e_phoff and e_phentsize, which e_phnum follows, and the size of the first.
    let (table, size, word) = if bits == 64 { (0x20, 0x36, 8) } else { (0x1c, 0x2a, 4) };
    let headers = || {
        let (start, size, count) = (field(table, word)?, field(size, 2)?, field(size + 2, 2)?);
        (0..count).map(|i| field(start + i * size, 4)).collect::<Option<Vec<_>>>()
    };
    let kinds = headers().unwrap_or_default();
    elf.starts_with(&[0x7f, b'E', b'L', b'F', bits / 32, 1])
        && field(0x12, 2) == Some(machine)
        && !kinds.is_empty()
        && !kinds.contains(&PT_INTERP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(target: &Target, kinds: &[u8]) -> Vec<u8> {
        let (machine, bits) = target.elf;
        let (table, size, header) = if bits == 64 { (0x20, 0x36, 56) } else { (0x1c, 0x2a, 32) };
        let mut bytes = vec![0; 64 + usize::from(header) * kinds.len()];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', bits / 32, 1]);
        bytes[0x12] = machine as u8;
        bytes[table] = 64;
        bytes[size] = header;
        bytes[size + 2] = kinds.len() as u8;
        kinds.iter().enumerate().for_each(|(i, kind)| bytes[64 + usize::from(header) * i] = *kind);
        bytes
    }

    #[test]
    fn static_and_dynamic_are_distinguished() {
        for target in &TARGETS {
            assert!(is_static(&elf(target, &[6, 1, 1]), target), "{}", target.name);
            assert!(!is_static(&elf(target, &[6, 3, 1]), target), "{}", target.name);
            assert!(!is_static(&elf(target, &[]), target), "{}", target.name);
            assert!(!is_static(b"#!/bin/sh\n", target));
        }
    }

    #[test]
    fn a_binary_of_another_machine_is_rejected() {
        let [x86_64, aarch64, armv7, _] = &TARGETS;
        assert!(!is_static(&elf(x86_64, &[1]), aarch64));
        assert!(!is_static(&elf(aarch64, &[1]), armv7));
    }

    #[test]
    fn targets_have_short_names_and_triples() {
        let named = |word| Target::named(word).map(|target| target.debian).ok();
        assert_eq!(named("armv7"), Some("armhf"));
        assert_eq!(named("aarch64-unknown-linux-gnu"), Some("arm64"));
        assert_eq!(named("sparc"), None);
    }
}
