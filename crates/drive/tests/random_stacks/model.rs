//! The bytes of every node of a generated stack: a base file, a start and a size.
//!
//! A second implementation of the guard's rule, on ranges that the generator chose.

/// Bytes of a base file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bytes {
    pub base: usize,
    pub start: u64,
    pub length: u64,
}

impl Bytes {
    pub fn overlaps(&self, other: &Bytes) -> bool {
        self.base == other.base
            && self.start < other.start + other.length
            && other.start < self.start + self.length
    }
}

/// A node that can be asked for: a name of a file, or a device.
#[derive(Clone, Debug)]
pub struct Node {
    pub path: String,
    /// Its size.
    pub bytes: u64,
    pub place: Bytes,
    /// The loop devices on which it stands, by number of attachment, itself included.
    pub chain: Vec<usize>,
    /// Whether the kernel cannot tell what it stands on.
    pub is_obscure: bool,
}

/// What uses what.
#[derive(Debug, Default)]
pub struct Model {
    /// The bytes under each loop device, in order of attachment.
    pub loops: Vec<Bytes>,
    /// The bytes of the member in use.
    pub in_use: Option<Bytes>,
}

impl Model {
    /// Whether a byte of the node also belongs to something in use: the member, or a loop device
    /// that is not below the node.
    pub fn is_shared(&self, node: &Node) -> bool {
        let others =
            self.loops.iter().enumerate().filter(|(number, _)| !node.chain.contains(number));
        let mut users = others.map(|(_, bytes)| bytes).chain(&self.in_use);
        node.is_obscure || users.any(|bytes| bytes.overlaps(&node.place))
    }
}
