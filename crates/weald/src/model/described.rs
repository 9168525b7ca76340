//! Models that are described by arrays, as exports of models are. Every tree is checked, and their scores are bit for bit
//! those of the models that were described.

use std::sync::Arc;

use ndarray::Array2;

use super::step_sizes::StepSizes;
use super::{Additive, Terms, borrowed};
use crate::control::Control;
use crate::criterion::Criterion;
use crate::data::{Category, MOST_FEATURES, Matrix, Outputs};
use crate::error::{Error, ErrorKind, Purpose, Result};
use crate::loss::Link;
use crate::partition::category_sets::CategorySets;
use crate::partition::decision::Side;
use crate::tree::leaves::LeafTableBuilder;
use crate::tree::{Node, Tree};

const PURPOSE: Purpose = Purpose("the trees of a model");

/// What a [`DescribedModel`] is made of, besides its trees.
#[derive(Clone, Debug)]
pub struct Description {
    /// Number of features of a sample.
    pub n_features: usize,
    /// The meaning of the columns of predictions.
    pub outputs: Outputs,
    /// Number of scores: one for each column of predictions, or one for two classes.
    pub n_scores: usize,
    /// The scores before the first tree; empty if all of them are zero.
    pub start: Vec<f64>,
    /// The number by which the sums over the trees are divided.
    pub divisor: f64,
    /// What the scores mean.
    pub link: Link,
}

/// A tree as arrays with one item for each node. The root is the first node, and parents come before their children.
#[derive(Clone, Debug)]
pub struct TreeArrays<'a> {
    /// The tested features; negative for leaves.
    pub features: &'a [i64],
    /// Values up to the threshold go left.
    pub thresholds: &'a [f32],
    /// The children that values go to; −1 for leaves.
    pub left: &'a [i64],
    /// See `left`.
    pub right: &'a [i64],
    /// Whether missing values go left.
    pub missing_left: &'a [bool],
    /// Splits, in any order, and the categories that go left in place of values up to the threshold.
    pub categories: &'a [(usize, Vec<i64>)],
    /// Leaf i has the cells `leaf_ptr[i]..leaf_ptr[i + 1]` of the two arrays below; splits have none.
    pub leaf_ptr: &'a [i64],
    /// The scores to which the values of a leaf are added, in increasing order.
    pub leaf_columns: &'a [i64],
    /// The values.
    pub leaf_values: &'a [f64],
    /// What the values are added to.
    pub adds_to: AddsTo<'a>,
}

/// The scores that the values of leaves are added to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum AddsTo<'a> {
    /// A leaf has values for some scores.
    Columns,
    /// A leaf has at most one value, in column 0, which is added to this score.
    Column(usize),
    /// A leaf has at most one value, in column 0, which is multiplied by a factor for each score.
    Factors(&'a [f64]),
}

/// A model that is described by arrays. The structure of its trees is checked, and it predicts as the engine does.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribedModel {
    n_features: usize,
    outputs: Outputs,
    n_scores: usize,
    trees: Vec<Arc<Tree>>,
    form: Form,
    start: Vec<f64>,
    divisor: f64,
    link: Link,
}

/// How the leaves of all trees are added.
#[derive(Clone, Debug, PartialEq)]
enum Form {
    Leaves,
    Columns,
    RankOne(StepSizes),
}

impl DescribedModel {
    /// Checks and builds a model.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Corrupt`] with the number of the tree and the rule that it breaks; [`crate::ErrorKind::Invalid`]
    /// if the link, the number of scores and the outputs do not fit each other; [`crate::ErrorKind::TooMany`];
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn new(of: Description, trees: &[TreeArrays<'_>]) -> Result<Self> {
        let Description { n_features, outputs, n_scores, start, divisor, link } = of;
        if n_features > MOST_FEATURES {
            return Err(ErrorKind::TooMany { what: "features", limit: MOST_FEATURES }.into());
        }
        check_link(link, &outputs, n_scores)?;
        if !start.is_empty() && start.len() != n_scores {
            return Err(Error::shape("start", n_scores, start.len()));
        }
        if !(divisor > 0.0 && divisor.is_finite()) {
            return Err(Error::invalid("divisor", divisor, "be positive and finite"));
        }
        let form = form(trees, n_scores)?;
        let outputs_of_trees = Arc::new(Outputs::Real { n_outputs: n_scores });
        let mut built = PURPOSE.with_capacity(trees.len())?;
        for (t, arrays) in trees.iter().enumerate() {
            let says = |fault: String| Error::corrupt(format!("tree {t} must {fault}"));
            arrays.check(n_features, n_scores).map_err(says)?;
            let adds_to = if form == Form::Leaves { arrays.adds_to } else { AddsTo::Columns };
            let width = if form == Form::Leaves { n_scores } else { 1 };
            built.push(Arc::new(arrays.tree(n_features, width, adds_to, Arc::clone(&outputs_of_trees))?));
        }
        Ok(DescribedModel { n_features, outputs, n_scores, trees: built, form, start, divisor, link })
    }

    /// Returns the model as a list of trees and the meaning of their sums.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn additive(&self) -> Result<Additive<'_>> {
        Ok(Additive {
            n_features: self.n_features,
            outputs: &self.outputs,
            width: self.n_scores,
            trees: borrowed(&self.trees)?,
            terms: match &self.form {
                Form::Leaves => Terms::Leaves,
                Form::Columns => Terms::Columns,
                Form::RankOne(steps) => Terms::RankOne { steps, learning_rate: 1.0, first_stage: 0 },
            },
            start: &self.start,
            divisor: self.divisor,
            link: self.link,
        })
    }

    /// Returns the scores of samples, (n_samples, n_scores).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] or [`crate::ErrorKind::Invalid`] if X is not valid, [`crate::ErrorKind::Interrupted`] or
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn predict_scores<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array2<f64>> {
        self.additive()?.scores(&x.into(), control)
    }

    /// Returns the predictions of samples: what their scores mean.
    ///
    /// # Errors
    /// The same as for [`DescribedModel::predict_scores`].
    pub fn predict<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array2<f64>> {
        self.additive()?.predict(&x.into(), control)
    }
}

fn check_link(link: Link, outputs: &Outputs, n_scores: usize) -> Result<()> {
    let is_one_for_two = n_scores == 1 && matches!(outputs, Outputs::Classes { n_classes } if **n_classes == [2]);
    if n_scores != outputs.width() && !is_one_for_two {
        return Err(Error::shape("the scores of a sample", outputs.width(), n_scores));
    }
    let fits = match (link, outputs) {
        (Link::Identity, _) => !is_one_for_two,
        (Link::Log, Outputs::Real { .. }) => true,
        (Link::Log, _) | (_, Outputs::Real { .. }) => false,
        (Link::Softmax, Outputs::Classes { .. }) => !is_one_for_two,
        (Link::Softmax, Outputs::Labels { .. }) => false,
        (Link::Margin | Link::Share | Link::Logistic | Link::OneAgainstRest, _) => true,
    };
    if fits {
        Ok(())
    } else {
        Err(Error::invalid("link", format!("{link:?}"), "fit the outputs and the number of scores"))
    }
}

/// Returns the form that stores all trees in the least memory.
fn form(trees: &[TreeArrays<'_>], n_scores: usize) -> Result<Form> {
    if trees.is_empty() {
        return Ok(Form::Leaves);
    }
    let in_turn = |(t, tree): (usize, &TreeArrays<'_>)| matches!(tree.adds_to, AddsTo::Column(c) if c == t % n_scores);
    if trees.iter().enumerate().all(in_turn) {
        return Ok(Form::Columns);
    }
    let mut steps = Vec::new();
    for tree in trees {
        let AddsTo::Factors(factors) = tree.adds_to else { return Ok(Form::Leaves) };
        if factors.len() != n_scores {
            return Err(Error::shape("the factors of a tree", n_scores, factors.len()));
        }
        PURPOSE.extend(&mut steps, factors.iter().copied())?;
    }
    Ok(Form::RankOne(StepSizes(steps)))
}

impl TreeArrays<'_> {
    /// Returns what the tree must be and is not.
    fn check(&self, n_features: usize, n_scores: usize) -> Result<(), String> {
        let need = |holds: bool, fault: &dyn Fn() -> String| if holds { Ok(()) } else { Err(fault()) };
        let n = self.features.len();
        let others = [self.left.len(), self.right.len(), self.missing_left.len(), self.thresholds.len()];
        need(n > 0 && others.iter().all(|&len| len == n) && self.leaf_ptr.len() == n + 1, &|| {
            "have lists of the same positive length, and \"leaf_ptr\" with one item more, got other lengths".into()
        })?;
        let largest = self.features.iter().copied().max().unwrap_or(0);
        need(n <= Node::MOST, &|| format!("have at most {} nodes, got {n}", Node::MOST))?;
        need(largest < n_features as i64, &|| format!("test features below {n_features}, got {largest}"))?;
        let is_leaf = |i: usize| self.features[i] < 0;
        let is_childless = |i: usize| self.left[i] == -1 && self.right[i] == -1;
        need((0..n).all(|i| !is_leaf(i) || is_childless(i)), &|| {
            "have -1 as children of leaves, got a leaf with children".into()
        })?;
        let mut has_parent = vec![false; n];
        let mut n_below = 0;
        for i in (0..n).filter(|&i| !is_leaf(i)) {
            for child in [self.left[i], self.right[i]] {
                let child = usize::try_from(child).ok().filter(|&child| child > i && child < n);
                n_below += usize::from(child.is_some_and(|child| !std::mem::replace(&mut has_parent[child], true)));
            }
        }
        // Each node except the root has exactly one parent, which comes before it: every traversal ends.
        let n_children = 2 * (0..n).filter(|&i| !is_leaf(i)).count();
        need(n_below == n - 1 && n_children == n - 1, &|| {
            "have a single parent before each node except the root, got other children".into()
        })?;
        let ptr = self.leaf_ptr;
        let n_values = self.leaf_values.len();
        let rises = ptr[0] == 0 && ptr.windows(2).all(|pair| pair[0] <= pair[1]) && ptr[n] == n_values as i64;
        need(rises && self.leaf_columns.len() == n_values, &|| {
            format!(
                "have a \"leaf_ptr\" that rises from 0 to {n_values}, the number of leaf values and of leaf columns"
            )
        })?;
        need((0..n).all(|i| is_leaf(i) || ptr[i] == ptr[i + 1]), &|| {
            "have values in leaves only, got a split with values".into()
        })?;
        let width = if let AddsTo::Columns = self.adds_to { n_scores } else { 1 };
        let rise = |i: usize| {
            let columns = &self.leaf_columns[ptr[i] as usize..ptr[i + 1] as usize];
            columns.is_sorted_by(|a, b| a < b) && columns.iter().all(|c| (0..width as i64).contains(c))
        };
        need((0..n).all(rise), &|| {
            format!("have \"leaf_columns\" that are ascending integers from 0 to {} in each leaf", width - 1)
        })?;
        let most = i64::from(Category::MAX);
        need(self.categories.iter().all(|(node, _)| *node < n && !is_leaf(*node)), &|| {
            "have \"categories\" of splits, got those of other nodes".into()
        })?;
        let are_codes =
            |codes: &[i64]| codes.is_sorted_by(|a, b| a < b) && codes.iter().all(|c| (0..=most).contains(c));
        need(self.categories.iter().all(|(_, codes)| are_codes(codes)), &|| {
            format!("have \"categories\" that are ascending integers from 0 to {most}, got others")
        })
    }

    /// Returns the checked tree, with its nodes in pre-order.
    fn tree(&self, n_features: usize, width: usize, adds_to: AddsTo<'_>, outputs: Arc<Outputs>) -> Result<Tree> {
        let n = self.features.len();
        let mut set_of = PURPOSE.filled(None, if self.categories.is_empty() { 0 } else { n })?;
        self.categories.iter().for_each(|(node, codes)| set_of[*node] = Some(codes));
        let (mut nodes, mut sets) = (PURPOSE.with_capacity::<Node>(n)?, CategorySets::default());
        let mut leaves = LeafTableBuilder::of_means(width);
        let mut n_leaves = 0u32;
        let mut cells: Vec<(u32, f64)> = Vec::new();
        // The nodes that follow, each with the place of its parent if it is a right child.
        let mut stack = vec![(0usize, None::<usize>)];
        while let Some((i, parent)) = stack.pop() {
            let at = nodes.len();
            if let Some(parent) = parent {
                nodes[parent].set_right(at as u32);
            }
            if self.features[i] < 0 {
                let range = self.leaf_ptr[i] as usize..self.leaf_ptr[i + 1] as usize;
                cells.clear();
                for (&column, &value) in self.leaf_columns[range.clone()].iter().zip(&self.leaf_values[range]) {
                    match adds_to {
                        AddsTo::Columns => PURPOSE.push(&mut cells, (column as u32, value))?,
                        AddsTo::Column(column) => PURPOSE.push(&mut cells, (column as u32, value))?,
                        AddsTo::Factors(factors) => {
                            let products = (0..).zip(factors.iter().map(|factor| value * factor));
                            products.into_iter().try_for_each(|cell| PURPOSE.push(&mut cells, cell))?;
                        }
                    }
                }
                nodes.push(Node::leaf(n_leaves));
                n_leaves += 1;
                leaves.push_rounded(cells.iter().copied().filter(|(_, value)| *value != 0.0))?;
                continue;
            }
            let mut node = Node::split(self.features[i] as u32, self.thresholds[i]);
            if let Some(codes) = set_of.get(i).copied().flatten() {
                node.set_categories(sets.push(PURPOSE.collected(codes.iter().map(|&c| c as Category))?.into_iter())?);
            }
            node.set_missing(if self.missing_left[i] { Side::Left } else { Side::Right }, false);
            nodes.push(node);
            PURPOSE.push(&mut stack, (self.right[i] as usize, Some(at)))?;
            PURPOSE.push(&mut stack, (self.left[i] as usize, None))?;
        }
        Ok(Tree {
            n_features,
            outputs,
            criterion: Criterion::Variance,
            // Statistics of training samples are not described.
            impurity: PURPOSE.filled(0.0, n)?,
            n_node_samples: PURPOSE.filled(1, n)?,
            weighted_n_node_samples: PURPOSE.filled(1.0, n)?,
            nodes,
            sets,
            leaves: leaves.finish()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    fn arrays<'a>(adds_to: AddsTo<'a>, columns: &'a [i64], values: &'a [f64]) -> TreeArrays<'a> {
        TreeArrays {
            features: &[0, 1, -1, -1, -1],
            thresholds: &[0.5, 0.0, 0.0, 0.0, 0.0],
            // The right child of the root comes before the left one.
            left: &[2, 3, -1, -1, -1],
            right: &[1, 4, -1, -1, -1],
            missing_left: &[true, false, false, false, false],
            categories: &[],
            leaf_ptr: &[0, 0, 0, 1, 2, 3],
            leaf_columns: columns,
            leaf_values: values,
            adds_to,
        }
    }

    fn head(n_scores: usize) -> Description {
        Description {
            n_features: 2,
            outputs: Outputs::Real { n_outputs: n_scores },
            n_scores,
            start: vec![0.5; n_scores],
            divisor: 2.0,
            link: Link::Identity,
        }
    }

    #[test]
    fn scores_are_those_of_a_walk_of_the_arrays_in_all_forms() {
        let (zeros, values, factors) = ([0; 3], [1.0, 10.0, 100.0], [2.0, -0.25]);
        let plain = arrays(AddsTo::Columns, &[1, 0, 1], &values);
        let other = arrays(AddsTo::Column(1), &zeros, &values);
        let first = arrays(AddsTo::Column(0), &zeros, &values);
        let scaled = arrays(AddsTo::Factors(&factors), &zeros, &values);
        let sets = [(0, vec![0, 3]), (1, vec![2])];
        let listed = TreeArrays { categories: &sets, ..plain.clone() };
        let x = array![[0.5f32, 7.0], [0.75, 0.0], [3.0, 2.0], [f32::NAN, 1.0], [1.0, f32::NAN], [-1.0, 2.0]];
        let leaf_of = |tree: &TreeArrays<'_>, row: usize| {
            let mut at = 0;
            while tree.features[at] >= 0 {
                let value = x[[row, tree.features[at] as usize]];
                let set = tree.categories.iter().find(|(node, _)| *node == at);
                let is_low =
                    set.map_or(value <= tree.thresholds[at], |(_, set)| set.iter().any(|&c| c as f32 == value));
                let goes_left = if value.is_nan() { tree.missing_left[at] } else { is_low };
                at = if goes_left { tree.left[at] } else { tree.right[at] } as usize;
            }
            at - 2
        };
        let all = [
            vec![],
            vec![plain.clone(), listed.clone()],
            vec![first.clone(), other.clone()],
            vec![scaled.clone(), scaled.clone()],
            vec![plain.clone(), other, scaled.clone(), listed],
            vec![other_first(&first)],
        ];
        for trees in all {
            let model = DescribedModel::new(head(2), &trees).unwrap();
            let expected = Array2::from_shape_fn((6, 2), |(row, score)| {
                let mut sum = 0.5;
                for tree in &trees {
                    let cell = leaf_of(tree, row);
                    let value = tree.leaf_values[cell];
                    sum += match tree.adds_to {
                        AddsTo::Columns if tree.leaf_columns[cell] as usize == score => value,
                        AddsTo::Column(column) if column == score => value,
                        AddsTo::Factors(factors) => value * factors[score],
                        AddsTo::Columns | AddsTo::Column(_) => 0.0,
                    };
                }
                sum / 2.0
            });
            assert_eq!(model.predict_scores(&x, &Control::default()).unwrap(), expected);
            assert_eq!(model.predict(&x, &Control::default()).unwrap(), expected);
        }
    }

    /// The tree of a single score out of its turn.
    fn other_first<'a>(tree: &TreeArrays<'a>) -> TreeArrays<'a> {
        TreeArrays { adds_to: AddsTo::Column(1), ..tree.clone() }
    }

    /// What makes a tree none.
    type Change<'f> = &'f dyn Fn(&mut TreeArrays<'_>);

    #[test]
    fn trees_that_are_none_are_refused_with_the_fault() {
        let says = |change: Change<'_>| {
            let mut tree = arrays(AddsTo::Columns, &[0; 3], &[1.0; 3]);
            change(&mut tree);
            DescribedModel::new(head(2), &[tree]).unwrap_err().to_string()
        };
        let faults: [(Change<'_>, &str); 12] = [
            (&|tree| tree.features = &[], "tree 0 must have lists of the same positive length"),
            (&|tree| tree.features = &[2, 1, -1, -1, -1], "tree 0 must test features below 2, got 2"),
            (&|tree| tree.left = &[2, 3, 4, -1, -1], "got a leaf with children"),
            (&|tree| tree.left = &[0, 3, -1, -1, -1], "a single parent before each node"),
            (&|tree| tree.left = &[1, 3, -1, -1, -1], "a single parent before each node"),
            (&|tree| tree.right = &[1, 99, -1, -1, -1], "a single parent before each node"),
            (&|tree| tree.leaf_ptr = &[0, 0, 0, 1, 2, 4], "\"leaf_ptr\" that rises from 0 to 3"),
            (&|tree| tree.leaf_ptr = &[0, 1, 1, 1, 2, 3], "a split with values"),
            (&|tree| tree.leaf_columns = &[0, 2, 0], "ascending integers from 0 to 1 in each leaf"),
            (&|tree| tree.leaf_columns = &[0, -1, 0], "ascending integers from 0 to 1 in each leaf"),
            (&|tree| tree.features = &[-1, 1, -1, -1, -1], "got a leaf with children"),
            (&|tree| tree.missing_left = &[true], "lists of the same positive length"),
        ];
        for (change, expected) in faults {
            let found = says(change);
            assert!(found.contains(expected), "{found}");
        }
        for sets in [[(2, vec![0])], [(9, vec![0])], [(0, vec![3, 1])], [(0, vec![70_000])], [(0, vec![-1])]] {
            let tree = TreeArrays { categories: &sets, ..arrays(AddsTo::Columns, &[0; 3], &[1.0; 3]) };
            let found = DescribedModel::new(head(2), &[tree]).unwrap_err().to_string();
            assert!(found.contains("must have \"categories\""), "{found}");
        }
        let short = arrays(AddsTo::Factors(&[1.0]), &[0; 3], &[1.0; 3]);
        assert!(DescribedModel::new(head(2), &[short]).is_err());
    }

    #[test]
    fn heads_that_contradict_themselves_are_refused() {
        let two = || Outputs::Classes { n_classes: vec![2] };
        let refused = |of: Description| DescribedModel::new(of, &[]).is_err();
        assert!(refused(Description { n_scores: 3, start: vec![], ..head(2) }));
        assert!(refused(Description { start: vec![1.0], ..head(2) }));
        assert!(refused(Description { divisor: 0.0, ..head(2) }));
        assert!(refused(Description { n_features: MOST_FEATURES + 1, ..head(2) }));
        assert!(refused(Description { link: Link::Softmax, ..head(2) }));
        assert!(refused(Description { outputs: two(), link: Link::Softmax, ..head(1) }));
        let model = DescribedModel::new(Description { outputs: two(), link: Link::Logistic, ..head(1) }, &[]).unwrap();
        let proba = model.predict(&array![[0.0f32, 0.0]], &Control::default()).unwrap();
        assert_eq!(proba.ncols(), 2);
    }
}
