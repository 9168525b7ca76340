//! How far down a ranking of all labels the true labels of each sample are.
//!
//! The rank of a label is the number of labels with at least its score, itself included. Only known labels count:
//! those that are not masked.

use super::ranking::{LabelScores, by_score};
use super::topk::check_excluded;
use crate::control::Control;
use crate::data::LabelView;
use crate::error::{Error, Purpose, Result};
use crate::pool;

const SCORES: Purpose = Purpose("a row of scores");

/// Returns the label ranking average precision of each sample: for each of its labels, the fraction of true labels among
/// those with at least the same score, averaged over its labels. It is 1 for a sample without labels or with all of them.
///
/// `masked` lists labels that are not known, in one row for each sample or a single one for all samples. Of
/// [`LabelScores::Listed`] only the listed labels are known. Time is O(m log m) for the m scores that are stored for a
/// sample.
///
/// # Errors
/// [`crate::ErrorKind::Shape`] when `truth` or `masked` does not have the shape of the scores,
/// [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
pub fn label_precision(
    scores: &LabelScores<'_>,
    truth: &LabelView<'_>,
    masked: Option<&LabelView<'_>>,
    control: &Control,
) -> Result<Vec<f64>> {
    of_samples(scores, truth, masked, control, |known, row| known.precision(row))
}

/// Returns the coverage error of each sample: the largest rank of one of its labels, or 0 if it has none.
///
/// `masked` is as in [`label_precision`]. Time is proportional to the stored scores.
///
/// # Errors
/// The same as for [`label_precision`].
pub fn coverage(
    scores: &LabelScores<'_>,
    truth: &LabelView<'_>,
    masked: Option<&LabelView<'_>>,
    control: &Control,
) -> Result<Vec<f64>> {
    of_samples(scores, truth, masked, control, |known, row| Ok(known.coverage(row)))
}

fn of_samples(
    scores: &LabelScores<'_>,
    truth: &LabelView<'_>,
    masked: Option<&LabelView<'_>>,
    control: &Control,
    measure: impl Fn(&mut Known<'_, '_>, usize) -> Result<f64> + Sync,
) -> Result<Vec<f64>> {
    let (n, width) = (scores.n_samples(), scores.n_labels());
    check_excluded((n, width), masked)?;
    if truth.n_labels() != width {
        return Err(Error::shape("each row of y", width, truth.n_labels()));
    }
    if truth.n_samples() != n {
        return Err(Error::shape("y", n, truth.n_samples()));
    }
    let mut found = Purpose("a value for each sample").zeros(n, 1)?;
    let size = scores.samples_at_once();
    pool::for_each(
        control.n_threads(),
        found.chunks_mut(size).enumerate(),
        || Ok(Known { scores, truth, masked, marks: SCORES.filled(0, width)?, scored: Vec::new() }),
        |known, (b, found)| {
            control.check()?;
            for (row, found) in (b * size..).zip(found) {
                known.mark(row, TRUE, MASKED);
                *found = measure(known, row)?;
                known.mark(row, 0, 0);
            }
            Ok(())
        },
    )?;
    Ok(found)
}

/// What is known of a label; zero stands for one that is known and not true.
const TRUE: u8 = 1;
const MASKED: u8 = 2;

/// Known labels of a sample that have the same score.
#[derive(Clone, Copy, Debug)]
struct Scored {
    score: f64,
    n: usize,
    n_true: usize,
}

/// The known labels of one sample after the other.
#[derive(Debug)]
struct Known<'a, 's> {
    scores: &'a LabelScores<'s>,
    truth: &'a LabelView<'a>,
    masked: Option<&'a LabelView<'a>>,
    /// What is known of each label of the current sample.
    marks: Vec<u8>,
    scored: Vec<Scored>,
}

impl Known<'_, '_> {
    fn mark(&mut self, row: usize, of_true: u8, of_masked: u8) {
        labels_of(self.truth, row).iter().for_each(|&label| self.marks[label as usize] = of_true);
        masked_labels(self.masked, row).iter().for_each(|&label| self.marks[label as usize] = of_masked);
    }

    /// Visits each stored score of a known label, and one zero for all known labels without a stored score.
    fn visit(&self, row: usize, each: &mut impl FnMut(Scored)) {
        let mut visit = |label: usize, score: f64| {
            let mark = self.marks[label];
            if mark != MASKED {
                each(Scored { score, n: 1, n_true: usize::from(mark == TRUE) });
            }
        };
        match self.scores {
            LabelScores::Dense(scores) => scores.row(row).iter().enumerate().for_each(|(j, &score)| visit(j, score)),
            LabelScores::Single(scores) => {
                scores.row(row).iter().enumerate().for_each(|(j, &score)| visit(j, score.into()));
            }
            LabelScores::Sparse(stored) | LabelScores::Listed(stored) => {
                let (labels, scores) = stored.of(row);
                labels.iter().zip(scores).for_each(|(&label, &score)| visit(label as usize, score));
            }
        }
        if let LabelScores::Sparse(stored) = self.scores {
            let with_mark = |labels: &[u32], mark| labels.iter().filter(|&&j| self.marks[j as usize] == mark).count();
            let (labels, of_truth) = (stored.of(row).0, labels_of(self.truth, row));
            let n_known = self.scores.n_labels() - masked_labels(self.masked, row).len();
            let n = n_known.saturating_sub(labels.len() - with_mark(labels, MASKED));
            let n_true = with_mark(of_truth, TRUE).saturating_sub(with_mark(labels, TRUE));
            if n > 0 {
                each(Scored { score: 0.0, n, n_true });
            }
        }
    }

    fn coverage(&self, row: usize) -> f64 {
        let mut least = None;
        self.visit(row, &mut |scored| {
            if scored.n_true > 0 && least.is_none_or(|least| by_score(scored.score, least).is_gt()) {
                least = Some(scored.score);
            }
        });
        let Some(least) = least else { return 0.0 };
        let mut rank = 0;
        self.visit(row, &mut |scored| {
            // NaN comes after all scores.
            rank += if scored.score >= least || least.is_nan() { scored.n } else { 0 };
        });
        rank as f64
    }

    fn precision(&mut self, row: usize) -> Result<f64> {
        let n_stored = match self.scores {
            LabelScores::Sparse(stored) | LabelScores::Listed(stored) => stored.of(row).0.len(),
            _ => self.scores.n_labels(),
        };
        let mut all = std::mem::take(&mut self.scored);
        all.clear();
        SCORES.grow(&mut all, n_stored + 1)?;
        self.visit(row, &mut |scored| all.push(scored));
        all.sort_unstable_by(|a, b| by_score(a.score, b.score));
        let found = precision(&all);
        self.scored = all;
        Ok(found)
    }
}

/// Returns the label ranking average precision of a sample, given its known labels by descending score.
fn precision(all: &[Scored]) -> f64 {
    let (n, n_true) = all.iter().fold((0, 0), |(n, n_true), scored| (n + scored.n, n_true + scored.n_true));
    if n_true == 0 || n_true == n {
        return 1.0;
    }
    let (mut above, mut true_above, mut sum) = (0, 0, 0.0);
    for run in all.chunk_by(|a, b| by_score(a.score, b.score).is_eq()) {
        let own: usize = run.iter().map(|scored| scored.n_true).sum();
        above += run.iter().map(|scored| scored.n).sum::<usize>();
        true_above += own;
        if run[0].score == 0.0 {
            // There may be many zeros, and whether they are stored makes no difference.
            sum += (own * true_above) as f64 / above as f64;
        } else {
            (0..own).for_each(|_| sum += true_above as f64 / above as f64);
        }
    }
    sum / n_true as f64
}

fn labels_of<'l>(labels: &'l LabelView<'_>, row: usize) -> &'l [u32] {
    &labels.indices()[labels.ptr()[row]..labels.ptr()[row + 1]]
}

fn masked_labels<'l>(masked: Option<&'l LabelView<'_>>, row: usize) -> &'l [u32] {
    masked.map_or(&[], |masked| labels_of(masked, if masked.n_samples() == 1 { 0 } else { row }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;
    use crate::testing::labels::{self, Scores};

    /// The precision and the coverage of one sample by their definitions, from scores of its known labels and whether
    /// these are true.
    fn slow(known: &[(f64, bool)]) -> (f64, f64) {
        let reaches = |score: f64, least: f64| score >= least || least.is_nan();
        let rank = |least: f64| known.iter().filter(|(score, _)| reaches(*score, least)).count() as f64;
        let true_rank =
            |least: f64| known.iter().filter(|(score, is_true)| *is_true && reaches(*score, least)).count() as f64;
        let own: Vec<f64> = known.iter().filter(|(_, is_true)| *is_true).map(|&(score, _)| score).collect();
        let coverage = own.iter().map(|&score| rank(score)).fold(0.0, f64::max);
        if own.is_empty() || own.len() == known.len() {
            return (1.0, coverage);
        }
        let sum: f64 = own.iter().map(|&score| true_rank(score) / rank(score)).sum();
        (sum / own.len() as f64, coverage)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn true_labels_have_the_ranks_of_the_definition(seed in any::<u64>(), n in 0usize..9, width in 0usize..40) {
            let scores = Scores::hostile(seed, n, width);
            let truth = labels::some(seed ^ 9, n, width);
            for masked in [None, Some(1), Some(n)] {
                let mask = masked.map(|rows| labels::some(seed ^ 5, rows, width));
                let is_known = |i: usize, j: u32| !mask.as_ref().is_some_and(|m| labels::has(m, if masked == Some(1) { 0 } else { i }, j));
                for (layout, absent) in scores.layouts() {
                    for n_threads in [1, 3] {
                        let control = Control::with_threads(n_threads);
                        let precision = label_precision(&layout, &truth, mask.as_ref(), &control).unwrap();
                        let coverage = coverage(&layout, &truth, mask.as_ref(), &control).unwrap();
                        prop_assert_eq!((precision.len(), coverage.len()), (n, n));
                        for i in 0..n {
                            let of_sample = (0..width as u32).filter(|&j| is_known(i, j));
                            let known: Vec<_> = of_sample.filter_map(|j| Some((scores.of(i, j).or(absent)?, labels::has(&truth, i, j)))).collect();
                            let expected = slow(&known);
                            // At most 40 fractions are added up, in another order.
                            prop_assert!((precision[i] - expected.0).abs() <= 1e-14, "{} is not {}", precision[i], expected.0);
                            prop_assert_eq!(coverage[i], expected.1);
                        }
                    }
                }
            }
        }

        #[test]
        fn stored_zeros_change_no_bit(seed in any::<u64>(), n in 1usize..9, width in 1usize..40) {
            let scores = Scores::hostile(seed, n, width);
            let truth = labels::some(seed ^ 9, n, width);
            let found: Vec<Vec<u64>> = scores.layouts().iter().filter(|(_, absent)| absent.is_some()).map(|(layout, _)| {
                let found = label_precision(layout, &truth, None, &Control::default()).unwrap();
                found.into_iter().map(f64::to_bits).collect()
            }).collect();
            prop_assert!(found.len() > 1 && found.iter().all(|bits| *bits == found[0]));
        }
    }

    #[test]
    fn labels_of_another_shape_are_refused_and_a_raised_flag_interrupts() {
        let scores = Scores::hostile(3, 4, 5);
        let layouts = scores.layouts();
        let (layout, control) = (&layouts[0].0, Control::default());
        for (n, width) in [(3, 5), (4, 6)] {
            let error = coverage(layout, &labels::some(1, n, width), None, &control).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Shape { .. }));
        }
        control.stop();
        let error = label_precision(layout, &labels::some(1, 4, 5), None, &control).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Interrupted);
    }
}
