//! Interventional values: what a row's features change against the rows of a background.
//!
//! Of a row x and a row b of the background, a feature of a leaf's path is followed by both, by x alone, by b alone or by
//! neither. Where none is followed by neither, with `a` features that x alone follows and `c` that b alone does, the leaf's
//! value counts (a − 1)! c! / (a + c)! for each of the first and − a! (c − 1)! / (a + c)! for each of the others: the chance
//! that in a random order of the features the first come just so. Only nodes that some mixture of x and b reaches are
//! visited. Weights of leaves are summed over the background before they meet values, so that outputs cost once for each row.

use std::ops::Range;

use super::{NONE, Tested, WHAT};
use crate::error::{Result, try_extend, try_filled, try_push, try_resize};
use crate::tree::Tree;

/// Who alone follows the splits on a feature of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Only {
    Row,
    Background,
}

/// Where features are on the paths of a tree.
#[derive(Clone, Debug)]
pub(crate) struct LeafFeatures {
    /// Of each split: which of the different features of its path its own is, in order of appearance.
    position: Vec<u32>,
    /// Different features above each leaf: those of leaf l are `places[first[l]..first[l + 1]]`, in that order.
    first: Vec<usize>,
    places: Vec<u32>,
    /// Logarithms of n!, for n up to the most different features of a path.
    log_factorials: Vec<f64>,
    /// (a − 1)! c! / (a + c)! at a · [`TABLED`] + c, where both and their sum are below it and features on paths.
    weights: Vec<f64>,
}

/// Numbers of features whose weights are looked up: of more they are exponentials of logarithms.
const TABLED: usize = 40;

impl LeafFeatures {
    /// O(sum of the different features of all leaves); `position_of` has [`NONE`] for each place, and has so afterwards.
    pub(crate) fn of(tree: &Tree, tested: &Tested, position_of: &mut [u32]) -> Result<LeafFeatures> {
        let mut position = try_filled(WHAT, NONE, tree.n_nodes())?;
        let mut first = try_filled(WHAT, 0, 1)?;
        let (mut places, mut path, mut above) = (Vec::new(), Vec::new(), Vec::new());
        let mut longest = 0;
        for (at, node) in tree.nodes.iter().enumerate() {
            if !node.is_leaf() {
                let place = tested.place(node.tested());
                let is_first = position_of[place] == NONE;
                if is_first {
                    position_of[place] = path.len() as u32;
                    try_push(WHAT, &mut path, place as u32)?;
                    longest = longest.max(path.len());
                }
                position[at] = position_of[place];
                try_push(WHAT, &mut above, (is_first, false))?;
                continue;
            }
            try_extend(WHAT, &mut places, path.iter().copied())?;
            try_push(WHAT, &mut first, places.len())?;
            while let Some((is_first, is_right)) = above.last_mut() {
                if !*is_right {
                    *is_right = true;
                    break;
                }
                if *is_first {
                    let place = path.pop().expect("a feature was listed where it came first");
                    position_of[place as usize] = NONE;
                }
                above.pop();
            }
        }
        let mut log_factorials = try_filled(WHAT, 0.0, longest + 1)?;
        for n in 2..=longest {
            log_factorials[n] = log_factorials[n - 1] + (n as f64).ln();
        }
        let mut weights = try_filled(WHAT, 0.0, TABLED * TABLED)?;
        let n_tabled = log_factorials.len().min(TABLED);
        for a in 1..n_tabled {
            for c in 0..n_tabled - a {
                weights[a * TABLED + c] = weight(&log_factorials, a, c);
            }
        }
        Ok(LeafFeatures { position, first, places, log_factorials, weights })
    }

    /// The pairs of a leaf and the features of its path.
    fn pairs(&self, leaf: usize) -> Range<usize> {
        self.first[leaf]..self.first[leaf + 1]
    }

    /// (a − 1)! c! / (a + c)!.
    #[inline]
    fn weight(&self, a: usize, c: usize) -> f64 {
        if a + c < TABLED { self.weights[a * TABLED + c] } else { weight(&self.log_factorials, a, c) }
    }
}

/// (a − 1)! c! / (a + c)!.
fn weight(log_factorials: &[f64], a: usize, c: usize) -> f64 {
    (log_factorials[a - 1] + log_factorials[c] - log_factorials[a + c]).exp()
}

/// A node to come, with what was decided just above it.
#[derive(Clone, Copy, Debug)]
struct ToCome {
    node: u32,
    /// Decisions above it.
    n_decided: u32,
    decision: Option<(u32, Only)>,
}

/// Memory of walks.
#[derive(Debug, Default)]
pub(crate) struct Mixing {
    to_come: Vec<ToCome>,
    /// Positions decided on the path, in their order.
    decided: Vec<(u32, Only)>,
    /// Who alone follows each position.
    only: Vec<Option<Only>>,
    /// Of pairs of a leaf and a feature of its path, of leaves that are reached.
    weights: Vec<f64>,
    /// The leaves that are reached, in the order in which they were.
    reached: Vec<u32>,
    /// Of each leaf the last row of X, counted from 1 over all trees, of which it was reached.
    last: Vec<u64>,
    row: u64,
}

impl Mixing {
    /// Forgets the weights of the row before.
    pub(crate) fn begin(&mut self, features: &LeafFeatures) -> Result<()> {
        let n_leaves = features.first.len() - 1;
        if self.last.len() < n_leaves {
            try_resize(WHAT, &mut self.last, n_leaves, 0)?;
        }
        if self.weights.len() < features.places.len() {
            try_resize(WHAT, &mut self.weights, features.places.len(), 0.0)?;
        }
        let n_positions = features.log_factorials.len();
        if self.only.len() < n_positions {
            try_resize(WHAT, &mut self.only, n_positions, None)?;
        }
        self.reached.clear();
        self.row += 1;
        Ok(())
    }

    /// The leaves that are reached, with the weight of each feature of their paths and its place.
    pub(crate) fn weights<'w>(
        &'w self,
        features: &'w LeafFeatures,
    ) -> impl Iterator<Item = (usize, &'w [f64], &'w [u32])> {
        self.reached.iter().map(|&leaf| {
            let range = features.pairs(leaf as usize);
            (leaf as usize, &self.weights[range.clone()], &features.places[range])
        })
    }
}

/// Adds the weights of leaves, for each feature of their paths, of a row against one of the background: their values of
/// each feature tested.
pub(crate) fn add_weights(
    tree: &Tree,
    tested: &Tested,
    features: &LeafFeatures,
    row: &[f32],
    background: &[f32],
    mixing: &mut Mixing,
) -> Result<()> {
    let Mixing { to_come, decided, only, weights, reached, last, row: number } = mixing;
    to_come.clear();
    try_push(WHAT, to_come, ToCome { node: 0, n_decided: 0, decision: None })?;
    while let Some(ToCome { node, n_decided, decision }) = to_come.pop() {
        // Decisions of paths that have been left.
        for (position, _) in decided.drain(n_decided as usize..) {
            only[position as usize] = None;
        }
        if let Some((position, who)) = decision {
            only[position as usize] = Some(who);
            try_push(WHAT, decided, (position, who))?;
        }
        let mut at = node as usize;
        while !tree.nodes[at].is_leaf() {
            let node = &tree.nodes[at];
            let (position, decision) = (features.position[at], node.decision(&tree.sets));
            let place = tested.place(node.tested());
            let sides = [row, background].map(|x| decision.goes_left(x[place]));
            let child = |goes_left: bool| if goes_left { at + 1 } else { node.right() as usize };
            let goes_left = match only[position as usize] {
                Some(Only::Row) => sides[0],
                Some(Only::Background) => sides[1],
                None if sides[0] == sides[1] => sides[0],
                None => {
                    let n_decided = decided.len() as u32;
                    let decision = Some((position, Only::Background));
                    try_push(WHAT, to_come, ToCome { node: child(sides[1]) as u32, n_decided, decision })?;
                    only[position as usize] = Some(Only::Row);
                    try_push(WHAT, decided, (position, Only::Row))?;
                    sides[0]
                }
            };
            at = child(goes_left);
        }
        let n_row = decided.iter().filter(|(_, who)| *who == Only::Row).count();
        let n_background = decided.len() - n_row;
        let of_row = if n_row > 0 { features.weight(n_row, n_background) } else { 0.0 };
        let of_background = if n_background > 0 { -features.weight(n_background, n_row) } else { 0.0 };
        let leaf = tree.nodes[at].right();
        let pairs = &mut weights[features.pairs(leaf as usize)];
        if last[leaf as usize] != *number {
            last[leaf as usize] = *number;
            try_push(WHAT, reached, leaf)?;
            pairs.fill(0.0);
        }
        for &(position, who) in decided.iter() {
            pairs[position as usize] += if who == Only::Row { of_row } else { of_background };
        }
    }
    for (position, _) in decided.drain(..) {
        only[position as usize] = None;
    }
    Ok(())
}
