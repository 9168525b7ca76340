//! The loop over the stages of a fit.
//!
//! Stage m is a function of (data, parameters, seed, m, the scores), so that a model may be fitted in several parts.
//! [`Fitting::fit`] is the loop over stages. It asks a [`Learner`] for the weak models of each: trees (`trees`), or
//! those of the caller (`weak`).

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis};

use super::cells::column_weights::ColumnWeights;
use super::config::BoostConfig;
use super::data::{Data, Losses, OutOfBag};
use super::fit::Validation;
use super::model::{Boosted, Combine};
use super::observer::StageReport;
use super::problem::Problem;
use super::projector::Projector;
use super::scores::booster::Booster;
use super::scores::{Pass, Scored, Scores};
use super::stage_projection::{StageProjection, TargetRows};
use super::stopping::Stopping;
use crate::control::Control;
use crate::data::known::Known;
use crate::data::sparse_targets::SparseNumbers;
use crate::data::targets::{column, in_columns, starts};
use crate::data::train_y::{RealTargets, TrainY};
use crate::data::{Outputs, SparseTargets, Targets, Weights};
use crate::error::{Error, Purpose, Result};
use crate::exact::reduce::{Reduce, Workers};
use crate::forest::bootstrap::{Population, Urn, tree_key};
use crate::forest::config::Sampling;
use crate::loss::column::LeafRule;
use crate::loss::kernels::float::Float;
use crate::rounds::rounds;
use crate::tree::Tree;

/// What the loop over stages asks for.
pub(super) trait Learner {
    /// Returns the model to which the fit adds stages, if there is one.
    fn model(&self) -> Option<&Boosted> {
        None
    }

    /// Brings the scores to their values after the stages of the existing model, and returns it with its losses of the
    /// held-out samples, if there is one. The scores are at its constants.
    fn resume<'y, T: Float, S: Scores<'y, T>>(
        &mut self,
        _: &Fitting<'_>,
        _: &mut [Booster<'y, T, S>],
    ) -> Result<Option<Boosted>> {
        Ok(None)
    }

    /// Fits the weak model of a stage, or one for each booster, to the samples drawn, and adds it to the scores. With one
    /// booster, `targets` are the negative gradients at the current scores or projections of them, and afterwards those
    /// of the next stage if `next` is given.
    fn stages<'y, T: Float, S: Scores<'y, T>>(
        &mut self,
        fitting: &Fitting<'_>,
        stage: usize,
        drawn: Drawn<'_>,
        boosters: &mut [Booster<'y, T, S>],
        targets: &mut Vec<f64>,
        next: Option<&Projector>,
    ) -> Result<Vec<Stage>>;

    /// Returns whether reports must contain the scores of the held-out samples.
    fn wants_scores(&self) -> bool {
        false
    }

    /// Is called after every stage. If it breaks, the fit ends.
    fn after(&mut self, report: &StageReport<'_>) -> Result<ControlFlow<()>>;

    /// Is called when the fit has ended, with the scores after all stages.
    fn finished<'y, T: Float, S: Scores<'y, T>>(&mut self, _: &Boosted, _: &[Booster<'y, T, S>]) -> Result<()> {
        Ok(())
    }

    /// Is called when the fit ends with an error, with the model of the stages that were finished before.
    fn failed(&mut self, _: &Boosted) {}
}

/// What the loop over stages does with scores, in whatever form they are.
pub(super) trait Rounds {
    /// Returns the loss of the samples that a stage is not fitted to.
    fn loss_outside(&mut self, drawn: Drawn<'_>) -> Result<Option<f64>>;

    /// Fits a stage to the samples drawn and adds it to the scores: see [`Learner::stages`].
    fn stages(&mut self, stage: usize, drawn: Drawn<'_>) -> Result<Vec<Stage>>;

    /// Returns the scores of the held-out samples, if reports must contain them.
    fn validation_scores(&self) -> Result<Option<Array2<f64>>>;

    /// See [`Learner::after`].
    fn after(&mut self, report: &StageReport<'_>) -> Result<ControlFlow<()>>;

    /// See [`Learner::failed`].
    fn failed(&mut self, done: &Boosted);
}

/// The stages of scores of all cells.
struct OfAll<'s, 'f, 'b, 'y, T: Float, S, L> {
    fitting: &'s Fitting<'f>,
    boosters: &'s mut [Booster<'b, T, S>],
    learner: &'s mut L,
    projection: Box<dyn StageProjection + 's>,
    y: &'s Targets<'y>,
    factors: Option<Vec<f64>>,
    targets: Vec<f64>,
}

/// A finished stage for scores that are boosted together.
#[derive(Debug)]
pub(super) struct Stage {
    /// The weak model; `None` if the caller has it.
    pub(super) tree: Option<Tree>,
    pub(super) steps: Vec<f64>,
    pub(super) losses: Losses,
    pub(super) validation_loss: Option<f64>,
}

/// The arguments of a fit, and what is computed once for all its stages.
#[derive(Debug)]
pub(super) struct Fitting<'f> {
    pub(super) config: &'f BoostConfig,
    pub(super) problem: Problem<'f>,
    pub(super) n_samples: usize,
    pub(super) n_features: usize,
    pub(super) y: &'f Targets<'f>,
    pub(super) margins: Option<ArrayView2<'f, f64>>,
    pub(super) validation: Option<&'f Validation<'f>>,
    pub(super) control: &'f Control,
    pub(super) weights: Weights,
    /// The weights of cells, where scores are boosted separately.
    of_columns: ColumnWeights,
    urn: Urn,
    sampling: Sampling,
    /// The samples of positive weight, in increasing order.
    pub(super) rows: Vec<u32>,
}

/// The samples to which a stage is fitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn<'d> {
    /// Samples of positive weight, in increasing order.
    pub(super) rows: &'d [u32],
    /// The weight of each sample in the stage.
    pub(super) weights: &'d Weights,
    /// If copies of samples are drawn: the weights of the other copies.
    pub(super) others: Option<&'d Weights>,
}

/// The weights of a column that are not those of all columns: of the samples of a stage, and of the others.
#[derive(Debug, Default)]
pub(super) struct OwnWeights([Option<Weights>; 2]);

impl<'d> Drawn<'d> {
    /// Returns the samples with the weights of a column.
    pub(super) fn with(self, OwnWeights([inside, outside]): &'d OwnWeights) -> Self {
        let others = self.others.map(|others| outside.as_ref().unwrap_or(others));
        Drawn { weights: inside.as_ref().unwrap_or(self.weights), others, ..self }
    }

    /// Returns the samples that the stage is not fitted to, where `in_bag` tells the others, if there are any.
    pub(super) fn out_of_bag(self, in_bag: Option<&'d [bool]>) -> Option<OutOfBag<'d>> {
        self.others.map(OutOfBag::Copies).or(in_bag.map(OutOfBag::Rows))
    }
}

impl<'b, T: Float, S: Scores<'b, T>, L> OfAll<'_, '_, 'b, '_, T, S, L> {
    fn draw(&mut self, stage: usize) -> Result<Projector> {
        self.fitting.drawn_projector(&mut *self.projection, stage, self.y, self.factors.as_deref())
    }
}

impl<'b, T: Float, S: Scores<'b, T>, L: Learner> Rounds for OfAll<'_, '_, 'b, '_, T, S, L> {
    fn loss_outside(&mut self, drawn: Drawn<'_>) -> Result<Option<f64>> {
        let fitting = self.fitting;
        let in_bag = fitting.in_bag(drawn.rows)?;
        let mut columns = 0..;
        fitting.mean_of_each(self.boosters, |Booster { train, .. }| {
            let own = fitting.own_weights(columns.next().unwrap_or(0), drawn)?;
            let out_of_bag = drawn.with(&own).out_of_bag(in_bag.as_deref());
            let Scored { data, scores } = train;
            let pass = Pass { out_of_bag, ..Pass::of_losses(fitting.control) };
            Ok(scores.sweep(data, None, pass)?.out_of_bag)
        })
    }

    fn stages(&mut self, stage: usize, drawn: Drawn<'_>) -> Result<Vec<Stage>> {
        let next = (stage + 1 < self.fitting.config.n_estimators).then(|| self.draw(stage + 1)).transpose()?;
        self.learner.stages(self.fitting, stage, drawn, self.boosters, &mut self.targets, next.as_ref())
    }

    fn validation_scores(&self) -> Result<Option<Array2<f64>>> {
        if self.learner.wants_scores() { Booster::validation_scores(self.boosters) } else { Ok(None) }
    }

    fn after(&mut self, report: &StageReport<'_>) -> Result<ControlFlow<()>> {
        self.learner.after(report)
    }

    fn failed(&mut self, done: &Boosted) {
        self.learner.failed(done);
    }
}

/// Calls a generic function of a fit for the type of its scores and the kind of its leaves.
macro_rules! with_kind {
    ($fitting:expr, $($run:ident).+($($argument:expr),*)) => {
        match ($fitting.problem.is_rank_one(), $fitting.problem.loss.has_float32_scores()) {
            (false, false) => $($run).+::<f64, $crate::boost::scores::Table<f64>>($($argument),*),
            (false, true) => $($run).+::<f32, $crate::boost::scores::Table<f32>>($($argument),*),
            (true, false) => $($run).+::<f64, $crate::boost::scores::RankOne<'_, f64>>($($argument),*),
            (true, true) => $($run).+::<f32, $crate::boost::scores::RankOne<'_, f32>>($($argument),*),
        }
    };
}
pub(super) use with_kind;

const START: Purpose = Purpose("the constants that boosting starts from");
const FACTORS: Purpose = Purpose("the factors of outputs");
const JOINTLY_SCORED: &str = "with scoring if trees have several outputs, except one combination with leaves for each";

impl<'f> Fitting<'f> {
    /// `population` are the samples that stages draw from: the training samples, with their weights and margins.
    pub(super) fn new(
        config: &'f BoostConfig,
        problem: Problem<'f>,
        y: &'f Targets<'f>,
        population: &Population<'f, '_, '_>,
        validation: Option<&'f Validation<'f>>,
        workers: &Workers,
        control: &'f Control,
    ) -> Result<Self> {
        let (n_samples, sample_weight) = (y.n_samples(), population.sample_weight);
        let sampling = config.sampling();
        let urn = Urn::of_one_of(workers, population, sampling, control)?;
        urn.check(sampling)?;
        Ok(Fitting {
            config,
            problem,
            n_samples,
            n_features: population.x.n_features(),
            y,
            margins: population.margins,
            validation,
            control,
            weights: Weights::of_rows_of(workers, sample_weight, n_samples)?,
            of_columns: ColumnWeights::default(),
            rows: urn.rows_rising(control)?,
            urn,
            sampling,
        })
    }

    /// Takes the weights of the known cells of the training samples.
    pub(super) fn of_cells(self, known: Option<&Known>, sample_weight: Option<&[f64]>) -> Result<Self> {
        let of_columns = ColumnWeights::new(known, &self.problem.outputs, sample_weight, self.n_samples)?;
        Ok(Fitting { of_columns, ..self })
    }

    /// Returns the weights that the samples of a stage have in a column.
    pub(super) fn own_weights(&self, column: usize, drawn: Drawn<'_>) -> Result<OwnWeights> {
        let of = |part| self.of_columns.of_part(column, [&self.weights, part], self.n_samples);
        Ok(OwnWeights([of(drawn.weights)?, drawn.others.map(of).transpose()?.flatten()]))
    }

    /// Fits the model with the weak models of `learner`.
    pub(super) fn fit(&self, learner: &mut impl Learner) -> Result<Boosted> {
        if let Some(model) = learner.model() {
            self.check_rate(model)?;
        }
        let y = self.columns(self.y)?;
        let held_out = self.validation.map(|held_out| self.columns(&held_out.y)).transpose()?;
        with_kind!(self, self.fit_columns(&y, held_out.as_deref(), learner))
    }

    /// Returns an error if stages of another rate are added: the model multiplies all its steps by its own.
    pub(super) fn check_rate(&self, model: &Boosted) -> Result<()> {
        let rate = self.config.learning_rate;
        let is_same = rate == model.learning_rate();
        if is_same { Ok(()) } else { Err(Error::invalid("learning_rate", rate, "be that of the model")) }
    }

    fn fit_columns<'y, T: Float, S: Scores<'y, T>>(
        &'y self,
        y: &'y [Targets<'_>],
        held_out: Option<&'y [Targets<'_>]>,
        learner: &mut impl Learner,
    ) -> Result<Boosted> {
        let (config, control) = (self.config, self.control);
        // A model that is continued keeps its constants: those of other data would move the stages that it has.
        let start = learner.model().map(|model| START.copied(&model.start)).transpose()?;
        let mut boosters = self.boosters::<T, S>(y, held_out, start.as_deref(), learner.wants_scores())?;
        if config.subsample < 1.0 {
            let mut each = boosters.iter_mut().map(|booster| &mut booster.train);
            each.try_for_each(|Scored { data, scores }| scores.tell_losses_out_of_bag(data))?;
        }
        let mut targets = Vec::new();
        // The factors are computed before the stages of a given model are replayed: the stages that are added use the
        // same factors as the existing ones.
        let factors = self.factors(&mut boosters, &mut targets)?;
        let mut losses = || self.mean_of_each(&mut boosters, |booster| booster.validate(None, control));
        let at_start = config.n_iter_no_change.and_then(|_| losses().transpose()).transpose()?;
        let mut grown = learner.resume(self, &mut boosters)?.unwrap_or_else(|| self.empty());
        grown.start = self.start(&boosters)?;

        let projection = config.stage_projection(self.problem.width)?;
        let mut all = OfAll { fitting: self, boosters: &mut boosters, learner, projection, y: &y[0], factors, targets };
        let first = grown.n_stages();
        if first < config.n_estimators {
            let projector = all.draw(first)?;
            if let [booster] = all.boosters {
                booster.aim(&projector, &mut all.targets, control)?;
            }
        }
        let grown = self.run(grown, at_start, &mut all)?;
        all.learner.finished(&grown, all.boosters)?;
        grown.kept(config)
    }

    /// Adds stages to a model until the fit ends. `at_start` is the validation loss before the first stage.
    pub(super) fn run(&self, mut grown: Boosted, at_start: Option<f64>, stages: &mut dyn Rounds) -> Result<Boosted> {
        let (config, control) = (self.config, self.control);
        let is_ended = Cell::new(false);
        let mut stopping = Stopping::new(config, at_start, &grown.validation_score, &is_ended)?;
        let first = grown.n_stages();
        let mut n_done = first;
        let ended = rounds(first..config.n_estimators, control, &mut stopping, |stage| {
            let counts = self.urn.draw(self.sampling, self.n_samples, tree_key(config.seed, stage), control)?;
            let rows = counts.as_ref().map(|counts| self.drawn(counts)).transpose()?;
            let copies = counts.as_ref().map(|counts| self.copies(counts)).transpose()?.flatten();
            let drawn = Drawn {
                rows: rows.as_deref().unwrap_or(&self.rows),
                weights: copies.as_ref().map_or(&self.weights, |[drawn, _]| drawn),
                others: copies.as_ref().map(|[_, others]| others),
            };
            if stage == 0 && rows.is_some() {
                grown.oob_losses.extend(stages.loss_outside(drawn)?);
            }
            let of_stage = stages.stages(stage, drawn)?;
            let (train_loss, validation_loss) = self.record(&mut grown, of_stage)?;
            n_done = stage + 1;
            let scores = stages.validation_scores()?;
            let mut report = StageReport::of_last(&grown, train_loss, validation_loss);
            report.validation_scores = scores.as_ref().map(|scores| scores.view());
            is_ended.set(stages.after(&report)?.is_break());
            Ok(ControlFlow::Continue(validation_loss))
        });
        if ended.is_err() && n_done > 0 {
            stages.failed(&grown.truncated(n_done)?);
        }
        ended?;
        Ok(grown)
    }

    /// Returns a model without stages and constants.
    pub(super) fn empty(&self) -> Boosted {
        Boosted::empty(&self.problem, self.n_features, self.config.learning_rate)
    }

    /// Returns y with a column for each score; for single targets, each column is separate.
    pub(super) fn columns<'y>(&self, y: &'y Targets<'_>) -> Result<Vec<Targets<'y>>> {
        if self.problem.combine != Combine::Columns {
            return Ok(vec![in_columns(y)?]);
        }
        let starts = match &self.problem.outputs {
            Outputs::Classes { n_classes } => starts(n_classes)?,
            Outputs::Labels { .. } | Outputs::Real { .. } => Vec::new(),
        };
        Purpose("the columns of y").results((0..self.problem.width).map(|j| column(y, &starts, j)))
    }

    /// Returns a booster for each of these columns of y: one for all scores, or one for each score of single targets.
    /// Scores are at the constants `start`, or at those of least loss.
    pub(super) fn boosters<'y, T: Float, S: Scores<'y, T>>(
        &'y self,
        y: &'y [Targets<'_>],
        held_out: Option<&'y [Targets<'_>]>,
        start: Option<&[f64]>,
        wants_scores: bool,
    ) -> Result<Vec<Booster<'y, T, S>>> {
        let booster = |(t, y)| self.booster((t, start), y, held_out.map(|y| &y[t]), wants_scores);
        Purpose("the columns of y").results(y.iter().enumerate().map(booster))
    }

    /// Returns the scores of these columns of y, the `t`-th group that is boosted together, at the constants `start` or
    /// those of least loss, or at the given margins.
    fn booster<'y, T: Float, S: Scores<'y, T>>(
        &'y self,
        (t, start): (usize, Option<&[f64]>),
        y: &'y Targets<'_>,
        held_out: Option<&'y Targets<'_>>,
        wants_scores: bool,
    ) -> Result<Booster<'y, T, S>> {
        let (problem, loss) = (&self.problem, self.problem.loss_of(t));
        let width = if problem.combine == Combine::Columns { 1 } else { problem.width };
        let (shares, weights) = (problem.shares(), self.of_columns.of(t).unwrap_or(&self.weights).try_clone()?);
        let data = Data::new(y, (loss, shares), weights, width)?;
        let start = match (start, &self.margins) {
            (Some(start), _) => START.copied(&start[t..t + width])?,
            (None, None) => loss.start(&data.y, width, &self.rows, &data.weights, self.control)?,
            (None, Some(_)) => START.filled(0.0, width)?,
        };
        let columns = t..t + width;
        let of_columns = |margins: ArrayView2<'y, f64>| margins.slice_axis_move(Axis(1), columns.clone().into());
        let may_be_implied =
            self.margins.is_none() && problem.combine == Combine::RankOne && loss.leaf_rule() == LeafRule::Residuals;
        let scored = |data: Data<'y, T>, y: &'y Targets<'_>, margins, is_held: bool| {
            let implied = (may_be_implied && !is_held).then_some(y);
            let scores = S::new(&data, implied, (&start, margins), self.control)?;
            Ok::<_, Error>(Scored { data, scores })
        };
        let mut validation = None;
        if let (Some(held_out), Some(y)) = (self.validation, held_out) {
            if held_out.is_spread && wants_scores {
                return Err(Error::unsupported("y_weight with several weights in a sample", JOINTLY_SCORED));
            }
            let weights = match held_out.of_columns.of(t) {
                Some(own) => own.try_clone()?,
                None => Weights::of_rows(held_out.sample_weight, y.n_samples())?,
            };
            let data = Data::new(y, (loss, shares), weights, width)?;
            let margins = held_out.margins.map(of_columns);
            validation = Some(scored(data, y, margins, wants_scores)?);
        }
        let train = scored(data, y, self.margins.map(of_columns), false)?;
        Ok(Booster { train, validation, start })
    }

    /// Returns the constants from which the scores start.
    pub(super) fn start<T: Float, S>(&self, boosters: &[Booster<'_, T, S>]) -> Result<Vec<f64>> {
        let mut start = START.with_capacity(self.problem.width)?;
        boosters.iter().for_each(|booster| start.extend_from_slice(&booster.start));
        Ok(start)
    }

    /// Returns the factors by which the negative gradients of each score are multiplied before trees are grown on them;
    /// `None` if there are none, and if each tree is grown for one score. `targets` is overwritten.
    fn factors<'y, T: Float, S: Scores<'y, T>>(
        &self,
        boosters: &mut [Booster<'y, T, S>],
        targets: &mut Vec<f64>,
    ) -> Result<Option<Vec<f64>>> {
        let factors = self.config.tree.output_factors();
        let ([booster], true) = (boosters, factors.are_given()) else { return Ok(None) };
        let width = self.problem.width;
        if let Outputs::Labels { .. } = self.problem.outputs {
            // Labels have one scale, and only weights.
            let roots = |shares: &[f64]| FACTORS.collected(shares.iter().map(|share| share.sqrt()));
            return self.problem.shares().map(roots).transpose();
        }
        booster.aim(&Projector::Identity(width), targets, self.control)?;
        let data = &booster.train.data;
        if let (TrainY::Real(y), true) = (&data.y, data.loss.skips_unknown()) {
            // Gradients of unknown cells are zero, and do not count.
            let cells = targets.iter_mut().zip(&*y.values);
            cells.filter(|(_, y)| y.is_nan()).for_each(|(gradient, _)| *gradient = f64::NAN);
        }
        let gradients = TrainY::Real(RealTargets::new(&targets[..], width)?);
        factors.of(&gradients, &self.rows, &self.weights, self.control)
    }

    /// Returns what a stage is fitted to. A projection may need `y`, which then has the columns of all scores.
    fn drawn_projector(
        &self,
        projection: &mut dyn StageProjection,
        stage: usize,
        y: &Targets<'_>,
        factors: Option<&[f64]>,
    ) -> Result<Projector> {
        let mut of_y = None;
        if projection.needs_y() {
            if self.problem.loss.skips_unknown() {
                let must = "be another family if y has masked cells";
                return Err(Error::invalid("projection", "Pca", must));
            }
            let mut y = match (factors, y) {
                (Some(_), Targets::Labels(labels)) => {
                    TrainY::SparseReal(SparseNumbers::new(SparseTargets::of_labels(labels)?))
                }
                _ => TrainY::new(y)?,
            };
            if let Some(factors) = factors {
                y = y.times(FACTORS.copied(factors)?);
            }
            of_y = Some(TargetRows { y, weights: &self.weights, rows: &self.rows });
        }
        let projector = projection.draw(stage, of_y.as_ref(), self.control)?;
        match factors {
            Some(factors) => projector.of_multiplied(factors),
            None => Ok(projector),
        }
    }

    /// Returns which samples are in `rows`; `None` if they are all samples of positive weight, for every worker.
    pub(super) fn in_bag(&self, rows: &[u32]) -> Result<Option<Vec<bool>>> {
        let workers = self.weights.workers();
        let [n_rows, n_all] = workers.sums_of([rows.len() as u64, self.rows.len() as u64])?;
        if n_rows == n_all {
            return Ok(None);
        }
        let mut inside = Purpose("the rows of a stage").filled(false, self.n_samples)?;
        rows.iter().for_each(|&row| inside[row as usize] = true);
        Ok(Some(inside))
    }

    /// Returns the samples of positive weight that are drawn at least once.
    fn drawn(&self, counts: &[u32]) -> Result<Vec<u32>> {
        let drawn = || self.rows.iter().copied().filter(|&row| counts[row as usize] > 0);
        let mut rows = Purpose("the rows of a stage").with_capacity(drawn().count())?;
        rows.extend(drawn());
        Ok(rows)
    }

    /// Returns the weights of the copies of samples that are drawn, and of the others; `None` if samples have no copies.
    fn copies(&self, counts: &[u32]) -> Result<Option<[Weights; 2]>> {
        const PURPOSE: Purpose = Purpose("the weights of a stage");
        let Some(copies) = self.urn.copies() else { return Ok(None) };
        let mut drawn = self.control.filled(PURPOSE, 0u64, self.n_samples)?;
        let mut others = self.control.filled(PURPOSE, 0u64, self.n_samples)?;
        let mut pulse = self.control.pulse();
        for (row, n_copies) in copies {
            pulse.after(1)?;
            let (row, units) = (row as usize, self.weights.units(row as usize));
            let of_drawn = u128::from(units) * u128::from(counts[row]) / u128::from(n_copies);
            (drawn[row], others[row]) = (of_drawn as u64, units - of_drawn as u64);
        }
        Ok(Some([drawn, others].map(|units| self.weights.with_units(units))))
    }

    /// Adds a stage to the model, and returns its training and validation losses.
    pub(super) fn record(&self, grown: &mut Boosted, stages: Vec<Stage>) -> Result<(f64, Option<f64>)> {
        let validation_loss = self.problem.mean_of_known(stages.iter().map(|stage| stage.validation_loss));
        let train_loss = self.problem.mean_of_known(stages.iter().map(|stage| stage.losses.all)).unwrap_or(0.0);
        grown.record_oob(self.problem.mean_of_known(stages.iter().map(|stage| stage.losses.out_of_bag)));
        grown.train_score.push(train_loss);
        grown.validation_score.extend(validation_loss);
        let n_before = grown.trees.len();
        if !stages.iter().flat_map(|stage| &stage.steps).all(|step| step.is_finite()) {
            return Err(grown.diverged());
        }
        for Stage { tree, steps, .. } in stages {
            tree.into_iter()
                .try_for_each(|tree| Purpose("the stages of a model").push(&mut grown.trees, Arc::new(tree)))?;
            grown.step_sizes.extend(steps)?;
        }
        grown.check_last_stage(grown.trees.len() - n_before)?;
        Ok((train_loss, validation_loss))
    }

    /// Returns [`Problem::mean_of_known`] of a loss of each booster.
    fn mean_of_each<'y, T: Float, S: Scores<'y, T>>(
        &self,
        boosters: &mut [Booster<'y, T, S>],
        loss: impl FnMut(&mut Booster<'y, T, S>) -> Result<Option<f64>>,
    ) -> Result<Option<f64>> {
        let losses = Purpose("the losses of scores").results(boosters.iter_mut().map(loss))?;
        Ok(self.problem.mean_of_known(losses.into_iter()))
    }
}
