//! Fits centroid forests: what all trees share is prepared once, then each tree is grown independently.

use std::ops::Range;
use std::sync::Arc;

use super::grow::{Alike, Ground, Grown, Sample, grow};
use super::parents::Parents;
use super::project::{Draw, Projector};
use super::vectors::{Preparation, Vectors, inverse_document_frequencies};
use super::{CentroidForest, CentroidForestConfig, CentroidTree};
use crate::control::Control;
use crate::criterion::Criterion;
use crate::data::dataset::Names;
use crate::data::sparse_targets::SparseNumbers;
use crate::data::train_y::TrainY;
use crate::data::weights::RowUnits;
use crate::data::{Dataset, Outputs, SparseTargets, Targets, Weights};
use crate::error::{Error, Purpose, Result};
use crate::exact::reduce::Workers;
use crate::forest::bootstrap::tree_key;
use crate::forest::draws::{Draw as TreeDraw, Draws};
use crate::rng::Key;
use crate::rounds::side_by_side;
use crate::tree::fill;
use crate::tree::growth::grower::TreeTargets;
use crate::tree::leaves::{Amounts, Indices, StoredRows};
use crate::tree::masked_fill::{self, Nodes, Tables};
use crate::tree::{LeafTable, growth::grow::Structure};

const PURPOSE: Purpose = Purpose("the samples of a tree");

/// Purpose of the key of a tree.
pub(super) const GROWTH: u64 = u64::from_be_bytes(*b"centroid");

/// Whole weights are treated as counts if their mean is at most this, as in a bootstrap.
const MOST_COPIES: f64 = 64.0;

impl CentroidForestConfig {
    /// Fits the forest. Trees are grown on the threads of the control.
    ///
    /// `data` is a [`Dataset`] or a pair of X, (n_samples, n_features), and y: labels, classes or numerical outputs. Cells
    /// of y may be unknown, see the description of the module.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::Shape`] if parameters or data are not valid,
    /// [`crate::ErrorKind::OutOfMemory`] when there is not enough memory, and [`crate::ErrorKind::Interrupted`] when
    /// its control is stopped.
    ///
    /// ```
    /// use weald::{CentroidForestConfig, LabelView, Matrix};
    ///
    /// // Four documents over five words (CSR), and their tags out of three (CSR without values).
    /// let x = Matrix::csr(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
    /// let y = LabelView::try_new(vec![0, 1, 2, 3, 4], vec![0, 0, 2, 2], 3)?;
    /// let config = CentroidForestConfig::default().n_trees(5).max_leaf_samples(1).leaf_shrinkage(0.0);
    /// let forest = config.fit((&x, y))?;
    /// let best = forest.predict_topk(&x, 1)?;
    /// assert_eq!(best.indices.column(0).to_vec(), [0, 0, 2, 2]);
    /// # Ok::<(), weald::Error>(())
    /// ```
    pub fn fit<'d>(&self, data: impl Into<Dataset<'d>>) -> Result<CentroidForest> {
        self.fit_trees(0..self.n_trees, data)
    }

    /// Fits some of the trees of the forest, those with the given indices. Parts that are fitted separately and then
    /// [merged](CentroidForest::merge) in order are equal to the forest that is fitted at once.
    ///
    /// # Errors
    /// The same as for [`CentroidForestConfig::fit`].
    pub fn fit_trees<'d>(&self, trees: Range<usize>, data: impl Into<Dataset<'d>>) -> Result<CentroidForest> {
        let data = data.into();
        let control = &data.under();
        let outputs = data.outputs();
        self.check(&outputs)?;
        if trees.is_empty() {
            return Err(Error::invalid("n_trees", trees.len(), "be at least 1"));
        }
        let observed = data.observed()?;
        let data = data.with_observed(observed.as_ref());
        data.check(&Names::TRAINING)?;
        if data.categories()?.is_some() {
            return Err(Error::invalid("schema", "categorical features", "have no categorical features"));
        }
        let restored = data.restored(takes_entries(&outputs))?;
        let data = data.with_restored(restored.as_ref());
        let (x, n_samples) = (data.x(), data.n_samples());
        let (draws, overall) = Draws::new(x, data.y(), data.known(), data.row_weights(), self.sampling, control)?;
        let targets = data.train_y(overall.as_deref())?;
        let weighted = self.weighted(&data, &targets, overall.as_deref())?;
        let searched = weighted.as_ref().unwrap_or(&targets);
        let weights = Weights::of_rows(overall.as_deref(), n_samples)?;
        let units = |row: usize| weights.units(row);
        let idf = if self.idf { Some(inverse_document_frequencies(x, units, weights.unit, control)?) } else { None };
        let vectors =
            Vectors::new(x, Preparation { normalize: self.normalize, sublinear: false, idf: idf.as_deref() }, control)?;
        let draw = Draw {
            n_columns: outputs.width(),
            n_samples,
            rows: &draws.rows,
            weights: overall.as_deref(),
            n_trees: trees.len(),
        };
        let projector = Projector::new(self, searched, &draw, control)?;
        let alike = match &targets {
            TrainY::Slots(y) => Some(Alike::new(|row| y.of(row), n_samples)?),
            TrainY::MaskedSlots(y) => Some(Alike::new(|row| (y.of(row), y.known().of(row)), n_samples)?),
            TrainY::Real(_) | TrainY::SparseReal(_) | TrainY::MaskedReal(_) => None,
        };
        let ground = Ground { config: self, x: &vectors, y: &targets, projector: &projector, alike: alike.as_ref() };
        // Values of unknown cells come from the nodes above.
        let stores_rows = self.store_rows && data.known().is_none();
        let stored = stores_rows.then(|| StoredRows::new(&targets, &draws.rows).map(Arc::new)).transpose()?;
        let set = TrainingSet {
            ground,
            outputs: &outputs,
            counts: counts_of_samples(data.row_weights().sample_weight, self.takes_copies(&draws), n_samples)?,
            draws,
            stored,
        };
        let first = trees.start;
        let trees =
            side_by_side(trees.len(), control, |i| set.grow(i, tree_key(self.seed, first + i), control).map(Arc::new))?;
        let (n_features, normalize) = (data.n_features(), self.normalize);
        let (routing, leaf_shrinkage) = (self.routing, self.leaf_shrinkage);
        let idf = idf.map(Arc::new);
        Ok(CentroidForest { n_features, outputs, normalize, idf, routing, leaf_shrinkage, trees })
    }

    /// Returns whether draws are copies of samples, each of which counts as a sample.
    fn takes_copies(&self, draws: &Draws<'_, '_>) -> bool {
        self.sampling != crate::forest::Sampling::All && draws.holds_copies()
    }

    /// Returns what is projected if it is not y itself: numerical outputs, or labels with directions other than signs,
    /// times their weights.
    fn weighted<'a>(
        &self,
        data: &'a Dataset<'_>,
        targets: &TrainY<'a>,
        overall: Option<&[f64]>,
    ) -> Result<Option<TrainY<'a>>> {
        let Some(weights) = &self.output_weights else { return Ok(None) };
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let factors = Purpose("the weights of outputs").collected(weights.iter().map(|weight| weight / largest))?;
        Ok(match (targets, data.y(), data.known()) {
            (TrainY::Slots(_), Targets::Labels(y), _) if self.output_projection.is_some() => {
                let numbers = SparseNumbers::new(SparseTargets::of_labels(y)?);
                Some(TrainY::SparseReal(numbers.times(factors)))
            }
            (TrainY::MaskedSlots(_), Targets::Labels(_), Some(known)) if self.output_projection.is_some() => {
                Some(data.labels_as_numbers(known, overall)?.times(factors))
            }
            (TrainY::Slots(_) | TrainY::MaskedSlots(_), ..) => None,
            _ => Some(data.train_y(overall)?.times(factors)),
        })
    }
}

/// Returns whether numerical outputs that are mostly zero are used in sparse form.
pub(super) fn takes_entries(outputs: &Outputs) -> bool {
    criterion(outputs).takes_entries()
}

/// Returns the criterion that determines the kind of leaf values.
fn criterion(outputs: &Outputs) -> Criterion {
    match outputs {
        Outputs::Real { .. } => Criterion::Variance,
        Outputs::Classes { .. } | Outputs::Labels { .. } => Criterion::Gini,
    }
}

/// Returns the number of samples that each sample stands for, by its weight; `None` if it is one: if weights are not
/// integers, or if draws are copies of samples.
fn counts_of_samples(sample_weight: Option<&[f64]>, are_drawn: bool, n_samples: usize) -> Result<Option<Vec<u32>>> {
    let Some(weights) = sample_weight.filter(|_| !are_drawn) else { return Ok(None) };
    let n_there = weights.iter().filter(|&&w| w > 0.0).count();
    let are_counts = weights.iter().all(|w| w.fract() == 0.0 && *w <= f64::from(u32::MAX));
    if !are_counts || weights.iter().sum::<f64>() > MOST_COPIES * n_there as f64 {
        return Ok(None);
    }
    debug_assert_eq!(weights.len(), n_samples);
    PURPOSE.collected(weights.iter().map(|&w| w as u32)).map(Some)
}

/// The data that all trees of a fit share.
#[derive(Debug)]
struct TrainingSet<'a, 't> {
    ground: Ground<'a>,
    outputs: &'a Outputs,
    /// The numbers of samples by weight.
    counts: Option<Vec<u32>>,
    draws: Draws<'a, 't>,
    /// The y of samples that leaves refer to: those that may be drawn.
    stored: Option<Arc<StoredRows>>,
}

impl TrainingSet<'_, '_> {
    /// Grows tree `index` of the fit: a function of (data, parameters, key).
    fn grow(&self, index: usize, key: Key, control: &Control) -> Result<CentroidTree> {
        let draw = self.draws.of_tree(key, control)?;
        let in_bag: Vec<u32>;
        let rows = if draw.takes_all() {
            &self.draws.rows
        } else {
            in_bag = draw.collected_rows()?;
            &in_bag
        };
        let sample = Sample {
            rows,
            units: self.units(&draw, rows)?,
            counts: self.counts(&draw)?,
            key: key.child(GROWTH),
            index,
        };
        let grown = grow(&self.ground, &sample, control)?;
        let unit = draw.weights().unit;
        let (leaves, of_parents) = match &self.stored {
            Some(stored) if self.rows_are_fewer(&grown.structure)? => {
                (self.leaf_rows(&grown.structure, &sample, stored)?, None)
            }
            Some(_) | None => self.values(&grown, &sample, unit, control)?,
        };
        let Grown { starts, centroids, n_node_samples, leaf_units, .. } = grown;
        let leaf_of = CentroidTree::number_leaves(&starts)?;
        let mut weighted_n_node_samples = PURPOSE.filled(0.0, n_node_samples.len())?;
        let leaf_nodes = (0..n_node_samples.len()).filter(|&node| starts[node] == starts[node + 1]);
        leaf_nodes.zip(leaf_units).for_each(|(node, units)| weighted_n_node_samples[node] = units as f64 * unit);
        CentroidTree::sum_up(&starts, &mut weighted_n_node_samples);
        let mut tree =
            CentroidTree { starts, centroids, n_node_samples, weighted_n_node_samples, leaves, leaf_of, parents: None };
        let shrinkage = self.ground.config.leaf_shrinkage;
        tree.parents = match of_parents {
            Some(values) => Some(Parents::of_values(&tree, values, self.outputs, shrinkage)?),
            None => Parents::new(&tree, self.outputs, shrinkage)?,
        };
        Ok(tree)
    }

    /// Returns the values of the leaves and, if cells are unknown and leaves are shrunk, of their parents. `unit` is the
    /// weight of a unit.
    fn values(
        &self,
        grown: &Grown,
        sample: &Sample<'_>,
        unit: f64,
        control: &Control,
    ) -> Result<(LeafTable, Option<LeafTable>)> {
        let (y, shrinkage) = (self.ground.y, self.ground.config.leaf_shrinkage);
        if !matches!(y, TrainY::MaskedSlots(_) | TrainY::MaskedReal(_)) {
            let targets = TreeTargets { y, criterion: criterion(self.outputs), monotonic: None };
            let (structure, width) = (&grown.structure, self.outputs.width());
            let values = fill::leaf_values(structure, &targets, &sample.units, width, &Workers::One, control)?;
            return Ok((values, None));
        }
        let mut parents = PURPOSE.filled(0u32, grown.n_node_samples.len())?;
        for (node, children) in (0u32..).zip(grown.starts.windows(2)) {
            parents[children[0] as usize..children[1] as usize].fill(node);
        }
        let units = |row: u32| sample.units(row);
        let nodes = Nodes::new(parents, &grown.structure)?;
        let nodes = if shrinkage > 0.0 { nodes.shrunk(shrinkage / unit, units)? } else { nodes };
        let Tables { leaves, parents } = masked_fill::values(&nodes, y, units, control)?;
        Ok((leaves, parents))
    }

    /// Returns whether, for classes and labels, leaves have fewer samples than non-zero values: storing the samples
    /// then takes less memory, and less time to add up.
    fn rows_are_fewer(&self, structure: &Structure) -> Result<bool> {
        let TrainY::Slots(y) = self.ground.y else { return Ok(true) };
        let n_rows = structure.leaf_samples.iter().map(ExactSizeIterator::len).sum::<usize>();
        let mut last_leaf = PURPOSE.filled(0, self.outputs.width())?;
        let mut n_cells = 0;
        for leaf in 0..structure.leaf_samples.len() {
            for row in structure.leaf_rows(leaf) {
                for &column in y.of(*row) {
                    n_cells += usize::from(last_leaf[column as usize] != leaf + 1);
                    last_leaf[column as usize] = leaf + 1;
                }
            }
        }
        Ok(n_rows < n_cells)
    }

    /// Returns the units of all samples in the tree.
    fn units(&self, draw: &TreeDraw<'_, '_, '_>, rows: &[u32]) -> Result<RowUnits> {
        let n = self.ground.x.n_rows();
        let largest = rows.iter().map(|&row| draw.units(row as usize)).max().unwrap_or(0);
        if u32::try_from(largest).is_ok() {
            let mut units = PURPOSE.filled(0u32, n)?;
            rows.iter().for_each(|&row| units[row as usize] = draw.units(row as usize) as u32);
            return Ok(RowUnits::Narrow(units));
        }
        let mut units = PURPOSE.filled(0u64, n)?;
        rows.iter().for_each(|&row| units[row as usize] = draw.units(row as usize));
        Ok(RowUnits::Wide(units))
    }

    /// Returns the number of samples that each sample stands for in the tree.
    fn counts(&self, draw: &TreeDraw<'_, '_, '_>) -> Result<Option<Vec<u32>>> {
        match (self.counts.as_deref(), draw.counts()) {
            (None, None) => Ok(None),
            (Some(counts), None) | (None, Some(counts)) => PURPOSE.copied(counts).map(Some),
            (Some(by_weight), Some(drawn)) => {
                let both = by_weight.iter().zip(drawn).map(|(a, b)| a.saturating_mul(*b));
                PURPOSE.collected(both).map(Some)
            }
        }
    }

    /// Returns leaves that refer to the y of their samples.
    fn leaf_rows(&self, structure: &Structure, sample: &Sample<'_>, stored: &Arc<StoredRows>) -> Result<LeafTable> {
        let n_leaves = structure.leaf_samples.len();
        let mut ids = Indices::for_width(stored.n_rows);
        ids.try_reserve(PURPOSE, structure.order.len())?;
        let mut units = Amounts::U8(Vec::new());
        let mut ptr = PURPOSE.with_capacity(n_leaves + 1)?;
        let mut end = 0;
        ptr.push(end);
        for leaf in 0..n_leaves {
            let rows = structure.leaf_rows(leaf);
            for row in rows {
                let id = self.draws.rows.binary_search(row).expect("rows of a tree are of positive weight");
                ids.push(id as u32)?;
                units.push(sample.units(*row))?;
            }
            end += rows.len() as u32;
            ptr.push(end);
        }
        LeafTable::of_rows(ptr, ids, units, Arc::clone(stored))
    }
}
