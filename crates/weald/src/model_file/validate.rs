//! Reading trees, each of which is checked before it is returned.
//!
//! The structure is not read but built: children follow from the marks of leaves in pre-order. Therefore each node has
//! one parent, which comes before it, or the marks do not close the tree where it must end.

use std::sync::Arc;

use safetensors::Dtype;

use super::bits::Bits;
use super::codec::tensors;
use super::header::Head;
use super::leaves::LeafTensors;
pub(super) use super::leaves::OF_LEAVES;
use super::lengths::{NUMBERS, WHOLE};
use super::places::{Places, place, sum_up};
use super::read::{File, TensorReader, with_numbers, with_whole};
pub(super) use super::rows::OF_ROWS;
use super::rows::Packed;
use crate::data::Category;
use crate::data::{MOST_CATEGORIES, Outputs};
use crate::error::{Error, Purpose, Result};
use crate::partition::category_sets::CategorySets;
use crate::partition::decision::Side;
use crate::tree::leaves::Half;
use crate::tree::{Node, Tree};

const PURPOSE: Purpose = Purpose("the model");

/// Returns a lower bound, from the header, on the bytes of memory that the trees of a file take. If there is not as
/// much memory, this is found before the arrays are read.
fn least_bytes(head: &Head) -> u128 {
    let length = |name| u128::from(head.length(name).unwrap_or(0));
    let of_node = size_of::<Node>() + size_of::<f64>() + size_of::<u32>() + size_of::<f64>();
    let of_amount = size_of::<u8>();
    let of_column = size_of::<u16>();
    length("n_nodes") * size_of::<Tree>() as u128
        + length("features") * of_node as u128
        + length("leaf_columns") * of_column as u128
        + length("leaf_above") * (2 * size_of::<u32>()) as u128
        + length("leaf_amounts") * of_amount as u128
        + length("set_values") * size_of::<Half>() as u128
}

/// Reads the trees of a file.
pub(super) fn trees(file: &File<'_>) -> Result<Vec<Arc<Tree>>> {
    // Memory that is not touched costs nothing. The operating system refuses a request for more than it has, or than
    // the process may use.
    drop(PURPOSE.with_capacity::<u8>(usize::try_from(least_bytes(&file.head)).unwrap_or(usize::MAX))?);
    let packed = Packed::new(file)?;
    let mut tensors = Tensors::new(file, &packed)?;
    let mut n_nodes = file.required("n_nodes")?;
    let n_trees = n_nodes.len();
    // There are as many trees as layouts of leaves, which take a byte each, and at least as many nodes. This was
    // checked with the header.
    let mut trees = PURPOSE.with_capacity(n_trees)?;
    for n_nodes in n_nodes.whole(PURPOSE, n_trees)? {
        trees.push(Arc::new(tensors.next_tree(file, n_nodes as usize)?));
    }
    tensors.finish()?;
    Ok(trees)
}

tensors! {
    OF_TESTS, Stored {
        features: &[Dtype::U16, Dtype::U32],
        thresholds: &[Dtype::F32],
        split_impurity: NUMBERS,
    }
    optional {
        leaf_impurity: NUMBERS,
        category_sizes: WHOLE,
        categories: WHOLE,
    }
    others {
        missing_sides: &[Dtype::U8],
        category_splits: &[Dtype::U8],
    }
}

/// The parts of the tensors that later trees will read.
#[derive(Debug)]
struct Tensors<'f> {
    /// The outputs, which are shared by all trees.
    outputs: Arc<Outputs>,
    of: Stored<'f>,
    n_node_samples: Statistic<'f>,
    weights: Option<Statistic<'f>>,
    leaves: LeafTensors<'f>,
    missing_sides: Option<Bits<'f>>,
    category_splits: Option<Bits<'f>>,
    places: Places,
}

/// One number for each node, stored for all nodes or only for leaves.
#[derive(Debug)]
struct Statistic<'f> {
    stream: TensorReader<'f>,
    of_all_nodes: bool,
}

impl<'f> Tensors<'f> {
    fn new(file: &'f File<'_>, packed: &'f Packed<'_>) -> Result<Self> {
        let of = Stored::new(file)?;
        let n_nodes = of.features.len();
        let statistic = |stream: TensorReader<'f>| Statistic { of_all_nodes: stream.len() == n_nodes, stream };
        Ok(Tensors {
            outputs: Arc::new(file.head.header.outputs.try_clone()?),
            of,
            n_node_samples: statistic(file.required("n_node_samples")?),
            weights: file.optional("weights")?.map(statistic),
            leaves: LeafTensors::new(file, packed)?,
            missing_sides: packed.missing_sides.as_ref().map(Bits::new).transpose()?,
            category_splits: packed.category_splits.as_ref().map(Bits::new).transpose()?,
            places: Places::default(),
        })
    }

    fn finish(&self) -> Result<()> {
        self.leaves.finish()?;
        [self.missing_sides, self.category_splits].into_iter().flatten().try_for_each(Bits::finish)?;
        self.n_node_samples.stream.finish()?;
        self.weights.iter().try_for_each(|weights| weights.stream.finish())?;
        self.of.finish()
    }

    fn next_tree(&mut self, file: &File<'_>, n_nodes: usize) -> Result<Tree> {
        let header = &file.head.header;
        let mut nodes = self.nodes(n_nodes, header.n_features)?;
        let sets = self.categories(&mut nodes)?;
        let impurity = self.impurity(n_nodes)?;
        let n_node_samples = self.n_node_samples.whole(&nodes, &self.places)?;
        let layout = self.leaves.layout()?;
        let of_leaves = self.places.leaves.iter().map(|&leaf| n_node_samples[leaf as usize]);
        let lists = self.leaves.rows(layout, of_leaves)?;
        let weighted_n_node_samples = match (&mut self.weights, &lists) {
            (Some(weights), _) => weights.numbers(&nodes, &self.places)?,
            (None, Some(lists)) => lists.weights(&nodes, &self.places)?,
            (None, None) => PURPOSE.collected(n_node_samples.iter().map(|&n| f64::from(n)))?,
        };
        self.send_missing(&mut nodes, &weighted_n_node_samples)?;
        let of_leaves = self.places.leaves.iter().map(|&leaf| weighted_n_node_samples[leaf as usize]);
        let leaves = self.leaves.table(layout, lists, of_leaves, &header.outputs)?;
        Ok(Tree {
            n_features: header.n_features,
            outputs: Arc::clone(&self.outputs),
            criterion: header.criterion,
            nodes,
            sets,
            impurity,
            n_node_samples,
            weighted_n_node_samples,
            leaves,
        })
    }

    /// Reads nodes and their children: the node after a split is its left child, and the node after a leaf is the right
    /// child of the last split that has none yet.
    fn nodes(&mut self, n_nodes: usize, n_features: usize) -> Result<Vec<Node>> {
        let n_splits = n_nodes / 2;
        self.of.features.check(n_nodes)?;
        if n_nodes > Node::MOST {
            return Err(Error::corrupt(format!("a tree has {n_nodes} nodes, more than {}", Node::MOST)));
        }
        self.of.thresholds.check(n_splits)?;
        let mut nodes = PURPOSE.with_capacity(n_nodes)?;
        let places = &mut self.places;
        places.begin(n_nodes)?;
        let leaf_mark = if self.of.features.dtype() == Dtype::U16 { u16::MAX.into() } else { u32::MAX };
        self.of.features.pieces(n_nodes, |features| {
            with_whole!(features, "features", |features| places.grow(features, leaf_mark, n_features, &mut nodes))
        })?;
        places.end()?;
        let mut splits = &places.splits[..];
        self.of.thresholds.pieces(n_splits, |piece| {
            let (places, later) = splits.split_at(piece.len());
            splits = later;
            let mut finite = true;
            with_numbers!(piece, |thresholds| {
                for (threshold, &split) in thresholds.zip(places) {
                    finite &= threshold.is_finite();
                    nodes[split as usize].set_threshold(threshold as f32);
                }
            });
            if finite { Ok(()) } else { Err(Error::corrupt("a threshold is not finite")) }
        })?;
        Ok(nodes)
    }

    /// Sets the sides to which missing values go.
    fn send_missing(&mut self, nodes: &mut [Node], weights: &[f64]) -> Result<()> {
        let splits = &self.places.splits;
        let mut sides = self.missing_sides.as_mut().map(|sides| sides.take(splits.len(), 2)).transpose()?;
        for &i in splits {
            let i = i as usize;
            let unseen = if nodes[i].tests_categories() {
                Side::Right
            } else {
                Side::heavier(weights[i + 1], weights[nodes[i].right() as usize])
            };
            let (side, is_seen) = match sides.as_mut().and_then(Iterator::next) {
                None | Some(0) => (unseen, false),
                Some(1) if !nodes[i].tests_categories() => (Side::Left, true),
                Some(2) => (Side::Right, true),
                Some(_) => return Err(Error::corrupt("a side of missing values is invalid")),
            };
            nodes[i].set_missing(side, is_seen);
        }
        Ok(())
    }

    /// Reads the categories of the splits that list categories instead of testing a threshold.
    fn categories(&mut self, nodes: &mut [Node]) -> Result<CategorySets> {
        let mut sets = CategorySets::default();
        let Some(is_listed) = &mut self.category_splits else {
            // If the tensors of categories exist nevertheless, `finish` finds that they were not read.
            return Ok(sets);
        };
        let (Some(sizes), Some(categories)) = (&mut self.of.category_sizes, &mut self.of.categories) else {
            return Err(Error::corrupt("`category_splits` without `category_sizes` and `categories`"));
        };
        let splits = &self.places.splits;
        let mut set: Vec<Category> = Vec::new();
        for (&i, is_listed) in splits.iter().zip(is_listed.take(splits.len(), 1)?) {
            if is_listed == 0 {
                continue;
            }
            let node = &mut nodes[i as usize];
            if node.threshold() != 0.0 {
                return Err(Error::corrupt("a split that lists categories has a threshold"));
            }
            let size = sizes.one()?;
            if !(1.0..=f64::from(MOST_CATEGORIES)).contains(&size) || size.fract() != 0.0 {
                return Err(Error::corrupt(format!("a split lists {size} categories, which is out of range")));
            }
            categories.check(size as usize)?;
            set.clear();
            PURPOSE.reserve(&mut set, size as usize)?;
            categories.pieces(size as usize, |piece| {
                with_whole!(piece, "categories", |piece| {
                    let mut rise = true;
                    for category in piece {
                        rise &= category <= u32::from(Category::MAX)
                            && set.last().is_none_or(|&last| u32::from(last) < category);
                        set.push(category as Category);
                    }
                    if rise {
                        Ok(())
                    } else {
                        Err(Error::corrupt("the categories of a split are not in increasing order"))
                    }
                })
            })?;
            node.set_categories(sets.push(set.iter().copied())?);
        }
        Ok(sets)
    }

    fn impurity(&mut self, n_nodes: usize) -> Result<Vec<f64>> {
        let Places { leaves, splits, .. } = &self.places;
        let is_impurity = |v: f64| (0.0..f64::INFINITY).contains(&v);
        let negative = || Error::corrupt("an impurity is negative or not finite");
        self.of.split_impurity.check(splits.len())?;
        let mut impurity = PURPOSE.filled(0.0, n_nodes)?;
        place(&mut self.of.split_impurity, splits, &mut impurity, |v| v, is_impurity, negative)?;
        if let Some(leaf_impurity) = &mut self.of.leaf_impurity {
            place(leaf_impurity, leaves, &mut impurity, |v| v, is_impurity, negative)?;
        }
        Ok(impurity)
    }
}

impl Statistic<'_> {
    /// Reads positive finite numbers for all `nodes` of the next tree. If they are stored only for leaves, those of
    /// splits are sums over their children.
    fn numbers(&mut self, nodes: &[Node], places: &Places) -> Result<Vec<f64>> {
        let name = self.stream.name();
        let wrong = || Error::corrupt(format!("`{name}` are not positive and finite"));
        if self.of_all_nodes {
            let values = self.stream.collect(PURPOSE, nodes.len(), |v| v)?;
            return if values.iter().fold(true, |all, &v| all & is_positive(v)) { Ok(values) } else { Err(wrong()) };
        }
        self.stream.check(places.leaves.len())?;
        let mut values = PURPOSE.filled(0.0, nodes.len())?;
        place(&mut self.stream, &places.leaves, &mut values, |v| v, is_positive, wrong)?;
        sum_up(nodes, places, &mut values);
        // No number is larger than the sum of all, which is that of the root.
        if is_positive(values[0]) { Ok(values) } else { Err(wrong()) }
    }

    /// Like `numbers`, for numbers that are whole and below 2³².
    fn whole(&mut self, nodes: &[Node], places: &Places) -> Result<Vec<u32>> {
        let name = self.stream.name();
        let wrong = || Error::corrupt(format!("`{name}` are not positive and finite"));
        if self.of_all_nodes {
            let values = self.stream.whole(PURPOSE, nodes.len())?;
            return if values.iter().fold(true, |all, &v| all & (v > 0)) { Ok(values) } else { Err(wrong()) };
        }
        self.stream.check(places.leaves.len())?;
        let mut values = PURPOSE.filled(0u32, nodes.len())?;
        place(&mut self.stream, &places.leaves, &mut values, |v| v as u32, is_positive, wrong)?;
        // The elements of splits are still zero. No sum is larger than that of the root.
        if values.iter().map(|&n| u64::from(n)).sum::<u64>() > u32::MAX.into() {
            return Err(Error::corrupt(format!("`{name}` are not whole numbers below 2^32")));
        }
        sum_up(nodes, places, &mut values);
        Ok(values)
    }
}

fn is_positive(number: f64) -> bool {
    (number > 0.0) & (number < f64::INFINITY)
}
