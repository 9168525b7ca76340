//! Feature importances: the mean decrease of impurity, for all outputs or for selected ones.
//!
//! A split of node t into l and r decreases the impurity by (W_t·I_t − W_l·I_l − W_r·I_r) / W_root. For all outputs,
//! the impurities are those stored in the tree. For selected outputs, they are computed from the leaves: the
//! frequencies (or means) of a node are the weighted means of those of its leaves, so that no data are needed, and the
//! criterion gives the decrease of each split. This is not possible for medians, for which only all outputs can be
//! selected. A tree that was grown on projected outputs stores the impurities of these. For selected outputs, it uses
//! the variance of the frequencies of labels, or the sum of the variances of the frequencies of the classes of an
//! output. Columns are processed in chunks of [`CHUNK`], each in one pass over the nodes from the last to the first
//! with a stack: O(n_nodes · CHUNK + stored cells) for each chunk, and O(depth · CHUNK) memory, never nodes × width.

use super::Tree;
use crate::criterion::{Decrease, SideSums, SplitSums};
use crate::data::Outputs;
use crate::error::{Error, Purpose, Result};

/// The number of columns whose statistics are computed in the same pass.
const CHUNK: usize = 64;

const PURPOSE: Purpose = Purpose("decreases of impurity");

impl Tree {
    /// Returns the decrease of impurity by the splits on each feature, of length n_features, normalised to sum to 1 (or
    /// all zero if no split decreased the impurity).
    ///
    /// `outputs` selects some of the outputs; `None` means all.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] if an output is out of range or repeated, and if only some of the outputs are
    /// selected with [`crate::Criterion::AbsoluteError`].
    pub fn feature_importances(&self, outputs: Option<&[usize]>) -> Result<Vec<f64>> {
        let mut importances = self.unnormalized_feature_importances(outputs)?;
        normalize(&mut importances);
        Ok(importances)
    }

    /// Returns the decrease of impurity by the splits on each feature, of length n_features, in units of impurity.
    ///
    /// # Errors
    /// The errors of [`Tree::feature_importances`].
    pub fn unnormalized_feature_importances(&self, outputs: Option<&[usize]>) -> Result<Vec<f64>> {
        let decreases = match outputs {
            None => self.stored_decreases()?,
            Some(outputs) => self.decreases_of(outputs)?,
        };
        let mut importances = Purpose("feature importances").filled(0.0, self.n_features)?;
        for (node, decrease) in self.nodes.iter().zip(decreases).filter(|(node, _)| !node.is_leaf()) {
            importances[node.feature() as usize] += decrease;
        }
        Ok(importances)
    }

    /// Returns the decrease of the stored impurity by each split.
    fn stored_decreases(&self) -> Result<Vec<f64>> {
        let scale = self.scale_of_weights();
        let weighted = |i: usize| scale.times(self.weighted_n_node_samples[i]) * self.impurity[i];
        let root = scale.times(self.weighted_n_node_samples[0]);
        let decrease = |(i, node): (usize, &super::Node)| {
            if node.is_leaf() { 0.0 } else { (weighted(i) - weighted(i + 1) - weighted(node.right() as usize)) / root }
        };
        PURPOSE.collected(self.nodes.iter().enumerate().map(decrease))
    }

    /// Returns the decrease of the mean impurity of `outputs` by each split.
    fn decreases_of(&self, outputs: &[usize]) -> Result<Vec<f64>> {
        let groups = self.columns_of(outputs)?;
        let Some(decrease) = self.criterion.decrease() else {
            if groups.len() == self.outputs.n_outputs() {
                return self.stored_decreases();
            }
            let (got, must) = ("some outputs", "be all outputs with a criterion whose leaves are medians");
            return Err(Error::invalid("outputs", got, must));
        };
        let mut decreases = PURPOSE.filled(0.0, self.n_nodes())?;
        let mut first = 0;
        while first < groups.len() {
            // A chunk has as many whole outputs as possible, and at least one.
            let mut last = first + 1;
            let mut n_columns = groups[first].len();
            while last < groups.len() && n_columns + groups[last].len() <= CHUNK {
                n_columns += groups[last].len();
                last += 1;
            }
            self.add_decreases(&groups[first..last], n_columns, decrease, &mut decreases)?;
            first = last;
        }
        let root = self.scale_of_weights().times(self.weighted_n_node_samples[0]);
        decreases.iter_mut().for_each(|d| *d /= root * groups.len() as f64);
        Ok(decreases)
    }

    /// Returns the columns of each of the selected outputs.
    fn columns_of(&self, outputs: &[usize]) -> Result<Vec<std::ops::Range<usize>>> {
        const ACCEPTED: &str = "have at least one output, each below n_outputs and named once";
        let n_outputs = self.outputs.n_outputs();
        let mut chosen = PURPOSE.copied(outputs)?;
        chosen.sort_unstable();
        if chosen.is_empty() {
            return Err(Error::invalid("outputs", "no output", ACCEPTED));
        }
        if let Some(bad) = chosen.iter().find(|o| **o >= n_outputs) {
            return Err(Error::invalid("outputs", bad, ACCEPTED));
        }
        if let Some(twice) = chosen.windows(2).find(|w| w[0] == w[1]) {
            return Err(Error::invalid("outputs", format!("{} twice", twice[0]), ACCEPTED));
        }
        match self.outputs() {
            Outputs::Real { .. } | Outputs::Labels { .. } => PURPOSE.collected(chosen.into_iter().map(|o| o..o + 1)),
            Outputs::Classes { n_classes } => {
                let mut ends = PURPOSE.collected(n_classes.iter().map(|&k| k as usize))?;
                (1..ends.len()).for_each(|o| ends[o] += ends[o - 1]);
                PURPOSE.collected(chosen.into_iter().map(|o| ends[o] - n_classes[o] as usize..ends[o]))
            }
        }
    }

    /// Adds the decreases of the sum of the impurities of the outputs `groups`, multiplied by the weights of the nodes.
    fn add_decreases(
        &self,
        groups: &[std::ops::Range<usize>],
        n_columns: usize,
        decrease: Decrease,
        decreases: &mut [f64],
    ) -> Result<()> {
        const NOT_CHOSEN: u32 = u32::MAX;
        let mut place = Purpose("the map of chosen outputs").filled(NOT_CHOSEN, self.leaves.width)?;
        (0..).zip(groups.iter().cloned().flatten()).for_each(|(at, column)| place[column] = at);
        let widths = PURPOSE.collected(groups.iter().map(ExactSizeIterator::len))?;
        // Invariant: the stack holds the sums of the subtrees whose parents are still to come. As nodes are visited
        // backwards, a node finds the sums of its left child on top and those of its right child below.
        let (mut stack, mut totals): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut both: Vec<f64> = PURPOSE.with_capacity(n_columns)?;
        let are_labels = matches!(self.outputs(), Outputs::Labels { .. });
        let scale_of_weights = self.scale_of_weights();
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if node.is_leaf() {
                let (scale, total) = self.leaf_scale(i);
                let at = stack.len();
                PURPOSE.resize(&mut stack, at + n_columns, 0.0)?;
                for (column, amount) in self.leaves.cells(node.right() as usize) {
                    if let Some(sum) = stack[at..].get_mut(place[column as usize] as usize) {
                        *sum = amount * scale;
                    }
                }
                PURPOSE.push(&mut totals, total)?;
                continue;
            }
            let left_at = stack.len() - n_columns;
            let (below, left) = stack.split_at_mut(left_at);
            let right_at = left_at - n_columns;
            let right = &mut below[right_at..];
            let left_total = totals.pop().expect("two subtrees below every split");
            let right_total = totals.pop().expect("two subtrees below every split");
            let total = left_total + right_total;
            let weight = |at: usize| scale_of_weights.times(self.weighted_n_node_samples[at]);
            let (w_left, w_right) = (weight(i + 1), weight(node.right() as usize));
            both.clear();
            both.extend(right.iter().zip(left.iter()).map(|(r, l)| r + l));
            decreases[i] += decrease(&SplitSums {
                widths: &widths,
                are_labels,
                left: SideSums { sums: left, total: left_total, weight: w_left },
                right: SideSums { sums: right, total: right_total, weight: w_right },
                both: SideSums { sums: &both, total, weight: w_left + w_right },
            });
            right.copy_from_slice(&both);
            totals.push(total);
            stack.truncate(left_at);
        }
        Ok(())
    }
}

pub(crate) fn normalize(importances: &mut [f64]) {
    let sum: f64 = importances.iter().sum();
    if sum > 0.0 {
        importances.iter_mut().for_each(|v| *v /= sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::Criterion;
    use crate::error::ErrorKind;
    use crate::exact::{PowerOfTwo, exponent_above};
    use crate::forest::Forest;
    use crate::testing::models;

    /// Returns the impurity of output `o` in every node, by its definition on the values of all nodes.
    fn naive_impurity(tree: &Tree, o: usize) -> Vec<f64> {
        let value = tree.value().unwrap();
        let entropy = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
        let frequencies =
            |i: usize| value.slice_axis(ndarray::Axis(0), (i..i + 1).into()).index_axis(ndarray::Axis(1), o).to_owned();
        let of_node = |i: usize| match tree.criterion {
            Criterion::Gini => 1.0 - frequencies(i).iter().map(|p| p * p).sum::<f64>(),
            Criterion::Entropy => frequencies(i).iter().map(|p| entropy(*p)).sum(),
            Criterion::Poisson => panic!("models of this criterion have leaves that are not negative"),
            Criterion::AbsoluteError => panic!("medians of leaves do not tell the impurity"),
            Criterion::Variance => {
                // Σ W (m − mean)² over the leaves below is the variance between leaves, which is all that splits
                // change. Labels have their frequency in the second column, classes have all columns.
                let columns = match tree.outputs() {
                    Outputs::Labels { .. } => 1..2,
                    _ => 0..value.dim().2,
                };
                let end = if tree.nodes[i].is_leaf() { i + 1 } else { end_of(tree, i) };
                let leaves = (i..end).filter(|&l| tree.nodes[l].is_leaf());
                let square =
                    |l: usize| columns.clone().map(|c| (value[[l, o, c]] - value[[i, o, c]]).powi(2)).sum::<f64>();
                leaves.map(|l| tree.weighted_n_node_samples[l] * square(l)).sum::<f64>()
                    / tree.weighted_n_node_samples[i]
            }
        };
        (0..tree.n_nodes()).map(of_node).collect()
    }

    /// Returns the end of the subtree of node `i`.
    fn end_of(tree: &Tree, i: usize) -> usize {
        let mut last = i;
        while !tree.nodes[last].is_leaf() {
            last = tree.nodes[last].right() as usize;
        }
        last + 1
    }

    fn assert_close(a: &[f64], b: &[f64]) {
        let scale = b.iter().fold(1e-3f64, |m, v| m.max(v.abs()));
        // Decreases are differences of sums, which are added in another order than in the reference.
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-11 * scale), "{a:?} {b:?}");
    }

    #[test]
    fn chosen_outputs_agree_with_impurities_of_the_nodes_values() {
        for seed in 0..200u64 {
            let forest = models::some_forest(seed);
            let mut tree = Tree::clone(forest.tree(0));
            if tree.criterion == Criterion::Gini && seed % 2 == 0 {
                tree.criterion = Criterion::Entropy;
            }
            let n_outputs = tree.outputs.n_outputs();
            let chosen: Vec<usize> =
                (0..n_outputs).rev().filter(|o| *o == 0 || !(o * 7 + seed as usize).is_multiple_of(3)).collect();
            let mut expected = vec![0.0; tree.n_features];
            for &o in &chosen {
                tree.impurity = naive_impurity(&tree, o);
                let of_output = tree.unnormalized_feature_importances(None).unwrap();
                expected.iter_mut().zip(of_output).for_each(|(sum, v)| *sum += v / chosen.len() as f64);
            }
            assert_close(&tree.unnormalized_feature_importances(Some(&chosen)).unwrap(), &expected);
        }
    }

    #[test]
    fn weights_of_any_size_have_the_same_importances() {
        for seed in 0..40u64 {
            let mut tree = Tree::clone(models::some_forest(seed).tree(0));
            if tree.leaves.total(tree.nodes.iter().find(|node| node.is_leaf()).unwrap().right() as usize).is_some() {
                continue;
            }
            let found = |tree: &Tree| {
                let chosen = tree.feature_importances(Some(&[0])).unwrap();
                (tree.feature_importances(None).unwrap(), chosen, tree.value().unwrap())
            };
            let expected = found(&tree);
            for exponent in [1023, -970] {
                let scale = PowerOfTwo::new(exponent - exponent_above(tree.weighted_n_node_samples[0]));
                tree.weighted_n_node_samples.iter_mut().for_each(|w| *w = scale.times(*w));
                assert_eq!(found(&tree), expected);
            }
        }
    }

    #[test]
    fn shares_sum_to_one_and_single_leaves_are_ignored() {
        let shape = models::Shape { n_features: 5, outputs: models::some_outputs(5), max_leaves: 40, unit: 1.0 };
        let forest = models::forest(2, 9, &shape);
        let mean = forest.feature_importances(Some(&[3, 1])).unwrap();
        // The importances of each tree are divided by their sum, and the mean over the trees is rounded.
        assert!((mean.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let stump = models::forest(2, 1, &models::Shape { max_leaves: 1, ..shape });
        assert_eq!(stump.feature_importances(None).unwrap(), [0.0; 5]);
        let both = Forest::merge(&[&stump, &forest]).unwrap();
        assert_eq!(both.feature_importances(Some(&[3, 1])).unwrap(), mean);
    }

    #[test]
    fn a_long_chain_is_no_deeper_than_the_heap() {
        let tree = models::chain(100_000);
        assert_eq!(tree.feature_importances(Some(&[0, 1])).unwrap().len(), 1);
    }

    #[test]
    fn outputs_must_exist_and_be_named_once() {
        let tree = models::chain(2);
        for bad in [&[2][..], &[0, 1, 0], &[], &[usize::MAX]] {
            let error = tree.feature_importances(Some(bad)).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Invalid { what: "outputs", .. }));
        }
    }
}
