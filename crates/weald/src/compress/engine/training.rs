//! Training samples with their gradients.

use super::scores::NodeScores;
use super::{Gradients, PURPOSE, Step};
use crate::compress::indicators::Indicators;
use crate::error::Result;

/// The samples, and what all keepers with gradients need of them.
#[derive(Debug)]
pub(super) struct Training<R> {
    pub(super) rows: R,
    /// The samples of positive training weight.
    pub(super) train: Vec<u32>,
    /// The sum of weight × negative gradient over all samples.
    pub(super) overall: Vec<f64>,
    /// Marks the samples of the node during a step; all false between steps.
    is_inside: Vec<bool>,
}

impl<R: Gradients> Training<R> {
    pub(super) fn new(rows: R) -> Result<Self> {
        let of_all = rows.rows();
        let train = of_all.of_training()?;
        let overall = PURPOSE.filled(0.0, of_all.width)?;
        let is_inside = PURPOSE.filled(false, of_all.n_rows())?;
        Ok(Training { rows, train, overall, is_inside })
    }

    pub(super) fn width(&self) -> usize {
        self.overall.len()
    }

    /// Computes [`Training::overall`] from the samples.
    pub(super) fn refresh(&mut self) {
        self.overall.fill(0.0);
        for &i in &self.train {
            self.rows.add_gradient(i as usize, &mut self.overall);
        }
    }

    /// Returns c_k, computed from the samples of a node.
    pub(super) fn sum(&self, nodes: &Indicators, node: usize) -> Result<Vec<f64>> {
        let mut c = PURPOSE.filled(0.0, self.width())?;
        for &i in nodes.rows(node) {
            if self.rows.rows().weight[i as usize] > 0.0 {
                self.rows.add_gradient(i as usize, &mut c);
            }
        }
        Ok(c)
    }

    /// Centres and scales c_k, if indicators are standardised.
    pub(super) fn standardized(&self, node: usize, mut c: Vec<f64>, scores: &NodeScores<'_>) -> Vec<f64> {
        if scores.is_centred() {
            let (share, deviation) = (scores.centring(node), scores.unit(node));
            c.iter_mut().zip(&self.overall).for_each(|(c, all)| *c = (*c - share * all) / deviation);
        }
        c
    }

    /// Returns the number of samples that a step moves.
    pub(super) fn n_moved(&self, step: &Step<'_>) -> usize {
        if step.reach.moves_all() { self.rows.rows().n_rows() } else { step.inside.len() }
    }

    /// Moves the scores of samples. Calls `see` for each training sample with its position, its weight, and the change
    /// of its negative gradient. Returns by how much the loss rises.
    pub(super) fn go(&mut self, step: &Step<'_>, mut see: impl FnMut(u32, f64, &[f64])) -> Result<f64> {
        let mut change = PURPOSE.filled(0.0, self.width())?;
        let mut rise = 0.0;
        let rows = &mut self.rows;
        let mut shift = |i: u32, by: f64| {
            let added = rows.shift(i as usize, step.length * by, step.direction, &mut change);
            let w = rows.rows().weight[i as usize];
            if w > 0.0 {
                rise += w * added;
                see(i, w, &change);
            }
        };
        if step.reach.moves_all() {
            step.inside.iter().for_each(|&i| self.is_inside[i as usize] = true);
            for (i, is_inside) in (0u32..).zip(&mut self.is_inside) {
                shift(i, if std::mem::take(is_inside) { step.reach.inside } else { step.reach.outside });
            }
        } else {
            step.inside.iter().for_each(|&i| shift(i, step.reach.inside));
        }
        Ok(rise)
    }

    /// Calls `see` for each training sample with its position and by how much its score moves, in lengths of the step.
    pub(super) fn each_reach(&mut self, step: &Step<'_>, mut see: impl FnMut(usize, &R, f64)) {
        step.inside.iter().for_each(|&i| self.is_inside[i as usize] = true);
        for &i in &self.train {
            let i = i as usize;
            see(i, &self.rows, if self.is_inside[i] { step.reach.inside } else { step.reach.outside });
        }
        step.inside.iter().for_each(|&i| self.is_inside[i as usize] = false);
    }
}
