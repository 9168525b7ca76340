//! Lists of increasing numbers in few bits: the features of centroids.
//!
//! A list is stored as the gaps between its numbers. A gap g takes g >> r zeros, a one, and its last r bits, where r is
//! the best for the list: about two bits more than the binary logarithm of the mean gap. Source: R. F. Rice, *Some
//! practical universal noiseless coding techniques*, 1979. A number takes a few nanoseconds to read. Lists are read from
//! their beginning, or from one of the marks that are set at every [`EVERY`]th number.

use crate::error::{ErrorKind, Purpose, Result};

const PURPOSE: Purpose = Purpose("the features of centroids");

/// Number of bits of `r`, at the beginning of a list.
const BITS_OF_R: u32 = 5;
const MOST_R: u32 = (1 << BITS_OF_R) - 1;

/// Number of bits that are read at once, wherever they begin in a byte.
const WINDOW: u32 = 57;

/// Number of numbers from one mark to the next.
const EVERY: usize = 32;

/// Lists of increasing numbers; the bytes of each list follow those of the previous one. An empty list has no bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GapLists {
    bytes: Vec<u8>,
    /// The end of each list, as a byte offset.
    ends: Vec<u32>,
    /// The marks of all lists. They follow from the bytes.
    marks: Vec<Mark>,
    /// The end of the marks of each list.
    mark_ends: Vec<u32>,
}

/// A place in a list before its number k · [`EVERY`], k > 0.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mark {
    /// The number is at least this, and the previous one is below.
    least: u32,
    /// The position of its first bit, from the beginning of the list.
    bit: u32,
}

impl GapLists {
    /// Appends a list.
    pub(super) fn push(&mut self, numbers: impl Iterator<Item = u32> + Clone) -> Result<()> {
        let gaps = || {
            numbers.clone().scan(0, |least, number| {
                let gap = number - *least;
                *least = number + 1;
                Some(gap)
            })
        };
        let (n, sum) = gaps().fold((0u64, 0u64), |(n, sum), gap| (n + 1, sum + u64::from(gap)));
        if let Some(mean) = sum.checked_div(n) {
            let near = mean.checked_ilog2().unwrap_or(0);
            let n_bits = |r: u32| gaps().map(|gap| u64::from(gap >> r)).sum::<u64>() + n * u64::from(r);
            let r =
                (near.saturating_sub(2)..=(near + 1).min(MOST_R)).min_by_key(|&r| n_bits(r)).expect("some are near");
            let start = self.bytes.len();
            let mut writer = Writer { bytes: &mut self.bytes, pending: 0, n_pending: 0 };
            writer.push(r, BITS_OF_R)?;
            let mut least = 0;
            for (i, (gap, number)) in gaps().zip(numbers.clone()).enumerate() {
                if i > 0 && i.is_multiple_of(EVERY) {
                    let bit = u32::try_from(writer.n_bits_from(start)).map_err(|_| too_many())?;
                    PURPOSE.push(&mut self.marks, Mark { least, bit })?;
                }
                writer.push_gap(gap, r)?;
                least = number + 1;
            }
            writer.finish()?;
        }
        self.push_end()
    }

    /// Appends list `i` of `others`.
    pub(super) fn push_of(&mut self, others: &GapLists, i: usize) -> Result<()> {
        PURPOSE.extend(&mut self.bytes, others.bytes[others.start(i)..others.ends[i] as usize].iter().copied())?;
        PURPOSE.extend(&mut self.marks, others.marks_of(i).iter().copied())?;
        self.push_end()
    }

    fn push_end(&mut self) -> Result<()> {
        let end = |len: usize| u32::try_from(len).map_err(|_| too_many());
        PURPOSE.push(&mut self.mark_ends, end(self.marks.len())?)?;
        PURPOSE.push(&mut self.ends, end(self.bytes.len())?)
    }

    fn start(&self, i: usize) -> usize {
        if i == 0 { 0 } else { self.ends[i - 1] as usize }
    }

    fn marks_of(&self, i: usize) -> &[Mark] {
        let start = if i == 0 { 0 } else { self.mark_ends[i - 1] as usize };
        &self.marks[start..self.mark_ends[i] as usize]
    }

    /// Returns the `n` numbers of list `i`.
    #[inline(always)]
    pub(super) fn of(&self, i: usize, n: usize) -> Gaps<'_> {
        Gaps::new(&self.bytes, self.start(i), n)
    }

    /// Returns a search for numbers among the `n` of list `i`.
    #[inline(always)]
    pub(super) fn search(&self, i: usize, n: usize) -> Search<'_> {
        Search { numbers: self.of(i, n), n, marks: self.marks_of(i), start: 8 * self.start(i), last: None }
    }

    /// Returns the bytes of all lists.
    #[cfg(feature = "model-files")]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn n_bytes(&self) -> usize {
        self.bytes.len() + 4 * self.ends.len() + size_of_val(&self.marks[..]) + 4 * self.mark_ends.len()
    }

    /// Removes the lists from `n` on.
    pub(super) fn truncate(&mut self, n: usize) {
        self.ends.truncate(n);
        self.bytes.truncate(self.ends.last().map_or(0, |&end| end as usize));
        self.mark_ends.truncate(n);
        self.marks.truncate(self.mark_ends.last().map_or(0, |&end| end as usize));
    }

    /// Releases unused capacity.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.marks.shrink_to_fit();
        self.mark_ends.shrink_to_fit();
    }

    /// Reads lists with the given numbers of elements from bytes; `None` if the bytes are not those that lists of
    /// numbers below `width` are written as.
    #[cfg(feature = "model-files")]
    pub(crate) fn read(bytes: &[u8], sizes: &[u32], width: usize) -> Result<Option<Self>> {
        let mut lists = GapLists::default();
        let mut at = 0;
        for &size in sizes {
            let mut gaps = Gaps::new(bytes, at, size as usize);
            let is_below = |number: u32| (number as usize) < width;
            if !(0..size).all(|_| gaps.next_if(is_below).is_some()) {
                return Ok(None);
            }
            let end = if size == 0 { at } else { gaps.at.div_ceil(8) };
            lists.push(Gaps::new(bytes, at, size as usize))?;
            if bytes.get(at..end) != Some(&lists.bytes[at..]) {
                return Ok(None);
            }
            at = end;
        }
        Ok((at == bytes.len()).then_some(lists))
    }
}

fn too_many() -> ErrorKind {
    ErrorKind::TooMany { what: PURPOSE.0, limit: u32::MAX as usize }
}

/// A search for increasing numbers in a list.
#[derive(Debug)]
pub(super) struct Search<'b> {
    numbers: Gaps<'b>,
    n: usize,
    marks: &'b [Mark],
    /// The position of the first bit of the list.
    start: usize,
    /// The number that was read last.
    last: Option<u32>,
}

impl Search<'_> {
    /// Returns the position of a number in the list, which must not be below that of the last search. The time is that
    /// of reading at most [`EVERY`] numbers.
    #[inline(always)]
    pub(super) fn position(&mut self, number: u32) -> Option<usize> {
        let n_below = self.marks.partition_point(|mark| mark.least <= number);
        if n_below * EVERY > self.n - self.numbers.n_left {
            let Mark { least, bit } = self.marks[n_below - 1];
            self.numbers.at = self.start + bit as usize;
            self.numbers.least = least;
            self.numbers.n_left = self.n - n_below * EVERY;
            self.last = None;
        }
        while self.last.is_none_or(|last| last < number) {
            self.last = Some(self.numbers.next()?);
        }
        (self.last == Some(number)).then(|| self.n - self.numbers.n_left - 1)
    }
}

/// Appends bits, from the lowest bit of a byte on.
struct Writer<'b> {
    bytes: &'b mut Vec<u8>,
    pending: u64,
    n_pending: u32,
}

impl Writer<'_> {
    /// Appends the last `n` bits of a number; n is at most 32.
    fn push(&mut self, bits: u32, n: u32) -> Result<()> {
        self.pending |= u64::from(bits) << self.n_pending;
        self.n_pending += n;
        while self.n_pending >= 8 {
            PURPOSE.push(self.bytes, self.pending as u8)?;
            self.pending >>= 8;
            self.n_pending -= 8;
        }
        Ok(())
    }

    /// Returns the number of bits after byte `start`.
    fn n_bits_from(&self, start: usize) -> usize {
        8 * (self.bytes.len() - start) + self.n_pending as usize
    }

    fn push_gap(&mut self, gap: u32, r: u32) -> Result<()> {
        let mut zeros = gap >> r;
        while zeros >= 32 {
            self.push(0, 32)?;
            zeros -= 32;
        }
        self.push(0, zeros)?;
        self.push(1, 1)?;
        self.push(gap & ((1 << r) - 1), r)
    }

    fn finish(mut self) -> Result<()> {
        let n = self.n_pending.next_multiple_of(8) - self.n_pending;
        self.push(0, n)
    }
}

/// An iterator over the numbers of a list, which are increasing.
#[derive(Clone, Debug)]
pub(super) struct Gaps<'b> {
    bytes: &'b [u8],
    /// The position of the next bit.
    at: usize,
    r: u32,
    least: u32,
    n_left: usize,
}

impl<'b> Gaps<'b> {
    #[inline(always)]
    fn new(bytes: &'b [u8], start: usize, n: usize) -> Self {
        let r = bytes.get(start).map_or(0, |&byte| u32::from(byte) & MOST_R);
        Gaps { bytes, at: 8 * start + BITS_OF_R as usize, r, least: 0, n_left: n }
    }

    /// Returns the bits from `at` on, at least [`WINDOW`] of them, with zeros after the last byte.
    #[inline(always)]
    fn window(&self) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let bytes = match rest.first_chunk::<8>() {
            Some(bytes) => *bytes,
            None => {
                let mut bytes = [0; 8];
                bytes[..rest.len()].copy_from_slice(rest);
                bytes
            }
        };
        u64::from_le_bytes(bytes) >> (self.at % 8)
    }

    /// Reads a gap; `None` if the bytes end within it, or if it is too large.
    #[inline(always)]
    fn gap(&mut self) -> Option<u32> {
        let mut window = self.window();
        let mut high = 0u32;
        while window & ((1 << WINDOW) - 1) == 0 {
            if self.at / 8 >= self.bytes.len() {
                return None;
            }
            high = high.checked_add(WINDOW)?;
            self.at += WINDOW as usize;
            window = self.window();
        }
        let zeros = window.trailing_zeros();
        high = high.checked_add(zeros)?;
        self.at += zeros as usize + 1;
        if zeros + 1 + self.r > WINDOW {
            window = self.window();
        } else {
            window >>= zeros + 1;
        }
        self.at += self.r as usize;
        let low = window as u32 & ((1 << self.r) - 1);
        let gap = (u64::from(high) << self.r) | u64::from(low);
        u32::try_from(gap).ok()
    }

    /// Returns the next number, if it satisfies `is_right`.
    #[inline(always)]
    fn next_if(&mut self, is_right: impl Fn(u32) -> bool) -> Option<u32> {
        let number = self.least.checked_add(self.gap()?)?;
        self.least = number.checked_add(1)?;
        is_right(number).then_some(number)
    }
}

impl Iterator for Gaps<'_> {
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        if self.n_left == 0 {
            return None;
        }
        self.n_left -= 1;
        self.next_if(|_| true)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.n_left, Some(self.n_left))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn some_lists() -> impl Strategy<Value = Vec<Vec<u32>>> {
        let near = proptest::collection::btree_set(0..400u32, 0..200);
        let far = proptest::collection::btree_set(0..u32::MAX - 1, 0..6);
        let one = prop_oneof![near, far].prop_map(|list| list.into_iter().collect());
        proptest::collection::vec(one, 0..8)
    }

    proptest! {
        #[test]
        fn lists_are_restored_and_searched(lists in some_lists(), kept in 0..8usize,
                                           sought in proptest::collection::btree_set(0..400u32, 0..30)) {
            let mut packed = GapLists::default();
            for list in &lists {
                packed.push(list.iter().copied()).unwrap();
            }
            let sizes: Vec<u32> = lists.iter().map(|list| list.len() as u32).collect();
            for (i, list) in lists.iter().enumerate() {
                prop_assert_eq!(&packed.of(i, list.len()).collect::<Vec<_>>(), list);
                let mut search = packed.search(i, list.len());
                for &number in &sought {
                    prop_assert_eq!(search.position(number), list.binary_search(&number).ok());
                }
                for (at, &number) in list.iter().enumerate().skip(i % 3).step_by(i % 5 + 1) {
                    prop_assert_eq!(packed.search(i, list.len()).position(number), Some(at));
                }
            }
            let mut copied = GapLists::default();
            (0..lists.len()).for_each(|i| copied.push_of(&packed, i).unwrap());
            prop_assert_eq!(&copied, &packed);
            let kept = kept.min(lists.len());
            copied.truncate(kept);
            lists[kept..].iter().for_each(|list| copied.push(list.iter().copied()).unwrap());
            prop_assert_eq!(&copied, &packed);
            let width = lists.iter().flatten().max().map_or(0, |&largest| largest as usize + 1);
            prop_assert_eq!(GapLists::read(packed.bytes(), &sizes, width).unwrap(), Some(packed.clone()));
            let longer = [packed.bytes(), &[0]].concat();
            prop_assert_eq!(GapLists::read(&longer, &sizes, width).unwrap(), None);
            if width > 0 {
                prop_assert_eq!(GapLists::read(packed.bytes(), &sizes, width - 1).unwrap(), None);
            }
        }

        #[test]
        fn no_bytes_are_trusted(bytes in proptest::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..40),
                                sizes in proptest::collection::vec(0..9u32, 0..5)) {
            if let Some(lists) = GapLists::read(&bytes, &sizes, 1000).unwrap() {
                prop_assert_eq!(lists.bytes(), &bytes[..]);
                for (i, &size) in sizes.iter().enumerate() {
                    let list: Vec<u32> = lists.of(i, size as usize).collect();
                    prop_assert!(list.len() == size as usize && list.is_sorted_by(|a, b| a < b));
                }
            }
        }
    }

    #[test]
    fn words_of_a_centroid_take_half_a_byte() {
        // Two hundred of two thousand features take log2(10) + 2 bits each.
        let mut packed = GapLists::default();
        packed.push((0..2000u32).filter(|i| i.wrapping_mul(2_654_435_761) % 10 == 0)).unwrap();
        assert!(packed.bytes().len() < 130, "{}", packed.bytes().len());
    }
}
