//! Losses of rows as they are reported: of training rows what is lowered, of classes held out the share of mistakes.

use super::WHAT;
use crate::compress::CompressLoss;
use crate::data::Outputs;
use crate::data::targets::{is_binary, starts};
use crate::error::{Result, try_copied, try_filled};

/// Mistakes in the classes of rows held out.
#[derive(Clone, Debug)]
pub(super) enum Mistakes {
    /// One score of two classes: above the threshold is the second.
    OfTwo { threshold: f64 },
    /// Scores of the classes of each output, from the first column of one to that of the next: the largest wins, of
    /// equals the first.
    OfMany { starts: Vec<usize> },
}

impl Mistakes {
    /// `None` for numbers and labels, which are judged by what is lowered.
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

    /// Share of the outputs of a row whose best class is not the one that is on.
    pub(super) fn share(&self, score: impl Fn(usize) -> f64, on: &[u32]) -> f64 {
        match self {
            Mistakes::OfTwo { threshold } => f64::from(u8::from((score(0) > *threshold) == on.is_empty())),
            Mistakes::OfMany { starts } => {
                let mut wrong = 0;
                for (part, &class) in starts.windows(2).map(|s| s[0]..s[1]).zip(on) {
                    let best = part.clone().fold(part.start, |best, c| if score(c) > score(best) { c } else { best });
                    wrong += usize::from(best != class as usize);
                }
                wrong as f64 / (starts.len() - 1) as f64
            }
        }
    }
}

/// Losses of all rows, and their weighted sums.
#[derive(Clone, Debug)]
pub(super) struct Report {
    /// Weights of rows held out; 0 for training rows.
    held: Vec<f64>,
    held_total: f64,
    pub(super) mistakes: Option<Mistakes>,
    /// Divisor of the loss of a row: its outputs, each as often as it counts; where cells are not known, the mean number
    /// of known cells of a row of its side.
    pub(super) n_outputs: f64,
    n_held_outputs: f64,
    losses: Vec<f64>,
    train_loss: f64,
    test_loss: f64,
}

impl Report {
    pub(super) fn new(held: Vec<f64>, n_outputs: f64, mistakes: Option<Mistakes>) -> Result<Self> {
        let losses = try_filled(WHAT, 0.0, held.len())?;
        let (held_total, n_held_outputs) = (held.iter().sum(), n_outputs);
        Ok(Report { held, held_total, mistakes, n_outputs, n_held_outputs, losses, train_loss: 0.0, test_loss: 0.0 })
    }

    pub(super) fn try_clone(&self) -> Result<Self> {
        Ok(Report {
            held: try_copied(WHAT, &self.held)?,
            mistakes: self.mistakes.clone(),
            losses: try_copied(WHAT, &self.losses)?,
            ..*self
        })
    }

    /// Takes the mean number of known cells of training rows and of rows held out, by weight.
    pub(super) fn set_known_cells(&mut self, of_training: f64, of_held_out: f64) {
        (self.n_outputs, self.n_held_outputs) = (of_training, of_held_out);
    }

    /// Divisor of the loss of a row.
    pub(super) fn n_outputs_of(&self, row: usize) -> f64 {
        if self.held[row] > 0.0 { self.n_held_outputs } else { self.n_outputs }
    }

    pub(super) fn has_held_out(&self) -> bool {
        self.held_total > 0.0
    }

    /// Rows held out, and their weights.
    pub(super) fn held_out(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.held.iter().copied().enumerate().filter(|(_, v)| *v > 0.0)
    }

    /// What a row held out weighs; 0 for training rows.
    pub(super) fn held_weight(&self, row: usize) -> f64 {
        self.held[row]
    }

    /// Whether any row is judged otherwise than by what is lowered.
    pub(super) fn counts_mistakes(&self) -> bool {
        self.mistakes.is_some() && self.held_out().next().is_some()
    }

    /// Mean losses in training and held out, where training rows weigh `total`.
    pub(super) fn means(&self, total: f64) -> (f64, f64) {
        (self.train_loss / total, self.mean_of_held_out(self.test_loss))
    }

    pub(super) fn mean_of_held_out(&self, loss: f64) -> f64 {
        if self.held_total > 0.0 { loss / self.held_total } else { f64::NAN }
    }

    /// The loss of a row of training weight `weight` has risen. Where losses follow from how much they rise, none is kept.
    pub(super) fn add(&mut self, row: usize, weight: f64, rise: f64) {
        self.train_loss += weight * rise;
        self.test_loss += self.held[row] * rise;
    }

    /// The loss of a row of training weight `weight` is another.
    pub(super) fn set(&mut self, row: usize, weight: f64, loss: f64) {
        let before = std::mem::replace(&mut self.losses[row], loss);
        self.add(row, weight, loss - before);
    }

    /// Sums of no row: all are to be told of by [`Report::put`].
    pub(super) fn clear(&mut self) {
        (self.train_loss, self.test_loss) = (0.0, 0.0);
    }

    /// The loss of a row of training weight `weight`.
    pub(super) fn put(&mut self, row: usize, weight: f64, loss: f64) {
        self.losses[row] = loss;
        self.add(row, weight, loss);
    }
}
