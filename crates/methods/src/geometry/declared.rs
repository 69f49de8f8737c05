//! The internal sizes that the device declares, for comparison with the measured ones.
//!
//! They come with the device's identity and take no I/O. Only two of them describe an erase block:
//! the allocation unit of an SD card, which is a whole number of erase blocks (SD Physical Layer
//! Specification, 4.13.1.8), and the preferred erase size of a card, which the kernel chooses by
//! capacity if the card declares no unit. The others are printed and not compared. A declaration
//! never changes a measured size.

use super::{DECLARED_ERASE, DECLARED_OTHER};
use record::{DeclaredSizes, Evidence, MetricInfo, Unit};
use workload::units::binary;

use script::Session;
use script::draft::Draft;

/// Names and metrics of the sizes that describe an erase block, the more direct one first.
const ERASE: [(&str, MetricInfo); 2] = [
    ("allocation unit", DECLARED_ERASE.named("geometry-declared-allocation-unit")),
    ("preferred erase size", DECLARED_ERASE.named("geometry-declared-preferred-erase")),
];

/// Publishes the declared sizes as metrics.
pub(super) fn publish(session: &mut Session<'_>) {
    let declared = read(session);
    session.put(ERASE[0].1, declared.allocation_unit.map(|bytes| bytes as f64));
    session.put(ERASE[1].1, declared.preferred_erase.map(|bytes| bytes as f64));
    for (word, bytes) in [
        ("write-granularity", declared.write_granularity),
        ("optimal-write", declared.optimal_write),
        ("discard-granularity", declared.discard_granularity),
        ("discard-alignment", declared.discard_alignment),
    ] {
        session.put_member(DECLARED_OTHER, &[&word], bytes.map(|bytes| bytes as f64));
    }
}

/// The declared sizes of the target.
pub(super) fn read(session: &Session<'_>) -> DeclaredSizes {
    let drive = session.target().target.drive.as_ref();
    drive.map(|drive| drive.declared.clone()).unwrap_or_default()
}

/// A sentence about the declared erase block for the verdict, with a leading space, and its
/// evidence; empty if nothing is declared.
pub(super) fn sentence(declared: &DeclaredSizes, erase: Option<u64>) -> (String, Option<Evidence>) {
    let sizes = [declared.allocation_unit, declared.preferred_erase];
    let mut sizes = ERASE.iter().zip(sizes).filter_map(|((name, _), bytes)| Some((*name, bytes?)));
    let Some((name, bytes)) = sizes.next() else { return (String::new(), None) };
    let size = binary(bytes);
    let text = match erase.map(|erase| Agreement::new(bytes, erase)) {
        None => format!(" The device declares: {name} {size}."),
        Some(Agreement::Same) => format!(" The device declares the same: {name} {size}."),
        Some(Agreement::Multiple(n)) => format!(" The declared {name}, {size}, is {n} of them."),
        Some(Agreement::Differs) => {
            format!(" The device declares another size: {name} {size}.")
        }
    };
    (text, Some(Evidence::new(format!("declared {name}"), bytes as f64, Unit::Bytes)))
}

/// A continuation of the answer if the declared erase block differs from the measured one.
pub(super) fn disagreement(draft: &Draft<'_>, erase: Option<f64>) -> Option<String> {
    let declared = ERASE.iter().find_map(|(_, metric)| draft.value(*metric))?;
    let differs = Agreement::new(declared as u64, erase? as u64) == Agreement::Differs;
    differs.then(|| format!(" It declares {}.", binary(declared as u64)))
}

/// How a declared size relates to the measured erase block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Agreement {
    Same,
    /// This many erase blocks.
    Multiple(u64),
    Differs,
}

impl Agreement {
    fn new(declared: u64, erase: u64) -> Agreement {
        match declared.checked_div(erase) {
            Some(1) if declared == erase => Agreement::Same,
            Some(n) if n > 1 && declared.is_multiple_of(erase) => Agreement::Multiple(n),
            _ => Agreement::Differs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_erase_block_is_said_beside_the_one_found() {
        const MIB: u64 = 1 << 20;
        let unit = |bytes| DeclaredSizes { allocation_unit: Some(bytes), ..Default::default() };
        let said = |declared: &DeclaredSizes, erase| sentence(declared, erase).0;
        let four = Some(4 * MIB);
        assert_eq!(said(&DeclaredSizes::default(), four), "");
        assert_eq!(
            said(&unit(4 * MIB), four),
            " The device declares the same: allocation unit 4 MiB."
        );
        assert_eq!(
            said(&unit(16 * MIB), four),
            " The declared allocation unit, 16 MiB, is 4 of them."
        );
        for other in [512 << 10, 6 * MIB, 1] {
            assert!(said(&unit(other), four).starts_with(" The device declares another size"));
        }
        assert_eq!(said(&unit(4 * MIB), None), " The device declares: allocation unit 4 MiB.");
        // The card's unit takes precedence over the kernel's choice.
        let both = DeclaredSizes { preferred_erase: Some(MIB), ..unit(4 * MIB) };
        assert!(said(&both, four).ends_with("allocation unit 4 MiB."));
        assert!(sentence(&both, four).1.is_some_and(|e| e.value == 4.0 * MIB as f64));
    }
}
