//! Sums of any floats that are rounded once, at the end.
//!
//! A sum is kept as a few floats whose exact sum it is (Shewchuk 1997). It therefore depends neither on the order of its
//! terms, nor on terms that are zero, nor on whether a term is added at once or in parts that add up to it exactly.

use crate::error::{Error, Purpose, Result};

const PURPOSE: Purpose = Purpose("exact sums");

/// An exact sum of finite floats.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundedOnce {
    /// The sum is that of these parts, whose bits do not overlap, in increasing order of magnitude.
    parts: Vec<f64>,
}

impl RoundedOnce {
    /// Adds a term, in time proportional to the number of parts: a few, or at most 40.
    pub(crate) fn add(&mut self, term: f64) -> Result<()> {
        let (mut carried, mut n_kept) = (term, 0);
        for at in 0..self.parts.len() {
            let part = self.parts[at];
            let (large, small) = if carried.abs() < part.abs() { (part, carried) } else { (carried, part) };
            let sum = large + small;
            let lost = small - (sum - large);
            if lost != 0.0 && sum.is_finite() {
                self.parts[n_kept] = lost;
                n_kept += 1;
            }
            carried = sum;
        }
        self.parts.truncate(n_kept);
        if carried == 0.0 { Ok(()) } else { PURPOSE.push(&mut self.parts, carried) }
    }

    /// Returns the float64 nearest to the sum, with ties to even.
    pub(crate) fn value(&self) -> f64 {
        let mut parts = self.parts.iter().rev().copied();
        let (mut sum, mut lost) = (parts.next().unwrap_or(0.0), 0.0);
        for part in parts.by_ref() {
            let before = sum;
            sum = before + part;
            lost = part - (sum - before);
            if lost != 0.0 {
                break;
            }
        }
        // If the rest is half a unit in the last place, the parts after it decide, if there are any.
        if let Some(next) = parts.next()
            && lost != 0.0
            && (lost < 0.0) == (next < 0.0)
        {
            let (twice, up) = (2.0 * lost, sum + 2.0 * lost);
            if up - sum == twice {
                return up;
            }
        }
        sum
    }
}

/// Returns the sum of the values of each of `n_groups` groups, of which `groups` has one for each value. Sums are
/// rounded once: they do not depend on the order of the values, and values that are zero have no effect.
///
/// # Errors
/// [`crate::ErrorKind::Shape`] if there is not one group for each value, [`crate::ErrorKind::Invalid`] if a group is
/// not below `n_groups`, and [`crate::ErrorKind::OutOfMemory`].
pub fn exact_sums(groups: &[i64], values: &[f64], n_groups: usize) -> Result<Vec<f64>> {
    if groups.len() != values.len() {
        return Err(Error::shape("groups", values.len(), groups.len()));
    }
    let mut sums = PURPOSE.filled(RoundedOnce::default(), n_groups)?;
    for (&group, &value) in groups.iter().zip(values) {
        let sum = usize::try_from(group).ok().and_then(|group| sums.get_mut(group));
        sum.ok_or_else(|| Error::invalid("groups", group, "be from 0 to the number of groups"))?.add(value)?;
    }
    let mut found = PURPOSE.filled(0.0, n_groups)?;
    found.iter_mut().zip(&sums).for_each(|(found, sum)| *found = sum.value());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
        let mut sum = RoundedOnce::default();
        terms.into_iter().for_each(|term| sum.add(term).unwrap());
        sum.value()
    }

    #[test]
    fn sums_are_nearest_and_ties_go_to_even() {
        let (one, half) = (1.0, f64::EPSILON / 2.0);
        assert_eq!(sum([0.1; 10]), 1.0);
        assert_eq!(sum([1e100, 1.0, -1e100]), 1.0);
        assert_eq!(sum([one, half]), one);
        assert_eq!(sum([one, half, 1e-300]), one + f64::EPSILON);
        assert_eq!(sum([one + f64::EPSILON, half]), one + 2.0 * f64::EPSILON);
        assert_eq!(sum([one + f64::EPSILON, half, -1e-300]), one + f64::EPSILON);
        assert_eq!((sum([]), sum([0.0, -0.0]), sum([f64::MAX; 2])), (0.0, 0.0, f64::INFINITY));
    }

    proptest! {
        /// The slow sum has as many bits as the terms need: they are multiples of 2⁻⁹⁰ below 2³⁰.
        #[test]
        fn sums_do_not_depend_on_order_on_zeros_or_on_repeated_terms(
            terms in prop::collection::vec((-1i64 << 40..1 << 40, 0u32..80, 1usize..4), 0..40),
        ) {
            let unit = 2f64.powi(-90);
            let term = |&(digits, shift, _): &(i64, u32, usize)| (digits as f64) * 2f64.powi(shift as i32) * unit;
            let naive: i128 = terms.iter().map(|&(digits, shift, n)| (i128::from(digits) << shift) * n as i128).sum();
            let found = sum(terms.iter().map(|t| t.2 as f64 * term(t)));
            prop_assert_eq!(found.to_bits(), (naive as f64 * unit + 0.0).to_bits());
            let repeated = terms.iter().rev().flat_map(|t| std::iter::repeat_n(term(t), t.2).chain([0.0]));
            prop_assert_eq!(found.to_bits(), sum(repeated).to_bits());
        }
    }

    #[test]
    fn groups_are_summed_apart() {
        assert_eq!(exact_sums(&[2, 0, 2, 2], &[0.1, 5.0, 0.2, 0.3], 3).unwrap(), [5.0, 0.0, 0.6]);
        assert!(exact_sums(&[0], &[], 1).is_err());
        assert!(exact_sums(&[1], &[1.0], 1).is_err());
        assert!(exact_sums(&[-1], &[1.0], 1).is_err());
    }
}
