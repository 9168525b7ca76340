//! The functions that fit a model: they check the data and fit the stages.

use std::sync::Arc;

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
use crate::exact::reduce::{AllReduce, Reduce, Workers};
use crate::forest::bootstrap::Population;
use crate::loss::column::LeafRule;
use crate::loss::known_cells::KnownCells;
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

/// A fit with held-out samples, a model to start from, an observer or other workers: see [`BoostConfig::fitting`].
#[allow(missing_debug_implementations)]
#[must_use]
pub struct BoostFit<'c, 'v> {
    config: &'c BoostConfig,
    model: Option<&'c Boosted>,
    validation: Option<Dataset<'v>>,
    observer: Option<&'c mut dyn StageObserver>,
    reduce: Option<Arc<dyn AllReduce>>,
    so_far: Option<&'c mut ScoresSoFar>,
}

impl<'c, 'v> BoostFit<'c, 'v> {
    /// Sets held-out samples. Their loss is computed after each stage. With `n_iter_no_change`, it decides when the fit
    /// stops, and the model with the least validation loss is returned.
    pub fn validation(self, held_out: impl Into<Dataset<'v>>) -> Self {
        BoostFit { validation: Some(held_out.into()), ..self }
    }

    /// Sets a model, to which the stages `model.n_stages()..n_estimators` are added. With the same data and parameters, the
    /// result is that of one fit. With other data, the constants and the stages of the model stay as they are.
    pub fn start_from(self, model: impl Into<Option<&'c Boosted>>) -> Self {
        BoostFit { model: model.into(), ..self }
    }

    /// Sets an observer, which is called after every stage and may end the fit: the model then has the stages so far.
    pub fn observer(self, observer: &'c mut dyn StageObserver) -> Self {
        BoostFit { observer: Some(observer), ..self }
    }

    /// Makes this process one of several workers, which fit one model to the samples of all of them. Each worker has its own
    /// samples and the same parameters and model to start from, and each returns the same model.
    ///
    /// The model is, byte for byte, that of one worker with all samples, for any number of workers and any distribution
    /// of the samples. Workers may have no samples.
    ///
    /// Trees are searched by histograms ([`BoostConfig::max_bins`]), on dense or sparse X, with the squared error, or
    /// the log loss of labels and classes. The following are not supported: other losses, whose leaves or steps
    /// evaluate samples one by one; line searches for three or more classes; held-out samples;
    /// categories, monotonic constraints, masked y, margins and balanced class weights.
    ///
    /// A worker sends, for each stage: for each node that is searched, the histogram of the features drawn, only for the
    /// smaller child if the histogram of the parent is available; for each leaf, 8 to 24 × scores bytes; and some hundred
    /// bytes for each node. A histogram takes 8 × bins × (1 + targets of the tree) bytes for several targets. For one
    /// target it takes 8 × bins bytes if the bits of Σ w and of Σ w |t| over all samples of the node, for weights w and
    /// rounded targets t, are 62 together; otherwise weights share words of their own, and it takes 8 × bins ×
    /// (1 + 1/k) bytes if k of them have room in 63 bits. Numbers of samples are sent for each bin only with a minimum
    /// number of samples of leaves and weights that differ. Before the first stage,
    /// it sends 16 bytes for each distinct value of each feature on each worker, and with [`BoostConfig::subsample`] 24
    /// bytes for each sample. Each worker has in memory, at the same time, the scores of its own samples, and a
    /// histogram for each node that waits.
    ///
    /// If workers lose each other,
    /// [`StageObserver::failed`] is called with the model of the stages that were finished; these models may differ by
    /// the last stage. Starting from the model with the fewest stages, the fit can be continued, with any number of
    /// workers, and results in the model that it would have had. Either the observers of all workers end the fit after
    /// the same stage, or none of them does.
    ///
    /// # Errors
    /// [`BoostFit::fit`] returns its errors on every worker if any of them has one;
    /// [`crate::ErrorKind::Invalid`] for what is not supported, and if workers have different parameters, features or
    /// outputs; [`crate::ErrorKind::Workers`] when `reduce` fails. A worker that fails during the fit for a reason of
    /// its own, such as memory or `control`, sends nothing more: the others notice this by the deadline of `reduce`.
    pub fn worker(self, reduce: Arc<dyn AllReduce>) -> Self {
        BoostFit { reduce: Some(reduce), ..self }
    }

    /// Sets what keeps the scores after the last stage, so that the next fit, which starts from the model of this one, does
    /// not compute them again. With another model they are computed again. It must not be used with other data. A fit that
    /// fails leaves it as it was.
    pub(super) fn so_far(self, so_far: &'c mut ScoresSoFar) -> Self {
        BoostFit { so_far: Some(so_far), ..self }
    }

    /// Fits the model.
    ///
    /// # Errors
    /// The same as for [`BoostConfig::fit`], and [`crate::ErrorKind::Invalid`] when the model to start from has other
    /// features or outputs, another strategy or learning rate, or more than `n_estimators` stages.
    pub fn fit<'d>(self, data: impl Into<Dataset<'d>>) -> Result<Boosted> {
        let BoostFit { config, model, validation, observer, reduce, so_far } = self;
        let (data, mut unobserved) = (data.into(), Unobserved);
        let control = &data.under();
        let observer = observer.unwrap_or(&mut unobserved);
        match reduce {
            Some(reduce) => config.fit_of_worker(model, &data, validation.is_some(), reduce, observer, control),
            None => config.with_trees(&Workers::One, model, &data, validation.as_ref(), control, |trees| {
                trees.fit(model, so_far, observer)
            }),
        }
    }
}

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
    /// its control is stopped.
    pub fn fit<'d>(&self, data: impl Into<Dataset<'d>>) -> Result<Boosted> {
        self.fitting().fit(data)
    }

    /// Returns a fit that has more than parameters and data: see the methods of [`BoostFit`].
    ///
    /// ```
    /// use weald::ndarray::array;
    /// use weald::{BoostConfig, LossKind};
    ///
    /// let (x, y) = (array![[0.0f32], [1.0], [2.0], [3.0]], array![[0.0], [0.0], [5.0], [6.0]]);
    /// let config = BoostConfig::new(LossKind::SquaredError).n_estimators(5);
    /// let first = config.fitting().validation((&x, &y)).fit((&x, &y))?;
    /// assert_eq!(first.validation_score(), first.train_score());
    /// let more = config.clone().n_estimators(8);
    /// assert_eq!(more.fitting().start_from(&first).validation((&x, &y)).fit((&x, &y))?.n_stages(), 8);
    /// # Ok::<(), weald::Error>(())
    /// ```
    pub fn fitting<'v>(&self) -> BoostFit<'_, 'v> {
        BoostFit { config: self, model: None, validation: None, observer: None, reduce: None, so_far: None }
    }

    /// Returns the model with the trees of `model`, and leaves that are fitted to these data: each stage in turn is
    /// what it would add if its trees had been grown as they are. Leaves that none of the samples reaches keep their
    /// values. If leaves are not relabelled, the trees stay the same and the steps are searched again.
    ///
    /// A stage costs a walk of all samples down its trees, and one pass of sums over their scores.
    ///
    /// # Errors
    /// The same as for [`BoostFit::fit`], and [`crate::ErrorKind::Invalid`] for weak models other than trees,
    /// and with monotonic constraints.
    pub fn refit_leaves<'d>(&self, model: &Boosted, data: impl Into<Dataset<'d>>) -> Result<Boosted> {
        let data = data.into();
        let control = &data.under();
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
