//! The rows of a background.

use crate::control::Control;
use crate::data::Matrix;
use crate::error::{Error, ErrorKind, Purpose, Result};
use crate::model::Additive;
use crate::tree::shap::background::{BITS, ByPlace};
use crate::tree::shap::orders::Chances;
use crate::tree::shap::{LANES, Tested};

/// Most rows of a block: what is found for a leaf and all rows of the background is used by all of them.
const BLOCK_ROWS: usize = 512;
/// Words of the sets of partners of a block of rows, at most, unless one group has more: 2 MiB.
const BLOCK_WORDS: usize = 1 << 18;

/// Rows of a background.
#[derive(Debug)]
pub(super) struct Background {
    /// By feature tested, then row.
    values: Vec<f32>,
    n_rows: usize,
    pub(super) chances: Chances,
}

impl Background {
    pub(super) fn new(model: &Additive<'_>, tested: &Tested, x: Matrix<'_>, control: &Control) -> Result<Self> {
        check_background(&x)?;
        let rows = model.rows(x, control).map_err(named_background)?;
        let (n_rows, u) = (rows.n_samples(), tested.len());
        let mut values = Purpose("the background").filled(0.0, n_rows.saturating_mul(u))?;
        let mut scratch = rows.scratch()?;
        let mut pulse = control.pulse();
        for at in 0..n_rows {
            rows.for_each(at..at + 1, &mut scratch, |row| {
                for (values, &feature) in values.chunks_exact_mut(n_rows).zip(&tested.features) {
                    values[at] = row[feature as usize];
                }
            });
            pulse.after(u)?;
        }
        Ok(Background { values, n_rows, chances: Chances::for_sums_of(n_rows)? })
    }

    pub(super) fn by_place(&self) -> ByPlace<'_> {
        ByPlace { values: &self.values, stride: self.n_rows, n_rows: self.n_rows }
    }

    /// Groups of [`LANES`] rows of a block, of X of `n_samples` rows, where `most_groups` have room. Values do not depend on it.
    pub(super) fn n_groups(&self, most_groups: usize, n_samples: usize, control: &Control) -> usize {
        let by_words = BLOCK_WORDS / self.n_rows.div_ceil(BITS) / LANES;
        let by_threads = n_samples.div_ceil(control.n_threads()).div_ceil(LANES);
        most_groups.min(BLOCK_ROWS / LANES).min(by_words).min(by_threads).max(1)
    }
}

pub(super) fn check_background(background: &Matrix<'_>) -> Result<()> {
    if background.n_samples() > 0 {
        return Ok(());
    }
    Err(Error::invalid("background", "0 samples", "have at least one sample"))
}

/// Rows that do not fit are those of the background.
fn named_background(error: Error) -> Error {
    match error.kind() {
        &ErrorKind::Shape { expected, got, .. } => Error::shape("each row of background", expected, got),
        _ => error,
    }
}
