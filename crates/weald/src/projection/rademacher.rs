//! Projections with random signs, dense and sparse.

use super::matrix::ProjectionMatrix;
use crate::control::Control;
use crate::elementary::{exp_m1, ln_1p};
use crate::error::Result;
use crate::rng::{Key, Stream};

/// Draws entries ±1/√q, 64 signs from each random word. Row k has a random stream of its own.
pub(super) fn draw_dense(
    n_projections: usize,
    n_outputs: usize,
    key: Key,
    control: &Control,
) -> Result<ProjectionMatrix> {
    let scale = 1.0 / (n_projections as f64).sqrt();
    ProjectionMatrix::dense_by_rows(n_projections, n_outputs, control, |k| {
        let mut stream = Stream::new(key.child(k as u64));
        let mut word = 0;
        move |j| {
            if j % 64 == 0 {
                word = stream.next_u64();
            }
            signed(scale, word >> (j % 64))
        }
    })
}

/// Draws entries that are ±√(s/q) with probability 1/(2s) each and otherwise 0, given that the row is not all zero. Row
/// k has a random stream of its own. The cost is O(q + stored entries), and the d offsets of the result.
pub(super) fn draw_sparse(
    n_projections: usize,
    n_outputs: usize,
    s: f64,
    key: Key,
    control: &Control,
) -> Result<ProjectionMatrix> {
    let scale = (s / n_projections as f64).sqrt();
    let gaps = Gaps::new(1.0 / s, n_outputs);
    let expected = (n_outputs as f64 / s * 1.1 + 2.0) * n_projections as f64;
    let mut ptr = super::PURPOSE.with_capacity(n_projections + 1)?;
    let mut indices: Vec<u32> = super::PURPOSE.with_capacity(expected as usize)?;
    let mut values: Vec<f64> = super::PURPOSE.with_capacity(expected as usize)?;
    let mut pulse = control.pulse();
    ptr.push(0);
    for k in 0..n_projections {
        let mut stream = Stream::new(key.child(k as u64));
        // A word determines a position and, by its lowest bit, a sign.
        let mut word = stream.next_u64();
        let mut position = gaps.first(uniform(word));
        loop {
            push(&mut indices, position as u32)?;
            push(&mut values, signed(scale, word))?;
            pulse.after(1)?;
            word = stream.next_u64();
            let next = position as f64 + 1.0 + gaps.gap(uniform(word));
            if next >= n_outputs as f64 {
                break;
            }
            position = next as usize;
        }
        ptr.push(indices.len());
    }
    ProjectionMatrix::by_output(&ptr, &indices, &values, n_outputs, control)
}

/// Pushes a value. If the allocation fails, returns an error instead of aborting the process.
fn push<T>(v: &mut Vec<T>, value: T) -> Result<()> {
    if v.len() == v.capacity() {
        let bytes = v.len().saturating_mul(2 * size_of::<T>());
        v.try_reserve(1).map_err(|_| super::PURPOSE.missing::<u8>(bytes))?;
    }
    v.push(value);
    Ok(())
}

/// Returns x, or −x if the lowest bit of `bits` is set.
fn signed(x: f64, bits: u64) -> f64 {
    f64::from_bits(x.to_bits() ^ (bits << 63))
}

/// Returns a uniform number in [0, 1), from the upper 53 bits.
fn uniform(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Positions of entries that are non-zero with probability p each, by inversion of the geometric distribution of the
/// gaps.
struct Gaps {
    /// ln(1 − p), which is −∞ if all entries are non-zero.
    log_miss: f64,
    /// The probability that any entry is non-zero.
    any: f64,
    last: usize,
}

impl Gaps {
    fn new(p: f64, n: usize) -> Self {
        let log_miss = ln_1p(-p);
        Gaps { log_miss, any: -exp_m1(n as f64 * log_miss), last: n - 1 }
    }

    /// Returns the number of zeros before the first non-zero entry, given that there is one: P(first > j), restricted
    /// to j below n. Redrawing rows until one has an entry has the same distribution, but need not end.
    fn first(&self, u: f64) -> usize {
        (ln_1p(-u * self.any) / self.log_miss).min(self.last as f64) as usize
    }

    /// Returns the number of zeros before the next non-zero entry.
    fn gap(&self, u: f64) -> f64 {
        (ln_1p(-u) / self.log_miss).floor()
    }
}
