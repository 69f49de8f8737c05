//! An assembler for eBPF programs: instructions, labels and calls of helpers.
//!
//! Encoding: Documentation/bpf/standardization/instruction-set.rst of Linux. Only what the programs
//! of [`super`] need; the kernel's verifier checks the result when it is loaded.

/// A register; the last one points to the end of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    Frame,
}

/// Size of a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Size {
    Four = 0x00,
    One = 0x10,
    Eight = 0x18,
}

/// Arithmetic of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Alu {
    Add = 0x00,
    Subtract = 0x10,
    Multiply = 0x20,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Move = 0xb0,
}

/// Condition of a jump, unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum If {
    Equal = 0x10,
    Greater = 0x20,
    NotEqual = 0x50,
}

/// A helper of the kernel, by its number in include/uapi/linux/bpf.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Helper {
    MapLookup = 1,
    MapUpdate = 2,
    Time = 5,
    Random = 7,
    CurrentThread = 14,
    CurrentName = 16,
    CurrentTask = 158,
}

/// A place in a program, to jump to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label(usize);

/// A program under construction.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    code: Vec<u64>,
    /// The instruction of each label.
    labels: Vec<Option<usize>>,
    /// Jumps and their labels.
    jumps: Vec<(usize, Label)>,
}

const CLASS_LOAD: u8 = 0x61;
const CLASS_STORE_NUMBER: u8 = 0x62;
const CLASS_STORE: u8 = 0x63;
const ATOMIC: u8 = 0xc3;
const ATOMIC_EXCHANGE: i32 = 0xe1;
const LOAD_MAP: u8 = 0x18;
const MAP_BY_DESCRIPTOR: u8 = 1;
const FROM_REGISTER: u8 = 0x08;
const ALU32: u8 = 0x04;
const ALU64: u8 = 0x07;
const JUMP: u8 = 0x05;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

impl Assembler {
    fn push(&mut self, code: u8, dst: Reg, src: u8, offset: i16, number: i32) {
        let registers = dst as u8 | src << 4;
        self.code.push(
            u64::from(code)
                | u64::from(registers) << 8
                | u64::from(offset as u16) << 16
                | u64::from(number as u32) << 32,
        );
    }

    /// `dst = *(src + offset)`
    pub(super) fn load(&mut self, size: Size, dst: Reg, src: Reg, offset: i16) {
        self.push(CLASS_LOAD | size as u8, dst, src as u8, offset, 0);
    }

    /// `*(dst + offset) = src`
    pub(super) fn store(&mut self, size: Size, dst: Reg, offset: i16, src: Reg) {
        self.push(CLASS_STORE | size as u8, dst, src as u8, offset, 0);
    }

    /// `*(dst + offset) = number`
    pub(super) fn store_number(&mut self, size: Size, dst: Reg, offset: i16, number: i32) {
        self.push(CLASS_STORE_NUMBER | size as u8, dst, 0, offset, number);
    }

    /// `*(dst + offset) += src`, atomically, 64 bits
    pub(super) fn add_atomically(&mut self, dst: Reg, offset: i16, src: Reg) {
        self.push(ATOMIC | Size::Eight as u8, dst, src as u8, offset, 0);
    }

    /// Exchanges `src` with `*(dst + offset)`, atomically, 64 bits
    pub(super) fn exchange(&mut self, dst: Reg, offset: i16, src: Reg) {
        self.push(ATOMIC | Size::Eight as u8, dst, src as u8, offset, ATOMIC_EXCHANGE);
    }

    /// `dst op= src`
    pub(super) fn alu(&mut self, op: Alu, dst: Reg, src: Reg) {
        self.push(ALU64 | FROM_REGISTER | op as u8, dst, src as u8, 0, 0);
    }

    /// `dst =` the lower 32 bits of `src`, which may be a pointer
    pub(super) fn lower_half(&mut self, dst: Reg, src: Reg) {
        self.push(ALU32 | FROM_REGISTER | Alu::Move as u8, dst, src as u8, 0, 0);
    }

    /// `dst op= number`
    pub(super) fn alu_number(&mut self, op: Alu, dst: Reg, number: i32) {
        self.push(ALU64 | op as u8, dst, 0, 0, number);
    }

    /// `dst =` the map with this descriptor
    pub(super) fn load_map(&mut self, dst: Reg, descriptor: i32) {
        self.push(LOAD_MAP, dst, MAP_BY_DESCRIPTOR, 0, descriptor);
        self.code.push(0);
    }

    pub(super) fn call(&mut self, helper: Helper) {
        self.push(CALL, Reg::R0, 0, 0, helper as i32);
    }

    /// A label that is bound later.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Binds a label to the next instruction.
    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// Jumps if the register is so compared with a number.
    pub(super) fn jump_if(&mut self, condition: If, dst: Reg, number: i32, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(JUMP | condition as u8, dst, 0, 0, number);
    }

    /// Jumps if a register is so compared with another.
    pub(super) fn jump_if_reg(&mut self, condition: If, dst: Reg, src: Reg, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(JUMP | FROM_REGISTER | condition as u8, dst, src as u8, 0, 0);
    }

    /// Binds the label and ends the program with 0.
    pub(super) fn exit(&mut self, label: Label) {
        self.bind(label);
        self.alu_number(Alu::Move, Reg::R0, 0);
        self.push(EXIT, Reg::R0, 0, 0, 0);
    }

    /// The program with the distances of its jumps.
    pub(super) fn finish(mut self) -> Vec<u64> {
        for (place, label) in &self.jumps {
            let target = self.labels[label.0].expect("every label is bound");
            let distance = target as i64 - *place as i64 - 1;
            let distance = i16::try_from(distance).expect("programs are short");
            self.code[*place] |= u64::from(distance as u16) << 16;
        }
        self.code
    }
}
