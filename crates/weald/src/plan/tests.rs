use ndarray::{Array2, array};
use proptest::prelude::*;

use super::*;
use crate::data::{CellWeights, Matrix, Targets};

/// What is asked for y where nothing is given.
fn asked(kind: Kind, n_outputs: usize, n_columns: usize) -> Asked {
    Asked { n_features: 5, ..Asked::nothing(kind, n_outputs, n_columns) }
}

/// The trees, rate, leaves, stages and folds of a plan.
fn row(asked: &Asked, counts: &Counts) -> (Sharing, f64, usize, usize, Option<usize>) {
    let plan = Plan::new(asked, counts);
    (plan.sharing, plan.learning_rate, plan.max_leaf_nodes, plan.n_stages, plan.search.map(|search| search.n_folds))
}

#[test]
fn each_row_of_the_table_has_its_plan() {
    use Sharing::{Projected, SingleTarget};
    let of = |kind, n_outputs, n_columns, n| row(&asked(kind, n_outputs, n_columns), &Counts::of(n));
    assert_eq!(of(Kind::Numbers, 1, 1, 100), (SingleTarget, 0.07, 8, 1000, Some(5)));
    assert_eq!(of(Kind::Numbers, 10, 10, 5000), (SingleTarget, 0.07, 15, 1000, Some(3)));
    assert_eq!(of(Kind::Classes, 1, 10, 20_000), (SingleTarget, 0.07, 31, 1000, Some(3)));
    assert_eq!(of(Kind::Numbers, 1, 1, 29), (SingleTarget, 0.05, 31, 300, None));
    assert_eq!(of(Kind::Classes, 1, 2, 20_001), (SingleTarget, 0.05, 31, 200, None));
    assert_eq!(of(Kind::Numbers, 11, 11, 30), (SingleTarget, 0.07, 8, 200, Some(3)));
    assert_eq!(of(Kind::Numbers, 100, 100, 5000), (SingleTarget, 0.07, 31, 200, Some(3)));
    assert_eq!(of(Kind::Numbers, 100, 100, 5001), (Projected, 0.05, 127, 300, None));
    assert_eq!(of(Kind::Labels, 2, 2, 200), (SingleTarget, 0.05, 8, 400, Some(5)));
    assert_eq!(of(Kind::Labels, 1000, 1000, 500), (Projected, 0.05, 8, 400, Some(3)));
    assert_eq!(of(Kind::Labels, 2, 2, 501), (SingleTarget, 0.07, 31, 200, None));
    assert_eq!(of(Kind::Labels, 100, 100, 5000), (Projected, 0.07, 63, 200, None));
    assert_eq!(of(Kind::Labels, 101, 101, 9000), (Projected, 0.07, 31, 200, None));
    assert_eq!(of(Kind::Classes, 1, 11, 100), (Projected, 0.07, 31, 200, None));
    assert_eq!(of(Kind::Classes, 2, 4, 100), (SingleTarget, 0.07, 31, 200, None));
}

#[test]
fn rows_that_repeat_and_labels_of_wide_x_are_told_apart() {
    let repeated = Counts { n_different: 50, ..Counts::of(100) };
    assert_eq!(Plan::new(&asked(Kind::Classes, 1, 1), &repeated).max_leaf_nodes, 31);
    assert_eq!(Plan::new(&asked(Kind::Numbers, 20, 20), &repeated).max_leaf_nodes, 127);
    assert_eq!(Plan::new(&asked(Kind::Labels, 20, 20), &repeated).max_leaf_nodes, 8);
    assert_eq!(Plan::new(&Asked { stop: Stop::Never, ..asked(Kind::Numbers, 20, 20) }, &repeated).max_leaf_nodes, 8);
    let wide = Asked { n_features: 100, ..asked(Kind::Labels, 3, 3) };
    assert_eq!(Plan::new(&wide, &Counts::of(100)).search, None);
    let few = Counts { has_few_cells: true, ..Counts::of(9000) };
    assert_eq!(row(&asked(Kind::Numbers, 200, 200), &few), (Sharing::Projected, 0.1, 128, 600, None));
    for (n_features, draws_half, of_tree) in [(400, true, 1.0), (800, false, 0.5), (9000, false, 0.1)] {
        let plan = Plan::new(&Asked { n_features, ..asked(Kind::Numbers, 200, 200) }, &few);
        assert_eq!((plan.draws_half, plan.features_of_tree), (draws_half, of_tree));
        assert_eq!((plan.l2_regularization, plan.subsample), (8.0, 1.0));
    }
    let given = Plan::new(&Asked { sharing: Some(Sharing::Projected), ..asked(Kind::Numbers, 200, 200) }, &few);
    assert_eq!((given.has_few_cells, given.l2_regularization), (false, 1.0));
    assert!(!Plan::new(&asked(Kind::Numbers, 3, 3), &few).has_few_cells);
    let gaps = Counts { knows_all: false, ..Counts::of(100) };
    assert_eq!(Plan::new(&asked(Kind::Numbers, 3, 3), &gaps).search, None);
    assert_eq!(Plan::new(&asked(Kind::Numbers, 20, 20), &Counts::of(100)).search.unwrap().n_grown, 1);
}

#[test]
fn half_and_all_features_are_compared_where_they_differ_and_samples_are_few() {
    let gain = |kind, n_features, n| {
        let asked = Asked { n_features, ..asked(kind, 1, 1) };
        Plan::new(&asked, &Counts::of(n)).search.unwrap().all_gain
    };
    assert_eq!(gain(Kind::Numbers, 5, TRIED), Some(ALL_GAIN));
    assert_eq!(gain(Kind::Classes, 5, 50), Some(0.1));
    assert_eq!(gain(Kind::Numbers, 5, TRIED + 1), None);
    assert_eq!(gain(Kind::Classes, 4, 30), None);
    assert_eq!(Plan::new(&asked(Kind::Numbers, 20, 20), &Counts::of(100)).search.unwrap().all_gain, None);
    let levels = Plan::new(&asked(Kind::Numbers, 1, 3), &Counts::of(100));
    assert_eq!((levels.draws_half, levels.search.unwrap().all_gain), (false, None));
}

#[test]
fn trees_of_numbers_and_of_classes_with_a_search_are_grown_on_some_samples() {
    let share = |kind, n_columns, n| Plan::new(&asked(kind, n_columns, n_columns), &Counts::of(n)).subsample;
    assert_eq!(share(Kind::Numbers, 1, 10), SUBSAMPLE);
    assert_eq!(share(Kind::Numbers, 200, 10), SUBSAMPLE);
    assert_eq!(share(Kind::Labels, 5, 100), 1.0);
    assert_eq!(row(&asked(Kind::Classes, 1, 3), &Counts::of(100)).4, Some(5));
    let of_classes = |n| Plan::new(&asked(Kind::Classes, 1, 3), &Counts::of(n)).subsample;
    assert_eq!((of_classes(29), of_classes(30), of_classes(20_001)), (1.0, SUBSAMPLE, 1.0));
}

#[test]
fn cells_of_samples_that_know_nothing_or_weigh_nothing_do_not_count() {
    let (x, y) = (Array2::from_shape_fn((4, 1), |(row, _)| row as f32), Array2::<f64>::zeros((4, 12)));
    // The first sample knows all, the second one knows `n`, the third one nothing, and the fourth one weighs nothing.
    let counted = |n: usize, weight: [f64; 4]| {
        let mask = Array2::from_shape_fn((4, 12), |(row, output)| row == 2 || (row == 1 && output >= n));
        let data = Dataset::new(Matrix::Dense(x.view()), Targets::Real(y.view())).y_weight(CellWeights::from(&mask));
        let data = data.sample_weight(&weight[..]);
        let counts = Counts::counted(data.view(), &asked(Kind::Numbers, 12, 12), 0, &Control::default()).unwrap();
        counts.has_few_cells
    };
    assert!(!counted(1, [1.0, 1.0, 1.0, 0.0]));
    assert!(counted(3, [1.0, 2.0, 5.0, 0.0]));
    assert!(!counted(4, [1.0, 2.0, 5.0, 0.0]));
}

proptest! {
    #[test]
    fn what_is_given_is_kept_and_ends_the_search(
        kind in prop::sample::select(vec![Kind::Numbers, Kind::Classes, Kind::Labels]),
        (n_columns, n) in (1usize..200, 1usize..30_000),
        (rate, n_stages, n_leaves) in (0.01f64..1.0, 1usize..2000, 0usize..300),
        sharing in prop::sample::select(vec![Sharing::Projected, Sharing::Joint, Sharing::SingleTarget]),
        stop in prop::sample::select(vec![Stop::Free, Stop::Never, Stop::After(7)]),
    ) {
        let free = Asked { stop, ..asked(kind, n_columns, n_columns) };
        let given = Asked {
            learning_rate: Some(rate),
            n_stages: Some(n_stages),
            max_leaf_nodes: Some(n_leaves),
            sharing: Some(sharing),
            ..free.clone()
        };
        let plan = Plan::new(&given, &Counts::of(n));
        prop_assert_eq!((plan.learning_rate, plan.n_stages), (rate, n_stages));
        prop_assert_eq!((plan.max_leaf_nodes, plan.sharing, plan.search), (n_leaves, sharing, None));
        let plan = Plan::new(&free, &Counts::of(n));
        prop_assert_eq!(plan.patience.is_some(), plan.search.is_some() || stop == Stop::After(7));
        prop_assert!(plan.search.is_none() || stop == Stop::Free);
        // A fit that goes on keeps what the model has.
        let kept = Asked { kept: Some(sharing), stop: Stop::Never, ..free };
        prop_assert_eq!(Plan::new(&kept, &Counts::of(n)).sharing, sharing);
    }

    #[test]
    fn samples_are_counted_as_they_are(
        codes in prop::collection::vec((0u8..6, 0u8..3, prop::bool::ANY), 1..60),
        seed in any::<u64>(),
    ) {
        let x = Array2::from_shape_fn((codes.len(), 1), |(row, _)| f32::from(codes[row].0));
        let y = Array2::from_shape_fn((codes.len(), 1), |(row, _)| f64::from(codes[row].1));
        let weights: Vec<f64> = codes.iter().map(|code| f64::from(u8::from(code.2))).collect();
        let there: Vec<_> = codes.iter().filter(|code| code.2).map(|code| code.0).collect();
        prop_assume!(!there.is_empty());
        let mut different = there.clone();
        different.sort_unstable();
        different.dedup();
        for n_columns in [1, 11] {
            let asked = asked(Kind::Numbers, n_columns, n_columns);
            let y = Array2::from_shape_fn((codes.len(), n_columns), |(row, _)| y[[row, 0]]);
            let data = Dataset::new(Matrix::Dense(x.view()), Targets::Real(y.view())).sample_weight(&weights[..]);
            let found = Counts::counted(data.view(), &asked, seed, &Control::default()).unwrap();
            prop_assert_eq!(found.n_samples, there.len());
            if there.len() >= 30 {
                prop_assert_eq!(found.n_different, different.len());
                prop_assert!(found.n_rows == there.len() || there.len() % found.n_rows == 0);
            }
            prop_assert!(found.knows_all);
        }
    }
}

#[test]
fn an_output_that_one_fold_alone_knows_is_not_known_outside_it() {
    let n = 40;
    let x = Array2::from_shape_fn((n, 1), |(row, _)| row as f32);
    let asked = asked(Kind::Numbers, 2, 2);
    let knows = |known: &[usize]| {
        let y = Array2::from_shape_fn(
            (n, 2),
            |(row, output)| {
                if output == 0 || known.contains(&row) { row as f64 } else { f64::NAN }
            },
        );
        let mask = y.mapv(f64::is_nan);
        let data = Dataset::new(Matrix::Dense(x.view()), Targets::Real(y.view())).y_weight(CellWeights::from(&mask));
        Counts::counted(data.view(), &asked, 3, &Control::default()).unwrap().knows_all
    };
    assert!(!knows(&[7]));
    assert!(knows(&(0..n).collect::<Vec<_>>()));
    let wrong = array![[1.0], [2.0]];
    let data = Dataset::new(Matrix::Dense(x.view()), Targets::Real(wrong.view()));
    assert!(Counts::counted(data.view(), &asked, 3, &Control::default()).is_err());
}
