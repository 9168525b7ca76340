//! The keeper that stores ‖c_k‖² of every node, for many scores and the squared error.
//!
//! The residuals of the samples of node j all move by −εu, so that c_k moves by −ε w(j ∩ k) u, and the change of ‖c_k‖²
//! follows from ⟨c_k, u⟩, which is the sum of w⟨r, u⟩ over the samples of k.

use super::scores::NodeScores;
use super::training::Training;
use super::{Gradients, Keeper, LossRows, PURPOSE, Step};
use crate::compress::best::NEVER;
use crate::compress::indicators::Indicators;
use crate::compress::rows::ResidualRows;
use crate::control::Control;
use crate::error::Result;
use crate::pool;

/// Number of moves after which ‖c_k‖² is computed anew, to limit rounding errors.
const REFRESH: usize = if cfg!(test) { 7 } else { 2000 };

/// ‖c_k‖² of each node, and the number of moves.
#[derive(Debug)]
pub(super) struct NodeSquares {
    pub(super) squares: Vec<f64>,
    n_moves: usize,
}

/// The contribution of a sample to nodes that contain it: weight × ⟨residual, u⟩, and weight × the movement of its
/// score.
pub(super) type Products = [f64; 2];

impl NodeSquares {
    pub(super) fn new(nodes: &Indicators, control: &Control) -> Result<Self> {
        Ok(NodeSquares { squares: control.filled(PURPOSE, 0.0, nodes.n_nodes())?, n_moves: 0 })
    }

    /// Counts a move, and returns whether the squares must be computed anew.
    pub(super) fn is_worn(&mut self) -> bool {
        self.n_moves += 1;
        self.n_moves.is_multiple_of(REFRESH)
    }

    pub(super) fn score(&self, node: usize, scores: &mut NodeScores<'_>) {
        scores.set(node, |scores| scores.of_length(node, self.squares[node].max(0.0).sqrt()));
    }

    /// Updates the squares of all nodes with samples that move, and their scores. The samples of a node are a range, so
    /// that its sum is the difference of two prefix sums. Trees are distributed over threads.
    pub(super) fn add(
        &mut self,
        products: &[Products],
        step: &Step<'_>,
        scores: &mut NodeScores<'_>,
        control: &Control,
    ) -> Result<()> {
        let NodeScores { nodes, factor, is_open, best, .. } = scores;
        let (nodes, factor, is_open): (&Indicators, &[f64], &[bool]) = (nodes, factor, is_open);
        let (length, norm) = (step.length, dot(step.direction, step.direction));
        let mut left = (best.rewrite(0..nodes.n_nodes()), &mut self.squares[..]);
        let mut jobs = PURPOSE.with_capacity(nodes.n_trees())?;
        for tree in 0..nodes.n_trees() {
            let n = nodes.nodes(tree).len();
            let (scores, squares) = (left.0.split_at_mut(n), left.1.split_at_mut(n));
            left = (scores.1, squares.1);
            jobs.push((tree, scores.0, squares.0));
        }
        let scratch = || PURPOSE.filled([0.0; 2], nodes.n_rows + 1);
        pool::for_each(control.n_threads(), jobs.into_iter(), scratch, |before, (tree, scores, squares)| {
            let (order, start, end) = nodes.ranges(tree);
            let mut sums = [0.0; 2];
            for (&i, before) in order.iter().zip(&mut before[1..]) {
                let row = products[i as usize];
                sums = [sums[0] + row[0], sums[1] + row[1]];
                *before = sums;
            }
            let range = nodes.nodes(tree);
            let (is_open, factor) = (&is_open[range.clone()], &factor[range]);
            for k in 0..scores.len() {
                let (first, last) = (before[start[k] as usize], before[end[k] as usize]);
                let moved = length * (last[1] - first[1]);
                if moved != 0.0 {
                    squares[k] += moved * (moved * norm - 2.0 * (last[0] - first[0]));
                    scores[k] = if is_open[k] { (squares[k].max(0.0).sqrt() * factor[k]) as f32 } else { NEVER };
                }
            }
            Ok(())
        })
    }
}

/// The samples with their residuals, and the squares.
#[derive(Debug)]
pub(super) struct Squares {
    training: Training<ResidualRows>,
    of_nodes: NodeSquares,
}

impl Squares {
    pub(super) fn new(rows: ResidualRows, nodes: &Indicators, control: &Control) -> Result<Self> {
        Ok(Squares { training: Training::new(rows)?, of_nodes: NodeSquares::new(nodes, control)? })
    }
}

impl Keeper for Squares {
    fn rows(&self) -> &dyn LossRows {
        &self.training.rows
    }

    fn refresh(&mut self, scores: &mut NodeScores<'_>, control: &Control) -> Result<()> {
        self.training.refresh();
        let (nodes, width, rows) = (scores.nodes, self.training.width(), &self.training.rows);
        let squares = &mut self.of_nodes.squares;
        let mut pulse = control.pulse();
        let add = |row: usize, sums: &mut [f64]| {
            if rows.rows().weight[row] > 0.0 {
                rows.add_gradient(row, sums);
            }
        };
        for tree in 0..nodes.n_trees() {
            nodes.all_sums(tree, width, add, |k, c| {
                squares[k] = dot(c, c);
                pulse.after(width)
            })?;
        }
        (0..nodes.n_nodes()).for_each(|k| self.score(k, scores));
        Ok(())
    }

    fn sum(&self, node: usize, scores: &NodeScores<'_>) -> Result<Vec<f64>> {
        Ok(self.training.standardized(node, self.training.sum(scores.nodes, node)?, scores))
    }

    fn score(&self, node: usize, scores: &mut NodeScores<'_>) {
        self.of_nodes.score(node, scores);
    }

    fn apply(&mut self, step: &Step<'_>, scores: &mut NodeScores<'_>, control: &Control) -> Result<f64> {
        scores.coefficients.add(step)?;
        let mut products: Vec<Products> = PURPOSE.filled([0.0; 2], self.training.rows.rows().n_rows())?;
        self.training.each_reach(step, |i, rows, by| {
            let w = rows.rows().weight[i];
            products[i] = [w * dot(rows.gradient(i), step.direction), w * by];
        });
        let rise = self.training.go(step, |_, _, _| {})?;
        self.of_nodes.add(&products, step, scores, control)?;
        if self.of_nodes.is_worn() {
            self.refresh(scores, control)?;
        }
        Ok(rise)
    }
}

/// Returns Σ a b, as eight partial sums.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (x, y) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = x.remainder().iter().zip(y.remainder()).map(|(a, b)| a * b).sum();
    for (x, y) in x.zip(y) {
        (0..8).for_each(|l| lanes[l] += x[l] * y[l]);
    }
    lanes.into_iter().sum::<f64>() + rest
}
