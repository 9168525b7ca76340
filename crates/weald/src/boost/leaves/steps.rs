//! The leaves and step sizes of one stage: what its weak model predicts, and how far to go along it.
//!
//! Newton steps of leaves and scores are computed in `newton`, except those of the squared error, which are shrunk
//! means.
//!
//! With line searches, relabelled leaves contain the mean negative gradient of every score, g; the step of score j
//! minimises Σ w ℓ(y, f + ρ_j g_j). The samples of a leaf share their g, so that slopes and curvatures along it are
//! sums over leaves of g times leaf sums. For losses without such sums (with medians or breakpoints, or defined by the
//! user), the search evaluates the samples.

use super::columns::StageColumns;
use super::newton::{newton, ones};
use super::sums::leaf_sums;
use super::{LeafValues, Leaves};
use crate::boost::config::{LeafEstimation, LeafFit};
use crate::boost::data::Data;
use crate::boost::scores::{HeldScores, Scored, Scores};
use crate::control::Control;
use crate::error::{Result, try_collected, try_extend, try_filled, try_with_capacity};
use crate::loss::column::LeafRule;
use crate::loss::float::Float;
use crate::loss::line_search::LineSearch;
use crate::loss::newton::Regularization;
use crate::loss::working::Line;
use crate::pool;

/// Scores that are stored, and bounds of their negative gradients.
type Held<'s, T> = (&'s [T], &'s [T]);

impl<T: Float> Scored<'_, T> {
    /// Computes the leaves of a stage and the steps along them. If leaves have one value each, these are given as
    /// `numbers`; otherwise leaves are relabelled.
    pub(crate) fn fit_leaves(
        &mut self,
        numbers: impl FnOnce() -> Result<Vec<f64>>,
        leaves: &Leaves<'_>,
        fit: LeafFit,
        control: &Control,
    ) -> Result<(LeafValues, Vec<f64>)> {
        let data = &self.data;
        let in_units = fit.regularization.of_units(data.weights.unit, 1.0);
        let HeldScores { scores, bounds, has_one_number } = match &mut self.scores {
            Scores::Held(held) => held,
            Scores::LowRank(low_rank) => {
                let values = numbers()?;
                let steps = low_rank.steps(data, leaves, &values, in_units, control)?;
                return Ok((LeafValues::Scalars(values), steps));
            }
        };
        let given = has_one_number.then(numbers).transpose()?;
        match (data.loss.leaf_rule(), fit.estimation) {
            (LeafRule::Residuals, _) => residuals(data, (scores, bounds), given, leaves, in_units, control),
            (LeafRule::LeafSums | LeafRule::Search, LeafEstimation::Newton) => {
                newton(data, scores, given, leaves, fit, control)
            }
            (LeafRule::LeafSums | LeafRule::Search, LeafEstimation::LineSearch) => match given {
                None => relabel(data, (scores, bounds), leaves, fit.search, control),
                Some(values) => along(data, scores, values, leaves, fit.search, control),
            },
        }
    }

    /// Corrects the leaves of a stage if `order` finds that they violate the monotonic constraints, with steps that do
    /// not reverse the order.
    pub(crate) fn keep_in_order(
        &self,
        order: impl FnOnce(&mut [f64]) -> Result<bool>,
        (values, steps): (&mut LeafValues, &mut [f64]),
        leaves: &Leaves<'_>,
        search: LineSearch,
        control: &Control,
    ) -> Result<()> {
        // Leaves with one value are those of a projection, for which there are no constraints.
        let (LeafValues::Table(table), Scores::Held(held)) = (&mut *values, &self.scores) else { return Ok(()) };
        steps.iter_mut().for_each(|step| *step = step.max(0.0));
        if order(table)? {
            // By convexity, a step that does not go beyond the minimum along the current leaves lowers the loss.
            let found = held.search_steps(&self.data, values, leaves, search, control)?;
            steps.iter_mut().zip(found).for_each(|(step, found)| *step = step.min(found.max(0.0)));
        }
        Ok(())
    }
}

impl<T: Float> HeldScores<T> {
    /// Returns the steps along any predictions of a weak model for leaves, by a search that evaluates the samples.
    pub(crate) fn search_steps(
        &self,
        data: &Data<'_, T>,
        values: &LeafValues,
        leaves: &Leaves<'_>,
        search: LineSearch,
        control: &Control,
    ) -> Result<Vec<f64>> {
        searched(data, &self.scores, values, leaves, search, control)
    }
}

/// Computes the regularised least-squares solution: leaves with the shrunk mean residuals, or steps along the `given`
/// values of leaves.
fn residuals<T: Float>(
    data: &Data<'_, T>,
    held: Held<'_, T>,
    given: Option<Vec<f64>>,
    leaves: &Leaves<'_>,
    regularization: Regularization,
    control: &Control,
) -> Result<(LeafValues, Vec<f64>)> {
    let width = data.width;
    let Some(values) = given else {
        let mut table = try_filled("the leaves of a stage", 0.0, leaves.len() * width)?;
        leaf_sums(data, held, leaves, control, |leaf, sums| {
            let weight = leaves.weights[leaf];
            let g = &mut table[leaf * width..][..width];
            g.iter_mut().zip(sums).for_each(|(g, &sum)| *g = regularization.step(sum, weight));
        })?;
        let steps = ones(&table, width)?;
        return Ok((LeafValues::Table(table), steps));
    };
    let regularization = regularization.along(&values);
    let mut products = try_filled("the steps of a stage", 0.0, width)?;
    leaf_sums(data, held, leaves, control, |leaf, sums| {
        let g = values[leaf];
        products.iter_mut().zip(sums).for_each(|(product, sum)| *product += g * sum);
    })?;
    let square: f64 = values.iter().zip(&leaves.weights).map(|(g, w)| g * g * w).sum();
    products.iter_mut().for_each(|product| *product = regularization.step(*product, square));
    Ok((LeafValues::Scalars(values), products))
}

/// Relabels the leaves with mean negative gradients, and finds the steps.
fn relabel<T: Float>(
    data: &Data<'_, T>,
    held: Held<'_, T>,
    leaves: &Leaves<'_>,
    search: LineSearch,
    control: &Control,
) -> Result<(LeafValues, Vec<f64>)> {
    let width = data.width;
    let mut table = try_filled("the leaves of a stage", 0.0, leaves.len() * width)?;
    if let Some(columns) = by_leaf_sums(data, held.0, leaves, search, control)? {
        let steps = columns.steps(None, &mut table)?;
        return Ok((LeafValues::Table(table), steps));
    }
    leaf_sums(data, held, leaves, control, |leaf, sums| {
        let weight = leaves.weights[leaf];
        let g = &mut table[leaf * width..][..width];
        g.iter_mut().zip(sums).for_each(|(g, sum)| *g = sum / weight);
    })?;
    let values = LeafValues::Table(table);
    let steps = searched(data, held.0, &values, leaves, search, control)?;
    Ok((values, steps))
}

/// Finds the steps along one value for each leaf.
fn along<T: Float>(
    data: &Data<'_, T>,
    scores: &[T],
    values: Vec<f64>,
    leaves: &Leaves<'_>,
    search: LineSearch,
    control: &Control,
) -> Result<(LeafValues, Vec<f64>)> {
    if let Some(columns) = by_leaf_sums(data, scores, leaves, search, control)? {
        let steps = columns.steps(Some(&values), &mut [])?;
        return Ok((LeafValues::Scalars(values), steps));
    }
    let values = LeafValues::Scalars(values);
    let steps = searched(data, scores, &values, leaves, search, control)?;
    Ok((values, steps))
}

/// Returns the columns of scores, if steps are searched with sums over leaves.
fn by_leaf_sums<'s, T: Float>(
    data: &'s Data<'_, T>,
    scores: &'s [T],
    leaves: &'s Leaves<'_>,
    search: LineSearch,
    control: &'s Control,
) -> Result<Option<StageColumns<'s, T>>> {
    match (data.loss.leaf_rule(), search, T::narrow(scores)) {
        (LeafRule::LeafSums, LineSearch::Newton, Some(scores)) => {
            StageColumns::new(data, scores, leaves, control).map(Some)
        }
        (LeafRule::LeafSums | LeafRule::Residuals | LeafRule::Search, _, _) => Ok(None),
    }
}

/// Finds steps by a search that evaluates the samples.
fn searched<T: Float>(
    data: &Data<'_, T>,
    scores: &[T],
    values: &LeafValues,
    leaves: &Leaves<'_>,
    search: LineSearch,
    control: &Control,
) -> Result<Vec<f64>> {
    const WHAT: &str = "scores of a stage";
    let width = data.width;
    let rows_of = |leaf: usize| leaves.rows(leaf).iter().map(move |&row| (leaf as u32, row));
    let mut rows = try_with_capacity(WHAT, (0..leaves.len()).map(|leaf| leaves.rows(leaf).len()).sum())?;
    rows.extend((0..leaves.len()).flat_map(rows_of));
    let weight = |&(_, row): &(u32, u32)| data.weights.in_sums(data.weights.units(row as usize));
    let weights = try_collected(WHAT, rows.iter().map(weight))?;
    let leaf_of = try_collected(WHAT, rows.iter().map(|&(leaf, _)| leaf))?;
    let n_lines = data.loss.n_lines(width);
    let of_line = if n_lines > 1 { control.on_one_thread() } else { control.clone() };
    let found = pool::map(control.n_threads(), n_lines, |line| {
        of_line.check()?;
        let mut pulse = of_line.pulse();
        let columns = data.loss.columns_of(line);
        let k = columns.len();
        let mut of_rows = try_with_capacity(WHAT, rows.len() * k)?;
        for &(_, row) in &rows {
            of_rows.extend_from_slice(&scores[row as usize * width..][columns.clone()]);
            pulse.after(k)?;
        }
        let own: Vec<f64>;
        let directions = match values {
            LeafValues::Scalars(values) => &values[..],
            LeafValues::Table(table) if k == width => &table[..],
            LeafValues::Table(table) => {
                let mut of_columns = try_with_capacity(WHAT, leaves.len() * k)?;
                table.chunks_exact(width).for_each(|leaf| of_columns.extend_from_slice(&leaf[columns.clone()]));
                own = of_columns;
                &own[..]
            }
        };
        let y = |at: usize| data.row(rows[at].1 as usize);
        let (scores, leaf_of, weights) = (&of_rows[..], &leaf_of[..], &weights[..]);
        let along = Line { y: &y, scores, directions, n_leaves: leaves.len(), leaf_of, weights };
        data.loss.steps_of(line, &along, search, &of_line)
    })?;
    let mut steps = try_with_capacity(WHAT, width)?;
    for of_line in found {
        try_extend(WHAT, &mut steps, of_line)?;
    }
    Ok(steps)
}
