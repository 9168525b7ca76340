//! The constants that boosting starts from: those of least training loss.

use super::loss::{LossKind, softmax};
use super::state::Data;
use super::vector::Score;
use crate::error::{Result, try_collected, try_extend, try_filled, try_results, try_with_capacity};
use crate::split::dispatch::SplitY;
use crate::tree::fill::exact_mean;

/// ρ₀ of each score; `rows` are those of positive weight.
pub(crate) fn start<T: Score>(
    data: &Data<'_, T>,
    kind: &LossKind,
    softmax_starts: Option<&[usize]>,
    rows: &[u32],
) -> Result<Vec<f64>> {
    const WHAT: &str = "the constants that boosting starts from";
    let units = |row: u32| data.weights.units(row as usize);
    let loss = kind.as_loss();
    match &data.y {
        SplitY::Real(y) => {
            let weights = try_collected(WHAT, rows.iter().map(|&row| units(row) as f64 * data.weights.unit))?;
            let constant = |j: usize| match kind {
                LossKind::SquaredError => Ok(exact_mean(rows.iter().map(|&row| (y.of(row)[j], units(row))))),
                _ => loss.start(&try_collected(WHAT, rows.iter().map(|&row| y.of(row)[j]))?, &weights),
            };
            try_results(WHAT, (0..data.width).map(constant))
        }
        SplitY::Slots(y) => {
            let mut on = try_filled(WHAT, 0u64, data.width)?;
            rows.iter().for_each(|&row| y.of(row).iter().for_each(|&j| on[j as usize] += units(row)));
            let weight = |units: u64| units as f64 * data.weights.unit;
            let total: u64 = rows.iter().map(|&row| units(row)).sum();
            if let Some(starts) = softmax_starts {
                let shares = try_collected(WHAT, on.iter().map(|&on| weight(on)))?;
                let mut all = try_with_capacity(WHAT, data.width)?;
                for s in starts.windows(2) {
                    try_extend(WHAT, &mut all, softmax::start(&shares[s[0]..s[1]])?)?;
                }
                return Ok(all);
            }
            let labels = [kind.y_of_off(), 1.0];
            try_results(WHAT, on.iter().map(|&on| loss.start(&labels, &[weight(total - on), weight(on)])))
        }
    }
}
