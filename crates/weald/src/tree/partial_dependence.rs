//! Partial dependence: the mean prediction of a tree for given values of some features.
//!
//! A split on a given feature sends a point to one side. Any other split sends it to both sides, in proportion to their
//! training weight. Source: J. Friedman, *Greedy function approximation: a gradient boosting machine*, Annals of
//! Statistics 2001, section 8.2; the recursion is the one of scikit-learn.
//!
//! All points traverse the tree together. A split on a given feature partitions the list of points in place; any other
//! split passes the whole list to both sides, so that each node is visited at most once. Below the last split on a
//! given feature, the leaves are averaged first, and the mean is added to the points.

use ndarray::{Array2, ArrayView2};

use super::Tree;
use crate::control::{Control, Pulse};
use crate::error::{Error, ErrorKind, Purpose, Result};

const PURPOSE: Purpose = Purpose("partial dependence");

/// A subtree and the points that reach it.
struct Part {
    node: usize,
    /// The fraction of the training weight that remains after splits on other features.
    share: f64,
    /// The range of the points in the list.
    first: usize,
    end: usize,
}

/// The given features and their values: the column of each feature, and a row for each point.
#[derive(Clone, Debug)]
pub(crate) struct Points<'a> {
    column_of: Vec<Option<u32>>,
    values: ArrayView2<'a, f32>,
}

impl<'a> Points<'a> {
    /// Checks that `values` has one column for each of `features`, and that these are features of the model, without
    /// repetition.
    pub(crate) fn new(features: &[usize], values: ArrayView2<'a, f32>, n_features: usize) -> Result<Self> {
        if features.len() != values.ncols() {
            return Err(Error::shape("each point", features.len(), values.ncols()));
        }
        if values.iter().any(|value| value.is_nan()) {
            return Err(Error::invalid("points", "NaN", "have numbers"));
        }
        if u32::try_from(values.nrows()).is_err() {
            return Err(ErrorKind::TooMany { what: "points", limit: u32::MAX as usize }.into());
        }
        let mut column_of = PURPOSE.filled(None, n_features)?;
        for (column, &feature) in (0u32..).zip(features) {
            let place = column_of.get_mut(feature);
            let place = place.ok_or_else(|| Error::invalid("features", feature, "be below the number of features"))?;
            if place.replace(column).is_some() {
                return Err(Error::invalid("features", format!("{feature}, twice"), "name each feature once"));
            }
        }
        Ok(Points { column_of, values })
    }

    pub(crate) fn len(&self) -> usize {
        self.values.nrows()
    }
}

impl Tree {
    /// Returns the mean prediction at each point, of shape (n_points, width), over the training samples, whose weights
    /// are taken from the nodes. `points` has one column for each of `features`, with values as in X.
    ///
    /// The cost is O(n_nodes + stored leaf values), plus the values added to points: n_points · width for each part of
    /// the tree between two splits on `features`.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`], [`ErrorKind::Invalid`] and [`ErrorKind::TooMany`] if features or points do not match, are
    /// NaN or are too many, [`ErrorKind::Interrupted`], [`ErrorKind::OutOfMemory`].
    pub fn partial_dependence(
        &self,
        features: &[usize],
        points: ArrayView2<'_, f32>,
        control: &Control,
    ) -> Result<Array2<f64>> {
        let points = Points::new(features, points, self.n_features)?;
        let means = self.means_at(&points, control)?;
        Ok(Array2::from_shape_vec((points.len(), self.leaves.width()), means).expect("a row for each point"))
    }

    /// Like [`Tree::partial_dependence`], in row-major order.
    pub(crate) fn means_at(&self, points: &Points<'_>, control: &Control) -> Result<Vec<f64>> {
        let (n_points, width) = (points.len(), self.leaves.width());
        let mut pulse = control.pulse();
        let mut means = PURPOSE.filled(0.0, n_points.saturating_mul(width))?;
        let divides = self.dividing(points)?;
        let mut mean = PURPOSE.filled(0.0, width)?;
        let mut list: Vec<u32> = PURPOSE.collected(0..n_points as u32)?;
        let mut to_come = Vec::new();
        PURPOSE.push(&mut to_come, Part { node: 0, share: 1.0, first: 0, end: n_points })?;
        while let Some(Part { node: at, share, first, end }) = to_come.pop() {
            if first == end {
                continue;
            }
            let node = &self.nodes[at];
            if !divides[at] {
                self.mean_below(at, &mut mean, &mut pulse)?;
                for &point in &list[first..end] {
                    let row = &mut means[point as usize * width..][..width];
                    row.iter_mut().zip(&mean).for_each(|(sum, mean)| *sum += share * mean);
                }
                pulse.after((end - first).saturating_mul(width))?;
                continue;
            }
            let (left, right) = (at + 1, node.right() as usize);
            if let Some(column) = points.column_of[node.feature() as usize] {
                let goes_left =
                    |point: u32| node.decision(&self.sets).goes_left(points.values[[point as usize, column as usize]]);
                let middle = first + divided(&mut list[first..end], goes_left);
                PURPOSE.push(&mut to_come, Part { node: right, share, first: middle, end })?;
                PURPOSE.push(&mut to_come, Part { node: left, share, first, end: middle })?;
                pulse.after(end - first)?;
            } else {
                let weights = (self.weighted_n_node_samples[left], self.weighted_n_node_samples[right]);
                let (of_left, of_right) = (weights.0 / (weights.0 + weights.1), weights.1 / (weights.0 + weights.1));
                PURPOSE.push(&mut to_come, Part { node: right, share: share * of_right, first, end })?;
                PURPOSE.push(&mut to_come, Part { node: left, share: share * of_left, first, end })?;
                pulse.after(1)?;
            }
        }
        Ok(means)
    }

    /// Returns for each node whether it, or a node below it, is a split on a given feature.
    fn dividing(&self, points: &Points<'_>) -> Result<Vec<bool>> {
        let mut divides = PURPOSE.filled(false, self.n_nodes())?;
        for (at, node) in self.nodes.iter().enumerate().rev().filter(|(_, node)| !node.is_leaf()) {
            let is_given = points.column_of[node.feature() as usize].is_some();
            divides[at] = is_given || divides[at + 1] || divides[node.right() as usize];
        }
        Ok(divides)
    }

    /// Returns the weighted mean of the leaves below node `at`.
    fn mean_below(&self, at: usize, mean: &mut [f64], pulse: &mut Pulse<'_>) -> Result<()> {
        let mut last = at;
        while !self.nodes[last].is_leaf() {
            last = self.nodes[last].right() as usize;
        }
        mean.fill(0.0);
        let (mut total, scale) = (0.0, self.scale_of_weights());
        for i in (at..=last).filter(|&i| self.nodes[i].is_leaf()) {
            let (leaf, weight) = (self.nodes[i].right() as usize, scale.times(self.weighted_n_node_samples[i]));
            let mut n_cells = 1;
            for (column, value) in self.leaves.value(leaf) {
                mean[column as usize] += weight * value;
                n_cells += 1;
            }
            total += weight;
            pulse.after(n_cells)?;
        }
        mean.iter_mut().for_each(|sum| *sum /= total);
        Ok(())
    }
}

/// Moves the points for which `goes_left` is true before the others, and returns their number.
fn divided(points: &mut [u32], goes_left: impl Fn(u32) -> bool) -> usize {
    let mut n_left = 0;
    for i in 0..points.len() {
        if goes_left(points[i]) {
            points.swap(i, n_left);
            n_left += 1;
        }
    }
    n_left
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rng::{Key, Stream};
    use crate::testing::{models, naive};

    /// Computes the mean prediction at one point by recursion over all nodes.
    fn naive_mean(
        tree: &Tree,
        leaves: &Array2<f64>,
        at: usize,
        given: &dyn Fn(u32) -> Option<f32>,
        column: usize,
    ) -> f64 {
        let node = &tree.nodes[at];
        if node.is_leaf() {
            return leaves[[node.right() as usize, column]];
        }
        let (left, right) = (at + 1, node.right() as usize);
        let below = |at| naive_mean(tree, leaves, at, given, column);
        match given(node.feature()) {
            Some(value) if node.decision(&tree.sets).goes_left(value) => below(left),
            Some(_) => below(right),
            None => {
                let weight = |at: usize| tree.weighted_n_node_samples[at] / tree.weighted_n_node_samples[0];
                (weight(left) * below(left) + weight(right) * below(right)) / (weight(left) + weight(right))
            }
        }
    }

    proptest! {
        #[test]
        fn points_going_down_together_have_the_means_of_each_alone(seed in 0u64..300, n_points in 0usize..20) {
            let forest = models::some_forest(seed);
            let mut rng = Stream::new(Key::from_seed(seed).child(9));
            let n_given = (forest.n_features()).min(rng.below(3) as usize);
            let features: Vec<usize> = (0..n_given).map(|i| forest.n_features() - 1 - i).collect();
            let points = Array2::from_shape_simple_fn((n_points, n_given), || models::quarter(&mut rng));
            let mut sum = Array2::<f64>::zeros((n_points, forest.outputs().width()));
            for tree in forest.trees() {
                let found = tree.partial_dependence(&features, points.view(), &Control::default()).unwrap();
                let leaves = naive::leaf_values(tree);
                for ((p, column), &mean) in found.indexed_iter() {
                    let given = |feature: u32| {
                        features.iter().position(|&f| f == feature as usize).map(|c| points[[p, c]])
                    };
                    let expected = naive_mean(tree, &leaves, 0, &given, column);
                    // Sums of the same terms in another order differ by a few units in the last place.
                    prop_assert!((mean - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{mean} {expected}");
                }
                sum += &found;
            }
            sum /= forest.n_trees() as f64;
            for n_threads in [1, 3] {
                let control = Control::with_threads(n_threads);
                prop_assert_eq!(&forest.partial_dependence(&features, points.view(), &control).unwrap(), &sum);
            }
        }
    }

    #[test]
    fn features_and_points_are_checked() {
        let tree = models::chain(2);
        let run = |features: &[usize], values: Array2<f32>| {
            tree.partial_dependence(features, values.view(), &Control::default()).unwrap_err().to_string()
        };
        assert!(run(&[0, 0], Array2::zeros((1, 2))).contains("twice"));
        assert!(run(&[tree.n_features()], Array2::zeros((1, 1))).contains("features"));
        assert!(run(&[0], Array2::zeros((1, 2))).contains("each point"));
        assert!(run(&[0], Array2::from_elem((1, 1), f32::NAN)).contains("NaN"));
    }
}
