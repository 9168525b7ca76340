//! Walks of many dense samples at once down a tree of at most [`MOST_LEAVES`] leaves.
//!
//! Every test of the tree is made for every sample, so that nothing depends on the way that a sample takes, and the
//! compiler makes the tests of many samples with one instruction. Bit l of a word for each sample says whether the sample
//! can reach leaf l: a test that sends the sample right excludes the leaves below the left child, and the lowest bit that
//! remains is the leaf (C. Lucchese and others, QuickScorer, SIGIR 2015). With 31 leaves this takes between a third and
//! half of the time of a walk, see [`super::traverse`], which only makes the tests on the path.
//!
//! Not here: missing values, categories, and the last few samples of a block.

use std::ops::Range;

use crate::loss::kernels::vector::vectorised;
use crate::tree::Tree;

/// Maximum number of leaves: the bits of a word.
const MOST_LEAVES: usize = u32::BITS as usize;

/// Samples whose words are kept at once. The compiler uses vector instructions for loops of this length, and did not for
/// shorter ones, which it unrolled first.
pub(super) const GROUP: usize = 32;

/// A split that sends samples with `x[feature] <= threshold` left.
#[derive(Clone, Copy, Debug, Default)]
struct Test {
    threshold: f32,
    feature: u32,
    /// Bits of the leaves below the left child.
    below_left: u32,
}

/// A copy of a tree with few leaves, and a block of samples that it is applied to.
#[derive(Debug)]
pub(super) struct FewLeaves {
    /// The samples in `columns`; none at first.
    samples: Range<usize>,
    n_features: usize,
    /// The values of feature j for the samples of group g, at g · n_features + j.
    columns: Vec<[f32; GROUP]>,
    tests: [Test; MOST_LEAVES - 1],
    n_tests: usize,
    /// The node of each leaf.
    leaves: [u32; MOST_LEAVES],
}

impl FewLeaves {
    pub(super) fn new(n_features: usize) -> Self {
        FewLeaves {
            samples: 0..0,
            n_features,
            columns: Vec::new(),
            tests: [Test::default(); MOST_LEAVES - 1],
            n_tests: 0,
            leaves: [0; MOST_LEAVES],
        }
    }

    /// Returns whether enough of the trees have few leaves to make up for the time to copy the samples by feature.
    pub(super) fn pays(trees: &[&Tree], n_features: usize) -> bool {
        const TREES_PER_FEATURE: usize = 2;
        n_features > 0 && trees.iter().filter(|tree| Self::fits(tree)).count() >= n_features.div_ceil(TREES_PER_FEATURE)
    }

    fn fits(tree: &Tree) -> bool {
        tree.leaves.n_leaves <= MOST_LEAVES && tree.sets.is_empty()
    }

    /// Copies `samples` of X, whose values are `block`, by feature, unless they were the last to be copied. Returns
    /// whether there was memory for them.
    pub(super) fn read(&mut self, samples: &Range<usize>, block: &[f32]) -> bool {
        if self.samples == *samples {
            return true;
        }
        let n_columns = samples.len().div_ceil(GROUP) * self.n_features;
        self.samples = 0..0;
        self.columns.clear();
        if self.columns.try_reserve(n_columns).is_err() {
            return false;
        }
        // The last group may be incomplete.
        self.columns.resize(n_columns, [0.0; GROUP]);
        let groups = self.columns.chunks_exact_mut(self.n_features);
        for (columns, group) in groups.zip(block.chunks(GROUP * self.n_features)) {
            for (i, sample) in group.chunks_exact(self.n_features).enumerate() {
                columns.iter_mut().zip(sample).for_each(|(column, &value)| column[i] = value);
            }
        }
        self.samples = samples.clone();
        true
    }

    /// Copies the tree if it fits, and returns whether it does.
    pub(super) fn copy(&mut self, tree: &Tree) -> bool {
        if !Self::fits(tree) {
            return false;
        }
        // Of each node, the number of leaves before it in pre-order: the first leaf below it.
        let mut first = [0; 2 * MOST_LEAVES - 1];
        let mut n_leaves = 0;
        for (at, node) in tree.nodes.iter().enumerate() {
            first[at] = n_leaves;
            if node.is_leaf() {
                self.leaves[n_leaves] = at as u32;
                n_leaves += 1;
            }
        }
        let splits = tree.nodes.iter().zip(first).filter(|(node, _)| !node.is_leaf());
        self.n_tests = n_leaves - 1;
        for (test, (node, from)) in self.tests.iter_mut().zip(splits) {
            let to = first[node.right() as usize];
            // Adding zero makes -0 positive, see `reachable`.
            let threshold = node.threshold() + 0.0;
            *test = Test { threshold, feature: node.tested() as u32, below_left: (1 << to) - (1 << from) };
        }
        true
    }

    /// Writes the nodes of the leaves that the samples reach to `ids`, `stride` apart. `ids` may be shorter than the
    /// block: the last samples are then left out.
    pub(super) fn walk(&self, ids: &mut [u32], stride: usize) {
        vectorised(
            #[inline(always)]
            || {
                let groups = self.columns.chunks_exact(self.n_features);
                for (columns, ids) in groups.zip(ids.chunks_mut(GROUP * stride)) {
                    let reachable = self.reachable(columns);
                    for (id, word) in ids.iter_mut().step_by(stride).zip(reachable) {
                        *id = self.leaves[word.trailing_zeros() as usize % MOST_LEAVES];
                    }
                }
            },
        );
    }

    /// The words of a group of samples. The last leaf of a word is never excluded.
    #[inline(always)]
    fn reachable(&self, columns: &[[f32; GROUP]]) -> [u32; GROUP] {
        let mut words = [u32::MAX; GROUP];
        for test in &self.tests[..self.n_tests] {
            for (word, value) in words.iter_mut().zip(&columns[test.feature as usize]) {
                // The sign bit of a difference of finite numbers says whether `value > threshold`: it is that of the exact
                // difference, and +0 for equal numbers, since the threshold is not -0. A comparison would say the same,
                // but then the compiler uses no vector instructions without AVX2.
                let goes_right = ((test.threshold - value).to_bits().cast_signed() >> 31).cast_unsigned();
                *word &= !(goes_right & test.below_left);
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rng::{Key, Stream};
    use crate::testing::models;
    use crate::tree::traverse::leaf_node;

    /// Thresholds and values that are close to each other, or whose differences are hard to represent.
    const VALUES: [f32; 12] = [
        f32::MIN,
        -1.0,
        -f32::MIN_POSITIVE,
        -f32::from_bits(1),
        -0.0,
        0.0,
        f32::from_bits(1),
        f32::MIN_POSITIVE,
        1.0,
        1.0 + f32::EPSILON,
        16_777_216.0,
        f32::MAX,
    ];

    proptest! {
        #[test]
        fn samples_reach_the_leaves_of_single_walks(
            seed in 0u64..10_000, n in 1usize..100, max_leaves in 1usize..=2 * MOST_LEAVES, stride in 1usize..4,
        ) {
            let mut rng = Stream::new(Key::from_seed(seed));
            let n_features = 1 + seed as usize % 4;
            let shape = models::Shape { n_features, outputs: models::some_outputs(0), max_leaves, unit: 1.0 };
            let mut tree = models::tree(&mut rng, &shape);
            let value = |rng: &mut Stream| VALUES[rng.below(VALUES.len() as u64) as usize];
            tree.sets = Default::default();
            for node in tree.nodes.iter_mut().filter(|node| !node.is_leaf()) {
                node.set_threshold(value(&mut rng));
            }
            let block: Vec<f32> = (0..n * n_features).map(|_| value(&mut rng)).collect();

            let mut few_leaves = FewLeaves::new(n_features);
            prop_assert!(few_leaves.read(&(7..7 + n), &block));
            prop_assert_eq!(few_leaves.copy(&tree), tree.n_leaves() <= MOST_LEAVES);
            if tree.n_leaves() <= MOST_LEAVES {
                let mut ids = vec![u32::MAX; n * stride];
                few_leaves.walk(&mut ids, stride);
                for (i, sample) in block.chunks_exact(n_features).enumerate() {
                    prop_assert_eq!(ids[i * stride], leaf_node::<false>(&tree, sample));
                }
                prop_assert!(ids.iter().enumerate().all(|(i, &id)| i % stride == 0 || id == u32::MAX));
            }
        }
    }
}
