//! The squared error: sweeps over the coordinates, each step in closed form.

use super::{Solved, Solver, WHAT};
use crate::compress::rows::{Gradients, LossRows, ResidualRows};
use crate::control::Control;
use crate::error::{Result, try_collected, try_filled};

impl Solved for ResidualRows {
    /// In one step: the mean of residuals.
    fn settle(solver: &mut Solver<'_, Self>, control: &Control) -> Result<()> {
        solver.sum_gradients(control)?;
        let total = solver.rows.rows().total;
        let step = try_collected(WHAT, solver.overall.iter().map(|s| s / total))?;
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
        solver.descend(lambda, tolerance, left, control)
    }
}

impl Solver<'_, ResidualRows> {
    /// One sweep of the squared error: the largest violation of optimality that it met, as a penalty. Losses follow later.
    fn sweep(&mut self, lambda: f64, only_active: bool, control: &Control) -> Result<f64> {
        let Solver { nodes, rows, coordinates, overall, .. } = self;
        let (width, total) = (rows.rows().width, rows.rows().total);
        let (mut sums, mut step) = (try_filled(WHAT, 0.0, width)?, try_filled(WHAT, 0.0, width)?);
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
                // The same in one register.
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
            let residuals = rows.residuals_mut();
            for &i in inside {
                let row = &mut residuals[i as usize * width..(i as usize + 1) * width];
                row.iter_mut().zip(&step).for_each(|(r, s)| *r -= s);
            }
            let weight = share * total;
            overall.iter_mut().zip(&step).for_each(|(all, s)| *all -= weight * s);
            worst = worst.max(moved * bend / coordinate.penalty);
        }
        Ok(worst)
    }

    /// Sweeps until the objective over the coordinates is least, or no sweep is left.
    fn descend(&mut self, lambda: f64, tolerance: f64, left: &mut usize, control: &Control) -> Result<()> {
        let mut only_active = false;
        while *left > 0 {
            control.check()?;
            *left -= 1;
            let settled = self.sweep(lambda, only_active, control)? <= tolerance;
            if settled && !only_active {
                break;
            }
            // After a sweep of all those with coefficients alone, until they have settled.
            only_active = !settled;
        }
        Ok(())
    }
}
