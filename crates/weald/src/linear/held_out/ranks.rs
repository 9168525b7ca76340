//! How well margins rank the columns of samples.

use crate::control::Control;
use crate::data::Weights;
use crate::elementary::{ln, power_of_two};
use crate::error::{Purpose, Result};
use crate::linear::source::Cells;

const PURPOSE: Purpose = Purpose("the ranks of held-out samples");

/// The number of best columns that count.
const K: usize = 5;
/// Gains are counted in parts of this exponent, so that their sum does not depend on the order of samples.
const PARTS: i32 = 40;

/// The normalised discounted cumulative gain of the five best columns, of the samples that have a column.
#[derive(Debug, Default)]
pub(in crate::linear) struct Ranks {
    gains: u128,
    units: u128,
}

impl Ranks {
    /// Counts the margins of samples, (rows, n_columns). Of columns with equal margins, those that a sample has come last.
    pub(in crate::linear) fn add(
        &mut self,
        y: &Cells,
        weights: &Weights,
        rows: &[u32],
        margins: &[f32],
        control: &Control,
    ) -> Result<()> {
        let mut own = Vec::new();
        let mut pulse = control.pulse();
        for (&row, margins) in rows.iter().zip(margins.chunks_exact(y.n_columns)) {
            let (units, positives) = (weights.units(row as usize), y.positives.of(row as usize));
            if units == 0 || positives.is_empty() {
                continue;
            }
            own.clear();
            PURPOSE.extend(&mut own, positives.iter().map(|&column| margins[column as usize]))?;
            own.sort_unstable_by(|a, b| b.total_cmp(a));
            own.truncate(K);
            pulse.after(y.n_columns * own.len())?;
            let unknown = y.unknown_of(row as usize);
            let gains = own.iter().enumerate().map(|(before, &margin)| {
                let is_above = |column: &u32| margins[*column as usize] >= margin;
                let all = margins.iter().filter(|other| **other >= margin).count();
                let others = all - positives.iter().chain(unknown).filter(|column| is_above(column)).count();
                if others + before < K { discount(others + before) } else { 0.0 }
            });
            let best = (0..own.len()).map(discount).sum::<f64>();
            let share = gains.sum::<f64>() / best;
            self.gains += u128::from(units) * (share * power_of_two(PARTS)).round() as u128;
            self.units += u128::from(units);
        }
        Ok(())
    }

    /// Returns the mean of all samples that were counted.
    pub(in crate::linear) fn mean(&self) -> f64 {
        self.gains as f64 / power_of_two(PARTS) / self.units.max(1) as f64
    }
}

/// Returns what the column at a place counts, the first of which is 0.
fn discount(place: usize) -> f64 {
    std::f64::consts::LN_2 / ln(place as f64 + 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::samples::Lists;

    #[test]
    fn gains_are_those_of_the_ranking_and_do_not_depend_on_the_order_of_columns() {
        let lists = |rows: &[&[u32]]| {
            let mut lists = Lists::new().unwrap();
            rows.iter().for_each(|row| lists.push(row.iter().copied()).unwrap());
            lists
        };
        let of = |positives: &[&[u32]], unknown: &[&[u32]], margins: &[f32]| {
            let y = Cells { positives: lists(positives), unknown: Some(lists(unknown)), n_columns: 3 };
            let (weights, mut ranks) = (Weights::of_rows(None, 2).unwrap(), Ranks::default());
            ranks.add(&y, &weights, &[0, 1], margins, &Control::default()).unwrap();
            ranks.mean()
        };
        // The second sample has no column and does not count. Of equal margins, the sample's own is second.
        let second = discount(1);
        assert!((of(&[&[0], &[]], &[&[], &[]], &[1.0, 1.0, -1.0, 0.0, 0.0, 0.0]) - second).abs() < 1e-9);
        assert!((of(&[&[2], &[]], &[&[], &[]], &[-1.0, 1.0, 1.0, 0.0, 0.0, 0.0]) - second).abs() < 1e-9);
        // A column that is unknown is not above one that is there.
        assert_eq!(of(&[&[0], &[]], &[&[1], &[]], &[1.0, 2.0, -1.0, 0.0, 0.0, 0.0]), 1.0);
        assert_eq!(of(&[&[0, 1], &[]], &[&[], &[]], &[1.0, 1.0, -1.0, 0.0, 0.0, 0.0]), 1.0);
        assert!(
            (of(&[&[0], &[1]], &[&[], &[]], &[1.0, 0.0, 0.0, 1.0, 0.0, 1.0]) - (1.0 + discount(2)) / 2.0).abs() < 1e-9
        );
    }
}
