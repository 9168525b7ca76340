//! Copies of the samples of a node, side by side.
//!
//! The samples of a node are spread over the tables of its criterion, so that each costs a line of the cache for a few
//! numbers. Where one sample is one or two numbers, searches copy those of a node once for all of its features: that of
//! random thresholds adds up the chosen ones without a branch, and that on bins adds up those of each bin.

use super::{SideSum, Units};

/// What a criterion with the moved side `M` reads of a sample to move it.
pub(crate) trait CopiedSample<M>: Copy + Default + std::fmt::Debug {
    /// Whether copies are supported; if not, samples are moved by their rows.
    const IS_SUPPORTED: bool = true;

    /// Moves the samples for whose values `is_chosen` holds, and returns their number.
    fn move_chosen(moved: &mut M, samples: &[Self], values: &[f32], is_chosen: impl Fn(f32) -> bool) -> u32;

    /// Adds another sample, so that both are moved together.
    fn add(&mut self, other: Self);

    /// Moves the sum of some samples.
    fn move_sum(moved: &mut M, sum: Self);

    /// Returns whether this is the sum of at least one sample: each has a positive weight.
    fn has_weight(&self) -> bool;
}

/// For criteria without copies.
impl<M> CopiedSample<M> for () {
    const IS_SUPPORTED: bool = false;

    fn move_chosen(_: &mut M, _: &[()], _: &[f32], _: impl Fn(f32) -> bool) -> u32 {
        0
    }

    fn add(&mut self, (): ()) {}

    fn move_sum(_: &mut M, (): ()) {}

    fn has_weight(&self) -> bool {
        false
    }
}

/// For criteria of two sums, the weight and another one, in vector registers of two floats.
impl CopiedSample<[f64; 2]> for [f64; 2] {
    #[inline]
    fn move_chosen(moved: &mut [f64; 2], samples: &[Self], values: &[f32], is_chosen: impl Fn(f32) -> bool) -> u32 {
        add_chosen::<4, _>(moved, samples, values, is_chosen)
    }

    #[inline]
    fn add(&mut self, other: Self) {
        *self = [self[0] + other[0], self[1] + other[1]];
    }

    #[inline]
    fn move_sum(moved: &mut [f64; 2], sum: Self) {
        CopiedSample::<[f64; 2]>::add(moved, sum);
    }

    #[inline]
    fn has_weight(&self) -> bool {
        self[0] != 0.0
    }
}

/// For such criteria with whole sums. With four masks, the compiler makes branches, which the processor cannot predict.
impl<U: Units> CopiedSample<[U; 2]> for [U; 2] {
    #[inline]
    fn move_chosen(moved: &mut [U; 2], samples: &[Self], values: &[f32], is_chosen: impl Fn(f32) -> bool) -> u32 {
        add_chosen::<8, _>(moved, samples, values, is_chosen)
    }

    #[inline]
    fn add(&mut self, other: Self) {
        self[0] += other[0];
        self[1] += other[1];
    }

    #[inline]
    fn move_sum(moved: &mut [U; 2], sum: Self) {
        CopiedSample::<[U; 2]>::add(moved, sum);
    }

    #[inline]
    fn has_weight(&self) -> bool {
        self[0] != U::default()
    }
}

/// Adds the chosen samples, of which `AT_ONCE` are masked at a time, a multiple of four. Returns their number.
#[inline]
fn add_chosen<const AT_ONCE: usize, T: SideSum>(
    total: &mut [T; 2],
    samples: &[[T; 2]],
    values: &[f32],
    is_chosen: impl Fn(f32) -> bool,
) -> u32 {
    // Sums are exact, so four partial sums are the same; additions then need not wait for each other.
    let (mut sums, mut n_chosen) = ([[T::default(); 2]; 4], 0);
    let (blocks, samples) = samples.as_chunks::<AT_ONCE>();
    let (values_of_blocks, values) = values.as_chunks::<AT_ONCE>();
    for (samples, values) in blocks.iter().zip(values_of_blocks) {
        n_chosen += add_masked(&mut sums, samples, values, &is_chosen);
    }
    let ((fours, samples), (values_of_fours, values)) = (samples.as_chunks::<4>(), values.as_chunks::<4>());
    for (samples, values) in fours.iter().zip(values_of_fours) {
        n_chosen += add_masked(&mut sums, samples, values, &is_chosen);
    }
    for (&sample, &value) in samples.iter().zip(values) {
        n_chosen += add_masked(&mut sums, &[sample], &[value], &is_chosen);
    }
    for [weight, other] in sums {
        total[0] += weight;
        total[1] += other;
    }
    n_chosen
}

/// Adds the chosen ones of some samples to partial sums, in turn, and returns their number.
#[inline]
fn add_masked<const N: usize, T: SideSum>(
    sums: &mut [[T; 2]; 4],
    samples: &[[T; 2]; N],
    values: &[f32; N],
    is_chosen: impl Fn(f32) -> bool,
) -> u32 {
    let masks = values.map(|value| u32::from(is_chosen(value)).wrapping_neg());
    for k in 0..N {
        sums[k % 4][0] += samples[k][0].masked(masks[k]);
        sums[k % 4][1] += samples[k][1].masked(masks[k]);
    }
    masks.into_iter().fold(0, |n, mask| n - mask.cast_signed()).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn chosen_samples_are_added_as_one_by_one(cells in prop::collection::vec((-3i8..4, 1u32..9, 0u32..9), 0..40), cut in -4i8..4) {
            let values: Vec<f32> = cells.iter().map(|cell| f32::from(cell.0)).collect();
            let whole: Vec<[u32; 2]> = cells.iter().map(|cell| [cell.1, cell.2]).collect();
            let floats: Vec<[f64; 2]> = whole.iter().map(|sample| sample.map(|x| f64::from(x) - 4.0)).collect();
            for goes_up in [false, true] {
                let is_chosen = |value: f32| (value > f32::from(cut)) == goes_up;
                let (mut of_whole, mut of_floats) = ([7u32, 5], [7.0, 5.0]);
                let n = <[u32; 2]>::move_chosen(&mut of_whole, &whole, &values, is_chosen);
                prop_assert_eq!(<[f64; 2]>::move_chosen(&mut of_floats, &floats, &values, is_chosen), n);
                let (mut expected, mut expected_floats, mut expected_n) = ([7u32, 5], [7.0, 5.0], 0);
                for i in (0..cells.len()).filter(|&i| is_chosen(values[i])) {
                    for k in 0..2 {
                        expected[k] += whole[i][k];
                        expected_floats[k] += floats[i][k];
                    }
                    expected_n += 1;
                }
                prop_assert_eq!((of_whole, of_floats, n), (expected, expected_floats, expected_n));
            }
        }
    }
}
