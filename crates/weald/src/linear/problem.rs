//! What the columns of a fit visit: each X once, or twice where samples with equal X differ in y.
//!
//! The samples with the same X and the same y are one sample already. Of those that have the same X and differ in y, a column
//! only sees how much weight has it and how much has it not: two visits, with weights of the column's own. So samples with equal X
//! have no order, which would depend on their columns, and what a column does is a function of X, of the order of the visits,
//! which depends on X alone, and of its own y.

use super::LinearConfig;
use super::log_loss::scale_of_strengths;
use super::loss::LinearLoss;
use super::samples::Samples;
use super::solve::{LANES, Lanes};
use crate::error::{Purpose, Result};
use crate::rng::Key;

const PURPOSE: Purpose = Purpose("the weights of a linear model");

/// What all blocks share.
#[derive(Debug)]
pub(super) struct Problem<'p> {
    pub(super) samples: &'p Samples,
    pub(super) config: &'p LinearConfig,
    pub(super) key: Key,
    /// The visit of each sample. Samples that differ in y alone have the first of two.
    pub(super) visits: Vec<u32>,
    /// The sample whose X each visit has. Those of one sample come first, then two for each X of several: one of the weight
    /// that has a column, and one of the weight that has it not.
    x: Vec<u32>,
    /// The two numbers of each visit of one sample: see [`Problem::of`].
    of_visits: Vec<[f32; 2]>,
    /// The total weight of each X of several samples, and its square.
    pub(super) shared: Vec<[f64; 2]>,
    /// The power of two by which the strengths of all samples are multiplied.
    scale: f64,
}

impl<'p> Problem<'p> {
    pub(super) fn new(samples: &'p Samples, config: &'p LinearConfig, key: Key) -> Result<Self> {
        let square = |i: usize| samples.x(i).1.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>();
        let mut visits = PURPOSE.filled(0, samples.len())?;
        let (mut x, mut singles, mut shared) = (Vec::new(), Vec::new(), Vec::new());
        for group in samples.groups().filter(|group| group.len() == 1) {
            visits[group.start] = x.len() as u32;
            PURPOSE.push(&mut x, group.start as u32)?;
            PURPOSE.push(&mut singles, [samples.weights[group.start], square(group.start)])?;
        }
        for group in samples.groups().filter(|group| group.len() > 1) {
            visits[group.clone()].fill(x.len() as u32);
            PURPOSE.extend(&mut x, [group.start as u32; 2])?;
            let total = samples.weights[group.clone()].iter().sum::<f64>();
            PURPOSE.push(&mut shared, [total, square(group.start)])?;
        }
        let mut problem = Problem { samples, config, key, visits, x, of_visits: Vec::new(), shared, scale: 1.0 };
        if config.loss == LinearLoss::LogLoss {
            let of_intercept = config.intercept_scaling * config.intercept_scaling;
            let strengths = singles.iter().chain(&problem.shared).map(|[weight, square]| {
                let strength = config.c * weight;
                [strength, strength * (square + of_intercept)]
            });
            problem.scale = scale_of_strengths(strengths);
        }
        problem.of_visits = PURPOSE.collected(singles.iter().map(|&[weight, square]| problem.of(weight, square)))?;
        Ok(problem)
    }

    /// Returns, for a weight c of samples with a square of X, by squared hinge 1 / (2 C c) and 1 / (‖x‖² + s² + 1 / (2 C c)), and
    /// by log loss C c and C c (‖x‖² + s²), times the scale of strengths. Without a weight, they are zero.
    pub(super) fn of(&self, weight: f64, square: f64) -> [f32; 2] {
        if weight <= 0.0 {
            return [0.0; 2];
        }
        let square = square + self.config.intercept_scaling * self.config.intercept_scaling;
        let strength = self.config.c * weight * self.scale;
        match self.config.loss {
            LinearLoss::SquaredHinge => {
                let slack = 0.5 / strength;
                [slack as f32, (1.0 / (square + slack)) as f32]
            }
            LinearLoss::LogLoss => [strength as f32, (strength * square) as f32],
        }
    }

    pub(super) fn n_visits(&self) -> usize {
        self.x.len()
    }

    /// Returns the X that several samples have of a visit, counted from the first one, if it is one of those.
    pub(super) fn shared_at(&self, visit: usize) -> Option<usize> {
        visit.checked_sub(self.of_visits.len()).map(|at| at / 2)
    }

    /// Returns the visits of the weight that has a column, and of the weight that has not, for an X that several samples have.
    pub(super) fn visits_of_shared(&self, at: usize) -> [usize; 2] {
        let first = self.of_visits.len() + 2 * at;
        [first, first + 1]
    }

    /// Returns the features of a visit, numbered by frequency, and their values.
    #[inline(always)]
    pub(super) fn x(&self, visit: usize) -> (&[u32], &[f32]) {
        self.samples.x(self.x[visit] as usize)
    }

    /// Returns the two numbers of a visit for each column of a block, which has those of `shared` visits.
    #[inline(always)]
    pub(super) fn numbers(&self, visit: usize, shared: &[[Lanes; 2]]) -> [Lanes; 2] {
        match self.of_visits.get(visit) {
            Some(&[a, b]) => [[a; LANES], [b; LANES]],
            None => shared[visit - self.of_visits.len()],
        }
    }
}
