//! Predictions of a forest, and of a tree as a forest of one tree, by [`crate::model`].

use ndarray::{Array1, Array2, ArrayView2};

use super::Forest;
use crate::control::Control;
use crate::data::{LabelView, Matrix, Outputs, Query};
use crate::error::Result;
use crate::loss::Link;
use crate::model::{Additive, DecisionPath, RankBy, SparseScores, Summed, Terms, TopK, means};
use crate::tree::Tree;

impl Forest {
    /// Returns the forest as trees, terms and a link, which prediction, importances and exporters read. Its scores are
    /// means over trees.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`] when there is not enough memory.
    pub fn additive(&self) -> Result<Additive<'_>> {
        let mut model = Additive::mean(&self.trees, self.n_features, &self.outputs)?;
        if self.by_output {
            (model.terms, model.divisor) = (Terms::Columns, self.n_trees_of_an_output() as f64);
        }
        Ok(model)
    }

    pub(super) fn predict_into_of(&self, x: &Matrix<'_>, out: &mut [f64], control: &Control) -> Result<()> {
        self.additive()?.scores_into(x, out, control)
    }

    /// Writes the means over the trees that count for a sample: see [`means::means_into`].
    pub(super) fn means_into(
        &self,
        x: &Matrix<'_>,
        out: &mut [f64],
        counts: impl Fn(usize, usize) -> bool + Sync,
        n_counting: impl Fn(usize) -> f64 + Sync,
        control: &Control,
    ) -> Result<()> {
        let model = self.additive()?;
        means::means_into(&model.leaves_of(x, control)?, (model.width, out), counts, n_counting, control)
    }

    pub(super) fn apply_of(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<u32>> {
        self.additive()?.apply(x, control)
    }

    pub(super) fn topk(
        &self,
        x: &Matrix<'_>,
        k: usize,
        excluded: Option<&LabelView<'_>>,
        control: &Control,
    ) -> Result<TopK> {
        self.additive()?.topk(x, k, RankBy::Scores, excluded, control)
    }

    /// Returns the means over the trees that count for a sample: see [`means::at_least`].
    pub(super) fn at_least_of(
        &self,
        x: &Matrix<'_>,
        floor: f64,
        counts: impl Fn(usize, usize) -> bool + Sync,
        n_counting: impl Fn(usize) -> f64 + Sync,
        control: &Control,
    ) -> Result<SparseScores> {
        let model = self.additive()?;
        if self.by_output {
            return model.scores_at_least(&model.rows(x, control)?, floor, control);
        }
        means::at_least(&model.leaves_of(x, control)?, (model.width, floor), counts, n_counting, control)
    }

    /// Returns the nodes that each sample passes in each tree.
    ///
    /// # Errors
    /// The same as for [`Forest::predict`], and [`crate::ErrorKind::TooMany`] when the trees have 2³² nodes or more in
    /// total.
    pub fn decision_path<'x>(&self, x: impl Into<Query<'x>>) -> Result<DecisionPath> {
        let Query { x, control } = &x.into();
        self.additive()?.decision_path(x, control)
    }

    /// Returns the mean over trees of [`Tree::partial_dependence`], (n_points, width of the outputs). The bits are the
    /// same for any number of threads.
    ///
    /// # Errors
    /// The same as for [`Tree::partial_dependence`].
    pub fn partial_dependence(
        &self,
        features: &[usize],
        points: ArrayView2<'_, f32>,
        control: &Control,
    ) -> Result<Array2<f64>> {
        self.additive()?.partial_dependence(features, points, control)
    }
}

impl Summed for Forest {
    fn summed(&self) -> Result<Additive<'_>> {
        self.additive()
    }
}

impl Tree {
    /// Returns the tree as a model of one tree: see [`crate::model`].
    pub fn additive(&self) -> Additive<'_> {
        let outputs: &Outputs = self.outputs();
        Additive {
            n_features: self.n_features,
            outputs,
            width: outputs.width(),
            trees: vec![self],
            terms: Terms::Leaves,
            start: &[],
            divisor: 1.0,
            link: Link::Identity,
        }
    }

    /// Returns the values of the leaves that the samples reach: [`Forest::predict`] for one tree.
    ///
    /// # Errors
    /// The same as for [`Forest::predict`].
    pub fn predict<'x>(&self, x: impl Into<Query<'x>>) -> Result<Array2<f64>> {
        let Query { x, control } = &x.into();
        self.additive().predict(x, control)
    }

    /// Returns the node index of the leaf that each sample reaches, (n_samples,).
    ///
    /// # Errors
    /// The same as for [`Forest::predict`].
    pub fn apply<'x>(&self, x: impl Into<Query<'x>>) -> Result<Array1<u32>> {
        let Query { x, control } = &x.into();
        let (ids, _) = self.additive().apply(x, control)?.into_raw_vec_and_offset();
        Ok(ids.into())
    }

    /// Returns the nodes that each sample passes.
    ///
    /// # Errors
    /// The same as for [`Forest::predict`].
    pub fn decision_path<'x>(&self, x: impl Into<Query<'x>>) -> Result<DecisionPath> {
        let Query { x, control } = &x.into();
        self.additive().decision_path(x, control)
    }

    /// Returns the `k` columns with the largest value for each sample: [`Forest::predict_topk`] for one tree.
    ///
    /// # Errors
    /// The same as for [`Forest::predict_topk`].
    pub fn predict_topk<'x>(&self, x: impl Into<Query<'x>>, k: usize) -> Result<TopK> {
        let Query { x, control } = &x.into();
        self.additive().topk(x, k, RankBy::Scores, None, control)
    }
}
