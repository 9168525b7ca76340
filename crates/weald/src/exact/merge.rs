//! Merging the sorted lists of several workers into one sorted list that all of them see.
//!
//! Workers send pieces of their lists. Items are merged up to the smallest last item of those pieces whose lists
//! continue, because the rest of these lists is not smaller. The memory is that of some pieces, however long the lists
//! are.

use super::reduce::{Reduce, Workers, other_sums};
use crate::error::{Purpose, Result};

/// The number of items that all workers together send at once.
const AT_ONCE: usize = 1 << 20;

const PURPOSE: Purpose = Purpose("the lists of all workers");

/// An item, whose numbers are sent as they are, whatever they mean.
pub(crate) type Item<const N: usize> = [u64; N];

/// One worker's piece of its list, and the number of items after it.
struct Piece {
    len: usize,
    n_after: u64,
}

/// Passes the items of all workers to `visit` in increasing order. Each comes with its place in the list of this
/// worker, if it is in this list. `own` must be in increasing order. Equal items of several workers come in any order,
/// which is the same on all workers.
pub(crate) fn merge<const N: usize>(
    own: &[Item<N>],
    workers: &Workers,
    visit: impl FnMut(Item<N>, Option<usize>) -> Result<()>,
) -> Result<()> {
    merge_in_pieces(own, AT_ONCE, workers, visit)
}

fn merge_in_pieces<const N: usize>(
    own: &[Item<N>],
    at_once: usize,
    workers: &Workers,
    mut visit: impl FnMut(Item<N>, Option<usize>) -> Result<()>,
) -> Result<()> {
    if workers.has_all_rows() {
        return own.iter().enumerate().try_for_each(|(place, item)| visit(*item, Some(place)));
    }
    let (here, n_workers) = workers.place()?;
    let most = (at_once / n_workers).max(1);
    let (mut done, mut sent, mut merged, mut left) = (0, Vec::new(), Vec::new(), None);
    loop {
        let piece = &own[done..own.len().min(done + most)];
        let mut lengths = PURPOSE.filled(0u64, 2 * n_workers)?;
        (lengths[2 * here], lengths[2 * here + 1]) = (piece.len() as u64, (own.len() - done - piece.len()) as u64);
        workers.sum(&mut lengths)?;
        let pieces = || lengths.as_chunks::<2>().0.iter().map(|&[len, n_after]| Piece { len: len as usize, n_after });
        // What is left of all lists becomes shorter by what was visited, so that the loop ends whatever is received.
        let now: u64 = lengths.iter().fold(0, |sum, len| sum.saturating_add(*len));
        if pieces().any(|piece| piece.len > most) || left.is_some_and(|left| left != now) {
            return Err(other_sums());
        }
        let n_sent: usize = pieces().map(|piece| piece.len).sum();
        if n_sent == 0 {
            return Ok(());
        }
        sent.clear();
        let start: usize = pieces().take(here).map(|piece| piece.len).sum();
        PURPOSE.extend(&mut sent, std::iter::repeat_n(0i64, n_sent * N))?;
        // Adding zeros leaves all bits unchanged.
        let items = piece.iter().flatten().map(|&bits| bits as i64);
        sent[start * N..].iter_mut().zip(items).for_each(|(to, bits)| *to = bits);
        workers.sum(&mut sent)?;
        if sent[start * N..].iter().zip(piece.iter().flatten()).any(|(found, own)| *found as u64 != *own) {
            return Err(other_sums());
        }
        merged.clear();
        let items = sent.as_chunks::<N>().0.iter().map(|item| item.map(|bits| bits as u64));
        PURPOSE.extend(&mut merged, items.enumerate().map(|(at, item)| (item, at)))?;
        let mut end = None;
        let mut last = 0;
        for piece in pieces() {
            last += piece.len;
            if piece.n_after > 0 && piece.len > 0 {
                let item = merged[last - 1].0;
                end = Some(end.map_or(item, |end: Item<N>| end.min(item)));
            }
        }
        merged.retain(|(item, _)| end.is_none_or(|end| *item <= end));
        merged.sort_unstable();
        left = Some(now - merged.len() as u64);
        let first = done;
        for &(item, at) in &merged {
            let is_own = (start..start + piece.len()).contains(&at);
            visit(item, is_own.then(|| first + at - start))?;
            done += usize::from(is_own);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::workers::on_workers;

    proptest! {
        #[test]
        fn lists_of_workers_become_one(lists in prop::collection::vec(prop::collection::vec((0u64..9, any::<u64>()), 0..30), 1..5), at_once in 1usize..20) {
            let lists: Vec<Vec<Item<2>>> = lists
                .into_iter()
                .map(|list| {
                    let mut list: Vec<Item<2>> = list.into_iter().map(|(a, b)| [a, b]).collect();
                    list.sort_unstable();
                    list
                })
                .collect();
            let mut all = lists.concat();
            all.sort_unstable();
            let found = on_workers(lists.len(), |i, workers| {
                let (mut items, mut own) = (Vec::new(), Vec::new());
                merge_in_pieces(&lists[i], at_once, workers, |item, place| {
                    own.extend(place.map(|place| (place, items.len())));
                    items.push(item);
                    Ok(())
                })
                .unwrap();
                (items, own)
            });
            let mut ranks: Vec<usize> = Vec::new();
            for (list, (items, own)) in lists.iter().zip(found) {
                prop_assert_eq!(&items, &all);
                prop_assert_eq!(own.len(), list.len());
                for (at, (place, rank)) in own.into_iter().enumerate() {
                    prop_assert_eq!((at, list[place]), (place, all[rank]));
                    ranks.push(rank);
                }
            }
            ranks.sort_unstable();
            prop_assert_eq!(ranks, (0..all.len()).collect::<Vec<_>>());
        }
    }
}
