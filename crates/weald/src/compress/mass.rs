//! The weights of nodes.

use super::indicators::{Indicators, Scratch};
use super::rows::CommonRows;
use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("weights of nodes");

/// The training weight in each node.
#[derive(Clone, Debug)]
pub(crate) struct NodeMass {
    pub(crate) weight: Vec<f64>,
    /// The share of the total weight; exactly 0 or 1 if no samples or all samples are in the node.
    pub(crate) share: Vec<f64>,
}

impl NodeMass {
    pub(crate) fn new(nodes: &Indicators, rows: &CommonRows) -> Result<Self> {
        let train = rows.of_training()?;
        let mut values = PURPOSE.with_capacity(2 * train.len())?;
        train.iter().for_each(|&i| values.extend([rows.weight[i as usize], 1.0]));
        let mut weight = PURPOSE.filled(0.0, nodes.n_nodes())?;
        let mut share = PURPOSE.filled(0.0, nodes.n_nodes())?;
        let mut scratch = Scratch::default();
        for tree in 0..nodes.n_trees() {
            nodes.touched(tree, &train, &values, 2, &mut scratch, |k, sums| {
                weight[k] = sums[0];
                share[k] = if sums[1] == train.len() as f64 { 1.0 } else { (sums[0] / rows.total).min(1.0) };
            })?;
        }
        Ok(NodeMass { weight, share })
    }

    pub(crate) fn try_clone(&self) -> Result<Self> {
        Ok(NodeMass { weight: PURPOSE.copied(&self.weight)?, share: PURPOSE.copied(&self.share)? })
    }

    /// Returns the standard deviation of the indicator of a node.
    pub(crate) fn deviation(&self, node: usize) -> f64 {
        (self.share[node] * (1.0 - self.share[node])).sqrt()
    }
}
