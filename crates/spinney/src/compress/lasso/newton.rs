//! Logistic losses: proximal Newton (Friedman, Hastie and Tibshirani 2010; Lee, Sun and Saunders 2014).
//!
//! About where things are the loss of each row is replaced by a quadratic of its scores (of several classes the diagonal
//! that bounds its curvature), whose lasso is solved by sweeps like those of the squared error: no exponential in them. The
//! way to its solution is then taken, or half of it as often as the objective would rise.

use super::{Coordinate, Solver, length};
use crate::control::Control;
use crate::error::{Result, try_filled};

/// Least curvature of a row, of 1 at most: rows far out bend no line, and a step would have no end.
const FLAT: f64 = 1e-5;
/// Share of the first violation to which a quadratic is solved: it is no more than a model.
const ENOUGH: f64 = 0.1;
/// Halvings of a way before it is given up.
const HALVINGS: usize = 40;

/// A quadratic model of the loss: row by row, score by score.
#[derive(Debug)]
struct Model {
    width: usize,
    /// Negative slopes where things would be.
    slopes: Vec<f64>,
    curvatures: Vec<f64>,
    /// How far the scores would have moved.
    way: Vec<f64>,
    /// Of the constant.
    constant: Vec<f64>,
    /// Curvature of each coordinate along the score where it is largest, of the mean loss.
    bends: Vec<f64>,
}

impl Solver<'_> {
    /// Lowers the objective over the coordinates until it is least, or no sweep is left.
    pub(super) fn newton(&mut self, lambda: f64, tolerance: f64, left: &mut usize, control: &Control) -> Result<()> {
        while *left > 0 {
            let mut model = self.model()?;
            let before: Vec<Vec<f64>> = self.coordinates.iter().map(|c| c.beta.clone()).collect();
            let mut first = None;
            let mut only_active = false;
            while *left > 0 {
                control.check()?;
                *left -= 1;
                let worst = self.sweep_model(&mut model, lambda, only_active);
                let enough = tolerance.max(ENOUGH * *first.get_or_insert(worst));
                let settled = worst <= enough;
                if settled && !only_active {
                    break;
                }
                only_active = !settled;
            }
            if !self.go(&model, &before, lambda) || first.is_none_or(|worst| worst <= tolerance) {
                break;
            }
        }
        Ok(())
    }

    fn model(&self) -> Result<Model> {
        let (rows, width) = (&self.rows, self.rows.width);
        let n = rows.n_rows() * width;
        let filled = || try_filled(super::WHAT, 0.0, n);
        let (mut slopes, mut curvatures, way) = (filled()?, filled()?, filled()?);
        for (i, (slopes, curvatures)) in
            slopes.chunks_exact_mut(width).zip(curvatures.chunks_exact_mut(width)).enumerate()
        {
            slopes.copy_from_slice(rows.gradient(i));
            rows.add_curvatures(i, 1.0, curvatures);
            curvatures.iter_mut().for_each(|h| *h = h.max(FLAT));
        }
        let mut sums = vec![0.0; width];
        let bend = |coordinate: &Coordinate| {
            sums.fill(0.0);
            for &i in self.nodes.rows(coordinate.node as usize) {
                let (w, i) = (rows.weight[i as usize], i as usize * width);
                sums.iter_mut().zip(&curvatures[i..i + width]).for_each(|(s, h)| *s += w * h);
            }
            sums.iter().copied().fold(0.0, f64::max) / rows.total
        };
        let bends = self.coordinates.iter().map(bend).collect();
        Ok(Model { width, slopes, curvatures, way, constant: vec![0.0; width], bends })
    }

    /// One sweep of a model, the constant first: the largest violation of optimality that it met, as a penalty.
    fn sweep_model(&mut self, model: &mut Model, lambda: f64, only_active: bool) -> f64 {
        let Solver { nodes, rows, coordinates, .. } = self;
        let (width, total) = (model.width, rows.total);
        let mut sums = vec![0.0; width];
        let mut step = vec![0.0; width];
        let mut curvatures = vec![0.0; width];
        for (i, &w) in rows.weight.iter().enumerate() {
            let row = i * width..(i + 1) * width;
            sums.iter_mut().zip(&model.slopes[row.clone()]).for_each(|(s, r)| *s += w * r);
            curvatures.iter_mut().zip(&model.curvatures[row]).for_each(|(s, h)| *s += w * h);
        }
        step.iter_mut().zip(&sums).zip(&curvatures).for_each(|((v, s), h)| *v = s / h);
        model.constant.iter_mut().zip(&step).for_each(|(b, s)| *b += s);
        (0..rows.n_rows()).for_each(|i| model.shift(i, &step));
        let mut worst = 0.0f64;
        for (k, coordinate) in coordinates.iter_mut().enumerate() {
            if only_active && !coordinate.is_active() {
                continue;
            }
            let (bend, inside) = (model.bends[k], nodes.rows(coordinate.node as usize));
            sums.fill(0.0);
            for &i in inside {
                let (w, i) = (rows.weight[i as usize], i as usize * width);
                sums.iter_mut().zip(&model.slopes[i..i + width]).for_each(|(s, r)| *s += w * r);
            }
            let moved = coordinate.step(&sums, total, bend, lambda, &mut step);
            if moved > 0.0 {
                inside.iter().for_each(|&i| model.shift(i as usize, &step));
                worst = worst.max(moved * bend / coordinate.penalty);
            }
        }
        worst
    }

    /// Goes the way of a model, from coefficients `before` to those that are there, or as much of it as lowers the
    /// objective. False where none does: everything is as before.
    fn go(&mut self, model: &Model, before: &[Vec<f64>], lambda: f64) -> bool {
        let Solver { rows, coordinates, intercept, .. } = self;
        let mut change = vec![0.0; model.width];
        let after: Vec<Vec<f64>> = coordinates.iter().map(|c| c.beta.clone()).collect();
        let norm_before: f64 = coordinates.iter().zip(before).map(|(c, beta)| c.penalty * length(beta)).sum();
        let (mut share, mut gone) = (1.0, 0.0);
        let mut loss = 0.0;
        for _ in 0..HALVINGS {
            for (i, way) in model.way.chunks_exact(model.width).enumerate() {
                loss += rows.weight[i] / rows.total * rows.shift(i, share - gone, way, &mut change);
            }
            gone = share;
            let norm: f64 = coordinates.iter().map(|c| c.penalty * length(&c.beta)).sum();
            if loss + lambda * (norm - norm_before) <= 0.0 {
                intercept.iter_mut().zip(&model.constant).for_each(|(b, s)| *b += share * s);
                return true;
            }
            share /= 2.0;
            for ((coordinate, before), after) in coordinates.iter_mut().zip(before).zip(&after) {
                let ends = before.iter().zip(after);
                coordinate.beta.iter_mut().zip(ends).for_each(|(b, (from, to))| *b = from + share * (to - from));
            }
        }
        for (i, way) in model.way.chunks_exact(model.width).enumerate() {
            rows.shift(i, -gone, way, &mut change);
        }
        coordinates.iter_mut().zip(before).for_each(|(coordinate, beta)| coordinate.beta.clone_from(beta));
        false
    }
}

impl Model {
    /// Moves the scores of a row.
    fn shift(&mut self, row: usize, step: &[f64]) {
        let range = row * self.width..(row + 1) * self.width;
        self.way[range.clone()].iter_mut().zip(step).for_each(|(way, s)| *way += s);
        let bent = self.slopes[range.clone()].iter_mut().zip(&self.curvatures[range]);
        bent.zip(step).for_each(|((r, h), s)| *r -= h * s);
    }
}
