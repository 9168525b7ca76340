//! Scores of new rows: the constant, and what each stage adds, in the order of the stages.

use std::ops::Range;

use ndarray::{Array2, ArrayView2};

use super::model::{Boosted, Combine};
use crate::control::Control;
use crate::data::Matrix;
use crate::error::{Error, Result, try_collected, try_resize};
use crate::forest::rows::{Rows, Scratch};
use crate::forest::{TopK, best_columns, into_array, try_matrix};
use crate::pool;
use crate::tree::Tree;

/// Scores that are added up together: they stay in the second-level cache, and each direction is read once for them.
const SCORES_AT_ONCE: usize = 1 << 14;

/// Leaves that are known before scores are added.
const IDS_AT_ONCE: usize = 1 << 14;

impl Boosted {
    /// Raw scores f, (n_samples, width).
    ///
    /// Bit for bit the same for any number of threads and any layout of X. A CSC X is transposed once.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] for another number of features, [`crate::ErrorKind::Invalid`] for values that are not
    /// finite and for weak models that are no trees, [`crate::ErrorKind::Interrupted`], [`crate::ErrorKind::OutOfMemory`].
    pub fn predict_scores(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<f64>> {
        let rows = self.rows(x)?;
        let mut scores = self.start_of_rows(rows.n_samples(), control)?;
        self.add_to_rows(&rows, 0..self.n_stages(), &mut scores, control)?;
        Ok(into_array(scores, rows.n_samples(), self.width))
    }

    /// Raw scores before the first stage, (n_samples, width): for those who add the stages with [`Boosted::add_stage`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Interrupted`], [`crate::ErrorKind::OutOfMemory`].
    pub fn start_scores(&self, n_samples: usize, control: &Control) -> Result<Array2<f64>> {
        Ok(into_array(self.start_of_rows(n_samples, control)?, n_samples, self.width))
    }

    fn start_of_rows(&self, n_samples: usize, control: &Control) -> Result<Vec<f64>> {
        let mut scores = try_matrix("scores", n_samples, self.width)?;
        let mut pulse = control.pulse();
        scores.chunks_exact_mut(self.width).try_for_each(|row| {
            row.copy_from_slice(&self.start);
            pulse.after(self.width)
        })?;
        Ok(scores)
    }

    /// Numbers, or probabilities of labels, or of the classes of each output: (n_samples, width of the outputs).
    ///
    /// # Errors
    /// As [`Boosted::predict_scores`] and [`Boosted::to_predictions`].
    pub fn predict(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<f64>> {
        self.to_predictions(self.predict_scores(x, control)?.view(), control)
    }

    /// The `k` columns of greatest score of each row: score descending, then column ascending.
    ///
    /// Never holds all scores: memory is O(n · k) and a few rows for each thread.
    ///
    /// # Errors
    /// As [`Boosted::predict_scores`]; [`crate::ErrorKind::Invalid`] when `k` is 0 or more than there are scores.
    pub fn predict_topk(&self, x: &Matrix<'_>, k: usize, control: &Control) -> Result<TopK> {
        if k == 0 || k > self.width {
            return Err(Error::invalid("k", k, "between 1 and the number of scores of a row"));
        }
        let rows = self.rows(x)?;
        let n = rows.n_samples();
        let mut indices = try_matrix("the best columns", n, k)?;
        let mut best = try_matrix("the best scores", n, k)?;
        let size = self.rows_at_once();
        let jobs = indices.chunks_mut(size * k).zip(best.chunks_mut(size * k)).enumerate();
        pool::for_each(
            control.n_threads(),
            jobs,
            || self.worker(&rows),
            |worker, (b, (indices, best))| {
                control.check()?;
                let range = b * size..(b * size + size).min(n);
                let mut scores = self.start_of_rows(range.len(), control)?;
                self.add(&rows, range, 0..self.n_stages(), worker, &mut scores)?;
                let places = indices.chunks_exact_mut(k).zip(best.chunks_exact_mut(k));
                for (row, (indices, best)) in scores.chunks_exact(self.width).zip(places) {
                    best_columns(row, indices, best)?;
                }
                Ok(())
            },
        )?;
        Ok(TopK { indices: into_array(indices, n, k), scores: into_array(best, n, k) })
    }

    /// Scores after one stage after another.
    ///
    /// # Errors
    /// As [`Boosted::predict_scores`].
    pub fn staged_scores<'a>(&'a self, x: &'a Matrix<'_>) -> Result<StagedScores<'a>> {
        let rows = self.rows(x)?;
        let scores = self.start_of_rows(rows.n_samples(), &Control::default())?;
        Ok(StagedScores { model: self, rows, scores, stage: 0 })
    }

    /// Adds stage `stage` to scores of the rows of `x`, (n_samples, width): for those who keep the scores themselves. Costs a
    /// transposition for each call when X is CSC.
    ///
    /// # Errors
    /// As [`Boosted::predict_scores`]; [`crate::ErrorKind::Shape`] for scores of another shape,
    /// [`crate::ErrorKind::Invalid`] when there is no such stage.
    pub fn add_stage(&self, stage: usize, x: &Matrix<'_>, scores: &mut Array2<f64>, control: &Control) -> Result<()> {
        if stage >= self.n_stages() {
            return Err(Error::invalid("stage", stage, "below the number of stages"));
        }
        let rows = self.rows(x)?;
        let expected = rows.n_samples() * self.width;
        let got = scores.len();
        match scores.as_slice_mut() {
            Some(scores) if got == expected => self.add_to_rows(&rows, stage..stage + 1, scores, control),
            _ => Err(Error::shape("scores, row-major,", expected, got)),
        }
    }

    /// Adds stage `stage` of a model whose weak models are no trees to scores, (n_samples, width), given what the weak model
    /// predicts: (n_samples, 1), or (n_samples, width) for the joint strategy.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] where shapes do not fit, [`crate::ErrorKind::Invalid`] when there is no such stage or
    /// weak models are trees.
    pub fn add_weak(&self, stage: usize, predictions: ArrayView2<'_, f64>, scores: &mut Array2<f64>) -> Result<()> {
        if stage >= self.n_stages() {
            return Err(Error::invalid("stage", stage, "below the number of stages"));
        }
        let n_columns = match self.combine {
            Combine::OtherRankOne => 1,
            Combine::OtherEach => self.width,
            _ => return Err(Error::invalid("estimator", "trees", "weak models that are no trees")),
        };
        if predictions.ncols() != n_columns {
            return Err(Error::shape("each row of predictions", n_columns, predictions.ncols()));
        }
        if predictions.nrows() != scores.nrows() || scores.ncols() != self.width {
            return Err(Error::shape("scores", predictions.nrows() * self.width, scores.len()));
        }
        let direction = self.direction(stage)?;
        for (mut row, g) in scores.rows_mut().into_iter().zip(predictions.rows()) {
            for (j, (score, &v)) in row.iter_mut().zip(&direction).enumerate() {
                *score += g[if n_columns == 1 { 0 } else { j }] * v;
            }
        }
        Ok(())
    }

    /// Learning rate times steps.
    fn direction(&self, stage: usize) -> Result<Vec<f64>> {
        let steps = self.step_sizes.of_stage(stage, self.width);
        try_collected("the steps of a stage", steps.map(|step| self.learning_rate * step))
    }

    fn rows<'x>(&self, x: &'x Matrix<'_>) -> Result<Rows<'x>> {
        if matches!(self.combine, Combine::OtherRankOne | Combine::OtherEach) && self.n_stages() > 0 {
            return Err(Error::invalid("estimator", "no tree", "trees: other weak models predict elsewhere"));
        }
        Rows::new(x, self.n_features)
    }

    fn worker(&self, rows: &Rows<'_>) -> Result<Worker> {
        Ok(Worker { rows: rows.scratch()?, ids: Vec::new() })
    }

    fn rows_at_once(&self) -> usize {
        (SCORES_AT_ONCE / self.width).clamp(16, 512)
    }

    fn trees_of(&self, stages: Range<usize>) -> Result<Vec<&Tree>> {
        let per_stage = if self.combine == Combine::Columns { self.width } else { 1 };
        let trees = &self.trees[stages.start * per_stage..stages.end * per_stage];
        try_collected("the trees of a stage", trees.iter().map(|tree| &**tree))
    }

    /// Adds some stages to the scores of all rows.
    fn add_to_rows(&self, rows: &Rows<'_>, stages: Range<usize>, scores: &mut [f64], control: &Control) -> Result<()> {
        let n = rows.n_samples();
        let size = self.rows_at_once();
        let jobs = scores.chunks_mut(size * self.width).enumerate();
        pool::for_each(
            control.n_threads(),
            jobs,
            || self.worker(rows),
            |worker, (b, scores)| {
                control.check()?;
                let range = b * size..(b * size + size).min(n);
                self.add(rows, range, stages.clone(), worker, scores)
            },
        )
    }

    /// Adds some stages to the scores of some rows.
    fn add(
        &self,
        x: &Rows<'_>,
        rows: Range<usize>,
        stages: Range<usize>,
        worker: &mut Worker,
        scores: &mut [f64],
    ) -> Result<()> {
        let per_stage = if self.combine == Combine::Columns { self.width } else { 1 };
        let at_once = (IDS_AT_ONCE / (rows.len() * per_stage).max(1)).max(1);
        for first in stages.clone().step_by(at_once) {
            let stages = first..(first + at_once).min(stages.end);
            let trees = self.trees_of(stages.clone())?;
            try_resize("the leaves of rows", &mut worker.ids, rows.len() * trees.len(), 0)?;
            x.walk(rows.clone(), &trees, &mut worker.rows, &mut worker.ids);
            let leaf = |row: usize, t: usize| {
                let node = worker.ids[row * trees.len() + t];
                trees[t].nodes[node as usize].right as usize
            };
            match self.combine {
                Combine::Leaves => {
                    for (row, scores) in scores.chunks_exact_mut(self.width).enumerate() {
                        trees.iter().enumerate().for_each(|(t, tree)| tree.leaves.add_to(leaf(row, t), scores));
                    }
                }
                Combine::Columns => {
                    for (row, scores) in scores.chunks_exact_mut(self.width).enumerate() {
                        for (t, tree) in trees.iter().enumerate() {
                            let j = t % self.width;
                            tree.leaves.add_to(leaf(row, t), &mut scores[j..j + 1]);
                        }
                    }
                }
                Combine::RankOne => {
                    for (t, stage) in stages.enumerate() {
                        let direction = self.direction(stage)?;
                        for (row, scores) in scores.chunks_exact_mut(self.width).enumerate() {
                            let mut g = [0.0];
                            trees[t].leaves.add_to(leaf(row, t), &mut g);
                            scores.iter_mut().zip(&direction).for_each(|(score, v)| *score += g[0] * v);
                        }
                    }
                }
                Combine::OtherRankOne | Combine::OtherEach => unreachable!("refused with the rows"),
            }
        }
        Ok(())
    }
}

/// Scores after one stage after another: see [`Boosted::staged_scores`].
#[derive(Debug)]
pub struct StagedScores<'a> {
    model: &'a Boosted,
    rows: Rows<'a>,
    scores: Vec<f64>,
    stage: usize,
}

impl StagedScores<'_> {
    /// Scores after the next stage, (n_samples, width); `None` after the last.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Interrupted`], [`crate::ErrorKind::OutOfMemory`].
    pub fn next_stage(&mut self, control: &Control) -> Result<Option<ArrayView2<'_, f64>>> {
        if self.stage == self.model.n_stages() {
            return Ok(None);
        }
        self.model.add_to_rows(&self.rows, self.stage..self.stage + 1, &mut self.scores, control)?;
        self.stage += 1;
        let shape = (self.rows.n_samples(), self.model.width);
        Ok(Some(ArrayView2::from_shape(shape, &self.scores).expect("a row of scores for each row")))
    }
}

/// What one thread writes on.
#[derive(Debug)]
struct Worker {
    rows: Scratch,
    ids: Vec<u32>,
}
