use std::collections::BTreeMap;

use ndarray::{Array2, Axis};
use proptest::prelude::*;

use super::*;
use crate::data::{CellWeights, SparseTargets};
use crate::error::ErrorKind;
use crate::testing::labels::listed;

fn folds_of(data: &Dataset<'_>, n_folds: usize, seed: u64) -> Vec<u32> {
    deal(data.view(), n_folds, seed, &Control::default()).unwrap()
}

fn dealing<'d>(data: impl Into<Dataset<'d>>, seed: u64) -> Dealing {
    Dealing::of_checked(&data.into(), seed, &Control::default()).unwrap()
}

/// Small hostile data: few different values of X, of them zeros of both signs and NaN, and samples that repeat.
fn samples() -> impl Strategy<Value = (Array2<f32>, Vec<Vec<u32>>, Vec<f64>)> {
    let value = prop::sample::select(vec![0.0f32, -0.0, 1.0, 2.5, f32::NAN, -1e30]);
    let row = (prop::collection::vec(value, 2), prop::collection::btree_set(0u32..4, 0..3));
    let weight = prop::sample::select(vec![0.0, 1.0, 1.0, 2.0, 0.7]);
    let samples = prop::collection::vec((row, weight), 1..24).prop_map(|rows| {
        let x = Array2::from_shape_fn((rows.len(), 2), |(i, j)| rows[i].0.0[j]);
        let y = rows.iter().map(|((_, y), _)| y.iter().copied().collect()).collect();
        (x, y, rows.iter().map(|(_, weight)| *weight).collect())
    });
    samples.prop_filter("a positive weight", |(.., weights): &(_, _, Vec<f64>)| weights.iter().any(|w| *w > 0.0))
}

/// The bits of X, the labels, and the bits of the weight.
type Content = (Vec<u32>, Vec<u32>, u64);

/// What a sample is, whatever the bits of its zeros and NaN.
fn content(x: &Array2<f32>, y: &[Vec<u32>], weights: &[f64], row: usize) -> Content {
    let bits = |v: &f32| {
        if *v == 0.0 {
            0
        } else if v.is_nan() {
            f32::NAN.to_bits()
        } else {
            v.to_bits()
        }
    };
    (x.row(row).iter().map(bits).collect(), y[row].clone(), weights[row].to_bits())
}

/// How many samples of each content are in each fold.
fn shares(x: &Array2<f32>, y: &[Vec<u32>], weights: &[f64], folds: &[u32]) -> BTreeMap<(Content, u32), usize> {
    let mut found = BTreeMap::new();
    for (row, &fold) in folds.iter().enumerate() {
        *found.entry((content(x, y, weights, row), fold)).or_insert(0) += 1;
    }
    found
}

proptest! {
    /// Dealing one unit after another, by the definition.
    #[test]
    fn rare_columns_are_spread((x, y, weights) in samples(), n_folds in 1usize..5, seed in 0u64..4) {
        let labels = listed(&y, 4);
        let data = Dataset::new(&x, labels).sample_weight(&weights[..]);
        let folds = folds_of(&data, n_folds, seed);
        let units: Vec<usize> = (0..weights.len()).filter(|&row| weights[row] > 0.0).collect();
        prop_assert_eq!(dealing(data.view(), seed).order.len(), units.len());
        let count = |label: u32| units.iter().filter(|&&row| y[row].contains(&label)).count();
        // Labels that as many samples have may be dealt together.
        let stratum = |row: usize| y[row].iter().map(|&label| count(label)).min().unwrap_or(usize::MAX);
        for rarest in units.iter().map(|&row| stratum(row)) {
            let of_fold = |fold| units.iter().filter(|&&i| stratum(i) == rarest && folds[i] as usize == fold).count();
            let n: Vec<usize> = (0..n_folds).map(of_fold).collect();
            prop_assert!(n.iter().max().unwrap() - n.iter().min().unwrap() <= 1, "{:?}", n);
        }
        let sizes: Vec<usize> =
            (0..n_folds).map(|fold| units.iter().filter(|&&row| folds[row] as usize == fold).count()).collect();
        prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{:?}", sizes);
    }

    #[test]
    fn order_layout_and_samples_of_weight_zero_do_not_show(
        (x, y, weights) in samples(), n_folds in 1usize..5, order in any::<u64>(),
    ) {
        let labels = listed(&y, 4);
        let data = Dataset::new(&x, labels).sample_weight(&weights[..]);
        let folds = folds_of(&data, n_folds, 3);
        let found = shares(&x, &y, &weights, &folds);
        // Another order of the samples, in another layout.
        let mut rows: Vec<usize> = (0..y.len()).collect();
        rows.sort_by_key(|&row| mix(order ^ row as u64));
        let x_too = x.select(Axis(0), &rows).t().as_standard_layout().into_owned(); // (features, samples)
        let y_too: Vec<_> = rows.iter().map(|&row| y[row].clone()).collect();
        let w_too: Vec<f64> = rows.iter().map(|&row| weights[row]).collect();
        let again = folds_of(&Dataset::new(x_too.t(), listed(&y_too, 4)).sample_weight(&w_too[..]), n_folds, 3);
        prop_assert_eq!(&found, &shares(&x_too.t().to_owned(), &y_too, &w_too, &again));
        // Without the samples of weight zero.
        rows.retain(|&row| weights[row] > 0.0);
        let there = |folds: &[u32]| rows.iter().map(|&row| folds[row]).collect::<Vec<_>>();
        let x_there = x.select(Axis(0), &rows);
        let y_there: Vec<_> = rows.iter().map(|&row| y[row].clone()).collect();
        let w_there: Vec<f64> = rows.iter().map(|&row| weights[row]).collect();
        let without = folds_of(&Dataset::new(&x_there, listed(&y_there, 4)).sample_weight(&w_there[..]), n_folds, 3);
        let of_all = there(&folds);
        prop_assert_eq!(
            shares(&x_there, &y_there, &w_there, &without), shares(&x_there, &y_there, &w_there, &of_all)
        );
    }

    #[test]
    fn weights_and_the_order_of_labels_do_not_show(values in prop::collection::btree_set(-40i32..40, 4..20)) {
        // All samples differ in X.
        let x = Array2::from_shape_vec((values.len(), 1), values.iter().map(|&v| v as f32).collect()).unwrap();
        let y: Vec<Vec<u32>> = values.iter().map(|v| (0..4).filter(|j| v >> j & 1 == 1).collect()).collect();
        let reversed: Vec<Vec<u32>> = y.iter().map(|row| row.iter().rev().map(|label| 3 - label).collect()).collect();
        let weights: Vec<f64> = values.iter().map(|v| f64::from(v.unsigned_abs() + 1)).collect();
        let found = folds_of(&Dataset::new(&x, listed(&y, 4)), 3, 1);
        prop_assert_eq!(&found, &folds_of(&Dataset::new(&x, listed(&reversed, 4)), 3, 1));
        prop_assert_eq!(&found, &folds_of(&Dataset::new(&x, listed(&y, 4)).sample_weight(&weights[..]), 3, 1));
    }
}

#[test]
fn equal_samples_are_dealt_one_by_one() {
    let (x, y) = (Array2::<f32>::from_elem((9, 2), 4.0), Array2::<f64>::from_elem((9, 1), 1.0));
    let mut folds = folds_of(&Dataset::new(&x, &y), 3, 0);
    folds.sort_unstable();
    assert_eq!(folds, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
}

#[test]
fn a_table_of_copies_is_dealt_as_one_of_weights() {
    let rows: Vec<usize> = (0..60).map(|i| i * 7 % 30).collect();
    let x = Array2::from_shape_fn((30, 1), |(i, _)| (i / 3) as f32);
    let y = Array2::from_shape_fn((30, 1), |(i, _)| i as f64);
    let (x_twice, y_twice) = (x.select(Axis(0), &rows), y.select(Axis(0), &rows));
    let once = folds_of(&Dataset::new(&x, &y), 3, 5);
    let twice = folds_of(&Dataset::new(&x_twice, &y_twice), 3, 5);
    assert_eq!(twice, rows.iter().map(|&row| once[row]).collect::<Vec<_>>());
    let found = dealing(Dataset::new(&x_twice, &y_twice), 5);
    assert_eq!((found.copies, found.n_units(), found.n_different), (2, 30, 10));
    // Few rows, or one more often than the others, are no copies.
    let few: Vec<usize> = rows.iter().copied().filter(|row| *row > 0).collect();
    let (x_few, y_few) = (x.select(Axis(0), &few), y.select(Axis(0), &few));
    assert_eq!(dealing(Dataset::new(&x_few, &y_few), 5).copies, 1);
    let rows: Vec<usize> = rows.into_iter().chain([3]).collect();
    let (x, y) = (x.select(Axis(0), &rows), y.select(Axis(0), &rows));
    assert_eq!(dealing(Dataset::new(&x, &y), 5).copies, 1);
}

#[test]
fn numbers_are_dealt_alike_as_dense_and_sparse_y() {
    let x = Array2::from_shape_fn((30, 1), |(i, _)| (i % 7) as f32);
    let y = Array2::from_shape_fn((30, 2), |(i, j)| [0.0, 1.5, -2.0][(i + j) % 3]);
    let dense = folds_of(&Dataset::new(&x, &y), 4, 9);
    let stored =
        |row: usize| (0..2).filter(|&j| y[[row, j]] != 0.0).map(|j| (j as u32, y[[row, j]])).collect::<Vec<_>>();
    let entries: Vec<(u32, f64)> = (0..30).flat_map(stored).collect();
    let ptr: Vec<usize> = (0..=30).map(|n| (0..n).map(|row| stored(row).len()).sum()).collect();
    let (outputs, values): (Vec<u32>, Vec<f64>) = entries.into_iter().unzip();
    let sparse = SparseTargets::try_new(ptr, outputs, values, 2).unwrap();
    assert_eq!(folds_of(&Dataset::new(&x, sparse), 4, 9), dense);
    assert_ne!(folds_of(&Dataset::new(&x, &y), 4, 10), dense, "the seed decides");
}

#[test]
fn values_under_the_mask_do_not_show_and_samples_without_a_known_cell_are_no_units() {
    let x = Array2::from_shape_fn((12, 1), |(i, _)| i as f32);
    let mask = Array2::from_shape_fn((12, 2), |(i, j)| i == 5 || (i + j) % 4 == 0);
    let y = Array2::from_shape_fn((12, 2), |(i, j)| (i * j) as f64);
    let other = Array2::from_shape_fn((12, 2), |at| if mask[at] { -7.0 } else { y[at] });
    let of = |y: &Array2<f64>| dealing(Dataset::new(&x, y).y_weight(CellWeights::from(&mask)), 0).order;
    let found = of(&y);
    assert_eq!(found.len(), 11);
    assert!(!found.contains(&5));
    assert_eq!(found, of(&other));
}

#[test]
fn margins_tell_equal_samples_apart() {
    let (x, y) = (Array2::<f32>::zeros((6, 1)), Array2::<f64>::zeros((6, 1)));
    let margins = Array2::from_shape_fn((6, 1), |(i, _)| [0.5, 1.0, 2.0, -1.0, 0.0, 3.0][i]);
    let found = folds_of(&Dataset::new(&x, &y).base_margin(margins.view()), 3, 0);
    let rows = [3usize, 5, 0, 2, 4, 1];
    let moved = margins.select(Axis(0), &rows);
    let again = folds_of(&Dataset::new(&x, &y).base_margin(moved.view()), 3, 0);
    assert_eq!(again, rows.map(|row| found[row]));
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let (x, y) = (Array2::<f32>::zeros((3, 1)), Array2::<f64>::zeros((3, 1)));
    let control = Control::default();
    let refused = deal(Dataset::new(&x, &y), 0, 0, &control).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Invalid { .. }), "{refused}");
    let weights = [1.0, -1.0, 1.0];
    assert!(deal(Dataset::new(&x, &y).sample_weight(&weights[..]), 2, 0, &control).is_err());
    assert!(deal(Dataset::new(&x, &y).sample_weight(&weights[..2]), 2, 0, &control).is_err());
    let y = Array2::<f64>::zeros((2, 1));
    assert!(deal(Dataset::new(&x, &y), 2, 0, &control).is_err());
    control.stop();
    assert_eq!(hashes(&Matrix::Dense(x.view()), &control).unwrap_err().kind(), &ErrorKind::Interrupted);
}

#[test]
fn a_split_has_each_sample_of_positive_weight_on_one_side() {
    let x = Array2::from_shape_fn((14, 1), |(i, _)| (i % 5) as f32);
    // Class 2 has one sample of positive weight.
    let codes = Array2::from_shape_fn((14, 1), |(i, _)| [0, 1, 1, 0, 1, 0, 2, 0, 1, 2, 0, 1, 0, 1][i]);
    let weights = [1.0, 2.0, 0.5, 1.0, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    let data = Dataset::new(&x, Targets::classes(&codes, [3])).sample_weight(&weights[..]);
    let there: Vec<u32> = (0..14).filter(|&row| weights[row as usize] > 0.0).collect();
    let control = Control::default();
    let found = splits(&data, 3, 4, &control).unwrap();
    let mut held: Vec<u32> = found.iter().flat_map(|split| split.held_out.clone()).collect();
    for Split { train, held_out } in &found {
        assert!(held_out.len().abs_diff(there.len() / 3) <= 1);
        let mut both = [&train[..], held_out].concat();
        both.sort_unstable();
        assert_eq!(both, there);
        assert!(train.is_sorted() && held_out.is_sorted());
    }
    held.sort_unstable();
    let dealt: Vec<u32> = there.iter().copied().filter(|&row| row != 6).collect();
    assert_eq!(held, dealt, "the only sample of a class is in no fold");
    assert!(matches!(splits(&data, 12, 4, &control).unwrap_err().kind(), ErrorKind::Invalid { what: "n_folds", .. }));
    for share in [0.1, 0.3, 0.5, 0.9] {
        let held = held_out(&data, share, 4, &control).unwrap();
        assert!(held.is_sorted() && held.iter().all(|row| dealt.contains(row)));
        let n_held = (share * dealt.len() as f64).ceil() as usize;
        assert!(n_held - held.len() <= 2, "one of each class may go back: {n_held} {held:?}");
        for class in 0..2 {
            assert!(dealt.iter().any(|row| codes[[*row as usize, 0]] == class && !held.contains(row)), "{share}");
        }
    }
    assert!(matches!(held_out(&data, 1.0, 4, &control).unwrap_err().kind(), ErrorKind::Invalid { what: "share", .. }));
}
