//! The compressed model: an ordinary forest of scores, and what scores mean.

use ndarray::{Array2, Axis};

use crate::boost::loss::log_loss::probability;
use crate::boost::loss::softmax;
use crate::boost::problem::starts;
use crate::control::Control;
use crate::data::{Matrix, Outputs};
use crate::error::{Error, Result, try_filled};
use crate::forest::{Forest, TopK, best_columns, into_array, try_matrix};
use crate::tree::Precision;

/// What scores mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Predictions are the scores.
    Identity,
    /// Scores are probabilities, but that they may leave [0, 1] and are brought back ([`share`]); those of the classes of
    /// an output sum to 1 afterwards.
    Share,
    /// 1 / (1 + e^(−2f)): of labels and two classes.
    Logistic,
    /// e^f, divided by their sum over the classes of an output.
    Softmax,
}

/// Distance from 0 and 1 at which scores begin to be bent.
const BENT: f64 = 1e-3;

/// A probability of a score that may leave [0, 1]: the score itself, but near the ends and beyond them branches of
/// hyperbolas, so that probabilities are a rising and smooth function of scores, and rank as they do.
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

/// A compressed forest. Immutable.
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed {
    pub(crate) forest: Forest,
    pub(crate) outputs: Outputs,
    pub(crate) link: Link,
    pub(crate) l1_norm: f64,
}

impl Compressed {
    /// The forest of scores: its outputs are numbers, one for each score.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// Meaning of the columns of predictions.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Number of scores of a row: one for each number and label, one for two classes, else one for each class.
    pub fn width(&self) -> usize {
        self.forest.outputs.width()
    }

    /// t: where on its path the model is.
    pub fn l1_norm(&self) -> f64 {
        self.l1_norm
    }

    /// Whether scores are log-odds (halved, of labels and two classes), and not numbers or estimates of 0 and 1.
    pub fn has_log_odds(&self) -> bool {
        matches!(self.link, Link::Logistic | Link::Softmax)
    }

    /// Test nodes of all trees.
    pub fn n_test_nodes(&self) -> usize {
        self.forest.trees.iter().map(|tree| tree.n_nodes() / 2).sum()
    }

    /// Scores, (n_samples, width): the linear model over nodes. Layouts and threads as [`Forest::predict`].
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn predict_scores(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<f64>> {
        self.forest.predict(x, control)
    }

    /// Numbers, or probabilities of labels and classes: (n_samples, width of the outputs).
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn predict(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<f64>> {
        let mut scores = self.predict_scores(x, control)?;
        let columns = self.outputs.width();
        let mut pulse = control.pulse();
        if columns == scores.ncols() {
            let mut out = try_filled("a row of predictions", 0.0, columns)?;
            let starts = self.class_starts()?;
            for mut row in scores.axis_iter_mut(Axis(0)) {
                let row = row.as_slice_mut().expect("predictions are made in rows");
                self.link_row(&starts, row, &mut out);
                row.copy_from_slice(&out);
                pulse.after(columns)?;
            }
            return Ok(scores);
        }
        let mut out = try_matrix("predictions", scores.nrows(), columns)?;
        for (row, out) in scores.column(0).iter().zip(out.chunks_exact_mut(columns)) {
            self.link_row(&[], &[*row], out);
            pulse.after(columns)?;
        }
        Ok(into_array(out, scores.nrows(), columns))
    }

    /// The `k` columns of greatest prediction of each row: prediction descending, then column ascending. Labels by their
    /// scores, of which probabilities are a rising function.
    ///
    /// Of numbers and labels the whole prediction is never held.
    ///
    /// # Errors
    /// As [`Forest::predict_topk`].
    pub fn predict_topk(&self, x: &Matrix<'_>, k: usize, control: &Control) -> Result<TopK> {
        let columns = self.outputs.width();
        if k == 0 || k > columns {
            return Err(Error::invalid("k", k, "between 1 and the number of columns of predictions"));
        }
        if !matches!(self.outputs, Outputs::Classes { .. }) {
            let mut best = self.forest.predict_topk(x, k, control)?;
            best.scores.iter_mut().for_each(|score| *score = self.link_of_label(*score));
            return Ok(best);
        }
        let predictions = self.predict(x, control)?;
        let n = predictions.nrows();
        let mut indices = try_matrix("the best columns", n, k)?;
        let mut scores = try_matrix("the best scores", n, k)?;
        let places = indices.chunks_exact_mut(k).zip(scores.chunks_exact_mut(k));
        for (row, (indices, scores)) in predictions.outer_iter().zip(places) {
            best_columns(row.to_slice().expect("predictions are made in rows"), indices, scores)?;
        }
        Ok(TopK { indices: into_array(indices, n, k), scores: into_array(scores, n, k) })
    }

    /// Leaves of scores with fewer bits, as [`Forest::with_precision`].
    ///
    /// # Errors
    /// As [`Forest::with_precision`].
    pub fn with_precision(&self, precision: Precision, control: &Control) -> Result<Compressed> {
        let forest = self.forest.with_precision(precision, control)?;
        Ok(Compressed { forest, outputs: self.outputs.clone(), link: self.link, l1_norm: self.l1_norm })
    }

    fn class_starts(&self) -> Result<Vec<usize>> {
        match &self.outputs {
            Outputs::Classes { n_classes } => starts(n_classes),
            _ => Ok(Vec::new()),
        }
    }

    /// What one score means on its own.
    fn link_of_label(&self, score: f64) -> f64 {
        match self.link {
            Link::Identity => score,
            Link::Share => share(score),
            Link::Logistic | Link::Softmax => probability(score),
        }
    }

    fn link_row(&self, starts: &[usize], scores: &[f64], out: &mut [f64]) {
        if out.len() == 2 && scores.len() == 1 {
            let p = self.link_of_label(scores[0]);
            (out[0], out[1]) = (if self.link == Link::Logistic { probability(-scores[0]) } else { 1.0 - p }, p);
            return;
        }
        if starts.is_empty() {
            out.iter_mut().zip(scores).for_each(|(p, &f)| *p = self.link_of_label(f));
            return;
        }
        for part in starts.windows(2).map(|s| s[0]..s[1]) {
            let (scores, out) = (&scores[part.clone()], &mut out[part]);
            if self.link == Link::Softmax {
                softmax::probabilities(scores, out);
                continue;
            }
            out.iter_mut().zip(scores).for_each(|(p, &f)| *p = share(f));
            let total: f64 = out.iter().sum();
            out.iter_mut().for_each(|p| *p /= total);
        }
    }
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
}
