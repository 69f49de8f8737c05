//! One direction of the mapping: page index to page number, in chunks.
//!
//! A chunk is 1024 pages (4 MiB of 4 KiB pages). It consists of at most four ascending runs, in 33
//! bytes, or of one explicit entry per page. Sequential writes, overwrites and discards therefore
//! cost a few operations per chunk and no memory per page; only fragmented chunks need entries. The
//! entries of 16 Mi pages are one zeroed vector, made when the first of its chunks is fragmented.
//! The operating system commits it page by page on first write, and 1024 entries are one such page.
//! A process of 32 bits has no room for one vector of all pages (1.4 GB for a terabyte of flash).

/// Pages in a chunk.
pub const CHUNK: u32 = 1024;
/// Maximum runs in a chunk: a sequential overwrite across the end of a superblock needs three, and
/// one is spare.
const RUNS: usize = 4;

/// Pages whose entries are allocated together.
const SEGMENT: u32 = CHUNK << 14;

/// Pages `start..start + len` of a chunk map to `value`, `value + 1`, ... Empty if `len` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Run {
    start: u16,
    len: u16,
    value: u32,
}

impl Run {
    fn end(self) -> u16 {
        self.start + self.len
    }

    /// The part of the run within `from..to`, which must overlap it.
    fn within(self, from: u16, to: u16) -> Run {
        let start = self.start.max(from);
        let value = self.value + u32::from(start - self.start);
        Run { start, len: self.end().min(to) - start, value }
    }
}

/// One direction of the mapping.
#[derive(Debug)]
pub struct MapDirection {
    /// Value + 1 of each page, or 0 for none, in segments; meaningful in explicit chunks only. A
    /// segment that never had an explicit chunk is empty.
    segments: Vec<Vec<u32>>,
    explicit: Vec<bool>,
    runs: Vec<[Run; RUNS]>,
}

impl MapDirection {
    /// Creates a side for `len` pages, all unmapped.
    pub fn new(len: u64) -> MapDirection {
        let chunks = len.div_ceil(u64::from(CHUNK)) as usize;
        MapDirection {
            segments: vec![Vec::new(); chunks.div_ceil((SEGMENT / CHUNK) as usize)],
            explicit: vec![false; chunks],
            runs: vec![[Run::default(); RUNS]; chunks],
        }
    }

    /// Number of pages, rounded up to whole chunks.
    pub fn pages(&self) -> u32 {
        self.explicit.len() as u32 * CHUNK
    }

    /// Value of page `index`.
    pub fn get(&self, index: u32) -> Option<u32> {
        let mut page = None;
        self.pieces(index, 1, |_, _, value| page = Some(value));
        page
    }

    /// Whether the chunk of page `index` has explicit entries.
    #[inline]
    pub fn is_explicit(&self, index: u32) -> bool {
        self.explicit[(index / CHUNK) as usize]
    }

    /// Value of page `index`, in an explicit chunk.
    #[inline]
    pub fn entry(&self, index: u32) -> Option<u32> {
        self.segments[(index / SEGMENT) as usize][(index % SEGMENT) as usize].checked_sub(1)
    }

    /// Value + 1 of page `index`, or 0 for none.
    #[inline]
    pub fn raw(&self, index: u32) -> u32 {
        if self.is_explicit(index) {
            return self.segments[(index / SEGMENT) as usize][(index % SEGMENT) as usize];
        }
        self.get(index).map_or(0, |value| value + 1)
    }

    /// Value + 1, or 0 for none, of `n` pages of one chunk from page `index`, if they have explicit
    /// entries.
    #[inline]
    pub fn explicit_entries(&self, index: u32, n: u32) -> Option<&[u32]> {
        self.is_explicit(index).then(|| self.entries(index, n))
    }

    /// Sets page `index` of an explicit chunk and returns its previous value.
    #[inline]
    pub fn swap_entry(&mut self, index: u32, value: u32) -> Option<u32> {
        let segment = &mut self.segments[(index / SEGMENT) as usize];
        std::mem::replace(&mut segment[(index % SEGMENT) as usize], value + 1).checked_sub(1)
    }

    /// Sets page `index` of an explicit chunk.
    #[inline]
    pub fn set_entry(&mut self, index: u32, value: u32) {
        let segment = &mut self.segments[(index / SEGMENT) as usize];
        segment[(index % SEGMENT) as usize] = value + 1;
    }

    /// Entries of `n` pages of one explicit chunk, from page `index`.
    #[inline]
    fn entries(&self, index: u32, n: u32) -> &[u32] {
        let start = (index % SEGMENT) as usize;
        &self.segments[(index / SEGMENT) as usize][start..start + n as usize]
    }

    #[inline]
    fn entries_mut(&mut self, index: u32, n: u32) -> &mut [u32] {
        let start = (index % SEGMENT) as usize;
        &mut self.segments[(index / SEGMENT) as usize][start..start + n as usize]
    }

    /// Calls `f(index, len, value)` for every mapped piece of `index..index + n`, ascending. The
    /// range may span chunks.
    #[inline]
    pub fn pieces(&self, index: u32, n: u32, mut f: impl FnMut(u32, u32, u32)) {
        let (mut start, end) = (index, index + n);
        while start < end {
            let stop = end.min((start / CHUNK + 1) * CHUNK);
            self.pieces_of_chunk(start, stop, &mut f);
            start = stop;
        }
    }

    #[inline]
    fn pieces_of_chunk(&self, from: u32, to: u32, f: &mut impl FnMut(u32, u32, u32)) {
        let chunk = (from / CHUNK) as usize;
        if self.explicit[chunk] {
            for (index, &entry) in (from..).zip(self.entries(from, to - from)) {
                if entry != 0 {
                    f(index, 1, entry - 1);
                }
            }
            return;
        }
        let first = chunk as u32 * CHUNK;
        let (a, b) = ((from - first) as u16, (to - first) as u16);
        for run in self.runs[chunk].iter().filter(|r| r.len > 0 && r.start < b && r.end() > a) {
            let part = run.within(a, b);
            f(first + u32::from(part.start), u32::from(part.len), part.value);
        }
    }

    /// Sets pages `index..index + n` of one chunk to `value`, `value + 1`, ...
    #[inline]
    pub fn set(&mut self, index: u32, n: u32, value: u32) {
        let chunk = (index / CHUNK) as usize;
        if !self.explicit[chunk] {
            let run = Run { start: (index % CHUNK) as u16, len: n as u16, value };
            if extend(&mut self.runs[chunk], run) || self.replace(chunk, run.start, n, Some(run)) {
                return;
            }
            self.make_explicit(chunk);
        }
        for (entry, value) in self.entries_mut(index, n).iter_mut().zip(value + 1..) {
            *entry = value;
        }
        if n > 1 && (index + n).is_multiple_of(CHUNK) {
            self.make_runs(chunk);
        }
    }

    /// Clears pages `index..index + n` of one chunk.
    pub fn clear(&mut self, index: u32, n: u32) {
        let chunk = (index / CHUNK) as usize;
        if n == CHUNK {
            return self.reset(chunk);
        }
        if !self.explicit[chunk] {
            if self.replace(chunk, (index % CHUNK) as u16, n, None) {
                return;
            }
            self.make_explicit(chunk);
        }
        self.entries_mut(index, n).fill(0);
    }

    /// Clears a whole chunk.
    pub fn reset(&mut self, chunk: usize) {
        self.explicit[chunk] = false;
        self.runs[chunk] = [Run::default(); RUNS];
    }

    /// Replaces `start..start + n` among the runs of a chunk with `new`. Changes nothing and
    /// returns false if the runs would not fit.
    fn replace(&mut self, chunk: usize, start: u16, n: u32, new: Option<Run>) -> bool {
        let (old, end) = (self.runs[chunk], start + n as u16);
        let mut list = [Run::default(); 2 * RUNS + 1];
        let mut count = 0;
        let mut append = |run: Run| {
            if count > 0 && follows(list[count - 1], run) {
                list[count - 1].len += run.len;
            } else {
                list[count] = run;
                count += 1;
            }
        };
        let held = || old.iter().filter(|r| r.len > 0);
        held().filter(|r| r.start < start).for_each(|r| append(r.within(0, start)));
        new.into_iter().for_each(&mut append);
        held().filter(|r| r.end() > end).for_each(|r| append(r.within(end, CHUNK as u16)));
        if count <= RUNS {
            self.runs[chunk].copy_from_slice(&list[..RUNS]);
        }
        count <= RUNS
    }

    #[cold]
    fn make_explicit(&mut self, chunk: usize) {
        let runs = std::mem::take(&mut self.runs[chunk]);
        self.allocate_segment(chunk);
        let entries = self.entries_mut(chunk as u32 * CHUNK, CHUNK);
        entries.fill(0);
        for run in runs {
            let part = &mut entries[usize::from(run.start)..usize::from(run.end())];
            part.iter_mut().zip(run.value + 1..).for_each(|(entry, value)| *entry = value);
        }
        self.explicit[chunk] = true;
    }

    /// Makes the entries that `chunk` is among, unless they exist.
    fn allocate_segment(&mut self, chunk: usize) {
        let chunks = (SEGMENT / CHUNK) as usize;
        let segment = &mut self.segments[chunk / chunks];
        if segment.is_empty() {
            let first = chunk / chunks * chunks;
            let last = self.explicit.len().min(first + chunks);
            *segment = vec![0; (last - first) * CHUNK as usize];
        }
    }

    /// Converts the chunk back to runs if a sequential pass has left only a few.
    fn make_runs(&mut self, chunk: usize) {
        let mut runs = [Run::default(); RUNS];
        let mut count = 0;
        for (start, &entry) in (0..).zip(self.entries(chunk as u32 * CHUNK, CHUNK)) {
            let Some(value) = entry.checked_sub(1) else { continue };
            let run = Run { start, len: 1, value };
            if count > 0 && follows(runs[count - 1], run) {
                runs[count - 1].len += 1;
            } else if count == RUNS {
                return;
            } else {
                runs[count] = run;
                count += 1;
            }
        }
        self.explicit[chunk] = false;
        self.runs[chunk] = runs;
    }
}

fn follows(run: Run, next: Run) -> bool {
    run.end() == next.start && run.value + u32::from(run.len) == next.value
}

/// Fast path of a sequential write: the last run of the chunk grows.
#[inline]
fn extend(runs: &mut [Run; RUNS], new: Run) -> bool {
    let last = runs.iter().position(|r| r.len == 0).unwrap_or(RUNS);
    if last == 0 || !follows(runs[last - 1], new) {
        return false;
    }
    runs[last - 1].len += new.len;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Set(u32, u32, u32),
        Clear(u32, u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let range = (0..2 * CHUNK, 1..=CHUNK).prop_map(|(i, n)| (i, n.min(CHUNK - i % CHUNK)));
        let step = (range, 0..5000u32, 0..4u8).prop_map(|((i, n), value, kind)| match kind {
            0 => Step::Clear(i, n),
            1 => Step::Set(i, 1, value),
            2 => Step::Set(i, n, i + 7),
            _ => Step::Set(i, n, value),
        });
        prop::collection::vec(step, 1..40)
    }

    proptest! {
        #[test]
        fn agrees_with_one_entry_per_page(steps in steps()) {
            let mut side = MapDirection::new(2 * u64::from(CHUNK));
            let mut naive = vec![None; 2 * CHUNK as usize];
            for step in steps {
                match step {
                    Step::Set(i, n, value) => {
                        side.set(i, n, value);
                        (0..n).for_each(|k| naive[(i + k) as usize] = Some(value + k));
                    }
                    Step::Clear(i, n) => {
                        side.clear(i, n);
                        (0..n).for_each(|k| naive[(i + k) as usize] = None);
                    }
                }
            }
            for (i, value) in (0..).zip(&naive) {
                prop_assert_eq!(side.get(i), *value, "page {}", i);
            }
            let mut total = 0;
            side.pieces(0, 2 * CHUNK, |_, len, _| total += len);
            prop_assert_eq!(total as usize, naive.iter().flatten().count());
        }
    }

    #[test]
    fn segments_meet_without_a_gap_and_are_made_when_needed() {
        let mut side = MapDirection::new(2 * u64::from(SEGMENT) + 1);
        assert_eq!(side.pages(), 2 * SEGMENT + CHUNK);
        for index in [SEGMENT - 3, SEGMENT - 1, 2 * SEGMENT, 2 * SEGMENT + 7] {
            let first = index / CHUNK * CHUNK;
            (first..first + CHUNK).step_by(2).for_each(|i| side.set(i, 1, i / 2));
            side.set(index, 1, index);
            assert!(side.is_explicit(index));
            assert_eq!(side.entry(index), Some(index));
        }
        let sizes: Vec<_> = side.segments.iter().map(Vec::len).collect();
        assert_eq!(sizes, [SEGMENT as usize, 0, CHUNK as usize]);
    }

    #[test]
    fn a_sequential_pass_over_a_fragmented_chunk_restores_runs() {
        let mut side = MapDirection::new(u64::from(CHUNK));
        (0..CHUNK).step_by(2).for_each(|i| side.set(i, 1, 9000 - i));
        assert!(side.is_explicit(0));
        (0..CHUNK).step_by(32).for_each(|i| side.set(i, 32, i + 5));
        assert!(!side.is_explicit(0));
        assert_eq!(side.get(1000), Some(1005));
    }
}
