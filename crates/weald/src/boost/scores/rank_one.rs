//! Scores of a stage whose leaves have one value, by a multiple of which each score moves.

use super::low_rank::LowRank;
use super::{Held, Moved, Moves, Pass, Scores, Start, ValuesAndSteps};
use crate::boost::config::LeafEstimation;
use crate::boost::data::{Data, Losses};
use crate::boost::leaves::steps::{by_leaf_sums, searched};
use crate::boost::leaves::sums::leaf_sums;
use crate::boost::leaves::{Fit, RowsByLeaf, newton};
use crate::control::Control;
use crate::data::Targets;
use crate::data::slots::Slots;
use crate::error::{Purpose, Result};
use crate::loss::column::LeafRule;
use crate::loss::kernels::float::Float;
use crate::loss::kernels::vector::add_scaled;
use crate::tree::Tree;
use crate::tree::leaves::{LeafTable, LeafTableBuilder};

const STEPS: Purpose = Purpose("the steps of a stage");

/// Scores that are moved by one value for each leaf.
#[derive(Debug)]
pub(crate) enum RankOne<'a, T> {
    Held(Held<T>),
    /// The scores are the sum of all stages.
    Implied(LowRank<'a>),
}

/// One value for each leaf, which is multiplied by the direction and added to the scores.
#[derive(Debug)]
pub(crate) struct RankOneMoves<T> {
    values: Vec<f64>,
    direction: Vec<f64>,
    /// The direction in the type of scores.
    rounded: Vec<T>,
}

impl<T: Float> Moves<T> for RankOneMoves<T> {
    #[inline(always)]
    fn add_to(&self, leaf: usize, scores: &mut [T]) {
        add_scaled(scores, T::from_f64(self.values[leaf]), &self.rounded);
    }
}

impl<'a, T: Float> Scores<'a, T> for RankOne<'a, T> {
    type Moves = RankOneMoves<T>;

    fn new(data: &Data<'a, T>, implied: Option<&'a Targets<'_>>, start: Start<'_>, control: &Control) -> Result<Self> {
        match implied.map(Slots::new).transpose()?.flatten() {
            Some(slots) => LowRank::new(data, slots, start.0).map(RankOne::Implied),
            None => Held::new(data, start, control).map(RankOne::Held),
        }
    }

    fn held(&self) -> Option<&Held<T>> {
        match self {
            RankOne::Held(held) => Some(held),
            RankOne::Implied(_) => None,
        }
    }

    fn held_mut(&mut self) -> Option<&mut Held<T>> {
        match self {
            RankOne::Held(held) => Some(held),
            RankOne::Implied(_) => None,
        }
    }

    fn tell_losses_out_of_bag(&mut self, data: &Data<'a, T>) -> Result<()> {
        match self {
            RankOne::Held(_) => Ok(()),
            RankOne::Implied(low_rank) => low_rank.follow_rows(data),
        }
    }

    fn sweep(&mut self, data: &Data<'a, T>, moved: Moved<'_, RankOneMoves<T>>, pass: Pass<'_>) -> Result<Losses> {
        let low_rank = match self {
            RankOne::Held(held) => return held.sweep(data, moved, pass),
            RankOne::Implied(low_rank) => low_rank,
        };
        if let Some((leaf_of, moves)) = moved {
            low_rank.take(data, leaf_of, &moves.values, &moves.direction, pass.control)?;
        }
        if let Some(projector) = pass.projector {
            low_rank.project(projector, pass.targets, pass.control)?;
        }
        low_rank.losses(data, pass.out_of_bag, pass.control.n_threads())
    }

    /// Steps are Newton steps along the values, or searched.
    fn fit_leaves(&mut self, fit: Fit<'_, T>, numbers: impl FnOnce() -> Result<Vec<f64>>) -> Result<ValuesAndSteps> {
        let values = numbers()?;
        let steps = match self {
            RankOne::Held(held) => held.steps(fit, &values)?,
            RankOne::Implied(low_rank) => low_rank.steps(fit, &values)?,
        };
        Ok((values, steps))
    }

    fn moves(values: Vec<f64>, steps: &[f64], mu: f64) -> Result<(LeafTable, RankOneMoves<T>)> {
        let mut builder = LeafTableBuilder::new(1);
        values.iter().try_for_each(|&value| builder.push_means(&[value]))?;
        let direction = STEPS.collected(steps.iter().map(|step| mu * step))?;
        Ok((builder.finish()?, Self::moves_of_rows(values, direction)?))
    }

    fn moves_of_rows(values: Vec<f64>, direction: Vec<f64>) -> Result<RankOneMoves<T>> {
        let rounded = STEPS.collected(direction.iter().map(|&v| T::from_f64(v)))?;
        Ok(RankOneMoves { values, direction, rounded })
    }

    /// The leaves stay as they are: only the steps change.
    fn relabelled(tree: &Tree, _: &RowsByLeaf, _: &LeafTable) -> Result<Tree> {
        tree.try_clone()
    }
}

impl<T: Float> Held<T> {
    /// Returns the steps of all scores along the values of leaves.
    fn steps(&self, fit: Fit<'_, T>, values: &[f64]) -> Result<Vec<f64>> {
        let scores = &self.scores;
        match (fit.data.loss.leaf_rule(), fit.config.leaf_estimation) {
            (LeafRule::Residuals, _) => self.steps_of_residuals(fit, values),
            (LeafRule::LeafSums | LeafRule::Search, LeafEstimation::Newton) => newton::steps(fit, scores, values),
            (LeafRule::LeafSums | LeafRule::Search, LeafEstimation::LineSearch) => match by_leaf_sums(fit, scores)? {
                Some(columns) => columns.steps(Some(values), &mut []),
                None => searched(fit, scores, values),
            },
        }
    }

    /// Returns the regularised least-squares steps.
    fn steps_of_residuals(&self, fit: Fit<'_, T>, values: &[f64]) -> Result<Vec<f64>> {
        let mut products = STEPS.filled(0.0, fit.data.width)?;
        leaf_sums(fit, self, |leaves| {
            for &(leaf, sums) in leaves {
                products.iter_mut().zip(sums).for_each(|(product, sum)| *product += values[leaf] * sum);
            }
            Ok(())
        })?;
        let (regularization, square) = (fit.in_units().along(values), fit.leaves.square(values));
        products.iter_mut().for_each(|product| *product = regularization.step(*product, square));
        Ok(products)
    }
}
