//! Random trees, forests and samples. The trees are not grown on data, but have all invariants of grown trees.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, ShapeBuilder};

use crate::criterion::Criterion;
use crate::data::Category;
use crate::data::{Matrix, Outputs, SparseView};
use crate::forest::Forest;
use crate::partition::category_sets::CategorySets;
use crate::partition::decision::Side;
use crate::rng::{Key, Stream};
use crate::tree::leaves::LeafTableBuilder;
use crate::tree::{Node, Tree};

/// The parameters of a random tree.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) n_features: usize,
    pub(crate) outputs: Outputs,
    pub(crate) max_leaves: usize,
    /// The weight of one unit.
    pub(crate) unit: f64,
}

/// Returns outputs of every kind, with few and with many columns.
pub(crate) fn some_outputs(kind: u64) -> Outputs {
    match kind % 6 {
        0 => Outputs::Real { n_outputs: 1 },
        1 => Outputs::Real { n_outputs: 12 },
        2 => Outputs::Classes { n_classes: vec![2] },
        3 => Outputs::Classes { n_classes: vec![3, 1, 5] },
        4 => Outputs::Labels { n_labels: 3 },
        _ => Outputs::Labels { n_labels: 90 },
    }
}

/// Returns the rows of X in sparse form. Every third zero is stored, because explicit zeros must be treated as zeros.
pub(crate) fn with_stored_zeros(x: ArrayView2<'_, f32>) -> SparseView<'static> {
    let (mut ptr, mut indices, mut values) = (vec![0], vec![], vec![]);
    for row in x.rows() {
        for (j, &v) in row.iter().enumerate() {
            if v != 0.0 || (j + indices.len()) % 3 == 0 {
                indices.push(j as u32);
                values.push(v);
            }
        }
        ptr.push(indices.len());
    }
    SparseView::try_new(ptr, indices, values, x.ncols()).unwrap()
}

/// Draws a multiple of a quarter from −1 to 1, most often zero, so that samples are often exactly at a threshold.
pub(crate) fn quarter(rng: &mut Stream) -> f32 {
    if rng.below(2) == 0 { 0.0 } else { rng.below(9) as f32 / 4.0 - 1.0 }
}

pub(crate) fn tree(rng: &mut Stream, shape: &Shape) -> Tree {
    let n_leaves = if shape.n_features == 0 { 1 } else { 1 + rng.below(shape.max_leaves as u64) as usize };
    let mut tree = Tree {
        n_features: shape.n_features,
        outputs: shape.outputs.clone().into(),
        criterion: match shape.outputs {
            Outputs::Real { .. } => Criterion::Variance,
            _ => Criterion::Gini,
        },
        nodes: Vec::new(),
        sets: CategorySets::default(),
        impurity: Vec::new(),
        n_node_samples: Vec::new(),
        weighted_n_node_samples: Vec::new(),
        leaves: LeafTableBuilder::new(0).finish().unwrap(),
    };
    let mut leaves = LeafTableBuilder::new(shape.outputs.width());
    let mut leaf = 0;
    // The nodes that are still to come, in pre-order: the number of leaves below each of them, and the split of which
    // it is the right child.
    let mut todo = vec![(n_leaves, None)];
    while let Some((n_below, right_of)) = todo.pop() {
        let at = tree.nodes.len();
        if let Some(parent) = right_of {
            let parent: &mut Node = &mut tree.nodes[parent];
            parent.set_right(at as u32);
        }
        tree.impurity.push(if n_below == 1 && rng.below(2) == 0 { 0.0 } else { rng.below(1000) as f64 / 999.0 });
        let mut weight = 0.0;
        if n_below == 1 {
            let units = push_leaf(rng, &shape.outputs, &mut leaves);
            weight = units as f64 * shape.unit;
            tree.nodes.push(Node::leaf(leaf));
            leaf += 1;
        } else {
            let n_left = 1 + rng.below(n_below as u64 - 1) as usize;
            let feature = rng.below(shape.n_features as u64) as u32;
            tree.nodes.push(Node::split(feature, quarter(rng)));
            todo.push((n_below - n_left, Some(at)));
            todo.push((n_left, None));
        }
        tree.weighted_n_node_samples.push(weight);
        tree.n_node_samples.push(if n_below == 1 { 1 + rng.below(3) as u32 } else { 0 });
    }
    sum_statistics(&mut tree);
    list_categories(&mut tree, &mut Stream::new(Key::from_seed(n_leaves as u64).child(1)));
    send_missing(&mut tree, &mut Stream::new(Key::from_seed(n_leaves as u64)));
    tree.leaves = leaves.finish().unwrap();
    tree
}

fn heavier_child(tree: &Tree, split: usize) -> Side {
    let weight = &tree.weighted_n_node_samples;
    Side::heavier(weight[split + 1], weight[tree.nodes[split].right() as usize])
}

/// Turns the splits on some features into tests of categories, in one of three trees.
fn list_categories(tree: &mut Tree, rng: &mut Stream) {
    if rng.below(3) > 0 {
        return;
    }
    for node in &mut tree.nodes {
        if !node.is_leaf() && node.feature() % 2 == 1 {
            let mut listed: Vec<Category> = (0..1 + rng.below(4)).map(|_| rng.below(6) as Category).collect();
            listed.sort_unstable();
            listed.dedup();
            node.set_categories(tree.sets.push(listed.into_iter()).unwrap());
        }
    }
}

/// Sets the sides of missing values. One of two trees has seen none.
fn send_missing(tree: &mut Tree, rng: &mut Stream) {
    let has_seen = rng.below(2) == 0;
    for split in (0..tree.nodes.len()).filter(|&i| !tree.nodes[i].is_leaf()).collect::<Vec<_>>() {
        let is_by_threshold = !tree.nodes[split].tests_categories();
        let unseen = if is_by_threshold { heavier_child(tree, split) } else { Side::Right };
        let (side, is_seen) = match rng.below(3) {
            0 if has_seen && is_by_threshold => (Side::Left, true),
            0 | 1 if has_seen => (Side::Right, true),
            _ => (unseen, false),
        };
        tree.nodes[split].set_missing(side, is_seen);
    }
}

/// Computes the statistics of internal nodes from their leaves.
fn sum_statistics(tree: &mut Tree) {
    for i in (0..tree.nodes.len()).rev() {
        let node = tree.nodes[i];
        if !node.is_leaf() {
            let right = node.right() as usize;
            tree.n_node_samples[i] = tree.n_node_samples[i + 1] + tree.n_node_samples[right];
            tree.weighted_n_node_samples[i] = tree.weighted_n_node_samples[i + 1] + tree.weighted_n_node_samples[right];
        }
    }
}

fn push_leaf(rng: &mut Stream, outputs: &Outputs, leaves: &mut LeafTableBuilder) -> u64 {
    let total = 1 + rng.below(300);
    match outputs {
        Outputs::Real { n_outputs } => {
            let mut mean = || if rng.below(3) == 0 { 0.0 } else { (rng.next_u64() as f64 / 2f64.powi(64)) * 8.0 - 4.0 };
            leaves.push_means(&(0..*n_outputs).map(|_| mean()).collect::<Vec<_>>()).unwrap();
        }
        Outputs::Labels { n_labels } => {
            let mut cells = Vec::new();
            for label in 0..*n_labels as u32 {
                if rng.below(10) == 0 {
                    cells.push((label, 1 + rng.below(total)));
                }
            }
            leaves.push_counts(&cells, total).unwrap();
        }
        Outputs::Classes { n_classes } => {
            let (mut cells, mut start) = (Vec::new(), 0);
            for &k in n_classes {
                let (a, b, units) = (rng.below(k.into()) as u32, rng.below(k.into()) as u32, rng.below(total + 1));
                let mut counts = vec![0; k as usize];
                counts[a as usize] += units;
                counts[b as usize] += total - units;
                cells.extend((start..).zip(counts).filter(|(_, units)| *units > 0));
                start += k;
            }
            leaves.push_counts(&cells, total).unwrap();
        }
    }
    total
}

pub(crate) fn forest(seed: u64, n_trees: usize, shape: &Shape) -> Forest {
    let mut rng = Stream::new(Key::from_seed(seed));
    let trees = (0..n_trees).map(|_| Arc::new(tree(&mut rng, shape))).collect();
    Forest { n_features: shape.n_features, outputs: shape.outputs.clone(), trees, by_output: false }
}

/// Returns a forest of any kind of outputs, with one to ten trees.
pub(crate) fn some_forest(seed: u64) -> Forest {
    let unit = [1.0, 0.25, 2f64.powi(-60)][seed as usize % 3];
    let shape = Shape { n_features: seed as usize % 7, outputs: some_outputs(seed / 7), max_leaves: 60, unit };
    let mut forest = forest(seed, 1 + seed as usize % 10, &shape);
    if seed % 4 == 3 {
        // Such forests are like those grown on projections of the outputs, of any kind.
        for tree in &mut forest.trees {
            *tree = Arc::new(Tree { criterion: Criterion::Variance, ..Tree::clone(tree) });
        }
    }
    forest
}

/// Returns a tree with `depth` splits, all of whose right children are leaves. It has two labels, one feature, and
/// thresholds that decrease from zero.
pub(crate) fn chain(depth: usize) -> Tree {
    let mut leaves = LeafTableBuilder::new(2);
    let (mut nodes, mut impurity) = (Vec::new(), Vec::new());
    for i in 0..depth {
        nodes.push(Node::split(0, -(i as f32)).with_right((2 * depth - i) as u32));
        impurity.push(0.5);
    }
    for leaf in 0..=depth {
        nodes.push(Node::leaf(leaf as u32));
        impurity.push(0.0);
        leaves.push_counts(&[(leaf as u32 % 2, 1)], 1).unwrap();
    }
    let mut tree = Tree {
        n_features: 1,
        outputs: Arc::new(Outputs::Labels { n_labels: 2 }),
        criterion: Criterion::Gini,
        n_node_samples: vec![1; nodes.len()],
        weighted_n_node_samples: vec![1.0; nodes.len()],
        nodes,
        sets: CategorySets::default(),
        impurity,
        leaves: leaves.finish().unwrap(),
    };
    sum_statistics(&mut tree);
    for split in 0..depth {
        let heavier = heavier_child(&tree, split);
        tree.nodes[split].set_missing(heavier, false);
    }
    tree
}

/// The same samples in every layout.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) c_order: Array2<f32>,
    fortran: Array2<f32>,
    strided: Array2<f32>,
    csr: SparseView<'static>,
    csc: SparseView<'static>,
}

pub(crate) fn rows(seed: u64, n: usize, p: usize) -> Rows {
    let mut rng = Stream::new(Key::from_seed(seed));
    in_layouts(seed, Array2::from_shape_simple_fn((n, p), || quarter(&mut rng)))
}

/// Draws samples, with some missing values for odd seeds.
pub(crate) fn rows_with_missing(seed: u64, n: usize, p: usize) -> Rows {
    let mut rng = Stream::new(Key::from_seed(seed));
    let value = || if seed % 2 == 1 && rng.below(5) == 0 { f32::NAN } else { quarter(&mut rng) };
    in_layouts(seed, Array2::from_shape_simple_fn((n, p), value))
}

pub(crate) fn in_layouts(seed: u64, c_order: Array2<f32>) -> Rows {
    let (n, p) = c_order.dim();
    let mut rng = Stream::new(Key::from_seed(seed));
    let fortran = Array2::from_shape_fn((n, p).f(), |at| c_order[at]);
    let strided = Array2::from_shape_fn((2 * n, p + 3), |(i, j)| if j < p { c_order[[i / 2, j]] } else { f32::NAN });
    let (mut ptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in c_order.rows() {
        // Some zeros are stored.
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0 || rng.below(8) == 0) {
            indices.push(j as u32);
            values.push(v);
        }
        ptr.push(indices.len());
    }
    let csr = SparseView::try_new(ptr, indices, values, p).unwrap();
    let csc = csr.transposed().unwrap();
    Rows { c_order, fortran, strided, csr, csc }
}

impl Rows {
    pub(crate) fn layouts(&self) -> Vec<Matrix<'_>> {
        let mut strided = self.strided.view();
        strided.slice_axis_inplace(ndarray::Axis(0), ndarray::Slice::new(0, None, 2));
        strided.slice_axis_inplace(ndarray::Axis(1), ndarray::Slice::from(..self.c_order.ncols()));
        vec![
            self.c_order.view().into(),
            self.fortran.view().into(),
            strided.into(),
            Matrix::Csr(self.csr.clone()),
            Matrix::Csc(self.csc.clone()),
        ]
    }
}
