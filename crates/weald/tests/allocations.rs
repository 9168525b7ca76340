//! Nodes hardly take memory from the system: what a tree needs is taken once, or belongs to a node that waits.

#![allow(clippy::unwrap_used, reason = "a test, helpers included")]

use weald::ndarray::Array2;
use weald::{BoostConfig, Criterion, Dataset, ForestConfig, LossKind, Matrix, Splitter, Targets, TreeConfig};

const N: usize = 4_000;

/// Numbers that depend on the samples in a way that no small tree explains.
fn made() -> (Array2<f32>, Array2<f64>) {
    let mix = |i: usize, j: usize| (i * 2_654_435_761 + j * 40_503 + i * i * 97) % 10_007;
    (
        Array2::from_shape_fn((N, 8), |(i, j)| mix(i, j) as f32 / 100.0),
        Array2::from_shape_fn((N, 1), |(i, j)| mix(3 * i + 1, j + 50) as f64),
    )
}

/// X with its smaller values left out, in rows.
fn sparse(x: &Array2<f32>) -> Matrix<'_> {
    let (mut ptr, mut features, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in x.rows() {
        for (feature, &value) in (0u32..).zip(row).filter(|(_, value)| **value >= 80.0) {
            features.push(feature);
            values.push(value);
        }
        ptr.push(values.len());
    }
    Matrix::csr(ptr, features, values, x.ncols()).unwrap()
}

/// Returns the allocations of `fit`, which returns the number of nodes that it grew.
fn allocations(fit: impl FnOnce() -> usize) -> [f64; 2] {
    let mut n_nodes = 0;
    let count = allocation_counter::measure(|| n_nodes = fit()).count_total;
    [count as f64, n_nodes as f64]
}

/// Asserts that each node that `large` has more than `small` took at most `most` allocations.
fn assert_few(what: &str, most: f64, [small, large]: [[f64; 2]; 2]) {
    assert!(large[1] >= small[1] + 40.0, "{what}: {small:?} {large:?}");
    let of_a_node = (large[0] - small[0]) / (large[1] - small[1]);
    assert!(of_a_node <= most, "{what}: {of_a_node} allocations a node");
}

#[test]
fn nodes_of_trees_allocate_next_to_nothing() {
    let (x, y) = made();
    let classes = y.mapv(|v| u32::from(v > 5_000.0));
    let (dense, sparse) = (Matrix::from(&x), sparse(&x));
    for (layout, x) in [("dense", &dense), ("sparse", &sparse)] {
        for criterion in [Criterion::Variance, Criterion::AbsoluteError, Criterion::Gini, Criterion::Entropy] {
            let y = match criterion {
                Criterion::Gini | Criterion::Entropy => Targets::classes(classes.view(), vec![2]),
                _ => Targets::from(&y),
            };
            for splitter in [Splitter::Best, Splitter::Random] {
                let of = |config: TreeConfig| {
                    let config = config.splitter(splitter);
                    let fit = || config.fit(Dataset::new(x, &y)).unwrap().n_nodes();
                    allocations(fit)
                };
                let config = || TreeConfig::new(criterion);
                let what = format!("{layout} {criterion:?} {splitter:?}");
                // With limited leaves, many nodes wait, each with its totals. What grows by doubling is in these figures.
                let sizes = [30, 300].map(|n| of(config().max_leaf_nodes(n)));
                assert_few(&what, 0.5, sizes);
                let sizes = [2, 12].map(|depth| of(config().max_depth(depth)));
                assert_few(&what, 0.25, sizes);
            }
        }
        let forest = |n| {
            let config = ForestConfig::random_forest(Criterion::Variance).n_trees(n);
            let fit = || config.fit(Dataset::new(x, Targets::from(&y))).unwrap();
            allocations(|| fit().trees().iter().map(|tree| tree.n_nodes()).sum())
        };
        assert_few(layout, 0.1, [forest(1), forest(5)]);
    }
}

/// The nodes of a stage that waits for the best leaf keep their totals, and the features of a histogram are listed when
/// it is filled: one allocation each.
#[test]
fn nodes_of_stages_allocate_what_waits_and_what_is_filled() {
    let (x, y) = made();
    let classes = y.mapv(|v| u32::from(v > 5_000.0));
    let (dense, sparse) = (Matrix::from(&x), sparse(&x));
    for (layout, x) in [("dense", &dense), ("sparse", &sparse)] {
        for (loss, y) in [
            (LossKind::SquaredError, Targets::from(&y)),
            (LossKind::LogLoss, Targets::classes(classes.view(), vec![2])),
        ] {
            let of = |n_stages, leaves| {
                let mut config = BoostConfig::new(loss.clone()).n_estimators(n_stages);
                config.tree = config.tree.max_leaf_nodes(leaves).max_depth(None);
                let fit = || config.fit(Dataset::new(x, &y)).unwrap();
                allocations(|| fit().additive().unwrap().trees().iter().map(|tree| tree.n_nodes()).sum())
            };
            // The difference between stages of 10 and of 60 leaves, without the first stages.
            let later = |leaves| {
                let [few, many] = [of(5, leaves), of(15, leaves)];
                [many[0] - few[0], many[1] - few[1]]
            };
            assert_few(&format!("{layout} {loss:?}"), 1.0, [later(10), later(60)]);
        }
    }
}
