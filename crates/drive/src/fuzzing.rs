//! The parsers of untrusted bytes, for the fuzz targets of this crate: contents and responses of
//! drives, and notes of detached drives. Not used by runs.

use crate::contents;
use crate::image::Image;
use crate::partitions;
use crate::pci::address::Address;
use crate::pci::note;
use crate::response::{ata, card, nvme, scsi, smart};

/// The contents of a drive image with blocks of `block_bytes`.
pub fn contents(image: &[u8], block_bytes: u32) -> String {
    let bytes = image.len() as u64;
    let contents = contents::scan(image, bytes, block_bytes);
    let table = partitions::find::<[u8]>(image, bytes, block_bytes, false);
    let oddities = table.map(|table| table.oddities().join(" ")).unwrap_or_default();
    // Bytes beyond the end cannot be read.
    assert!(image.look(bytes, 1).is_none());
    format!("{} {oddities}", contents::in_words(&contents))
}

/// A note of a drive detached from the kernel.
pub fn note(text: &[u8]) -> String {
    match note::parse(text) {
        Ok(note) => {
            let address = note.address.parse::<Address>().is_ok();
            let unique = note.namespaces.iter().filter(|space| space.key.is_unique()).count();
            let words =
                note.namespaces.iter().map(|space| space.key.in_words().len()).sum::<usize>();
            // Letters, because numbers do not count as different results.
            let kind = "x".repeat(1 + note.namespaces.len().min(4) + 8 * unique.min(4));
            format!("{kind} {address} {} {} {}", note.kept, note.group.is_some(), words > 0)
        }
        Err(error) => error.to_string(),
    }
}

/// Parses the bytes as the response to each command in turn.
pub fn answers(page: &[u8]) -> String {
    let ata = ata::Identify::parse(page).map(|page| {
        let names = (page.serial(), page.firmware(), page.model(), page.security());
        let trim = (page.trims(), page.after_trim().words(), page.trim_ranges());
        let sizes = (page.sectors(), page.alignment_bytes(), page.rotation());
        format!("{names:?} {trim:?} {sizes:?} {:?}", (page.generation_max(), page.smart()))
    });
    let attributes = smart::attributes(page);
    let statistic = [7, 32, 56].map(|bits| ata::statistic(page, 1, 8, bits));
    let smart = (smart::health(&attributes, "ACME"), statistic);
    let card = (
        card::Cid::parse_sd(page).map(|c| c.date()),
        card::Cid::parse_mmc(page, Some(6)).map(|c| c.date()),
    );
    let registers =
        (card::Csd::parse(page), card::SdStatus::parse(page), card::ExtCsd::parse(page));
    let nvme = (nvme::health(page), nvme::firmware_slots(page));
    let scsi = (scsi::Inquiry::parse(page), scsi::unit_serial(page), scsi::world_wide_name(page));
    let pages = (
        scsi::limits(page),
        scsi::rotation(page),
        scsi::provisioning(page),
        scsi::Sense::parse(page),
    );
    let shape = [
        ata.is_some(),
        !attributes.is_empty(),
        smart.0.wear_percent.is_some(),
        card.0.is_some(),
        card.1.is_some(),
        registers.0.is_some(),
        registers.1.is_some(),
        registers.2.is_some(),
        nvme.0.is_some(),
        nvme.1.is_some(),
        scsi.0.is_some(),
        scsi.1.is_some(),
        scsi.2.is_some(),
        pages.0.is_some(),
        pages.1.is_some(),
        pages.2.is_some(),
        pages.3.is_some(),
    ];
    shape.iter().map(|is_known| if *is_known { 'y' } else { 'n' }).collect()
}
