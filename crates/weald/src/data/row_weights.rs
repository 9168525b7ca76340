//! The weights of samples: the sample weight times the weights of the classes of the sample.

use std::borrow::Cow;
use std::f64::consts::LN_2;

use super::dataset::{CellWeights, Dataset};
use super::known::Known;
use super::targets::Targets;
use super::weights::Weights;
use crate::elementary::{exp, ln, power_of_two};
use crate::error::{Error, Purpose, Result};
use crate::exact::{PowerOfTwo, RoundedOnce, exponent_above};

/// Weights of samples and of their classes.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RowWeights<'a> {
    /// The weight of each sample, not negative; a sample of weight 0 has no effect. `None`: every sample has weight 1.
    /// In a bootstrap, integer weights whose mean is at most 64 count as that number of copies of the sample, each of
    /// which may be drawn. With other weights, each sample is one copy, and each of its draws has the weight of the
    /// sample.
    pub sample_weight: Option<&'a [f64]>,
    /// Class weights, which multiply the weight of a sample after it is drawn.
    pub class_weight: ClassWeight<'a>,
}

impl<'a> From<Option<&'a [f64]>> for RowWeights<'a> {
    fn from(sample_weight: Option<&'a [f64]>) -> Self {
        RowWeights { sample_weight, class_weight: ClassWeight::Equal }
    }
}

impl<'a> RowWeights<'a> {
    /// Returns the weight of each sample of `y`, for a fit that does not draw samples. In such a fit, `Balanced` and
    /// `BalancedSubsample` mean the same, and count the samples in which an output is known. `None`: all weights are
    /// equal.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] and [`crate::ErrorKind::Invalid`] if the weights, or the mask of balanced weights, do
    /// not match the samples, and if class weights are given for numerical outputs.
    pub fn by_row(self, y: &Targets<'_>, y_weight: Option<&CellWeights<'_>>) -> Result<Option<Cow<'a, [f64]>>> {
        // Other weights do not depend on what is known.
        let Some(y_weight) = y_weight.filter(|_| self.class_weight.is_balanced()) else {
            return self.by_row_of_known(y, None);
        };
        let data = Dataset::of_y(y.view())?.weights(self).y_weight(y_weight.view());
        let observed = data.observed_held_out()?;
        let data = data.with_observed(observed.as_ref());
        self.by_row_of_known(data.y(), data.known())
    }

    /// The same for y of which only some cells are known: see [`balanced`].
    pub(crate) fn by_row_of_known(self, y: &Targets<'_>, known: Option<&Known>) -> Result<Option<Cow<'a, [f64]>>> {
        Weights::check(self.sample_weight, y.n_samples())?;
        self.by_row_of_worker(y, known)
    }

    /// Like [`RowWeights::by_row`], for one of several workers, whose samples may all have weight zero.
    pub(crate) fn by_row_of_worker(self, y: &Targets<'_>, known: Option<&Known>) -> Result<Option<Cow<'a, [f64]>>> {
        Weights::check_numbers(self.sample_weight, y.n_samples())?;
        let by_class = match self.class_weight {
            ClassWeight::Equal => None,
            ClassWeight::Rows(rows) => Some(Cow::Borrowed(rows)),
            ClassWeight::Balanced | ClassWeight::BalancedSubsample => {
                Some(Cow::Owned(balanced(y, known, |row| self.sample_weight.map_or(1.0, |w| w[row]))?))
            }
        };
        if let Some(by_class) = &by_class {
            if by_class.len() != y.n_samples() {
                return Err(Error::shape("class weights by row", y.n_samples(), by_class.len()));
            }
            if let Some(bad) = by_class.iter().find(|w| !w.is_finite() || **w < 0.0) {
                return Err(Error::invalid("class_weight", bad, "have finite values of at least 0"));
            }
        }
        product(self.sample_weight, by_class)
    }
}

/// The weights of classes.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum ClassWeight<'a> {
    /// All classes have the same weight.
    #[default]
    Equal,
    /// The class weight of each sample, of length n_samples. It must be positive for samples of positive weight.
    Rows(&'a [f64]),
    /// Every class that occurs in an output has the same total weight. With several outputs, the weights of the classes
    /// of a sample are multiplied.
    Balanced,
    /// Like `Balanced`, computed separately on the samples that each tree draws.
    BalancedSubsample,
}

impl ClassWeight<'_> {
    /// Returns whether the weights follow from how often classes occur.
    pub(crate) fn is_balanced(&self) -> bool {
        matches!(self, ClassWeight::Balanced | ClassWeight::BalancedSubsample)
    }
}

/// Significant bits of balanced weights. With few bits, products with integer sample weights are exact, so that a
/// sample of weight 2 remains equivalent to two samples; 30 bits have a relative precision of about 10⁻⁹.
const BITS: i32 = 30;

/// Upper bound on the logarithms of class weights: products over thousands of outputs can exceed the largest float64.
const MOST: f64 = 300.0;

/// Returns balanced class weights, for samples of weight `weight(row)`. Classes without weight get weight 1. Samples
/// without weight do not influence the weights of other samples.
///
/// If only some cells of y are `known`, the weights of the classes of an output are those for the samples in which it is
/// known; in others, it has the factor 1, which is the mean of the factors over the known ones.
pub(crate) fn balanced(y: &Targets<'_>, known: Option<&Known>, weight: impl Fn(usize) -> f64) -> Result<Vec<f64>> {
    const PURPOSE: Purpose = Purpose("class weights");
    let n = y.n_samples();
    // Only ratios of weights matter. Dividing by the largest prevents overflow of the total.
    let largest = (0..n).map(&weight).fold(0.0, f64::max);
    let down = if exponent_above(largest.max(1.0)) > 900 { power_of_two(-900) } else { 1.0 };
    let weight = |row: usize| scaled(weight(row), down);
    // Sums of weights are rounded once, so that they depend neither on the order of the samples nor on those without
    // weight.
    let total_of = |weights: &mut dyn Iterator<Item = f64>| {
        let mut total = RoundedOnce::default();
        for weight in weights {
            total.add(weight)?;
        }
        Ok::<_, Error>(total.value())
    };
    let total = total_of(&mut (0..n).map(&weight))?;
    let mut logs = PURPOSE.filled(0.0, n)?;
    match (y, known) {
        (Targets::Real(_) | Targets::SparseReal(_), _) => {
            return Err(Error::unsupported("class_weight", "for numerical outputs"));
        }
        (Targets::Classes { codes, n_classes }, _) => {
            for (output, (codes, &k)) in (0u32..).zip(codes.columns().into_iter().zip(n_classes)) {
                let is_known = |row: usize| known.is_none_or(|known| known.is_known(row as u32, output));
                let cells = || codes.iter().enumerate().filter(|(row, _)| is_known(*row));
                let mut sums = PURPOSE.filled(RoundedOnce::default(), k as usize)?;
                cells().try_for_each(|(row, &c)| sums[c as usize].add(weight(row)))?;
                let total = match known {
                    None => total,
                    Some(_) => total_of(&mut cells().map(|(row, _)| weight(row)))?,
                };
                let mut totals = PURPOSE.collected(sums.iter().map(RoundedOnce::value))?;
                let occurring = totals.iter().filter(|&&t| t > 0.0).count() as f64;
                let log = |t: f64| if t > 0.0 { ln_of_quotient(total, occurring * t) } else { 0.0 };
                totals.iter_mut().for_each(|t| *t = log(*t));
                cells().for_each(|(row, &c)| logs[row] += totals[c as usize]);
            }
        }
        (Targets::Labels(y), Some(known)) => {
            // A label after the other, as each has its own samples.
            let mut on = PURPOSE.filled(Vec::new(), y.n_labels())?;
            for row in 0..n {
                for &label in &y.indices()[y.ptr()[row]..y.ptr()[row + 1]] {
                    PURPOSE.push(&mut on[label as usize], row as u32)?;
                }
            }
            for (label, on) in (0u32..).zip(&on) {
                let rows = || (0..n).filter(|&row| known.is_known(row as u32, label));
                let total = total_of(&mut rows().map(&weight))?;
                let one = total_of(&mut on.iter().map(|&row| weight(row as usize)))?;
                if one > 0.0 && one < total {
                    let of_zeros = ln(total / (2.0 * (total - one)));
                    let more = ln_of_quotient(total - one, one);
                    rows().for_each(|row| logs[row] += of_zeros);
                    on.iter().for_each(|&row| logs[row as usize] += more);
                }
            }
        }
        // The product if all labels are 0, corrected below for the labels that are 1.
        (Targets::Labels(y), None) => {
            let mut sums = PURPOSE.filled(RoundedOnce::default(), y.n_labels())?;
            for row in 0..n {
                let labels = &y.indices()[y.ptr()[row]..y.ptr()[row + 1]];
                labels.iter().try_for_each(|&l| sums[l as usize].add(weight(row)))?;
            }
            let mut ones = PURPOSE.collected(sums.iter().map(RoundedOnce::value))?;
            let varies = |one: f64| one > 0.0 && one < total;
            let all_zero: f64 =
                ones.iter().filter(|&&one| varies(one)).map(|one| ln(total / (2.0 * (total - one)))).sum();
            let correction = |one: f64| if varies(one) { ln_of_quotient(total - one, one) } else { 0.0 };
            ones.iter_mut().for_each(|one| *one = correction(*one));
            for (row, sum) in logs.iter_mut().enumerate() {
                let labels = &y.indices()[y.ptr()[row]..y.ptr()[row + 1]];
                *sum = all_zero + labels.iter().map(|&l| ones[l as usize]).sum::<f64>();
            }
        }
    }
    // A common power of two does not change any tree. It is chosen so that products over thousands of outputs stay
    // within range. The weights of samples without weight may be larger; they are clipped.
    let doublings = |log: f64| ((log - MOST).max(0.0) / LN_2).ceil();
    let there = logs.iter().enumerate().filter(|&(row, _)| weight(row) > 0.0);
    let excess = there.map(|(_, &log)| doublings(log)).fold(0.0, f64::max);
    for log in &mut logs {
        let own = doublings(*log);
        let lowered = rounded(exp(*log - own * LN_2)) * power_of_two((own - excess).min(0.0) as i32);
        *log = lowered.max(f64::MIN_POSITIVE);
    }
    Ok(logs)
}

/// Returns `weight` times a power of two. A positive weight stays positive.
fn scaled(weight: f64, factor: f64) -> f64 {
    if weight > 0.0 { (weight * factor).max(LEAST) } else { 0.0 }
}

/// The smallest positive float64.
const LEAST: f64 = f64::from_bits(1);

/// Returns log(a / b) of positive numbers, whose quotient may overflow.
fn ln_of_quotient(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    if quotient.is_finite() { ln(quotient) } else { ln(a) - ln(b) }
}

/// Returns `x`, which must be positive, rounded to [`BITS`] significant bits.
fn rounded(x: f64) -> f64 {
    let x = x.max(f64::MIN_POSITIVE);
    let dropped = 53 - BITS;
    let half = 1u64 << (dropped - 1);
    f64::from_bits((x.to_bits() + half) >> dropped << dropped)
}

/// Returns the product of two optional arrays of weights, none negative. The product is zero where the first weight is
/// zero, and positive where both are positive: if the largest product is far from one, all are multiplied by a power of
/// two.
pub(crate) fn product<'a>(a: Option<&'a [f64]>, b: Option<Cow<'a, [f64]>>) -> Result<Option<Cow<'a, [f64]>>> {
    Ok(match (a, b) {
        (None, b) => b,
        (Some(a), None) => Some(Cow::Borrowed(a)),
        (Some(a), Some(b)) => {
            let largest = |of: &[f64]| of.iter().zip(a).filter(|(_, a)| **a > 0.0).map(|(w, _)| *w).fold(0.0, f64::max);
            let (of_a, of_b) = (exponent_above(largest(a)), exponent_above(largest(&b)));
            let (a_down, b_down) = if (of_a + of_b).abs() > 900 { (of_a, of_b) } else { (0, 0) };
            let product = |(&a, &b): (&f64, &f64)| {
                let product = PowerOfTwo::new(-a_down).times(a) * PowerOfTwo::new(-b_down).times(b);
                if a == 0.0 {
                    0.0
                } else if b > 0.0 {
                    product.max(LEAST)
                } else {
                    product
                }
            };
            Some(Cow::Owned(Purpose("sample weights").collected(a.iter().zip(b.iter()).map(product))?))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{CellWeights, LabelView};
    use ndarray::{Array2, Axis, array};

    #[test]
    fn classes_weigh_the_same_in_sum() {
        let codes = array![[0u32, 1], [0, 0], [1, 0], [0, 0]];
        let y = Targets::Classes { codes: codes.view(), n_classes: vec![3, 2] };
        let w = [1.0, 2.0, 1.0, 0.0];
        let found = balanced(&y, None, |row| w[row]).unwrap();
        // The classes of output 0 have total weights 3 and 1 of 4, and its third class does not occur. Those of output
        // 1 have 3 and 1.
        let expected = [4.0 / 6.0 * 4.0 / 2.0, 4.0 / 6.0 * 4.0 / 6.0, 4.0 / 2.0 * 4.0 / 6.0, 4.0 / 6.0 * 4.0 / 6.0];
        // Balanced weights are rounded to 30 bits, a billionth.
        found.iter().zip(expected).for_each(|(f, e)| assert!((f - e).abs() < 1e-8, "{f} {e}"));
    }

    #[test]
    fn weights_by_row_are_products() {
        let codes = array![[0u32], [1], [1], [0]];
        let y = Targets::Classes { codes: codes.view(), n_classes: vec![2] };
        let sample_weight = Some(&[1.0, 2.0, 1.0, 0.0][..]);
        let by_row =
            |class_weight| RowWeights { sample_weight, class_weight }.by_row(&y, None).map(|w| w.unwrap().to_vec());
        assert_eq!(by_row(ClassWeight::Equal).unwrap(), [1.0, 2.0, 1.0, 0.0]);
        assert_eq!(by_row(ClassWeight::Rows(&[0.5, 3.0, 3.0, 0.5])).unwrap(), [0.5, 6.0, 3.0, 0.0]);
        let balanced = by_row(ClassWeight::Balanced).unwrap();
        // The same accuracy of 30 bits.
        balanced.iter().zip([2.0, 4.0 / 3.0, 2.0 / 3.0, 0.0]).for_each(|(b, e)| assert!((b - e).abs() < 1e-8));
        assert!(by_row(ClassWeight::Rows(&[1.0])).is_err());
        assert_eq!(RowWeights::default().by_row(&y, None).unwrap(), None);
    }

    #[test]
    fn products_of_far_weights_stay_in_range_and_positive() {
        let by = |a: &[f64], b: &[f64]| product(Some(a), Some(b.to_vec().into())).unwrap().unwrap().to_vec();
        let near = by(&[0.3, 0.7, 0.0], &[2.0, 1.0, 9.0]);
        for (up, down) in [(600, 600), (-600, -600), (1020, 900)] {
            let far = by(
                &[0.3, 0.7, 0.0].map(|w| PowerOfTwo::new(up).times(w)),
                &[2.0, 1.0, 9.0].map(|w| PowerOfTwo::new(down).times(w)),
            );
            assert!(far[0].is_normal() && far[1].is_normal() && far[2] == 0.0, "{far:?}");
            assert_eq!(far[0] / far[1], near[0] / near[1]);
        }
        assert_eq!(by(&[1e-200, 1e300], &[1e-200, 1e300])[0], LEAST);
    }

    #[test]
    fn balance_of_thousands_of_labels_is_in_range_and_blind_to_samples_without_weight() {
        // Sample i has label i. The last sample has all labels, and weight zero.
        let n = 3000u32;
        let ptr: Vec<usize> = (0..=n as usize).chain([2 * n as usize]).collect();
        let indices: Vec<u32> = (0..n).chain(0..n).collect();
        let labels = |rows: usize| {
            let stored = ptr[rows];
            Targets::Labels(LabelView::try_new(ptr[..=rows].to_vec(), indices[..stored].to_vec(), n as usize).unwrap())
        };
        let weight = |row: usize| if row < n as usize { 1.0 } else { 0.0 };
        let (with, without) =
            (balanced(&labels(n as usize + 1), None, weight), balanced(&labels(n as usize), None, |_| 1.0));
        let (with, without) = (with.unwrap(), without.unwrap());
        assert_eq!(with[..n as usize], without);
        assert!(with.iter().all(|w| w.is_normal()));
    }

    #[test]
    fn totals_beyond_the_largest_number_balance_as_others_do() {
        let codes = array![[0u32], [1], [1], [0]];
        let y = Targets::Classes { codes: codes.view(), n_classes: vec![2] };
        let near = balanced(&y, None, |row| [0.3, 1.0, 0.9, 0.6][row]).unwrap();
        assert_eq!(balanced(&y, None, |row| PowerOfTwo::new(1023).times([0.3, 1.0, 0.9, 0.6][row])).unwrap(), near);
        assert!(balanced(&y, None, |row| [1e308, 1e-308, 1e-308, 1e308][row]).unwrap().iter().all(|w| w.is_normal()));
    }

    #[test]
    fn neither_order_nor_samples_without_weight_change_a_bit() {
        let codes = Array2::from_shape_fn((40, 2), |(i, j)| ((i * (7 + j) + i / 3) % 3) as u32);
        let weight = |row: usize| if row.is_multiple_of(4) { 0.0 } else { 0.1 + (row as f64 * 0.37).fract() };
        let of = |rows: &[usize]| {
            let codes = codes.select(Axis(0), rows);
            let y = Targets::Classes { codes: codes.view(), n_classes: vec![3, 3] };
            balanced(&y, None, |at| weight(rows[at])).unwrap()
        };
        let all: Vec<usize> = (0..40).collect();
        let found = of(&all);
        let kept: Vec<usize> = all.iter().copied().filter(|&row| weight(row) > 0.0).collect();
        for rows in [kept, all.iter().rev().copied().collect(), (0..40).map(|i| i * 23 % 40).collect()] {
            let bits = |values: Vec<f64>| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(of(&rows)), bits(rows.iter().map(|&row| found[row]).collect()));
        }
    }

    #[test]
    fn labels_are_two_classes_each() {
        let labels = Targets::Labels(LabelView::try_new(vec![0, 1, 3, 3, 4], vec![0u32, 0, 2, 0], 4).unwrap());
        let codes = array![[1u32, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]];
        let classes = Targets::Classes { codes: codes.view(), n_classes: vec![2; 4] };
        let weight = |row: usize| [1.0, 2.0, 3.0, 1.0][row];
        let (a, b) = (balanced(&labels, None, weight).unwrap(), balanced(&classes, None, weight).unwrap());
        // Both are rounded to 30 bits.
        a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() < 1e-8));
    }

    #[test]
    fn outputs_that_are_not_known_have_the_factor_one() {
        let codes = array![[0u32, 1], [0, 0], [1, 0], [0, 0], [2, 1]];
        let mask = array![[false, true], [false, false], [false, false], [false, true], [true, false]];
        let known = Known::new(&CellWeights::from(&mask)).unwrap();
        let w = [1.0, 2.0, 1.0, 0.0, 3.0];
        let classes = Targets::Classes { codes: codes.view(), n_classes: vec![3, 2] };
        let found = balanced(&classes, Some(&known), |row| w[row]).unwrap();
        // Output 0 is known with the weights 3 and 1, output 1 with 3 and 3.
        let expected = [4.0 / 6.0, 4.0 / 6.0, 4.0 / 2.0, 4.0 / 6.0, 1.0];
        // Balanced weights are rounded to 30 bits, a billionth.
        found.iter().zip(expected).for_each(|(f, e)| assert!((f - e).abs() < 1e-8, "{f} {e}"));
        // Labels are outputs of two classes.
        let labels = LabelView::try_new(vec![0, 0, 0, 1, 1, 2], vec![0, 1], 2).unwrap();
        let classes = array![[0u32, 0], [0, 0], [1, 0], [0, 0], [0, 1]];
        let classes = Targets::Classes { codes: classes.view(), n_classes: vec![2, 2] };
        let of = |y: &Targets<'_>| balanced(y, Some(&known), |row| w[row]).unwrap();
        // The same products in another order.
        of(&Targets::Labels(labels)).iter().zip(of(&classes)).for_each(|(a, b)| assert!((a / b - 1.0).abs() < 1e-8));
        // If all cells are known, the weights are those without a mask.
        let known = Known::new(&CellWeights::from(&mask.mapv(|_| false))).unwrap();
        assert_eq!(
            balanced(&classes, Some(&known), |row| w[row]).unwrap(),
            balanced(&classes, None, |row| w[row]).unwrap()
        );
    }
}
