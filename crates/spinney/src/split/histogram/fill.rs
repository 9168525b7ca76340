//! Sums by bin: the hot loops.

use crate::criterion::variance::{Many, MovedSums, One};

/// The samples of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Samples<'a> {
    /// Items of a sample.
    pub(super) len: usize,
    /// Samples of all rows.
    pub(super) table: &'a [f64],
    /// Rows of the node.
    pub(super) rows: &'a [u32],
    /// Their samples one after the other, where [`Bins::GATHERS`].
    pub(super) gathered: &'a [[f64; 2]],
}

/// One feature's codes, and its bins: the sum of their samples, laid out as a sample is.
#[derive(Debug)]
pub(crate) struct BinnedColumn<'a> {
    pub(super) codes: &'a [u8],
    pub(super) sums: &'a mut [f64],
    /// Samples in each bin, where wanted; otherwise empty.
    pub(super) counts: &'a mut [u32],
}

/// Features that are filled together.
pub(super) const GROUP: usize = 4;

/// Sums that can be collected in bins.
pub(crate) trait Bins: MovedSums {
    /// Whether the samples of a node are copied one after the other before its columns are filled.
    const GATHERS: bool;

    /// Sums the samples of each bin, for at most [`GROUP`] columns.
    fn fill(samples: Samples<'_>, columns: &mut [BinnedColumn<'_>]);
}

impl Bins for One {
    const GATHERS: bool = true;

    fn fill(samples: Samples<'_>, columns: &mut [BinnedColumn<'_>]) {
        match columns {
            [a, b, c, d] => fill_together(samples, [a, b, c, d]),
            [a, b, c] => fill_together(samples, [a, b, c]),
            [a, b] => fill_together(samples, [a, b]),
            _ => columns.iter_mut().for_each(|column| fill_together(samples, [column])),
        }
    }
}

/// Every sample is read once for all columns. Bins lie in a table of their own meanwhile, as long as there are codes, so
/// that no code needs a check.
fn fill_together<const K: usize>(samples: Samples<'_>, columns: [&mut BinnedColumn<'_>; K]) {
    let mut bins = [[[0.0f64; 2]; 256]; K];
    let codes: [&[u8]; K] = std::array::from_fn(|k| columns[k].codes);
    let n = codes[0].len();
    if samples.rows.len() == n {
        let codes = codes.map(|codes| &codes[..n]);
        for (i, sample) in samples.gathered[..n].iter().enumerate() {
            for k in 0..K {
                let bin = &mut bins[k][usize::from(codes[k][i])];
                *bin = [bin[0] + sample[0], bin[1] + sample[1]];
            }
        }
    } else {
        for (&row, sample) in samples.rows.iter().zip(samples.gathered) {
            for k in 0..K {
                let bin = &mut bins[k][usize::from(codes[k][row as usize])];
                *bin = [bin[0] + sample[0], bin[1] + sample[1]];
            }
        }
    }
    for (column, bins) in columns.into_iter().zip(&bins) {
        let sums = column.sums.as_chunks_mut::<2>().0;
        sums.copy_from_slice(&bins[..sums.len()]);
    }
}

impl Bins for Many {
    const GATHERS: bool = false;

    fn fill(samples: Samples<'_>, columns: &mut [BinnedColumn<'_>]) {
        let len = samples.len;
        for column in columns {
            column.sums.fill(0.0);
            for &row in samples.rows {
                let sample = &samples.table[row as usize * len..][..len];
                let bin = usize::from(column.codes[row as usize]);
                let sums = &mut column.sums[bin * len..][..len];
                sums.iter_mut().zip(sample).for_each(|(sum, item)| *sum += item);
            }
        }
    }
}

/// Counts the samples of each bin, where wanted.
pub(super) fn count(rows: &[u32], column: &mut BinnedColumn<'_>) {
    if !column.counts.is_empty() {
        column.counts.fill(0);
        rows.iter().for_each(|&row| column.counts[usize::from(column.codes[row as usize])] += 1);
    }
}
