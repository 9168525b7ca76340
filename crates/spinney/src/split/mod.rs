//! Search of the best split of one node.
//!
//! Vocabulary: a *cut* is a place between two neighbouring values of a feature in the node; a *split* is a feature with a
//! threshold. The partitioner shows the drawn features that vary, in any order; the search keeps the split of the largest
//! score. Equal scores: the feature drawn first wins, then the lowest threshold. So the outcome is a function of (data,
//! parameters, key of the node) alone.
//!
//! Cost: entries of the drawn columns × cost of moving a sample, plus one score for each cut. On X in bins, numbers
//! are searched by [`histogram`] instead where that pays, with the same scores and ties.

pub(crate) mod best;
pub(crate) mod dispatch;
pub(crate) mod features;
pub(crate) mod histogram;
mod random;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::config::Splitter;
use crate::control::Control;
use crate::criterion::{Criterion, NodeStats};
use crate::error::{Result, try_push, try_with_capacity};
use crate::partition::{Column, Entry, Partitioner, PlainColumn, Span, Visitor};
use crate::rng::Key;
use features::Lottery;

/// The chosen split of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Split {
    pub(crate) feature: u32,
    /// Samples with `x <= threshold` go left.
    pub(crate) threshold: f32,
    /// Decrease of the node's mean impurity.
    pub(crate) decrease: f64,
}

/// Limits that hold for every node of a tree, in the engine's units.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) splitter: Splitter,
    pub(crate) max_depth: usize,
    pub(crate) min_samples_split: usize,
    pub(crate) min_samples_leaf: usize,
    /// In units of weight.
    pub(crate) min_weight_leaf: f64,
    pub(crate) min_impurity_decrease: f64,
    pub(crate) n_drawn: u32,
    pub(crate) n_features: usize,
    /// Weight of the root, in units.
    pub(crate) total_weight: f64,
    /// Largest weight of a sample, in units.
    pub(crate) largest_weight: f64,
    /// The threshold between two neighbouring values of the best splitter, given in either order.
    pub(crate) between: fn(f32, f32) -> f32,
}

impl Rules {
    /// Whether a node is worth searching.
    fn may_split(&self, node: &NodeStats, n_samples: usize, depth: usize) -> bool {
        !node.pure
            && depth < self.max_depth
            && n_samples >= self.min_samples_split
            && n_samples / 2 >= self.min_samples_leaf
            && node.weight >= 2.0 * self.min_weight_leaf
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
    /// Where the search remembers the node.
    memory: Option<usize>,
}

impl Task {
    pub(crate) fn new(span: Span, depth: usize, key: Key, stats: NodeStats, split: Option<Split>) -> Self {
        Task { span, depth, key, stats, split, memory: None }
    }

    /// Left and right child with these samples, not entered yet.
    fn children(&self, samples: [Range<u32>; 2]) -> [Task; 2] {
        let not_entered = NodeStats { weight: 0.0, impurity: 0.0, pure: true };
        let [left, right] = samples.map(|samples| Span { samples, entries: 0..0 });
        [(left, LEFT), (right, RIGHT)]
            .map(|(span, key)| Task::new(span, self.depth + 1, self.key.child(key), not_entered, None))
    }
}

/// All that growth asks of a search; called a few times a node, so behind one virtual call.
pub(crate) trait SplitSearch {
    fn root(&mut self, key: Key) -> Result<Task>;

    /// Splits a node that has a split: moves its samples and, if `search`, searches both children; else they are leaves.
    fn expand(&mut self, parent: &Task, split: &Split, search: bool) -> Result<[Task; 2]>;

    /// Samples of a node, rising.
    fn rows(&self, span: &Span) -> &[u32];
}

/// The search for one partitioner and one criterion, compiled together.
#[derive(Debug)]
pub(crate) struct NodeSearch<P, C: Criterion> {
    partitioner: P,
    criterion: C,
    rules: Rules,
    control: Control,
    lottery: Lottery,
    picked: Vec<u32>,
    /// What is remembered of nodes that wait to be split, and the places that are free.
    memories: Vec<C::Memory>,
    free: Vec<usize>,
}

impl<P: Partitioner, C: Criterion> NodeSearch<P, C> {
    pub(crate) fn new(partitioner: P, criterion: C, rules: Rules, control: Control) -> Result<Self> {
        // A scan picks no more rows than the root has.
        let n_picked = if rules.splitter == Splitter::Random { partitioner.root().n_samples() } else { 0 };
        Ok(NodeSearch {
            lottery: Lottery::new(Key::from_seed(0), rules.n_features, rules.n_drawn)?,
            partitioner,
            criterion,
            rules,
            control,
            picked: try_with_capacity("a column of X", n_picked as usize)?,
            memories: Vec::new(),
            free: Vec::new(),
        })
    }

    fn enter(&mut self, span: &Span) -> Result<NodeStats> {
        self.criterion.enter(self.partitioner.rows(span))
    }

    fn may_split(&self, task: &Task) -> bool {
        self.rules.may_split(&task.stats, task.span.n_samples() as usize, task.depth)
    }

    /// Searches the node that the criterion has entered, if it may be split, and remembers it if it will be.
    fn find_split(&mut self, task: &mut Task) -> Result<()> {
        if self.may_split(task) {
            task.split = self.search(task)?;
        }
        if task.split.is_some() {
            if self.free.is_empty() {
                try_push(WAITING, &mut self.free, self.memories.len())?;
                try_push(WAITING, &mut self.memories, C::Memory::default())?;
            }
            let place = self.free[self.free.len() - 1];
            if self.criterion.remember(&mut self.memories[place])? {
                self.free.pop();
                task.memory = Some(place);
            }
        }
        Ok(())
    }

    /// Enters the child that is left of `parent` when the node entered last is taken away.
    fn enter_rest(&mut self, parent: &Task, span: &Span) -> Result<NodeStats> {
        let rows = self.partitioner.rows(span);
        match parent.memory {
            Some(place) => {
                try_push(WAITING, &mut self.free, place)?;
                self.criterion.enter_rest(&self.memories[place], rows)
            }
            None => self.criterion.enter(rows),
        }
    }

    /// Best split of the node that the criterion has entered.
    fn search(&mut self, task: &Task) -> Result<Option<Split>> {
        self.lottery.restart(task.key.child(LOTTERY));
        let (lottery, rules) = (&self.lottery, &self.rules);
        let mut scan = Scan::new(&mut self.criterion, rules, lottery, &self.control, task, &mut self.picked);
        self.partitioner.visit(&task.span, lottery, rules.n_drawn, &mut scan)?;
        Ok(scan.outcome(rules, task))
    }
}

/// What memory for waiting nodes is for.
const WAITING: &str = "the waiting nodes of a tree";

/// Which child has fewer samples (the right one if they have as many), and the other.
fn by_size(children: &[Task; 2]) -> (usize, usize) {
    let larger = usize::from(children[1].span.n_samples() > children[0].span.n_samples());
    (1 - larger, larger)
}

/// Purposes of a node's key.
const LOTTERY: u64 = 0;
const THRESHOLDS: u64 = 1;
const LEFT: u64 = 2;
const RIGHT: u64 = 3;

impl<P: Partitioner, C: Criterion> SplitSearch for NodeSearch<P, C> {
    fn root(&mut self, key: Key) -> Result<Task> {
        let span = self.partitioner.root();
        let stats = self.enter(&span)?;
        let mut task = Task::new(span, 0, key, stats, None);
        self.find_split(&mut task)?;
        Ok(task)
    }

    fn expand(&mut self, parent: &Task, split: &Split, search: bool) -> Result<[Task; 2]> {
        let mid = self.partitioner.split_samples(&parent.span, split.feature, split.threshold);
        let samples = [parent.span.samples.start..mid, mid..parent.span.samples.end];
        let mut children = parent.children(samples);
        let (smaller, larger) = by_size(&children);
        children[smaller].stats = self.enter(&children[smaller].span)?;
        if search && !P::CARRIES_COLUMNS {
            self.find_split(&mut children[smaller])?;
        }
        children[larger].stats = self.enter_rest(parent, &children[larger].span)?;
        let searched = [0, 1].map(|side: usize| search && self.may_split(&children[side]));
        // Not worth it for two leaves; so it waits until both children are known, and the smaller one is entered again.
        if P::CARRIES_COLUMNS && (searched[0] || searched[1]) {
            let spans = self.partitioner.split_columns(&parent.span, mid, searched)?;
            for (child, span) in children.iter_mut().zip(spans) {
                child.span = span;
            }
        }
        if search {
            self.find_split(&mut children[larger])?;
        }
        if P::CARRIES_COLUMNS && searched[smaller] {
            self.enter(&children[smaller].span)?;
            self.find_split(&mut children[smaller])?;
        }
        Ok(children)
    }

    fn rows(&self, span: &Span) -> &[u32] {
        self.partitioner.rows(span)
    }
}

/// State of the search of one node.
#[derive(Debug)]
struct Scan<'a, C> {
    criterion: &'a mut C,
    min_samples_leaf: u32,
    min_weight_leaf: f64,
    splitter: Splitter,
    largest_weight: f64,
    between: fn(f32, f32) -> f32,
    lottery: &'a Lottery,
    control: &'a Control,
    thresholds: Key,
    n_samples: u32,
    weight: f64,
    best_score: f64,
    perfect_score: f64,
    /// Columns of fewer entries, with zeros, cannot reach the best score.
    least_entries: u32,
    best: Option<Candidate>,
    /// Rows that a scan picks before it moves them.
    picked: &'a mut Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    feature: u32,
    threshold: f32,
}

impl<C: Criterion> Visitor for Scan<'_, C> {
    fn column(&mut self, column: Column<'_>) {
        match self.splitter {
            Splitter::Best => self.best_cut(column),
            Splitter::Random => self.random_cut(column),
        }
    }

    fn wants_entries(&self) -> bool {
        self.splitter == Splitter::Best
    }

    fn plain_column(&mut self, column: PlainColumn<'_>) {
        self.random_plain_cut(column);
    }

    fn least_entries(&self) -> u32 {
        self.least_entries
    }

    fn is_over(&self) -> bool {
        // Features drawn later lose ties.
        self.best_score >= self.perfect_score || self.control.is_stopped()
    }
}

impl<'a, C: Criterion> Scan<'a, C> {
    /// Of a node that the criterion has entered.
    fn new(
        criterion: &'a mut C,
        rules: &Rules,
        lottery: &'a Lottery,
        control: &'a Control,
        task: &Task,
        picked: &'a mut Vec<u32>,
    ) -> Self {
        // Every cut between two samples is the same.
        let any_cut = task.span.n_samples() == 2;
        let perfect_score = if any_cut { f64::MIN } else { criterion.perfect_score() };
        let min_samples_leaf = u32::try_from(rules.min_samples_leaf).unwrap_or(u32::MAX);
        // Cuts move entries, never zeros. Where some features are not drawn, those that vary must be counted.
        let all_drawn = rules.n_drawn as usize >= rules.n_features && rules.splitter == Splitter::Best;
        let least_entries = if all_drawn { min_samples_leaf } else { 0 };
        Scan {
            criterion,
            min_samples_leaf,
            min_weight_leaf: rules.min_weight_leaf,
            splitter: rules.splitter,
            largest_weight: rules.largest_weight,
            between: rules.between,
            lottery,
            control,
            thresholds: task.key.child(THRESHOLDS),
            n_samples: task.span.n_samples(),
            weight: task.stats.weight,
            best_score: f64::NEG_INFINITY,
            perfect_score,
            least_entries,
            best: None,
            picked,
        }
    }

    /// The best cut found, if it is good enough.
    fn outcome(self, rules: &Rules, task: &Task) -> Option<Split> {
        let (best, score) = (self.best?, self.best_score);
        let decrease = self.criterion.decrease(score);
        let split = Split { feature: best.feature, threshold: best.threshold, decrease };
        rules.accepts_decrease(&task.stats, decrease).then_some(split)
    }

    /// Takes the cut between moved and rest if it leaves enough on both sides and is better than the best so far.
    /// `threshold` is computed only then.
    #[inline]
    fn offer(&mut self, feature: u32, n_moved: u32, moved: &C::Moved, threshold: impl FnOnce() -> f32) {
        let score = self.criterion.score(moved);
        if score >= self.best_score {
            self.offer_score(feature, n_moved, moved, score, threshold);
        }
    }

    /// The same for a score that is known, and not below the best.
    fn offer_score(
        &mut self,
        feature: u32,
        n_moved: u32,
        moved: &C::Moved,
        score: f64,
        threshold: impl FnOnce() -> f32,
    ) {
        if !self.admits(n_moved, moved) {
            return;
        }
        match self.best {
            Some(best) if score == self.best_score => self.settle_tie(feature, threshold(), best),
            _ => {
                self.best_score = score;
                let least = (self.criterion.least_moved_weight(score) / self.largest_weight) as u32;
                self.least_entries = self.least_entries.max(least);
                self.best = Some(Candidate { feature, threshold: threshold() });
            }
        }
    }

    /// Whether the cut leaves enough on both sides.
    #[inline]
    fn admits(&self, n_moved: u32, moved: &C::Moved) -> bool {
        let n_rest = self.n_samples - n_moved;
        if n_moved < self.min_samples_leaf || n_rest < self.min_samples_leaf {
            return false;
        }
        let weight = self.criterion.moved_weight(moved);
        weight >= self.min_weight_leaf && self.weight - weight >= self.min_weight_leaf
    }

    /// Equal scores: the feature drawn first, then the lowest threshold.
    #[cold]
    fn settle_tie(&mut self, feature: u32, threshold: f32, best: Candidate) {
        let wins = if feature == best.feature {
            threshold < best.threshold
        } else {
            self.lottery.position(feature) < self.lottery.position(best.feature)
        };
        if wins {
            self.best = Some(Candidate { feature, threshold });
        }
    }

    /// The entries of a column whose values are negative, and those whose values are positive; sorted.
    #[inline]
    fn nonzero<'c>(column: &'c Column<'_>) -> (&'c [Entry], &'c [Entry]) {
        let entries = &*column.entries;
        if entries.first().is_some_and(|e| e.key() > Entry::ZERO_KEY) {
            return (&[], entries);
        }
        let negative = entries.partition_point(|e| e.key() < Entry::ZERO_KEY);
        let positive = negative + entries[negative..].partition_point(|e| e.key() == Entry::ZERO_KEY);
        (&entries[..negative], &entries[positive..])
    }
}
