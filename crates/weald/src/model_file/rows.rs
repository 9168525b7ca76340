//! Leaves that refer to stored samples, and their sets of samples: see the tables of `model_file`.
//!
//! Each set is written once. Reading checks that the samples of a leaf are in increasing order and in their set, that
//! units are whole and positive, and that the slots of a sample are in increasing order and are columns of predictions.
//! Slots of classes must contain one class of each output.

use std::sync::Arc;

use safetensors::Dtype;

use super::amounts::{counts, means, scales};
use super::bits::{Bits, packed, width_below};
use super::codec::tensors;
use super::lengths::{NUMBERS, WHOLE};
use super::places::{Places, sum_up};
use super::read::{File, TensorReader, Whole};
use super::tensor::{Tensor, narrowest, type_bits};
use super::{COUNTS, HALF, SCALED, SINGLE};
use crate::data::Outputs;
use crate::error::{Error, Purpose, Result};
use crate::tree::leaves::{Amounts, Indices, Layout, StoredRows, StoredValues};
use crate::tree::{LeafTable, Node, Tree};

const PURPOSE: Purpose = Purpose("the model");

/// One bit for each unit takes at most one byte per sample if samples have at most this many units on average.
/// Bootstrap samples have 1.6 to 2.
const MOST_UNITS_A_ROW: f64 = 8.0;

/// The sum of units of a tree must be exact in float64.
const MOST_UNITS: f64 = (1u64 << 53) as f64;

/// Returns the stored samples of leaves, if leaves refer to stored samples.
fn rows(leaves: &LeafTable) -> Option<(&[u32], &Indices, &Arc<StoredRows>)> {
    match &leaves.layout {
        Layout::Rows { ptr, ids, stored } => Some((ptr, ids, stored)),
        Layout::Dense | Layout::Sparse { .. } | Layout::Inherited(_) => None,
    }
}

/// Returns whether the weights of all nodes are sums of the units of their samples.
pub(super) fn weights_follow(tree: &Tree) -> bool {
    let Some((ptr, ..)) = rows(&tree.leaves) else { return false };
    let units = &tree.leaves.amounts;
    tree.nodes.iter().enumerate().all(|(i, node)| {
        let right = node.right() as usize;
        let weight = if node.is_leaf() {
            (ptr[right]..ptr[right + 1]).map(|row| units.at(row as usize)).sum::<f64>()
        } else {
            tree.weighted_n_node_samples[i + 1] + tree.weighted_n_node_samples[right]
        };
        weight == tree.weighted_n_node_samples[i]
    })
}

/// Returns whether the weights of leaves are the sums of the units of their samples.
pub(super) fn leaf_weights_follow(leaves: &LeafTable, weights: impl Iterator<Item = f64>) -> bool {
    let Some((ptr, ..)) = rows(leaves) else { return false };
    let units = |leaf: &[u32]| (leaf[0]..leaf[1]).map(|row| leaves.amounts.at(row as usize)).sum::<f64>();
    ptr.windows(2).map(units).eq(weights)
}

/// Returns the tensors of leaves that refer to stored samples, and of their sets. It is empty if there are no such
/// leaves.
pub(super) fn tensors(all: &[&LeafTable]) -> Result<Vec<Tensor>> {
    let tables = || all.iter().filter_map(|leaves| rows(leaves).map(|(_, ids, _)| (*leaves, ids)));
    let mut sets: Vec<&Arc<StoredRows>> = Vec::new();
    let mut set_of: Vec<f64> = Vec::new();
    for (.., stored) in all.iter().filter_map(|leaves| rows(leaves)) {
        let found =
            sets.iter().position(|set| Arc::ptr_eq(set, stored)).or_else(|| sets.iter().position(|set| *set == stored));
        set_of.push(found.unwrap_or(sets.len()) as f64);
        if found.is_none() {
            sets.push(stored);
        }
    }
    if sets.is_empty() {
        return Ok(Vec::new());
    }
    let units = || tables().flat_map(|(leaves, _)| (0..leaves.n_stored()).map(|row| leaves.amounts.at(row)));
    let mut tensors = vec![
        packed("row_ids", id_bits(sets.iter().map(|set| set.n_rows)), {
            tables().flat_map(|(leaves, ids)| (0..leaves.n_stored()).map(|row| ids.at(row).into()))
        })?,
        narrowest("set_rows", || sets.iter().map(|set| set.n_rows as f64))?,
        narrowest("set_layout", || sets.iter().map(|set| layout(set).into()))?,
    ];
    let (n_rows, n_units) = (units().count(), units().sum::<f64>());
    if n_units <= MOST_UNITS_A_ROW * n_rows as f64 {
        if n_units > n_rows as f64 {
            let ends = units().flat_map(|units| (1..=units as u64).map(move |unit| u64::from(unit == units as u64)));
            tensors.push(packed("row_ends", 1, ends)?);
        }
    } else {
        tensors.push(narrowest("row_units", units)?);
    }
    if sets.len() > 1 {
        tensors.push(narrowest("row_set", || set_of.iter().copied())?);
    }
    let slots = || {
        sets.iter().filter_map(|set| match &set.values {
            StoredValues::Slots { ptr, slots } => Some((ptr, slots)),
            StoredValues::Numbers { .. } => None,
        })
    };
    let numbers = || {
        sets.iter().filter_map(|set| match &set.values {
            StoredValues::Slots { .. } => None,
            StoredValues::Numbers { values, scales } => Some((values, scales)),
        })
    };
    if slots().next().is_some() {
        tensors.push(narrowest("set_sizes", || {
            slots().flat_map(|(ptr, _)| ptr.windows(2).map(|row| f64::from(row[1] - row[0])))
        })?);
        tensors.push(packed("set_slots", width_below(sets[0].width), {
            slots().flat_map(|(ptr, slots)| (0..ptr[ptr.len() - 1] as usize).map(|i| slots.at(i).into()))
        })?);
    }
    if numbers().next().is_some() {
        tensors.push(narrowest("set_values", || {
            numbers().flat_map(|(values, _)| (0..values.len()).map(|i| values.at(i)))
        })?);
    }
    if numbers().any(|(_, scales)| scales.is_some()) {
        tensors.push(narrowest("set_scales", || numbers().flat_map(|(_, scales)| scales.iter().flatten().copied()))?);
    }
    Ok(tensors)
}

fn layout(set: &StoredRows) -> u8 {
    match &set.values {
        StoredValues::Slots { .. } => COUNTS,
        StoredValues::Numbers { values, scales } => type_bits(values, scales.as_deref()),
    }
}

/// Returns the number of bits of the indices of samples, for sets with these sizes.
fn id_bits(n_rows: impl Iterator<Item = usize>) -> u32 {
    width_below(n_rows.max().unwrap_or(0))
}

/// The tensors of numbers of a few bits each.
#[derive(Debug)]
pub(super) struct Packed<'f> {
    ids: Option<Whole<'f>>,
    ends: Option<Whole<'f>>,
    pub(super) missing_sides: Option<Whole<'f>>,
    pub(super) category_splits: Option<Whole<'f>>,
}

impl<'f> Packed<'f> {
    pub(super) fn new(file: &'f File<'_>) -> Result<Self> {
        Ok(Packed {
            ids: file.whole("row_ids")?,
            ends: file.whole("row_ends")?,
            missing_sides: file.whole("missing_sides")?,
            category_splits: file.whole("category_splits")?,
        })
    }
}

tensors! {
    OF_ROWS, Stored {}
    optional {
        row_set: WHOLE,
        row_units: NUMBERS,
        set_layout: &[Dtype::U8],
        set_scales: NUMBERS,
        set_sizes: WHOLE,
        set_values: NUMBERS,
    }
    others {
        row_ends: &[Dtype::U8],
        row_ids: &[Dtype::U8],
        set_rows: WHOLE,
        set_slots: &[Dtype::U8],
    }
}

/// The parts of the tensors of stored samples that later trees will read, and the sets.
#[derive(Debug)]
pub(super) struct RowTensors<'f> {
    of: Stored<'f>,
    ids: Option<Bits<'f>>,
    id_bits: u32,
    ends: Option<Bits<'f>>,
    sets: Vec<Arc<StoredRows>>,
}

/// The stored samples of the leaves of one tree.
#[derive(Debug)]
pub(super) struct RowLists {
    pub(super) ptr: Vec<u32>,
    pub(super) ids: Indices,
    pub(super) units: Amounts,
    pub(super) stored: Arc<StoredRows>,
}

impl<'f> RowTensors<'f> {
    pub(super) fn new(file: &'f File<'_>, packed: &'f Packed<'_>) -> Result<Self> {
        let mut of = Stored::new(file)?;
        let sets = sets(file, &mut of)?;
        Ok(RowTensors {
            of,
            ids: packed.ids.as_ref().map(Bits::new).transpose()?,
            id_bits: id_bits(sets.iter().map(|set| set.n_rows)),
            ends: packed.ends.as_ref().map(Bits::new).transpose()?,
            sets,
        })
    }

    pub(super) fn finish(&self) -> Result<()> {
        [self.ids, self.ends].into_iter().flatten().try_for_each(Bits::finish)?;
        self.of.finish()
    }

    /// Reads the samples of the next tree whose leaves refer to stored samples. `n_samples` is the number of samples of
    /// each leaf.
    pub(super) fn next(&mut self, n_samples: impl ExactSizeIterator<Item = u32>) -> Result<RowLists> {
        let set = match &mut self.of.row_set {
            Some(set) => set.one()?,
            None => 0.0,
        };
        let set = if set.fract() == 0.0 && set >= 0.0 { self.sets.get(set as usize) } else { None };
        let stored =
            Arc::clone(set.ok_or_else(|| Error::corrupt("a tree refers to a set of samples that does not exist"))?);
        let mut ptr = PURPOSE.with_capacity(n_samples.len() + 1)?;
        let mut end = 0u32;
        ptr.push(end);
        for n in n_samples {
            // The samples of a leaf are distinct, so there are no more than the set has. Without this check, packed
            // bits could require far more memory than the file has bytes.
            if n as usize > stored.n_rows {
                return Err(Error::corrupt("a leaf has more samples than its set"));
            }
            end = end.checked_add(n).ok_or_else(|| Error::corrupt("the leaves of a tree have 2^32 samples or more"))?;
            ptr.push(end);
        }
        let found = self.ids.as_mut().ok_or_else(|| Error::corrupt("there is no `row_ids`"))?;
        let mut found = found.take(end as usize, self.id_bits)?;
        let mut ids = Indices::for_width(stored.n_rows);
        ids.try_reserve(PURPOSE, found.len())?;
        for leaf in ptr.windows(2) {
            let mut least = 0;
            for id in found.by_ref().take((leaf[1] - leaf[0]) as usize) {
                if !(least..stored.n_rows).contains(&(id as usize)) {
                    return Err(Error::corrupt("the samples of a leaf are out of range or not in increasing order"));
                }
                ids.push(id)?;
                least = id as usize + 1;
            }
        }
        let units = match (&mut self.of.row_units, &mut self.ends) {
            (Some(units), _) => counts(units, end as usize)?,
            (None, Some(ends)) => {
                let mut units = Amounts::U8(PURPOSE.with_capacity(end as usize)?);
                for _ in 0..end {
                    units.push(ends.zeros()? + 1)?;
                }
                units
            }
            (None, None) => Amounts::U8(PURPOSE.filled(1, end as usize)?),
        };
        let all = || (0..units.len()).map(|row| units.at(row));
        if all().any(|units| units < 1.0) || all().sum::<f64>() > MOST_UNITS {
            return Err(Error::corrupt("the units of samples are not positive, or their sum is too large"));
        }
        Ok(RowLists { ptr, ids, units, stored })
    }
}

impl RowLists {
    /// Returns the sums of the units of the samples of leaves.
    pub(super) fn leaf_weights(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.ptr.windows(2).map(|ends| (ends[0]..ends[1]).map(|row| self.units.at(row as usize)).sum())
    }

    /// Returns the sums of the units of the samples of all nodes.
    pub(super) fn weights(&self, nodes: &[Node], places: &Places) -> Result<Vec<f64>> {
        let mut weights = PURPOSE.filled(0.0, nodes.len())?;
        for (&place, weight) in places.leaves.iter().zip(self.leaf_weights()) {
            weights[place as usize] = weight;
        }
        sum_up(nodes, places, &mut weights);
        Ok(weights)
    }
}

/// Reads all sets of stored samples of a file.
fn sets(file: &File<'_>, of: &mut Stored<'_>) -> Result<Vec<Arc<StoredRows>>> {
    let slots = file.whole("set_slots")?;
    let mut slots = slots.as_ref().map(Bits::new).transpose()?;
    let mut sets = Vec::new();
    if let Some(mut set_rows) = file.optional("set_rows")? {
        PURPOSE.reserve(&mut sets, set_rows.len())?;
        let width = file.head.header.outputs.width();
        let is_real = matches!(file.head.header.outputs, Outputs::Real { .. });
        let n_sets = set_rows.len();
        for n_rows in set_rows.whole(PURPOSE, n_sets)? {
            let n_rows = n_rows as usize;
            let layout = there(&mut of.set_layout, "set_layout")?.one()?;
            let known = if is_real { [0, SINGLE, HALF, SINGLE | SCALED, HALF | SCALED].as_slice() } else { &[COUNTS] };
            let layout = known.iter().copied().find(|&known| f64::from(known) == layout);
            let layout = layout.ok_or_else(|| Error::corrupt("the layout of a set of samples is unknown"))?;
            let values = if is_real {
                let n_values = n_rows.checked_mul(width);
                let n_values = n_values.ok_or_else(|| Error::corrupt("`set_values` is too short"))?;
                let values = means(there(&mut of.set_values, "set_values")?, n_values, layout)?;
                let scales = if layout & SCALED == 0 { None } else { Some(scales(&mut of.set_scales, width)?) };
                let value = |i: usize| scales.as_ref().map_or(1.0, |scales| scales[i % width]) * values.at(i);
                if !(0..values.len()).all(|i| value(i).is_finite()) {
                    return Err(Error::corrupt("a value of a stored sample is not finite"));
                }
                StoredValues::Numbers { values, scales }
            } else {
                let found = slots_of(there(&mut of.set_sizes, "set_sizes")?, n_rows, &mut slots, width)?;
                check_classes(&found, &file.head.header.outputs)?;
                found
            };
            sets.push(Arc::new(StoredRows { n_rows, width, values }));
        }
    }
    slots.map_or(Ok(()), Bits::finish)?;
    Ok(sets)
}

fn there<'s, 'f>(stream: &'s mut Option<TensorReader<'f>>, name: &str) -> Result<&'s mut TensorReader<'f>> {
    stream.as_mut().ok_or_else(|| Error::corrupt(format!("there is no `{name}`")))
}

fn slots_of(
    sizes: &mut TensorReader<'_>,
    n_rows: usize,
    stored: &mut Option<Bits<'_>>,
    width: usize,
) -> Result<StoredValues> {
    let ptr = sizes.offsets(n_rows, 0u32, |end, size| {
        if size as usize > width {
            return Err(Error::corrupt("a stored sample has more slots than there are columns"));
        }
        end.checked_add(size).ok_or_else(|| Error::corrupt("the stored samples have 2^32 slots or more"))
    })?;
    let stored = stored.as_mut().ok_or_else(|| Error::corrupt("there is no `set_slots`"))?;
    let mut stored = stored.take(ptr[n_rows] as usize, width_below(width))?;
    let mut slots = Indices::for_width(width);
    slots.try_reserve(PURPOSE, stored.len())?;
    for row in ptr.windows(2) {
        let mut least = 0;
        for slot in stored.by_ref().take((row[1] - row[0]) as usize) {
            if !(least..width).contains(&(slot as usize)) {
                return Err(Error::corrupt("the slots of a stored sample are out of range or not in increasing order"));
            }
            slots.push(slot)?;
            least = slot as usize + 1;
        }
    }
    Ok(StoredValues::Slots { ptr, slots })
}

/// Checks that a sample has one class of each output, if the outputs are classes.
fn check_classes(values: &StoredValues, outputs: &Outputs) -> Result<()> {
    let (StoredValues::Slots { ptr, slots }, Outputs::Classes { n_classes }) = (values, outputs) else {
        return Ok(());
    };
    let has_each = |row: &[u32]| {
        let mut columns = 0..0;
        let mut has = |(output, &k): (usize, &u32)| {
            columns = columns.end..columns.end + k;
            columns.contains(&slots.at(row[0] as usize + output))
        };
        (row[1] - row[0]) as usize == n_classes.len() && n_classes.iter().enumerate().all(&mut has)
    };
    if ptr.windows(2).all(has_each) {
        Ok(())
    } else {
        Err(Error::corrupt("a stored sample does not have one class of each output"))
    }
}
