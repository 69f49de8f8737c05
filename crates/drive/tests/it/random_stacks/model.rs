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
    /// The file or disk that it is, or is a partition of.
    pub whole: String,
    /// The loop devices on which it stands, by number of attachment, itself included.
    pub chain: Vec<usize>,
    /// Whether the kernel cannot tell what it stands on.
    pub is_obscure: bool,
}

impl Node {
    pub fn is_device(&self) -> bool {
        self.path.starts_with("/dev/")
    }
}

/// A loop device that is attached.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// The bytes under it.
    pub bytes: Bytes,
    /// The file or disk to which it is attached.
    pub to: String,
    /// Whether the kernel cannot tell that.
    pub is_obscure: bool,
}

/// What uses what.
#[derive(Debug, Default)]
pub struct Model {
    /// The loop devices, in order of attachment.
    pub loops: Vec<Attachment>,
    /// Partitioned loop devices.
    pub tables: Vec<Table>,
    /// The member in use.
    pub in_use: Option<Node>,
}

/// The partitions of a loop device, and what is beside them.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its number of attachment.
    pub on: usize,
    pub partitions: [Bytes; 2],
    pub rest: Bytes,
}

impl Table {
    /// Whether the member stands on one of the partitions.
    fn is_needed(&self, member: &Node) -> bool {
        member.chain.contains(&self.on)
            && self.partitions.iter().any(|bytes| bytes.overlaps(&member.place))
    }
}

impl Model {
    /// Whether a byte of the node also belongs to something in use: the member, the table that
    /// leads to it, or a loop device that stands on the node. One that stands beside it uses nothing unless the member is on it.
    pub fn is_shared(&self, node: &Node) -> bool {
        let others =
            self.loops.iter().enumerate().filter(|(number, _)| !node.chain.contains(number));
        let users = others.filter(|(_, one)| one.to == node.whole || one.is_obscure);
        let member = self.in_use.as_ref();
        let tables = self.tables.iter().filter(|table| member.is_some_and(|m| table.is_needed(m)));
        let bytes = users.map(|(_, one)| &one.bytes).chain(member.map(|member| &member.place));
        let rest = tables.map(|table| &table.rest).filter(|rest| rest.length > 0);
        let mut bytes = bytes.chain(rest);
        node.is_obscure || bytes.any(|bytes| bytes.overlaps(&node.place))
    }
}
