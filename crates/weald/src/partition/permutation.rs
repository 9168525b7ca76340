//! The samples of nodes: an array of samples in which every node owns a range, and its inverse.

use std::ops::Range;

use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::pool;
use crate::reuse::Buffer;

/// `order` lists the samples of the tree, and `mapping` is its inverse.
///
/// Invariants: `mapping[order[i]] == i` for every i; `mapping[row] == OUT` for samples that are not in the tree;
/// samples are in increasing order within every node. There is no mapping if samples are never looked up.
#[derive(Debug)]
pub(crate) struct Permutation {
    order: Buffer<u32>,
    mapping: Vec<u32>,
    scratch: Buffer<u32>,
    /// See [`LEAST_IN_BLOCK`].
    least_in_block: usize,
}

const SAMPLES: Purpose = Purpose("the order of samples");

/// The minimum number of samples for each thread that splits a node; it is set by hand.
const LEAST_IN_BLOCK: usize = 1 << 12;

/// The mapping of samples outside the tree, which is larger than any position.
const OUT: u32 = u32::MAX;

impl Permutation {
    /// `rows` must be strictly increasing and below `n_samples`.
    pub(crate) fn new(rows: &[u32], n_samples: usize, control: &Control) -> Result<Self> {
        let mut mapping = control.filled(Purpose("the mapping of samples"), OUT, n_samples)?;
        let mut places = 0..;
        for piece in control.pieces(rows, 1) {
            for (&row, place) in piece?.iter().zip(&mut places) {
                mapping[row as usize] = place;
            }
        }
        Ok(Permutation { mapping, ..Permutation::one_way(rows, control)? })
    }

    /// Creates a permutation without a mapping, in which samples cannot be looked up.
    pub(crate) fn one_way(rows: &[u32], control: &Control) -> Result<Self> {
        let scratch = control.buffer(SAMPLES, rows.len())?;
        let mut order = control.buffer(SAMPLES, rows.len())?;
        order.copy_from_slice(rows);
        Ok(Permutation { order, mapping: Vec::new(), scratch, least_in_block: LEAST_IN_BLOCK })
    }

    /// Returns the number of samples.
    pub(crate) fn len(&self) -> u32 {
        self.order.len() as u32
    }

    pub(crate) fn rows(&self, node: Range<u32>) -> &[u32] {
        &self.order[node.start as usize..node.end as usize]
    }

    pub(crate) fn contains(&self, node: &Range<u32>, row: u32) -> bool {
        // One comparison is sufficient for both bounds, because positions before the node wrap around.
        self.mapping[row as usize].wrapping_sub(node.start) < node.end - node.start
    }

    /// Moves the samples for which `goes_right` holds behind the others, keeping both sides in increasing order.
    /// Returns the place of the first of them.
    pub(crate) fn split(&mut self, node: Range<u32>, goes_right: impl FnMut(u32) -> bool) -> u32 {
        let range = node.start as usize..node.end as usize;
        let n_left = split_stably(&mut self.order[range.clone()], &mut self.scratch, goes_right);
        if self.mapping.is_empty() {
            return node.start + n_left as u32;
        }
        for (i, &row) in self.order[range.clone()].iter().enumerate() {
            self.mapping[row as usize] = (range.start + i) as u32;
        }
        node.start + n_left as u32
    }

    /// Writes the samples of a node in a new order. Only without a mapping.
    pub(crate) fn reorder(&mut self, node: Range<u32>, rows: impl Iterator<Item = u32>) {
        debug_assert!(self.mapping.is_empty());
        self.order[node.start as usize..node.end as usize].iter_mut().zip(rows).for_each(|(old, row)| *old = row);
    }

    /// Like [`Permutation::split`], by several threads if the node has many samples. There must be no mapping.
    pub(crate) fn split_in_blocks(
        &mut self,
        node: Range<u32>,
        n_threads: usize,
        goes_right: impl Fn(u32) -> bool + Sync,
    ) -> Result<u32> {
        debug_assert!(self.mapping.is_empty());
        let (n_blocks, at_once) = pool::blocks(n_threads, node.len(), self.least_in_block);
        if n_blocks < 2 {
            return Ok(self.split(node, goes_right));
        }
        let rows = &mut self.order[node.start as usize..node.end as usize];
        let scratch = &mut self.scratch[..node.len()];
        // In each block, samples that stay come first, and those that go right come last, in decreasing order.
        let mut n_left = SAMPLES.filled(0, n_blocks)?;
        let blocks = rows.chunks(at_once).zip(scratch.chunks_mut(at_once)).zip(&mut n_left);
        pool::for_each(
            n_threads,
            blocks,
            || Ok(()),
            |(), ((rows, to), n_left)| {
                let mut left = 0;
                for (i, &row) in rows.iter().enumerate() {
                    let right = goes_right(row);
                    to[left] = row;
                    to[rows.len() - 1 - (i - left)] = row;
                    left += usize::from(!right);
                }
                *n_left = left;
                Ok(())
            },
        )?;
        let mid = n_left.iter().sum();
        let (mut all_left, mut all_right) = rows.split_at_mut(mid);
        let mut pieces = SAMPLES.with_capacity(n_blocks)?;
        for (block, &n_left) in scratch.chunks(at_once).zip(&n_left) {
            let (left, right) = block.split_at(n_left);
            pieces.push((left, all_left.split_off_mut(..left.len()), right, all_right.split_off_mut(..right.len())));
        }
        pool::for_each(
            n_threads,
            pieces.into_iter(),
            || Ok(()),
            |(), (left, to_left, right, to_right)| {
                if let (Some(to_left), Some(to_right)) = (to_left, to_right) {
                    to_left.copy_from_slice(left);
                    to_right.iter_mut().zip(right.iter().rev()).for_each(|(to, row)| *to = *row);
                }
                Ok(())
            },
        )?;
        Ok(node.start + mid as u32)
    }

    /// Sets the minimum number of samples for each thread.
    #[cfg(test)]
    pub(crate) fn set_least_in_block(&mut self, n: usize) {
        self.least_in_block = n;
    }

    #[cfg(test)]
    pub(crate) fn is_consistent(&self) -> bool {
        let inside = self.order.iter().enumerate().all(|(i, &row)| self.mapping[row as usize] == i as u32);
        inside && self.mapping.iter().filter(|&&m| m != OUT).count() == self.order.len()
    }
}

/// Moves the items that go right behind the others, in the same order, and returns the number of the others. `scratch`
/// must not be shorter.
pub(super) fn split_stably(items: &mut [u32], scratch: &mut [u32], mut goes_right: impl FnMut(u32) -> bool) -> usize {
    let scratch = &mut scratch[..items.len()];
    let (mut n_left, mut n_right) = (0, 0);
    for i in 0..items.len() {
        let item = items[i];
        let right = goes_right(item);
        // There is no branch: the item is written to both places, and one of them advances.
        items[n_left] = item;
        scratch[n_right] = item;
        n_left += usize::from(!right);
        n_right += usize::from(right);
    }
    items[n_left..].copy_from_slice(&scratch[..n_right]);
    n_left
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn several_threads_split_as_one(
            right in prop::collection::vec(any::<bool>(), 1..300), ends in [0u32..300, 0u32..300], least_in_block in 1usize..9,
        ) {
            let rows: Vec<u32> = (0..right.len() as u32).collect();
            let ends = ends.map(|end| end.min(right.len() as u32));
            let node = ends[0].min(ends[1])..ends[0].max(ends[1]);
            let goes_right = |row: u32| right[row as usize];
            let mut by_one = Permutation::one_way(&rows, &Control::default()).unwrap();
            let mid = by_one.split(node.clone(), goes_right);
            for n_threads in [1, 2, 3, 7] {
                let by_several = Permutation::one_way(&rows, &Control::default()).unwrap();
                let mut by_several = Permutation { least_in_block, ..by_several };
                prop_assert_eq!(by_several.split_in_blocks(node.clone(), n_threads, goes_right).unwrap(), mid);
                prop_assert_eq!(&*by_several.order, &*by_one.order);
            }
        }

        #[test]
        fn mapping_stays_the_inverse_of_order(
            keep in prop::collection::vec(any::<bool>(), 1..60), cuts in prop::collection::vec((any::<u64>(), 0u32..60), 0..20),
        ) {
            let rows: Vec<u32> = (0..keep.len() as u32).filter(|&i| keep[i as usize]).collect();
            let mut p = Permutation::new(&rows, keep.len(), &Control::default()).unwrap();
            let mut nodes: Vec<_> = std::iter::once(0..rows.len() as u32).collect();
            for (mask, pick) in cuts {
                let node = nodes.swap_remove(pick as usize % nodes.len());
                let mut before = p.rows(node.clone()).to_vec();
                let mid = p.split(node.clone(), |row| mask >> row & 1 == 1);
                prop_assert!(p.is_consistent());
                let (left, right) = (p.rows(node.start..mid), p.rows(mid..node.end));
                prop_assert!(left.iter().all(|r| mask >> r & 1 == 0) && right.iter().all(|r| mask >> r & 1 == 1));
                prop_assert!(left.is_sorted() && right.is_sorted());
                prop_assert!(left.iter().all(|&r| p.contains(&(node.start..mid), r) && !p.contains(&(mid..node.end), r)));
                let mut after = [left, right].concat();
                before.sort();
                after.sort();
                prop_assert_eq!(before, after);
                nodes.extend([node.start..mid, mid..node.end]);
            }
            prop_assert!((0..keep.len() as u32).all(|r| keep[r as usize] || !p.contains(&(0..rows.len() as u32), r)));
        }
    }
}
