//! Scores of one dense sample, for services that predict one sample at a time, without threads and allocations.

use ndarray::{Axis, aview1};

use super::{Additive, Term};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::tree::traverse::{LANES, walk_trees};

impl Additive<'_> {
    /// Writes the scores of one dense sample to `scores`, which has one element for each score.
    ///
    /// The bits are those of the methods for many samples. NaN is a missing value. No memory is allocated, no thread is
    /// started, and the computation cannot be stopped. The cost is O(trees · depth) steps, plus one step for each
    /// stored value of the leaves that are reached.
    ///
    /// ```
    /// use ndarray::array;
    /// use weald::{Criterion, ForestConfig};
    ///
    /// let (x, y) = (array![[0.0f32], [1.0], [2.0]], array![[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]);
    /// let config = ForestConfig::extra_trees(Criterion::Variance).n_trees(3);
    /// let forest = config.fit((&x, &y))?;
    ///
    /// let model = forest.additive()?; // once
    /// let mut scores = [0.0; 2];
    /// model.scores_of_sample(&[0.2], &mut scores)?;
    /// let predicted = forest.predict(&array![[0.2f32]])?;
    /// assert!(predicted.iter().eq(&scores));
    /// # Ok::<(), weald::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] for another number of features or scores, or [`crate::ErrorKind::Invalid`]
    /// for infinite values and for a mean of no trees. `scores` is then unchanged.
    pub fn scores_of_sample(&self, sample: &[f32], scores: &mut [f64]) -> Result<()> {
        self.check_divisor()?;
        if sample.len() != self.n_features {
            return Err(Error::shape("the sample", self.n_features, sample.len()));
        }
        if scores.len() != self.width {
            return Err(Error::shape("scores", self.width, scores.len()));
        }
        let has_missing = Matrix::from(aview1(sample).insert_axis(Axis(0))).check()?;
        self.begin(scores);
        let mut ids = [0; LANES];
        for (i, trees) in self.trees.chunks(LANES).enumerate() {
            let (ids, first) = (&mut ids[..trees.len()], i * LANES);
            if has_missing {
                walk_trees::<true>(trees, sample, ids);
            } else {
                walk_trees::<false>(trees, sample, ids);
            }
            self.add_leaves(first, ids, scores);
        }
        self.divide(scores);
        Ok(())
    }

    /// Adds the leaves of one sample in the trees from `first` on, whose nodes are `ids`.
    fn add_leaves(&self, first: usize, ids: &[u32], sums: &mut [f64]) {
        for (t, (tree, &id)) in (first..).zip(self.trees[first..].iter().zip(ids)) {
            let leaf = tree.nodes[id as usize].right() as usize;
            match self.term(t) {
                Term::Leaf => tree.leaves.add_to(leaf, sums),
                Term::Column(column) => tree.leaves.add_to(leaf, &mut sums[column..=column]),
                Term::RankOne(direction) => {
                    let mut number = [0.0];
                    tree.leaves.add_to(leaf, &mut number);
                    let factors = direction.factors();
                    sums.iter_mut().zip(factors).for_each(|(sum, factor)| *sum += number[0] * factor);
                }
            }
        }
    }
}
