//! The path of a compression: what was moved, what that cost and gained, and the model at any point of it.

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
use crate::error::{Error, Result, try_collected, try_copied, try_extend, try_filled, try_push, try_with_capacity};
use crate::forest::Forest;
use crate::loss::Link;

const WHAT: &str = "the path";

/// The coefficient of a node.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Coefficient {
    /// The tree.
    pub tree: u32,
    /// The node of the tree.
    pub node: u32,
    /// What each score of a row moves by that passes the node.
    pub values: Vec<f64>,
}

/// What is written down after each step.
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
        try_push(WHAT, &mut self.l1_norm, l1_norm)?;
        try_push(WHAT, &mut self.train_loss, losses.0)?;
        if has_test {
            try_push(WHAT, &mut self.test_loss, losses.1)?;
        }
        try_push(WHAT, &mut self.n_test_nodes, n_test_nodes)?;
        try_push(WHAT, &mut self.n_nonzero, n)
    }
}

/// Coefficients of all steps.
#[derive(Clone, Debug)]
pub(crate) enum Steps {
    /// Step s adds `lengths[s] · directions[s]` to node `nodes[s]`; directions are `width` numbers each.
    Moves { nodes: Vec<u32>, lengths: Vec<f64>, directions: Vec<f32> },
    /// Nodes and coefficients of each step, and what solves for those between two steps.
    Knots(Box<Lasso>),
}

/// The path of one forest on one set of rows. See [`crate::compress`].
#[derive(Clone, Debug)]
pub struct CompressionPath {
    pub(crate) forest: Forest,
    pub(crate) outputs: Outputs,
    pub(crate) link: Link,
    pub(crate) width: usize,
    /// Of each column of scores: its unit, and the constant in these units.
    pub(crate) scale: Vec<f64>,
    pub(crate) start: Vec<f64>,
    /// Set when indicators are standardised: their means and deviations follow.
    pub(crate) mass: Option<NodeMass>,
    pub(crate) records: Records,
    pub(crate) steps: Steps,
}

/// Writes the moves of a path down, and which test nodes they keep.
#[derive(Debug)]
pub(crate) struct Track<'a> {
    nodes: &'a Indicators,
    /// Test nodes with a strict descendant that has a coefficient.
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
            is_kept: try_filled(WHAT, false, nodes.n_nodes())?,
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

    /// Whether more test nodes are kept than are asked for.
    pub(crate) fn is_full(&self) -> bool {
        self.n_kept > self.max_test_nodes
    }

    /// A move that was made.
    pub(crate) fn push(&mut self, node: usize, length: f64, direction: &[f64], engine: &Engine<'_>) -> Result<()> {
        if self.keep_moves {
            let (nodes, lengths, directions) = &mut self.moves;
            try_push(WHAT, nodes, node as u32)?;
            try_push(WHAT, lengths, length)?;
            try_extend(WHAT, directions, direction.iter().map(|&u| u as f32))?;
        }
        let mut at = self.nodes.parent(node);
        while let Some(up) = at
            && !std::mem::replace(&mut self.is_kept[up], true)
        {
            self.n_kept += 1;
            at = self.nodes.parent(up);
        }
        // ε · steps, not a sum of roundings, where all lengths are one.
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
    /// Number of steps after the constant: moves, or penalties of the lasso.
    pub fn n_steps(&self) -> usize {
        self.records.l1_norm.len() - 1
    }

    /// t after each step: the sum of the lengths of moves or, of the lasso, of coefficients. Units as [`Self::width`]
    /// tells; of standardised indicators when they are. The first is 0: the constant.
    pub fn l1_norm(&self) -> &[f64] {
        &self.records.l1_norm
    }

    /// Mean loss on the training rows after each step: of numbers the squared error in their own units, of classes and labels
    /// what is lowered; over rows and outputs, labels by their weights.
    pub fn train_loss(&self) -> &[f64] {
        &self.records.train_loss
    }

    /// The same of rows held out, but for classes the share of wrong ones; empty without any.
    pub fn test_loss(&self) -> &[f64] {
        &self.records.test_loss
    }

    /// Test nodes of the rebuilt forest after each step.
    pub fn n_test_nodes(&self) -> &[usize] {
        &self.records.n_test_nodes
    }

    /// Nodes with a coefficient after each step.
    pub fn n_nonzero(&self) -> &[usize] {
        &self.records.n_nonzero
    }

    /// Columns of scores: one for each number and label, one for two classes, else one for each class. Numbers are scaled
    /// to unit variance while the path is found, labels by the roots of their weights.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The forest that is compressed.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// The last step whose norm is at most `l1_norm`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] when `l1_norm` is negative or not a number.
    pub fn step_of(&self, l1_norm: f64) -> Result<usize> {
        if l1_norm.is_nan() || l1_norm < 0.0 {
            return Err(Error::invalid("l1_norm", l1_norm, "be at least 0"));
        }
        // Norms are sums of steps: what is meant to be one of them is, in spite of rounding.
        let reach = l1_norm * (1.0 + 1e-12);
        Ok(self.records.l1_norm.partition_point(|&t| t <= reach) - 1)
    }

    /// The model of norm `l1_norm`: of the last step that reaches no further, and of the lasso the one of exactly that norm.
    ///
    /// # Errors
    /// As [`CompressionPath::step_of`]; [`crate::ErrorKind::OutOfMemory`]; [`crate::ErrorKind::Interrupted`].
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

    /// The model after `step` steps; 0 is the constant.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] when there are fewer; [`crate::ErrorKind::OutOfMemory`];
    /// [`crate::ErrorKind::Interrupted`].
    pub fn at_step(&self, step: usize, control: &Control) -> Result<Compressed> {
        let linear = self.linear(self.nodes_of(step, control)?)?;
        self.model(&linear, self.records.l1_norm[step], control)
    }

    fn model(&self, linear: &Linear, l1_norm: f64, control: &Control) -> Result<Compressed> {
        let forest = rebuild(&self.forest, linear, control)?;
        Ok(Compressed { forest, outputs: self.outputs.clone(), link: self.link, l1_norm })
    }

    /// Coefficients after `step` steps, of indicators that are 0 and 1 and in the units of y: scores are
    /// [`CompressionPath::intercept`] and the sum of those of all nodes that a row passes. By tree, then node.
    ///
    /// # Errors
    /// As [`CompressionPath::at_step`].
    pub fn coefficients(&self, step: usize, control: &Control) -> Result<Vec<Coefficient>> {
        Ok(self.linear(self.nodes_of(step, control)?)?.coefficients)
    }

    /// The constant of scores after `step` steps, in the units of y.
    ///
    /// # Errors
    /// As [`CompressionPath::at_step`].
    pub fn intercept(&self, step: usize, control: &Control) -> Result<Vec<f64>> {
        Ok(self.linear(self.nodes_of(step, control)?)?.intercept)
    }

    /// Bytes of the model file after `step` steps.
    ///
    /// # Errors
    /// As [`CompressionPath::at_step`].
    #[cfg(feature = "model-files")]
    pub fn bytes_at(&self, step: usize, control: &Control) -> Result<usize> {
        Ok(self.at_step(step, control)?.to_bytes()?.len())
    }

    /// Coefficients by node in the units of the path, and the constant where it has moved.
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
                        Entry::Vacant(place) => place.insert(try_filled(WHAT, 0.0, self.width)?),
                    };
                    beta.iter_mut().zip(direction).for_each(|(b, &u)| *b += length * f64::from(u));
                }
                Solution { start: try_copied(WHAT, &self.start)?, betas }
            }
            Steps::Knots(lasso) => lasso.knot(step)?,
        })
    }

    /// In the units of y, of indicators that are 0 and 1.
    fn linear(&self, solution: Solution) -> Result<Linear> {
        let mut intercept = try_collected(WHAT, solution.start.iter().zip(&self.scale).map(|(b, s)| b * s))?;
        let offsets = self.forest.trees.iter().scan(0usize, |first, tree| {
            let this = *first;
            *first += tree.n_nodes();
            Some(this)
        });
        let offsets: Vec<usize> = offsets.collect();
        let mut coefficients = try_with_capacity(WHAT, solution.betas.len())?;
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
    /// `betas` come by node.
    pub(crate) fn copied<'b>(start: &[f64], betas: impl Iterator<Item = (u32, &'b [f64])>) -> Result<Self> {
        let betas = betas.map(|(node, beta)| Ok((node, try_copied(WHAT, beta)?))).collect::<Result<_>>()?;
        Ok(Solution { start: try_copied(WHAT, start)?, betas })
    }
}
