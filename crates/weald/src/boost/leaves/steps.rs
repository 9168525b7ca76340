//! Line searches: how far to go along what a weak model predicts.
//!
//! Relabelled leaves contain the mean negative gradient of every score, g; the step of score j minimises
//! Σ w ℓ(y, f + ρ_j g_j). The samples of a leaf share their g, so that slopes and curvatures along it are sums over
//! leaves of g times leaf sums (`columns`). For losses without such sums (with medians or breakpoints, or defined by the
//! user), the search evaluates the samples.

use super::Fit;
use super::columns::StageColumns;
use crate::error::{Purpose, Result};
use crate::loss::column::LeafRule;
use crate::loss::kernels::float::Float;
use crate::loss::working::Line;
use crate::pool;

/// Returns the columns of scores, if steps are searched with sums over leaves.
pub(crate) fn by_leaf_sums<'s, T: Float>(fit: Fit<'s, T>, scores: &'s [T]) -> Result<Option<StageColumns<'s, T>>> {
    match (fit.data.loss.leaf_rule(), T::narrow(scores)) {
        (LeafRule::LeafSums, Some(scores)) => StageColumns::new(fit, scores).map(Some),
        (LeafRule::LeafSums | LeafRule::Residuals | LeafRule::Search, _) => Ok(None),
    }
}

/// Finds steps by a search that evaluates the samples, along one value for each leaf or along a table with a row for each
/// leaf.
pub(crate) fn searched<T: Float>(fit: Fit<'_, T>, scores: &[T], values: &[f64]) -> Result<Vec<f64>> {
    const PURPOSE: Purpose = Purpose("scores of a stage");
    let (Fit { data, leaves, control, .. }, width) = (fit, fit.data.width);
    let rows_of = |leaf: usize| leaves.rows(leaf).iter().map(move |&row| (leaf as u32, row));
    let mut rows = PURPOSE.with_capacity((0..leaves.len()).map(|leaf| leaves.rows(leaf).len()).sum())?;
    rows.extend((0..leaves.len()).flat_map(rows_of));
    let weights = PURPOSE.collected(rows.iter().map(|&(_, row)| leaves.weight_in_sums(row)))?;
    let leaf_of = PURPOSE.collected(rows.iter().map(|&(leaf, _)| leaf))?;
    let n_lines = data.loss.n_lines(width);
    let of_line = if n_lines > 1 { control.on_one_thread() } else { control.clone() };
    let found = pool::map(control.n_threads(), n_lines, |line| {
        of_line.check()?;
        let mut pulse = of_line.pulse();
        let columns = data.loss.columns_of(line);
        let k = columns.len();
        let mut of_rows = PURPOSE.with_capacity(rows.len() * k)?;
        for &(_, row) in &rows {
            of_rows.extend_from_slice(&scores[row as usize * width..][columns.clone()]);
            pulse.after(k)?;
        }
        let own: Vec<f64>;
        let directions = if values.len() == leaves.len() || k == width {
            values
        } else {
            let mut of_columns = PURPOSE.with_capacity(leaves.len() * k)?;
            values.chunks_exact(width).for_each(|leaf| of_columns.extend_from_slice(&leaf[columns.clone()]));
            own = of_columns;
            &own[..]
        };
        let y = |at: usize| data.row(rows[at].1 as usize);
        let (scores, leaf_of, weights) = (&of_rows[..], &leaf_of[..], &weights[..]);
        let along = Line { y: &y, scores, directions, n_leaves: leaves.len(), leaf_of, weights };
        data.loss.steps_of(line, &along, &of_line)
    })?;
    let mut steps = PURPOSE.with_capacity(width)?;
    for of_line in found {
        PURPOSE.extend(&mut steps, of_line)?;
    }
    Ok(steps)
}
