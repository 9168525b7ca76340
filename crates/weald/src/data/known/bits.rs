//! The known cells of y as bits, and how many of some samples know each output.
//!
//! A sample that knows half of its outputs, or lacks a tenth of them, lists so many that adding them up one by one costs
//! more than all its labels. Of bits, one instruction adds 64 outputs or more: eight samples are first added up without
//! carrying beyond the last of three binary digits, as in a carry-save adder (Harley and Seal), and the digit of eights
//! is then carried.

use super::Known;
use crate::error::{Purpose, Result};
use crate::vectorised::vectorised;

const PURPOSE: Purpose = Purpose("the mask of y");

/// Bits are stored if at least one output of so many is listed, see [`Known`], and if a sample lists so many on average.
const LISTED_SHARE: usize = 16;
const LEAST_LISTED: usize = 8;

/// The binary digits of a count, and the largest number of samples that are counted at once.
const DIGITS: usize = 10;
pub(crate) const MOST_AT_ONCE: usize = (1 << DIGITS) - 1;

/// For each sample, a bit for each output, which is set if its cell is known. The words of a sample are padded with
/// zeros.
#[derive(Debug)]
pub(crate) struct KnownBits {
    n_words: usize,
    words: Vec<u64>,
}

impl KnownBits {
    /// Returns the bits of all samples, if they list many outputs.
    pub(crate) fn of(known: &Known) -> Result<Option<Self>> {
        let are_stored = Self::are_stored(known.n_rows(), known.n_outputs(), known.n_listed());
        are_stored.then(|| Self::of_all(known)).transpose()
    }

    /// Returns the bits of all samples.
    fn of_all(known: &Known) -> Result<Self> {
        let (n, n_outputs) = (known.n_rows(), known.n_outputs());
        let mut bits = KnownBits::new(n_outputs);
        bits.clear(n)?;
        let last = !0 >> (64 * n_outputs.div_ceil(64) - n_outputs);
        for row in 0..n {
            let (mostly, listed) = known.of(row as u32);
            let words = &mut bits.words[row * bits.n_words..][..bits.n_words];
            if mostly {
                words[..n_outputs.div_ceil(64)].fill(!0);
                words[n_outputs.div_ceil(64) - 1] = last;
            }
            listed.iter().for_each(|&output| words[output as usize / 64] ^= 1 << (output % 64));
        }
        Ok(bits)
    }

    /// Returns whether bits are stored.
    pub(crate) fn are_stored(n_samples: usize, n_outputs: usize, n_listed: usize) -> bool {
        let least = n_outputs.div_ceil(LISTED_SHARE).max(LEAST_LISTED);
        n_samples > 0 && n_listed >= n_samples.saturating_mul(least)
    }

    /// The bytes of a sample.
    pub(crate) fn bytes(n_outputs: usize) -> usize {
        8 * padded(n_outputs.div_ceil(64))
    }

    /// Returns bits of no sample.
    pub(crate) fn new(n_outputs: usize) -> Self {
        KnownBits { n_words: padded(n_outputs.div_ceil(64)), words: Vec::new() }
    }

    /// Clears the bits of the first samples.
    fn clear(&mut self, n: usize) -> Result<()> {
        self.words.clear();
        PURPOSE.resize(&mut self.words, n * self.n_words, 0)
    }

    /// Returns the words of a sample.
    #[inline]
    pub(crate) fn of_row(&self, row: u32) -> &[u64] {
        &self.words[row as usize * self.n_words..][..self.n_words]
    }

    /// Takes the bits of some outputs from `whole`; sample i is `rows[i]`.
    pub(crate) fn take(&mut self, whole: &KnownBits, rows: &[u32], outputs: &[u32]) -> Result<()> {
        self.n_words = padded(outputs.len().div_ceil(64));
        self.clear(rows.len())?;
        for (to, &row) in self.words.chunks_exact_mut(self.n_words.max(1)).zip(rows) {
            let from = whole.of_row(row);
            for (to, outputs) in to.iter_mut().zip(outputs.chunks(64)) {
                let bit = |output: u32| from[output as usize / 64] >> (output % 64) & 1;
                *to = (0..).zip(outputs).fold(0, |word, (place, &output)| word | bit(output) << place);
            }
        }
        Ok(())
    }

    /// Writes to `counts` how many of the samples know each output. There may be at most [`MOST_AT_ONCE`] samples, and
    /// `counts` must have the room of all words.
    pub(crate) fn count(&self, rows: &[u32], counts: &mut [u32]) {
        debug_assert!(rows.len() <= MOST_AT_ONCE);
        vectorised(
            #[inline(always)]
            || match self.n_words {
                1 => self.count_words::<1>(rows, counts),
                2 => self.count_words::<2>(rows, counts),
                _ => self.count_words::<4>(rows, counts),
            },
        );
    }

    #[inline(always)]
    fn count_words<const N: usize>(&self, rows: &[u32], counts: &mut [u32]) {
        let n_digits = (usize::BITS - rows.len().leading_zeros()) as usize;
        for (block, counts) in counts.chunks_exact_mut(64 * N).enumerate() {
            let words = |row: u32| -> [u64; N] {
                *self.words[row as usize * self.n_words + block * N..].first_chunk().expect("words are padded")
            };
            let digits = added(rows, words);
            for (word, counts) in counts.as_chunks_mut::<64>().0.iter_mut().enumerate() {
                let digits = digits.map(|digit: [u64; N]| [digit[word] as u32, (digit[word] >> 32) as u32]);
                for (half, counts) in counts.as_chunks_mut::<32>().0.iter_mut().enumerate() {
                    counts.fill(0);
                    for (d, digit) in digits.iter().enumerate().take(n_digits) {
                        for (i, count) in (0u32..).zip(counts.iter_mut()) {
                            *count |= (digit[half] >> i & 1) << d;
                        }
                    }
                }
            }
        }
    }

    /// The length of `counts` for [`KnownBits::count`].
    pub(crate) fn n_counts(&self) -> usize {
        64 * self.n_words
    }
}

/// Words are added one, two or four at a time.
fn padded(n_words: usize) -> usize {
    if n_words <= 2 { n_words } else { n_words.next_multiple_of(4) }
}

/// Returns the binary digits of the sums of bits.
#[inline(always)]
fn added<const N: usize>(rows: &[u32], words: impl Fn(u32) -> [u64; N]) -> [[u64; N]; DIGITS] {
    let mut digits = [[0; N]; DIGITS];
    let (eights, rest) = rows.as_chunks::<8>();
    for &[a, b, c, d, e, f, g, h] in eights {
        let [ones, twos, fours, higher @ ..] = &mut digits;
        let two = [add(ones, words(a), words(b)), add(ones, words(c), words(d))];
        let four = add(twos, two[0], two[1]);
        let two = [add(ones, words(e), words(f)), add(ones, words(g), words(h))];
        let carried = add(fours, four, add(twos, two[0], two[1]));
        carry(higher, carried);
    }
    rest.iter().for_each(|&row| carry(&mut digits, words(row)));
    digits
}

/// Adds two bits to a digit, and returns what is carried to the next one.
#[inline(always)]
fn add<const N: usize>(digit: &mut [u64; N], a: [u64; N], b: [u64; N]) -> [u64; N] {
    let mut carried = [0; N];
    for i in 0..N {
        let either = a[i] ^ b[i];
        carried[i] = a[i] & b[i] | either & digit[i];
        digit[i] ^= either;
    }
    carried
}

/// Adds a bit to the first of these digits, and carries.
#[inline(always)]
fn carry<const N: usize>(digits: &mut [[u64; N]], mut bit: [u64; N]) {
    for digit in digits {
        for i in 0..N {
            (digit[i], bit[i]) = (digit[i] ^ bit[i], digit[i] & bit[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::data::CellWeights;

    #[test]
    fn counts_are_those_of_the_mask() {
        for (n, q) in [(1, 1), (7, 12), (300, 64), (1023, 65), (40, 200), (20, 300)] {
            for share in [1, 2, 3] {
                let mask = Array2::from_shape_fn((n, q), |(i, j)| (i * 7919 + j * 104_729 + i * j) % 4 < share);
                let known = Known::new(&CellWeights::from(&mask)).unwrap();
                let bits = KnownBits::of_all(&known).unwrap();
                let rows: Vec<u32> = (0..n as u32).filter(|row| n == 1023 || row % 3 != 1).collect();
                let mut counts = vec![7; bits.n_counts()];
                bits.count(&rows, &mut counts);
                let expected = |j: usize| rows.iter().filter(|row| !mask[[**row as usize, j]]).count() as u32;
                assert!((0..q).all(|j| counts[j] == expected(j)));
                assert!(counts[q..].iter().all(|&count| count == 0));
                let outputs: Vec<u32> = (0..q as u32).filter(|j| j % 5 != 2).collect();
                let mut some = KnownBits::new(outputs.len());
                some.take(&bits, &rows, &outputs).unwrap();
                let mut counts = vec![7; some.n_counts()];
                some.count(&(0..rows.len() as u32).collect::<Vec<_>>(), &mut counts);
                assert!(outputs.iter().zip(&counts).all(|(&j, &count)| count == expected(j as usize)));
            }
        }
        for (q, every, has_bits) in [(100, 10, true), (100, 20, false), (10, 2, false), (500, 20, false)] {
            let mask = Array2::from_shape_fn((20, q), |(i, j)| (i + j) % every == 0);
            let known = Known::new(&CellWeights::from(&mask)).unwrap();
            assert_eq!(KnownBits::of(&known).unwrap().is_some(), has_bits, "{q} {every}");
        }
    }
}
