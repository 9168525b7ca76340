//! The categories that the splits of a tree list.

use super::{Node, Tree};
use crate::data::Category;
use crate::error::Result;
use crate::partition::category_sets::CategorySets;

impl CategorySets {
    /// Renumbers the sets of these nodes in the order of the nodes, and drops all others.
    pub(crate) fn kept_by(&self, nodes: &mut [Node]) -> Result<Self> {
        let mut kept = CategorySets::default();
        if self.is_empty() {
            return Ok(kept);
        }
        for node in nodes {
            if let Some(set) = node.set() {
                node.set_categories(kept.push(self.of(set).iter().copied())?);
            }
        }
        Ok(kept)
    }
}

impl Tree {
    /// Returns the categories that a split sends left, in increasing order. It is empty for leaves and if the split
    /// tests a threshold.
    pub fn categories_left(&self, node: usize) -> &[Category] {
        self.nodes[node].set().map_or(&[], |set| self.sets.of(set))
    }
}
