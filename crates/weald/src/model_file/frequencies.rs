//! Frequencies of labels and classes. None is negative or above one, and those of the classes of an output sum to one,
//! unless some classes were left out on purpose.
//!
//! If leaves have totals, amounts are whole numbers, and their sums are compared exactly as long as float64 can
//! represent them. Frequencies with fewer bits were rounded separately, so their sums may differ from one by the
//! rounding errors.

use std::ops::Range;

use crate::data::Outputs;
use crate::elementary::power_of_two;
use crate::tree::LeafTable;
use crate::tree::leaves::{Amounts, Indices, Layout};

/// Whole numbers below this limit, and their sums, are exact in float64.
const EXACT: f64 = (1u64 << 53) as f64;
/// The relative tolerance of larger totals. Totals and amounts above the limit are rounded when leaves are made and
/// again when they are merged. The tolerance is far above these errors, and far below what could be noticed in a
/// prediction.
const OF_LARGE_TOTALS: f64 = 1.0 / (1u64 << 40) as f64;

/// The sums of the frequencies of the classes of an output, over all leaves and outputs of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    /// All sums are one. This is also the result for labels if no frequency is above one, for numerical outputs, and
    /// for stored samples, whose slots are checked elsewhere.
    One,
    /// Some sums are below one but positive, and none is above one.
    Less,
    /// Some sums are impossible for leaves.
    Wrong,
}

/// Computes what the frequencies of classes sum to, in O(stored amounts) time.
pub(super) fn sums(table: &LeafTable, outputs: &Outputs) -> Sums {
    let n_classes = match outputs {
        Outputs::Real { .. } => return Sums::One,
        // Amounts are at most their totals, which is checked elsewhere.
        Outputs::Labels { .. } if table.has_rows() || table.totals.is_some() => return Sums::One,
        Outputs::Labels { .. } => {
            let are_right = match table.records() {
                Some(records) => records.values(table).all(|(_, value)| is_frequency(value)),
                None => (0..table.n_leaves).flat_map(|leaf| table.value(leaf)).all(|(_, value)| is_frequency(value)),
            };
            return if are_right { Sums::One } else { Sums::Wrong };
        }
        // The leaves of classes do not share values.
        Outputs::Classes { .. } if table.records().is_some() => return Sums::Wrong,
        Outputs::Classes { n_classes } => n_classes,
    };
    match (&table.totals, &table.amounts) {
        _ if table.has_rows() => Sums::One,
        (Some(totals), Amounts::U8(v)) => of_amounts(v, totals, table, n_classes),
        (Some(totals), Amounts::U16(v)) => of_amounts(v, totals, table, n_classes),
        (Some(totals), Amounts::U32(v)) => of_amounts(v, totals, table, n_classes),
        (Some(totals), Amounts::F64(v)) => of_amounts(v, totals, table, n_classes),
        // Leaves with totals have whole amounts, which are never of these types.
        (Some(_), Amounts::I8(_) | Amounts::F16(_) | Amounts::F32(_)) => Sums::Wrong,
        (None, _) => of_means(table, n_classes),
    }
}

fn of_amounts<T: Copy + Into<f64>>(amounts: &[T], totals: &[f64], table: &LeafTable, n_classes: &[u32]) -> Sums {
    let mut found = Found::default();
    for (leaf, &total) in totals.iter().enumerate() {
        let tolerance = if total < EXACT { 0.0 } else { total * OF_LARGE_TOTALS };
        let mut rest = table.range(leaf);
        let mut end = 0;
        for &k in n_classes {
            end += k as usize;
            let cells = if n_classes.len() == 1 { rest.clone() } else { first_below(end, k, &mut rest, table) };
            found.add(amounts[cells].iter().map(|&amount| amount.into()).sum(), total, tolerance);
        }
    }
    found.sums()
}

/// Takes the cells of the columns of one output, which end before column `end`, from the front of `rest`.
fn first_below(end: usize, n_classes: u32, rest: &mut Range<usize>, table: &LeafTable) -> Range<usize> {
    let n = match &table.layout {
        Layout::Dense => n_classes as usize,
        Layout::Sparse { columns: Indices::U16(v), .. } => n_below(end, &v[rest.clone()]),
        Layout::Sparse { columns: Indices::U32(v), .. } => n_below(end, &v[rest.clone()]),
        Layout::Rows { .. } | Layout::Inherited(_) => 0,
    };
    let cells = rest.start..rest.start + n;
    rest.start = cells.end;
    cells
}

fn n_below<T: Copy + Into<u32>>(end: usize, columns: &[T]) -> usize {
    columns.iter().take_while(|&&column| (column.into() as usize) < end).count()
}

/// The tolerance comes from rounding. Frequencies that are floats have been rounded to float16 or to more bits at some
/// time: those in float64 come from merging such leaves, and may be rounded again. Each rounding changes a frequency v
/// by at most 2⁻¹¹ v, or by 2⁻²⁵ below the normal numbers of float16. The tolerance is the sum of four times these
/// bounds.
fn of_means(table: &LeafTable, n_classes: &[u32]) -> Sums {
    let mut found = Found::default();
    for leaf in 0..table.n_leaves {
        let mut cells = table.value(leaf).peekable();
        let mut end = 0u32;
        for &k in n_classes {
            end += k;
            let mut sum = 0.0;
            while let Some((_, value)) = cells.next_if(|&(column, _)| column < end) {
                found.wrong |= !is_frequency(value);
                sum += value;
            }
            found.add(sum, 1.0, power_of_two(-9) + f64::from(k) * power_of_two(-23));
        }
    }
    found.sums()
}

/// Rounding to fewer bits keeps zero and one, and the order.
fn is_frequency(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}

#[derive(Default)]
struct Found {
    less: bool,
    wrong: bool,
}

impl Found {
    fn add(&mut self, sum: f64, total: f64, tolerance: f64) {
        self.less |= sum < total - tolerance;
        self.wrong |= !(sum > 0.0 && sum <= total + tolerance);
    }

    fn sums(&self) -> Sums {
        if self.wrong {
            Sums::Wrong
        } else if self.less {
            Sums::Less
        } else {
            Sums::One
        }
    }
}
