//! Minimal cost-complexity pruning: the weakest link first (Breiman, Friedman, Olshen and Stone, 1984, chapter 3).
//!
//! The cost of a leaf t is R(t) = impurity(t) · weight(t) / weight(root). The cost of a tree is the sum over its
//! leaves, plus α for each leaf. The *link* of a split t is the value of α at which the split costs as much as a leaf
//! in its place, α(t) = (R(t) − R(T_t)) / (|T_t| − 1), where T_t is what remains of the subtree below. The split with
//! the smallest α(t), the weakest link, becomes a leaf; then the procedure is repeated.
//!
//! This procedure recomputes the links after each step. Here each link is computed once, from the leaves up: α(t) is
//! the intersection of the line R(t) + α with the minimum cost of the two subtrees below, which is a concave function
//! of α that is linear between their links. This function is followed from its right end, where both subtrees are
//! leaves, so that every link is added to and removed from a mergeable heap (a skew heap) at most once: O(n log n) for
//! n nodes, including chains, and O(n) memory.
//!
//! Of two splits with equal links, one below the other, only the upper one is a step and becomes a leaf. The impurities
//! are those that determined the splits: for a tree grown on projected outputs, those of the projected outputs.

use super::growth::grow::Structure;
use super::{Node, Tree};
use crate::control::Control;
use crate::error::{Error, Purpose, Result};

/// The sequence of trees of minimal cost-complexity pruning.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PruningPath {
    /// The value of `ccp_alpha` from which on each tree is the smallest of least cost: 0 for the whole tree, then the
    /// link of the split that was replaced by a leaf. The values increase.
    pub ccp_alphas: Vec<f64>,
    /// The total impurity of the leaves of each tree, each weighted by its fraction of the total weight.
    pub impurities: Vec<f64>,
}

impl Tree {
    /// Returns the sequence of trees of minimal cost-complexity pruning, from the whole tree to its root. O(n_nodes ·
    /// log(n_nodes)).
    ///
    /// For a tree grown on projected outputs, the impurities are those of the projected outputs.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Interrupted`], [`crate::ErrorKind::OutOfMemory`].
    pub fn cost_complexity_pruning_path(&self, control: &Control) -> Result<PruningPath> {
        let links = self.links(control)?;
        let n_steps = links.alpha.iter().filter(|alpha| alpha.is_finite()).count();
        let mut steps: Vec<u32> = PURPOSE.with_capacity(n_steps)?;
        steps.extend((0..).zip(&links.alpha).filter(|(_, alpha)| alpha.is_finite()).map(|(i, _)| i));
        steps.sort_by(|&a, &b| links.alpha[a as usize].total_cmp(&links.alpha[b as usize]));
        let mut ccp_alphas = PURPOSE.with_capacity(n_steps + 1)?;
        let mut impurities = PURPOSE.with_capacity(n_steps + 1)?;
        let leaves = self.nodes.iter().zip(&links.cost).filter(|(node, _)| node.is_leaf());
        let mut impurity: f64 = leaves.map(|(_, cost)| cost).sum();
        ccp_alphas.push(0.0);
        impurities.push(impurity);
        for i in steps.into_iter().map(|i| i as usize) {
            impurity += links.cost[i] - links.below[i].cost;
            ccp_alphas.push(links.alpha[i]);
            impurities.push(impurity);
        }
        Ok(PruningPath { ccp_alphas, impurities })
    }

    /// Returns the smallest tree of least cost at complexity `ccp_alpha`: every split whose link is not above it is
    /// replaced by a leaf.
    ///
    /// New leaves predict what growth would have stored there. As in scikit-learn, 0 does not prune. Cost and
    /// impurities are those of [`Tree::cost_complexity_pruning_path`].
    ///
    /// ```
    /// use ndarray::array;
    /// use weald::{Control, Criterion, Targets, TreeConfig};
    ///
    /// let (x, y) = (array![[0.0f32], [1.0], [2.0], [3.0]], array![[0.0], [0.0], [5.0], [6.0]]);
    /// let control = Control::default();
    /// let tree = TreeConfig::new(Criterion::Variance).fit((&x, &y))?;
    /// assert_eq!(tree.n_leaves(), 3);
    /// assert_eq!(tree.cost_complexity_pruning_path(&control)?.ccp_alphas, [0.0, 0.125, 7.5625]);
    /// assert_eq!(tree.pruned(0.2, &control)?.n_leaves(), 2);
    /// # Ok::<(), weald::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] unless `ccp_alpha` is finite and not negative, and if it is positive for a tree
    /// whose leaves are medians, which can only be pruned by a fit; [`crate::ErrorKind::Interrupted`],
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn pruned(&self, ccp_alpha: f64, control: &Control) -> Result<Tree> {
        check_alpha(ccp_alpha)?;
        if ccp_alpha == 0.0 {
            return self.try_clone();
        }
        let alpha = self.links(control)?.alpha;
        self.collapsed(|i| alpha[i] <= ccp_alpha, control)
    }

    fn links(&self, control: &Control) -> Result<Links> {
        Links::new(&self.nodes, &self.impurity, &self.weighted_n_node_samples, control)
    }
}

impl Structure {
    /// Returns the pruned structure, like [`Tree::pruned`], before leaves have values, for a positive complexity. New
    /// leaves have the samples below them.
    pub(crate) fn pruned(self, ccp_alpha: f64, control: &Control) -> Result<Structure> {
        let alpha = Links::new(&self.nodes, &self.impurity, &self.weight, control)?.alpha;
        self.collapsed(|i| alpha[i] <= ccp_alpha, control)
    }
}

/// Checks that a complexity is valid.
pub(crate) fn check_alpha(ccp_alpha: f64) -> Result<()> {
    if ccp_alpha >= 0.0 && ccp_alpha.is_finite() {
        return Ok(());
    }
    Err(Error::invalid("ccp_alpha", ccp_alpha, "be finite and at least 0"))
}

const PURPOSE: Purpose = Purpose("the links of a tree");
const NONE: u32 = u32::MAX;

/// What remains below a split when it becomes a leaf.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Below {
    /// The sum of R over the leaves.
    cost: f64,
    pub(crate) n_leaves: u32,
}

/// The links of all splits, and heaps of the links below the nodes whose parents are still to come, with the largest
/// link on top.
#[derive(Debug)]
pub(crate) struct Links {
    /// The cost R of each node.
    cost: Vec<f64>,
    /// The link of each split that becomes a leaf before any split above it; infinite for other splits and for leaves.
    pub(crate) alpha: Vec<f64>,
    pub(crate) below: Vec<Below>,
    /// The children of each split in its heap.
    children: Vec<[u32; 2]>,
}

impl Links {
    /// Computes the links of nodes in pre-order, given the impurity and the weight of each node.
    fn new(nodes: &[Node], impurity: &[f64], weight: &[f64], control: &Control) -> Result<Self> {
        let cost = weight.iter().zip(impurity).map(|(w, impurity)| w * impurity / weight[0]);
        Links::of_costs(nodes, PURPOSE.collected(cost)?, control)
    }

    /// Computes the links of nodes in pre-order, given the cost of each node.
    pub(crate) fn of_costs(nodes: &[Node], cost: Vec<f64>, control: &Control) -> Result<Self> {
        let n_nodes = nodes.len();
        let mut links = Links {
            cost,
            alpha: PURPOSE.filled(f64::INFINITY, n_nodes)?,
            below: PURPOSE.filled(Below::default(), n_nodes)?,
            children: PURPOSE.filled([NONE; 2], n_nodes)?,
        };
        // The heaps of the subtrees whose parents are still to come. As nodes are visited backwards, a split finds the
        // heap of its left child on top.
        let mut heaps: Vec<u32> = PURPOSE.with_capacity(n_nodes.div_ceil(2))?;
        let mut pulse = control.pulse();
        for (i, node) in nodes.iter().enumerate().rev() {
            let mut n_steps = 1;
            if node.is_leaf() {
                heaps.push(NONE);
            } else {
                let (left, right) = (heaps.pop(), heaps.pop());
                let proof = "two subtrees below every split";
                let heap = links.merged(left.expect(proof), right.expect(proof), &mut n_steps);
                heaps.push(links.add(i, [i + 1, node.right() as usize], heap, &mut n_steps));
            }
            pulse.after(n_steps)?;
        }
        Ok(links)
    }

    /// Computes the link of split `i`, given its children and the heap of the links below. Returns the heap with this
    /// link.
    fn add(&mut self, i: usize, children: [usize; 2], mut heap: u32, n_steps: &mut usize) -> u32 {
        // At the right end, both children are leaves. A split that is removed from the heap gets its subtree back.
        let mut below = Below { cost: children.map(|child| self.cost[child]).iter().sum(), n_leaves: 2 };
        loop {
            let alpha = (self.cost[i] - below.cost) / f64::from(below.n_leaves - 1);
            if heap == NONE || self.alpha[heap as usize] < alpha {
                self.alpha[i] = alpha;
                self.below[i] = below;
                self.children[i] = [heap, NONE];
                return i as u32;
            }
            let top = heap as usize;
            below.cost += self.below[top].cost - self.cost[top];
            below.n_leaves += self.below[top].n_leaves - 1;
            self.alpha[top] = f64::INFINITY;
            let [a, b] = self.children[top];
            heap = self.merged(a, b, n_steps);
        }
    }

    /// Merges two heaps: their right spines are merged from the top, and the children of the splits on them are
    /// swapped.
    fn merged(&mut self, mut a: u32, mut b: u32, n_steps: &mut usize) -> u32 {
        let mut root = NONE;
        // The split whose left child is the rest of the merged heap, or `NONE` if the rest is the whole heap.
        let mut parent = NONE;
        while a != NONE && b != NONE {
            if self.alpha[a as usize] < self.alpha[b as usize] {
                (a, b) = (b, a);
            }
            self.hang(a, parent, &mut root);
            let [left, right] = self.children[a as usize];
            self.children[a as usize][1] = left;
            (parent, a) = (a, right);
            *n_steps += 1;
        }
        self.hang(if a == NONE { b } else { a }, parent, &mut root);
        root
    }

    fn hang(&mut self, heap: u32, parent: u32, root: &mut u32) {
        if parent == NONE { *root = heap } else { self.children[parent as usize][0] = heap }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::testing::models;
    use crate::{BoostConfig, Criterion, LossKind, TreeConfig};
    use proptest::prelude::*;

    #[test]
    fn trees_of_medians_are_only_pruned_by_a_fit_and_new_leaves_have_medians() {
        use crate::RuleStyle;
        use crate::forest::config::Sampling;
        let mut stream = crate::rng::Stream::new(crate::rng::Key::from_seed(5));
        let x = ndarray::Array2::from_shape_simple_fn((60, 3), || stream.below(9) as f32);
        let y = ndarray::Array2::from_shape_simple_fn((60, 2), || stream.below(1000) as f64);
        let control = Control::default();
        let config = TreeConfig::new(Criterion::AbsoluteError);
        let whole = config.fit((&x, &y)).unwrap();
        let alphas = whole.cost_complexity_pruning_path(&control).unwrap().ccp_alphas;
        assert!(alphas.len() > 5);
        // Splits that do not decrease the impurity have a link of 0, at which nothing is pruned.
        for &alpha in alphas.iter().filter(|alpha| **alpha > 0.0) {
            let tree = TreeConfig { ccp_alpha: alpha, ..config.clone() }.fit((&x, &y)).unwrap();
            let links = whole.links(&control).unwrap().alpha;
            let n_leaves = naive_leaves(&whole, |i| links[i] <= alpha);
            assert_eq!(tree.n_leaves(), n_leaves);
            let mut rows_of = vec![vec![]; tree.n_nodes()];
            for (row, x) in x.rows().into_iter().enumerate() {
                rows_of[*crate::testing::naive::path(&tree, x).last().unwrap()].push(row);
            }
            for (i, node) in tree.nodes.iter().enumerate().filter(|(_, node)| node.is_leaf()) {
                assert_eq!(tree.n_node_samples[i] as usize, rows_of[i].len());
                for (output, median) in tree.leaves.value(node.right() as usize) {
                    let mut values: Vec<f64> = rows_of[i].iter().map(|&row| y[[row, output as usize]]).collect();
                    values.sort_by(f64::total_cmp);
                    assert_eq!(median, (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0);
                }
            }
        }
        let says = |error: crate::Error| assert!(error.to_string().ends_with(", got AbsoluteError"), "{error}");
        says(whole.pruned(alphas[alphas.len() - 1], &control).unwrap_err());
        says(whole.prune_reduced_error((&x, &y)).unwrap_err());
        let error = whole.rules(&RuleStyle::default().max_depth(2), &control).unwrap_err();
        assert!(error.to_string().starts_with("max_depth is not supported if leaves are medians"), "{error}");
        assert!(whole.rules(&RuleStyle::default(), &control).unwrap().contains("samples"));
        let forest = crate::Forest::from(whole.clone());
        says(forest.with_stored_rows((&x, &y), Sampling::All, 0).unwrap_err());
        // The impurity of only some outputs is not known; that of all outputs is stored.
        let error = whole.feature_importances(Some(&[1])).unwrap_err();
        assert!(error.to_string().starts_with("outputs must be all outputs"), "{error}");
        assert_eq!(whole.feature_importances(Some(&[1, 0])).unwrap(), whole.feature_importances(None).unwrap());
    }

    /// Returns the number of leaves if these splits become leaves.
    fn naive_leaves(tree: &Tree, is_leaf: impl Fn(usize) -> bool + Copy) -> usize {
        fn below(tree: &Tree, is_leaf: impl Fn(usize) -> bool + Copy, i: usize) -> usize {
            if tree.nodes[i].is_leaf() || is_leaf(i) {
                return 1;
            }
            below(tree, is_leaf, i + 1) + below(tree, is_leaf, tree.nodes[i].right() as usize)
        }
        below(tree, is_leaf, 0)
    }

    /// The procedure of the definition: all links are computed before each step, and the first of the smallest links is
    /// chosen.
    fn naive_steps(tree: &Tree, cost: &[f64]) -> Vec<(f64, f64, Vec<usize>)> {
        fn leaves_below(tree: &Tree, is_leaf: &[bool], i: usize) -> Vec<usize> {
            if is_leaf[i] {
                return vec![i];
            }
            let right = leaves_below(tree, is_leaf, tree.nodes[i].right() as usize);
            [leaves_below(tree, is_leaf, i + 1), right].concat()
        }
        let mut is_leaf: Vec<bool> = tree.nodes.iter().map(crate::tree::Node::is_leaf).collect();
        let sum = |leaves: &[usize]| leaves.iter().map(|&l| cost[l]).sum::<f64>();
        let mut alpha = 0.0;
        let mut steps = Vec::new();
        loop {
            let leaves = leaves_below(tree, &is_leaf, 0);
            steps.push((alpha, sum(&leaves), leaves.clone()));
            // The splits that remain.
            let mut best: Option<(f64, usize)> = None;
            let mut todo = vec![0];
            while let Some(i) = todo.pop().filter(|_| leaves.len() > 1) {
                if !is_leaf[i] {
                    let below = leaves_below(tree, &is_leaf, i);
                    let link = (cost[i] - sum(&below)) / (below.len() - 1) as f64;
                    if best.is_none_or(|(least, _)| link < least) {
                        best = Some((link, i));
                    }
                    todo.extend([tree.nodes[i].right() as usize, i + 1]);
                }
            }
            let Some((link, i)) = best else { return steps };
            alpha = link;
            is_leaf[i] = true;
        }
    }

    /// Returns a tree whose costs are whole numbers, and whose links are either equal or so different that rounding
    /// does not matter.
    fn whole_costs(seed: u64, max_leaves: usize, largest: u64) -> Tree {
        let shape = models::Shape { n_features: 3, outputs: models::some_outputs(seed), max_leaves, unit: 1.0 };
        let mut tree = Tree::clone(models::forest(seed, 1, &shape).tree(0));
        let mut rng = crate::rng::Stream::new(crate::rng::Key::from_seed(seed));
        tree.weighted_n_node_samples.fill(1.0);
        tree.impurity.iter_mut().for_each(|v| *v = rng.below(largest) as f64 * 5040.0);
        tree
    }

    fn assert_path(tree: &Tree) {
        let control = Control::default();
        let path = tree.cost_complexity_pruning_path(&control).unwrap();
        let expected = naive_steps(tree, &tree.impurity);
        // Costs are sums over subtrees, which the reference adds in another order.
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs());
        assert_eq!(path.ccp_alphas.len(), expected.len(), "{path:?} {expected:?}");
        // Steps with equal links are in any order. Sums are only compared where the next link differs.
        for (at, (alpha, impurity, leaves)) in expected.iter().enumerate() {
            assert!(close(path.ccp_alphas[at], *alpha), "{path:?} {expected:?}");
            if expected.get(at + 1).is_some_and(|next| close(next.0, *alpha)) {
                continue;
            }
            assert!(close(path.impurities[at], *impurity));
            // Splits that increase the cost have negative links.
            if *alpha >= 0.0 && expected.get(at + 1).is_none_or(|next| next.0 > *alpha) {
                // The complexity is above the link by more than the tolerance of `close`.
                let pruned = tree.pruned(alpha + 1e-7 * (1.0 + alpha.abs()), &control).unwrap();
                assert_eq!(pruned.n_leaves(), leaves.len());
                let of_leaves: Vec<f64> =
                    (0..pruned.n_nodes()).filter(|&i| pruned.nodes[i].is_leaf()).map(|i| pruned.impurity[i]).collect();
                assert_eq!(of_leaves, leaves.iter().map(|&l| tree.impurity[l]).collect::<Vec<_>>());
            }
        }
    }

    proptest! {
        #[test]
        fn steps_are_those_of_the_definition(seed in any::<u64>(), max_leaves in 1usize..14, largest in 2u64..2000) {
            assert_path(&whole_costs(seed, max_leaves, largest));
        }

        /// No pruned tree costs less, and none of the same cost is smaller.
        #[test]
        fn no_subtree_is_cheaper(seed in any::<u64>(), max_leaves in 1usize..9, half in 0u64..4000) {
            let tree = whole_costs(seed, max_leaves, 300);
            let alpha = half as f64 * 2520.0 / 7.0 + 1.0;
            let pruned = tree.pruned(alpha, &Control::default()).unwrap();
            // Returns (cost, leaves) for every pruning of the subtree of a node.
            fn prunings(tree: &Tree, i: usize) -> Vec<(f64, usize)> {
                let mut all = vec![(tree.impurity[i], 1)];
                if !tree.nodes[i].is_leaf() {
                    let (left, right) = (prunings(tree, i + 1), prunings(tree, tree.nodes[i].right() as usize));
                    all.extend(left.iter().flat_map(|l| right.iter().map(move |r| (l.0 + r.0, l.1 + r.1))));
                }
                all
            }
            let complexity = |(cost, n_leaves): (f64, usize)| cost + alpha * n_leaves as f64;
            let all = prunings(&tree, 0);
            let least = all.iter().copied().map(complexity).fold(f64::INFINITY, f64::min);
            // Sums over leaves, in another order.
            let near = 1e-9 * (1.0 + least.abs());
            let smallest = all.iter().filter(|p| complexity(**p) <= least + near).map(|p| p.1).min().unwrap();
            let cost: f64 =
                (0..pruned.n_nodes()).filter(|&i| pruned.nodes[i].is_leaf()).map(|i| pruned.impurity[i]).sum();
            prop_assert!((complexity((cost, pruned.n_leaves())) - least).abs() <= near);
            prop_assert_eq!(pruned.n_leaves(), smallest);
        }
    }

    #[test]
    fn models_of_any_kind_prune_to_the_root_and_to_nested_trees() {
        for seed in 0..100 {
            let forest = models::some_forest(seed);
            let control = Control::with_threads(2);
            let path = forest.tree(0).cost_complexity_pruning_path(&control).unwrap();
            assert!(path.ccp_alphas[1..].windows(2).all(|w| w[0] <= w[1]));
            let mut n_leaves = usize::MAX;
            for alpha in [0.0, 1e-9, 1e-3, 0.01, 0.1, 10.0] {
                let pruned = forest.pruned(alpha, &control).unwrap();
                assert_eq!(pruned.tree(0).as_ref(), &forest.tree(0).pruned(alpha, &control).unwrap());
                assert_eq!(pruned, forest.pruned(alpha, &Control::default()).unwrap());
                assert!(pruned.tree(0).n_leaves() <= n_leaves);
                n_leaves = pruned.tree(0).n_leaves();
            }
            assert_eq!(forest.pruned(0.0, &control).unwrap(), forest);
            assert_eq!(n_leaves, 1);
        }
    }

    #[test]
    fn chains_of_100_000_splits_prune_from_either_end() {
        let mut tree = models::chain(100_000);
        let control = Control::default();
        for upwards in [true, false] {
            // Links that decrease, or increase, from the root to the leaves.
            let n = tree.nodes.len();
            tree.impurity = (0..n)
                .map(|i| match i {
                    _ if i >= 100_000 => 0.0,
                    _ if upwards => 1.0 - i as f64 / 200_000.0,
                    _ => 0.5 + i as f64 / 400_000.0,
                })
                .collect();
            let path = tree.cost_complexity_pruning_path(&control).unwrap();
            // A sum over more than 100 000 leaves, each of which is rounded.
            assert!((path.impurities.last().unwrap() - tree.impurity[0]).abs() < 1e-9);
            let middle = path.ccp_alphas[path.ccp_alphas.len() / 2];
            let pruned = tree.pruned(middle, &control).unwrap();
            assert!(pruned.n_leaves() < tree.n_leaves());
            assert_eq!(tree.pruned(2.0, &control).unwrap().n_nodes(), 1);
        }
    }

    #[test]
    fn bad_complexities_and_a_raised_flag_are_errors() {
        let tree = models::chain(100_000);
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let error = tree.pruned(bad, &Control::default()).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Invalid { what: "ccp_alpha", .. }));
            let config = TreeConfig { ccp_alpha: bad, ..TreeConfig::new(Criterion::Gini) };
            assert!(config.check(tree.outputs()).is_err());
        }
        let boosting = BoostConfig::new(LossKind::SquaredError);
        let pruning = BoostConfig { tree: TreeConfig { ccp_alpha: 0.1, ..boosting.tree.clone() }, ..boosting };
        assert!(pruning.check(&crate::Outputs::Real { n_outputs: 1 }, 1).is_err());
        let control = Control::default();
        control.stop();
        assert_eq!(tree.pruned(1.0, &control).unwrap_err().kind(), &ErrorKind::Interrupted);
        assert_eq!(tree.cost_complexity_pruning_path(&control).unwrap_err().kind(), &ErrorKind::Interrupted);
    }
}
