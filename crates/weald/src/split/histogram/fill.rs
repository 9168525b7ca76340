//! The sums of bins, in the innermost loops.

use super::sent::sum_bins;
use super::spare::PURPOSE;
use super::words::{Gatherings, Wide, Words};
use crate::criterion::variance::{Bounds, Many, MovedSums, One};
use crate::data::bins::codes::{ByRow, Code};
use crate::error::{Purpose, Result};
use crate::exact::reduce::{Reduce, Workers};
use crate::vectorised::vectorised;

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
    /// The number of the feature in X.
    pub(super) place: usize,
    pub(super) sums: &'a mut [f64],
    /// The number of samples in each bin, or empty if it is not needed.
    pub(super) counts: &'a mut [u32],
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
    fn fill(samples: Samples<'_>, columns: &mut [BinnedColumn<'_>]) -> Result<()>;

    /// Subtracts `part` from `whole`, which have the same bins, for samples with `len` items.
    fn take_away(whole: &mut [f64], part: &[f64], len: usize);
}

impl BinnedSums for One {
    const GATHERS: bool = true;

    fn fill(samples: Samples<'_>, columns: &mut [BinnedColumn<'_>]) -> Result<()> {
        match columns {
            [a, b, c, d] => fill_together(samples, [a, b, c, d]),
            [a, b, c] => fill_together(samples, [a, b, c]),
            [a, b] => fill_together(samples, [a, b]),
            // There is one column, or there are more than are filled together.
            [] | [_] | [_, _, _, _, _, ..] => {
                columns.iter_mut().try_for_each(|column| fill_together(samples, [column]))
            }
        }
    }

    fn take_away(whole: &mut [f64], part: &[f64], _: usize) {
        whole.iter_mut().zip(part).for_each(|(whole, part)| *whole -= part);
    }
}

/// Reads every sample once for all columns.
fn fill_together<const K: usize>(samples: Samples<'_>, columns: [&mut BinnedColumn<'_>; K]) -> Result<()> {
    let codes: [&[u8]; K] = std::array::from_fn(|k| columns[k].codes);
    let are_all = samples.rows.len() == codes[0].len();
    match samples.gathered {
        Gatherings::Pairs(pairs) => {
            let mut bins = [[[0.0f64; 2]; 256]; K];
            add_columns(codes, (samples.rows, are_all), pairs, &mut bins, add_pairs);
            columns.into_iter().zip(&bins).for_each(|(column, bins)| column.take_pairs(bins));
        }
        Gatherings::Words(words) => {
            let mut bins = [[0u64; 256]; K];
            let wide = words.in_runs(&mut bins, |run, bins| {
                let rows = (&samples.rows[run.clone()], are_all);
                add_columns(codes, rows, &words.words[run], bins, u64::wrapping_add);
            })?;
            columns
                .into_iter()
                .zip(&bins)
                .enumerate()
                .for_each(|(k, (column, bins))| column.take_words(bins, wide.get(k), words));
        }
    }
    Ok(())
}

fn add_pairs(bin: [f64; 2], sample: [f64; 2]) -> [f64; 2] {
    [bin[0] + sample[0], bin[1] + sample[1]]
}

impl BinnedColumn<'_> {
    /// Takes over the sums of pairs.
    fn take_pairs(&mut self, bins: &[[f64; 2]; 256]) {
        let sums = self.sums.as_chunks_mut::<2>().0;
        sums.copy_from_slice(&bins[..sums.len()]);
    }

    /// Takes over the sums of words: those of bins, or of several runs.
    fn take_words(&mut self, bins: &[u64; 256], wide: Option<&Wide>, words: Words<'_>) {
        let pairs = self.sums.as_chunks_mut::<2>().0.iter_mut();
        match wide {
            None => vectorised(
                #[inline(always)]
                || pairs.zip(bins).for_each(|(sum, &bin)| *sum = words.form.floats(bin)),
            ),
            Some(wide) => {
                let wide = wide.weights.iter().zip(&wide.targets);
                pairs.zip(wide).for_each(|(sum, (&weight, &target))| *sum = [weight as f64, target as f64]);
            }
        }
    }
}

/// The number of samples whose codes are read before they are added, so that they wait for memory together.
const BLOCK: usize = 128;

/// The number of features whose bins stay in the innermost cache together.
const TILE: usize = 16;

/// Fills columns of scattered samples from their codes side by side: a sample is read from memory once for all features.
pub(super) fn fill_by_row(samples: Samples<'_>, columns: &mut [BinnedColumn<'_>], x: ByRow<'_>) -> Result<()> {
    match samples.gathered {
        Gatherings::Pairs(pairs) => {
            let mut bins = bins_of_tiles([0.0f64; 2], columns)?;
            add_rows(x, columns, samples.rows, pairs, &mut bins, add_pairs);
            columns.iter_mut().zip(&bins).for_each(|(column, bins)| column.take_pairs(bins));
        }
        Gatherings::Words(words) => {
            let mut bins = bins_of_tiles(0u64, columns)?;
            let wide = words.in_runs(&mut bins, |run, bins| {
                add_rows(x, columns, &samples.rows[run.clone()], &words.words[run], bins, u64::wrapping_add);
            })?;
            let of_columns = columns.iter_mut().zip(&bins).enumerate();
            of_columns.for_each(|(k, (column, bins))| column.take_words(bins, wide.get(k), words));
        }
    }
    Ok(())
}

/// Returns empty bins. A tile has bins for as many columns as its loop adds to, also where fewer are left.
fn bins_of_tiles<S: Copy>(zero: S, columns: &[BinnedColumn<'_>]) -> Result<Vec<[S; 256]>> {
    PURPOSE.filled([zero; 256], columns.len() + TILE)
}

/// Adds samples to the bins of columns.
fn add_rows<S: Copy>(
    x: ByRow<'_>,
    columns: &[BinnedColumn<'_>],
    rows: &[u32],
    samples: &[S],
    bins: &mut [[S; 256]],
    add: impl Fn(S, S) -> S + Copy,
) {
    for block in rows.chunks(BLOCK).zip(samples.chunks(BLOCK)) {
        for (columns, first) in columns.chunks(TILE).zip((0..).step_by(TILE)) {
            let bins = &mut bins[first..];
            match columns.len() {
                ..=4 => add_tile::<4, S>(x, columns, block, bins, add),
                5..=8 => add_tile::<8, S>(x, columns, block, bins, add),
                _ => add_tile::<TILE, S>(x, columns, block, bins, add),
            }
        }
    }
}

/// Adds a block of samples to the bins of at most K columns.
#[inline(always)]
fn add_tile<const K: usize, S: Copy>(
    x: ByRow<'_>,
    columns: &[BinnedColumn<'_>],
    (rows, samples): (&[u32], &[S]),
    bins: &mut [[S; 256]],
    add: impl Fn(S, S) -> S,
) {
    let Some(bins) = bins.first_chunk_mut::<K>() else { return };
    let places: [usize; K] = std::array::from_fn(|k| columns[k.min(columns.len() - 1)].place);
    let (first, are_neighbours) = (places[0], (0..K).all(|k| places[k] == places[0] + k));
    let mut codes = [[0u8; K]; BLOCK];
    for (codes, &row) in codes.iter_mut().zip(rows) {
        let of_row = x.of(row);
        *codes = match of_row[first..].first_chunk::<K>() {
            Some(codes) if are_neighbours => *codes,
            _ => places.map(|place| of_row[place]),
        };
    }
    for (codes, &sample) in codes.iter().zip(samples) {
        for k in 0..K {
            let bin = &mut bins[k][usize::from(codes[k])];
            *bin = add(*bin, sample);
        }
    }
}

/// Adds samples to the bins of columns. These have one bin for each possible code, so that no code needs a bounds check.
/// If the node has all samples of X, the rows are consecutive.
#[inline(never)]
fn add_columns<const K: usize, S: Copy>(
    codes: [&[u8]; K],
    (rows, are_all): (&[u32], bool),
    samples: &[S],
    bins: &mut [[S; 256]; K],
    add: impl Fn(S, S) -> S,
) {
    // All columns have the same length, so that one check serves all of them.
    let n = codes[0].len();
    if let (Some(&first), true) = (rows.first(), are_all) {
        let codes = codes.map(|codes| &codes[first as usize..][..samples.len()]);
        for (i, &sample) in samples.iter().enumerate() {
            for k in 0..K {
                let bin = &mut bins[k][usize::from(codes[k][i])];
                *bin = add(*bin, sample);
            }
        }
    } else {
        let codes = codes.map(|codes| &codes[..n]);
        for (&row, &sample) in rows.iter().zip(samples) {
            for k in 0..K {
                let bin = &mut bins[k][usize::from(codes[k][row as usize])];
                *bin = add(*bin, sample);
            }
        }
    }
}

impl BinnedSums for Many {
    const GATHERS: bool = false;

    fn fill(samples: Samples<'_>, columns: &mut [BinnedColumn<'_>]) -> Result<()> {
        fill_any(samples, columns);
        Ok(())
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
pub(super) fn count<C: Code>(rows: &[u32], codes: &[C], counts: &mut [u32]) {
    if !counts.is_empty() {
        counts.fill(0);
        rows.iter().for_each(|&row| counts[codes[row as usize].place()] += 1);
    }
}
