//! The hinge loss, max(0, 1 − yf) with y = ±1.

use std::cmp::Ordering;

use super::column::ColumnLoss;
use super::{Bounds, Domain, LineProblem, Loss, ROWS};
use crate::control::Control;
use crate::error::Result;
use crate::exact::Rounding;
use crate::loss::steps::line_search::{Kink, piecewise_linear_minimum};

/// The hinge loss.
#[derive(Clone, Copy, Debug)]
pub struct Hinge;

impl Loss for Hinge {
    fn domain(&self) -> Domain {
        Domain::Signs
    }

    fn bounds(&self) -> Option<Bounds> {
        Some(Bounds { gradient: 1.0, curvature: 0.0 })
    }

    fn value(&self, y: f64, score: f64) -> f64 {
        (1.0 - y * score).max(0.0)
    }

    /// Returns y if yf < 1, and 0 otherwise.
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        if y * score < 1.0 { y } else { 0.0 }
    }

    fn curvature(&self, _: f64, _: f64) -> f64 {
        0.0
    }

    /// Returns the sign of the class with more weight. If both have the same weight, every score in [−1, 1] is optimal,
    /// and the result is 0, the middle.
    fn start(&self, y: &[f64], weights: &[f64], _: &Control) -> Result<f64> {
        let sums = y.iter().zip(weights).fold(
            [0.0; 2],
            |[on, off], (&y, &w)| {
                if y > 0.0 { [on + w, off] } else { [on, off + w] }
            },
        );
        Ok(match sums[0].total_cmp(&sums[1]) {
            Ordering::Less => -1.0,
            Ordering::Equal => 0.0,
            Ordering::Greater => 1.0,
        })
    }

    /// Returns the kink where the slope changes its sign. If there are several minima, it is the one nearest to 0.
    fn step(&self, problem: &LineProblem<'_>) -> Result<f64> {
        let grid = Rounding::of(problem.weights).grid(problem.largest_direction());
        let mut first_slope = 0.0;
        let mut kinks = ROWS.with_capacity(problem.y.len())?;
        for (y, f, g, w) in problem.moving() {
            let bend = grid.product(w, g.abs());
            // Samples whose margin increases along the line have a non-zero loss before their kink, the others after
            // it.
            if y * g > 0.0 {
                first_slope -= bend;
            }
            kinks.push(Kink { at: (1.0 - y * f) / (y * g), bend });
        }
        problem.unless_worse(self, piecewise_linear_minimum(first_slope, &mut kinks, problem.control)?)
    }
}

impl ColumnLoss for Hinge {
    fn has_float32_scores(&self) -> bool {
        true
    }
}
