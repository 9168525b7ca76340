//! Predictions of a forest, and of a tree as a forest of one.
//!
//! Rows go in blocks, blocks to threads, a block through the trees in their order. Wide outputs are added row by row,
//! after the leaves of many trees are known, so that one row of the result stays in the first-level cache; narrow
//! ones tree by tree. Both add in the order of the trees.

use std::ops::Range;

use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_vec;
use ndarray::{Array1, Array2};

use super::Forest;
use super::rows::{Rows, Scratch};
use crate::control::Control;
use crate::data::Matrix;
use crate::error::{
    Error, ErrorKind, Result, out_of_memory, try_collected, try_filled, try_grow, try_push, try_reserve, try_resize,
    try_with_capacity,
};
use crate::pool;
use crate::tree::Tree;
use crate::tree::traverse::path;

/// The best columns of each row, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct TopK {
    /// Columns, (n_samples, k).
    pub indices: Array2<u32>,
    /// Their predictions, (n_samples, k).
    pub scores: Array2<f64>,
}

/// The nodes that each row passes, as a CSR indicator matrix over the nodes of all trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionPath {
    /// Row i owns `nodes[ptr[i]..ptr[i + 1]]`.
    pub ptr: Vec<usize>,
    /// Columns: node j of tree t is column `tree_offsets[t] + j`. They rise inside a row.
    pub nodes: Vec<u32>,
    /// First column of each tree, and the number of columns at the end.
    pub tree_offsets: Vec<usize>,
}

impl Forest {
    /// Mean over trees, (n_samples, width of the outputs).
    ///
    /// Bit for bit the same for any number of threads and any layout of X. A CSC X is transposed once.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for another number of features, [`ErrorKind::Invalid`] for values that are not finite,
    /// [`ErrorKind::Interrupted`], [`ErrorKind::OutOfMemory`].
    pub fn predict(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<f64>> {
        Ensemble::of_forest(self).predict(x, control)
    }

    /// [`Forest::predict`] into memory of the caller, row-major; what it held is overwritten.
    ///
    /// # Errors
    /// As [`Forest::predict`]; [`ErrorKind::Shape`] when `out` is not of n_samples × width numbers. After an error `out`
    /// is written in part.
    pub fn predict_into(&self, x: &Matrix<'_>, out: &mut [f64], control: &Control) -> Result<()> {
        Ensemble::of_forest(self).predict_into(x, out, control)
    }

    /// The node of the leaf that each row reaches in each tree, (n_samples, n_trees).
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn apply(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<u32>> {
        Ensemble::of_forest(self).apply(x, control)
    }

    /// The nodes that each row passes in each tree.
    ///
    /// # Errors
    /// As [`Forest::predict`]; [`ErrorKind::TooMany`] when the trees have 2³² nodes or more.
    pub fn decision_path(&self, x: &Matrix<'_>, control: &Control) -> Result<DecisionPath> {
        Ensemble::of_forest(self).decision_path(x, control)
    }

    /// The `k` columns of greatest mean of each row: score descending, then column ascending.
    ///
    /// Never holds the whole prediction: memory is O(n · k) and one row for each thread, time the cells of the leaves
    /// that are reached.
    ///
    /// # Errors
    /// As [`Forest::predict`]; [`ErrorKind::Invalid`] when `k` is 0 or more than there are columns.
    pub fn predict_topk(&self, x: &Matrix<'_>, k: usize, control: &Control) -> Result<TopK> {
        Ensemble::of_forest(self).predict_topk(x, k, control)
    }
}

impl Tree {
    /// Values of the leaves that the rows reach: [`Forest::predict`] for one tree.
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn predict(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<f64>> {
        Ensemble::of_tree(self).predict(x, control)
    }

    /// The node of the leaf that each row reaches.
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn apply(&self, x: &Matrix<'_>, control: &Control) -> Result<Array1<u32>> {
        let (ids, _) = Ensemble::of_tree(self).apply(x, control)?.into_raw_vec_and_offset();
        Ok(ids.into())
    }

    /// The nodes that each row passes.
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn decision_path(&self, x: &Matrix<'_>, control: &Control) -> Result<DecisionPath> {
        Ensemble::of_tree(self).decision_path(x, control)
    }

    /// The `k` columns of greatest value of each row: [`Forest::predict_topk`] for one tree.
    ///
    /// # Errors
    /// As [`Forest::predict_topk`].
    pub fn predict_topk(&self, x: &Matrix<'_>, k: usize, control: &Control) -> Result<TopK> {
        Ensemble::of_tree(self).predict_topk(x, k, control)
    }
}

/// Trees whose values are averaged.
#[derive(Debug)]
pub(super) struct Ensemble<'a> {
    trees: Vec<&'a Tree>,
    n_features: usize,
    pub(super) width: usize,
}

/// Widest outputs whose sums are kept tree by tree: a block of them fits the first-level cache.
const NARROW: usize = 8;
/// Sums of a block, unless it has 16 rows: they stay in the second-level cache from zero to mean.
const BLOCK_SUMS: usize = 1 << 17;
/// Trees whose leaves are found before wide outputs are added.
pub(super) const TREES_AT_ONCE: usize = 64;

/// What one thread writes on.
#[derive(Debug)]
pub(super) struct Worker {
    rows: Scratch,
    ids: Vec<u32>,
}

impl<'a> Ensemble<'a> {
    pub(super) fn of_forest(forest: &'a Forest) -> Self {
        let trees = forest.trees.iter().map(|tree| &**tree).collect();
        Ensemble { trees, n_features: forest.n_features, width: forest.outputs.width() }
    }

    fn of_tree(tree: &'a Tree) -> Self {
        Ensemble { trees: vec![tree], n_features: tree.n_features, width: tree.outputs.width() }
    }

    pub(super) fn rows<'x>(&self, x: &'x Matrix<'_>) -> Result<Rows<'x>> {
        if self.trees.is_empty() {
            return Err(Error::invalid("forest", "without trees", "at least one tree"));
        }
        Rows::new(x, self.n_features)
    }

    pub(super) fn worker(&self, rows: &Rows<'_>) -> Result<Worker> {
        Ok(Worker { rows: rows.scratch()?, ids: Vec::new() })
    }

    /// Adds the values of trees `range` to `sums` (one row of `width` for each of `rows`), but for those that
    /// `skip(row within the block, tree within the range)`.
    pub(super) fn add_block(
        &self,
        x: &Rows<'_>,
        rows: Range<usize>,
        range: Range<usize>,
        worker: &mut Worker,
        sums: &mut [f64],
        skip: impl Fn(usize, usize) -> bool,
    ) -> Result<()> {
        let trees = &self.trees[range];
        try_resize(IDS, &mut worker.ids, rows.len() * trees.len(), 0)?;
        x.walk(rows, trees, &mut worker.rows, &mut worker.ids);
        let rows = sums.chunks_exact_mut(self.width).zip(worker.ids.chunks_exact(trees.len()));
        for (r, (sums, ids)) in rows.enumerate() {
            for (t, (tree, &id)) in trees.iter().zip(ids).enumerate() {
                if !skip(r, t) {
                    tree.leaves.add_to(tree.nodes[id as usize].right as usize, sums);
                }
            }
        }
        Ok(())
    }

    /// Adds the values of tree `tree` to `sums`: as [`Ensemble::add_block`] with one tree.
    fn add_tree(
        &self,
        x: &Rows<'_>,
        rows: Range<usize>,
        tree: usize,
        worker: &mut Worker,
        sums: &mut [f64],
    ) -> Result<()> {
        let trees = &self.trees[tree..tree + 1];
        try_resize(IDS, &mut worker.ids, rows.len(), 0)?;
        x.walk(rows, trees, &mut worker.rows, &mut worker.ids);
        let nodes = &trees[0].nodes;
        trees[0].leaves.add_each(worker.ids.iter().map(|&id| nodes[id as usize].right as usize), sums);
        Ok(())
    }

    fn predict(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<f64>> {
        let mut means = try_matrix("predictions", x.n_samples(), self.width)?;
        self.predict_into(x, &mut means, control)?;
        Ok(into_array(means, x.n_samples(), self.width))
    }

    fn predict_into(&self, x: &Matrix<'_>, out: &mut [f64], control: &Control) -> Result<()> {
        let rows = self.rows(x)?;
        let n = rows.n_samples();
        if Some(out.len()) != n.checked_mul(self.width) {
            return Err(Error::shape("out", n.saturating_mul(self.width), out.len()));
        }
        // A sparse row is scattered once for all trees; dense rows may come back for each tree.
        let at_once = match rows {
            Rows::Sparse(_) => self.trees.len(),
            Rows::Dense(_) if self.width <= NARROW => 1,
            Rows::Dense(_) => TREES_AT_ONCE,
        };
        let block = rows.block_rows(at_once, control.n_threads()).min((BLOCK_SUMS / self.width.max(1)).max(16));
        pool::for_each(
            control.n_threads(),
            out.chunks_mut((block * self.width).max(1)).enumerate(),
            || self.worker(&rows),
            |worker, (b, sums)| {
                sums.fill(0.0);
                let range = b * block..(b * block + block).min(n);
                for first in (0..self.trees.len()).step_by(at_once) {
                    control.check()?;
                    let trees = first..(first + at_once).min(self.trees.len());
                    if at_once == 1 {
                        self.add_tree(&rows, range.clone(), first, worker, sums)?;
                    } else {
                        self.add_block(&rows, range.clone(), trees, worker, sums, |_, _| false)?;
                    }
                }
                let n_trees = self.trees.len() as f64;
                sums.iter_mut().for_each(|sum| *sum /= n_trees);
                Ok(())
            },
        )
    }

    fn apply(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<u32>> {
        let rows = self.rows(x)?;
        let (n, n_trees) = (rows.n_samples(), self.trees.len());
        let mut ids = try_matrix("leaf indices", n, n_trees)?;
        // The leaves are the result: no more of them are held for larger blocks.
        let block = rows.block_rows(1, control.n_threads());
        pool::for_each(
            control.n_threads(),
            ids.chunks_mut(block * n_trees).enumerate(),
            || rows.scratch(),
            |scratch, (b, ids)| {
                control.check()?;
                let range = b * block..(b * block + block).min(n);
                rows.walk(range, &self.trees, scratch, ids);
                Ok(())
            },
        )?;
        Ok(into_array(ids, n, n_trees))
    }

    fn decision_path(&self, x: &Matrix<'_>, control: &Control) -> Result<DecisionPath> {
        let rows = self.rows(x)?;
        let n = rows.n_samples();
        let mut tree_offsets = vec![0];
        for tree in &self.trees {
            tree_offsets.push(tree_offsets[tree_offsets.len() - 1] + tree.n_nodes());
        }
        let limit = u32::MAX as usize;
        if tree_offsets[self.trees.len()] > limit {
            return Err(ErrorKind::TooMany { what: "nodes", limit }.into());
        }
        let block = rows.block_rows(self.trees.len(), control.n_threads());
        let blocks = pool::map(control.n_threads(), n.div_ceil(block), |b| {
            control.check()?;
            let range = b * block..(b * block + block).min(n);
            let (mut nodes, mut ends) = (Vec::new(), try_with_capacity("decision paths", range.len())?);
            let mut grown = Ok(());
            rows.for_each(range, &mut rows.scratch()?, |row| {
                for (tree, &offset) in self.trees.iter().zip(&tree_offsets) {
                    path(tree, row, |node| {
                        // Room is doubled, as a push would do, but may be refused; then nothing more is kept.
                        if grown.is_ok() && nodes.len() == nodes.capacity() {
                            let more = nodes.len().max(1 << 10);
                            grown = try_reserve("decision paths", &mut nodes, more);
                        }
                        if grown.is_ok() {
                            nodes.push(offset as u32 + node);
                        }
                    });
                }
                ends.push(nodes.len());
            });
            grown.map(|()| (nodes, ends))
        })?;
        let n_passed = blocks.iter().map(|(nodes, _)| nodes.len()).sum();
        let mut nodes = try_with_capacity("decision paths", n_passed)?;
        let mut ptr = try_with_capacity("decision paths", n + 1)?;
        ptr.push(0);
        for (block, ends) in blocks {
            ptr.extend(ends.iter().map(|end| nodes.len() + end));
            nodes.extend(block);
        }
        Ok(DecisionPath { ptr, nodes, tree_offsets })
    }

    fn predict_topk(&self, x: &Matrix<'_>, k: usize, control: &Control) -> Result<TopK> {
        if k == 0 || k > self.width {
            return Err(Error::invalid("k", k, "between 1 and the number of columns of predictions"));
        }
        let rows = self.rows(x)?;
        let n = rows.n_samples();
        let mut indices = try_matrix("the best columns", n, k)?;
        let mut scores = try_matrix("the best scores", n, k)?;
        let block = rows.block_rows(self.trees.len(), control.n_threads());
        pool::for_each(
            control.n_threads(),
            indices.chunks_mut(block * k).zip(scores.chunks_mut(block * k)).enumerate(),
            || Ok((self.worker(&rows)?, Ranking::new(self.width)?)),
            |(worker, ranking), (b, (indices, scores))| {
                let range = b * block..(b * block + block).min(n);
                try_resize(IDS, &mut worker.ids, range.len() * self.trees.len(), 0)?;
                rows.walk(range, &self.trees, &mut worker.rows, &mut worker.ids);
                let ids = worker.ids.chunks_exact(self.trees.len());
                for ((ids, indices), scores) in ids.zip(indices.chunks_mut(k)).zip(scores.chunks_mut(k)) {
                    control.check()?;
                    for (tree, &id) in self.trees.iter().zip(ids) {
                        ranking.add(tree, tree.nodes[id as usize].right as usize)?;
                    }
                    ranking.take_best(self.trees.len() as f64, indices, scores)?;
                }
                Ok(())
            },
        )?;
        Ok(TopK { indices: into_array(indices, n, k), scores: into_array(scores, n, k) })
    }
}

const IDS: &str = "the leaves of rows";
const RANKING: &str = "a row of predictions";

/// Sums of one row, and the columns that they touch.
#[derive(Debug)]
struct Ranking {
    sums: Vec<f64>,
    seen: Vec<bool>,
    /// Columns that are `seen`, in the order of their first touch; `sums` is zero elsewhere.
    touched: Vec<u32>,
    candidates: Vec<(f64, u32)>,
}

impl Ranking {
    fn new(width: usize) -> Result<Self> {
        let sums = try_filled("a row of predictions", 0.0, width)?;
        let seen = try_filled("a row of predictions", false, width)?;
        Ok(Ranking { sums, seen, touched: Vec::new(), candidates: Vec::new() })
    }

    fn add(&mut self, tree: &Tree, leaf: usize) -> Result<()> {
        tree.leaves.add_to(leaf, &mut self.sums);
        for (column, _) in tree.leaves.cells(leaf) {
            if !std::mem::replace(&mut self.seen[column as usize], true) {
                try_push(RANKING, &mut self.touched, column)?;
            }
        }
        Ok(())
    }

    /// Writes the best columns and their means, and forgets the row.
    fn take_best(&mut self, n_trees: f64, indices: &mut [u32], scores: &mut [f64]) -> Result<()> {
        let k = indices.len();
        self.candidates.clear();
        try_grow(RANKING, &mut self.candidates, k + self.touched.len())?;
        self.candidates.extend(self.touched.iter().map(|&c| (self.sums[c as usize] / n_trees, c)));
        // Columns never touched have score 0: the first k of them are enough. Fewer than k + touched are looked at.
        let untouched = (0u32..).zip(&self.seen).filter(|(_, seen)| !**seen).map(|(c, _)| (0.0, c));
        self.candidates.extend(untouched.take(k));
        take_best(&mut self.candidates, indices, scores);
        for column in self.touched.drain(..) {
            self.sums[column as usize] = 0.0;
            self.seen[column as usize] = false;
        }
        Ok(())
    }
}

/// Writes the best candidates, as many as there are places: score descending, then column ascending.
fn take_best(candidates: &mut Vec<(f64, u32)>, indices: &mut [u32], scores: &mut [f64]) {
    let k = indices.len();
    let best_first = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if candidates.len() > k {
        candidates.select_nth_unstable_by(k - 1, best_first);
        candidates.truncate(k);
    }
    candidates.sort_unstable_by(best_first);
    for ((score, column), (out, place)) in candidates.iter().zip(scores.iter_mut().zip(indices)) {
        (*out, *place) = (*score, *column);
    }
}

/// The columns of greatest score of a row, and their scores.
pub(crate) fn best_columns(row: &[f64], indices: &mut [u32], scores: &mut [f64]) -> Result<()> {
    let mut candidates = try_collected(RANKING, row.iter().copied().zip(0u32..row.len() as u32))?;
    take_best(&mut candidates, indices, scores);
    Ok(())
}

/// `rows * columns` zeros, or [`ErrorKind::OutOfMemory`]. Pages of the system, which are zero as they come: writing a large
/// matrix for the first time takes as long as other work on it, and is left to who writes and looks at the stop flag.
pub(crate) fn try_matrix<T: Zeroable>(what: &'static str, rows: usize, columns: usize) -> Result<Vec<T>> {
    let len = rows.checked_mul(columns).ok_or(ErrorKind::OutOfMemory { what, bytes: usize::MAX })?;
    try_zeroed_vec(len).map_err(|()| out_of_memory::<T>(what, len))
}

pub(crate) fn into_array<T>(values: Vec<T>, rows: usize, columns: usize) -> Array2<T> {
    Array2::from_shape_vec((rows, columns), values).expect("the vector was made with rows * columns values")
}

#[cfg(test)]
mod tests {
    use ndarray::Axis;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{models, naive};

    fn bits(a: &Array2<f64>) -> Vec<u64> {
        a.iter().map(|v| v.to_bits()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn every_layout_and_number_of_threads_gives_the_naive_bits(seed in 0u64..10_000, n in 0usize..90) {
            let forest = models::some_forest(seed);
            let rows = models::rows(seed, n, forest.n_features);
            let expected = naive::predict(&forest, &rows.c_order, |_, _| true);
            for x in rows.layouts() {
                for n_threads in [1, 2, 8] {
                    let control = Control::with_threads(n_threads);
                    let got = forest.predict(&x, &control).unwrap();
                    prop_assert_eq!(got.dim(), expected.dim());
                    prop_assert_eq!(bits(&got), bits(&expected));
                }
            }
        }

        #[test]
        fn leaves_and_paths_are_the_naive_ones(seed in 0u64..10_000, n in 1usize..60) {
            let forest = models::some_forest(seed);
            let rows = models::rows(seed, n, forest.n_features);
            for (x, n_threads) in rows.layouts().into_iter().zip([1, 2, 1, 8, 1]) {
                let control = Control::with_threads(n_threads);
                let leaves = forest.apply(&x, &control).unwrap();
                let paths = forest.decision_path(&x, &control).unwrap();
                prop_assert_eq!(paths.ptr.len(), n + 1);
                for (i, row) in rows.c_order.rows().into_iter().enumerate() {
                    let mut passed = Vec::new();
                    for (t, tree) in forest.trees.iter().enumerate() {
                        let path = naive::path(tree, row);
                        prop_assert_eq!(leaves[[i, t]] as usize, *path.last().unwrap());
                        passed.extend(path.iter().map(|node| (paths.tree_offsets[t] + node) as u32));
                    }
                    prop_assert_eq!(&paths.nodes[paths.ptr[i]..paths.ptr[i + 1]], &passed[..]);
                }
            }
        }

        #[test]
        fn topk_is_the_head_of_a_full_sort(seed in 0u64..10_000, n in 1usize..40, k in 1usize..20) {
            let forest = models::some_forest(seed);
            let rows = models::rows(seed, n, forest.n_features);
            let k = k.min(forest.outputs.width());
            let expected = naive::topk(&naive::predict(&forest, &rows.c_order, |_, _| true), k);
            for (x, n_threads) in rows.layouts().into_iter().zip([1, 2, 1, 8, 1]) {
                let best = forest.predict_topk(&x, k, &Control::with_threads(n_threads)).unwrap();
                for (i, expected) in expected.iter().enumerate() {
                    let got: Vec<_> = best.indices.row(i).iter().copied().zip(best.scores.row(i).iter().copied()).collect();
                    prop_assert_eq!(&got, expected);
                }
            }
        }
    }

    #[test]
    fn a_tree_is_a_forest_of_one() {
        for seed in 0..40 {
            let forest = models::some_forest(seed);
            let rows = models::rows(seed, 30, forest.n_features);
            let control = Control::default();
            let tree = forest.tree(0);
            let one = Forest::from(Tree::clone(tree));
            for x in rows.layouts() {
                assert_eq!(tree.predict(&x, &control), one.predict(&x, &control));
                assert_eq!(tree.apply(&x, &control).unwrap(), one.apply(&x, &control).unwrap().index_axis(Axis(1), 0));
                assert_eq!(tree.decision_path(&x, &control), one.decision_path(&x, &control));
                assert_eq!(tree.predict_topk(&x, 1, &control), one.predict_topk(&x, 1, &control));
            }
        }
    }

    #[test]
    fn many_rows_and_trees_cross_blocks_and_chunks() {
        for kind in [2, 5] {
            let outputs = models::some_outputs(kind);
            let shape = models::Shape { n_features: 5, outputs, max_leaves: 30, unit: 1.0 };
            let forest = models::forest(9, 150, &shape);
            let rows = models::rows(9, 1200, 5);
            let expected = bits(&naive::predict(&forest, &rows.c_order, |_, _| true));
            for x in rows.layouts() {
                assert_eq!(bits(&forest.predict(&x, &Control::with_threads(2)).unwrap()), expected);
            }
        }
    }

    #[test]
    fn what_the_callers_memory_held_does_not_matter() {
        for seed in 0..20 {
            let forest = models::some_forest(seed);
            let rows = models::rows(seed, 30, forest.n_features);
            let control = Control::default();
            for x in rows.layouts() {
                let expected = forest.predict(&x, &control).unwrap();
                let mut out = vec![f64::NAN; expected.len()];
                forest.predict_into(&x, &mut out, &control).unwrap();
                assert_eq!(out, expected.into_raw_vec_and_offset().0);
                out.push(0.0);
                let error = forest.predict_into(&x, &mut out, &control).unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::Shape { what: "out", .. }));
            }
        }
    }

    #[test]
    fn groups_of_sparse_trees_keep_the_order_of_the_trees() {
        // Two chains exceed what is walked at once, small trees before, between and after them do not.
        let trees = [1, 70_000, 2, 3, 70_000, 1].map(models::chain);
        let csr = crate::SparseView::try_new(vec![0, 1, 2, 3], vec![0, 0, 0], vec![1.0, -1.5, -1e9], 1).unwrap();
        let (x, control) = (Matrix::Csr(csr), Control::default());
        let forest = Forest::merge(&trees.clone().map(Forest::from).iter().collect::<Vec<_>>()).unwrap();
        let leaves = forest.apply(&x, &control).unwrap();
        for (t, tree) in trees.iter().enumerate() {
            assert_eq!(leaves.index_axis(Axis(1), t), tree.apply(&x, &control).unwrap());
        }
    }

    #[test]
    fn a_tree_may_be_a_long_chain() {
        const DEPTH: usize = 100_000;
        let forest = Forest::from(models::chain(DEPTH));
        let tree = forest.tree(0);
        let x = ndarray::arr2(&[[1.0], [-49_999.5], [-1e9]]);
        assert_eq!(tree.max_depth(), DEPTH);
        assert_eq!((tree.n_nodes(), tree.n_leaves()), (2 * DEPTH + 1, DEPTH + 1));
        let csr = crate::SparseView::try_new(vec![0, 1, 2, 3], vec![0, 0, 0], vec![1.0, -49_999.5, -1e9], 1).unwrap();
        for x in [Matrix::from(x.view()), Matrix::Csr(csr)] {
            let control = Control::default();
            let leaves = tree.apply(&x, &control).unwrap();
            assert_eq!(leaves.to_vec(), [2 * DEPTH as u32, (2 * DEPTH - 50_000) as u32, DEPTH as u32]);
            let predicted = tree.predict(&x, &control).unwrap();
            assert_eq!(predicted.sum_axis(Axis(1)).to_vec(), [1.0, 1.0, 1.0]);
            assert_eq!(tree.decision_path(&x, &control).unwrap().nodes.len(), 2 + 50_002 + DEPTH + 1);
        }
        let value = tree.value().unwrap();
        assert_eq!(value[[0, 1, 1]], 50_000.0 / (DEPTH + 1) as f64);
    }

    #[test]
    fn wrong_input_is_refused_with_its_name() {
        let shape = models::Shape { n_features: 3, outputs: models::some_outputs(4), max_leaves: 9, unit: 1.0 };
        let forest = models::forest(1, 3, &shape);
        let control = Control::default();
        let narrow = Array2::<f32>::zeros((2, 2));
        let error = forest.predict(&narrow.view().into(), &control).unwrap_err();
        assert_eq!(error.to_string(), "each row of X has length 2, expected 3");
        for bad in [f32::NAN, f32::INFINITY] {
            let x = Array2::from_elem((2, 3), bad);
            let error = forest.apply(&x.view().into(), &control).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Invalid { what: "X", .. }));
        }
        let x = Array2::zeros((2, 3));
        let x = Matrix::from(x.view());
        for k in [0, 4] {
            assert!(matches!(
                forest.predict_topk(&x, k, &control).unwrap_err().kind(),
                ErrorKind::Invalid { what: "k", .. }
            ));
        }
        let empty = Forest { trees: Vec::new(), ..forest.clone() };
        assert!(matches!(empty.predict(&x, &control).unwrap_err().kind(), ErrorKind::Invalid { .. }));
        control.stop();
        assert_eq!(forest.predict(&x, &control).unwrap_err().kind(), &ErrorKind::Interrupted);
        assert_eq!(forest.predict_topk(&x, 1, &control).unwrap_err().kind(), &ErrorKind::Interrupted);
    }

    #[test]
    fn results_that_do_not_fit_memory_are_an_error() {
        let outputs = crate::Outputs::Labels { n_labels: usize::MAX / 4 };
        let mut tree = models::chain(1);
        (tree.outputs, tree.leaves.width) = (outputs.into(), usize::MAX / 4);
        let x = Array2::zeros((9, 1));
        let error = Forest::from(tree).predict(&x.view().into(), &Control::default()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OutOfMemory { .. }));
    }
}
