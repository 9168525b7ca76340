//! Dual coordinate descent for sixteen columns at a time: squared hinge with L2, one against the rest.
//!
//! For each column, minimise ½ ‖w‖² + ½ (b / s + 1 / s)² + C Σᵢ cᵢ max(0, 1 − yᵢ mᵢ)², with the margins
//! mᵢ = w · xᵢ + b, the weights cᵢ of samples, and the scaling s of the intercept b. Each sample has a dual variable
//! αᵢ ≥ 0, with w = Σ αᵢ yᵢ xᵢ and b = −1 + s² Σ αᵢ yᵢ. A step sets one of them to its optimum for the others:
//! αᵢ ← max(0, αᵢ − gᵢ / (‖xᵢ‖² + s² + 1 / (2 C cᵢ))), where gᵢ = yᵢ mᵢ − 1 + αᵢ / (2 C cᵢ).
//!
//! At the start all dual variables are 0 and all margins −1, so that samples without the label have nothing to say.
//! First come the samples that have the label, then passes over all of them. A sample is left out of the passes over a
//! column while it cannot move its variable (shrinking); when a column is finished without such samples, all are looked
//! at once more. The limit is the memory that must be read: the weights of a few thousand rare features, and the entries
//! of samples, which are in an order of their own already, so that each pass only moves eights of neighbours.
//!
//! The columns of a block share the reading of X and nothing else: what a column does is a function of the samples, of
//! their order in each pass, and of its own y. So the result does not depend on the columns that share its block, on
//! their order, or on the number of threads.
//!
//! Source: Hsieh, Chang, Lin, Keerthi and Sundararajan, *A dual coordinate descent method for large-scale linear SVM*,
//! 2008.

use super::log_loss::FAR;
use super::loss::LinearLoss;
use super::problem::Problem;
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::rng::Key;

const PURPOSE: Purpose = Purpose("the weights of a linear model");

/// Number of columns of a block.
pub(super) const LANES: usize = 16;

pub(super) type Lanes = [f32; LANES];

/// The weights of a feature, in one line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Row(pub(super) Lanes);

/// A bit for each column of a block.
pub(super) type Columns = u16;

/// The number for the bit of each column. A sum of different ones is exact.
const BITS: Lanes = {
    let mut bits = [0.0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = (1u32 << lane) as f32;
        lane += 1;
    }
    bits
};

/// For each eight bits, 1 where one is set and else 0.
static ONES: [[f32; 8]; 256] = {
    let mut ones = [[0.0; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let mut lane = 0;
        while lane < 8 {
            ones[bits][lane] = (bits >> lane & 1) as f32;
            lane += 1;
        }
        bits += 1;
    }
    ones
};

/// Returns 1 for the columns that are there, and 0 for the others. So all columns of a sample are computed by the same
/// vector instructions, without a branch for each.
#[inline(always)]
pub(super) fn ones(columns: Columns) -> Lanes {
    let [low, high] = columns.to_le_bytes();
    let mut lanes = [0.0; LANES];
    lanes[..8].copy_from_slice(&ONES[low as usize]);
    lanes[8..].copy_from_slice(&ONES[high as usize]);
    lanes
}

/// So many neighbours stay together in the order of a pass. Their entries follow each other in memory.
const TOGETHER: u32 = 8;

/// Of a column that fewer than one sample in so many has, samples are left out from the first pass on: few of them have
/// something to say.
const RARE: usize = 128;

/// The working memory of one thread, and the result for a block.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// The weights of each feature, numbered by frequency.
    pub(super) weights: Vec<Row>,
    pub(super) intercepts: Lanes,
    /// The dual variables of each visit, by log loss as the margins that they stand for.
    pub(super) duals: Vec<Row>,
    /// For each visit, the columns that it has, those whose y is known, and those whose dual variable may move.
    pub(super) positive: Vec<Columns>,
    pub(super) known: Vec<Columns>,
    pub(super) active: Vec<Columns>,
    /// For each X of several samples, the weights that have each column, and those that have it not.
    weights_of_shared: Vec<[[f64; LANES]; 2]>,
    /// What [`Problem::of`] returns for these weights, for each visit.
    pub(super) shared: Vec<[Lanes; 2]>,
    /// The number of visits that have each column.
    n_positive: [usize; LANES],
    /// The visits of a pass, in their order.
    pub(super) order: Vec<u32>,
    /// Whether each column was finished before the last pass.
    pub(super) is_finished: [bool; LANES],
    /// The number of passes over all samples.
    pub(super) n_passes: usize,
}

/// What a pass found for each column.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The largest magnitude of a projected gradient.
    worst: Lanes,
    /// The largest projected gradient.
    largest: Lanes,
}

/// Replaces what a vector contains by `n` copies of `value`.
fn refill<T: Copy>(items: &mut Vec<T>, value: T, n: usize) -> Result<()> {
    items.clear();
    PURPOSE.resize(items, n, value)
}

/// Returns the larger of two numbers, and the second if one is NaN; an instruction, other than [`f32::max`].
#[inline(always)]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

impl Block {
    /// Fits the weights of some columns, at most [`LANES`], whose positive and unknown samples are given, and what their
    /// intercepts are drawn towards. A block may be used again, for other problems too.
    pub(super) fn solve(
        &mut self,
        problem: &Problem<'_>,
        columns: &[(&[u32], &[u32])],
        starts: &[f32],
        control: &Control,
    ) -> Result<()> {
        self.start(problem, columns, starts)?;
        match problem.config.loss {
            LinearLoss::SquaredHinge => self.solve_squared_hinge(problem, columns.len(), control),
            LinearLoss::LogLoss => self.solve_log_loss(problem, columns.len(), control),
        }
    }

    /// Sets all weights and dual variables to 0. The samples that have a column are active, which come first.
    fn start(&mut self, problem: &Problem<'_>, columns: &[(&[u32], &[u32])], starts: &[f32]) -> Result<()> {
        let all = Columns::MAX >> (LANES - columns.len());
        let (n, n_features) = (problem.n_visits(), problem.samples.n_features());
        let dual = match problem.config.loss {
            LinearLoss::SquaredHinge => 0.0,
            LinearLoss::LogLoss => FAR,
        };
        refill(&mut self.weights, Row([0.0; LANES]), n_features)?;
        self.intercepts = [0.0; LANES];
        self.intercepts[..starts.len()].copy_from_slice(starts);
        refill(&mut self.duals, Row([dual; LANES]), n)?;
        refill(&mut self.positive, 0, n)?;
        refill(&mut self.known, all, n)?;
        refill(&mut self.active, 0, n)?;
        refill(&mut self.order, 0, n)?;
        refill(&mut self.weights_of_shared, [[0.0; LANES]; 2], problem.shared.len())?;
        refill(&mut self.shared, [[0.0; LANES]; 2], 2 * problem.shared.len())?;
        self.n_positive = [0; LANES];
        for ([_, off], [total, _]) in self.weights_of_shared.iter_mut().zip(&problem.shared) {
            *off = [*total; LANES];
        }
        for (lane, (positive, unknown)) in columns.iter().enumerate() {
            for &i in *positive {
                let visit = problem.visits[i as usize] as usize;
                match problem.shared_at(visit) {
                    None => {
                        self.positive[visit] |= 1 << lane;
                        self.n_positive[lane] += 1;
                    }
                    // Sums and differences of weights, which are multiples of a unit, are exact.
                    Some(at) => {
                        self.weights_of_shared[at][0][lane] += problem.samples.weights[i as usize];
                        self.weights_of_shared[at][1][lane] -= problem.samples.weights[i as usize];
                    }
                }
            }
            for &i in *unknown {
                let visit = problem.visits[i as usize] as usize;
                match problem.shared_at(visit) {
                    None => self.known[visit] &= !(1 << lane),
                    Some(at) => self.weights_of_shared[at][1][lane] -= problem.samples.weights[i as usize],
                }
            }
        }
        for (at, (weights, &[_, square])) in self.weights_of_shared.iter().zip(&problem.shared).enumerate() {
            for ((visit, weights), is_on) in problem.visits_of_shared(at).into_iter().zip(weights).zip([true, false]) {
                let numbers = &mut self.shared[2 * at + usize::from(!is_on)];
                self.known[visit] = 0;
                for (lane, &weight) in weights[..columns.len()].iter().enumerate().filter(|(_, weight)| **weight > 0.0)
                {
                    self.known[visit] |= 1 << lane;
                    self.positive[visit] |= Columns::from(is_on) << lane;
                    self.n_positive[lane] += usize::from(is_on);
                    [numbers[0][lane], numbers[1][lane]] = problem.of(weight, square);
                }
            }
        }
        self.is_finished = [false; LANES];
        self.active.iter_mut().zip(&self.positive).zip(&self.known).for_each(|((to, p), k)| *to = p & k);
        Ok(())
    }

    fn solve_squared_hinge(&mut self, problem: &Problem<'_>, n_columns: usize, control: &Control) -> Result<()> {
        let all = Columns::MAX >> (LANES - n_columns);
        let n = problem.n_visits();
        let anything_goes = [f32::INFINITY; LANES];
        self.pass(problem, 0, all, anything_goes, control)?;
        self.active.copy_from_slice(&self.known);

        let tol = problem.config.tol as f32;
        let mut unfinished = all;
        // The columns of which some samples were left out, and the gradient above which a sample is.
        let mut shrunk: Columns = 0;
        let mut bound = anything_goes;
        for lane in (0..n_columns).filter(|lane| self.n_positive[*lane] * RARE < n) {
            shrunk |= 1 << lane;
            bound[lane] = 0.0;
        }
        for pass in 1..=problem.config.max_iter as u64 {
            let found = self.pass(problem, pass, unfinished, bound, control)?;
            self.n_passes = pass as usize;
            let mut looked_again: Columns = 0;
            let still = unfinished;
            for lane in (0..LANES).filter(|lane| still >> lane & 1 != 0) {
                let bit = 1 << lane;
                if found.worst[lane] > tol {
                    bound[lane] = if found.largest[lane] > 0.0 { found.largest[lane] } else { tol };
                    shrunk |= bit;
                } else if shrunk & bit != 0 {
                    looked_again |= bit;
                    shrunk &= !bit;
                    bound[lane] = f32::INFINITY;
                } else {
                    unfinished &= !bit;
                    self.is_finished[lane] = true;
                }
            }
            if looked_again != 0 {
                self.active.iter_mut().zip(&self.known).for_each(|(to, known)| *to |= known & looked_again);
            }
            if unfinished == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Makes all visits that are active for one of the `unfinished` columns. Those whose variable is 0 and whose
    /// gradient is above the `bound` of a column become inactive for it.
    fn pass(
        &mut self,
        problem: &Problem<'_>,
        pass: u64,
        unfinished: Columns,
        bound: Lanes,
        control: &Control,
    ) -> Result<Found> {
        self.set_order(problem.key.child(pass), unfinished);
        let scaling = (problem.config.intercept_scaling * problem.config.intercept_scaling) as f32;
        let mut found = Found { worst: [0.0; LANES], largest: [0.0; LANES] };
        let mut pulse = control.pulse();
        for &i in &self.order {
            let i = i as usize;
            let (features, values) = problem.x(i);
            pulse.after(features.len() * LANES)?;
            let mut products = [0.0; LANES];
            for (&feature, &value) in features.iter().zip(values) {
                let Row(weights) = &self.weights[feature as usize];
                (0..LANES).for_each(|k| products[k] += value * weights[k]);
            }

            let (is_on, is_positive) = (ones(self.active[i] & unfinished), ones(self.positive[i]));
            let [slack, step] = problem.numbers(i, &self.shared);
            let Row(duals) = &mut self.duals[i];
            let (mut changes, mut staying, mut moved) = ([0.0; LANES], [0.0; LANES], [0u32; LANES]);
            for k in 0..LANES {
                let y = 2.0 * is_positive[k] - 1.0;
                let gradient = y * (self.intercepts[k] + products[k]) - 1.0 + duals[k] * slack[k];
                let projected = larger(0.0, -gradient);
                let projected = if duals[k] == 0.0 { -projected } else { gradient };
                let projected = if is_on[k] != 0.0 { projected } else { 0.0 };
                let next = larger(duals[k] - projected * step[k], 0.0);
                changes[k] = (next - duals[k]) * y;
                duals[k] = next;
                // All bits but the sign.
                moved[k] = changes[k].to_bits() << 1;
                found.worst[k] = larger(projected.abs(), found.worst[k]);
                found.largest[k] = larger(projected, found.largest[k]);
                let leaves = if gradient > bound[k] { 1.0 } else { 0.0 };
                let leaves = if next == 0.0 { leaves } else { 0.0 };
                staying[k] = is_on[k] * (1.0 - leaves) * BITS[k];
            }
            self.active[i] = self.active[i] & !unfinished | staying.iter().sum::<f32>() as Columns;
            if moved.iter().fold(0, |all, bits| all | bits) != 0 {
                for (&feature, &value) in features.iter().zip(values) {
                    let Row(weights) = &mut self.weights[feature as usize];
                    (0..LANES).for_each(|k| weights[k] += value * changes[k]);
                }
                (0..LANES).for_each(|k| self.intercepts[k] += scaling * changes[k]);
            }
        }
        Ok(found)
    }

    /// Orders the active visits by eight bits of a hash of each few neighbours, and within equal ones by their numbers: an
    /// order of all visits that every column has in common, whichever are active for it.
    pub(super) fn set_order(&mut self, key: Key, unfinished: Columns) {
        let digit = |i: u32| (key.child(u64::from(i / TOGETHER)).bits() >> 56) as usize;
        let active = || (0u32..).zip(&self.active).filter(|(_, active)| **active & unfinished != 0).map(|(i, _)| i);
        let mut ends = [0u32; 257];
        active().for_each(|i| ends[digit(i) + 1] += 1);
        (0..256).for_each(|d| ends[d + 1] += ends[d]);
        let n = ends[256] as usize;
        self.order.clear();
        // The capacity is that of all samples.
        self.order.resize(n, 0);
        for (i, _) in (0u32..).zip(&self.active).filter(|(_, active)| **active & unfinished != 0) {
            let at = &mut ends[digit(i)];
            self.order[*at as usize] = i;
            *at += 1;
        }
    }
}
