//! Stored entries as 64-bit words, and the sorting of words and other items.
//!
//! The high half of a word is the value, mapped so that the order of unsigned integers is that of numbers, and the low
//! half is the sample: sorting words sorts by value. One comparison of integers replaces a comparison of (float,
//! integer) pairs. All missing values, which are NaN of any sign and payload, have the same key and come last.

use std::cmp::Ordering;

use crate::control::Control;
use crate::error::{Purpose, Result};

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

    #[cfg(test)]
    fn with_key(key: u32, row: u32) -> Self {
        Entry(u64::from(key) << 32 | u64::from(row))
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

/// Like [`sort_by_value`], with memory for a sort by digits, which is faster if there are many entries for the range of
/// their keys. Equal keys may come in another order.
///
/// # Errors
/// The same, and if there is not enough memory.
pub(crate) fn sort_by_value_with(entries: &mut [Entry], memory: &mut SortMemory, control: &Control) -> Result<()> {
    if !(FEWEST_OF_BYTES..=AT_ONCE).contains(&entries.len()) {
        return sort_by_value(entries, control);
    }
    control.check()?;
    let (least, largest) = entries.iter().fold((Entry(u64::MAX), Entry(0)), |(a, b), &e| (a.min(e), b.max(e)));
    match largest.key() - least.key() {
        0 => Ok(()),
        1..=0xffff => memory.sort::<8, 2>(entries, least.key()),
        _ if entries.len() >= FEWEST_OF_ELEVEN_BITS => memory.sort::<11, 3>(entries, least.key()),
        _ => sort_in_pieces(entries, AT_ONCE, &Entry::cmp, control),
    }
}

/// The number of entries from which a sort of keys in a range of 16 bits, by two digits, is faster than comparisons,
const FEWEST_OF_BYTES: usize = 64;

/// and a sort of any keys by three digits of eleven bits.
const FEWEST_OF_ELEVEN_BITS: usize = 1024;

/// Memory for sorts by digits.
#[derive(Debug, Default)]
pub(crate) struct SortMemory {
    entries: Vec<Entry>,
    /// For each value of each digit, the number of entries, then the place of the next one.
    places: Vec<u32>,
}

impl SortMemory {
    /// Sorts by the digits of the distances of keys from the least one, from the lowest digit to the highest; each pass
    /// keeps the order of the last one.
    fn sort<const BITS: u32, const DIGITS: usize>(&mut self, entries: &mut [Entry], least: u32) -> Result<()> {
        const PURPOSE: Purpose = Purpose("the sorting of a column");
        if self.entries.len() < entries.len() {
            let n_more = entries.len() - self.entries.len();
            PURPOSE.reserve(&mut self.entries, n_more)?;
            self.entries.resize(entries.len(), Entry::default());
        }
        let n_values = 1 << BITS;
        self.places.clear();
        PURPOSE.reserve(&mut self.places, n_values * DIGITS)?;
        self.places.resize(n_values * DIGITS, 0);
        let digit =
            |entry: Entry, number: usize| ((entry.key() - least) >> (BITS * number as u32)) as usize & (n_values - 1);
        for &entry in &*entries {
            for number in 0..DIGITS {
                self.places[number * n_values + digit(entry, number)] += 1;
            }
        }
        let (mut from, mut to) = (entries, &mut self.entries[..]);
        to = &mut to[..from.len()];
        for (number, places) in self.places.chunks_exact_mut(n_values).enumerate() {
            let mut next = 0;
            for place in &mut *places {
                next += std::mem::replace(place, next);
            }
            for &entry in &*from {
                let place = &mut places[digit(entry, number)];
                to[*place as usize] = entry;
                *place += 1;
            }
            std::mem::swap(&mut from, &mut to);
        }
        // After an odd number of passes, the entries are in the other memory, which is now the source.
        if DIGITS % 2 == 1 {
            to.copy_from_slice(from);
        }
        Ok(())
    }
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

    proptest! {
        #[test]
        fn sorts_by_digits_are_sorts_by_value(
            n in prop_oneof![0usize..200, 900usize..3000], bits in 0u32..33, low in any::<u32>(), seed in any::<u64>(), times in 1usize..3,
        ) {
            let mut stream = crate::rng::Stream::new(crate::rng::Key::from_seed(seed));
            let mut memory = SortMemory::default();
            // The second time, the memory has been used.
            for _ in 0..times {
                let mut key = || low.saturating_add((stream.next_u64() & ((1 << bits) - 1)) as u32);
                let mut entries: Vec<Entry> = (0..n as u32).map(|row| Entry::with_key(key(), row)).collect();
                let mut expected = entries.clone();
                expected.sort();
                sort_by_value_with(&mut entries, &mut memory, &Control::default()).unwrap();
                let keys = |entries: &[Entry]| entries.iter().map(|e| e.key()).collect::<Vec<_>>();
                prop_assert_eq!(keys(&entries), keys(&expected));
                entries.sort();
                prop_assert_eq!(entries, expected, "other entries");
            }
        }
    }

    #[test]
    fn a_raised_flag_ends_the_sorting() {
        let control = Control::default();
        control.stop();
        let mut entries: Vec<Entry> = (0..1000).map(|row| Entry::new(row as f32 % 7.0, row)).collect();
        assert_eq!(sort_by_value(&mut entries, &control).unwrap_err().kind(), &crate::ErrorKind::Interrupted);
        let error = sort_by_value_with(&mut entries, &mut SortMemory::default(), &control).unwrap_err();
        assert_eq!(error.kind(), &crate::ErrorKind::Interrupted);
    }

    #[test]
    fn both_zeros_have_the_zero_key() {
        assert_eq!(Entry::new(0.0, 3).key(), Entry::ZERO_KEY);
        assert_eq!(Entry::new(-0.0, 3).key(), Entry::ZERO_KEY);
        assert!(Entry::new(-f32::MIN_POSITIVE / 4.0, 0).key() < Entry::ZERO_KEY);
    }
}
