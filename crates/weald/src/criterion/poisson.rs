//! Half the mean Poisson deviance of counts and other non-negative numbers, for any number of outputs.
//!
//! A sample y deviates from a mean m by y ln (y / m) − y + m = m φ(y / m − 1) with φ(t) = (1 + t) ln (1 + t) − t. A
//! side of weight W and mean m′ decreases the deviance of its node of mean m by W m φ(m′ / m − 1). Both are sums of
//! non-negative terms, and φ is about t² / 2 near zero, so that no digits are lost if targets hardly differ.
//!
//! Targets are rounded once, at the root, to multiples of a spacing. It is so fine that targets close to the largest
//! one keep all bits, and so coarse that every weighted sum is below 2¹²⁰. The deviances of samples are rounded in the
//! same way in each node. Sums are exact, whatever their order. A target below half a spacing, which is less than 2⁻⁶⁰
//! of the largest target, counts as zero.
//!
//! A cut is rejected if an output sums to zero on one side but not in the whole node, because every positive value has
//! an infinite deviance from the mean 0.

use super::table::{
    CriterionKind, Decrease, NodeData, SideSums, SplitSums, TakeStatistics, TargetKind, refused_where_masked,
};
use super::{Criterion, NodeCriterion, NodeStats, Units};
use crate::data::train_y::{RealTargets, TrainY};
use crate::elementary::ln_1p;
use crate::error::{Error, Purpose, Result};
use crate::exact::reduce::{Reduce, Workers};
use crate::exact::{FixedPoint, Total, debug_assert_exact};

/// The Poisson deviance in the table of criteria.
pub(crate) struct PoissonDeviance;

impl CriterionKind for PoissonDeviance {
    const NAME: &'static str = "poisson";
    const DOMAIN: TargetKind = TargetKind::Numbers;
    const DECREASE: Option<Decrease> = Some(PoissonDeviance::decrease);

    fn statistics<'a, U: Units, T: TakeStatistics<'a>>(data: &NodeData<'a, U>, taker: T) -> Result<T::Outcome> {
        match data.y {
            TrainY::Real(y) => taker.take(Poisson::new(y, data.units, data.total, data.workers)?),
            TrainY::MaskedReal(_) => Err(refused_where_masked(Criterion::Poisson)),
            TrainY::SparseReal(_) | TrainY::Slots(_) | TrainY::MaskedSlots(_) => Err(data.refused_by::<Self>()),
        }
    }

    fn check(y: &TrainY<'_>, rows: &[u32]) -> Result<()> {
        let y = match y {
            TrainY::Real(y) => y,
            TrainY::MaskedReal(_) => return Err(refused_where_masked(Criterion::Poisson)),
            // Other kinds of y raise an error when the parameters are checked.
            TrainY::SparseReal(_) | TrainY::Slots(_) | TrainY::MaskedSlots(_) => return Ok(()),
        };
        let values = || rows.iter().flat_map(|&row| y.of(row));
        if let Some(negative) = values().find(|y| **y < 0.0) {
            return Err(Error::invalid("y", negative, "be at least 0 with the Poisson criterion"));
        }
        if values().all(|&y| y == 0.0) {
            return Err(Error::invalid("y", "zeros only", "have a positive sum with the Poisson criterion"));
        }
        Ok(())
    }
}

impl PoissonDeviance {
    fn decrease(split: &SplitSums<'_>) -> f64 {
        let columns = split.left.sums.iter().zip(split.right.sums).zip(split.both.sums);
        let of_column = |((&l, &r), &both): ((&f64, &f64), &f64)| {
            let mean = both / split.both.total;
            let of_side = |side: &SideSums<'_>, sum: f64| side.weight * phi(sum / side.total / mean - 1.0);
            if mean > 0.0 { mean * (of_side(&split.left, l) + of_side(&split.right, r)) } else { 0.0 }
        };
        columns.map(of_column).sum()
    }
}

/// Returns (1 + t) ln (1 + t) − t, for t ≥ −1.
#[inline]
fn phi(t: f64) -> f64 {
    if t.abs() < 0.01 {
        // The terms of the difference would cancel. The next term of the series is below 4e-16 of the first.
        let tail = 1.0 / 20.0 - t * (1.0 / 30.0 - t * (1.0 / 42.0 - t / 56.0));
        return t * t * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 12.0 - t * tail)));
    }
    if t > -1.0 { (1.0 + t) * ln_1p(t) - t } else { 1.0 }
}

/// Returns the scale that makes the numbers of all workers, which must not be negative, less than one.
fn below_one<'n>(own: impl Iterator<Item = &'n f64>, workers: &Workers) -> Result<FixedPoint> {
    let largest = own.fold(f64::MIN_POSITIVE, |most, &number| most.max(number));
    Ok(FixedPoint::with_bits(workers.max_of(largest)?, 0))
}

#[derive(Debug)]
pub(crate) struct Poisson<'a, U> {
    y: &'a RealTargets<'a>,
    weights: &'a [U],
    workers: Workers,
    /// Converts numbers below one to integers, whose products with the weight of the root are below 2¹²⁰.
    whole: FixedPoint,
    /// The scale that makes all targets less than one; `None` until the root is entered.
    size: Option<FixedPoint>,
    /// For each sample, weight × rounded target of each output, as integers.
    rounded: Vec<i128>,
    /// The deviance of each sample of a node.
    deviances: Vec<f64>,
    /// The sum of each output in the node and in the moved side, as integers, and the means of the node.
    total: Vec<i128>,
    moved: Vec<i128>,
    means: Vec<f64>,
    weight: f64,
}

impl<'a, U: Units> Poisson<'a, U> {
    /// `total` is the weight of the root, in units.
    pub(crate) fn new(y: &'a RealTargets<'a>, weights: &'a [U], total: Total, workers: &Workers) -> Result<Self> {
        const PURPOSE: Purpose = Purpose("the sums of a node");
        Ok(Poisson {
            y,
            weights,
            workers: workers.clone(),
            whole: FixedPoint::with_bits(total.as_f64(), 119),
            size: None,
            rounded: Purpose("the rounded targets").filled(0, weights.len() * y.n_outputs)?,
            deviances: Purpose("the deviances of samples").with_capacity(weights.len())?,
            total: PURPOSE.filled(0, y.n_outputs)?,
            moved: PURPOSE.filled(0, y.n_outputs)?,
            means: PURPOSE.filled(0.0, y.n_outputs)?,
            weight: 0.0,
        })
    }

    /// Rounds the targets of the samples of the root.
    fn round(&mut self, rows: &[u32]) -> Result<FixedPoint> {
        let size = below_one(rows.iter().flat_map(|&row| self.y.of(row)), &self.workers)?;
        let q = self.y.n_outputs;
        for &row in rows {
            let w = self.weights[row as usize].to_f64() as i128;
            let out = &mut self.rounded[row as usize * q..][..q];
            for (out, &y) in out.iter_mut().zip(self.y.of(row)) {
                *out = w * self.whole.up(size.up(y)) as i128;
            }
        }
        Ok(size)
    }

    /// Returns whether all samples of the node have the same targets.
    fn are_equal(&self, rows: &[u32]) -> Result<bool> {
        if self.workers.has_all_rows() {
            return Ok(rows.windows(2).all(|pair| self.y.of(pair[0]) == self.y.of(pair[1])));
        }
        // Every worker makes the calls for all outputs.
        let mut are_equal = true;
        for output in 0..self.y.n_outputs {
            let targets = rows.iter().map(|&row| self.y.of(row)[output]);
            let own = targets.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)));
            let (low, high) = self.workers.range(own)?;
            are_equal &= low == high;
        }
        Ok(are_equal)
    }

    /// Returns the deviance of the samples of the node, weighted by their weights, in units of `size`.
    fn deviance(&mut self, rows: &[u32], size: FixedPoint) -> Result<f64> {
        self.deviances.clear();
        let deviance = |&row: &u32| {
            let outputs = self.y.of(row).iter().zip(&self.means).filter(|(_, mean)| **mean > 0.0);
            outputs.map(|(&y, mean)| mean * phi(size.up(y) / mean - 1.0)).sum::<f64>()
        };
        // The capacity is sufficient for all samples.
        self.deviances.extend(rows.iter().map(deviance));
        let largest = below_one(self.deviances.iter(), &self.workers)?;
        let rounded = rows.iter().zip(&self.deviances).map(|(&row, &deviance)| {
            self.weights[row as usize].to_f64() as i128 * self.whole.up(largest.up(deviance)) as i128
        });
        let sum = self.workers.sum_of(rounded.sum::<i128>())?;
        Ok(largest.down(self.whole.down(sum as f64)))
    }
}

impl<U: Units> NodeCriterion for Poisson<'_, U> {
    type Memory = ();
    /// The moved weight.
    type Moved = f64;
    type Sample = ();

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        let size = match self.size {
            Some(size) => size,
            None => self.round(rows)?,
        };
        self.size = Some(size);
        let q = self.y.n_outputs;
        self.total.fill(0);
        self.weight = 0.0;
        for &row in rows {
            self.weight += self.weights[row as usize].to_f64();
            let sample = &self.rounded[row as usize * q..][..q];
            self.total.iter_mut().zip(sample).for_each(|(total, y)| *total += y);
        }
        self.workers.sum(&mut self.total)?;
        let n = self.workers.sum_of(rows.len() as u32)?;
        self.weight = self.workers.sum_of(self.weight)?;
        debug_assert_exact(self.weight);
        debug_assert!(self.total.iter().all(|&total| (0..1 << 120).contains(&total)), "sums of 120 bits");
        for (mean, &total) in self.means.iter_mut().zip(&self.total) {
            *mean = self.whole.down(total as f64) / self.weight;
        }
        let pure = self.total.iter().all(|&total| total == 0) || self.are_equal(rows)?;
        let deviance = if pure { 0.0 } else { self.deviance(rows, size)? };
        let impurity = size.down(deviance / self.weight / q as f64);
        Ok(NodeStats { n, weight: self.weight, impurity, pure })
    }

    fn reset(&mut self) -> f64 {
        self.moved.fill(0);
        0.0
    }

    #[inline]
    fn move_sample(&mut self, moved: &mut f64, row: u32) {
        let q = self.moved.len();
        *moved += self.weights[row as usize].to_f64();
        let sample = &self.rounded[row as usize * q..][..q];
        self.moved.iter_mut().zip(sample).for_each(|(moved, y)| *moved += y);
    }

    fn moved_weight(&self, moved: &f64) -> f64 {
        *moved
    }

    /// Returns the decrease of the deviance.
    fn score(&self, moved: &f64) -> f64 {
        let fall = |sum: i128, weight: f64, mean: f64| weight * phi(self.whole.down(sum as f64) / weight / mean - 1.0);
        let mut score = 0.0;
        for ((&sum, &total), &mean) in self.moved.iter().zip(&self.total).zip(&self.means) {
            if total == 0 {
                continue;
            }
            if sum == 0 || sum == total {
                return f64::NAN;
            }
            // The sum of the two sides is commutative, so that mirrored cuts tie exactly.
            score += mean * (fall(sum, *moved, mean) + fall(total - sum, self.weight - moved, mean));
        }
        score
    }

    type Sum = i128;

    fn moved_sums(&self, moved: &f64, mut visit: impl FnMut(u32, i128)) -> i128 {
        (0..).zip(&self.moved).for_each(|(output, &sum)| visit(output, sum));
        *moved as i128
    }

    fn node_sums(&self, mut visit: impl FnMut(u32, i128)) -> i128 {
        (0..).zip(&self.total).for_each(|(output, &sum)| visit(output, sum));
        self.weight as i128
    }

    fn move_side(&mut self, moved: &mut f64, weight: i128, sums: &[(u32, i128)]) {
        *moved += weight as f64;
        sums.iter().for_each(|&(output, sum)| self.moved[output as usize] += sum);
    }

    fn ordering_sum(&self) -> Option<u32> {
        (self.total.len() == 1).then_some(0)
    }

    fn score_without_gain(&self) -> f64 {
        0.0
    }

    fn decrease(&self, score: f64) -> f64 {
        let mean = score / self.weight / self.y.n_outputs as f64;
        self.size.map_or(mean, |size| size.down(mean))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phi_is_smooth_where_its_two_forms_meet() {
        for t in [-0.01f64, 0.01] {
            let (series, direct) = (phi(t * (1.0 - 1e-13)), phi(t));
            // The direct form loses two digits at 0.01, and the argument is off by 1e-13.
            assert!((series / direct - 1.0).abs() < 1e-12, "{series} {direct}");
        }
        assert_eq!((phi(-1.0), phi(0.0)), (1.0, 0.0));
        // The tolerance covers the rounding of one logarithm.
        assert!((phi(1.0) - (2.0 * 2f64.ln() - 1.0)).abs() < 1e-15);
    }

    #[test]
    fn importances_are_the_deviance_that_a_split_takes_away() {
        let sides = [([3.0, 0.0, 0.0], 2.0, 4.0), ([1.0, 5.0, 0.0], 3.0, 6.0)];
        let both: Vec<f64> = (0..3).map(|c| sides[0].0[c] + sides[1].0[c]).collect();
        let [left, right] =
            sides.each_ref().map(|(sums, total, weight)| SideSums { sums, total: *total, weight: *weight });
        let both = SideSums { sums: &both, total: 5.0, weight: 10.0 };
        let split = SplitSums { widths: &[1, 1, 1], are_labels: false, left, right, both };
        let of_side = |side: &SideSums<'_>| {
            let means = side.sums.iter().map(|sum| sum / side.total).filter(|mean| *mean > 0.0);
            side.weight * means.map(|mean| mean * mean.ln()).sum::<f64>()
        };
        let expected = of_side(&left) + of_side(&right) - of_side(&both);
        // The plain form is a difference of sums of a few terms.
        assert!((PoissonDeviance::decrease(&split) - expected).abs() < 1e-13 && expected > 0.0, "{expected}");
    }

    #[test]
    fn targets_that_are_negative_or_sum_to_zero_are_refused_unless_their_weight_is_zero() {
        let check = |values: &[f64], rows: &[u32]| {
            let y = TrainY::Real(RealTargets::new(values.to_vec(), 1).unwrap());
            PoissonDeviance::check(&y, rows)
        };
        assert!(check(&[0.0, 2.0, -1.0], &[0, 1]).is_ok());
        let got = |values: &[f64], rows: &[u32]| check(values, rows).unwrap_err().to_string();
        assert_eq!(got(&[0.0, 2.0, -1.0], &[0, 1, 2]), "y must be at least 0 with the Poisson criterion, got -1");
        assert!(got(&[0.0, 2.0, 0.0], &[0, 2]).contains("positive sum"));
    }
}
