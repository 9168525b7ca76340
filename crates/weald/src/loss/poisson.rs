//! Half the Poisson deviance of counts and other outputs that are not negative, whose mean is e^f: e^f − y f − y + y ln
//! y. It is 0 at its minimum f = ln y.
//!
//! Source: McCullagh and Nelder, *Generalized linear models* (1989).

use super::log_link::{self, Deviance, LARGEST_EXPONENT, NEAR, exp, slope_of_exp};
use super::{Domain, Link, Loss};
use crate::control::Control;
use crate::data::Outputs;
use crate::elementary::{exp_m1, ln};
use crate::error::Result;

/// Half the Poisson deviance, as a function of the logarithm of the mean.
#[derive(Clone, Copy, Debug)]
pub struct Poisson;

impl Loss for Poisson {
    fn link(&self, _: &Outputs) -> Link {
        Link::Log
    }

    fn domain(&self) -> Domain {
        Domain::NotNegative
    }

    fn value(&self, y: f64, score: f64) -> f64 {
        if y == 0.0 {
            return exp(score);
        }
        let d = score - ln(y);
        if d <= NEAR && score <= LARGEST_EXPONENT { y * (exp_m1(d) - d) } else { exp(score) - y * (1.0 + d) }
    }

    /// Returns y − e^f.
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        y - slope_of_exp(score)
    }

    /// Returns e^f.
    fn curvature(&self, _: f64, score: f64) -> f64 {
        slope_of_exp(score)
    }

    /// Returns the logarithm of the weighted mean.
    fn start(&self, y: &[f64], weights: &[f64], _: &Control) -> Result<f64> {
        Ok(log_link::start(y, weights))
    }
}

impl Deviance for Poisson {}
