//! Loops over rows of scores, compiled for the widest registers of the machine.
//!
//! Every loop has a fixed order of additions and no fused multiplications, so its bits do not depend on the machine.

pub(crate) use super::loss::grid::OnGrid as Score;

/// Partial sums of a dot product.
const LANES: usize = 8;

/// Runs `work` with the vector instructions that the machine has. What it calls must be inlined to gain from them.
#[inline(always)]
pub(crate) fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// Σ r_j φ_j.
#[inline(always)]
pub(crate) fn dot<T: Score>(r: &[T], phi: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let ((r, r_tail), (phi, phi_tail)) = (r.as_chunks::<LANES>(), phi.as_chunks::<LANES>());
    for (r, phi) in r.iter().zip(phi) {
        for ((sum, r), phi) in sums.iter_mut().zip(r).zip(phi) {
            *sum += r.to_f64() * phi;
        }
    }
    let tail: f64 = r_tail.iter().zip(phi_tail).map(|(r, phi)| r.to_f64() * phi).sum();
    let [a, b, c, d, e, f, g, h] = sums;
    (((a + b) + (c + d)) + ((e + f) + (g + h))) + tail
}

/// Adds `weight` times the values, each rounded by its magic number: see [`Score::magic`].
#[inline(always)]
pub(crate) fn add_rounded<T: Score>(weight: f64, values: &[T], magic: &[T], sums: &mut [f64]) {
    for ((sum, &value), &magic) in sums.iter_mut().zip(values).zip(magic) {
        *sum += weight * value.round(magic).to_f64();
    }
}

/// scores + table, in place.
#[inline(always)]
pub(crate) fn add<T: Score>(scores: &mut [T], row: &[T]) {
    scores.iter_mut().zip(row).for_each(|(score, &value)| *score = *score + value);
}

/// scores + factor · direction, in place.
#[inline(always)]
pub(crate) fn add_scaled<T: Score>(scores: &mut [T], factor: T, direction: &[T]) {
    scores.iter_mut().zip(direction).for_each(|(score, &value)| *score = *score + factor * value);
}

/// The largest magnitudes so far.
#[inline(always)]
pub(crate) fn take_largest<T: Score>(largest: &mut [T], values: &[T]) {
    for (largest, &value) in largest.iter_mut().zip(values) {
        let magnitude = value.abs();
        *largest = if magnitude > *largest { magnitude } else { *largest };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What every loop leaves.
    #[inline(always)]
    fn loops<T: Score>(cells: &[(f64, f64)], factor: f64) -> (u64, Vec<u64>, Vec<u64>) {
        let r: Vec<T> = cells.iter().map(|c| T::from_f64(c.0)).collect();
        let phi: Vec<f64> = cells.iter().map(|c| c.1).collect();
        let other: Vec<T> = phi.iter().map(|&x| T::from_f64(x)).collect();
        let (mut scores, mut sums) = (r.clone(), phi.clone());
        add(&mut scores, &other);
        add_scaled(&mut scores, T::from_f64(factor), &r);
        take_largest(&mut scores, &other);
        let magic = vec![T::magic(1e3, 1e4); r.len()];
        add_rounded(factor, &r, &magic, &mut sums);
        let bits = |x: f64| x.to_bits();
        (bits(dot(&r, &phi)), scores.iter().map(|s| bits(s.to_f64())).collect(), sums.into_iter().map(bits).collect())
    }

    proptest! {
        #[test]
        fn bits_are_the_same_on_any_registers(
            cells in prop::collection::vec((-1e3f64..1e3, -1e3f64..1e3), 0..600), factor in -3f64..3.0,
        ) {
            let narrow = pulp::Arch::Scalar;
            prop_assert_eq!(narrow.dispatch(|| loops::<f32>(&cells, factor)), vectorised(#[inline(always)] || loops::<f32>(&cells, factor)));
            prop_assert_eq!(narrow.dispatch(|| loops::<f64>(&cells, factor)), vectorised(#[inline(always)] || loops::<f64>(&cells, factor)));
        }
    }
}
