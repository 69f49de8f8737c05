//! The types of the running kernel (BTF): the tracepoints with the number of their arguments, and
//! the offsets of members.
//!
//! Format: Documentation/bpf/btf.rst of Linux.

/// Kinds of types.
const KIND_POINTER: u32 = 2;
const KIND_STRUCT: u32 = 4;
const KIND_TYPEDEF: u32 = 8;
const KIND_FUNCTION_PROTOTYPE: u32 = 13;

/// A type: its place in the data, its kind, and the number of its members.
#[derive(Clone, Copy)]
struct Type {
    place: usize,
    kind: u32,
    members: usize,
    /// Whether the offsets of members contain sizes of bit fields.
    has_bits: bool,
}

/// A tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tracepoint {
    /// The number of its type.
    pub id: u32,
    /// The number of its arguments.
    pub arguments: usize,
}

/// The types of a kernel that some names refer to.
pub(super) struct Types<'d> {
    data: &'d [u8],
    strings: &'d [u8],
    types: Vec<Type>,
}

impl<'d> Types<'d> {
    /// Parses the contents of /sys/kernel/btf/vmlinux; `None` if the format is not known.
    pub(super) fn parse(data: &'d [u8]) -> Option<Types<'d>> {
        let word = |at| word(data, at);
        if word(0)? & 0xffff != 0xeb9f {
            return None;
        }
        let header = word(4)? as usize;
        let (types_at, types_bytes) = (word(8)? as usize, word(12)? as usize);
        let (strings_at, strings_bytes) = (word(16)? as usize, word(20)? as usize);
        let strings = data.get(header + strings_at..)?.get(..strings_bytes)?;
        let mut parsed = Types {
            data,
            strings,
            types: vec![Type { place: 0, kind: 0, members: 0, has_bits: false }],
        };
        let (mut place, end) = (header + types_at, header + types_at + types_bytes);
        while place < end {
            let info = word(place + 4)?;
            let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            parsed.types.push(Type { place, kind, members, has_bits: info >> 31 == 1 });
            place += 12 + trailing_bytes(kind, members)?;
        }
        Some(parsed)
    }

    /// Whether the text at this place of the strings is a name.
    fn is_name(&self, at: u32, name: &str) -> bool {
        let rest =
            self.strings.get(at as usize..).and_then(|text| text.strip_prefix(name.as_bytes()));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }

    /// The first type of a kind with a name.
    fn find(&self, kind: u32, name: &str) -> Option<usize> {
        self.types.iter().position(|own| {
            own.kind == kind && word(self.data, own.place).is_some_and(|at| self.is_name(at, name))
        })
    }

    /// A tracepoint by its name.
    pub(super) fn tracepoint(&self, name: &str) -> Option<Tracepoint> {
        let id = self.find(KIND_TYPEDEF, &format!("btf_trace_{name}"))?;
        let pointer = self.referred(id, KIND_TYPEDEF)?;
        let prototype = self.types.get(self.referred(pointer, KIND_POINTER)?)?;
        // The first argument is the data of the probe.
        let arguments = prototype.members.checked_sub(1)?;
        let is_function = prototype.kind == KIND_FUNCTION_PROTOTYPE;
        is_function.then_some(Tracepoint { id: id as u32, arguments })
    }

    fn referred(&self, number: usize, kind: u32) -> Option<usize> {
        let referring = self.types.get(number).filter(|entry| entry.kind == kind)?;
        Some(word(self.data, referring.place + 8)? as usize)
    }

    /// The offset of a member of a structure, in bytes, also of one in an unnamed part of it.
    pub(super) fn offset(&self, structure: &str, member: &str) -> Option<i16> {
        let number = self.find(KIND_STRUCT, structure)?;
        i16::try_from(self.bits(number, member)? / 8).ok()
    }

    fn bits(&self, number: usize, member: &str) -> Option<u32> {
        let structure = *self.types.get(number)?;
        // Unions are kind 5.
        if structure.kind != KIND_STRUCT && structure.kind != KIND_STRUCT + 1 {
            return None;
        }
        (0..structure.members).find_map(|index| {
            let place = structure.place + 12 + 12 * index;
            let (name, number) = (word(self.data, place)?, word(self.data, place + 4)?);
            let bits = word(self.data, place + 8)?;
            let bits = if structure.has_bits { bits & 0x00ff_ffff } else { bits };
            if self.is_name(name, member) {
                return Some(bits);
            }
            let is_unnamed = self.is_name(name, "");
            if is_unnamed { Some(bits + self.bits(number as usize, member)?) } else { None }
        })
    }
}

/// A number of 32 bits at a place.
fn word(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

/// The bytes that follow the common part of a type of this kind; `None` for an unknown kind.
fn trailing_bytes(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        // Integers and variables, and the tags of declarations.
        1 | 14 | 17 => 4,
        // Pointers, forward declarations, typedefs, qualifiers, functions, floats, tags of types.
        2 | 7..=12 | 16 | 18 => 0,
        3 => 12,
        // Structures and unions; variables of a section; enumerations of 64 bits.
        4 | 5 | 15 | 19 => 12 * members,
        6 | 13 => 8 * members,
        _ => return None,
    })
}
