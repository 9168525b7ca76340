//! The lasso of logistic losses: proximal Newton (Friedman, Hastie and Tibshirani 2010; Lee, Sun and Saunders 2014).
//!
//! At the current coefficients, the loss of each sample is replaced by a quadratic function of its scores (for several
//! classes, by the diagonal that bounds its curvature). The lasso of this model is solved by sweeps like those of the
//! squared error, without exponentials and with the constant solved for in every step. The step to its solution is then
//! taken; it is halved as long as the objective would rise.

use super::{PURPOSE, Solved, Solver, betas, length};
use crate::compress::rows::{Gradients, LossRows, OddsRows};
use crate::control::Control;
use crate::error::Result;

/// Minimum curvature of a sample, of 1 at most: without it, samples with extreme scores would have no curvature, and a
/// step would be unbounded.
const FLAT: f64 = 1e-5;
/// A quadratic model is solved until violations are this share of the first one, as it is only a model.
const ENOUGH: f64 = 0.1;
/// Maximum number of Newton steps of the constant between two penalties, and the mean gradient at which it is accepted.
const STEPS: usize = 50;
const SETTLED: f64 = 1e-10;
/// Maximum number of halvings of a step before it is given up.
const HALVINGS: usize = 40;

/// A quadratic model of the loss, for each sample and score.
#[derive(Debug)]
struct QuadraticModel {
    width: usize,
    /// Negative slopes at the current coefficients, without the constant; and their weighted sums over all samples.
    slopes: Vec<f64>,
    overall: Vec<f64>,
    /// Curvatures, their weighted sums over all samples, and those over the samples of each coordinate.
    curvatures: Vec<f64>,
    total: Vec<f64>,
    inside: Vec<f64>,
    /// By how much coefficients would have moved the scores.
    way: Vec<f64>,
}

impl Solved for OddsRows {
    /// The constant is found by Newton steps.
    fn settle(solver: &mut Solver<'_, Self>, control: &Control) -> Result<()> {
        let width = solver.overall.len();
        let mut curvatures = PURPOSE.filled(0.0, width)?;
        let mut step = PURPOSE.filled(0.0, width)?;
        let mut pulse = control.pulse();
        for _ in 0..STEPS {
            solver.sum_gradients(control)?;
            curvatures.fill(0.0);
            for (i, &w) in solver.rows.rows().weight.iter().enumerate().filter(|(_, w)| **w > 0.0) {
                pulse.after(width)?;
                solver.rows.add_curvatures(i, w, &mut curvatures);
            }
            // For extreme scores, curvatures vanish sooner than slopes.
            let newton = |s: f64, h: f64| if h > 0.0 { (s / h).clamp(-1.0, 1.0) } else { 0.0 };
            for (step, (&s, &h)) in step.iter_mut().zip(solver.overall.iter().zip(&curvatures)) {
                *step = newton(s, h);
            }
            solver.move_constant(&step, control)?;
            if length(&solver.overall) <= SETTLED * solver.rows.rows().total {
                break;
            }
        }
        Ok(())
    }

    fn lower(
        solver: &mut Solver<'_, Self>,
        lambda: f64,
        tolerance: f64,
        left: &mut usize,
        control: &Control,
    ) -> Result<()> {
        while *left > 0 {
            let mut model = solver.model(control)?;
            let before = betas(&solver.coordinates)?;
            let mut first = None;
            let mut only_active = false;
            while *left > 0 {
                control.check()?;
                *left -= 1;
                let worst = solver.sweep_model(&mut model, lambda, only_active, control)?;
                let enough = tolerance.max(ENOUGH * *first.get_or_insert(worst));
                let settled = worst <= enough;
                if settled && !only_active {
                    break;
                }
                only_active = !settled;
            }
            if !solver.go(&model, &before, lambda)? || first.is_none_or(|worst| worst <= tolerance) {
                break;
            }
        }
        Ok(())
    }
}

impl Solver<'_, OddsRows> {
    fn model(&self, control: &Control) -> Result<QuadraticModel> {
        let (rows, of_all) = (&self.rows, self.rows.rows());
        let width = of_all.width;
        let filled = |n: usize| PURPOSE.filled(0.0, n * width);
        let n = of_all.n_rows();
        let (mut slopes, mut curvatures) = (filled(n)?, filled(n)?);
        let (mut overall, mut total) = (filled(1)?, filled(1)?);
        let mut pulse = control.pulse();
        for i in 0..n {
            pulse.after(width)?;
            let (w, row) = (of_all.weight[i], i * width..(i + 1) * width);
            let (slopes, curvatures) = (&mut slopes[row.clone()], &mut curvatures[row]);
            slopes.copy_from_slice(rows.gradient(i));
            rows.add_curvatures(i, 1.0, curvatures);
            curvatures.iter_mut().for_each(|h| *h = h.max(FLAT));
            add(&mut overall, w, slopes);
            add(&mut total, w, curvatures);
        }
        let mut inside = filled(self.coordinates.len())?;
        for (coordinate, sums) in self.coordinates.iter().zip(inside.chunks_exact_mut(width)) {
            for &i in self.nodes.rows(coordinate.node as usize) {
                pulse.after(width)?;
                let i = i as usize;
                add(sums, of_all.weight[i], &curvatures[i * width..(i + 1) * width]);
            }
        }
        Ok(QuadraticModel { width, slopes, overall, curvatures, total, inside, way: filled(n)? })
    }

    /// Makes one sweep for a quadratic model, and returns the largest violation of the optimality conditions that it
    /// met, as a penalty.
    fn sweep_model(
        &mut self,
        model: &mut QuadraticModel,
        lambda: f64,
        only_active: bool,
        control: &Control,
    ) -> Result<f64> {
        let Solver { nodes, rows, coordinates, .. } = self;
        let (rows, width) = (rows.rows(), model.width);
        let (mut sums, mut step) = (PURPOSE.filled(0.0, width)?, PURPOSE.filled(0.0, width)?);
        let mut worst = 0.0f64;
        let mut pulse = control.pulse();
        for (k, coordinate) in coordinates.iter_mut().enumerate() {
            if only_active && !coordinate.is_active() {
                continue;
            }
            let rows_inside = nodes.rows(coordinate.node as usize);
            pulse.after(rows_inside.len() * width)?;
            sums.fill(0.0);
            for &i in rows_inside {
                let i = i as usize;
                add(&mut sums, rows.weight[i], &model.slopes[i * width..(i + 1) * width]);
            }
            // The constant is optimal before and after the step: it takes over its part of the effect of the node.
            let inside = &model.inside[k * width..(k + 1) * width];
            let mut bend = 0.0f64;
            for (c, (sum, &h)) in sums.iter_mut().zip(inside).enumerate() {
                let share = h / model.total[c];
                *sum -= share * model.overall[c];
                bend = bend.max(h * (1.0 - share).max(FLAT));
            }
            let bend = bend / rows.total;
            let moved = coordinate.step(&sums, rows.total, bend, lambda, &mut step);
            if moved > 0.0 {
                model.overall.iter_mut().zip(inside).zip(&step).for_each(|((all, h), s)| *all -= h * s);
                rows_inside.iter().for_each(|&i| model.shift(i as usize, &step));
                worst = worst.max(moved * bend / coordinate.penalty);
            }
        }
        Ok(worst)
    }

    /// Moves from the coefficients `before` towards the current ones, the solution of a model, as far as that lowers
    /// the objective. Returns false if no step does; everything is then as before.
    fn go(&mut self, model: &QuadraticModel, before: &[Vec<f64>], lambda: f64) -> Result<bool> {
        let Solver { rows, coordinates, intercept, .. } = self;
        let constant = PURPOSE.collected(model.overall.iter().zip(&model.total).map(|(all, h)| all / h))?;
        let zeros = || PURPOSE.filled(0.0, model.width);
        let (mut change, mut way) = (zeros()?, zeros()?);
        let mut go_on = |rows: &mut OddsRows, share: f64| -> f64 {
            let mut loss = 0.0;
            for (i, of_row) in model.way.chunks_exact(model.width).enumerate() {
                way.iter_mut().zip(of_row).zip(&constant).for_each(|((way, s), b)| *way = s + b);
                let by = rows.shift(i, share, &way, &mut change);
                loss += rows.rows().weight[i] / rows.rows().total * by;
            }
            loss
        };
        let after = betas(coordinates)?;
        let norm_before: f64 = coordinates.iter().zip(before).map(|(c, beta)| c.penalty * length(beta)).sum();
        let (mut share, mut gone) = (1.0, 0.0);
        let mut loss = 0.0;
        for _ in 0..HALVINGS {
            loss += go_on(rows, share - gone);
            gone = share;
            let norm: f64 = coordinates.iter().map(|c| c.penalty * length(&c.beta)).sum();
            if loss + lambda * (norm - norm_before) <= 0.0 {
                intercept.iter_mut().zip(&constant).for_each(|(b, s)| *b += share * s);
                return Ok(true);
            }
            share /= 2.0;
            for ((coordinate, before), after) in coordinates.iter_mut().zip(before).zip(&after) {
                let ends = before.iter().zip(after);
                coordinate.beta.iter_mut().zip(ends).for_each(|(b, (from, to))| *b = from + share * (to - from));
            }
        }
        go_on(rows, -gone);
        coordinates.iter_mut().zip(before).for_each(|(coordinate, beta)| coordinate.beta.copy_from_slice(beta));
        Ok(false)
    }
}

impl QuadraticModel {
    /// Moves the scores of a sample.
    fn shift(&mut self, row: usize, step: &[f64]) {
        let range = row * self.width..(row + 1) * self.width;
        self.way[range.clone()].iter_mut().zip(step).for_each(|(way, s)| *way += s);
        let bent = self.slopes[range.clone()].iter_mut().zip(&self.curvatures[range]);
        bent.zip(step).for_each(|((r, h), s)| *r -= h * s);
    }
}

/// Adds weight × values to sums.
fn add(sums: &mut [f64], weight: f64, values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(s, v)| *s += weight * v);
}
