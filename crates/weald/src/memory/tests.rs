//! Sizes by hand for small shapes, and estimates of larger ones.

use ndarray::Array2;

use super::{FitShapes, LayoutOfX, MemoryTerm, reserve};
use crate::boost::{BoostConfig, OutputStrategy};
use crate::centroid::{CentroidForestConfig, CentroidTree};
use crate::compress::CompressConfig;
use crate::criterion::Criterion;
use crate::data::{CellWeights, Dataset, FeatureKind, LabelView, Matrix, Schema};
use crate::error::ErrorKind;
use crate::forest::{ForestConfig, Sampling};
use crate::label_tree::{LabelTree, LabelTreeConfig};
use crate::linear::{Features, LinearConfig};
use crate::loss::LossKind;
use crate::projection::{NProjections, OutputProjection, Projection};
use crate::rng::{Key, Stream};
use crate::split::Splitter;
use crate::tree::{MaxFeatures, Tree, growth::grow};

fn forest() -> ForestConfig {
    ForestConfig::random_forest(Criterion::Variance).sampling(Sampling::All).n_trees(3)
}

fn found(terms: &[MemoryTerm]) -> Vec<(&'static str, u64, bool)> {
    terms.iter().map(|term| (term.what, term.n_bytes, term.is_certain)).collect()
}

fn sum(terms: &[MemoryTerm]) -> u64 {
    terms.iter().map(|term| term.n_bytes).sum()
}

#[test]
fn a_forest_of_dense_numbers() {
    // 10 samples, 4 features, two outputs; three trees of at most five leaves, two at a time.
    let shapes = FitShapes::new((10, 4), LayoutOfX::RowMajor, 2);
    let terms = forest().min_samples_leaf(2).fit_memory(&shapes, 2);
    let growing = grow::BYTES_OF_A_NODE as u64;
    assert_eq!(
        found(&terms),
        [
            ("the column-major copy of X", 4 * 10 * 4, true),
            ("the sorted columns of X", 8 * 10 * 4, true),
            ("the sorted columns of a tree", 8 * 10 * 4, true),
            ("the sorted columns of other trees", 8 * 10 * 4, false),
            ("the targets of a tree", 10 * (28 + 8 * 3), true),
            ("the targets of other trees", 10 * (28 + 8 * 3), false),
            ("the trees", 3 * (size_of::<Tree>() as u64 + 8), true),
            ("the leaves of all trees", 3 * 5 * 2 * 8, false),
            ("the nodes of all trees", 3 * 10 * 32, false),
            ("the nodes of growing trees", 2 * 10 * growing, false),
        ]
    );
}

#[test]
fn a_linear_model_of_sparse_labels() {
    // 100 samples with 300 stored values of 10 features, 40 labels of which a sample has 1.5; three blocks, two at a time.
    let shapes = FitShapes::new((100, 10), LayoutOfX::Csc(300), 40).is_dense_numbers(false).n_entries(150).n_unknown(7);
    let config = LinearConfig::default().features(Features::Given);
    let terms = found(&config.fit_memory(&shapes, 2));
    assert_eq!(
        terms,
        [
            ("X by samples", 8 * 300, false),
            ("the samples in their order", 8 * 300 + 16 * 100, false),
            ("the transposed X", 8 * 300, false),
            ("the labels of samples", 16 * 150, false),
            ("the unknown labels of samples", 16 * 7, false),
            ("the weights of blocks", 2 * 64 * 10, false),
            ("the dual variables of blocks", 2 * 74 * 100, false),
            // A feature has a weight for each of the 40 labels, since 300 values of samples with two labels are more.
            ("the weights of all columns", 28 * 400 + 12 * 40 + 8 * 10, false),
            ("the margins of held-out samples", 4 * 100 * 40, false),
        ]
    );
    // Standardised features are dense.
    let standardized = config.features(Features::Standardized).fit_memory(&shapes, 9);
    assert_eq!(found(&standardized)[0], ("X by samples", 8 * 100 * 10, false));
    assert_eq!(found(&standardized)[5], ("the weights of blocks", 3 * 64 * 10, false));
}

#[test]
fn a_label_tree_of_sparse_labels() {
    // 100 samples with 300 stored values of 10 features, 40 labels of which a sample has 1.5; two trees.
    let shapes = FitShapes::new((100, 10), LayoutOfX::Csc(300), 40).is_dense_numbers(false).n_entries(150).n_unknown(7);
    let terms = found(&LabelTreeConfig::default().n_trees(2).fit_memory(&shapes, 2));
    assert_eq!(
        terms,
        [
            ("X by samples", 8 * 300, false),
            ("the samples in their order", 8 * 300 + 16 * 100, false),
            ("the samples of nodes", 16 * 300, false),
            ("the transposed X", 8 * 300, false),
            ("the trees", 2 * (size_of::<LabelTree>() as u64 + 8), true),
            ("the labels of samples", 16 * 150, false),
            ("the unknown labels of samples", 16 * 7, false),
            // Two nodes of 16 bytes, while new ones and their scratch replace them, and a number of four bytes in each.
            ("the nodes that samples reach", 100 * 2 * 52, false),
            // Two labels of a sample, of which each has its three features.
            ("the labels as points", 8 * 600, false),
            ("the centres of clusters", 2 * 64 * 10, false),
            ("the weights of blocks", 2 * 64 * 10, false),
            ("the dual variables of blocks", 2 * 74 * 100, false),
            ("the weights of all columns", 8 * 2 * 800 + 12 * 40, false),
        ]
    );
}

#[test]
fn codes_take_the_place_of_sorted_columns() {
    let of_x = |layout| {
        let terms = forest().max_bins(9).fit_memory(&FitShapes::new((10, 4), layout, 2), 2);
        found(&terms[..terms.iter().position(|term| term.what == "the targets of a tree").unwrap()])
    };
    let of_codes = ("the codes of X", 10 * 4, true);
    let of_samples = ("the codes of samples", 10 * 4, false);
    assert_eq!(of_x(LayoutOfX::ColumnMajor), [of_codes, of_samples]);
    let of_copy = ("the column-major copy of X", 4 * 10 * 4, false);
    assert_eq!(of_x(LayoutOfX::RowMajor), [of_codes, of_copy, of_samples]);
    let of_sparse = [("the codes of X", 8 * 30, false), ("the transposed X", 8 * 30, false)];
    assert_eq!(of_x(LayoutOfX::Csc(30))[..2], of_sparse);
}

#[test]
fn a_forest_of_sparse_labels_with_gaps_and_categories() {
    // A tenth of the features is drawn, so that columns are not carried.
    let config = forest().max_features(MaxFeatures::Count(1)).max_leaf_nodes(4).splitter(Splitter::Random);
    let shapes = FitShapes::new((100, 10), LayoutOfX::Csc(300), 20).is_dense_numbers(false).n_entries(150);
    let shapes = shapes.n_unknown(30).categories(vec![3, 6]);
    let terms = config.fit_memory(&shapes, 1);
    assert_eq!(
        found(&terms),
        [
            ("the transposed X", 8 * 300, true),
            ("the trees", 3 * (size_of::<Tree>() as u64 + 8), true),
            // Four leaves of 20 labels are smaller than a list of all labels. If cells are unknown, they are frequencies.
            ("the leaves of all trees", 3 * (8 * 4 * 20), false),
            ("the nodes of all trees", 3 * 8 * 32, false),
            ("the nodes of growing trees", 8 * grow::BYTES_OF_A_NODE as u64, false),
            ("the mask of y", 9 * 100 + 4 * 30, false),
            ("the known values of y", 4 * 150, false),
            // Three splits, a fifth of which test one of the two features.
            ("the categories of splits", 3 * 2 * (3 * 6 * 2 / 10), false),
            ("the sums of categories", 6 * (60 + 8 * 20), false),
        ]
    );
}

#[test]
fn leaves_share_what_they_do_not_know() {
    let of = |n_unknown: usize, config: ForestConfig| {
        let shapes = FitShapes::new((100, 10), LayoutOfX::ColumnMajor, 1000).is_dense_numbers(false).n_entries(40_000);
        found(&config.fit_memory(&shapes.n_unknown(n_unknown), 1))
    };
    let leaves = |n_unknown: usize| {
        let terms = of(n_unknown, forest().n_trees(1));
        terms.into_iter().find(|term| term.0 == "the leaves of all trees").unwrap().1
    };
    // A hundred leaves: numbers of the known cells and four more for each leaf, or at most of all columns.
    assert_eq!(leaves(95_000), 12 * 5_000 + 16 * 100);
    assert_eq!(leaves(100), 12 * 40_100);
    assert_eq!(leaves(50_000), 12 * 50_000 + 16 * 100);
    // Splits of weighted labels are searched on numbers.
    let weighted = of(95_000, forest().output_weights(vec![1.0; 1000]));
    let terms: Vec<_> =
        weighted.iter().filter(|term| term.0.starts_with("the list") || term.0.contains("of a tree")).collect();
    assert_eq!(
        terms,
        [
            &("the sorted columns of a tree", 8 * 100 * 10, true),
            &("the list of known cells", 12 * 5_000, false),
            &("the targets of a tree", 16 * 100 + 24 * 5_000, true),
        ]
    );
}

#[test]
fn trees_of_fewer_samples_have_fewer_leaves() {
    let shapes = FitShapes::new((1000, 4), LayoutOfX::ColumnMajor, 1);
    let n_leaves = |sampling| {
        let terms = forest().n_trees(1).sampling(sampling).fit_memory(&shapes, 1);
        terms.iter().find(|term| term.what == "the leaves of all trees").unwrap().n_bytes / 8
    };
    assert_eq!(n_leaves(Sampling::All), 1000);
    assert_eq!(n_leaves(Sampling::WithoutReplacement(70)), 70);
    assert_eq!(n_leaves(Sampling::WithoutReplacement(2000)), 1000);
    assert_eq!([Sampling::Bootstrap(None), Sampling::Bootstrap(Some(1000))].map(n_leaves), [640; 2]);
    // A hundred draws of a thousand samples have 95 distinct samples on average.
    for sampling in [Sampling::Bootstrap(Some(100)), Sampling::BootstrapShare(0.1)] {
        assert!((95..=100).contains(&n_leaves(sampling)));
    }
    assert_eq!(n_leaves(Sampling::Bootstrap(Some(50_000))), 1000);
    // A fit refuses such shares.
    for refused in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
        assert!(n_leaves(Sampling::BootstrapShare(refused)) <= 1000);
    }
}

#[test]
fn projections_replace_the_targets_of_a_tree() {
    let shapes = FitShapes::new((10, 4), LayoutOfX::ColumnMajor, 50);
    let of_targets = |config: ForestConfig| {
        let terms = config.fit_memory(&shapes, 1);
        terms.iter().find(|term| term.what == "the targets of a tree").map(|term| term.n_bytes)
    };
    assert_eq!(of_targets(forest()), Some(10 * (28 + 8 * 51)));
    let drawn = |q| OutputProjection::new(Projection::Gaussian).n_projections(NProjections::Count(q));
    assert_eq!(of_targets(forest().output_projection(drawn(3))), Some(10 * (28 + 8 * 4 + 8 * 3)));
    // A fit refuses such numbers.
    for refused in [0, usize::MAX] {
        assert_eq!(of_targets(forest().output_projection(drawn(refused))), Some(10 * (28 + 8)));
    }
}

#[test]
fn boosting_by_strategy() {
    let shapes = FitShapes::new((10, 4), LayoutOfX::ColumnMajor, 3);
    let config = BoostConfig::new(LossKind::SquaredError).n_estimators(7).max_leaf_nodes(4);
    let by = |strategy| found(&config.clone().strategy(strategy).fit_memory(&shapes, 2, false));
    assert_eq!(
        by(OutputStrategy::Joint),
        [
            ("the codes of X", 10 * 4, true),
            ("the scores of all samples", 8 * 10 * 3, true),
            ("the targets of a stage", 10 * (28 + 16 * 4), false),
            ("the leaves of all stages", 7 * 8 * 4 * 3, false),
            ("the step sizes", 7 * 8 * 3, true),
        ]
    );
    let single = by(OutputStrategy::SingleTarget);
    assert_eq!(single[1], ("the scores of all samples", 8 * 10 * 3, false));
    assert_eq!(single[2], ("the targets of a stage", 10 * (28 + 16 * 2), false));
    let projection = Projection::Gaussian;
    let low_rank = OutputStrategy::Projected { projection, n_projections: NProjections::Count(1), relabel: false };
    let config = config.strategy(low_rank).subsample(0.5);
    let terms = config.fit_memory(&shapes.is_dense_numbers(false), 2, true);
    assert_eq!(
        found(&terms)[1..],
        [
            ("the targets of a stage", 10 * (28 + 16 * 2), false),
            ("the leaves of all stages", 7 * 8 * 4, false),
            ("the step sizes", 7 * 8 * 3, false),
            ("the losses of out-of-bag samples", 10 * 17, false),
        ]
    );
}

#[test]
fn centroids_and_compression() {
    let shapes = FitShapes::new((100, 50), LayoutOfX::Csc(400), 30).is_dense_numbers(false).n_entries(200);
    let config = CentroidForestConfig::default().n_trees(3).max_leaf_samples(9).max_centroid_features(2);
    assert_eq!(
        found(&config.fit_memory(&shapes, 2)),
        [
            ("X by samples", 8 * 400, false),
            ("the transposed X", 8 * 400, false),
            ("the trees", 3 * (size_of::<CentroidTree>() as u64 + 8), true),
            ("the points of growing trees", 2 * 100 * (2 * 128 + 32), false),
            ("the centroids of growing nodes", 2 * 50 * (4 * 10 + 20), false),
            // 20 leaves, and as many other nodes.
            ("the centroids of all trees", 3 * 6 * 40 * 2, false),
            ("the leaves of all trees", 3 * (4 * 100 + 40 * 32), false),
            ("the stored labels", 4 * 200, false),
        ]
    );
    let grow = forest().max_depth(2);
    let of_path = [
        ("the samples of nodes", 8 * 100 * 3, true),
        ("the residuals", 16 * 100 * 30, false),
        ("the values of nodes", 3 * 8 * (60 + 8 * 16), false),
    ];
    assert_eq!(found(&CompressConfig::fit_memory(&grow, Some(3), &shapes, 2)), of_path);
    let with_growth = CompressConfig::fit_memory(&grow, None, &shapes, 2);
    assert_eq!(sum(&with_growth), of_path.iter().map(|term| term.1).sum::<u64>() + sum(&grow.fit_memory(&shapes, 2)));
    assert_eq!(found(&with_growth)[with_growth.len() - 3..], of_path);
    let of_growth = &with_growth[..with_growth.len() - 3];
    assert!(of_growth.iter().all(|term| term.is_certain == (term.what == "the trees")));
}

#[test]
fn shapes_are_those_of_the_data() {
    let x = Array2::<f32>::zeros((6, 3));
    let turned = Array2::<f32>::zeros((3, 6));
    let y = Array2::from_shape_fn((6, 16), |(i, j)| f64::from(u8::from(i == j)));
    let dense = FitShapes::new((6, 3), LayoutOfX::RowMajor, 16);
    assert_eq!(FitShapes::of(&Dataset::new(&x, &y), None), Ok(dense.clone()));
    assert_eq!(FitShapes::of(&Dataset::new(&x, &y), Some(Criterion::AbsoluteError)), Ok(dense.clone()));
    // Mostly zero: fitted as entries by the variance, unless some are unknown.
    let entries = dense.clone().is_dense_numbers(false).n_entries(6);
    let of_variance = |data: Dataset<'_>| FitShapes::of(&data, Some(Criterion::Variance)).unwrap();
    assert_eq!(of_variance(Dataset::new(turned.t(), &y)), FitShapes { layout: LayoutOfX::ColumnMajor, ..entries });
    let mask = y.mapv(|value| value > 0.0);
    let weights = [1.0; 6];
    let kinds = [FeatureKind::Ordered, FeatureKind::Category { n_categories: 7 }, FeatureKind::Ordered];
    let data = Dataset::new(&x, &y).y_weight(CellWeights::from(&mask)).sample_weight(&weights[..]);
    let expected = dense.n_unknown(6).is_weighted(true).categories(vec![7]);
    assert_eq!(of_variance(data.schema(Schema::new(&kinds[..]))), expected);
    let x = Matrix::csr(vec![0, 2, 2], vec![0, 4], vec![1.0, 2.0], 5).unwrap();
    let labels = LabelView::try_new(vec![0, 1, 3], vec![0, 1, 2], 4).unwrap();
    let expected = FitShapes::new((2, 5), LayoutOfX::Csr(2), 4).is_dense_numbers(false).n_entries(3);
    assert_eq!(FitShapes::of(&Dataset::new(&x, labels), None), Ok(expected));
}

#[test]
fn what_is_certain_and_not_available_is_refused() {
    let shapes = FitShapes::new((1 << 37, 1), LayoutOfX::ColumnMajor, 1 << 30);
    let terms = forest().fit_memory(&shapes, 1);
    let error = reserve(&terms).unwrap_err();
    let ErrorKind::FitMemory { bytes, at_once, largest: (what, of_largest), advice } = error.kind() else {
        panic!("{error}")
    };
    let certain = || terms.iter().filter(|term| term.is_certain);
    assert_eq!(*bytes, terms.iter().fold(0, |sum: u64, term| sum.saturating_add(term.n_bytes)));
    assert_eq!(*at_once, certain().fold(0, |sum: u64, term| sum.saturating_add(term.n_bytes)));
    assert_eq!((*what, Some(*of_largest)), ("the targets of a tree", certain().map(|term| term.n_bytes).max()));
    assert!(certain().all(|term| !term.advice.is_empty()));
    assert!(error.to_string().ends_with(&format!("MB: {advice}")));
    let uncertain: Vec<_> = terms.iter().filter(|term| !term.is_certain).copied().collect();
    assert!(reserve(&uncertain).is_ok() && reserve(&[]).is_ok());
    assert!(reserve(&forest().fit_memory(&FitShapes::new((10, 1), LayoutOfX::ColumnMajor, 1), 1)).is_ok());
}

#[test]
fn the_path_of_a_forest_counts_its_nodes() {
    let data = (&Array2::from_shape_fn((9, 1), |(i, _)| i as f32), &Array2::from_shape_fn((9, 1), |(i, _)| i as f64));
    let fitted = forest().fit(data).unwrap();
    let shapes = FitShapes::of(&Dataset::from(data), None).unwrap();
    let of_path = CompressConfig::fit_memory(&forest(), Some(3), &shapes, 1);
    let n_nodes: usize = fitted.trees().iter().map(|tree| tree.n_nodes()).sum();
    let found = CompressConfig::path_memory(&fitted, &shapes);
    assert_eq!(found[..2], of_path[..2]);
    assert_eq!(found[2].n_bytes, n_nodes as u64 * (60 + 8));
}

/// Draws numbers below those that are passed.
fn draws(seed: u64) -> impl FnMut(usize) -> usize {
    let mut stream = Stream::new(Key::from_seed(seed));
    move |n: usize| stream.below(n as u64) as usize
}

/// The estimates of all learners with parameters that are drawn.
fn any_terms(draw: &mut impl FnMut(usize) -> usize, shapes: &FitShapes) -> Vec<(&'static str, Vec<MemoryTerm>)> {
    let sampling = [Sampling::All, Sampling::Bootstrap(None)][draw(2)];
    let mut grow = forest().n_trees(1 + draw(50)).sampling(sampling).min_samples_leaf(1 + draw(5));
    grow = grow.max_depth([None, Some(3)][draw(2)]).max_leaf_nodes([None, Some(20)][draw(2)]);
    grow = grow.splitter([Splitter::Best, Splitter::Random][draw(2)]).max_bins([None, Some(9)][draw(2)]);
    grow = grow.max_features([MaxFeatures::All, MaxFeatures::Fraction(0.1)][draw(2)]);
    let projection = |q| OutputProjection::new(Projection::Gaussian).n_projections(NProjections::Count(q));
    grow = grow.output_projection([None, Some(projection(1 + draw(9)))][draw(2)].clone());
    let n_projections = NProjections::Count(1 + draw(3));
    let strategy = match draw(4) {
        0 => OutputStrategy::SingleTarget,
        1 => OutputStrategy::Joint,
        relabel => OutputStrategy::Projected { projection: Projection::Gaussian, n_projections, relabel: relabel == 2 },
    };
    let boost = BoostConfig::new(LossKind::SquaredError).strategy(strategy).max_bins([None, Some(255)][draw(2)]);
    let boost =
        boost.subsample([0.5, 1.0][draw(2)]).max_features_by_tree([MaxFeatures::All, MaxFeatures::Sqrt][draw(2)]);
    let centroid = CentroidForestConfig::default().n_trees(1 + draw(50)).sampling(sampling);
    let n_threads = 1 + draw(4);
    vec![
        ("forest", grow.fit_memory(shapes, n_threads)),
        ("boosting", boost.fit_memory(shapes, n_threads, draw(2) == 0)),
        ("weak", BoostConfig::fit_with_memory(shapes)),
        ("centroid", centroid.fit_memory(shapes, n_threads)),
        ("compression", CompressConfig::fit_memory(&grow, [None, Some(7)][draw(2)], shapes, n_threads)),
    ]
}

/// More features may cost less if nodes draw a fixed number of them.
#[test]
fn estimates_of_memory_never_fall_when_a_shape_grows() {
    for seed in 0..300 {
        let draw = &mut draws(seed);
        let (n, p, width) = (1 + draw(1000), 1 + draw(100), 3 + draw(40));
        let stored = draw(n * p + 1);
        let layout =
            [LayoutOfX::RowMajor, LayoutOfX::ColumnMajor, LayoutOfX::Csr(stored), LayoutOfX::Csc(stored)][draw(4)];
        let more = match layout {
            LayoutOfX::Csr(stored) => LayoutOfX::Csr(2 * stored + 1),
            LayoutOfX::Csc(stored) => LayoutOfX::Csc(2 * stored + 1),
            dense => dense,
        };
        let is_numbers = draw(2) == 0;
        let n_entries = if is_numbers { n * width } else { draw(n * width) };
        let n_unknown = draw(2) * draw(n * width / 2);
        let shapes = FitShapes::new((n, p), layout, width).is_dense_numbers(is_numbers).n_entries(n_entries);
        let categories: Vec<u32> = (0..draw(p)).map(|_| 1 + draw(99) as u32).collect();
        let shapes = shapes.n_unknown(n_unknown).is_weighted(draw(2) == 0).categories(categories);
        let larger = [
            ("stored values", FitShapes { layout: more, ..shapes.clone() }),
            ("entries", shapes.clone().n_entries(2 * n_entries + 1)),
            ("columns of predictions", FitShapes { width: width + 5, ..shapes.clone() }),
            // The same share of X is stored, and labels are as frequent.
            (
                "samples",
                FitShapes { n_samples: 3 * n, n_entries: 3 * n_entries, ..shapes.clone() }
                    .n_cells(3 * n * width)
                    .n_unknown(3 * n_unknown),
            ),
            ("unknown values", shapes.clone().n_cells(2 * n * width).n_unknown(2 * n_unknown)),
            ("categories", shapes.clone().categories(shapes.categories.iter().map(|n| 2 * n).collect())),
        ];
        let from = draw(1 << 20) as u64;
        let before = any_terms(&mut draws(from), &shapes);
        for (what, larger) in &larger {
            for ((learner, before), (_, after)) in before.iter().zip(any_terms(&mut draws(from), larger)) {
                for term in before {
                    let grown = after.iter().find(|other| other.what == term.what).expect("the same part");
                    assert!(grown.n_bytes >= term.n_bytes, "{seed}: {learner} with more {what}: {term:?}, {grown:?}");
                }
            }
        }
    }
}

#[test]
fn no_number_is_too_large() {
    let most = usize::MAX;
    let shapes = FitShapes::new((most, most), LayoutOfX::Csr(most), most).n_unknown(1).categories(vec![u32::MAX; 3]);
    for is_numbers in [false, true] {
        let shapes = shapes.clone().is_dense_numbers(is_numbers);
        for layout in [LayoutOfX::RowMajor, shapes.layout] {
            let shapes = FitShapes { layout, ..shapes.clone() };
            let grow = forest().n_trees(most).output_projection(
                OutputProjection::new(Projection::Gaussian).n_projections(NProjections::Count(u32::MAX as usize)),
            );
            let boost = BoostConfig::new(LossKind::SquaredError).n_estimators(most).max_leaf_nodes(None);
            let centroid = CentroidForestConfig::default().n_trees(most).n_children(most).n_projections(most);
            for strategy in [OutputStrategy::SingleTarget, OutputStrategy::Joint] {
                for max_bins in [None, Some(9)] {
                    let boost = boost.clone().strategy(strategy.clone()).max_bins(max_bins);
                    let few = boost.max_features_by_tree(MaxFeatures::Sqrt);
                    assert!(few.fit_memory(&shapes, most, true).iter().any(|term| term.n_bytes == u64::MAX));
                }
            }
            for terms in [
                grow.fit_memory(&shapes, most),
                centroid.fit_memory(&shapes, most),
                CompressConfig::fit_memory(&grow, None, &shapes, most),
            ] {
                assert!(terms.iter().any(|term| term.n_bytes == u64::MAX));
            }
        }
    }
    let nothing = FitShapes::new((0, 0), LayoutOfX::Csr(0), 0);
    let config = BoostConfig::new(LossKind::SquaredError);
    let terms = [forest().fit_memory(&nothing, 0), config.fit_memory(&nothing, 0, false)];
    assert!(terms.iter().flatten().all(|term| term.n_bytes < 1 << 20));
}
