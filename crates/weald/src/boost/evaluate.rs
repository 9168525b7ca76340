//! The mean loss of any samples by their scores, in the same way as a fit computes those of its own.

use ndarray::ArrayView2;

use super::cells::column_weights::ColumnWeights;
use super::config::BoostConfig;
use super::data::Data;
use super::problem::Problem;
use crate::control::Control;
use crate::data::dataset::Names;
use crate::data::targets::{column, in_columns, n_scores};
use crate::data::{CellWeights, Dataset, Targets, Weights};
use crate::error::{Error, Purpose, Result};
use crate::loss::known_cells::KnownCells;

const PURPOSE: Purpose = Purpose("the losses of samples");

impl BoostConfig {
    /// Returns the mean loss of samples: the weighted mean over samples, divided by the number of scores of a sample. If
    /// some cells of y are unknown, it is the mean over the columns with known cells of the weighted means of these, and
    /// `None` if no cell is known. Without scores, y is checked, and the result is `None`.
    ///
    /// `scores`, (n_samples, number of scores of a model), are those of [`crate::Boosted::predict_scores`] or of
    /// [`crate::Boosted::staged_scores`]. They are copied once.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::Shape`] if the arguments are not valid or do not fit each
    /// other; [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
    pub fn mean_loss<'a>(
        &self,
        y: impl Into<Targets<'a>>,
        sample_weight: Option<&'a [f64]>,
        y_weight: Option<CellWeights<'a>>,
        scores: Option<ArrayView2<'_, f64>>,
        control: &Control,
    ) -> Result<Option<f64>> {
        let data = Dataset::of_y(y)?.sample_weight(sample_weight).y_weight(y_weight);
        let observed = data.observed_held_out()?;
        let data = data.with_observed(observed.as_ref());
        let restored = data.restored(false)?;
        let data = data.with_restored(restored.as_ref());
        data.check_but_margins(&Names::TRAINING)?;
        let outputs = data.outputs();
        let width = n_scores(&outputs);
        self.check(&outputs, width)?;
        let weight = data.weight_by_row()?;
        self.check_domain(Names::TRAINING.y, data.y(), weight.as_deref())?;
        let masked = data.known().map(|_| self.of_known_cells());
        let config = masked.as_ref().unwrap_or(self);
        let known = masked.as_ref().map(|_| KnownCells::of(config.loss.as_columns())).transpose()?;
        let problem = Problem::new(config, outputs, known.as_deref())?;
        let Some(scores) = scores else { return Ok(None) };
        for (expected, got) in [(data.n_samples(), scores.nrows()), (width, scores.ncols())] {
            if expected != got {
                return Err(Error::shape("scores", expected, got));
            }
        }
        let off = config.loss.as_loss().domain().off();
        let numbers = masked.is_some().then(|| data.numbers_with_gaps(off)).transpose()?;
        let y = numbers.as_ref().map_or_else(|| data.y().view(), |numbers| Targets::Real(numbers.view()));
        let own = ColumnWeights::new(data.known(), &problem.outputs, weight.as_deref(), data.n_samples())?;
        if own.of(0).is_some() {
            if problem.loss.columns().is_none() {
                data.check_without_factors("for classes that share trees")?;
            }
            return mean_of_columns(&problem, &y, &own, scores, control);
        }
        let y = in_columns(&y)?;
        let weights = Weights::of_rows(weight.as_deref(), data.n_samples())?;
        let mut scores = PURPOSE.collected(scores.iter().copied())?;
        Data::new(&y, (&problem.loss, problem.label_shares.as_deref()), weights, width)?.mean_loss(&mut scores, control)
    }
}

/// Returns the mean over the columns with known cells of their losses, of which each has weights of its own.
fn mean_of_columns(
    problem: &Problem<'_>,
    y: &Targets<'_>,
    own: &ColumnWeights,
    scores: ArrayView2<'_, f64>,
    control: &Control,
) -> Result<Option<f64>> {
    let mut losses = PURPOSE.with_capacity(problem.width)?;
    for (t, scores) in scores.columns().into_iter().enumerate() {
        let (y, loss) = (column(y, &[], t)?, problem.loss.of_column(t));
        let weights = own.of(t).map(Weights::try_clone).transpose()?.expect("weights of each column");
        let mut scores = PURPOSE.collected(scores.iter().copied())?;
        let data = Data::new(&y, (loss.as_ref().unwrap_or(&problem.loss), None), weights, 1)?;
        losses.push(data.mean_loss(&mut scores, control)?);
    }
    Ok(problem.mean_of_known(losses.into_iter()))
}
