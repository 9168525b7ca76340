//! The scores of some samples during a fit, and how the leaves of a stage move them.
//!
//! There are two kinds of leaves. A leaf of a [`Table`] has a value for each score. A leaf of [`RankOne`] has one value,
//! and each score moves by a multiple of it.

pub(crate) mod booster;
pub(crate) mod held;
pub(crate) mod low_rank;
pub(crate) mod one;
pub(crate) mod rank_one;
pub(crate) mod table;

use std::fmt::Debug;

use ndarray::ArrayView2;

use super::data::{Data, Losses, OutOfBag};
use super::leaves::steps::searched;
use super::leaves::{Fit, RowsByLeaf};
use super::projector::Projector;
use crate::control::Control;
use crate::data::Targets;
use crate::error::Result;
use crate::loss::kernels::float::Float;
use crate::tree::Tree;
use crate::tree::leaves::LeafTable;
pub(crate) use held::Held;
pub(crate) use rank_one::RankOne;
pub(crate) use table::Table;

/// The scores of samples, which leaves of one kind move.
pub(crate) trait Scores<'a, T: Float>: Debug + Send + Sized {
    /// What a stage adds to the scores of the samples of each leaf.
    type Moves: Moves<T>;

    /// Every sample starts with the same scores, plus its margins if these are given. If `implied` is given, which must
    /// then be y, scores need not be stored.
    fn new(data: &Data<'a, T>, implied: Option<&'a Targets<'_>>, start: Start<'_>, control: &Control) -> Result<Self>;

    /// Returns the scores, if they are stored.
    fn held(&self) -> Option<&Held<T>>;

    /// The same, to change them.
    fn held_mut(&mut self) -> Option<&mut Held<T>>;

    /// From now on, losses are also computed for the samples that are not in the bag, even if scores are implied.
    fn tell_losses_out_of_bag(&mut self, _: &Data<'a, T>) -> Result<()> {
        Ok(())
    }

    /// Moves the scores of samples, then writes the targets of the next tree if these are asked for. Returns the losses
    /// afterwards.
    fn sweep(&mut self, data: &Data<'a, T>, moved: Moved<'_, Self::Moves>, pass: Pass<'_>) -> Result<Losses>;

    /// Computes the values of the leaves of a stage, leaf after leaf, and the steps of all scores along them. If leaves
    /// have one value each, these are `numbers`.
    fn fit_leaves(&mut self, fit: Fit<'_, T>, numbers: impl FnOnce() -> Result<Vec<f64>>) -> Result<ValuesAndSteps>;

    /// Corrects the values of the leaves of a stage if `order` finds that they violate the monotonic constraints, with
    /// steps that do not reverse the order. There are no constraints on leaves that have one value each.
    fn keep_in_order(
        &self,
        fit: Fit<'_, T>,
        order: impl FnOnce(&mut [f64]) -> Result<bool>,
        (values, steps): (&mut [f64], &mut [f64]),
    ) -> Result<()> {
        let Some(held) = self.held() else { return Ok(()) };
        steps.iter_mut().for_each(|step| *step = step.max(0.0));
        if order(values)? {
            // By convexity, a step that does not go beyond the minimum along the current leaves lowers the loss.
            let found = searched(fit, &held.scores, values)?;
            steps.iter_mut().zip(found).for_each(|(step, found)| *step = step.min(found.max(0.0)));
        }
        Ok(())
    }

    /// Returns the leaves that the model stores, and what they add to the scores, which is the learning rate `mu` times
    /// the steps times the values.
    fn moves(values: Vec<f64>, steps: &[f64], mu: f64) -> Result<(LeafTable, Self::Moves)>;

    /// Returns what each sample adds, if it is a leaf of its own whose values a weak model predicts.
    fn moves_of_rows(values: Vec<f64>, direction: Vec<f64>) -> Result<Self::Moves>;

    /// Returns what a tree of the model adds, whose leaves have these values.
    fn moves_of_tree(values: Vec<f64>, direction: Vec<f64>) -> Result<Self::Moves> {
        Self::moves_of_rows(values, direction)
    }

    /// Returns the tree with the new leaves of those that samples reach.
    fn relabelled(tree: &Tree, reached: &RowsByLeaf, leaves: &LeafTable) -> Result<Tree>;
}

/// The constants from which scores start, and the margins of the samples if these are given.
pub(crate) type Start<'s> = (&'s [f64], Option<ArrayView2<'s, f64>>);

/// The values of leaves, leaf after leaf, and the steps of all scores along them.
pub(crate) type ValuesAndSteps = (Vec<f64>, Vec<f64>);

/// The leaf of each sample and what leaves add to scores, if a stage is added.
pub(crate) type Moved<'m, M> = Option<(Vec<u32>, &'m M)>;

/// What a pass over samples computes besides losses.
#[derive(Debug)]
pub(crate) struct Pass<'p> {
    /// If it is given, `targets` are written: one row of the negative gradients times it for each sample.
    pub(crate) projector: Option<&'p Projector>,
    pub(crate) targets: &'p mut [f64],
    /// If it is given, the loss of these samples is computed, too.
    pub(crate) out_of_bag: Option<OutOfBag<'p>>,
    pub(crate) control: &'p Control,
}

impl<'p> Pass<'p> {
    /// Computes losses only.
    pub(crate) fn of_losses(control: &'p Control) -> Self {
        Pass { projector: None, targets: &mut [], out_of_bag: None, control }
    }
}

/// What a stage adds to the scores of the samples of each leaf.
pub(crate) trait Moves<T>: Sync {
    /// Adds it to the scores of a sample of this leaf.
    fn add_to(&self, leaf: usize, scores: &mut [T]);

    /// Returns what is added to the scores of a sample of this leaf, if it is stored.
    fn stored(&self, _leaf: usize, _width: usize) -> Option<&[T]> {
        None
    }
}

/// Samples and their scores.
#[derive(Debug)]
pub(crate) struct Scored<'a, T: Float, S> {
    pub(crate) data: Data<'a, T>,
    pub(crate) scores: S,
}
