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
use super::config::{LeafEstimation, LeafFit};
use super::newton::{newton, ones};
use super::state::{Data, HeldScores, Leaves, Scored, Scores, leaf_sums};
use crate::control::Control;
use crate::data::weights::EXACT_BITS;
use crate::error::{Result, try_collected, try_extend, try_filled, try_with_capacity};
use crate::exact::reduce::Reduce;
use crate::exact::{Shift, Total};
use crate::loss::column::LeafRule;
use crate::loss::float::Float;
use crate::loss::line_search::LineSearch;
use crate::loss::newton::Regularization;
use crate::loss::working::Line;
use crate::pool;

/// What a weak model predicts for the samples of each leaf.
#[derive(Debug)]
pub(crate) enum LeafValues {
    /// One value for each score: a table with a row for each leaf.
    Table(Vec<f64>),
    /// One value for each leaf.
    Scalars(Vec<f64>),
}

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

/// Second derivatives of the samples for the one score of a tree, as integer multiples of a share of the largest.
///
/// A tree that is grown on the ratios r / h, with samples weighted by h, has the splits with the largest G² / H: those
/// whose Newton steps lower the loss most (Chen and Guestrin, 2016, with λ = 0). Samples whose prediction is certain
/// therefore have little weight, which a rare class needs.
#[derive(Debug)]
pub(crate) struct Curvatures {
    units: Vec<u32>,
    /// The value of a unit.
    value: f64,
    /// How far the products of units of weight and units of curvature are shifted.
    shift: Shift,
}

/// The number of bits of the units of the largest second derivative, and thereby the resolution for those of other
/// samples.
const UNIT_BITS: u32 = 12;
const MOST_UNITS: u64 = 1 << UNIT_BITS;

/// Products of units of weight and units of curvature are shifted until their total has at most this number of bits.
/// That each sample keeps at least one unit, for up to 2³² samples, then cannot bring the total to the limit.
const PRODUCT_BITS: u32 = Total::BITS - 1;

impl Curvatures {
    /// Returns the weight times the second derivative of a sample with this weight, in shifted units. Neither a product
    /// nor the sum of all overflows: the total of weights is below 2⁵², and a second derivative has at most 2¹² units.
    #[inline]
    pub(crate) fn parts(&self, row: usize, units: u64) -> u64 {
        self.shift.units(units * u64::from(self.units[row]))
    }

    /// Returns how much weight times second derivative a sample of this weight has, if its second derivative is the
    /// largest one, in shifted units.
    pub(crate) fn most_parts(&self, units: f64) -> f64 {
        self.shift.weight(MOST_UNITS as f64 * units)
    }

    /// Returns r / h of each sample: multiplied by the units, it is r again.
    pub(crate) fn ratios(&self, targets: &[f64]) -> Result<Vec<f64>> {
        let ratio = |(&r, &units): (&f64, &u32)| r / (f64::from(units) * self.value);
        try_collected("the targets of a stage", targets.iter().zip(&self.units).map(ratio))
    }
}

impl<T: Float> Scored<'_, T> {
    /// Returns the second derivatives of the samples of a tree, if it is grown for one score whose leaves take Newton
    /// steps with second derivatives that differ.
    pub(crate) fn curvatures(&self, fit: LeafFit, rows: &[u32]) -> Result<Option<Curvatures>> {
        let data = &self.data;
        let (Some(loss), Some(scores)) = (data.loss.curved(), self.held_scores()) else { return Ok(None) };
        if data.width != 1 || fit.estimation != LeafEstimation::Newton {
            return Ok(None);
        }
        let off = loss.domain().off();
        let mut found = try_filled(WHAT, 0.0f64, data.n_samples)?;
        let cell = |row: usize| (data.row(row).of_column(0, off), scores[row].to_f64());
        if loss.takes_blocks() {
            let y = try_collected(WHAT, rows.iter().map(|&row| cell(row as usize).0))?;
            let scores = try_collected(WHAT, rows.iter().map(|&row| cell(row as usize).1))?;
            let (mut gradients, mut curvatures) = (try_filled(WHAT, 0.0, y.len())?, try_filled(WHAT, 0.0, y.len())?);
            loss.derivatives(&y, &scores, &mut gradients, &mut curvatures);
            rows.iter().zip(curvatures).for_each(|(&row, curvature)| found[row as usize] = curvature);
        } else {
            for &row in rows {
                let (y, score) = cell(row as usize);
                found[row as usize] = loss.curvature(y, score);
            }
        }
        let largest = data.weights.workers().max_of(found.iter().copied().fold(0.0, f64::max))?;
        if !(largest > 0.0 && largest.is_finite()) {
            return Ok(None);
        }
        let units = found.iter().map(|h| ((h / largest * MOST_UNITS as f64) as u32).max(1));
        let units = try_collected(WHAT, units)?;
        let weights = &data.weights;
        let shift = if weights.exact {
            const { assert!(EXACT_BITS + UNIT_BITS <= PRODUCT_BITS) };
            Shift::NONE
        } else {
            let part = |&row: &u32| weights.units(row as usize) * u64::from(units[row as usize]);
            Shift::to_bits(weights.workers().sum_of(rows.iter().map(part).sum())?, PRODUCT_BITS)
        };
        Ok(Some(Curvatures { units, value: largest / MOST_UNITS as f64, shift }))
    }
}

const WHAT: &str = "the second derivatives of a stage";

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
