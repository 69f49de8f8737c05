//! A container image FROM scratch, written without a daemon: one layer with the binaries.
//!
//! The layout is the one of the OCI image specification 1.0 (image-layout.md, manifest.md,
//! config.md): blobs under their hashes, and an index that names the manifest. A `manifest.json`
//! beside it describes the same blobs to older versions of `docker load`. Everything is in one
//! archive.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Dist, PROGRAMS, archive};
use crate::run::{find, output, program};

/// The image's directory for records; a volume keeps them.
const DATA: &str = "/data";
/// The directory that a run measures if nothing else is named.
const PLACE: &str = "/drive";

/// Writes and checks the image; returns its archive.
pub fn make(dist: &Dist) -> Result<PathBuf> {
    let layout = dist.scratch("oci")?;
    write_layout(dist, &layout)?;
    check(dist, &layout)?;
    let image = dist.file("oci.tar");
    archive::tar(dist, &layout, &image)?;
    fs::remove_dir_all(layout)?;
    Ok(image)
}

fn write_layout(dist: &Dist, layout: &Path) -> Result<()> {
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let (layer, unpacked) = layer(dist, &blobs)?;
    let (architecture, variant) = dist.target.oci;
    let mut platform = json!({"architecture": architecture, "os": "linux"});
    if let Some(variant) = variant {
        platform["variant"] = json!(variant);
    }
    let mut config = platform.clone();
    config["created"] = json!(dist.date()?);
    config["config"] = json!({"Entrypoint": ["/usr/bin/ssdyno"], "WorkingDir": PLACE,
        "Env": ["PATH=/usr/bin", format!("XDG_DATA_HOME={DATA}"), format!("XDG_STATE_HOME={DATA}")],
        "Labels": {"org.opencontainers.image.version": dist.version,
            "org.opencontainers.image.licenses": "MIT OR Apache-2.0"}});
    config["rootfs"] = json!({"type": "layers", "diff_ids": [format!("sha256:{unpacked}")]});
    config["history"] = json!([{"created": dist.date()?, "comment": "cargo xtask dist"}]);
    let config = put_json(&blobs, &config, "application/vnd.oci.image.config.v1+json")?;
    let manifest = json!({"schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": [layer]});
    let mut entry = put_json(&blobs, &manifest, "application/vnd.oci.image.manifest.v1+json")?;
    let name = format!("ssdyno:{}", dist.version);
    entry["platform"] = platform;
    entry["annotations"] = json!({"org.opencontainers.image.ref.name": dist.version,
        "io.containerd.image.name": format!("docker.io/library/{name}")});
    let index = json!({"schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry]});
    let path = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap_or_default();
        format!("blobs/{}", digest.replace(':', "/"))
    };
    let older = json!([{"Config": path(&manifest["config"]), "RepoTags": [name],
        "Layers": [path(&manifest["layers"][0])]}]);
    fs::write(layout.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string())?;
    fs::write(layout.join("index.json"), index.to_string())?;
    fs::write(layout.join("manifest.json"), older.to_string())?;
    Ok(())
}

/// Writes the layer; returns its descriptor and the hash of the archive before compression.
fn layer(dist: &Dist, blobs: &Path) -> Result<(Value, String)> {
    let tree = dist.scratch("layer")?;
    for directory in ["usr/bin", "usr/share/doc/ssdyno", "tmp", &DATA[1..], &PLACE[1..]] {
        fs::create_dir_all(tree.join(directory))?;
    }
    for name in PROGRAMS {
        fs::copy(dist.program(name), tree.join("usr/bin").join(name))?;
    }
    dist.copy_licenses(&tree.join("usr/share/doc/ssdyno"))?;
    let packed = tree.with_extension("tar");
    archive::tar(dist, &tree, &packed)?;
    fs::remove_dir_all(tree)?;
    let unpacked = archive::sha256(&packed)?;
    archive::gzip(&packed)?;
    let packed = packed.with_extension("tar.gz");
    let kind = "application/vnd.oci.image.layer.v1.tar+gzip";
    let descriptor = describe(&packed, kind)?;
    fs::rename(&packed, blobs.join(digest(&descriptor)?))?;
    Ok((descriptor, unpacked))
}

/// Writes a JSON blob; returns its descriptor.
fn put_json(blobs: &Path, value: &Value, kind: &str) -> Result<Value> {
    let part = blobs.join("part");
    fs::write(&part, value.to_string()).with_context(|| part.display().to_string())?;
    let descriptor = describe(&part, kind)?;
    fs::rename(&part, blobs.join(digest(&descriptor)?))?;
    Ok(descriptor)
}

/// The descriptor of a file: its kind, hash and size.
fn describe(file: &Path, kind: &str) -> Result<Value> {
    let size = fs::metadata(file)?.len();
    Ok(json!({"mediaType": kind, "digest": format!("sha256:{}", archive::sha256(file)?),
        "size": size}))
}

/// The file name of a blob: its hash.
fn digest(descriptor: &Value) -> Result<&str> {
    let digest = descriptor["digest"].as_str().unwrap_or_default();
    digest.strip_prefix("sha256:").context("a descriptor without a digest")
}

/// Every blob has its hash as its name; `umoci` unpacks the image if this machine has it.
fn check(dist: &Dist, layout: &Path) -> Result<()> {
    for blob in fs::read_dir(layout.join("blobs/sha256"))? {
        let blob = blob?.path();
        let name = blob.file_name().unwrap_or_default().to_string_lossy().into_owned();
        ensure!(archive::sha256(&blob)? == name, "{} is not what its name says", blob.display());
    }
    if find("umoci").is_some() {
        let bundle = unpack(dist, layout)?;
        fs::remove_dir_all(bundle)?;
    }
    Ok(())
}

/// Unpacks a layout as a bundle for a container runtime, in a new directory.
pub fn unpack(dist: &Dist, layout: &Path) -> Result<PathBuf> {
    let bundle = dist.scratch("bundle")?;
    fs::remove_dir(&bundle)?;
    let image = format!("{}:{}", layout.display(), dist.version);
    let path = bundle.to_string_lossy();
    output(&mut program("umoci", &["unpack", "--rootless", "--image", &image, &path]))?;
    let binary = bundle.join("rootfs/usr/bin/ssdyno");
    let equal = archive::sha256(&binary)? == archive::sha256(&dist.binary())?;
    ensure!(equal, "the image has another binary than the distribution");
    Ok(bundle)
}
