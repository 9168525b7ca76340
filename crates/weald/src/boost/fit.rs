//! The functions that fit a model: they check the data and fit the stages.

use ndarray::ArrayView2;

use super::cells::column_weights::ColumnWeights;
use super::cells::{Known, KnownY};
use super::config::{BoostConfig, LeafEstimation, OutputStrategy};
use super::model::Boosted;
use super::observer::StageObserver;
use super::problem::Problem;
use super::so_far::ScoresSoFar;
use super::stages::Fitting;
use super::trees::Trees;
use super::workers;
use crate::control::Control;
use crate::data::dataset::Names;
use crate::data::targets::n_scores;
use crate::data::{Dataset, Targets};
use crate::error::{Error, Result};
use crate::exact::reduce::{Reduce, Workers};
use crate::forest::bootstrap::Population;
use crate::loss::column::LeafRule;
use crate::loss::known_cells::KnownCells;
use crate::model::plain_fit;
use crate::rounds::Unobserved;

/// Held-out samples, to which the model is not fitted: their loss tells when to stop.
#[derive(Debug)]
pub(super) struct Validation<'a> {
    pub(super) y: Targets<'a>,
    pub(super) sample_weight: Option<&'a [f64]>,
    /// The weights of cells, where scores are boosted separately.
    pub(super) of_columns: ColumnWeights,
    /// The scores to start from, a column for each score.
    pub(super) margins: Option<ArrayView2<'a, f64>>,
    /// Whether samples have become several: their scores are not those of the caller's samples.
    pub(super) is_spread: bool,
}

impl<'a> Validation<'a> {
    pub(super) fn new(y: Targets<'a>, sample_weight: Option<&'a [f64]>) -> Self {
        Validation { y, sample_weight, of_columns: ColumnWeights::default(), margins: None, is_spread: false }
    }
}

plain_fit!(BoostConfig, Boosted);

impl BoostConfig {
    /// Fits the model to a [`Dataset`], or to a pair of X, (n_samples, n_features), and y.
    ///
    /// The scores of all samples are in memory: n_samples × width float32 for labels and classes, and float64 for
    /// numerical outputs. The exception is the squared error of labels with a projection and without relabelling, which
    /// needs the stored labels, one number for each sample and stage, and the model. Where some cells of y
    /// are unknown, stages of one combination of numbers or labels with relabelled leaves need scores of known cells only.
    /// Dense X is in memory a second time as codes of bins, one byte for each value.
    ///
    /// Source: Joly (2016), ch. 6; Friedman (2001).
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::Shape`] if parameters or data are not valid,
    /// [`crate::ErrorKind::OutOfMemory`] when there is not enough memory, and [`crate::ErrorKind::Interrupted`] when
    /// `control` is stopped.
    pub fn fit_controlled<'d>(&self, data: impl Into<Dataset<'d>>, control: &Control) -> Result<Boosted> {
        self.fit_observed(None, data, None, &mut Unobserved, control)
    }

    /// Fits the model with held-out samples; see [`BoostConfig::fit_controlled`].
    ///
    /// Their loss is computed after each stage. With `n_iter_no_change`, it decides when the fit stops, and the model
    /// with the least validation loss is returned.
    ///
    /// # Errors
    /// The same as for [`BoostConfig::fit_controlled`].
    pub fn fit_with_validation<'d, 'v>(
        &self,
        data: impl Into<Dataset<'d>>,
        validation: impl Into<Dataset<'v>>,
        control: &Control,
    ) -> Result<Boosted> {
        self.fit_observed(None, data, Some(&validation.into()), &mut Unobserved, control)
    }

    /// Adds the stages `model.n_stages()..self.n_estimators` to a model. With the same data and parameters, the result
    /// is that of [`BoostConfig::fit_controlled`], or of [`BoostConfig::fit_with_validation`]. With other data, the
    /// constants and the stages of the model stay as they are.
    ///
    /// # Errors
    /// The same as for [`BoostConfig::fit_controlled`], and [`crate::ErrorKind::Invalid`] when the model has other
    /// features or outputs, another strategy or learning rate, or more than `n_estimators` stages.
    pub fn fit_more<'d>(
        &self,
        model: &Boosted,
        data: impl Into<Dataset<'d>>,
        validation: Option<&Dataset<'_>>,
        control: &Control,
    ) -> Result<Boosted> {
        self.fit_observed(Some(model), data, validation, &mut Unobserved, control)
    }

    /// Any of these fits, with an observer that is called after every stage and may end the fit: the model then has the
    /// stages so far.
    ///
    /// # Errors
    /// The same as for [`BoostConfig::fit_more`].
    pub fn fit_observed<'d>(
        &self,
        model: Option<&Boosted>,
        data: impl Into<Dataset<'d>>,
        validation: Option<&Dataset<'_>>,
        observer: &mut dyn StageObserver,
        control: &Control,
    ) -> Result<Boosted> {
        self.with_trees(&Workers::One, model, &data.into(), validation, control, |trees| {
            trees.fit(model, None, observer)
        })
    }

    /// [`fit_observed`](Self::fit_observed) for fits that are done in several parts: `so_far` keeps the scores after the
    /// last stage, so that the next part, with the model of this one, does not compute them again. With another model they
    /// are computed again. It must not be used with other data. A part that fails leaves it as it was.
    ///
    /// # Errors
    /// The same as for [`BoostConfig::fit_more`].
    pub(super) fn fit_part_of<'d>(
        &self,
        model: Option<&Boosted>,
        so_far: &mut ScoresSoFar,
        data: impl Into<Dataset<'d>>,
        validation: Option<&Dataset<'_>>,
        observer: &mut dyn StageObserver,
        control: &Control,
    ) -> Result<Boosted> {
        let fit = |trees: &Trees<'_>| trees.fit(model, Some(so_far), observer);
        self.with_trees(&Workers::One, model, &data.into(), validation, control, fit)
    }

    /// Returns the model with the trees of `model`, and leaves that are fitted to these data: each stage in turn is
    /// what it would add if its trees had been grown as they are. Leaves that none of the samples reaches keep their
    /// values. If leaves are not relabelled, the trees stay the same and the steps are searched again.
    ///
    /// A stage costs a walk of all samples down its trees, and one pass of sums over their scores.
    ///
    /// # Errors
    /// The same as for [`BoostConfig::fit_more`], and [`crate::ErrorKind::Invalid`] for weak models other than trees,
    /// and with monotonic constraints.
    pub fn refit_leaves<'d>(
        &self,
        model: &Boosted,
        data: impl Into<Dataset<'d>>,
        control: &Control,
    ) -> Result<Boosted> {
        let data = data.into();
        if self.tree.monotonic_cst.is_some() {
            return Err(Error::unsupported("monotonic_cst", "if leaves are fitted anew to the same trees"));
        }
        let config = BoostConfig { n_iter_no_change: None, ..self.clone() };
        config.with_trees(&Workers::One, Some(model), &data, None, control, |trees| trees.refit(model))
    }

    /// Checks all arguments of a fit, and calls `fit` with what is prepared for its trees.
    pub(super) fn with_trees(
        &self,
        workers: &Workers,
        model: Option<&Boosted>,
        data: &Dataset<'_>,
        validation: Option<&Dataset<'_>>,
        control: &Control,
        fit: impl FnOnce(&Trees<'_>) -> Result<Boosted>,
    ) -> Result<Boosted> {
        let observed = data.observed()?;
        let observed_validation = validation.map(Dataset::observed_held_out).transpose()?.flatten();
        let data = &data.with_observed(observed.as_ref());
        let validation = validation.map(|held| held.with_observed(observed_validation.as_ref()));
        let takes_cells = self.takes_cells(data, validation.as_ref(), workers);
        // Trees of one output each have weights of their own; for those of several, the samples become several.
        let is_spread = !takes_cells && !matches!(self.strategy, OutputStrategy::SingleTarget);
        let spread_of = |data: &Dataset<'_>| if is_spread { data.spread(control) } else { Ok(None) };
        let (spread, spread_held) = (spread_of(data)?, validation.as_ref().map(spread_of).transpose()?.flatten());
        let data = &spread.as_ref().map_or_else(|| data.view(), |spread| spread.data(data));
        let validation = validation
            .as_ref()
            .map(|held| spread_held.as_ref().map_or_else(|| held.view(), |spread| spread.data(held)));
        // Scores of all cells are dense, and so are the targets that losses read together with them.
        let restored = |data: &Dataset<'_>| if takes_cells { Ok(None) } else { data.restored(false) };
        let restored_validation = validation.as_ref().map(restored).transpose()?.flatten();
        let restored = restored(data)?;
        let data = &data.with_restored(restored.as_ref());
        let validation = validation.as_ref().map(|held| held.with_restored(restored_validation.as_ref()));
        let validation = validation.as_ref();
        if workers.has_all_rows() {
            data.check_but_margins(&Names::TRAINING)?;
        } else {
            data.check_of_worker(&Names::TRAINING)?;
        }
        let outputs = data.outputs();
        if let Some(validation) = validation {
            validation.check_against(data, &Names::VALIDATION)?;
        } else if self.n_iter_no_change.is_some() {
            return Err(Error::invalid("validation", "no validation set", "be given, as n_iter_no_change is given"));
        }
        self.check(&outputs, n_scores(&outputs))?;
        self.check_monotonic(&outputs)?;
        self.tree.check_constraints(data, data.known().is_some())?;
        let is_masked = data.known().is_some() || validation.is_some_and(|held| held.known().is_some());
        let masked = is_masked.then(|| self.of_known_cells());
        let config = masked.as_ref().unwrap_or(self);
        let cells = takes_cells.then(|| KnownY::of(data, validation)).transpose()?;
        let is_dense = is_masked && cells.is_none();
        let known = is_dense.then(|| KnownCells::of(config.loss.as_columns())).transpose()?;
        let problem = Problem::new(config, outputs, known.as_deref())?;
        if let Some(model) = model {
            problem.check_model(self, model, data.x().n_features())?;
        }
        let (x, y, sample_weight) = (data.x().view(), data.y().view(), data.weight_of_worker()?);
        let sample_weight = workers::weights_of_all(workers, sample_weight, data.n_samples())?;
        let margins = data.margins(problem.width, &Names::TRAINING)?;
        let of_held = validation.map(|held| held.margins(problem.width, &Names::VALIDATION)).transpose()?.flatten();
        if let (Some(_), Some(_), None) = (&margins, validation, &of_held) {
            let must = "be given, as the margins of the training samples are";
            return Err(Error::invalid(Names::VALIDATION.base_margin, "no margins", must));
        }
        let held_weight = validation.map(Dataset::weight_by_row).transpose()?.flatten();
        if let Some(KnownY { train, held }) = &cells {
            self.check_cells(Names::TRAINING.y, train, sample_weight.as_deref())?;
            held.as_ref().map_or(Ok(()), |y| self.check_cells(Names::VALIDATION.y, y, held_weight.as_deref()))?;
        } else {
            self.check_domain(Names::TRAINING.y, &y, sample_weight.as_deref())?;
            validation
                .map_or(Ok(()), |held| self.check_domain(Names::VALIDATION.y, held.y(), held_weight.as_deref()))?;
        }
        let off = config.loss.as_loss().domain().off();
        let numbers = |data: &Dataset<'_>| is_dense.then(|| data.numbers_with_gaps(off)).transpose();
        let (of_training, of_validation) = (numbers(data)?, validation.map(numbers).transpose()?.flatten());
        let y = of_training.as_ref().map_or(y, |numbers| Targets::Real(numbers.view()));
        let held_x = validation.map(|held| held.x().view());
        let own = |held: &Dataset<'_>| {
            let known = held.known().filter(|_| is_dense);
            ColumnWeights::new(known, &problem.outputs, held_weight.as_deref(), held.n_samples())
        };
        let held = validation.map(own).transpose()?;
        let validation = validation.zip(held).map(|(held, of_columns)| Validation {
            y: of_validation.as_ref().map_or_else(|| held.y().view(), |numbers| Targets::Real(numbers.view())),
            sample_weight: held_weight.as_deref(),
            of_columns,
            margins: of_held,
            is_spread: spread_held.is_some(),
        });
        let of_cells = cells.as_ref().and(data.known());
        let population = Population { margins, ..Population::new(&x, Some(&y), of_cells, sample_weight.as_deref()) };
        let fitting = Fitting::new(config, problem, &y, &population, validation.as_ref(), workers, control)?;
        let fitting = fitting.of_cells(data.known().filter(|_| is_dense), sample_weight.as_deref())?;
        let (x, held_x, sample_weight) = (&x, held_x.as_ref(), sample_weight.as_deref());
        let known = cells.as_ref().map(|y| Known { y, x, held_x, sample_weight });
        let trees = Trees::new(&fitting, x, data.categories()?, held_x, known)?;
        fit(&trees)?.with_finite_scores()
    }

    /// Returns the parameters of a fit to y with some unknown cells.
    ///
    /// y is then numerical, with a column for each class and NaN for unknown cells, and the loss is one of the known cells only: the gradient and
    /// curvature of the others are zero. Leaves are then Newton steps even where they would otherwise be means of
    /// residuals, because a mean counts the cells of a leaf.
    pub(super) fn of_known_cells(&self) -> Self {
        let mut config = self.clone();
        if config.loss.as_column().leaf_rule() == LeafRule::Residuals {
            if config.leaf_estimation == LeafEstimation::LineSearch {
                (config.l2_regularization, config.min_sum_hessian_in_leaf) = (0.0, 0.0);
            }
            config.leaf_estimation = LeafEstimation::Newton;
        }
        config
    }
}
