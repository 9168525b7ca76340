//! Scores and predictions for new samples, by [`crate::model`].

use std::ops::Range;

use ndarray::{Array2, ArrayView2};

use super::model::{Boosted, Combine};
use crate::control::Control;
use crate::data::{LabelView, Matrix, Query};
use crate::error::{Error, Purpose, Result};
use crate::model::{Additive, RankBy, StagedScores, Summed, Terms, TopK, best_columns, borrowed, into_array};

best_columns!(Boosted, "Boosting ranks raw scores, which are returned, and columns are those of scores.");

impl Summed for Boosted {
    fn summed(&self) -> Result<Additive<'_>> {
        self.additive()
    }

    fn check_predictions(&self) -> Result<()> {
        self.check_probabilities()
    }
}

impl Boosted {
    /// Returns the model as constants, trees, terms and a link, which prediction, importances and exporters read.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for weak models other than trees, or [`crate::ErrorKind::OutOfMemory`].
    pub fn additive(&self) -> Result<Additive<'_>> {
        self.stages(0..self.n_stages())
    }

    /// Returns the same for some stages only.
    pub(super) fn stages(&self, stages: Range<usize>) -> Result<Additive<'_>> {
        let (terms, per_stage) = match self.combine {
            Combine::Leaves => (Terms::Leaves, 1),
            Combine::Columns => (Terms::Columns, self.width),
            Combine::RankOne => {
                let (steps, learning_rate) = (&self.step_sizes, self.learning_rate);
                (Terms::RankOne { steps, learning_rate, first_stage: stages.start }, 1)
            }
            Combine::OtherRankOne | Combine::OtherEach if stages.is_empty() => (Terms::Leaves, 0),
            Combine::OtherRankOne | Combine::OtherEach => {
                let must = "be a tree: other weak models predict elsewhere";
                return Err(Error::invalid("estimator", "another weak model", must));
            }
        };
        Ok(Additive {
            n_features: self.n_features,
            outputs: &self.outputs,
            width: self.width,
            trees: borrowed(&self.trees[stages.start * per_stage..stages.end * per_stage])?,
            terms,
            start: &self.start,
            divisor: 1.0,
            link: self.link,
        })
    }

    /// Returns the raw scores f, (n_samples, width).
    ///
    /// The bits are the same for any number of threads and any layout of X. If X is CSC, it is transposed once.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] if X has another number of features, [`crate::ErrorKind::Invalid`] if it has
    /// values that are not finite and for weak models other than trees, [`crate::ErrorKind::Interrupted`] or
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn predict_scores<'x>(&self, x: impl Into<Query<'x>>) -> Result<Array2<f64>> {
        let Query { x, control } = &x.into();
        self.additive()?.scores(x, control)
    }

    /// Returns the raw scores before the first stage, (n_samples, width), for callers who add the stages with
    /// [`Boosted::add_stage`].
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
    pub fn start_scores(&self, n_samples: usize, control: &Control) -> Result<Array2<f64>> {
        Ok(into_array(self.stages(0..0)?.start_of_rows(n_samples, control)?, n_samples, self.width))
    }

    /// Returns predictions, (n_samples, width of the outputs): numerical outputs, probabilities of labels, or
    /// probabilities of the classes of each output.
    ///
    /// # Errors
    /// The same as for [`Boosted::predict_scores`] and [`Boosted::to_predictions`].
    pub fn predict<'x>(&self, x: impl Into<Query<'x>>) -> Result<Array2<f64>> {
        let Query { x, control } = &x.into();
        self.check_probabilities()?;
        self.additive()?.predict(x, control)
    }

    /// Returns the columns of the largest scores.
    fn topk(&self, x: &Matrix<'_>, k: usize, excluded: Option<&LabelView<'_>>, control: &Control) -> Result<TopK> {
        if k == 0 || k > self.width {
            return Err(Error::invalid("k", k, "be between 1 and the number of outputs that are ranked"));
        }
        self.additive()?.topk(x, k, RankBy::Scores, excluded, control)
    }

    /// Returns the mean raw scores at each point, (n_points, width): see [`crate::Tree::partial_dependence`].
    ///
    /// # Errors
    /// The same as for [`crate::Tree::partial_dependence`], and [`crate::ErrorKind::Invalid`] for weak models other
    /// than trees.
    pub fn partial_dependence(
        &self,
        features: &[usize],
        points: ArrayView2<'_, f32>,
        control: &Control,
    ) -> Result<Array2<f64>> {
        self.additive()?.partial_dependence(features, points, control)
    }

    /// Returns an iterator over the scores after each stage.
    ///
    /// # Errors
    /// The same as for [`Boosted::predict_scores`].
    pub fn staged_scores<'a>(&'a self, x: impl Into<Matrix<'a>>) -> Result<StagedScores<'a>> {
        self.additive()?.staged(x)
    }

    /// Adds stage `stage` to the scores of the samples of `x`, (n_samples, width), for callers who keep the scores
    /// themselves. If X is CSC, each call transposes it.
    ///
    /// # Errors
    /// The same as for [`Boosted::predict_scores`], [`crate::ErrorKind::Shape`] for scores of another shape, and
    /// [`crate::ErrorKind::Invalid`] when there is no such stage.
    pub fn add_stage<'x>(&self, stage: usize, x: impl Into<Query<'x>>, scores: &mut Array2<f64>) -> Result<()> {
        let Query { x, control } = &x.into();
        if stage >= self.n_stages() {
            return Err(Error::invalid("stage", stage, "be below the number of stages"));
        }
        let model = self.stages(stage..stage + 1)?;
        let rows = model.rows(x, control)?;
        let expected = rows.n_samples() * self.width;
        let got = scores.len();
        match scores.as_slice_mut() {
            Some(scores) if got == expected => model.add_to_rows(&rows, scores, control),
            _ => Err(Error::shape("scores, row-major,", expected, got)),
        }
    }

    /// Adds stage `stage` of a model whose weak models are not trees to scores, (n_samples, width). `predictions` are
    /// those of the weak model of this stage: (n_samples, 1), or (n_samples, width) for the joint strategy.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] if the shapes do not fit, and [`crate::ErrorKind::Invalid`] when there is no
    /// such stage or when the weak models are trees.
    pub fn add_weak(&self, stage: usize, predictions: ArrayView2<'_, f64>, scores: &mut Array2<f64>) -> Result<()> {
        if stage >= self.n_stages() {
            return Err(Error::invalid("stage", stage, "be below the number of stages"));
        }
        let n_columns = match self.combine {
            Combine::OtherRankOne => 1,
            Combine::OtherEach => self.width,
            Combine::Leaves | Combine::RankOne | Combine::Columns => {
                return Err(Error::invalid("estimator", "trees", "be a weak model other than a tree"));
            }
        };
        if predictions.ncols() != n_columns {
            return Err(Error::shape("each row of predictions", n_columns, predictions.ncols()));
        }
        if predictions.nrows() != scores.nrows() || scores.ncols() != self.width {
            return Err(Error::shape("scores", predictions.nrows() * self.width, scores.len()));
        }
        let direction = self.direction(stage, 0..self.width)?;
        for (mut row, g) in scores.rows_mut().into_iter().zip(predictions.rows()) {
            for (j, (score, &v)) in row.iter_mut().zip(&direction).enumerate() {
                *score += g[if n_columns == 1 { 0 } else { j }] * v;
            }
        }
        Ok(())
    }

    /// Returns the learning rate times the steps of some columns in a stage.
    pub(super) fn direction(&self, stage: usize, columns: Range<usize>) -> Result<Vec<f64>> {
        let steps = self.step_sizes.of_stage(stage, self.width).skip(columns.start).take(columns.len());
        Purpose("the steps of a stage").collected(steps.map(|step| self.learning_rate * step))
    }
}
