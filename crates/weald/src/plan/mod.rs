//! What `"auto"` stands for in a fit of boosting, decided once: by what is given, and by what the data are.
//!
//! A [`Plan`] is a row of this table. The first row that suits is taken; what is given replaces what the row says.
//!
//! | row | suits | trees of a stage | rate | leaves | stages |
//! |---|---|---|--:|---|---|
//! | few, searched | [`FEW`] numbers or classes, [`SEARCHED`] samples | one each | .07 | 8, 15, 31 by samples | up to 1 000, by five or three folds |
//! | few | so many, other samples | one each | .05 | 31 | 300, classes 200 |
//! | own trees | up to [`MOST_WITH_OWN_TREES`] numbers, [`OWN_TREES`] different samples | one each | .07 | 8, 15, 31 by different samples | up to 200, by one of three folds |
//! | few labelled samples | labels, [`FEW_LABELLED`] samples, fewer features | one each, of more than [`FEW`] one together | .05 | 8 | up to 400, by five or three folds |
//! | few known cells | other numbers of which at most half of the cells are known | one together, of few of the outputs; λ 8, all samples, few features a tree | .1 | 128 | 600 |
//! | shared | up to [`MOST_IN_LARGE_TREES`] others | one together | .05, others than numbers .07 | 31, 63, 127 by different samples | 300, others than numbers 200 |
//! | many | all others | one together | as above | 31 | as above |
//!
//! Labels up to [`FEW`] have a tree each, as well. Where at most half of the samples differ in X, folds judge what leaves of
//! few different samples say: in the first row there are 31 leaves, in the third one 127. Each number has its study in
//! `benches/defaults` or `benches/tables`.
//!
//! Trees of numbers, and those of classes in the first row, are grown on seven tenths of the samples, others on all.
//!
//! The trees of the first two rows draw half of the features at each split, but those of several levels of quantiles all.
//! Where few features of many are useful, all of them are better: the folds of up to [`TRIED`] samples grow trees with all
//! of them, too, and the better ones are taken.

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use crate::control::Control;
use crate::data::{Dataset, Weights};
use crate::error::{Error, Purpose, Result};
use crate::folds::{Dealing, hashes};

const PURPOSE: Purpose = Purpose("what decides a plan");

/// Up to so many columns of scores, each has a tree in a stage.
pub const FEW: usize = 10;
/// The samples of which folds find the number of stages: fewer were not measured, and with more the folds take long.
pub const SEARCHED: RangeInclusive<usize> = 30..=20_000;
/// The numbers that may have a tree each although they are many, and the different samples that this takes: with more of
/// either, fits would take many times as long.
pub const MOST_WITH_OWN_TREES: usize = 100;
/// See [`MOST_WITH_OWN_TREES`].
pub const OWN_TREES: RangeInclusive<usize> = 30..=MOST_COUNTED;
/// The samples with labels whose stages folds find: 200 stages are too sure of themselves there.
pub const FEW_LABELLED: RangeInclusive<usize> = 30..=500;
/// Trees that at most so many columns share get more leaves for more samples: in all leaves, more columns would take much
/// memory.
pub const MOST_IN_LARGE_TREES: usize = 100;
/// The samples of which folds say whether splits draw half of the features or all: of more, another search takes long.
pub const TRIED: usize = 2000;
/// With more different samples than that, their number makes no difference.
pub const MOST_COUNTED: usize = 5000;

/// The rounds without improvement after which a search by folds ends: their mean loss may rest for long where there is no noise.
const PATIENCE: usize = 30;
/// The share of the best number of stages so far that a search waits, if that is more (see `benches/tables`).
const PATIENCE_SHARE: f64 = 0.2;
/// All features are taken if their mean loss is less than that with half of them by this share of its magnitude, and by what
/// so many of the samples lose: with less, chance decides.
const ALL_GAIN: f64 = 0.03;
const BY_CHANCE: f64 = 5.0;
/// The share of the samples that trees are grown on where they are not all.
const SUBSAMPLE: f64 = 0.7;
/// Half of so many features are all of them.
const HALF_IS_ALL: usize = 4;
/// The largest number of stages.
const MOST_STAGES: usize = 1000;
/// The folds of a search, those of few samples, and how many samples are few.
const FOLDS: usize = 3;
const FOLDS_OF_FEW: usize = 5;
const FEW_SAMPLES: usize = 200;

/// At most one cell in so many is known where few are.
const MANY_UNKNOWN: u128 = 2;

/// Where few cells are known, a tree draws this share of the features, but at least this number, and nodes examine all of
/// them; leaves are held back by this λ.
const SHARE_OF_FEATURES: f64 = 0.1;
const LEAST_FEATURES: f64 = 400.0;
const L2_OF_FEW_CELLS: f64 = 8.0;

/// What y is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Numbers.
    Numbers,
    /// The classes of one output or of several ones.
    Classes,
    /// Labels.
    Labels,
}

/// How the columns of scores share the trees of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sharing {
    /// One tree, grown on a projection of the columns.
    Projected,
    /// One tree, grown on all columns.
    Joint,
    /// A tree for each column.
    SingleTarget,
}

/// What says when a fit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The plan: nothing else is said.
    Free,
    /// The number of stages.
    Never,
    /// So many rounds without improvement.
    After(usize),
}

/// What a caller gives, and what y is. `None` is "auto".
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked {
    /// What y is.
    pub kind: Kind,
    /// The number of outputs.
    pub n_outputs: usize,
    /// The number of columns of scores: of numbers, each output has one for each level.
    pub n_columns: usize,
    /// The number of features.
    pub n_features: usize,
    /// How columns share trees.
    pub sharing: Option<Sharing>,
    /// How the columns of the model that a fit goes on with share trees.
    pub kept: Option<Sharing>,
    /// Whether features have directions, which projections do not preserve.
    pub has_directions: bool,
    /// Whether other models than trees are grown.
    pub has_weak_models: bool,
    /// Whether a model is given that the scores start from, and whether that is a linear one.
    pub has_init: bool,
    /// See `has_init`.
    pub is_linear_init: bool,
    /// The learning rate.
    pub learning_rate: Option<f64>,
    /// The number of stages.
    pub n_stages: Option<usize>,
    /// The number of leaves; 0 is no limit.
    pub max_leaf_nodes: Option<usize>,
    /// When the fit ends.
    pub stop: Stop,
}

/// What a plan has to know of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// The number of samples of positive weight.
    pub n_samples: usize,
    /// The number of those with a known cell of y; of copies one.
    pub n_rows: usize,
    /// The number of samples that differ in X.
    pub n_different: usize,
    /// Whether each output has a known cell outside each fold.
    pub knows_all: bool,
    /// Whether at most half of the cells of numbers are known.
    pub has_few_cells: bool,
}

impl Counts {
    /// The counts of samples that are only known by their number.
    pub fn of(n_samples: usize) -> Self {
        Counts { n_samples, n_rows: n_samples, n_different: n_samples, knows_all: true, has_few_cells: false }
    }

    /// Counts the samples of `data` as `asked` needs it. `seed` is that of the folds.
    ///
    /// # Errors
    /// Those of [`crate::folds::deal`].
    pub fn counted<'d>(data: impl Into<Dataset<'d>>, asked: &Asked, seed: u64, control: &Control) -> Result<Self> {
        let data = &data.into();
        Weights::check(data.row_weights().sample_weight, data.n_samples())?;
        if data.y().n_samples() != data.n_samples() {
            return Err(Error::shape("y", data.n_samples(), data.y().n_samples()));
        }
        let weights = data.weight_by_row()?;
        let exists = |row: usize| weights.as_ref().is_none_or(|weights| weights[row] > 0.0);
        let n_samples = (0..data.n_samples()).filter(|&row| exists(row)).count();
        let mut counts = Counts::of(n_samples);
        if asked.kind == Kind::Numbers {
            counts.has_few_cells = data.weight_known()?.is_some_and(|[known, all]| MANY_UNKNOWN * known <= all);
        }
        if asked.may_search(n_samples) {
            return counts.dealt(data, asked, seed, control);
        }
        if asked.counts_different() {
            let mut found = hashes(data.x(), control)?;
            let mut row = 0..found.len();
            found.retain(|_| row.next().is_some_and(exists));
            found.sort_unstable();
            found.dedup();
            counts.n_different = found.len();
        }
        Ok(counts)
    }

    fn dealt(mut self, data: &Dataset<'_>, asked: &Asked, seed: u64, control: &Control) -> Result<Self> {
        let observed = data.observed_held_out()?;
        let data = &data.with_observed(observed.as_ref());
        let dealing = Dealing::new(data, seed, control)?;
        (self.n_rows, self.n_different) = (dealing.n_units(), dealing.n_different);
        let n_outputs = data.outputs().n_outputs();
        let Some(known) = data.known().filter(|_| n_outputs > 1) else { return Ok(self) };
        let n_folds = n_folds_of(self.n_rows, asked.kind == Kind::Numbers && asked.n_columns > FEW);
        let folds = dealing.folds(n_folds)?;
        // How many known cells each output has in each fold, and in all of them.
        let mut cells = PURPOSE.filled(0u32, n_folds * n_outputs)?;
        let mut totals = PURPOSE.filled(0u32, n_outputs)?;
        for &row in &dealing.order {
            control.check()?;
            for output in (0..n_outputs).filter(|&output| known.is_known(row, output as u32)) {
                cells[folds[row as usize] as usize * n_outputs + output] += 1;
                totals[output] += 1;
            }
        }
        let knows = |of_fold: &[u32]| of_fold.iter().zip(&totals).all(|(held, total)| held < total);
        self.knows_all = cells.chunks_exact(n_outputs).all(knows);
        Ok(self)
    }
}

/// The folds that find a number of stages.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Search {
    /// The number of folds.
    pub n_folds: usize,
    /// How many of them are grown: the mean loss of many numbers hardly differs between folds.
    pub n_grown: usize,
    /// The share of the best number of stages so far that the search waits, if that is more than its patience.
    pub patience_share: f64,
    /// By what share of the least mean loss with half of the features all of them must be better to be taken; none: they
    /// are not tried.
    pub all_gain: Option<f64>,
}

/// What a fit of boosting does where nothing else is given.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// How columns share trees.
    pub sharing: Sharing,
    /// The learning rate.
    pub learning_rate: f64,
    /// The number of leaves of a tree; 0 is no limit.
    pub max_leaf_nodes: usize,
    /// Whether each split draws half of the features, and not all, unless folds find that all are better.
    pub draws_half: bool,
    /// The share of the features that each tree draws.
    pub features_of_tree: f64,
    /// The share of the samples that each tree is grown on.
    pub subsample: f64,
    /// λ of the steps of leaves.
    pub l2_regularization: f64,
    /// The number of stages, or the largest one where a search or validation samples end the fit.
    pub n_stages: usize,
    /// The rounds without improvement that end the fit.
    pub patience: Option<usize>,
    /// The folds that find the number of stages.
    pub search: Option<Search>,
    /// Whether a stage combines few of the outputs, for y of which few cells are known.
    pub has_few_cells: bool,
}

impl Asked {
    /// Returns what is asked by a caller who gives nothing.
    pub fn nothing(kind: Kind, n_outputs: usize, n_columns: usize) -> Self {
        Asked {
            kind,
            n_outputs,
            n_columns,
            n_features: 0,
            sharing: None,
            kept: None,
            has_directions: false,
            has_weak_models: false,
            has_init: false,
            is_linear_init: false,
            learning_rate: None,
            n_stages: None,
            max_leaf_nodes: None,
            stop: Stop::Free,
        }
    }

    /// Whether there are few columns of numbers, or of the classes of one output.
    fn is_few(&self) -> bool {
        self.n_columns <= FEW && (self.n_outputs == 1 || self.kind == Kind::Numbers)
    }

    /// Whether each of many numbers has a tree of its own if the number of samples suits.
    fn may_have_own_trees(&self) -> bool {
        let is_free = self.sharing.is_none() && !self.has_weak_models;
        is_free && self.kind == Kind::Numbers && (FEW + 1..=MOST_WITH_OWN_TREES).contains(&self.n_columns)
    }

    /// How columns share trees, if they have no trees of their own although they are many.
    fn sharing(&self) -> Sharing {
        match self.sharing.or(self.kept) {
            Some(given) => given,
            None if self.has_weak_models => Sharing::Joint,
            None if self.n_columns <= FEW => Sharing::SingleTarget,
            None if self.has_directions => Sharing::Joint,
            None => Sharing::Projected,
        }
    }

    /// Whether many columns share a tree, but not so many that large trees would take much memory.
    fn has_large_trees(&self) -> bool {
        let is_middle = (FEW + 1..=MOST_IN_LARGE_TREES).contains(&self.n_columns);
        is_middle && !self.has_init && self.sharing() != Sharing::SingleTarget
    }

    /// Whether the number of leaves or of trees depends on how many samples differ, with a given number of stages, too.
    pub fn counts_different(&self) -> bool {
        let counts = (self.max_leaf_nodes.is_none() && self.has_large_trees()) || self.may_have_own_trees();
        counts && self.kept.is_none()
    }

    /// Whether folds may find the number of stages of so many samples.
    fn may_search(&self, n_samples: usize) -> bool {
        let is_free = self.stop == Stop::Free && self.n_stages.is_none() && self.kept.is_none() && self.n_columns > 0;
        is_free
            && match self.kind {
                Kind::Labels => FEW_LABELLED.contains(&n_samples) && self.n_features < n_samples,
                _ if self.is_few() => SEARCHED.contains(&n_samples),
                _ => self.may_have_own_trees() && SEARCHED.contains(&n_samples),
            }
    }
}

fn n_folds_of(n_rows: usize, has_own_trees: bool) -> usize {
    if n_rows <= FEW_SAMPLES && !has_own_trees { FOLDS_OF_FEW } else { FOLDS }
}

/// Returns 8 leaves up to the first number of samples, 15 up to the second one, and 31 beyond.
fn leaves(n: usize, [few, some]: [usize; 2]) -> usize {
    match n {
        n if n <= few => 8,
        n if n <= some => 15,
        _ => 31,
    }
}

impl Plan {
    /// Decides what is not given.
    pub fn new(asked: &Asked, counts: &Counts) -> Self {
        let is_numbers = asked.kind == Kind::Numbers;
        let may_own = asked.may_have_own_trees();
        let has_own = may_own && asked.kept.is_none() && OWN_TREES.contains(&counts.n_different);
        let searches = asked.may_search(counts.n_samples)
            && asked.may_search(counts.n_rows)
            && counts.knows_all
            && (!may_own || has_own);
        let sharing = if has_own { Sharing::SingleTarget } else { asked.sharing() };
        let (of_fixed, repeats) = (if is_numbers { 300 } else { 200 }, 2 * counts.n_different <= counts.n_rows);
        let n_different = counts.n_different;
        let few = asked.is_few();
        let is_shared = asked.sharing.is_none() && sharing == Sharing::Projected && !few && !searches;
        let has_few_cells = counts.has_few_cells && is_shared;
        let (learning_rate, n_leaves, n_stages) = if has_own {
            let n_leaves = if searches && repeats { 127 } else { leaves(n_different, [1000, 2000]) };
            (0.07, n_leaves, if searches { 200 } else { 100 })
        } else if few && searches {
            let n_leaves = if repeats { 31 } else { leaves(counts.n_rows, [1000, 5000]) };
            (0.07, n_leaves, MOST_STAGES)
        } else if few {
            (0.05, 31, of_fixed)
        } else if searches {
            (0.05, 8, 400)
        } else if has_few_cells {
            (0.1, 128, 600)
        } else {
            let of_large = match n_different {
                ..=2000 => 31,
                2001..=MOST_COUNTED => 63,
                _ => 127,
            };
            let n_leaves = if asked.has_large_trees() { of_large } else { 31 };
            // A fit that goes on has the stages of trees that it has.
            let goes_on_own = may_own && asked.kept == Some(Sharing::SingleTarget);
            (if is_numbers { 0.05 } else { 0.07 }, n_leaves, if goes_on_own { 100 } else { of_fixed })
        };
        let n_folds = n_folds_of(counts.n_rows, has_own);
        let (patience, most) = match asked.stop {
            Stop::After(rounds) => (Some(rounds), MOST_STAGES),
            _ if searches => (Some(PATIENCE), n_stages),
            _ => (None, n_stages),
        };
        let of_few_cells = (LEAST_FEATURES / asked.n_features as f64).clamp(SHARE_OF_FEATURES, 1.0);
        let features_of_tree = if has_few_cells { of_few_cells } else { 1.0 };
        let has_levels = is_numbers && asked.n_columns > asked.n_outputs;
        let draws_half = (few || is_numbers) && features_of_tree == 1.0 && !has_levels;
        let rate = if asked.is_linear_init { 0.05 } else { learning_rate };
        Plan {
            sharing,
            learning_rate: asked.learning_rate.unwrap_or(rate),
            max_leaf_nodes: asked.max_leaf_nodes.unwrap_or(n_leaves),
            draws_half,
            features_of_tree,
            l2_regularization: if has_few_cells { L2_OF_FEW_CELLS } else { 1.0 },
            subsample: if (is_numbers && !has_few_cells) || (few && searches) { SUBSAMPLE } else { 1.0 },
            n_stages: asked.n_stages.unwrap_or(most),
            patience,
            search: searches.then_some(Search {
                n_folds,
                n_grown: if has_own { 1 } else { n_folds },
                patience_share: PATIENCE_SHARE,
                all_gain: (draws_half && few && asked.n_features > HALF_IS_ALL && counts.n_rows <= TRIED)
                    .then_some(ALL_GAIN.max(BY_CHANCE / counts.n_rows as f64)),
            }),
            has_few_cells,
        }
    }
}
