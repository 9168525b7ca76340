//! The growth of a tree: first its structure, then the values of leaves.

use std::ops::Range;

use super::frontier::{Frontier, WaitingNode};
use crate::control::Control;
use crate::criterion::{Criterion, NodeStats};
use crate::data::Category;
use crate::data::Outputs;
use crate::error::{ErrorKind, Purpose, Result};
use crate::partition::Span;
use crate::partition::category_sets::CategorySets;
use crate::partition::decision::Side;
use crate::rng::Key;
use crate::split::{Split, SplitSearch, Task};
use crate::tree::leaves::LeafTable;
use crate::tree::{Node, Tree};

const PURPOSE: Purpose = Purpose("the nodes of a tree");

/// A tree without leaf values.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    pub(crate) nodes: Vec<Node>,
    pub(crate) sets: CategorySets,
    pub(crate) impurity: Vec<f64>,
    pub(crate) n_node_samples: Vec<u32>,
    /// The weight of each node, in units.
    pub(crate) weight: Vec<f64>,
    /// The samples of each leaf, in pre-order of leaves, as ranges of [`Structure::order`].
    pub(crate) leaf_samples: Vec<Range<u32>>,
    /// The samples of the tree. Each leaf owns a range, in which samples are in increasing order.
    pub(crate) order: Vec<u32>,
}

/// A node of a growing tree and, once it is split, its left child; the right child follows it.
#[derive(Debug)]
pub(super) struct Growing {
    pub(super) samples: Range<u32>,
    pub(super) stats: NodeStats,
    split: Option<Split>,
    left: Option<u32>,
    /// The task of a node that could be split, but is left to another search.
    pub(super) left_over: Option<Box<Task>>,
}

impl Growing {
    /// Returns the samples of the node, without entries.
    pub(super) fn span(&self) -> Span {
        Span { samples: self.samples.clone(), entries: 0..0 }
    }
}

/// The bytes of a node while its tree grows: its task, and its part of the structure that is then made of the tasks.
pub(crate) const BYTES_OF_A_NODE: usize = size_of::<Growing>() + Tree::BYTES_OF_A_NODE + size_of::<Range<u32>>() / 2;

/// Converts the results of a search, which may be codes of bins, to the values in the tree.
pub(crate) trait Decode {
    /// Returns the threshold that the tree stores.
    fn threshold(&self, split: &Split) -> f32;

    /// Writes the categories, in any order, for the codes that a split of this feature sends left.
    fn categories(&self, feature: u32, codes: &[Category], out: &mut Vec<Category>) -> Result<()>;
}

/// The conversion for searches on values, which changes nothing.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Values;

#[cfg(test)]
impl Decode for Values {
    fn threshold(&self, split: &Split) -> f32 {
        split.cut.threshold(|gap| gap)
    }

    fn categories(&self, _: u32, codes: &[Category], out: &mut Vec<Category>) -> Result<()> {
        out.extend(codes);
        Ok(())
    }
}

/// Grows the structure. With `max_leaves`, growth is best-first. `decode` converts the split of a node to its decision
/// on values.
pub(crate) fn grow(
    search: &mut dyn SplitSearch,
    decode: &dyn Decode,
    key: Key,
    max_leaves: Option<usize>,
    control: &Control,
) -> Result<Structure> {
    let root = search.root(key)?;
    let grown = expanded(search, root, max_leaves, 0, control)?;
    in_pre_order(&grown, &[], search, decode)
}

/// Returns the nodes in the order in which they were created, starting with the root. Nodes with at most `until`
/// samples are not split.
pub(super) fn expanded(
    search: &mut dyn SplitSearch,
    root: Task,
    max_leaves: Option<usize>,
    until: u32,
    control: &Control,
) -> Result<Vec<Growing>> {
    let mut frontier = match max_leaves {
        None => Frontier::DepthFirst(Vec::new()),
        Some(_) => Frontier::BestFirst(Default::default()),
    };
    let mut nodes: Vec<Growing> = Vec::new();
    let add = |task: Task, nodes: &mut Vec<Growing>, frontier: &mut Frontier| {
        let node = nodes.len() as u32;
        let (samples, stats, split) = (task.span.samples.clone(), task.stats, task.split);
        let mut growing = Growing { samples, stats, split, left: None, left_over: None };
        match split {
            Some(split) if stats.n > until => frontier.push(WaitingNode { node, task, split })?,
            Some(_) => growing.left_over = Some(Box::new(task)),
            None => {}
        }
        PURPOSE.push(nodes, growing)
    };
    add(root, &mut nodes, &mut frontier)?;
    let mut n_leaves = 1;
    while let Some(WaitingNode { node, task, split }) = frontier.pop() {
        control.check()?;
        if max_leaves.is_some_and(|m| n_leaves >= m) {
            break;
        }
        // The children of the last expansion stay leaves, so their splits are not searched.
        let is_last = max_leaves.is_some_and(|m| n_leaves + 1 >= m);
        let [left, right] = search.expand(&task, &split, !is_last)?;
        nodes[node as usize].left = Some(nodes.len() as u32);
        add(left, &mut nodes, &mut frontier)?;
        add(right, &mut nodes, &mut frontier)?;
        n_leaves += 1;
        check_size(nodes.len())?;
    }
    // The result of an interrupted search is meaningless, and the frontier may be empty because of it.
    control.check()?;
    Ok(nodes)
}

fn check_size(n_nodes: usize) -> Result<()> {
    if n_nodes > Node::MOST - 2 {
        return Err(ErrorKind::TooMany { what: "nodes in a tree", limit: Node::MOST - 2 }.into());
    }
    Ok(())
}

/// Renumbers nodes in pre-order, so that a left child always follows its parent. `subtrees` replace the nodes that they
/// are listed with, in increasing order, which are not split.
pub(super) fn in_pre_order(
    grown: &[Growing],
    subtrees: &[(u32, Structure)],
    search: &dyn SplitSearch,
    decode: &dyn Decode,
) -> Result<Structure> {
    enum Visit {
        Node(u32),
        /// The next node is the right child of this (renumbered) node.
        RightOf(u32),
    }
    let n_nodes = grown.len() + subtrees.iter().map(|(_, subtree)| subtree.nodes.len() - 1).sum::<usize>();
    check_size(n_nodes)?;
    let mut out = Structure {
        nodes: PURPOSE.with_capacity(n_nodes)?,
        sets: CategorySets::default(),
        impurity: PURPOSE.with_capacity(n_nodes)?,
        n_node_samples: PURPOSE.with_capacity(n_nodes)?,
        weight: PURPOSE.with_capacity(n_nodes)?,
        leaf_samples: PURPOSE.with_capacity(n_nodes.div_ceil(2))?,
        order: Purpose("the order of samples").copied(search.rows(&grown[0].span()))?,
    };
    let mut listed = Vec::new();
    let mut stack = Vec::new();
    PURPOSE.push(&mut stack, Visit::Node(0))?;
    while let Some(visit) = stack.pop() {
        let old = match visit {
            Visit::RightOf(parent) => {
                let here = out.nodes.len() as u32;
                out.nodes[parent as usize].set_right(here);
                continue;
            }
            Visit::Node(old) => old,
        };
        let Growing { samples, stats, split, left, .. } = &grown[old as usize];
        if let Ok(i) = subtrees.binary_search_by_key(&old, |(node, _)| *node) {
            out.append(&subtrees[i].1, samples.start)?;
            continue;
        }
        let new = out.nodes.len() as u32;
        match (left, split) {
            (Some(left), Some(split)) => {
                let weight = |node: u32| grown[node as usize].stats.weight;
                let (mut node, unseen) = if split.cut.subset().is_some() {
                    listed.clear();
                    decode.categories(split.feature, search.listed(split), &mut listed)?;
                    listed.sort_unstable();
                    // Everything that is not listed goes right.
                    (Node::split_by_set(split.feature, out.sets.push(listed.iter().copied())?), Side::Right)
                } else {
                    let heavier = Side::heavier(weight(*left), weight(left + 1));
                    (Node::split(split.feature, decode.threshold(split)), heavier)
                };
                let missing = split.cut.missing();
                node.set_missing(missing.unwrap_or(unseen), missing.is_some());
                out.nodes.push(node);
                PURPOSE.extend(&mut stack, [Visit::Node(left + 1), Visit::RightOf(new), Visit::Node(*left)])?;
            }
            (None, _) | (_, None) => {
                let leaf = out.leaf_samples.len() as u32;
                out.nodes.push(Node::leaf(leaf));
                out.leaf_samples.push(samples.clone());
            }
        }
        out.impurity.push(stats.impurity);
        out.n_node_samples.push(stats.n);
        out.weight.push(stats.weight);
    }
    Ok(out)
}

impl Structure {
    /// Appends the nodes of a subtree that was grown on the samples from position `first` on.
    fn append(&mut self, subtree: &Structure, first: u32) -> Result<()> {
        let (first_node, first_leaf) = (self.nodes.len() as u32, self.leaf_samples.len() as u32);
        for node in &subtree.nodes {
            let mut moved = match node.is_leaf() {
                true => Node::leaf(first_leaf + node.right()),
                false => node.with_right(first_node + node.right()),
            };
            if let Some(set) = node.set() {
                moved.set_categories(self.sets.push(subtree.sets.of(set).iter().copied())?);
            }
            PURPOSE.push(&mut self.nodes, moved)?;
        }
        PURPOSE.extend(&mut self.impurity, subtree.impurity.iter().copied())?;
        PURPOSE.extend(&mut self.n_node_samples, subtree.n_node_samples.iter().copied())?;
        PURPOSE.extend(&mut self.weight, subtree.weight.iter().copied())?;
        let leaf_samples = subtree.leaf_samples.iter().map(|range| first + range.start..first + range.end);
        PURPOSE.extend(&mut self.leaf_samples, leaf_samples)?;
        let first = first as usize;
        self.order[first..first + subtree.order.len()].copy_from_slice(&subtree.order);
        Ok(())
    }

    /// Returns the samples of leaf `leaf`.
    pub(crate) fn leaf_rows(&self, leaf: usize) -> &[u32] {
        let range = &self.leaf_samples[leaf];
        &self.order[range.start as usize..range.end as usize]
    }

    /// Returns the finished tree. `unit` is the weight of one unit.
    pub(crate) fn into_tree(
        mut self,
        leaves: LeafTable,
        unit: f64,
        n_features: usize,
        outputs: Outputs,
        criterion: Criterion,
    ) -> Tree {
        self.weight.iter_mut().for_each(|w| *w *= unit);
        Tree {
            n_features,
            outputs: outputs.into(),
            criterion,
            nodes: self.nodes,
            sets: self.sets,
            impurity: self.impurity,
            n_node_samples: self.n_node_samples,
            weighted_n_node_samples: self.weight,
            leaves,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::HandedOver;
    use crate::split::cut::Cut;

    /// A search that splits one sample off at a time, to the left or to the right.
    struct Peel {
        rows: Vec<u32>,
        left: bool,
        /// The number of expansions whose children were searched.
        n_searched: usize,
    }

    impl Peel {
        fn task(&self, samples: Range<u32>, depth: usize) -> Task {
            let n = samples.end - samples.start;
            let stats = NodeStats { n, weight: f64::from(n), impurity: f64::from(n - 1), pure: n == 1 };
            let split = (n > 1).then_some(Split { feature: depth as u32, cut: Cut::drawn(0.5, None), decrease: 1.0 });
            Task::new(Span { samples, entries: 0..0 }, depth, Key::from_seed(depth as u64), stats, split)
        }
    }

    impl SplitSearch for Peel {
        fn root(&mut self, _: Key) -> Result<Task> {
            Ok(self.task(0..self.rows.len() as u32, 0))
        }

        fn expand(&mut self, parent: &Task, _: &Split, search: bool) -> Result<[Task; 2]> {
            self.n_searched += usize::from(search);
            let samples = parent.span.samples.clone();
            let mid = if self.left { samples.start + 1 } else { samples.end - 1 };
            Ok([samples.start..mid, mid..samples.end].map(|samples| self.task(samples, parent.depth + 1)))
        }

        fn rows(&self, span: &Span) -> &[u32] {
            &self.rows[span.samples.start as usize..span.samples.end as usize]
        }

        fn listed(&self, _: &Split) -> &[Category] {
            &[]
        }

        fn hand_over(&mut self, _: &Task) -> Result<HandedOver> {
            unimplemented!()
        }

        fn resume(&mut self, _: HandedOver) -> Result<Task> {
            unimplemented!()
        }
    }

    #[test]
    fn a_chain_of_100_000_splits_grows_and_is_numbered_in_pre_order() {
        let n = 100_001;
        for left in [true, false] {
            for max_leaves in [None, Some(n as usize), Some(50_000)] {
                let mut search = Peel { rows: (0..n).collect(), left, n_searched: 0 };
                let s = grow(&mut search, &Values, Key::from_seed(0), max_leaves, &Control::default()).unwrap();
                let n_leaves = max_leaves.unwrap_or(n as usize);
                assert_eq!(s.nodes.len(), 2 * n_leaves - 1);
                assert_eq!(s.leaf_samples.len(), n_leaves);
                assert_eq!(search.n_searched, n_leaves - 1 - usize::from(max_leaves.is_some()));
                assert_eq!(s.nodes[0].right() as usize, if left { 2 } else { s.nodes.len() - 1 });
                let mut samples: Vec<u32> = (0..n_leaves).flat_map(|leaf| s.leaf_rows(leaf)).copied().collect();
                samples.sort_unstable();
                assert_eq!(samples, search.rows);
            }
        }
    }

    #[test]
    fn a_raised_flag_ends_growth() {
        let control = Control::default();
        control.stop();
        let mut search = Peel { rows: (0..10).collect(), left: true, n_searched: 0 };
        let error = grow(&mut search, &Values, Key::from_seed(0), None, &control).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Interrupted);
    }
}
