//! Gauss–Legendre quadrature on [0, 1], and how many nodes it takes.

use std::f64::consts::PI;

use crate::elementary::cos;
use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the nodes of a quadrature");

/// Nodes t and weights: Σ w f(t) is the integral of f from 0 to 1 for polynomials f of degree up to 2 · len − 1.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) t: Vec<f64>,
    /// 1 − t.
    pub(crate) rest: Vec<f64>,
    pub(crate) weight: Vec<f64>,
}

/// Nodes for paths on which `n_features` different features are tested.
///
/// The integrand is a product of n factors (and one less), each z + (1 − z) t or z (1 − t) with z in [0, 1]. Half as many
/// nodes are exact for polynomials of that degree. Fewer do on long paths: with t = (1 + cos θ) / 2 a factor has Fourier
/// coefficients of sizes at most 1/4, 1/2, 1/4, the chances of the sum of two fair steps of ±1/2. So the coefficients of the
/// product beyond ±k are together no larger than the chance that 2 n such steps lead further than k, at most
/// 2 exp(−k² / n) (Hoeffding 1963). A polynomial of degree 2 m − 1 is that near, and a quadrature of positive weights errs
/// by at most twice as much: 4 exp(−4 m² / n), below 1e-15 for m = 3 √n.
pub(crate) fn nodes_for(n_features: usize) -> usize {
    let enough = (3.0 * (n_features as f64).sqrt()).ceil() as usize;
    n_features.div_ceil(2).min(enough).max(1)
}

impl Rule {
    /// The rule with `m` nodes, by Newton's method on the Legendre polynomial. O(m²).
    pub(crate) fn gauss_legendre(m: usize) -> Result<Rule> {
        let (mut t, mut rest) = (PURPOSE.filled(0.5, m)?, PURPOSE.filled(0.5, m)?);
        let mut weight = PURPOSE.filled(1.0, m)?;
        for i in 0..m.div_ceil(2) {
            // Falls from the largest root; the others are its mirror image.
            let mut x = cos(PI * (i as f64 + 0.75) / (m as f64 + 0.5));
            // The start is within the root's own valley for any m, and each step squares the error.
            for _ in 0..8 {
                let (value, slope) = legendre(m, x);
                x -= value / slope;
            }
            if 2 * i + 1 == m {
                x = 0.0;
            }
            let (_, slope) = legendre(m, x);
            let w = 1.0 / ((1.0 - x) * (1.0 + x) * slope * slope);
            let (low, high) = ((1.0 - x) / 2.0, (1.0 + x) / 2.0);
            (t[i], rest[i], weight[i]) = (low, high, w);
            (t[m - 1 - i], rest[m - 1 - i], weight[m - 1 - i]) = (high, low, w);
        }
        Ok(Rule { t, rest, weight })
    }

    pub(crate) fn len(&self) -> usize {
        self.t.len()
    }
}

/// The Legendre polynomial of degree m at x, inside of (−1, 1), and its derivative.
fn legendre(m: usize, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (0.0, 1.0);
    for k in 1..=m {
        let k = k as f64;
        (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
    }
    (value, m as f64 * (x * value - before) / ((x - 1.0) * (x + 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_integrated_exactly_up_to_twice_the_number_of_nodes() {
        for m in 1..40 {
            let rule = Rule::gauss_legendre(m).unwrap();
            for power in 0..2 * m {
                let sum: f64 = (0..m).map(|q| rule.weight[q] * rule.t[q].powi(power as i32)).sum();
                // Nodes and weights are rounded: some units in the last place of numbers up to 1.
                assert!((sum - 1.0 / (power as f64 + 1.0)).abs() < 2e-15, "{m} {power}: {sum}");
            }
            assert!((0..m).all(|q| rule.t[q] > 0.0 && rule.rest[q] > 0.0));
        }
    }

    #[test]
    fn quadrature_with_few_nodes_is_accurate_for_long_paths() {
        for n in [40, 60, 100, 300, 1000, 5000] {
            let m = nodes_for(n);
            assert!(m < n.div_ceil(2));
            let rule = Rule::gauss_legendre(m).unwrap();
            // t^a (1 − t)^b over a + b = n − 1 and of n, the steepest of all: Beta functions.
            for b in [0, 1, 2, 10, n / 2] {
                let a = n - 1 - b;
                let exact =
                    (1..=b).fold(1.0 / (a as f64 + 1.0), |value, i| value * i as f64 / (a as f64 + 1.0 + i as f64));
                let (a, b) = (a as i32, b as i32);
                let sum: f64 = (0..m).map(|q| rule.weight[q] * rule.t[q].powi(a) * rule.rest[q].powi(b)).sum();
                // The bound of `nodes_for`, and powers that are rounded as often as factors are multiplied.
                assert!((sum - exact).abs() < 2e-15, "{n} {b}: {sum} {exact}");
            }
        }
    }
}
