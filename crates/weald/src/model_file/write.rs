//! Writing: the tensors of a forest, each in the narrowest type that can represent all of its numbers exactly.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use safetensors::Dtype;
use safetensors::tensor::TensorInfo;

use super::bits::packed;
use super::extra::Extra;
use super::frequencies::{Sums, sums};
use super::header::{self, Form, Header};
use super::{ABOVE, BYTES, COUNTS, HALF, PARTIAL, ROWS, SCALED, SINGLE, SPARSE, disk, rows};
use crate::data::Outputs;
use crate::error::{Error, Result, try_collected, try_filled, try_with_capacity};
use crate::forest::Forest;
use crate::partition::decision::{Decision, Side};
use crate::tree::leaves::{Amounts, Half, Indices, Layout};
use crate::tree::{LeafTable, Node, Tree};

pub(super) const WHAT: &str = "the bytes of the model";

/// A named array in little-endian bytes.
#[derive(Debug)]
pub(super) struct Tensor {
    pub(super) name: Cow<'static, str>,
    pub(super) dtype: Dtype,
    /// The shape; `None`: the array has one dimension.
    pub(super) shape: Option<Vec<usize>>,
    pub(super) bytes: Vec<u8>,
}

/// A file in parts: the bytes before the arrays, and the arrays in their order.
#[derive(Debug)]
pub(super) struct Parts {
    start: Vec<u8>,
    tensors: Vec<Tensor>,
}

#[cfg(test)]
impl Tensor {
    pub(super) fn contents(&self) -> &[u8] {
        &self.bytes
    }
}

impl Forest {
    /// Returns the forest as a safetensors file. Equal forests have equal bytes.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for a forest without trees, or [`crate::ErrorKind::OutOfMemory`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.parts(&Extra::default())?.into_bytes()
    }

    pub(super) fn parts(&self, extra: &Extra) -> Result<Parts> {
        let first = self.trees.first().ok_or_else(|| Error::invalid("forest", "0 trees", "have at least one tree"))?;
        let (n_features, outputs) = (self.n_features, self.outputs.clone());
        let header = Header { n_features, outputs, criterion: first.criterion, form: Form::Forest };
        Parts::new(&header, tensors(&self.trees, n_features)?, extra)
    }
}

impl Tensor {
    /// Creates a one-dimensional tensor.
    pub(super) fn new(name: &'static str, dtype: Dtype, bytes: Vec<u8>) -> Self {
        Tensor { name: name.into(), dtype, shape: None, bytes }
    }
}

/// Returns the tensors of trees, in the order of the trees.
pub(super) fn tensors(all: &[Arc<Tree>], n_features: usize) -> Result<Vec<Tensor>> {
    let trees = || all.iter().map(|tree| &**tree);
    let placed: Vec<Placed<'_>> = trees().map(Placed::new).collect::<Result<_>>()?;
    let splits = || placed.iter().flat_map(Placed::splits);
    let leaves = || placed.iter().flat_map(Placed::leaves);
    let tables = try_collected(WHAT, all.iter().map(|tree| &tree.leaves))?;
    let mut tensors = vec![
        narrowest("n_nodes", || trees().map(|tree| tree.n_nodes() as f64))?,
        features(all, n_features)?,
        floats("thresholds", || splits().map(|(tree, i)| threshold(&tree.nodes[i])))?,
        narrowest("split_impurity", || splits().map(|(tree, i)| tree.impurity[i]))?,
    ];
    tensors.extend(leaf_tensors(&tables, outputs_of(all))?);
    let sets = || splits().filter_map(|(tree, i)| tree.nodes[i].set().map(|set| tree.sets.of(set)));
    if sets().next().is_some() {
        let is_listed = splits().map(|(tree, i)| u64::from(tree.nodes[i].tests_categories()));
        tensors.push(packed("category_splits", 1, is_listed)?);
        tensors.push(narrowest("category_sizes", || sets().map(|set| set.len() as f64))?);
        tensors.push(narrowest("categories", || sets().flatten().map(|&category| f64::from(category)))?);
    }
    let decisions = || splits().map(|(tree, i)| tree.decision(i));
    if decisions().any(|decision| decision.saw_missing()) {
        let side = |decision: Decision<'_>| match decision.missing() {
            _ if !decision.saw_missing() => 0,
            Side::Left => 1,
            Side::Right => 2,
        };
        tensors.push(packed("missing_sides", 2, decisions().map(side))?);
    }
    if leaves().any(|(tree, i)| tree.impurity[i] != 0.0) {
        tensors.push(narrowest("leaf_impurity", || leaves().map(|(tree, i)| tree.impurity[i]))?);
    }
    let n_samples = |tree: &Tree, i: usize| f64::from(tree.n_node_samples[i]);
    let weight = |tree: &Tree, i: usize| tree.weighted_n_node_samples[i];
    tensors.push(statistic(&placed, "n_node_samples", n_samples)?);
    let follows = |tree: &Tree| {
        if tree.leaves.has_rows() {
            rows::weights_follow(tree)
        } else {
            (0..tree.n_nodes()).all(|i| n_samples(tree, i) == weight(tree, i))
        }
    };
    if !trees().all(follows) {
        tensors.push(statistic(&placed, "weights", weight)?);
    }
    let totals = || {
        let with_total = |(tree, i): (&'_ Tree, usize)| {
            tree.leaves.total(tree.nodes[i].right() as usize).map(|total| (total, weight(tree, i)))
        };
        placed.iter().filter(|placed| !placed.tree.leaves.has_rows()).flat_map(Placed::leaves).filter_map(with_total)
    };
    if totals().any(|(total, weight)| total != weight) {
        tensors.push(narrowest("leaf_totals", || totals().map(|(total, _)| total))?);
    }
    Ok(tensors)
}

/// Returns the tensors of leaves, in the order of the trees, except their totals.
pub(super) fn leaf_tensors(tables: &[&LeafTable], outputs: &Outputs) -> Result<Vec<Tensor>> {
    let sparse = || tables.iter().filter(|leaves| leaves.is_sparse());
    let listed = || tables.iter().filter(|leaves| !leaves.has_rows());
    let columns = || {
        sparse().filter_map(|leaves| match &leaves.layout {
            Layout::Sparse { columns: Indices::U16(v), .. } => Some(Whole::U16(v)),
            Layout::Sparse { columns: Indices::U32(v), .. } => Some(Whole::U32(v)),
            Layout::Dense | Layout::Rows { .. } => None,
        })
    };
    let counts = || {
        listed().map(|leaves| match &leaves.amounts {
            Amounts::U8(v) => Some(Whole::U8(v)),
            Amounts::U16(v) => Some(Whole::U16(v)),
            Amounts::U32(v) => Some(Whole::U32(v)),
            Amounts::I8(_) | Amounts::F16(_) | Amounts::F32(_) | Amounts::F64(_) => None,
        })
    };
    let layouts = try_collected(WHAT, tables.iter().map(|leaves| layout(leaves, outputs)))?;
    let mut tensors = vec![
        narrowest("leaf_layout", || layouts.iter().copied().map(f64::from))?,
        narrowest("leaf_sizes", || {
            sparse().flat_map(|leaves| (0..leaves.n_leaves()).map(|leaf| leaves.range(leaf).len() as f64))
        })?,
        whole("leaf_columns", columns)?,
        if counts().all(|counts| counts.is_some()) {
            whole("leaf_amounts", || counts().flatten())?
        } else {
            narrowest("leaf_amounts", || {
                listed().flat_map(|leaves| {
                    let above = if leaves.leaf_scales.is_some() { f64::from(ABOVE) } else { 0.0 };
                    (0..leaves.n_stored()).map(move |cell| leaves.amounts.at(cell) + above)
                })
            })?
        },
    ];
    if tables.iter().any(|leaves| leaves.scales.is_some()) {
        tensors.push(narrowest("leaf_scales", || {
            tables.iter().flat_map(|leaves| leaves.scales.iter().flatten().copied())
        })?);
    }
    if tables.iter().any(|leaves| leaves.leaf_scales.is_some()) {
        let factors = || tables.iter().flat_map(|leaves| leaves.leaf_scales.iter().flatten().copied());
        tensors.push(narrowest("leaf_factors", factors)?);
    }
    tensors.extend(rows::tensors(tables)?);
    Ok(tensors)
}

/// Returns the outputs of trees, which all trees have in common.
fn outputs_of(all: &[Arc<Tree>]) -> &Outputs {
    const NONE: &Outputs = &Outputs::Labels { n_labels: 0 };
    all.first().map_or(NONE, |tree| tree.outputs())
}

/// Returns the threshold of a split, or zero if it lists categories.
fn threshold(node: &Node) -> f32 {
    if node.tests_categories() { 0.0 } else { node.threshold() }
}

/// Returns a tensor with one number for each leaf, or for each node if the numbers of splits are not the sums over
/// their children.
fn statistic(all: &[Placed<'_>], name: &'static str, of: impl Fn(&Tree, usize) -> f64) -> Result<Tensor> {
    let is_sum = |placed: &Placed<'_>| {
        placed.splits().all(|(tree, i)| of(tree, i + 1) + of(tree, tree.nodes[i].right() as usize) == of(tree, i))
    };
    if all.iter().all(is_sum) {
        narrowest(name, || all.iter().flat_map(Placed::leaves).map(|(tree, i)| of(tree, i)))
    } else {
        let nodes = |placed: &Placed<'_>| placed.tree.n_nodes();
        narrowest(name, || all.iter().flat_map(|placed| (0..nodes(placed)).map(|i| of(placed.tree, i))))
    }
}

/// A tree with the lists of its splits and its leaves, which are computed once for all tensors.
struct Placed<'t> {
    tree: &'t Tree,
    splits: Vec<u32>,
    leaves: Vec<u32>,
}

impl<'t> Placed<'t> {
    fn new(tree: &'t Tree) -> Result<Self> {
        // Each node is written to both lists, and kept in one of them. This avoids a branch, which the processor could
        // not predict. There is one leaf more than there are splits, and the last node is a leaf.
        let n_splits = tree.n_nodes() / 2;
        let mut splits = try_filled(WHAT, 0, n_splits + 1)?;
        let mut leaves = try_filled(WHAT, 0, n_splits + 1)?;
        let mut ends = [0, 0];
        for (i, node) in tree.nodes.iter().enumerate() {
            splits[ends[0]] = i as u32;
            leaves[ends[1]] = i as u32;
            ends[0] += usize::from(!node.is_leaf());
            ends[1] += usize::from(node.is_leaf());
        }
        splits.truncate(n_splits);
        Ok(Placed { tree, splits, leaves })
    }

    /// Returns the nodes that are splits, in order.
    fn splits(&self) -> impl Iterator<Item = (&'t Tree, usize)> {
        self.splits.iter().map(|&i| (self.tree, i as usize))
    }

    /// Returns the nodes that are leaves, in order.
    fn leaves(&self) -> impl Iterator<Item = (&'t Tree, usize)> {
        self.leaves.iter().map(|&i| (self.tree, i as usize))
    }
}

fn layout(leaves: &LeafTable, outputs: &Outputs) -> u8 {
    let cells = match &leaves.layout {
        Layout::Dense => 0,
        Layout::Sparse { .. } => SPARSE,
        Layout::Rows { .. } => ROWS,
    };
    let counts = if leaves.totals.is_some() { COUNTS } else { 0 };
    let partial = if sums(leaves, outputs) == Sums::One { 0 } else { PARTIAL };
    cells | counts | partial | type_bits(&leaves.amounts, leaves.scales.as_deref())
}

/// Returns the bits for the type of floats, which cannot be seen from the numbers.
pub(super) fn type_bits(amounts: &Amounts, scales: Option<&[f64]>) -> u8 {
    let precision = match amounts {
        Amounts::I8(_) => BYTES,
        Amounts::F16(_) => HALF,
        Amounts::F32(_) => SINGLE,
        Amounts::U8(_) | Amounts::U16(_) | Amounts::U32(_) | Amounts::F64(_) => 0,
    };
    precision | if scales.is_some() { SCALED } else { 0 }
}

/// Whole numbers in the type in which the model stores them.
enum Whole<'t> {
    U8(&'t [u8]),
    U16(&'t [u16]),
    U32(&'t [u32]),
}

/// Evaluates `$body` with the numbers of `$whole`, a slice of any of the types.
macro_rules! with_slice {
    ($whole:expr, |$slice:ident| $body:expr) => {
        match $whole {
            Whole::U8($slice) => $body,
            Whole::U16($slice) => $body,
            Whole::U32($slice) => $body,
        }
    };
}

/// Returns the same tensor as [`narrowest`] for the same numbers.
#[expect(clippy::useless_conversion, clippy::unnecessary_cast, reason = "one code for slices of three types")]
fn whole<'t, I: Iterator<Item = Whole<'t>>>(name: &'static str, parts: impl Fn() -> I) -> Result<Tensor> {
    let (mut n, mut largest) = (0, 0u32);
    parts().for_each(|part| {
        with_slice!(part, |slice| {
            n += slice.len();
            largest = largest.max(slice.iter().fold(0, |most, &v| most.max(v)).into());
        });
    });
    Ok(match largest {
        l if l <= u8::MAX.into() => {
            let mut bytes: Vec<u8> = try_with_capacity(WHAT, n)?;
            parts().for_each(|part| with_slice!(part, |slice| bytes.extend(slice.iter().map(|&v| v as u8))));
            Tensor::new(name, Dtype::U8, bytes)
        }
        // Whole numbers above 65 535 do not fit into 16 bits; the largest float16 is smaller.
        l if l <= u16::MAX.into() => spread(name, Dtype::U16, n, parts(), |v| (v as u16).to_le_bytes())?,
        _ => spread(name, Dtype::U32, n, parts(), u32::to_le_bytes)?,
    })
}

#[expect(clippy::useless_conversion, reason = "one code for slices of three types")]
fn spread<'t, const N: usize>(
    name: &'static str,
    dtype: Dtype,
    n: usize,
    parts: impl Iterator<Item = Whole<'t>>,
    encode: impl Fn(u32) -> [u8; N],
) -> Result<Tensor> {
    /// The number of values that are encoded at a time, so that they stay in the cache.
    const AT_ONCE: usize = 1 << 12;
    let mut bytes: Vec<u8> = try_with_capacity(WHAT, n * N)?;
    let mut encoded = [[0; N]; AT_ONCE];
    parts.for_each(|part| {
        with_slice!(part, |slice| for few in slice.chunks(AT_ONCE) {
            encoded.iter_mut().zip(few).for_each(|(bytes, &v)| *bytes = encode(v.into()));
            bytes.extend_from_slice(encoded[..few.len()].as_flattened());
        });
    });
    Ok(Tensor::new(name, dtype, bytes))
}

/// Returns the features of all nodes, with the largest number of the type for leaves. The type has 16 bits if this
/// number is not a feature.
fn features(trees: &[Arc<Tree>], n_features: usize) -> Result<Tensor> {
    let nodes = || trees.iter().flat_map(|tree| &tree.nodes);
    let n = trees.iter().map(|tree| tree.n_nodes()).sum();
    if n_features <= usize::from(u16::MAX) {
        // The mark of leaves, 2³² − 1, becomes 2¹⁶ − 1.
        bytes("features", Dtype::U16, n, nodes().map(|node| (node.feature() as u16).to_le_bytes()))
    } else {
        bytes("features", Dtype::U32, n, nodes().map(|node| node.feature().to_le_bytes()))
    }
}

fn floats<I: Iterator<Item = f32>>(name: &'static str, values: impl Fn() -> I) -> Result<Tensor> {
    bytes(name, Dtype::F32, values().count(), values().map(f32::to_le_bytes))
}

/// Returns `values` in the narrowest of u8, u16, f16, u32, f32 and f64 that can represent all of them exactly.
///
/// The iterators are run by `for_each`, which turns nested iterators into nested loops.
pub(super) fn narrowest<I: Iterator<Item = f64>>(name: &'static str, values: impl Fn() -> I) -> Result<Tensor> {
    let (mut n, mut largest) = (0, 0.0f64);
    let (mut whole, mut single) = (true, true);
    values().for_each(|v| {
        n += 1;
        largest = largest.max(v);
        whole &= f64::from(v as u32) == v;
        single &= f64::from(v as f32) == v;
    });
    let in_half = |v: f64| v.abs() <= Half::LARGEST && f64::from(Half::nearest(v)) == v;
    match largest {
        l if whole && l <= u8::MAX.into() => bytes(name, Dtype::U8, n, values().map(|v| (v as u8).to_le_bytes())),
        l if whole && l <= u16::MAX.into() => bytes(name, Dtype::U16, n, values().map(|v| (v as u16).to_le_bytes())),
        _ if values().all(in_half) => {
            bytes(name, Dtype::F16, n, values().map(|v| Half::nearest(v).bits().to_le_bytes()))
        }
        _ if whole => bytes(name, Dtype::U32, n, values().map(|v| (v as u32).to_le_bytes())),
        _ if single => bytes(name, Dtype::F32, n, values().map(|v| (v as f32).to_le_bytes())),
        _ => bytes(name, Dtype::F64, n, values().map(f64::to_le_bytes)),
    }
}

/// Returns a tensor of `n` values.
pub(super) fn bytes<const N: usize>(
    name: &'static str,
    dtype: Dtype,
    n: usize,
    values: impl Iterator<Item = [u8; N]>,
) -> Result<Tensor> {
    let mut bytes: Vec<u8> = try_with_capacity(WHAT, n * N)?;
    values.for_each(|value| bytes.extend_from_slice(&value));
    Ok(Tensor::new(name, dtype, bytes))
}

impl Parts {
    /// Puts the tensors in order of decreasing width of their types, so that each of them is aligned.
    pub(super) fn new(header: &Header, mut tensors: Vec<Tensor>, extra: &Extra) -> Result<Self> {
        tensors.extend(extra.tensors()?);
        tensors.sort_by(|a, b| b.dtype.bitsize().cmp(&a.dtype.bitsize()).then_with(|| a.name.cmp(&b.name)));
        let mut end = 0;
        let infos: Vec<TensorInfo> = tensors
            .iter_mut()
            .map(|tensor| {
                let start = end;
                end += tensor.bytes.len();
                let whole = || vec![tensor.bytes.len() * 8 / tensor.dtype.bitsize()];
                let shape = tensor.shape.take().unwrap_or_else(whole);
                TensorInfo { dtype: tensor.dtype, shape, data_offsets: (start, end) }
            })
            .collect();
        let named = tensors.iter().map(|tensor| tensor.name.to_string()).zip(&infos);
        let start = header::text(header, extra.estimator.as_deref(), named)?;
        Ok(Parts { start, tensors })
    }

    /// Returns the file as one array of bytes.
    pub(super) fn into_bytes(self) -> Result<Vec<u8>> {
        let n_data: usize = self.tensors.iter().map(|tensor| tensor.bytes.len()).sum();
        let mut file = try_with_capacity(WHAT, self.start.len() + n_data)?;
        file.extend_from_slice(&self.start);
        self.tensors.iter().for_each(|tensor| file.extend_from_slice(&tensor.bytes));
        Ok(file)
    }

    /// Writes the file to `path`, without a copy of it in memory.
    pub(super) fn write(self, path: &Path) -> Result<()> {
        disk::write(path, std::iter::once(&self.start[..]).chain(self.tensors.iter().map(|tensor| &tensor.bytes[..])))
    }
}
