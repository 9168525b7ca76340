//! Sets of categories. Each split that lists categories has a set of those that go left.
//!
//! A set has only categories that the node had during training. The sets of a tree are therefore not larger than the
//! numbers of samples of its nodes, whatever the number of categories of a feature.

use crate::data::Category;
use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the categories of splits");

/// The sets of one tree, numbered from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CategorySets {
    /// The end of each set in `categories`.
    ends: Vec<usize>,
    /// The categories, in increasing order within each set.
    categories: Vec<Category>,
}

impl CategorySets {
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the categories of a set, in increasing order.
    pub(crate) fn of(&self, set: u32) -> &[Category] {
        let set = set as usize;
        let start = if set == 0 { 0 } else { self.ends[set - 1] };
        &self.categories[start..self.ends[set]]
    }

    /// Adds a set of categories, which must be in increasing order, and returns its number.
    pub(crate) fn push(&mut self, categories: impl ExactSizeIterator<Item = Category>) -> Result<u32> {
        PURPOSE.extend(&mut self.categories, categories)?;
        PURPOSE.push(&mut self.ends, self.categories.len())?;
        debug_assert!(self.of(self.ends.len() as u32 - 1).is_sorted_by(|a, b| a < b));
        Ok(self.ends.len() as u32 - 1)
    }

    pub(crate) fn try_clone(&self) -> Result<Self> {
        Ok(CategorySets { ends: PURPOSE.copied(&self.ends)?, categories: PURPOSE.copied(&self.categories)? })
    }
}
