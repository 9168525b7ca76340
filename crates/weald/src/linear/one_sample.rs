//! Scores of one sample at a time, for services: what does not depend on the sample is done once.

use std::sync::Arc;

use super::LinearModel;
use crate::centroid::Vectors;
use crate::error::{Error, Purpose, Result};
use crate::loss::kernels::vector::vectorised;
use crate::model::Ranking;

const PURPOSE: Purpose = Purpose("the weights of a linear model, by feature");

/// Stands for a feature without a dense row.
const LISTED: u32 = u32::MAX;

/// With fewer columns, a row is as long as a list.
const LEAST_WIDTH: usize = 32;

/// A feature has a dense row if at least one of this many columns has a weight for it: a list of so many weights takes half
/// the memory of the row, and as much time.
const SPARSITY: usize = 4;

/// Cells of a dense row that take as long as a weight of a list.
const CELLS_PER_WEIGHT: usize = 8;

/// A linear model, prepared to score one sample after another. It is immutable: threads may share it, each with a
/// [`LinearScratch`] of its own.
///
/// Weights of features that many columns have are stored once more as dense rows, which are added up in vectors. They take
/// at most twice the memory of the model's weights.
///
/// ```
/// use std::sync::Arc;
/// use weald::{LabelView, LinearConfig, LinearScorer, Matrix};
///
/// let x = Matrix::csr(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
/// let y = LabelView::try_new(vec![0, 1, 2, 3, 4], vec![0, 0, 2, 2], 3)?;
/// let model = Arc::new(LinearConfig::default().c(10.0).fit((&x, y))?);
///
/// let scorer = LinearScorer::new(Arc::clone(&model))?; // once
/// let mut scratch = scorer.scratch()?;
/// // Words 2 and 4, three times and once.
/// let mut scores = [0.0; 3];
/// scorer.scores([(2, 3.0), (4, 1.0)].into_iter(), &mut scratch, &mut scores)?;
/// assert!(model.predict_scores(&x)?.row(2).iter().eq(&scores));
/// # Ok::<(), weald::Error>(())
/// ```
#[derive(Debug)]
pub struct LinearScorer {
    model: Arc<LinearModel>,
    /// The place of the dense row of each feature.
    places: Vec<u32>,
    rows: Vec<f32>,
}

/// The memory that a [`LinearScorer`] uses for a sample. It fits scorers of as many features and columns.
#[derive(Debug)]
pub struct LinearScratch {
    n_features: usize,
    /// The prepared sample.
    x: Vectors,
    scores: Vec<f64>,
    ranking: Ranking<'static>,
}

impl LinearScorer {
    /// Prepares a model.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`].
    pub fn new(model: Arc<LinearModel>) -> Result<Self> {
        let (n_features, width) = (model.n_features(), model.n_columns());
        let mut places = PURPOSE.filled(LISTED, n_features)?;
        // The zeros of a row make 0 of a sum that is −0, which is only one that starts there.
        let starts_at_zero = |intercept: &f32| *intercept == 0.0 && intercept.is_sign_negative();
        let mut rows = Vec::new();
        if width >= LEAST_WIDTH && !model.intercepts().iter().any(starts_at_zero) {
            let is_dense = |feature: &usize| model.weights_of(*feature).0.len() * SPARSITY >= width;
            let n_rows = (0..n_features).filter(is_dense).count();
            rows = PURPOSE.filled(0.0, n_rows.saturating_mul(width))?;
            for ((feature, place), row) in (0..n_features).filter(is_dense).zip(0..).zip(rows.chunks_exact_mut(width)) {
                places[feature] = place;
                let (columns, weights) = model.weights_of(feature);
                columns.iter().zip(weights).for_each(|(&column, &weight)| row[column as usize] = weight);
            }
        }
        Ok(LinearScorer { model, places, rows })
    }

    /// Returns the memory for samples that follow one another.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`].
    pub fn scratch(&self) -> Result<LinearScratch> {
        Ok(LinearScratch {
            n_features: self.model.n_features(),
            x: Vectors::of_one_row(self.model.n_features())?,
            scores: PURPOSE.filled(0.0, self.model.n_columns())?,
            ranking: Ranking::new(self.model.n_columns(), None)?,
        })
    }

    /// Returns the model.
    pub fn model(&self) -> &LinearModel {
        &self.model
    }

    /// Returns the approximate number of steps for a sample with these features, of which those that the model does not have
    /// are left out.
    pub fn cost(&self, features: impl Iterator<Item = u32>) -> usize {
        let width = self.model.n_columns();
        let of_feature = |feature: u32| match self.places.get(feature as usize) {
            None => 0,
            Some(&LISTED) => self.model.weights_of(feature as usize).0.len(),
            Some(_) => width / CELLS_PER_WEIGHT,
        };
        features.map(of_feature).fold(width, usize::saturating_add)
    }

    /// Writes the scores of a sample, which has one value for each of these features, in increasing order, and zero for the
    /// others. The bits are those of [`LinearModel::predict_scores`].
    ///
    /// No memory is allocated after the first samples, no thread is started, and the computation cannot be stopped.
    /// [`LinearScorer::cost`] is its time.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for features that do not increase or that the model does not have and for
    /// values that are not finite, and [`crate::ErrorKind::Shape`] for another number of scores and for a scratch of another
    /// number of features or columns. `scores` is then unchanged.
    pub fn scores(
        &self,
        sample: impl Iterator<Item = (u32, f32)> + Clone,
        scratch: &mut LinearScratch,
        scores: &mut [f64],
    ) -> Result<()> {
        let width = self.model.n_columns();
        if scores.len() != width {
            return Err(Error::shape("scores", width, scores.len()));
        }
        self.prepare(sample, scratch)?;
        self.add(&scratch.x, scores);
        Ok(())
    }

    /// Writes the columns with the largest scores of a sample, and these scores, as many as there are places. Columns and
    /// bits are those of [`LinearModel::predict_topk`].
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] if there are not as many places for scores as for columns, or more than there are
    /// columns, and the errors of [`LinearScorer::scores`]. The places are then unchanged.
    pub fn topk(
        &self,
        sample: impl Iterator<Item = (u32, f32)> + Clone,
        scratch: &mut LinearScratch,
        columns: &mut [u32],
        scores: &mut [f64],
    ) -> Result<()> {
        let width = self.model.n_columns();
        if columns.len() != scores.len() || columns.len() > width {
            return Err(Error::shape("the best scores", columns.len().min(width), scores.len()));
        }
        self.prepare(sample, scratch)?;
        let LinearScratch { x, scores: of_columns, ranking, .. } = scratch;
        if columns.is_empty() {
            return Ok(());
        }
        self.add(x, of_columns);
        ranking.rank(0, of_columns.iter().copied(), (columns, scores))
    }

    fn prepare(&self, sample: impl Iterator<Item = (u32, f32)> + Clone, scratch: &mut LinearScratch) -> Result<()> {
        let mut least = 0;
        let (n_features, width) = (self.model.n_features(), self.model.n_columns());
        if scratch.n_features != n_features {
            return Err(Error::shape("the features of the scratch", n_features, scratch.n_features));
        }
        if scratch.scores.len() != width {
            return Err(Error::shape("the columns of the scratch", width, scratch.scores.len()));
        }
        for (feature, value) in sample.clone() {
            if feature < least || feature as usize >= n_features {
                return Err(Error::invalid("the sample", feature, "have increasing features of the model"));
            }
            if !value.is_finite() {
                return Err(Error::invalid("the sample", value, "have finite float32 values"));
            }
            least = feature + 1;
        }
        scratch.x.set_row(sample, self.model.features.preparation(self.model.idf()))
    }

    /// Writes the scores of a prepared sample. Columns do not depend on one another, and each is a sum in the order of features.
    fn add(&self, x: &Vectors, scores: &mut [f64]) {
        let model = &*self.model;
        let (features, values) = x.of(0);
        vectorised(
            #[inline(always)]
            || {
                scores.iter_mut().zip(model.intercepts()).for_each(|(to, &intercept)| *to = intercept.into());
                for (&feature, &value) in features.iter().zip(values) {
                    let value = f64::from(value);
                    match self.places[feature as usize] {
                        LISTED => {
                            let (columns, weights) = model.weights_of(feature as usize);
                            for (&column, &weight) in columns.iter().zip(weights) {
                                scores[column as usize] += value * f64::from(weight);
                            }
                        }
                        place => {
                            let row = &self.rows[place as usize * scores.len()..][..scores.len()];
                            scores.iter_mut().zip(row).for_each(|(to, &weight)| *to += value * f64::from(weight));
                        }
                    }
                }
                model.calibrate(scores);
            },
        );
    }
}
