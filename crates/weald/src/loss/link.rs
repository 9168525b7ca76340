//! The link: the function that converts the scores of a sample to predictions.
//!
//! | link | prediction | of |
//! |---|---|---|
//! | identity | f | numerical outputs |
//! | log | e^f, at most the largest float64 | numerical outputs |
//! | margin | f: a score of labels or classes that is not a probability | labels, classes |
//! | share | f, mapped into [0, 1] near its ends and outside it | labels, classes |
//! | logistic | 1 / (1 + e^(−2f)) | labels, two classes |
//! | one against rest | the same, divided by the sum over the classes of an output | classes |
//! | softmax | e^f, divided by the sum over the classes of an output | classes |

use std::ops::Range;

use super::log_loss::probability;
use super::softmax;
use crate::data::Outputs;
use crate::data::targets::is_binary;
use crate::elementary::exp;

/// The meaning of the scores of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Link {
    /// Predictions are the scores f.
    Identity,
    /// Predictions are e^f: the score is the logarithm of the prediction. Predictions are at most the largest float64.
    Log,
    /// Predictions are the scores of labels or classes, which are not probabilities.
    Margin,
    /// Scores are probabilities, except that they may leave [0, 1]. Scores less than 10⁻³ from the ends of this
    /// interval, or outside it, are mapped into it along a hyperbola, so that predictions increase with scores and stay
    /// between 0 and 1. The predictions for the classes of an output are divided by their sum.
    Share,
    /// Predictions are 1 / (1 + e^(−2f)): the score is half the log-odds of a label, or of the second of two classes.
    Logistic,
    /// Predictions are 1 / (1 + e^(−2f)) for each class, divided by the sum over the classes of an output.
    OneAgainstRest,
    /// Predictions are e^f, divided by the sum over the classes of an output.
    Softmax,
}

impl Link {
    /// All links.
    pub const ALL: [Link; 7] =
        [Link::Identity, Link::Log, Link::Margin, Link::Share, Link::Logistic, Link::OneAgainstRest, Link::Softmax];

    /// Returns the name, as files and exports have it.
    pub fn name(self) -> &'static str {
        match self {
            Link::Identity => "identity",
            Link::Log => "log",
            Link::Margin => "margin",
            Link::Share => "share",
            Link::Logistic => "logistic",
            Link::OneAgainstRest => "one_against_rest",
            Link::Softmax => "softmax",
        }
    }

    /// Returns the link of losses whose scores are half the log-odds of −1 and +1.
    pub fn of_half_log_odds(outputs: &Outputs) -> Self {
        match outputs {
            Outputs::Real { .. } => Link::Identity,
            Outputs::Labels { .. } => Link::Logistic,
            Outputs::Classes { n_classes } if is_binary(n_classes) => Link::Logistic,
            Outputs::Classes { .. } => Link::OneAgainstRest,
        }
    }
}

/// The logarithm of the largest float64, rounded down.
pub const LARGEST_LOG: f64 = 709.78;

/// Distance from 0 and 1 below which shares are mapped along a hyperbola.
pub const BENT: f64 = 1e-3;

/// Returns the probability for a score that may leave [0, 1]. It is the score itself, except near the ends of the
/// interval and outside it, where it follows a branch of a hyperbola. Probabilities are therefore a smooth and
/// increasing function of scores, and have the same ranking.
fn share(score: f64) -> f64 {
    let tail = |beyond: f64| BENT * BENT / (BENT + beyond);
    if score < BENT {
        tail(BENT - score)
    } else if score > 1.0 - BENT {
        1.0 - tail(score - (1.0 - BENT))
    } else {
        score
    }
}

impl Link {
    /// Returns whether predictions are probabilities.
    pub fn has_probabilities(self) -> bool {
        match self {
            Link::Identity | Link::Log | Link::Margin => false,
            Link::Share | Link::Logistic | Link::OneAgainstRest | Link::Softmax => true,
        }
    }

    /// Returns whether scores of these outputs, with a separate loss for each column of scores, can have this link.
    pub(crate) fn fits(self, outputs: &Outputs) -> bool {
        match outputs {
            Outputs::Real { .. } => matches!(self, Link::Identity | Link::Log),
            Outputs::Labels { .. } | Outputs::Classes { .. } => {
                self == Link::Margin || self == Link::of_half_log_odds(outputs)
            }
        }
    }

    /// Returns whether predictions are the scores.
    pub(crate) fn is_identity(self) -> bool {
        match self {
            Link::Identity | Link::Margin => true,
            Link::Log | Link::Share | Link::Logistic | Link::OneAgainstRest | Link::Softmax => false,
        }
    }

    /// Returns whether scores are log-odds, or half the log-odds for labels and two classes.
    pub(crate) fn has_log_odds(self) -> bool {
        match self {
            Link::Identity | Link::Log | Link::Margin | Link::Share => false,
            Link::Logistic | Link::OneAgainstRest | Link::Softmax => true,
        }
    }

    /// Returns the prediction for one score on its own, before the predictions for the classes of an output are divided
    /// by their sum.
    pub fn of_score(self, score: f64) -> f64 {
        match self {
            Link::Identity | Link::Margin => score,
            Link::Log => exp(score.min(LARGEST_LOG)),
            Link::Share => share(score),
            Link::Logistic | Link::OneAgainstRest => probability(score),
            Link::Softmax => exp(score),
        }
    }

    /// Computes the predictions `out` from the scores of a sample.
    ///
    /// `starts` are the first columns of the classes of each output, followed by the total number of columns. It is
    /// empty if the columns are numerical outputs or labels. An output with two classes has one score and two
    /// predictions.
    pub(crate) fn apply(self, starts: &[usize], scores: &[f64], out: &mut [f64]) {
        if let (&[score], [first, second]) = (scores, &mut *out) {
            *second = self.of_score(score);
            *first = match self {
                // 1 − p would lose significant digits if it is small.
                Link::Logistic | Link::OneAgainstRest => probability(-score),
                Link::Identity | Link::Log | Link::Margin | Link::Share | Link::Softmax => 1.0 - *second,
            };
            return;
        }
        match self {
            Link::Identity | Link::Margin => out.copy_from_slice(scores),
            Link::Log => out.iter_mut().zip(scores).for_each(|(p, &f)| *p = self.of_score(f)),
            Link::Share | Link::Logistic | Link::OneAgainstRest => {
                out.iter_mut().zip(scores).for_each(|(p, &f)| *p = self.of_score(f));
                outputs(starts).for_each(|classes| normalize(&mut out[classes]));
            }
            Link::Softmax => {
                outputs(starts).for_each(|classes| softmax::probabilities(&scores[classes.clone()], &mut out[classes]));
            }
        }
    }
}

/// Returns the columns of each output.
fn outputs(starts: &[usize]) -> impl Iterator<Item = Range<usize>> + '_ {
    starts.windows(2).map(|pair| pair[0]..pair[1])
}

/// Divides the probabilities of the classes of an output by their sum. If all of them are zero, they become equal.
fn normalize(classes: &mut [f64]) {
    let total: f64 = classes.iter().sum();
    let uniform = 1.0 / classes.len() as f64;
    classes.iter_mut().for_each(|p| *p = if total > 0.0 { *p / total } else { uniform });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_rise_with_scores_and_stay_within_0_and_1() {
        let scores: Vec<f64> = (-3000..4000).map(|i| f64::from(i) * 1e-3 + 1e-4).collect();
        let shares: Vec<f64> = scores.iter().map(|&f| share(f)).collect();
        assert!(shares.windows(2).all(|p| p[0] < p[1]));
        assert!(shares[0] > 0.0 && shares[shares.len() - 1] < 1.0);
        for (f, p) in scores.iter().zip(&shares).filter(|(f, _)| (BENT..=1.0 - BENT).contains(*f)) {
            assert_eq!(f, p);
        }
        assert!(share(-1e300) >= 0.0 && share(1e300) <= 1.0);
        assert_eq!((share(0.5), share(0.0)), (0.5, BENT / 2.0));
    }

    #[test]
    fn probabilities_of_classes_sum_to_one_wherever_scores_are() {
        let scores = [0.3, -800.0, 0.9, -900.0, -900.0];
        for link in [Link::Share, Link::OneAgainstRest, Link::Softmax] {
            assert!(link.has_probabilities());
            let mut out = [f64::NAN; 5];
            link.apply(&[0, 3, 5], &scores, &mut out);
            assert!(out.iter().all(|p| (0.0..=1.0).contains(p)), "{link:?} {out:?}");
            for of_output in [&out[..3], &out[3..]] {
                // The tolerance covers the rounding of five quotients and their sum.
                assert!((of_output.iter().sum::<f64>() - 1.0).abs() < 1e-15, "{link:?} {out:?}");
            }
            assert_eq!(out[3], out[4]);
        }
    }

    #[test]
    fn labels_and_numerical_outputs_have_a_score_each_and_two_classes_have_one() {
        let of = |link: Link, scores: &[f64], width: usize| {
            let mut out = vec![f64::NAN; width];
            link.apply(&[], scores, &mut out);
            out
        };
        for link in [Link::Identity, Link::Margin] {
            assert!(!link.has_probabilities());
            assert_eq!(of(link, &[3.0, -1.0], 2), [3.0, -1.0]);
        }
        assert!(!Link::Log.has_probabilities());
        assert_eq!(of(Link::Log, &[0.0, 1.0, -1e9, -3.5], 4), [1.0, exp(1.0), 0.0, exp(-3.5)]);
        let far = of(Link::Log, &[1e9, 709.78, 709.0], 3);
        assert!(far.iter().all(|p| p.is_finite()) && far[0] == far[1] && far[2] < far[1], "{far:?}");
        assert_eq!(of(Link::Logistic, &[0.0, 1e3, -1e3], 3), [0.5, 1.0, 0.0]);
        assert_eq!(of(Link::Share, &[0.25, 0.5], 2), [0.25, 0.5]);
        assert_eq!(of(Link::Share, &[0.25], 2), [0.75, 0.25]);
        // A small probability keeps its digits.
        assert_eq!(of(Link::Logistic, &[50.0], 2), [probability(-50.0), 1.0]);
    }
}
