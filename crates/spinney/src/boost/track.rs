//! Scores that are boosted together, and what a stage does to them.

use super::low_rank::LowRank;
use super::projector::Projector;
use super::stages::Fitting;
use super::state::{Data, Leaves, State, Swept, Update};
use super::steps::{Stage, Weak};
use super::vector::Score;
use crate::control::Control;
use crate::error::{Result, try_collected};

/// Scores that are boosted together: all of them, or one.
#[derive(Debug)]
pub(super) struct Track<'a, T: Score> {
    pub(super) train: Side<'a, T>,
    pub(super) validation: Option<Side<'a, T>>,
    pub(super) start: Vec<f64>,
    pub(super) bounds: Vec<T>,
}

/// What some rows are to learn, and their scores.
#[derive(Debug)]
pub(super) struct Side<'a, T: Score> {
    pub(super) data: Data<'a, T>,
    pub(super) scores: Scores<T>,
}

/// Scores of rows, held or implied.
#[derive(Debug)]
pub(super) enum Scores<T> {
    Dense(State<T>),
    LowRank(LowRank),
}

/// What a stage's leaves hold.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) weak: Weak,
    pub(super) steps: Vec<f64>,
    /// Of weak models with residuals, over the rows of the stage, where scores are implied.
    pub(super) products: Option<Vec<f64>>,
}

/// What a stage adds to the scores of the rows of each leaf.
#[derive(Clone, Copy)]
pub(super) struct Contribution<'c, T> {
    pub(super) weak: &'c Weak,
    /// Of leaves that are labelled anew.
    pub(super) table: &'c [T],
    /// Of leaves that are not.
    pub(super) direction: &'c [f64],
    /// With the residuals of all rows, where they are known.
    pub(super) products: Option<&'c [f64]>,
}

impl<T: Score> Track<'_, T> {
    pub(super) fn fit_leaves(
        &self,
        fitting: &Fitting<'_>,
        leaves: &Leaves<'_>,
        values: Option<Vec<f64>>,
        control: &Control,
    ) -> Result<Fitted> {
        let Side { data, scores } = &self.train;
        let state = match scores {
            Scores::LowRank(low_rank) => {
                let values = values.expect("low rank is for one number a leaf");
                let (steps, products) = low_rank.steps(data, leaves, &values, control)?;
                return Ok(Fitted { weak: Weak::Scalars(values), steps, products: Some(products) });
            }
            Scores::Dense(state) => state,
        };
        let stage = Stage {
            data,
            state,
            leaves,
            bounds: &self.bounds,
            kind: fitting.problem.kind,
            method: fitting.problem.method(),
            search: fitting.config.line_search,
            starts: fitting.problem.softmax.as_deref().unwrap_or_default(),
            control,
        };
        let (weak, steps) = match values {
            Some(values) => stage.along(values)?,
            None => stage.relabel()?,
        };
        Ok(Fitted { weak, steps, products: None })
    }

    /// Updates the scores and returns their loss; writes the targets of the next stage.
    pub(super) fn advance(
        &mut self,
        contribution: Contribution<'_, T>,
        leaf_of: Vec<u32>,
        next: Option<&Projector>,
        targets: &mut Vec<f64>,
        control: &Control,
    ) -> Result<f64> {
        self.resize(next, targets, control)?;
        let swept = self.train.advance(contribution, leaf_of, next, targets, control)?;
        if next.is_some() {
            self.bounds = swept.bounds;
        }
        Ok(swept.loss)
    }

    /// Writes targets at the scores as they are.
    pub(super) fn aim(&mut self, projector: &Projector, targets: &mut Vec<f64>, control: &Control) -> Result<()> {
        self.resize(Some(projector), targets, control)?;
        self.bounds = self.train.sweep(None, Some(projector), targets, control)?.bounds;
        Ok(())
    }

    fn resize(&self, projector: Option<&Projector>, targets: &mut Vec<f64>, control: &Control) -> Result<()> {
        let len = self.train.data.n_samples * projector.map_or(0, Projector::n_targets);
        if targets.len() != len {
            *targets = control.try_filled("the targets of a stage", 0.0, len)?;
        }
        Ok(())
    }
}

impl<T: Score> Side<'_, T> {
    /// Updates the scores of rows in these leaves, and projects negative gradients there to `targets`.
    pub(super) fn advance(
        &mut self,
        contribution: Contribution<'_, T>,
        leaf_of: Vec<u32>,
        next: Option<&Projector>,
        targets: &mut [f64],
        control: &Control,
    ) -> Result<Swept<T>> {
        let of_rows: Vec<f64>;
        let direction: Vec<T>;
        let update = match (contribution.weak, &mut self.scores) {
            (Weak::Scalars(values), Scores::LowRank(low_rank)) => {
                let Contribution { direction, products, .. } = contribution;
                low_rank.take(&self.data, leaf_of, values, direction, products, control)?;
                return self.sweep(None, next, targets, control);
            }
            (Weak::Scalars(values), Scores::Dense(_)) => {
                of_rows =
                    try_collected("the predictions of a stage", leaf_of.iter().map(|&leaf| values[leaf as usize]))?;
                direction =
                    try_collected("the steps of a stage", contribution.direction.iter().map(|&v| T::from_f64(v)))?;
                Update::RankOne { values: &of_rows, direction: &direction }
            }
            (Weak::Table(_), Scores::Dense(_)) => Update::Leaves { leaf_of: &leaf_of, table: contribution.table },
            (Weak::Table(_), Scores::LowRank(_)) => unreachable!("low rank is for one number a leaf"),
        };
        self.sweep(Some(&update), next, targets, control)
    }

    /// Implied scores take no update here, and have no bounds.
    fn sweep(
        &mut self,
        update: Option<&Update<'_, T>>,
        projector: Option<&Projector>,
        targets: &mut [f64],
        control: &Control,
    ) -> Result<Swept<T>> {
        match &mut self.scores {
            Scores::Dense(state) => state.sweep(&self.data, update, projector, targets, control),
            Scores::LowRank(low_rank) => {
                if let Some(projector) = projector {
                    low_rank.project(&self.data, projector, targets, control)?;
                }
                Ok(Swept { loss: low_rank.loss(), bounds: Vec::new() })
            }
        }
    }
}
