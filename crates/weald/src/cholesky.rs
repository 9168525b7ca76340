//! Small systems of linear equations.

use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the factor of a matrix");

/// Returns the solution x of (A + more·I) x = b, for a symmetric A whose lower half is given in row-major order, or
/// `None` if A + more·I is not positive definite. O(n³).
pub(crate) fn solve(a: &[f64], more: f64, b: &[f64]) -> Result<Option<Vec<f64>>> {
    let n = b.len();
    let mut l = PURPOSE.copied(a)?;
    for j in 0..n {
        for i in j..n {
            let dot: f64 = (0..j).map(|m| l[i * n + m] * l[j * n + m]).sum();
            let rest = l[i * n + j] - dot + if i == j { more } else { 0.0 };
            l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
        }
        // The square root of a negative number is NaN.
        if !(l[j * n + j] > 0.0 && l[j * n + j].is_finite()) {
            return Ok(None);
        }
    }
    let mut x = PURPOSE.copied(b)?;
    for i in 0..n {
        x[i] = (x[i] - (0..i).map(|m| l[i * n + m] * x[m]).sum::<f64>()) / l[i * n + i];
    }
    for i in (0..n).rev() {
        x[i] = (x[i] - (i + 1..n).map(|m| l[m * n + i] * x[m]).sum::<f64>()) / l[i * n + i];
    }
    Ok(Some(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_solve_the_system_and_missing_solutions_are_none() {
        // The upper half is not read.
        let a = [4.0, f64::NAN, f64::NAN, 2.0, 5.0, f64::NAN, -1.0, 0.5, 3.0];
        let b = [1.0, -2.0, 0.25];
        let x = solve(&a, 0.5, &b).unwrap().unwrap();
        let whole = [[4.5, 2.0, -1.0], [2.0, 5.5, 0.5], [-1.0, 0.5, 3.5]];
        for (row, b) in whole.iter().zip(b) {
            let found: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
            // Three unknowns of a well-conditioned matrix: an accuracy of some units in the last place.
            assert!((found - b).abs() <= 1e-14, "{found} {b}");
        }
        assert_eq!(solve(&[1.0, 0.0, 1.0, 1.0], 0.0, &[1.0, 1.0]).unwrap(), None);
        assert_eq!(solve(&[f64::INFINITY], 0.0, &[1.0]).unwrap(), None);
    }
}
