//! The categories that the splits of a tree list.

use super::{Node, Tree};
use crate::data::Category;
use crate::error::Result;
use crate::partition::category_sets::CategorySets;

impl CategorySets {
    /// Numbers the sets of these nodes anew, in the order of the nodes, and keeps no others.
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
    /// The categories that a split sends left, rising; none where it tests a threshold, and in leaves.
    pub fn categories_left(&self, node: usize) -> &[Category] {
        self.nodes[node].set().map_or(&[], |set| self.sets.of(set))
    }
}
