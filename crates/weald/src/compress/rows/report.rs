//! The reported losses of samples: for training samples the loss that is minimised, for held-out samples of classes the
//! share of errors.

use super::PURPOSE;
use super::unknown::UnknownOfRow;
use crate::compress::CompressLoss;
use crate::data::Outputs;
use crate::data::targets::{is_binary, starts};
use crate::error::Result;

/// Errors in the classes of held-out samples.
#[derive(Clone, Debug)]
pub(super) enum Mistakes {
    /// One score for two classes: above the threshold, it is the second class.
    OfTwo { threshold: f64 },
    /// Scores of the classes of each output, from its first column to that of the next: the largest is predicted; of
    /// equal ones, the first.
    OfMany { starts: Vec<usize> },
}

impl Mistakes {
    /// Returns `None` for numerical outputs and labels, for which the loss that is minimised is reported.
    pub(super) fn of(outputs: &Outputs, loss: CompressLoss) -> Result<Option<Self>> {
        match outputs {
            Outputs::Classes { n_classes } if is_binary(n_classes) => {
                let threshold = match loss {
                    CompressLoss::SquaredError => 0.5,
                    CompressLoss::LogLoss => 0.0,
                };
                Ok(Some(Mistakes::OfTwo { threshold }))
            }
            Outputs::Classes { n_classes } => Ok(Some(Mistakes::OfMany { starts: starts(n_classes)? })),
            Outputs::Real { .. } | Outputs::Labels { .. } => Ok(None),
        }
    }

    /// Returns the number of outputs.
    fn n_outputs(&self) -> f64 {
        match self {
            Mistakes::OfTwo { .. } => 1.0,
            Mistakes::OfMany { starts } => (starts.len() - 1) as f64,
        }
    }

    /// Returns the number of known outputs of a sample for which the predicted class is wrong.
    pub(super) fn count(&self, score: impl Fn(usize) -> f64, on: &[u32], unknown: UnknownOfRow<'_>) -> f64 {
        match self {
            Mistakes::OfTwo { threshold } => f64::from(u8::from((score(0) > *threshold) == on.is_empty())),
            Mistakes::OfMany { starts } => {
                let mut wrong = 0;
                for (part, &class) in starts.windows(2).map(|s| s[0]..s[1]).zip(on) {
                    let best = part.clone().fold(part.start, |best, c| if score(c) > score(best) { c } else { best });
                    wrong += usize::from(best != class as usize && unknown.is_known(class as usize));
                }
                wrong as f64
            }
        }
    }
}

/// The losses of all samples, and their weighted sums.
#[derive(Clone, Debug)]
pub(super) struct Report {
    /// The weights of held-out samples; 0 for training samples.
    held: Vec<f64>,
    held_total: f64,
    pub(super) mistakes: Option<Mistakes>,
    /// The divisor of what is reported of a training sample and of a held-out one: the total weight of its outputs, the
    /// number of its columns or outputs or, with unknown cells, the mean of these over samples, for their known cells.
    n_outputs: f64,
    n_held_outputs: f64,
    losses: Vec<f64>,
    train_loss: f64,
    test_loss: f64,
}

impl Report {
    pub(super) fn new(held: Vec<f64>, n_outputs: f64, mistakes: Option<Mistakes>) -> Result<Self> {
        let losses = PURPOSE.filled(0.0, held.len())?;
        let n_held_outputs = mistakes.as_ref().map_or(n_outputs, Mistakes::n_outputs);
        let held_total = held.iter().sum();
        Ok(Report { held, held_total, mistakes, n_outputs, n_held_outputs, losses, train_loss: 0.0, test_loss: 0.0 })
    }

    pub(super) fn try_clone(&self) -> Result<Self> {
        Ok(Report {
            held: PURPOSE.copied(&self.held)?,
            mistakes: self.mistakes.clone(),
            losses: PURPOSE.copied(&self.losses)?,
            ..*self
        })
    }

    /// Sets the divisors of training samples and of held-out samples.
    pub(super) fn set_known_cells(&mut self, of_training: f64, of_held_out: f64) {
        (self.n_outputs, self.n_held_outputs) = (of_training, of_held_out);
    }

    /// Returns the divisor of what is reported of a sample.
    pub(super) fn n_outputs_of(&self, row: usize) -> f64 {
        if self.held[row] > 0.0 { self.n_held_outputs } else { self.n_outputs }
    }

    pub(super) fn has_held_out(&self) -> bool {
        self.held_total > 0.0
    }

    /// Returns the held-out samples and their weights.
    pub(super) fn held_out(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.held.iter().copied().enumerate().filter(|(_, v)| *v > 0.0)
    }

    /// Returns the weight of a held-out sample; 0 for training samples.
    pub(super) fn held_weight(&self, row: usize) -> f64 {
        self.held[row]
    }

    /// Returns whether errors are reported instead of the loss that is minimised.
    pub(super) fn counts_mistakes(&self) -> bool {
        self.mistakes.is_some() && self.held_out().next().is_some()
    }

    /// Returns the mean losses in training and held out, where `total` is the total weight of training samples.
    pub(super) fn means(&self, total: f64) -> (f64, f64) {
        (self.train_loss / total, self.mean_of_held_out(self.test_loss))
    }

    pub(super) fn mean_of_held_out(&self, loss: f64) -> f64 {
        if self.held_total > 0.0 { loss / self.held_total } else { f64::NAN }
    }

    /// Records that the loss of a sample with training weight `weight` has risen. If losses follow from their rise,
    /// none is stored.
    pub(super) fn add(&mut self, row: usize, weight: f64, rise: f64) {
        self.train_loss += weight * rise;
        self.test_loss += self.held[row] * rise;
    }

    /// Records that the loss of a sample with training weight `weight` has changed to `loss`.
    pub(super) fn set(&mut self, row: usize, weight: f64, loss: f64) {
        let before = std::mem::replace(&mut self.losses[row], loss);
        self.add(row, weight, loss - before);
    }

    /// Resets the sums: all samples must be added by [`Report::put`].
    pub(super) fn clear(&mut self) {
        (self.train_loss, self.test_loss) = (0.0, 0.0);
    }

    /// Adds the loss of a sample with training weight `weight`.
    pub(super) fn put(&mut self, row: usize, weight: f64, loss: f64) {
        self.losses[row] = loss;
        self.add(row, weight, loss);
    }
}
