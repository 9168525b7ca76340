//! The expansion of a node into its children, which is the same for entries and for histograms.
//!
//! The smaller child is entered and searched first. Its sums are then subtracted from those of the node, which gives
//! those of the larger child. This applies to the sums of the criterion and, with histograms, to those of bins. The
//! cost of a node is therefore that of its smaller child.

use std::any::Any;

use super::categories::Categories;
use super::interactions::AllowedFeatures;
use super::monotonic::Ranges;
use super::random::MOST_COPIED;
use super::scan::{Scan, ScanMemory};
use super::{HandedOver, LOTTERY, Limits, Rules, Split, SplitSearch, Splitter, Task, by_size};
use crate::control::Control;
use crate::criterion::{NodeCriterion, NodeStats};
use crate::data::Category;
use crate::data::sort::SortMemory;
use crate::error::{Purpose, Result};
use crate::exact::reduce::{Reduce, Workers, other_sums};
use crate::partition::Span;
use crate::partition::category_sets::CategorySets;
use crate::partition::decision::Decision;
use crate::partition::lottery::Lottery;
use crate::rng::Key;

/// X in the form that a search needs, and the samples of each node.
pub(crate) trait Store<C: NodeCriterion> {
    /// The sums over a node's samples, from which those of its children are computed. A store without sums has a type
    /// without values, and the methods about them that stand here.
    type Sums;

    /// Returns all samples of the tree.
    fn root(&self) -> Span;

    /// Returns the samples of a node, in increasing order.
    fn rows(&self, span: &Span) -> &[u32];

    /// Moves the samples that go right behind the others, and returns the position of the first.
    fn split_samples(&mut self, span: &Span, feature: u32, decision: Decision<'_>) -> Result<u32>;

    /// Whether columns are carried from node to node. If so, [`Store::split_columns`] is called after every
    /// [`Store::split_samples`] of a node that has a child to be searched, and both children must be known before.
    const CARRIES_COLUMNS: bool = false;

    /// Partitions the carried columns for the children that will be searched, and returns both spans.
    fn split_columns(&mut self, span: &Span, mid: u32, _searched: [bool; 2]) -> Result<[Span; 2]> {
        Ok(span.halves(mid))
    }

    /// Returns the sums of a node that the criterion has entered, or `None` if the node is searched without sums.
    fn fill(&mut self, _criterion: &C, _span: &Span) -> Result<Option<Self::Sums>> {
        Ok(None)
    }

    /// Takes the samples of the smaller child from the sums of its parent, before the criterion enters it, which may
    /// round them anew, if this costs no more than [`Store::subtract`]. Returns whether it was done.
    fn take_away(&mut self, _criterion: &C, _whole: &mut Self::Sums, _smaller: &Span, _larger: &Span) -> Result<bool> {
        Ok(false)
    }

    /// Returns the sums of the larger child: those of its parent, `whole`, minus those of the smaller child, whose
    /// `part` is filled as far as its search needed, unless they are `taken` away. The criterion has entered both.
    /// Returns `None` if this is impossible or does not pay. `lottery` is that of the larger child.
    fn subtract(
        &mut self,
        _criterion: &C,
        _lottery: &Lottery,
        (_whole, _taken): (Self::Sums, bool),
        _smaller: (&Span, &mut Option<Self::Sums>),
        _larger: &Span,
    ) -> Result<Option<Self::Sums>> {
        Ok(None)
    }

    /// Returns the maximum number of waiting nodes that may keep their sums.
    fn most_kept(&self) -> usize {
        0
    }

    /// Returns sums that are no longer used.
    fn give_back(&mut self, _sums: Self::Sums) -> Result<()> {
        Ok(())
    }

    /// Passes to the scan the features that the node draws.
    fn search(&mut self, scan: &mut Scan<'_, C>, task: &Task, sums: Option<&mut Self::Sums>) -> Result<()>;
}

/// The search for one store and one criterion, which are compiled together.
#[derive(Debug)]
pub(crate) struct NodeSearch<S: Store<C>, C: NodeCriterion> {
    pub(super) store: S,
    pub(super) criterion: C,
    rules: Rules,
    control: Control,
    workers: Workers,
    lottery: Lottery,
    picked: Vec<u32>,
    copied: Vec<C::Sample>,
    sorting: SortMemory,
    categories: Categories<C::Sum>,
    /// The sets of categories that were found, for waiting nodes and for nodes that have been split.
    subsets: CategorySets,
    /// The constraints on the splits of nodes, if there are any.
    ranges: Option<Ranges>,
    allowed: Option<AllowedFeatures>,
    waiting: Vec<Waiting<C::Memory, S::Sums>>,
    /// The free places in `waiting`.
    free: Vec<usize>,
    /// The number of further nodes that may keep their sums.
    n_kept_left: usize,
}

/// The data that are kept for a node that waits to be split.
#[derive(Debug)]
struct Waiting<M, S> {
    memory: M,
    /// Whether the memory is meaningful.
    is_remembered: bool,
    sums: Option<S>,
}

/// The purpose of memory for waiting nodes, for error messages.
const WAITING: Purpose = Purpose("the waiting nodes of a tree");

impl<S: Store<C>, C: NodeCriterion> NodeSearch<S, C> {
    pub(crate) fn new(store: S, criterion: C, rules: Rules, control: Control) -> Result<Self> {
        // A scan selects at most as many samples as the root has.
        let n_picked = if rules.splitter == Splitter::Random { store.root().n_samples() as usize } else { 0 };
        Ok(NodeSearch {
            lottery: Lottery::new(Key::from_seed(0), rules.n_features, rules.n_drawn)?,
            n_kept_left: store.most_kept(),
            sorting: SortMemory::default(),
            categories: Categories::new(rules.categories.is_some())?,
            subsets: CategorySets::default(),
            ranges: rules.constraints.monotonic.as_deref().map(Ranges::new).transpose()?,
            allowed: rules.constraints.interactions.as_ref().map(AllowedFeatures::new).transpose()?,
            store,
            criterion,
            rules,
            control,
            workers: Workers::One,
            picked: Purpose("a column of X").with_capacity(n_picked)?,
            copied: Purpose("the samples of a node").with_capacity(n_picked.min(MOST_COPIED))?,
            waiting: Vec::new(),
            free: Vec::new(),
        })
    }

    /// Sets the workers that have the samples. It must be called before the search begins.
    pub(crate) fn set_workers(&mut self, workers: &Workers) {
        self.workers = workers.clone();
    }

    fn enter(&mut self, span: &Span) -> Result<NodeStats> {
        self.criterion.enter(self.store.rows(span))
    }

    /// Enters the child of `parent` that is not the node entered last, by subtraction if possible.
    fn enter_rest(&mut self, parent: &Task, span: &Span) -> Result<NodeStats> {
        let rows = self.store.rows(span);
        let waiting = parent.place.map(|place| &self.waiting[place]);
        match waiting.filter(|waiting| waiting.is_remembered) {
            Some(waiting) => self.criterion.enter_rest(&waiting.memory, rows),
            None => self.criterion.enter(rows),
        }
    }

    /// Draws the features of a node.
    fn restart_lottery(&mut self, task: &Task) {
        let among = self.allowed.as_ref().and_then(|allowed| allowed.at(task.limits.features));
        self.lottery.restart(task.key.child(LOTTERY), among);
    }

    /// Searches the node that the criterion has entered, and remembers it if it will be split.
    fn find_split(&mut self, task: &mut Task, sums: Option<&mut S::Sums>) -> Result<()> {
        self.restart_lottery(task);
        let (rules, lottery) = (&self.rules, &self.lottery);
        let directions = rules.constraints.monotonic.as_deref();
        let in_range = self.ranges.as_mut().zip(directions);
        let in_range = in_range.map(|(ranges, directions)| ranges.of_node(directions, task.limits.range));
        let memory = ScanMemory {
            picked: &mut self.picked,
            copied: &mut self.copied,
            sorting: &mut self.sorting,
            categories: &mut self.categories,
        };
        let mut scan = Scan::new(&mut self.criterion, rules, lottery, &self.control, task, in_range, memory);
        self.store.search(&mut scan, task, sums)?;
        task.split = scan.outcome(task)?;
        let Some(split) = &mut task.split else { return Ok(()) };
        let Limits { range, features } = task.limits;
        let ranges = match (&mut self.ranges, directions) {
            (Some(ranges), Some(directions)) => ranges.children(directions, range, split.feature)?,
            _ => [range; 2],
        };
        let below = self.allowed.as_mut().map(|allowed| allowed.below(features, split.feature)).transpose()?;
        task.limits_below = ranges.map(|range| Limits { range, features: below.unwrap_or(features) });
        if split.cut.subset().is_some() {
            let subset = self.subsets.push(self.categories.listed().iter().copied())?;
            split.cut = split.cut.with_subset(subset);
        }
        let place = self.free_place()?;
        task.place = Some(place);
        let waiting = &mut self.waiting[place];
        waiting.is_remembered = self.criterion.remember(&mut waiting.memory)?;
        Ok(())
    }

    /// Returns a place for one more waiting node.
    fn free_place(&mut self) -> Result<usize> {
        if let Some(place) = self.free.pop() {
            return Ok(place);
        }
        // This reserves memory for giving the place back.
        WAITING.push(&mut self.free, self.waiting.len())?;
        self.free.clear();
        let waiting = Waiting { memory: C::Memory::default(), is_remembered: false, sums: None };
        WAITING.push(&mut self.waiting, waiting)?;
        Ok(self.waiting.len() - 1)
    }

    /// Keeps the sums of a searched node that will be split, if its children may be searched and the limit has not been
    /// reached.
    fn keep(&mut self, task: &Task, sums: Option<S::Sums>) -> Result<()> {
        let Some(sums) = sums else { return Ok(()) };
        match task.place {
            Some(place) if self.n_kept_left > 0 && task.depth + 1 < self.rules.max_depth => {
                self.n_kept_left -= 1;
                self.waiting[place].sums = Some(sums);
                Ok(())
            }
            Some(_) | None => self.store.give_back(sums),
        }
    }

    /// Returns the sums that were kept for a node.
    fn take(&mut self, task: &Task) -> Option<S::Sums> {
        let sums = self.waiting[task.place?].sums.take();
        self.n_kept_left += usize::from(sums.is_some());
        sums
    }

    /// Returns the sums of the larger child, which the criterion has entered. They are those of its parent minus those
    /// of the smaller child, or are computed from its samples.
    fn rest(
        &mut self,
        whole: Option<(S::Sums, bool)>,
        smaller: (&Span, &mut Option<S::Sums>),
        larger: &Task,
    ) -> Result<Option<S::Sums>> {
        if let Some(whole) = whole {
            self.restart_lottery(larger);
            let rest = self.store.subtract(&self.criterion, &self.lottery, whole, smaller, &larger.span)?;
            if rest.is_some() {
                return Ok(rest);
            }
        }
        self.store.fill(&self.criterion, &larger.span)
    }

    /// Returns the number of sums that are kept.
    #[cfg(test)]
    pub(super) fn n_kept(&self) -> usize {
        self.waiting.iter().filter(|waiting| waiting.sums.is_some()).count()
    }
}

impl<S: Store<C>, C: NodeCriterion> Drop for NodeSearch<S, C> {
    fn drop(&mut self) {
        for sums in self.waiting.drain(..).filter_map(|waiting| waiting.sums) {
            // They affect only speed, so they are dropped if there is not enough memory.
            if self.store.give_back(sums).is_err() {
                return;
            }
        }
    }
}

impl<S: Store<C>, C: NodeCriterion> SplitSearch for NodeSearch<S, C> {
    fn root(&mut self, key: Key) -> Result<Task> {
        let span = self.store.root();
        let stats = self.enter(&span)?;
        let mut task = Task::new(span, 0, key, stats, None);
        if self.rules.may_split(&task) {
            let mut sums = self.store.fill(&self.criterion, &task.span)?;
            self.find_split(&mut task, sums.as_mut())?;
            self.keep(&task, sums)?;
        }
        Ok(task)
    }

    fn expand(&mut self, parent: &Task, split: &Split, search: bool) -> Result<[Task; 2]> {
        let mid = self.store.split_samples(&parent.span, split.feature, split.cut.parting(&self.subsets))?;
        // Only here does a span determine the number of samples of a node. Everything else uses its statistics.
        let n_left = self.workers.sum_of(mid - parent.span.samples.start)?;
        if !self.workers.has_all_rows() && !(1..parent.stats.n).contains(&n_left) {
            return Err(other_sums());
        }
        let mut children = parent.children(mid, n_left);
        let expected = [0, 1].map(|side: usize| children[side].stats.n);
        let is_as_expected = |side: usize, children: &[Task; 2]| {
            if children[side].stats.n == expected[side] { Ok(()) } else { Err(other_sums()) }
        };
        let (smaller, larger) = by_size(&children);
        let mut whole = self.take(parent).map(|sums| (sums, false));
        if let (Some((whole, taken)), true) = (&mut whole, search) {
            let [smaller, larger] = [smaller, larger].map(|side| &children[side].span);
            *taken = self.store.take_away(&self.criterion, whole, smaller, larger)?;
        }
        let mut part = None;

        children[smaller].stats = self.enter(&children[smaller].span)?;
        is_as_expected(smaller, &children)?;
        if search && !S::CARRIES_COLUMNS && self.rules.may_split(&children[smaller]) {
            part = self.store.fill(&self.criterion, &children[smaller].span)?;
            self.find_split(&mut children[smaller], part.as_mut())?;
        }
        children[larger].stats = self.enter_rest(parent, &children[larger].span)?;
        is_as_expected(larger, &children)?;
        if let Some(place) = parent.place {
            WAITING.push(&mut self.free, place)?;
        }

        let searched = [0, 1].map(|side: usize| search && self.rules.may_split(&children[side]));
        // Splitting columns does not pay for two leaves. It is therefore done when both children are known, and the
        // smaller one is then entered again.
        if S::CARRIES_COLUMNS && (searched[0] || searched[1]) {
            let spans = self.store.split_columns(&parent.span, mid, searched)?;
            for (child, span) in children.iter_mut().zip(spans) {
                child.span = span;
            }
        }
        if searched[larger] {
            let mut sums = self.rest(whole, (&children[smaller].span, &mut part), &children[larger])?;
            self.find_split(&mut children[larger], sums.as_mut())?;
            self.keep(&children[larger], sums)?;
        } else if let Some((whole, _)) = whole {
            self.store.give_back(whole)?;
        }
        if S::CARRIES_COLUMNS && searched[smaller] {
            self.enter(&children[smaller].span)?;
            self.find_split(&mut children[smaller], None)?;
        }
        self.keep(&children[smaller], part)?;
        Ok(children)
    }

    fn rows(&self, span: &Span) -> &[u32] {
        self.store.rows(span)
    }

    fn listed(&self, split: &Split) -> &[Category] {
        split.cut.subset().map_or(&[], |subset| self.subsets.of(subset))
    }

    fn hand_over(&mut self, task: &Task) -> Result<HandedOver> {
        debug_assert!(self.ranges.is_none() && self.allowed.is_none());
        let listed = task.split.as_ref().map_or(&[][..], |split| self.listed(split));
        let listed = Purpose("the categories of a split").copied(listed)?;
        let waiting = task.place.map(|place| &mut self.waiting[place]).filter(|waiting| waiting.is_remembered);
        let memory = waiting.map(|waiting| Box::new(std::mem::take(&mut waiting.memory)) as Box<dyn Any + Send>);
        let made = self.criterion.hand_over(self.store.rows(&task.span))?;
        Ok(HandedOver { task: task.clone(), listed, memory, made })
    }

    fn resume(&mut self, node: HandedOver) -> Result<Task> {
        let place = self.free_place()?;
        let mut task = Task { span: self.store.root(), place: Some(place), ..node.task };
        if let Some(split) = task.split.as_mut().filter(|split| split.cut.subset().is_some()) {
            split.cut = split.cut.with_subset(self.subsets.push(node.listed.into_iter())?);
        }
        if let Some(made) = node.made {
            self.criterion.take_over(self.store.rows(&task.span), made)?;
        }
        let memory = node.memory.and_then(|memory| memory.downcast().ok());
        let waiting = &mut self.waiting[place];
        waiting.is_remembered = memory.is_some();
        waiting.memory = memory.map_or_else(C::Memory::default, |memory| *memory);
        Ok(task)
    }
}
