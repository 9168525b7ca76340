//! The constraints of a configuration, for the columns and features of a fit, and the values of leaves in the order
//! that monotonic constraints require.

use std::sync::Arc;

use ndarray::{ArrayView2, Axis};

use super::Node;
use super::config::TreeConfig;
use super::growth::grow::Structure;
use crate::criterion::LeafValues;
use crate::data::FeatureSubset;
use crate::data::targets::{Outputs, starts};
use crate::data::{Dataset, FeatureKind};
use crate::error::{Error, Purpose, Result};
use crate::split::interactions::Groups;
use crate::split::monotonic::Directions;

const MONOTONIC: &str = "monotonic_cst";
const INTERACTION: &str = "interaction_cst";
const PURPOSE: Purpose = Purpose("the directions of features");

impl TreeConfig {
    /// Checks the constraints against the data. `is_masked` is whether some cells of y are unknown.
    pub(crate) fn check_constraints(&self, data: &Dataset<'_>, is_masked: bool) -> Result<()> {
        self.check_groups(data.n_features())?;
        let Some(signs) = &self.monotonic_cst else { return Ok(()) };
        let (n_features, n_outputs) = (data.n_features(), data.outputs().n_outputs());
        let shape = signs.dim();
        if shape != (n_features, 1) && shape != (n_features, n_outputs) {
            let got = format!("shape {shape:?} for {n_features} features and {n_outputs} outputs");
            return Err(Error::invalid(MONOTONIC, got, "have shape (n_features, 1) or (n_features, n_outputs)"));
        }
        if let Some(sign) = signs.iter().find(|sign| !(-1..=1).contains(*sign)) {
            return Err(Error::invalid(MONOTONIC, sign, "be -1, 0 or 1 for each feature"));
        }
        if signs.iter().all(|&sign| sign == 0) {
            return Ok(());
        }
        let is_directed = |j: usize| signs.row(j).iter().any(|&sign| sign != 0);
        let category = (0..n_features).find(|&j| is_directed(j) && data.kind(j) != FeatureKind::Ordered);
        if let Some(j) = category {
            return Err(Error::invalid(
                MONOTONIC,
                format!("a direction for the categorical feature {j}"),
                "be 0 for categorical features",
            ));
        }
        if let Outputs::Classes { n_classes } = data.outputs()
            && n_classes.iter().any(|&k| k > 2)
        {
            return Err(Error::unsupported(MONOTONIC, "for outputs with more than two classes"));
        }
        if self.output_projection.is_some() {
            return Err(Error::unsupported(MONOTONIC, "with output projections, which mix the signs of outputs"));
        }
        if self.searches_numbers(&data.outputs()) {
            return Err(Error::unsupported(MONOTONIC, "with weights of labels"));
        }
        if is_masked {
            return Err(Error::unsupported(MONOTONIC, "if y has masked cells"));
        }
        if self.criterion.leaf_values() == LeafValues::Medians {
            return Err(Error::unsupported(MONOTONIC, "with the absolute error, as the constraint orders means"));
        }
        Ok(())
    }

    fn check_groups(&self, n_features: usize) -> Result<()> {
        let features = self.interaction_cst.iter().flatten().flatten();
        match features.copied().find(|&feature| feature as usize >= n_features) {
            Some(feature) => {
                let got = format!("feature {feature}, where X has {n_features}");
                Err(Error::invalid(INTERACTION, got, "be groups of features of X, numbered from 0"))
            }
            None => Ok(()),
        }
    }

    /// Returns the monotonic constraints on the columns of `outputs`, for the features of X, or `None` if there are no
    /// constraints. For classes, the columns are frequencies.
    pub(crate) fn directions(&self, outputs: &Outputs) -> Result<Option<MonotonicColumns>> {
        let columns = match outputs {
            Outputs::Classes { n_classes } => {
                let starts = starts(n_classes)?;
                // The constrained column is the second of two classes. A single class is not constrained.
                PURPOSE.collected(n_classes.iter().zip(starts).map(|(&k, start)| (k == 2).then_some(start as u32 + 1)))
            }
            Outputs::Real { .. } | Outputs::Labels { .. } => {
                PURPOSE.collected((0..outputs.n_outputs()).map(|output| Some(output as u32)))
            }
        }?;
        match &self.monotonic_cst {
            Some(signs) => MonotonicColumns::new(signs.view(), &columns),
            None => Ok(None),
        }
    }

    /// Returns the monotonic constraints on one score, which is a column of y.
    pub(crate) fn directions_of_score(&self, output: usize) -> Result<Option<MonotonicColumns>> {
        let Some(signs) = &self.monotonic_cst else { return Ok(None) };
        let column = if signs.ncols() == 1 { 0 } else { output };
        let of_score = signs.column(column);
        MonotonicColumns::new(of_score.insert_axis(Axis(1)), &[Some(0)])
    }

    /// Returns the groups of features of the interaction constraint, with the numbers that the features have in the
    /// tree.
    pub(crate) fn groups(&self, features: &FeatureSubset, n_held: usize) -> Result<Option<Arc<Groups>>> {
        let Some(groups) = &self.interaction_cst else { return Ok(None) };
        let mut held = Purpose("the groups of features").with_capacity(groups.len())?;
        for group in groups {
            let mut members = Purpose("the groups of features").with_capacity(group.len())?;
            members.extend(group.iter().filter_map(|&feature| features.number_of(feature)));
            members.sort_unstable();
            members.dedup();
            held.push(members);
        }
        Groups::new(n_held, held).map(|groups| Some(Arc::new(groups)))
    }
}

/// The directions of all features of X.
#[derive(Debug)]
pub(crate) struct MonotonicColumns {
    columns: Vec<u32>,
    /// The signs of one feature after the other, one for each of `columns`.
    signs: Vec<i8>,
}

impl MonotonicColumns {
    /// `signs` has one column for each output, or a single column for all outputs. `columns` are the columns of
    /// predictions of the outputs, `None` for outputs without one. Returns `None` if no feature has a direction.
    fn new(signs: ArrayView2<'_, i8>, columns: &[Option<u32>]) -> Result<Option<Self>> {
        let of_output = |output: usize| signs.column(if signs.ncols() == 1 { 0 } else { output });
        let directed = |&(output, column): &(usize, &Option<u32>)| {
            column.is_some() && of_output(output).iter().any(|&sign| sign != 0)
        };
        let mut outputs = PURPOSE.with_capacity(columns.len())?;
        outputs.extend(columns.iter().enumerate().filter(directed).map(|(output, _)| output));
        if outputs.is_empty() {
            return Ok(None);
        }
        let mut by_feature = PURPOSE.with_capacity(signs.nrows() * outputs.len())?;
        for feature in 0..signs.nrows() {
            by_feature.extend(outputs.iter().map(|&output| of_output(output)[feature]));
        }
        let mut kept = PURPOSE.with_capacity(outputs.len())?;
        kept.extend(outputs.iter().filter_map(|&output| columns[output]));
        Ok(Some(MonotonicColumns { columns: kept, signs: by_feature }))
    }

    fn of(&self, feature: usize) -> &[i8] {
        let n = self.columns.len();
        &self.signs[feature * n..][..n]
    }

    /// Returns the columns that have a direction for some feature.
    pub(crate) fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Returns the directions of the features that a tree uses.
    pub(crate) fn held(&self, features: &FeatureSubset) -> Result<Directions> {
        let columns = PURPOSE.copied(&self.columns)?;
        let signs = match features.numbers() {
            None => PURPOSE.copied(&self.signs)?,
            Some(numbers) => {
                let mut signs = PURPOSE.with_capacity(numbers.len() * columns.len())?;
                numbers.iter().for_each(|&feature| signs.extend_from_slice(self.of(feature as usize)));
                signs
            }
        };
        Ok(Directions::new(columns, signs))
    }

    /// Moves the values of leaves, `width` for each leaf, so that they meet the constraints: at every split on a
    /// feature with a direction, the values below each side are limited by the middle between the means of both sides.
    /// Returns whether any value was changed.
    ///
    /// The mean of a side is the mean of its leaves, weighted by `weight`. Growth has put the sides of splits in order,
    /// but values further down may have passed the middle because of splits on features without a direction. O(nodes ×
    /// columns).
    pub(crate) fn order_leaves(
        &self,
        structure: &Structure,
        weight: &[f64],
        values: &mut [f64],
        width: usize,
    ) -> Result<bool> {
        const PURPOSE: Purpose = Purpose("the ranges of nodes");
        let (nodes, n) = (&structure.nodes[..], self.columns.len());
        let leaf = |node: &Node| node.right() as usize;
        let mut weights = PURPOSE.filled(0.0, nodes.len())?;
        let mut means = PURPOSE.filled(0.0, nodes.len() * n)?;
        // Children come after their parents.
        for (i, node) in nodes.iter().enumerate().rev() {
            if node.is_leaf() {
                weights[i] = weight[leaf(node)];
                for (at, &column) in self.columns.iter().enumerate() {
                    means[i * n + at] = values[leaf(node) * width + column as usize];
                }
                continue;
            }
            let sides = [i + 1, node.right() as usize];
            let [left, right] = sides.map(|side| weights[side]);
            weights[i] = left + right;
            for at in 0..n {
                let [a, b] = sides.map(|side| means[side * n + at]);
                means[i * n + at] = a * (left / (left + right)) + b * (right / (left + right));
            }
        }
        let mut ranges = PURPOSE.filled([f64::NEG_INFINITY, f64::INFINITY], nodes.len() * n)?;
        let mut is_changed = false;
        for (i, node) in nodes.iter().enumerate() {
            for (at, &column) in self.columns.iter().enumerate() {
                let [low, high] = ranges[i * n + at];
                if node.is_leaf() {
                    let value = &mut values[leaf(node) * width + column as usize];
                    let inside = value.clamp(low, high);
                    is_changed |= inside != *value;
                    *value = inside;
                    continue;
                }
                let [left, right] = [i + 1, node.right() as usize];
                let middle = (means[left * n + at] / 2.0 + means[right * n + at] / 2.0).clamp(low, high);
                let (of_left, of_right) = match self.of(node.tested())[at] {
                    0 => ([low, high], [low, high]),
                    1 => ([low, middle], [middle, high]),
                    _ => ([middle, high], [low, middle]),
                };
                (ranges[left * n + at], ranges[right * n + at]) = (of_left, of_right);
            }
        }
        Ok(is_changed)
    }
}
