//! Scores: what the trees add up to, after all of them or stage by stage; and the predictions that they mean.
//!
//! Rows go in blocks, blocks to threads, a block through the trees in their order. Leaves' rows are added row by row,
//! after the leaves of many trees are known, so that one row of the result stays in the first-level cache; narrow
//! ones tree by tree; multiples of a direction tree by tree, so that it is read once for a block. All add in the order of
//! the trees.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, Axis};

use super::means::FindLeaves;
use super::{Additive, Direction, Terms, into_array, try_matrix};
use crate::control::Control;
use crate::data::Matrix;
use crate::error::{Error, Result, try_extend, try_filled, try_resize};
use crate::pool;
use crate::tree::rows::{Rows, Scratch};
use crate::tree::{LeafTable, Tree};

/// Widest scores that are kept tree by tree: a block of them fits the first-level cache.
const NARROW: usize = 8;
/// Scores of a block, unless it has 16 rows: they stay in the second-level cache from the first tree to the last.
const BLOCK_SCORES: usize = 1 << 17;
/// The same of stages: their trees are small, and need no large blocks to be read seldom; and multiples of a direction are
/// added to all scores of a block tree by tree.
const BLOCK_SCORES_OF_STAGES: usize = 1 << 14;
/// Fewest rows of a wide block.
const FEWEST_ROWS: usize = 16;
/// Trees whose leaves are found by dense rows before wide scores are added.
pub(crate) const TREES_AT_ONCE: usize = 64;
/// The same of sparse rows, which are scattered anew each time.
const TREES_OF_SPARSE_ROWS: usize = 1 << 13;

const IDS: &str = "the leaves of rows";

/// The row of the leaf table that belongs to a leaf's node.
pub(super) fn leaf(tree: &Tree, id: u32) -> usize {
    tree.nodes[id as usize].right() as usize
}

/// What one thread writes on.
#[derive(Debug)]
pub(crate) struct Worker {
    rows: Scratch,
    ids: Vec<u32>,
    direction: Vec<f64>,
}

impl Worker {
    /// The leaves' nodes that rows reach: row after row, one for each tree.
    pub(super) fn walk(&mut self, x: &Rows<'_>, rows: Range<usize>, trees: &[&Tree]) -> Result<&[u32]> {
        try_resize(IDS, &mut self.ids, rows.len() * trees.len(), 0)?;
        x.walk(rows, trees, &mut self.rows, &mut self.ids);
        Ok(&self.ids)
    }
}

/// Leaves of rows in the trees of a model.
#[derive(Debug)]
pub(super) struct LeavesOfRows<'m, 'a, 'x> {
    pub(super) model: &'m Additive<'a>,
    pub(super) rows: &'m Rows<'x>,
}

impl FindLeaves for LeavesOfRows<'_, '_, '_> {
    type Scratch = Worker;

    fn n_samples(&self) -> usize {
        self.rows.n_samples()
    }

    fn scratch(&self) -> Result<Worker> {
        self.model.worker(self.rows, 0..self.model.trees.len())
    }

    fn block_rows(&self, n_threads: usize) -> usize {
        self.rows.block_rows(self.model.trees.len(), n_threads)
    }

    fn find(&self, rows: Range<usize>, worker: &mut Worker, _: &Control) -> Result<()> {
        worker.walk(self.rows, rows, &self.model.trees).map(|_| ())
    }

    fn visit<'s>(
        &'s self,
        at: usize,
        worker: &Worker,
        mut each: impl FnMut(usize, &'s LeafTable, usize, f64) -> Result<()>,
    ) -> Result<()> {
        let trees = &self.model.trees;
        let ids = &worker.ids[at * trees.len()..][..trees.len()];
        let mut leaves = trees.iter().zip(ids).enumerate();
        leaves.try_for_each(|(t, (tree, &id))| each(t, &tree.leaves, leaf(tree, id), 1.0))
    }
}

impl<'a> Additive<'a> {
    /// X by row, checked against the model.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] for another number of features, [`crate::ErrorKind::Invalid`] for values that are not
    /// finite and for a mean of no trees, [`crate::ErrorKind::OutOfMemory`].
    pub(crate) fn rows<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Rows<'x>> {
        self.check_divisor()?;
        Rows::new(x, self.n_features, control)
    }

    /// Refuses a mean of no trees.
    pub(super) fn check_divisor(&self) -> Result<()> {
        if self.divisor == 0.0 {
            return Err(Error::invalid("forest", "0 trees", "have at least one tree"));
        }
        Ok(())
    }

    /// Returns the buffers that one thread needs to add some of the trees.
    pub(crate) fn worker(&self, rows: &Rows<'_>, trees: Range<usize>) -> Result<Worker> {
        Ok(Worker { rows: rows.scratch_for(&self.trees[trees])?, ids: Vec::new(), direction: Vec::new() })
    }

    /// Trees that a block of rows walks before the leaves are added. Results do not depend on it.
    fn trees_at_once(&self, rows: &Rows<'_>) -> usize {
        match self.terms {
            // A sparse row is scattered once for all trees; dense rows may come back for each tree.
            _ if rows.is_sparse() => self.trees.len().clamp(1, TREES_OF_SPARSE_ROWS),
            _ if self.width <= NARROW && rows.n_samples() >= FEWEST_ROWS => 1,
            Terms::Leaves | Terms::Columns | Terms::RankOne { .. } => TREES_AT_ONCE,
        }
    }

    /// Returns the number of threads, at most `n_threads`, that are useful to send `n_samples` down `n_trees`: waking up a
    /// thread must not take longer than its work. Results do not depend on it.
    pub(super) fn threads_for(&self, n_samples: usize, n_trees: usize, n_threads: usize) -> usize {
        const STEPS_OF_WALK: usize = 16;
        // About a tenth of a millisecond. Tests have few samples, and use all threads.
        const LEAST_STEPS: usize = if cfg!(test) { 1 } else { 1 << 17 };
        let steps = n_samples.saturating_mul(n_trees).saturating_mul(self.width.saturating_add(STEPS_OF_WALK));
        (steps / LEAST_STEPS).clamp(1, n_threads)
    }

    /// Rows of a block. Results do not depend on it.
    pub(super) fn rows_at_once(&self, rows: &Rows<'_>, n_threads: usize) -> usize {
        let n_scores = if self.start.is_empty() { BLOCK_SCORES } else { BLOCK_SCORES_OF_STAGES };
        let by_scores = (n_scores / self.width.max(1)).max(FEWEST_ROWS);
        rows.block_rows(self.trees_at_once(rows), n_threads).min(by_scores)
    }

    /// Adds what the leaves of some trees tell of some rows to `sums`, a row for each.
    fn add(
        &self,
        x: &Rows<'_>,
        rows: Range<usize>,
        trees: Range<usize>,
        worker: &mut Worker,
        sums: &mut [f64],
    ) -> Result<()> {
        // Of one score, the first column is the whole leaf.
        let is_whole_leaf =
            matches!(self.terms, Terms::Leaves) || matches!(self.terms, Terms::Columns) && self.width == 1;
        if is_whole_leaf && trees.len() == 1 {
            let tree = self.trees[trees.start];
            let ids = worker.walk(x, rows, &[tree])?;
            tree.leaves.add_each(ids.iter().map(|&id| leaf(tree, id)), sums);
            return Ok(());
        }
        self.add_where(x, rows, trees, worker, sums, |_, _| true)
    }

    /// The same, but of those alone for which `counts(row within the block, tree within the range)`.
    pub(crate) fn add_where(
        &self,
        x: &Rows<'_>,
        rows: Range<usize>,
        range: Range<usize>,
        worker: &mut Worker,
        sums: &mut [f64],
        counts: impl Fn(usize, usize) -> bool,
    ) -> Result<()> {
        let trees = &self.trees[range.clone()];
        worker.walk(x, rows, trees)?;
        let Worker { ids, direction, .. } = worker;
        let rows = || ids.chunks_exact(trees.len()).enumerate();
        match self.terms {
            Terms::Leaves => {
                for ((r, ids), sums) in rows().zip(sums.chunks_exact_mut(self.width)) {
                    for (t, (tree, &id)) in trees.iter().zip(ids).enumerate() {
                        if counts(r, t) {
                            tree.leaves.add_to(leaf(tree, id), sums);
                        }
                    }
                }
            }
            Terms::Columns => {
                for ((r, ids), sums) in rows().zip(sums.chunks_exact_mut(self.width)) {
                    for (t, (tree, &id)) in trees.iter().zip(ids).enumerate() {
                        if counts(r, t) {
                            let column = (range.start + t) % self.width;
                            tree.leaves.add_to(leaf(tree, id), &mut sums[column..column + 1]);
                        }
                    }
                }
            }
            Terms::RankOne { steps, learning_rate, first_stage } => {
                for (t, tree) in trees.iter().enumerate() {
                    let stage = first_stage + range.start + t;
                    direction.clear();
                    let factors = Direction { steps, learning_rate, stage, width: self.width }.factors();
                    try_extend("the direction of a stage", direction, factors)?;
                    for ((r, ids), sums) in rows().zip(sums.chunks_exact_mut(self.width)) {
                        if counts(r, t) {
                            let mut number = [0.0];
                            tree.leaves.add_to(leaf(tree, ids[t]), &mut number);
                            sums.iter_mut().zip(&*direction).for_each(|(sum, factor)| *sum += number[0] * factor);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds what trees `range` tell of a block of rows, a few trees after the others.
    fn add_trees(
        &self,
        x: &Rows<'_>,
        rows: Range<usize>,
        trees: Range<usize>,
        worker: &mut Worker,
        sums: &mut [f64],
        control: &Control,
    ) -> Result<()> {
        let at_once = self.trees_at_once(x);
        for first in trees.clone().step_by(at_once) {
            control.check()?;
            let some = first..(first + at_once).min(trees.end);
            self.add(x, rows.clone(), some, worker, sums)?;
        }
        Ok(())
    }

    /// Writes the scores of a block of rows.
    pub(super) fn scores_of_block(
        &self,
        x: &Rows<'_>,
        rows: Range<usize>,
        worker: &mut Worker,
        scores: &mut [f64],
        control: &Control,
    ) -> Result<()> {
        control.check()?;
        self.begin(scores);
        self.add_trees(x, rows, 0..self.trees.len(), worker, scores, control)?;
        self.divide(scores);
        Ok(())
    }

    /// Makes scores of sums over all trees.
    pub(super) fn divide(&self, sums: &mut [f64]) {
        if self.divisor != 1.0 {
            sums.iter_mut().for_each(|sum| *sum /= self.divisor);
        }
    }

    /// Sets rows of scores to what sums begin with.
    pub(super) fn begin(&self, scores: &mut [f64]) {
        if self.start.is_empty() {
            scores.fill(0.0);
        } else {
            scores.chunks_exact_mut(self.start.len()).for_each(|row| row.copy_from_slice(self.start));
        }
    }

    /// What sums begin with, for each row.
    pub(crate) fn start_of_rows(&self, n_samples: usize, control: &Control) -> Result<Vec<f64>> {
        let mut scores = try_matrix("scores", n_samples, self.width)?;
        let rows_at_once = (BLOCK_SCORES / self.width.max(1)).max(1);
        for rows in scores.chunks_mut((rows_at_once * self.width).max(1)) {
            control.check()?;
            self.begin(rows);
        }
        Ok(scores)
    }

    /// Scores, (n_samples, width).
    ///
    /// # Errors
    /// Those of [`Additive::rows`]; [`crate::ErrorKind::Interrupted`], [`crate::ErrorKind::OutOfMemory`].
    pub(crate) fn scores(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<f64>> {
        let mut scores = try_matrix("predictions", x.n_samples(), self.width)?;
        self.scores_into(x, &mut scores, control)?;
        Ok(into_array(scores, x.n_samples(), self.width))
    }

    /// The same into memory of the caller, row-major; what it held is overwritten.
    pub(crate) fn scores_into(&self, x: &Matrix<'_>, out: &mut [f64], control: &Control) -> Result<()> {
        let rows = self.rows(x, control)?;
        let n = rows.n_samples();
        if Some(out.len()) != n.checked_mul(self.width) {
            return Err(Error::shape("out", n.saturating_mul(self.width), out.len()));
        }
        let n_threads = self.threads_for(n, self.trees.len(), control.n_threads());
        let n_rows = self.rows_at_once(&rows, n_threads);
        pool::for_each(
            n_threads,
            out.chunks_mut((n_rows * self.width).max(1)).enumerate(),
            || self.worker(&rows, 0..self.trees.len()),
            |worker, (b, scores)| {
                let range = b * n_rows..(b * n_rows + n_rows).min(n);
                self.scores_of_block(&rows, range, worker, scores, control)
            },
        )
    }

    /// Predictions, (n_samples, columns of the outputs): what the scores mean.
    ///
    /// # Errors
    /// Those of [`Additive::scores`].
    pub(crate) fn predict(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<f64>> {
        self.linked(self.scores(x, control)?, control)
    }

    /// What rows of scores mean: in their place, unless two classes have one score.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Interrupted`], [`crate::ErrorKind::OutOfMemory`].
    pub(crate) fn linked(&self, mut scores: Array2<f64>, control: &Control) -> Result<Array2<f64>> {
        let columns = self.n_columns();
        if self.link.is_identity() {
            return Ok(scores);
        }
        let starts = self.outputs.class_starts()?;
        let mut pulse = control.pulse();
        if columns == scores.ncols() {
            let mut out = try_filled("a row of predictions", 0.0, columns)?;
            for mut row in scores.axis_iter_mut(Axis(0)) {
                let row = row.as_slice_mut().expect("scores are made in rows");
                self.link.apply(&starts, row, &mut out);
                row.copy_from_slice(&out);
                pulse.after(columns)?;
            }
            return Ok(scores);
        }
        let mut out = try_matrix("predictions", scores.nrows(), columns)?;
        for (row, out) in scores.axis_iter(Axis(0)).zip(out.chunks_exact_mut(columns.max(1))) {
            self.link.apply(&starts, row.as_slice().expect("scores are made in rows"), out);
            pulse.after(columns)?;
        }
        Ok(into_array(out, scores.nrows(), columns))
    }

    /// Adds all trees to the sums of rows.
    pub(crate) fn add_to_rows(&self, x: &Rows<'_>, sums: &mut [f64], control: &Control) -> Result<()> {
        self.add_range(x, 0..self.trees.len(), sums, control)
    }

    fn add_range(&self, x: &Rows<'_>, trees: Range<usize>, sums: &mut [f64], control: &Control) -> Result<()> {
        let n = x.n_samples();
        let n_threads = self.threads_for(n, trees.len(), control.n_threads());
        let n_rows = self.rows_at_once(x, n_threads);
        pool::for_each(
            n_threads,
            sums.chunks_mut((n_rows * self.width).max(1)).enumerate(),
            || self.worker(x, trees.clone()),
            |worker, (b, sums)| {
                control.check()?;
                let range = b * n_rows..(b * n_rows + n_rows).min(n);
                self.add_trees(x, range, trees.clone(), worker, sums, control)
            },
        )
    }

    /// Scores after one stage after another, of a model whose sums are not divided.
    ///
    /// # Errors
    /// Those of [`Additive::rows`].
    pub(crate) fn staged(self, x: impl Into<Matrix<'a>>) -> Result<StagedScores<'a>> {
        debug_assert!(self.divisor == 1.0);
        let rows = self.rows(x, &Control::default())?;
        let scores = self.start_of_rows(rows.n_samples(), &Control::default())?;
        Ok(StagedScores { model: self, rows, scores, next_tree: 0 })
    }
}

/// Scores after one stage after another.
#[derive(Debug)]
pub struct StagedScores<'a> {
    model: Additive<'a>,
    rows: Rows<'a>,
    scores: Vec<f64>,
    next_tree: usize,
}

impl StagedScores<'_> {
    /// Scores after the next stage, (n_samples, number of scores); `None` after the last.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Interrupted`], [`crate::ErrorKind::OutOfMemory`].
    pub fn next_stage(&mut self, control: &Control) -> Result<Option<ArrayView2<'_, f64>>> {
        if self.next_tree == self.model.trees.len() {
            return Ok(None);
        }
        let trees = self.next_tree..self.next_tree + self.model.trees_per_stage();
        self.model.add_range(&self.rows, trees.clone(), &mut self.scores, control)?;
        self.next_tree = trees.end;
        let shape = (self.rows.n_samples(), self.model.width);
        Ok(Some(ArrayView2::from_shape(shape, &self.scores).expect("a row of scores for each row")))
    }
}
