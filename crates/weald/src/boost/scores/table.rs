//! Scores of a stage whose leaves have a value for each score.

use super::{Held, Moved, Moves, Pass, Scores, Start, ValuesAndSteps};
use crate::boost::config::LeafEstimation;
use crate::boost::data::{Data, Losses};
use crate::boost::leaves::steps::{by_leaf_sums, searched};
use crate::boost::leaves::sums::leaf_sums;
use crate::boost::leaves::{Fit, RowsByLeaf, newton};
use crate::control::Control;
use crate::data::Targets;
use crate::error::{Purpose, Result};
use crate::loss::column::LeafRule;
use crate::loss::kernels::float::Float;
use crate::loss::kernels::vector::add;
use crate::tree::Tree;
use crate::tree::leaves::{LeafTable, LeafTableBuilder};

const LEAVES: Purpose = Purpose("the leaves of a stage");
const CONTRIBUTIONS: Purpose = Purpose("the contributions of a stage");

/// Scores that are moved by tables, with a row for each leaf.
#[derive(Debug)]
pub(crate) struct Table<T>(Held<T>);

/// Tables that are added to the scores.
#[derive(Debug)]
pub(crate) enum TableMoves<T> {
    /// Rows that are added as they are.
    Rows(Vec<T>),
    /// Rows of values, each of which is multiplied by its element of the direction.
    Scaled { values: Vec<f64>, direction: Vec<T> },
}

impl<T: Float> Moves<T> for TableMoves<T> {
    #[inline(always)]
    fn add_to(&self, leaf: usize, scores: &mut [T]) {
        let cells = leaf * scores.len()..(leaf + 1) * scores.len();
        match self {
            TableMoves::Rows(rows) => add(scores, &rows[cells]),
            TableMoves::Scaled { values, direction } => {
                let values = values[cells].iter().zip(direction);
                scores.iter_mut().zip(values).for_each(|(score, (&v, &d))| *score += T::from_f64(v) * d);
            }
        }
    }

    #[inline]
    fn stored(&self, leaf: usize, width: usize) -> Option<&[T]> {
        match self {
            TableMoves::Rows(rows) => Some(&rows[leaf * width..(leaf + 1) * width]),
            TableMoves::Scaled { .. } => None,
        }
    }
}

impl<'a, T: Float> Scores<'a, T> for Table<T> {
    type Moves = TableMoves<T>;

    fn new(data: &Data<'a, T>, _: Option<&'a Targets<'_>>, start: Start<'_>, control: &Control) -> Result<Self> {
        Held::new(data, start, control).map(Table)
    }

    fn held(&self) -> Option<&Held<T>> {
        Some(&self.0)
    }

    fn held_mut(&mut self) -> Option<&mut Held<T>> {
        Some(&mut self.0)
    }

    fn sweep(&mut self, data: &Data<'a, T>, moved: Moved<'_, TableMoves<T>>, pass: Pass<'_>) -> Result<Losses> {
        self.0.sweep(data, moved, pass)
    }

    /// Leaves have shrunk mean residuals, Newton steps, or mean negative gradients along which steps are searched.
    fn fit_leaves(&mut self, fit: Fit<'_, T>, _: impl FnOnce() -> Result<Vec<f64>>) -> Result<ValuesAndSteps> {
        let (width, Fit { data, leaves, .. }) = (fit.data.width, fit);
        let of_sums = |value: &dyn Fn(f64, f64) -> f64| -> Result<Vec<f64>> {
            let mut table = LEAVES.filled(0.0, leaves.len() * width)?;
            leaf_sums(fit, &self.0, |found| {
                for &(leaf, sums) in found {
                    let weight = leaves.weights[leaf];
                    let row = &mut table[leaf * width..][..width];
                    row.iter_mut().zip(sums).for_each(|(g, &sum)| *g = value(sum, weight));
                }
                Ok(())
            })?;
            Ok(table)
        };
        let scores = &self.0.scores;
        let table = match (data.loss.leaf_rule(), fit.config.leaf_estimation) {
            (LeafRule::Residuals, _) => {
                let regularization = fit.in_units();
                of_sums(&|sum, weight| regularization.step(sum, weight))?
            }
            (LeafRule::LeafSums | LeafRule::Search, LeafEstimation::Newton) => newton::table(fit, scores)?,
            (LeafRule::LeafSums | LeafRule::Search, LeafEstimation::LineSearch) => {
                if let Some(columns) = by_leaf_sums(fit, scores)? {
                    let mut table = LEAVES.filled(0.0, leaves.len() * width)?;
                    let steps = columns.steps(None, &mut table)?;
                    return Ok((table, steps));
                }
                let table = of_sums(&|sum, weight| sum / weight)?;
                let steps = searched(fit, scores, &table)?;
                return Ok((table, steps));
            }
        };
        // Leaves have what they add: steps are 1, or 0 for scores that nothing is added to.
        let mut steps = Purpose("the steps of a stage").filled(0.0, width)?;
        for row in table.chunks_exact(width) {
            steps.iter_mut().zip(row).filter(|(_, g)| **g != 0.0).for_each(|(step, _)| *step = 1.0);
        }
        Ok((table, steps))
    }

    fn moves(values: Vec<f64>, steps: &[f64], mu: f64) -> Result<(LeafTable, TableMoves<T>)> {
        let width = steps.len();
        let mut builder = LeafTableBuilder::new(width);
        let mut table = CONTRIBUTIONS.filled(T::from_f64(0.0), values.len())?;
        let mut of_leaf = CONTRIBUTIONS.filled(0.0, width)?;
        for (values, row) in values.chunks_exact(width).zip(table.chunks_exact_mut(width)) {
            for ((sum, g), step) in of_leaf.iter_mut().zip(values).zip(steps) {
                *sum = mu * (step * g);
            }
            row.iter_mut().zip(&of_leaf).for_each(|(value, &sum)| *value = T::from_f64(sum));
            builder.push_means(&of_leaf)?;
        }
        Ok((builder.finish()?, TableMoves::Rows(table)))
    }

    fn moves_of_rows(values: Vec<f64>, direction: Vec<f64>) -> Result<TableMoves<T>> {
        let direction = Purpose("the steps of a stage").collected(direction.iter().map(|&v| T::from_f64(v)))?;
        Ok(TableMoves::Scaled { values, direction })
    }

    fn moves_of_tree(values: Vec<f64>, _: Vec<f64>) -> Result<TableMoves<T>> {
        Ok(TableMoves::Rows(LEAVES.collected(values.iter().map(|&value| T::from_f64(value)))?))
    }

    fn relabelled(tree: &Tree, reached: &RowsByLeaf, leaves: &LeafTable) -> Result<Tree> {
        tree.with_leaves(reached.table(leaves, &tree.leaves)?)
    }
}
