//! Trees out of tensors, each proven before it is handed on.
//!
//! Structure is not trusted but built: children follow from the leaf marks in pre-order, so each node has one parent and
//! comes after it, or the marks do not close the tree where it must end.

use std::sync::Arc;

use super::Kind;
use super::read::{File, Numbers, with_numbers, with_whole};
use super::rows::{RowLists, RowTensors};
use super::{COUNTS, HALF, ROWS, SCALED, SINGLE, SPARSE};
use crate::error::{Error, Result, try_collected, try_filled, try_reserve, try_with_capacity};
use crate::forest::Forest;
use crate::tree::leaves::{Amounts, Half, Indices, Layout, StoredRows, StoredValues};
use crate::tree::{LeafTable, Node, Tree};

const WHAT: &str = "the model";

impl Forest {
    /// The forest that [`Forest::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Corrupt`] with the proof that failed, [`crate::ErrorKind::Invalid`] for a newer format,
    /// [`crate::ErrorKind::OutOfMemory`]. Never panics, whatever the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Forest> {
        Forest::read(&File::parse(bytes)?)
    }

    pub(super) fn read(file: &File<'_>) -> Result<Forest> {
        let header = &file.head.header;
        if header.kind() != Kind::Forest {
            return Err(file.is_not(Kind::Forest));
        }
        let trees = trees(file)?;
        if trees.is_empty() {
            return Err(Error::corrupt("there are no trees"));
        }
        check_sum(largest_values(&trees))?;
        Ok(Forest { n_features: header.n_features, outputs: header.outputs.clone(), trees })
    }
}

/// The trees of a file.
pub(super) fn trees(file: &File<'_>) -> Result<Vec<Arc<Tree>>> {
    let mut tensors = Tensors::new(file)?;
    let n_nodes = file.required("n_nodes")?;
    // As many as layouts of leaves, a byte each, and at least as many nodes: `Head` has proven it.
    let mut trees = try_with_capacity(WHAT, n_nodes.len())?;
    for n_nodes in n_nodes.whole("n_nodes")? {
        trees.push(Arc::new(tensors.next_tree(file, n_nodes as usize)?));
    }
    tensors.finish()?;
    Ok(trees)
}

/// The largest magnitude of a value of each tree: a prediction by the tree is no larger.
pub(super) fn largest_values(trees: &[Arc<Tree>]) -> impl Iterator<Item = f64> + '_ {
    let mut last: Option<(&Arc<StoredRows>, f64)> = None;
    trees.iter().map(move |tree| match tree.leaves.stored_rows() {
        // Frequencies.
        _ if tree.leaves.totals.is_some() => 1.0,
        None => largest(&tree.leaves.amounts, tree.leaves.scales.as_deref()),
        // Means of stored rows; most trees have the same.
        Some(stored) => match last {
            Some((before, value)) if Arc::ptr_eq(before, stored) => value,
            _ => {
                let value = match &stored.values {
                    StoredValues::Slots { .. } => 1.0,
                    StoredValues::Numbers { values, scales } => largest(values, scales.as_deref()),
                };
                last = Some((stored, value));
                value
            }
        },
    })
}

fn largest(values: &Amounts, scales: Option<&[f64]>) -> f64 {
    fn largest<T: Copy + Into<f64>>(values: &[T]) -> f64 {
        values.iter().fold(0.0, |most, &value| f64::max(most, value.into().abs()))
    }
    let most = match values {
        Amounts::U8(v) => largest(v),
        Amounts::U16(v) => largest(v),
        Amounts::U32(v) => largest(v),
        Amounts::F16(v) => largest(v),
        Amounts::F32(v) => largest(v),
        Amounts::F64(v) => largest(v),
    };
    most * scales.map_or(1.0, largest)
}

/// Proves that the sum of numbers of these magnitudes is finite, whatever their order.
pub(super) fn check_sum(magnitudes: impl Iterator<Item = f64>) -> Result<()> {
    // Half of the range is far more than rounding can add.
    if magnitudes.sum::<f64>() <= f64::MAX / 2.0 {
        Ok(())
    } else {
        Err(Error::corrupt("the values of leaves add up to infinity"))
    }
}

/// What is left of each tensor for the trees to come.
#[derive(Debug)]
struct Tensors<'a> {
    features: Numbers<'a>,
    thresholds: &'a [[u8; 4]],
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
    /// Splits that have no right child yet; empty between two trees.
    open: Vec<u32>,
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
        let Numbers::F32(thresholds) = file.required("thresholds")? else {
            return Err(Error::corrupt("`thresholds` are not float32"));
        };
        let statistic =
            |name, numbers: Numbers<'a>| Statistic { name, numbers, of_all_nodes: numbers.len() == features.len() };
        Ok(Tensors {
            features,
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
            open: Vec::new(),
        })
    }

    fn finish(&self) -> Result<()> {
        let all = [
            ("features", Some(self.features)),
            ("thresholds", Some(Numbers::F32(self.thresholds))),
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
        let header = &file.head.header;
        let nodes = self.nodes(n_nodes, header.n_features)?;
        let impurity = self.impurity(&nodes)?;
        let samples = self.n_node_samples.next(&nodes)?;
        if samples.iter().any(|n| n.fract() != 0.0 || *n > u32::MAX.into()) {
            return Err(Error::corrupt("`n_node_samples` are not whole numbers below 2^32"));
        }
        let n_node_samples: Vec<u32> = try_collected(WHAT, samples.iter().map(|n| *n as u32))?;
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
        let features = self.features.take(n_nodes, "features")?;
        let mut nodes = try_with_capacity(WHAT, n_nodes)?;
        let n_splits = n_nodes / 2;
        let (thresholds, rest) =
            self.thresholds.split_at_checked(n_splits).ok_or_else(|| Error::corrupt("`thresholds` is too short"))?;
        self.thresholds = rest;
        let thresholds = thresholds.iter().map(|bytes| f32::from_le_bytes(*bytes));
        self.open.clear();
        let leaf_mark = if matches!(features, Numbers::U16(_)) { u16::MAX.into() } else { u32::MAX };
        with_whole!(features, "features", |features| {
            close_tree(features, leaf_mark, n_features, thresholds, &mut self.open, &mut nodes)
        })?;
        Ok(nodes)
    }

    fn impurity(&mut self, nodes: &[Node]) -> Result<Vec<f64>> {
        let mut impurity = try_filled(WHAT, 0.0, nodes.len())?;
        place(
            self.split_impurity.take(nodes.len() / 2, "split_impurity")?,
            nodes,
            |node| !node.is_leaf(),
            &mut impurity,
        );
        if let Some(leaf_impurity) = &mut self.leaf_impurity {
            let n_leaves = nodes.len().div_ceil(2);
            place(leaf_impurity.take(n_leaves, "leaf_impurity")?, nodes, Node::is_leaf, &mut impurity);
        }
        if impurity.iter().all(|impurity| impurity.is_finite() && *impurity >= 0.0) {
            Ok(impurity)
        } else {
            Err(Error::corrupt("an impurity is negative or not finite"))
        }
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
        if table.totals.as_ref().is_some_and(|totals| !within(&table, totals)) {
            return Err(Error::corrupt("an amount of a leaf is above its total"));
        }
        Ok(table)
    }

    fn totals(&mut self, nodes: &[Node], weights: &[f64], n_leaves: usize) -> Result<Vec<f64>> {
        let mut totals = try_with_capacity(WHAT, n_leaves)?;
        match &mut self.leaf_totals {
            Some(stored) => with_numbers!(stored.take(n_leaves, "leaf_totals")?, |stored| totals.extend(stored)),
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
        with_whole!(self.leaf_sizes.take(n_leaves, "leaf_sizes")?, "leaf_sizes", |sizes| {
            for size in sizes {
                let next = end.checked_add(size);
                end = next.ok_or_else(|| Error::corrupt("the leaves of a tree have 2^32 cells or more"))?;
                ptr.push(end);
            }
            Ok(())
        })?;
        let stored = self.leaf_columns.take(end as usize, "leaf_columns")?;
        let most = with_whole!(stored, "leaf_columns", |columns| Ok(columns.fold(0, u32::max)))?;
        let mut columns = Indices::for_width(width);
        columns.try_reserve(WHAT, stored.len())?;
        with_whole!(stored, "leaf_columns", |stored| {
            match &mut columns {
                Indices::U16(v) => v.extend(stored.map(|column| column as u16)),
                Indices::U32(v) => v.extend(stored),
            }
            Ok(())
        })?;
        let rise = match &columns {
            Indices::U16(v) => rise(v, &ptr),
            Indices::U32(v) => rise(v, &ptr),
        };
        if !rise || (stored.len() > 0 && most as usize >= width) {
            return Err(Error::corrupt("the columns of a leaf do not rise, or pass the width"));
        }
        Ok((Layout::Sparse { ptr, columns }, end as usize))
    }
}

/// Builds the nodes of one tree out of the features of nodes in pre-order: see `Tensors::nodes`.
fn close_tree(
    features: impl Iterator<Item = u32>,
    leaf_mark: u32,
    n_features: usize,
    mut thresholds: impl Iterator<Item = f32>,
    open: &mut Vec<u32>,
    nodes: &mut Vec<Node>,
) -> Result<()> {
    let not_one_tree = || Error::corrupt("`features` are not the nodes of one tree in pre-order");
    let mut n_leaves = 0;
    let mut closed = false;
    for feature in features {
        if closed {
            return Err(not_one_tree());
        }
        if feature == leaf_mark {
            nodes.push(Node { feature: Node::LEAF, threshold: 0.0, right: n_leaves });
            n_leaves += 1;
            match open.pop() {
                Some(parent) => nodes[parent as usize].right = nodes.len() as u32,
                None => closed = true,
            }
        } else {
            if feature as usize >= n_features {
                return Err(Error::corrupt(format!("feature {feature} of {n_features}")));
            }
            // More splits than leaves: the marks do not close the tree.
            let threshold = thresholds.next().ok_or_else(not_one_tree)?;
            if !threshold.is_finite() {
                return Err(Error::corrupt("a threshold is not finite"));
            }
            if open.len() == open.capacity() {
                try_reserve(WHAT, open, open.len().max(64))?;
            }
            open.push(nodes.len() as u32);
            nodes.push(Node { feature, threshold, right: 0 });
        }
    }
    if closed { Ok(()) } else { Err(not_one_tree()) }
}

/// Puts `numbers`, one after the other, to the nodes that `belong`.
fn place(numbers: Numbers<'_>, nodes: &[Node], belong: impl Fn(&Node) -> bool, values: &mut [f64]) {
    let places = nodes.iter().zip(values).filter(|(node, _)| belong(node)).map(|(_, value)| value);
    with_numbers!(numbers, |numbers| places.zip(numbers).for_each(|(value, number)| *value = number));
}

/// Whether the columns of each leaf rise strictly: where they do not, a leaf ends.
fn rise<T: Copy + PartialOrd>(columns: &[T], ptr: &[u32]) -> bool {
    // Two plain counts in place of a test for each leaf, of which most are short.
    let n_falls = columns.iter().zip(columns.iter().skip(1)).filter(|(a, b)| a >= b).count();
    let mut last = 0;
    let mut n_at_ends = 0;
    for end in ptr.iter().map(|&end| end as usize).filter(|&end| end < columns.len()) {
        if end > last {
            n_at_ends += usize::from(columns[end - 1] >= columns[end]);
            last = end;
        }
    }
    n_falls == n_at_ends
}

/// Whether no amount of a leaf is above its total.
fn within(table: &LeafTable, totals: &[f64]) -> bool {
    fn within<T: Copy + PartialOrd + Into<f64>>(amounts: &[T], table: &LeafTable, totals: &[f64]) -> bool {
        totals.iter().enumerate().all(|(leaf, &total)| {
            let amounts = &amounts[table.range(leaf)];
            let most = amounts.iter().copied().reduce(|most, amount| if amount > most { amount } else { most });
            most.is_none_or(|most| most.into() <= total)
        })
    }
    match &table.amounts {
        Amounts::U8(v) => within(v, table, totals),
        Amounts::U16(v) => within(v, table, totals),
        Amounts::U32(v) => within(v, table, totals),
        // Amounts of a total are whole, and were read so.
        Amounts::F16(_) | Amounts::F32(_) => false,
        Amounts::F64(v) => within(v, table, totals),
    }
}

impl Statistic<'_> {
    /// Positive finite numbers of all `nodes` of the next tree; where only leaves are stored, sums of the children elsewhere.
    fn next(&mut self, nodes: &[Node]) -> Result<Vec<f64>> {
        let mut values = try_filled(WHAT, 0.0, nodes.len())?;
        if self.of_all_nodes {
            place(self.numbers.take(nodes.len(), self.name)?, nodes, |_| true, &mut values);
        } else {
            place(self.numbers.take(nodes.len().div_ceil(2), self.name)?, nodes, Node::is_leaf, &mut values);
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
    let scales = stored.take(width, "scales")?.collect(WHAT, |scale| scale)?;
    let is_power = |scale: &f64| scale.is_normal() && *scale > 0.0 && scale.to_bits().trailing_zeros() >= 52;
    if scales.iter().all(is_power) { Ok(scales) } else { Err(Error::corrupt("a scale is no power of two")) }
}

/// Whole numbers in the narrowest type, as the tree that was saved had them.
pub(super) fn counts(amounts: Numbers<'_>) -> Result<Amounts> {
    if let Numbers::U8(bytes) = amounts {
        let mut v: Vec<u8> = try_with_capacity(WHAT, bytes.len())?;
        v.extend_from_slice(bytes.as_flattened());
        return Ok(Amounts::U8(v));
    }
    if !amounts.all(|amount| amount.is_finite() && amount >= 0.0 && amount.fract() == 0.0) {
        return Err(Error::corrupt("an amount of a leaf is not a whole number"));
    }
    Ok(match with_numbers!(amounts, |amounts| amounts.fold(0.0, f64::max)) {
        l if l <= u8::MAX.into() => Amounts::U8(amounts.collect(WHAT, |a| a as u8)?),
        l if l <= u16::MAX.into() => Amounts::U16(amounts.collect(WHAT, |a| a as u16)?),
        l if l <= u32::MAX.into() => Amounts::U32(amounts.collect(WHAT, |a| a as u32)?),
        _ => Amounts::F64(amounts.collect(WHAT, |a| a)?),
    })
}

/// Finite numbers of the type that `layout` tells of.
pub(super) fn means(amounts: Numbers<'_>, layout: u8) -> Result<Amounts> {
    if !amounts.all(f64::is_finite) {
        return Err(Error::corrupt("a value of a leaf is not finite"));
    }
    let too_wide = Err(Error::corrupt("a value of a leaf has more bits than its type"));
    Ok(match layout & (SINGLE | HALF) {
        SINGLE if !amounts.all(|v| f64::from(v as f32) == v) => return too_wide,
        SINGLE => Amounts::F32(amounts.collect(WHAT, |v| v as f32)?),
        HALF if !amounts.all(|v| v.abs() <= Half::LARGEST && f64::from(Half::nearest(v)) == v) => return too_wide,
        HALF => Amounts::F16(amounts.collect(WHAT, Half::nearest)?),
        _ => Amounts::F64(amounts.collect(WHAT, |v| v)?),
    })
}
