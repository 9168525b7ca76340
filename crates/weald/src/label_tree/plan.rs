//! The nodes of a tree before anything is fitted: which labels are below each of them.

use super::LabelTreeConfig;
use super::clustering::cluster;
use super::points::Points;
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::pool;
use crate::rng::Key;

const PURPOSE: Purpose = Purpose("the nodes of a label tree");

/// A node, whose labels are a range of those of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The first child and the number of children, whose labels follow each other; without children, it is a leaf.
    pub(super) first_child: usize,
    pub(super) n_children: usize,
}

impl Part {
    fn leaf(start: usize, end: usize) -> Self {
        Part { start, end, first_child: 0, n_children: 0 }
    }

    pub(super) fn is_leaf(&self) -> bool {
        self.n_children == 0
    }
}

/// The nodes of a tree.
#[derive(Debug)]
pub(super) struct Plan {
    /// The labels that samples have, in an order in which those of each node are neighbours. Those of a leaf are
    /// increasing.
    pub(super) labels: Vec<u32>,
    /// The nodes, breadth first.
    pub(super) parts: Vec<Part>,
}

impl Plan {
    /// Divides labels, of which `points` has the points in the same order.
    pub(super) fn new(
        config: &LabelTreeConfig,
        labels: &[u32],
        points: &Points,
        key: Key,
        control: &Control,
    ) -> Result<Self> {
        // First, an order of the points.
        let mut order = PURPOSE.collected(0..labels.len() as u32)?;
        let mut parts = PURPOSE.filled(Part::leaf(0, labels.len()), 1)?;
        let mut level = 0..1;
        while !level.is_empty() {
            let of_node = control.shared_by(level.len());
            let found = pool::map(control.n_threads(), level.len(), |at| {
                let node = level.start + at;
                let part = &parts[node];
                divided(config, points, &order[part.start..part.end], key.child(node as u64), &of_node)
            })?;
            let end = parts.len();
            for (node, found) in level.zip(found) {
                let Some((sorted, sizes)) = found else { continue };
                let mut start = parts[node].start;
                order[start..parts[node].end].copy_from_slice(&sorted);
                (parts[node].first_child, parts[node].n_children) = (parts.len(), sizes.len());
                for size in sizes {
                    PURPOSE.push(&mut parts, Part::leaf(start, start + size))?;
                    start += size;
                }
            }
            level = end..parts.len();
        }
        let mut labels = PURPOSE.collected(order.iter().map(|&point| labels[point as usize]))?;
        parts.iter().filter(|part| part.is_leaf()).for_each(|part| labels[part.start..part.end].sort_unstable());
        Ok(Plan { labels, parts })
    }
}

/// Divides the labels of a node: returns them child after child, and the number of each child. `None` if the node is a
/// leaf.
fn divided(
    config: &LabelTreeConfig,
    points: &Points,
    members: &[u32],
    key: Key,
    control: &Control,
) -> Result<Option<(Vec<u32>, Vec<usize>)>> {
    let n = members.len();
    if n <= config.max_leaf_labels {
        return Ok(None);
    }
    // Most children should be leaves, if there can be enough of them.
    let k = (2 * n).div_ceil(config.max_leaf_labels).clamp(2, config.max_children).min(n);
    let mut clusters = cluster(points, members, k, key, control)?;
    let mut sizes = sizes_of(&clusters, k)?;
    if sizes.iter().any(|&size| 4 * size > 3 * n) {
        clusters = cluster(points, members, 2, key, control)?;
        sizes = sizes_of(&clusters, 2)?;
    }
    let mut order = PURPOSE.collected(0..n)?;
    order.sort_by_key(|&at| clusters[at]);
    let sorted = PURPOSE.collected(order.iter().map(|&at| members[at]))?;
    sizes.retain(|size| *size > 0);
    Ok(Some((sorted, sizes)))
}

fn sizes_of(clusters: &[u32], k: usize) -> Result<Vec<usize>> {
    let mut sizes = PURPOSE.filled(0, k)?;
    clusters.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
    Ok(sizes)
}
