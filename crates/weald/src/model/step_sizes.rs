//! Storage of the step sizes of a model, stage after stage.
//!
//! A model without relabelled leaves consists, for every stage, of a small tree and a step size for each score. With a
//! thousand scores, nearly all of its memory is step sizes. In eight bits they are floats of the format E4M3 of the
//! Open Compute Project (2023; Micikevicius et al., *FP8 formats for deep learning*, 2022), with a sign, four bits of
//! exponent and three bits of significand, times a power of two for each stage, which puts the largest step just below
//! 2⁸. The largest values of the format, above 240, are not used.
//!
//! A step is rounded towards zero. The loss along a direction is convex, so that a step between zero and the best one
//! does not raise it; a step that is shorter by a share δ ≤ 1/8 keeps 1 − δ² of what a parabola would have gained.

use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the stages of a model");

/// Type in which a model keeps its step sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepDtype {
    /// Eight bytes for each step size.
    #[default]
    Float64,
    /// One byte for each step size, which is rounded towards zero to four significant bits. Steps below 2⁻¹⁷ of the
    /// largest step of their stage become zero.
    Float8,
}

/// The step sizes of some stages; those of one stage are adjacent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StepSizes {
    Float64(Vec<f64>),
    Float8 {
        codes: Vec<u8>,
        /// The exponent of each stage: the codes of the stage are multiples of two to this power.
        exponents: Vec<i16>,
    },
}

/// Number of bits by which the significand of a float64 is longer than that of a code.
const DROPPED: u32 = 52 - 3;
/// Difference between the exponent biases of the two formats.
const BIAS: u64 = 1023 - 7;
/// Exponent of the largest code.
const TOP: i32 = 7;
/// The smallest normal code stands for 2⁻⁶; the codes below it are multiples of 2⁻⁹.
const LEAST_NORMAL: f64 = 1.0 / 64.0;
const STEPS_BELOW: f64 = 512.0;
/// The largest code.
const LARGEST: u8 = 0x77;
const SIGN: u8 = 0x80;
/// Stages whose steps are so small that they would need a lower exponent have none: a power of two would leave the
/// range of float64.
const LEAST_EXPONENT: i32 = -1000;

/// Returns the code of `x`, rounded towards zero to a float8; `x` must be below 2⁸.
fn code(x: f64) -> u8 {
    let magnitude = x.abs();
    debug_assert!(magnitude < 256.0);
    let code = if magnitude < LEAST_NORMAL {
        (magnitude * STEPS_BELOW) as u8
    } else {
        ((magnitude.to_bits() >> DROPPED) - (BIAS << 3)) as u8
    };
    // Zero has only one code, without a sign.
    if code > 0 && x < 0.0 { code | SIGN } else { code }
}

fn value(code: u8) -> f64 {
    let magnitude = match code & !SIGN {
        small if small < 8 => f64::from(small) / STEPS_BELOW,
        normal => f64::from_bits((u64::from(normal) + (BIAS << 3)) << DROPPED),
    };
    if code & SIGN == 0 { magnitude } else { -magnitude }
}

/// Returns 2ᵉ, for e in the range of normal float64.
fn power(e: i32) -> f64 {
    f64::from_bits(((1023 + e) as u64) << 52)
}

/// Returns the exponent of the power of two of which the codes of a stage are multiples; `None` if all steps are zero.
fn exponent(steps: &[f64]) -> Option<i32> {
    let largest = steps.iter().fold(0.0, |most, step| f64::max(most, step.abs()));
    let exponent = (largest.to_bits() >> 52) as i32 - 1023;
    (exponent >= LEAST_EXPONENT).then_some(exponent - TOP)
}

impl StepDtype {
    /// Returns the steps of a stage, rounded as the model stores them. Steps that are not all finite are returned as they
    /// are, and no model stores them.
    pub(crate) fn cut(self, mut steps: Vec<f64>) -> Vec<f64> {
        if self == StepDtype::Float8 && steps.iter().all(|step| step.is_finite()) {
            match exponent(&steps) {
                Some(e) => steps.iter_mut().for_each(|step| *step = value(code(*step * power(-e))) * power(e)),
                None => steps.fill(0.0),
            }
        }
        steps
    }
}

impl StepSizes {
    pub(crate) fn empty(dtype: StepDtype) -> Self {
        match dtype {
            StepDtype::Float64 => StepSizes::Float64(Vec::new()),
            StepDtype::Float8 => StepSizes::Float8 { codes: Vec::new(), exponents: Vec::new() },
        }
    }

    /// Builds step sizes from the codes and exponents of a file; `None` if a code or an exponent is not one that would
    /// be written.
    pub(crate) fn of_codes(codes: Vec<u8>, exponents: Vec<i16>) -> Option<Self> {
        let are_codes = codes.iter().all(|&code| code & !SIGN <= LARGEST && code != SIGN);
        let in_range = |&e: &i16| (LEAST_EXPONENT - TOP..=1023 - TOP).contains(&e.into());
        (are_codes && exponents.iter().all(in_range)).then_some(StepSizes::Float8 { codes, exponents })
    }

    pub(crate) fn dtype(&self) -> StepDtype {
        match self {
            StepSizes::Float64(_) => StepDtype::Float64,
            StepSizes::Float8 { .. } => StepDtype::Float8,
        }
    }

    /// Returns the number of steps.
    pub(crate) fn len(&self) -> usize {
        match self {
            StepSizes::Float64(steps) => steps.len(),
            StepSizes::Float8 { codes, .. } => codes.len(),
        }
    }

    /// Returns the number of stages that have an exponent; `None` if the type needs no exponents.
    pub(crate) fn n_exponents(&self) -> Option<usize> {
        match self {
            StepSizes::Float64(_) => None,
            StepSizes::Float8 { exponents, .. } => Some(exponents.len()),
        }
    }

    /// Appends the steps of a stage, which must be finite and rounded by [`StepDtype::cut`]. With float64, parts of a stage may be
    /// appended one after the other.
    pub(crate) fn extend(&mut self, steps: Vec<f64>) -> Result<()> {
        match self {
            StepSizes::Float64(kept) => PURPOSE.extend(kept, steps),
            StepSizes::Float8 { codes, exponents } => {
                let e = exponent(&steps).unwrap_or(0);
                PURPOSE.push(exponents, e as i16)?;
                PURPOSE.extend(codes, steps.into_iter().map(|step| code(step * power(-e))))
            }
        }
    }

    /// Returns the steps of a stage of `width` scores.
    pub(crate) fn of_stage(&self, stage: usize, width: usize) -> impl ExactSizeIterator<Item = f64> + Clone {
        let range = stage * width..(stage + 1) * width;
        let (steps, codes, unit): (&[f64], &[u8], f64) = match self {
            StepSizes::Float64(steps) => (&steps[range.clone()], &[], 1.0),
            StepSizes::Float8 { codes, exponents } => (&[], &codes[range.clone()], power(exponents[stage].into())),
        };
        (0..width).map(move |j| if codes.is_empty() { steps[j] } else { value(codes[j]) * unit })
    }

    /// Returns all steps.
    pub(crate) fn all(&self, width: usize) -> Result<Vec<f64>> {
        let mut all = PURPOSE.filled(0.0, self.len())?;
        for (stage, steps) in all.chunks_exact_mut(width).enumerate() {
            steps.iter_mut().zip(self.of_stage(stage, width)).for_each(|(to, step)| *to = step);
        }
        Ok(all)
    }

    /// Returns the steps of the first stages.
    pub(crate) fn first(&self, n_stages: usize, width: usize) -> Result<Self> {
        Ok(match self {
            StepSizes::Float64(steps) => StepSizes::Float64(PURPOSE.copied(&steps[..n_stages * width])?),
            StepSizes::Float8 { codes, exponents } => StepSizes::Float8 {
                codes: PURPOSE.copied(&codes[..n_stages * width])?,
                exponents: PURPOSE.copied(&exponents[..n_stages])?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The float8 values in order, by the definition of the format.
    fn values() -> Vec<f64> {
        let of = |exponent: i32, significand: u32| match exponent {
            0 => f64::from(significand) / 8.0 * 2f64.powi(-6),
            e => (1.0 + f64::from(significand) / 8.0) * 2f64.powi(e - 7),
        };
        (0..15).flat_map(|e| (0..8).map(move |s| of(e, s))).collect()
    }

    #[test]
    fn codes_are_those_of_the_format() {
        let values = values();
        assert_eq!(values.len() - 1, usize::from(LARGEST));
        for (bits, &x) in (0u8..).zip(&values) {
            assert_eq!((value(bits), code(x)), (x, bits));
            assert_eq!(value(bits | SIGN), -x);
        }
        assert_eq!(*values.last().unwrap(), 240.0);
    }

    #[test]
    fn extreme_stages_keep_their_largest_step() {
        for largest in [f64::MAX, 1e300, 1.0, 1e-300] {
            let kept = StepDtype::Float8.cut(vec![largest, -largest, largest / 1e6, 0.0]);
            assert!(kept[0] > 0.875 * largest && kept[0] <= largest);
            assert_eq!(kept[1..], [-kept[0], 0.0, 0.0]);
        }
        assert_eq!(StepDtype::Float8.cut(vec![1e-310, -5e-324]), [0.0, 0.0]);
        assert!(StepDtype::Float8.cut(vec![-0.0, 0.0]).iter().all(|step| step.is_sign_positive()));
        for beyond in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let kept = StepDtype::Float8.cut(vec![1.1, beyond]);
            assert_eq!(kept.iter().map(|step| step.to_bits()).collect::<Vec<_>>(), [1.1f64, beyond].map(f64::to_bits));
        }
    }

    proptest! {
        #[test]
        fn steps_are_cut_towards_zero_and_kept_exactly(
            stages in prop::collection::vec(prop::collection::vec((-1e3..1e3f64, -40..5i32), 3), 0..5),
        ) {
            let steps = |stage: &Vec<(f64, i32)>| stage.iter().map(|&(x, e)| x * 2f64.powi(e)).collect::<Vec<f64>>();
            let mut sizes = StepSizes::empty(StepDtype::Float8);
            let mut whole = Vec::new();
            for stage in &stages {
                let (steps, values) = (steps(stage), values());
                let cut = StepDtype::Float8.cut(steps.clone());
                let largest = steps.iter().fold(0.0, |most: f64, step| most.max(step.abs()));
                let unit = 2f64.powi(largest.log2().floor() as i32 - 7);
                for (&step, &cut) in steps.iter().zip(&cut) {
                    let below = values.iter().rfind(|&&v| v * unit <= step.abs()).unwrap() * unit;
                    prop_assert_eq!(cut, if step < 0.0 && below > 0.0 { -below } else { below });
                }
                sizes.extend(cut.clone()).unwrap();
                whole.extend(cut);
            }
            prop_assert_eq!(&sizes.all(3).unwrap(), &whole);
            let StepSizes::Float8 { codes, exponents } = sizes.clone() else { unreachable!() };
            prop_assert_eq!(StepSizes::of_codes(codes, exponents), Some(sizes.clone()));
            for n in 0..=stages.len() {
                prop_assert_eq!(&sizes.first(n, 3).unwrap().all(3).unwrap()[..], &whole[..3 * n]);
            }
        }
    }

    #[test]
    fn codes_that_are_never_written_are_refused() {
        let of = |code, exponent| StepSizes::of_codes(vec![code], vec![exponent]);
        assert!(of(LARGEST | SIGN, 1016).is_some() && of(0, -1007).is_some());
        for (code, exponent) in [(LARGEST + 1, 0), (0x7F, 0), (SIGN, 0), (0, 1017), (0, -1008)] {
            assert!(of(code, exponent).is_none());
        }
    }
}
