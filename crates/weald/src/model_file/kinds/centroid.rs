//! Centroid forests as bytes: the tensors of leaves, of nodes (level by level), and of centroids.

use std::sync::Arc;

use safetensors::Dtype;

use crate::centroid::{
    CentroidForest, CentroidPrecision, CentroidTree, Centroids, Codes, GapLists, Nibbles, Parents, Routing,
};
use crate::criterion::Criterion;
use crate::data::Outputs;
use crate::error::{Error, Purpose, Result};
use crate::model::bounds::{has_finite_sum, largest_values};
use crate::model_file::ABOVE;
use crate::model_file::codec::{About, Codec, tensors};
use crate::model_file::header::{Field, Fields, Head, Header};
use crate::model_file::leaves::{LeafTensors, OF_LEAVES};
use crate::model_file::lengths::{NUMBERS, WHOLE, check_fit, check_sets};
use crate::model_file::read::File;
use crate::model_file::rows::{self, OF_ROWS, Packed};
use crate::model_file::scores::infinite_scores;
use crate::model_file::tensor::{Tensor, bytes, narrowest};
use crate::model_file::write::leaf_tensors;
use crate::tree::LeafTable;
use crate::tree::leaves::Half;

const PURPOSE: Purpose = Purpose("the model");

const KEY: &str = "centroids";
tensors! {
    TENSORS, Stored {
        n_children: WHOLE,
        centroid_sizes: WHOLE,
        centroid_bytes: WHOLE,
        centroid_features: &[Dtype::U8],
        centroid_weights: &[Dtype::U8, Dtype::F16],
        n_node_samples: WHOLE,
    }
    optional {
        centroid_factors: &[Dtype::F32],
        weights: NUMBERS,
    }
    others {
        centroid_rules: &[Dtype::F64],
        idf: &[Dtype::F32],
    }
}

fn name(precision: CentroidPrecision) -> &'static str {
    match precision {
        CentroidPrecision::Nibble => "levels",
        CentroidPrecision::Byte => "int8",
        CentroidPrecision::Half => "float16",
    }
}

/// A table of a tree, and the weight of each of its rows.
struct Weighted<'t> {
    leaves: &'t LeafTable,
    weights: Vec<f64>,
}

impl Codec for CentroidForest {
    const KIND: About = About {
        key: Some(KEY),
        other_key: None,
        name: "a centroid forest",
        of_nodes: "n_children",
        tensors: &[OF_LEAVES, OF_ROWS, TENSORS],
    };
    type Form = CentroidPrecision;

    fn parse(head: &Head) -> Result<(Outputs, CentroidPrecision)> {
        check_lengths_of_centroids(head)?;
        let fields = head.header.form_of(KEY)?;
        fields.check_names(&["weights"])?;
        let weights = fields.text("weights")?;
        let known = [CentroidPrecision::Nibble, CentroidPrecision::Byte, CentroidPrecision::Half];
        let found = known.into_iter().find(|&precision| name(precision) == weights);
        let precision = found.ok_or_else(|| Error::corrupt("`weights` of centroids is unknown"))?;
        Ok((head.header.outputs.try_clone()?, precision))
    }

    fn header(&self) -> Result<Header> {
        let weights = ("weights".into(), Field::Text(name(precision(self)?).into()));
        let criterion = match self.outputs {
            Outputs::Real { .. } => Criterion::Variance,
            Outputs::Classes { .. } | Outputs::Labels { .. } => Criterion::Gini,
        };
        let form = Some((KEY.into(), Fields(vec![weights])));
        Ok(Header { n_features: self.n_features, outputs: self.outputs.clone(), criterion, form })
    }

    fn tensors(&self) -> Result<Vec<Tensor>> {
        let precision = precision(self)?;
        let trees = || self.trees.iter().map(|tree| &**tree);
        let leaves = || trees().flat_map(|tree| tree.leaf_nodes().map(move |node| (tree, node)));
        let mut tensors = vec![
            narrowest("n_nodes", || trees().map(|tree| tree.n_nodes() as f64))?,
            narrowest("n_children", || {
                trees().flat_map(|tree| tree.starts.windows(2).map(|range| f64::from(range[1] - range[0])))
            })?,
            narrowest("centroid_sizes", || {
                trees().flat_map(|tree| tree.centroids.ptr.windows(2).map(|range| f64::from(range[1] - range[0])))
            })?,
            narrowest("centroid_bytes", || trees().map(|tree| tree.centroids.features.bytes().len() as f64))?,
            narrowest("n_node_samples", || leaves().map(|(tree, node)| tree.n_node_samples[node].into()))?,
        ];
        let features = || trees().flat_map(|tree| tree.centroids.features.bytes());
        tensors.push(bytes("centroid_features", Dtype::U8, features().count(), features().map(|byte| [*byte]))?);
        tensors.push(weights(&self.trees, precision)?);
        if precision != CentroidPrecision::Half {
            let factors = || trees().flat_map(|tree| &tree.centroids.factors);
            let n_nodes = trees().map(CentroidTree::n_nodes).sum();
            tensors.push(bytes("centroid_factors", Dtype::F32, n_nodes, factors().map(|v| v.to_le_bytes()))?);
        }
        if let Some(idf) = self.idf() {
            tensors.push(bytes("idf", Dtype::F32, idf.len(), idf.iter().map(|v| v.to_le_bytes()))?);
        }
        let (sharpness, least) = match self.routing {
            Routing::Nearest => (0.0, 0.0),
            Routing::Shared { sharpness, least } => (sharpness.into(), least.into()),
        };
        let rules: [f64; 4] = [f64::from(u8::from(self.normalize)), sharpness, least, self.leaf_shrinkage];
        tensors.push(bytes("centroid_rules", Dtype::F64, 4, rules.iter().map(|v| v.to_le_bytes()))?);
        if !trees().all(weights_follow) {
            tensors.push(narrowest("weights", || leaves().map(|(tree, node)| tree.weighted_n_node_samples[node]))?);
        }
        push_tables(self, &mut tensors)?;
        Ok(tensors)
    }

    fn build(file: &File<'_>, outputs: Outputs, precision: CentroidPrecision) -> Result<CentroidForest> {
        let header = &file.head.header;
        let (normalize, routing, leaf_shrinkage) = rules(file)?;
        let packed = Packed::new(file)?;
        let mut tensors = Tensors::new(file, &packed, precision, leaf_shrinkage)?;
        let mut n_nodes = file.required("n_nodes")?;
        let n_trees = n_nodes.len();
        if n_trees == 0 {
            return Err(Error::corrupt("there are no trees"));
        }
        // There are at most as many trees as layouts of leaves, which take a byte each. This was checked with the
        // header.
        let mut trees = PURPOSE.with_capacity(n_trees)?;
        for n_nodes in n_nodes.whole(PURPOSE, n_trees)? {
            trees.push(Arc::new(tensors.next_tree(n_nodes as usize, header)?));
        }
        tensors.finish()?;
        let tables = trees.iter().flat_map(|tree: &Arc<CentroidTree>| tree.tables());
        if !has_finite_sum(largest_values(tables)) {
            return Err(infinite_scores());
        }
        let idf = idf(file)?;
        let n_features = header.n_features;
        Ok(CentroidForest { n_features, outputs, normalize, idf, routing, leaf_shrinkage, trees })
    }
}

/// Returns the type of the weights of centroids, which all trees have in common.
fn precision(forest: &CentroidForest) -> Result<CentroidPrecision> {
    let first = forest.trees.first().ok_or_else(|| Error::invalid("forest", "0 trees", "have at least one tree"))?;
    Ok(first.centroids.codes.precision())
}

/// Returns the weights of all centroids, in the order of the trees.
fn weights(trees: &[Arc<CentroidTree>], precision: CentroidPrecision) -> Result<Tensor> {
    let mut stored: Vec<u8> = Vec::new();
    for tree in trees {
        match &tree.centroids.codes {
            Codes::Nibble(codes) => PURPOSE.extend(&mut stored, codes.bytes.iter().copied())?,
            Codes::Byte(codes) => {
                PURPOSE.extend(&mut stored, codes.iter().map(|code| (i16::from(*code) + ABOVE) as u8))?;
            }
            Codes::Half(codes) => {
                for weight in codes {
                    PURPOSE.extend(&mut stored, weight.bits().to_le_bytes())?;
                }
            }
        }
    }
    let dtype = match precision {
        CentroidPrecision::Nibble | CentroidPrecision::Byte => Dtype::U8,
        CentroidPrecision::Half => Dtype::F16,
    };
    Ok(Tensor::new("centroid_weights", dtype, stored))
}

/// Adds the tensors of leaves, and of their parents.
fn push_tables(forest: &CentroidForest, tensors: &mut Vec<Tensor>) -> Result<()> {
    let mut weighted = PURPOSE.with_capacity(2 * forest.trees.len())?;
    for tree in &forest.trees {
        weighted.push(Weighted { leaves: &tree.leaves, weights: tree.weights_of(tree.leaf_nodes())? });
        if let Some(parents) = &tree.parents {
            weighted.push(Weighted { leaves: parents.table(), weights: tree.weights_of(tree.parent_nodes())? });
        }
    }
    let tables = PURPOSE.collected(weighted.iter().map(|table| table.leaves))?;
    tensors.extend(leaf_tensors(&tables, &forest.outputs)?);
    let totals = || {
        let listed = weighted.iter().filter(|table| !table.leaves.has_rows());
        listed.flat_map(|table| {
            let total = |(row, &weight): (usize, &f64)| table.leaves.total(row).map(|total| (total, weight));
            table.weights.iter().enumerate().filter_map(total)
        })
    };
    if totals().any(|(total, weight)| total != weight) {
        tensors.push(narrowest("leaf_totals", || totals().map(|(total, _)| total))?);
    }
    Ok(())
}

/// Checks that the lengths of the tensors of trees are consistent, as far as this can be seen from the lengths alone.
fn check_lengths_of_centroids(head: &Head) -> Result<()> {
    let there = |name| head.required_length(name);
    let (n_trees, n_nodes) = (there("n_nodes")?, there("n_children")?);
    let n_tables = there("leaf_layout")?;
    let lengths = [
        ("n_children", n_trees <= n_nodes),
        ("centroid_sizes", there("centroid_sizes")? == n_nodes),
        ("centroid_bytes", there("centroid_bytes")? == n_trees),
        ("centroid_factors", head.length("centroid_factors").is_none_or(|n| n == n_nodes)),
        ("n_node_samples", there("n_node_samples")? <= n_nodes),
        ("leaf_layout", (n_trees..=n_trees.saturating_mul(2)).contains(&n_tables)),
        ("idf", head.length("idf").is_none_or(|n| n == head.header.n_features as u64)),
    ];
    check_fit(&lengths, || format!("{n_trees} trees of {n_nodes} nodes"))?;
    check_sets(head)
}

/// Returns whether the weights of leaves are equal to their numbers of samples or, if leaves refer to stored samples,
/// to the sums of their units.
fn weights_follow(tree: &CentroidTree) -> bool {
    let weights = || tree.leaf_nodes().map(|node| tree.weighted_n_node_samples[node]);
    if tree.leaves.has_rows() {
        rows::leaf_weights_follow(&tree.leaves, weights())
    } else {
        weights().eq(tree.leaf_nodes().map(|node| f64::from(tree.n_node_samples[node])))
    }
}

/// Reads the rules by which the forest treats samples and leaves.
fn rules(file: &File<'_>) -> Result<(bool, Routing, f64)> {
    let mut stored = file.required("centroid_rules")?;
    let stored = if stored.len() == 4 { stored.collect(PURPOSE, 4, |rule| rule)? } else { Vec::new() };
    let [normalize, sharpness, least, leaf_shrinkage] = stored[..] else {
        return Err(Error::corrupt("`centroid_rules` does not have four numbers"));
    };
    let routing = if sharpness == 0.0 && least == 0.0 {
        Routing::Nearest
    } else {
        Routing::Shared { sharpness: sharpness as f32, least: least as f32 }
    };
    let are_exact = [sharpness, least].iter().all(|&v| f64::from(v as f32) == v);
    let is_rule = (normalize == 0.0 || normalize == 1.0) && leaf_shrinkage >= 0.0 && leaf_shrinkage.is_finite();
    if !is_rule || !are_exact || routing.check().is_err() {
        return Err(Error::corrupt("a number of `centroid_rules` is invalid"));
    }
    Ok((normalize == 1.0, routing, leaf_shrinkage))
}

fn idf(file: &File<'_>) -> Result<Option<Arc<Vec<f32>>>> {
    let Some(mut stored) = file.optional("idf")? else { return Ok(None) };
    let n = stored.len();
    let factors = stored.collect(PURPOSE, n, |factor| factor as f32)?;
    if !factors.iter().all(|factor| factor.is_finite() && *factor >= 0.0) {
        return Err(Error::corrupt("a factor of a feature is negative or not finite"));
    }
    Ok(Some(Arc::new(factors)))
}

/// The parts of the tensors that later trees will read.
#[derive(Debug)]
struct Tensors<'f> {
    precision: CentroidPrecision,
    leaf_shrinkage: f64,
    of: Stored<'f>,
    leaves: LeafTensors<'f>,
}

impl<'f> Tensors<'f> {
    fn new(
        file: &'f File<'_>,
        packed: &'f Packed<'_>,
        precision: CentroidPrecision,
        leaf_shrinkage: f64,
    ) -> Result<Self> {
        let of = Stored::new(file)?;
        let dtype = if precision == CentroidPrecision::Half { Dtype::F16 } else { Dtype::U8 };
        if of.centroid_weights.dtype() != dtype || of.centroid_factors.is_some() != (dtype == Dtype::U8) {
            return Err(Error::corrupt("`centroid_weights` or `centroid_factors` does not have its type"));
        }
        Ok(Tensors { precision, leaf_shrinkage, of, leaves: LeafTensors::new(file, packed)? })
    }

    fn finish(&self) -> Result<()> {
        self.leaves.finish()?;
        self.of.finish()
    }

    fn next_tree(&mut self, n_nodes: usize, header: &Header) -> Result<CentroidTree> {
        let starts = self.starts(n_nodes)?;
        let leaf_of = CentroidTree::number_leaves(&starts)?;
        let leaf_nodes = || (0..n_nodes).filter(|&node| starts[node] == starts[node + 1]);
        let n_leaves = leaf_nodes().count();
        let centroids = self.centroids(n_nodes, header.n_features)?;
        let of_leaves = self.of.n_node_samples.whole(PURPOSE, n_leaves)?;
        let total = of_leaves.iter().map(|&n| u64::from(n)).sum::<u64>();
        if of_leaves.contains(&0) || total > u32::MAX.into() {
            return Err(Error::corrupt("`n_node_samples` are not positive numbers, below 2^32 in all"));
        }
        let layout = self.leaves.layout()?;
        let lists = self.leaves.rows(layout, of_leaves.iter().copied())?;
        let leaf_weights = match (&mut self.of.weights, &lists) {
            (Some(weights), _) => weights.collect(PURPOSE, n_leaves, |weight| weight)?,
            (None, Some(lists)) => PURPOSE.collected(lists.leaf_weights())?,
            (None, None) => PURPOSE.collected(of_leaves.iter().map(|&n| f64::from(n)))?,
        };
        let is_positive = |weight: &f64| *weight > 0.0 && weight.is_finite();
        if !leaf_weights.iter().all(is_positive) || !leaf_weights.iter().sum::<f64>().is_finite() {
            return Err(Error::corrupt("`weights` are not positive and finite"));
        }
        let leaves = self.leaves.table(layout, lists, leaf_weights.iter().copied(), &header.outputs)?;
        let mut n_node_samples = PURPOSE.filled(0, n_nodes)?;
        let mut weighted_n_node_samples = PURPOSE.filled(0.0, n_nodes)?;
        for (leaf, node) in leaf_nodes().enumerate() {
            n_node_samples[node] = of_leaves[leaf];
            weighted_n_node_samples[node] = leaf_weights[leaf];
        }
        CentroidTree::sum_up(&starts, &mut n_node_samples);
        CentroidTree::sum_up(&starts, &mut weighted_n_node_samples);
        let mut tree =
            CentroidTree { starts, centroids, n_node_samples, weighted_n_node_samples, leaves, leaf_of, parents: None };
        tree.parents = self.parents(&tree, header)?;
        Ok(tree)
    }

    /// Reads the first child of each node. Every node except the root is the child of an earlier node.
    fn starts(&mut self, n_nodes: usize) -> Result<Vec<u32>> {
        let wrong = || Error::corrupt("`n_children` are not the nodes of one tree, level by level");
        let mut n_before = 0;
        let starts = self.of.n_children.offsets(n_nodes, 1u32, |next, n| {
            // The node itself must be the root, or a child of an earlier node.
            if n == 1 || (next as usize) <= n_before {
                return Err(wrong());
            }
            n_before += 1;
            next.checked_add(n).ok_or_else(wrong)
        })?;
        if n_nodes > 0 && starts[n_nodes] as usize == n_nodes { Ok(starts) } else { Err(wrong()) }
    }

    fn centroids(&mut self, n_nodes: usize, n_features: usize) -> Result<Centroids> {
        let too_many = || Error::corrupt("the centroids of a tree have 2^32 weights or more");
        let sizes = &mut self.of.centroid_sizes;
        let ptr = sizes.offsets(n_nodes, 0u32, |end, size| end.checked_add(size).ok_or_else(too_many))?;
        let sizes: Vec<u32> = PURPOSE.collected(ptr.windows(2).map(|range| range[1] - range[0]))?;
        if ptr.get(1).is_some_and(|&end| end > 0) {
            return Err(Error::corrupt("a root has a centroid"));
        }
        let n_entries = ptr[n_nodes] as usize;
        let n_bytes = self.of.centroid_bytes.whole(PURPOSE, 1)?[0] as usize;
        let stored = self.of.centroid_features.collect(PURPOSE, n_bytes, |byte| byte as u8)?;
        let features = GapLists::read(&stored, &sizes, n_features)?;
        let features = features
            .ok_or_else(|| Error::corrupt("the features of a centroid are out of range or not in increasing order"))?;
        let codes = self.codes(n_entries)?;
        let factors = match &mut self.of.centroid_factors {
            None => Vec::new(),
            Some(factors) => factors.collect(PURPOSE, n_nodes, |factor| factor as f32)?,
        };
        if !factors.iter().all(|factor| factor.is_finite() && *factor >= 0.0) {
            return Err(Error::corrupt("a factor of a centroid is negative or not finite"));
        }
        Ok(Centroids { ptr, features, codes, factors })
    }

    /// Reads the next `n` weights of centroids.
    fn codes(&mut self, n: usize) -> Result<Codes> {
        Ok(match self.precision {
            CentroidPrecision::Nibble => {
                let stored = self.of.centroid_weights.collect(PURPOSE, n.div_ceil(2), |byte| byte as u8)?;
                let codes = Nibbles::of_bytes(stored, n);
                Codes::Nibble(
                    codes.ok_or_else(|| {
                        Error::corrupt("`centroid_weights` is longer than the weights of the centroids")
                    })?,
                )
            }
            CentroidPrecision::Byte => {
                let stored = self.of.centroid_weights.whole(PURPOSE, n)?;
                // The codes of zero and of −128 are invalid.
                if stored.iter().any(|&code| code == 0 || code == ABOVE as u32) {
                    return Err(Error::corrupt("a weight of a centroid is zero or not an 8-bit number"));
                }
                Codes::Byte(PURPOSE.collected(stored.into_iter().map(|code| (code as i16 - ABOVE) as i8))?)
            }
            CentroidPrecision::Half => {
                let stored = self.of.centroid_weights.collect(PURPOSE, n, |weight| weight)?;
                if stored.iter().any(|weight| !weight.is_finite() || *weight == 0.0) {
                    return Err(Error::corrupt("a weight of a centroid is zero or not finite"));
                }
                Codes::Half(PURPOSE.collected(stored.into_iter().map(Half::nearest))?)
            }
        })
    }

    /// Reads the second table of a tree whose leaves are shrunk.
    fn parents(&mut self, tree: &CentroidTree, header: &Header) -> Result<Option<Parents>> {
        if self.leaf_shrinkage == 0.0 || tree.n_nodes() == 1 {
            return Ok(None);
        }
        let layout = self.leaves.layout_of_own_values()?;
        let weights = tree.weights_of(tree.parent_nodes())?;
        let samples = tree.parent_nodes().map(|node| tree.n_node_samples[node]);
        let mut n_samples = PURPOSE.with_capacity(weights.len())?;
        n_samples.extend(samples);
        let lists = self.leaves.rows(layout, n_samples.into_iter())?;
        let table = self.leaves.table(layout, lists, weights.iter().copied(), &header.outputs)?;
        Parents::of_table(tree, table, self.leaf_shrinkage).map(Some)
    }
}
