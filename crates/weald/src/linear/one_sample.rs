//! Scores of one sample after another, for services: what does not depend on the sample is done once.

use std::any::Any;
use std::sync::Arc;

use super::LinearModel;
use crate::centroid::Vectors;
use crate::data::Sample;
use crate::error::{Purpose, Result};
use crate::loss::kernels::vector::vectorised;
use crate::model::{OneByOne, Ranking, Shape, Wanted};

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

/// A linear model, prepared to score one sample after another.
///
/// Weights of features that many columns have are stored once more as dense rows, which are added up in vectors. They take
/// at most twice the memory of the model's weights.
#[derive(Debug)]
pub(crate) struct OfWeights {
    model: Arc<LinearModel>,
    shape: Shape,
    /// The place of the dense row of each feature.
    places: Vec<u32>,
    rows: Vec<f32>,
    /// The first columns of the classes of each output.
    starts: Vec<usize>,
}

#[derive(Debug)]
struct Scratch {
    /// The prepared sample.
    x: Vectors,
    scores: Vec<f64>,
    ranking: Ranking<'static>,
}

impl OneByOne for OfWeights {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn cost(&self, sample: Sample<'_>) -> usize {
        let width = self.model.n_columns();
        let of_feature = |(feature, value): (u32, f32)| match self.places.get(feature as usize) {
            None => 0,
            Some(_) if value == 0.0 => 1,
            Some(&LISTED) => self.model.weights_of(feature as usize).0.len(),
            Some(_) => width / CELLS_PER_WEIGHT,
        };
        sample.entries().map(of_feature).fold(width, usize::saturating_add)
    }

    fn scratch(&self) -> Result<Box<dyn Any + Send>> {
        let (n_features, width) = (self.model.n_features(), self.model.n_columns());
        let (x, scores) = (Vectors::of_one_row(n_features)?, PURPOSE.filled(0.0, width)?);
        Ok(Box::new(Scratch { x, scores, ranking: Ranking::new(width, None)? }))
    }

    fn score(&self, sample: Sample<'_>, _: bool, wanted: Wanted<'_>, scratch: &mut dyn Any) -> Result<()> {
        let Scratch { x, scores, ranking } = scratch.downcast_mut().expect("it is of this model");
        x.set_row(sample.entries(), self.model.features.preparation(self.model.idf()))?;
        if let Wanted::Scores(out) = wanted {
            self.add(x, out);
            return Ok(());
        }
        self.add(x, scores);
        match wanted {
            Wanted::Best(columns, values) => ranking.rank(0, scores.iter().copied(), (columns, values))?,
            Wanted::Predictions(out) | Wanted::Scores(out) => self.model.link().apply(&self.starts, scores, out),
        }
        Ok(())
    }
}

impl OfWeights {
    pub(crate) fn new(model: Arc<LinearModel>) -> Result<Self> {
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
        let outputs = model.outputs().clone();
        let starts = outputs.class_starts()?;
        let shape = Shape { n_features, outputs, n_scores: width, n_ranked: width, takes_missing: false };
        Ok(OfWeights { model, shape, places, rows, starts })
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
