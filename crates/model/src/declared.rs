//! Internal sizes that a virtual drive declares. They are recorded like those of a real drive and
//! do not affect its behaviour: the declared erase block can differ from the actual one.

use serde::{Deserialize, Serialize};

use crate::figure::{Figure, Size};

/// Declared sizes; 0 means not declared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeclaredSpec {
    /// Allocation unit of an SD card (AU_SIZE).
    pub allocation_unit: Figure<Size>,
    /// Preferred erase size of a card.
    pub preferred_erase: Figure<Size>,
    /// Preferred write granularity of an NVMe namespace (NPWG).
    pub write_granularity: Figure<Size>,
    /// Optimal write size of an NVMe namespace (NOWS).
    pub optimal_write: Figure<Size>,
    pub discard_granularity: Figure<Size>,
    /// Distance from the drive's start to the first unit of a discard.
    pub discard_alignment: Figure<Size>,
}

impl Default for DeclaredSpec {
    fn default() -> Self {
        let none = || Figure::guess(Size(0));
        DeclaredSpec {
            allocation_unit: none(),
            preferred_erase: none(),
            write_granularity: none(),
            optimal_write: none(),
            discard_granularity: none(),
            discard_alignment: none(),
        }
    }
}
