//! The path of a compression: the moves, their losses and sizes, and the model at any point of it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::engine::Engine;
use super::indicators::Indicators;
use super::lasso::Lasso;
use super::mass::NodeMass;
use super::model::Compressed;
use super::rebuild::{Linear, rebuild};
use super::rows::CommonRows;
use crate::control::Control;
use crate::data::Outputs;
use crate::error::{Error, Purpose, Result};
use crate::forest::Forest;
use crate::loss::Link;

const PURPOSE: Purpose = Purpose("the path");

/// The coefficients of a node.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Coefficient {
    /// The index of the tree.
    pub tree: u32,
    /// The index of the node in the tree.
    pub node: u32,
    /// By how much each score of a sample moves if it passes the node, (width,).
    pub values: Vec<f64>,
}

/// What is recorded after each step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    pub(crate) l1_norm: Vec<f64>,
    pub(crate) train_loss: Vec<f64>,
    pub(crate) test_loss: Vec<f64>,
    pub(crate) n_test_nodes: Vec<usize>,
    pub(crate) n_nonzero: Vec<usize>,
}

impl Records {
    pub(crate) fn push(
        &mut self,
        l1_norm: f64,
        losses: (f64, f64),
        has_test: bool,
        n_test_nodes: usize,
        n: usize,
    ) -> Result<()> {
        PURPOSE.push(&mut self.l1_norm, l1_norm)?;
        PURPOSE.push(&mut self.train_loss, losses.0)?;
        if has_test {
            PURPOSE.push(&mut self.test_loss, losses.1)?;
        }
        PURPOSE.push(&mut self.n_test_nodes, n_test_nodes)?;
        PURPOSE.push(&mut self.n_nonzero, n)
    }
}

/// The coefficients of all steps.
#[derive(Clone, Debug)]
pub(crate) enum Steps {
    /// Step s adds `lengths[s] · directions[s]` to node `nodes[s]`; each direction has `width` numbers.
    Moves { nodes: Vec<u32>, lengths: Vec<f64>, directions: Vec<f32> },
    /// The nodes and coefficients of each step, and the solver for points between two steps.
    Knots(Box<Lasso>),
}

/// The path of one forest on one set of samples. See [`crate::compress`].
#[derive(Clone, Debug)]
pub struct CompressionPath {
    pub(crate) forest: Forest,
    pub(crate) outputs: Outputs,
    pub(crate) link: Link,
    pub(crate) width: usize,
    /// For each column of scores, its unit; and the constant in these units.
    pub(crate) scale: Vec<f64>,
    pub(crate) start: Vec<f64>,
    /// Present if indicators are standardised: their means and deviations follow from it.
    pub(crate) mass: Option<NodeMass>,
    pub(crate) records: Records,
    pub(crate) steps: Steps,
}

/// Records the moves of a path, and which test nodes they keep.
#[derive(Debug)]
pub(crate) struct Track<'a> {
    nodes: &'a Indicators,
    /// The test nodes with a strict descendant that has a coefficient.
    is_kept: Vec<bool>,
    n_kept: usize,
    max_test_nodes: usize,
    l1_norm: f64,
    moves: (Vec<u32>, Vec<f64>, Vec<f32>),
    keep_moves: bool,
    pub(crate) records: Records,
}

impl<'a> Track<'a> {
    pub(crate) fn new(
        nodes: &'a Indicators,
        rows: &CommonRows,
        max_test_nodes: Option<usize>,
        keep: bool,
    ) -> Result<Self> {
        let mut records = Records::default();
        records.push(0.0, rows.losses(), rows.has_held_out(), 0, 0)?;
        Ok(Track {
            nodes,
            is_kept: PURPOSE.filled(false, nodes.n_nodes())?,
            n_kept: 0,
            max_test_nodes: max_test_nodes.unwrap_or(usize::MAX),
            l1_norm: 0.0,
            moves: (Vec::new(), Vec::new(), Vec::new()),
            keep_moves: keep,
            records,
        })
    }

    pub(crate) fn n_moves(&self) -> usize {
        self.records.l1_norm.len() - 1
    }

    /// Returns whether more than the maximum number of test nodes are kept.
    pub(crate) fn is_full(&self) -> bool {
        self.n_kept > self.max_test_nodes
    }

    /// Records a move that was made.
    pub(crate) fn push(&mut self, node: usize, length: f64, direction: &[f64], engine: &Engine<'_>) -> Result<()> {
        if self.keep_moves {
            let (nodes, lengths, directions) = &mut self.moves;
            PURPOSE.push(nodes, node as u32)?;
            PURPOSE.push(lengths, length)?;
            PURPOSE.extend(directions, direction.iter().map(|&u| u as f32))?;
        }
        let mut at = self.nodes.parent(node);
        while let Some(up) = at
            && !std::mem::replace(&mut self.is_kept[up], true)
        {
            self.n_kept += 1;
            at = self.nodes.parent(up);
        }
        // If all lengths are equal, the norm is ε · steps, without the rounding errors of a sum.
        let n = self.records.l1_norm.len();
        let even = self.l1_norm == length * (n - 1) as f64;
        self.l1_norm = if even { length * n as f64 } else { self.l1_norm + length };
        let rows = engine.rows();
        self.records.push(self.l1_norm, rows.losses(), rows.has_held_out(), self.n_kept, engine.n_nonzero())
    }

    pub(crate) fn into_steps(self) -> (Records, Steps) {
        let (nodes, lengths, directions) = self.moves;
        (self.records, Steps::Moves { nodes, lengths, directions })
    }
}

impl CompressionPath {
    /// Returns the number of steps after the constant: moves, or penalties of the lasso.
    pub fn n_steps(&self) -> usize {
        self.records.l1_norm.len() - 1
    }

    /// Returns t after each step: the sum of the lengths of moves or, for the lasso, of coefficients. Units are
    /// described at [`Self::width`]; if indicators are standardised, lengths are those of their coefficients. The first
    /// value is 0, for the constant.
    pub fn l1_norm(&self) -> &[f64] {
        &self.records.l1_norm
    }

    /// Returns the mean loss on the training samples after each step: for numerical outputs the squared error in their
    /// own units, for classes and labels the loss that is minimised. It is a mean over samples and outputs; labels are
    /// weighted.
    pub fn train_loss(&self) -> &[f64] {
        &self.records.train_loss
    }

    /// Returns the same for held-out samples, except that it is the share of errors for classes; empty if there are no
    /// held-out samples.
    pub fn test_loss(&self) -> &[f64] {
        &self.records.test_loss
    }

    /// Returns the number of test nodes of the rebuilt forest after each step.
    pub fn n_test_nodes(&self) -> &[usize] {
        &self.records.n_test_nodes
    }

    /// Returns the number of nodes with a coefficient after each step.
    pub fn n_nonzero(&self) -> &[usize] {
        &self.records.n_nonzero
    }

    /// Returns the number of scores: one for each numerical output and label, one for two classes, and otherwise one
    /// for each class. While the path is computed, numerical outputs are scaled to unit variance, and labels by the
    /// roots of their weights.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the forest that is compressed.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// Returns the last step whose norm is at most `l1_norm`.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] when `l1_norm` is negative or NaN.
    pub fn step_of(&self, l1_norm: f64) -> Result<usize> {
        if l1_norm.is_nan() || l1_norm < 0.0 {
            return Err(Error::invalid("l1_norm", l1_norm, "be at least 0"));
        }
        // Norms are sums of steps: a value that is meant to be one of them is recognised in spite of rounding.
        let reach = l1_norm * (1.0 + 1e-12);
        Ok(self.records.l1_norm.partition_point(|&t| t <= reach) - 1)
    }

    /// Returns the model of norm `l1_norm`: that of the last step whose norm is at most this or, for the lasso, the one
    /// of exactly this norm.
    ///
    /// # Errors
    /// The same as for [`CompressionPath::step_of`], [`crate::ErrorKind::OutOfMemory`] or
    /// [`crate::ErrorKind::Interrupted`].
    pub fn at(&self, l1_norm: f64, control: &Control) -> Result<Compressed> {
        let step = self.step_of(l1_norm)?;
        match &self.steps {
            Steps::Knots(lasso) if step < self.n_steps() && l1_norm > self.records.l1_norm[step] => {
                let nodes = lasso.solve_norm(l1_norm, step, control)?;
                self.model(&self.linear(nodes)?, l1_norm, control)
            }
            Steps::Knots(_) | Steps::Moves { .. } => self.at_step(step, control),
        }
    }

    /// Returns the model after `step` steps; 0 is the constant.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] when the path has fewer steps, [`crate::ErrorKind::OutOfMemory`] or
    /// [`crate::ErrorKind::Interrupted`].
    pub fn at_step(&self, step: usize, control: &Control) -> Result<Compressed> {
        let linear = self.linear(self.nodes_of(step, control)?)?;
        self.model(&linear, self.records.l1_norm[step], control)
    }

    fn model(&self, linear: &Linear, l1_norm: f64, control: &Control) -> Result<Compressed> {
        let forest = rebuild(&self.forest, linear, control)?;
        Ok(Compressed { forest, outputs: self.outputs.clone(), link: self.link, l1_norm })
    }

    /// Returns the coefficients after `step` steps, for indicators that are 0 and 1 and in the units of y: scores are
    /// [`CompressionPath::intercept`] plus the sum of the coefficients of all nodes that a sample passes. They are
    /// ordered by tree, then by node.
    ///
    /// # Errors
    /// The same as for [`CompressionPath::at_step`].
    pub fn coefficients(&self, step: usize, control: &Control) -> Result<Vec<Coefficient>> {
        Ok(self.linear(self.nodes_of(step, control)?)?.coefficients)
    }

    /// Returns the constant of the scores after `step` steps, in the units of y, (width,).
    ///
    /// # Errors
    /// The same as for [`CompressionPath::at_step`].
    pub fn intercept(&self, step: usize, control: &Control) -> Result<Vec<f64>> {
        Ok(self.linear(self.nodes_of(step, control)?)?.intercept)
    }

    /// Returns the coefficients by node in the units of the path, and the constant if it has moved.
    fn nodes_of(&self, step: usize, control: &Control) -> Result<Solution> {
        if step > self.n_steps() {
            return Err(Error::invalid("step", step, "be at most the number of steps of the path"));
        }
        Ok(match &self.steps {
            Steps::Moves { nodes, lengths, directions } => {
                let mut betas: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
                let moves = nodes.iter().zip(lengths).zip(directions.chunks_exact(self.width));
                let mut pulse = control.pulse();
                for ((&node, length), direction) in moves.take(step) {
                    pulse.after(self.width)?;
                    let beta = match betas.entry(node) {
                        Entry::Occupied(beta) => beta.into_mut(),
                        Entry::Vacant(place) => place.insert(PURPOSE.filled(0.0, self.width)?),
                    };
                    beta.iter_mut().zip(direction).for_each(|(b, &u)| *b += length * f64::from(u));
                }
                Solution { start: PURPOSE.copied(&self.start)?, betas }
            }
            Steps::Knots(lasso) => lasso.knot(step)?,
        })
    }

    /// Converts a solution to the units of y, for indicators that are 0 and 1.
    fn linear(&self, solution: Solution) -> Result<Linear> {
        let mut intercept = PURPOSE.collected(solution.start.iter().zip(&self.scale).map(|(b, s)| b * s))?;
        let offsets = self.forest.trees.iter().scan(0usize, |first, tree| {
            let this = *first;
            *first += tree.n_nodes();
            Some(this)
        });
        let offsets: Vec<usize> = offsets.collect();
        let mut coefficients = PURPOSE.with_capacity(solution.betas.len())?;
        for (node, mut beta) in solution.betas {
            let node = node as usize;
            let tree = offsets.partition_point(|&offset| offset <= node) - 1;
            beta.iter_mut().zip(&self.scale).for_each(|(b, s)| *b *= s);
            if let Some(mass) = &self.mass {
                let (share, deviation) = (mass.share[node], mass.deviation(node));
                beta.iter_mut().for_each(|b| *b /= deviation);
                intercept.iter_mut().zip(&beta).for_each(|(a, b)| *a -= share * b);
            }
            coefficients.push(Coefficient { tree: tree as u32, node: (node - offsets[tree]) as u32, values: beta });
        }
        Ok(Linear { intercept, coefficients })
    }
}

/// Coefficients by node, in the units of the path.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    pub(crate) start: Vec<f64>,
    pub(crate) betas: BTreeMap<u32, Vec<f64>>,
}

impl Solution {
    /// Copies a solution; `betas` must be ordered by node.
    pub(crate) fn copied<'b>(start: &[f64], betas: impl Iterator<Item = (u32, &'b [f64])>) -> Result<Self> {
        let betas = betas.map(|(node, beta)| Ok((node, PURPOSE.copied(beta)?))).collect::<Result<_>>()?;
        Ok(Solution { start: PURPOSE.copied(start)?, betas })
    }
}
