//! Stages of trees.
//!
//! [`Trees::stage`] is one stage, from its targets to those of the next stage.

use std::ops::ControlFlow;

use super::cells::{self, Known};
use super::leaves::{Fit, Leaves, RowsByLeaf};
use super::model::Boosted;
use super::model::Combine;
use super::observer::{StageObserver, StageReport};
use super::projector::Projector;
use super::scores::booster::Booster;
use super::scores::{Scored, Scores};
use super::so_far::ScoresSoFar;
use super::stages::{Drawn, Fitting, Learner, Stage, with_kind};
use crate::control::Control;
use crate::criterion::Criterion;
use crate::data::train_y::{RealTargets, TrainY};
use crate::data::{Matrix, Outputs, Targets};
use crate::error::{Purpose, Result};
use crate::exact::exact_means_of_all;
use crate::forest::bootstrap::tree_key;
use crate::loss::kernels::float::Float;
use crate::pool;
use crate::rng::Key;
use crate::rounds::{Unobserved, rounds};
use crate::tree::Tree;
use crate::tree::config::TreeConfig;
use crate::tree::constraints::MonotonicColumns;
use crate::tree::growth::grower::{Grower, Sample, TreeTargets};
use crate::tree::rows::Rows;

/// What the trees of all stages are grown from.
#[derive(Debug)]
pub(super) struct Trees<'f> {
    pub(super) fitting: &'f Fitting<'f>,
    pub(super) grower: Grower<'f>,
    /// The number of features that each tree may use.
    pub(super) n_of_tree: usize,
    pub(super) tree: TreeConfig,
    /// The monotonic constraints for the scores of each booster; empty if no feature has a constraint.
    monotonic: Vec<Option<MonotonicColumns>>,
    /// The samples in a form in which they can be sent down a tree, to find the leaves of samples to which a stage was
    /// not fitted.
    walk: Rows<'f>,
    walk_validation: Option<Rows<'f>>,
    /// What a fit on known cells reads; `None` if scores are those of all cells.
    known: Option<Known<'f>>,
}

/// A fit of trees, which may add stages to a model.
struct Growing<'t, 'f> {
    trees: &'t Trees<'f>,
    model: Option<&'t Boosted>,
    so_far: Option<&'t mut ScoresSoFar>,
    observer: &'t mut dyn StageObserver,
}

const STAGES: Purpose = Purpose("the stages of a model");
const LEAVES: Purpose = Purpose("the leaves of a stage");

/// Purposes of the key of a stage.
pub(super) const GROWTH: u64 = 1;
pub(super) const FEATURES: u64 = 2;

impl Learner for Growing<'_, '_> {
    fn model(&self) -> Option<&Boosted> {
        self.model
    }

    fn resume<'y, T: Float, S: Scores<'y, T>>(
        &mut self,
        fitting: &Fitting<'_>,
        boosters: &mut [Booster<'y, T, S>],
    ) -> Result<Option<Boosted>> {
        let Some(model) = self.model else { return Ok(None) };
        let mut grown = model.truncated(model.n_stages())?;
        if self.so_far.as_ref().is_some_and(|so_far| so_far.restore(model, boosters)) {
            return Ok(Some(grown));
        }
        // The validation losses are those of the current held-out samples, if there are any.
        grown.validation_score.clear();
        for stage in 0..model.n_stages() {
            fitting.control.check()?;
            grown.validation_score.extend(self.trees.replay(model, stage, boosters)?);
        }
        Ok(Some(grown))
    }

    fn stages<'y, T: Float, S: Scores<'y, T>>(
        &mut self,
        fitting: &Fitting<'_>,
        stage: usize,
        drawn: Drawn<'_>,
        boosters: &mut [Booster<'y, T, S>],
        targets: &mut Vec<f64>,
        next: Option<&Projector>,
    ) -> Result<Vec<Stage>> {
        let trees = self.trees;
        if let [booster] = boosters {
            let key = tree_key(fitting.config.seed, stage);
            let stage = || trees.stage((0, booster), drawn, key, targets, next, fitting.control);
            return Ok(vec![pool::within(fitting.control.n_threads(), stage)?]);
        }
        // Single targets: all scores independently, in parallel. If there are fewer scores than threads, each has several.
        let own = fitting.control.shared_by(boosters.len());
        let mut slots: Vec<Option<Stage>> = STAGES.collected(boosters.iter().map(|_| None))?;
        let jobs = boosters.iter_mut().zip(&mut slots).enumerate();
        let n_threads = fitting.weights.workers().n_threads(fitting.control.n_threads());
        let fit_all = || {
            pool::for_each(
                n_threads,
                jobs,
                || Ok(Vec::new()),
                |targets, (j, (booster, slot))| {
                    booster.aim(&Projector::Identity(1), targets, &own)?;
                    let key = tree_key(fitting.config.seed, stage * fitting.problem.width + j);
                    // A sample whose y is unknown is left out. If no sample is left, the tree is a leaf that adds nothing.
                    let known = booster.train.data.known_rows(drawn.rows)?.filter(|known| !known.is_empty());
                    let own_weights = fitting.own_weights(j, drawn)?;
                    let drawn = Drawn { rows: known.as_deref().unwrap_or(drawn.rows), ..drawn.with(&own_weights) };
                    *slot = Some(trees.stage((j, booster), drawn, key, targets, None, &own)?);
                    Ok(())
                },
            )
        };
        pool::within(n_threads, fit_all)?;
        STAGES.collected(slots.into_iter().map(|slot| slot.expect("every score has had its stage")))
    }

    fn wants_scores(&self) -> bool {
        self.observer.wants_scores()
    }

    fn after(&mut self, report: &StageReport<'_>) -> Result<ControlFlow<()>> {
        Ok(self.observer.after(report))
    }

    fn finished<'y, T: Float, S: Scores<'y, T>>(
        &mut self,
        grown: &Boosted,
        boosters: &[Booster<'y, T, S>],
    ) -> Result<()> {
        if let Some(so_far) = &mut self.so_far {
            **so_far = ScoresSoFar::after(grown, boosters)?;
        }
        Ok(())
    }

    fn failed(&mut self, done: &Boosted) {
        self.observer.failed(done);
    }
}

impl<'f> Trees<'f> {
    /// `x` are the training samples, `categories` tell which features are categories if there are any, and `held_out`
    /// are the held-out samples. `known` has the known cells if scores are theirs alone.
    pub(super) fn new(
        fitting: &'f Fitting<'f>,
        x: &'f Matrix<'f>,
        categories: Option<Vec<bool>>,
        held_out: Option<&'f Matrix<'f>>,
        known: Option<Known<'f>>,
    ) -> Result<Self> {
        let (config, control, width) = (fitting.config, fitting.control, fitting.problem.width);
        let tree = TreeConfig { criterion: Criterion::OF_GRADIENTS, output_projection: None, ..config.tree.clone() };
        let n_of_tree = config.n_features_of_tree(x.n_features())?;
        let monotonic = match (&tree.monotonic_cst, fitting.problem.combine) {
            (None, _) => Vec::new(),
            (Some(_), Combine::Columns) => {
                let of_score = |score| tree.directions_of_score(score);
                Purpose("the directions of features").results((0..width).map(of_score))?
            }
            (Some(_), _) => vec![tree.directions(&Outputs::Real { n_outputs: width })?],
        };
        let weights = &fitting.weights;
        let units = |row| weights.units(row);
        let grower = Grower::binned_of(
            weights.workers(),
            &tree,
            x,
            (n_of_tree, true),
            config.max_bins,
            categories,
            units,
            control,
        )?;
        let walk = |x: &'f Matrix<'f>| Rows::new(x, x.n_features(), control);
        let (walk, walk_validation) = (walk(x)?, held_out.map(walk).transpose()?);
        Ok(Trees { fitting, grower, n_of_tree, tree, monotonic, walk, walk_validation, known })
    }

    /// Fits the model, starting from `model` if it is given.
    pub(super) fn fit(
        &self,
        model: Option<&Boosted>,
        so_far: Option<&mut ScoresSoFar>,
        observer: &mut dyn StageObserver,
    ) -> Result<Boosted> {
        if let Some(known) = &self.known {
            return cells::fit(self, known, model, observer);
        }
        self.fitting.fit(&mut Growing { trees: self, model, so_far, observer })
    }

    /// Fits a stage to `targets`, which are the negative gradients at the current scores or projections of them, on
    /// some samples, and adds it to the scores. Afterwards, `targets` are those of the next stage.
    fn stage<'y, T: Float, S: Scores<'y, T>>(
        &self,
        (t, booster): (usize, &mut Booster<'y, T, S>),
        drawn: Drawn<'_>,
        key: Key,
        targets: &mut Vec<f64>,
        next: Option<&Projector>,
        control: &Control,
    ) -> Result<Stage> {
        let Fitting { config, n_samples, n_features, .. } = self.fitting;
        let Drawn { rows, weights, .. } = drawn;
        let (n, workers) = (*n_samples, weights.workers());

        // 1. The previous sweep has written the targets (the numbers are those of `boost`). 2. A tree is grown on them.
        let in_bag = self.fitting.in_bag(rows)?;
        let units = |row: usize| if in_bag.as_ref().is_none_or(|bag| bag[row]) { weights.units(row) } else { 0 };
        let curved = booster.train.curvatures(config, rows, targets, control)?;
        let values = curved.as_ref().map_or(&**targets, |curved| curved.ratios());
        let units_of_curvatures = curved.as_ref().map(|curved| curved.units());
        let y = TrainY::Real(RealTargets::new(values, values.len() / n)?.curved(units_of_curvatures));
        let parts = |row: usize| curved.as_ref().map_or(units(row), |curved| curved.parts(row, units(row)));
        let mut sample =
            Sample::new(rows, n, parts, (weights.of_one(), weights.exact), &y, workers, control.n_threads())?;
        if let Some(curved) = &curved {
            // A sample counts towards the minimum weight of a leaf by its second derivative, relative to the largest
            // one.
            sample.of_one = curved.most_parts(weights.of_one());
        }
        let growth = key.child(GROWTH);
        let of_drawn = self.grower.of_drawn(&self.tree, self.n_of_tree, key.child(FEATURES), control)?;
        let grower = of_drawn.as_ref().unwrap_or(&self.grower);
        let monotonic = self.monotonic.get(t).and_then(Option::as_ref);
        let split_targets = TreeTargets { y: &y, criterion: Criterion::OF_GRADIENTS, monotonic };
        let structure = grower.structure(&self.tree, &split_targets, &sample, growth, control)?;
        let leaves = Leaves::of_tree(&structure, weights)?;

        // 3. Its leaves are mean targets, or mean negative gradients of all scores; and there is a step ρ for each
        //    score.
        let of_leaf = |leaf| leaves.rows(leaf).iter().map(|&r| (targets[r as usize], units(r as usize)));
        let means = || exact_means_of_all(leaves.len(), of_leaf, workers, control.n_threads());
        let Scored { data, scores } = &mut booster.train;
        let gradients = scores.held().filter(|held| held.are_targets_gradients).map(|_| &**targets);
        let fit = Fit { data, leaves: &leaves, gradients, config, control };
        let (mut values, mut steps) = scores.fit_leaves(fit, means)?;
        if let Some(monotonic) = monotonic {
            let order = |table: &mut [f64]| monotonic.order_leaves(&structure, &leaves.weights, table, data.width);
            scores.keep_in_order(fit, order, (&mut values, &mut steps))?;
        }

        // What is added to the scores is μ ρ g.
        let (kept, moves) = S::moves(values, &steps, config.learning_rate)?;
        // The leaves of samples that took part are known; if there are other samples, all are sent down the tree.
        let known = in_bag.is_none().then(|| leaves.of_rows(n)).transpose()?;
        let outputs = Outputs::Real { n_outputs: kept.width() };
        let tree = structure.into_tree(kept, weights.unit, *n_features, outputs, Criterion::OF_GRADIENTS);
        let leaf_of = known.map_or_else(|| self.walk.leaves(&tree, control), Ok)?;

        // 4. Scores, losses and the next targets are computed in one sweep.
        let losses =
            booster.advance(Some((leaf_of, &moves)), next, targets, drawn.out_of_bag(in_bag.as_deref()), control)?;
        let validation_loss = self.validate(booster, &tree, &moves, control)?;
        Ok(Stage { tree: Some(tree), steps, losses, validation_loss })
    }

    /// Adds a tree to the scores of the held-out samples and returns their loss; see [`Booster::validate`].
    fn validate<'y, T: Float, S: Scores<'y, T>>(
        &self,
        booster: &mut Booster<'y, T, S>,
        tree: &Tree,
        moves: &S::Moves,
        control: &Control,
    ) -> Result<Option<f64>> {
        let Some(walk) = &self.walk_validation else { return Ok(None) };
        booster.validate(Some((walk.leaves(tree, control)?, moves)), control)
    }

    /// Brings the scores to their values after `stage` of `model`, and returns the validation loss there, if there are
    /// held-out samples.
    fn replay<'y, T: Float, S: Scores<'y, T>>(
        &self,
        model: &Boosted,
        stage: usize,
        boosters: &mut [Booster<'y, T, S>],
    ) -> Result<Option<f64>> {
        let (n_boosters, control) = (boosters.len(), self.fitting.control);
        let mut losses = Vec::new();
        for (t, booster) in boosters.iter_mut().enumerate() {
            let tree = &model.trees[stage * n_boosters + t];
            let direction = model.direction(stage, t..t + booster.train.data.width)?;
            let columns = tree.leaves.width();
            let mut values = LEAVES.filled(0.0, tree.n_leaves() * columns)?;
            values.chunks_exact_mut(columns).enumerate().for_each(|(leaf, row)| tree.leaves.add_to(leaf, row));
            let moves = S::moves_of_tree(values, direction)?;
            let leaf_of = self.walk.leaves(tree, control)?;
            booster.advance(Some((leaf_of, &moves)), None, &mut Vec::new(), None, control)?;
            losses.push(self.validate(booster, tree, &moves, control)?);
        }
        Ok(self.fitting.problem.mean_of_known(losses.into_iter()))
    }

    /// Returns the trees of `model` with leaves that are fitted to these data; see
    /// [`refit_leaves`](super::BoostConfig::refit_leaves).
    pub(super) fn refit(&self, model: &Boosted) -> Result<Boosted> {
        if let Some(known) = &self.known {
            return cells::refit(self, known, model);
        }
        let y = self.fitting.columns(self.fitting.y)?;
        with_kind!(self.fitting, self.refit_columns(&y, model))
    }

    fn refit_columns<'y, T: Float, S: Scores<'y, T>>(
        &'y self,
        y: &'y [Targets<'_>],
        model: &Boosted,
    ) -> Result<Boosted> {
        let fitting = self.fitting;
        let mut boosters = fitting.boosters::<T, S>(y, None, None, false)?;
        // Leaves are found from bounds of the negative gradients, which are a by-product of any targets.
        let bounds = Projector::narrowest(boosters[0].train.data.width)?;
        let mut targets = Vec::new();
        let stored = boosters.iter_mut().filter(|booster| booster.train.scores.held().is_some());
        stored.into_iter().try_for_each(|booster| booster.aim(&bounds, &mut targets, fitting.control))?;
        let mut refitted = Boosted::empty(&fitting.problem, fitting.n_features, fitting.config.learning_rate);
        refitted.start = fitting.start(&boosters)?;
        let n_boosters = boosters.len();
        rounds(0..model.n_stages(), fitting.control, &mut Unobserved, |stage| {
            let mut stages = STAGES.with_capacity(n_boosters)?;
            for (t, booster) in boosters.iter_mut().enumerate() {
                stages.push(self.relabelled(booster, &model.trees[stage * n_boosters + t], &bounds, &mut targets)?);
            }
            fitting.record(&mut refitted, stages)?;
            Ok(ControlFlow::Continue(None))
        })?;
        Ok(refitted)
    }

    /// Computes the leaves and steps of an existing tree, and adds them to the scores.
    fn relabelled<'y, T: Float, S: Scores<'y, T>>(
        &self,
        booster: &mut Booster<'y, T, S>,
        tree: &Tree,
        bounds: &Projector,
        targets: &mut Vec<f64>,
    ) -> Result<Stage> {
        let Fitting { config, control, rows, n_samples, .. } = self.fitting;
        let by_leaf = RowsByLeaf::new(rows, &self.walk.leaves(tree, control)?, tree.n_leaves())?;
        let weights = booster.train.data.weights.try_clone()?;
        let leaves = by_leaf.leaves(&weights)?;
        let number = |&leaf: &u32| tree.leaves.cells(leaf as usize).map(|(_, value)| value).sum();
        let numbers = || LEAVES.collected(by_leaf.reached.iter().map(number));
        let Scored { data, scores } = &mut booster.train;
        let fit = Fit { data, leaves: &leaves, gradients: None, config, control };
        let (values, steps) = scores.fit_leaves(fit, numbers)?;
        let (kept, moves) = S::moves(values, &steps, config.learning_rate)?;
        let moved = Some((leaves.of_rows(*n_samples)?, &moves));
        let next = booster.train.scores.held().is_some().then_some(bounds);
        let losses = booster.advance(moved, next, targets, None, control)?;
        Ok(Stage { tree: Some(S::relabelled(tree, &by_leaf, &kept)?), steps, losses, validation_loss: None })
    }
}
