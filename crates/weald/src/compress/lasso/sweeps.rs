//! The lasso of the squared error: sweeps over the coordinates with closed-form steps, and extrapolation if many are
//! needed.

use super::extrapolation::Extrapolation;
use super::{Coordinate, PURPOSE, Solved, Solver, betas};
use crate::compress::indicators::Indicators;
use crate::compress::rows::{Gradients, LossRows, ResidualRows};
use crate::control::Control;
use crate::error::Result;

/// Number of sweeps for one penalty after which they are extrapolated: most penalties need fewer.
const SLOW: usize = 50;

impl Solved for ResidualRows {
    /// The constant is found in one step: it is the mean of the residuals.
    fn settle(solver: &mut Solver<'_, Self>, control: &Control) -> Result<()> {
        solver.sum_gradients(control)?;
        let total = solver.rows.rows().total;
        let step = PURPOSE.collected(solver.overall.iter().map(|s| s / total))?;
        solver.move_constant(&step, control)?;
        solver.overall.fill(0.0);
        Ok(())
    }

    fn lower(
        solver: &mut Solver<'_, Self>,
        lambda: f64,
        tolerance: f64,
        left: &mut usize,
        control: &Control,
    ) -> Result<()> {
        let mut only_active = false;
        let mut n_sweeps = 0;
        let mut extrapolation = Extrapolation::default();
        while *left > 0 {
            control.check()?;
            *left -= 1;
            n_sweeps += 1;
            let settled = solver.sweep(lambda, only_active, control)? <= tolerance;
            if settled && !only_active {
                break;
            }
            // After a sweep over all coordinates, only those with coefficients are swept until they have converged.
            only_active = !settled;
            if n_sweeps > SLOW
                && let Some(proposal) = extrapolation.after_sweep(&solver.coordinates)?
            {
                solver.take_if_lower(&proposal, lambda)?;
            }
        }
        Ok(())
    }
}

impl Solver<'_, ResidualRows> {
    /// Makes one sweep for the squared error, and returns the largest violation of the optimality conditions that it
    /// met, as a penalty. Losses are updated later.
    fn sweep(&mut self, lambda: f64, only_active: bool, control: &Control) -> Result<f64> {
        let Solver { nodes, rows, coordinates, overall, .. } = self;
        let (width, total) = (rows.rows().width, rows.rows().total);
        let (mut sums, mut step) = (PURPOSE.filled(0.0, width)?, PURPOSE.filled(0.0, width)?);
        let mut worst = 0.0f64;
        let mut pulse = control.pulse();
        for coordinate in coordinates {
            if only_active && !coordinate.is_active() {
                continue;
            }
            let share = coordinate.share;
            let inside = nodes.rows(coordinate.node as usize);
            pulse.after(inside.len() * width)?;
            sums.iter_mut().zip(&*overall).for_each(|(s, all)| *s = -share * all);
            if width == 1 {
                // With one score, the sum stays in one register.
                let row = |&i: &u32| rows.rows().weight[i as usize] * rows.gradient(i as usize)[0];
                sums[0] += inside.iter().map(row).sum::<f64>();
            } else {
                inside.iter().for_each(|&i| rows.add_gradient(i as usize, &mut sums));
            }
            let bend = coordinate.curvature;
            let moved = coordinate.step(&sums, total, bend, lambda, &mut step);
            if moved == 0.0 {
                continue;
            }
            follow(nodes, rows, overall, coordinate, &step);
            worst = worst.max(moved * bend / coordinate.penalty);
        }
        Ok(worst)
    }

    /// Returns half the mean square of the residuals about the best constant, plus the penalty.
    fn objective(&self, lambda: f64) -> f64 {
        let rows = self.rows.rows();
        let square = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>();
        let squares: f64 = (0..rows.n_rows()).map(|i| rows.weight[i] * square(self.rows.gradient(i))).sum();
        (squares - square(&self.overall) / rows.total) / (2.0 * rows.total) + lambda * self.norm()
    }

    /// Replaces the coefficients by `proposal`, coordinate after coordinate, if that lowers the objective.
    fn take_if_lower(&mut self, proposal: &[f64], lambda: f64) -> Result<()> {
        let here = self.objective(lambda);
        let (residuals, overall) = (PURPOSE.copied(self.rows.residuals_mut())?, PURPOSE.copied(&self.overall)?);
        let before = betas(&self.coordinates)?;
        let mut step = PURPOSE.filled(0.0, overall.len())?;
        let Solver { nodes, rows, coordinates, overall: sums, .. } = self;
        for (coordinate, to) in coordinates.iter_mut().zip(proposal.chunks_exact(step.len())) {
            step.iter_mut().zip(to).zip(&coordinate.beta).for_each(|((s, to), from)| *s = to - from);
            coordinate.beta.copy_from_slice(to);
            follow(nodes, rows, sums, coordinate, &step);
        }
        if self.objective(lambda) < here {
            return Ok(());
        }
        self.rows.residuals_mut().copy_from_slice(&residuals);
        self.overall.copy_from_slice(&overall);
        self.coordinates.iter_mut().zip(&before).for_each(|(coordinate, beta)| coordinate.beta.copy_from_slice(beta));
        Ok(())
    }
}

/// Updates the residuals and their weighted sums after the coefficients of a node have moved by a step.
fn follow(nodes: &Indicators, rows: &mut ResidualRows, overall: &mut [f64], coordinate: &Coordinate, step: &[f64]) {
    let (width, total) = (rows.rows().width, rows.rows().total);
    let residuals = rows.residuals_mut();
    for &i in nodes.rows(coordinate.node as usize) {
        let row = &mut residuals[i as usize * width..(i as usize + 1) * width];
        row.iter_mut().zip(step).for_each(|(r, s)| *r -= s);
    }
    let weight = coordinate.share * total;
    overall.iter_mut().zip(step).for_each(|(all, s)| *all -= weight * s);
}
