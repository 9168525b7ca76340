//! Distinct draws, and the projection that is some outputs as they are.

use std::collections::HashSet;

use super::matrix::ProjectionMatrix;
use crate::error::{Result, try_filled};
use crate::rng::{Key, Stream};

/// q rows of the identity, not scaled.
pub(super) fn draw(n_projections: usize, n_outputs: usize, replacement: bool, key: Key) -> Result<ProjectionMatrix> {
    let outputs = if replacement {
        let one = |k: usize| Stream::new(key.child(k as u64)).below(n_outputs as u64) as u32;
        (0..n_projections).map(one).collect()
    } else {
        distinct(n_projections, n_outputs as u64, key)
    };
    let ptr: Vec<usize> = (0..=n_projections).collect();
    ProjectionMatrix::by_output(&ptr, &outputs, &try_filled(super::WHAT, 1.0, n_projections)?, n_outputs)
}

/// `count` distinct numbers below n, at most 2³², in random order. Draw k is uniform among those that are left, from a
/// stream of its own, and so does not depend on `count`. O(count) in the mean unless count is near n, then O(n ln n).
pub(super) fn distinct(count: usize, n: u64, key: Key) -> Vec<u32> {
    debug_assert!(count as u64 <= n && n <= 1 << 32);
    let mut drawn = HashSet::with_capacity(count);
    let one = |k: usize| {
        let mut stream = Stream::new(key.child(k as u64));
        loop {
            let number = stream.below(n) as u32;
            if drawn.insert(number) {
                return number;
            }
        }
    };
    (0..count).map(one).collect()
}
