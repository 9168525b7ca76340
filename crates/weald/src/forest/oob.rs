//! Out-of-bag predictions, predictions for the training samples by the trees that did not draw them, and the spread of
//! trees.

use ndarray::Array2;

use super::Forest;
use super::bootstrap::{Population, Urn, tree_key};
use crate::control::Control;
use crate::data::{Dataset, Matrix, Query};
use crate::error::{Error, Purpose, Result};
use crate::forest::config::{ForestConfig, Sampling};
use crate::model::{SparseScores, into_array, means};
use crate::pool;

const PURPOSE: Purpose = Purpose("out-of-bag predictions");

/// The number of trees whose draws are held at the same time: one for each bit of a word.
const TREES_AT_ONCE: usize = u64::BITS as usize;

/// Out-of-bag predictions of the training samples.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Oob {
    /// The mean over the trees that did not draw the sample, (n_samples, width); NaN if every tree drew it.
    pub scores: Array2<f64>,
    /// The number of these trees for each sample.
    pub n_trees: Vec<u32>,
}

/// Out-of-bag predictions of the training samples that are at least a given floor.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SparseOob {
    /// The means of [`Oob::scores`] that are positive and at least the floor. A sample that every tree drew has no
    /// entries.
    pub scores: SparseScores,
    /// The number of trees that did not draw the sample, for each sample.
    pub n_trees: Vec<u32>,
}

/// Which trees did not draw which samples.
#[derive(Debug)]
pub(crate) struct Unseen {
    n_rows: usize,
    /// Bit t of `bits[g * n_rows + i]` is set if tree `g * TREES_AT_ONCE + t` did not draw sample i.
    bits: Vec<u64>,
}

impl Unseen {
    /// Repeats the draws of `n_trees` trees of a fit, which may take y as entries, on the threads of `control`. The cost is
    /// O(n · trees) time, and one bit of memory for each sample and tree.
    pub(crate) fn new(
        n_trees: usize,
        (sampling, seed): (Sampling, u64),
        data: &Dataset<'_>,
        takes_entries: bool,
        control: &Control,
    ) -> Result<Self> {
        // The population identifies samples by their content, as the fit saw it.
        let observed = data.observed()?;
        let data = data.with_observed(observed.as_ref());
        let restored = data.restored(takes_entries)?;
        let data = data.with_restored(restored.as_ref());
        let (y, sample_weight) = (data.y(), data.row_weights().sample_weight);
        let n = data.n_samples();
        if let Some(w) = sample_weight.filter(|w| w.len() != n) {
            return Err(Error::shape("sample_weight", n, w.len()));
        }
        let weighted = |row: usize| sample_weight.is_none_or(|w| w[row] > 0.0);
        y.check(n)?;
        let urn = Urn::new(&Population::new(data.x(), Some(y), data.known(), sample_weight), sampling, control)?;
        urn.check(sampling)?;
        let n_groups = n_trees.div_ceil(TREES_AT_ONCE);
        let mut bits = Purpose("out-of-bag rows").zeros(n_groups, n)?;
        for (g, group) in bits.chunks_mut(n.max(1)).enumerate() {
            let first = g * TREES_AT_ONCE;
            let draws = pool::map(control.n_threads(), TREES_AT_ONCE.min(n_trees - first), |t| {
                urn.draw(sampling, n, tree_key(seed, first + t), control)
            })?;
            for (t, counts) in draws.iter().enumerate() {
                // A tree that makes no draws has every sample of positive weight.
                for (i, bits) in group.iter_mut().enumerate() {
                    let is_unseen = counts.as_ref().map_or_else(|| !weighted(i), |counts| counts[i] == 0);
                    *bits |= u64::from(is_unseen) << t;
                }
            }
        }
        Ok(Unseen { n_rows: n, bits })
    }

    /// Returns whether tree `tree` did not draw sample `row`.
    pub(crate) fn has(&self, row: usize, tree: usize) -> bool {
        self.bits[tree / TREES_AT_ONCE * self.n_rows + row] >> (tree % TREES_AT_ONCE) & 1 == 1
    }

    /// Returns the number of trees that did not draw the sample, for each sample.
    pub(crate) fn n_trees(&self) -> Result<Vec<u32>> {
        let mut n_trees = PURPOSE.filled(0, self.n_rows)?;
        for group in self.bits.chunks(self.n_rows.max(1)) {
            n_trees.iter_mut().zip(group).for_each(|(n, bits)| *n += bits.count_ones());
        }
        Ok(n_trees)
    }
}

impl Forest {
    /// Repeats the draws of the fit.
    pub(super) fn unseen(&self, config: &ForestConfig, data: &Dataset<'_>, control: &Control) -> Result<Unseen> {
        let takes_entries = config.tree.criterion.takes_entries();
        Unseen::new(self.n_trees(), (config.sampling, config.seed), data, takes_entries, control)
    }

    /// Returns the standard deviation over the trees of the prediction of each sample, (n_samples, width of the
    /// outputs). The bits are the same for any number of threads and any layout of X.
    ///
    /// # Errors
    /// The same as for [`Forest::predict`], and [`crate::ErrorKind::Unsupported`] for trees of one output each.
    pub fn spread<'x>(&self, x: impl Into<Query<'x>>) -> Result<Array2<f64>> {
        let Query { x, control } = &x.into();
        let means = self.predict((x.clone(), control))?;
        self.spread_of(x, &means, |_, _| true, |_| self.n_trees() as f64, control)
    }

    /// Returns the predictions of [`Forest::oob_predict`], and the standard deviation over the trees that did not draw
    /// the sample; 0 if there is at most one of them.
    ///
    /// # Errors
    /// The same as for [`Forest::oob_predict`] and [`Forest::spread`].
    pub fn oob_spread<'d>(&self, config: &ForestConfig, data: impl Into<Dataset<'d>>) -> Result<(Oob, Array2<f64>)> {
        let data = data.into();
        let control = &data.under();
        let unseen = self.unseen(config, &data, control)?;
        let Oob { scores, n_trees } = self.oob_of(data.x(), &unseen, control)?;
        let counts = |row: usize, tree: usize| unseen.has(row, tree);
        let spread = self.spread_of(data.x(), &scores, counts, |row| f64::from(n_trees[row]), control)?;
        Ok((Oob { scores, n_trees }, spread))
    }

    fn spread_of(
        &self,
        x: &Matrix<'_>,
        means: &Array2<f64>,
        counts: impl Fn(usize, usize) -> bool + Sync,
        n_counting: impl Fn(usize) -> f64 + Sync,
        control: &Control,
    ) -> Result<Array2<f64>> {
        self.check_of_all_outputs("spread")?;
        let (n, width) = means.dim();
        let means = means.as_slice().expect("predictions are made in rows");
        let mut out = Purpose("the spread of trees").zeros(n, width)?;
        let model = self.additive()?;
        means::spread_into(&model.leaves_of(x, control)?, (width, means, &mut out), counts, n_counting, control)?;
        Ok(into_array(out, n, width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::Criterion;
    use crate::data::Targets;
    use crate::error::ErrorKind;
    use crate::testing::{models, naive};

    #[test]
    fn each_row_is_predicted_by_the_trees_that_did_not_draw_it() {
        for (seed, sampling) in
            (0..60).zip([Sampling::Bootstrap(None), Sampling::WithoutReplacement(12)].into_iter().cycle())
        {
            let n = 40;
            let shape = models::Shape { n_features: 4, outputs: models::some_outputs(seed), max_leaves: 20, unit: 1.0 };
            let forest = models::forest(seed, 1 + 11 * (seed as usize % 9), &shape);
            let rows = models::rows(seed, n, 4);
            let numbers = Array2::from_shape_fn((n, 1), |(i, _)| i as f64);
            let y = Targets::Real(numbers.view());
            let weights: Vec<f64> = (0..n).map(|i| (i % 5) as f64).collect();
            let config = ForestConfig { sampling, seed, ..ForestConfig::random_forest(Criterion::Gini) };
            for weights in [None, Some(&weights[..])] {
                let x = Matrix::from(&rows.c_order);
                let urn =
                    Urn::new(&Population::new(&x, Some(&y), None, weights), sampling, &Control::default()).unwrap();
                let draws: Vec<_> = (0..forest.n_trees())
                    .map(|t| urn.draw(sampling, n, tree_key(seed, t), &Control::default()).unwrap().unwrap())
                    .collect();
                let expected = naive::predict(&forest, &rows.c_order, |i, t| draws[t][i] == 0);
                let deviations = naive::spread(&forest, &rows.c_order, |i, t| draws[t][i] == 0);
                let of_all = naive::spread(&forest, &rows.c_order, |_, _| true);
                for (x, n_threads) in rows.layouts().into_iter().zip([1, 2, 1, 8, 2]) {
                    let oob = forest
                        .oob_predict(
                            &config,
                            Dataset::new(&x, &y).sample_weight(weights).control(&Control::with_threads(n_threads)),
                        )
                        .unwrap();
                    let control = Control::with_threads(n_threads);
                    let data = Dataset::new(&x, &y).sample_weight(weights);
                    let (of_spread, spread) = forest.oob_spread(&config, (&data, &control)).unwrap();
                    assert_eq!((of_spread.n_trees, spread), (oob.n_trees.clone(), deviations.clone()));
                    assert_eq!(forest.spread((&x, &control)).unwrap(), of_all);
                    for i in 0..n {
                        let votes = draws.iter().filter(|draw| draw[i] == 0).count();
                        assert_eq!(oob.n_trees[i] as usize, votes);
                        let bits = |a: &Array2<f64>| a.row(i).iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                        if votes == 0 {
                            assert!(oob.scores.row(i).iter().all(|v| v.is_nan()));
                        } else {
                            assert_eq!(bits(&oob.scores), bits(&expected));
                            assert_eq!(bits(&oob.scores), bits(&of_spread.scores));
                        }
                    }
                    for floor in [0.0, 0.3] {
                        let found = forest
                            .oob_at_least(
                                &config,
                                Dataset::new(&x, &y).sample_weight(weights).control(&Control::with_threads(n_threads)),
                                floor,
                            )
                            .unwrap();
                        assert_eq!(found.n_trees, oob.n_trees);
                        assert_eq!(found.scores, naive::at_least(&oob.scores, floor));
                    }
                }
            }
        }
    }

    #[test]
    fn without_draws_no_row_is_out_of_bag_but_those_without_weight() {
        let forest = models::some_forest(4);
        let rows = models::rows(4, 3, forest.n_features);
        let numbers = Array2::zeros((3, 1));
        let y = Targets::Real(numbers.view());
        let config = ForestConfig::extra_trees(Criterion::Gini);
        let x = Matrix::from(&rows.c_order);
        let oob = forest.oob_predict(&config, Dataset::new(&x, &y).sample_weight(&[1.0, 0.0, 2.0][..])).unwrap();
        assert_eq!(oob.n_trees, [0, forest.n_trees() as u32, 0]);
        assert!(oob.scores[[0, 0]].is_nan() && oob.scores[[1, 0]].is_finite());
    }

    #[test]
    fn weights_and_draws_must_fit_the_samples() {
        let forest = models::some_forest(4);
        let rows = models::rows(4, 3, forest.n_features);
        let numbers = Array2::zeros((3, 1));
        let y = Targets::Real(numbers.view());
        let x = Matrix::from(&rows.c_order);
        let mut config = ForestConfig::random_forest(Criterion::Gini);
        let error = forest.oob_predict(&config, Dataset::new(&x, &y).sample_weight(&[1.0][..])).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Shape { what: "sample_weight", expected: 3, got: 1 });
        config.sampling = Sampling::WithoutReplacement(4);
        assert!(matches!(forest.oob_predict(&config, (&x, &y)).unwrap_err().kind(), ErrorKind::Invalid { .. }));
    }
}
