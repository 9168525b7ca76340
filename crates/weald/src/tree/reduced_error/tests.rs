//! Comparison with the definition, sample by sample.

use ndarray::Array2;
use proptest::prelude::*;

use super::*;
use crate::data::{CellWeights, Dataset, LabelView, Matrix};
use crate::error::ErrorKind;
use crate::forest::Forest;
use crate::rng::{Key, Stream};
use crate::testing::{models, naive};

/// y for the outputs of a model, in owned form.
enum OwnedTargets {
    Real(Array2<f64>),
    Classes(Array2<u32>, Vec<u32>),
    Labels(Vec<usize>, Vec<u32>, usize),
}

impl OwnedTargets {
    fn new(seed: u64, outputs: &Outputs, n: usize) -> Self {
        let mut rng = Stream::new(Key::from_seed(seed ^ 77));
        match outputs {
            Outputs::Real { n_outputs } => OwnedTargets::Real(Array2::from_shape_simple_fn((n, *n_outputs), || {
                rng.below(1000) as f64 / 125.0 - 4.0
            })),
            Outputs::Classes { n_classes } => {
                let codes = Array2::from_shape_fn((n, n_classes.len()), |(_, o)| rng.below(n_classes[o].into()) as u32);
                OwnedTargets::Classes(codes, n_classes.clone())
            }
            Outputs::Labels { n_labels } => {
                let (mut ptr, mut indices) = (vec![0], Vec::new());
                for _ in 0..n {
                    indices.extend((0..*n_labels as u32).filter(|_| rng.below(4) == 0));
                    ptr.push(indices.len());
                }
                OwnedTargets::Labels(ptr, indices, *n_labels)
            }
        }
    }

    fn view(&self) -> Targets<'_> {
        match self {
            OwnedTargets::Real(y) => Targets::Real(y.view()),
            OwnedTargets::Classes(codes, n_classes) => {
                Targets::Classes { codes: codes.view(), n_classes: n_classes.clone() }
            }
            OwnedTargets::Labels(ptr, indices, n) => {
                Targets::Labels(LabelView::try_new(&ptr[..], &indices[..], *n).unwrap())
            }
        }
    }

    /// Returns the loss of sample `row` if the columns are predicted as `value`, of shape (n_outputs, max_n_classes).
    /// The cells of y under the mask are unknown.
    fn loss(&self, row: usize, value: ndarray::ArrayView2<'_, f64>, mask: Option<&Array2<bool>>) -> f64 {
        let known = |o: &usize| mask.is_none_or(|mask| !mask[[row, *o]]);
        match self {
            OwnedTargets::Real(y) => (0..y.ncols()).filter(known).map(|o| (y[[row, o]] - value[[o, 0]]).powi(2)).sum(),
            OwnedTargets::Classes(codes, n_classes) => {
                let wrong = |o: &usize| {
                    let k = n_classes[*o] as usize;
                    let best = (0..k).rev().max_by(|a, b| value[[*o, *a]].total_cmp(&value[[*o, *b]])).unwrap();
                    best != codes[[row, *o]] as usize
                };
                (0..n_classes.len()).filter(known).filter(wrong).count() as f64
            }
            OwnedTargets::Labels(ptr, indices, n) => {
                let has = |label: usize| indices[ptr[row]..ptr[row + 1]].contains(&(label as u32));
                (0..*n).filter(known).filter(|&label| has(label) != (value[[label, 1]] > 0.5)).count() as f64
            }
        }
    }
}

struct Naive<'a> {
    tree: &'a Tree,
    value: ndarray::Array3<f64>,
    x: &'a Array2<f32>,
    y: &'a OwnedTargets,
    weights: Option<&'a [f64]>,
    mask: Option<&'a Array2<bool>>,
}

impl Naive<'_> {
    fn loss(&self, rows: &[usize], i: usize) -> f64 {
        let value = self.value.index_axis(ndarray::Axis(0), i);
        rows.iter().map(|&row| self.weights.map_or(1.0, |w| w[row]) * self.y.loss(row, value, self.mask)).sum()
    }

    /// Returns the smallest loss at and below node `i`, and adds the splits to prune.
    fn prune(&self, i: usize, rows: &[usize], pruned: &mut Vec<usize>) -> f64 {
        let as_leaf = self.loss(rows, i);
        let node = self.tree.nodes[i];
        if node.is_leaf() {
            return as_leaf;
        }
        let goes_left =
            |row: &&usize| node.decision(&self.tree.sets).goes_left(self.x[[**row, node.feature() as usize]]);
        let (left, right): (Vec<&usize>, Vec<&usize>) = rows.iter().partition(goes_left);
        let side = |rows: Vec<&usize>| rows.into_iter().copied().collect::<Vec<_>>();
        let below = self.prune(i + 1, &side(left), pruned) + self.prune(node.right() as usize, &side(right), pruned);
        // Leaves of equal values tie, for any order of the sums.
        if as_leaf <= below + 1e-12 * below {
            pruned.push(i);
            as_leaf
        } else {
            below
        }
    }
}

proptest! {
    #[test]
    fn prunes_what_the_definition_prunes(seed in any::<u64>(), n in 1usize..60, weighted in any::<bool>(), unknown in 0u64..3) {
        let forest = models::some_forest(seed % 1_000_003);
        let tree = forest.tree(0);
        let rows = models::rows(seed, n, tree.n_features);
        let y = OwnedTargets::new(seed, &tree.outputs, n);
        let weights: Vec<f64> = (0..n).map(|i| ((i as u64 * 7 + seed) % 3) as f64 + f64::from(u8::from(i == 0))).collect();
        let weights = weighted.then_some(&weights[..]);
        // At least one cell of the first sample, whose weight is positive, is known.
        let mut draw = Stream::new(Key::from_seed(seed ^ 78));
        let mask = Array2::from_shape_fn((n, tree.outputs.n_outputs()), |at| draw.below(4) < unknown && at != (0, 0));
        let mask = (unknown > 0).then_some(&mask);
        let twin = Naive { tree, value: tree.value().unwrap(), x: &rows.c_order, y: &y, weights, mask };
        let data = |x| Dataset::new(x, y.view()).sample_weight(weights).y_weight(mask.map(CellWeights::from));
        let all: Vec<usize> = (0..n).collect();
        let mut expected = Vec::new();
        twin.prune(0, &all, &mut expected);
        let control = Control::default();
        let expected = tree.collapsed(|i| expected.contains(&i), &control).unwrap();
        for x in rows.layouts() {
            prop_assert_eq!(&tree.prune_reduced_error(data(x)).unwrap(), &expected);
        }
        let x = Matrix::from(&rows.c_order);
        let one = forest.prune_reduced_error(data(x.view())).unwrap();
        prop_assert_eq!(one.tree(0).as_ref(), &expected);
        prop_assert_eq!(&forest.prune_reduced_error(data(x.view()).control(&Control::with_threads(3))).unwrap(), &one);
    }
}

#[test]
fn pruning_again_changes_nothing() {
    for seed in 0..60 {
        let forest = models::some_forest(seed);
        let rows = models::rows(seed, 50, forest.n_features);
        let y = OwnedTargets::new(seed, &forest.outputs, 50);
        let (x, control) = (Matrix::from(&rows.c_order), Control::default());
        let once = forest.prune_reduced_error((&x, y.view(), &control)).unwrap();
        assert_eq!(once.prune_reduced_error((&x, y.view(), &control)).unwrap(), once);
        let loss = |forest: &Forest| -> f64 {
            let (tree, value) = (forest.tree(0), forest.tree(0).value().unwrap());
            let at = |row: usize| naive::apply(tree, rows.c_order.row(row));
            (0..50).map(|row| y.loss(row, value.index_axis(ndarray::Axis(0), at(row)), None)).sum()
        };
        // Losses are sums of 50 terms, in another order than in the implementation.
        assert!(loss(&once) <= loss(&forest) + 1e-9);
    }
}

#[test]
fn numbers_far_from_zero_lose_no_digits() {
    // Two leaves whose values differ by a millionth, far from zero: the split reduces the loss.
    let y = ndarray::array![[1e9], [1e9], [1e9 + 1e-6], [1e9 + 1e-6]];
    let x = ndarray::array![[0.0f32], [0.0], [1.0], [1.0]];
    let config = crate::TreeConfig::new(crate::Criterion::Variance);
    let tree = config.fit((&x, &y)).unwrap();
    assert_eq!(tree.n_leaves(), 2);
    assert_eq!(tree.prune_reduced_error((&x, y.view())).unwrap(), tree);
}

#[test]
fn chains_and_wide_numbers_are_decided_in_chunks() {
    let chain = models::chain(100_000);
    let x = Array2::from_shape_fn((500, 1), |(i, _)| -(i as f32 * 190.0));
    let y = OwnedTargets::new(1, &chain.outputs, 500);
    let pruned = chain.prune_reduced_error((&x, y.view())).unwrap();
    assert!(pruned.n_nodes() < chain.n_nodes());

    let mut tree = chain;
    tree.outputs = Outputs::Real { n_outputs: 30 }.into();
    tree.leaves = {
        let mut builder = crate::tree::leaves::LeafTableBuilder::new(30);
        for leaf in 0..=100_000u32 {
            let means: Vec<f64> = (0..30).map(|j| f64::from((leaf + j) % 7)).collect();
            builder.push_means(&means).unwrap();
        }
        builder.finish().unwrap()
    };
    let y = OwnedTargets::new(2, &tree.outputs, 500);
    let pruned = tree.prune_reduced_error((&x, y.view())).unwrap();
    assert!(pruned.n_nodes() < tree.n_nodes());
}

#[test]
fn data_that_do_not_match_the_tree_are_refused() {
    let tree = models::chain(4);
    let x = Array2::<f32>::zeros((2, 1));
    let labels = OwnedTargets::new(0, &tree.outputs, 2);
    let what = |x: &Array2<f32>, y: &OwnedTargets, w: Option<&[f64]>| match tree
        .prune_reduced_error(Dataset::new(x, y.view()).sample_weight(w))
        .unwrap_err()
        .kind()
    {
        ErrorKind::Shape { what, .. } | ErrorKind::Invalid { what, .. } => *what,
        other => panic!("{other:?}"),
    };
    assert_eq!(what(&Array2::zeros((2, 3)), &labels, None), "each row of X");
    assert_eq!(what(&Array2::zeros((3, 1)), &labels, None), "y");
    assert_eq!(what(&Array2::zeros((0, 1)), &labels, None), "X of the validation set");
    assert_eq!(what(&x, &OwnedTargets::new(0, &Outputs::Labels { n_labels: 3 }, 2), None), "y of the validation set");
    assert_eq!(what(&x, &OwnedTargets::new(0, &Outputs::Real { n_outputs: 2 }, 2), None), "y of the validation set");
    assert_eq!(what(&x, &labels, Some(&[1.0])), "sample_weight");
    assert_eq!(what(&x, &labels, Some(&[0.0, 0.0])), "sample_weight");
    assert_eq!(what(&x, &labels, Some(&[-1.0, 1.0])), "sample_weight");
}
