//! Draws of distinct numbers, and the projection that selects some outputs.

use std::collections::HashSet;

use super::PURPOSE;
use super::matrix::ProjectionMatrix;
use crate::control::Control;
use crate::error::Result;
use crate::rng::{Key, Stream};

/// Draws q rows of the identity, which are not scaled.
pub(super) fn draw(
    n_projections: usize,
    n_outputs: usize,
    replacement: bool,
    key: Key,
    control: &Control,
) -> Result<ProjectionMatrix> {
    let outputs = if replacement {
        let mut outputs = PURPOSE.with_capacity(n_projections)?;
        let mut pulse = control.pulse();
        for k in 0..n_projections {
            outputs.push(Stream::new(key.child(k as u64)).below(n_outputs as u64) as u32);
            pulse.after(1)?;
        }
        outputs
    } else {
        distinct(n_projections, n_outputs as u64, key, control)?
    };
    let ptr = PURPOSE.collected(0..n_projections + 1)?;
    let values = control.filled(PURPOSE, 1.0, n_projections)?;
    ProjectionMatrix::by_output(&ptr, &outputs, &values, n_outputs, control)
}

/// Returns `count` distinct numbers below n, at most 2³², in random order. Draw k is uniform among the remaining
/// numbers, and has a random stream of its own, so that it does not depend on `count`. The cost is O(count) memory, and
/// O(count) expected time, or O(n ln n) if count is close to n.
pub(super) fn distinct(count: usize, n: u64, key: Key, control: &Control) -> Result<Vec<u32>> {
    debug_assert!(count as u64 <= n && n <= 1 << 32);
    let mut numbers = PURPOSE.with_capacity(count)?;
    let mut drawn = HashSet::new();
    let bytes = count.saturating_mul(size_of::<u32>());
    drawn.try_reserve(count).map_err(|_| PURPOSE.missing::<u8>(bytes))?;
    let mut pulse = control.pulse();
    for k in 0..count {
        let mut stream = Stream::new(key.child(k as u64));
        let number = loop {
            pulse.after(1)?;
            let number = stream.below(n) as u32;
            if drawn.insert(number) {
                break number;
            }
        };
        numbers.push(number);
    }
    Ok(numbers)
}
