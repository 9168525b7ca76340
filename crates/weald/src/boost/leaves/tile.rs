//! Some columns of scores, copied in the order of the leaves, and their sums by leaf.

use std::ops::Range;

use super::search::LeafDerivatives;
use crate::error::{Purpose, Result};
use crate::loss::kernels::off_sums::{BitGrids, Grids, LANES, add_row, add_weighted_row};
use crate::loss::kernels::vector::vectorised;

/// Number of samples that are transposed to columns while they are in the first-level cache.
const ROWS: usize = 64;

/// The weights of positions in units, and the grids of sums with them.
#[derive(Debug)]
pub(super) enum UnitWeights {
    Ones(BitGrids),
    Any(Vec<f64>, Grids),
}

/// The cells of some columns: a row for each position, and tables with a row for each leaf. If there are many columns,
/// rows are padded with zeros to whole lanes.
#[derive(Debug)]
pub(super) struct Tile {
    stride: usize,
    scores: Vec<f32>,
    /// The steps of the cells of each leaf.
    moves: Vec<f32>,
    /// Sums of gradients and of curvatures, of cells as if all were off.
    sums: [Vec<f64>; 2],
    /// The sums for one piece, in the form of sums of bits.
    bits: [Vec<u32>; 2],
}

impl Tile {
    /// Allocates memory for at most `n_columns` columns.
    pub(super) fn new(n_columns: usize, n_rows: usize, n_leaves: usize) -> Result<Self> {
        const PURPOSE: Purpose = Purpose("columns of scores");
        let stride = if n_columns < LANES { n_columns } else { n_columns.next_multiple_of(LANES) };
        let sums = || PURPOSE.filled(0.0, n_leaves * stride);
        let bits = || PURPOSE.filled(0, stride);
        Ok(Tile {
            stride,
            scores: PURPOSE.filled(0.0, n_rows * stride)?,
            moves: PURPOSE.filled(0.0, n_leaves * stride)?,
            sums: [sums()?, sums()?],
            bits: [bits()?, bits()?],
        })
    }

    /// Copies the cells of samples. These are far apart in memory, and the loop does nothing else, so that many of them
    /// are fetched at the same time.
    pub(super) fn copy<'s>(&mut self, rows: &[u32], n_columns: usize, cells: impl Fn(u32) -> &'s [f32]) {
        for (to, &row) in self.scores.chunks_exact_mut(self.stride).zip(rows) {
            to[..n_columns].copy_from_slice(cells(row));
        }
        self.moves.fill(0.0);
    }

    /// Sets the steps of the cells to `step(leaf, column)`; there must be at least as many columns as lanes.
    pub(super) fn move_leaves(&mut self, n_columns: usize, step: impl Fn(usize, usize) -> f32) {
        for (leaf, moves) in self.moves.chunks_exact_mut(self.stride).enumerate() {
            moves[..n_columns].iter_mut().enumerate().for_each(|(at, to)| *to = step(leaf, at));
        }
    }

    /// Sums all cells by leaf, after they are moved; `pieces` are leaves and positions.
    pub(super) fn sum(&mut self, pieces: &[(usize, Range<usize>)], weights: &UnitWeights) {
        let (stride, scores, moves) = (self.stride, &self.scores, &self.moves);
        let ([gradients, curvatures], [of_gradients, of_curvatures]) = (&mut self.sums, &mut self.bits);
        gradients.fill(0.0);
        curvatures.fill(0.0);
        vectorised(
            #[inline(always)]
            || {
                for (leaf, positions) in pieces {
                    let of_leaf = leaf * stride..(leaf + 1) * stride;
                    let (gradients, curvatures) = (&mut gradients[of_leaf.clone()], &mut curvatures[of_leaf.clone()]);
                    let moves = &moves[of_leaf];
                    let rows = scores[positions.start * stride..positions.end * stride].chunks_exact(stride);
                    let grids = match weights {
                        UnitWeights::Ones(grids) => *grids,
                        UnitWeights::Any(weights, grids) => {
                            for (row, &weight) in rows.zip(&weights[positions.clone()]) {
                                add_weighted_row(weight, row, moves, *grids, gradients, curvatures);
                            }
                            continue;
                        }
                    };
                    of_gradients.fill(0);
                    of_curvatures.fill(0);
                    rows.for_each(|row| add_row(row, moves, grids, of_gradients, of_curvatures));
                    let bits = of_gradients.iter().zip(&*of_curvatures);
                    for ((&r, &h), (gradient, curvature)) in bits.zip(gradients.iter_mut().zip(curvatures)) {
                        let (r, h) = grids.sums(positions.len(), (r, h));
                        *gradient += r;
                        *curvature += h;
                    }
                }
            },
        );
    }

    /// Reads the sums of one column.
    pub(super) fn take_column(&self, at: usize, sums: &mut LeafDerivatives) {
        let [gradients, curvatures] = &self.sums;
        for (to, from) in [(&mut sums.gradients, gradients), (&mut sums.curvatures, curvatures)] {
            to.iter_mut().zip(from[at..].iter().step_by(self.stride)).for_each(|(to, sum)| *to = *sum);
        }
    }

    /// Writes columns one after the other.
    pub(super) fn turn(&self, columns: impl Iterator<Item = usize> + Clone, to: &mut [f32]) {
        let n = self.scores.len() / self.stride;
        for (tile, rows) in self.scores.chunks(ROWS * self.stride).enumerate() {
            for (at, to) in columns.clone().zip(to.chunks_exact_mut(n)) {
                let to = to[tile * ROWS..].iter_mut().zip(rows[at..].iter().step_by(self.stride));
                to.for_each(|(to, score)| *to = *score);
            }
        }
    }
}
