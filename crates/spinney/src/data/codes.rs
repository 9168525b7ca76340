//! Codes of dense X: the number of the bin of each value, see [`super::bins`].

use std::borrow::Cow;

use super::FeatureSubset;
use super::bins::MOST_BINS;
use crate::control::Control;
use crate::error::{Result, try_collected, try_with_capacity};

const WHAT: &str = "the codes of X";

/// A type of codes.
pub(crate) trait Code: Copy + Default + Send + Sync + std::fmt::Debug {
    /// One that the type holds.
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

/// The codes of one feature: a byte each, or two where it has more than 255 categories.
#[derive(Clone, Debug)]
pub(crate) enum CodeColumn {
    Narrow(Vec<u8>),
    Wide(Vec<u16>),
}

impl CodeColumn {
    /// Codes of a feature of so many bins; `coded` has rows with theirs, the others have any.
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

    /// Of a row.
    #[cfg(test)]
    pub(crate) fn of(&self, row: usize) -> usize {
        match self {
            CodeColumn::Narrow(codes) => codes[row].place(),
            CodeColumn::Wide(codes) => codes[row].place(),
        }
    }
}

fn filled<C: Code>(n: usize, coded: impl Iterator<Item = (u32, usize)>, control: &Control) -> Result<Vec<C>> {
    let mut codes = control.try_filled(WHAT, C::default(), n)?;
    coded.for_each(|(row, code)| codes[row as usize] = C::new(code));
    Ok(codes)
}

/// Codes of dense X, column after column. Those of rows without weight mean nothing.
#[derive(Debug)]
pub(crate) struct Codes<'a> {
    /// Of all features of X.
    columns: Cow<'a, [CodeColumn]>,
    features: FeatureSubset,
    /// Bins of feature j are `start[j]..start[j + 1]` of those of all features; with that of missing values, if any.
    start: Vec<usize>,
    /// Whether some values of feature j are missing: its last bin is theirs.
    has_missing: Vec<bool>,
}

impl Codes<'_> {
    /// Of columns with so many bins, beside that of missing values, if any.
    pub(super) fn new(
        columns: Vec<CodeColumn>,
        n_bins: impl Iterator<Item = usize>,
        has_missing: Vec<bool>,
    ) -> Result<Self> {
        let mut start = try_with_capacity(WHAT, columns.len() + 1)?;
        start.push(0);
        for (n_bins, &has_missing) in n_bins.zip(&has_missing) {
            start.push(start[start.len() - 1] + n_bins + usize::from(has_missing));
        }
        Ok(Codes { columns: columns.into(), features: FeatureSubset::default(), start, has_missing })
    }

    pub(crate) fn n_features(&self) -> usize {
        self.start.len() - 1
    }

    pub(crate) fn column(&self, feature: u32) -> &CodeColumn {
        &self.columns[self.features.in_x(feature) as usize]
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
        Ok(Codes { columns: Cow::Borrowed(&self.columns), features, start, has_missing })
    }

    /// The code of missing values of a feature, if any is.
    pub(crate) fn missing(&self, feature: u32) -> Option<usize> {
        self.has_missing[feature as usize].then(|| self.bins(feature).len() - 1)
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
