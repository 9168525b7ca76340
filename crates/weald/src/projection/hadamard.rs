//! Rows of a Hadamard matrix, represented by their indices.
//!
//! Entry (r, j) of Sylvester's matrix of order D = 2^m is −1 to the power of the number of bits that r and j share. The
//! signs of 64 rows in column j are therefore one word: the exclusive or, over the bits b of j, of the words that
//! contain bit b of the rows. y of a sample is projected by adding its entries with these signs, or by the fast
//! Walsh–Hadamard transform of all of its entries, with D log₂ D additions.

use super::apply::{Scratch, Summed, sum_columns};
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::rng::Key;

/// Some rows of a Hadamard matrix, scaled.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HadamardRows {
    rows: Vec<u32>,
    scale: f64,
    /// log₂ of the order.
    log_order: u32,
    /// `words[b * n_words..(b + 1) * n_words]` contains bit b of each row: bit k % 64 of word k / 64 belongs to row k.
    words: Vec<u64>,
    n_words: usize,
}

/// Returns log₂ of the smallest power of two that is at least `n_outputs`.
pub(super) fn log_order(n_outputs: usize) -> u32 {
    n_outputs.next_power_of_two().trailing_zeros()
}

impl HadamardRows {
    /// Draws `n_projections` distinct rows, divided by √q.
    pub(super) fn draw(n_projections: usize, n_outputs: usize, key: Key, control: &Control) -> Result<Self> {
        let log_order = log_order(n_outputs);
        let rows = super::subsample::distinct(n_projections, 1 << log_order, key, control)?;
        let n_words = n_projections.div_ceil(64);
        let mut words = super::PURPOSE.filled(0u64, n_words * log_order as usize)?;
        let mut pulse = control.pulse();
        for (k, row) in rows.iter().enumerate() {
            pulse.after(log_order as usize)?;
            for b in (0..log_order).filter(|b| row >> b & 1 == 1) {
                words[b as usize * n_words + k / 64] |= 1 << (k % 64);
            }
        }
        Ok(HadamardRows { rows, scale: 1.0 / (n_projections as f64).sqrt(), log_order, words, n_words })
    }

    /// Returns a copy, or an error if there is not enough memory.
    pub(super) fn try_clone(&self) -> Result<Self> {
        let rows = super::PURPOSE.collected(self.rows.iter().copied())?;
        Ok(HadamardRows { rows, words: super::PURPOSE.collected(self.words.iter().copied())?, ..*self })
    }

    pub(super) fn entry(&self, projection: usize, output: usize) -> f64 {
        let is_negative = (self.rows[projection] as usize & output).count_ones() % 2 == 1;
        if is_negative { -self.scale } else { self.scale }
    }

    /// Projects the entries of one sample in the cheaper way, which depends on the number of entries and thus on this
    /// sample alone. Sums of integers are exact, so that both ways give the same bits for labels and counts; for other
    /// numbers the last bits may differ.
    pub(super) fn project_row<E: Summed>(&self, entries: &[E], out: &mut [f64], scratch: &mut Scratch) -> Result<()> {
        let order = 1usize << self.log_order;
        // The logarithm is replaced by at least 1, because a transform also clears and reads its buffer.
        if (entries.len() * out.len()) as u64 > order as u64 * u64::from(self.log_order.max(1)) {
            if scratch.row.len() != order {
                scratch.row = Purpose("a Hadamard transform").filled(0.0, order)?;
            }
            self.transform(entries, out, &mut scratch.row);
        } else if let Some(columns) = &scratch.columns {
            sum_columns(columns, entries, out);
            out.iter_mut().for_each(|sum| *sum *= self.scale);
        } else {
            self.add_signed(entries, out, self.scale);
        }
        Ok(())
    }

    /// Adds each entry with its signs, then multiplies the sums by `scale`.
    pub(super) fn add_signed<E: Summed>(&self, entries: &[E], out: &mut [f64], scale: f64) {
        for (w, out) in out.chunks_mut(64).enumerate() {
            out.fill(0.0);
            for entry in entries {
                let (mut signs, mut bits) = (0, entry.output());
                while bits != 0 {
                    signs ^= self.words[bits.trailing_zeros() as usize * self.n_words + w];
                    bits &= bits - 1;
                }
                let value = entry.value().to_bits();
                for sum in out.iter_mut() {
                    *sum += f64::from_bits(value ^ (signs << 63));
                    signs >>= 1;
                }
            }
            out.iter_mut().for_each(|sum| *sum *= scale);
        }
    }

    /// Transforms the entries of one sample; the length of `scratch` must be the order.
    pub(super) fn transform<E: Summed>(&self, entries: &[E], out: &mut [f64], scratch: &mut [f64]) {
        scratch.fill(0.0);
        entries.iter().for_each(|entry| scratch[entry.output()] = entry.value());
        let mut half = 1;
        while half < scratch.len() {
            for pair in scratch.chunks_exact_mut(2 * half) {
                let (low, high) = pair.split_at_mut(half);
                for (a, b) in low.iter_mut().zip(high) {
                    (*a, *b) = (*a + *b, *a - *b);
                }
            }
            half *= 2;
        }
        out.iter_mut().zip(&self.rows).for_each(|(out, &row)| *out = scratch[row as usize] * self.scale);
    }
}
