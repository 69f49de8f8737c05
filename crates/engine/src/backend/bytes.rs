//! Stream calls around a backend with one operation in flight. The program moves one byte per call,
//! and the backend transfers data only when the stream's buffer, which is the operation's buffer,
//! is empty or full.
//!
//! The calls are made rather than calculated, because their cost depends on the processor and
//! limits a program that works byte by byte on a fast drive.

use std::io;

use workload::{Op, OpKind};

use super::{Backend, Completion, Wait};

pub(crate) struct ByBytes<'b> {
    inner: Box<dyn Backend + 'b>,
    queued: Option<(u32, Op)>,
    /// The program's own data.
    program: Vec<u8>,
}

impl<'b> ByBytes<'b> {
    /// Streams with a buffer of `block_bytes` bytes.
    pub(crate) fn new(inner: impl Backend + 'b, block_bytes: u32) -> ByBytes<'b> {
        ByBytes { inner: Box::new(inner), queued: None, program: vec![0; block_bytes as usize] }
    }

    /// Fills the stream's buffer with the program's data.
    fn put(&mut self, slot: u32, op: &Op) {
        let buffer = self.inner.buffer(slot, op.bytes);
        let program = &mut self.program[..buffer.len()];
        program.copy_from_slice(buffer);
        let mut index = 0;
        while index < program.len() {
            move_byte(buffer, program, &mut index);
        }
    }

    /// Copies all bytes read into the program's memory.
    fn get(&mut self, slot: u32, op: &Op) {
        let buffer = self.inner.buffer(slot, op.bytes);
        let program = &mut self.program[..buffer.len()];
        let mut index = 0;
        while index < program.len() {
            move_byte(program, buffer, &mut index);
        }
        std::hint::black_box(program);
    }
}

/// One stream call. Never inlined, because the call itself is the cost to measure.
#[inline(never)]
fn move_byte(to: &mut [u8], from: &[u8], at: &mut usize) {
    if let (Some(to), Some(from)) = (to.get_mut(*at), from.get(*at)) {
        *to = *from;
    }
    *at += 1;
}

impl Backend for ByBytes<'_> {
    pass_on!();

    fn depth_max(&self) -> u32 {
        1
    }

    fn push(&mut self, slot: u32, op: Op) {
        self.queued = Some((slot, op));
    }

    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        let queued = self.queued.take();
        if let Some((slot, op)) = queued {
            if op.kind == OpKind::Write {
                self.put(slot, &op);
            }
            self.inner.push(slot, op);
        }
        self.inner.turn(wait, done)?;
        if let Some((slot, op)) = queued
            && op.kind == OpKind::Read
        {
            self.get(slot, &op);
        }
        Ok(())
    }
}
