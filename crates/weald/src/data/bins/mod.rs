//! Bins of features. Numbers are put into at most 255 bins, which are computed once and used for every tree. Each
//! category has a bin of its own.
//!
//! If a feature has few distinct values, each gets a bin, so that nothing is lost. Otherwise bins have about equal
//! weights, and equal values are always in the same bin. Bins depend only on the weighted multiset of values, counted
//! in the exact units of `weights`: a sample of weight 2 is equivalent to two samples, a sample without weight is
//! ignored, and zeros that sparse X does not store count like those of dense X.
//!
//! The *code* of a value is the number of its bin. For dense X, all codes are stored: see [`codes`]. For sparse
//! X, only codes that differ from the code of zero are stored, relative to it: they are sparse columns again, on which
//! trees grow as on any others.
//!
//! Missing values are in no bin. In dense X they have the code after the last bin, so that a byte can hold 255 bins and
//! missing values. In sparse X they stay missing.

pub(crate) mod codes;
pub(crate) mod worker_bins;

use crate::control::Control;
use crate::data::sort::{Entry, SortMemory, sort_by_value, sort_by_value_with};
use crate::data::{Category, DenseColumns, MOST_CATEGORIES, SparseView};
use crate::error::{Purpose, Result};
use crate::pool;
use codes::{CodeColumn, Codes};

/// The maximum number of bins of a numerical feature: a byte holds their codes and that of missing values.
pub(crate) const MOST_BINS: usize = 255;

/// The smallest and the largest value of a bin among the samples from which it was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bin {
    low: f32,
    high: f32,
}

/// The bins of all features.
#[derive(Debug)]
pub(crate) struct Bins {
    /// The bins of feature j are `bins[start[j]..start[j + 1]]`, in increasing order. There is at least one unless all
    /// values are missing.
    bins: Vec<Bin>,
    start: Vec<usize>,
    /// The code of zero for each feature, to which relative codes are relative.
    zero: Vec<u16>,
}

impl Bins {
    pub(super) fn new(of_features: Vec<Vec<Bin>>, zero: Vec<u16>) -> Result<Self> {
        let mut start = PURPOSE.with_capacity(of_features.len() + 1)?;
        let mut bins = PURPOSE.with_capacity(of_features.iter().map(Vec::len).sum())?;
        start.push(0);
        for of_feature in of_features {
            bins.extend(of_feature);
            start.push(bins.len());
        }
        Ok(Bins { bins, start, zero })
    }

    /// Returns the category of a code, for a categorical feature.
    pub(crate) fn category(&self, feature: u32, code: Category) -> Category {
        self.of(feature)[usize::from(code)].low as Category
    }

    pub(crate) fn of(&self, feature: u32) -> &[Bin] {
        &self.bins[self.start[feature as usize]..self.start[feature as usize + 1]]
    }

    /// Returns the largest value of the bin with code `low` and the smallest value of the bin with code `high`. Codes
    /// are relative to that of zero if X is sparse.
    pub(crate) fn values_between(&self, feature: u32, low: f32, high: f32) -> (f32, f32) {
        let zero = f32::from(self.zero[feature as usize]);
        let bins = self.of(feature);
        (bins[(low + zero) as usize].high, bins[(high + zero) as usize].low)
    }
}

const PURPOSE: Purpose = Purpose("the bins of X");

/// Computes bins and codes of dense X. `units` returns the weight of a sample.
pub(crate) fn bin_dense(
    x: &DenseColumns<'_>,
    max_bins: usize,
    categories: Option<&[bool]>,
    units: impl Fn(usize) -> u64 + Sync,
    control: &Control,
) -> Result<(Bins, Codes<'static>)> {
    let (n, p) = (x.n_samples(), x.n_features());
    let mut columns = PURPOSE.filled(CodeColumn::Narrow(Vec::new()), p)?;
    let mut of_features = PURPOSE.filled(Vec::new(), p)?;
    let mut has_missing = PURPOSE.filled(false, p)?;
    let jobs = columns.iter_mut().zip(of_features.iter_mut().zip(&mut has_missing)).enumerate();
    let scratch = || Ok((PURPOSE.with_capacity::<Entry>(n)?, SortMemory::default(), Vec::new()));
    pool::for_each(
        control.n_threads(),
        jobs,
        scratch,
        |(entries, memory, runs), (feature, (codes, (bins, has_missing)))| {
            control.check()?;
            entries.clear();
            let values = x.column(feature as u32).iter().enumerate().filter(|&(row, _)| units(row) > 0);
            entries.extend(values.map(|(row, &value)| Entry::new(value, row as u32)));
            sort_by_value_with(entries, memory, control)?;
            let (present, missing) = entries.split_at(entries.partition_point(|e| !e.is_missing()));
            find_runs(present, &units, 0, runs)?;
            *has_missing = !missing.is_empty();
            *bins = find_bins(runs, most_bins(max_bins, categories, feature))?;
            let mut code = 0;
            let of_present = present.iter().map(|entry| {
                while entry.value() > bins[code].high {
                    code += 1;
                }
                (entry.row(), code)
            });
            let of_missing = missing.iter().map(|entry| (entry.row(), bins.len()));
            *codes = CodeColumn::new(n, bins.len(), of_present.chain(of_missing), control)?;
            Ok(())
        },
    )?;
    let codes = Codes::new(columns, of_features.iter().map(Vec::len), has_missing)?;
    Ok((Bins::new(of_features, PURPOSE.filled(0, p)?)?, codes))
}

/// The minimum number of jobs of a thread that puts sparse columns into bins, and the maximum number of columns of a job.
const FEWEST_JOBS: usize = 8;
const MOST_COLUMNS: usize = 64;

/// Computes bins and relative codes of sparse columns.
pub(crate) fn bin_sparse(
    x: &SparseView<'_>,
    max_bins: usize,
    categories: Option<&[bool]>,
    units: impl Fn(usize) -> u64 + Sync,
    control: &Control,
) -> Result<(Bins, SparseView<'static>)> {
    let (n, p) = (x.n_minor(), x.n_major());
    let total: u64 = (0..n).map(&units).sum();
    let mut of_features = PURPOSE.filled(Vec::new(), p)?;
    let mut zeros = PURPOSE.filled(0, p)?;
    let mut lens = PURPOSE.filled(0usize, p)?;
    let mut indices = control.filled(PURPOSE, 0u32, x.values().len())?;
    let mut codes = control.filled(PURPOSE, 0f32, x.values().len())?;
    // Each column is written at its place in X, and the columns are moved together afterwards.
    let (mut rest, mut rest_of_codes) = (&mut indices[..], &mut codes[..]);
    let at_once = (p / (FEWEST_JOBS * control.n_threads())).clamp(1, MOST_COLUMNS);
    let columns = of_features.chunks_mut(at_once).zip(zeros.chunks_mut(at_once)).zip(lens.chunks_mut(at_once));
    let jobs = columns.enumerate().map(|(job, columns)| {
        let features = job * at_once..p.min((job + 1) * at_once);
        let n_stored = x.ptr()[features.end] - x.ptr()[features.start];
        let indices = rest.split_off_mut(..n_stored).unwrap_or_default();
        let codes = rest_of_codes.split_off_mut(..n_stored).unwrap_or_default();
        (features, columns, indices, codes)
    });
    pool::for_each(
        control.n_threads(),
        jobs,
        || Ok((Vec::new(), Vec::new())),
        |(entries, runs), (features, ((bins, zeros), lens), mut indices, mut codes)| {
            for (feature, ((bins, zero), len)) in features.zip(bins.iter_mut().zip(zeros).zip(lens)) {
                control.check()?;
                let (rows, values) = x.slice(feature);
                let stored = || rows.iter().zip(values).filter(|&(&row, &v)| v != 0.0 && units(row as usize) > 0);
                entries.clear();
                PURPOSE.grow(entries, rows.len())?;
                entries.extend(stored().map(|(&row, &value)| Entry::new(value, row)));
                sort_by_value(entries, control)?;
                let n_zeros = total - entries.iter().map(|e| units(e.row() as usize)).sum::<u64>();
                let n_present = entries.partition_point(|e| !e.is_missing());
                find_runs(&entries[..n_present], &units, n_zeros, runs)?;
                *bins = find_bins(runs, most_bins(max_bins, categories, feature))?;
                // If no sample has the value zero, its code is that of the bin in which it would be, and the samples of
                // this bin are not stored either.
                *zero = code_of(bins, 0.0);
                let relative = |value: f32| {
                    if value.is_nan() { f32::NAN } else { f32::from(code_of(bins, value)) - f32::from(*zero) }
                };
                let coded = stored().map(|(&row, &value)| (row, relative(value))).filter(|(_, code)| *code != 0.0);
                let places = indices.split_off_mut(..rows.len()).unwrap_or_default().iter_mut();
                let places = places.zip(codes.split_off_mut(..rows.len()).unwrap_or_default());
                for ((index, code), coded) in places.zip(coded) {
                    (*index, *code) = coded;
                    *len += 1;
                }
            }
            Ok(())
        },
    )?;
    let mut ptr = PURPOSE.with_capacity(p + 1)?;
    let mut end = 0;
    ptr.push(end);
    for (feature, len) in lens.into_iter().enumerate() {
        control.check()?;
        let start = x.ptr()[feature];
        if start != end {
            indices.copy_within(start..start + len, end);
            codes.copy_within(start..start + len, end);
        }
        end += len;
        ptr.push(end);
    }
    indices.truncate(end);
    codes.truncate(end);
    Ok((Bins::new(of_features, zeros)?, SparseView::try_new(ptr, indices, codes, n)?))
}

/// Returns the maximum number of bins of a feature. Categories are never put together, however many there are.
pub(super) fn most_bins(max_bins: usize, categories: Option<&[bool]>, feature: usize) -> usize {
    let is_category = categories.is_some_and(|categories| categories[feature]);
    if is_category { MOST_CATEGORIES as usize } else { max_bins }
}

/// Returns the bin of a value. For a value outside all bins, it is the nearest bin above, or the last bin. It is zero
/// if there are no bins.
pub(super) fn code_of(bins: &[Bin], value: f32) -> u16 {
    bins.partition_point(|bin| bin.high < value).min(bins.len().saturating_sub(1)) as u16
}

/// Finds the distinct values in increasing order, with the units of each, from sorted entries and zeros that are not
/// among them.
pub(super) fn find_runs(
    entries: &[Entry],
    units: impl Fn(usize) -> u64,
    n_zeros: u64,
    runs: &mut Vec<(f32, u64)>,
) -> Result<()> {
    runs.clear();
    for run in entries.chunk_by(|a, b| a.key() == b.key()) {
        PURPOSE.push(runs, (run[0].value(), run.iter().map(|e| units(e.row() as usize)).sum()))?;
    }
    if n_zeros > 0 {
        let place = runs.partition_point(|run| run.0 < 0.0);
        PURPOSE.grow(runs, 1)?;
        runs.insert(place, (0.0, n_zeros));
    }
    Ok(())
}

/// Returns bins of about equal weights. A bin takes values until the next one would bring it further above an equal
/// share of the remaining weight than it is below it without this value. A value with a large weight is therefore alone
/// in its bin, and later values share the rest.
pub(super) fn find_bins(runs: &[(f32, u64)], max_bins: usize) -> Result<Vec<Bin>> {
    debug_assert!((1..=MOST_CATEGORIES as usize).contains(&max_bins));
    let mut bins = PURPOSE.with_capacity(runs.len().min(max_bins))?;
    // Units are below 2⁵², so that their products with a number of bins fit into 64 bits.
    let mut units_left: u64 = runs.iter().map(|run| run.1).sum();
    let mut rest = runs;
    while let [(low, first), after @ ..] = rest {
        let bins_left = max_bins - bins.len();
        let (mut units, mut n) = (*first, 1);
        if rest.len() > bins_left {
            for &(_, next) in after {
                let share = 2 * units_left;
                if bins_left > 1 && (2 * units + next) * bins_left as u64 > share {
                    break;
                }
                units += next;
                n += 1;
            }
        }
        units_left -= units;
        bins.push(Bin { low: *low, high: rest[n - 1].0 });
        rest = &rest[n..];
    }
    Ok(bins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Matrix;
    use crate::testing::models;
    use proptest::prelude::*;

    fn runs() -> impl Strategy<Value = Vec<(f32, u64)>> {
        let units = prop_oneof![4 => 1u64..4, 1 => 1u64..1000, 1 => Just(1u64 << 40)];
        prop::collection::vec(units, 1..600)
            .prop_map(|units| units.into_iter().enumerate().map(|(i, u)| (i as f32 - 50.0, u)).collect())
    }

    proptest! {
        #[test]
        fn bins_cover_all_values_in_order(runs in runs(), max_bins in 2usize..=255) {
            let bins = find_bins(&runs, max_bins).unwrap();
            prop_assert!(bins.len() <= max_bins);
            if runs.len() <= max_bins {
                prop_assert_eq!(bins.len(), runs.len());
            }
            prop_assert_eq!((bins[0].low, bins[bins.len() - 1].high), (runs[0].0, runs[runs.len() - 1].0));
            prop_assert!(bins.iter().all(|b| b.low <= b.high));
            prop_assert!(bins.windows(2).all(|w| w[1].low == w[0].high + 1.0));
            // The scale of the weights does not matter: samples that occur k times are equivalent to samples with k
            // times the weight.
            let scaled: Vec<_> = runs.iter().map(|&(v, u)| (v, 7 * u)).collect();
            prop_assert_eq!(&bins, &find_bins(&scaled, max_bins).unwrap());
        }

        #[test]
        fn equal_weights_give_equal_bins(n in 256usize..5000, max_bins in 2usize..=255) {
            let runs: Vec<_> = (0..n).map(|i| (i as f32, 3)).collect();
            let bins = find_bins(&runs, max_bins).unwrap();
            let sizes: Vec<usize> = bins.iter().map(|b| (b.high - b.low) as usize + 1).collect();
            prop_assert_eq!(bins.len(), max_bins);
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{:?}", sizes);
        }

        #[test]
        fn layouts_give_the_same_bins_and_codes(seed in 0u64..500, max_bins in 2usize..8) {
            let (n, p) = (1 + seed as usize % 40, 1 + seed as usize % 5);
            let rows = models::rows(seed, n, p);
            let units = |row: usize| (row as u64 * 7 + seed) % 3 + u64::from(row == 0);
            let control = Control::with_threads(1 + seed as usize % 3);
            let mut first = None;
            for x in rows.layouts() {
                let (bins, codes) = match &x {
                    Matrix::Dense(x) => {
                        let (bins, codes) = bin_dense(&DenseColumns::new(*x, &Control::default()).unwrap(), max_bins, None, units, &control).unwrap();
                        let codes = (0..p as u32).map(|j| (0..n).map(|row| codes.column(j).of(row) as u16).collect()).collect();
                        (bins, codes)
                    }
                    Matrix::Csr(x) => sparse(&x.transposed().unwrap(), max_bins, None, units, &control),
                    Matrix::Csc(x) => sparse(x, max_bins, None, units, &control),
                };
                let bins: Vec<Vec<Bin>> = (0..p as u32).map(|j| bins.of(j).to_vec()).collect();
                let mut codes: Vec<Vec<u16>> = codes;
                for codes in &mut codes {
                    (0..n).filter(|&row| units(row) == 0).for_each(|row| codes[row] = 0);
                }
                match &first {
                    None => first = Some((bins, codes)),
                    Some(first) => prop_assert_eq!(first, &(bins, codes)),
                }
            }
        }
    }

    fn sparse(
        x: &SparseView<'_>,
        max_bins: usize,
        kinds: Option<&[bool]>,
        units: impl Fn(usize) -> u64 + Sync,
        control: &Control,
    ) -> (Bins, Vec<Vec<u16>>) {
        let (bins, relative) = bin_sparse(x, max_bins, kinds, units, control).unwrap();
        let mut codes: Vec<Vec<u16>> = bins.zero.iter().map(|&zero| vec![zero; x.n_minor()]).collect();
        for (j, column) in codes.iter_mut().enumerate() {
            let (rows, values) = relative.slice(j);
            assert!(values.iter().all(|&v| v != 0.0));
            rows.iter()
                .zip(values)
                .for_each(|(&row, v)| column[row as usize] = (f32::from(column[row as usize]) + v) as u16);
        }
        (bins, codes)
    }

    #[test]
    fn a_value_with_most_of_the_weight_has_a_bin_of_its_own() {
        let runs: Vec<_> = (0..100).map(|i| (i as f32, if i == 40 { 1000 } else { 1 })).collect();
        let bins = find_bins(&runs, 10).unwrap();
        assert!(bins.contains(&Bin { low: 40.0, high: 40.0 }), "{bins:?}");
        assert_eq!(bins.len(), 10);
    }
}
