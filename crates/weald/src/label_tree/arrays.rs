//! What the arrays of a model must fulfil, wherever they come from.

use super::config::{MOST_COLUMNS, check_beam_width};
use super::{LabelTree, LabelTreeModel};
use crate::data::{MOST_FEATURES, Outputs};
use crate::error::{Error, Purpose, Result};
use crate::linear::Features;

const PURPOSE: Purpose = Purpose("the labels of a label tree");

impl LabelTreeModel {
    /// Returns the model if its arrays fit one another.
    pub(crate) fn checked(self) -> Result<Self> {
        if let Some(why) = self.fault() {
            return Err(Error::corrupt(why));
        }
        let mut of_first = None;
        for tree in &self.trees {
            if let Some(why) = tree.fault(self.n_features, self.n_labels()) {
                return Err(Error::corrupt(why));
            }
            let labels = tree.sorted_labels()?;
            if labels.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(Error::corrupt("a label is twice in a tree"));
            }
            if *of_first.get_or_insert_with(|| labels.clone()) != labels {
                return Err(Error::corrupt("trees have different labels"));
            }
        }
        Ok(self)
    }

    /// Returns the rule that the model breaks, apart from its trees.
    fn fault(&self) -> Option<&'static str> {
        if self.n_features == 0 || self.n_features > MOST_FEATURES {
            return Some("the number of features is zero or too large");
        }
        let is_one = |n_classes: &[u32]| n_classes.len() == 1;
        match &self.outputs {
            Outputs::Labels { n_labels } if *n_labels > 0 => {}
            Outputs::Classes { n_classes } if is_one(n_classes) && n_classes[0] > 0 => {}
            _ => return Some("a label tree has labels, or one output of classes"),
        }
        if self.features == Features::Standardized {
            return Some("a label tree has no standardised features");
        }
        if self.idf.is_some() != (self.features == Features::TfIdf) {
            return Some("there are inverse document frequencies if and only if features are tf-idf");
        }
        let is_factor = |factor: &f32| factor.is_finite() && *factor > 0.0;
        if self.idf().is_some_and(|idf| idf.len() != self.n_features || !idf.iter().all(is_factor)) {
            return Some("the inverse document frequencies are not one positive number for each feature");
        }
        if check_beam_width(self.beam_width).is_err() {
            return Some("the number of nodes that are followed is zero or too large");
        }
        self.trees.is_empty().then_some("there are no trees")
    }
}

impl LabelTree {
    /// Returns the rule that the tree breaks.
    fn fault(&self, n_features: usize, n_labels: usize) -> Option<&'static str> {
        let n_nodes = self.is_leaf.len();
        let are_finite = |numbers: &[f32]| numbers.iter().all(|number| number.is_finite());
        if n_nodes == 0 || !are_offsets(&self.column_ptr, n_nodes, self.targets.len()) {
            return Some("the numbers of columns of nodes do not add up");
        }
        if self.intercepts.len() != self.targets.len() || !are_finite(&self.intercepts) {
            return Some("the intercepts are not one finite number for each column");
        }
        if !are_offsets(&self.feature_ptr, n_nodes, self.features.len())
            || !are_offsets(&self.weight_ptr, self.features.len(), self.columns.len())
        {
            return Some("the numbers of weights of features do not add up");
        }
        if self.values.len() != self.columns.len() || self.values.contains(&0.0) || !are_finite(&self.values) {
            return Some("the weights are not one finite number, other than zero, for each column of a feature");
        }
        // Nodes are numbered level by level, so that each node but the root has one parent, which comes before it.
        let mut next_child = 1;
        for node in 0..n_nodes {
            let targets = self.targets_of(node);
            if node >= next_child || targets.len() > MOST_COLUMNS {
                return Some("a node has no parent, or too many columns");
            }
            if self.is_leaf[node] {
                if !rises(targets, n_labels) {
                    return Some("the labels of a leaf are out of range or not in increasing order");
                }
            } else {
                if targets.is_empty() || !(next_child..).zip(targets).all(|(child, &target)| child == target as usize) {
                    return Some("the children of nodes are not the nodes that follow");
                }
                next_child += targets.len();
            }
            let listed = self.feature_ptr[node]..self.feature_ptr[node + 1];
            if !rises(&self.features[listed.clone()], n_features) {
                return Some("the features of a node are out of range or not in increasing order");
            }
            let columns = |at: usize| &self.columns[self.weight_ptr[at]..self.weight_ptr[at + 1]];
            if !listed.into_iter().all(|at| !columns(at).is_empty() && rises(columns(at), targets.len())) {
                return Some("the columns of a feature are missing, out of range or not in increasing order");
            }
        }
        if next_child != n_nodes {
            return Some("there are more or fewer nodes than children");
        }
        (self.n_unfinished > self.targets.len()).then_some("more columns are unfinished than there are")
    }

    /// Returns the labels of all leaves, in increasing order.
    fn sorted_labels(&self) -> Result<Vec<u32>> {
        let mut labels = Vec::new();
        for node in (0..self.n_nodes()).filter(|&node| self.is_leaf[node]) {
            PURPOSE.extend(&mut labels, self.targets_of(node).iter().copied())?;
        }
        labels.sort_unstable();
        Ok(labels)
    }
}

/// Returns whether offsets divide `length` items into `n` lists.
fn are_offsets(offsets: &[usize], n: usize, length: usize) -> bool {
    let has_ends = offsets.len() == n + 1 && offsets.first() == Some(&0) && offsets.last() == Some(&length);
    has_ends && offsets.is_sorted()
}

/// Returns whether numbers are below `n`, and each is larger than the one before.
fn rises<T: Copy + Into<u32>>(numbers: &[T], n: usize) -> bool {
    let in_range = numbers.last().is_none_or(|&last| (last.into() as usize) < n);
    in_range && numbers.windows(2).all(|pair| pair[0].into() < pair[1].into())
}
