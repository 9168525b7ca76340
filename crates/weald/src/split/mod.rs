//! The search for the best split of a node.
//!
//! A *cut* is a place between two neighbouring values of a feature in the node; a *split* is a feature with a cut, from
//! which growth makes the decision of the node. The partitioner enumerates the drawn features that vary, in any order,
//! and the search keeps the split with the largest score. Ties are resolved in favour of the feature drawn first, then
//! of the cut that sends missing values right, then of the lowest threshold. The result is therefore a function of
//! (data, parameters, key of the node) only.
//!
//! Missing values are treated as the largest values of their feature, and as the smallest: if the node has missing
//! values, every cut between values is tried with both sides for them, and the cut between all values and the missing
//! ones is tried once. A feature thus needs twice as many scores if the node has missing values, and no additional work
//! otherwise.
//!
//! The cost is the number of entries of the drawn features times the cost of moving a sample, plus one score for each
//! cut. On binned X with numerical outputs, [`histogram`] is used instead if it is faster, with the same scores and the
//! same resolution of ties.
//!
//! | file | what |
//! |---|---|
//! | `expand` | from a node to its children, for every storage of X |
//! | `entries`, `coded`, [`histogram`] | the kinds of search: on partitioners; on codes of bins; on sums that are kept for each bin |
//! | `scan`, `best`, `random` | the best cut of a node so far; all cuts of a feature, or one random cut |
//! | `categories` | sets of categories of a feature, ordered by their targets; the sets of the splits found |
//! | `chance` | what the best set of categories gains by chance, and its score without it |
//! | `further_sets` | the sets that are searched if the best one in this order is not permitted |
//! | [`cut`], [`constraint`] | the result of a search; minimum sizes of both sides |
//! | [`monotonic`], [`interactions`] | constraints on splits, which nodes pass on to their children |
//! | [`dispatch`] | maps runtime parameters to compiled types |

mod best;
mod bins_of_node;
mod categories;
mod chance;
mod coded;
pub(crate) mod constraint;
pub(crate) mod cut;
pub(crate) mod dispatch;
mod entries;
mod expand;
mod further_sets;
pub(crate) mod histogram;
pub(crate) mod interactions;
pub(crate) mod monotonic;
mod random;
mod scan;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::sync::Arc;

use constraint::Constraints;
use cut::Cut;

use crate::criterion::NodeStats;
use crate::data::Category;
use crate::error::Result;
use crate::exact::Total;
use crate::partition::Span;
use crate::rng::Key;

/// The method that chooses the threshold of a drawn feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Splitter {
    /// The best of all possible thresholds.
    Best,
    /// A single threshold, drawn uniformly between the smallest and the largest value in the node, as in extra-trees.
    Random,
}

/// The chosen split of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Split {
    pub(crate) feature: u32,
    pub(crate) cut: Cut,
    /// Decrease of the mean impurity of the node.
    pub(crate) decrease: f64,
}

/// Limits for every node of a tree, in the units of the engine.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) splitter: Splitter,
    pub(crate) max_depth: usize,
    pub(crate) min_samples_split: usize,
    pub(crate) constraints: Constraints,
    pub(crate) min_impurity_decrease: f64,
    pub(crate) n_drawn: u32,
    pub(crate) n_features: usize,
    /// Whether each feature is categorical; `None` if no feature is.
    pub(crate) categories: Option<Arc<[bool]>>,
    /// Whether there is one tree, and no ensemble that it is part of.
    pub(crate) is_alone: bool,
    /// Weight of the root, in units.
    pub(crate) total: Total,
    /// Largest weight of a sample, in units.
    pub(crate) largest_weight: f64,
    /// Weight of a sample of weight one, in units.
    pub(crate) of_one: f64,
}

impl Rules {
    /// Returns whether a feature is categorical.
    #[inline]
    fn is_category(&self, feature: u32) -> bool {
        self.categories.as_ref().is_some_and(|categories| categories[feature as usize])
    }

    /// Returns whether the search should look for a split of the node.
    fn may_split(&self, task: &Task) -> bool {
        let node = &task.stats;
        !node.pure
            && task.depth < self.max_depth
            && node.n as usize >= self.min_samples_split
            && self.constraints.may_split(node)
    }

    fn accepts_decrease(&self, node: &NodeStats, decrease: f64) -> bool {
        node.weight / self.total.as_f64() * decrease >= self.min_impurity_decrease
    }
}

/// A node during growth: its samples, its statistics, and its split.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) span: Span,
    pub(crate) depth: usize,
    /// Source of the node's randomness: a function of the tree's key and the path from the root.
    pub(crate) key: Key,
    pub(crate) stats: NodeStats,
    /// The best split; `None` if the node is a leaf.
    pub(crate) split: Option<Split>,
    /// The place in which the data of the node are kept until it is split.
    place: Option<usize>,
    /// The constraints on the split of the node.
    limits: Limits,
    /// The constraints on the splits of its children, if it is split.
    limits_below: [Limits; 2],
}

/// Indices of the constraints on the split of a node.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    /// Index of the range of values: see [`monotonic`].
    range: u32,
    /// Index of the set of features: see [`interactions`].
    features: u32,
}

impl Task {
    pub(crate) fn new(span: Span, depth: usize, key: Key, stats: NodeStats, split: Option<Split>) -> Self {
        let limits = Limits::default();
        Task { span, depth, key, stats, split, place: None, limits, limits_below: [limits; 2] }
    }

    /// Returns the left and the right child, before their statistics are computed. The samples of the right child start
    /// at `mid`; the left child has `n_left` samples, including those of other workers.
    fn children(&self, mid: u32, n_left: u32) -> [Task; 2] {
        let child = |samples, n, key, limits| {
            let not_entered = NodeStats { n, weight: 0.0, impurity: 0.0, pure: true };
            let span = Span { samples, entries: 0..0 };
            Task { limits, ..Task::new(span, self.depth + 1, self.key.child(key), not_entered, None) }
        };
        let [left, right] = self.limits_below;
        let left = child(self.span.samples.start..mid, n_left, LEFT, left);
        [left, child(mid..self.span.samples.end, self.stats.n - n_left, RIGHT, right)]
    }
}

/// The interface between growth and search. It is called only a few times for each node, so its methods are virtual.
pub(crate) trait SplitSearch {
    fn root(&mut self, key: Key) -> Result<Task>;

    /// Splits a node for which a split was found: partitions its samples and, if `search` is true, searches the splits
    /// of both children; otherwise they are leaves.
    fn expand(&mut self, parent: &Task, split: &Split, search: bool) -> Result<[Task; 2]>;

    /// Returns the samples of a node, in increasing order.
    fn rows(&self, span: &Span) -> &[u32];

    /// Returns the categories, or codes of bins, that a split sends left, if it lists them, in any order.
    fn listed(&self, split: &Split) -> &[Category];

    /// Extracts a node that waits to be split, so that [`SplitSearch::resume`] of a search on its samples alone can
    /// continue. It is not supported with histograms, nor if nodes have constraints.
    fn hand_over(&mut self, task: &Task) -> Result<HandedOver>;

    /// Returns the root of this search, in the state in which another search left it.
    fn resume(&mut self, node: HandedOver) -> Result<Task>;
}

/// A node that is passed from one search to another.
#[derive(Debug)]
pub(crate) struct HandedOver {
    task: Task,
    /// The categories that its split lists.
    listed: Vec<Category>,
    /// The statistics that the criterion has stored for the node, if any.
    memory: Option<Box<dyn Any + Send>>,
    /// The data that the criterion has computed from the samples of the node, if any.
    made: Option<Box<dyn Any + Send>>,
}

/// Returns the index of the child with fewer samples (the right one if both have the same number), and the index of the
/// other.
fn by_size(children: &[Task; 2]) -> (usize, usize) {
    let larger = usize::from(children[1].stats.n > children[0].stats.n);
    (1 - larger, larger)
}

/// The purposes for which random numbers are derived from the key of a node.
const LOTTERY: u64 = 0;
const THRESHOLDS: u64 = 1;
const LEFT: u64 = 2;
const RIGHT: u64 = 3;
const MISSING_SIDES: u64 = 4;
const SUBSETS: u64 = 5;
const UNSEEN_SIDES: u64 = 6;
