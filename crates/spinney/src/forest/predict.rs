//! Predictions of a forest, and of a tree as a forest of one: readings of [`crate::model`].

use ndarray::{Array1, Array2, ArrayView2};

use super::Forest;
use crate::control::Control;
use crate::data::{LabelView, Matrix, Outputs};
use crate::error::Result;
use crate::loss::Link;
use crate::model::{Additive, DecisionPath, RankBy, SparseScores, Terms, TopK};
use crate::tree::Tree;

impl Forest {
    /// The forest as trees, terms and a link, which prediction, importances and exporters read: the mean over trees.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn additive(&self) -> Result<Additive<'_>> {
        Additive::mean(&self.trees, self.n_features, &self.outputs)
    }

    /// Mean over trees, (n_samples, width of the outputs).
    ///
    /// Bit for bit the same for any number of threads and any layout of X. A CSC X is transposed once.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] for another number of features, [`crate::ErrorKind::Invalid`] for values that are not
    /// finite, [`crate::ErrorKind::Interrupted`], [`crate::ErrorKind::OutOfMemory`].
    pub fn predict<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array2<f64>> {
        self.additive()?.predict(&x.into(), control)
    }

    /// [`Forest::predict`] into memory of the caller, row-major; what it held is overwritten.
    ///
    /// # Errors
    /// As [`Forest::predict`]; [`crate::ErrorKind::Shape`] when `out` is not of n_samples × width numbers. After an error
    /// `out` is written in part.
    pub fn predict_into<'x>(&self, x: impl Into<Matrix<'x>>, out: &mut [f64], control: &Control) -> Result<()> {
        self.additive()?.scores_into(&x.into(), out, control)
    }

    /// The node of the leaf that each row reaches in each tree, (n_samples, n_trees).
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn apply<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array2<u32>> {
        self.additive()?.apply(&x.into(), control)
    }

    /// The nodes that each row passes in each tree.
    ///
    /// # Errors
    /// As [`Forest::predict`]; [`crate::ErrorKind::TooMany`] when the trees have 2³² nodes or more.
    pub fn decision_path<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<DecisionPath> {
        self.additive()?.decision_path(&x.into(), control)
    }

    /// The `k` columns of greatest mean of each row: score descending, then column ascending.
    ///
    /// Never holds the whole prediction: memory is O(n · k) and one row for each thread, time the cells of the leaves
    /// that are reached.
    ///
    /// # Errors
    /// As [`Forest::predict`]; [`crate::ErrorKind::Invalid`] when `k` is 0 or more than there are columns.
    pub fn predict_topk<'x>(&self, x: impl Into<Matrix<'x>>, k: usize, control: &Control) -> Result<TopK> {
        self.predict_topk_excluding(x, k, None, control)
    }

    /// The same of the columns that are not `excluded`: a row of columns for each row of X, or one for all. Where fewer than
    /// `k` are left, see [`TopK`].
    ///
    /// # Errors
    /// As [`Forest::predict_topk`]; [`crate::ErrorKind::Shape`] when `excluded` does not fit X or the columns.
    pub fn predict_topk_excluding<'x>(
        &self,
        x: impl Into<Matrix<'x>>,
        k: usize,
        excluded: Option<&LabelView<'_>>,
        control: &Control,
    ) -> Result<TopK> {
        self.additive()?.topk(&x.into(), k, RankBy::Scores, excluded, control)
    }

    /// The means that are positive and at least `floor`: the same bits as those of [`Forest::predict`], for any number of
    /// threads.
    ///
    /// Never holds the whole prediction: memory is that of the result and one row for each thread, time the cells of the
    /// leaves that are reached.
    ///
    /// # Errors
    /// As [`Forest::predict`]; [`crate::ErrorKind::Invalid`] when `floor` is negative or NaN.
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

    /// Mean over trees of [`Tree::partial_dependence`]: (n_points, width of the outputs), the same bits for any number of
    /// threads.
    ///
    /// # Errors
    /// As [`Tree::partial_dependence`].
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
    /// The tree as a model of one: see [`crate::model`].
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

    /// Values of the leaves that the rows reach: [`Forest::predict`] for one tree.
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn predict<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array2<f64>> {
        self.additive().predict(&x.into(), control)
    }

    /// The node of the leaf that each row reaches.
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn apply<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array1<u32>> {
        let (ids, _) = self.additive().apply(&x.into(), control)?.into_raw_vec_and_offset();
        Ok(ids.into())
    }

    /// The nodes that each row passes.
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn decision_path<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<DecisionPath> {
        self.additive().decision_path(&x.into(), control)
    }

    /// The `k` columns of greatest value of each row: [`Forest::predict_topk`] for one tree.
    ///
    /// # Errors
    /// As [`Forest::predict_topk`].
    pub fn predict_topk<'x>(&self, x: impl Into<Matrix<'x>>, k: usize, control: &Control) -> Result<TopK> {
        self.additive().topk(&x.into(), k, RankBy::Scores, None, control)
    }
}
