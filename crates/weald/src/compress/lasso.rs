//! The (group) lasso on a decreasing sequence of penalties.
//!
//! It minimises (1/W) Σ w ℓ(y, b + Σ β_j z_j) + λ Σ p_j ‖β_j‖, where ℓ is half the square of residuals or a logistic
//! loss, W is the sum of weights, and p_j is 1 or, if indicators are standardised, the deviation of the indicator: that
//! is the penalty of the coefficient of a column of unit variance. Everything here is in terms of indicators that are 0
//! and 1.
//!
//! One coordinate is a group: the coefficients of a node. Its samples are a range and its curvature is the same for all
//! scores, so that a step of the squared error has a closed form (Yuan and Lin 2006); a logistic loss is minimised by
//! quadratic models of it (`newton`). The constant of the squared error is solved for in every step: R, the sum of
//! weighted residuals, is kept up to date, and columns are centred by it. For each penalty, warm-started: strong rule
//! (Tibshirani et al. 2012), sweeps over the nodes that it leaves, most of them only over those with coefficients, then
//! a check of all nodes, which are summed once for each tree.
//!
//! A sweep costs the samples of its nodes × width; a check costs (samples × trees + nodes) × width. Memory is that of
//! the coefficients of each penalty.

mod extrapolation;
mod newton;
mod sweeps;

use super::CompressConfig;
use super::indicators::{Indicators, Scratch};
use super::mass::NodeMass;
use super::path::{Records, Solution, Steps};
use super::rows::{Gradients, KeptRows};
use super::stagewise::length;
use crate::control::Control;
use crate::elementary::pow;
use crate::error::{Purpose, Result};

/// The sequence of penalties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Penalties {
    pub(crate) n: usize,
    pub(crate) eps: f64,
    pub(crate) tol: f64,
    pub(crate) max_iter: usize,
}

/// The solver for penalties between those of the path.
#[derive(Clone, Debug)]
pub(crate) struct Lasso {
    nodes: Indicators,
    /// The samples in their initial state.
    rows: KeptRows,
    mass: NodeMass,
    standardize: bool,
    penalties: Penalties,
    lambdas: Vec<f64>,
    norms: Vec<f64>,
    knots: Vec<Solution>,
}

const PURPOSE: Purpose = Purpose("the path");
/// Maximum number of scores for which the sums of all nodes of a tree are in memory at once.
const NARROW: usize = 16;

/// The coefficients of a node during the solution.
#[derive(Clone, Debug)]
struct Coordinate {
    node: u32,
    share: f64,
    /// The curvature, along one score, of the mean squared error with its constant.
    curvature: f64,
    /// p_j.
    penalty: f64,
    beta: Vec<f64>,
}

impl Coordinate {
    fn is_active(&self) -> bool {
        self.beta.iter().any(|b| *b != 0.0)
    }

    /// Moves the coefficients to the minimum, with the penalty, of a quadratic function with curvature `bend` and
    /// slopes −`sums` / `total`; writes the movement to `step` and returns its length.
    fn step(&mut self, sums: &[f64], total: f64, bend: f64, lambda: f64, step: &mut [f64]) -> f64 {
        // v: the coefficients at the minimum without a penalty.
        step.iter_mut().zip(sums).zip(&self.beta).for_each(|((v, s), b)| *v = b + s / (total * bend));
        let shrunk = (1.0 - lambda * self.penalty / (bend * length(step))).max(0.0);
        // If all are zero, v has no direction.
        let shrunk = if shrunk.is_finite() { shrunk } else { 0.0 };
        step.iter_mut().zip(&self.beta).for_each(|(v, b)| *v = shrunk * *v - b);
        if shrunk == 0.0 {
            self.beta.fill(0.0);
        } else {
            self.beta.iter_mut().zip(&*step).for_each(|(b, s)| *b += s);
        }
        length(step)
    }
}

/// Returns a copy of the coefficients of each coordinate.
fn betas(coordinates: &[Coordinate]) -> Result<Vec<Vec<f64>>> {
    let mut betas = PURPOSE.with_capacity(coordinates.len())?;
    for coordinate in coordinates {
        betas.push(PURPOSE.copied(&coordinate.beta)?);
    }
    Ok(betas)
}

#[derive(Debug)]
struct Solver<'a, R> {
    nodes: &'a Indicators,
    mass: &'a NodeMass,
    rows: R,
    standardize: bool,
    penalties: Penalties,
    /// The coordinates, by node; some may have zero coefficients.
    coordinates: Vec<Coordinate>,
    intercept: Vec<f64>,
    /// R.
    overall: Vec<f64>,
    /// ‖c_j‖ / (W p_j) of all nodes at the previous solution; negative if a node is left out.
    slopes: Vec<f64>,
    scratch: Scratch,
    lambda_max: f64,
}

/// How the lasso of a loss is solved.
trait Solved: Gradients + Sized {
    /// Moves the constant to the minimum of the loss.
    fn settle(solver: &mut Solver<'_, Self>, control: &Control) -> Result<()>;

    /// Lowers the objective over the coordinates until it is minimal, or no sweeps are left. Losses may be updated
    /// later.
    fn lower(
        solver: &mut Solver<'_, Self>,
        lambda: f64,
        tolerance: f64,
        left: &mut usize,
        control: &Control,
    ) -> Result<()>;
}

impl<'a, R: Solved> Solver<'a, R> {
    fn new(
        nodes: &'a Indicators,
        mass: &'a NodeMass,
        rows: R,
        standardize: bool,
        penalties: Penalties,
        control: &Control,
    ) -> Result<Self> {
        let width = rows.rows().width;
        let mut solver = Solver {
            nodes,
            mass,
            intercept: PURPOSE.copied(&rows.rows().start)?,
            rows,
            standardize,
            penalties,
            coordinates: Vec::new(),
            overall: PURPOSE.filled(0.0, width)?,
            slopes: PURPOSE.filled(-1.0, nodes.n_nodes())?,
            scratch: Scratch::default(),
            lambda_max: 0.0,
        };
        R::settle(&mut solver, control)?;
        solver.look(control)?;
        solver.lambda_max = solver.slopes.iter().copied().fold(0.0, f64::max);
        Ok(solver)
    }

    fn penalty(&self, node: usize) -> f64 {
        if self.standardize { self.mass.deviation(node) } else { 1.0 }
    }

    /// Sums the gradients of all samples.
    fn sum_gradients(&mut self, control: &Control) -> Result<()> {
        let mut pulse = control.pulse();
        self.overall.fill(0.0);
        for (i, _) in self.rows.rows().weight.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            pulse.after(self.overall.len())?;
            self.rows.add_gradient(i, &mut self.overall);
        }
        Ok(())
    }

    /// Adds to the constant.
    fn move_constant(&mut self, step: &[f64], control: &Control) -> Result<()> {
        let mut change = PURPOSE.filled(0.0, step.len())?;
        let mut pulse = control.pulse();
        for i in 0..self.rows.rows().n_rows() {
            pulse.after(step.len())?;
            self.rows.shift(i, 1.0, step, &mut change);
        }
        self.intercept.iter_mut().zip(step).for_each(|(b, s)| *b += s);
        Ok(())
    }

    /// Sums the gradients of all nodes.
    fn look(&mut self, control: &Control) -> Result<()> {
        let (rows, nodes, mass) = (&self.rows, self.nodes, self.mass);
        let (of_all, standardize) = (rows.rows(), self.standardize);
        let width = of_all.width;
        let slopes = &mut self.slopes;
        let mut see = |k: usize, c: &[f64]| {
            if !nodes.is_root(k) && mass.deviation(k) > 0.0 {
                let penalty = if standardize { mass.deviation(k) } else { 1.0 };
                slopes[k] = length(c) / (of_all.total * penalty);
            }
        };
        let train = of_all.of_training()?;
        let mut values = Vec::new();
        if width <= NARROW {
            PURPOSE.reserve(&mut values, train.len() * width)?;
            for &i in &train {
                let w = of_all.weight[i as usize];
                values.extend(rows.gradient(i as usize).iter().map(|g| w * g));
            }
        }
        let mut pulse = control.pulse();
        for tree in 0..nodes.n_trees() {
            control.check()?;
            if width <= NARROW {
                nodes.touched(tree, &train, &values, width, &mut self.scratch, &mut see)?;
                continue;
            }
            let add = |row: usize, sums: &mut [f64]| {
                if of_all.weight[row] > 0.0 {
                    rows.add_gradient(row, sums);
                }
            };
            nodes.all_sums(tree, width, add, |k, c| {
                see(k, c);
                pulse.after(width)
            })?;
        }
        Ok(())
    }

    /// Makes coordinates of all nodes whose slope is above `least`, except those that already are.
    fn admit(&mut self, least: f64) -> Result<bool> {
        let mut known = self.coordinates.iter().map(|c| c.node as usize).peekable();
        let mut new = Vec::new();
        for (node, &slope) in self.slopes.iter().enumerate() {
            if known.next_if_eq(&node).is_some() || slope <= least || slope < 0.0 {
                continue;
            }
            let share = self.mass.share[node];
            let curvature = share * (1.0 - share);
            let (penalty, beta) = (self.penalty(node), PURPOSE.filled(0.0, self.rows.rows().width)?);
            PURPOSE.push(&mut new, Coordinate { node: node as u32, share, curvature, penalty, beta })?;
        }
        let some = !new.is_empty();
        PURPOSE.extend(&mut self.coordinates, new)?;
        self.coordinates.sort_unstable_by_key(|c| c.node);
        Ok(some)
    }

    /// Solves for a penalty, starting from the current state; `before` is the penalty for which that was solved.
    fn solve(&mut self, lambda: f64, before: f64, control: &Control) -> Result<()> {
        let tolerance = self.penalties.tol * lambda;
        self.admit(2.0 * lambda - before)?;
        let mut left = self.penalties.max_iter;
        loop {
            R::lower(self, lambda, tolerance, &mut left, control)?;
            R::settle(self, control)?;
            self.look(control)?;
            if left == 0 || !self.admit(lambda + tolerance)? {
                break;
            }
        }
        self.rows.recount();
        self.coordinates.retain(Coordinate::is_active);
        Ok(())
    }

    fn norm(&self) -> f64 {
        self.coordinates.iter().map(|c| c.penalty * length(&c.beta)).sum()
    }

    fn solution(&self) -> Result<Solution> {
        Solution::copied(&self.intercept, self.coordinates.iter().map(|c| (c.node, &c.beta[..])))
    }

    /// Replaces the current state by a solution.
    fn restore(&mut self, solution: &Solution, control: &Control) -> Result<()> {
        let step = PURPOSE.collected(solution.start.iter().zip(&self.intercept).map(|(b, a)| b - a))?;
        self.move_constant(&step, control)?;
        self.intercept.copy_from_slice(&solution.start);
        let mut change = PURPOSE.filled(0.0, step.len())?;
        let mut pulse = control.pulse();
        for (&node, beta) in &solution.betas {
            for &i in self.nodes.rows(node as usize) {
                pulse.after(beta.len())?;
                self.rows.shift(i as usize, 1.0, beta, &mut change);
            }
        }
        self.look(control)?;
        // The nodes with coefficients are among the coordinates.
        self.slopes.iter_mut().for_each(|s| *s = -s.abs() - 1.0);
        solution.betas.keys().for_each(|&node| self.slopes[node as usize] = 0.0);
        self.coordinates.clear();
        self.admit(-0.5)?;
        for (coordinate, beta) in self.coordinates.iter_mut().zip(solution.betas.values()) {
            coordinate.beta.copy_from_slice(beta);
        }
        self.look(control)
    }
}

/// The solutions of all penalties.
#[derive(Debug)]
struct Solutions {
    lambdas: Vec<f64>,
    norms: Vec<f64>,
    knots: Vec<Solution>,
}

pub(crate) fn path(
    nodes: Indicators,
    rows: KeptRows,
    mass: &NodeMass,
    penalties: Penalties,
    config: &CompressConfig,
    control: &Control,
) -> Result<(Records, Steps)> {
    let (records, solutions) = match &rows {
        KeptRows::Residuals(rows) => solve_all(&nodes, rows, mass, penalties, config, control)?,
        KeptRows::Odds(rows) => solve_all(&nodes, rows, mass, penalties, config, control)?,
    };
    let Solutions { lambdas, norms, knots } = solutions;
    let (mass, standardize) = (mass.try_clone()?, config.standardize);
    let lasso = Lasso { nodes, rows, mass, standardize, penalties, lambdas, norms, knots };
    Ok((records, Steps::Knots(Box::new(lasso))))
}

fn solve_all<R: Solved>(
    nodes: &Indicators,
    rows: &R,
    mass: &NodeMass,
    penalties: Penalties,
    config: &CompressConfig,
    control: &Control,
) -> Result<(Records, Solutions)> {
    let mut solver = Solver::new(nodes, mass, rows.try_clone()?, config.standardize, penalties, control)?;
    let mut records = Records::default();
    let has_held_out = rows.rows().has_held_out();
    let at_first = solver.rows.rows().losses().0;
    records.push(0.0, solver.rows.rows().losses(), has_held_out, 0, 0)?;
    let (mut lambdas, mut norms) = (vec![solver.lambda_max], vec![0.0]);
    let mut knots = vec![solver.solution()?];
    let mut kept = Ancestors { stamp: PURPOSE.filled(0, nodes.n_nodes())?, now: 0 };
    if solver.lambda_max > 0.0 {
        for k in 1..penalties.n {
            let lambda = solver.lambda_max * pow(penalties.eps, k as f64 / (penalties.n - 1) as f64);
            solver.solve(lambda, lambdas[k - 1], control)?;
            // Up to rounding, norms rise as penalties decrease.
            let norm = solver.norm().max(norms[k - 1]);
            let n_test_nodes = kept.count(nodes, solver.coordinates.iter().map(|c| c.node));
            let losses = solver.rows.rows().losses();
            records.push(norm, losses, has_held_out, n_test_nodes, solver.coordinates.len())?;
            lambdas.push(lambda);
            norms.push(norm);
            knots.push(solver.solution()?);
            control.one_more_done();
            if solver.rows.fits_all(at_first) || config.max_test_nodes.is_some_and(|max| n_test_nodes > max) {
                break;
            }
        }
    }
    Ok((records, Solutions { lambdas, norms, knots }))
}

/// Counts strict ancestors.
#[derive(Debug)]
struct Ancestors {
    stamp: Vec<u32>,
    now: u32,
}

impl Ancestors {
    fn count(&mut self, nodes: &Indicators, of: impl Iterator<Item = u32>) -> usize {
        self.now += 1;
        let mut n = 0;
        for node in of {
            let mut at = nodes.parent(node as usize);
            while let Some(up) = at
                && std::mem::replace(&mut self.stamp[up], self.now) != self.now
            {
                n += 1;
                at = nodes.parent(up);
            }
        }
        n
    }
}

impl Lasso {
    /// Returns the solution for penalty `step`.
    pub(crate) fn knot(&self, step: usize) -> Result<Solution> {
        let Solution { start, betas } = &self.knots[step];
        Solution::copied(start, betas.iter().map(|(&node, beta)| (node, &beta[..])))
    }

    /// Returns the solution of a norm between those of penalties `step` and `step + 1`, by false position on the
    /// penalty; each guess is solved starting from the previous one.
    pub(crate) fn solve_norm(&self, norm: f64, step: usize, control: &Control) -> Result<Solution> {
        match &self.rows {
            KeptRows::Residuals(rows) => self.solve_norm_of(rows, norm, step, control),
            KeptRows::Odds(rows) => self.solve_norm_of(rows, norm, step, control),
        }
    }

    fn solve_norm_of<R: Solved>(&self, rows: &R, norm: f64, step: usize, control: &Control) -> Result<Solution> {
        let mut solver =
            Solver::new(&self.nodes, &self.mass, rows.try_clone()?, self.standardize, self.penalties, control)?;
        solver.restore(&self.knots[step], control)?;
        let (mut high, mut low) = (self.lambdas[step], self.lambdas[step + 1]);
        let (mut of_high, mut of_low) = (self.norms[step] - norm, self.norms[step + 1] - norm);
        let mut before = high;
        let mut side = 0;
        for _ in 0..60 {
            let lambda = (high * of_low - low * of_high) / (of_low - of_high);
            if !(lambda < high && lambda > low) {
                break;
            }
            solver.solve(lambda, before.max(lambda), control)?;
            before = lambda;
            let found = solver.norm() - norm;
            if found.abs() <= 1e-9 * norm.max(f64::MIN_POSITIVE) {
                break;
            }
            // Illinois algorithm: an end that stays is counted half.
            if found < 0.0 {
                (high, of_high) = (lambda, found);
                of_low *= if side == -1 { 0.5 } else { 1.0 };
                side = -1;
            } else {
                (low, of_low) = (lambda, found);
                of_high *= if side == 1 { 0.5 } else { 1.0 };
                side = 1;
            }
        }
        solver.solution()
    }
}
