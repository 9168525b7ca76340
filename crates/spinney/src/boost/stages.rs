//! The stage loop.
//!
//! A stage: rows are drawn; negative gradients, or projections of them, become the targets of a tree; the tree's leaves and
//! the steps of all scores follow from sums over its leaves; the scores of all rows are updated, by leaf, never by
//! walking where the row took part. The sweep that updates also computes the targets of the next stage.
//!
//! Stage m is a function of (data, parameters, seed, m, the scores), so a model may be grown in parts.

use std::sync::Arc;

use super::config::{BoostConfig, OutputStrategy};
use super::fit::{Validation, is_over, least};
use super::loss::LossKind;
use super::low_rank::LowRank;
use super::model::{Boosted, Combine};
use super::problem::{Problem, column, in_columns, starts};
use super::projector::Projector;
use super::start::start;
use super::state::{Data, Leaves, State};
use super::steps::Weak;
use super::track::{Contribution, Fitted, Scores, Side, Track};
use super::vector::Score;
use crate::config::{Criterion, Sampling, TreeConfig};
use crate::control::Control;
use crate::criterion::variance::RealTargets;
use crate::data::{Matrix, Outputs, Targets, Weights};
use crate::error::{Result, try_collected, try_extend, try_filled, try_push, try_results, try_with_capacity};
use crate::forest::bootstrap::{Urn, tree_key};
use crate::forest::rows::Rows;
use crate::pool;
use crate::projection::{Projection, ProjectionMatrix, principal};
use crate::rng::Key;
use crate::split::dispatch::SplitY;
use crate::tree::Tree;
use crate::tree::fill::exact_mean;
use crate::tree::grower::{Grower, Sample};
use crate::tree::leaves::LeafTableBuilder;

/// The arguments of a fit.
pub(super) struct Fitting<'f> {
    pub(super) config: &'f BoostConfig,
    pub(super) problem: Problem<'f>,
    pub(super) x: &'f Matrix<'f>,
    pub(super) y: &'f Targets<'f>,
    pub(super) sample_weight: Option<&'f [f64]>,
    pub(super) validation: Option<&'f Validation<'f>>,
    pub(super) control: &'f Control,
}

/// What all stages share.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    grower: Grower<'a>,
    tree: TreeConfig,
    weights: Weights,
    urn: Urn,
    sampling: Sampling,
    /// Rows of positive weight, rising.
    pub(super) rows: Vec<u32>,
    pub(super) n_samples: usize,
    /// To find the leaves of rows that a stage is not fitted on.
    walk: Rows<'a>,
    walk_validation: Option<Rows<'a>>,
}

/// What a stage of one track is grown with.
#[derive(Clone, Copy)]
struct Turn<'t> {
    /// On which it is fitted.
    rows: &'t [u32],
    key: Key,
    control: &'t Control,
}

/// A finished stage of one track.
#[derive(Debug)]
struct Finished {
    tree: Tree,
    steps: Vec<f64>,
    loss: f64,
    validation_loss: Option<f64>,
}

const STAGES: &str = "the stages of a model";

/// Purpose of a stage's key.
const GROWTH: u64 = 1;

impl Fitting<'_> {
    /// Grows the model, on top of `model` where there is one.
    pub(super) fn fit<T: Score>(&self, model: Option<&Boosted>) -> Result<Boosted> {
        let (config, control, width) = (self.config, self.control, self.problem.width);
        let single = self.problem.combine == Combine::Columns;
        let y = self.columns(self.y, single)?;
        let y_validation = self.validation.map(|v| self.columns(&v.y, single)).transpose()?;
        let shared = self.shared()?;
        let mut tracks = Vec::new();
        for (t, y) in y.iter().enumerate() {
            let validation = match (self.validation, &y_validation) {
                (Some(v), Some(y)) => Some(self.data::<T>(&y[t], Weights::of_rows(v.sample_weight, v.x.n_samples())?)?),
                _ => None,
            };
            let data = self.data::<T>(y, shared.weights.try_clone()?)?;
            try_push("the columns of y", &mut tracks, self.track(data, validation, &shared)?)?;
        }
        let empty = || Boosted::empty(&self.problem, self.x.n_features(), config.learning_rate);
        let mut grown = model.map_or_else(|| Ok(empty()), |model| model.truncated(model.n_stages()))?;
        grown.start = Vec::new();
        for track in &tracks {
            try_extend("the constants that boosting starts from", &mut grown.start, track.start.iter().copied())?;
        }
        if let Some(model) = model {
            // Those of the rows that are held out now, if any are.
            grown.validation_score.clear();
            for stage in 0..model.n_stages() {
                control.check()?;
                let loss = self.replay(model, stage, &shared, &mut tracks)?;
                grown.validation_score.extend(loss);
            }
        }
        let fixed = self.fixed_projection(&y, &shared)?;
        let first = grown.n_stages();
        let mut targets = Vec::new();
        if let ([track], true) = (tracks.as_mut_slice(), first < config.n_estimators) {
            let projector = config.projector(first, width, fixed.as_ref(), control)?;
            track.aim(&projector, &mut targets, control)?;
        }
        for stage in first..config.n_estimators {
            control.check()?;
            let key = tree_key(config.seed, stage);
            let drawn = shared.draw(key)?;
            let rows = drawn.as_deref().unwrap_or(&shared.rows);
            let fitted = if single {
                let one = if tracks.len() > 1 { Control::clone(control).on_one_thread() } else { control.clone() };
                let mut slots: Vec<Option<Finished>> = try_collected(STAGES, tracks.iter().map(|_| None))?;
                let jobs = tracks.iter_mut().zip(&mut slots).enumerate();
                pool::for_each(
                    control.n_threads(),
                    jobs,
                    || Ok(Vec::new()),
                    |targets, (j, (track, slot))| {
                        track.aim(&Projector::Identity(1), targets, &one)?;
                        let turn = Turn { rows, key: tree_key(config.seed, stage * width + j), control: &one };
                        *slot = Some(self.stage(track, turn, targets, None, &shared)?);
                        Ok(())
                    },
                )?;
                try_collected(STAGES, slots.into_iter().map(|slot| slot.expect("every track has had its turn")))?
            } else {
                let next = stage + 1 < config.n_estimators;
                let next = next.then(|| config.projector(stage + 1, width, fixed.as_ref(), control)).transpose()?;
                let turn = Turn { rows, key, control };
                vec![self.stage(&mut tracks[0], turn, &mut targets, next.as_ref(), &shared)?]
            };
            self.record(&mut grown, fitted)?;
            control.one_more_done();
            if is_over(config, &grown.validation_score) {
                break;
            }
        }
        if config.n_iter_no_change.is_some() { grown.truncated(least(&grown.validation_score) + 1) } else { Ok(grown) }
    }

    /// y with a column for each score; for single targets, each column apart.
    fn columns<'y>(&self, y: &'y Targets<'_>, single: bool) -> Result<Vec<Targets<'y>>> {
        if !single {
            return Ok(vec![in_columns(y)?]);
        }
        let starts = match &self.problem.outputs {
            Outputs::Classes { n_classes } => starts(n_classes)?,
            _ => Vec::new(),
        };
        try_results("the columns of y", (0..self.problem.width).map(|j| column(y, &starts, j)))
    }

    fn shared(&self) -> Result<Shared<'_>> {
        let n = self.x.n_samples();
        let n_rows = self.sample_weight.map_or(n, |w| w.iter().filter(|&&w| w > 0.0).count());
        let sampling = if self.config.subsample < 1.0 {
            Sampling::WithoutReplacement(((self.config.subsample * n_rows as f64) as usize).max(1))
        } else {
            Sampling::All
        };
        let urn = Urn::new(self.x, self.sample_weight, sampling)?;
        urn.check(sampling)?;
        let tree = TreeConfig { criterion: Criterion::Variance, output_projection: None, ..self.config.tree.clone() };
        let weights = Weights::of_rows(self.sample_weight, n)?;
        let rows = urn.rows_rising()?;
        let walk = |x| Rows::new(x, self.x.n_features());
        Ok(Shared {
            grower: Grower::binned(&tree, self.x, self.config.max_bins, |row| weights.units(row), self.control)?,
            tree,
            weights,
            urn,
            sampling,
            rows,
            n_samples: n,
            walk: walk(self.x)?,
            walk_validation: self.validation.map(|v| walk(&v.x)).transpose()?,
        })
    }

    fn data<'y, T: Score>(&self, y: &'y Targets<'_>, weights: Weights) -> Result<Data<'y, T>> {
        let loss = self.problem.rows::<T>()?;
        let width = if self.problem.combine == Combine::Columns { 1 } else { self.problem.width };
        Ok(Data { n_samples: y.n_samples(), y: SplitY::new(y)?, loss, weights, width })
    }

    fn track<'y, T: Score>(
        &self,
        data: Data<'y, T>,
        validation: Option<Data<'y, T>>,
        shared: &Shared<'_>,
    ) -> Result<Track<'y, T>> {
        let start = start(&data, self.problem.kind, self.problem.softmax.as_deref(), &shared.rows)?;
        let low_rank = self.problem.combine == Combine::RankOne
            && matches!(self.problem.kind, LossKind::SquaredError)
            && matches!(data.y, SplitY::Slots(_));
        let side = |data: Data<'y, T>| -> Result<Side<'y, T>> {
            let scores = if low_rank {
                Scores::LowRank(LowRank::new(&data, &start)?)
            } else {
                Scores::Dense(State::new(&start, data.n_samples, self.control)?)
            };
            Ok(Side { data, scores })
        };
        let (train, validation) = (side(data)?, validation.map(side).transpose()?);
        Ok(Track { train, validation, start, bounds: Vec::new() })
    }

    /// The projection of all stages, where there is one.
    fn fixed_projection(&self, y: &[Targets<'_>], shared: &Shared<'_>) -> Result<Option<ProjectionMatrix>> {
        let OutputStrategy::Projected { projection: family @ Projection::Pca, n_projections, .. } =
            &self.config.strategy
        else {
            return Ok(None);
        };
        let q = family.resolve(self.problem.width, *n_projections)?;
        let y = SplitY::new(&y[0])?;
        let (n, weights) = (shared.n_samples, self.sample_weight);
        principal(&y, self.problem.width, q, weights, n, &shared.rows, self.control).map(Some)
    }

    /// Fits a stage of one track to `targets`, and updates the scores; `targets` are then those of the next stage.
    fn stage<T: Score>(
        &self,
        track: &mut Track<'_, T>,
        Turn { rows, key, control }: Turn<'_>,
        targets: &mut Vec<f64>,
        next: Option<&Projector>,
        shared: &Shared<'_>,
    ) -> Result<Finished> {
        let n_targets = targets.len() / shared.n_samples;
        let y = SplitY::Real(RealTargets { values: targets.as_slice().into(), n_outputs: n_targets });
        let in_bag = shared.in_bag(rows)?;
        let units = |row: usize| if in_bag.as_ref().is_none_or(|bag| bag[row]) { shared.weights.units(row) } else { 0 };
        let sample = Sample::new(rows, shared.n_samples, units, shared.weights.exact, &y)?;
        let structure =
            shared.grower.structure(&shared.tree, &y, Criterion::Variance, &sample, key.child(GROWTH), control)?;
        let leaves = Leaves::of_tree(&structure, &shared.weights)?;
        let mean = |leaf| exact_mean(leaves.rows(leaf).iter().map(|&r| (targets[r as usize], units(r as usize))));
        let is_rank_one = self.problem.combine == Combine::RankOne;
        let values = is_rank_one.then(|| try_collected("the leaves of a stage", (0..leaves.len()).map(mean)));
        let values = values.transpose()?;
        let Fitted { weak, steps, products } = track.fit_leaves(self, &leaves, values, control)?;
        let steps = self.problem.step_dtype.cut(steps);
        let mu = self.config.learning_rate;
        let width = track.train.data.width;
        let mut table = Vec::new();
        let direction = try_collected("the steps of a stage", steps.iter().map(|step| mu * step))?;
        let leaf_values = match &weak {
            Weak::Table(g) => {
                let mut builder = LeafTableBuilder::new(width);
                table = try_filled("the contributions of a stage", T::from_f64(0.0), g.len())?;
                let mut contributions = try_filled("the contributions of a stage", 0.0, width)?;
                for (g, row) in g.chunks_exact(width).zip(table.chunks_exact_mut(width)) {
                    for ((sum, g), step) in contributions.iter_mut().zip(g).zip(&steps) {
                        *sum = mu * (step * g);
                    }
                    row.iter_mut().zip(&contributions).for_each(|(value, &sum)| *value = T::from_f64(sum));
                    builder.push_means(&contributions)?;
                }
                builder.finish()?
            }
            Weak::Scalars(g) => {
                let mut builder = LeafTableBuilder::new(1);
                g.iter().try_for_each(|&g| builder.push_means(&[g]))?;
                builder.finish()?
            }
        };
        // Rows that took part lie in their leaves; with others besides, all are walked.
        let known = in_bag.is_none().then(|| leaves.of_rows(shared.n_samples)).transpose()?;
        let outputs = Outputs::Real { n_outputs: leaf_values.width() };
        let tree =
            structure.into_tree(leaf_values, shared.weights.unit, self.x.n_features(), outputs, Criterion::Variance);
        let leaf_of = known.map_or_else(|| shared.walk.leaves(&tree, control), Ok)?;
        let products = products.as_deref().filter(|_| in_bag.is_none());
        let contribution = Contribution { weak: &weak, table: &table, direction: &direction, products };
        let loss = track.advance(contribution, leaf_of, next, targets, control)?;
        let validation_loss = shared.advance_validation(track, contribution, &tree, control)?;
        Ok(Finished { tree, steps, loss, validation_loss })
    }

    /// Brings the scores to where they were after `stage` of `model`, and returns the validation loss there, if there are
    /// such rows.
    fn replay<T: Score>(
        &self,
        model: &Boosted,
        stage: usize,
        shared: &Shared<'_>,
        tracks: &mut [Track<'_, T>],
    ) -> Result<Option<f64>> {
        let n_tracks = tracks.len();
        let mut losses = Vec::new();
        for (t, track) in tracks.iter_mut().enumerate() {
            let tree = &model.trees[stage * n_tracks + t];
            let width = track.train.data.width;
            let steps = model.step_sizes.of_stage(stage, model.width).skip(t).take(width);
            let direction = try_collected("the steps of a stage", steps.map(|step| model.learning_rate * step))?;
            let columns = tree.leaves.width();
            let mut values = try_filled("the leaves of a stage", 0.0, tree.n_leaves() * columns)?;
            values.chunks_exact_mut(columns).enumerate().for_each(|(leaf, row)| tree.leaves.add_to(leaf, row));
            let (weak, table) = if self.problem.combine == Combine::RankOne {
                (Weak::Scalars(values), Vec::new())
            } else {
                let table = try_collected("the leaves of a stage", values.iter().map(|&value| T::from_f64(value)))?;
                (Weak::Table(values), table)
            };
            let contribution = Contribution { weak: &weak, table: &table, direction: &direction, products: None };
            let leaf_of = shared.walk.leaves(tree, self.control)?;
            track.advance(contribution, leaf_of, None, &mut Vec::new(), self.control)?;
            losses.push(shared.advance_validation(track, contribution, tree, self.control)?);
        }
        Ok(mean(losses.into_iter()))
    }

    fn record(&self, grown: &mut Boosted, fitted: Vec<Finished>) -> Result<()> {
        grown.train_score.extend(mean(fitted.iter().map(|f| Some(f.loss))));
        grown.validation_score.extend(mean(fitted.iter().map(|f| f.validation_loss)));
        for Finished { tree, steps, .. } in fitted {
            try_push(STAGES, &mut grown.trees, Arc::new(tree))?;
            grown.step_sizes.extend(steps)?;
        }
        Ok(())
    }
}

/// Mean of the losses of tracks, where they have one.
fn mean(losses: impl ExactSizeIterator<Item = Option<f64>>) -> Option<f64> {
    let n_tracks = losses.len() as f64;
    losses.sum::<Option<f64>>().map(|sum| sum / n_tracks)
}

/// Those of `rows` that are drawn.
pub(super) fn drawn(rows: &[u32], counts: &[u32]) -> Result<Vec<u32>> {
    let is_drawn = |row: &u32| counts[*row as usize] > 0;
    let mut drawn = try_with_capacity("the rows of a stage", rows.iter().filter(|row| is_drawn(row)).count())?;
    drawn.extend(rows.iter().copied().filter(is_drawn));
    Ok(drawn)
}

impl Shared<'_> {
    /// Rows of a stage; `None` for all.
    fn draw(&self, key: Key) -> Result<Option<Vec<u32>>> {
        let counts = self.urn.draw(self.sampling, self.n_samples, key)?;
        counts.map(|counts| drawn(&self.rows, &counts)).transpose()
    }

    /// Updates the scores of validation rows and returns their loss, if there are any.
    fn advance_validation<T: Score>(
        &self,
        track: &mut Track<'_, T>,
        contribution: Contribution<'_, T>,
        tree: &Tree,
        control: &Control,
    ) -> Result<Option<f64>> {
        let (Some(side), Some(walk)) = (&mut track.validation, &self.walk_validation) else { return Ok(None) };
        let contribution = Contribution { products: None, ..contribution };
        Ok(Some(side.advance(contribution, walk.leaves(tree, control)?, None, &mut [], control)?.loss))
    }

    /// Which rows these are; `None` when all that exist.
    fn in_bag(&self, rows: &[u32]) -> Result<Option<Vec<bool>>> {
        if rows.len() == self.rows.len() {
            return Ok(None);
        }
        let mut inside = try_filled("the rows of a stage", false, self.n_samples)?;
        rows.iter().for_each(|&row| inside[row as usize] = true);
        Ok(Some(inside))
    }
}
