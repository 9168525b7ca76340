//! Interventional values: a block of rows and all rows of a background down a tree, as sets of bits.
//!
//! Of a row x and a row b of the background, a feature of a leaf's path is followed by both, by x alone, by b alone or by
//! neither, and some mixture of the two reaches the leaf where no feature is followed by neither. A pair of rows that has
//! parted so at a node has nothing to do below it. So the walk holds, for each feature of the path, the rows of the block
//! and those of the background that follow it, and for each row x the rows b with which it still has mixtures: of one bit
//! each, and a split changes those of rows that do not follow it alone. What the pairs that reach a leaf are worth is told
//! by [`mixed_leaf`](super::mixed_leaf).
//!
//! Sets of rows that agree, in place of pairs of rows: A. Nadel and R. Wettenstein, *From Decision Trees to Boolean Logic: A
//! Fast and Unified SHAP Algorithm* (2025), which counts patterns of agreement; the pairs themselves are those of "tree SHAP
//! with independent features" of S. Lundberg et al. (2020).

use super::{LANES, NONE, PURPOSE, Tested};
use crate::control::Pulse;
use crate::error::Result;
use crate::partition::decision::{Decision, Side, Test};
use crate::tree::Tree;

/// Bits of a word.
pub(crate) const BITS: usize = 64;

/// Calls `each` with the bits that are set.
#[inline(always)]
pub(crate) fn for_each_bit(words: impl Iterator<Item = u64>, mut each: impl FnMut(usize)) {
    for (at, mut word) in words.enumerate() {
        while word != 0 {
            each(at * BITS + word.trailing_zeros() as usize);
            word &= word - 1;
        }
    }
}

/// Values of some rows, feature by feature: those of one are side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByPlace<'x> {
    pub(crate) values: &'x [f32],
    /// From one feature to the next; at least the number of rows.
    pub(crate) stride: usize,
    pub(crate) n_rows: usize,
}

impl<'x> ByPlace<'x> {
    #[inline(always)]
    fn of(&self, place: usize) -> &'x [f32] {
        &self.values[place * self.stride..][..self.n_rows]
    }
}

/// Rows that go down a tree together, and which of them follow the splits on each feature of the path.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    /// Of a set of rows.
    pub(crate) n_words: usize,
    /// The set of each feature of the path, in the order in which they come first.
    follows: Vec<u64>,
    /// Of each row the number of features of the path that it does not follow.
    pub(crate) n_astray: Vec<u32>,
    everyone: Vec<u64>,
    /// For each split of the path: who goes left, and who followed its feature before.
    splits: Vec<u64>,
}

impl Crowd {
    fn begin(&mut self, n_rows: usize) -> Result<()> {
        self.n_words = n_rows.div_ceil(BITS);
        self.everyone.clear();
        PURPOSE.resize(&mut self.everyone, self.n_words, u64::MAX)?;
        if !n_rows.is_multiple_of(BITS) {
            self.everyone[self.n_words - 1] = (1 << (n_rows % BITS)) - 1;
        }
        self.n_astray.clear();
        PURPOSE.resize(&mut self.n_astray, n_rows, 0)?;
        self.follows.clear();
        self.splits.clear();
        Ok(())
    }

    /// The rows that follow all splits on a feature of the path.
    #[inline(always)]
    pub(crate) fn follows(&self, position: usize) -> &[u64] {
        &self.follows[position * self.n_words..][..self.n_words]
    }

    #[inline(always)]
    pub(crate) fn row_follows(&self, position: usize, row: usize) -> bool {
        self.follows[position * self.n_words + row / BITS] >> (row % BITS) & 1 == 1
    }

    /// The rows that do not, words by words.
    #[inline(always)]
    pub(crate) fn astray(&self, position: usize) -> impl Iterator<Item = u64> {
        self.everyone.iter().zip(self.follows(position)).map(|(all, follow)| all & !follow)
    }

    /// Notes who goes left.
    #[inline(always)]
    fn split(&mut self, position: usize, decision: Decision<'_>, x: &[f32]) -> Result<()> {
        if self.follows.len() == position * self.n_words {
            PURPOSE.extend(&mut self.follows, self.everyone.iter().copied())?;
        }
        let n_words = self.n_words;
        match decision.test() {
            Test::AtMost(threshold) => {
                let missing = decision.missing() == Side::Left;
                let left = x.chunks(BITS).map(|x| bits(x, |x| (x <= threshold) | (x.is_nan() & missing)));
                PURPOSE.extend(&mut self.splits, left)?;
            }
            Test::AnyOf(_) => {
                let left = x.chunks(BITS).map(|x| bits(x, |x| decision.goes_left(x)));
                PURPOSE.extend(&mut self.splits, left)?;
            }
        }
        PURPOSE.extend(&mut self.splits, self.follows[position * n_words..][..n_words].iter().copied())
    }

    /// Goes to a side of the last split.
    #[inline(always)]
    fn enter(&mut self, position: usize, is_right: bool) {
        let (left, before) = self.splits[self.splits.len() - 2 * self.n_words..].split_at(self.n_words);
        let other = if is_right { u64::MAX } else { 0 };
        let follows = &mut self.follows[position * self.n_words..][..self.n_words];
        for ((follow, left), before) in follows.iter_mut().zip(left).zip(before) {
            *follow = before & (left ^ other);
        }
        let n_astray = &mut self.n_astray;
        for_each_bit(before.iter().zip(&*follows).map(|(before, now)| before & !now), |row| n_astray[row] += 1);
    }

    /// Comes back from a side of the last split.
    #[inline(always)]
    fn leave(&mut self, position: usize) {
        let before = &self.splits[self.splits.len() - self.n_words..];
        let follows = &mut self.follows[position * self.n_words..][..self.n_words];
        let n_astray = &mut self.n_astray;
        for_each_bit(before.iter().zip(&*follows).map(|(before, now)| before & !now), |row| n_astray[row] -= 1);
        follows.copy_from_slice(before);
    }

    /// Forgets the last split, with its feature where that came first.
    #[inline(always)]
    fn forget(&mut self, position: usize, is_first: bool) {
        self.splits.truncate(self.splits.len() - 2 * self.n_words);
        if is_first {
            self.follows.truncate(position * self.n_words);
        }
    }
}

/// A bit for each value.
#[inline(always)]
fn bits(x: &[f32], is_set: impl Fn(f32) -> bool) -> u64 {
    x.iter().enumerate().fold(0, |word, (at, &x)| word | u64::from(is_set(x)) << at)
}

/// A split of the path.
#[derive(Clone, Copy, Debug)]
struct Frame {
    right: u32,
    position: u32,
    /// Whether no split above tests the feature.
    is_first: bool,
    is_right: bool,
    /// Partners kept before a side was entered.
    n_kept: usize,
}

/// The path, who follows it, and memory for it.
#[derive(Debug, Default)]
pub(crate) struct Mixtures {
    pub(crate) rows: Crowd,
    pub(crate) background: Crowd,
    /// Places of the features of the path, in the order in which they come first.
    pub(crate) path: Vec<u32>,
    /// Of each place its number in `path`, or [`NONE`].
    position_of: Vec<u32>,
    /// Rows that have partners.
    live: Vec<u64>,
    /// Of each row the rows of the background that some mixture of both follows the whole path with.
    partners: Vec<u64>,
    frames: Vec<Frame>,
    /// `live` at each split.
    live_before: Vec<u64>,
    /// Rows whose partners were changed below a split, and these before it.
    kept: Vec<u32>,
    kept_partners: Vec<u64>,
}

impl Mixtures {
    fn begin(&mut self, n_rows: usize, n_background: usize, n_places: usize) -> Result<()> {
        self.rows.begin(n_rows)?;
        self.background.begin(n_background)?;
        PURPOSE.resize(&mut self.position_of, n_places, NONE)?;
        self.live.clear();
        PURPOSE.extend(&mut self.live, self.rows.everyone.iter().copied())?;
        self.partners.clear();
        for _ in 0..n_rows {
            PURPOSE.extend(&mut self.partners, self.background.everyone.iter().copied())?;
        }
        Ok(())
    }

    /// The rows that have partners, as bits of the groups of [`LANES`] rows that have some.
    #[inline(always)]
    pub(crate) fn live_groups(&self) -> impl Iterator<Item = (usize, u8)> {
        let groups = self.live.iter().flat_map(|word| word.to_le_bytes()).enumerate();
        groups.filter(|(_, lanes)| *lanes != 0)
    }

    /// The rows of the background with which mixtures of a row are here.
    #[inline(always)]
    pub(crate) fn partners(&self, row: usize) -> &[u64] {
        &self.partners[row * self.background.n_words..][..self.background.n_words]
    }

    #[inline(always)]
    fn split(&mut self, tree: &Tree, at: usize, tested: &Tested, x: ByPlace<'_>, other: ByPlace<'_>) -> Result<()> {
        let node = &tree.nodes[at];
        let place = tested.place(node.tested());
        let is_first = self.position_of[place] == NONE;
        if is_first {
            self.position_of[place] = self.path.len() as u32;
            PURPOSE.push(&mut self.path, place as u32)?;
        }
        let position = self.position_of[place];
        let decision = node.decision(&tree.sets);
        self.rows.split(position as usize, decision, x.of(place))?;
        self.background.split(position as usize, decision, other.of(place))?;
        PURPOSE.extend(&mut self.live_before, self.live.iter().copied())?;
        let n_kept = self.kept.len();
        PURPOSE.push(&mut self.frames, Frame { right: node.right(), position, is_first, is_right: false, n_kept })
    }

    /// Goes to a side of the last split: rows that do not follow its feature keep the partners that do.
    #[inline(always)]
    fn enter(&mut self) -> Result<()> {
        let frame = self.frames[self.frames.len() - 1];
        let position = frame.position as usize;
        self.rows.enter(position, frame.is_right);
        self.background.enter(position, frame.is_right);
        let n_words = self.background.n_words;
        let (rows, theirs) = (self.rows.follows(position), self.background.follows(position));
        for (at, (live, follow)) in self.live.iter_mut().zip(rows).enumerate() {
            let mut astray = *live & !follow;
            while astray != 0 {
                let row = at * BITS + astray.trailing_zeros() as usize;
                let partners = &mut self.partners[row * n_words..][..n_words];
                PURPOSE.push(&mut self.kept, row as u32)?;
                PURPOSE.extend(&mut self.kept_partners, partners.iter().copied())?;
                let mut some = 0;
                for (partners, follow) in partners.iter_mut().zip(theirs) {
                    *partners &= follow;
                    some |= *partners;
                }
                if some == 0 {
                    *live ^= astray & astray.wrapping_neg();
                }
                astray &= astray - 1;
            }
        }
        Ok(())
    }

    /// Comes back from a side of the last split.
    #[inline(always)]
    fn leave(&mut self) {
        let frame = self.frames[self.frames.len() - 1];
        let n_words = self.background.n_words;
        let changed = self.kept.drain(frame.n_kept..);
        let before = self.kept_partners[frame.n_kept * n_words..].chunks_exact(n_words);
        for (row, before) in changed.zip(before) {
            self.partners[row as usize * n_words..][..n_words].copy_from_slice(before);
        }
        self.kept_partners.truncate(frame.n_kept * n_words);
        let first = self.live_before.len() - self.live.len();
        self.live.copy_from_slice(&self.live_before[first..]);
        self.rows.leave(frame.position as usize);
        self.background.leave(frame.position as usize);
    }

    #[inline(always)]
    fn forget(&mut self) {
        let frame = self.frames.pop().expect("a split was pushed before its sides were left");
        self.live_before.truncate(self.live_before.len() - self.live.len());
        self.rows.forget(frame.position as usize, frame.is_first);
        self.background.forget(frame.position as usize, frame.is_first);
        if frame.is_first {
            let place = self.path.pop().expect("a feature was listed where it came first");
            self.position_of[place as usize] = NONE;
        }
    }
}

/// What the walk tells of.
pub(crate) trait VisitMixed {
    /// Some rows have mixtures that reach this leaf; the steps that it took.
    fn leaf(&mut self, mixtures: &Mixtures, leaf: u32) -> Result<usize>;
}

/// Walks rows and those of a background through the nodes of a tree that mixtures of them reach.
#[inline(always)]
pub(crate) fn walk_mixed<V: VisitMixed>(
    tree: &Tree,
    tested: &Tested,
    x: ByPlace<'_>,
    background: ByPlace<'_>,
    mixtures: &mut Mixtures,
    pulse: &mut Pulse<'_>,
    visit: &mut V,
) -> Result<()> {
    mixtures.begin(x.n_rows, background.n_rows, tested.len())?;
    let mut at = 0;
    loop {
        pulse.after((x.n_rows + background.n_rows) / LANES + 1)?;
        if mixtures.live.iter().any(|word| *word != 0) {
            if !tree.nodes[at].is_leaf() {
                mixtures.split(tree, at, tested, x, background)?;
                mixtures.enter()?;
                at += 1;
                continue;
            }
            pulse.after(visit.leaf(mixtures, tree.nodes[at].right())?)?;
        }
        loop {
            if mixtures.frames.is_empty() {
                return Ok(());
            }
            mixtures.leave();
            let frame = mixtures.frames.last_mut().expect("asked just above");
            if !frame.is_right {
                frame.is_right = true;
                at = frame.right as usize;
                mixtures.enter()?;
                break;
            }
            mixtures.forget();
        }
    }
}
