//! The node that the loss falls along fastest, step after step.
//!
//! c_k is the sum of weight × negative gradient over the rows of node k. Its length, times a factor of the node, is the
//! node's score. A move changes the gradients of some rows, and so the scores of the nodes that these rows pass; what is kept
//! of c_k depends on the width of scores:
//!
//! | keeper | of each node | work of a move of n rows in a forest of M trees |
//! |---|---|---|
//! | `Sums`, up to [`NARROW`] scores | c_k | (n·M + nodes passed) × width; one score and many rows: all rows × M + all nodes |
//! | `Squares`, squared error | ‖c_k‖² | all rows × (width + M) + all nodes; of labels as in `labels` |
//! | `Bounds`, logistic loss | an upper bound of ‖c_k‖ | n × (width + M) + nodes passed, and (rows × width) for each node whose bound comes first |
//!
//! `Squares`: the residuals of rows of node j all move by −εu, so c_k moves by −ε w(j ∩ k) u, and ‖c_k‖² follows from
//! ⟨c_k, u⟩, which is the sum of w⟨r, u⟩ over the rows of k. `Bounds`: ‖c_k‖ rises by no more than the sum of the lengths by
//! which the gradients of rows change; a node whose bound is largest is summed from its rows, and chosen if it still is
//! first. Standardised indicators move all rows: all nodes are passed.

mod labels;
mod moves;

use super::best::{Best, NEVER};
use super::indicators::{Indicators, Scratch};
use super::mass::NodeMass;
use super::rows::{FitRows, Kind};
use crate::control::Control;
use crate::error::{Result, try_copied, try_filled, try_with_capacity};
use labels::Fitted;
pub(crate) use moves::dot;

/// Most scores of a row whose sums are kept for each node.
pub(crate) const NARROW: usize = 16;
/// Nodes without coefficient.
const NONE: u32 = u32::MAX;
const WHAT: &str = "scores of nodes";

/// What the length of c_k is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scoring {
    /// Nothing.
    Raw,
    /// 1 / standard deviation of the indicator, of which c_k is the centred sum.
    Standardized,
    /// 1 / √weight of the node, of nodes that are open: squares are twice what the best weight of the node gains.
    Gain,
}

#[derive(Debug)]
enum Keeper {
    Sums(Vec<f64>),
    Squares(Vec<f64>),
    /// Bounds, and whether each is the length itself.
    Bounds(Vec<f64>, Vec<bool>),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Engine<'a> {
    pub(crate) nodes: &'a Indicators,
    pub(crate) rows: FitRows,
    pub(crate) mass: &'a NodeMass,
    scoring: Scoring,
    keeper: Keeper,
    best: Best,
    /// Whether a node may be chosen; [`Scoring::Gain`] opens nodes one by one.
    open: Vec<bool>,
    /// Place of each node's coefficients.
    slot: Vec<u32>,
    coefficients: Vec<f64>,
    /// Sum of weight × negative gradient over all rows.
    overall: Vec<f64>,
    /// Rows of positive training weight.
    train: Vec<u32>,
    is_moved: Vec<bool>,
    /// What the length of c_k is multiplied by.
    factor: Vec<f64>,
    /// Of one score: the sign of each coefficient, 0 without.
    sign: Vec<f32>,
    scratch: Scratch,
    /// Nodes of one tree: there is room for all of the largest.
    passed: Vec<u32>,
    n_moves: usize,
    /// Where residuals are not kept.
    fitted: Option<Fitted>,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(
        nodes: &'a Indicators,
        rows: FitRows,
        mass: &'a NodeMass,
        scoring: Scoring,
        control: &Control,
    ) -> Result<Self> {
        let (n, width) = (nodes.n_nodes(), rows.width);
        let keeper = if width <= NARROW {
            Keeper::Sums(control.try_filled(WHAT, 0.0, n * width)?)
        } else if rows.kind == Kind::Squared {
            Keeper::Squares(control.try_filled(WHAT, 0.0, n)?)
        } else {
            Keeper::Bounds(control.try_filled(WHAT, f64::INFINITY, n)?, control.try_filled(WHAT, false, n)?)
        };
        let mut open = try_filled(WHAT, false, n)?;
        for (k, open) in open.iter_mut().enumerate() {
            *open = match scoring {
                _ if nodes.is_root(k) || mass.weight[k] <= 0.0 => false,
                Scoring::Raw => true,
                Scoring::Standardized => mass.deviation(k) > 0.0,
                Scoring::Gain => false,
            };
        }
        let mut factor = try_filled(WHAT, 1.0, n)?;
        for (k, factor) in factor.iter_mut().enumerate() {
            *factor = match scoring {
                Scoring::Raw => 1.0,
                Scoring::Standardized => 1.0 / mass.deviation(k),
                Scoring::Gain => 1.0 / mass.weight[k].sqrt(),
            };
        }
        let train = rows.of_training()?;
        let mut engine = Engine {
            nodes,
            mass,
            scoring,
            keeper,
            best: Best::new(n)?,
            open,
            slot: try_filled(WHAT, NONE, n)?,
            coefficients: Vec::new(),
            overall: try_filled(WHAT, 0.0, width)?,
            train,
            is_moved: try_filled(WHAT, false, rows.n_rows())?,
            factor,
            sign: try_filled(WHAT, 0.0, if width == 1 { n } else { 0 })?,
            scratch: Scratch::default(),
            passed: try_with_capacity(
                WHAT,
                (0..nodes.n_trees()).map(|tree| nodes.nodes(tree).len()).max().unwrap_or(0),
            )?,
            n_moves: 0,
            fitted: rows.implicit.then(|| Fitted::new(nodes.n_trees())).transpose()?,
            rows,
        };
        engine.refresh(control)?;
        Ok(engine)
    }

    /// Sums what is kept from the gradients of all rows.
    fn refresh(&mut self, control: &Control) -> Result<()> {
        let (rows, width) = (&self.rows, self.rows.width);
        // Only standardised indicators ask for it.
        self.overall.fill(0.0);
        for &i in if rows.implicit { &[] } else { &self.train[..] } {
            let w = rows.weight[i as usize];
            self.overall.iter_mut().zip(rows.gradient(i as usize)).for_each(|(s, g)| *s += w * g);
        }
        match &mut self.keeper {
            Keeper::Sums(sums) => {
                let mut values = try_with_capacity(WHAT, self.train.len() * width)?;
                self.train.iter().for_each(|&i| values.extend(weighted(rows, i as usize)));
                for tree in 0..self.nodes.n_trees() {
                    control.check()?;
                    self.nodes.touched(tree, &self.train, &values, width, &mut self.scratch, |k, c| {
                        sums[k * width..(k + 1) * width].copy_from_slice(c);
                    })?;
                }
            }
            Keeper::Squares(squares) => {
                let mut pulse = control.pulse();
                let all = match &self.fitted {
                    Some(fitted) if self.n_moves > 0 => fitted.residuals(self.nodes, rows, &self.coefficients)?,
                    _ => Vec::new(),
                };
                // Before the first move of labels: y alone, and the constant at the end.
                let of_labels = rows.implicit && self.n_moves == 0;
                let sum = |row: usize, sums: &mut [f64]| {
                    let w = rows.weight[row];
                    if of_labels {
                        rows.on(row).iter().for_each(|&c| sums[c as usize] += w);
                    } else if w > 0.0 {
                        let r = if rows.implicit { &all[row * width..(row + 1) * width] } else { rows.gradient(row) };
                        sums.iter_mut().zip(r).for_each(|(s, g)| *s += w * g);
                    }
                };
                for tree in 0..self.nodes.n_trees() {
                    self.nodes.all_sums(tree, width, sum, |k, c| {
                        squares[k] = if of_labels {
                            let w = self.mass.weight[k];
                            c.iter().zip(&rows.start).map(|(c, b)| (c - w * b).powi(2)).sum()
                        } else {
                            dot(c, c)
                        };
                        pulse.after(width)
                    })?;
                }
            }
            Keeper::Bounds(bounds, exact) => {
                bounds.fill(f64::INFINITY);
                exact.fill(false);
            }
        }
        (0..self.nodes.n_nodes()).for_each(|k| self.score(k));
        Ok(())
    }

    /// c_k, from the rows of the node, times the factor of standardised indicators.
    fn sum(&self, node: usize) -> Result<Vec<f64>> {
        let rows = &self.rows;
        if let Some(fitted) = &self.fitted {
            return fitted.sum(self.nodes, rows, &self.coefficients, self.nodes.rows(node));
        }
        let mut c = match &self.keeper {
            Keeper::Sums(sums) => try_copied(WHAT, &sums[node * rows.width..(node + 1) * rows.width])?,
            _ => {
                let mut c = try_filled(WHAT, 0.0, rows.width)?;
                for &i in self.nodes.rows(node) {
                    let w = rows.weight[i as usize];
                    if w > 0.0 {
                        c.iter_mut().zip(rows.gradient(i as usize)).for_each(|(s, g)| *s += w * g);
                    }
                }
                c
            }
        };
        if self.scoring == Scoring::Standardized {
            let (share, deviation) = (self.mass.share[node], self.mass.deviation(node));
            c.iter_mut().zip(&self.overall).for_each(|(c, all)| *c = (*c - share * all) / deviation);
        }
        Ok(c)
    }

    /// Writes the score of a node from what is kept.
    fn score(&mut self, node: usize) {
        if !self.open[node] {
            return;
        }
        let score = match &self.keeper {
            Keeper::Sums(sums) => {
                let width = self.rows.width;
                let c = &sums[node * width..(node + 1) * width];
                let shift = if self.scoring == Scoring::Standardized { self.mass.share[node] } else { 0.0 };
                let c = c.iter().zip(&self.overall).map(|(c, all)| c - shift * all);
                let beta = coefficients(&self.slot, &self.coefficients, width, node);
                if !beta.is_empty() && c.clone().zip(beta).map(|(c, b)| c * b).sum::<f64>() < 0.0 {
                    NEVER
                } else {
                    (c.map(|c| c * c).sum::<f64>().sqrt() * self.factor[node]) as f32
                }
            }
            Keeper::Squares(squares) => (squares[node].max(0.0).sqrt() * self.factor[node]) as f32,
            Keeper::Bounds(bounds, exact) => {
                let score = (bounds[node] * self.factor[node]) as f32;
                if exact[node] { score } else { score.next_up() }
            }
        };
        self.best.set(node, score);
    }

    /// The node of the largest score that may move on in its direction, and its c_k (scaled, when standardised).
    ///
    /// A node may when ⟨c_k, β_k⟩ ≥ 0: a coefficient of one score then keeps the sign of its first step.
    pub(crate) fn select(&mut self, control: &Control) -> Result<Option<(usize, Vec<f64>)>> {
        while let Some(node) = self.best.first() {
            let c = self.sum(node)?;
            let Some(is_first) = self.proven(node, &c) else { return Ok(Some((node, c))) };
            if !is_first {
                self.best.set(node, NEVER);
            }
            control.check()?;
        }
        Ok(None)
    }

    /// `None` when the score of the node is its own and it may move; else whether it may be asked again.
    fn proven(&mut self, node: usize, c: &[f64]) -> Option<bool> {
        if let Keeper::Sums(_) = self.keeper {
            return None;
        }
        let beta = coefficients(&self.slot, &self.coefficients, self.rows.width, node);
        let may_move = beta.is_empty() || c.iter().zip(beta).map(|(c, b)| c * b).sum::<f64>() >= 0.0;
        if let Keeper::Bounds(bounds, exact) = &mut self.keeper
            && !exact[node]
        {
            let scaled = if self.scoring == Scoring::Standardized { self.mass.deviation(node) } else { 1.0 };
            bounds[node] = c.iter().map(|c| c * c).sum::<f64>().sqrt() * scaled;
            exact[node] = true;
            self.score(node);
            return Some(may_move);
        }
        if may_move { None } else { Some(false) }
    }

    /// Lets a node be chosen.
    pub(crate) fn open(&mut self, node: usize) {
        if self.mass.weight[node] > 0.0 {
            self.open[node] = true;
            self.score(node);
        }
    }

    /// No longer lets a node be chosen.
    pub(crate) fn close(&mut self, node: usize) {
        self.open[node] = false;
        self.best.set(node, NEVER);
    }

    /// Of some nodes, that of the largest score, and its c_k; ties go to the lower node.
    pub(crate) fn best_of(&mut self, nodes: &[u32]) -> Result<Option<(usize, Vec<f64>)>> {
        let mut best: Option<(f32, usize, Vec<f64>)> = None;
        for &node in nodes {
            let node = node as usize;
            let c = self.sum(node)?;
            let score = (c.iter().map(|c| c * c).sum::<f64>().sqrt() * self.factor[node]) as f32;
            if best.as_ref().is_none_or(|(s, k, _)| score > *s || (score == *s && node < *k)) {
                best = Some((score, node, c));
            }
        }
        Ok(best.map(|(_, node, c)| (node, c)))
    }

    /// Number of nodes with coefficients.
    pub(crate) fn n_nonzero(&self) -> usize {
        self.coefficients.len() / self.rows.width
    }
}

fn coefficients<'b>(slot: &[u32], all: &'b [f64], width: usize, node: usize) -> &'b [f64] {
    if slot[node] == NONE { &[] } else { &all[slot[node] as usize * width..][..width] }
}

fn weighted(rows: &FitRows, row: usize) -> impl Iterator<Item = f64> + '_ {
    let w = rows.weight[row];
    rows.gradient(row).iter().map(move |g| w * g)
}
