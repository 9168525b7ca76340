//! What the trees of each stage are fitted to: the negative gradients themselves, or combinations of them.

use std::fmt::Debug;

use super::config::{BoostConfig, OutputStrategy};
use super::projector::Projector;
use crate::control::Control;
use crate::data::Weights;
use crate::data::train_y::TrainY;
use crate::error::{Error, Result};
use crate::forest::bootstrap::tree_key;
use crate::projection::{MatrixSource, PROJECTION, ProjectionMatrix, RandomFamily, principal_of};

/// The values of y of some samples, a column for each score.
#[derive(Debug)]
pub(crate) struct TargetRows<'s> {
    pub(crate) y: TrainY<'s>,
    pub(crate) weights: &'s Weights,
    /// The samples of positive weight, in increasing order.
    pub(crate) rows: &'s [u32],
}

/// Chooses the projections of the stages.
pub(crate) trait StageProjection: Debug {
    /// Returns whether the next call of [`StageProjection::draw`] needs y of the training samples.
    fn needs_y(&self) -> bool {
        false
    }

    /// Returns the projection of a stage.
    fn draw(&mut self, stage: usize, y: Option<&TargetRows<'_>>, control: &Control) -> Result<Projector>;
}

impl BoostConfig {
    /// Returns what stages with `width` scores are fitted to.
    pub(super) fn stage_projection(&self, width: usize) -> Result<Box<dyn StageProjection + '_>> {
        Ok(match &self.strategy {
            OutputStrategy::Projected { projection, n_projections, .. } if width > 1 => {
                let q = projection.resolve(width, *n_projections)?;
                match projection.source() {
                    MatrixSource::Given(matrices) => Box::new(Given { matrices, n_stages: self.n_estimators }),
                    MatrixSource::Principal => Box::new(Principal { width, q, drawn: None }),
                    MatrixSource::Random(family) => Box::new(Random { family, width, q, seed: self.seed }),
                }
            }
            OutputStrategy::Projected { .. } | OutputStrategy::Joint | OutputStrategy::SingleTarget => {
                Box::new(AllScores { width })
            }
        })
    }
}

/// All stages are fitted to the negative gradients of all scores.
#[derive(Debug)]
struct AllScores {
    width: usize,
}

impl StageProjection for AllScores {
    fn draw(&mut self, _: usize, _: Option<&TargetRows<'_>>, _: &Control) -> Result<Projector> {
        Ok(Projector::Identity(self.width))
    }
}

/// The projections are given by the caller: one for all stages, or one for each stage.
#[derive(Debug)]
struct Given<'c> {
    matrices: &'c [ProjectionMatrix],
    n_stages: usize,
}

impl StageProjection for Given<'_> {
    fn draw(&mut self, stage: usize, _: Option<&TargetRows<'_>>, control: &Control) -> Result<Projector> {
        let matrix = match self.matrices {
            [matrix] => matrix,
            each if each.len() == self.n_stages => &each[stage],
            other => return Err(Error::shape("matrices of output_projection", self.n_stages, other.len())),
        };
        Projector::new(matrix, control)
    }
}

/// A projection is drawn for each stage.
#[derive(Debug)]
struct Random {
    family: RandomFamily,
    width: usize,
    q: usize,
    seed: u64,
}

impl StageProjection for Random {
    fn draw(&mut self, stage: usize, _: Option<&TargetRows<'_>>, control: &Control) -> Result<Projector> {
        let key = tree_key(self.seed, stage).child(PROJECTION);
        Projector::new(&self.family.draw(self.width, self.q, key, control)?, control)
    }
}

/// All stages use the principal directions of y: those of the residuals of the constants that boosting starts from.
#[derive(Debug)]
struct Principal {
    width: usize,
    q: usize,
    drawn: Option<ProjectionMatrix>,
}

impl StageProjection for Principal {
    fn needs_y(&self) -> bool {
        self.drawn.is_none()
    }

    fn draw(&mut self, _: usize, y: Option<&TargetRows<'_>>, control: &Control) -> Result<Projector> {
        let (width, q) = (self.width, self.q);
        let matrix = match (self.drawn.take(), y) {
            (Some(matrix), _) => matrix,
            (None, Some(TargetRows { y, weights, rows })) => principal_of(y, width, q, weights, rows, control)?,
            (None, None) => {
                return Err(Error::unsupported("output_projection", "without y, from which its directions come"));
            }
        };
        let projector = Projector::new(&matrix, control);
        self.drawn = Some(matrix);
        projector
    }
}
