//! Half the gamma deviance of positive outputs, whose mean is e^f: y e^(−f) + f − ln y − 1. It is 0 at its minimum f =
//! ln y. It depends only on ratios: rescaling y and predictions by a common factor does not change it.
//!
//! Source: McCullagh and Nelder, *Generalized linear models* (1989).

use super::log_link::{self, Deviance, LARGEST_EXPONENT, exp, slope_of_exp};
use super::{Domain, Link, Loss};
use crate::control::Control;
use crate::data::Outputs;
use crate::elementary::{exp_m1, ln};
use crate::error::Result;

/// Half the gamma deviance, as a function of the logarithm of the mean.
#[derive(Clone, Copy, Debug)]
pub struct Gamma;

impl Loss for Gamma {
    fn link(&self, _: &Outputs) -> Link {
        Link::Log
    }

    fn domain(&self) -> Domain {
        Domain::Positive
    }

    /// Returns e^t − 1 − t, with t = ln y − f.
    fn value(&self, y: f64, score: f64) -> f64 {
        let t = ln(y) - score;
        if t <= LARGEST_EXPONENT { exp_m1(t) - t } else { exp(t) - (1.0 + t) }
    }

    /// Returns y e^(−f) − 1.
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        let t = ln(y) - score;
        if t <= LARGEST_EXPONENT { exp_m1(t) } else { slope_of_exp(t) }
    }

    /// Returns y e^(−f).
    fn curvature(&self, y: f64, score: f64) -> f64 {
        slope_of_exp(ln(y) - score)
    }

    /// Returns the logarithm of the weighted mean.
    fn start(&self, y: &[f64], weights: &[f64], _: &Control) -> Result<f64> {
        Ok(log_link::start(y, weights))
    }
}

impl Deviance for Gamma {}
