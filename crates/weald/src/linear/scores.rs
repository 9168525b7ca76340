//! Scores of samples, from which probabilities follow by the links that other models have too.

use ndarray::{Array2, ArrayView2};

use super::LinearModel;
use crate::centroid::Vectors;
use crate::control::Control;
use crate::data::{LabelView, Matrix, Outputs, Query};
use crate::error::{Error, Purpose, Result};
use crate::loss::Link;
use crate::model::{Ranking, TopK, check_topk, into_array};
use crate::pool;

const PURPOSE: Purpose = Purpose("the scores of samples");

/// Scores that are computed at a time, so that they stay in the cache.
const BLOCK: usize = 1 << 16;

impl LinearModel {
    /// Returns the meaning of the columns of predictions.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Returns the number of stored weights.
    pub fn n_weights(&self) -> usize {
        self.weights.values.len()
    }

    /// Returns the link, which turns scores into probabilities: the softmax over the classes of an output, and the logistic
    /// function for labels and for two classes.
    pub fn link(&self) -> Link {
        match Link::of_half_log_odds(&self.outputs) {
            Link::OneAgainstRest => Link::Softmax,
            logistic => logistic,
        }
    }

    /// Returns the factor from logits to scores.
    pub(crate) fn unit(&self) -> f64 {
        if self.link() == Link::Softmax { 1.0 } else { 0.5 }
    }

    /// Returns the scores, (n_samples, n_columns), in float64: the logits, slope times margin plus intercept of
    /// [`LinearModel::calibration`], or half of them for [`Link::Logistic`], as in all models with this link. They are sums in
    /// float64 in the order of the features, and finite for any X.
    ///
    /// Time is that of the stored entries of X times the weights of their features.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] or [`crate::ErrorKind::Invalid`] if X is not valid,
    /// [`crate::ErrorKind::OutOfMemory`] and [`crate::ErrorKind::Interrupted`].
    pub fn predict_scores<'x>(&self, x: impl Into<Query<'x>>) -> Result<Array2<f64>> {
        let Query { x, control } = &x.into();
        let x = self.prepared(x, control)?;
        let (n, width) = (x.n_rows(), self.n_columns());
        let mut scores = PURPOSE.zeros(n, width)?;
        let at_once = (BLOCK / width).max(1);
        pool::for_each(
            control.n_threads(),
            scores.chunks_mut(at_once * width).enumerate(),
            || Ok(()),
            |(), (block, scores)| {
                for (row, scores) in (block * at_once..).zip(scores.chunks_exact_mut(width)) {
                    control.check()?;
                    self.scores_of(&x, row, scores);
                }
                Ok(())
            },
        )?;
        Ok(into_array(scores, n, width))
    }

    /// Returns the probabilities, (n_samples, n_columns of predictions), that scores mean: of each label, or of each class
    /// of each output, where those of an output have the sum 1.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`], [`crate::ErrorKind::OutOfMemory`] and [`crate::ErrorKind::Interrupted`].
    pub fn to_predictions(&self, scores: ArrayView2<'_, f64>, control: &Control) -> Result<Array2<f64>> {
        if scores.ncols() != self.n_columns() {
            return Err(Error::shape("each row of scores", self.n_columns(), scores.ncols()));
        }
        let (n, width) = (scores.nrows(), self.outputs.width());
        let (link, starts) = (self.link(), self.outputs.class_starts()?);
        let mut found = PURPOSE.zeros(n, width)?;
        let mut row = PURPOSE.filled(0.0, self.n_columns())?;
        let mut pulse = control.pulse();
        for (scores, found) in scores.rows().into_iter().zip(found.chunks_exact_mut(width)) {
            row.iter_mut().zip(scores).for_each(|(to, score)| *to = *score);
            link.apply(&starts, &row, found);
            pulse.after(width)?;
        }
        Ok(into_array(found, n, width))
    }

    pub(super) fn scores_of(&self, x: &Vectors, row: usize, scores: &mut [f64]) {
        let weights = &self.weights;
        scores.iter_mut().zip(&weights.intercepts).for_each(|(to, &intercept)| *to = intercept.into());
        let (features, values) = x.of(row as u32);
        for (&feature, &value) in features.iter().zip(values) {
            let range = weights.ptr[feature as usize]..weights.ptr[feature as usize + 1];
            for (&column, &weight) in weights.columns[range.clone()].iter().zip(&weights.values[range]) {
                scores[column as usize] += f64::from(value) * f64::from(weight);
            }
        }
        self.calibrate(scores);
    }

    /// Turns the margins of a sample into scores.
    #[inline(always)]
    pub(super) fn calibrate(&self, margins: &mut [f64]) {
        let unit = self.unit();
        match &self.calibration {
            None => margins.iter_mut().for_each(|margin| *margin *= unit),
            Some(calibration) => {
                let of_columns = calibration.slopes().iter().zip(calibration.intercepts());
                margins.iter_mut().zip(of_columns).for_each(|(margin, (&slope, &intercept))| {
                    *margin = unit * (f64::from(slope) * *margin + f64::from(intercept));
                });
            }
        }
    }

    /// Ranks the columns of each sample by their scores.
    pub(super) fn topk(
        &self,
        x: &Matrix<'_>,
        k: usize,
        excluded: Option<&LabelView<'_>>,
        control: &Control,
    ) -> Result<TopK> {
        let width = self.n_columns();
        check_topk((x.n_samples(), width), k, excluded)?;
        let x = self.prepared(x, control)?;
        let n = x.n_rows();
        let mut labels = Purpose("the best columns").zeros(n, k)?;
        let mut values = Purpose("the best scores").zeros(n, k)?;
        let at_once = (BLOCK / width).max(1);
        pool::for_each(
            control.n_threads(),
            labels.chunks_mut(at_once * k).zip(values.chunks_mut(at_once * k)).enumerate(),
            || Ok((Ranking::new(width, excluded)?, PURPOSE.filled(0.0, width)?)),
            |(ranking, scores), (block, (labels, values))| {
                let places = labels.chunks_exact_mut(k).zip(values.chunks_exact_mut(k));
                for (row, places) in (block * at_once..).zip(places) {
                    control.check()?;
                    self.scores_of(&x, row, scores);
                    ranking.rank(row, scores.iter().copied(), places)?;
                }
                Ok(())
            },
        )?;
        Ok(TopK { indices: into_array(labels, n, k), scores: into_array(values, n, k) })
    }
}
