//! The softmax of the classes of each output, which is a loss of groups of columns.

use std::ops::Range;

use crate::control::Control;
use crate::data::Weights;
use crate::data::targets::starts;
use crate::data::train_y::RealTargets;
use crate::elementary::{exp, ln};
use crate::error::{Purpose, Result};
use crate::exact::{WeightedGrids, exact_mean};
use crate::loss::kernels::float::Float;
use crate::loss::kernels::vector::vectorised;
use crate::loss::rows::{LeafRows, RowLoss, RowSums, RowTargets};
use crate::loss::softmax;
use crate::loss::steps::newton::{Change, ErrorOfSums, LeafTotals, Regularization, self_concordant_bound};
use crate::loss::steps::softmax_step::SoftmaxProblem;
use crate::loss::working::Line;
use crate::loss::{Bounds, ROWS};
use crate::pool;

/// The accuracy of gradients and curvatures of samples, and of means of probabilities, which are computed from gradients
/// that are rounded to a grid of 2⁻²².
const OF_MEANS: f64 = 5e-7;

/// The softmax for each output: see [`softmax`].
#[derive(Clone, Debug)]
pub(crate) struct Softmax {
    /// The first column of each output, followed by the number of columns.
    starts: Vec<usize>,
    /// Whether the classes of some samples are unknown. Targets are then numbers: 1 for the class of a sample, and NaN for
    /// all classes of an output that is unknown. It has no loss, gradient or curvature.
    skips_unknown: bool,
}

impl Softmax {
    pub(crate) fn new(n_classes: &[u32]) -> Result<Self> {
        Ok(Softmax { starts: starts(n_classes)?, skips_unknown: false })
    }

    /// Returns the same loss over the known classes.
    pub(crate) fn of_known(self) -> Self {
        Softmax { skips_unknown: true, ..self }
    }

    pub(crate) fn skips_unknown(&self) -> bool {
        self.skips_unknown
    }

    pub(crate) fn n_outputs(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the columns of an output.
    pub(crate) fn columns(&self, output: usize) -> Range<usize> {
        self.starts[output]..self.starts[output + 1]
    }

    /// Returns the sample's class for an output, if it is known.
    #[inline]
    fn class(&self, y: RowTargets<'_>, output: usize) -> Option<usize> {
        match y {
            RowTargets::On(on) => Some(on[output] as usize - self.starts[output]),
            RowTargets::Numbers(y) => y[self.columns(output)].iter().position(|&y| y == 1.0),
        }
    }

    /// Computes the Newton steps of the classes of an output, from the diagonal of the Hessian and the factor (K − 1)/K
    /// (Friedman, 2001). Moving all scores by the same amount changes nothing, so that one of K classes need not move.
    pub(crate) fn newton_steps(leaf: LeafTotals<'_>, regularization: Regularization, steps: &mut [f64]) {
        let k = steps.len() as f64;
        let sums = leaf.gradients.iter().zip(leaf.curvatures);
        for (step, (&gradient, &curvature)) in steps.iter_mut().zip(sums) {
            *step = (k - 1.0) / k * regularization.bounded_step(gradient, curvature);
        }
    }

    /// Returns bounds on the change of the loss over a leaf if the scores of the classes of an output move by `steps`.
    /// The upper bound is the smaller one of two. Along the steps, |φ'''| ≤ (max v − min v) φ'', and φ'' = Σ w Var_p(v)
    /// is at most twice Σ v² H. The change of a sample's loss without the term of its own class, log Σ p e^v, is
    /// concave in p (Jensen).
    pub(crate) fn bounds_of_change(&self, leaf: LeafTotals<'_>, steps: &[f64]) -> Change {
        let (mut falls, mut bends, mut moved_on) = (0.0, 0.0, 0.0);
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for (k, &v) in steps.iter().enumerate() {
            falls += leaf.gradients[k] * v;
            bends += 2.0 * v * v * leaf.curvatures[k];
            moved_on += leaf.on[k] * v;
            least = v.min(least);
            most = v.max(most);
        }
        let error = ErrorOfSums::new(leaf.weight, OF_MEANS, steps, 2.0);
        let bound = self_concordant_bound(falls, bends, most - least) + error.most;
        if bound <= 0.0 {
            return Change { least: -falls - error.falls, most: bound };
        }
        // The samples whose class is known.
        let weight = if self.skips_unknown { leaf.on.iter().sum() } else { leaf.weight };
        let mean = |k: usize| ((leaf.on[k] - leaf.gradients[k]) / weight).max(0.0) + OF_MEANS;
        let total: f64 = steps.iter().enumerate().map(|(k, v)| mean(k) * exp(v - most)).sum();
        Change { least: -falls - error.falls, most: bound.min(weight * (most + ln(total)) - moved_on) }
    }

    /// Returns the change of the loss of an output of a sample if the scores of its classes move.
    pub(crate) fn change<T: Float>(&self, y: RowTargets<'_>, output: usize, scores: &[T], steps: &[f64]) -> f64 {
        self.class(y, output).map_or(0.0, |class| softmax::change(class, scores, steps))
    }

    /// Returns the constants of an output from the weights of all columns.
    pub(crate) fn start(&self, output: usize, weights: &[f64]) -> Result<Vec<f64>> {
        softmax::start(&weights[self.columns(output)])
    }

    /// Returns the steps of the classes of an output.
    pub(crate) fn step<T: Float>(&self, output: usize, line: &Line<'_, T>, control: &Control) -> Result<Vec<f64>> {
        let n = line.weights.len();
        let Line { scores, directions, leaf_of, weights, .. } = *line;
        let n_classes = self.columns(output).len();
        let per_leaf = line.per_leaf();
        let class = |at: usize| self.class((line.y)(at), output);
        let classes = ROWS.collected((0..n).map(|at| class(at).unwrap_or_default() as u32))?;
        // Only samples whose class is known take part.
        let known = (0..n).map(|at| if class(at).is_some() { weights[at] } else { 0.0 });
        let known = self.skips_unknown.then(|| ROWS.collected(known)).transpose()?;
        let weights = known.as_deref().unwrap_or(weights);
        if weights.iter().all(|weight| *weight == 0.0) {
            return ROWS.filled(0.0, n_classes);
        }
        SoftmaxProblem { n_classes, classes: &classes, scores, directions, per_leaf, leaf_of, weights }.step(control)
    }

    /// Returns the mean over columns of the losses of the known cells, for the samples that are inside; `None` if no class
    /// is known. Outputs without a known class do not count. `scores` are row-major.
    pub(crate) fn mean_of_known<T: Float>(
        &self,
        y: &RealTargets<'_>,
        scores: &[T],
        weights: &Weights,
        is_inside: impl Fn(usize) -> bool + Sync,
        control: &Control,
    ) -> Result<Option<f64>> {
        let width = y.n_outputs;
        let of_output = |output: usize| {
            control.check()?;
            let columns = self.columns(output);
            let mut losses = Vec::new();
            for row in (0..scores.len() / width).filter(|&row| weights.units(row) > 0 && is_inside(row)) {
                if let Some(class) = self.class(RowTargets::Numbers(y.of(row as u32)), output) {
                    let loss = softmax::loss(class, &scores[row * width..][columns.clone()]);
                    ROWS.push(&mut losses, (loss, weights.units(row)))?;
                }
            }
            Ok((!losses.is_empty()).then(|| (columns.len() as f64, exact_mean(losses.iter().copied()))))
        };
        let means = pool::map(control.n_threads(), self.n_outputs(), of_output)?;
        let (n, sum) = means.iter().flatten().fold((0.0, 0.0), |(n, sum), (k, mean)| (n + k, sum + mean));
        Ok((n > 0.0).then(|| sum / n))
    }
}

impl<T: Float> RowLoss<T> for &Softmax {
    fn responses(&self, y: RowTargets<'_>, scores: &[T], out: &mut [T]) -> f64 {
        let of_output = |output| {
            let columns = self.columns(output);
            let (scores, out) = (&scores[columns.clone()], &mut out[columns]);
            match self.class(y, output) {
                Some(class) => softmax::negative_gradients(class, scores, out),
                None => {
                    out.fill(T::from_f64(0.0));
                    0.0
                }
            }
        };
        (0..self.n_outputs()).map(of_output).sum()
    }

    fn loss(&self, y: RowTargets<'_>, scores: &[T]) -> f64 {
        let of_output = |output| match self.class(y, output) {
            Some(class) => softmax::loss(class, &scores[self.columns(output)]),
            None => 0.0,
        };
        (0..self.n_outputs()).map(of_output).sum()
    }

    fn bounds(&self) -> Option<Bounds> {
        Some(Bounds { gradient: 1.0, curvature: 1.0 })
    }
}

impl<T: Float> RowSums<T> for Softmax {
    /// The curvatures are the diagonal of the Hessian, p (1 − p), which is |r| (1 − |r|) for the negative gradient r.
    fn add(&self, rows: &LeafRows<'_, T>, gradients: &mut [f64], curvatures: &mut [f64]) -> Result<()> {
        let width = gradients.len();
        let zeros = || Purpose("sums of gradients").filled(T::from_f64(0.0), width);
        let (mut r, mut h) = (zeros()?, zeros()?);
        let grids = WeightedGrids::for_sums((0..width).map(|_| 1.0), rows.total)?;
        for &row in rows.ids {
            (&self).responses(rows.y(row), rows.scores(row), &mut r);
            let weight = rows.units(row) as f64;
            vectorised(
                #[inline(always)]
                || {
                    for (h, r) in h.iter_mut().zip(&r) {
                        let size = r.abs();
                        *h = size * (T::from_f64(1.0) - size);
                    }
                    grids.add(weight, &r, gradients);
                    grids.add(weight, &h, curvatures);
                },
            );
        }
        Ok(())
    }
}
