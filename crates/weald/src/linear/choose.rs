//! Chooses features and the strength of regularisation by held-out samples.
//!
//! A candidate is fitted to the samples without a fold, its columns are calibrated by the margins of the fold, and the
//! candidate with the least log loss of these samples is the best. In a study of six sets of text, where candidates were
//! chosen within three quarters of the training samples and judged by the last quarter, log loss chose better than
//! precision at 1, than ranking average precision, and than their mean, also by these scores themselves: it says
//! something about each cell of y, not only about the first labels. With one calibration for all columns it chooses the
//! same on these sets, and too weak a regularisation where there are a thousand labels.
//!
//! Of so many columns that only some of them are looked at, nearly all are rare, and their log loss hardly differs between
//! kinds of features: 2.674 and 2.663 for titles with 16 000 subjects, of which normalised counts rank the right one first for
//! 11.1 % and tf-idf for 12.2 %. There features are chosen by how well the columns are ranked, .222 and .249, and the strength
//! by log loss.

use std::ops::Range;

use super::calibration::{CALIBRATED, ENOUGH, Looked};
use super::features::Features;
use super::fit::n_blocks;
use super::held_out::HeldOut;
use super::held_out::folds::Folds;
use super::held_out::ranks::Ranks;
use super::loss::LinearLoss;
use super::source::{Cells, Source};
use super::{Calibration, FoldModels, LinearConfig, LinearModel};
use crate::centroid::Vectors;
use crate::control::Control;
use crate::data::{Dataset, Weights};
use crate::elementary::ln;
use crate::error::{Error, Purpose, Result};

const PURPOSE: Purpose = Purpose("the candidates of a choice");

/// What [`LinearConfig::choose`] may choose from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Grid {
    /// Kinds of features. Of several, those that do not suit X are left out; see [`LinearConfig::choose`].
    pub features: Vec<Features>,
    /// Values of [`LinearConfig::c`], in any order.
    pub c: Vec<f64>,
    /// The number of folds of samples. With few samples all folds are held out, one after the other, and otherwise the
    /// first ones.
    pub n_folds: usize,
}

impl Default for Grid {
    /// The grid for [`LinearLoss::SquaredHinge`].
    fn default() -> Self {
        Grid::of(LinearLoss::default())
    }
}

impl Grid {
    /// Returns the grid for a loss: all kinds of features, and strengths that suit text.
    pub fn of(loss: LinearLoss) -> Self {
        Grid {
            features: vec![Features::Standardized, Features::TfIdf, Features::Normalized, Features::Given],
            c: loss.strengths().to_vec(),
            n_folds: LinearConfig::N_FOLDS,
        }
    }

    /// Returns the grid of one candidate: the features and the strength of `config`.
    pub fn only(config: &LinearConfig) -> Self {
        Grid { features: vec![config.features], c: vec![config.c], n_folds: LinearConfig::N_FOLDS }
    }
}

/// A candidate that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// How the features of X are prepared.
    pub features: Features,
    /// The inverse strength of regularisation.
    pub c: f64,
    /// The log loss of held-out samples, summed over the columns, for a sample of weight one.
    pub loss: f64,
    /// The normalised discounted cumulative gain of the five best columns of held-out samples, among those that are looked at.
    pub ndcg: f64,
}

/// The result of [`LinearConfig::choose`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// The parameters with the chosen features and strength.
    pub config: LinearConfig,
    /// The candidates in the order in which they were tried.
    pub candidates: Vec<Candidate>,
    /// The calibration of the chosen candidate, if `config` asks for one.
    pub calibration: Option<Calibration>,
    /// The fold of each sample.
    pub(super) folds: Vec<u32>,
    pub(super) n_folds: usize,
    /// The models of the first folds that were fitted with the chosen parameters and all columns.
    pub(super) first_models: Vec<LinearModel>,
}

impl Choice {
    /// Fits the chosen model to the data of the choice. It has the calibration of the choice, so that no part of the
    /// samples is fitted again; otherwise it is that of [`LinearConfig::fit`].
    ///
    /// # Errors
    /// The same as for [`LinearConfig::fit`].
    pub fn fit<'d>(&self, data: impl Into<Dataset<'d>>) -> Result<LinearModel> {
        self.fit_columns(data, 0..usize::MAX)
    }

    /// Fits some columns of the chosen model to the data of the choice: see [`LinearConfig::fit_columns`].
    ///
    /// # Errors
    /// The same as for [`LinearConfig::fit`].
    pub fn fit_columns<'d>(&self, data: impl Into<Dataset<'d>>, columns: Range<usize>) -> Result<LinearModel> {
        self.config.fit_with(data, columns, |_, _| Ok(self.calibration.clone()))
    }

    /// Returns the models without each of the folds of the choice, fitted with the chosen parameters to its data. They have
    /// its calibration. Those that the choice has fitted, up to some 20 000 samples all of them, are not fitted again.
    ///
    /// # Errors
    /// The same as for [`LinearConfig::fit`], and [`crate::ErrorKind::Shape`] if `data` has another number of
    /// samples than the data of the choice.
    pub fn fold_models<'d>(&self, data: impl Into<Dataset<'d>>) -> Result<FoldModels> {
        let data = data.into();
        let control = &data.under();
        Source::with(&data, control, |source| {
            let n_samples = source.data.n_samples();
            if n_samples != self.folds.len() {
                return Err(Error::shape("X", self.folds.len(), n_samples));
            }
            let (folds, models) = (PURPOSE.copied(&self.folds)?, self.first_models.clone());
            let found = self.config.fit_others(source, folds, self.n_folds, models, control)?;
            Ok(found.calibrated_by(self.calibration.as_ref()))
        })
    }
}

/// A choice is scored by as many folds as have this number of samples.
const SCORED: usize = 1000;

/// Of more columns than these, as many are looked at for a choice, or a part of all if that is more: of 16 000 columns,
/// 256 chose by chance.
const COMPARED: usize = 256;
const COMPARED_PART: usize = 16;

/// Another kind of features is better if its log loss is below this share of that of a kind before it: within that, chance
/// decides between kinds on a few hundred samples.
const CLEARLY: f64 = 0.99;

/// A larger strength of log loss is better if held-out samples together lose less by what so many of them lose: of few samples
/// that can be told apart, the largest one would be chosen by chance, and be too sure.
const BY_CHANCE: f64 = 5.0;

/// Other strengths that a search tries, as a rule.
const MORE: usize = 2;

impl LinearConfig {
    /// Chooses features and strength from `grid`, by the log loss of held-out samples; features for more than 256 columns by
    /// the normalised discounted cumulative gain of their five best columns.
    ///
    /// First, the kinds of features are compared, with the C that is nearest 0.3, or 1 for log loss. Then larger values of C are tried for
    /// the best kind as long as they are better, or else smaller ones. Folds depend on the content of samples, so that the
    /// choice does not depend on their order, on the layout of X, or on threads. Of more than 256 columns, 256 or a
    /// sixteenth of them are looked at: half of these the most frequent ones, and half of them spread over the others.
    ///
    /// If the grid has several kinds of features, some are left out: standardised features of more than 100 if fewer than a
    /// tenth of the cells of X are not zero; tf-idf if more than a quarter are not, or if some are negative; features as they are given
    /// if the mean square of the lengths of samples is above 100, where no C of the grid suits, and if all lengths are 1,
    /// as they are if normalised. A kind replaces one before it in the grid if its log loss is less by a hundredth.
    ///
    /// Time is that of some six fits of these columns to two thirds of the samples, and of two or three more for the
    /// calibration. With fewer than 3 000 samples, candidates are fitted without each fold.
    ///
    /// # Errors
    /// The same as for [`LinearConfig::fit`], and [`crate::ErrorKind::Invalid`] if the grid is empty or has
    /// fewer than two folds.
    ///
    /// ```
    /// use weald::{Grid, LabelView, LinearConfig, Matrix};
    ///
    /// let x = Matrix::csr(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
    /// let y = LabelView::try_new(vec![0, 1, 2, 3, 4], vec![0, 0, 2, 2], 3)?;
    /// let choice = LinearConfig::default().choose((&x, y.clone()), &Grid::default())?;
    /// assert!(choice.candidates.iter().any(|tried| tried.c == choice.config.c));
    /// let model = choice.fit((&x, y))?;
    /// assert_eq!(model.predict(&x)?.dim(), (4, 3));
    /// # Ok::<(), weald::Error>(())
    /// ```
    pub fn choose<'d>(&self, data: impl Into<Dataset<'d>>, grid: &Grid) -> Result<Choice> {
        let data = data.into();
        let control = &data.under();
        let strengths = self.strengths(grid)?;
        Source::with(&data, control, |source| {
            let folds = self.folds(source, grid.n_folds, control)?;
            let looked = Looked::new(source, &folds, COMPARED.max(source.y.n_columns / COMPARED_PART), self.loss)?;
            let narrowed = looked.of(&source.y)?;
            let y = narrowed.as_ref().unwrap_or(&source.y);
            let kinds = suitable(grid, source, control)?;
            let first = nearest(&strengths, self.loss.first_strength());
            let mut search = Search {
                base: self,
                source,
                y,
                folds: &folds,
                looked: &looked,
                control,
                tried: Vec::new(),
                best: None,
            };
            let n_last = search.n_last_blocks();
            control.expect((kinds.len() + MORE.min(strengths.len() - 1)) * search.n_blocks() + n_last);
            let mut chosen = (kinds[0], first);
            let by_rank = narrowed.is_some();
            for &features in &kinds {
                let key = |tried: &Candidate| if by_rank { -tried.ndcg } else { tried.loss };
                if search.is_best(features, strengths[first], if by_rank { 1.0 } else { CLEARLY }, key)? {
                    chosen.0 = features;
                }
            }
            let share = match self.loss {
                LinearLoss::SquaredHinge => 1.0,
                LinearLoss::LogLoss => 1.0 - BY_CHANCE / search.weight().max(BY_CHANCE),
            };
            for &c in &strengths[first + 1..] {
                if !search.is_best(chosen.0, c, share, |tried| tried.loss)? {
                    break;
                }
                chosen.1 += 1;
            }
            if chosen.1 == first {
                for &c in strengths[..first].iter().rev() {
                    if !search.is_best(chosen.0, c, 1.0, |tried| tried.loss)? {
                        break;
                    }
                    chosen.1 -= 1;
                }
            }
            control.expect(n_last);
            let config = LinearConfig { features: chosen.0, c: strengths[chosen.1], ..self.clone() };
            let (calibration, first_models) = search.calibration(&config)?;
            let candidates = search.tried;
            Ok(Choice { config, candidates, calibration, n_folds: folds.n_folds, folds: folds.of, first_models })
        })
    }

    /// Checks a grid, and returns its strengths in increasing order.
    fn strengths(&self, grid: &Grid) -> Result<Vec<f64>> {
        if grid.features.is_empty() {
            return Err(Error::invalid("features", "none", "be at least one kind of features"));
        }
        if grid.c.is_empty() {
            return Err(Error::invalid("C", "none", "be at least one number"));
        }
        grid.c.iter().try_for_each(|&c| LinearConfig { c, ..self.clone() }.check())?;
        let mut strengths = PURPOSE.copied(&grid.c)?;
        strengths.sort_by(f64::total_cmp);
        strengths.dedup();
        Ok(strengths)
    }
}

/// Returns the index of the strength that is nearest to one, by their ratio.
fn nearest(strengths: &[f64], to: f64) -> usize {
    let ratio = |index: &usize| ln(strengths[*index] / to).abs();
    (0..strengths.len()).min_by(|a, b| ratio(a).total_cmp(&ratio(b))).unwrap_or(0)
}

/// A search, and what it found so far.
#[derive(Debug)]
struct Search<'s, 'd> {
    base: &'s LinearConfig,
    source: &'s Source<'d>,
    y: &'s Cells,
    folds: &'s Folds,
    looked: &'s Looked,
    control: &'s Control,
    tried: Vec<Candidate>,
    /// The best candidate so far, with what was found.
    best: Option<(Candidate, HeldOut)>,
}

impl Search<'_, '_> {
    /// Tries a candidate, and returns whether it is better than the best so far: whether its `key` is below this share of the
    /// other's.
    fn is_best(&mut self, features: Features, c: f64, share: f64, key: impl Fn(&Candidate) -> f64) -> Result<bool> {
        let config = LinearConfig { features, c, ..self.base.clone() };
        let mut found = HeldOut::new(self.source, self.y, self.folds)?;
        found.ranks = Some(Ranks::default());
        let scored = 0..self.folds.with_samples(SCORED);
        found.add(&config, (self.source, self.y), (self.folds, scored), self.control)?;
        let loss = self.looked.loss(&found.counts, self.source.weights.unit, self.weight(), self.control)?;
        let tried = Candidate { features, c, loss, ndcg: found.ranks.take().unwrap_or_default().mean() };
        PURPOSE.push(&mut self.tried, tried)?;
        let is_best = self.best.as_ref().is_none_or(|(best, ..)| key(&tried) < share * key(best));
        if is_best {
            self.best = Some((tried, found));
        }
        Ok(is_best)
    }

    /// Returns the number of blocks of columns of a candidate.
    fn n_blocks(&self) -> usize {
        self.folds.with_samples(SCORED) * n_blocks(self.y.n_columns)
    }

    /// Returns the number of blocks of the calibration and of the fit to all samples.
    fn n_last_blocks(&self) -> usize {
        let (n_columns, n_folds) = (self.source.y.n_columns, self.folds.with_samples(ENOUGH));
        let has_all = self.y.n_columns == n_columns;
        let of_calibration = match (self.base.calibration, has_all) {
            (false, _) => 0,
            (true, true) => (n_folds - self.folds.with_samples(SCORED).min(n_folds)) * n_blocks(n_columns),
            (true, false) => n_folds * n_blocks(n_columns.min(CALIBRATED)),
        };
        of_calibration + n_blocks(n_columns)
    }

    /// Returns the weight of the samples that are held out.
    fn weight(&self) -> f64 {
        let Weights { unit, .. } = self.source.weights;
        let held = self.folds.with_samples(SCORED);
        let rows =
            (0..self.source.n_samples()).filter(|&row| (self.folds.of[self.source.sample_of(row)] as usize) < held);
        let units: u64 = rows.map(|row| self.source.weights.units(row)).sum();
        (units as f64 * unit).max(f64::MIN_POSITIVE)
    }

    /// Returns the calibration of the best candidate, if there is to be one, by more folds than those that chose it, and the
    /// models of all columns that were fitted without the first folds.
    fn calibration(&mut self, config: &LinearConfig) -> Result<(Option<Calibration>, Vec<LinearModel>)> {
        let (source, n_columns) = (self.source, self.source.y.n_columns);
        let has_all = self.y.n_columns == n_columns;
        let (_, mut found) = self.best.take().expect("a search has a candidate");
        if !config.calibration {
            return Ok((None, if has_all { found.models } else { Vec::new() }));
        }
        if !has_all {
            let (calibration, models) = config.calibrated(source, self.folds, self.control)?;
            return Ok((Some(calibration), models));
        }
        let more = self.folds.with_samples(SCORED)..self.folds.with_samples(ENOUGH);
        found.add(config, (source, self.y), (self.folds, more), self.control)?;
        Ok((Some(self.looked.calibration(&found, source, self.control)?), found.models))
    }
}

/// Features that are standardised although most of their cells are zero: numbers in their units beside categories as columns,
/// where nothing else brings them to one scale. Of texts there are more.
const FEW_FEATURES: usize = 100;

/// Returns the kinds of features of a grid that suit X, or all if none does.
fn suitable(grid: &Grid, source: &Source<'_>, control: &Control) -> Result<Vec<Features>> {
    let all = PURPOSE.copied(&grid.features)?;
    if all.len() == 1 {
        return Ok(all);
    }
    let traits = Traits::of(&Features::Given.prepare(source.x, None, control)?, &source.weights);
    let normalizes = all.contains(&Features::Normalized);
    let suits = |features: &Features| match features {
        Features::Standardized => traits.share >= 0.1 || source.n_features() <= FEW_FEATURES,
        Features::TfIdf => traits.share <= 0.25 && !traits.has_negative,
        Features::Given => traits.mean_square <= 100.0 && !(traits.is_normalized && normalizes),
        Features::Normalized => true,
    };
    let mut kinds = PURPOSE.copied(&all)?;
    kinds.retain(suits);
    Ok(if kinds.is_empty() { all } else { kinds })
}

/// What X is like.
#[derive(Debug)]
struct Traits {
    /// The share of cells that are not zero.
    share: f64,
    has_negative: bool,
    /// The mean square of the lengths of samples.
    mean_square: f64,
    /// Whether all samples have length one, or zero.
    is_normalized: bool,
}

impl Traits {
    fn of(x: &Vectors, weights: &Weights) -> Self {
        /// Squares are counted in parts of this size, so that their sum does not depend on the order of samples.
        const PART: f64 = 1.0 / 1024.0;
        let (mut total, mut stored, mut squares) = (0u128, 0u128, 0u128);
        let (mut has_negative, mut is_normalized) = (false, true);
        for row in (0..x.n_rows()).filter(|&row| weights.units(row) > 0) {
            let (units, (_, values)) = (u128::from(weights.units(row)), x.of(row as u32));
            let square: f64 = values.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
            total += units;
            stored += units * values.len() as u128;
            squares += units * (square / PART).min(1e15) as u128;
            has_negative |= values.iter().any(|value| *value < 0.0);
            is_normalized &= square == 0.0 || (square - 1.0).abs() < 0.01;
        }
        let total = total.max(1) as f64;
        Traits {
            share: stored as f64 / total / x.n_features().max(1) as f64,
            has_negative,
            mean_square: squares as f64 * PART / total,
            is_normalized,
        }
    }
}
