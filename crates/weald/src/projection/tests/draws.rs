//! Random matrices, compared with their definitions.

use std::collections::HashMap;

use super::*;
use crate::projection::{NProjections, ProjectionMatrix};

fn draw(family: &Projection, d: usize, q: usize, seed: u64) -> ProjectionMatrix {
    family.draw(d, q, seed, None, None, &Control::default()).unwrap()
}

/// Checks χ² against its largest plausible value: the mean plus six standard deviations.
fn assert_plausible(found: &[f64], expected: &[f64]) {
    let chi_square: f64 = found.iter().zip(expected).map(|(f, e)| (f - e).powi(2) / e).sum();
    let degrees = found.len() as f64 - 1.0;
    assert!(chi_square < degrees + 6.0 * (2.0 * degrees).sqrt(), "{chi_square} for {degrees}");
}

fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    (mean, (variance / n).sqrt())
}

#[test]
fn normal_entries_have_the_moments_of_normal_numbers() {
    let (q, d) = (40, 5000);
    let entries: Vec<f64> =
        draw(&Projection::Gaussian, d, q, 3).dense().iter().map(|v| v * (q as f64).sqrt()).collect();
    for (power, expected) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0), (6, 15.0)] {
        let (mean, error) = mean(&entries.iter().map(|v| v.powi(power)).collect::<Vec<_>>());
        // Five standard errors of a mean of 200 000 draws.
        assert!((mean - expected).abs() < 5.0 * error, "{power}: {mean}");
    }
    let beyond = |x: f64| entries.iter().filter(|v| v.abs() > x).count() as f64 / entries.len() as f64;
    // The tails of the normal distribution, the last of which is beyond the steps of the ziggurat.
    for (x, p) in [(1.0, 0.317_310_5), (2.0, 0.045_500_3), (3.0, 0.002_699_8), (3.7, 0.000_215_6)] {
        // Five standard deviations of a share of the draws.
        assert!((beyond(x) - p).abs() < 5.0 * (p / entries.len() as f64).sqrt(), "{x}");
    }
}

#[test]
fn dense_signs_are_fair_and_independent() {
    let (q, d) = (30, 4000);
    let matrix = draw(&Projection::Rademacher { sparsity: Sparsity::Factor(1.0) }, d, q, 5);
    assert!(!matrix.is_sparse());
    let dense = matrix.dense();
    assert!(dense.iter().all(|v| v.abs() == 1.0 / (q as f64).sqrt()));
    let signs = dense.mapv(f64::signum);
    // Five standard deviations of a mean of independent signs. The products of signs below are also independent.
    let bound = 5.0 / ((q * d) as f64).sqrt();
    assert!(signs.mean().unwrap().abs() < bound);
    for lag in [1, 2, 63, 64, 65] {
        let product: f64 = (0..q)
            .flat_map(|k| (0..d - lag).map(move |j| (k, j)))
            .map(|(k, j)| signs[[k, j]] * signs[[k, j + lag]])
            .sum();
        assert!((product / (q * d) as f64).abs() < bound, "{lag}");
    }
    for k in 1..q {
        let product = signs.row(0).dot(&signs.row(k)) / d as f64;
        // Five standard deviations, as above, for the signs of one row.
        assert!(product.abs() < 5.0 / (d as f64).sqrt(), "{k}");
    }
}

#[test]
fn sparse_rows_follow_the_distribution_of_rows_that_are_not_empty() {
    let (d, s, q) = (4usize, 2.5, 60_000);
    let matrix = draw(&Projection::Rademacher { sparsity: Sparsity::Factor(s) }, d, q, 8);
    assert!(matrix.is_sparse());
    let mut found: HashMap<Vec<i8>, f64> = HashMap::new();
    for row in matrix.dense().rows() {
        assert!(row.iter().all(|v| *v == 0.0 || v.abs() == (s / q as f64).sqrt()));
        *found.entry(row.iter().map(|v| v.partial_cmp(&0.0).unwrap() as i8).collect()).or_default() += 1.0;
    }
    // All patterns of −, 0 and + except the empty one.
    let patterns: Vec<Vec<i8>> = (1..81)
        .map(|code: i32| (0..4).map(|j| (code / 3i32.pow(j) % 3) as i8).map(|x| if x == 2 { -1 } else { x }).collect())
        .collect();
    let probability =
        |pattern: &[i8]| pattern.iter().map(|x| if *x == 0 { 1.0 - 1.0 / s } else { 0.5 / s }).product::<f64>();
    let any: f64 = 1.0 - (1.0 - 1.0 / s).powi(4);
    let expected: Vec<f64> = patterns.iter().map(|p| probability(p) / any * q as f64).collect();
    let found: Vec<f64> = patterns.iter().map(|p| found.get(p).copied().unwrap_or(0.0)).collect();
    assert_eq!(found.iter().sum::<f64>(), q as f64);
    assert_plausible(&found, &expected);
}

#[test]
fn density_of_wide_sparse_rows_is_one_in_s() {
    for (sparsity, s) in
        [(Sparsity::Factor(3.0), 3.0), (Sparsity::Sqrt, 100.0), (Sparsity::Factor(1.000_001), 1.000_001)]
    {
        let (d, q) = (10_000, 30);
        let (_, _, values) = draw(&Projection::Rademacher { sparsity }, d, q, 2).csr();
        let (n, p): (f64, f64) = ((q * d) as f64, 1.0 / s);
        // Six standard deviations of binomial counts, here and for the signs.
        assert!((values.len() as f64 - n * p).abs() <= 6.0 * (n * p * (1.0 - p)).sqrt() + 1.0, "{s}: {}", values.len());
        let positive = values.iter().filter(|v| **v > 0.0).count() as f64;
        assert!((positive - values.len() as f64 / 2.0).abs() < 6.0 * (values.len() as f64 / 4.0).sqrt());
    }
}

#[test]
fn no_row_is_empty_however_sparse() {
    for s in [1e3, 1e9, 1e18, 1e300, f64::MAX] {
        let (d, q) = (50usize, 5000);
        let (ptr, indices, _) = draw(&Projection::Rademacher { sparsity: Sparsity::Factor(s) }, d, q, 1).csr();
        assert!(ptr.windows(2).all(|w| w[1] > w[0]), "{s:e}");
        if s > 1e9 {
            // Each row has a single entry, with the same probability in each position.
            assert_eq!(indices.len(), q);
            let mut found = vec![0.0; d];
            indices.iter().for_each(|&j| found[j as usize] += 1.0);
            assert_plausible(&found, &vec![q as f64 / d as f64; d]);
        }
    }
    for sparsity in [Sparsity::Sqrt, Sparsity::Factor(1e12), Sparsity::Factor(1.0)] {
        let single = draw(&Projection::Rademacher { sparsity }, 1, 9, 4).dense();
        assert!(single.iter().all(|v| *v != 0.0), "{sparsity:?}");
    }
}

/// Checks the mean of |Φy|² / |y|² over seeds.
#[test]
fn squared_norms_are_kept_in_the_mean() {
    let (d, q) = (64, 6);
    let mut rng = Stream::new(Key::from_seed(9));
    let y: Vec<f64> = (0..d).map(|j| if j % 3 == 0 { rng.below(100) as f64 - 40.0 } else { 0.0 }).collect();
    let norm: f64 = y.iter().map(|v| v * v).sum();
    for family in random_families() {
        let expected = match &family {
            Projection::Subsample { .. } => q as f64 / d as f64,
            Projection::Rademacher { sparsity: Sparsity::Sqrt } => 1.0 / (1.0 - (1.0 - 1.0 / 8.0f64).powi(64)),
            _ => 1.0,
        };
        let ratio =
            |seed| draw(&family, d, q, seed).dense().dot(&ndarray::ArrayView1::from(&y)).mapv(|z| z * z).sum() / norm;
        let (mean, error) = mean(&(0..4000).map(ratio).collect::<Vec<_>>());
        // Five standard errors of a mean of 4000 draws. They are small enough to detect an error of a tenth.
        assert!((mean - expected).abs() < 5.0 * error, "{family:?}: {mean} {expected}");
        assert!(error < 0.02 * expected);
    }
}

#[test]
fn subsamples_are_unit_vectors_uniform_and_distinct_without_replacement() {
    let (d, q) = (20, 7);
    for replacement in [false, true] {
        let mut found = vec![0.0; d];
        let mut repeated = false;
        for seed in 0..3000 {
            let matrix = draw(&Projection::Subsample { replacement }, d, q, seed);
            assert!(matrix.is_sparse());
            let (ptr, mut indices, values) = matrix.csr();
            assert_eq!((ptr, values), ((0..=q).collect(), vec![1.0; q]));
            indices.iter().for_each(|&j| found[j as usize] += 1.0);
            indices.sort_unstable();
            repeated |= indices.windows(2).any(|w| w[0] == w[1]);
        }
        assert_eq!(repeated, replacement);
        assert_plausible(&found, &vec![3000.0 * q as f64 / d as f64; d]);
    }
    let (_, mut all, _) = draw(&Projection::Subsample { replacement: false }, 100, 100, 1).csr();
    assert!(!all.is_sorted());
    all.sort_unstable();
    assert!(all.into_iter().eq(0..100));
}

#[test]
fn hadamard_rows_are_those_of_the_matrix_and_orthogonal() {
    fn sylvester(m: u32) -> Array2<f64> {
        let half = if m == 0 { return Array2::ones((1, 1)) } else { sylvester(m - 1) };
        let n = half.nrows();
        Array2::from_shape_fn((2 * n, 2 * n), |(i, j)| half[[i % n, j % n]] * if i >= n && j >= n { -1.0 } else { 1.0 })
    }
    for (d, m) in [(1usize, 0), (2, 1), (3, 2), (8, 3), (13, 4), (64, 6), (100, 7)] {
        let order = 1usize << m;
        let whole = sylvester(m);
        let matrix = draw(&Projection::Hadamard, d, order, 6);
        assert!(!matrix.is_sparse());
        let dense = matrix.dense() * (order as f64).sqrt();
        // All rows occur exactly once, in another order.
        let cut = |rows: &Array2<f64>| {
            let mut rows: Vec<Vec<i8>> =
                rows.rows().into_iter().map(|r| r.iter().take(d).map(|v| v.round() as i8).collect()).collect();
            let before = rows.clone();
            rows.sort();
            (rows.clone(), rows == before)
        };
        assert_eq!(cut(&dense).0, cut(&whole).0);
        if d == order {
            let gram = matrix.dense().dot(&matrix.dense().t());
            // Sums of d rounded products that are 1/d or -1/d.
            assert!(gram.indexed_iter().all(|((i, j), v)| (v - if i == j { 1.0 } else { 0.0 }).abs() < 1e-12));
        }
        assert!(d < 8 || !cut(&dense).1);
    }
}

#[test]
fn a_sample_does_not_depend_on_the_number_of_samples() {
    for family in random_families() {
        let (few, many) = (draw(&family, 70, 3, 11).dense(), draw(&family, 70, 12, 11).dense());
        let scale = if matches!(family, Projection::Subsample { .. }) { 1.0 } else { 2.0 };
        for ((k, j), v) in few.indexed_iter() {
            // Entries of at most a few units, divided by a rounded square root.
            assert!((v - scale * many[[k, j]]).abs() < 1e-14, "{family:?}");
        }
        assert_ne!(few, draw(&family, 70, 3, 12).dense(), "{family:?}");
    }
}

/// A change of any of these numbers changes models and belongs in the changelog.
#[test]
fn draws_are_pinned() {
    // The output and the value of the first entries of row 2, in units of 1/√q.
    let first = |family: &Projection| {
        let (ptr, indices, values) = draw(family, 40, 4, 1).csr();
        let entries = indices[ptr[2]..ptr[3]].iter().copied().zip(values[ptr[2]..].iter().map(|v| v * 2.0));
        entries.take(6).collect::<Vec<(u32, f64)>>()
    };
    let firsts: Vec<_> = random_families().iter().map(first).collect();
    let (three, root) = (3f64.sqrt(), 40f64.sqrt().sqrt());
    let normal = [
        (0, 1.5240993615311724),
        (1, 3.0407413073564116),
        (2, -0.4701637905447871),
        (3, -1.052829407089628),
        (4, -1.1477088503708954),
        (5, -0.18251973708320138),
    ];
    let expected = [
        &normal[..],
        &[(0, 1.0), (1, 1.0), (2, -1.0), (3, -1.0), (4, 1.0), (5, -1.0)],
        &[(4, three), (10, three), (12, three), (13, three), (14, -three), (16, three)],
        &[(10, root), (23, root), (26, root), (27, root), (29, -root), (33, root)],
        &[(33, 2.0)],
        &[(33, 2.0)],
        &[(0, 1.0), (1, -1.0), (2, 1.0), (3, -1.0), (4, -1.0), (5, 1.0)],
    ];
    for (first, expected) in firsts.iter().zip(expected) {
        assert_eq!(first, expected);
    }
    // Those of the ziggurat of the crate `rand_distr`, to six digits. So many draws include its tails.
    let mut hash = 0u64;
    for v in &draw(&Projection::Gaussian, 983, 25, 7).dense() {
        hash = Key::from_seed(hash ^ ((v * 1e6).round() as i64 as u64)).bits();
    }
    assert_eq!(hash, 625883745368878583);
    let (_, indices, _) = draw(&Projection::Rademacher { sparsity: Sparsity::Sqrt }, 983, 25, 7).csr();
    // These numbers were computed from the definition, independently of this code.
    assert_eq!(indices[..12], [0, 21, 30, 55, 72, 83, 101, 138, 143, 146, 167, 205]);
}

#[test]
fn the_number_of_projections_follows_that_of_outputs() {
    let resolve = |n: NProjections, d| n.resolve(d).unwrap();
    for (d, q) in [(1, 1), (2, 1), (3, 1), (5, 2), (983, 7), (13_000, 9)] {
        assert_eq!(resolve(NProjections::Log, d), q, "{d}");
    }
    assert_eq!(resolve(NProjections::Fraction(0.299), 100), 29);
    assert_eq!(resolve(NProjections::Fraction(0.001), 100), 1);
    assert_eq!(resolve(NProjections::Fraction(1.0), 3), 3);
    assert_eq!(resolve(7.into(), 3), 7);
}
