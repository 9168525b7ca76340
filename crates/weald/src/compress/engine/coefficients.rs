//! The coefficients of the nodes that have moved.

use super::{PURPOSE, Step};
use crate::error::Result;

/// The slot of nodes without coefficients.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Coefficients {
    width: usize,
    /// The position of the coefficients of each node.
    slot: Vec<u32>,
    values: Vec<f64>,
}

impl Coefficients {
    pub(super) fn new(n_nodes: usize, width: usize) -> Result<Self> {
        Ok(Coefficients { width, slot: PURPOSE.filled(NONE, n_nodes)?, values: Vec::new() })
    }

    /// Returns β_k; empty if the node has not moved.
    #[inline]
    pub(super) fn of(&self, node: usize) -> &[f64] {
        match self.slot[node] {
            NONE => &[],
            slot => self.at(slot),
        }
    }

    /// Returns the coefficients at a position that [`Coefficients::slot`] has returned.
    pub(super) fn at(&self, slot: u32) -> &[f64] {
        &self.values[slot as usize * self.width..][..self.width]
    }

    /// Returns the position of the coefficients of a node; `None` if it has not moved.
    pub(super) fn slot(&self, node: usize) -> Option<u32> {
        (self.slot[node] != NONE).then_some(self.slot[node])
    }

    /// Returns whether the node may move along c: ⟨c, β_k⟩ ≥ 0.
    pub(super) fn may_move(&self, node: usize, c: impl Iterator<Item = f64>) -> bool {
        let beta = self.of(node);
        beta.is_empty() || c.zip(beta).map(|(c, b)| c * b).sum::<f64>() >= 0.0
    }

    pub(super) fn add(&mut self, step: &Step<'_>) -> Result<()> {
        if self.slot[step.node] == NONE {
            PURPOSE.grow(&mut self.values, self.width)?;
            self.slot[step.node] = (self.values.len() / self.width) as u32;
            self.values.resize(self.values.len() + self.width, 0.0);
        }
        let beta = &mut self.values[self.slot[step.node] as usize * self.width..][..self.width];
        beta.iter_mut().zip(step.direction).for_each(|(b, u)| *b += step.length * u);
        Ok(())
    }

    /// Returns the number of nodes that have moved.
    pub(super) fn n_nodes(&self) -> usize {
        self.values.len() / self.width
    }
}
