//! The softmax of the classes of an output: K scores for each output, P_k = e^(f_k) / Σ e^f, and the loss −log P_y.
//!
//! Unlike the other losses, it is not a sum over columns. It therefore has its own rows (`softmax_rows`) and its own
//! step (`softmax_step`).

use pulp::Arch;

use super::kernels::exponentials::{RowSums, largest};
use super::kernels::float::Float;
use super::kernels::vector::LANES;
use super::weight_of_absent;
use crate::elementary::{exp, exp_m1, ln, ln_1p};
use crate::error::{Purpose, Result};

/// The purpose of memory with one number for each class, or for each pair of few classes, for error messages.
pub(super) const CLASSES: Purpose = Purpose("the steps of classes");

/// Writes the negative gradients of a sample, onehot − p, and returns its loss.
pub(crate) fn negative_gradients<T: Float>(class: usize, scores: &[T], out: &mut [T]) -> f64 {
    on_registers(scores.len()).dispatch(
        #[inline(always)]
        || {
            let sums = RowSums::write(class, scores, out);
            let inverse = sums.inverse();
            for out in &mut *out {
                *out = T::from_f64(-(out.to_f64() * inverse));
            }
            // The gradient of the sample's class is the sum over the others. Computing it as 1 − p would lose all
            // digits of a small value.
            out[class] = T::from_f64((sums.others * inverse).min(1.0));
            sums.loss()
        },
    )
}

/// Returns the loss of a sample: −log p of its class.
pub(crate) fn loss<T: Float>(class: usize, scores: &[T]) -> f64 {
    on_registers(scores.len()).dispatch(
        #[inline(always)]
        || RowSums::of(class, scores).loss(),
    )
}

/// If a class that has nearly all of the probability moves down by more than this, relative to the class of the sample, the
/// sum of shares loses its digits.
const FAR: f64 = 4.0;

/// Returns the loss of a sample with these scores, in float64.
fn of_scores(class: usize, scores: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = scores.clone().fold(f64::NEG_INFINITY, f64::max);
    let of_class = scores.clone().nth(class).unwrap_or(most);
    most - of_class + ln(scores.map(|score| exp(score - most)).sum())
}

/// Returns log Σ p e^v − v of the sample's class: the change of the loss of a sample if its scores move by `steps`.
pub(crate) fn change<T: Float>(class: usize, scores: &[T], steps: &[f64]) -> f64 {
    let most = largest(scores);
    if steps.iter().any(|step| (step - steps[class]).abs() > FAR) {
        // The difference of losses loses few digits.
        let of =
            |by: f64| of_scores(class, scores.iter().zip(steps).map(move |(score, step)| score.to_f64() + by * step));
        return of(1.0) - of(0.0);
    }
    let (mut total, mut moved) = (0.0, 0.0);
    for (score, step) in scores.iter().zip(steps) {
        let share = exp(score.to_f64() - most);
        total += share;
        // Moving all classes by the same amount changes nothing.
        moved += share * exp_m1(step - steps[class]);
    }
    ln_1p(moved / total)
}

/// Rows with few classes are computed faster than wide registers can be set up.
fn on_registers(n_classes: usize) -> Arch {
    if n_classes <= LANES { Arch::Scalar } else { Arch::new() }
}

/// Computes P(class) from the scores of an output: e^f, divided by their sum.
pub(crate) fn probabilities(scores: &[f64], out: &mut [f64]) {
    let most = largest(scores);
    out.iter_mut().zip(scores).for_each(|(p, &f)| *p = exp(f - most));
    let total: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= total);
}

/// Returns the best constant scores of one output from the weights of its classes: the logarithms of their frequencies,
/// shifted to mean zero. A class without weight is treated as half a sample, as for two classes.
pub(crate) fn start(class_weights: &[f64]) -> Result<Vec<f64>> {
    let total: f64 = class_weights.iter().sum();
    if total == 0.0 {
        return CLASSES.filled(0.0, class_weights.len());
    }
    let of = |&w: &f64| ln(if w == 0.0 { weight_of_absent(total) } else { w });
    let mut logs = CLASSES.collected(class_weights.iter().map(of))?;
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    logs.iter_mut().for_each(|log| *log -= mean);
    Ok(logs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_log_shares_with_mean_zero() {
        let found = start(&[30.0, 10.0, 0.0, 60.0]).unwrap();
        // The tolerance covers some logarithms and their mean, here and below.
        assert!(found.iter().sum::<f64>().abs() < 1e-12);
        assert!((found[0] - found[1] - 3f64.ln()).abs() < 1e-12);
        assert!((found[1] - found[2] - 20f64.ln()).abs() < 1e-12);
        assert_eq!(start(&[0.0; 3]).unwrap(), [0.0; 3]);
    }

    #[test]
    fn gradients_are_those_of_the_loss_and_far_scores_are_finite() {
        for scores in [[0.1, -0.4, 1.3], [20.0, -3.0, 0.0], [1e3, -1e3, 999.0]] {
            for class in 0..3 {
                let mut r = [0.0; 3];
                let value = negative_gradients(class, &scores, &mut r);
                assert_eq!(value, loss(class, &scores));
                // The tolerance covers the rounding of three gradients of at most 1.
                assert!(value.is_finite() && value >= 0.0 && r.iter().sum::<f64>().abs() < 1e-15);
                for k in 0..3 {
                    let h = 1e-5;
                    let at = |d: f64| {
                        let mut s = scores;
                        s[k] += d;
                        loss(class, &s)
                    };
                    // A loss of up to 2000 is rounded to 2e-13, which is divided by h.
                    assert!(((at(-h) - at(h)) / (2.0 * h) - r[k]).abs() < 1e-7, "{scores:?}");
                }
            }
        }
    }
}
