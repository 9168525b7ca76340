//! The fitted model: a constant, trees and what they add to the scores.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};

use super::problem::Problem;
use super::step_sizes::{StepDtype, StepSizes};
use crate::control::Control;
use crate::data::Outputs;
use crate::error::{Error, Result, try_collected, try_copied, try_filled};
use crate::forest::Forest;
use crate::loss::Link;
use crate::model::{TreeWeighting, into_array, try_matrix};
use crate::tree::Tree;

/// How a stage's weak model is added to the scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    /// A tree for all scores, whose leaves hold what is added.
    Leaves,
    /// A tree of one number; every score takes a multiple of it.
    RankOne,
    /// A tree of one number for each score, one after the other; leaves hold what is added.
    Columns,
    /// Predictions from elsewhere, of one number; every score takes a multiple of it.
    OtherRankOne,
    /// Predictions from elsewhere, of one number for each score; each is multiplied by a step of its own.
    OtherEach,
}

/// A fitted model. Immutable; trees are shared, so that a model of more stages costs only the new ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Boosted {
    pub(crate) n_features: usize,
    pub(crate) outputs: Outputs,
    pub(crate) width: usize,
    pub(crate) combine: Combine,
    pub(crate) link: Link,
    pub(crate) start: Vec<f64>,
    pub(crate) learning_rate: f64,
    /// Of all stages, in their order; single target: one for each score.
    pub(crate) trees: Vec<Arc<Tree>>,
    /// (stages, width), row-major.
    pub(crate) step_sizes: StepSizes,
    pub(crate) train_score: Vec<f64>,
    pub(crate) validation_score: Vec<f64>,
    /// Losses of the rows that stages were not fitted on: that of the first stage's before it, and of each stage's after it.
    /// Empty where some stage had none.
    pub(crate) oob_losses: Vec<f64>,
}

impl Boosted {
    /// No stage yet, and no constants.
    pub(super) fn empty(problem: &Problem<'_>, n_features: usize, learning_rate: f64) -> Self {
        Boosted {
            n_features,
            outputs: problem.outputs.clone(),
            width: problem.width,
            combine: problem.combine,
            link: problem.link,
            start: Vec::new(),
            learning_rate,
            trees: Vec::new(),
            step_sizes: StepSizes::empty(problem.step_dtype),
            train_score: Vec::new(),
            validation_score: Vec::new(),
            oob_losses: Vec::new(),
        }
    }

    /// Number of features that rows must have.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Meaning of the columns of predictions.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Number of scores of a row: one for each number and label, one for two classes, else one for each class.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of stages.
    pub fn n_stages(&self) -> usize {
        self.step_sizes.len() / self.width
    }

    /// Factor of every step.
    pub fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    /// Scores before the first stage: the constants of least training loss.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// Step sizes ρ, (n_stages, width), without the learning rate: a copy, as the model may keep them in fewer bytes.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn step_sizes(&self) -> Result<Array2<f64>> {
        let shape = (self.n_stages(), self.width);
        Ok(Array2::from_shape_vec(shape, self.step_sizes.all(self.width)?).expect("a row for each stage"))
    }

    /// Type in which step sizes are kept.
    pub fn step_dtype(&self) -> StepDtype {
        self.step_sizes.dtype()
    }

    /// Training loss after each stage: the weighted mean over rows, divided by the number of scores of a row.
    pub fn train_score(&self) -> &[f64] {
        &self.train_score
    }

    /// The same of the validation set; empty without one.
    pub fn validation_score(&self) -> &[f64] {
        &self.validation_score
    }

    /// Loss after each stage on the rows that `subsample` left out of it, as the training loss; empty where some stage was
    /// fitted on all rows.
    pub fn oob_score(&self) -> &[f64] {
        self.oob_losses.get(1..).unwrap_or_default()
    }

    /// By how much each stage's [`Boosted::oob_score`] is below that of the stage before, which left out other rows; of the
    /// first stage, below the loss of the same rows at the scores before it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn oob_improvement(&self) -> Result<Vec<f64>> {
        try_collected("the stages of a model", self.oob_losses.windows(2).map(|pair| pair[0] - pair[1]))
    }

    /// The same of the last stage: its loss, and its improvement.
    pub(super) fn last_oob(&self) -> Option<(f64, f64)> {
        let [.., before, after] = self.oob_losses[..] else { return None };
        Some((after, before - after))
    }

    /// Notes the loss of a stage that is about to be added.
    pub(super) fn record_oob(&mut self, loss: Option<f64>) {
        match loss.filter(|_| self.oob_losses.len() == self.n_stages() + 1) {
            Some(loss) => self.oob_losses.push(loss),
            None => self.oob_losses.clear(),
        }
    }

    /// Trees in the order of the stages (of a single-target model, one for each score and stage); `None` where weak models
    /// are no trees.
    ///
    /// Leaves hold what a tree adds to the scores; without relabelled leaves the number that, times learning rate and
    /// step sizes, is added.
    pub fn forest(&self) -> Option<Forest> {
        let first = self.trees.first()?;
        Some(Forest { n_features: self.n_features, outputs: first.outputs().clone(), trees: self.trees.clone() })
    }

    /// What scores mean.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Whether [`Boosted::predict`] gives probabilities or numbers, not scores.
    pub fn has_probabilities(&self) -> bool {
        self.link.has_probabilities()
    }

    /// Decrease of the variance of the targets of trees by the splits on each feature, mean over trees, as shares that sum
    /// to 1 (zeros when nothing decreased, or for weak models that are no trees): see [`TreeWeighting::ByDecrease`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn feature_importances(&self) -> Result<Vec<f64>> {
        if self.trees.is_empty() {
            return try_filled("feature importances", 0.0, self.n_features);
        }
        self.additive()?.feature_importances(None, TreeWeighting::ByDecrease)
    }

    /// The model after its first `n_stages` stages.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] when there are fewer, [`crate::ErrorKind::OutOfMemory`].
    pub fn truncated(&self, n_stages: usize) -> Result<Boosted> {
        if n_stages > self.n_stages() {
            return Err(Error::invalid("n_stages", n_stages, "be at most the number of stages of the model"));
        }
        let per_stage = if self.combine == Combine::Columns { self.width } else { 1 };
        const WHAT: &str = "the stages of a model";
        let first = |scores: &[f64]| try_copied(WHAT, &scores[..n_stages.min(scores.len())]);
        let trees = &self.trees[..(n_stages * per_stage).min(self.trees.len())];
        Ok(Boosted {
            trees: try_collected(WHAT, trees.iter().cloned())?,
            step_sizes: self.step_sizes.first(n_stages, self.width)?,
            train_score: first(&self.train_score)?,
            validation_score: first(&self.validation_score)?,
            oob_losses: try_copied(WHAT, &self.oob_losses[..(n_stages + 1).min(self.oob_losses.len())])?,
            start: try_copied(WHAT, &self.start)?,
            outputs: self.outputs.clone(),
            ..*self
        })
    }

    /// Refuses scores of labels and classes that are no probabilities.
    pub(super) fn check_probabilities(&self) -> Result<()> {
        if self.link == Link::Margin {
            return Err(Error::invalid(
                "loss",
                "a loss whose scores have no probabilities",
                "be LogLoss or Exponential",
            ));
        }
        Ok(())
    }

    /// What scores of rows mean, row by row: numbers, or probabilities.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] for rows of another width; [`crate::ErrorKind::Invalid`] where scores are no
    /// probabilities (hinge and squared error of classes and labels); [`crate::ErrorKind::Interrupted`],
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn to_predictions(&self, scores: ArrayView2<'_, f64>, control: &Control) -> Result<Array2<f64>> {
        if scores.ncols() != self.width {
            return Err(Error::shape("each row of scores", self.width, scores.ncols()));
        }
        self.check_probabilities()?;
        let mut copy = into_array(try_matrix("scores", scores.nrows(), self.width)?, scores.nrows(), self.width);
        copy.assign(&scores);
        self.stages(0..0)?.linked(copy, control)
    }
}
