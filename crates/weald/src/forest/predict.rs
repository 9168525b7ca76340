//! Predictions of a forest, and of a tree as a forest of one tree, by [`crate::model`].

use ndarray::{Array1, Array2, ArrayView2};

use super::Forest;
use crate::control::Control;
use crate::data::{LabelView, Matrix, Outputs};
use crate::error::Result;
use crate::loss::Link;
use crate::model::{Additive, DecisionPath, RankBy, SparseScores, Terms, TopK};
use crate::tree::Tree;

impl Forest {
    /// Returns the forest as trees, terms and a link, which prediction, importances and exporters read. Its scores are
    /// means over trees.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`] when there is not enough memory.
    pub fn additive(&self) -> Result<Additive<'_>> {
        Additive::mean(&self.trees, self.n_features, &self.outputs)
    }

    /// Returns the mean over trees, (n_samples, width of the outputs): means of numerical outputs, frequencies of
    /// classes and labels.
    ///
    /// The bits are the same for any number of threads and any layout of X. If X is CSC, it is transposed once.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] if X has another number of features, [`crate::ErrorKind::Invalid`] if it has
    /// values that are not finite, [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
    pub fn predict<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array2<f64>> {
        self.additive()?.predict(&x.into(), control)
    }

    /// Writes the result of [`Forest::predict`] into memory of the caller, in row-major order. Its previous content is
    /// overwritten.
    ///
    /// # Errors
    /// The same as for [`Forest::predict`], and [`crate::ErrorKind::Shape`] when the length of `out` is not n_samples ×
    /// width. After an error, `out` may be partly written.
    pub fn predict_into<'x>(&self, x: impl Into<Matrix<'x>>, out: &mut [f64], control: &Control) -> Result<()> {
        self.additive()?.scores_into(&x.into(), out, control)
    }

    /// Returns the node index of the leaf that each sample reaches in each tree, (n_samples, n_trees).
    ///
    /// # Errors
    /// The same as for [`Forest::predict`].
    pub fn apply<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array2<u32>> {
        self.additive()?.apply(&x.into(), control)
    }

    /// Returns the nodes that each sample passes in each tree.
    ///
    /// # Errors
    /// The same as for [`Forest::predict`], and [`crate::ErrorKind::TooMany`] when the trees have 2³² nodes or more in
    /// total.
    pub fn decision_path<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<DecisionPath> {
        self.additive()?.decision_path(&x.into(), control)
    }

    /// Returns the `k` columns with the largest mean for each sample, in descending order; of equal means, the lower
    /// column comes first.
    ///
    /// The whole prediction is never in memory: memory is O(n · k) and one row of sums for each thread, and time is
    /// that of reading the leaves that are reached.
    ///
    /// # Errors
    /// The same as for [`Forest::predict`], and [`crate::ErrorKind::Invalid`] when `k` is 0 or larger than the number
    /// of columns.
    pub fn predict_topk<'x>(&self, x: impl Into<Matrix<'x>>, k: usize, control: &Control) -> Result<TopK> {
        self.predict_topk_excluding(x, k, None, control)
    }

    /// The same as [`Forest::predict_topk`], but without the columns in `excluded`, which has one row of columns for
    /// each sample of X, or one row that holds for all samples. [`TopK`] describes the result if fewer than `k` columns
    /// are left.
    ///
    /// # Errors
    /// The same as for [`Forest::predict_topk`], and [`crate::ErrorKind::Shape`] when `excluded` does not fit X or the
    /// number of columns.
    pub fn predict_topk_excluding<'x>(
        &self,
        x: impl Into<Matrix<'x>>,
        k: usize,
        excluded: Option<&LabelView<'_>>,
        control: &Control,
    ) -> Result<TopK> {
        self.additive()?.topk(&x.into(), k, RankBy::Scores, excluded, control)
    }

    /// Returns the means that are positive and at least `floor`. They have the same bits as those of
    /// [`Forest::predict`], for any number of threads.
    ///
    /// The whole prediction is never in memory: memory is that of the result and one row of sums for each thread, and
    /// time is that of reading the leaves that are reached.
    ///
    /// # Errors
    /// The same as for [`Forest::predict`], and [`crate::ErrorKind::Invalid`] when `floor` is negative or NaN.
    pub fn predict_at_least<'x>(
        &self,
        x: impl Into<Matrix<'x>>,
        floor: f64,
        control: &Control,
    ) -> Result<SparseScores> {
        let model = self.additive()?;
        let rows = model.rows(x, control)?;
        model.means_at_least(&rows, floor, |_, _| true, |_| model.divisor, control)
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
    pub fn predict<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array2<f64>> {
        self.additive().predict(&x.into(), control)
    }

    /// Returns the node index of the leaf that each sample reaches, (n_samples,).
    ///
    /// # Errors
    /// The same as for [`Forest::predict`].
    pub fn apply<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array1<u32>> {
        let (ids, _) = self.additive().apply(&x.into(), control)?.into_raw_vec_and_offset();
        Ok(ids.into())
    }

    /// Returns the nodes that each sample passes.
    ///
    /// # Errors
    /// The same as for [`Forest::predict`].
    pub fn decision_path<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<DecisionPath> {
        self.additive().decision_path(&x.into(), control)
    }

    /// Returns the `k` columns with the largest value for each sample: [`Forest::predict_topk`] for one tree.
    ///
    /// # Errors
    /// The same as for [`Forest::predict_topk`].
    pub fn predict_topk<'x>(&self, x: impl Into<Matrix<'x>>, k: usize, control: &Control) -> Result<TopK> {
        self.additive().topk(&x.into(), k, RankBy::Scores, None, control)
    }
}
