//! Extrapolation of coefficients from those of the last sweeps (Anderson 1965; for coordinate descent: Bertrand and
//! Massias 2021).
//!
//! Near the solution, a sweep is almost a linear map, whose fixed point is the solution. If nodes of few samples are
//! nearly dependent, each sweep only approaches it by a small share, and hundreds of thousands of sweeps are needed.
//! The combination of the last sweeps, with coefficients of sum one, whose next sweep would move least is much nearer.
//! It is a proposal, and the caller compares objectives before it is accepted.
//!
//! It costs K² products of all coefficients for every K sweeps, and K + 1 copies of the coefficients in memory.

use super::{Coordinate, PURPOSE};
use crate::cholesky;
use crate::error::Result;

/// K, the number of sweeps from which a proposal is computed.
const SWEEPS: usize = 5;
/// Added to the diagonal of the equations, as a share of their trace, because they are singular if all sweeps move in
/// one direction.
const DAMPING: f64 = 1e-15;

/// The coefficients after each of the last sweeps.
#[derive(Debug, Default)]
pub(super) struct Extrapolation {
    after: Vec<Vec<f64>>,
}

impl Extrapolation {
    /// Takes the coefficients after a sweep. Every K sweeps it returns a proposal, coordinate after coordinate.
    pub(super) fn after_sweep(&mut self, coordinates: &[Coordinate]) -> Result<Option<Vec<f64>>> {
        let n_values = coordinates.iter().map(|coordinate| coordinate.beta.len()).sum();
        let mut values = PURPOSE.with_capacity(n_values)?;
        coordinates.iter().for_each(|coordinate| values.extend_from_slice(&coordinate.beta));
        PURPOSE.push(&mut self.after, values)?;
        if self.after.len() <= SWEEPS {
            return Ok(None);
        }
        let proposal = self.proposal()?;
        self.after.clear();
        Ok(proposal)
    }

    /// Returns Σ_k c_k b_k of the coefficients b_k after sweeps 1 .. K, where Σ_k c_k = 1 and ‖Σ_k c_k (b_k − b_{k−1})‖
    /// is minimal: c is proportional to the z with (D Dᵀ) z = 1, where the rows of D are the differences.
    fn proposal(&self) -> Result<Option<Vec<f64>>> {
        let moved = |k: usize| self.after[k + 1].iter().zip(&self.after[k]).map(|(b, a)| b - a);
        let mut products = [0.0; SWEEPS * SWEEPS];
        for k in 0..SWEEPS {
            for l in 0..=k {
                products[k * SWEEPS + l] = moved(k).zip(moved(l)).map(|(a, b)| a * b).sum();
            }
        }
        let trace: f64 = (0..SWEEPS).map(|k| products[k * SWEEPS + k]).sum();
        let Some(z) = cholesky::solve(&products, DAMPING * trace, &[1.0; SWEEPS])? else { return Ok(None) };
        let sum: f64 = z.iter().sum();
        let mut proposal = PURPOSE.filled(0.0, self.after[0].len())?;
        for (z, values) in z.iter().zip(&self.after[1..]) {
            proposal.iter_mut().zip(values).for_each(|(p, b)| *p += z / sum * b);
        }
        Ok(proposal.iter().all(|p| p.is_finite()).then_some(proposal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_point_of_a_linear_map_is_found() {
        let node = |node: u32, beta: Vec<f64>| Coordinate { node, share: 0.5, curvature: 0.25, penalty: 1.0, beta };
        let mut coordinates = vec![node(1, vec![0.0, 0.0]), node(4, vec![0.0])];
        let (fixed, slow) = ([3.0, -1.0, 0.5], [0.99, 0.9, -0.5]);
        let mut extrapolation = Extrapolation::default();
        let mut found = None;
        for sweep in 0..=SWEEPS {
            assert!(found.is_none(), "{sweep}");
            let values = coordinates.iter_mut().flat_map(|coordinate| &mut coordinate.beta);
            for ((b, to), share) in values.zip(fixed).zip(slow) {
                *b = to + share * (*b - to);
            }
            found = extrapolation.after_sweep(&coordinates).unwrap();
        }
        for (found, to) in found.unwrap().iter().zip(fixed) {
            // The same number of sweeps alone would reduce the first coordinate only to 2.8. The damping of the
            // extrapolation has a visible effect on it.
            assert!((found - to).abs() <= 1e-3, "{found} {to}");
        }
        // There is no proposal if coordinates no longer change.
        assert!((0..2 * SWEEPS + 2).all(|_| extrapolation.after_sweep(&coordinates).unwrap().is_none()));
    }
}
