//! Against a background: its rows, and blocks of rows with them through the trees.

use super::plan::{Memory, Plan, Question, To};
use crate::control::{Control, Pulse};
use crate::data::Matrix;
use crate::error::{Error, ErrorKind, Purpose, Result};
use crate::loss::kernels::vector::vectorised;
use crate::tree::shap::background::{BITS, ByPlace, walk_mixed};
use crate::tree::shap::mixed_leaf::{MixedInteractions, MixedSums, MixedWeights};
use crate::tree::shap::orders::Chances;
use crate::tree::shap::{Eight, LANES, LeafColumns};

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
    chances: Chances,
}

impl Background {
    fn by_place(&self) -> ByPlace<'_> {
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

impl Plan<'_, '_> {
    pub(super) fn background(&self, x: Matrix<'_>, control: &Control) -> Result<Background> {
        check_background(&x)?;
        let rows = self.model.rows(x, control).map_err(named_background)?;
        let (n_rows, u) = (rows.n_samples(), self.tested.len());
        let mut values = Purpose("the background").filled(0.0, n_rows.saturating_mul(u))?;
        let mut scratch = rows.scratch()?;
        let mut pulse = control.pulse();
        for at in 0..n_rows {
            rows.for_each(at..at + 1, &mut scratch, |row| {
                for (values, &feature) in values.chunks_exact_mut(n_rows).zip(&self.tested.features) {
                    values[at] = row[feature as usize];
                }
            });
            pulse.after(u)?;
        }
        Ok(Background { values, n_rows, chances: Chances::for_sums_of(n_rows)? })
    }

    /// Adds what a tree tells of the block that was read.
    pub(super) fn add_mixed(
        &self,
        t: usize,
        question: &Question<'_>,
        background: &Background,
        memory: &mut Memory,
        to: To<'_>,
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let (tree, tested, n_places) = (self.model.trees[t], &self.tested, self.tested.len());
        let (table, chances, other) = (&question.tables[t][..], &background.chances, background.by_place());
        let x = block(&memory.x, n_places, memory.n_rows);
        let (mixtures, work, To { sums: found, stride, first }) = (&mut memory.mixtures, &mut memory.leaf_work, to);
        if table.is_empty() {
            memory.batch.prepare(question.block_rows() / LANES * n_places)?;
            let leaves = LeafColumns { tree, chosen: Some(&question.places) };
            let batch = &mut memory.batch;
            let mut visit = MixedWeights { work, chances, batch, leaves, found, n_places, stride };
            return vectorised(
                #[inline(always)]
                || {
                    walk_mixed(tree, tested, x, other, mixtures, pulse, &mut visit)?;
                    visit.batch.flush(visit.found, stride)
                },
            );
        }
        let n_outputs = table.len() / tree.n_leaves();
        let mut visit = MixedSums { work, chances, table, n_outputs, found, n_places, stride, first };
        vectorised(
            #[inline(always)]
            || walk_mixed(tree, tested, x, other, mixtures, pulse, &mut visit),
        )
    }

    /// Adds the interactions, times `factor`, of the block that was read and of a tree with these values of leaves.
    #[expect(clippy::too_many_arguments, reason = "what a tree is added from and to")]
    pub(super) fn interact_mixed(
        &self,
        t: usize,
        table: &[f64],
        factor: f64,
        background: &Background,
        memory: &mut Memory,
        found: &mut [Eight],
        pulse: &mut Pulse<'_>,
    ) -> Result<()> {
        let (tree, tested, n_places) = (self.model.trees[t], &self.tested, self.tested.len());
        let (chances, other) = (&background.chances, background.by_place());
        let x = block(&memory.x, n_places, memory.n_rows);
        let work = &mut memory.leaf_work;
        let mut visit = MixedInteractions { work, chances, table, factor, found, n_places };
        vectorised(
            #[inline(always)]
            || walk_mixed(tree, tested, x, other, &mut memory.mixtures, pulse, &mut visit),
        )
    }
}

/// A block of rows that was read.
fn block(x: &[[f32; LANES]], n_places: usize, n_rows: usize) -> ByPlace<'_> {
    ByPlace { values: x.as_flattened(), stride: LANES * x.len() / n_places.max(1), n_rows }
}
