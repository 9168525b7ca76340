//! The maximum of many scores, of which a few change between two queries.

use std::ops::Range;

use crate::error::{Purpose, Result};

/// The scores of nodes, and the maximum of each block of them.
///
/// Scores are float32: smaller differences are ties, which the lower node wins. Sums that only differ by the order of
/// addition are then equal, except for about one in a million.
#[derive(Debug)]
pub(crate) struct Best {
    scores: Vec<f32>,
    largest: Vec<f32>,
    /// The blocks with changed scores.
    changed: Vec<u32>,
    is_changed: Vec<bool>,
}

const BLOCK: usize = 64;
/// The score of nodes that must not be chosen.
pub(crate) const NEVER: f32 = -1.0;

impl Best {
    pub(crate) fn new(n: usize) -> Result<Self> {
        const PURPOSE: Purpose = Purpose("scores of nodes");
        let n_blocks = n.div_ceil(BLOCK);
        Ok(Best {
            scores: PURPOSE.filled(NEVER, n)?,
            largest: PURPOSE.filled(NEVER, n_blocks)?,
            // Each block is listed once.
            changed: PURPOSE.with_capacity(n_blocks)?,
            is_changed: PURPOSE.filled(false, n_blocks)?,
        })
    }

    pub(crate) fn set(&mut self, at: usize, score: f32) {
        self.scores[at] = score;
        let block = at / BLOCK;
        if !std::mem::replace(&mut self.is_changed[block], true) {
            self.changed.push(block as u32);
        }
    }

    /// Returns the scores of some nodes, to be overwritten.
    pub(crate) fn rewrite(&mut self, nodes: Range<usize>) -> &mut [f32] {
        for block in nodes.start / BLOCK..nodes.end.div_ceil(BLOCK) {
            if !std::mem::replace(&mut self.is_changed[block], true) {
                self.changed.push(block as u32);
            }
        }
        &mut self.scores[nodes]
    }

    /// Returns the first of the largest scores; `None` if all are [`NEVER`].
    pub(crate) fn first(&mut self) -> Option<usize> {
        for block in self.changed.drain(..) {
            let block = block as usize;
            self.is_changed[block] = false;
            let scores = &self.scores[block * BLOCK..self.scores.len().min((block + 1) * BLOCK)];
            self.largest[block] = largest(scores);
        }
        let best = largest(&self.largest);
        if best <= NEVER {
            return None;
        }
        let block = self.largest.iter().position(|&l| l == best)?;
        let first = block * BLOCK;
        self.scores[first..].iter().position(|&s| s == best).map(|at| first + at)
    }
}

/// Returns the largest of some scores, none of which may be NaN; the loop runs in lanes, which compile to vector
/// instructions.
fn largest(scores: &[f32]) -> f32 {
    let mut lanes = [NEVER; 8];
    let chunks = scores.chunks_exact(8);
    let rest = chunks.remainder().iter().copied().fold(NEVER, |a, b| if b > a { b } else { a });
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &s)| *lane = if s > *lane { s } else { *lane });
    }
    lanes.into_iter().fold(rest, |a, b| if b > a { b } else { a })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn first_is_the_first_of_the_largest(n in 1usize..400, sets in prop::collection::vec((0usize..400, -1i8..4), 0..300)) {
            let mut best = Best::new(n).unwrap();
            let mut naive = vec![NEVER; n];
            for (i, (at, score)) in sets.into_iter().enumerate() {
                best.set(at % n, score.into());
                naive[at % n] = score.into();
                if i % 7 == 0 {
                    let largest = naive.iter().copied().fold(NEVER, f32::max);
                    let expected = naive.iter().position(|&s| s == largest && s > NEVER);
                    prop_assert_eq!(best.first(), expected);
                }
            }
        }
    }
}
