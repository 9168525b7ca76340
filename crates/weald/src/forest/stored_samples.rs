//! Weights of the training samples in the predictions of a forest, and what follows from them: quantiles and joint draws
//! of all outputs.
//!
//! Source: Meinshausen, Quantile regression forests, JMLR 7, 2006. In a tree, the weight of a training sample is its
//! fraction of the weight of the leaf that is reached, or zero outside of this leaf. In a forest, it is the mean over the
//! trees, so that the weights of all training samples sum to 1. All training samples count, also those that a tree has
//! not drawn.

use std::cmp::Ordering;

use ndarray::{Array3, ArrayView2};

use crate::control::Control;
use crate::data::Weights;
use crate::error::{Error, ErrorKind, Purpose, Result};
use crate::model::SparseScores;
use crate::model::touched::TouchedRow;
use crate::pool;

const PURPOSE: Purpose = Purpose("the weights of training samples");
/// The number of samples of one job.
const AT_ONCE: usize = 64;
/// Sums of weights are rounded: a quantile level counts as reached if the cumulated weight is this close to it.
const SLACK: f64 = 1e-12;

/// The training samples of a forest by leaf.
#[derive(Debug)]
pub struct StoredSamples {
    n_samples: usize,
    /// The place of the first node of each tree among the nodes of all trees, and their number.
    first: Vec<usize>,
    /// The samples of positive weight in each node are `samples[ptr[place]..ptr[place + 1]]`, in increasing order.
    ptr: Vec<usize>,
    samples: Vec<u32>,
    /// The weight of each of `samples` in a prediction of its leaf.
    shares: Vec<f64>,
}

impl StoredSamples {
    /// Sorts the training samples by their leaves, (n_samples, n_trees), as [`Forest::apply`](crate::Forest::apply)
    /// returns them. `weights` are their sample weights.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] if there is not one weight for each sample; [`crate::ErrorKind::Invalid`] if weights
    /// are not valid; [`crate::ErrorKind::OutOfMemory`].
    pub fn new(leaves: ArrayView2<'_, u32>, weights: &[f64]) -> Result<Self> {
        let (n_samples, n_trees) = leaves.dim();
        Weights::check(Some(weights), n_samples)?;
        let mut first = PURPOSE.with_capacity(n_trees + 1)?;
        first.push(0);
        for tree in leaves.columns() {
            first.push(first[first.len() - 1] + tree.iter().max().map_or(0, |&leaf| leaf as usize + 1));
        }
        let n_nodes = first[n_trees];
        let there = (0..n_samples).filter(|&sample| weights[sample] > 0.0);
        let places = |sample: usize| {
            let of_trees = leaves.row(sample).into_iter().zip(&first);
            of_trees.map(move |(&leaf, first)| (first + leaf as usize, sample as u32))
        };
        let (ptr, samples) = PURPOSE.grouped(n_nodes, there.flat_map(places))?;
        let mut shares = PURPOSE.collected(samples.iter().map(|&sample| weights[sample as usize]))?;
        for range in ptr.windows(2) {
            let of_node = &mut shares[range[0]..range[1]];
            let total: f64 = of_node.iter().sum();
            of_node.iter_mut().for_each(|share| *share = *share / total / n_trees as f64);
        }
        Ok(StoredSamples { n_samples, first, ptr, samples, shares })
    }

    /// Returns the number of stored values that samples with some leaves read on average, times their number.
    #[must_use]
    pub fn cost(&self, reached: ArrayView2<'_, u32>) -> usize {
        reached.len().saturating_mul(1 + self.samples.len() / self.ptr.len())
    }

    /// Returns the weights of all training samples in the predictions of samples that reach some leaves, (n, n_trees),
    /// or of each sample only the `k` largest: of equal weights, those of the first training samples.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] if the number of trees is another one; [`crate::ErrorKind::Interrupted`] or
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn weights(&self, reached: ArrayView2<'_, u32>, k: Option<usize>, control: &Control) -> Result<SparseScores> {
        self.check(reached)?;
        let n_blocks = reached.nrows().div_ceil(AT_ONCE);
        let blocks = pool::map(control.n_threads(), n_blocks, |block| {
            control.check()?;
            let (mut found, mut row) = (SparseScores::empty()?, TouchedRow::new(self.n_samples)?);
            for i in block * AT_ONCE..reached.nrows().min((block + 1) * AT_ONCE) {
                let weights = self.of_row(reached, i, &mut row)?;
                let mut kept = PURPOSE.collected(weights.iter().copied())?;
                if let Some(k) = k.filter(|&k| k < kept.len()) {
                    let order = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
                    kept.select_nth_unstable_by(k.saturating_sub(1), order);
                    kept.truncate(k);
                    kept.sort_unstable_by_key(|(sample, _)| *sample);
                }
                PURPOSE.extend(&mut found.columns, kept.iter().map(|(sample, _)| *sample))?;
                PURPOSE.extend(&mut found.values, kept.iter().map(|(_, weight)| *weight))?;
                PURPOSE.push(&mut found.ptr, found.columns.len())?;
            }
            Ok(found)
        })?;
        SparseScores::joined(blocks)
    }

    /// Returns quantiles, (n, n_outputs, n_quantiles): the smallest targets up to which the weights reach each level.
    /// `targets` has those of the training samples, (n_samples, n_outputs), with NaN for unknown ones, which have no
    /// weight. Levels are numbers from 0 to 1.
    ///
    /// # Errors
    /// The same as for [`StoredSamples::weights`]; [`crate::ErrorKind::Invalid`] if a sample only reaches leaves without
    /// a known target.
    pub fn quantiles(
        &self,
        targets: ArrayView2<'_, f64>,
        reached: ArrayView2<'_, u32>,
        levels: &[f64],
        control: &Control,
    ) -> Result<Array3<f64>> {
        self.check_targets(targets)?;
        let orders =
            PURPOSE.results(targets.columns().into_iter().map(|targets| Ranks::new(targets.iter().copied())))?;
        let shape = (reached.nrows(), targets.ncols(), levels.len());
        self.each_row(reached, shape, control, |_, weights, out| {
            let mut ranked = Vec::new();
            for ((order, targets), out) in orders.iter().zip(targets.columns()).zip(out.chunks_exact_mut(levels.len()))
            {
                ranked.clear();
                PURPOSE.extend(
                    &mut ranked,
                    weights.iter().map(|&(sample, weight)| (order.ranks[sample as usize], weight)),
                )?;
                ranked.retain(|(rank, _)| *rank != UNKNOWN);
                ranked.sort_unstable_by_key(|(rank, _)| *rank);
                cumulate(&mut ranked)?;
                for (out, level) in out.iter_mut().zip(levels) {
                    let rank = reached_at(&ranked, level - SLACK, Ordering::is_lt);
                    *out = targets[order.samples[rank as usize] as usize];
                }
            }
            Ok(())
        })
    }

    /// Returns targets of training samples that are drawn by their weights, (n, n_outputs, n_draws). All outputs of a
    /// draw come from the same training sample: the first one at which the cumulated weight exceeds the share of the
    /// draw. `shares`, (n, n_draws), are numbers from 0 to 1.
    ///
    /// # Errors
    /// The same as for [`StoredSamples::weights`].
    pub fn draws(
        &self,
        targets: ArrayView2<'_, f64>,
        reached: ArrayView2<'_, u32>,
        shares: ArrayView2<'_, f64>,
        control: &Control,
    ) -> Result<Array3<f64>> {
        self.check_targets(targets)?;
        if shares.nrows() != reached.nrows() {
            let (expected, got) = (reached.nrows(), shares.nrows());
            return Err(ErrorKind::Shape { what: "shares", expected, got }.into());
        }
        let shape = (reached.nrows(), targets.ncols(), shares.ncols());
        self.each_row(reached, shape, control, |i, weights, out| {
            let mut sums = PURPOSE.collected(weights.iter().copied())?;
            cumulate(&mut sums)?;
            for (draw, &share) in shares.row(i).iter().enumerate() {
                let sample = reached_at(&sums, share, Ordering::is_le);
                let of_draw = out.iter_mut().skip(draw).step_by(shares.ncols());
                of_draw.zip(targets.row(sample as usize)).for_each(|(out, &target)| *out = target);
            }
            Ok(())
        })
    }

    fn check(&self, reached: ArrayView2<'_, u32>) -> Result<()> {
        let n_trees = self.first.len() - 1;
        if reached.ncols() == n_trees {
            return Ok(());
        }
        Err(ErrorKind::Shape { what: "the leaves of each sample", expected: n_trees, got: reached.ncols() }.into())
    }

    fn check_targets(&self, targets: ArrayView2<'_, f64>) -> Result<()> {
        if targets.nrows() == self.n_samples {
            return Ok(());
        }
        Err(ErrorKind::Shape { what: "targets", expected: self.n_samples, got: targets.nrows() }.into())
    }

    /// Calls `write` with each sample, the weights of training samples, in increasing order of these, and the part of
    /// the result that is to be written.
    fn each_row(
        &self,
        reached: ArrayView2<'_, u32>,
        shape: (usize, usize, usize),
        control: &Control,
        write: impl Fn(usize, &[(u32, f64)], &mut [f64]) -> Result<()> + Sync,
    ) -> Result<Array3<f64>> {
        self.check(reached)?;
        let n_cells = shape.1 * shape.2;
        let mut found = Purpose("targets by weights").filled(0.0, shape.0.saturating_mul(n_cells))?;
        let jobs = found.chunks_mut((AT_ONCE * n_cells).max(1)).enumerate();
        let scratch = || TouchedRow::new(self.n_samples);
        pool::for_each(control.n_threads(), jobs, scratch, |row, (block, out)| {
            control.check()?;
            for (i, out) in (block * AT_ONCE..).zip(out.chunks_exact_mut(n_cells)) {
                write(i, &self.of_row(reached, i, row)?, out)?;
            }
            Ok(())
        })?;
        Ok(Array3::from_shape_vec(shape, found).expect("as many as the shape has"))
    }

    /// Returns the training samples with weight in the prediction of a sample, in increasing order, and these weights.
    fn of_row(&self, reached: ArrayView2<'_, u32>, i: usize, row: &mut TouchedRow) -> Result<Vec<(u32, f64)>> {
        for ((&leaf, &first), &end) in reached.row(i).iter().zip(&self.first).zip(&self.first[1..]) {
            let place = first + leaf as usize;
            if place < end {
                let range = self.ptr[place]..self.ptr[place + 1];
                row.add_each(&self.samples[range.clone()], &self.shares[range])?;
            }
        }
        row.sort_columns();
        let weights = PURPOSE.collected(row.columns().iter().map(|&sample| (sample, row.sum(sample))))?;
        row.forget();
        Ok(weights)
    }
}

/// The rank of a sample without a known target.
const UNKNOWN: u32 = u32::MAX;

/// The order of the samples by their targets; equal ones are in the order of the samples.
#[derive(Debug)]
struct Ranks {
    /// The samples with a known target, by rank.
    samples: Vec<u32>,
    /// The rank of each sample.
    ranks: Vec<u32>,
}

impl Ranks {
    fn new(targets: impl ExactSizeIterator<Item = f64>) -> Result<Self> {
        let targets = PURPOSE.collected(targets)?;
        let mut samples = PURPOSE.collected(0..targets.len() as u32)?;
        samples.retain(|&sample| !targets[sample as usize].is_nan());
        let target = |sample: u32| targets[sample as usize];
        samples.sort_unstable_by(|&a, &b| target(a).partial_cmp(&target(b)).expect("no NaN").then(a.cmp(&b)));
        let mut ranks = PURPOSE.filled(UNKNOWN, targets.len())?;
        (0..).zip(&samples).for_each(|(rank, &sample)| ranks[sample as usize] = rank);
        Ok(Ranks { samples, ranks })
    }
}

/// Replaces each weight by the sum of those up to it.
fn cumulate(weights: &mut [(u32, f64)]) -> Result<()> {
    let mut sum = 0.0;
    for (_, weight) in &mut *weights {
        sum += *weight;
        *weight = sum;
    }
    if weights.is_empty() {
        return Err(Error::invalid(
            "y",
            "a sample that only reaches leaves without one",
            "have a known target in a leaf that each sample reaches",
        ));
    }
    Ok(())
}

/// Returns the first item whose cumulated weight is not `below` a share of all weight, or the last item.
fn reached_at(sums: &[(u32, f64)], share: f64, below: impl Fn(Ordering) -> bool) -> u32 {
    let last = sums.len() - 1;
    let goal = sums[last].1 * share;
    let place = sums.partition_point(|(_, sum)| sum.partial_cmp(&goal).is_some_and(&below));
    sums[place.min(last)].0
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;
    use crate::rng::{Key, Stream};

    /// The weights of the definition, one pair of samples after the other.
    fn slow(leaves: &Array2<u32>, weights: &[f64], reached: &Array2<u32>) -> Array2<f64> {
        let n_trees = leaves.ncols() as f64;
        Array2::from_shape_fn((reached.nrows(), leaves.nrows()), |(i, sample)| {
            let of_tree = |t: usize| {
                let there = |&other: &usize| leaves[[other, t]] == reached[[i, t]];
                let total: f64 = (0..leaves.nrows()).filter(there).map(|other| weights[other]).sum();
                if there(&sample) && weights[sample] > 0.0 { weights[sample] / total / n_trees } else { 0.0 }
            };
            (0..leaves.ncols()).map(of_tree).sum()
        })
    }

    proptest! {
        #[test]
        fn weights_quantiles_and_draws_are_those_of_the_definition(
            seed in any::<u64>(), n in 1usize..12, n_trees in 1usize..4, n_threads in 1usize..4, k in 1usize..5,
        ) {
            let mut draw = Stream::new(Key::from_seed(seed));
            let mut table = |rows: usize| Array2::from_shape_fn((rows, n_trees), |_| draw.below(3) as u32);
            // The training samples reach leaves of their own.
            let leaves = table(n);
            let reached = leaves.select(ndarray::Axis(0), &(0..150).map(|i| i % n).collect::<Vec<_>>());
            let weights: Vec<f64> = (0..n).map(|i| if i == 0 { 1.5 } else { draw.below(3) as f64 }).collect();
            let targets = Array2::from_shape_fn((n, 2), |_| draw.below(5) as f64);
            let expected = slow(&leaves, &weights, &reached);
            let reaches = |i: usize| expected.row(i).sum() > 0.0;
            let rows: Vec<usize> = (0..150).filter(|&i| reaches(i)).collect();
            let (reached, expected) = (reached.select(ndarray::Axis(0), &rows), expected.select(ndarray::Axis(0), &rows));
            let control = Control::with_threads(n_threads);
            let stored = StoredSamples::new(leaves.view(), &weights).unwrap();
            let found = stored.weights(reached.view(), None, &control).unwrap();
            let few = stored.weights(reached.view(), Some(k), &control).unwrap();
            let levels = [0.0, 0.25, 0.5, 1.0];
            let quantiles = stored.quantiles(targets.view(), reached.view(), &levels, &control).unwrap();
            let shares = Array2::from_shape_fn((rows.len(), 3), |(i, j)| ((i * 7 + j * 3) % 11) as f64 / 11.0);
            let draws = stored.draws(targets.view(), reached.view(), shares.view(), &control).unwrap();
            for (i, expected) in expected.rows().into_iter().enumerate() {
                let there: Vec<u32> = (0..n as u32).filter(|&sample| expected[sample as usize] > 0.0).collect();
                prop_assert_eq!(&found.columns[found.ptr[i]..found.ptr[i + 1]], &there[..]);
                let values = &found.values[found.ptr[i]..found.ptr[i + 1]];
                prop_assert_eq!(values, &there.iter().map(|&s| expected[s as usize]).collect::<Vec<_>>()[..]);
                let mut largest = there.clone();
                largest.sort_by(|&a, &b| expected[b as usize].total_cmp(&expected[a as usize]));
                largest.truncate(k);
                largest.sort_unstable();
                prop_assert_eq!(&few.columns[few.ptr[i]..few.ptr[i + 1]], &largest[..]);
                let total = expected.sum();
                for (output, targets) in targets.columns().into_iter().enumerate() {
                    for (level, q) in levels.iter().enumerate() {
                        // The tolerance is that of sums of weights in another order.
                        let up_to = |target: f64| (0..n).filter(|&s| targets[s] <= target).map(|s| expected[s]).sum::<f64>();
                        let reaching = there.iter().map(|&s| targets[s as usize]).filter(|&y| up_to(y) >= (q - 1e-9) * total);
                        prop_assert_eq!(quantiles[[i, output, level]], reaching.fold(f64::INFINITY, f64::min));
                    }
                }
                for (draw, share) in shares.row(i).iter().enumerate() {
                    let sum = |last: u32| there.iter().filter(|&&s| s <= last).map(|&s| expected[s as usize]).sum::<f64>();
                    let all = sum(u32::MAX);
                    let first = there.iter().copied().find(|&s| sum(s) > all * share).unwrap();
                    let of_row = draws.index_axis(ndarray::Axis(0), i);
                    prop_assert_eq!(of_row.column(draw), targets.row(first as usize));
                }
            }
        }
    }

    #[test]
    fn unknown_targets_have_no_weight_and_arrays_that_do_not_fit_are_refused() {
        let (leaves, control) = (array![[1u32], [1], [2]], Control::default());
        let stored = StoredSamples::new(leaves.view(), &[1.0; 3]).unwrap();
        let targets = array![[f64::NAN], [4.0], [f64::NAN]];
        let found = stored
            .quantiles(targets.view(), leaves.slice_axis(ndarray::Axis(0), (..2).into()), &[0.0, 1.0], &control)
            .unwrap();
        assert_eq!(found.into_raw_vec_and_offset().0, [4.0; 4]);
        let error = stored.quantiles(targets.view(), leaves.view(), &[0.5], &control).unwrap_err();
        assert!(error.to_string().starts_with("y must have a known target in a leaf"), "{error}");
        // No training sample is in this leaf.
        assert_eq!(stored.weights(array![[7u32]].view(), None, &control).unwrap().ptr, [0, 0]);
        assert!(StoredSamples::new(leaves.view(), &[1.0; 2]).is_err());
        let wide = array![[1u32, 2]];
        assert!(stored.weights(wide.view(), None, &control).is_err());
        assert!(stored.quantiles(array![[1.0]].view(), leaves.view(), &[0.5], &control).is_err());
        assert!(stored.draws(targets.view(), leaves.view(), array![[0.5]].view(), &control).is_err());
        control.stop();
        let interrupted = stored.weights(leaves.view(), None, &control).unwrap_err();
        assert_eq!(interrupted.kind(), &ErrorKind::Interrupted);
    }
}
