//! The fitted model: constants, trees and what they add to the scores.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};

use super::problem::Problem;
use super::step_sizes::StepSizes;
use crate::control::Control;
use crate::data::Outputs;
use crate::error::{Error, Purpose, Result};
use crate::forest::Forest;
use crate::loss::Link;
use crate::model::{TreeWeighting, into_array};
use crate::tree::Tree;

/// How the weak model of a stage is added to the scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    /// One tree for all scores, whose leaves contain what is added.
    Leaves,
    /// One tree with one value for each leaf; every score adds a multiple of it.
    RankOne,
    /// One tree for each score, one after the other, whose leaves contain what is added.
    Columns,
    /// One prediction for each sample by a weak model of the caller; every score adds a multiple of it.
    OtherRankOne,
    /// One prediction for each sample and score by a weak model of the caller; each is multiplied by a step of its own.
    OtherEach,
}

/// A fitted boosting model. It is immutable, and its trees are shared, so that adding stages costs memory only for the
/// new trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Boosted {
    pub(crate) n_features: usize,
    pub(crate) outputs: Outputs,
    pub(crate) width: usize,
    pub(crate) combine: Combine,
    pub(crate) link: Link,
    /// The name of the loss; `None` for models of files that do not contain it.
    pub(crate) loss: Option<String>,
    pub(crate) start: Vec<f64>,
    pub(crate) learning_rate: f64,
    /// The trees of all stages, in the order of the stages. For single targets, each stage has one tree for each score.
    pub(crate) trees: Vec<Arc<Tree>>,
    /// The step sizes, (stages, width), row-major.
    pub(crate) step_sizes: StepSizes,
    pub(crate) train_score: Vec<f64>,
    pub(crate) validation_score: Vec<f64>,
    /// Losses on the samples that stages were not fitted to: first that of the samples of the first stage before it,
    /// then that of each stage after it. Empty if some stage was fitted to all samples.
    pub(crate) oob_losses: Vec<f64>,
}

impl Boosted {
    /// Returns a model without stages and constants.
    pub(super) fn empty(problem: &Problem<'_>, n_features: usize, learning_rate: f64) -> Self {
        Boosted {
            n_features,
            outputs: problem.outputs.clone(),
            width: problem.width,
            combine: problem.combine,
            link: problem.link,
            loss: Some(problem.loss_name.clone()),
            start: Vec::new(),
            learning_rate,
            trees: Vec::new(),
            step_sizes: StepSizes::default(),
            train_score: Vec::new(),
            validation_score: Vec::new(),
            oob_losses: Vec::new(),
        }
    }

    /// Returns the number of features that samples must have.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Returns the meaning of the columns of predictions.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Returns the number of scores of a sample: one for each numerical output and label, one for two classes, and
    /// otherwise one for each class.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of stages.
    pub fn n_stages(&self) -> usize {
        self.step_sizes.len() / self.width
    }

    /// Returns the factor by which every step is multiplied.
    pub fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    /// Returns the scores before the first stage: the constants with the least training loss.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// Returns a copy of the step sizes ρ, (n_stages, width), without the learning rate.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`] when there is not enough memory.
    pub fn step_sizes(&self) -> Result<Array2<f64>> {
        let shape = (self.n_stages(), self.width);
        let steps = Purpose("the step sizes").copied(&self.step_sizes.0)?;
        Ok(Array2::from_shape_vec(shape, steps).expect("a row for each stage"))
    }

    /// Returns the training loss after each stage: the weighted mean over samples, divided by the number of scores of a
    /// sample.
    pub fn train_score(&self) -> &[f64] {
        &self.train_score
    }

    /// Returns the validation loss after each stage, defined as the training loss; empty without a validation set.
    pub fn validation_score(&self) -> &[f64] {
        &self.validation_score
    }

    /// Returns the loss after each stage on the samples that `subsample` left out of the stage, defined as the training
    /// loss; empty if some stage was fitted to all samples.
    pub fn oob_score(&self) -> &[f64] {
        self.oob_losses.get(1..).unwrap_or_default()
    }

    /// Returns, for each stage, [`Boosted::oob_score`] of the previous stage (which left out other samples) minus that
    /// of the stage. For the first stage, the former is the loss of the same samples at the scores before it.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`] when there is not enough memory.
    pub fn oob_improvement(&self) -> Result<Vec<f64>> {
        Purpose("the stages of a model").collected(self.oob_losses.windows(2).map(|pair| pair[0] - pair[1]))
    }

    /// Returns the out-of-bag loss of the last stage, and its improvement.
    pub(super) fn last_oob(&self) -> Option<(f64, f64)> {
        let [.., before, after] = self.oob_losses[..] else { return None };
        Some((after, before - after))
    }

    /// Stores the out-of-bag loss of a stage that is about to be added.
    pub(super) fn record_oob(&mut self, loss: Option<f64>) {
        match loss.filter(|_| self.oob_losses.len() == self.n_stages() + 1) {
            Some(loss) => self.oob_losses.push(loss),
            None => self.oob_losses.clear(),
        }
    }

    /// Returns whether scores are finite for every sample. Predictions of weak models other than trees are not known
    /// here, and only steps are considered.
    pub(crate) fn has_finite_scores(&self) -> Result<bool> {
        let is_finite = |step: f64| (self.learning_rate * step).is_finite();
        let steps = || (0..self.n_stages()).all(|stage| self.step_sizes.of_stage(stage, self.width).all(is_finite));
        Ok(match self.combine {
            Combine::Leaves | Combine::Columns => self.additive()?.has_finite_scores(),
            Combine::RankOne => steps() && self.additive()?.has_finite_scores(),
            Combine::OtherRankOne | Combine::OtherEach => steps(),
        })
    }

    /// Returns an error that names the learning rate if the stage that was added last, which has `n_trees` trees, left
    /// the range of numbers: scores that move by more than the loss asks for may move further in every stage.
    pub(super) fn check_last_stage(&self, n_trees: usize) -> Result<()> {
        let losses = [&self.train_score, &self.validation_score, &self.oob_losses].map(|losses| losses.last());
        let trees = &self.trees[self.trees.len() - n_trees..];
        let impurities = trees.iter().flat_map(|tree| &tree.impurity);
        if losses.into_iter().flatten().chain(impurities).all(|value| value.is_finite()) {
            Ok(())
        } else {
            Err(self.diverged())
        }
    }

    /// Returns the model, or an error like that of [`Boosted::check_last_stage`] if its scores are not finite.
    pub(super) fn with_finite_scores(self) -> Result<Self> {
        if self.has_finite_scores()? { Ok(self) } else { Err(self.diverged()) }
    }

    /// Returns the error of scores or steps that left the range of numbers.
    pub(super) fn diverged(&self) -> Error {
        if self.learning_rate > 1.0 {
            let must = "be lower, as the loss grew from stage to stage until it was too large for a float";
            return Error::invalid("learning_rate", self.learning_rate, must);
        }
        // Without initial scores, stages that are fitted to light samples alone may move a heavy one further and further
        // from a y that is near the largest number that is accepted.
        let must = "leave the loss a finite float: large initial scores may not, nor weights that differ by many decades \
                    with subsample below 1";
        Error::invalid("base_margin and sample_weight", "scores that are too large", must)
    }

    /// Returns the trees in the order of the stages (for single targets, one for each score and stage); `None` if the
    /// weak models are not trees.
    ///
    /// Leaves contain what a tree adds to the scores; if they are not relabelled, they contain the value that is
    /// multiplied by the learning rate and the step sizes before it is added.
    pub fn forest(&self) -> Option<Forest> {
        let first = self.trees.first()?;
        Some(Forest {
            n_features: self.n_features,
            outputs: first.outputs().clone(),
            trees: self.trees.clone(),
            by_output: false,
        })
    }

    /// Returns the link, which turns scores into predictions.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Returns the name of the loss that the model was fitted to, see [`crate::Loss::name`] for losses of users; `None`
    /// for a model of a file that was written before files had it.
    pub fn loss_name(&self) -> Option<&str> {
        self.loss.as_deref()
    }

    /// Returns whether scores can be turned into probabilities or numerical outputs, as [`Boosted::predict`] requires.
    pub fn has_probabilities(&self) -> bool {
        self.link.has_probabilities()
    }

    /// Returns the decrease of the variance of the targets of trees by the splits on each feature, over all trees, as
    /// shares that sum to 1. All shares are zero if no split decreased the variance, and for weak models other than
    /// trees. See [`TreeWeighting::ByDecrease`].
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`] when there is not enough memory.
    pub fn feature_importances(&self) -> Result<Vec<f64>> {
        if self.trees.is_empty() {
            return Purpose("feature importances").filled(0.0, self.n_features);
        }
        self.additive()?.feature_importances(None, TreeWeighting::ByDecrease)
    }

    /// Returns the model after its first `n_stages` stages.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] when the model has fewer stages, or [`crate::ErrorKind::OutOfMemory`].
    pub fn truncated(&self, n_stages: usize) -> Result<Boosted> {
        if n_stages > self.n_stages() {
            return Err(Error::invalid("n_stages", n_stages, "be at most the number of stages of the model"));
        }
        let per_stage = if self.combine == Combine::Columns { self.width } else { 1 };
        const PURPOSE: Purpose = Purpose("the stages of a model");
        let first = |scores: &[f64]| PURPOSE.copied(&scores[..n_stages.min(scores.len())]);
        let trees = &self.trees[..(n_stages * per_stage).min(self.trees.len())];
        Ok(Boosted {
            trees: PURPOSE.collected(trees.iter().cloned())?,
            step_sizes: self.step_sizes.first(n_stages, self.width)?,
            train_score: first(&self.train_score)?,
            validation_score: first(&self.validation_score)?,
            oob_losses: PURPOSE.copied(&self.oob_losses[..(n_stages + 1).min(self.oob_losses.len())])?,
            start: PURPOSE.copied(&self.start)?,
            outputs: self.outputs.clone(),
            loss: self.loss.clone(),
            ..*self
        })
    }

    /// Returns an error if the scores of labels or classes cannot be turned into probabilities.
    pub(super) fn check_probabilities(&self) -> Result<()> {
        if self.link == Link::Margin {
            let got = "a loss whose scores have no probabilities";
            return Err(Error::invalid("loss", got, "be LogLoss or Exponential"));
        }
        Ok(())
    }

    /// Turns scores, (n_samples, width), into predictions, (n_samples, width of the outputs): numerical outputs, or
    /// probabilities.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] for scores of another width, [`crate::ErrorKind::Invalid`] if scores cannot
    /// be turned into probabilities (hinge and squared error of classes and labels), [`crate::ErrorKind::Interrupted`]
    /// or [`crate::ErrorKind::OutOfMemory`].
    pub fn to_predictions(&self, scores: ArrayView2<'_, f64>, control: &Control) -> Result<Array2<f64>> {
        if scores.ncols() != self.width {
            return Err(Error::shape("each row of scores", self.width, scores.ncols()));
        }
        self.check_probabilities()?;
        let mut copy = Purpose("scores").with_capacity(scores.len())?;
        let mut pulse = control.pulse();
        for row in scores.rows() {
            copy.extend(row);
            pulse.after(self.width)?;
        }
        self.stages(0..0)?.linked(into_array(copy, scores.nrows(), self.width), control)
    }
}
