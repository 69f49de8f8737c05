//! Another user's rights, on systems other than Linux: nobody acts as another user there.

use std::io;

/// A user other than root: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {}

impl Owner {
    /// Does some work with this user's rights.
    ///
    /// # Errors
    /// Never.
    pub fn act<T>(self, _work: impl FnOnce() -> T) -> io::Result<T> {
        match self {}
    }
}
