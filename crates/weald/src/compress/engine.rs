//! The choice of the node along which the loss falls fastest, step after step.
//!
//! c_k is the sum of weight × negative gradient over the samples of node k. Its length, times a factor of the node, is
//! the score of the node. A move changes the gradients of some samples, and thereby the scores of the nodes that these
//! samples pass. What is stored of c_k depends on the number of scores and on the loss:
//!
//! | keeper | where | stored for each node | work of a move of n samples in a forest of M trees |
//! |---|---|---|---|
//! | [`Sums`] | up to [`NARROW`] scores | c_k | (n·M + nodes passed) × width; one score and many rows: all rows × M + all nodes |
//! | [`Squares`] | squared error | ‖c_k‖² | all rows × (width + M) + all nodes |
//! | [`Labels`] | squared error of labels that are all known | ‖c_k‖² | see there |
//! | [`NormBounds`] | logistic loss; squared error with unknown cells of y | an upper bound of ‖c_k‖ | n × (width + M) + nodes passed, and (rows × width) for each node whose bound comes first |
//!
//! All of them use [`NodeScores`], by which nodes are chosen, with the [`Scoring`] that converts lengths to scores, and the
//! coefficients. Samples with their gradients are in [`training`]. With standardised indicators, a move changes all
//! samples, and all nodes are updated.

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
use crate::error::{Purpose, Result};
use bounds::NormBounds;
use labels::Labels;
pub(crate) use scores::Scoring;
use scores::{NodeScores, Reach};
use squares::Squares;
pub(crate) use squares::dot;
use sums::Sums;

/// Maximum number of scores of a sample for which sums are stored for each node.
pub(crate) const NARROW: usize = 16;
const PURPOSE: Purpose = Purpose("scores of nodes");

/// A step that moves the coefficients of a node by `length · direction`.
#[derive(Clone, Copy, Debug)]
struct Step<'s> {
    node: usize,
    /// The samples of the node.
    inside: &'s [u32],
    length: f64,
    direction: &'s [f64],
    reach: Reach,
}

/// What a keeper decides about the node with the largest score, once c_k is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The score is exact, and the node may move.
    Chosen,
    /// The score was a bound, and has been replaced by the exact one.
    Scored,
    /// The node may not move.
    Barred,
}

/// What is stored of c_k, and the samples from which it is computed.
trait Keeper: std::fmt::Debug {
    fn rows(&self) -> &dyn LossRows;

    /// Computes what is stored from all samples, and the scores of all nodes.
    fn refresh(&mut self, scores: &mut NodeScores<'_>, control: &Control) -> Result<()>;

    /// Returns c_k, times the factor of standardised indicators.
    fn sum(&self, node: usize, scores: &NodeScores<'_>) -> Result<Vec<f64>>;

    /// Writes the score of a node from what is stored.
    fn score(&self, node: usize, scores: &mut NodeScores<'_>);

    /// Decides about the node with the largest score. `c` is its c_k.
    fn judge(&mut self, node: usize, c: &[f64], scores: &mut NodeScores<'_>) -> Verdict {
        let may_move = scores.coefficients.may_move(node, c.iter().copied());
        if may_move { Verdict::Chosen } else { Verdict::Barred }
    }

    /// Makes a step: updates the coefficients, the samples, and what is stored. Returns by how much the loss rises.
    fn apply(&mut self, step: &Step<'_>, scores: &mut NodeScores<'_>, control: &Control) -> Result<f64>;
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Engine<'a> {
    pub(crate) nodes: &'a Indicators,
    pub(crate) mass: &'a NodeMass,
    scores: NodeScores<'a>,
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
        let scores = NodeScores::new(nodes, mass, scoring, width)?;
        let keeper: Box<dyn Keeper> = match (rows, scoring) {
            (FitRows::Labels(rows), Scoring::Raw) => Box::new(Labels::new(rows, nodes, control)?),
            (rows, Scoring::Raw | Scoring::Standardized | Scoring::Gain) => match rows.kept(control)? {
                KeptRows::Residuals(rows) if width <= NARROW => Box::new(Sums::new(rows, nodes, control)?),
                KeptRows::Odds(rows) if width <= NARROW => Box::new(Sums::new(rows, nodes, control)?),
                // Not all residuals of a sample move, as squares would require.
                KeptRows::Residuals(rows) if rows.has_unknown() => Box::new(NormBounds::new(rows, nodes, control)?),
                KeptRows::Residuals(rows) => Box::new(Squares::new(rows, nodes, control)?),
                KeptRows::Odds(rows) => Box::new(NormBounds::new(rows, nodes, control)?),
            },
        };
        let mut engine = Engine { nodes, mass, scores, keeper };
        engine.keeper.refresh(&mut engine.scores, control)?;
        Ok(engine)
    }

    /// Returns the properties of the samples.
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

    /// Returns the node with the largest score that may continue in its direction, and its c_k (scaled, if indicators
    /// are standardised).
    ///
    /// A node may move when ⟨c_k, β_k⟩ ≥ 0: with one score, a coefficient thus keeps the sign of its first step.
    pub(crate) fn select(&mut self, control: &Control) -> Result<Option<(usize, Vec<f64>)>> {
        let Engine { scores, keeper, .. } = self;
        while let Some(node) = scores.best.first() {
            let c = keeper.sum(node, scores)?;
            match keeper.judge(node, &c, scores) {
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
        self.keeper.apply(&step, &mut self.scores, control)
    }

    /// Allows a node to be chosen.
    pub(crate) fn open(&mut self, node: usize) {
        if self.mass.weight[node] > 0.0 {
            self.scores.is_open[node] = true;
            self.keeper.score(node, &mut self.scores);
        }
    }

    /// No longer allows a node to be chosen.
    pub(crate) fn close(&mut self, node: usize) {
        self.scores.is_open[node] = false;
        self.scores.best.set(node, NEVER);
    }

    /// Returns, among some nodes, the one with the largest score, and its c_k; ties go to the lower node.
    pub(crate) fn best_of(&mut self, nodes: &[u32]) -> Result<Option<(usize, Vec<f64>)>> {
        let mut best: Option<(f32, usize, Vec<f64>)> = None;
        for &node in nodes {
            let node = node as usize;
            let c = self.keeper.sum(node, &self.scores)?;
            let score = self.scores.of_length(node, norm(c.iter().copied()));
            if best.as_ref().is_none_or(|(s, k, _)| score > *s || (score == *s && node < *k)) {
                best = Some((score, node, c));
            }
        }
        Ok(best.map(|(_, node, c)| (node, c)))
    }

    /// Returns the number of nodes with coefficients.
    pub(crate) fn n_nonzero(&self) -> usize {
        self.scores.coefficients.n_nodes()
    }
}

/// Returns ‖c‖.
fn norm(c: impl Iterator<Item = f64>) -> f64 {
    c.map(|c| c * c).sum::<f64>().sqrt()
}
