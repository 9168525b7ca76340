//! Features in bins: at most 255 a feature, found once and used for every tree.
//!
//! A feature of few distinct values gets a bin for each, so nothing is lost; otherwise bins hold about equal weight, and
//! equal values are never parted. Bins are a function of the weighted multiset of values alone, counted in the exact units
//! of `weights`: a row of weight 2 is two rows, a row without weight is none, and the zeros that sparse X does not store
//! count as those that dense X does.
//!
//! A *code* is the number of a value's bin. Of dense X all codes are kept, a byte each. Of sparse X those that differ from
//! the code of zero are, as values relative to it: they are sparse columns again, on which trees grow as on any others.
//! A feature that is a category has a bin for each category, or where there are more than bins, for each of the most frequent
//! ones; the others share one.
//!
//! Missing values are in no bin. In dense X they have the code after the last one, so that bytes hold 255 bins and it; in
//! sparse X they stay missing.

use std::borrow::Cow;

use super::{Category, DenseColumns, FeatureSubset, SparseView};
use crate::control::Control;
use crate::data::sort::Entry;
use crate::data::sort::sort_by_value;
use crate::error::{Result, try_collected, try_copied, try_filled, try_grow, try_push, try_with_capacity};
use crate::pool;

/// Most bins of a feature: codes are bytes.
pub(crate) const MOST_BINS: usize = 255;

/// A bin's lowest and highest value among the rows that it was made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bin {
    low: f32,
    high: f32,
}

/// The bins of all features.
#[derive(Debug)]
pub(crate) struct Bins {
    /// Bins of feature j: `bins[start[j]..start[j + 1]]`, rising; at least one unless all values are missing.
    bins: Vec<Bin>,
    start: Vec<usize>,
    /// The code that relative codes are relative to; 0 of categories.
    zero: Vec<u8>,
    /// The bin that categories share, of each feature that has one; empty where no feature does.
    shared: Vec<Option<SharedBin>>,
}

/// A bin of several categories.
#[derive(Clone, Debug, PartialEq)]
struct SharedBin {
    code: u8,
    /// Rising.
    categories: Vec<Category>,
}

impl Bins {
    fn new(of_features: Vec<Vec<Bin>>, zero: Vec<u8>, shared: Vec<Option<SharedBin>>) -> Result<Self> {
        let mut start = try_with_capacity(WHAT, of_features.len() + 1)?;
        let mut bins = try_with_capacity(WHAT, of_features.iter().map(Vec::len).sum())?;
        start.push(0);
        for of_feature in of_features {
            bins.extend(of_feature);
            start.push(bins.len());
        }
        Ok(Bins { bins, start, zero, shared })
    }

    /// The categories of a bin, rising.
    pub(crate) fn categories(&self, feature: u32, code: Category) -> impl ExactSizeIterator<Item = Category> + '_ {
        let own = self.of(feature)[usize::from(code)].low as Category;
        let shared = self.shared.get(feature as usize).and_then(Option::as_ref);
        let shared = shared.filter(|shared| Category::from(shared.code) == code);
        let others = shared.map_or(&[][..], |shared| &shared.categories);
        (0..others.len().max(1)).map(move |i| others.get(i).copied().unwrap_or(own))
    }

    pub(crate) fn of(&self, feature: u32) -> &[Bin] {
        &self.bins[self.start[feature as usize]..self.start[feature as usize + 1]]
    }

    /// The highest value of the bin of code `low` and the lowest of that of code `high`: codes are whole numbers, relative
    /// to that of zero where X is sparse.
    pub(crate) fn values_between(&self, feature: u32, low: f32, high: f32) -> (f32, f32) {
        let zero = f32::from(self.zero[feature as usize]);
        let bins = self.of(feature);
        (bins[(low + zero) as usize].high, bins[(high + zero) as usize].low)
    }
}

/// Codes of dense X, column after column. Those of rows without weight mean nothing.
#[derive(Debug)]
pub(crate) struct Codes<'a> {
    codes: Cow<'a, [u8]>,
    n_samples: usize,
    /// `codes` has those of all features of X.
    features: FeatureSubset,
    /// Bins of feature j are `start[j]..start[j + 1]` of those of all features; with that of missing values, if any.
    start: Vec<usize>,
    /// Whether some values of feature j are missing: its last bin is theirs.
    has_missing: Vec<bool>,
}

impl Codes<'_> {
    pub(crate) fn n_features(&self) -> usize {
        self.start.len() - 1
    }

    pub(crate) fn column(&self, feature: u32) -> &[u8] {
        &self.codes[self.features.in_x(feature) as usize * self.n_samples..][..self.n_samples]
    }

    /// Some features alone, which are numbered anew; their codes are lent.
    pub(crate) fn narrowed(&self, features: &[u32]) -> Result<Codes<'_>> {
        let mut start = try_with_capacity(WHAT, features.len() + 1)?;
        start.push(0);
        for &feature in features {
            start.push(start[start.len() - 1] + self.bins(feature).len());
        }
        let has_missing = try_collected(WHAT, features.iter().map(|&feature| self.has_missing[feature as usize]))?;
        let features = self.features.narrowed(features)?;
        Ok(Codes { codes: Cow::Borrowed(&self.codes), n_samples: self.n_samples, features, start, has_missing })
    }

    /// The code of missing values of a feature, if any is.
    pub(crate) fn missing(&self, feature: u32) -> Option<u8> {
        self.has_missing[feature as usize].then(|| (self.bins(feature).len() - 1) as u8)
    }

    /// Where the bins of a feature are among those of all.
    pub(crate) fn bins(&self, feature: u32) -> std::ops::Range<usize> {
        self.start[feature as usize]..self.start[feature as usize + 1]
    }

    /// Bins of all features together.
    pub(crate) fn n_bins(&self) -> usize {
        self.start[self.n_features()]
    }
}

const WHAT: &str = "the bins of X";

/// Bins and codes of dense X. `units` tells the weight of each row.
pub(crate) fn bin_dense(
    x: &DenseColumns<'_>,
    max_bins: usize,
    categories: Option<&[bool]>,
    units: impl Fn(usize) -> u64 + Sync,
    control: &Control,
) -> Result<(Bins, Codes<'static>)> {
    let (n, p) = (x.n_samples(), x.n_features());
    let mut codes = control.try_filled(WHAT, 0u8, n * p)?;
    let mut of_features = try_filled(WHAT, Vec::new(), p)?;
    let mut has_missing = try_filled(WHAT, false, p)?;
    let mut shared = try_filled(WHAT, None, p)?;
    let of_all = of_features.iter_mut().zip(&mut has_missing).zip(&mut shared);
    let jobs = codes.chunks_exact_mut(n.max(1)).zip(of_all).enumerate();
    let scratch = || Ok((try_with_capacity::<Entry>(WHAT, n)?, Vec::new()));
    pool::for_each(
        control.n_threads(),
        jobs,
        scratch,
        |(entries, runs), (feature, (codes, ((bins, has_missing), shared)))| {
            control.check()?;
            entries.clear();
            let values = x.column(feature as u32).iter().enumerate().filter(|&(row, _)| units(row) > 0);
            entries.extend(values.map(|(row, &value)| Entry::new(value, row as u32)));
            sort_by_value(entries, control)?;
            let (present, missing) = entries.split_at(entries.partition_point(|e| !e.is_missing()));
            find_runs(present, &units, 0, runs)?;
            *has_missing = !missing.is_empty();
            if is_category(categories, feature) {
                (*bins, *shared) = find_category_bins(runs, max_bins)?;
                for entry in present {
                    codes[entry.row() as usize] = code_of_category(bins, shared.as_ref(), entry.value());
                }
                missing.iter().for_each(|entry| codes[entry.row() as usize] = bins.len() as u8);
                return Ok(());
            }
            *bins = find_bins(runs, max_bins)?;
            missing.iter().for_each(|entry| codes[entry.row() as usize] = bins.len() as u8);
            let mut code = 0;
            for entry in present {
                while entry.value() > bins[code].high {
                    code += 1;
                }
                codes[entry.row() as usize] = code as u8;
            }
            Ok(())
        },
    )?;
    let bins = Bins::new(of_features, try_filled(WHAT, 0, p)?, shared)?;
    let mut start = try_copied(WHAT, &bins.start)?;
    let mut n_before = 0;
    for (start, has_missing) in start[1..].iter_mut().zip(&has_missing) {
        n_before += usize::from(*has_missing);
        *start += n_before;
    }
    let codes = Codes { codes: codes.into(), n_samples: n, features: FeatureSubset::default(), start, has_missing };
    Ok((bins, codes))
}

/// Bins and relative codes of sparse columns.
pub(crate) fn bin_sparse(
    x: &SparseView<'_>,
    max_bins: usize,
    categories: Option<&[bool]>,
    units: impl Fn(usize) -> u64 + Sync,
    control: &Control,
) -> Result<(Bins, SparseView<'static>)> {
    let (n, p) = (x.n_minor(), x.n_major());
    let total: u64 = (0..n).map(&units).sum();
    let (mut entries, mut runs) = (Vec::new(), Vec::new());
    let mut of_features = try_with_capacity(WHAT, p)?;
    let mut zeros = try_with_capacity(WHAT, p)?;
    let mut shared = try_with_capacity(WHAT, if categories.is_some() { p } else { 0 })?;
    let mut ptr = try_with_capacity(WHAT, p + 1)?;
    let mut indices = try_with_capacity(WHAT, x.values().len())?;
    let mut codes = try_with_capacity(WHAT, x.values().len())?;
    ptr.push(0);
    for feature in 0..p {
        control.check()?;
        let (rows, values) = x.slice(feature);
        let stored = || rows.iter().zip(values).filter(|&(&row, &value)| value != 0.0 && units(row as usize) > 0);
        entries.clear();
        try_grow(WHAT, &mut entries, rows.len())?;
        entries.extend(stored().map(|(&row, &value)| Entry::new(value, row)));
        sort_by_value(&mut entries, control)?;
        let n_zeros = total - entries.iter().map(|e| units(e.row() as usize)).sum::<u64>();
        let n_present = entries.partition_point(|e| !e.is_missing());
        find_runs(&entries[..n_present], &units, n_zeros, &mut runs)?;
        let is_category = is_category(categories, feature);
        let (bins, shared_bin) =
            if is_category { find_category_bins(&runs, max_bins)? } else { (find_bins(&runs, max_bins)?, None) };
        // Where no row is zero the code of zero is that of the rows that are not kept below, as everywhere. Category 0 is the
        // lowest, so that its bin is the first.
        let zero = if is_category { 0 } else { code_of(&bins, 0.0) };
        for (&row, &value) in stored() {
            if value.is_nan() {
                indices.push(row);
                codes.push(f32::NAN);
                continue;
            }
            let code =
                if is_category { code_of_category(&bins, shared_bin.as_ref(), value) } else { code_of(&bins, value) };
            if code != zero {
                indices.push(row);
                codes.push(f32::from(code) - f32::from(zero));
            }
        }
        ptr.push(indices.len());
        zeros.push(zero);
        of_features.push(bins);
        if categories.is_some() {
            shared.push(shared_bin);
        }
    }
    Ok((Bins::new(of_features, zeros, shared)?, SparseView::try_new(ptr, indices, codes, n)?))
}

fn is_category(categories: Option<&[bool]>, feature: usize) -> bool {
    categories.is_some_and(|categories| categories[feature])
}

/// The bin of a category; of one that no row has, any.
fn code_of_category(bins: &[Bin], shared: Option<&SharedBin>, category: f32) -> u8 {
    let at = bins.partition_point(|bin| bin.low < category);
    match shared {
        Some(shared) if at == usize::from(shared.code) || bins.get(at).is_none_or(|bin| bin.low != category) => {
            shared.code
        }
        Some(_) | None => at.min(bins.len().saturating_sub(1)) as u8,
    }
}

/// A bin for each category, of `runs` of rising categories with the units of each; where there are more categories than
/// bins, the least frequent share one. Bins rise by their lowest category.
fn find_category_bins(runs: &[(f32, u64)], max_bins: usize) -> Result<(Vec<Bin>, Option<SharedBin>)> {
    let mut bins = try_with_capacity(WHAT, runs.len().min(max_bins))?;
    let alone = |&(category, _): &(f32, u64)| Bin { low: category, high: category };
    if runs.len() <= max_bins {
        bins.extend(runs.iter().map(alone));
        return Ok((bins, None));
    }
    let mut by_frequency = try_collected(WHAT, 0..runs.len())?;
    by_frequency.sort_unstable_by_key(|&run| (std::cmp::Reverse(runs[run].1), run));
    let (own, rare) = by_frequency.split_at_mut(max_bins - 1);
    rare.sort_unstable();
    let categories: Vec<Category> = try_collected(WHAT, rare.iter().map(|&run| runs[run].0 as Category))?;
    bins.extend(own.iter().chain(&rare[..1]).map(|&run| alone(&runs[run])));
    bins.sort_unstable_by(|a, b| a.low.total_cmp(&b.low));
    let code = bins.partition_point(|bin| bin.low < runs[rare[0]].0) as u8;
    Ok((bins, Some(SharedBin { code, categories })))
}

/// The bin of a value; of one outside all bins, the nearest above or the last; zero where there is none.
fn code_of(bins: &[Bin], value: f32) -> u8 {
    bins.partition_point(|bin| bin.high < value).min(bins.len().saturating_sub(1)) as u8
}

/// Distinct values in rising order with the units of each, from sorted entries and zeros that are not among them.
fn find_runs(entries: &[Entry], units: impl Fn(usize) -> u64, n_zeros: u64, runs: &mut Vec<(f32, u64)>) -> Result<()> {
    runs.clear();
    for run in entries.chunk_by(|a, b| a.key() == b.key()) {
        try_push(WHAT, runs, (run[0].value(), run.iter().map(|e| units(e.row() as usize)).sum()))?;
    }
    if n_zeros > 0 {
        let place = runs.partition_point(|run| run.0 < 0.0);
        try_grow(WHAT, runs, 1)?;
        runs.insert(place, (0.0, n_zeros));
    }
    Ok(())
}

/// Bins of about equal weight. Each takes values until the next one would carry it further beyond an equal share of what
/// is left than it lacks without; so a heavy value is alone, and those after it share the rest.
fn find_bins(runs: &[(f32, u64)], max_bins: usize) -> Result<Vec<Bin>> {
    debug_assert!((1..=MOST_BINS).contains(&max_bins));
    let mut bins = try_with_capacity(WHAT, runs.len().min(max_bins))?;
    // Units are below 2⁵², so that products with a number of bins fit 64 bits.
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
            // Scale of the weights does not matter: rows written k times are rows of k times the weight.
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
            let control = Control::with_threads(1 + seed as usize % 2);
            let mut first = None;
            for x in rows.layouts() {
                let (bins, codes) = match &x {
                    Matrix::Dense(x) => {
                        let (bins, codes) = bin_dense(&DenseColumns::new(*x).unwrap(), max_bins, None, units, &control).unwrap();
                        let codes = (0..p as u32).map(|j| codes.column(j).to_vec()).collect();
                        (bins, codes)
                    }
                    Matrix::Csr(x) => sparse(&x.transposed().unwrap(), max_bins, None, units, &control),
                    Matrix::Csc(x) => sparse(x, max_bins, None, units, &control),
                };
                let bins: Vec<Vec<Bin>> = (0..p as u32).map(|j| bins.of(j).to_vec()).collect();
                let mut codes: Vec<Vec<u8>> = codes;
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
    ) -> (Bins, Vec<Vec<u8>>) {
        let (bins, relative) = bin_sparse(x, max_bins, kinds, units, control).unwrap();
        let mut codes: Vec<Vec<u8>> = bins.zero.iter().map(|&zero| vec![zero; x.n_minor()]).collect();
        for (j, column) in codes.iter_mut().enumerate() {
            let (rows, values) = relative.slice(j);
            assert!(values.iter().all(|&v| v != 0.0));
            rows.iter()
                .zip(values)
                .for_each(|(&row, v)| column[row as usize] = (f32::from(column[row as usize]) + v) as u8);
        }
        (bins, codes)
    }

    #[test]
    fn a_heavy_value_is_alone() {
        let runs: Vec<_> = (0..100).map(|i| (i as f32, if i == 40 { 1000 } else { 1 })).collect();
        let bins = find_bins(&runs, 10).unwrap();
        assert!(bins.contains(&Bin { low: 40.0, high: 40.0 }), "{bins:?}");
        assert_eq!(bins.len(), 10);
    }
}
