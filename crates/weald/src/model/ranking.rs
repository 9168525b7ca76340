//! Rankings of labels by scores that are given: the k best labels of each sample.
//!
//! This is the only place that orders labels: larger scores come first, and of equal scores the lower label; 0 and −0 are
//! equal, and NaN comes after all other scores.

use std::borrow::Cow;
use std::cmp::Ordering;

use ndarray::ArrayView2;

use super::into_array;
use super::topk::{TopK, check_excluded};
use crate::control::{Control, STEPS};
use crate::data::LabelView;
use crate::data::sparse::check_offsets;
use crate::error::{Error, ErrorKind, Purpose, Result};
use crate::pool;

/// Scores of labels for each sample, in the layout of the caller.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LabelScores<'a> {
    /// The scores of all labels, (n_samples, n_labels), with any strides.
    Dense(ArrayView2<'a, f64>),
    /// The same in single precision.
    Single(ArrayView2<'a, f32>),
    /// Labels without a stored score have score zero.
    Sparse(StoredScores<'a>),
    /// Labels without a stored score are in no ranking.
    Listed(StoredScores<'a>),
}

/// The stored scores of each sample: the slices `ptr[i]..ptr[i + 1]` of `labels` and `scores` are those of sample i, in
/// any order. A sample has each label at most once.
#[derive(Clone, Debug)]
pub struct StoredScores<'a> {
    ptr: Cow<'a, [usize]>,
    labels: Cow<'a, [u32]>,
    scores: Cow<'a, [f64]>,
    n_labels: usize,
}

impl<'a> StoredScores<'a> {
    /// Returns a view of the three arrays, after checking them against each other and against `n_labels`. That no label
    /// is twice in a sample is not checked.
    ///
    /// # Errors
    /// [`ErrorKind::SparseFormat`] if the offsets do not start at 0, decrease, or do not end at the number of stored
    /// scores, or if a label is not below `n_labels`. [`ErrorKind::Shape`] if `scores` and `labels` differ in length.
    pub fn try_new(
        ptr: impl Into<Cow<'a, [usize]>>,
        labels: impl Into<Cow<'a, [u32]>>,
        scores: impl Into<Cow<'a, [f64]>>,
        n_labels: usize,
    ) -> Result<Self> {
        let (ptr, labels, scores) = (ptr.into(), labels.into(), scores.into());
        check_offsets("scores", &ptr, labels.len())?;
        if labels.iter().any(|&label| label as usize >= n_labels) {
            let rule = "labels are below the number of labels";
            return Err(ErrorKind::SparseFormat { what: "scores", rule }.into());
        }
        if scores.len() != labels.len() {
            return Err(Error::shape("stored scores", labels.len(), scores.len()));
        }
        Ok(StoredScores { ptr, labels, scores, n_labels })
    }

    /// Returns the labels of a sample and their scores.
    pub(super) fn of(&self, sample: usize) -> (&[u32], &[f64]) {
        let range = self.ptr[sample]..self.ptr[sample + 1];
        (&self.labels[range.clone()], &self.scores[range])
    }
}

impl LabelScores<'_> {
    /// Returns the number of samples.
    pub fn n_samples(&self) -> usize {
        match self {
            LabelScores::Dense(scores) => scores.nrows(),
            LabelScores::Single(scores) => scores.nrows(),
            LabelScores::Sparse(stored) | LabelScores::Listed(stored) => stored.ptr.len() - 1,
        }
    }

    /// Returns the number of labels.
    pub fn n_labels(&self) -> usize {
        match self {
            LabelScores::Dense(scores) => scores.ncols(),
            LabelScores::Single(scores) => scores.ncols(),
            LabelScores::Sparse(stored) | LabelScores::Listed(stored) => stored.n_labels,
        }
    }

    /// Returns the number of stored scores: of a dense matrix, all.
    pub fn n_stored(&self) -> usize {
        match self {
            LabelScores::Dense(scores) => scores.len(),
            LabelScores::Single(scores) => scores.len(),
            LabelScores::Sparse(stored) | LabelScores::Listed(stored) => stored.scores.len(),
        }
    }

    /// Returns how many samples together have about [`STEPS`] stored scores.
    pub(super) fn samples_at_once(&self) -> usize {
        let of_sample = self.n_stored() / self.n_samples().max(1);
        (STEPS / of_sample.max(1)).clamp(1, 1 << 12)
    }
}

/// Returns the `k` labels with the largest scores of each sample, best first; of equal scores, the lower label comes
/// first. NaN is smaller than all numbers.
///
/// `excluded` lists labels that are in no ranking: one row for each sample, or a single row that holds for all samples.
/// A sample that has fewer than `k` labels to rank has [`TopK::NONE`] with the score −∞ in its last places, and `k` may be
/// larger than the number of labels. Time is O(stored scores + n · k log k), and memory is O(n · k) and two bytes for each
/// label and thread; the scores are not copied.
///
/// # Errors
/// [`ErrorKind::Shape`] when `excluded` has another number of columns or neither one row nor one for each sample,
/// [`ErrorKind::Interrupted`] or [`ErrorKind::OutOfMemory`].
pub fn rank_rows(
    scores: &LabelScores<'_>,
    k: usize,
    excluded: Option<&LabelView<'_>>,
    control: &Control,
) -> Result<TopK> {
    let (n, width) = (scores.n_samples(), scores.n_labels());
    check_excluded((n, width), excluded)?;
    let mut labels = Purpose("the best labels").zeros(n, k)?;
    let mut values = Purpose("the best scores").zeros(n, k)?;
    let size = scores.samples_at_once();
    let has_zeros = matches!(scores, LabelScores::Sparse(_));
    if k > 0 {
        pool::for_each(
            control.n_threads(),
            labels.chunks_mut(size * k).zip(values.chunks_mut(size * k)).enumerate(),
            || Ok((Ranking::new(width, excluded)?, RANKING.filled(false, if has_zeros { width } else { 0 })?)),
            |(ranking, is_stored), (b, (labels, values))| {
                control.check()?;
                let places = labels.chunks_exact_mut(k).zip(values.chunks_exact_mut(k));
                for (row, places) in (b * size..).zip(places) {
                    match scores {
                        LabelScores::Dense(scores) => ranking.rank(row, scores.row(row).iter().copied(), places)?,
                        LabelScores::Single(scores) => {
                            ranking.rank(row, scores.row(row).iter().map(|&s| s.into()), places)?
                        }
                        LabelScores::Listed(stored) => {
                            let (columns, values) = stored.of(row);
                            let listed = values.iter().copied().zip(columns.iter().copied());
                            ranking.rank_with_zeros(row, listed, std::iter::empty(), places)?;
                        }
                        LabelScores::Sparse(stored) => {
                            let (columns, values) = stored.of(row);
                            columns.iter().for_each(|&column| is_stored[column as usize] = true);
                            let listed = values.iter().copied().zip(columns.iter().copied());
                            let others =
                                (0u32..).zip(&*is_stored).filter(|(_, stored)| !**stored).map(|(column, _)| column);
                            ranking.rank_with_zeros(row, listed, others, places)?;
                            columns.iter().for_each(|&column| is_stored[column as usize] = false);
                        }
                    }
                }
                Ok(())
            },
        )?;
    }
    Ok(TopK { indices: into_array(labels, n, k), scores: into_array(values, n, k) })
}

const RANKING: Purpose = Purpose("a row of predictions");

/// The places of the best columns of one sample, and of their scores.
pub(crate) type Places<'p> = (&'p mut [u32], &'p mut [f64]);

/// Ranks the columns of one sample after the other.
#[derive(Debug)]
pub(crate) struct Ranking<'a> {
    excluded: Option<&'a LabelView<'a>>,
    /// Whether each column is excluded for the current sample; empty if no columns are excluded.
    is_excluded: Vec<bool>,
    best: Best,
}

impl<'a> Ranking<'a> {
    pub(crate) fn new(width: usize, excluded: Option<&'a LabelView<'a>>) -> Result<Self> {
        let is_excluded = RANKING.filled(false, if excluded.is_some() { width } else { 0 })?;
        Ok(Ranking { excluded, is_excluded, best: Best::new() })
    }

    /// Writes the best columns of sample `row` and their scores, where all columns have a score.
    pub(crate) fn rank(
        &mut self,
        row: usize,
        scored: impl ExactSizeIterator<Item = f64>,
        places: Places<'_>,
    ) -> Result<()> {
        let listed = scored.enumerate().map(|(column, score)| (score, column as u32));
        self.rank_with_zeros(row, listed, std::iter::empty(), places)
    }

    /// Writes the best columns of sample `row` and their scores, chosen among those that are listed with their scores and
    /// among `others`, which have score 0 and come in ascending order. Of these, no more are visited than have a place or
    /// are excluded.
    pub(crate) fn rank_with_zeros(
        &mut self,
        row: usize,
        listed: impl ExactSizeIterator<Item = (f64, u32)>,
        others: impl Iterator<Item = u32>,
        places: Places<'_>,
    ) -> Result<()> {
        let k = places.0.len();
        self.best.start(k, listed.len())?;
        self.mark(row, true);
        let may_be_named = |column: u32| !self.is_excluded.get(column as usize).is_some_and(|excluded| *excluded);
        for (score, column) in listed {
            if may_be_named(column) {
                self.best.offer(score, column);
            }
        }
        for column in others.filter(|&column| may_be_named(column)).take(k) {
            if !self.best.offer_growing(0.0, column)? {
                break;
            }
        }
        self.mark(row, false);
        self.best.write(places);
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

/// The order of scores, the largest first and NaN last.
pub(super) fn by_score(a: f64, b: f64) -> Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// A score and its column as one number, which is smaller for better candidates.
///
/// From the highest bit on it consists of 64 bits for the score, 32 for the column, and 1 for the sign of a zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate(u128);

const SIGN: u64 = 1 << 63;

impl Candidate {
    /// No other candidate comes after this one.
    const LAST: Candidate = Candidate(u128::MAX);

    fn new(score: f64, column: u32) -> Self {
        // Without the sign, 0 and −0 are equal.
        let bits = (score + 0.0).to_bits();
        let order = if score.is_nan() {
            u64::MAX
        } else if bits & SIGN == 0 {
            !(bits | SIGN)
        } else {
            bits
        };
        let is_negative_zero = score == 0.0 && score.is_sign_negative();
        Candidate(u128::from(order) << 64 | u128::from(column) << 32 | u128::from(is_negative_zero))
    }

    fn column(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn score(self) -> f64 {
        let order = (self.0 >> 64) as u64;
        if self.0 & 1 == 1 {
            -0.0
        } else if order == u64::MAX {
            f64::NAN
        } else {
            f64::from_bits(if order & SIGN == 0 { !order & !SIGN } else { order })
        }
    }
}

/// The best k of the candidates that were offered.
#[derive(Debug)]
struct Best {
    k: usize,
    /// At most [`Best::most`] candidates, among which are the best k.
    kept: Vec<Candidate>,
    /// Candidates that do not come before this one, or have a smaller score, are not among the best.
    bar: Candidate,
    least: f64,
}

impl Best {
    fn new() -> Self {
        Best { k: 0, kept: Vec::new(), bar: Candidate::LAST, least: f64::NEG_INFINITY }
    }

    /// The number of candidates that are kept before all but the best k are dropped.
    fn most(&self) -> usize {
        self.k.saturating_mul(2).saturating_add(32)
    }

    /// Starts with no candidates, with room for those that [`Best::offer`] will be called with.
    fn start(&mut self, k: usize, n_candidates: usize) -> Result<()> {
        self.kept.clear();
        (self.k, self.bar, self.least) = (k, Candidate::LAST, f64::NEG_INFINITY);
        let most = self.most();
        RANKING.grow(&mut self.kept, n_candidates.min(most))
    }

    /// Takes a candidate, if it can be among the best. Returns whether it can.
    fn offer(&mut self, score: f64, column: u32) -> bool {
        if score < self.least {
            return false;
        }
        let candidate = Candidate::new(score, column);
        if candidate >= self.bar {
            return false;
        }
        self.kept.push(candidate);
        if self.kept.len() >= self.most() {
            self.drop_all_but_the_best();
            self.bar = self.kept[self.k - 1];
            // NaN is not larger than any number, so nothing is smaller than it.
            self.least = self.bar.score();
        }
        true
    }

    /// Like [`Best::offer`], for more candidates than there is room for.
    fn offer_growing(&mut self, score: f64, column: u32) -> Result<bool> {
        RANKING.grow(&mut self.kept, 1)?;
        Ok(self.offer(score, column))
    }

    fn drop_all_but_the_best(&mut self) {
        if self.kept.len() > self.k {
            self.kept.select_nth_unstable(self.k - 1);
            self.kept.truncate(self.k);
        }
    }

    /// Writes the best candidates into the places, and [`TopK::NONE`] and −∞ into those that are left.
    fn write(&mut self, (columns, scores): Places<'_>) {
        self.drop_all_but_the_best();
        self.kept.sort_unstable();
        columns[self.kept.len()..].fill(TopK::NONE);
        scores[self.kept.len()..].fill(f64::NEG_INFINITY);
        for (best, (column, score)) in self.kept.iter().zip(columns.iter_mut().zip(scores)) {
            (*column, *score) = (best.column(), best.score());
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::labels::{self, Scores};

    /// The best candidates by a full sort, padded.
    fn slow(mut ranked: Vec<(f64, u32)>, k: usize) -> Vec<(u64, u32)> {
        let key = |score: f64| if score.is_nan() { f64::NEG_INFINITY } else { score };
        ranked.sort_by(|a, b| {
            let nan_last = a.0.is_nan().cmp(&b.0.is_nan());
            nan_last.then(key(b.0).partial_cmp(&key(a.0)).unwrap()).then(a.1.cmp(&b.1))
        });
        ranked.resize(k.max(ranked.len()), (f64::NEG_INFINITY, TopK::NONE));
        ranked[..k].iter().map(|&(score, label)| (score.to_bits(), label)).collect()
    }

    fn found(
        scores: &LabelScores<'_>,
        k: usize,
        excluded: Option<&LabelView<'_>>,
        n_threads: usize,
    ) -> Vec<Vec<(u64, u32)>> {
        let best = rank_rows(scores, k, excluded, &Control::with_threads(n_threads)).unwrap();
        let rows = best.scores.rows().into_iter().zip(best.indices.rows());
        rows.map(|(s, i)| s.iter().map(|s| s.to_bits()).zip(i.iter().copied()).collect()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn a_ranking_is_the_head_of_a_full_sort(seed in any::<u64>(), n in 0usize..9, width in 0usize..90, k in 0usize..100) {
            let scores = Scores::hostile(seed, n, width);
            for masked in [None, Some(1), Some(n)] {
                let excluded = masked.map(|rows| labels::some(seed ^ 5, rows, width));
                let is_named = |i: usize, j: u32| !excluded.as_ref().is_some_and(|e| labels::has(e, if masked == Some(1) { 0 } else { i }, j));
                for (layout, absent) in scores.layouts() {
                    let expected: Vec<_> = (0..n).map(|i| {
                        let of_sample = (0..width as u32).filter(|&j| is_named(i, j));
                        slow(of_sample.filter_map(|j| Some((scores.of(i, j).or(absent)?, j))).collect(), k)
                    }).collect();
                    for n_threads in [1, 3] {
                        prop_assert_eq!(&found(&layout, k, excluded.as_ref(), n_threads), &expected);
                    }
                }
            }
        }
    }

    #[test]
    fn all_strides_and_both_precisions_give_the_same_ranking() {
        let scores = Array2::from_shape_fn((300, 700), |(i, j)| f64::from((i * 31 + j * 17) as u32 % 101) / 4.0);
        let (single, fortran) = (scores.mapv(|s| s as f32), scores.t().as_standard_layout().to_owned());
        let expected = found(&LabelScores::Dense(scores.view()), 7, None, 1);
        assert_eq!(found(&LabelScores::Single(single.view()), 7, None, 2), expected);
        assert_eq!(found(&LabelScores::Dense(fortran.t()), 7, None, 3), expected);
    }

    #[test]
    fn bad_shapes_are_refused_and_a_raised_flag_interrupts() {
        let stored = |ptr: Vec<usize>, labels: Vec<u32>| StoredScores::try_new(ptr, labels, vec![0.5, 0.25], 3);
        assert!(stored(vec![0, 1, 2], vec![2, 0]).is_ok());
        for (ptr, labels) in [(vec![0, 2, 1, 2], vec![0, 1]), (vec![0, 1], vec![0, 1]), (vec![0, 2], vec![0, 3])] {
            assert!(matches!(stored(ptr, labels).unwrap_err().kind(), ErrorKind::SparseFormat { .. }));
        }
        assert!(matches!(stored(vec![0, 1], vec![0]).unwrap_err().kind(), ErrorKind::Shape { .. }));
        let scores = LabelScores::Sparse(stored(vec![0, 1, 2], vec![2, 0]).unwrap());
        let control = Control::default();
        for excluded in [labels::some(1, 2, 4), labels::some(1, 3, 3)] {
            assert!(matches!(
                rank_rows(&scores, 1, Some(&excluded), &control).unwrap_err().kind(),
                ErrorKind::Shape { .. }
            ));
        }
        control.stop();
        assert_eq!(rank_rows(&scores, 1, None, &control).unwrap_err().kind(), &ErrorKind::Interrupted);
        let error = rank_rows(&scores, usize::MAX / 2, None, &Control::default()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OutOfMemory { .. }));
    }
}
