//! Half the Tweedie deviance of outputs that are not negative, whose mean is e^f and whose variance is proportional to
//! a power p of the mean, 1 < p < 2: sums of a Poisson number of gamma terms, which may be zero.
//!
//! ```text
//! y e^((1 − p) f) / (p − 1) + e^((2 − p) f) / (2 − p) − y^(2 − p) / ((p − 1) (2 − p))
//! ```
//!
//! It is 0 at its minimum f = ln y. Powers of 1 and 2 give [`Poisson`](super::Poisson) and [`Gamma`](super::Gamma).
//!
//! Source: Jørgensen, *The theory of dispersion models* (1997).

use super::log_link::{self, Deviance, LARGEST_EXPONENT, NEAR, exp, slope_of_exp};
use super::{Domain, Link, Loss, LossKind, LossParameter};
use crate::control::Control;
use crate::data::Outputs;
use crate::elementary::{self, exp_m1, ln};
use crate::error::Result;

/// Half the Tweedie deviance, as a function of the logarithm of the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tweedie {
    /// The power p of the mean to which the variance is proportional: greater than 1 and less than 2.
    pub power: f64,
}

impl LossKind {
    /// Returns half the [`Tweedie`] deviance with this power.
    pub fn tweedie(power: f64) -> Self {
        LossKind::Tweedie(Tweedie { power })
    }
}

impl Tweedie {
    pub(super) const PARAMETER: LossParameter = LossParameter {
        name: "power",
        about: "Power of the mean to which the variance is proportional. Near 1 the loss is like the Poisson deviance, \
                near 2 like the gamma deviance.",
        default: 1.5,
        above: 1.0,
        below: 2.0,
        must: "be above 1 and below 2",
    };

    /// Returns the exponents of the decreasing and the increasing part: ln y + (1 − p) f and (2 − p) f.
    fn exponents(self, ln_y: f64, score: f64) -> (f64, f64) {
        (ln_y - (self.power - 1.0) * score, (2.0 - self.power) * score)
    }
}

impl Loss for Tweedie {
    fn link(&self, _: &Outputs) -> Link {
        Link::Log
    }

    fn domain(&self) -> Domain {
        Domain::NotNegative
    }

    fn check(&self) -> Result<()> {
        Self::PARAMETER.check(self.power)
    }

    /// With d = f − ln y, the value is y^(2 − p) ((e^((1 − p) d) − 1) / (p − 1) + (e^((2 − p) d) − 1) / (2 − p)).
    fn value(&self, y: f64, score: f64) -> f64 {
        let (a, b) = (self.power - 1.0, 2.0 - self.power);
        if y == 0.0 {
            return exp(b * score) / b;
        }
        let ln_y = ln(y);
        let (d, (falling, rising)) = (score - ln_y, self.exponents(ln_y, score));
        let of_y = elementary::exp(b * ln_y);
        if d.abs() <= NEAR && falling <= LARGEST_EXPONENT && rising <= LARGEST_EXPONENT {
            return (of_y * (exp_m1(-a * d) / a + exp_m1(b * d) / b)).max(0.0);
        }
        exp(falling) / a + exp(rising) / b - of_y / (a * b)
    }

    /// Returns y e^((1 − p) f) − e^((2 − p) f).
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        let (falling, rising) = self.exponents(ln(y), score);
        slope_of_exp(falling) - slope_of_exp(rising)
    }

    /// Returns (p − 1) y e^((1 − p) f) + (2 − p) e^((2 − p) f).
    fn curvature(&self, y: f64, score: f64) -> f64 {
        let (falling, rising) = self.exponents(ln(y), score);
        (self.power - 1.0) * slope_of_exp(falling) + (2.0 - self.power) * slope_of_exp(rising)
    }

    /// Returns the logarithm of the weighted mean.
    fn start(&self, y: &[f64], weights: &[f64], _: &Control) -> Result<f64> {
        Ok(log_link::start(y, weights))
    }
}

impl Deviance for Tweedie {}
