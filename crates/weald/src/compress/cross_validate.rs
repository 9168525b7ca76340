//! Cross-validation: for each fold, a forest is fitted and compressed.

use ndarray::Array2;

use super::{CompressConfig, Keep};
use crate::control::Control;
use crate::data::{Dataset, Weights};
use crate::error::{Error, Purpose, Result};
use crate::folds::Split;
use crate::forest::config::ForestConfig;
use crate::pool;

/// Test losses of all folds. Point s of the grid is step s of every fold: the same number of moves or, for the lasso,
/// the same share of the largest penalty.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CrossValidation {
    /// The mean norm of the folds that have this step, for each point.
    pub l1_norms: Vec<f64>,
    /// The test loss, (folds, points); after the end of its path, a fold keeps its last value.
    pub test_loss: Array2<f64>,
    /// The number of test nodes, (folds, points).
    pub n_test_nodes: Array2<f64>,
    /// The test loss of the forest of each fold before compression.
    pub full_forest_loss: Vec<f64>,
}

/// What is kept of a fold.
#[derive(Debug)]
struct Outcome {
    l1_norm: Vec<f64>,
    test_loss: Vec<f64>,
    n_test_nodes: Vec<usize>,
    full: f64,
}

impl CompressConfig {
    /// Returns the test losses along the paths of folds, each of which has its own forest.
    ///
    /// The forest of a fold is fitted with weight zero for all samples except its own, which has the same effect as
    /// leaving the others out, and is compressed on one thread. Folds run on the threads of the control, each of
    /// which has a forest and its path in memory. Results do not depend on the number of threads. A tree counts as one
    /// step of progress, and so does a move of a path.
    ///
    /// # Errors
    /// The same as for [`crate::ForestConfig::fit`] and [`CompressConfig::path`], and
    /// [`crate::ErrorKind::Invalid`] for fewer than two folds, and for samples that do not exist or are on both sides
    /// of a fold.
    pub fn cross_validate<'d>(
        &self,
        grow: &ForestConfig,
        data: impl Into<Dataset<'d>>,
        folds: &[Split],
    ) -> Result<CrossValidation> {
        let data = data.into();
        let control = &data.under();
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
            // The mean of equal norms is exactly this norm.
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

    fn fold(&self, grow: &ForestConfig, data: &Dataset<'_>, fold: &Split, control: &Control) -> Result<Outcome> {
        const PURPOSE: Purpose = Purpose("the rows of a fold");
        let (n, weights) = (data.n_samples(), data.row_weights());
        let mut train = PURPOSE.filled(0.0, n)?;
        let mut test = PURPOSE.filled(0.0, n)?;
        let weight = |row: usize| weights.sample_weight.map_or(1.0, |w| w[row]);
        for (rows, into) in [(&fold.train, &mut train), (&fold.held_out, &mut test)] {
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
        let forest = grow.fit(of_fold.view().control(control))?;
        let (path, full) = self.run(&forest, &of_fold, Some(&test), Keep::Records, control)?;
        let records = path.records;
        Ok(Outcome { l1_norm: records.l1_norm, test_loss: records.test_loss, n_test_nodes: records.n_test_nodes, full })
    }
}
