//! The projections of one fit, as the growth of trees needs them.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use super::{MatrixSource, OutputProjection, PROJECTION, PURPOSE, ProjectionMatrix, ProjectionScope, RandomFamily};
use crate::control::Control;
use crate::data::targets::LARGEST;
use crate::data::train_y::RealTargets;
use crate::data::train_y::TrainY;
use crate::error::{Error, ErrorKind, Result};
use crate::rng::Key;

/// What all trees of a fit share.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    source: Source<'a>,
    n_outputs: usize,
    n_samples: usize,
    /// The largest sum of magnitudes of y of one sample.
    reach: f64,
    /// Buffers of projected targets of finished trees, which are reused: the system would provide a new buffer page by
    /// page.
    stash: Mutex<Vec<Vec<f64>>>,
}

#[derive(Debug)]
enum Source<'a> {
    /// A matrix is drawn for each tree.
    Family(RandomFamily, usize),
    /// All trees have the same matrix.
    Shared(Cow<'a, ProjectionMatrix>),
    /// Each tree has a matrix of its own.
    Each(&'a [ProjectionMatrix]),
}

/// The data from which a plan is made.
#[derive(Debug)]
pub(crate) struct PlanData<'a> {
    pub(crate) y: &'a TrainY<'a>,
    pub(crate) n_outputs: usize,
    pub(crate) n_samples: usize,
    /// The samples of positive weight, in increasing order.
    pub(crate) rows: &'a [u32],
    /// The weights for principal directions.
    pub(crate) weights: Option<&'a [f64]>,
    pub(crate) seed: u64,
    pub(crate) n_trees: usize,
}

impl<'a> Plan<'a> {
    /// Draws the matrix that trees share. `config` must be checked against the outputs.
    pub(crate) fn new(config: &'a OutputProjection, data: &PlanData<'_>, control: &Control) -> Result<Self> {
        let PlanData { y, n_outputs, n_samples, rows, weights, seed, n_trees } = *data;
        let n_projections = || config.family.resolve(n_outputs, config.n_projections);
        let shared = |matrix| Source::Shared(Cow::Owned(matrix));
        let source = match (config.family.source(), config.scope) {
            (MatrixSource::Given(matrices), _) => match matrices {
                [matrix] => Source::Shared(Cow::Borrowed(matrix)),
                each if each.len() == n_trees => Source::Each(each),
                other => return Err(Error::shape("matrices of output_projection", n_trees, other.len())),
            },
            (MatrixSource::Principal, _) => {
                shared(super::principal(y, n_outputs, n_projections()?, weights, n_samples, rows, control)?)
            }
            (MatrixSource::Random(family), ProjectionScope::Forest) => {
                let key = Key::from_seed(seed).child(PROJECTION);
                shared(family.draw(n_outputs, n_projections()?, key, control)?)
            }
            (MatrixSource::Random(family), ProjectionScope::Tree) => Source::Family(family, n_projections()?),
        };
        let mut pulse = control.pulse();
        let mut reach = 0.0f64;
        for &row in rows {
            let (sum, steps) = match y {
                TrainY::Slots(y) => (y.of(row).len() as f64, 1),
                TrainY::Real(y) => (y.searched(row).map(f64::abs).sum(), n_outputs),
                TrainY::SparseReal(y) => (y.searched(row).map(|(_, y)| y.abs()).sum(), n_outputs),
                // An unknown cell is replaced by frequencies, none of which is above one, or by a mean.
                TrainY::MaskedSlots(y) => (y.known().n_outputs().max(y.of(row).len()) as f64, 1),
                TrainY::MaskedReal(y) => (y.filled_row(row).map(f64::abs).sum(), n_outputs),
            };
            reach = reach.max(sum);
            pulse.after(steps)?;
        }
        Ok(Plan { source, n_outputs, n_samples, reach, stash: Mutex::default() })
    }

    /// Returns the projected targets of tree `index` of the fit, for its samples `rows`; those of other samples are not
    /// written. Returns `None` if the targets are the entries of y themselves.
    pub(crate) fn targets(
        &self,
        tree: Key,
        index: usize,
        y: &TrainY<'_>,
        rows: &[u32],
        control: &Control,
    ) -> Result<Option<RealTargets<'static>>> {
        let drawn;
        let matrix = match &self.source {
            Source::Family(family, q) => {
                drawn = family.draw(self.n_outputs, *q, tree.child(PROJECTION), control)?;
                &drawn
            }
            Source::Shared(matrix) => &**matrix,
            Source::Each(matrices) => &matrices[index],
        };
        let bound = matrix.largest(control)? * self.reach;
        if bound > LARGEST {
            let must = "have values for which the products with y stay below 1e150";
            return Err(Error::invalid(PURPOSE.0, format!("values that may reach {bound:e}"), must));
        }
        if matches!(y, TrainY::SparseReal(_)) && matrix.is_identity() {
            return Ok(None);
        }
        let q = matrix.n_projections();
        let mut values = self.stash.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let length = self.n_samples.saturating_mul(q);
        let more = length.saturating_sub(values.len());
        let what = "the projected targets";
        values.try_reserve_exact(more).map_err(|_| ErrorKind::OutOfMemory { what, bytes: more.saturating_mul(8) })?;
        values.truncate(length);
        control.fill_up(&mut values, 0.0, length)?;
        matrix.project(y, rows, &mut values, control)?;
        RealTargets::new(values, q).map(Some)
    }

    /// Takes back the targets of a finished tree.
    pub(crate) fn take_back(&self, targets: RealTargets<'static>) {
        self.stash.lock().unwrap_or_else(PoisonError::into_inner).push(targets.values.into_owned());
    }
}
