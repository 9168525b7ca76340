//! The different sets of known cells that the nodes of a tree have of a column.
//!
//! All nodes on a path without a fork of the column have the same set of cells. So a column with c cells has at most
//! 2 c − 1 sets, whatever the number of nodes. They are found from the leaves that have cells, in their order, and from
//! the lowest node above each two neighbours, in O(c log nodes) time.

use super::{Nodes, PURPOSE};
use crate::error::Result;

const NONE: u32 = u32::MAX;

/// A set of cells of one column.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellSet {
    /// The first and the last node of the path whose nodes have the set.
    pub(super) top: u32,
    pub(super) node: u32,
    /// The number of the set that includes this one, or [`NONE`].
    above: u32,
    /// The cells, as a part of those of the column.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The number of children of the last node that have cells.
    pub(super) n_children: u32,
}

/// A tree divided into paths such that there are few of them between a node and the root.
#[derive(Debug)]
pub(super) struct Paths<'n> {
    parents: &'n [u32],
    depths: Vec<u32>,
    /// The first node of the path of each node.
    heads: Vec<u32>,
    /// The next node on the path of each node.
    next: Vec<u32>,
    pub(super) n_children: Vec<u32>,
    /// The sets of a column, and the numbers of those that are not finished yet.
    sets: Vec<CellSet>,
    open: Vec<u32>,
    /// The numbers of finished sets, each before that of the set that includes it.
    finished: Vec<u32>,
    ordered: Vec<CellSet>,
}

impl<'n> Paths<'n> {
    pub(super) fn new(nodes: &'n Nodes<'_>) -> Result<Self> {
        let (n, parents) = (nodes.len(), &nodes.parents[..]);
        let (mut depths, mut heads) = (PURPOSE.filled(0u32, n)?, PURPOSE.filled(0u32, n)?);
        let (mut next, mut n_children) = (PURPOSE.filled(0u32, n)?, PURPOSE.filled(0u32, n)?);
        let mut sizes = PURPOSE.filled(1u32, n)?;
        for node in (1..n).rev() {
            let (parent, size) = (parents[node] as usize, sizes[node]);
            sizes[parent] += size;
            n_children[parent] += 1;
            if next[parent] == 0 || size > sizes[next[parent] as usize] {
                next[parent] = node as u32;
            }
        }
        for node in 1..n {
            let parent = parents[node] as usize;
            depths[node] = depths[parent] + 1;
            heads[node] = if next[parent] == node as u32 { heads[parent] } else { node as u32 };
        }
        let (sets, open, finished, ordered) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Paths { parents, depths, heads, next, n_children, sets, open, finished, ordered })
    }

    /// Returns the lowest node that is above both nodes or is one of them.
    fn fork(&self, a: u32, b: u32) -> u32 {
        let (mut a, mut b) = (a as usize, b as usize);
        while self.heads[a] != self.heads[b] {
            let (of_a, of_b) = (self.heads[a] as usize, self.heads[b] as usize);
            if self.depths[of_a] > self.depths[of_b] {
                a = self.parents[of_a] as usize;
            } else {
                b = self.parents[of_b] as usize;
            }
        }
        if self.depths[a] < self.depths[b] { a as u32 } else { b as u32 }
    }

    /// Returns the child of a node towards a node below it.
    fn towards(&self, above: u32, below: u32) -> u32 {
        let mut below = below as usize;
        while self.heads[below] != self.heads[above as usize] {
            let head = self.heads[below];
            if self.parents[head as usize] == above {
                return head;
            }
            below = self.parents[head as usize] as usize;
        }
        self.next[above as usize]
    }

    /// Returns the sets of a column whose cells are in these leaves, each after the set that includes it. The leaves are
    /// in the order in which a depth-first walk meets them.
    pub(super) fn sets(&mut self, leaves: impl Iterator<Item = u32>) -> Result<&[CellSet]> {
        self.sets.clear();
        self.finished.clear();
        self.ordered.clear();
        let mut n_cells = 0;
        for leaf in leaves {
            let mut start = n_cells;
            let mut node = NONE;
            while let Some(&last) = self.open.last() {
                node = self.sets[last as usize].node;
                let fork = self.fork(node, leaf);
                if fork == node {
                    break;
                }
                start = self.sets[last as usize].start;
                self.finish(n_cells);
                let depth = self.depths[fork as usize];
                let is_open = |above: &u32| self.depths[self.sets[*above as usize].node as usize] >= depth;
                if !self.open.last().is_some_and(is_open) {
                    self.begin(fork, start)?;
                }
                self.set_above(last);
                start = n_cells;
            }
            if node != leaf {
                self.begin(leaf, start)?;
            }
            n_cells += 1;
        }
        while let Some(&last) = self.open.last() {
            self.finish(n_cells);
            self.set_above(last);
        }
        PURPOSE.reserve(&mut self.ordered, self.sets.len())?;
        for &number in self.finished.iter().rev() {
            let set = self.sets[number as usize];
            let above = self.sets.get(set.above as usize);
            let top = above.map_or(0, |above| self.towards(above.node, set.node));
            // In place of its last cell, which has been copied, each set keeps its new number.
            let above = above.map_or(NONE, |above| above.end as u32);
            self.sets[number as usize].end = self.ordered.len();
            self.ordered.push(CellSet { top, above, ..set });
        }
        Ok(&self.ordered)
    }

    /// Records that the last set that is open includes another one.
    fn set_above(&mut self, number: u32) {
        let Some(&above) = self.open.last() else { return };
        self.sets[number as usize].above = above;
        self.sets[above as usize].n_children += 1;
    }

    fn begin(&mut self, node: u32, start: usize) -> Result<()> {
        PURPOSE.push(&mut self.open, self.sets.len() as u32)?;
        // This reserves memory for finishing the set.
        PURPOSE.push(&mut self.finished, NONE)?;
        self.finished.pop();
        PURPOSE.push(&mut self.sets, CellSet { top: node, node, above: NONE, start, end: start, n_children: 0 })
    }

    fn finish(&mut self, end: usize) {
        if let Some(last) = self.open.pop() {
            self.sets[last as usize].end = end;
            self.finished.push(last);
        }
    }
}

impl CellSet {
    /// Returns the value for the set that includes this one, given those of sets before.
    pub(super) fn above<T: Copy>(&self, of_sets: &[T]) -> Option<T> {
        of_sets.get(self.above as usize).copied()
    }
}
