//! The number of stages by folds: the one with the least mean loss of the samples of each fold.
//!
//! Each fold has a model of the other samples. All folds grow a block of stages before any of them goes on, so that the
//! mean over the folds decides when to stop.

use std::ops::ControlFlow;

use ndarray::ArrayView2;

use super::config::BoostConfig;
use super::model::Boosted;
use super::observer::{StageObserver, StageReport};
use super::so_far::ScoresSoFar;
use super::stopping::Patience;
use super::weak::{ValidationTargets, WeakLearner};
use crate::control::Control;
use crate::data::dataset::Names;
use crate::data::rows::Rows;
use crate::data::{CellWeights, Dataset, RowWeights, Targets};
use crate::error::{Error, Purpose, Result};
use crate::exact::{PowerOfTwo, RoundedOnce, exponent_above};
use crate::folds::Split;
use crate::rounds::Unobserved;
use crate::setters::setters;

const PURPOSE: Purpose = Purpose("the folds of a search for the number of stages");

/// The stages of the first block, and the factor of those after the next block.
const FIRST: usize = 32;
const FACTOR: f64 = 1.5;

/// A positive weight is at least so much of the largest one, 2⁻⁶⁰⁰: products with losses do not vanish.
const LEAST: f64 = f64::from_bits((1023 - 600) << 52);

/// The folds of a search, and how long it goes on.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StageSearch<'a> {
    /// The samples of each fold, and those that its model is fitted to.
    pub folds: &'a [Split],
    /// For each fold, the initial scores of all samples by a model that does not know the fold; none: those of the data set.
    pub base_margins: &'a [ArrayView2<'a, f64>],
    /// The share of the best number of stages so far for which the search goes on without a smaller loss, if that is more
    /// than [`BoostConfig::n_iter_no_change`].
    pub patience_share: f64,
}

setters!(StageSearch<'a> {
    folds: &'a [Split],
    base_margins: &'a [ArrayView2<'a, f64>],
    patience_share: f64,
});

impl StageSearch<'_> {
    /// Up to so many bytes of X, times the number of folds, each fold has a copy of its rows alone: a fit to them is faster
    /// than one to all rows with weights of zero.
    pub(crate) const MOST_COPIED: usize = 1 << 28;
}

/// A fold of weak models of the caller.
#[allow(missing_debug_implementations)]
#[non_exhaustive]
pub struct WeakFold<'a> {
    /// The weak models. When stages are added, those that exist only predict.
    pub weak: &'a mut dyn WeakLearner,
    /// The weights of all samples, zero for those of the fold.
    pub sample_weight: &'a [f64],
    /// y of the fold, and the weights of its samples.
    pub held_out: ValidationTargets<'a>,
}

impl<'a> WeakFold<'a> {
    /// Returns a fold of these weak models, weights and held-out samples.
    pub fn new(weak: &'a mut dyn WeakLearner, sample_weight: &'a [f64], held_out: ValidationTargets<'a>) -> Self {
        WeakFold { weak, sample_weight, held_out }
    }
}

/// What a search has found, for each stage that it has grown: means over the folds.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Search {
    /// The losses of the samples that the models are fitted to.
    pub train: Vec<f64>,
    /// The losses of the samples of the folds.
    pub held_out: Vec<f64>,
    /// The scores of the samples of the folds, if an observer scores them.
    pub scores: Vec<f64>,
    /// The number of stages up to the first one of the largest score or else of the least loss.
    pub n_stages: usize,
}

/// An observer of a search.
pub trait SearchObserver {
    /// Is called after every stage, with the means over the folds so far. If it breaks, the search ends.
    fn after(&mut self, _so_far: &Search) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Returns whether [`score`](SearchObserver::score) decides, and not the loss.
    fn scores(&self) -> bool {
        false
    }

    /// Returns the score of a fold after a stage, whose report has the scores of its samples. Larger is better. A break
    /// ends the fit.
    fn score(&mut self, _fold: usize, _report: &StageReport<'_>) -> ControlFlow<(), f64> {
        ControlFlow::Break(())
    }
}

impl SearchObserver for Unobserved {}

/// The model of a fold, which grows.
trait Growing {
    /// Grows the stages of the model up to those of `config`.
    fn grow(
        &mut self,
        config: &BoostConfig,
        model: Option<&Boosted>,
        observer: &mut dyn StageObserver,
        control: &Control,
    ) -> Result<Boosted>;

    /// Returns the mean loss of the samples of the fold before the first stage.
    fn at_start(&self, config: &BoostConfig, start: &[f64], control: &Control) -> Result<f64>;
}

/// A fold, its model so far and the scores of its stages.
struct Part<'f> {
    growing: Box<dyn Growing + 'f>,
    /// The weights of the losses of its training and held-out samples in means.
    totals: [f64; 2],
    model: Option<Boosted>,
    scores: Vec<f64>,
}

impl BoostConfig {
    /// Searches for the number of stages, up to `n_estimators`, by the mean losses of folds, or by the scores that
    /// `observer` gives them. The search ends when the mean has not improved for `n_iter_no_change` stages.
    ///
    /// It costs a fit for each fold, of up to 1.5 times the stages that the search needs, and a copy of the held-out samples
    /// of all folds; X is copied for each of them if that takes no more than 256 MiB.
    ///
    /// # Errors
    /// The same as for [`BoostConfig::fit`], and [`crate::ErrorKind::Invalid`] if there is no fold.
    pub fn search<'d>(
        &self,
        data: impl Into<Dataset<'d>>,
        search: &StageSearch<'_>,
        observer: &mut dyn SearchObserver,
    ) -> Result<Search> {
        let data = data.into();
        let control = &data.under();
        self.searched(&data, search, StageSearch::MOST_COPIED, observer, control)
    }

    /// [`search`](BoostConfig::search), with copies of X for all folds of up to `most_copied` bytes.
    pub(super) fn searched<'d>(
        &self,
        data: impl Into<Dataset<'d>>,
        search: &StageSearch<'_>,
        most_copied: usize,
        observer: &mut dyn SearchObserver,
        control: &Control,
    ) -> Result<Search> {
        let data = &data.into();
        let observed = data.observed_held_out()?;
        let seen = data.with_observed(observed.as_ref());
        seen.check_but_margins(&Names::TRAINING)?;
        let weights = seen.weight_by_row()?;
        self.check_domain(Names::TRAINING.y, seen.y(), weights.as_deref())?;
        let weight = |row: u32| weights.as_ref().map_or(1.0, |weights| weights[row as usize]);
        let n_outputs = data.outputs().n_outputs();
        let known = |row: u32| seen.known().map_or(n_outputs, |known| known.n_known(row)) as f64;
        let largest = (0..data.n_samples() as u32).map(weight).fold(0.0, f64::max);
        let is_apart = data.x().n_bytes().saturating_mul(search.folds.len()) <= most_copied;
        let mut parts = PURPOSE.with_capacity(search.folds.len())?;
        for (fold, Split { train, held_out }) in search.folds.iter().enumerate() {
            let mut of_fold = data.view();
            if let Some(margins) = search.base_margins.get(fold) {
                of_fold = of_fold.base_margin(*margins);
            }
            let of_rows = |rows: &[u32]| PURPOSE.collected(rows.iter().map(|&row| weight(row)));
            let (apart, of_train) = if is_apart {
                (Some(Rows::of(&of_fold, train, control)?), of_rows(train)?)
            } else {
                let mut of_all = PURPOSE.filled(0.0, data.n_samples())?;
                train.iter().for_each(|&row| of_all[row as usize] = weight(row));
                (None, of_all)
            };
            let growing = OfTrees {
                rows: Rows::of(&of_fold, held_out, control)?,
                weights: of_rows(held_out)?,
                data: of_fold,
                apart,
                of_train,
                so_far: ScoresSoFar::default(),
            };
            let cells = |rows: &[u32]| mean_weight(rows.iter().map(|&row| (known(row), weight(row))), largest);
            parts.push(Part::new(Box::new(growing), [cells(train)?, cells(held_out)?]));
        }
        self.grown(parts, search.patience_share, observer, control)
    }

    /// Like [`BoostConfig::search`], for weak models of the caller: see [`BoostConfig::fit_with`]. Nothing scores them.
    ///
    /// # Errors
    /// The same as for [`BoostConfig::fit_with`], and those of [`BoostConfig::search`].
    pub fn search_with<'f>(
        &self,
        shape: (usize, usize),
        y: &'f Targets<'_>,
        folds: Vec<WeakFold<'f>>,
        patience_share: f64,
        observer: &mut dyn SearchObserver,
        control: &Control,
    ) -> Result<Search> {
        let weights = |fold: &WeakFold<'_>| fold.held_out.1.map(|weights| weights.iter().copied().fold(0.0, f64::max));
        let largest = folds.iter().filter_map(weights).fold(0.0, f64::max);
        let mut parts = PURPOSE.with_capacity(folds.len())?;
        for fold in folds {
            let (held_out, n) = (fold.held_out.1, fold.held_out.0.n_samples());
            let of_held_out = (0..n).map(|row| (1.0, held_out.map_or(1.0, |weights| weights[row])));
            let totals = [
                mean_weight(fold.sample_weight.iter().map(|&weight| (1.0, weight)), largest)?,
                mean_weight(of_held_out, largest)?,
            ];
            parts.push(Part::new(Box::new(OfWeak { shape, y: y.view(), fold }), totals));
        }
        self.grown(parts, patience_share, observer, control)
    }

    fn grown(
        &self,
        mut parts: Vec<Part<'_>>,
        patience_share: f64,
        observer: &mut dyn SearchObserver,
        control: &Control,
    ) -> Result<Search> {
        if parts.is_empty() {
            return Err(Error::invalid("folds", 0, "be at least one"));
        }
        let (mut found, mut n_before, mut n) = (Search::default(), 0, self.n_estimators.min(FIRST));
        let mut patience = None;
        loop {
            let config = BoostConfig { n_estimators: n, n_iter_no_change: None, ..self.clone() };
            for (fold, part) in parts.iter_mut().enumerate() {
                part.grow(fold, &config, observer, control)?;
            }
            if patience.is_none() {
                let mut losses = PURPOSE.with_capacity(parts.len())?;
                for part in &parts {
                    let start = part.model.as_ref().map_or(&[][..], Boosted::start);
                    losses.push((part.growing.at_start(&config, start, control)?, part.totals[1]));
                }
                let at_start = if observer.scores() { None } else { Some(mean(losses.into_iter())?) };
                patience = Some(Patience { at_start, n: self.n_iter_no_change, share: patience_share, tol: self.tol });
            }
            for stage in n_before..n {
                let losses = |of: fn(&Boosted) -> &[f64], side: usize| {
                    mean(parts.iter().map(|part| (part.losses(of)[stage], part.totals[side])))
                };
                PURPOSE.push(&mut found.train, losses(Boosted::train_score, 0)?)?;
                PURPOSE.push(&mut found.held_out, losses(Boosted::validation_score, 1)?)?;
                if observer.scores() {
                    let scores = parts.iter().map(|part| (part.scores[stage], part.totals[1]));
                    PURPOSE.push(&mut found.scores, mean(scores)?)?;
                }
                found.count();
                let is_over = patience.as_ref().is_some_and(|rule| rule.is_over(found.judged(), found.n_stages));
                if observer.after(&found).is_break() || is_over {
                    return Ok(found);
                }
            }
            if n == self.n_estimators {
                return Ok(found);
            }
            (n_before, n) = (n, self.n_estimators.min((FACTOR * n as f64) as usize));
        }
    }
}

impl Search {
    /// Returns the least loss of the samples of the folds.
    pub(super) fn least(&self) -> f64 {
        self.held_out.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns what decides, as losses.
    fn judged(&self) -> impl ExactSizeIterator<Item = f64> + Clone {
        let (values, sign) = if self.scores.is_empty() { (&self.held_out, 1.0) } else { (&self.scores, -1.0) };
        values.iter().map(move |value| sign * value)
    }

    /// Counts the last stage if it is better than all before.
    fn count(&mut self) {
        let n = self.held_out.len();
        let is_best = self.n_stages == 0 || self.judged().nth(n - 1) < self.judged().nth(self.n_stages - 1);
        if is_best {
            self.n_stages = n;
        }
    }
}

impl<'f> Part<'f> {
    fn new(growing: Box<dyn Growing + 'f>, totals: [f64; 2]) -> Self {
        Part { growing, totals, model: None, scores: Vec::new() }
    }

    fn losses(&self, of: fn(&Boosted) -> &[f64]) -> &[f64] {
        self.model.as_ref().map_or(&[], of)
    }

    fn grow(
        &mut self,
        fold: usize,
        config: &BoostConfig,
        observer: &mut dyn SearchObserver,
        control: &Control,
    ) -> Result<()> {
        let mut scoring = Scoring { fold, observer, scores: &mut self.scores };
        let model = self.growing.grow(config, self.model.as_ref(), &mut scoring, control)?;
        if model.n_stages() < config.n_estimators {
            return Err(crate::ErrorKind::Interrupted.into());
        }
        self.model = Some(model);
        Ok(())
    }
}

/// Keeps the scores of the stages of a fold.
struct Scoring<'o> {
    fold: usize,
    observer: &'o mut dyn SearchObserver,
    scores: &'o mut Vec<f64>,
}

impl StageObserver for Scoring<'_> {
    fn after(&mut self, report: &StageReport<'_>) -> ControlFlow<()> {
        if !self.observer.scores() {
            return ControlFlow::Continue(());
        }
        match self.observer.score(self.fold, report) {
            ControlFlow::Continue(score) => {
                self.scores.push(score);
                ControlFlow::Continue(())
            }
            ControlFlow::Break(()) => ControlFlow::Break(()),
        }
    }

    fn wants_scores(&self) -> bool {
        self.observer.scores()
    }
}

/// A fold of trees.
struct OfTrees<'f> {
    /// All samples, with the initial scores of the fold.
    data: Dataset<'f>,
    /// The samples to fit to, if X is small, and their weights; or those of all samples.
    apart: Option<Rows>,
    of_train: Vec<f64>,
    /// The samples of the fold.
    rows: Rows,
    weights: Vec<f64>,
    so_far: ScoresSoFar,
}

impl Growing for OfTrees<'_> {
    fn grow(
        &mut self,
        config: &BoostConfig,
        model: Option<&Boosted>,
        observer: &mut dyn StageObserver,
        control: &Control,
    ) -> Result<Boosted> {
        let weights = RowWeights { sample_weight: Some(&self.of_train), ..RowWeights::default() };
        let train = match &self.apart {
            Some(rows) => rows.data(&self.data).weights(weights),
            None => self.data.view().weights(weights),
        };
        let held_out = self.rows.data(&self.data).sample_weight(&self.weights[..]);
        let fit = config.fitting().start_from(model).validation(held_out).observer(observer);
        fit.so_far(&mut self.so_far).fit(train.control(control))
    }

    fn at_start(&self, config: &BoostConfig, start: &[f64], control: &Control) -> Result<f64> {
        let rows = self.rows.data(&self.data);
        let mut scores = PURPOSE.filled(0.0, rows.n_samples().saturating_mul(start.len()))?;
        for (row, scores) in scores.chunks_exact_mut(start.len().max(1)).enumerate() {
            scores.copy_from_slice(start);
            if let Some(margins) = rows.unchecked_margins() {
                scores.iter_mut().zip(margins.row(row)).for_each(|(score, margin)| *score += margin);
            }
        }
        let scores = ArrayView2::from_shape((rows.n_samples(), start.len()), &scores).expect("a score for each cell");
        let mask = rows.mask().map(CellWeights::view);
        let loss = config.mean_loss(rows.y(), Some(&self.weights), mask, Some(scores), control)?;
        Ok(loss.unwrap_or(0.0))
    }
}

/// A fold of weak models of the caller.
struct OfWeak<'f> {
    shape: (usize, usize),
    y: Targets<'f>,
    fold: WeakFold<'f>,
}

impl Growing for OfWeak<'_> {
    fn grow(
        &mut self,
        config: &BoostConfig,
        _: Option<&Boosted>,
        _: &mut dyn StageObserver,
        control: &Control,
    ) -> Result<Boosted> {
        let WeakFold { weak, sample_weight, held_out: (y, w) } = &mut self.fold;
        config.fit_with(*weak, self.shape, &self.y, Some(sample_weight), Some((y.view(), *w)), control)
    }

    fn at_start(&self, config: &BoostConfig, start: &[f64], control: &Control) -> Result<f64> {
        let (y, w) = &self.fold.held_out;
        let start = ArrayView2::from_shape((1, start.len()), start).expect("a score for each column");
        let scores = start.broadcast((y.n_samples(), start.ncols()));
        Ok(config.mean_loss(y, *w, None, scores, control)?.unwrap_or(0.0))
    }
}

/// Returns the weight of a mean loss: the sum of products of numbers of known cells and weights, in a unit that all folds share.
fn mean_weight(cells: impl Iterator<Item = (f64, f64)>, largest: f64) -> Result<f64> {
    let unit = PowerOfTwo::new(if largest > 0.0 { -exponent_above(largest) } else { 0 });
    let mut sum = RoundedOnce::default();
    for (n_known, weight) in cells.filter(|(_, weight)| *weight > 0.0) {
        sum.add(n_known * unit.times(weight).max(LEAST))?;
    }
    Ok(sum.value())
}

/// Returns the mean of values with weights, of which one is positive, rounded twice.
fn mean(values: impl Iterator<Item = (f64, f64)>) -> Result<f64> {
    let (mut sum, mut total) = (RoundedOnce::default(), RoundedOnce::default());
    for (value, weight) in values {
        sum.add(value * weight)?;
        total.add(weight)?;
    }
    Ok(sum.value() / total.value())
}
