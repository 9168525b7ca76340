//! The sums of bins, in the innermost loops.

use super::sent::sum_bins;
use super::words::{Form, Gatherings};
use crate::criterion::variance::{Bounds, Many, MovedSums, One};
use crate::data::bins::codes::Code;
use crate::error::{Purpose, Result};
use crate::exact::reduce::{Reduce, Workers};

/// The samples of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Samples<'a> {
    /// The number of items of a sample.
    pub(super) len: usize,
    /// The table of all samples.
    pub(super) table: &'a [f64],
    /// The samples of the node.
    pub(super) rows: &'a [u32],
    /// Copies of these samples in consecutive memory, if [`BinnedSums::GATHERS`].
    pub(super) gathered: Gatherings<'a>,
}

/// The codes of one feature and its bins. A bin has the sum of its samples, in the layout of a sample.
#[derive(Debug)]
pub(crate) struct BinnedColumn<'a, C = u8> {
    pub(super) codes: &'a [C],
    pub(super) sums: &'a mut [f64],
    /// The number of samples in each bin, or empty if it is not needed.
    pub(super) counts: &'a mut [u32],
    /// The weight of all samples of X in each bin, or empty if it is not known.
    pub(super) of_all: &'a [f64],
}

impl<C> BinnedColumn<'_, C> {
    /// Sets bins without samples, whose contents are not specified, to zero.
    fn clear_empty_bins(&mut self, len: usize) {
        self.sums.chunks_exact_mut(len).filter(|bin| bin[0] == 0.0).for_each(|bin| bin.fill(0.0));
    }
}

/// The maximum number of sums that are sent together, unless a single feature has more.
const SENT_AT_ONCE: usize = 1 << 22;

/// Replaces the bins of this worker by the sums over all workers. A sample has `len` items.
pub(super) fn sum_over<C>(
    columns: &mut [BinnedColumn<'_, C>],
    workers: &Workers,
    len: usize,
    bounds: Bounds,
) -> Result<()> {
    const PURPOSE: Purpose = Purpose("the sums of all workers");
    if workers.has_all_rows() {
        return Ok(());
    }
    columns.iter_mut().for_each(|column| column.clear_empty_bins(len));
    let (mut sums, mut counts) = (Vec::new(), Vec::new());
    let mut rest = columns;
    while !rest.is_empty() {
        let mut n_sums = 0;
        let is_beyond = |column: &BinnedColumn<'_, C>| {
            n_sums += column.sums.len();
            n_sums > SENT_AT_ONCE
        };
        let n = rest.iter().position(is_beyond).unwrap_or(rest.len()).max(1);
        let (batch, others) = rest.split_at_mut(n);
        rest = others;
        sums.clear();
        counts.clear();
        for column in &*batch {
            PURPOSE.extend(&mut sums, column.sums.iter().copied())?;
            PURPOSE.extend(&mut counts, column.counts.iter().copied())?;
        }
        sum_bins(workers, bounds, len, (&mut sums, &mut counts))?;
        let (mut sums, mut counts) = (&sums[..], &counts[..]);
        for column in batch {
            let (of_column, after) = sums.split_at(column.sums.len());
            column.sums.copy_from_slice(of_column);
            sums = after;
            let (of_column, after) = counts.split_at(column.counts.len());
            column.counts.copy_from_slice(of_column);
            counts = after;
        }
    }
    Ok(())
}

/// The number of features that are filled together.
pub(super) const GROUP: usize = 4;

/// Sums that can be collected in bins.
pub(crate) trait BinnedSums: MovedSums {
    /// Whether the samples of a node are copied to consecutive memory before its columns are filled.
    const GATHERS: bool;

    /// Sums the samples of each bin, for at most [`GROUP`] columns. Bins without samples have the weight zero; the rest
    /// of their contents is not specified.
    fn fill(samples: Samples<'_>, columns: &mut [BinnedColumn<'_>]);

    /// Subtracts `part` from `whole`, which have the same bins, for samples with `len` items.
    fn take_away(whole: &mut [f64], part: &[f64], len: usize);
}

impl BinnedSums for One {
    const GATHERS: bool = true;

    fn fill(samples: Samples<'_>, columns: &mut [BinnedColumn<'_>]) {
        match columns {
            [a, b, c, d] => fill_together(samples, [a, b, c, d]),
            [a, b, c] => fill_together(samples, [a, b, c]),
            [a, b] => fill_together(samples, [a, b]),
            // There is one column, or there are more than are filled together.
            [] | [_] | [_, _, _, _, _, ..] => columns.iter_mut().for_each(|column| fill_together(samples, [column])),
        }
    }

    fn take_away(whole: &mut [f64], part: &[f64], _: usize) {
        whole.iter_mut().zip(part).for_each(|(whole, part)| *whole -= part);
    }
}

/// Reads every sample once for all columns.
fn fill_together<const K: usize>(samples: Samples<'_>, columns: [&mut BinnedColumn<'_>; K]) {
    let codes: [&[u8]; K] = std::array::from_fn(|k| columns[k].codes);
    match samples.gathered {
        Gatherings::Pairs(pairs) => {
            let bins =
                summed(codes, samples.rows, pairs, [0.0f64; 2], |bin, sample| [bin[0] + sample[0], bin[1] + sample[1]]);
            for (column, bins) in columns.into_iter().zip(&bins) {
                let sums = column.sums.as_chunks_mut::<2>().0;
                sums.copy_from_slice(&bins[..sums.len()]);
            }
        }
        Gatherings::Counted(pairs, unit) => {
            let bins =
                summed(codes, samples.rows, pairs, [0.0f64; 2], |bin, sample| [bin[0] + sample[0], bin[1] + sample[1]]);
            for (column, bins) in columns.into_iter().zip(&bins) {
                let sums = column.sums.as_chunks_mut::<2>().0.iter_mut().zip(&mut *column.counts);
                for ((sum, count), &[weight, target]) in sums.zip(bins) {
                    *count = (weight / unit) as u32;
                    *sum = [weight - f64::from(*count) * unit, target];
                }
            }
        }
        Gatherings::Words(words, form) => {
            let bins = summed(codes, samples.rows, words, 0u64, u64::wrapping_add);
            for (column, bins) in columns.into_iter().zip(&bins) {
                let pairs = column.sums.as_chunks_mut::<2>().0.iter_mut().zip(bins);
                match form {
                    Form::Target => pairs.zip(column.of_all).for_each(|((sum, &bin), &w)| *sum = form.pair(bin, w)),
                    Form::Shared(_) | Form::Pairs => pairs.for_each(|(sum, &bin)| *sum = form.pair(bin, 0.0)),
                }
            }
        }
    }
}

/// Returns the sums of bins. They are in tables that have one bin for each possible code, so that no code needs a bounds
/// check.
#[inline(always)]
fn summed<const K: usize, S: Copy>(
    codes: [&[u8]; K],
    rows: &[u32],
    samples: &[S],
    zero: S,
    add: impl Fn(S, S) -> S,
) -> [[S; 256]; K] {
    let mut bins = [[zero; 256]; K];
    // All columns have the same length, so that one check serves all of them.
    let n = codes[0].len();
    let codes = codes.map(|codes| &codes[..n]);
    if rows.len() == n {
        for (i, &sample) in samples[..n].iter().enumerate() {
            for k in 0..K {
                let bin = &mut bins[k][usize::from(codes[k][i])];
                *bin = add(*bin, sample);
            }
        }
    } else {
        for (&row, &sample) in rows.iter().zip(samples) {
            for k in 0..K {
                let bin = &mut bins[k][usize::from(codes[k][row as usize])];
                *bin = add(*bin, sample);
            }
        }
    }
    bins
}

impl BinnedSums for Many {
    const GATHERS: bool = false;

    fn fill(samples: Samples<'_>, columns: &mut [BinnedColumn<'_>]) {
        fill_any(samples, columns);
    }

    fn take_away(whole: &mut [f64], part: &[f64], len: usize) {
        let bins = whole.chunks_exact_mut(len).zip(part.chunks_exact(len));
        for (whole, part) in bins.filter(|(_, part)| part[0] != 0.0) {
            whole.iter_mut().zip(part).for_each(|(whole, part)| *whole -= part);
        }
    }
}

/// Fills bins for samples of any length and codes of any type.
pub(super) fn fill_any<C: Code>(samples: Samples<'_>, columns: &mut [BinnedColumn<'_, C>]) {
    match samples.len {
        2 => fill_short::<2, C>(samples, columns),
        3 => fill_short::<3, C>(samples, columns),
        4 => fill_short::<4, C>(samples, columns),
        5 => fill_short::<5, C>(samples, columns),
        6 => fill_short::<6, C>(samples, columns),
        7 => fill_short::<7, C>(samples, columns),
        8 => fill_short::<8, C>(samples, columns),
        9 => fill_short::<9, C>(samples, columns),
        10 => fill_short::<10, C>(samples, columns),
        11 => fill_short::<11, C>(samples, columns),
        _ => columns.iter_mut().for_each(|column| fill_long(samples, column)),
    }
}

/// Fills bins for samples with few items. The number of items is known to the compiler, which then needs no loop for
/// them. Two columns are filled at a time, because their bins fit into the innermost cache.
fn fill_short<const LEN: usize, C: Code>(samples: Samples<'_>, columns: &mut [BinnedColumn<'_, C>]) {
    fn add<const LEN: usize, C: Code>(column: &mut BinnedColumn<'_, C>, row: u32, sample: &[f64; LEN]) {
        let bin = &mut column.sums.as_chunks_mut::<LEN>().0[column.codes[row as usize].place()];
        *bin = std::array::from_fn(|i| bin[i] + sample[i]);
    }
    let table = samples.table.as_chunks::<LEN>().0;
    columns.iter_mut().for_each(|column| column.sums.fill(0.0));
    for pair in columns.chunks_mut(2) {
        match pair {
            [a, b] => {
                for &row in samples.rows {
                    let sample = &table[row as usize];
                    add(a, row, sample);
                    add(b, row, sample);
                }
            }
            _ => pair.iter_mut().for_each(|a| samples.rows.iter().for_each(|&row| add(a, row, &table[row as usize]))),
        }
    }
}

/// Fills bins for samples with many items. Bins are not cleared but overwritten by their first sample, because few
/// samples touch few bins.
fn fill_long<C: Code>(samples: Samples<'_>, column: &mut BinnedColumn<'_, C>) {
    let len = samples.len;
    column.sums.chunks_exact_mut(len).for_each(|bin| bin[0] = 0.0);
    for &row in samples.rows {
        let sample = &samples.table[row as usize * len..][..len];
        let bin = &mut column.sums[column.codes[row as usize].place() * len..][..len];
        if bin[0] == 0.0 {
            bin.copy_from_slice(sample);
        } else {
            bin.iter_mut().zip(sample).for_each(|(sum, item)| *sum += item);
        }
    }
}

/// Counts the samples of each bin, if the counts are needed.
pub(super) fn count<C: Code>(rows: &[u32], column: &mut BinnedColumn<'_, C>) {
    if !column.counts.is_empty() {
        column.counts.fill(0);
        rows.iter().for_each(|&row| column.counts[column.codes[row as usize].place()] += 1);
    }
}
