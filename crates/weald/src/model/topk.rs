//! The k best columns of each sample.
//!
//! Where leaves are rows of a sparse table, only the columns that the leaves of a sample store are ranked, as all
//! others are zero. Otherwise all scores of a block of samples are computed and ranked.

use std::ops::Range;

use ndarray::Array2;

use super::predict::{LeavesOfRows, Worker};
use super::touched::TouchedRow;
use super::{Additive, Terms, into_array, means, try_matrix};
use crate::control::Control;
use crate::data::{LabelView, Matrix};
use crate::error::{Error, Result, try_filled, try_grow};
use crate::pool;
use crate::tree::rows::Rows;

/// The k columns with the largest predictions for each sample, the best column first.
///
/// If columns are excluded and fewer than k are left for a sample, its last places have the column [`TopK::NONE`] and
/// the score −∞.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TopK {
    /// Column indices, (n_samples, k).
    pub indices: Array2<u32>,
    /// The predictions of these columns, (n_samples, k).
    pub scores: Array2<f64>,
}

impl TopK {
    /// The index that stands in places for which no column is left.
    pub const NONE: u32 = u32::MAX;
}

/// The quantity by which columns are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankBy {
    /// By scores, of which there may be fewer than predictions.
    Scores,
    /// By predictions: the classes of several outputs rank differently by scores than by probabilities.
    Predictions,
}

fn check_k(columns: usize, k: usize) -> Result<()> {
    if k == 0 || k > columns {
        return Err(Error::invalid("k", k, "be between 1 and the number of outputs that are ranked"));
    }
    Ok(())
}

/// Returns an error if `k` is not between 1 and the number of columns, or if the exclusions do not have the right
/// shape.
pub(super) fn check_topk((n, columns): (usize, usize), k: usize, excluded: Option<&LabelView<'_>>) -> Result<()> {
    check_k(columns, k)?;
    let Some(excluded) = excluded else { return Ok(()) };
    if excluded.n_labels() != columns {
        return Err(Error::shape("each row of exclude", columns, excluded.n_labels()));
    }
    if excluded.n_samples() != 1 && excluded.n_samples() != n {
        return Err(Error::shape("exclude", n, excluded.n_samples()));
    }
    Ok(())
}

impl Additive<'_> {
    /// Returns the `k` columns with the largest score, or prediction, for each sample, in descending order; of equal
    /// values, the lower column comes first.
    ///
    /// `excluded` lists columns that are not returned: one row for each sample, or a single row that holds for all
    /// samples. The whole prediction is never in memory: memory is O(n · k) and a block of samples for each thread, and
    /// time is that of reading the leaves that are reached.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] when `k` is 0 or larger than the number of columns,
    /// [`crate::ErrorKind::Shape`] when `excluded` has another number of columns or neither one row nor one for each
    /// sample of X, and the errors of [`Additive::scores`].
    pub(crate) fn topk(
        &self,
        x: &Matrix<'_>,
        k: usize,
        by: RankBy,
        excluded: Option<&LabelView<'_>>,
        control: &Control,
    ) -> Result<TopK> {
        let columns = match by {
            RankBy::Scores => self.width,
            RankBy::Predictions => self.n_columns(),
        };
        check_k(columns, k)?;
        let rows = self.rows(x, control)?;
        if by == RankBy::Scores && matches!(self.terms, Terms::Leaves) && self.start.is_empty() {
            let found = LeavesOfRows { model: self, rows: &rows };
            return means::topk(&found, (columns, k), self.divisor, excluded, control);
        }
        let n = rows.n_samples();
        check_topk((n, columns), k, excluded)?;
        let mut indices = try_matrix("the best columns", n, k)?;
        let mut scores = try_matrix("the best scores", n, k)?;
        let n_threads = self.threads_for(n, self.trees.len(), control.n_threads());
        let size = self.rows_at_once(&rows, n_threads);
        pool::for_each(
            n_threads,
            indices.chunks_mut(size * k).zip(scores.chunks_mut(size * k)).enumerate(),
            || Ok((self.worker(&rows, 0..self.trees.len())?, Ranking::new(columns, excluded)?)),
            |(worker, ranking), (b, (indices, scores))| {
                let range = b * size..(b * size + size).min(n);
                let places = range.clone().zip(indices.chunks_exact_mut(k).zip(scores.chunks_exact_mut(k)));
                let block = self.block_of_scores(&rows, range, worker, by, control)?;
                for (scored, (row, (indices, scores))) in block.chunks_exact(columns).zip(places) {
                    ranking.rank(row, scored, indices, scores)?;
                }
                Ok(())
            },
        )?;
        Ok(TopK { indices: into_array(indices, n, k), scores: into_array(scores, n, k) })
    }

    /// Computes the scores, or predictions, of a block of samples.
    fn block_of_scores(
        &self,
        x: &Rows<'_>,
        rows: Range<usize>,
        worker: &mut Worker,
        by: RankBy,
        control: &Control,
    ) -> Result<Vec<f64>> {
        let n = rows.len();
        let mut scores = try_matrix("a block of scores", n, self.width)?;
        self.scores_of_block(x, rows, worker, &mut scores, control)?;
        match by {
            RankBy::Scores => Ok(scores),
            RankBy::Predictions => {
                let predictions = self.linked(into_array(scores, n, self.width), control)?;
                Ok(predictions.into_raw_vec_and_offset().0)
            }
        }
    }
}

const RANKING: &str = "a row of predictions";

/// Ranks the columns of one sample after the other.
#[derive(Debug)]
pub(super) struct Ranking<'a> {
    excluded: Option<&'a LabelView<'a>>,
    /// Whether each column is excluded for the current sample; empty if no columns are excluded.
    is_excluded: Vec<bool>,
    candidates: Vec<(f64, u32)>,
}

impl<'a> Ranking<'a> {
    pub(super) fn new(width: usize, excluded: Option<&'a LabelView<'a>>) -> Result<Self> {
        let is_excluded = try_filled(RANKING, false, if excluded.is_some() { width } else { 0 })?;
        Ok(Ranking { excluded, is_excluded, candidates: Vec::new() })
    }

    /// Writes the best columns of sample `row` and their scores, chosen among the columns that its leaves store and the
    /// first of the other columns. Resets the sums.
    pub(super) fn rank_touched(
        &mut self,
        row: usize,
        sums: &mut TouchedRow,
        divisor: f64,
        indices: &mut [u32],
        scores: &mut [f64],
    ) -> Result<()> {
        let k = indices.len();
        try_grow(RANKING, &mut self.candidates, k + sums.columns().len())?;
        self.mark(row, true);
        let may_be_named = |column: &u32| !self.is_excluded.get(*column as usize).is_some_and(|excluded| *excluded);
        let touched = sums.columns().iter().copied().filter(&may_be_named);
        self.candidates.extend(touched.map(|column| (sums.sum(column) / divisor, column)));
        // Columns that no leaf stores have score 0, and the first k of them are enough. Fewer than k + touched +
        // excluded columns are visited.
        self.candidates.extend(sums.others().filter(&may_be_named).take(k).map(|column| (0.0, column)));
        self.mark(row, false);
        take_best(&mut self.candidates, indices, scores);
        sums.forget();
        Ok(())
    }

    /// The same for a sample whose scores are all computed.
    fn rank(&mut self, row: usize, scored: &[f64], indices: &mut [u32], scores: &mut [f64]) -> Result<()> {
        try_grow(RANKING, &mut self.candidates, scored.len())?;
        self.mark(row, true);
        let may_be_named = |column: &u32| !self.is_excluded.get(*column as usize).is_some_and(|excluded| *excluded);
        let named = scored.iter().copied().zip(0u32..).filter(|(_, column)| may_be_named(column));
        self.candidates.extend(named);
        self.mark(row, false);
        take_best(&mut self.candidates, indices, scores);
        Ok(())
    }

    /// Sets `is_excluded` to `to` for the columns that are excluded for sample `row`.
    fn mark(&mut self, row: usize, to: bool) {
        let Some(excluded) = self.excluded else { return };
        let row = if excluded.n_samples() == 1 { 0 } else { row };
        for &column in &excluded.indices()[excluded.ptr()[row]..excluded.ptr()[row + 1]] {
            self.is_excluded[column as usize] = to;
        }
    }
}

/// Writes the best candidates into the given places, by descending score, then by ascending column. Clears the
/// candidates.
fn take_best(candidates: &mut Vec<(f64, u32)>, indices: &mut [u32], scores: &mut [f64]) {
    let k = indices.len();
    let best_first = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if candidates.len() > k {
        candidates.select_nth_unstable_by(k - 1, best_first);
        candidates.truncate(k);
    }
    candidates.sort_unstable_by(best_first);
    let none = std::iter::repeat((f64::NEG_INFINITY, TopK::NONE));
    for ((score, column), (out, place)) in candidates.drain(..).chain(none).zip(scores.iter_mut().zip(indices)) {
        (*out, *place) = (score, column);
    }
}
