//! Stored entries as 64-bit words, and the one place where they are sorted.
//!
//! A word holds the value in its high half, mapped so that unsigned order is numeric order, and the row in its low half:
//! sorting words sorts by value. One comparison of integers replaces one of (float, row) pairs.

/// A value and the row that has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(u64);

/// Order-preserving map from float32 (no NaN) to u32; −0.0 becomes +0.0, so that zeros are one value.
fn ordered(value: f32) -> u32 {
    let bits = (value + 0.0).to_bits();
    bits ^ (((bits as i32) >> 31) as u32 | 0x8000_0000)
}

impl Entry {
    pub(crate) fn new(value: f32, row: u32) -> Self {
        Entry(u64::from(ordered(value)) << 32 | u64::from(row))
    }

    /// Compares as the value does.
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

    /// Key of zero: smaller keys are negative values, larger ones positive.
    pub(crate) const ZERO_KEY: u32 = 0x8000_0000;
}

/// Sorts by value. Equal values come in any order: sums over them are exact, so the order cannot be seen.
pub(crate) fn sort_by_value(entries: &mut [Entry]) {
    let Some((first, rest)) = entries.split_first() else { return };
    // Columns of counts and flags often hold one value in small nodes.
    if rest.iter().all(|e| e.key() == first.key()) {
        return;
    }
    entries.sort_unstable();
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
        }
    }

    #[test]
    fn both_zeros_have_the_zero_key() {
        assert_eq!(Entry::new(0.0, 3).key(), Entry::ZERO_KEY);
        assert_eq!(Entry::new(-0.0, 3).key(), Entry::ZERO_KEY);
        assert!(Entry::new(-f32::MIN_POSITIVE / 4.0, 0).key() < Entry::ZERO_KEY);
    }
}
