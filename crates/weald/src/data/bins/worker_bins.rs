//! Bins and codes if several workers have the samples. They are the same as those of one worker with all samples.
//!
//! Each worker sorts its own values. Distinct values and their weights are merged (see [`crate::exact::merge`]), for
//! some features at a time, so that all workers find the same bins.

use super::codes::{CodeColumn, Codes};
use crate::control::Control;
use crate::data::bins::{Bin, Bins, code_of, find_bins, find_runs, most_bins};
use crate::data::sort::{Entry, sort_by_value};
use crate::data::{DenseColumns, SparseView};
use crate::error::{Purpose, Result};
use crate::exact::merge::{Item, merge};
use crate::exact::reduce::{Reduce, Workers, other_sums};

const PURPOSE: Purpose = Purpose("the bins of X");

/// The maximum number of distinct values that a worker holds at a time, unless a single feature has more.
const MOST_RUNS: u64 = 1 << 22;
/// The maximum number of features whose values are merged together.
const MOST_FEATURES: u64 = 1 << 12;

/// The key of missing values, which come after all others.
const MISSING: u64 = u32::MAX as u64;

/// Returns the bits of a value, mapped so that their order is that of values.
fn key(value: f32) -> u64 {
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    u64::from(if bits >> 31 == 1 { !bits } else { bits | 1 << 31 })
}

fn value(key: u64) -> f32 {
    let bits = key as u32;
    f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits })
}

/// The properties of features over all samples: their bins, and whether they have missing values.
#[derive(Debug)]
struct Found {
    bins: Vec<Vec<Bin>>,
    has_missing: Vec<bool>,
}

/// Computes the bins of `n_features` features. `runs_of` finds the distinct values of this worker, in increasing order
/// and with their units, and returns the units of missing values. A feature has at most `most_runs` values on this
/// worker.
fn bins_of_all(
    workers: &Workers,
    n_features: usize,
    (max_bins, most_runs): (usize, u64),
    mut runs_of: impl FnMut(usize, &mut Vec<(f32, u64)>) -> Result<u64>,
    control: &Control,
) -> Result<Found> {
    let at_once = (MOST_RUNS / workers.max_of(most_runs)?.max(1)).clamp(1, MOST_FEATURES) as usize;
    let mut found =
        Found { bins: PURPOSE.filled(Vec::new(), n_features)?, has_missing: PURPOSE.filled(false, n_features)? };
    let (mut of_feature, mut own): (_, Vec<Item<2>>) = (Vec::new(), Vec::new());
    for first in (0..n_features).step_by(at_once) {
        let features = first..(first + at_once).min(n_features);
        own.clear();
        for feature in features.clone() {
            control.check()?;
            let missing = runs_of(feature, &mut of_feature)?;
            let name = ((feature - first) as u64) << 32;
            PURPOSE.grow(&mut own, of_feature.len() + 1)?;
            own.extend(of_feature.iter().map(|&(value, units)| [name | key(value), units]));
            own.extend((missing > 0).then_some([name | MISSING, missing]));
        }
        let (mut feature, mut runs) = (first, Vec::<(f32, u64)>::new());
        merge(&own, workers, |[item, units], _| {
            let at = first + (item >> 32) as usize;
            if !features.contains(&at) {
                return Err(other_sums());
            }
            if at != feature {
                found.bins[feature] = find_bins(&runs, most_bins(max_bins, None, feature))?;
                runs.clear();
                feature = at;
            }
            let key = item & u64::from(u32::MAX);
            if key == MISSING {
                found.has_missing[at] = true;
                return Ok(());
            }
            match runs.last_mut().filter(|(last, _)| *last == value(key)) {
                Some((_, sum)) => *sum = sum.saturating_add(units),
                None => PURPOSE.push(&mut runs, (value(key), units))?,
            }
            Ok(())
        })?;
        found.bins[feature] = find_bins(&runs, most_bins(max_bins, None, feature))?;
    }
    Ok(found)
}

/// Like [`super::bins::bin_dense`], for numerical features only.
pub(crate) fn bin_dense_of(
    workers: &Workers,
    x: &DenseColumns<'_>,
    max_bins: usize,
    units: impl Fn(usize) -> u64 + Sync,
    control: &Control,
) -> Result<(Bins, Codes<'static>)> {
    let (n, p) = (x.n_samples(), x.n_features());
    let mut entries = PURPOSE.with_capacity::<Entry>(n)?;
    let mut runs_of = |feature: usize, runs: &mut Vec<(f32, u64)>| {
        entries.clear();
        let values = x.column(feature as u32).iter().enumerate().filter(|&(row, _)| units(row) > 0);
        entries.extend(values.map(|(row, &value)| Entry::new(value, row as u32)));
        sort_by_value(&mut entries, control)?;
        let (present, missing) = entries.split_at(entries.partition_point(|e| !e.is_missing()));
        find_runs(present, &units, 0, runs)?;
        Ok(missing.iter().map(|e| units(e.row() as usize)).sum())
    };
    let Found { bins, has_missing } = bins_of_all(workers, p, (max_bins, n as u64), &mut runs_of, control)?;
    let mut columns = PURPOSE.with_capacity(p)?;
    for (feature, bins) in bins.iter().enumerate() {
        control.check()?;
        let code = |value: f32| if value.is_nan() { bins.len() } else { usize::from(code_of(bins, value)) };
        let there = x.column(feature as u32).iter().enumerate().filter(|&(row, _)| units(row) > 0);
        let coded = there.map(|(row, &value)| (row as u32, code(value)));
        columns.push(CodeColumn::new(n, bins.len(), coded, control)?);
    }
    let codes = Codes::new(columns, bins.iter().map(Vec::len), has_missing)?;
    Ok((Bins::new(bins, PURPOSE.filled(0, p)?)?, codes))
}

/// Like [`super::bins::bin_sparse`], for numerical features only. It also returns the codes of each feature that any
/// worker stores, with NaN last.
pub(crate) fn bin_sparse_of(
    workers: &Workers,
    x: &SparseView<'_>,
    max_bins: usize,
    units: impl Fn(usize) -> u64 + Sync,
    control: &Control,
) -> Result<(Bins, SparseView<'static>, Vec<Vec<f32>>)> {
    let (n, p) = (x.n_minor(), x.n_major());
    let total: u64 = (0..n).map(&units).sum();
    let mut entries = Vec::new();
    let stored = |feature: usize| {
        let (rows, values) = x.slice(feature);
        rows.iter().zip(values).filter(|&(&row, &value)| value != 0.0 && units(row as usize) > 0)
    };
    let mut runs_of = |feature: usize, runs: &mut Vec<(f32, u64)>| {
        entries.clear();
        PURPOSE.grow(&mut entries, x.slice(feature).0.len())?;
        entries.extend(stored(feature).map(|(&row, &value)| Entry::new(value, row)));
        sort_by_value(&mut entries, control)?;
        let n_zeros = total - entries.iter().map(|e| units(e.row() as usize)).sum::<u64>();
        let (present, missing) = entries.split_at(entries.partition_point(|e| !e.is_missing()));
        find_runs(present, &units, n_zeros, runs)?;
        Ok(missing.iter().map(|e| units(e.row() as usize)).sum())
    };
    let longest = (0..p).map(|feature| x.slice(feature).0.len() as u64 + 1).max().unwrap_or(0);
    let Found { bins, has_missing } = bins_of_all(workers, p, (max_bins, longest), &mut runs_of, control)?;
    let (mut zeros, mut cells) = (PURPOSE.with_capacity(p)?, PURPOSE.with_capacity(p)?);
    let (mut indices, mut codes) = (Vec::new(), Vec::new());
    let mut ptr = PURPOSE.with_capacity(p + 1)?;
    ptr.push(0);
    for (feature, bins) in bins.iter().enumerate() {
        control.check()?;
        // This is the code that one worker with all samples would find.
        let zero = code_of(bins, 0.0);
        let relative = |code: u16| f32::from(code) - f32::from(zero);
        for (&row, &value) in stored(feature) {
            let code = code_of(bins, value);
            if value.is_nan() || code != zero {
                PURPOSE.push(&mut indices, row)?;
                PURPOSE.push(&mut codes, if value.is_nan() { f32::NAN } else { relative(code) })?;
            }
        }
        // Every bin has values on some worker.
        let mut of_feature = PURPOSE.with_capacity(bins.len() + 1)?;
        of_feature.extend((0..bins.len() as u16).filter(|&code| code != zero).map(relative));
        of_feature.extend(has_missing[feature].then_some(f32::NAN));
        ptr.push(indices.len());
        zeros.push(zero);
        cells.push(of_feature);
    }
    Ok((Bins::new(bins, zeros)?, SparseView::try_new(ptr, indices, codes, n)?, cells))
}
