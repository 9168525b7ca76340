//! Trees out of tensors, each proven before it is handed on.
//!
//! Structure is not trusted but built: children follow from the leaf marks in pre-order, so each node has one parent and
//! comes after it, or the marks do not close the tree where it must end.

use std::ops::Range;
use std::sync::Arc;

use safetensors::Dtype;

use super::Kind;
use super::amounts::{counts, in_bytes, means, scales};
use super::bits::Bits;
use super::frequencies::{Sums, sums};
use super::header::Head;
use super::places::{Places, place, sum_up};
use super::read::{File, TensorReader, with_numbers, with_whole};
use super::rows::{Packed, RowLists, RowTensors};
use super::scores::check_scores;
use super::{BYTES, COUNTS, HALF, PARTIAL, ROWS, SCALED, SINGLE, SPARSE};
use crate::data::Category;
use crate::data::{MOST_CATEGORIES, Outputs};
use crate::error::{Error, Result, try_collected, try_filled, try_reserve, try_with_capacity};
use crate::forest::Forest;
use crate::partition::category_sets::CategorySets;
use crate::partition::decision::Side;
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
        let forest = Forest { n_features: header.n_features, outputs: header.outputs.try_clone()?, trees };
        check_scores(&forest.additive()?)?;
        Ok(forest)
    }
}

/// Bytes of memory that the trees of a file take at least, as its header tells: where there are not as many, that is found
/// before the arrays are read.
fn least_bytes(head: &Head) -> u128 {
    let length = |name| u128::from(head.length(name).unwrap_or(0));
    let of_node = size_of::<Node>() + size_of::<f64>() + size_of::<u32>() + size_of::<f64>();
    let of_amount = size_of::<u8>();
    let of_column = size_of::<u16>();
    length("n_nodes") * size_of::<Tree>() as u128
        + length("features") * of_node as u128
        + length("leaf_columns") * of_column as u128
        + length("leaf_amounts") * of_amount as u128
        + length("set_values") * size_of::<Half>() as u128
}

/// The trees of a file.
pub(super) fn trees(file: &File<'_>) -> Result<Vec<Arc<Tree>>> {
    // Memory that is not touched costs nothing. The system refuses more than there is, or than the process may have.
    drop(try_with_capacity::<u8>(WHAT, usize::try_from(least_bytes(&file.head)).unwrap_or(usize::MAX))?);
    let packed = Packed::new(file)?;
    let mut tensors = Tensors::new(file, &packed)?;
    let mut n_nodes = file.required("n_nodes")?;
    let n_trees = n_nodes.len();
    // As many as layouts of leaves, a byte each, and at least as many nodes: `Head` has proven it.
    let mut trees = try_with_capacity(WHAT, n_trees)?;
    for n_nodes in n_nodes.whole(WHAT, n_trees)? {
        trees.push(Arc::new(tensors.next_tree(file, n_nodes as usize)?));
    }
    tensors.finish()?;
    Ok(trees)
}

/// The largest magnitude of a value of each tree: a prediction by the tree is no larger.
pub(super) fn largest_values<'t>(trees: &'t [&'t Tree]) -> impl Iterator<Item = f64> + 't {
    let mut last: Option<(&Arc<StoredRows>, f64)> = None;
    trees.iter().map(move |tree| match tree.leaves.stored_rows() {
        // Frequencies.
        _ if tree.leaves.totals.is_some() => 1.0,
        None => {
            let of_leaves = tree.leaves.leaf_scales.iter().flatten().copied().reduce(f64::max);
            largest(&tree.leaves.amounts, tree.leaves.scales.as_deref()) * of_leaves.unwrap_or(1.0)
        }
        // Means of stored rows; most trees have the same.
        Some(stored) => match last {
            Some((before, value)) if Arc::ptr_eq(before, stored) => value,
            Some(_) | None => {
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
        Amounts::I8(v) => largest(v),
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
struct Tensors<'f> {
    /// One for all trees.
    outputs: Arc<Outputs>,
    features: TensorReader<'f>,
    thresholds: TensorReader<'f>,
    split_impurity: TensorReader<'f>,
    leaf_impurity: Option<TensorReader<'f>>,
    n_node_samples: Statistic<'f>,
    weights: Option<Statistic<'f>>,
    leaf_layout: TensorReader<'f>,
    leaf_sizes: TensorReader<'f>,
    leaf_columns: TensorReader<'f>,
    leaf_amounts: TensorReader<'f>,
    leaf_scales: Option<TensorReader<'f>>,
    leaf_factors: Option<TensorReader<'f>>,
    leaf_totals: Option<TensorReader<'f>>,
    rows: RowTensors<'f>,
    missing_sides: Option<Bits<'f>>,
    category_splits: Option<Bits<'f>>,
    category_sizes: Option<TensorReader<'f>>,
    categories: Option<TensorReader<'f>>,
    places: Places,
}

/// A number of each node, stored for all nodes or for leaves only.
#[derive(Debug)]
struct Statistic<'f> {
    stream: TensorReader<'f>,
    of_all_nodes: bool,
}

impl<'f> Tensors<'f> {
    fn new(file: &'f File<'_>, packed: &'f Packed<'_>) -> Result<Self> {
        let features = file.required("features")?;
        let thresholds = file.required("thresholds")?;
        if thresholds.dtype() != Dtype::F32 {
            return Err(Error::corrupt("`thresholds` are not float32"));
        }
        let n_nodes = features.len();
        let statistic = |stream: TensorReader<'f>| Statistic { of_all_nodes: stream.len() == n_nodes, stream };
        Ok(Tensors {
            outputs: Arc::new(file.head.header.outputs.try_clone()?),
            features,
            thresholds,
            split_impurity: file.required("split_impurity")?,
            leaf_impurity: file.optional("leaf_impurity")?,
            n_node_samples: statistic(file.required("n_node_samples")?),
            weights: file.optional("weights")?.map(statistic),
            leaf_layout: file.required("leaf_layout")?,
            leaf_sizes: file.required("leaf_sizes")?,
            leaf_columns: file.required("leaf_columns")?,
            leaf_amounts: file.required("leaf_amounts")?,
            leaf_scales: file.optional("leaf_scales")?,
            leaf_factors: file.optional("leaf_factors")?,
            leaf_totals: file.optional("leaf_totals")?,
            rows: RowTensors::new(file, packed)?,
            missing_sides: packed.missing_sides.as_ref().map(Bits::new).transpose()?,
            category_splits: packed.category_splits.as_ref().map(Bits::new).transpose()?,
            category_sizes: file.optional("category_sizes")?,
            categories: file.optional("categories")?,
            places: Places::default(),
        })
    }

    fn finish(&self) -> Result<()> {
        let required = [
            &self.features,
            &self.thresholds,
            &self.split_impurity,
            &self.n_node_samples.stream,
            &self.leaf_layout,
            &self.leaf_sizes,
            &self.leaf_columns,
            &self.leaf_amounts,
        ];
        let optional = [
            &self.leaf_impurity,
            &self.leaf_scales,
            &self.leaf_factors,
            &self.leaf_totals,
            &self.category_sizes,
            &self.categories,
        ];
        let optional = optional.into_iter().flatten();
        let weights = self.weights.as_ref().map(|weights| &weights.stream);
        self.rows.finish()?;
        self.missing_sides.map_or(Ok(()), Bits::finish)?;
        self.category_splits.map_or(Ok(()), Bits::finish)?;
        required.into_iter().chain(optional).chain(weights).try_for_each(TensorReader::finish)
    }

    fn next_tree(&mut self, file: &File<'_>, n_nodes: usize) -> Result<Tree> {
        let header = &file.head.header;
        let mut nodes = self.nodes(n_nodes, header.n_features)?;
        let sets = self.categories(&mut nodes)?;
        let impurity = self.impurity(n_nodes)?;
        let n_node_samples = self.n_node_samples.whole(&nodes, &self.places)?;
        let layout = self.leaf_layout.one()?;
        if layout.fract() != 0.0 || !(0.0..=f64::from(u8::MAX)).contains(&layout) || !is_known(layout as u8) {
            return Err(Error::corrupt(format!("leaf layout {layout} is unknown")));
        }
        let layout = layout as u8;
        let lists = if layout & ROWS == 0 { None } else { Some(self.rows.next(&self.places, &n_node_samples)?) };
        let weighted_n_node_samples = match (&mut self.weights, &lists) {
            (Some(weights), _) => weights.numbers(&nodes, &self.places)?,
            (None, Some(lists)) => lists.weights(&nodes, &self.places)?,
            (None, None) => try_collected(WHAT, n_node_samples.iter().map(|&n| f64::from(n)))?,
        };
        self.send_missing(&mut nodes, &weighted_n_node_samples)?;
        let leaves = match lists {
            Some(lists) => rows_table(lists, layout)?,
            None => self.leaves(&weighted_n_node_samples, header.outputs.width(), layout)?,
        };
        match (sums(&leaves, &header.outputs), layout & PARTIAL != 0) {
            (Sums::One, false) | (Sums::Less, true) => {}
            (Sums::One, true) => return Err(Error::corrupt("a tree is said to lack classes, and lacks none")),
            (Sums::Less, false) | (Sums::Wrong, _) => {
                return Err(Error::corrupt("the frequencies of the classes of a leaf do not sum to one"));
            }
        }
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

    /// Nodes with their children: the node after a split is its left child, the node after a leaf is the right child of the
    /// last split that has none.
    fn nodes(&mut self, n_nodes: usize, n_features: usize) -> Result<Vec<Node>> {
        let n_splits = n_nodes / 2;
        self.features.check(n_nodes)?;
        if n_nodes > Node::MOST {
            return Err(Error::corrupt(format!("{n_nodes} nodes in a tree, at most {}", Node::MOST)));
        }
        self.thresholds.check(n_splits)?;
        let mut nodes = try_with_capacity(WHAT, n_nodes)?;
        let places = &mut self.places;
        places.begin(n_nodes)?;
        let leaf_mark = if self.features.dtype() == Dtype::U16 { u16::MAX.into() } else { u32::MAX };
        self.features.pieces(n_nodes, |features| {
            with_whole!(features, "features", |features| places.grow(features, leaf_mark, n_features, &mut nodes))
        })?;
        places.end()?;
        let mut splits = &places.splits[..];
        self.thresholds.pieces(n_splits, |piece| {
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

    /// Where missing values go.
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
                Some(_) => return Err(Error::corrupt("a side of missing values is not one that there is")),
            };
            nodes[i].set_missing(side, is_seen);
        }
        Ok(())
    }

    /// The categories that splits list, which then test no threshold.
    fn categories(&mut self, nodes: &mut [Node]) -> Result<CategorySets> {
        let mut sets = CategorySets::default();
        let Some(is_listed) = &mut self.category_splits else {
            // Proven at the end: what is left over is refused.
            return Ok(sets);
        };
        let (Some(sizes), Some(categories)) = (&mut self.category_sizes, &mut self.categories) else {
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
                return Err(Error::corrupt(format!("a split lists {size} categories")));
            }
            categories.check(size as usize)?;
            set.clear();
            try_reserve(WHAT, &mut set, size as usize)?;
            categories.pieces(size as usize, |piece| {
                with_whole!(piece, "categories", |piece| {
                    let mut rise = true;
                    for category in piece {
                        rise &= category <= u32::from(Category::MAX)
                            && set.last().is_none_or(|&last| u32::from(last) < category);
                        set.push(category as Category);
                    }
                    if rise { Ok(()) } else { Err(Error::corrupt("the categories of a split do not rise")) }
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
        self.split_impurity.check(splits.len())?;
        let mut impurity = try_filled(WHAT, 0.0, n_nodes)?;
        place(&mut self.split_impurity, splits, &mut impurity, |v| v, is_impurity, negative)?;
        if let Some(leaf_impurity) = &mut self.leaf_impurity {
            place(leaf_impurity, leaves, &mut impurity, |v| v, is_impurity, negative)?;
        }
        Ok(impurity)
    }

    fn leaves(&mut self, weights: &[f64], width: usize, bits: u8) -> Result<LeafTable> {
        let n_leaves = self.places.leaves.len();
        let totals = if bits & COUNTS == 0 { None } else { Some(self.totals(weights)?) };
        let (layout, n_cells) = if bits & SPARSE == 0 {
            let n_cells = n_leaves.checked_mul(width);
            (Layout::Dense, n_cells.ok_or_else(|| Error::corrupt("`leaf_amounts` is too short"))?)
        } else {
            self.sparse_layout(n_leaves, width)?
        };
        let amounts = &mut self.leaf_amounts;
        let amounts = match totals {
            _ if bits & BYTES != 0 => in_bytes(amounts, n_cells)?,
            Some(_) => counts(amounts, n_cells)?,
            None => means(amounts, n_cells, bits)?,
        };
        let leaf_scales = if bits & BYTES == 0 { None } else { Some(scales(&mut self.leaf_factors, n_leaves)?) };
        let scales = if bits & SCALED == 0 { None } else { Some(scales(&mut self.leaf_scales, width)?) };
        let table = LeafTable { n_leaves, width, layout, amounts, totals, scales, leaf_scales };
        let is_scaled = table.scales.is_some() || table.leaf_scales.is_some();
        if is_scaled && !(0..n_leaves).flat_map(|leaf| table.cells(leaf)).all(|(_, v)| v.is_finite()) {
            return Err(Error::corrupt("a value of a leaf is not finite"));
        }
        if table.totals.as_ref().is_some_and(|totals| !within(&table, totals)) {
            return Err(Error::corrupt("an amount of a leaf is above its total"));
        }
        Ok(table)
    }

    fn totals(&mut self, weights: &[f64]) -> Result<Vec<f64>> {
        let leaves = &self.places.leaves;
        let totals = match &mut self.leaf_totals {
            Some(stored) => stored.collect(WHAT, leaves.len(), |total| total)?,
            None => try_collected(WHAT, leaves.iter().map(|&leaf| weights[leaf as usize]))?,
        };
        if totals.iter().fold(true, |all, &total| all & (total > 0.0) & (total < f64::INFINITY)) {
            Ok(totals)
        } else {
            Err(Error::corrupt("the total of a leaf is not positive and finite"))
        }
    }

    fn sparse_layout(&mut self, n_leaves: usize, width: usize) -> Result<(Layout, usize)> {
        self.leaf_sizes.check(n_leaves)?;
        let mut ptr = try_with_capacity(WHAT, n_leaves + 1)?;
        let mut end = 0u32;
        ptr.push(end);
        self.leaf_sizes.pieces(n_leaves, |sizes| {
            with_whole!(sizes, "leaf_sizes", |sizes| {
                for size in sizes {
                    let next = end.checked_add(size);
                    end = next.ok_or_else(|| Error::corrupt("the leaves of a tree have 2^32 cells or more"))?;
                    ptr.push(end);
                }
                Ok(())
            })
        })?;
        let n_cells = end as usize;
        self.leaf_columns.check(n_cells)?;
        let mut columns = Indices::for_width(width);
        columns.try_reserve(WHAT, n_cells)?;
        let mut most = 0;
        self.leaf_columns.pieces(n_cells, |piece| {
            most = most.max(with_whole!(piece, "leaf_columns", |columns| Ok(columns.fold(0, u32::max)))?);
            with_whole!(piece, "leaf_columns", |stored| {
                match &mut columns {
                    Indices::U16(v) => v.extend(stored.map(|column| column as u16)),
                    Indices::U32(v) => v.extend(stored),
                }
                Ok(())
            })
        })?;
        let rise = match &columns {
            Indices::U16(v) => rise(v, &ptr),
            Indices::U32(v) => rise(v, &ptr),
        };
        if !rise || (n_cells > 0 && most as usize >= width) {
            return Err(Error::corrupt("the columns of a leaf do not rise, or pass the width"));
        }
        Ok((Layout::Sparse { ptr, columns }, n_cells))
    }
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
    /// Most leaves have no more cells; as many are compared at once, those of the next leaf too, and left out afterwards.
    const AT_ONCE: usize = 32;

    fn within<T: Copy + PartialOrd + Into<f64>>(
        amounts: &[T],
        table: &LeafTable,
        totals: &[f64],
        cut: impl Fn(f64) -> T,
    ) -> bool {
        let mut any_above = false;
        for (leaf, &total) in totals.iter().enumerate() {
            let Range { start, end } = table.range(leaf);
            // Amounts are whole: they are not above the total where they are not above its whole part.
            let most = cut(total);
            let mut at = start;
            while at < end {
                let n = end - at;
                if let Some(next) = amounts[at..].first_chunk::<AT_ONCE>() {
                    let n = n.min(AT_ONCE) as u8;
                    let mut above = 0;
                    for (i, &amount) in next.iter().enumerate() {
                        above |= u8::from(amount > most) & u8::from((i as u8) < n);
                    }
                    any_above |= above != 0;
                } else {
                    any_above |= amounts[at..end].iter().take(AT_ONCE).any(|&amount| amount > most);
                }
                at += AT_ONCE;
            }
        }
        !any_above
    }
    match &table.amounts {
        // Conversions to narrow types end at the largest number of the type.
        Amounts::U8(v) => within(v, table, totals, |total| total as u8),
        Amounts::U16(v) => within(v, table, totals, |total| total as u16),
        Amounts::U32(v) => within(v, table, totals, |total| total as u32),
        // Amounts of a total are whole, and were read so.
        Amounts::I8(_) | Amounts::F16(_) | Amounts::F32(_) => false,
        Amounts::F64(v) => within(v, table, totals, |total| total),
    }
}

impl Statistic<'_> {
    /// Positive finite numbers of all `nodes` of the next tree; where only leaves are stored, sums of the children elsewhere.
    fn numbers(&mut self, nodes: &[Node], places: &Places) -> Result<Vec<f64>> {
        let name = self.stream.name();
        let wrong = || Error::corrupt(format!("`{name}` are not positive and finite"));
        if self.of_all_nodes {
            let values = self.stream.collect(WHAT, nodes.len(), |v| v)?;
            return if values.iter().fold(true, |all, &v| all & is_positive(v)) { Ok(values) } else { Err(wrong()) };
        }
        self.stream.check(places.leaves.len())?;
        let mut values = try_filled(WHAT, 0.0, nodes.len())?;
        place(&mut self.stream, &places.leaves, &mut values, |v| v, is_positive, wrong)?;
        sum_up(nodes, places, &mut values);
        // No number is above the sum of all, which is that of the root.
        if is_positive(values[0]) { Ok(values) } else { Err(wrong()) }
    }

    /// The same of numbers that are whole and below 2³².
    fn whole(&mut self, nodes: &[Node], places: &Places) -> Result<Vec<u32>> {
        let name = self.stream.name();
        let wrong = || Error::corrupt(format!("`{name}` are not positive and finite"));
        if self.of_all_nodes {
            let values = self.stream.whole(WHAT, nodes.len())?;
            return if values.iter().fold(true, |all, &v| all & (v > 0)) { Ok(values) } else { Err(wrong()) };
        }
        self.stream.check(places.leaves.len())?;
        let mut values = try_filled(WHAT, 0u32, nodes.len())?;
        place(&mut self.stream, &places.leaves, &mut values, |v| v as u32, is_positive, wrong)?;
        // Splits are still zero. No sum is above that of the root.
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

/// Whether leaves may be laid out so.
fn is_known(layout: u8) -> bool {
    let type_bits = layout & (SINGLE | HALF | SCALED | BYTES);
    let no_type = layout & (COUNTS | ROWS) != 0;
    (layout & BYTES == 0 || layout & !SPARSE == BYTES)
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
