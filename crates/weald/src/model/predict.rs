//! Scores, after all trees or stage by stage, and the predictions that they mean.
//!
//! Samples are processed in blocks, which are divided among threads. A block passes the trees in their order. The
//! leaves of many trees are found first and then added sample by sample, so that the scores of a sample stay in the
//! first-level cache. Narrow scores are added tree by tree. Multiples of a direction are too, so that the direction is
//! read once for each block. Values are always added in the order of the trees.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, Axis};

use super::means::FindLeaves;
use super::{Additive, Direction, Terms, into_array};
use crate::control::Control;
use crate::data::Matrix;
use crate::error::{Error, Purpose, Result};
use crate::pool;
use crate::tree::rows::{Rows, Scratch};
use crate::tree::{LeafTable, Tree};

/// The largest number of scores of a sample that are added tree by tree: a block of them fits into the first-level
/// cache.
const NARROW: usize = 8;
/// The number of scores of a block of more than 16 samples. They stay in the second-level cache from the first tree to
/// the last.
const BLOCK_SCORES: usize = 1 << 17;
/// The same for stages, whose trees are small, so that large blocks are not needed to read them seldom. Multiples of a
/// direction are added to all scores of a block, tree by tree.
const BLOCK_SCORES_OF_STAGES: usize = 1 << 14;
/// The smallest number of samples of a block of wide scores.
const FEWEST_ROWS: usize = 16;
/// The number of trees whose leaves are found for dense samples before wide scores are added.
const TREES_AT_ONCE: usize = 64;
/// The same for sparse samples, which are scattered anew each time.
const TREES_OF_SPARSE_ROWS: usize = 1 << 13;

const PURPOSE: Purpose = Purpose("the leaves of rows");

/// The working memory of one thread.
#[derive(Debug)]
pub(crate) struct Worker {
    rows: Scratch,
    leaves: Vec<u32>,
    direction: Vec<f64>,
}

impl Worker {
    /// Returns the rows of the tables of leaves for the leaves that samples reach: sample after sample, one for each tree. They
    /// are looked up together, since each waits for memory.
    pub(super) fn walk(&mut self, x: &Rows<'_>, rows: Range<usize>, trees: &[&Tree]) -> Result<&[u32]> {
        PURPOSE.resize(&mut self.leaves, rows.len() * trees.len(), 0)?;
        x.walk(rows, trees, &mut self.rows, &mut self.leaves);
        for of_row in self.leaves.chunks_exact_mut(trees.len().max(1)) {
            of_row.iter_mut().zip(trees).for_each(|(leaf, tree)| *leaf = tree.nodes[*leaf as usize].right());
        }
        Ok(&self.leaves)
    }
}

/// The leaves of samples in the trees of a model.
#[derive(Debug)]
pub(crate) struct LeavesOfRows<'m, 'a, 'x> {
    model: &'m Additive<'a>,
    rows: Rows<'x>,
}

impl FindLeaves for LeavesOfRows<'_, '_, '_> {
    type Scratch = Worker;

    fn n_samples(&self) -> usize {
        self.rows.n_samples()
    }

    fn scratch(&self) -> Result<Worker> {
        self.model.worker(&self.rows, 0..self.model.trees.len())
    }

    fn block_rows(&self, n_threads: usize) -> usize {
        self.rows.block_rows(self.model.trees.len(), n_threads)
    }

    fn find(&self, rows: Range<usize>, worker: &mut Worker, _: &Control) -> Result<()> {
        worker.walk(&self.rows, rows, &self.model.trees).map(|_| ())
    }

    fn visit<'s>(
        &'s self,
        at: usize,
        worker: &Worker,
        mut each: impl FnMut(usize, &'s LeafTable, usize, f64) -> Result<()>,
    ) -> Result<()> {
        let trees = &self.model.trees;
        let leaves = &worker.leaves[at * trees.len()..][..trees.len()];
        let mut leaves = trees.iter().zip(leaves).enumerate();
        leaves.try_for_each(|(t, (tree, &leaf))| each(t, &tree.leaves, leaf as usize, 1.0))
    }
}

impl<'a> Additive<'a> {
    /// Returns X by sample, after it is checked against the model.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] if X has another number of features, [`crate::ErrorKind::Invalid`] if it has
    /// values that are not finite and for a mean of no trees, or [`crate::ErrorKind::OutOfMemory`].
    pub(crate) fn rows<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Rows<'x>> {
        self.check_divisor()?;
        Rows::new(x, self.n_features, control)
    }

    /// Returns what finds the leaves of the samples of X, for models whose scores are means of the values of leaves.
    ///
    /// # Errors
    /// The same as for [`Additive::rows`].
    pub(crate) fn leaves_of<'m, 'x>(
        &'m self,
        x: impl Into<Matrix<'x>>,
        control: &Control,
    ) -> Result<LeavesOfRows<'m, 'a, 'x>> {
        debug_assert!(matches!(self.terms, Terms::Leaves) && self.start.is_empty());
        Ok(LeavesOfRows { model: self, rows: self.rows(x, control)? })
    }

    /// Returns an error for a mean of no trees.
    pub(super) fn check_divisor(&self) -> Result<()> {
        if self.divisor == 0.0 {
            return Err(Error::invalid("forest", "0 trees", "have at least one tree"));
        }
        Ok(())
    }

    /// Returns the buffers that one thread needs to add some of the trees.
    pub(crate) fn worker(&self, rows: &Rows<'_>, trees: Range<usize>) -> Result<Worker> {
        Ok(Worker { rows: rows.scratch_for(&self.trees[trees])?, leaves: Vec::new(), direction: Vec::new() })
    }

    /// Returns the number of trees that a block of samples passes before the leaves are added. Results do not depend on
    /// it.
    fn trees_at_once(&self, rows: &Rows<'_>) -> usize {
        match self.terms {
            // A sparse sample is scattered once for all trees; dense samples may be read again for each tree.
            _ if rows.is_sparse() => self.trees.len().clamp(1, TREES_OF_SPARSE_ROWS),
            _ if self.width <= NARROW && rows.n_samples() >= FEWEST_ROWS => 1,
            Terms::Leaves | Terms::Columns | Terms::RankOne { .. } => TREES_AT_ONCE,
        }
    }

    /// Returns the number of threads, at most `n_threads`, that are useful to send `n_samples` down `n_trees`: starting
    /// a thread must not take longer than its work. Results do not depend on it.
    pub(super) fn threads_for(&self, n_samples: usize, n_trees: usize, n_threads: usize) -> usize {
        const STEPS_OF_WALK: usize = 16;
        // About a tenth of a millisecond. Tests have few samples, and use all threads.
        const LEAST_STEPS: usize = if cfg!(test) { 1 } else { 1 << 17 };
        let steps = n_samples.saturating_mul(n_trees).saturating_mul(self.width.saturating_add(STEPS_OF_WALK));
        (steps / LEAST_STEPS).clamp(1, n_threads)
    }

    /// Returns the number of samples of a block. Results do not depend on it.
    pub(super) fn rows_at_once(&self, rows: &Rows<'_>, n_threads: usize) -> usize {
        let n_scores = if self.start.is_empty() { BLOCK_SCORES } else { BLOCK_SCORES_OF_STAGES };
        let by_scores = (n_scores / self.width.max(1)).max(FEWEST_ROWS);
        rows.block_rows(self.trees_at_once(rows), n_threads).min(by_scores)
    }

    /// Adds the leaves of some samples in some trees to `sums`, which has a row for each sample.
    fn add(
        &self,
        x: &Rows<'_>,
        rows: Range<usize>,
        trees: Range<usize>,
        worker: &mut Worker,
        sums: &mut [f64],
    ) -> Result<()> {
        // If there is one score, its column is the whole leaf.
        let is_whole_leaf =
            matches!(self.terms, Terms::Leaves) || matches!(self.terms, Terms::Columns) && self.width == 1;
        if is_whole_leaf && trees.len() == 1 {
            let tree = self.trees[trees.start];
            let leaves = worker.walk(x, rows, &[tree])?;
            tree.leaves.add_each(leaves.iter().map(|&leaf| leaf as usize), sums);
            return Ok(());
        }
        let first_tree = trees.start;
        let trees = &self.trees[trees];
        worker.walk(x, rows, trees)?;
        let Worker { leaves, direction, .. } = worker;
        let rows = || leaves.chunks_exact(trees.len());
        match self.terms {
            Terms::Leaves | Terms::Columns => {
                let one_column = matches!(self.terms, Terms::Columns);
                for (leaves, sums) in rows().zip(sums.chunks_exact_mut(self.width)) {
                    for (t, (tree, &leaf)) in trees.iter().zip(leaves).enumerate() {
                        let first = if one_column { (first_tree + t) % self.width } else { 0 };
                        let last = if one_column { first + 1 } else { self.width };
                        tree.leaves.add_to(leaf as usize, &mut sums[first..last]);
                    }
                }
            }
            Terms::RankOne { steps, learning_rate, first_stage } => {
                for (t, tree) in trees.iter().enumerate() {
                    let stage = first_stage + first_tree + t;
                    direction.clear();
                    let factors = Direction { steps, learning_rate, stage, width: self.width }.factors();
                    Purpose("the direction of a stage").extend(direction, factors)?;
                    for (leaves, sums) in rows().zip(sums.chunks_exact_mut(self.width)) {
                        let mut number = [0.0];
                        tree.leaves.add_to(leaves[t] as usize, &mut number);
                        sums.iter_mut().zip(&*direction).for_each(|(sum, factor)| *sum += number[0] * factor);
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the leaves of a block of samples in `trees`, a few trees at a time.
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

    /// Writes the scores of a block of samples.
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

    /// Divides sums over all trees, which makes them scores.
    pub(super) fn divide(&self, sums: &mut [f64]) {
        if self.divisor != 1.0 {
            sums.iter_mut().for_each(|sum| *sum /= self.divisor);
        }
    }

    /// Sets the scores of samples to the initial values of the sums.
    pub(super) fn begin(&self, scores: &mut [f64]) {
        if self.start.is_empty() {
            scores.fill(0.0);
        } else {
            scores.chunks_exact_mut(self.start.len()).for_each(|row| row.copy_from_slice(self.start));
        }
    }

    /// Returns the initial values of the sums for each sample.
    pub(crate) fn start_of_rows(&self, n_samples: usize, control: &Control) -> Result<Vec<f64>> {
        let mut scores = Purpose("scores").zeros(n_samples, self.width)?;
        let rows_at_once = (BLOCK_SCORES / self.width.max(1)).max(1);
        for rows in scores.chunks_mut((rows_at_once * self.width).max(1)) {
            control.check()?;
            self.begin(rows);
        }
        Ok(scores)
    }

    /// Returns the scores, (n_samples, number of scores).
    ///
    /// # Errors
    /// The same as for [`crate::Forest::predict`], and [`crate::ErrorKind::Invalid`] for a mean of no trees.
    pub fn scores(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<f64>> {
        let mut scores = Purpose("predictions").zeros(x.n_samples(), self.width)?;
        self.scores_into(x, &mut scores, control)?;
        Ok(into_array(scores, x.n_samples(), self.width))
    }

    /// Writes the scores into memory of the caller, in row-major order. Its previous content is overwritten.
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

    /// Returns the predictions that the scores mean, (n_samples, columns of the outputs).
    ///
    /// # Errors
    /// The same as for [`Additive::scores`].
    pub(crate) fn predict(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<f64>> {
        self.linked(self.scores(x, control)?, control)
    }

    /// Turns scores into the predictions that they mean, in place unless two classes have one score.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
    pub(crate) fn linked(&self, mut scores: Array2<f64>, control: &Control) -> Result<Array2<f64>> {
        let columns = self.n_columns();
        if self.link.is_identity() {
            return Ok(scores);
        }
        let starts = self.outputs.class_starts()?;
        let mut pulse = control.pulse();
        if columns == scores.ncols() {
            let mut out = Purpose("a row of predictions").filled(0.0, columns)?;
            for mut row in scores.axis_iter_mut(Axis(0)) {
                let row = row.as_slice_mut().expect("scores are made in rows");
                self.link.apply(&starts, row, &mut out);
                row.copy_from_slice(&out);
                pulse.after(columns)?;
            }
            return Ok(scores);
        }
        let mut out = Purpose("predictions").zeros(scores.nrows(), columns)?;
        for (row, out) in scores.axis_iter(Axis(0)).zip(out.chunks_exact_mut(columns.max(1))) {
            self.link.apply(&starts, row.as_slice().expect("scores are made in rows"), out);
            pulse.after(columns)?;
        }
        Ok(into_array(out, scores.nrows(), columns))
    }

    /// Adds all trees to the sums of samples.
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

    /// Returns an iterator over the scores after each stage, of a model whose sums are not divided.
    ///
    /// # Errors
    /// The same as for [`Additive::rows`].
    pub(crate) fn staged(self, x: impl Into<Matrix<'a>>) -> Result<StagedScores<'a>> {
        debug_assert!(self.divisor == 1.0);
        let rows = self.rows(x, &Control::default())?;
        let scores = self.start_of_rows(rows.n_samples(), &Control::default())?;
        Ok(StagedScores { model: self, rows, scores, next_tree: 0 })
    }
}

/// An iterator over the scores after each stage.
#[derive(Debug)]
pub struct StagedScores<'a> {
    model: Additive<'a>,
    rows: Rows<'a>,
    scores: Vec<f64>,
    next_tree: usize,
}

impl StagedScores<'_> {
    /// Returns the scores after the next stage, (n_samples, number of scores), or `None` after the last stage.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
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
