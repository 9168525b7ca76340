//! Writing: the tensors of a forest, each in the narrowest type that holds all of its numbers exactly.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use safetensors::Dtype;
use safetensors::tensor::TensorInfo;

use super::extra::Extra;
use super::header::{self, Header};
use super::{COUNTS, HALF, ROWS, SCALED, SINGLE, SPARSE, disk, rows};
use crate::error::{Error, Result, try_with_capacity};
use crate::forest::Forest;
use crate::tree::Tree;
use crate::tree::leaves::{Amounts, Half, Layout};

pub(super) const WHAT: &str = "the bytes of the model";

/// A named array in little-endian bytes.
#[derive(Debug)]
pub(super) struct Tensor {
    pub(super) name: Cow<'static, str>,
    pub(super) dtype: Dtype,
    /// `None` for one dimension.
    pub(super) shape: Option<Vec<usize>>,
    pub(super) bytes: Vec<u8>,
}

/// A file in parts: what lies before the arrays, and the arrays in their order.
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
    /// The forest as a safetensors file. Equal forests give equal bytes.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] for a forest without trees, [`crate::ErrorKind::OutOfMemory`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.parts(&Extra::default())?.into_bytes()
    }

    pub(super) fn parts(&self, extra: &Extra) -> Result<Parts> {
        let first = self.trees.first().ok_or_else(|| Error::invalid("forest", "without trees", "at least one tree"))?;
        let (n_features, outputs) = (self.n_features, self.outputs.clone());
        let header = Header { n_features, outputs, criterion: first.criterion, boosting: None, compression: None };
        Parts::new(&header, tensors(&self.trees, n_features)?, extra)
    }
}

impl Tensor {
    /// One row of numbers.
    pub(super) fn new(name: &'static str, dtype: Dtype, bytes: Vec<u8>) -> Self {
        Tensor { name: name.into(), dtype, shape: None, bytes }
    }
}

/// The tensors of trees, in their order.
pub(super) fn tensors(all: &[Arc<Tree>], n_features: usize) -> Result<Vec<Tensor>> {
    let trees = || all.iter().map(|tree| &**tree);
    let sparse = || trees().filter(|tree| tree.leaves.is_sparse());
    let listed = || trees().filter(|tree| !tree.leaves.has_rows());
    let mut tensors = vec![
        narrowest("n_nodes", || trees().map(|tree| tree.n_nodes() as f64))?,
        features(all, n_features)?,
        floats("thresholds", || trees().flat_map(splits).map(|(tree, i)| tree.nodes[i].threshold))?,
        narrowest("split_impurity", || trees().flat_map(splits).map(|(tree, i)| tree.impurity[i]))?,
        narrowest("leaf_layout", || trees().map(|tree| layout(tree).into()))?,
        narrowest("leaf_sizes", || {
            sparse().flat_map(|tree| (0..tree.n_leaves()).map(|leaf| tree.leaves.range(leaf).len() as f64))
        })?,
        narrowest("leaf_columns", || sparse().flat_map(columns))?,
        narrowest("leaf_amounts", || {
            listed().flat_map(|tree| (0..tree.leaves.n_stored()).map(|cell| tree.leaves.amounts.at(cell)))
        })?,
    ];
    if trees().any(|tree| tree.leaves.scales.is_some()) {
        tensors
            .push(narrowest("leaf_scales", || trees().flat_map(|tree| tree.leaves.scales.iter().flatten().copied()))?);
    }
    tensors.extend(rows::tensors(all)?);
    if trees().flat_map(leaves).any(|(tree, i)| tree.impurity[i] != 0.0) {
        tensors.push(narrowest("leaf_impurity", || trees().flat_map(leaves).map(|(tree, i)| tree.impurity[i]))?);
    }
    let n_samples = |tree: &Tree, i: usize| f64::from(tree.n_node_samples[i]);
    let weight = |tree: &Tree, i: usize| tree.weighted_n_node_samples[i];
    tensors.push(statistic(all, "n_node_samples", n_samples)?);
    let follows = |tree: &Tree| {
        if tree.leaves.has_rows() {
            rows::weights_follow(tree)
        } else {
            (0..tree.n_nodes()).all(|i| n_samples(tree, i) == weight(tree, i))
        }
    };
    if !trees().all(follows) {
        tensors.push(statistic(all, "weights", weight)?);
    }
    let totals = || {
        let with_total = |(tree, i): (&'_ Tree, usize)| {
            tree.leaves.total(tree.nodes[i].right as usize).map(|total| (total, weight(tree, i)))
        };
        listed().flat_map(leaves).filter_map(with_total)
    };
    if totals().any(|(total, weight)| total != weight) {
        tensors.push(narrowest("leaf_totals", || totals().map(|(total, _)| total))?);
    }
    Ok(tensors)
}

/// A number of each leaf, or of each node where splits are not the sums of their children.
fn statistic(all: &[Arc<Tree>], name: &'static str, of: impl Fn(&Tree, usize) -> f64) -> Result<Tensor> {
    let is_sum = |tree: &Tree| {
        splits(tree).all(|(_, i)| of(tree, i + 1) + of(tree, tree.nodes[i].right as usize) == of(tree, i))
    };
    let trees = || all.iter().map(|tree| &**tree);
    if trees().all(is_sum) {
        narrowest(name, || trees().flat_map(leaves).map(|(tree, i)| of(tree, i)))
    } else {
        narrowest(name, || {
            trees().flat_map(|tree| (0..tree.n_nodes()).map(move |i| (tree, i))).map(|(tree, i)| of(tree, i))
        })
    }
}

/// Nodes of `tree` that are splits, in order.
fn splits(tree: &Tree) -> impl Iterator<Item = (&Tree, usize)> {
    (0..tree.n_nodes()).filter(|&i| !tree.nodes[i].is_leaf()).map(move |i| (tree, i))
}

/// Nodes of `tree` that are leaves, in order.
fn leaves(tree: &Tree) -> impl Iterator<Item = (&Tree, usize)> {
    (0..tree.n_nodes()).filter(|&i| tree.nodes[i].is_leaf()).map(move |i| (tree, i))
}

fn layout(tree: &Tree) -> u8 {
    let cells = match &tree.leaves.layout {
        Layout::Dense => 0,
        Layout::Sparse { .. } => SPARSE,
        Layout::Rows { .. } => ROWS,
    };
    let counts = if tree.leaves.totals.is_some() { COUNTS } else { 0 };
    cells | counts | type_bits(&tree.leaves.amounts, tree.leaves.scales.as_deref())
}

/// Bits of the type of floats, where the numbers alone do not tell.
pub(super) fn type_bits(amounts: &Amounts, scales: Option<&[f64]>) -> u8 {
    let precision = match amounts {
        Amounts::F16(_) => HALF,
        Amounts::F32(_) => SINGLE,
        _ => 0,
    };
    precision | if scales.is_some() { SCALED } else { 0 }
}

fn columns(tree: &Tree) -> impl Iterator<Item = f64> {
    let stored = 0..tree.leaves.n_stored();
    stored.filter_map(|cell| match &tree.leaves.layout {
        Layout::Dense | Layout::Rows { .. } => None,
        Layout::Sparse { columns, .. } => Some(columns.at(cell).into()),
    })
}

/// Features of all nodes, the largest number of the type in leaves: 16 bits where that is no feature.
fn features(trees: &[Arc<Tree>], n_features: usize) -> Result<Tensor> {
    let nodes = || trees.iter().flat_map(|tree| &tree.nodes);
    let n = trees.iter().map(|tree| tree.n_nodes()).sum();
    if n_features <= usize::from(u16::MAX) {
        // The mark of leaves, 2³² − 1, is cut to 2¹⁶ − 1.
        bytes("features", Dtype::U16, n, nodes().map(|node| (node.feature as u16).to_le_bytes()))
    } else {
        bytes("features", Dtype::U32, n, nodes().map(|node| node.feature.to_le_bytes()))
    }
}

fn floats<I: Iterator<Item = f32>>(name: &'static str, values: impl Fn() -> I) -> Result<Tensor> {
    bytes(name, Dtype::F32, values().count(), values().map(f32::to_le_bytes))
}

/// `values` in the narrowest of u8, u16, f16, u32, f32 and f64 that holds all of them exactly.
///
/// They are gone through by `for_each`: of iterators within iterators that is loops within loops.
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

/// A tensor of `n` values.
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
    /// Wide types first, so that every tensor is aligned.
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

    /// The file as one array of bytes.
    pub(super) fn into_bytes(self) -> Result<Vec<u8>> {
        let n_data: usize = self.tensors.iter().map(|tensor| tensor.bytes.len()).sum();
        let mut file = try_with_capacity(WHAT, self.start.len() + n_data)?;
        file.extend_from_slice(&self.start);
        self.tensors.iter().for_each(|tensor| file.extend_from_slice(&tensor.bytes));
        Ok(file)
    }

    /// Puts the file at `path`, without a copy of it.
    pub(super) fn write(self, path: &Path) -> Result<()> {
        disk::write(path, std::iter::once(&self.start[..]).chain(self.tensors.iter().map(|tensor| &tensor.bytes[..])))
    }
}
