//! Scores of a stage whose leaves have one value, by a multiple of which each score moves.

use ndarray::ArrayView2;

use super::low_rank::LowRank;
use super::{Held, Moves, Scores};
use crate::boost::config::{LeafEstimation, LeafFit};
use crate::boost::data::{Data, Losses};
use crate::boost::leaves::steps::{by_leaf_sums, searched};
use crate::boost::leaves::sums::leaf_sums;
use crate::boost::leaves::{Leaves, RowsByLeaf, newton};
use crate::boost::projector::Projector;
use crate::control::Control;
use crate::data::Targets;
use crate::data::slots::Slots;
use crate::error::{Result, try_collected, try_filled};
use crate::loss::column::LeafRule;
use crate::loss::float::Float;
use crate::loss::newton::Regularization;
use crate::loss::vector::add_scaled;
use crate::tree::Tree;
use crate::tree::leaves::{LeafTable, LeafTableBuilder};

const STEPS: &str = "the steps of a stage";

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

    fn new(
        data: &Data<'a, T>,
        implied: Option<&'a Targets<'_>>,
        start: &[f64],
        margins: Option<ArrayView2<'_, f64>>,
        control: &Control,
    ) -> Result<Self> {
        match implied.map(Slots::new).transpose()?.flatten() {
            Some(slots) => LowRank::new(data, slots, start).map(RankOne::Implied),
            None => Held::new(data, start, margins, control).map(RankOne::Held),
        }
    }

    fn held(&self) -> Option<&Held<T>> {
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

    fn sweep(
        &mut self,
        data: &Data<'a, T>,
        moved: Option<(Vec<u32>, &RankOneMoves<T>)>,
        projector: Option<&Projector>,
        targets: &mut [f64],
        in_bag: Option<&[bool]>,
        control: &Control,
    ) -> Result<Losses> {
        let low_rank = match self {
            RankOne::Held(held) => return held.sweep(data, moved, projector, targets, in_bag, control),
            RankOne::Implied(low_rank) => low_rank,
        };
        if let Some((leaf_of, moves)) = moved {
            low_rank.take(data, leaf_of, &moves.values, &moves.direction, control)?;
        }
        if let Some(projector) = projector {
            low_rank.project(projector, targets, control)?;
        }
        low_rank.losses(data, in_bag)
    }

    /// Steps are Newton steps along the values, or searched.
    fn fit_leaves(
        &mut self,
        data: &Data<'a, T>,
        numbers: impl FnOnce() -> Result<Vec<f64>>,
        leaves: &Leaves<'_>,
        fit: LeafFit,
        control: &Control,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let values = numbers()?;
        let in_units = fit.regularization.of_units(data.weights.unit, 1.0);
        let held = match self {
            RankOne::Held(held) => held,
            RankOne::Implied(low_rank) => {
                let steps = low_rank.steps(data, leaves, &values, in_units, control)?;
                return Ok((values, steps));
            }
        };
        let scores = &held.scores;
        let steps = match (data.loss.leaf_rule(), fit.estimation) {
            (LeafRule::Residuals, _) => along_residuals(data, held, &values, leaves, in_units, control)?,
            (LeafRule::LeafSums | LeafRule::Search, LeafEstimation::Newton) => {
                newton::steps(data, scores, &values, leaves, fit, control)?
            }
            (LeafRule::LeafSums | LeafRule::Search, LeafEstimation::LineSearch) => {
                match by_leaf_sums(data, scores, leaves, fit.search, control)? {
                    Some(columns) => columns.steps(Some(&values), &mut [])?,
                    None => searched(data, scores, &values, leaves, fit.search, control)?,
                }
            }
        };
        Ok((values, steps))
    }

    fn moves(values: Vec<f64>, steps: &[f64], mu: f64) -> Result<(LeafTable, RankOneMoves<T>)> {
        let mut builder = LeafTableBuilder::new(1);
        values.iter().try_for_each(|&value| builder.push_means(&[value]))?;
        let direction = try_collected(STEPS, steps.iter().map(|step| mu * step))?;
        Ok((builder.finish()?, Self::moves_of_rows(values, direction)?))
    }

    fn moves_of_rows(values: Vec<f64>, direction: Vec<f64>) -> Result<RankOneMoves<T>> {
        let rounded = try_collected(STEPS, direction.iter().map(|&v| T::from_f64(v)))?;
        Ok(RankOneMoves { values, direction, rounded })
    }

    fn moves_of_tree(values: Vec<f64>, direction: Vec<f64>) -> Result<RankOneMoves<T>> {
        Self::moves_of_rows(values, direction)
    }

    /// The leaves stay as they are: only the steps change.
    fn relabelled(tree: &Tree, _: &RowsByLeaf, _: &LeafTable) -> Result<Tree> {
        tree.try_clone()
    }
}

/// Returns the regularised least-squares steps along the values of leaves.
fn along_residuals<T: Float>(
    data: &Data<'_, T>,
    held: &Held<T>,
    values: &[f64],
    leaves: &Leaves<'_>,
    regularization: Regularization,
    control: &Control,
) -> Result<Vec<f64>> {
    let mut products = try_filled(STEPS, 0.0, data.width)?;
    leaf_sums(data, (&held.scores, &held.bounds), leaves, control, |leaf, sums| {
        let g = values[leaf];
        products.iter_mut().zip(sums).for_each(|(product, sum)| *product += g * sum);
    })?;
    let (regularization, square) = (regularization.along(values), leaves.square(values));
    products.iter_mut().for_each(|product| *product = regularization.step(*product, square));
    Ok(products)
}
