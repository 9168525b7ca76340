//! Codes of dense X, which are the numbers of the bins of values: see [`super::bins`].

use std::borrow::Cow;

use crate::control::Control;
use crate::data::FeatureSubset;
use crate::data::bins::MOST_BINS;
use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the codes of X");

/// A type of codes.
pub(crate) trait Code: Copy + Default + Send + Sync + std::fmt::Debug {
    /// Returns the code as this type, which must be able to represent it.
    fn new(code: usize) -> Self;

    fn place(self) -> usize;
}

macro_rules! codes {
    ($($code:ty),*) => { $(
        impl Code for $code {
            #[inline]
            fn new(code: usize) -> Self {
                code as $code
            }

            #[inline]
            fn place(self) -> usize {
                usize::from(self)
            }
        }
    )* };
}

codes!(u8, u16);

/// The codes of one feature, in one byte each, or two if it has more than 255 bins.
#[derive(Clone, Debug)]
pub(crate) enum CodeColumn {
    Narrow(Vec<u8>),
    Wide(Vec<u16>),
}

impl CodeColumn {
    /// Creates the codes of a feature with `n_bins` bins. `coded` has samples with their codes; the codes of other
    /// samples are not specified.
    pub(super) fn new(
        n_samples: usize,
        n_bins: usize,
        coded: impl Iterator<Item = (u32, usize)>,
        control: &Control,
    ) -> Result<Self> {
        Ok(if n_bins <= MOST_BINS {
            CodeColumn::Narrow(filled(n_samples, coded, control)?)
        } else {
            CodeColumn::Wide(filled(n_samples, coded, control)?)
        })
    }

    /// Returns the codes, if they take one byte each.
    fn narrow(&self) -> Option<&[u8]> {
        match self {
            CodeColumn::Narrow(codes) => Some(codes),
            CodeColumn::Wide(_) => None,
        }
    }

    /// Returns the code of a sample.
    #[cfg(test)]
    pub(crate) fn of(&self, row: usize) -> usize {
        match self {
            CodeColumn::Narrow(codes) => codes[row].place(),
            CodeColumn::Wide(codes) => codes[row].place(),
        }
    }
}

fn filled<C: Code>(n: usize, coded: impl Iterator<Item = (u32, usize)>, control: &Control) -> Result<Vec<C>> {
    let mut codes = control.filled(PURPOSE, C::default(), n)?;
    coded.for_each(|(row, code)| codes[row as usize] = C::new(code));
    Ok(codes)
}

/// Of so many codes, those of the samples of a small node are in no cache. It is set by hand: 100 000 × 50 gained nothing.
pub(crate) const LARGE: usize = 1 << 24;

/// The number of samples that are copied at a time, so that their rows stay in a fast cache.
const ROWS_AT_ONCE: usize = 1 << 8;

/// The codes of dense X, column by column. The codes of samples without weight are meaningless.
#[derive(Debug)]
pub(crate) struct Codes<'a> {
    /// The codes of all features of X.
    columns: Cow<'a, [CodeColumn]>,
    features: FeatureSubset,
    /// The bins of feature j are `start[j]..start[j + 1]` among those of all features. They include the bin of missing
    /// values, if there is one.
    start: Vec<usize>,
    /// Whether some values of feature j are missing. Its last bin is then that of missing values.
    has_missing: Vec<bool>,
    /// The codes of all features, sample after sample, or empty: see [`Codes::with_rows`].
    by_row: Vec<u8>,
}

/// Codes of one byte, sample after sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByRow<'a> {
    codes: &'a [u8],
    n_features: usize,
}

impl<'a> ByRow<'a> {
    pub(crate) fn n_samples(self) -> usize {
        self.codes.len() / self.n_features
    }

    /// Returns the codes of all features of X.
    #[inline]
    pub(crate) fn of(self, row: u32) -> &'a [u8] {
        &self.codes[row as usize * self.n_features..][..self.n_features]
    }
}

impl Codes<'_> {
    /// Creates the codes of columns with these numbers of bins, not counting those of missing values.
    pub(super) fn new(
        columns: Vec<CodeColumn>,
        n_bins: impl Iterator<Item = usize>,
        has_missing: Vec<bool>,
    ) -> Result<Self> {
        let mut start = PURPOSE.with_capacity(columns.len() + 1)?;
        start.push(0);
        for (n_bins, &has_missing) in n_bins.zip(&has_missing) {
            start.push(start[start.len() - 1] + n_bins + usize::from(has_missing));
        }
        Ok(Codes {
            columns: columns.into(),
            features: FeatureSubset::default(),
            start,
            has_missing,
            by_row: Vec::new(),
        })
    }

    /// Returns the same codes, also sample after sample if each takes one byte and there are at least so many: the few samples
    /// of a small node are far apart in a column, and next to each other for all features in a row.
    pub(crate) fn with_rows(self, least: usize, control: &Control) -> Result<Self> {
        let narrow: Option<Vec<&[u8]>> = self.columns.iter().map(CodeColumn::narrow).collect();
        let n_codes = |columns: &[&[u8]]| columns.iter().map(|codes| codes.len()).sum::<usize>();
        let Some(columns) = narrow.filter(|columns| n_codes(columns) >= least.max(1)) else { return Ok(self) };
        let mut by_row = control.filled(PURPOSE, 0, n_codes(&columns))?;
        for (block, rows) in by_row.chunks_mut(ROWS_AT_ONCE * columns.len()).enumerate() {
            control.check()?;
            for (feature, codes) in columns.iter().enumerate() {
                let codes = &codes[block * ROWS_AT_ONCE..];
                rows.iter_mut().skip(feature).step_by(columns.len()).zip(codes).for_each(|(to, &code)| *to = code);
            }
        }
        Ok(Codes { by_row, ..self })
    }

    /// Returns the codes of a feature, if they take one byte each, and the distance between those of two samples.
    pub(crate) fn near(&self, feature: u32) -> Option<(&[u8], usize)> {
        if self.by_row.is_empty() || self.features.numbers().is_some() {
            return self.column(feature).narrow().map(|codes| (codes, 1));
        }
        Some((&self.by_row[feature as usize..], self.columns.len()))
    }

    /// Returns the codes of all features of X, sample after sample, if there are such.
    pub(crate) fn by_row(&self) -> Option<ByRow<'_>> {
        (!self.by_row.is_empty()).then_some(ByRow { codes: &self.by_row, n_features: self.columns.len() })
    }

    pub(crate) fn n_features(&self) -> usize {
        self.start.len() - 1
    }

    pub(crate) fn column(&self, feature: u32) -> &CodeColumn {
        &self.columns[self.place(feature)]
    }

    /// Returns the number of a feature in X.
    pub(crate) fn place(&self, feature: u32) -> usize {
        self.features.in_x(feature) as usize
    }

    /// Returns the codes of some features, which are renumbered. The codes are borrowed.
    pub(crate) fn narrowed(&self, features: &[u32]) -> Result<Codes<'_>> {
        let mut start = PURPOSE.with_capacity(features.len() + 1)?;
        start.push(0);
        for &feature in features {
            start.push(start[start.len() - 1] + self.bins(feature).len());
        }
        let has_missing = PURPOSE.collected(features.iter().map(|&feature| self.has_missing[feature as usize]))?;
        let features = self.features.narrowed(features)?;
        Ok(Codes { columns: Cow::Borrowed(&self.columns), features, start, has_missing, by_row: Vec::new() })
    }

    /// Returns the code of missing values of a feature, if it has any.
    pub(crate) fn missing(&self, feature: u32) -> Option<usize> {
        self.has_missing[feature as usize].then(|| self.bins(feature).len() - 1)
    }

    /// Returns the range of the bins of a feature among those of all features.
    pub(crate) fn bins(&self, feature: u32) -> std::ops::Range<usize> {
        self.start[feature as usize]..self.start[feature as usize + 1]
    }

    /// Returns the number of bins of all features.
    pub(crate) fn n_bins(&self) -> usize {
        self.start[self.n_features()]
    }
}
