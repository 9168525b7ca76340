//! The keeper that stores upper bounds of ‖c_k‖, for many scores: for logistic losses, and for residuals with unknown
//! cells.
//!
//! ‖c_k‖ rises at most by the sum of the lengths by which the gradients of samples change. A node with the largest
//! bound is summed from its samples, and chosen if it still comes first.

use super::scores::NodeScores;
use super::training::Training;
use super::{Gradients, Keeper, LossRows, PURPOSE, Step, Verdict, norm};
use crate::compress::indicators::{Indicators, Scratch};
use crate::control::Control;
use crate::error::Result;

#[derive(Debug)]
pub(super) struct NormBounds<R> {
    training: Training<R>,
    bounds: Vec<f64>,
    /// Whether a bound is the exact length.
    is_exact: Vec<bool>,
    scratch: Scratch,
}

impl<R: Gradients> NormBounds<R> {
    pub(super) fn new(rows: R, nodes: &Indicators, control: &Control) -> Result<Self> {
        Ok(NormBounds {
            training: Training::new(rows)?,
            bounds: control.filled(PURPOSE, f64::INFINITY, nodes.n_nodes())?,
            is_exact: control.filled(PURPOSE, false, nodes.n_nodes())?,
            scratch: Scratch::default(),
        })
    }
}

/// Writes the score of a node from its bound.
fn score(node: usize, bound: f64, is_exact: bool, scores: &mut NodeScores<'_>) {
    scores.set(node, |scores| {
        let score = scores.of_length(node, bound);
        if is_exact { score } else { score.next_up() }
    });
}

impl<R: Gradients> Keeper for NormBounds<R> {
    fn rows(&self) -> &dyn LossRows {
        &self.training.rows
    }

    fn refresh(&mut self, scores: &mut NodeScores<'_>, _: &Control) -> Result<()> {
        self.training.refresh();
        self.bounds.fill(f64::INFINITY);
        self.is_exact.fill(false);
        (0..self.bounds.len()).for_each(|k| self.score(k, scores));
        Ok(())
    }

    fn sum(&self, node: usize, scores: &NodeScores<'_>) -> Result<Vec<f64>> {
        Ok(self.training.standardized(node, self.training.sum(scores.nodes, node)?, scores))
    }

    fn score(&self, node: usize, scores: &mut NodeScores<'_>) {
        score(node, self.bounds[node], self.is_exact[node], scores);
    }

    fn judge(&mut self, node: usize, c: &[f64], scores: &mut NodeScores<'_>) -> Verdict {
        let may_move = scores.coefficients.may_move(node, c.iter().copied());
        let was_exact = std::mem::replace(&mut self.is_exact[node], true);
        if !was_exact {
            self.bounds[node] = norm(c.iter().copied()) * scores.unit(node);
            self.score(node, scores);
        }
        match (may_move, was_exact) {
            (true, true) => Verdict::Chosen,
            (true, false) => Verdict::Scored,
            (false, _) => Verdict::Barred,
        }
    }

    fn apply(&mut self, step: &Step<'_>, scores: &mut NodeScores<'_>, _: &Control) -> Result<f64> {
        scores.coefficients.add(step)?;
        let n_moved = self.training.n_moved(step);
        let mut moved = PURPOSE.with_capacity(n_moved)?;
        let mut lengths = PURPOSE.with_capacity(n_moved)?;
        let mut overall = PURPOSE.filled(0.0, self.training.width())?;
        let rise = self.training.go(step, |i, w, change| {
            moved.push(i);
            overall.iter_mut().zip(change).for_each(|(s, g)| *s += w * g);
            lengths.push(w * norm(change.iter().copied()));
        })?;
        self.training.overall.iter_mut().zip(&overall).for_each(|(all, s)| *all += s);
        // By how much centred sums may grow by a change of the sum over all samples.
        let drift = norm(overall.iter().copied());
        let (nodes, mass) = (scores.nodes, scores.mass);
        let NormBounds { bounds, is_exact, scratch, .. } = self;
        for tree in 0..nodes.n_trees() {
            nodes.touched(tree, &moved, &lengths, 1, scratch, |k, added| {
                bounds[k] += added[0];
                if step.reach.moves_all() {
                    bounds[k] += mass.share[k] * drift;
                }
                is_exact[k] = false;
                score(k, bounds[k], false, scores);
            })?;
        }
        Ok(rise)
    }
}
