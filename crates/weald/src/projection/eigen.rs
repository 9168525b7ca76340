//! Eigenvectors of small symmetric matrices.

use super::pca::PURPOSE;
use crate::control::Control;
use crate::elementary::hypot;
use crate::error::Result;
use crate::exact::FixedPoint;

/// Maximum number of sweeps; ten are sufficient for any matrix met in practice.
const MOST_SWEEPS: usize = 60;

/// Returns the eigenvalues, in decreasing order, and the eigenvectors of a symmetric n × n matrix: column k of the
/// second result is the eigenvector of eigenvalue k.
///
/// The method is cyclic Jacobi rotations (Golub and Van Loan, *Matrix computations*, 8.5), O(n³) for each sweep. It is
/// slower than reduction to tridiagonal form, but short, accurate, and fast on matrices that are nearly diagonal.
pub(super) fn symmetric_eigen(mut a: Vec<f64>, n: usize, control: &Control) -> Result<(Vec<f64>, Vec<f64>)> {
    debug_assert_eq!(a.len(), n * n);
    // Entries are scaled by a power of two to near 1, so that squares neither overflow nor underflow.
    let largest = a.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    let (down, up) = FixedPoint::with_bits(largest, 0).values();
    a.iter_mut().for_each(|x| *x *= down);
    // Row k contains vector k, so that rotations run along rows.
    let mut vectors = PURPOSE.filled(0.0, n * n)?;
    (0..n).for_each(|k| vectors[k * n + k] = 1.0);
    let mut pulse = control.pulse();
    let all: f64 = a.iter().map(|x| x * x).sum();
    for _ in 0..MOST_SWEEPS {
        let off = |i: usize| (i + 1..n).map(move |j| i * n + j);
        if (0..n).flat_map(off).map(|at| a[at] * a[at]).sum::<f64>() <= 1e-32 * all {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                pulse.after(n)?;
                if a[p * n + q] != 0.0 {
                    let (c, s) = rotation(a[p * n + p], a[p * n + q], a[q * n + q]);
                    rotate_rows(&mut a, n, (p, q), (c, s));
                    for row in a.chunks_exact_mut(n) {
                        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                    }
                    rotate_rows(&mut vectors, n, (p, q), (c, s));
                }
            }
        }
    }
    let mut order = PURPOSE.collected(0..n)?;
    order.sort_unstable_by(|&i, &j| a[j * n + j].total_cmp(&a[i * n + i]).then(i.cmp(&j)));
    let values = PURPOSE.collected(order.iter().map(|&k| a[k * n + k] * up))?;
    let mut by_column = PURPOSE.with_capacity(n * n)?;
    (0..n).for_each(|i| by_column.extend(order.iter().map(|&k| vectors[k * n + i])));
    Ok((values, by_column))
}

/// Returns the cosine and sine of the rotation that makes the entry `pq` zero, with the smaller of the two angles.
fn rotation(pp: f64, pq: f64, qq: f64) -> (f64, f64) {
    let tau = (qq - pp) / (2.0 * pq);
    let t = 1.0f64.copysign(tau) / (tau.abs() + hypot(tau, 1.0));
    let c = 1.0 / hypot(t, 1.0);
    (c, t * c)
}

fn rotate_rows(a: &mut [f64], n: usize, (p, q): (usize, usize), (c, s): (f64, f64)) {
    let (above, below) = a.split_at_mut(q * n);
    for (x, y) in above[p * n..(p + 1) * n].iter_mut().zip(&mut below[..n]) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn vectors_are_orthonormal_and_rebuild_the_matrix(
            n in 1usize..12, entries in prop::collection::vec(-3i32..4, 144), scale in prop::sample::select(vec![1.0, 1e-150, 1e140]),
        ) {
            let a: Vec<f64> = (0..n * n).map(|at| {
                let (i, j) = (at / n, at % n);
                f64::from(entries[i.min(j) * 12 + i.max(j)]) * scale
            }).collect();
            let (values, vectors) = symmetric_eigen(a.clone(), n, &Control::default()).unwrap();
            prop_assert!(values.is_sorted_by(|a, b| a >= b));
            for i in 0..n {
                for j in 0..n {
                    let rebuilt: f64 = (0..n).map(|k| vectors[i * n + k] * values[k] * vectors[j * n + k]).sum();
                    // Rotations change each entry by some units in the last place of the largest entry, n times.
                    prop_assert!((rebuilt - a[i * n + j]).abs() <= 1e-13 * scale * n as f64, "{rebuilt:e} {:e}", a[i * n + j]);
                    let dot: f64 = (0..n).map(|k| vectors[k * n + i] * vectors[k * n + j]).sum();
                    // Products of two unit vectors with at most eleven entries.
                    prop_assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-13);
                }
            }
        }
    }
}
