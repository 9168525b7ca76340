//! Kinds of features.

use std::borrow::Cow;

use crate::error::{Error, Result};

/// What the values of a feature mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeatureKind {
    /// Numbers: a split sends those up to a threshold left.
    Ordered,
    /// Codes 0 to `n_categories` − 1 without an order. Learners do not support them yet, and refuse them.
    Category {
        /// Number of categories.
        n_categories: u32,
    },
}

/// The kind of each feature; by default all are ordered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema<'a> {
    kinds: Option<Cow<'a, [FeatureKind]>>,
}

impl<'a> Schema<'a> {
    /// One kind for each column of X.
    pub fn new(kinds: impl Into<Cow<'a, [FeatureKind]>>) -> Self {
        Schema { kinds: Some(kinds.into()) }
    }

    /// The kind of feature `j`.
    pub fn kind(&self, j: usize) -> FeatureKind {
        self.kinds.as_ref().and_then(|kinds| kinds.get(j)).copied().unwrap_or(FeatureKind::Ordered)
    }

    /// The same, lent.
    pub(crate) fn view(&self) -> Schema<'_> {
        Schema { kinds: self.kinds.as_deref().map(Cow::Borrowed) }
    }

    pub(crate) fn check(&self, n_features: usize) -> Result<()> {
        const WHAT: &str = "schema";
        let Some(kinds) = &self.kinds else { return Ok(()) };
        if kinds.len() != n_features {
            return Err(Error::shape(WHAT, n_features, kinds.len()));
        }
        match kinds.iter().find(|kind| **kind != FeatureKind::Ordered) {
            None => Ok(()),
            Some(_) => {
                let accepted = "ordered features: unordered categories are not supported yet";
                Err(Error::invalid(WHAT, "with unordered categories", accepted))
            }
        }
    }
}
