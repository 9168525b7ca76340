//! Trees out of tensors, each proven before it is handed on.
//!
//! Structure is not trusted but built: children follow from the leaf marks in pre-order, so each node has one parent and
//! comes after it, or the marks do not close the tree where it must end.

use std::sync::Arc;

use super::read::{File, Numbers};
use super::rows::{RowLists, RowTensors};
use super::{COUNTS, HALF, ROWS, SCALED, SINGLE, SPARSE};
use crate::error::{Error, Result, try_filled, try_with_capacity};
use crate::forest::Forest;
use crate::tree::leaves::{Amounts, Half, Indices, Layout};
use crate::tree::{LeafTable, Node, Tree};

const WHAT: &str = "the model";

impl Forest {
    /// The forest that [`Forest::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Corrupt`] with the proof that failed, [`crate::ErrorKind::Invalid`] for a newer format,
    /// [`crate::ErrorKind::OutOfMemory`]. Never panics, whatever the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Forest> {
        let file = File::parse(bytes)?;
        if file.header.boosting.is_some() {
            return Err(Error::corrupt("this is a boosted model, no forest"));
        }
        if file.header.compression.is_some() {
            return Err(Error::corrupt("this is a compressed model, no forest"));
        }
        let trees = trees(&file)?;
        if trees.is_empty() {
            return Err(Error::corrupt("there are no trees"));
        }
        Ok(Forest { n_features: file.header.n_features, outputs: file.header.outputs, trees })
    }
}

/// The trees of a file.
pub(super) fn trees(file: &File<'_>) -> Result<Vec<Arc<Tree>>> {
    let mut tensors = Tensors::new(file)?;
    let n_nodes = file.required("n_nodes")?;
    let mut trees = try_with_capacity(WHAT, n_nodes.len())?;
    for n_nodes in n_nodes.whole("n_nodes")? {
        trees.push(Arc::new(tensors.next_tree(file, n_nodes as usize)?));
    }
    tensors.finish()?;
    Ok(trees)
}

/// What is left of each tensor for the trees to come.
#[derive(Debug)]
struct Tensors<'a> {
    features: Numbers<'a>,
    /// Mark of leaves among `features`.
    leaf_mark: u32,
    thresholds: Numbers<'a>,
    split_impurity: Numbers<'a>,
    leaf_impurity: Option<Numbers<'a>>,
    n_node_samples: Statistic<'a>,
    weights: Option<Statistic<'a>>,
    leaf_layout: Numbers<'a>,
    leaf_sizes: Numbers<'a>,
    leaf_columns: Numbers<'a>,
    leaf_amounts: Numbers<'a>,
    leaf_scales: Option<Numbers<'a>>,
    leaf_totals: Option<Numbers<'a>>,
    rows: RowTensors<'a>,
}

/// A number of each node, stored for all nodes or for leaves only.
#[derive(Debug)]
struct Statistic<'a> {
    name: &'static str,
    numbers: Numbers<'a>,
    of_all_nodes: bool,
}

impl<'a> Tensors<'a> {
    fn new(file: &File<'a>) -> Result<Self> {
        let features = file.required("features")?;
        let leaf_mark = match features {
            Numbers::U16(_) => u16::MAX.into(),
            Numbers::U32(_) => u32::MAX,
            _ => return Err(Error::corrupt("`features` are not of 16 or 32 bits")),
        };
        let thresholds = file.required("thresholds")?;
        if !matches!(thresholds, Numbers::F32(_)) {
            return Err(Error::corrupt("`thresholds` are not float32"));
        }
        let statistic =
            |name, numbers: Numbers<'a>| Statistic { name, numbers, of_all_nodes: numbers.len() == features.len() };
        Ok(Tensors {
            features,
            leaf_mark,
            thresholds,
            split_impurity: file.required("split_impurity")?,
            leaf_impurity: file.optional("leaf_impurity")?,
            n_node_samples: statistic("n_node_samples", file.required("n_node_samples")?),
            weights: file.optional("weights")?.map(|weights| statistic("weights", weights)),
            leaf_layout: file.required("leaf_layout")?,
            leaf_sizes: file.required("leaf_sizes")?,
            leaf_columns: file.required("leaf_columns")?,
            leaf_amounts: file.required("leaf_amounts")?,
            leaf_scales: file.optional("leaf_scales")?,
            leaf_totals: file.optional("leaf_totals")?,
            rows: RowTensors::new(file)?,
        })
    }

    fn finish(&self) -> Result<()> {
        let all = [
            ("features", Some(self.features)),
            ("thresholds", Some(self.thresholds)),
            ("split_impurity", Some(self.split_impurity)),
            ("leaf_impurity", self.leaf_impurity),
            ("n_node_samples", Some(self.n_node_samples.numbers)),
            ("weights", self.weights.as_ref().map(|weights| weights.numbers)),
            ("leaf_layout", Some(self.leaf_layout)),
            ("leaf_sizes", Some(self.leaf_sizes)),
            ("leaf_columns", Some(self.leaf_columns)),
            ("leaf_amounts", Some(self.leaf_amounts)),
            ("leaf_scales", self.leaf_scales),
            ("leaf_totals", self.leaf_totals),
        ];
        self.rows.finish()?;
        all.iter().try_for_each(|(name, numbers)| numbers.map_or(Ok(()), |numbers| numbers.finish(name)))
    }

    fn next_tree(&mut self, file: &File<'a>, n_nodes: usize) -> Result<Tree> {
        let header = &file.header;
        let nodes = self.nodes(n_nodes, header.n_features)?;
        let impurity = self.impurity(&nodes)?;
        let samples = self.n_node_samples.next(&nodes)?;
        let mut n_node_samples = try_with_capacity(WHAT, n_nodes)?;
        for &n in &samples {
            if n.fract() != 0.0 || n > u32::MAX.into() {
                return Err(Error::corrupt("`n_node_samples` are not whole numbers below 2^32"));
            }
            n_node_samples.push(n as u32);
        }
        let layout = self.leaf_layout.take(1, "leaf_layout")?.at(0);
        if layout.fract() != 0.0 || !(0.0..=f64::from(u8::MAX)).contains(&layout) || !is_known(layout as u8) {
            return Err(Error::corrupt(format!("leaf layout {layout} is unknown")));
        }
        let layout = layout as u8;
        let lists = if layout & ROWS == 0 { None } else { Some(self.rows.next(&nodes, &n_node_samples)?) };
        let weighted_n_node_samples = match (&mut self.weights, &lists) {
            (Some(weights), _) => weights.next(&nodes)?,
            (None, Some(lists)) => lists.weights(&nodes)?,
            (None, None) => samples,
        };
        let leaves = match lists {
            Some(lists) => rows_table(lists, layout)?,
            None => self.leaves(&nodes, &weighted_n_node_samples, header.outputs.width(), layout)?,
        };
        Ok(Tree {
            n_features: header.n_features,
            outputs: header.outputs.clone(),
            criterion: header.criterion,
            nodes,
            impurity,
            n_node_samples,
            weighted_n_node_samples,
            leaves,
        })
    }

    /// Nodes with their children: the node after a split is its left child, the node after a leaf is the right child of the
    /// last split that has none.
    fn nodes(&mut self, n_nodes: usize, n_features: usize) -> Result<Vec<Node>> {
        let not_one_tree = || Error::corrupt("`features` are not the nodes of one tree in pre-order");
        let features = self.features.take(n_nodes, "features")?;
        let mut nodes: Vec<Node> = try_with_capacity(WHAT, n_nodes)?;
        let mut open = Vec::new();
        let mut n_leaves = 0;
        let mut closed = false;
        for feature in features.whole("features")? {
            if closed {
                return Err(not_one_tree());
            }
            if feature == self.leaf_mark {
                nodes.push(Node { feature: Node::LEAF, threshold: 0.0, right: n_leaves });
                n_leaves += 1;
                match open.pop() {
                    Some(parent) => {
                        let parent: usize = parent;
                        nodes[parent].right = nodes.len() as u32;
                    }
                    None => closed = true,
                }
            } else {
                if feature as usize >= n_features {
                    return Err(Error::corrupt(format!("feature {feature} of {n_features}")));
                }
                let threshold = self.thresholds.take(1, "thresholds")?.at(0) as f32;
                if !threshold.is_finite() {
                    return Err(Error::corrupt("a threshold is not finite"));
                }
                open.push(nodes.len());
                nodes.push(Node { feature, threshold, right: 0 });
            }
        }
        if closed { Ok(nodes) } else { Err(not_one_tree()) }
    }

    fn impurity(&mut self, nodes: &[Node]) -> Result<Vec<f64>> {
        let mut impurity = try_filled(WHAT, 0.0, nodes.len())?;
        for (node, impurity) in nodes.iter().zip(&mut impurity) {
            *impurity = match &mut self.leaf_impurity {
                _ if !node.is_leaf() => self.split_impurity.take(1, "split_impurity")?.at(0),
                Some(leaf_impurity) => leaf_impurity.take(1, "leaf_impurity")?.at(0),
                None => 0.0,
            };
            if !(impurity.is_finite() && *impurity >= 0.0) {
                return Err(Error::corrupt("an impurity is negative or not finite"));
            }
        }
        Ok(impurity)
    }

    fn leaves(&mut self, nodes: &[Node], weights: &[f64], width: usize, bits: u8) -> Result<LeafTable> {
        let n_leaves = nodes.len().div_ceil(2);
        let totals = if bits & COUNTS == 0 { None } else { Some(self.totals(nodes, weights, n_leaves)?) };
        let (layout, n_cells) = if bits & SPARSE == 0 {
            let n_cells = n_leaves.checked_mul(width);
            (Layout::Dense, n_cells.ok_or_else(|| Error::corrupt("`leaf_amounts` is too short"))?)
        } else {
            self.sparse_layout(n_leaves, width)?
        };
        let amounts = self.leaf_amounts.take(n_cells, "leaf_amounts")?;
        let amounts = if totals.is_some() { counts(amounts)? } else { means(amounts, bits)? };
        let scales = if bits & SCALED == 0 { None } else { Some(scales(&mut self.leaf_scales, width)?) };
        let table = LeafTable { n_leaves, width, layout, amounts, totals, scales };
        if table.scales.is_some() && !(0..n_leaves).flat_map(|leaf| table.cells(leaf)).all(|(_, v)| v.is_finite()) {
            return Err(Error::corrupt("a value of a leaf is not finite"));
        }
        for leaf in 0..n_leaves {
            if let Some(total) = table.total(leaf)
                && table.range(leaf).any(|cell| table.amounts.at(cell) > total)
            {
                return Err(Error::corrupt("an amount of a leaf is above its total"));
            }
        }
        Ok(table)
    }

    fn totals(&mut self, nodes: &[Node], weights: &[f64], n_leaves: usize) -> Result<Vec<f64>> {
        let mut totals = try_with_capacity(WHAT, n_leaves)?;
        match &mut self.leaf_totals {
            Some(stored) => totals.extend(stored.take(n_leaves, "leaf_totals")?.iter()),
            None => totals.extend(nodes.iter().zip(weights).filter(|(node, _)| node.is_leaf()).map(|(_, w)| w)),
        }
        if totals.iter().all(|total| total.is_finite() && *total > 0.0) {
            Ok(totals)
        } else {
            Err(Error::corrupt("the total of a leaf is not positive and finite"))
        }
    }

    fn sparse_layout(&mut self, n_leaves: usize, width: usize) -> Result<(Layout, usize)> {
        let mut ptr = try_with_capacity(WHAT, n_leaves + 1)?;
        let mut end = 0u32;
        ptr.push(end);
        for size in self.leaf_sizes.take(n_leaves, "leaf_sizes")?.whole("leaf_sizes")? {
            end =
                end.checked_add(size).ok_or_else(|| Error::corrupt("the leaves of a tree have 2^32 cells or more"))?;
            ptr.push(end);
        }
        let stored = self.leaf_columns.take(end as usize, "leaf_columns")?;
        let mut columns = Indices::for_width(width);
        columns.try_reserve(WHAT, stored.len())?;
        for leaf in ptr.windows(2) {
            let mut least = 0;
            for cell in leaf[0]..leaf[1] {
                let column = stored.at(cell as usize);
                if column.fract() != 0.0 || !(least as f64..width as f64).contains(&column) {
                    return Err(Error::corrupt("the columns of a leaf do not rise, or pass the width"));
                }
                columns.push(column as u32);
                least = column as usize + 1;
            }
        }
        Ok((Layout::Sparse { ptr, columns }, end as usize))
    }
}

impl Statistic<'_> {
    /// Positive finite numbers of all `nodes` of the next tree; where only leaves are stored, sums of the children elsewhere.
    fn next(&mut self, nodes: &[Node]) -> Result<Vec<f64>> {
        let mut values = try_filled(WHAT, 0.0, nodes.len())?;
        for (node, value) in nodes.iter().zip(&mut values) {
            if self.of_all_nodes || node.is_leaf() {
                *value = self.numbers.take(1, self.name)?.at(0);
            }
        }
        if !self.of_all_nodes {
            sum_up(nodes, &mut values);
        }
        if values.iter().all(|v| v.is_finite() && *v > 0.0) {
            Ok(values)
        } else {
            Err(Error::corrupt(format!("`{}` are not positive and finite", self.name)))
        }
    }
}

/// Fills the splits among `values` of all nodes with the sums of their children.
pub(super) fn sum_up(nodes: &[Node], values: &mut [f64]) {
    for (i, node) in nodes.iter().enumerate().rev().filter(|(_, node)| !node.is_leaf()) {
        values[i] = values[i + 1] + values[node.right as usize];
    }
}

/// Whether leaves may be laid out so.
fn is_known(layout: u8) -> bool {
    let type_bits = layout & (SINGLE | HALF | SCALED);
    let no_type = layout & (COUNTS | ROWS) != 0;
    layout < 2 * SCALED
        && layout & (ROWS | SPARSE) != ROWS | SPARSE
        && type_bits & (SINGLE | HALF) != SINGLE | HALF
        && type_bits != SCALED
        && (type_bits == 0 || !no_type)
}

fn rows_table(lists: RowLists, layout: u8) -> Result<LeafTable> {
    let RowLists { ptr, ids, units, stored } = lists;
    let table = LeafTable::of_rows(ptr, ids, units, stored)?;
    if table.totals.is_some() == (layout & COUNTS != 0) {
        Ok(table)
    } else {
        Err(Error::corrupt("the stored rows are of another kind than the leaves"))
    }
}

/// Scales of one tree or set: powers of two.
pub(super) fn scales(stored: &mut Option<Numbers<'_>>, width: usize) -> Result<Vec<f64>> {
    let stored = stored.as_mut().ok_or_else(|| Error::corrupt("there are no scales"))?;
    let stored = stored.take(width, "scales")?;
    let mut scales = try_with_capacity(WHAT, width)?;
    scales.extend(stored.iter());
    let is_power = |scale: &f64| scale.is_normal() && *scale > 0.0 && scale.to_bits().trailing_zeros() >= 52;
    if scales.iter().all(is_power) { Ok(scales) } else { Err(Error::corrupt("a scale is no power of two")) }
}

/// Whole numbers in the narrowest type, as the tree that was saved had them.
pub(super) fn counts(amounts: Numbers<'_>) -> Result<Amounts> {
    let mut largest = 0.0f64;
    for amount in amounts.iter() {
        if !(amount.is_finite() && amount >= 0.0 && amount.fract() == 0.0) {
            return Err(Error::corrupt("an amount of a leaf is not a whole number"));
        }
        largest = largest.max(amount);
    }
    Ok(match largest {
        l if l <= u8::MAX.into() => Amounts::U8(collect(amounts, |a| a as u8)?),
        l if l <= u16::MAX.into() => Amounts::U16(collect(amounts, |a| a as u16)?),
        l if l <= u32::MAX.into() => Amounts::U32(collect(amounts, |a| a as u32)?),
        _ => Amounts::F64(collect(amounts, |a| a)?),
    })
}

fn collect<T>(amounts: Numbers<'_>, cast: impl Fn(f64) -> T) -> Result<Vec<T>> {
    let mut v = try_with_capacity(WHAT, amounts.len())?;
    v.extend(amounts.iter().map(cast));
    Ok(v)
}

/// Finite numbers of the type that `layout` tells of.
pub(super) fn means(amounts: Numbers<'_>, layout: u8) -> Result<Amounts> {
    if !amounts.iter().all(f64::is_finite) {
        return Err(Error::corrupt("a value of a leaf is not finite"));
    }
    let fits = |v: f64| match layout & (SINGLE | HALF) {
        SINGLE => f64::from(v as f32) == v,
        HALF => v.abs() <= Half::LARGEST && f64::from(Half::nearest(v)) == v,
        _ => true,
    };
    if !amounts.iter().all(fits) {
        return Err(Error::corrupt("a value of a leaf has more bits than its type"));
    }
    Ok(match layout & (SINGLE | HALF) {
        SINGLE => Amounts::F32(collect(amounts, |v| v as f32)?),
        HALF => Amounts::F16(collect(amounts, Half::nearest)?),
        _ => Amounts::F64(collect(amounts, |v| v)?),
    })
}
