//! Scores that are boosted together, and what a stage does to them.

use std::ops::Range;

use super::low_rank::LowRank;
use super::projector::Projector;
use super::stages::{Fitting, Shared};
use super::state::{Data, Leaves, State, Update};
use super::steps::{Stage, Weak};
use super::vector::Score;
use crate::control::Control;
use crate::error::Result;

/// Scores that are boosted together: all of them, or one.
#[derive(Debug)]
pub(super) struct Track<'a, T: Score> {
    pub(super) data: Data<'a, T>,
    pub(super) scores: Scores<T>,
    pub(super) start: Vec<f64>,
    pub(super) bounds: Vec<T>,
    pub(super) validation: Option<(Data<'a, T>, Scores<T>)>,
}

/// Scores of rows, held or implied.
#[derive(Debug)]
pub(super) enum Scores<T> {
    Dense(State<T>),
    LowRank(LowRank),
}

/// What a stage adds to the scores of the rows of each leaf.
pub(super) struct Contribution<'c, T> {
    pub(super) weak: &'c Weak,
    /// Of leaves that are labelled anew.
    pub(super) table: &'c [T],
    /// Of leaves that are not.
    pub(super) direction: &'c [f64],
}

impl<T: Score> Track<'_, T> {
    pub(super) fn fit_leaves(
        &self,
        fitting: &Fitting<'_>,
        leaves: &Leaves<'_>,
        values: Option<Vec<f64>>,
        control: &Control,
    ) -> Result<(Weak, Vec<f64>)> {
        let state = match &self.scores {
            Scores::LowRank(low_rank) => {
                let values = values.expect("low rank is for one number a leaf");
                let steps = low_rank.steps(&self.data, leaves, &values, control)?;
                return Ok((Weak::Scalars(values), steps));
            }
            Scores::Dense(state) => state,
        };
        let stage = Stage {
            data: &self.data,
            state,
            leaves,
            bounds: &self.bounds,
            kind: fitting.problem.kind,
            method: fitting.problem.method(),
            search: fitting.config.line_search,
            starts: fitting.problem.softmax.as_deref().unwrap_or_default(),
            control,
        };
        match values {
            Some(values) => stage.along(values),
            None => stage.relabel(),
        }
    }

    pub(super) fn advance(
        &mut self,
        contribution: &Contribution<'_, T>,
        leaf_of: &[u32],
        next: Option<&Projector>,
        targets: &mut Vec<f64>,
        shared: &Shared<'_>,
        control: &Control,
    ) -> Result<f64> {
        if let (Scores::LowRank(low_rank), Weak::Scalars(values)) = (&mut self.scores, contribution.weak) {
            let (order, ranges) = by_leaf(&shared.rows, leaf_of, values.len());
            let leaves = Leaves::new(&order, ranges, &self.data.weights);
            low_rank.take(&self.data, &leaves, leaf_of.to_vec(), values, contribution.direction, control)?;
            return self.sweep(None, next, targets, shared, control);
        }
        let of_rows: Vec<f64>;
        let direction: Vec<T>;
        let update = match contribution.weak {
            Weak::Table(_) => Update::Leaves { leaf_of, table: contribution.table },
            Weak::Scalars(values) => {
                of_rows = leaf_of.iter().map(|&leaf| values[leaf as usize]).collect();
                direction = contribution.direction.iter().map(|&v| T::from_f64(v)).collect();
                Update::RankOne { values: &of_rows, direction: &direction }
            }
        };
        self.sweep(Some(&update), next, targets, shared, control)
    }

    /// Updates the scores and returns their loss; writes the targets of the next stage.
    pub(super) fn sweep(
        &mut self,
        update: Option<&Update<'_, T>>,
        projector: Option<&Projector>,
        targets: &mut Vec<f64>,
        shared: &Shared<'_>,
        control: &Control,
    ) -> Result<f64> {
        let len = shared.n_samples * projector.map_or(0, Projector::n_targets);
        if targets.len() != len {
            *targets = control.try_filled("the targets of a stage", 0.0, len)?;
        }
        match &mut self.scores {
            Scores::Dense(state) => {
                let swept = state.sweep(&self.data, update, projector, targets, control)?;
                if projector.is_some() {
                    self.bounds = swept.bounds;
                }
                Ok(swept.loss)
            }
            Scores::LowRank(low_rank) => {
                if let Some(projector) = projector {
                    low_rank.project(&self.data, &shared.rows, projector, targets, control)?;
                }
                Ok(low_rank.loss())
            }
        }
    }

    pub(super) fn advance_validation(
        &mut self,
        contribution: &Contribution<'_, T>,
        leaf_of: &[u32],
        control: &Control,
    ) -> Result<f64> {
        let (data, scores) = self.validation.as_mut().expect("walked for a validation set");
        match (scores, contribution.weak) {
            (Scores::LowRank(low_rank), Weak::Scalars(values)) => {
                let rows: Vec<u32> =
                    (0..data.n_samples as u32).filter(|&row| data.weights.units(row as usize) > 0).collect();
                let (order, ranges) = by_leaf(&rows, leaf_of, values.len());
                let leaves = Leaves::new(&order, ranges, &data.weights);
                low_rank.take(data, &leaves, leaf_of.to_vec(), values, contribution.direction, control)?;
                Ok(low_rank.loss())
            }
            (Scores::Dense(state), Weak::Scalars(values)) => {
                let of_rows: Vec<f64> = leaf_of.iter().map(|&leaf| values[leaf as usize]).collect();
                let direction: Vec<T> = contribution.direction.iter().map(|&v| T::from_f64(v)).collect();
                let update = Update::RankOne { values: &of_rows, direction: &direction };
                Ok(state.sweep(data, Some(&update), None, &mut [], control)?.loss)
            }
            (Scores::Dense(state), Weak::Table(_)) => {
                let update = Update::Leaves { leaf_of, table: contribution.table };
                Ok(state.sweep(data, Some(&update), None, &mut [], control)?.loss)
            }
            (Scores::LowRank(_), Weak::Table(_)) => unreachable!("low rank is for one number a leaf"),
        }
    }
}

/// Rows in the order of their leaves, and where those of each leaf lie.
fn by_leaf(rows: &[u32], leaf_of: &[u32], n_leaves: usize) -> (Vec<u32>, Vec<Range<u32>>) {
    let mut ends = vec![0u32; n_leaves];
    rows.iter().for_each(|&row| ends[leaf_of[row as usize] as usize] += 1);
    let mut end = 0;
    let ranges: Vec<Range<u32>> = ends
        .iter()
        .map(|n| {
            let start = end;
            end += n;
            start..end
        })
        .collect();
    let mut next: Vec<u32> = ranges.iter().map(|range| range.start).collect();
    let mut order = vec![0; rows.len()];
    for &row in rows {
        let place = &mut next[leaf_of[row as usize] as usize];
        order[*place as usize] = row;
        *place += 1;
    }
    (order, ranges)
}
