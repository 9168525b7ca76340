//! The kinds of features: ordered or categorical.

use std::borrow::Cow;

use super::{MOST_CATEGORIES, Matrix};
use crate::error::{Error, Purpose, Result};

/// The code of a category, starting at 0.
pub type Category = u16;

/// Returns the category that `value` encodes, or `None` if it is not a valid code.
#[inline]
pub(crate) fn category_of(value: f32) -> Option<Category> {
    let category = value as Category;
    (f32::from(category) == value).then_some(category)
}

/// The meaning of the values of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeatureKind {
    /// An ordered, numerical feature. A split sends values up to a threshold left.
    Ordered,
    /// A categorical feature: unordered codes from 0 to `n_categories` − 1, or NaN if the category is missing. A split
    /// sends a set of categories left. In sparse X, values that are not stored are category 0.
    Category {
        /// Number of categories, at most 65 535.
        n_categories: u32,
    },
}

/// The kind of each feature. By default, all features are ordered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema<'a> {
    kinds: Option<Cow<'a, [FeatureKind]>>,
}

impl<'a> Schema<'a> {
    /// Returns a schema with one kind for each feature.
    pub fn new(kinds: impl Into<Cow<'a, [FeatureKind]>>) -> Self {
        Schema { kinds: Some(kinds.into()) }
    }

    /// Returns the kind of feature `j`.
    pub fn kind(&self, j: usize) -> FeatureKind {
        self.kinds.as_ref().and_then(|kinds| kinds.get(j)).copied().unwrap_or(FeatureKind::Ordered)
    }

    /// Returns a view of the same schema.
    pub(crate) fn view(&self) -> Schema<'_> {
        Schema { kinds: self.kinds.as_deref().map(Cow::Borrowed) }
    }

    /// Returns for each feature whether it is categorical, or `None` if no feature is.
    pub(crate) fn categories(&self) -> Result<Option<Vec<bool>>> {
        let is_category = |kind: &FeatureKind| matches!(kind, FeatureKind::Category { .. });
        match &self.kinds {
            Some(kinds) if kinds.iter().any(is_category) => {
                Purpose("the kinds of features").collected(kinds.iter().map(is_category)).map(Some)
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Checks that there is one kind for each feature of X, and that the values of categorical features are valid
    /// codes.
    pub(crate) fn check(&self, x: &Matrix<'_>) -> Result<()> {
        const WHAT: &str = "schema";
        let Some(kinds) = &self.kinds else { return Ok(()) };
        if kinds.len() != x.n_features() {
            return Err(Error::shape(WHAT, x.n_features(), kinds.len()));
        }
        let mut has_categories = false;
        for (j, kind) in kinds.iter().enumerate() {
            let FeatureKind::Category { n_categories } = kind else { continue };
            if !(1..=MOST_CATEGORIES).contains(n_categories) {
                let got = format!("{n_categories} categories in feature {j}");
                return Err(Error::invalid(WHAT, got, "have between 1 and 65535 categories"));
            }
            has_categories = true;
        }
        if has_categories { self.check_values(x) } else { Ok(()) }
    }

    fn check_values(&self, x: &Matrix<'_>) -> Result<()> {
        let check = |j: usize, value: f32| match self.kind(j) {
            FeatureKind::Ordered => Ok(()),
            FeatureKind::Category { n_categories } => {
                let is_code = value.is_nan() || value >= 0.0 && value.fract() == 0.0 && value < n_categories as f32;
                if is_code {
                    return Ok(());
                }
                let got = format!("{value} in feature {j}, which is a category");
                Err(Error::invalid(
                    "X",
                    got,
                    "have integers below the number of categories, or NaN, in categorical features",
                ))
            }
        };
        match x {
            Matrix::Dense(x) => {
                let columns = x.columns().into_iter().enumerate();
                let mut categories = columns.filter(|&(j, _)| self.kind(j) != FeatureKind::Ordered);
                categories.try_for_each(|(j, column)| column.iter().try_for_each(|&value| check(j, value)))
            }
            Matrix::Csc(x) => (0..x.n_major()).filter(|&j| self.kind(j) != FeatureKind::Ordered).try_for_each(|j| {
                let (_, values) = x.slice(j);
                values.iter().try_for_each(|&value| check(j, value))
            }),
            Matrix::Csr(x) => (0..x.n_major()).try_for_each(|row| {
                let (features, values) = x.slice(row);
                features.iter().zip(values).try_for_each(|(&j, &value)| check(j as usize, value))
            }),
        }
    }
}
