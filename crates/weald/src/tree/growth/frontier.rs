//! The frontier: the nodes that wait to be split, and the order in which they are split.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::error::{Purpose, Result};
use crate::split::{Split, Task};

const PURPOSE: Purpose = Purpose("the waiting nodes of a tree");

/// A node with a split, and its index in the growing tree.
#[derive(Debug)]
pub(crate) struct WaitingNode {
    pub(crate) node: u32,
    pub(crate) task: Task,
    pub(crate) split: Split,
}

/// The order of splitting. Depth-first takes the newest node; best-first takes the node whose split decreases the total
/// impurity most.
#[derive(Debug)]
pub(crate) enum Frontier {
    DepthFirst(Vec<WaitingNode>),
    BestFirst(BinaryHeap<Ranked>),
}

impl Frontier {
    pub(crate) fn push(&mut self, candidate: WaitingNode) -> Result<()> {
        match self {
            Frontier::DepthFirst(stack) => PURPOSE.push(stack, candidate),
            Frontier::BestFirst(heap) => {
                if heap.len() == heap.capacity() {
                    heap.try_reserve(1).map_err(|_| PURPOSE.missing::<Ranked>(heap.len() + 1))?;
                }
                heap.push(Ranked(candidate));
                Ok(())
            }
        }
    }

    pub(crate) fn pop(&mut self) -> Option<WaitingNode> {
        match self {
            Frontier::DepthFirst(stack) => stack.pop(),
            Frontier::BestFirst(heap) => heap.pop().map(|ranked| ranked.0),
        }
    }
}

/// A node that is ordered by weight × decrease. Of equal nodes, the older one is first.
#[derive(Debug)]
pub(crate) struct Ranked(WaitingNode);

impl Ranked {
    fn rank(&self) -> f64 {
        self.0.task.stats.weight * self.0.split.decrease
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().total_cmp(&other.rank()).then(other.0.node.cmp(&self.0.node))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}
