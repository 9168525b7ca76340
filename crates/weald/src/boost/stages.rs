//! The loop over the stages of a fit.
//!
//! Stage m is a function of (data, parameters, seed, m, the scores), so that a model may be fitted in several parts.
//! [`Fitting::fit`] is the loop over stages, and [`Fitting::stage`] is one stage, from its targets to those of the next
//! stage.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

use ndarray::{ArrayView2, Axis};

use super::config::BoostConfig;
use super::data::{Data, Losses};
use super::fit::{Training, Validation};
use super::leaves::{LeafValues, Leaves, RowsByLeaf, contributions, update};
use super::model::{Boosted, Combine};
use super::observer::{StageObserver, StageReport};
use super::problem::Problem;
use super::projector::Projector;
use super::scores::Scored;
use super::scores::booster::Booster;
use super::stage_projection::{Needs, StageProjection, Statistics, TargetRows};
use super::stopping::{EarlyStopping, Watched, least};
use crate::control::Control;
use crate::criterion::Criterion;
use crate::data::slots::Slots;
use crate::data::sparse_targets::SparseNumbers;
use crate::data::targets::{column, in_columns, starts};
use crate::data::train_y::{RealTargets, TrainY};
use crate::data::{Matrix, Outputs, SparseTargets, Targets, Weights};
use crate::error::{
    Error, Result, try_collected, try_copied, try_extend, try_filled, try_push, try_results, try_with_capacity,
};
use crate::exact::reduce::{Reduce, Workers};
use crate::exact::{Total, exact_means_of_all};
use crate::forest::bootstrap::{Population, Urn, tree_key};
use crate::forest::config::Sampling;
use crate::loss::column::LeafRule;
use crate::loss::float::Float;
use crate::pool;
use crate::rng::Key;
use crate::rounds::{Unobserved, rounds};
use crate::tree::Tree;
use crate::tree::config::TreeConfig;
use crate::tree::constraints::MonotonicColumns;
use crate::tree::grower::{Grower, Sample, TreeTargets, of_a_sample};
use crate::tree::rows::Rows;

/// The arguments of a fit, and what is computed once for all its stages.
#[derive(Debug)]
pub(super) struct Fitting<'f> {
    config: &'f BoostConfig,
    problem: Problem<'f>,
    x: &'f Matrix<'f>,
    y: &'f Targets<'f>,
    margins: Option<ArrayView2<'f, f64>>,
    validation: Option<&'f Validation<'f>>,
    control: &'f Control,
    grower: Grower<'f>,
    /// The number of features that each tree may use.
    n_of_tree: usize,
    tree: TreeConfig,
    /// The monotonic constraints for the scores of each booster; empty if no feature has a constraint.
    monotonic: Vec<Option<MonotonicColumns>>,
    weights: Weights,
    urn: Urn,
    sampling: Sampling,
    /// The samples of positive weight, in increasing order.
    rows: Vec<u32>,
    /// The samples in a form in which they can be sent down a tree, to find the leaves of samples to which a stage was
    /// not fitted.
    walk: Rows<'f>,
    walk_validation: Option<Rows<'f>>,
}

/// A finished stage for scores that are boosted together.
#[derive(Debug)]
struct Stage {
    tree: Tree,
    steps: Vec<f64>,
    losses: Losses,
    validation_loss: Option<f64>,
}

const STAGES: &str = "the stages of a model";
const LEAVES: &str = "the leaves of a stage";

/// Purposes of the key of a stage.
const GROWTH: u64 = 1;
const FEATURES: u64 = 2;

impl<'f> Fitting<'f> {
    pub(super) fn new(
        config: &'f BoostConfig,
        problem: Problem<'f>,
        training: Training<'f>,
        validation: Option<&'f Validation<'f>>,
        workers: &Workers,
        control: &'f Control,
    ) -> Result<Self> {
        let Training { x, y, categories, sample_weight, margins } = training;
        let n = x.n_samples();
        let n_rows = sample_weight.map_or(n, |w| w.iter().filter(|&&w| w > 0.0).count());
        let sampling = config.sampling(workers.sum_of(n_rows as u64)? as usize);
        let population = Population { margins, ..Population::new(x, Some(y), None, sample_weight) };
        let urn = Urn::of_one_of(workers, &population, sampling)?;
        urn.check(sampling)?;
        let tree = TreeConfig { criterion: Criterion::OF_GRADIENTS, output_projection: None, ..config.tree.clone() };
        let weights = Weights::of_rows_of(workers, sample_weight, n)?;
        let n_of_tree = config.n_features_of_tree(x.n_features())?;
        let width = problem.width;
        let monotonic = match (&tree.monotonic_cst, problem.combine) {
            (None, _) => Vec::new(),
            (Some(_), Combine::Columns) => {
                let of_score = |score| tree.directions_of_score(score);
                try_results("the directions of features", (0..width).map(of_score))?
            }
            (Some(_), _) => vec![tree.directions(&Outputs::Real { n_outputs: width })?],
        };
        Ok(Fitting {
            config,
            problem,
            x,
            y,
            margins,
            validation,
            control,
            grower: Grower::binned_of(
                workers,
                &tree,
                x,
                n_of_tree,
                config.max_bins,
                categories,
                |row| weights.units(row),
                control,
            )?,
            n_of_tree,
            tree,
            monotonic,
            rows: urn.rows_rising()?,
            weights,
            urn,
            sampling,
            walk: Rows::new(x, x.n_features(), control)?,
            walk_validation: validation.map(|v| Rows::new(&v.x, x.n_features(), control)).transpose()?,
        })
    }

    pub(super) fn has_float32_scores(&self) -> bool {
        self.problem.loss.has_float32_scores()
    }

    /// Fits the model, starting from `model` if it is given.
    pub(super) fn fit<T: Float>(&self, model: Option<&Boosted>, observer: &mut dyn StageObserver) -> Result<Boosted> {
        let (config, control, width) = (self.config, self.control, self.problem.width);
        let y = self.columns(self.y)?;
        let y_validation = self.validation.map(|v| self.columns(&v.y)).transpose()?;
        let mut boosters = self.boosters::<T>(&y, y_validation.as_deref(), observer.wants_scores())?;
        if config.subsample < 1.0 {
            boosters.iter_mut().try_for_each(|booster| booster.train.tell_losses_out_of_bag())?;
        }
        let empty = || Boosted::empty(&self.problem, self.x.n_features(), config.learning_rate);
        let mut grown = model.map_or_else(|| Ok(empty()), |model| model.truncated(model.n_stages()))?;
        grown.start = Vec::new();
        for booster in &boosters {
            try_extend("the constants that boosting starts from", &mut grown.start, booster.start.iter().copied())?;
        }
        let mut targets = Vec::new();
        // The factors are computed before the stages of a given model are replayed: the stages that are added use the
        // same factors as the existing ones.
        let factors = self.factors(&mut boosters, &mut targets)?;
        let at_start = if config.n_iter_no_change.is_some() {
            let losses = boosters.iter_mut().map(|booster| booster.validation_loss(control));
            self.mean_of_known(try_results("the losses of scores", losses)?.into_iter())
        } else {
            None
        };
        if let Some(model) = model {
            // The validation losses are those of the current held-out samples, if there are any.
            grown.validation_score.clear();
            for stage in 0..model.n_stages() {
                control.check()?;
                grown.validation_score.extend(self.replay(model, stage, &mut boosters)?);
            }
        }

        let mut projection = config.stage_projection(width)?;
        let mut draw = |stage| self.draw(&mut *projection, stage, &y, factors.as_deref());
        let first = grown.n_stages();
        if let (Combine::Leaves | Combine::RankOne, [booster], true) =
            (self.problem.combine, boosters.as_mut_slice(), first < config.n_estimators)
        {
            booster.aim(&draw(first)?, &mut targets, control)?;
        }
        let is_ended = Cell::new(false);
        let stopping = EarlyStopping::new(config, at_start, &grown.validation_score)?;
        let mut watched = Watched { stopping, is_ended: &is_ended };
        let mut n_done = first;
        let ended = rounds(first..config.n_estimators, control, &mut watched, |stage| {
            let counts = self.urn.draw(self.sampling, self.x.n_samples(), tree_key(config.seed, stage))?;
            let drawn = counts.map(|counts| drawn(&self.rows, &counts)).transpose()?;
            let rows = drawn.as_deref().unwrap_or(&self.rows);
            if stage == 0 && drawn.is_some() {
                let in_bag = self.in_bag(rows)?;
                let losses = boosters.iter_mut().map(|booster| booster.out_of_bag_loss(in_bag.as_deref(), control));
                grown.oob_losses.extend(self.mean_of_known(try_results("the losses of scores", losses)?.into_iter()));
            }
            let stages = if self.problem.combine == Combine::Columns {
                self.stages_of_columns(stage, rows, &mut boosters)?
            } else {
                let next = (stage + 1 < config.n_estimators).then(|| draw(stage + 1)).transpose()?;
                let key = tree_key(config.seed, stage);
                vec![self.stage((0, &mut boosters[0]), rows, key, &mut targets, next.as_ref(), control)?]
            };
            let (train_loss, validation_loss) = self.record(&mut grown, stages)?;
            n_done = stage + 1;
            let scores = observer.wants_scores().then(|| Booster::validation_scores(&boosters)).transpose()?.flatten();
            let mut report = StageReport::of_last(&grown, train_loss, validation_loss);
            report.validation_scores = scores.as_ref().map(|scores| scores.view());
            is_ended.set(observer.after(&report).is_break());
            Ok(ControlFlow::Continue(validation_loss))
        });
        if ended.is_err() && n_done > 0 {
            observer.failed(&grown.truncated(n_done)?);
        }
        ended?;
        if config.n_iter_no_change.is_some() { grown.truncated(least(&grown.validation_score) + 1) } else { Ok(grown) }
    }

    /// Returns y with a column for each score; for single targets, each column is separate.
    fn columns<'y>(&self, y: &'y Targets<'_>) -> Result<Vec<Targets<'y>>> {
        if self.problem.combine != Combine::Columns {
            return Ok(vec![in_columns(y)?]);
        }
        let starts = match &self.problem.outputs {
            Outputs::Classes { n_classes } => starts(n_classes)?,
            Outputs::Labels { .. } | Outputs::Real { .. } => Vec::new(),
        };
        try_results("the columns of y", (0..self.problem.width).map(|j| column(y, &starts, j)))
    }

    /// Returns a booster for each of these columns of y: one for all scores, or one for each score of single targets.
    fn boosters<'y, T: Float>(
        &'y self,
        y: &'y [Targets<'_>],
        y_validation: Option<&'y [Targets<'_>]>,
        wants_scores: bool,
    ) -> Result<Vec<Booster<'y, T>>> {
        let booster = |t: usize| self.booster(t, &y[t], y_validation.map(|y| &y[t]), wants_scores);
        try_results("the columns of y", (0..y.len()).map(booster))
    }

    /// Returns the scores of these columns of y, the `t`-th group that is boosted together, at the constants of least
    /// loss or at the given margins.
    fn booster<'y, T: Float>(
        &'y self,
        t: usize,
        y: &'y Targets<'_>,
        y_validation: Option<&'y Targets<'_>>,
        wants_scores: bool,
    ) -> Result<Booster<'y, T>> {
        let (problem, loss) = (&self.problem, self.problem.loss_of(t));
        let width = if problem.combine == Combine::Columns { 1 } else { problem.width };
        let (shares, weights) = (problem.shares(), self.weights.try_clone()?);
        let data = Data::new(y, (loss, shares), weights, width)?;
        let start = match self.margins {
            None => loss.start(&data.y, width, &self.rows, &data.weights, self.control)?,
            Some(_) => try_filled("the constants that boosting starts from", 0.0, width)?,
        };
        let columns = t..t + width;
        let of_columns = |margins: ArrayView2<'y, f64>| margins.slice_axis_move(Axis(1), columns.clone().into());
        let has_one_number = problem.combine == Combine::RankOne;
        let may_be_implied = self.margins.is_none() && has_one_number && loss.leaf_rule() == LeafRule::Residuals;
        let scored = |data: Data<'y, T>, y: &'y Targets<'_>, margins, is_held: bool| {
            let implied = if may_be_implied && !is_held { Slots::new(y)? } else { None };
            match implied {
                Some(slots) => Scored::implied(data, slots, &start),
                None => Scored::held(data, &start, margins, has_one_number, self.control),
            }
        };
        let mut validation = None;
        if let (Some(held_out), Some(y)) = (self.validation, y_validation) {
            let weights = Weights::of_rows(held_out.sample_weight, held_out.x.n_samples())?;
            let data = Data::new(y, (loss, shares), weights, width)?;
            let margins = held_out.margins.map(of_columns);
            validation = Some(scored(data, y, margins, wants_scores)?);
        }
        let train = scored(data, y, self.margins.map(of_columns), false)?;
        Ok(Booster { train, validation, start })
    }

    /// Returns the factors by which the negative gradients of each score are multiplied before trees are grown on them;
    /// `None` if there are none, and if each tree is grown for one score. `targets` is overwritten.
    fn factors<T: Float>(&self, boosters: &mut [Booster<'_, T>], targets: &mut Vec<f64>) -> Result<Option<Vec<f64>>> {
        let factors = self.config.tree.output_factors();
        let (Combine::Leaves | Combine::RankOne, [booster], true) =
            (self.problem.combine, boosters, factors.are_given())
        else {
            return Ok(None);
        };
        let width = self.problem.width;
        if let Outputs::Labels { .. } = self.problem.outputs {
            // Labels have one scale, and only weights.
            let roots =
                |shares: &[f64]| try_collected("the factors of outputs", shares.iter().map(|share| share.sqrt()));
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

    /// Returns what a stage is fitted to; `y` must have the columns of all scores.
    fn draw(
        &self,
        projection: &mut dyn StageProjection,
        stage: usize,
        y: &[Targets<'_>],
        factors: Option<&[f64]>,
    ) -> Result<Projector> {
        let mut statistics = Statistics::default();
        match (projection.needs(stage), y) {
            (Needs::Targets, _) if self.problem.loss.skips_unknown() => {
                let must = "be another family if y has masked cells";
                return Err(Error::invalid("output_projection", "Pca", must));
            }
            (Needs::Targets, [y]) => {
                let mut y = match (factors, y) {
                    (Some(_), Targets::Labels(labels)) => {
                        TrainY::SparseReal(SparseNumbers::new(SparseTargets::of_labels(labels)?))
                    }
                    _ => TrainY::new(y)?,
                };
                if let Some(factors) = factors {
                    y = y.times(try_copied("the factors of outputs", factors)?);
                }
                statistics.targets = Some(TargetRows { y, weights: &self.weights, rows: &self.rows });
            }
            (Needs::Nothing | Needs::Targets, _) => {}
        }
        let projector = projection.draw(stage, &statistics, self.control)?;
        match factors {
            Some(factors) => projector.of_multiplied(factors),
            None => Ok(projector),
        }
    }

    /// Fits a stage of single targets: all scores independently, in parallel.
    fn stages_of_columns<T: Float>(
        &self,
        stage: usize,
        rows: &[u32],
        boosters: &mut [Booster<'_, T>],
    ) -> Result<Vec<Stage>> {
        let control = self.control;
        let one = if boosters.len() > 1 { Control::clone(control).on_one_thread() } else { control.clone() };
        let mut slots: Vec<Option<Stage>> = try_collected(STAGES, boosters.iter().map(|_| None))?;
        let jobs = boosters.iter_mut().zip(&mut slots).enumerate();
        pool::for_each(
            self.weights.workers().n_threads(control.n_threads()),
            jobs,
            || Ok(Vec::new()),
            |targets, (j, (booster, slot))| {
                booster.aim(&Projector::Identity(1), targets, &one)?;
                let key = tree_key(self.config.seed, stage * self.problem.width + j);
                // A sample whose y is unknown is left out. If no sample is left, the tree is a leaf that adds nothing.
                let known = booster.train.data.known_rows(rows)?.filter(|known| !known.is_empty());
                let rows = known.as_deref().unwrap_or(rows);
                *slot = Some(self.stage((j, booster), rows, key, targets, None, &one)?);
                Ok(())
            },
        )?;
        try_collected(STAGES, slots.into_iter().map(|slot| slot.expect("every score has had its stage")))
    }

    /// Fits a stage to `targets`, which are the negative gradients at the current scores or projections of them, on
    /// some samples, and adds it to the scores. Afterwards, `targets` are those of the next stage.
    fn stage<T: Float>(
        &self,
        (t, booster): (usize, &mut Booster<'_, T>),
        rows: &[u32],
        key: Key,
        targets: &mut Vec<f64>,
        next: Option<&Projector>,
        control: &Control,
    ) -> Result<Stage> {
        let (n, mu) = (self.x.n_samples(), self.config.learning_rate);

        // 1. The previous sweep has written the targets (the numbers are those of `boost`). 2. A tree is grown on them.
        let in_bag = self.in_bag(rows)?;
        let units = |row: usize| if in_bag.as_ref().is_none_or(|bag| bag[row]) { self.weights.units(row) } else { 0 };
        let curved = booster.train.curvatures(self.config.leaf_fit(), rows)?;
        let ratios = curved.as_ref().map(|curved| curved.ratios(targets)).transpose()?;
        let values = ratios.as_deref().unwrap_or(targets);
        let y = TrainY::Real(RealTargets::new(values, values.len() / n)?);
        let parts = |row: usize| curved.as_ref().map_or(units(row), |curved| curved.parts(row, units(row)));
        let mut sample = Sample::new(rows, n, parts, self.weights.of_one(), &y, self.weights.workers())?;
        if let Some(curved) = &curved {
            // A sample counts towards the minimum weight of a leaf by its second derivative, relative to the largest
            // one.
            let workers = self.weights.workers();
            let total = Total::of_all(rows.iter().map(|&row| units(row as usize)), workers)?;
            sample.of_a_sample = curved.most_parts(of_a_sample(rows, total, self.weights.of_one(), workers)?);
        }
        let growth = key.child(GROWTH);
        let drawn = self.grower.of_drawn(&self.tree, self.n_of_tree, key.child(FEATURES), control)?;
        let grower = drawn.as_ref().unwrap_or(&self.grower);
        let monotonic = self.monotonic.get(t).and_then(Option::as_ref);
        let split_targets = TreeTargets { y: &y, criterion: Criterion::OF_GRADIENTS, monotonic };
        let structure = grower.structure(&self.tree, &split_targets, &sample, growth, control)?;
        let leaves = Leaves::of_tree(&structure, &self.weights)?;

        // 3. Its leaves are mean targets, or mean negative gradients of all scores; and there is a step ρ for each
        //    score.
        let of_leaf = |leaf| leaves.rows(leaf).iter().map(|&r| (targets[r as usize], units(r as usize)));
        let means = || exact_means_of_all(leaves.len(), of_leaf, self.weights.workers());
        let (mut values, mut steps) = booster.train.fit_leaves(means, &leaves, self.config.leaf_fit(), control)?;
        if let Some(monotonic) = monotonic {
            let width = booster.train.data.width;
            let order = |table: &mut [f64]| monotonic.order_leaves(&structure, &leaves.weights, table, width);
            booster.train.keep_in_order(order, (&mut values, &mut steps), &leaves, self.config.line_search, control)?;
        }
        let steps = self.problem.step_dtype.cut(steps);

        // What is added to the scores is μ ρ g.
        let direction = try_collected("the steps of a stage", steps.iter().map(|step| mu * step))?;
        let (kept, table) = contributions(&values, &steps, mu)?;
        // The leaves of samples that took part are known; if there are other samples, all are sent down the tree.
        let known = in_bag.is_none().then(|| leaves.of_rows(n)).transpose()?;
        let outputs = Outputs::Real { n_outputs: kept.width() };
        let tree = structure.into_tree(kept, self.weights.unit, self.x.n_features(), outputs, Criterion::OF_GRADIENTS);
        let leaf_of = known.map_or_else(|| self.walk.leaves(&tree, control), Ok)?;

        // 4. Scores, losses and the next targets are computed in one sweep.
        let update_of = |leaf_of| update(leaf_of, &values, &table, &direction);
        let losses = booster.advance(Some(update_of(leaf_of)), next, targets, in_bag.as_deref(), control)?;
        let mut validation_loss = None;
        if let Some(walk) = &self.walk_validation {
            let leaf_of = walk.leaves(&tree, control)?;
            validation_loss = booster.advance_validation(update_of(leaf_of), control)?;
        }
        Ok(Stage { tree, steps, losses, validation_loss })
    }

    /// Returns which samples are in `rows`; `None` if they are all samples of positive weight, for every worker.
    fn in_bag(&self, rows: &[u32]) -> Result<Option<Vec<bool>>> {
        let workers = self.weights.workers();
        let [n_rows, n_all] = workers.sums_of([rows.len() as u64, self.rows.len() as u64])?;
        if n_rows == n_all { Ok(None) } else { in_bag(rows, self.x.n_samples()).map(Some) }
    }

    /// Brings the scores to their values after `stage` of `model`, and returns the validation loss there, if there are
    /// held-out samples.
    fn replay<T: Float>(&self, model: &Boosted, stage: usize, boosters: &mut [Booster<'_, T>]) -> Result<Option<f64>> {
        let n_boosters = boosters.len();
        let mut losses = Vec::new();
        for (t, booster) in boosters.iter_mut().enumerate() {
            let tree = &model.trees[stage * n_boosters + t];
            let width = booster.train.data.width;
            let steps = model.step_sizes.of_stage(stage, model.width).skip(t).take(width);
            let direction = try_collected("the steps of a stage", steps.map(|step| model.learning_rate * step))?;
            let columns = tree.leaves.width();
            let mut values = try_filled(LEAVES, 0.0, tree.n_leaves() * columns)?;
            values.chunks_exact_mut(columns).enumerate().for_each(|(leaf, row)| tree.leaves.add_to(leaf, row));
            let (values, table) = if self.problem.combine == Combine::RankOne {
                (LeafValues::Scalars(values), Vec::new())
            } else {
                let table = try_collected(LEAVES, values.iter().map(|&value| T::from_f64(value)))?;
                (LeafValues::Table(values), table)
            };
            let of_rows = |walk: &Rows<'_>| {
                walk.leaves(tree, self.control).map(|leaf_of| update(leaf_of, &values, &table, &direction))
            };
            booster.advance(Some(of_rows(&self.walk)?), None, &mut Vec::new(), None, self.control)?;
            let held_out = self.walk_validation.as_ref().map(of_rows).transpose()?;
            let loss = held_out.map(|update| booster.advance_validation(update, self.control)).transpose()?;
            losses.push(loss.flatten());
        }
        Ok(self.mean_of_known(losses.into_iter()))
    }

    /// Returns the trees of `model` with leaves that are fitted to these data; see [`BoostConfig::refit_leaves`].
    pub(super) fn refit<T: Float>(&self, model: &Boosted) -> Result<Boosted> {
        let y = self.columns(self.y)?;
        let mut boosters = self.boosters::<T>(&y, None, false)?;
        let mut refitted = Boosted::empty(&self.problem, self.x.n_features(), self.config.learning_rate);
        for booster in &boosters {
            try_extend("the constants that boosting starts from", &mut refitted.start, booster.start.iter().copied())?;
        }
        let n_boosters = boosters.len();
        rounds(0..model.n_stages(), self.control, &mut Unobserved, |stage| {
            let mut stages = try_with_capacity(STAGES, n_boosters)?;
            for (t, booster) in boosters.iter_mut().enumerate() {
                stages.push(self.relabelled(booster, &model.trees[stage * n_boosters + t])?);
            }
            self.record(&mut refitted, stages)?;
            Ok(ControlFlow::Continue(None))
        })?;
        Ok(refitted)
    }

    /// Computes the leaves and steps of an existing tree, and adds them to the scores.
    fn relabelled<T: Float>(&self, booster: &mut Booster<'_, T>, tree: &Tree) -> Result<Stage> {
        let (n, mu, control) = (self.x.n_samples(), self.config.learning_rate, self.control);
        let by_leaf = RowsByLeaf::new(&self.rows, &self.walk.leaves(tree, control)?, tree.n_leaves())?;
        let leaves =
            Leaves::new(&by_leaf.order, try_collected(LEAVES, by_leaf.ranges.iter().cloned())?, &self.weights)?;
        if booster.train.held_scores().is_some() {
            // Bounds of the negative gradients are a by-product.
            booster.aim(&Projector::Identity(booster.train.data.width), &mut Vec::new(), control)?;
        }
        let is_rank_one = self.problem.combine == Combine::RankOne;
        let number = |&leaf: &u32| tree.leaves.cells(leaf as usize).map(|(_, value)| value).sum();
        let numbers = || try_collected(LEAVES, by_leaf.leaves.iter().map(number));
        let (values, steps) = booster.train.fit_leaves(numbers, &leaves, self.config.leaf_fit(), control)?;
        let steps = self.problem.step_dtype.cut(steps);
        let direction = try_collected("the steps of a stage", steps.iter().map(|step| mu * step))?;
        let (kept, table) = contributions(&values, &steps, mu)?;
        let leaf_of = leaves.of_rows(n)?;
        let tree = if is_rank_one { tree.try_clone()? } else { tree.with_leaves(by_leaf.table(&kept, &tree.leaves)?)? };
        let update = update(leaf_of, &values, &table, &direction);
        let losses = booster.advance(Some(update), None, &mut Vec::new(), None, control)?;
        Ok(Stage { tree, steps, losses, validation_loss: None })
    }

    /// Adds a stage to the model, and returns its training and validation losses.
    fn record(&self, grown: &mut Boosted, stages: Vec<Stage>) -> Result<(f64, Option<f64>)> {
        let validation_loss = self.mean_of_known(stages.iter().map(|stage| stage.validation_loss));
        let train_loss = self.mean_of_known(stages.iter().map(|stage| stage.losses.all)).unwrap_or(0.0);
        grown.record_oob(self.mean_of_known(stages.iter().map(|stage| stage.losses.out_of_bag)));
        grown.train_score.push(train_loss);
        grown.validation_score.extend(validation_loss);
        let n_trees = stages.len();
        for Stage { tree, steps, .. } in stages {
            try_push(STAGES, &mut grown.trees, Arc::new(tree))?;
            grown.step_sizes.extend(steps)?;
        }
        grown.check_last_stage(n_trees)?;
        Ok((train_loss, validation_loss))
    }

    /// Returns the weighted mean of the losses, of scores that are boosted separately, that are not missing: those of
    /// columns that have a known cell, or none if there are no such samples.
    fn mean_of_known(&self, losses: impl Iterator<Item = Option<f64>>) -> Option<f64> {
        let of_share = |t: usize, loss: Option<f64>| loss.map(|loss| (self.problem.share_of(t), loss));
        let known = losses.enumerate().filter_map(|(t, loss)| of_share(t, loss));
        let (total, sum) = known.fold((0.0, 0.0), |(total, sum), (share, loss)| (total + share, sum + share * loss));
        (total > 0.0).then(|| sum / total)
    }
}

/// Returns a mask of `n_samples` values that is true for `rows`.
pub(super) fn in_bag(rows: &[u32], n_samples: usize) -> Result<Vec<bool>> {
    let mut inside = try_filled("the rows of a stage", false, n_samples)?;
    rows.iter().for_each(|&row| inside[row as usize] = true);
    Ok(inside)
}

/// Returns those of `rows` that are drawn at least once.
pub(super) fn drawn(rows: &[u32], counts: &[u32]) -> Result<Vec<u32>> {
    let is_drawn = |row: &u32| counts[*row as usize] > 0;
    let mut drawn = try_with_capacity("the rows of a stage", rows.iter().filter(|row| is_drawn(row)).count())?;
    drawn.extend(rows.iter().copied().filter(is_drawn));
    Ok(drawn)
}
