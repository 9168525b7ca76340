//! Forests: trees that are functions of (data, parameters, seed, index), grown in parallel and averaged.

use std::sync::Arc;

use crate::data::Outputs;
use crate::tree::Tree;

/// A fitted forest. Immutable; trees are shared, so that a forest of more trees costs only the new ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    pub(crate) n_features: usize,
    pub(crate) outputs: Outputs,
    pub(crate) trees: Vec<Arc<Tree>>,
}

impl crate::TreeConfig {
    /// Grows one tree.
    pub fn fit(
        &self,
        _x: &crate::Matrix<'_>,
        _y: &crate::Targets<'_>,
        _sample_weight: Option<&[f64]>,
        _control: &crate::Control,
    ) -> crate::Result<Tree> {
        todo!()
    }
}

impl crate::ForestConfig {
    /// Grows the forest.
    pub fn fit(
        &self,
        x: &crate::Matrix<'_>,
        y: &crate::Targets<'_>,
        sample_weight: Option<&[f64]>,
        control: &crate::Control,
    ) -> crate::Result<Forest> {
        self.fit_trees(0..self.n_trees, x, y, sample_weight, control)
    }

    /// Grows trees `trees` of the forest: parts grown apart and merged equal the forest grown at once.
    pub fn fit_trees(
        &self,
        _trees: std::ops::Range<usize>,
        _x: &crate::Matrix<'_>,
        _y: &crate::Targets<'_>,
        _sample_weight: Option<&[f64]>,
        _control: &crate::Control,
    ) -> crate::Result<Forest> {
        todo!()
    }
}
