//! Status of a completed command, typed (NVMe 1.4, section 4.6.1).

use core::fmt;

/// The status field of a completion without its phase bit, as reported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Status(pub u16);

/// Meaning of a status. A status on which no caller can act is [`Cause::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// Carried out.
    Success,
    /// The controller does not support this command.
    NoSuchCommand,
    /// A field of the command is invalid.
    InvalidField,
    /// The controller could not read or write memory.
    Transfer,
    /// It lost power.
    PowerLoss,
    /// An error inside the controller.
    Internal,
    /// Ended by an abort, or by the deletion of its queue.
    Aborted,
    /// The namespace is invalid, or cannot be addressed alone.
    Namespace,
    /// A sanitize failed and must be repeated.
    SanitizeFailed,
    /// A sanitize is in progress.
    Sanitizing,
    /// The namespace is write protected.
    Protected,
    /// Past the last block.
    OutOfRange,
    /// The namespace is not ready.
    NotReady,
    /// There is no such log.
    NoSuchLog,
    /// There is no such format.
    NoSuchFormat,
    /// Too many aborts at the same time.
    TooManyAborts,
    /// Read-only, or worn out.
    ReadOnly,
    /// Data could not be written to the medium.
    WriteFault,
    /// Data could not be read from the medium.
    ReadFault,
    /// The protection data do not match.
    Protection,
    /// Access was denied, or the drive is locked.
    Denied,
    /// Never written or discarded, on a drive that reports this.
    Unwritten,
    /// The controller did not answer, and was reset.
    Lost,
    /// Any other cause.
    Other,
}

impl Status {
    /// Carried out.
    pub const SUCCESS: Status = Status(0);
    /// No answer came; a reset of the controller ended the command. No controller reports this.
    pub const LOST: Status = Status(u16::MAX);

    /// Whether the command was carried out.
    pub const fn is_ok(self) -> bool {
        self.0 & 0x7ff == 0
    }

    /// Status code type and status code: the 11 bits that identify the cause.
    pub const fn code(self) -> u16 {
        self.0 & 0x7ff
    }

    /// The status's meaning.
    pub fn cause(self) -> Cause {
        if self == Status::LOST {
            return Cause::Lost;
        }
        match self.code() {
            0x000 => Cause::Success,
            0x001 => Cause::NoSuchCommand,
            0x002 => Cause::InvalidField,
            0x004 => Cause::Transfer,
            0x005 => Cause::PowerLoss,
            0x006 => Cause::Internal,
            0x007 | 0x008 => Cause::Aborted,
            0x00b => Cause::Namespace,
            0x01c => Cause::SanitizeFailed,
            0x01d => Cause::Sanitizing,
            0x020 => Cause::Protected,
            0x080 => Cause::OutOfRange,
            0x082 => Cause::NotReady,
            0x103 => Cause::TooManyAborts,
            0x109 => Cause::NoSuchLog,
            0x10a => Cause::NoSuchFormat,
            0x182 => Cause::ReadOnly,
            0x280 => Cause::WriteFault,
            0x281 => Cause::ReadFault,
            0x282..=0x284 => Cause::Protection,
            0x286 => Cause::Denied,
            0x287 => Cause::Unwritten,
            _ => Cause::Other,
        }
    }
}

impl Cause {
    /// The cause in words.
    pub const fn words(self) -> &'static str {
        match self {
            Cause::Success => "success",
            Cause::NoSuchCommand => "the command is not supported",
            Cause::InvalidField => "a field of the command is invalid",
            Cause::Transfer => "a data transfer error",
            Cause::PowerLoss => "a loss of power",
            Cause::Internal => "an internal error",
            Cause::Aborted => "the command was aborted",
            Cause::Namespace => "the namespace is invalid, or cannot be addressed alone",
            Cause::SanitizeFailed => "a sanitize failed and must be repeated first",
            Cause::Sanitizing => "a sanitize is in progress",
            Cause::Protected => "the namespace is write protected",
            Cause::OutOfRange => "an address past the last block",
            Cause::NotReady => "the namespace is not ready",
            Cause::NoSuchLog => "there is no such log",
            Cause::NoSuchFormat => "there is no such format",
            Cause::TooManyAborts => "too many aborts at the same time",
            Cause::ReadOnly => "the range is read-only",
            Cause::WriteFault => "a write fault",
            Cause::ReadFault => "an unrecovered read error",
            Cause::Protection => "an end-to-end check failed",
            Cause::Denied => "access denied",
            Cause::Unwritten => "a block that was never written",
            Cause::Lost => "no answer, so the controller was reset",
            Cause::Other => "an error",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause() {
            Cause::Lost => f.write_str(Cause::Lost.words()),
            cause => write!(f, "{} (NVMe status {:#05x})", cause.words(), self.code()),
        }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Status({:#06x} {:?})", self.0, self.cause())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_ignores_the_other_bits_of_the_status() {
        assert!(Status::SUCCESS.is_ok());
        assert!(!Status::LOST.is_ok());
        assert_eq!(Status(0x4281).cause(), Cause::ReadFault);
        // "More" and the retry delay are not part of the cause.
        assert_eq!(Status(0x3800).cause(), Cause::Success);
    }
}
