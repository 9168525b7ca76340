//! Exponentials of rows of scores with one score for each class. They are computed in lanes, with the same bits for any
//! width of registers.

use super::float::Float;
use super::vector::{Eight, LANES};
use crate::elementary::{exp_of_negative, ln, ln_1p};

#[inline(always)]
pub(in crate::loss) fn largest<T: Float>(scores: &[T]) -> f64 {
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    let mut most = [f64::NEG_INFINITY; LANES];
    let (eights, rest) = scores.as_chunks::<LANES>();
    for eight in eights {
        for lane in 0..LANES {
            most[lane] = larger(eight[lane].to_f64(), most[lane]);
        }
    }
    for (lane, score) in rest.iter().enumerate() {
        most[lane] = larger(score.to_f64(), most[lane]);
    }
    let [a, b, c, d, e, f, g, h] = most;
    larger(larger(larger(a, b), larger(c, d)), larger(larger(e, f), larger(g, h)))
}

/// Writes e^(f − most) for the scores, and returns their sum.
#[inline(always)]
fn exponentials<T: Float>(scores: &[T], most: f64, out: &mut [T]) -> f64 {
    let mut sums = [0.0; LANES];
    let (eights, rest) = scores.as_chunks::<LANES>();
    let (out, out_rest) = out.as_chunks_mut::<LANES>();
    for (scores, out) in eights.iter().zip(out) {
        for lane in 0..LANES {
            let e = exp_of_negative(scores[lane].to_f64() - most);
            sums[lane] += e;
            out[lane] = T::from_f64(e);
        }
    }
    for (lane, (score, out)) in rest.iter().zip(out_rest).enumerate() {
        let e = exp_of_negative(score.to_f64() - most);
        sums[lane] += e;
        *out = T::from_f64(e);
    }
    Eight(sums).total()
}

/// Returns the same sum without writing.
#[inline(always)]
fn sum_of_exponentials<T: Float>(scores: &[T], most: f64) -> f64 {
    let mut sums = [0.0; LANES];
    let (eights, rest) = scores.as_chunks::<LANES>();
    for scores in eights {
        for lane in 0..LANES {
            sums[lane] += exp_of_negative(scores[lane].to_f64() - most);
        }
    }
    for (lane, score) in rest.iter().enumerate() {
        sums[lane] += exp_of_negative(score.to_f64() - most);
    }
    Eight(sums).total()
}

/// The data from which the loss and the probabilities of a row are computed.
#[derive(Clone, Copy, Debug)]
pub(in crate::loss) struct RowSums {
    /// The largest score.
    most: f64,
    own_score: f64,
    /// e^(f − most) for the class of the sample.
    pub(in crate::loss) own: f64,
    /// The sum over the other classes. Computing it as 1 − p would lose all digits of a small sum.
    pub(in crate::loss) others: f64,
}

impl RowSums {
    /// Writes e^(f − most) for the other classes, and 0 for the class of the sample.
    #[inline(always)]
    pub(in crate::loss) fn write<T: Float>(class: usize, scores: &[T], out: &mut [T]) -> RowSums {
        let (most, own_score) = (largest(scores), scores[class].to_f64());
        let (before, after) = out.split_at_mut(class);
        let others =
            exponentials(&scores[..class], most, before) + exponentials(&scores[class + 1..], most, &mut after[1..]);
        after[0] = T::from_f64(0.0);
        RowSums { most, own_score, own: exp_of_negative(own_score - most), others }
    }

    /// Returns bit for bit the same as [`RowSums::write`], without writing.
    #[inline(always)]
    pub(in crate::loss) fn of<T: Float>(class: usize, scores: &[T]) -> RowSums {
        let (most, own_score) = (largest(scores), scores[class].to_f64());
        let others = sum_of_exponentials(&scores[..class], most) + sum_of_exponentials(&scores[class + 1..], most);
        RowSums { most, own_score, own: exp_of_negative(own_score - most), others }
    }

    /// Returns log(1 + Σ e^(f_k − f_y)) over the other classes, without losing the digits of a small sum.
    #[inline(always)]
    pub(in crate::loss) fn loss(&self) -> f64 {
        if self.own_score == self.most {
            ln_1p(self.others)
        } else {
            self.most - self.own_score + ln(self.others + self.own)
        }
    }

    /// Returns 1 / Σ e^(f − most) over all classes.
    #[inline(always)]
    pub(in crate::loss) fn inverse(&self) -> f64 {
        1.0 / (self.own + self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::kernels::vector::vectorised;

    #[test]
    fn exponentials_are_right_to_the_last_bits_on_any_registers() {
        let x: Vec<f64> = (0..=1_500_000).map(|k| -k as f64 * 5e-4).collect();
        let (mut wide, mut narrow) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        let sum = vectorised(
            #[inline(always)]
            || exponentials(&x, 0.0, &mut wide),
        );
        assert_eq!(sum.to_bits(), exponentials(&x, 0.0, &mut narrow).to_bits());
        assert_eq!(sum.to_bits(), sum_of_exponentials(&x, 0.0).to_bits());
        assert_eq!(wide, narrow);
        for (&x, found) in x.iter().zip(wide) {
            let truth = x.max(-700.0).exp();
            // The tolerance is two units in the last place.
            assert!((found - truth).abs() <= 4e-16 * truth, "{x} {found:e} {truth:e}");
        }
        assert_eq!((exp_of_negative(0.0), exp_of_negative(-0.0)), (1.0, 1.0));
    }
}
