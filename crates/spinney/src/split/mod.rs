//! Search of the best split of one node.
//!
//! Vocabulary: a *cut* is a place between two neighbouring values of a feature in the node; a *split* is a feature with a
//! cut. Growth makes the node's decision of it. The partitioner shows the drawn features that vary, in any order; the search keeps the split of the largest
//! score. Equal scores: the feature drawn first wins, then the cut that sends missing values right, then the lowest
//! threshold. So the outcome is a function of (data, parameters, key of the node) alone.
//!
//! Missing values are the largest of their feature, or the least: with some in the node, every cut between values is
//! offered with either, and the cut between all values and missing ones once. So a feature costs twice as many scores
//! where values are missing, and nothing more where none is.
//!
//! Cost: entries of the drawn columns × cost of moving a sample, plus one score for each cut. On X in bins, numbers
//! are searched by [`histogram`] instead where that pays, with the same scores and ties.
//!
//! | file | what |
//! |---|---|
//! | `expand` | from a node to its children, for every store of X |
//! | `entries`, [`histogram`] | the stores: partitioners; sums by bin |
//! | `scan`, `best`, `random` | the best cut of a node so far; the cuts of a feature, all or one |
//! | `categories` | the sets of categories of a feature, ordered by their targets; the sets that were found |
//! | [`cut`], [`constraint`] | what is found; what it must leave on both sides |
//! | [`monotonic`], [`interactions`] | what nodes may be split by, which they hand on to their children |
//! | [`dispatch`] | runtime tags become types |

mod best;
mod categories;
pub(crate) mod constraint;
pub(crate) mod cut;
pub(crate) mod dispatch;
mod entries;
mod expand;
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
use crate::partition::Span;
use crate::rng::Key;

/// How the threshold of a drawn feature is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Splitter {
    /// The best of all thresholds.
    Best,
    /// One threshold, uniform between the least and the largest value in the node (extra-trees).
    Random,
}

/// The chosen split of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Split {
    pub(crate) feature: u32,
    pub(crate) cut: Cut,
    /// Decrease of the node's mean impurity.
    pub(crate) decrease: f64,
}

/// Limits that hold for every node of a tree, in the engine's units.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) splitter: Splitter,
    pub(crate) max_depth: usize,
    pub(crate) min_samples_split: usize,
    pub(crate) constraints: Constraints,
    pub(crate) min_impurity_decrease: f64,
    pub(crate) n_drawn: u32,
    pub(crate) n_features: usize,
    /// Features that are categories; `None` where none is.
    pub(crate) categories: Option<Arc<[bool]>>,
    /// Weight of the root, in units.
    pub(crate) total_weight: f64,
    /// Largest weight of a sample, in units.
    pub(crate) largest_weight: f64,
}

impl Rules {
    /// Whether a feature is a category.
    #[inline]
    fn is_category(&self, feature: u32) -> bool {
        self.categories.as_ref().is_some_and(|categories| categories[feature as usize])
    }

    /// Whether a node is worth searching.
    fn may_split(&self, task: &Task) -> bool {
        let node = &task.stats;
        !node.pure
            && task.depth < self.max_depth
            && node.n as usize >= self.min_samples_split
            && self.constraints.may_split(node)
    }

    fn accepts_decrease(&self, node: &NodeStats, decrease: f64) -> bool {
        node.weight / self.total_weight * decrease >= self.min_impurity_decrease
    }
}

/// A node as growth sees it: who is in it, what it is, how it would be split.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) span: Span,
    pub(crate) depth: usize,
    /// Source of the node's randomness: a function of the tree's key and the path from the root.
    pub(crate) key: Key,
    pub(crate) stats: NodeStats,
    /// `None`: the node is a leaf.
    pub(crate) split: Option<Split>,
    /// Where the node waits to be split.
    place: Option<usize>,
    /// What it may be split by.
    limits: Limits,
    /// What its children may be split by, if it is split.
    limits_below: [Limits; 2],
}

/// Places of what a node may be split by.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    /// See [`monotonic`].
    range: u32,
    /// See [`interactions`].
    features: u32,
}

impl Task {
    pub(crate) fn new(span: Span, depth: usize, key: Key, stats: NodeStats, split: Option<Split>) -> Self {
        let limits = Limits::default();
        Task { span, depth, key, stats, split, place: None, limits, limits_below: [limits; 2] }
    }

    /// Left and right child, not entered yet, where the samples of the right one start at `mid`; the left one has `n_left`,
    /// of which other workers may have some.
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

/// All that growth asks of a search; called a few times a node, so behind one virtual call.
pub(crate) trait SplitSearch {
    fn root(&mut self, key: Key) -> Result<Task>;

    /// Splits a node that has a split: moves its samples and, if `search`, searches both children; else they are leaves.
    fn expand(&mut self, parent: &Task, split: &Split, search: bool) -> Result<[Task; 2]>;

    /// Samples of a node, rising.
    fn rows(&self, span: &Span) -> &[u32];

    /// The categories, or codes of bins, that a split sends left, where it lists them: in any order.
    fn listed(&self, split: &Split) -> &[Category];

    /// Gives away a node that waits to be split, for [`SplitSearch::resume`] of a search of its samples alone. Not of
    /// histograms, nor where nodes are constrained.
    fn hand_over(&mut self, task: &Task) -> Result<HandedOver>;

    /// The node of all samples of this search, where another left it.
    fn resume(&mut self, node: HandedOver) -> Result<Task>;
}

/// A node between two searches.
#[derive(Debug)]
pub(crate) struct HandedOver {
    task: Task,
    /// What its split lists.
    listed: Vec<Category>,
    /// What the criterion remembers of it, if anything.
    memory: Option<Box<dyn Any + Send>>,
    /// What it has made of its samples, if anything.
    made: Option<Box<dyn Any + Send>>,
}

/// Which child has fewer samples (the right one if they have as many), and the other.
fn by_size(children: &[Task; 2]) -> (usize, usize) {
    let larger = usize::from(children[1].stats.n > children[0].stats.n);
    (1 - larger, larger)
}

/// Purposes of a node's key.
const LOTTERY: u64 = 0;
const THRESHOLDS: u64 = 1;
const LEFT: u64 = 2;
const RIGHT: u64 = 3;
const MISSING_SIDES: u64 = 4;
const SUBSETS: u64 = 5;
