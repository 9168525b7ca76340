//! Label trees as bytes: the columns of nodes, level by level, and their weights, node by node and feature by feature.

use std::sync::Arc;

use safetensors::Dtype;

use super::linear::{features, singles, weight_values};
use crate::criterion::Criterion;
use crate::data::Outputs;
use crate::error::{Error, Purpose, Result};
use crate::label_tree::{LabelTree, LabelTreeModel};
use crate::linear::Features;
use crate::model_file::codec::{About, Codec, tensors};
use crate::model_file::header::{Field, Fields, Head, Header};
use crate::model_file::lengths::{WHOLE, check_fit};
use crate::model_file::read::{File, TensorReader};
use crate::model_file::tensor::{Tensor, bytes, floats, narrowest};

const PURPOSE: Purpose = Purpose("the model");

const KEY: &str = "label_tree";
const SINGLE: &[Dtype] = &[Dtype::F32];
tensors! {
    TENSORS, Tensors {
        n_columns: WHOLE,
        is_leaf: &[Dtype::U8],
        leaf_labels: WHOLE,
        intercepts: SINGLE,
        n_node_features: WHOLE,
        node_features: WHOLE,
        weight_sizes: WHOLE,
        weight_columns: &[Dtype::U8, Dtype::U16],
        weight_values: &[Dtype::F16, Dtype::F32],
        fit_passes: WHOLE,
    }
    optional {}
    others {
        beam_width: WHOLE,
        idf: SINGLE,
        n_nodes: WHOLE,
    }
}

impl Codec for LabelTreeModel {
    const KIND: About =
        About { key: Some(KEY), other_key: None, name: "a label tree", of_nodes: "n_columns", tensors: &[TENSORS] };
    type Form = Features;

    fn parse(head: &Head) -> Result<(Outputs, Features)> {
        let fields = head.header.form_of(KEY)?;
        fields.check_names(&["features"])?;
        check_lengths(head)?;
        Ok((head.header.outputs.try_clone()?, features(fields)?))
    }

    fn header(&self) -> Result<Header> {
        let features = ("features".into(), Field::Text(self.features.name().into()));
        let form = Some((KEY.into(), Fields(vec![features])));
        // The criterion of trees for such y.
        Ok(Header { n_features: self.n_features, outputs: self.outputs.clone(), criterion: Criterion::Gini, form })
    }

    fn tensors(&self) -> Result<Vec<Tensor>> {
        let trees = || self.trees.iter();
        let nodes = || trees().flat_map(|tree| tree.is_leaf.iter().map(|is_leaf| u8::from(*is_leaf)));
        let n_nodes = nodes().count();
        let leaves = || trees().flat_map(|tree| (0..tree.n_nodes()).filter_map(|node| tree.labels(node)));
        let mut tensors = vec![
            narrowest("beam_width", || [self.beam_width as f64].into_iter())?,
            narrowest("n_nodes", || trees().map(|tree| tree.n_nodes() as f64))?,
            narrowest("n_columns", || trees().flat_map(|tree| sizes(&tree.column_ptr)))?,
            bytes("is_leaf", Dtype::U8, n_nodes, nodes().map(|is_leaf| [is_leaf]))?,
            narrowest("leaf_labels", || leaves().flatten().map(|&label| f64::from(label)))?,
            floats("intercepts", || trees().flat_map(|tree| tree.intercepts.iter().copied()))?,
            narrowest("n_node_features", || trees().flat_map(|tree| sizes(&tree.feature_ptr)))?,
            narrowest("node_features", || trees().flat_map(|tree| tree.features.iter().map(|&j| f64::from(j))))?,
            narrowest("weight_sizes", || trees().flat_map(|tree| sizes(&tree.weight_ptr)))?,
            narrowest("weight_columns", || trees().flat_map(|tree| tree.columns.iter().map(|&j| f64::from(j))))?,
            weight_values(|| trees().flat_map(|tree| &tree.values))?,
            narrowest("fit_passes", || trees().flat_map(|tree| [tree.n_iter, tree.n_unfinished]).map(|n| n as f64))?,
        ];
        if let Some(idf) = self.idf() {
            tensors.push(floats("idf", || idf.iter().copied())?);
        }
        Ok(tensors)
    }

    fn build(file: &File<'_>, outputs: Outputs, features: Features) -> Result<LabelTreeModel> {
        let mut n_nodes = file.required("n_nodes")?;
        let n_trees = n_nodes.len();
        let mut tensors = Tensors::new(file)?;
        let mut trees = PURPOSE.with_capacity(n_trees)?;
        for n_nodes in n_nodes.whole(PURPOSE, n_trees)? {
            trees.push(tensors.next_tree(n_nodes as usize)?);
        }
        tensors.finish()?;
        let beam_width = file.required("beam_width")?.whole(PURPOSE, 1)?[0] as usize;
        let (n_features, idf) = (file.head.header.n_features, singles(file, "idf")?.map(Arc::new));
        LabelTreeModel { n_features, outputs, features, idf, beam_width, trees }.checked()
    }
}

fn sizes(offsets: &[usize]) -> impl Iterator<Item = f64> {
    offsets.windows(2).map(|range| (range[1] - range[0]) as f64)
}

/// Checks the lengths of tensors, as far as this can be seen from the lengths alone.
fn check_lengths(head: &Head) -> Result<()> {
    let there = |name| head.required_length(name);
    let (n_trees, n_nodes, n_listed) = (there("n_nodes")?, there("n_columns")?, there("node_features")?);
    let n_columns = there("intercepts")?;
    let n_weights = there("weight_columns")?;
    // Each node but the root is a column of its parent; so are the labels of leaves.
    let n_children = n_nodes.saturating_sub(n_trees);
    let lengths = [
        ("beam_width", there("beam_width")? == 1),
        ("n_columns", (1..=n_nodes).contains(&n_trees)),
        ("is_leaf", there("is_leaf")? == n_nodes),
        ("leaf_labels", there("leaf_labels")?.saturating_add(n_children) == n_columns),
        ("n_node_features", there("n_node_features")? == n_nodes),
        ("weight_sizes", there("weight_sizes")? == n_listed),
        ("weight_columns", n_weights >= n_listed),
        ("weight_values", there("weight_values")? == n_weights),
        ("idf", head.length("idf").is_none_or(|n| n == head.header.n_features as u64)),
        ("fit_passes", there("fit_passes")? == n_trees.saturating_mul(2)),
    ];
    let of = || format!("{n_trees} trees of {n_nodes} nodes, {n_columns} columns and {n_weights} weights");
    check_fit(&lengths, of)
}

impl Tensors<'_> {
    fn next_tree(&mut self, n_nodes: usize) -> Result<LabelTree> {
        let column_ptr = offsets(&mut self.n_columns, n_nodes)?;
        let is_leaf = self.is_leaf.whole(PURPOSE, n_nodes)?;
        if is_leaf.iter().any(|is_leaf| *is_leaf > 1) {
            return Err(Error::corrupt("`is_leaf` has other numbers than 0 and 1"));
        }
        let is_leaf = PURPOSE.collected(is_leaf.iter().map(|is_leaf| *is_leaf == 1))?;
        let n_columns = column_ptr[n_nodes];
        self.intercepts.check(n_columns)?;
        let mut targets = PURPOSE.with_capacity(n_columns)?;
        let mut next_child = 1;
        for (columns, is_leaf) in column_ptr.windows(2).zip(&is_leaf) {
            let n = columns[1] - columns[0];
            if *is_leaf {
                targets.extend(self.leaf_labels.whole(PURPOSE, n)?);
            } else {
                targets.extend((next_child..).take(n).map(|child| child as u32));
                next_child += n;
            }
        }
        let single = |number: f64| number as f32;
        let intercepts = self.intercepts.collect(PURPOSE, n_columns, single)?;
        let feature_ptr = offsets(&mut self.n_node_features, n_nodes)?;
        let n_listed = feature_ptr[n_nodes];
        let features = self.node_features.whole(PURPOSE, n_listed)?;
        let weight_ptr = offsets(&mut self.weight_sizes, n_listed)?;
        let n_weights = weight_ptr[n_listed];
        self.weight_values.check(n_weights)?;
        let columns = self.weight_columns.collect(PURPOSE, n_weights, |column| column as u16)?;
        let values = self.weight_values.collect(PURPOSE, n_weights, single)?;
        let passes = self.fit_passes.whole(PURPOSE, 2)?;
        let (n_iter, n_unfinished) = (passes[0] as usize, passes[1] as usize);
        Ok(LabelTree {
            is_leaf,
            column_ptr,
            targets,
            intercepts,
            feature_ptr,
            features,
            weight_ptr,
            columns,
            values,
            n_unfinished,
            n_iter,
        })
    }
}

/// Reads `n` sizes, and returns the offsets that they add up to.
fn offsets(sizes: &mut TensorReader<'_>, n: usize) -> Result<Vec<usize>> {
    sizes.offsets(n, 0, |end, size| Ok(end.saturating_add(size as usize)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_bytes;
    use super::*;
    use crate::data::Targets;
    use crate::label_tree::LabelTreeConfig;
    use crate::testing::{labels, models};

    /// Returns models of labels and classes, of one leaf and of several levels, of all ways to prepare X.
    fn some_models() -> Vec<LabelTreeModel> {
        let x = models::rows(3, 30, 4).c_order;
        let positive = x.mapv(f32::abs);
        let labels = labels::on((30, 7), |i, j| (i * (j + 2)) % 7 < 2 && j != 5);
        let of = |k: u32| ndarray::Array2::from_shape_fn((30, 1), move |(i, _)| (i as u32 * 3) % 7 % k);
        let (two, five) = (of(2), of(5));
        let targets = [
            (Targets::Labels(labels), Features::Given, 2),
            (Targets::Classes { codes: five.view(), n_classes: vec![5] }, Features::TfIdf, 1),
            (Targets::Classes { codes: two.view(), n_classes: vec![2] }, Features::Normalized, 9),
        ];
        let fitted = |(y, features, leaf): &(Targets<'_>, Features, usize)| {
            let config = LabelTreeConfig::default().features(*features).max_children(3).max_leaf_labels(*leaf);
            config.n_trees(2).beam_width(2).max_iter(3).fit((&positive, y)).unwrap()
        };
        targets.iter().map(fitted).collect()
    }

    #[test]
    fn loaded_models_are_equal_and_damaged_bytes_are_refused_or_harmless() {
        for model in some_models() {
            let bytes = check_bytes(&model, |model, at| {
                if model.n_features() < 10_000 && model.n_labels() < 10_000 {
                    let rows = models::rows(at as u64, 3, model.n_features()).c_order.mapv(|x| x.clamp(-9.0, 9.0));
                    let scores = model.predict_scores(&rows).unwrap();
                    assert!(scores.values.iter().all(|score| score.is_finite()));
                }
            });
            assert!(crate::linear::LinearModel::from_bytes(&bytes).is_err());
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let refused = |change: &dyn Fn(&mut LabelTreeModel), message: &str| {
            let mut model = some_models().remove(1);
            assert!(model.trees[0].depth() >= 2, "a tree of several levels");
            change(&mut model);
            let error = LabelTreeModel::from_bytes(&model.to_bytes().unwrap()).unwrap_err();
            assert!(error.to_string().contains(message), "{message}: {error}");
        };
        let leaf = |tree: &LabelTree| tree.is_leaf.iter().position(|is_leaf| *is_leaf).unwrap();
        refused(&|model| model.trees[0].is_leaf[0] = true, "`leaf_labels` does not fit");
        refused(
            &|model| {
                let tree = &mut model.trees[0];
                let at = tree.column_ptr[leaf(tree)];
                tree.targets[at] = 5;
            },
            "labels of a leaf are out of range",
        );
        refused(
            &|model| {
                let tree = &mut model.trees[0];
                let of_leaves: Vec<usize> = (0..tree.n_nodes()).filter(|&node| tree.is_leaf[node]).collect();
                let [from, to] = [0, 1].map(|at| tree.column_ptr[of_leaves[at]]);
                tree.targets[to] = tree.targets[from];
            },
            "a label is twice in a tree",
        );
        refused(
            &|model| {
                // Class 5 is one that no sample has.
                model.outputs = Outputs::Classes { n_classes: vec![6] };
                let tree = &mut model.trees[0];
                let of_leaf = (0..tree.n_nodes()).rfind(|&node| tree.is_leaf[node]).unwrap();
                let last = tree.column_ptr[of_leaf + 1] - 1;
                tree.targets[last] = 5;
            },
            "trees have different labels",
        );
        refused(&|model| model.trees[0].columns[0] = 9, "out of range or not in increasing order");
        refused(&|model| model.trees[0].features[0] = 4, "features of a node are out of range");
        refused(&|model| model.trees[0].values[0] = 0.0, "other than zero");
        refused(&|model| model.trees[1].values[0] = f32::NAN, "the weights are not one finite number");
        refused(&|model| model.trees[0].intercepts[0] = f32::INFINITY, "one finite number for each column");
        refused(&|model| model.trees[0].n_unfinished = 1000, "more columns are unfinished");
        refused(&|model| model.trees.clear(), "does not fit 0 trees");
        refused(&|model| model.beam_width = 0, "nodes that are followed is zero");
        refused(&|model| model.features = Features::Standardized, "no standardised features");
        refused(&|model| model.features = Features::Given, "if and only if features are tf-idf");
        refused(&|model| model.idf = None, "if and only if features are tf-idf");
        refused(&|model| Arc::make_mut(model.idf.as_mut().unwrap())[0] = -1.0, "one positive number for each feature");
        refused(&|model| model.outputs = Outputs::Classes { n_classes: vec![5, 2] }, "one output of classes");
        refused(&|model| model.outputs = Outputs::Labels { n_labels: 2 }, "labels of a leaf are out of range");
    }
}
