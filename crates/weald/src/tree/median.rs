//! The weighted median of numbers.

use crate::control::Control;
use crate::data::sort::sort_by;
use crate::error::Result;

/// Returns the weighted median of values of positive weight, of which there is at least one, and sorts them: the
/// smallest value with more than half of the weight at or below it, or, if exactly half of the weight is at or below a
/// value, the mean of this value and the next one. It does not depend on the order of the values.
///
/// # Errors
/// [`crate::ErrorKind::Interrupted`].
pub(crate) fn exact_median(values: &mut [(f64, u64)], control: &Control) -> Result<f64> {
    sort_by(values, |a, b| a.0.total_cmp(&b.0), control)?;
    let total: u64 = values.iter().map(|v| v.1).sum();
    let mut up_to = 0;
    let mut is_below = |&(_, units): &(f64, u64)| {
        up_to += units;
        up_to < total - up_to
    };
    let at = values.iter().position(|value| !is_below(value)).unwrap_or(values.len() - 1);
    let middle = values[at].0;
    Ok(if up_to == total - up_to { middle.midpoint(values[at + 1].0) } else { middle })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn medians_are_those_of_repeated_values_in_any_order(
            values in prop::collection::vec((prop_oneof![-4i32..4, -1000i32..1000], 1u64..4), 1..30),
        ) {
            let mut values: Vec<(f64, u64)> = values.into_iter().map(|(y, w)| (f64::from(y), w)).collect();
            let mut one_by_one: Vec<f64> = values.iter().flat_map(|&(y, w)| (0..w).map(move |_| y)).collect();
            one_by_one.sort_by(f64::total_cmp);
            let n = one_by_one.len();
            let expected = (one_by_one[(n - 1) / 2] + one_by_one[n / 2]) / 2.0;
            prop_assert_eq!(exact_median(&mut values, &Control::default()).unwrap(), expected);
            values.reverse();
            prop_assert_eq!(exact_median(&mut values, &Control::default()).unwrap(), expected);
        }
    }

    #[test]
    fn medians_of_extremes_do_not_overflow() {
        let of = |values: &[f64]| {
            exact_median(&mut values.iter().map(|&y| (y, 1 << 50)).collect::<Vec<_>>(), &Control::default()).unwrap()
        };
        assert_eq!((of(&[f64::MAX, f64::MAX]), of(&[f64::MAX, -f64::MAX]), of(&[3.0])), (f64::MAX, 0.0, 3.0));
    }
}
