//! The stage loop.
//!
//! A stage: rows are drawn; negative gradients, or projections of them, become the targets of a tree; the tree's leaves and
//! the steps of all scores follow from sums over its leaves; the scores of all rows are updated, by leaf, never by
//! walking where the row took part. The sweep that updates also computes the targets of the next stage.
//!
//! Stage m is a function of (data, parameters, seed, m, the scores), so a model may be grown in parts.

use std::ops::Range;
use std::sync::Arc;

use super::config::{BoostConfig, OutputStrategy};
use super::loss::LossKind;
use super::loss::rows::{RowLoss, SoftmaxRows};
use super::low_rank::LowRank;
use super::model::{Boosted, Combine, Link};
use super::problem::{column, in_columns, is_binary, n_scores, starts};
use super::projector::Projector;
use super::start::start;
use super::state::{Data, Leaves, State, Update};
use super::steps::{Method, Stage, Weak};
use super::vector::Score;
use crate::config::{Criterion, Sampling, TreeConfig};
use crate::control::Control;
use crate::criterion::variance::RealTargets;
use crate::data::{Matrix, Outputs, Targets, Weights};
use crate::error::{Error, Result, try_filled};
use crate::forest::bootstrap::{Urn, tree_key};
use crate::forest::rows::Rows;
use crate::pool;
use crate::projection::{PROJECTION, Projection, ProjectionMatrix, principal};
use crate::rng::Key;
use crate::split::dispatch::SplitY;
use crate::tree::Tree;
use crate::tree::fill::exact_mean;
use crate::tree::grower::{Grower, Sample};
use crate::tree::leaves::LeafTableBuilder;

/// Rows on which the model is not fitted: they tell when to stop.
#[derive(Clone, Debug)]
pub struct Validation<'a> {
    /// As X.
    pub x: Matrix<'a>,
    /// As y, with the same outputs.
    pub y: Targets<'a>,
    /// One weight for each row.
    pub sample_weight: Option<&'a [f64]>,
}

impl BoostConfig {
    /// Fits the model.
    ///
    /// `x` is (n_samples, n_features), `y` has as many rows, `sample_weight` one number for each. Scores of all rows are held
    /// in memory, n_samples × width float32 for labels and classes and float64 for numbers, but for the squared error
    /// of labels projected without relabelling, which needs the stored labels, one number for each row and stage, and the
    /// model. Dense `x` is held a second time as codes of bins, one byte a value.
    ///
    /// The loss of `validation` is computed after each stage; with `n_iter_no_change` it ends the fit, and the model of
    /// least validation loss is returned.
    ///
    /// Source: Joly (2016), ch. 6; Friedman (2001).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] and [`crate::ErrorKind::Shape`] for bad parameters or data,
    /// [`crate::ErrorKind::OutOfMemory`], and [`crate::ErrorKind::Interrupted`] when `control` is stopped.
    pub fn fit(
        &self,
        x: &Matrix<'_>,
        y: &Targets<'_>,
        sample_weight: Option<&[f64]>,
        validation: Option<&Validation<'_>>,
        control: &Control,
    ) -> Result<Boosted> {
        self.run(None, x, y, sample_weight, validation, control)
    }

    /// Adds stages `model.n_stages()..self.n_estimators` to a model: with the same data and parameters the result is that of
    /// [`BoostConfig::fit`].
    ///
    /// # Errors
    /// As [`BoostConfig::fit`]; [`crate::ErrorKind::Invalid`] when the model has other features, outputs or strategy, or
    /// more stages.
    pub fn fit_more(
        &self,
        model: &Boosted,
        x: &Matrix<'_>,
        y: &Targets<'_>,
        sample_weight: Option<&[f64]>,
        validation: Option<&Validation<'_>>,
        control: &Control,
    ) -> Result<Boosted> {
        self.run(Some(model), x, y, sample_weight, validation, control)
    }

    fn run(
        &self,
        model: Option<&Boosted>,
        x: &Matrix<'_>,
        y: &Targets<'_>,
        sample_weight: Option<&[f64]>,
        validation: Option<&Validation<'_>>,
        control: &Control,
    ) -> Result<Boosted> {
        check_data("X", x, y, sample_weight)?;
        let outputs = y.outputs();
        if let Some(validation) = validation {
            check_data("X of the validation set", &validation.x, &validation.y, validation.sample_weight)?;
            if validation.x.n_features() != x.n_features() {
                let (expected, got) = (x.n_features(), validation.x.n_features());
                return Err(Error::shape("each row of X of the validation set", expected, got));
            }
            if validation.y.outputs() != outputs {
                return Err(Error::invalid("y of the validation set", "of other outputs", "the outputs of y"));
            }
        } else if self.n_iter_no_change.is_some() {
            return Err(Error::invalid("validation", "None", "a validation set, as n_iter_no_change is given"));
        }
        self.check(&outputs, n_scores(&outputs))?;
        let problem = Problem::new(self, outputs);
        if let Some(model) = model {
            problem.check_model(self, model, x)?;
        }
        let (x, y) = (x.view(), y.view());
        let validation =
            validation.map(|v| Validation { x: v.x.view(), y: v.y.view(), sample_weight: v.sample_weight });
        let data =
            Fitting { config: self, problem, x: &x, y: &y, sample_weight, validation: validation.as_ref(), control };
        if data.problem.is_narrow() { data.fit::<f32>(model) } else { data.fit::<f64>(model) }
    }
}

impl BoostConfig {
    /// What stage `stage` is fitted to.
    pub(super) fn projector(
        &self,
        stage: usize,
        width: usize,
        fixed: Option<&ProjectionMatrix>,
        control: &Control,
    ) -> Result<Projector> {
        let drawn;
        let matrix = match &self.strategy {
            OutputStrategy::Projected { projection, n_projections, .. } if width > 1 => match (projection, fixed) {
                (_, Some(matrix)) => matrix,
                (Projection::Given(matrices), _) => match matrices.as_slice() {
                    [matrix] => matrix,
                    each if each.len() == self.n_estimators => &each[stage],
                    other => {
                        let expected = self.n_estimators;
                        return Err(Error::shape("matrices of output_projection", expected, other.len()));
                    }
                },
                (family, None) => {
                    let q = family.resolve(width, *n_projections)?;
                    let key = tree_key(self.seed, stage).child(PROJECTION);
                    drawn = family.draw_random(width, q, key, control)?;
                    &drawn
                }
            },
            _ => return Ok(Projector::Identity(width)),
        };
        Projector::new(matrix, control)
    }
}

fn check_data(what: &'static str, x: &Matrix<'_>, y: &Targets<'_>, sample_weight: Option<&[f64]>) -> Result<()> {
    if x.n_samples() == 0 {
        return Err(Error::invalid(what, "0 rows long", "at least one sample"));
    }
    if x.n_features() == 0 {
        return Err(Error::invalid(what, "0 columns wide", "at least one feature"));
    }
    x.check()?;
    y.check(x.n_samples())?;
    Weights::check(sample_weight, x.n_samples())
}

/// What loss, outputs and strategy make together.
#[derive(Debug)]
pub(super) struct Problem<'a> {
    pub(super) kind: &'a LossKind,
    pub(super) outputs: Outputs,
    pub(super) width: usize,
    pub(super) combine: Combine,
    pub(super) link: Link,
    /// First column of each output of classes, where all columns of an output share one loss.
    pub(super) softmax: Option<Vec<usize>>,
}

impl<'a> Problem<'a> {
    pub(super) fn new(config: &'a BoostConfig, outputs: Outputs) -> Self {
        let width = n_scores(&outputs);
        let single = matches!(config.strategy, OutputStrategy::SingleTarget);
        let combine = match config.strategy {
            OutputStrategy::SingleTarget if width > 1 => Combine::Columns,
            // With one score all strategies are one.
            OutputStrategy::Projected { relabel: false, .. } if width > 1 => Combine::RankOne,
            _ => Combine::Leaves,
        };
        let link = Link::new(&config.loss, &outputs, single);
        let softmax = match &outputs {
            Outputs::Classes { n_classes } if link == Link::Softmax && !is_binary(n_classes) => Some(starts(n_classes)),
            _ => None,
        };
        Problem { kind: &config.loss, outputs, width, combine, link, softmax }
    }

    /// Whether scores are float32.
    pub(super) fn is_narrow(&self) -> bool {
        let bounded = matches!(self.kind, LossKind::LogLoss | LossKind::Hinge);
        bounded && !matches!(self.outputs, Outputs::Real { .. })
    }

    /// The loss of rows.
    pub(super) fn rows<T: Score>(&self) -> Box<dyn RowLoss<T>> {
        match &self.softmax {
            Some(starts) => Box::new(SoftmaxRows { starts: starts.clone() }),
            None => T::rows_of(self.kind),
        }
    }

    pub(super) fn method(&self) -> Method {
        match self.kind {
            _ if self.softmax.is_some() => Method::Softmax,
            LossKind::SquaredError => Method::SquaredError,
            LossKind::LogLoss => Method::LogLoss,
            _ => Method::Columns,
        }
    }

    fn check_model(&self, config: &BoostConfig, model: &Boosted, x: &Matrix<'_>) -> Result<()> {
        const WHAT: &str = "model";
        if model.n_features != x.n_features() {
            return Err(Error::shape("each row of X", model.n_features, x.n_features()));
        }
        if model.outputs != self.outputs {
            return Err(Error::invalid(WHAT, "of other outputs", "one of the same outputs and classes"));
        }
        if model.combine != self.combine || model.link != self.link {
            return Err(Error::invalid(WHAT, "of another strategy or loss", "one of the same strategy and loss"));
        }
        if model.n_stages() > config.n_estimators {
            let accepted = "at least the number of stages of the model";
            return Err(Error::invalid("n_estimators", config.n_estimators, accepted));
        }
        Ok(())
    }
}

/// The arguments of a fit.
struct Fitting<'f> {
    config: &'f BoostConfig,
    problem: Problem<'f>,
    x: &'f Matrix<'f>,
    y: &'f Targets<'f>,
    sample_weight: Option<&'f [f64]>,
    validation: Option<&'f Validation<'f>>,
    control: &'f Control,
}

/// What all stages share.
#[derive(Debug)]
struct Shared<'a> {
    grower: Grower<'a>,
    tree: TreeConfig,
    weights: Weights,
    urn: Urn,
    sampling: Sampling,
    /// Rows of positive weight, rising.
    rows: Vec<u32>,
    n_samples: usize,
    /// To find the leaves of rows that a stage is not fitted on.
    walk: Rows<'a>,
    walk_validation: Option<Rows<'a>>,
}

/// Scores that are boosted together: all of them, or one.
#[derive(Debug)]
struct Track<'a, T: Score> {
    data: Data<'a, T>,
    scores: Scores<T>,
    start: Vec<f64>,
    bounds: Vec<T>,
    validation: Option<(Data<'a, T>, Scores<T>)>,
}

/// Scores of rows, held or implied.
#[derive(Debug)]
enum Scores<T> {
    Dense(State<T>),
    LowRank(LowRank),
}

/// A fitted stage of one track.
#[derive(Debug)]
struct Fitted {
    tree: Tree,
    steps: Vec<f64>,
    loss: f64,
    validation_loss: Option<f64>,
}

impl Fitting<'_> {
    fn fit<T: Score>(&self, model: Option<&Boosted>) -> Result<Boosted> {
        let (config, control, width) = (self.config, self.control, self.problem.width);
        let single = self.problem.combine == Combine::Columns;
        let y = self.columns(self.y, single)?;
        let y_validation = self.validation.map(|v| self.columns(&v.y, single)).transpose()?;
        let shared = self.shared()?;
        let mut tracks = Vec::new();
        for (t, y) in y.iter().enumerate() {
            let validation = match (self.validation, &y_validation) {
                (Some(v), Some(y)) => {
                    Some(self.data::<T>(&y[t], Weights::new(v.sample_weight, v.x.n_samples(), v.x.n_samples())?)?)
                }
                _ => None,
            };
            let data = self.data::<T>(y, shared.weights.clone())?;
            tracks.push(self.track(data, validation, &shared)?);
        }
        let mut grown = model.cloned().unwrap_or_else(|| self.empty(&tracks));
        grown.start = tracks.iter().flat_map(|track| track.start.iter().copied()).collect();
        if let Some(model) = model {
            for stage in 0..model.n_stages() {
                control.check()?;
                self.replay(model, stage, &shared, &mut tracks)?;
            }
        }
        let fixed = self.fixed_projection(&y, &shared)?;
        let first = grown.n_stages();
        let mut targets = Vec::new();
        if let ([track], true) = (tracks.as_mut_slice(), first < config.n_estimators) {
            let projector = config.projector(first, width, fixed.as_ref(), control)?;
            track.sweep(None, Some(&projector), &mut targets, &shared, control)?;
        }
        for stage in first..config.n_estimators {
            control.check()?;
            let key = tree_key(config.seed, stage);
            let drawn = shared.draw(key)?;
            let rows = drawn.as_deref().unwrap_or(&shared.rows);
            let fitted = if single {
                let one = if tracks.len() > 1 { Control::clone(control).on_one_thread() } else { control.clone() };
                let mut slots: Vec<Option<Fitted>> = Vec::new();
                slots.resize_with(tracks.len(), || None);
                let jobs = tracks.iter_mut().zip(&mut slots).enumerate();
                pool::for_each(
                    control.n_threads(),
                    jobs,
                    || Ok(Vec::new()),
                    |targets, (j, (track, slot))| {
                        let identity = Projector::Identity(1);
                        track.sweep(None, Some(&identity), targets, &shared, &one)?;
                        let key = tree_key(config.seed, stage * width + j);
                        *slot = Some(self.stage(track, rows, key, targets, None, &shared, &one)?);
                        Ok(())
                    },
                )?;
                slots.into_iter().map(|slot| slot.expect("every track has had its turn")).collect()
            } else {
                let next = stage + 1 < config.n_estimators;
                let next = next.then(|| config.projector(stage + 1, width, fixed.as_ref(), control)).transpose()?;
                vec![self.stage(&mut tracks[0], rows, key, &mut targets, next.as_ref(), &shared, control)?]
            };
            self.record(&mut grown, fitted);
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
            Outputs::Classes { n_classes } => starts(n_classes),
            _ => Vec::new(),
        };
        (0..self.problem.width).map(|j| column(y, &starts, j)).collect()
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
        let weights = Weights::new(self.sample_weight, n, n)?;
        let rows = urn.rows_rising()?;
        let walk = |x| Rows::new(x, self.x.n_features());
        Ok(Shared {
            grower: Grower::new(&tree, self.x, self.control)?,
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
        let loss = self.problem.rows::<T>();
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
        let scores = |data: &Data<'_, T>| -> Result<Scores<T>> {
            Ok(if low_rank {
                Scores::LowRank(LowRank::new(data, &start)?)
            } else {
                Scores::Dense(State::new(&start, data.n_samples, self.control)?)
            })
        };
        Ok(Track {
            scores: scores(&data)?,
            validation: validation.map(|data| Ok::<_, Error>((scores(&data)?, data))).transpose()?.map(|(s, d)| (d, s)),
            data,
            start,
            bounds: Vec::new(),
        })
    }

    fn empty<T: Score>(&self, tracks: &[Track<'_, T>]) -> Boosted {
        Boosted {
            n_features: self.x.n_features(),
            outputs: self.problem.outputs.clone(),
            width: self.problem.width,
            combine: self.problem.combine,
            link: self.problem.link,
            start: tracks.iter().flat_map(|track| track.start.iter().copied()).collect(),
            learning_rate: self.config.learning_rate,
            trees: Vec::new(),
            step_sizes: Vec::new(),
            train_score: Vec::new(),
            validation_score: Vec::new(),
        }
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
    #[allow(clippy::too_many_arguments)]
    fn stage<T: Score>(
        &self,
        track: &mut Track<'_, T>,
        rows: &[u32],
        key: Key,
        targets: &mut Vec<f64>,
        next: Option<&Projector>,
        shared: &Shared<'_>,
        control: &Control,
    ) -> Result<Fitted> {
        let n_targets = targets.len() / shared.n_samples;
        let y = SplitY::Real(RealTargets { values: targets.as_slice().into(), n_outputs: n_targets });
        let in_bag = shared.in_bag(rows)?;
        let units = |row: usize| if in_bag.as_ref().is_none_or(|bag| bag[row]) { shared.weights.units(row) } else { 0 };
        let sample = Sample::new(rows, shared.n_samples, units, shared.weights.exact, &y)?;
        let structure =
            shared.grower.structure(&shared.tree, &y, Criterion::Variance, &sample, key.child(GROWTH), control)?;
        let leaves = Leaves::of_tree(&structure, &shared.weights);
        let values = (self.problem.combine == Combine::RankOne).then(|| {
            let mean = |leaf| exact_mean(leaves.rows(leaf).iter().map(|&r| (targets[r as usize], units(r as usize))));
            (0..leaves.len()).map(mean).collect::<Vec<f64>>()
        });
        let (weak, steps) = track.fit_leaves(self, &leaves, values, control)?;
        let mu = self.config.learning_rate;
        let width = track.data.width;
        let mut table = Vec::new();
        let direction: Vec<f64> = steps.iter().map(|step| mu * step).collect();
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
                    builder.push_means(&contributions);
                }
                builder.finish()?
            }
            Weak::Scalars(g) => {
                let mut builder = LeafTableBuilder::new(1);
                g.iter().for_each(|&g| builder.push_means(&[g]));
                builder.finish()?
            }
        };
        let mut leaf_of = try_filled("the leaves of rows", 0u32, shared.n_samples)?;
        for leaf in 0..leaves.len() {
            leaves.rows(leaf).iter().for_each(|&row| leaf_of[row as usize] = leaf as u32);
        }
        drop(leaves);
        let outputs = Outputs::Real { n_outputs: leaf_values.width() };
        let tree =
            structure.into_tree(leaf_values, shared.weights.unit, self.x.n_features(), outputs, Criterion::Variance);
        if in_bag.is_some() {
            leaf_of = shared.walk.leaves(&tree, control)?;
        }
        let contribution = Contribution { weak: &weak, table: &table, direction: &direction };
        let loss = track.advance(&contribution, &leaf_of, next, targets, shared, control)?;
        let validation_loss = match &shared.walk_validation {
            Some(walk) => Some(track.advance_validation(&contribution, &walk.leaves(&tree, control)?, control)?),
            None => None,
        };
        Ok(Fitted { tree, steps, loss, validation_loss })
    }

    /// Brings the scores to where they were after `stage` of `model`.
    fn replay<T: Score>(
        &self,
        model: &Boosted,
        stage: usize,
        shared: &Shared<'_>,
        tracks: &mut [Track<'_, T>],
    ) -> Result<()> {
        let n_tracks = tracks.len();
        for (t, track) in tracks.iter_mut().enumerate() {
            let tree = &model.trees[stage * n_tracks + t];
            let width = track.data.width;
            let steps = &model.step_sizes[stage * model.width + t..][..width];
            let direction: Vec<f64> = steps.iter().map(|step| model.learning_rate * step).collect();
            let columns = tree.leaves.width();
            let mut values = try_filled("the leaves of a stage", 0.0, tree.n_leaves() * columns)?;
            values.chunks_exact_mut(columns).enumerate().for_each(|(leaf, row)| tree.leaves.add_to(leaf, row));
            let (weak, table) = if self.problem.combine == Combine::RankOne {
                (Weak::Scalars(values), Vec::new())
            } else {
                let table = values.iter().map(|&value| T::from_f64(value)).collect();
                (Weak::Table(values), table)
            };
            let contribution = Contribution { weak: &weak, table: &table, direction: &direction };
            let leaf_of = shared.walk.leaves(tree, self.control)?;
            track.advance(&contribution, &leaf_of, None, &mut Vec::new(), shared, self.control)?;
            if let Some(walk) = &shared.walk_validation {
                track.advance_validation(&contribution, &walk.leaves(tree, self.control)?, self.control)?;
            }
        }
        Ok(())
    }

    fn record(&self, grown: &mut Boosted, fitted: Vec<Fitted>) {
        let n_tracks = fitted.len() as f64;
        grown.train_score.push(fitted.iter().map(|f| f.loss).sum::<f64>() / n_tracks);
        let validation: Option<f64> = fitted.iter().map(|f| f.validation_loss).sum();
        grown.validation_score.extend(validation.map(|sum| sum / n_tracks));
        for Fitted { tree, steps, .. } in fitted {
            grown.trees.push(Arc::new(tree));
            grown.step_sizes.extend(steps);
        }
    }
}

/// Whether the validation loss has not improved for long.
pub(super) fn is_over(config: &BoostConfig, scores: &[f64]) -> bool {
    let Some(patience) = config.n_iter_no_change else { return false };
    let Some(before) = scores.len().checked_sub(patience).filter(|&before| before > 0) else { return false };
    let least = |scores: &[f64]| scores.iter().copied().fold(f64::INFINITY, f64::min);
    least(&scores[before..]) > least(&scores[..before]) - config.tol
}

/// The place of the first least score.
pub(super) fn least(scores: &[f64]) -> usize {
    (0..scores.len()).reduce(|best, i| if scores[i] < scores[best] { i } else { best }).unwrap_or(0)
}

/// Purpose of a stage's key.
const GROWTH: u64 = 1;

/// What a stage adds to the scores of the rows of each leaf.
struct Contribution<'c, T> {
    weak: &'c Weak,
    /// Of leaves that are labelled anew.
    table: &'c [T],
    /// Of leaves that are not.
    direction: &'c [f64],
}

impl<T: Score> Track<'_, T> {
    fn fit_leaves(
        &self,
        fitting: &Fitting<'_>,
        leaves: &Leaves<'_>,
        values: Option<Vec<f64>>,
        control: &Control,
    ) -> Result<(Weak, Vec<f64>)> {
        let state = match &self.scores {
            Scores::LowRank(low_rank) => {
                let values = values.expect("low rank is for one number a leaf");
                let steps = low_rank.steps(&self.data, leaves, &values, control)?;
                return Ok((Weak::Scalars(values), steps));
            }
            Scores::Dense(state) => state,
        };
        let stage = Stage {
            data: &self.data,
            state,
            leaves,
            bounds: &self.bounds,
            kind: fitting.problem.kind,
            method: fitting.problem.method(),
            search: fitting.config.line_search,
            starts: fitting.problem.softmax.as_deref().unwrap_or_default(),
            control,
        };
        match values {
            Some(values) => stage.along(values),
            None => stage.relabel(),
        }
    }

    fn advance(
        &mut self,
        contribution: &Contribution<'_, T>,
        leaf_of: &[u32],
        next: Option<&Projector>,
        targets: &mut Vec<f64>,
        shared: &Shared<'_>,
        control: &Control,
    ) -> Result<f64> {
        if let (Scores::LowRank(low_rank), Weak::Scalars(values)) = (&mut self.scores, contribution.weak) {
            let (order, ranges) = by_leaf(&shared.rows, leaf_of, values.len());
            let leaves = Leaves::new(&order, ranges, &self.data.weights);
            low_rank.take(&self.data, &leaves, leaf_of.to_vec(), values, contribution.direction, control)?;
            return self.sweep(None, next, targets, shared, control);
        }
        let of_rows: Vec<f64>;
        let direction: Vec<T>;
        let update = match contribution.weak {
            Weak::Table(_) => Update::Leaves { leaf_of, table: contribution.table },
            Weak::Scalars(values) => {
                of_rows = leaf_of.iter().map(|&leaf| values[leaf as usize]).collect();
                direction = contribution.direction.iter().map(|&v| T::from_f64(v)).collect();
                Update::RankOne { values: &of_rows, direction: &direction }
            }
        };
        self.sweep(Some(&update), next, targets, shared, control)
    }

    /// Updates the scores and returns their loss; writes the targets of the next stage.
    fn sweep(
        &mut self,
        update: Option<&Update<'_, T>>,
        projector: Option<&Projector>,
        targets: &mut Vec<f64>,
        shared: &Shared<'_>,
        control: &Control,
    ) -> Result<f64> {
        let len = shared.n_samples * projector.map_or(0, Projector::n_targets);
        if targets.len() != len {
            *targets = control.try_filled("the targets of a stage", 0.0, len)?;
        }
        match &mut self.scores {
            Scores::Dense(state) => {
                let swept = state.sweep(&self.data, update, projector, targets, control)?;
                if projector.is_some() {
                    self.bounds = swept.bounds;
                }
                Ok(swept.loss)
            }
            Scores::LowRank(low_rank) => {
                if let Some(projector) = projector {
                    low_rank.project(&self.data, &shared.rows, projector, targets, control)?;
                }
                Ok(low_rank.loss())
            }
        }
    }

    fn advance_validation(
        &mut self,
        contribution: &Contribution<'_, T>,
        leaf_of: &[u32],
        control: &Control,
    ) -> Result<f64> {
        let (data, scores) = self.validation.as_mut().expect("walked for a validation set");
        match (scores, contribution.weak) {
            (Scores::LowRank(low_rank), Weak::Scalars(values)) => {
                let rows: Vec<u32> =
                    (0..data.n_samples as u32).filter(|&row| data.weights.units(row as usize) > 0).collect();
                let (order, ranges) = by_leaf(&rows, leaf_of, values.len());
                let leaves = Leaves::new(&order, ranges, &data.weights);
                low_rank.take(data, &leaves, leaf_of.to_vec(), values, contribution.direction, control)?;
                Ok(low_rank.loss())
            }
            (Scores::Dense(state), Weak::Scalars(values)) => {
                let of_rows: Vec<f64> = leaf_of.iter().map(|&leaf| values[leaf as usize]).collect();
                let direction: Vec<T> = contribution.direction.iter().map(|&v| T::from_f64(v)).collect();
                let update = Update::RankOne { values: &of_rows, direction: &direction };
                Ok(state.sweep(data, Some(&update), None, &mut [], control)?.loss)
            }
            (Scores::Dense(state), Weak::Table(_)) => {
                let update = Update::Leaves { leaf_of, table: contribution.table };
                Ok(state.sweep(data, Some(&update), None, &mut [], control)?.loss)
            }
            (Scores::LowRank(_), Weak::Table(_)) => unreachable!("low rank is for one number a leaf"),
        }
    }
}

impl Shared<'_> {
    /// Rows of a stage; `None` for all.
    fn draw(&self, key: Key) -> Result<Option<Vec<u32>>> {
        let counts = self.urn.draw(self.sampling, self.n_samples, key)?;
        Ok(counts.map(|counts| self.rows.iter().copied().filter(|&row| counts[row as usize] > 0).collect()))
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

/// Rows in the order of their leaves, and where those of each leaf lie.
fn by_leaf(rows: &[u32], leaf_of: &[u32], n_leaves: usize) -> (Vec<u32>, Vec<Range<u32>>) {
    let mut ends = vec![0u32; n_leaves];
    rows.iter().for_each(|&row| ends[leaf_of[row as usize] as usize] += 1);
    let mut end = 0;
    let ranges: Vec<Range<u32>> = ends
        .iter()
        .map(|n| {
            let start = end;
            end += n;
            start..end
        })
        .collect();
    let mut next: Vec<u32> = ranges.iter().map(|range| range.start).collect();
    let mut order = vec![0; rows.len()];
    for &row in rows {
        let place = &mut next[leaf_of[row as usize] as usize];
        order[*place as usize] = row;
        *place += 1;
    }
    (order, ranges)
}
