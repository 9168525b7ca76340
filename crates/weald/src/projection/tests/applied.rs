//! Products with samples of y, compared with naive products.

use ndarray::array;
use proptest::prelude::*;

use super::*;
use crate::data::train_y::TrainY;
use crate::projection::ProjectionMatrix;

fn project(matrix: &ProjectionMatrix, y: &Targets<'_>, rows: &[u32]) -> Array2<f64> {
    let y_rows = TrainY::new(y).unwrap();
    let mut out = vec![f64::NAN; y.n_samples() * matrix.n_projections()];
    matrix.project(&y_rows, rows, &mut out, &Control::default()).unwrap();
    Array2::from_shape_vec((y.n_samples(), matrix.n_projections()), out).unwrap()
}

fn all_rows(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

fn bits(a: &Array2<f64>) -> Vec<u64> {
    a.iter().map(|v| v.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn projected_samples_are_products_with_the_dense_matrix(
        seed in any::<u64>(), n in 1usize..30, d in 1usize..90, share in 0.0f64..1.0,
    ) {
        let targets = SomeTargets::new(seed, n, d);
        let rows: Vec<u32> = all_rows(n).into_iter().filter(|row| row % 4 != 1).collect();
        for (y, dense) in targets.kinds() {
            let width = dense.ncols();
            let q = 1 + (share * (width as f64 - 1.0)) as usize;
            for family in families() {
                let matrix = family.draw(width, q, seed, Some(&y), None, &Control::default()).unwrap();
                prop_assert_eq!((matrix.n_projections(), matrix.n_outputs()), (q, width));
                let (found, expected) = (project(&matrix, &y, &rows), dense.dot(&matrix.dense().t()));
                for i in 0..n {
                    for k in 0..q {
                        if rows.contains(&(i as u32)) {
                            let scale: f64 = dense.row(i).iter().map(|v| v.abs()).sum::<f64>() * matrix.largest(&Control::default()).unwrap();
                            // Sums of up to 90 rounded products, in another order.
                            prop_assert!((found[[i, k]] - expected[[i, k]]).abs() <= 1e-13 * scale, "{:?}", family);
                        } else {
                            prop_assert!(found[[i, k]].is_nan());
                        }
                    }
                }
                // A sample alone has the same bits as among others.
                if let Some(&row) = rows.last() {
                    let alone = project(&matrix, &y, &[row]);
                    let alone = alone.row(row as usize);
                    prop_assert!(alone.iter().zip(found.row(row as usize)).all(|(a, b)| a.to_bits() == b.to_bits()));
                }
                // The products do not depend on the form of the matrix, explicit or not.
                let (ptr, indices, values) = matrix.csr();
                let sparse = ProjectionMatrix::from_csr(&ptr, &indices, &values, width).unwrap();
                let dense_form = ProjectionMatrix::from_dense(matrix.dense().view()).unwrap();
                prop_assert_eq!(sparse.dense(), matrix.dense());
                prop_assert_eq!(bits(&project(&sparse, &y, &rows)), bits(&project(&dense_form, &y, &rows)));
            }
        }
    }

    #[test]
    fn both_ways_through_a_hadamard_matrix_agree_to_the_bit_on_labels(
        seed in any::<u64>(), d in 1usize..200, share in 0.0f64..1.0,
    ) {
        let rows = super::super::hadamard::HadamardRows::draw(1 + (share * d as f64) as usize, d, Key::from_seed(seed), &Control::default()).unwrap();
        let q = 1 + (share * d as f64) as usize;
        for labels in SomeTargets::new(seed, 6, d).labels {
            let (mut signed, mut transformed) = (vec![f64::NAN; q], vec![f64::NAN; q]);
            rows.add_signed(&labels, &mut signed, rows.entry(0, 0).abs());
            rows.transform(&labels, &mut transformed, &mut vec![f64::NAN; d.next_power_of_two()]);
            let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&signed), bits(&transformed));
        }
    }
}

#[test]
fn labels_are_numbers_of_value_one() {
    let targets = SomeTargets::new(3, 40, 150);
    let (y, dense) = targets.kinds().swap_remove(0);
    for family in families() {
        for q in [1, 5, 24, 61, 150] {
            let matrix = family.draw(150, q, 9, Some(&y), None, &Control::default()).unwrap();
            let numbers = project(&matrix, &Targets::Real(dense.view()), &all_rows(40));
            assert_eq!(bits(&project(&matrix, &y, &all_rows(40))), bits(&numbers), "{family:?} {q}");
        }
    }
}

#[test]
fn matrices_are_restored_from_their_rows() {
    let matrix = array![[0.0, 1.5, 0.0, -2.0], [0.0; 4], [3.0, 0.0, 0.0, 1e-300]];
    let dense = ProjectionMatrix::from_dense(matrix.view()).unwrap();
    assert_eq!(dense.dense(), matrix);
    assert!(!dense.is_sparse());
    let (ptr, indices, values) = dense.csr();
    assert_eq!((ptr.as_slice(), indices.as_slice()), (&[0, 2, 2, 4][..], &[1, 3, 0, 3][..]));
    let sparse = ProjectionMatrix::from_csr(&ptr, &indices, &values, 4).unwrap();
    assert_eq!((sparse.dense(), sparse.is_sparse()), (matrix, true));
    assert_eq!(sparse.csr(), (ptr, indices, values));
}
