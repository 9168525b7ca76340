//! The fitted model: a constant, trees and what they add to the scores.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis};

use super::loss::log_loss::probability;
use super::loss::{LossKind, softmax};
use super::problem::{Problem, is_binary, n_scores, starts};
use super::step_sizes::{StepDtype, StepSizes};
use crate::control::Control;
use crate::data::Outputs;
use crate::error::{Error, Result, try_collected, try_copied, try_filled};
use crate::forest::Forest;
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

/// What scores mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Predictions are the scores.
    Identity,
    /// 1 / (1 + e^(−2f)): of labels and two classes.
    Logistic,
    /// The same, divided by their sum over the classes of an output.
    OneAgainstRest,
    /// e^f, divided by their sum over the classes of an output.
    Softmax,
    /// Scores of classes or labels that are not probabilities.
    Margin,
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
}

impl Link {
    pub(crate) fn new(loss: &LossKind, outputs: &Outputs, one_against_rest: bool) -> Self {
        match (outputs, loss) {
            (Outputs::Real { .. }, _) => Link::Identity,
            (Outputs::Labels { .. }, LossKind::LogLoss | LossKind::Exponential) => Link::Logistic,
            (Outputs::Classes { n_classes }, LossKind::LogLoss | LossKind::Exponential) if is_binary(n_classes) => {
                Link::Logistic
            }
            (Outputs::Classes { .. }, LossKind::LogLoss) if !one_against_rest => Link::Softmax,
            (Outputs::Classes { .. }, LossKind::LogLoss | LossKind::Exponential) => Link::OneAgainstRest,
            _ => Link::Margin,
        }
    }
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

    /// Trees in the order of the stages (of a single-target model, one for each score and stage); `None` where weak models
    /// are no trees.
    ///
    /// Leaves hold what a tree adds to the scores; without relabelled leaves the number that, times learning rate and
    /// step sizes, is added.
    pub fn forest(&self) -> Option<Forest> {
        let first = self.trees.first()?;
        Some(Forest { n_features: self.n_features, outputs: first.outputs().clone(), trees: self.trees.clone() })
    }

    /// Whether [`Boosted::predict`] gives probabilities or numbers, not scores.
    pub fn has_probabilities(&self) -> bool {
        !matches!(self.link, Link::Identity | Link::Margin)
    }

    /// Decrease of the variance of the targets of trees by the splits on each feature, mean over trees, as shares that sum
    /// to 1 (zeros when nothing decreased, or for weak models that are no trees).
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn feature_importances(&self) -> Result<Vec<f64>> {
        let mut importances = try_filled("feature importances", 0.0, self.n_features)?;
        for tree in &self.trees {
            let decreases = tree.unnormalized_feature_importances(None)?;
            importances.iter_mut().zip(decreases).for_each(|(sum, decrease)| *sum += decrease);
        }
        let total: f64 = importances.iter().sum();
        if total > 0.0 {
            importances.iter_mut().for_each(|importance| *importance /= total);
        }
        Ok(importances)
    }

    /// The model after its first `n_stages` stages.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] when there are fewer, [`crate::ErrorKind::OutOfMemory`].
    pub fn truncated(&self, n_stages: usize) -> Result<Boosted> {
        if n_stages > self.n_stages() {
            return Err(Error::invalid("n_stages", n_stages, "at most the number of stages of the model"));
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
            start: try_copied(WHAT, &self.start)?,
            outputs: self.outputs.clone(),
            ..*self
        })
    }

    /// First column of the scores of each output of classes, and their number at the end.
    pub(crate) fn class_starts(&self) -> Result<Vec<usize>> {
        match &self.outputs {
            Outputs::Classes { n_classes } if self.width > 1 => starts(n_classes),
            _ => try_collected("the columns of scores", 0..self.width + 1),
        }
    }

    /// What a row of scores means: numbers, or probabilities of labels or of the classes of each output.
    pub(crate) fn link_row(&self, starts: &[usize], scores: &[f64], out: &mut [f64]) {
        match self.link {
            Link::Identity | Link::Margin => out.copy_from_slice(scores),
            Link::Logistic if out.len() == 2 * scores.len() => {
                (out[0], out[1]) = (probability(-scores[0]), probability(scores[0]));
            }
            Link::Logistic => out.iter_mut().zip(scores).for_each(|(p, &f)| *p = probability(f)),
            Link::OneAgainstRest | Link::Softmax => {
                for range in starts.windows(2).map(|range| range[0]..range[1]) {
                    let (scores, out) = (&scores[range.clone()], &mut out[range]);
                    if self.link == Link::Softmax {
                        softmax::probabilities(scores, out);
                        continue;
                    }
                    out.iter_mut().zip(scores).for_each(|(p, &f)| *p = probability(f));
                    let total: f64 = out.iter().sum();
                    let uniform = 1.0 / out.len() as f64;
                    out.iter_mut().for_each(|p| *p = if total > 0.0 { *p / total } else { uniform });
                }
            }
        }
    }

    /// Number of columns of predictions.
    pub(crate) fn n_columns(&self) -> usize {
        if self.link == Link::Margin { self.width } else { self.outputs.width() }
    }

    pub(crate) fn checked_width(&self) -> usize {
        debug_assert_eq!(self.width, n_scores(&self.outputs));
        self.width
    }

    /// What scores of rows mean, row by row: numbers, or probabilities.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] for rows of another width; [`crate::ErrorKind::Invalid`] where scores are no
    /// probabilities (hinge and squared error of classes and labels); [`crate::ErrorKind::Interrupted`],
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn to_predictions(&self, scores: ArrayView2<'_, f64>, control: &Control) -> Result<ndarray::Array2<f64>> {
        if scores.ncols() != self.checked_width() {
            return Err(Error::shape("each row of scores", self.width, scores.ncols()));
        }
        if self.link == Link::Margin {
            return Err(Error::invalid("loss", "one whose scores are no probabilities", "log_loss or exponential"));
        }
        let columns = self.n_columns();
        let mut out = crate::forest::try_matrix("predictions", scores.nrows(), columns)?;
        let mut pulse = control.pulse();
        let starts = self.class_starts()?;
        let mut row_scores = try_filled("a row of scores", 0.0, self.width)?;
        for (row, out) in scores.axis_iter(Axis(0)).zip(out.chunks_exact_mut(columns.max(1))) {
            row_scores.iter_mut().zip(row).for_each(|(to, &score)| *to = score);
            self.link_row(&starts, &row_scores, out);
            pulse.after(columns)?;
        }
        Ok(crate::forest::into_array(out, scores.nrows(), columns))
    }
}
