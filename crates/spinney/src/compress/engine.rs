//! The node that the loss falls along fastest, step after step.
//!
//! c_k is the sum of weight × negative gradient over the rows of node k. Its length, times a factor of the node, is the
//! node's score. A move changes the gradients of some rows, and so the scores of the nodes that these rows pass; what is kept
//! of c_k depends on the width of scores and on the loss:
//!
//! | keeper | where | of each node | work of a move of n rows in a forest of M trees |
//! |---|---|---|---|
//! | [`Sums`] | up to [`NARROW`] scores | c_k | (n·M + nodes passed) × width; one score and many rows: all rows × M + all nodes |
//! | [`Squares`] | squared error | ‖c_k‖² | all rows × (width + M) + all nodes |
//! | [`Labels`] | squared error of labels | ‖c_k‖² | see there |
//! | [`NormBounds`] | logistic loss; squared error where cells of y are not known | an upper bound of ‖c_k‖ | n × (width + M) + nodes passed, and (rows × width) for each node whose bound comes first |
//!
//! What all of them share: [`NodeScores`], by which nodes are chosen, with the [`Scoring`] that makes scores of lengths, and
//! [`Coefficients`]. Rows with their gradients are in [`training`](self::training). Standardised indicators move all rows:
//! all nodes are passed.

mod bounds;
mod coefficients;
mod labels;
mod scores;
mod squares;
mod sums;
mod training;

use super::best::NEVER;
use super::indicators::Indicators;
use super::mass::NodeMass;
use super::rows::{CommonRows, FitRows, Gradients, KeptRows, LossRows};
use crate::control::Control;
use crate::error::Result;
use bounds::NormBounds;
use coefficients::Coefficients;
use labels::Labels;
pub(crate) use scores::Scoring;
use scores::{NodeScores, Reach};
use squares::Squares;
pub(crate) use squares::dot;
use sums::Sums;

/// Most scores of a row whose sums are kept for each node.
pub(crate) const NARROW: usize = 16;
const WHAT: &str = "scores of nodes";

/// Coefficients of a node move by `length · direction`.
#[derive(Clone, Copy, Debug)]
struct Step<'s> {
    node: usize,
    /// Rows of the node.
    inside: &'s [u32],
    length: f64,
    direction: &'s [f64],
    reach: Reach,
}

/// What a keeper says of the node of the largest score, once c_k is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The score was its own, and it may move.
    Chosen,
    /// The score was a bound, and is its own from here on.
    Scored,
    /// It may not move.
    Barred,
}

/// What is kept of c_k, and the rows that it is summed from.
trait Keeper: std::fmt::Debug {
    fn rows(&self) -> &dyn LossRows;

    /// Sums what is kept from all rows, and scores all nodes.
    fn refresh(&mut self, scores: &mut NodeScores<'_>, coefficients: &Coefficients, control: &Control) -> Result<()>;

    /// c_k, times the factor of standardised indicators.
    fn sum(&self, node: usize, scores: &NodeScores<'_>, coefficients: &Coefficients) -> Result<Vec<f64>>;

    /// Writes the score of a node from what is kept.
    fn score(&self, node: usize, scores: &mut NodeScores<'_>, coefficients: &Coefficients);

    /// Judges the node of the largest score. `c` is its c_k.
    fn judge(&mut self, node: usize, c: &[f64], scores: &mut NodeScores<'_>, coefficients: &Coefficients) -> Verdict;

    /// Makes a step: of the coefficients, of the rows, and of what is kept. Returns by how much the loss rises.
    fn apply(
        &mut self,
        step: &Step<'_>,
        scores: &mut NodeScores<'_>,
        coefficients: &mut Coefficients,
        control: &Control,
    ) -> Result<f64>;
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Engine<'a> {
    pub(crate) nodes: &'a Indicators,
    pub(crate) mass: &'a NodeMass,
    scores: NodeScores<'a>,
    coefficients: Coefficients,
    keeper: Box<dyn Keeper + 'a>,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(
        nodes: &'a Indicators,
        rows: FitRows,
        mass: &'a NodeMass,
        scoring: Scoring,
        control: &Control,
    ) -> Result<Self> {
        let width = rows.rows().width;
        let scores = NodeScores::new(nodes, mass, scoring)?;
        let coefficients = Coefficients::new(nodes.n_nodes(), width)?;
        let keeper: Box<dyn Keeper> = match (rows, scoring) {
            (FitRows::Labels(rows), Scoring::Raw) => Box::new(Labels::new(rows, nodes, control)?),
            (rows, Scoring::Raw | Scoring::Standardized | Scoring::Gain) => match rows.kept(control)? {
                KeptRows::Residuals(rows) if width <= NARROW => Box::new(Sums::new(rows, nodes, control)?),
                KeptRows::Odds(rows) if width <= NARROW => Box::new(Sums::new(rows, nodes, control)?),
                // Not all residuals of a row move, which squares would ask for.
                KeptRows::Residuals(rows) if rows.has_unknown() => Box::new(NormBounds::new(rows, nodes, control)?),
                KeptRows::Residuals(rows) => Box::new(Squares::new(rows, nodes, control)?),
                KeptRows::Odds(rows) => Box::new(NormBounds::new(rows, nodes, control)?),
            },
        };
        let mut engine = Engine { nodes, mass, scores, coefficients, keeper };
        engine.keeper.refresh(&mut engine.scores, &engine.coefficients, control)?;
        Ok(engine)
    }

    /// What is told of the rows.
    pub(crate) fn rows(&self) -> &CommonRows {
        self.keeper.rows().rows()
    }

    /// See [`LossRows::curvature`].
    pub(crate) fn curvature(&self) -> f64 {
        self.keeper.rows().curvature()
    }

    /// See [`LossRows::fits_all`].
    pub(crate) fn fits_all(&self, at_first: f64) -> bool {
        self.keeper.rows().fits_all(at_first)
    }

    /// The node of the largest score that may move on in its direction, and its c_k (scaled, when standardised).
    ///
    /// A node may when ⟨c_k, β_k⟩ ≥ 0: a coefficient of one score then keeps the sign of its first step.
    pub(crate) fn select(&mut self, control: &Control) -> Result<Option<(usize, Vec<f64>)>> {
        let Engine { scores, coefficients, keeper, .. } = self;
        while let Some(node) = scores.best.first() {
            let c = keeper.sum(node, scores, coefficients)?;
            match keeper.judge(node, &c, scores, coefficients) {
                Verdict::Chosen => return Ok(Some((node, c))),
                Verdict::Scored => {}
                Verdict::Barred => scores.best.set(node, NEVER),
            }
            control.check()?;
        }
        Ok(None)
    }

    /// Adds `length · direction` to the coefficients of a node. Returns by how much the loss rises.
    pub(crate) fn apply(&mut self, node: usize, length: f64, direction: &[f64], control: &Control) -> Result<f64> {
        let inside = self.nodes.rows(node);
        let step = Step { node, inside, length, direction, reach: self.scores.reach(node) };
        self.keeper.apply(&step, &mut self.scores, &mut self.coefficients, control)
    }

    /// Lets a node be chosen.
    pub(crate) fn open(&mut self, node: usize) {
        if self.mass.weight[node] > 0.0 {
            self.scores.is_open[node] = true;
            self.keeper.score(node, &mut self.scores, &self.coefficients);
        }
    }

    /// No longer lets a node be chosen.
    pub(crate) fn close(&mut self, node: usize) {
        self.scores.is_open[node] = false;
        self.scores.best.set(node, NEVER);
    }

    /// Of some nodes, that of the largest score, and its c_k; ties go to the lower node.
    pub(crate) fn best_of(&mut self, nodes: &[u32]) -> Result<Option<(usize, Vec<f64>)>> {
        let mut best: Option<(f32, usize, Vec<f64>)> = None;
        for &node in nodes {
            let node = node as usize;
            let c = self.keeper.sum(node, &self.scores, &self.coefficients)?;
            let score = self.scores.of_length(node, norm(c.iter().copied()));
            if best.as_ref().is_none_or(|(s, k, _)| score > *s || (score == *s && node < *k)) {
                best = Some((score, node, c));
            }
        }
        Ok(best.map(|(_, node, c)| (node, c)))
    }

    /// Number of nodes with coefficients.
    pub(crate) fn n_nonzero(&self) -> usize {
        self.coefficients.n_nodes()
    }
}

/// ‖c‖.
fn norm(c: impl Iterator<Item = f64>) -> f64 {
    c.map(|c| c * c).sum::<f64>().sqrt()
}
