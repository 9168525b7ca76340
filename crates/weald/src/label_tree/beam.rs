//! The search for the best labels of a sample in a tree.

use super::tree::LabelTree;
use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the best labels of a label tree");

/// Returns the logarithm of what a column with this margin counts: as part of a path, whose parts are multiplied, and as
/// the score of a label.
pub(super) fn log_of(margin: f64) -> f64 {
    let miss = (1.0 - margin).max(0.0);
    -(miss * miss * miss)
}

/// What the path to a leaf counts beside a label of it. Leaves are fitted to samples of other leaves as well, and hardly need
/// it: of 100 000 titles with 21 000 subjects, the best subject of .2762 in place of .2725 of the held-out ones was right,
/// with 24 000 titles it was the same, and where the path counts as much as the label, it was .2565 and less.
pub(crate) const SHARE_OF_PATH: f64 = 0.05;

/// A node that a search follows, after the logarithm of the product along its path.
pub(super) type Followed = (f64, u32);

/// The working memory of a search.
#[derive(Debug, Default)]
pub(super) struct Beam {
    /// The nodes that are followed.
    pub(super) nodes: Vec<Followed>,
    next: Vec<Followed>,
    margins: Vec<f64>,
}

impl Beam {
    /// Calls `found` with the labels of the best leaves for a sample, and their scores there.
    pub(super) fn search(
        &mut self,
        tree: &LabelTree,
        sample: (&[u32], &[f32]),
        width: usize,
        mut found: impl FnMut(u32, f64) -> Result<()>,
    ) -> Result<()> {
        self.nodes.clear();
        PURPOSE.push(&mut self.nodes, (0.0, 0))?;
        while self.nodes.iter().any(|&(_, node)| !tree.is_leaf[node as usize]) {
            self.descend(tree, sample, width)?;
        }
        for &(log, node) in &self.nodes {
            let of_path = SHARE_OF_PATH * log;
            tree.each_margin(node as usize, sample, &mut self.margins, |label, margin| {
                found(label, of_path + log_of(margin))
            })?;
        }
        Ok(())
    }

    /// Replaces the nodes that are followed by the best ones among their children: of nodes with equal products, the first
    /// ones. Leaves stay among them.
    pub(super) fn descend(&mut self, tree: &LabelTree, sample: (&[u32], &[f32]), width: usize) -> Result<()> {
        let Beam { nodes, next, margins } = self;
        next.clear();
        for &(log, node) in &*nodes {
            if tree.is_leaf[node as usize] {
                PURPOSE.push(next, (log, node))?;
                continue;
            }
            tree.each_margin(node as usize, sample, margins, |child, margin| {
                PURPOSE.push(next, (log + log_of(margin), child))
            })?;
        }
        next.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        next.truncate(width);
        std::mem::swap(nodes, next);
        Ok(())
    }
}
