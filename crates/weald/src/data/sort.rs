//! Stored entries as 64-bit words, and the sorting of words and other items.
//!
//! The high half of a word is the value, mapped so that the order of unsigned integers is that of numbers, and the low
//! half is the sample: sorting words sorts by value. One comparison of integers replaces a comparison of (float,
//! integer) pairs. All missing values, which are NaN of any sign and payload, have the same key and come last.

use std::cmp::Ordering;

use crate::control::Control;
use crate::error::Result;

/// A value, and the sample that has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(u64);

/// Maps float32 to u32 so that the order is preserved. −0.0 becomes +0.0, so that zeros are equal, and NaN comes last.
fn ordered(value: f32) -> u32 {
    if value.is_nan() {
        return Entry::MISSING_KEY;
    }
    let bits = (value + 0.0).to_bits();
    bits ^ (((bits as i32) >> 31) as u32 | 0x8000_0000)
}

impl Entry {
    pub(crate) fn new(value: f32, row: u32) -> Self {
        Entry(u64::from(ordered(value)) << 32 | u64::from(row))
    }

    /// Returns the key, which compares like the value.
    pub(crate) fn key(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) fn row(self) -> u32 {
        self.0 as u32
    }

    pub(crate) fn value(self) -> f32 {
        let key = self.key();
        f32::from_bits(key ^ ((!key as i32 >> 31) as u32 | 0x8000_0000))
    }

    /// The key of zero. Smaller keys are negative values, larger ones are positive or missing.
    pub(crate) const ZERO_KEY: u32 = 0x8000_0000;

    /// The key of missing values, which is above that of infinity.
    pub(crate) const MISSING_KEY: u32 = u32::MAX;

    /// Returns whether the value is missing.
    pub(crate) fn is_missing(self) -> bool {
        self.key() == Entry::MISSING_KEY
    }
}

/// The number of items that are sorted without a check of the stop flag; this takes some ten milliseconds.
const AT_ONCE: usize = 1 << 20;

/// Sorts by value. The order of equal values has no effect on results, because sums over them are exact.
///
/// # Errors
/// [`crate::ErrorKind::Interrupted`]; the order is then not specified.
pub(crate) fn sort_by_value(entries: &mut [Entry], control: &Control) -> Result<()> {
    let Some((first, rest)) = entries.split_first() else { return Ok(()) };
    // In small nodes, columns of counts and flags often have only one value.
    if rest.iter().all(|e| e.key() == first.key()) {
        return Ok(());
    }
    sort_in_pieces(entries, AT_ONCE, &Entry::cmp, control)
}

/// Sorts items of any type; the sort is not stable.
///
/// # Errors
/// [`crate::ErrorKind::Interrupted`]; the order is then not specified.
pub(crate) fn sort_by<T: Copy>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering, control: &Control) -> Result<()> {
    sort_in_pieces(items, AT_ONCE, &order, control)
}

/// Runs the first steps of a quicksort, so that the stop flag can be checked between pieces of `at_once` items.
fn sort_in_pieces<T: Copy>(
    mut items: &mut [T],
    at_once: usize,
    order: &impl Fn(&T, &T) -> Ordering,
    control: &Control,
) -> Result<()> {
    while items.len() > at_once && !items.is_sorted_by(|a, b| order(a, b).is_le()) {
        let pivot = middle_of_sample(items, order);
        let mut n_below = partition(items, at_once, |item| order(item, &pivot).is_lt(), control)?;
        if n_below == 0 {
            // The pivot is the smallest item. All items that are equal to it are moved to their places.
            n_below = partition(items, at_once, |item| order(item, &pivot).is_le(), control)?;
            items = &mut items[n_below..];
            continue;
        }
        let (below, rest) = items.split_at_mut(n_below);
        sort_in_pieces(below, at_once, order, control)?;
        items = rest;
    }
    control.check()?;
    items.sort_unstable_by(order);
    Ok(())
}

/// Moves the items for which `is_below` holds to the front, and returns their number.
fn partition<T: Copy>(
    items: &mut [T],
    at_once: usize,
    is_below: impl Fn(&T) -> bool,
    control: &Control,
) -> Result<usize> {
    let mut n_below = 0;
    for start in (0..items.len()).step_by(at_once) {
        control.check()?;
        for i in start..items.len().min(start + at_once) {
            // There is no branch, because the processor could not predict it.
            let below = is_below(&items[i]);
            items.swap(n_below, i);
            n_below += usize::from(below);
        }
    }
    Ok(n_below)
}

/// Returns the median of some items that are evenly spaced.
fn middle_of_sample<T: Copy>(items: &[T], order: &impl Fn(&T, &T) -> Ordering) -> T {
    const SAMPLE: usize = 255;
    let mut sample: [T; SAMPLE] = std::array::from_fn(|i| items[i * (items.len() / SAMPLE)]);
    sample.sort_unstable_by(order);
    sample[SAMPLE / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_order_as_values_and_give_them_back(a in -1e38f32..1e38, b in prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL, i: u32) {
            let (ea, eb) = (Entry::new(a, i), Entry::new(b, i));
            prop_assert_eq!(ea.value(), a);
            prop_assert_eq!(eb.value().to_bits(), b.to_bits());
            prop_assert_eq!(ea.row(), i);
            prop_assert_eq!(ea.key() < eb.key(), a < b);
            prop_assert!(!ea.is_missing());
        }

        #[test]
        fn missing_values_come_last_under_one_key(bits in prop_oneof![0x7f80_0001u32..=0x7fff_ffff, 0xff80_0001u32..], i: u32) {
            let missing = Entry::new(f32::from_bits(bits), i);
            prop_assert!(missing.is_missing() && missing.value().is_nan());
            prop_assert_eq!(missing, Entry::new(f32::NAN, i));
            prop_assert!(missing.key() > Entry::new(f32::INFINITY, 0).key());
        }
    }

    proptest! {
        #[test]
        fn long_columns_are_sorted_in_pieces(values in prop::collection::vec((-3i8..4, 0u8..3), 256..3000), at_once in 255usize..600, turn in 0u8..3) {
            let value = |&(value, kind): &(i8, u8)| if kind == 0 { f32::from(value) } else { f32::from(value) * 0.37 + f32::from(kind) };
            let mut entries: Vec<Entry> = values.iter().zip(0..).map(|(v, row)| Entry::new(value(v), row)).collect();
            let mut expected = entries.clone();
            expected.sort();
            if turn > 0 {
                entries.sort();
            }
            if turn > 1 {
                entries.reverse();
            }
            sort_in_pieces(&mut entries, at_once, &Entry::cmp, &Control::default()).unwrap();
            prop_assert_eq!(entries, expected);
            // Many of these numbers are equal.
            let mut numbers: Vec<f64> = values.iter().map(|v| f64::from(v.0)).collect();
            let mut expected = numbers.clone();
            expected.sort_by(f64::total_cmp);
            sort_in_pieces(&mut numbers, at_once, &f64::total_cmp, &Control::default()).unwrap();
            prop_assert_eq!(numbers, expected);
        }
    }

    #[test]
    fn a_raised_flag_ends_the_sorting() {
        let control = Control::default();
        control.stop();
        let mut entries: Vec<Entry> = (0..1000).map(|row| Entry::new(row as f32 % 7.0, row)).collect();
        assert_eq!(sort_by_value(&mut entries, &control).unwrap_err().kind(), &crate::ErrorKind::Interrupted);
    }

    #[test]
    fn both_zeros_have_the_zero_key() {
        assert_eq!(Entry::new(0.0, 3).key(), Entry::ZERO_KEY);
        assert_eq!(Entry::new(-0.0, 3).key(), Entry::ZERO_KEY);
        assert!(Entry::new(-f32::MIN_POSITIVE / 4.0, 0).key() < Entry::ZERO_KEY);
    }
}
