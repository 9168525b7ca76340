//! The squared error of whole rows of scores.
//!
//! All labels of a row are first treated as absent, in loops without branches, and the few present ones are corrected
//! afterwards. Sums have fixed lanes and there are no fused operations, so that the bits are the same on any machine,
//! whichever form y has.

use crate::loss::Bounds;
use crate::loss::kernels::float::Float;
use crate::loss::kernels::vector::{Eight, LANES, vectorised};
use crate::loss::rows::{ColumnTargets, RowLoss, RowTargets};

/// The squared error of scores of any type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SquareRows;

/// The number of cells whose squares are summed while they are in the innermost cache.
const BLOCK: usize = 256;

/// A row that is processed block by block.
struct Row<'y> {
    y: RowTargets<'y>,
    /// The number of cells so far.
    n_cells: usize,
    /// The sum of squares of cell j is in lane j mod 8, except for cells after the last group of eight of a block.
    squares: Eight,
    of_last: f64,
    /// The error of the squares that is caused by rounding residuals to float32.
    rounded: f64,
}

impl<'y> Row<'y> {
    #[inline(always)]
    fn new(y: RowTargets<'y>) -> Self {
        Row { y, n_cells: 0, squares: Eight::default(), of_last: 0.0, rounded: 0.0 }
    }

    /// Writes y − f for at most one block. All blocks except the last must be complete.
    #[inline(always)]
    fn residuals<T: Float>(&mut self, scores: &[T], out: &mut [T]) {
        match &mut self.y {
            RowTargets::Numbers(y) => {
                let (here, others) = y.split_at(scores.len());
                let cells = here.iter().zip(scores).zip(out.iter_mut());
                cells.for_each(|((y, f), r)| *r = T::from_f64(y - f.to_f64()));
                *y = others;
            }
            RowTargets::On(on) => {
                let (zero, minus) = (T::from_f64(0.0), T::from_f64(-1.0));
                scores.iter().zip(out.iter_mut()).for_each(|(&f, r)| *r = zero + f * minus);
                while let Some((&j, others)) = on.split_first() {
                    let Some(r) = out.get_mut(j as usize - self.n_cells) else { break };
                    let exact = 1.0 - scores[j as usize - self.n_cells].to_f64();
                    *r = T::from_f64(exact);
                    self.rounded += exact * exact - r.to_f64() * r.to_f64();
                    *on = others;
                }
            }
        }
        let (eights, last) = out.as_chunks::<LANES>();
        for eight in eights {
            for (sum, r) in self.squares.0.iter_mut().zip(eight) {
                *sum += r.to_f64() * r.to_f64();
            }
        }
        self.of_last += last.iter().map(|r| r.to_f64() * r.to_f64()).sum::<f64>();
        self.n_cells += scores.len();
    }

    #[inline(always)]
    fn loss(self) -> f64 {
        0.5 * (self.squares.total() + self.of_last + self.rounded)
    }
}

impl<T: Float> RowLoss<T> for SquareRows {
    fn responses(&self, y: RowTargets<'_>, scores: &[T], out: &mut [T]) -> f64 {
        vectorised(
            #[inline(always)]
            || {
                let mut row = Row::new(y);
                for (scores, out) in scores.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
                    row.residuals(scores, out);
                }
                row.loss()
            },
        )
    }

    fn column(&self, y: ColumnTargets<'_>, scores: &[T], out: &mut [T], losses: &mut [f64]) {
        let cells = scores.iter().zip(out).zip(losses);
        vectorised(
            #[inline(always)]
            || match y {
                ColumnTargets::Numbers(y) => cells.zip(y).for_each(|(((f, r), loss), y)| {
                    *r = T::from_f64(y - f.to_f64());
                    *loss = 0.5 * (r.to_f64() * r.to_f64());
                }),
                ColumnTargets::On(on) => cells.zip(on).for_each(|(((f, r), loss), &on)| {
                    let exact = if on { 1.0 - f.to_f64() } else { 0.0 - f.to_f64() };
                    *r = T::from_f64(exact);
                    let square = r.to_f64() * r.to_f64();
                    *loss = 0.5 * (square + (exact * exact - square));
                }),
            },
        );
    }

    fn bounds(&self) -> Option<Bounds> {
        None
    }

    fn loss(&self, y: RowTargets<'_>, scores: &[T]) -> f64 {
        vectorised(
            #[inline(always)]
            || {
                let (mut row, mut out) = (Row::new(y), [T::default(); BLOCK]);
                scores.chunks(BLOCK).for_each(|scores| row.residuals(scores, &mut out[..scores.len()]));
                row.loss()
            },
        )
    }
}
