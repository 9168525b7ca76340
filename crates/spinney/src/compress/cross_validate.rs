//! Cross-validation: each fold grows a forest of its own and compresses it.

use ndarray::Array2;

use super::{CompressConfig, Keep};
use crate::control::Control;
use crate::data::{Dataset, Weights};
use crate::error::{Error, Result, try_filled};
use crate::forest::config::ForestConfig;
use crate::pool;

/// Rows of one fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Rows that a forest is grown and compressed on.
    pub train: Vec<u32>,
    /// Rows that it is tested on.
    pub test: Vec<u32>,
}

/// Test losses of all folds. Point s of the grid is step s of every fold: the same number of moves or, of the lasso, the same
/// share of the largest penalty.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CrossValidation {
    /// Mean norm of the folds that have a step.
    pub l1_norms: Vec<f64>,
    /// (folds, points); a path that has ended stays as it was.
    pub test_loss: Array2<f64>,
    /// (folds, points).
    pub n_test_nodes: Array2<f64>,
    /// Test loss of each fold's forest before compression.
    pub full_forest_loss: Vec<f64>,
}

/// What is left of a fold.
#[derive(Debug)]
struct Outcome {
    l1_norm: Vec<f64>,
    test_loss: Vec<f64>,
    n_test_nodes: Vec<usize>,
    full: f64,
}

impl CompressConfig {
    /// Test losses along the paths of folds, each on a forest of its own.
    ///
    /// A fold grows its forest with weight zero for all rows but its own, which is as if there were no others, and compresses
    /// it on one thread; folds run on `control.n_threads()` of them, each holding its forest and path. Results do not depend
    /// on their number. Counts a tree as one step of progress, and a move of a path.
    ///
    /// # Errors
    /// As [`crate::ForestConfig::fit`] and [`CompressConfig::path`]; [`crate::ErrorKind::Invalid`] for less than two folds,
    /// and for rows that are not there or on both sides of a fold.
    pub fn cross_validate<'d>(
        &self,
        grow: &ForestConfig,
        data: impl Into<Dataset<'d>>,
        folds: &[Fold],
        control: &Control,
    ) -> Result<CrossValidation> {
        let data = data.into();
        if folds.len() < 2 {
            return Err(Error::invalid("folds", folds.len(), "be at least 2"));
        }
        self.check(&data.outputs())?;
        Weights::check(data.row_weights().sample_weight, data.n_samples())?;
        let outcomes = pool::map(control.n_threads(), folds.len(), |f| {
            self.fold(grow, &data, &folds[f], &control.on_one_thread())
        })?;
        let n_points = outcomes.iter().map(|outcome| outcome.l1_norm.len()).max().unwrap_or(0);
        let l1_norms = (0..n_points).map(|s| {
            let there = || outcomes.iter().filter_map(|outcome| outcome.l1_norm.get(s));
            let (first, n) = (there().next().copied().unwrap_or(0.0), there().count() as f64);
            // Equal norms are their own mean.
            first + there().map(|t| t - first).sum::<f64>() / n
        });
        let at = |f: usize, s: usize| s.min(outcomes[f].l1_norm.len() - 1);
        let shape = (folds.len(), n_points);
        Ok(CrossValidation {
            l1_norms: l1_norms.collect(),
            test_loss: Array2::from_shape_fn(shape, |(f, s)| outcomes[f].test_loss[at(f, s)]),
            n_test_nodes: Array2::from_shape_fn(shape, |(f, s)| outcomes[f].n_test_nodes[at(f, s)] as f64),
            full_forest_loss: outcomes.iter().map(|outcome| outcome.full).collect(),
        })
    }

    fn fold(&self, grow: &ForestConfig, data: &Dataset<'_>, fold: &Fold, control: &Control) -> Result<Outcome> {
        const WHAT: &str = "the rows of a fold";
        let (n, weights) = (data.n_samples(), data.row_weights());
        let mut train = try_filled(WHAT, 0.0, n)?;
        let mut test = try_filled(WHAT, 0.0, n)?;
        let weight = |row: usize| weights.sample_weight.map_or(1.0, |w| w[row]);
        for (rows, into) in [(&fold.train, &mut train), (&fold.test, &mut test)] {
            for &row in rows {
                let row = row as usize;
                *into.get_mut(row).ok_or_else(|| Error::invalid("folds", row, "have indices of samples of X"))? =
                    weight(row);
            }
        }
        if train.iter().zip(&test).any(|(a, b)| *a > 0.0 && *b > 0.0) {
            return Err(Error::invalid("folds", "samples that are in both", "have disjoint training and test samples"));
        }
        if [&train, &test].iter().any(|side| side.iter().all(|w| *w == 0.0)) {
            return Err(Error::invalid(
                "folds",
                "a fold without them",
                "have training and test samples of positive weight",
            ));
        }
        let of_fold = data.view().sample_weight(&train[..]);
        let forest = grow.fit(&of_fold, control)?;
        let (path, full) = self.run(&forest, &of_fold, Some(&test), Keep::Records, control)?;
        let records = path.records;
        Ok(Outcome { l1_norm: records.l1_norm, test_loss: records.test_loss, n_test_nodes: records.n_test_nodes, full })
    }
}
