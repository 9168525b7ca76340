//! A block of rows down all paths of a tree and up again, with the products of the factors of each path.
//!
//! All rows of a block see all nodes, in pre-order; a lane for each row, so that arithmetic on rows is one instruction.
//! A stack holds a frame for each split above, no recursion.

use super::quadrature::Rule;
use super::{Eight, LANES, PURPOSE, Tested, shares};
use crate::error::Result;
use crate::partition::decision::{Side, Test};
use crate::tree::Tree;

/// What has been decided on a feature above.
#[derive(Clone, Copy, Debug)]
struct State {
    /// Share of the weight that follows the splits on it.
    share: f64,
    /// 1 in the lanes of rows that follow them, else 0.
    follows: Eight,
    /// Depth of the last of these splits, or [`super::NONE`].
    last: u32,
}

const UNSEEN: State = State { share: 1.0, follows: Eight([1.0; LANES]), last: super::NONE };

/// A split on the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) place: u32,
    right: u32,
    is_right: bool,
    /// Whether no split above tests the feature.
    is_first: bool,
    shares: [f64; 2],
    before: State,
    goes_left: Eight,
    /// What multiplies t / f_j in ρ of each side.
    followed: [Eight; 2],
    /// ± z_j r_u, or 0 in lanes of rows that do not follow the splits above.
    pub(crate) gain: Eight,
    /// Children that are leaves, by their rows in the table of leaves, or [`super::NONE`].
    pub(crate) leaves: [u32; 2],
}

impl Frame {
    /// Whether the walk is on the right side of the split.
    #[inline(always)]
    pub(crate) fn is_right(&self) -> bool {
        self.is_right
    }
}

/// What the walk tells of.
pub(crate) trait Visit {
    /// Whether products of factors are wanted at leaves as well.
    const AT_LEAVES: bool;
    /// A side of the split at `depth` is entered; `share` of the weight follows the splits on its feature to there.
    fn enter(&mut self, _depth: usize, _share: f64, _rule: &Rule) {}
    fn leaf(&mut self, _walk: &Stack, _rule: &Rule, _leaf: u32) -> Result<()> {
        Ok(())
    }
    /// Both sides of the last split have been walked.
    fn leave(&mut self, _walk: &Stack, _rule: &Rule) {}
}

/// The path, and memory for it.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    pub(crate) frames: Vec<Frame>,
    states: Vec<State>,
    /// Π f at each node of the quadrature, by depth.
    pub(crate) products: Vec<Eight>,
    /// z (1 − t) / f, t / f and weight / f² of the feature of each frame that is not the first on it.
    below: Vec<[f64; 3]>,
    m: usize,
}

impl Stack {
    /// Makes room for paths of this depth, with `m` nodes of quadrature.
    pub(crate) fn prepare(&mut self, depth: usize, m: usize, n_places: usize) -> Result<()> {
        let reserved = (depth + 1).saturating_sub(self.frames.capacity());
        self.frames.try_reserve(reserved).map_err(|_| PURPOSE.missing::<Frame>(depth))?;
        PURPOSE.resize(&mut self.states, n_places, UNSEEN)?;
        let len = (depth + 1).saturating_mul(m);
        if self.products.len() < len {
            PURPOSE.resize(&mut self.products, len, Eight::default())?;
            PURPOSE.resize(&mut self.below, len, [0.0; 3])?;
        }
        self.m = m;
        Ok(())
    }

    /// Products at the last split; at leaves those of the leaf, where they are wanted.
    #[inline(always)]
    pub(crate) fn products_at(&self, depth: usize) -> &[Eight] {
        &self.products[depth * self.m..][..self.m]
    }

    /// Lanes of the rows that follow the splits on the feature of the frame at `depth`, and whether it is the last of them.
    #[inline(always)]
    pub(crate) fn follows(&self, depth: usize) -> (Eight, bool) {
        let state = &self.states[self.frames[depth].place as usize];
        (state.follows, state.last as usize == depth)
    }

    /// Coefficients of the frame at `depth`: share of ρ to `side` that is there always, factor of those who follow, and
    /// weight of the quadrature over f_j².
    #[inline(always)]
    pub(crate) fn at(&self, depth: usize, rule: &Rule, q: usize) -> [f64; 3] {
        if self.frames[depth].is_first {
            [rule.rest[q], rule.t[q], rule.weight[q]]
        } else {
            self.below[depth * self.m + q]
        }
    }

    /// ρ of the right side, of each row, at node q of the quadrature.
    #[inline(always)]
    pub(crate) fn share_of_right(frame: &Frame, at: [f64; 3]) -> Eight {
        let always = frame.shares[1] * at[0];
        Eight(frame.followed[1].0.map(|followed| always + followed * at[1]))
    }

    #[inline(always)]
    fn push(&mut self, tree: &Tree, at: usize, tested: &Tested, x: &[[f32; LANES]], rule: &Rule) {
        let depth = self.frames.len();
        let node = &tree.nodes[at];
        let place = tested.place(node.tested());
        let before = self.states[place];
        let (left, right) = (at + 1, node.right() as usize);
        let shares = shares(tree, left, right);
        let decision = node.decision(&tree.sets);
        let x = &x[place];
        let goes_left = Eight(match decision.test() {
            Test::AtMost(threshold) => {
                let missing = if decision.missing() == Side::Left { 1.0 } else { 0.0 };
                x.map(|x| {
                    if x.is_nan() {
                        missing
                    } else if x <= threshold {
                        1.0
                    } else {
                        0.0
                    }
                })
            }
            Test::AnyOf(_) => x.map(|x| if decision.goes_left(x) { 1.0 } else { 0.0 }),
        });
        let mut followed = [Eight::default(); 2];
        let mut gain = Eight::default();
        for lane in 0..LANES {
            let (follows, left) = (before.follows.0[lane], goes_left.0[lane]);
            followed[0].0[lane] = follows * left + (1.0 - follows) * shares[0];
            followed[1].0[lane] = follows * (1.0 - left) + (1.0 - follows) * shares[1];
            gain.0[lane] = before.share * follows * (left * shares[1] - (1.0 - left) * shares[0]);
        }
        let is_first = before.last == super::NONE;
        if !is_first {
            let z = before.share;
            let nodes = rule.t.iter().zip(&rule.rest).zip(&rule.weight);
            for (below, ((t, rest), weight)) in self.below[depth * self.m..][..self.m].iter_mut().zip(nodes) {
                let f = z + (1.0 - z) * t;
                *below = [z * rest / f, t / f, weight / (f * f)];
            }
        }
        let leaf = |at: usize| if tree.nodes[at].is_leaf() { tree.nodes[at].right() } else { super::NONE };
        let leaves = [leaf(left), leaf(right)];
        let (place, right) = (place as u32, right as u32);
        self.frames.push(Frame {
            place,
            right,
            is_right: false,
            is_first,
            shares,
            before,
            goes_left,
            followed,
            gain,
            leaves,
        });
    }

    /// Goes to a side of the last split: its products, where they are wanted, and its state. The share that follows.
    #[inline(always)]
    fn turn(&mut self, side: usize, wants_products: bool, rule: &Rule) -> f64 {
        let depth = self.frames.len() - 1;
        let frame = &mut self.frames[depth];
        frame.is_right = side == 1;
        let frame = *frame;
        let share = frame.before.share * frame.shares[side];
        let mut follows = frame.before.follows;
        for lane in 0..LANES {
            let goes = if side == 0 { frame.goes_left.0[lane] } else { 1.0 - frame.goes_left.0[lane] };
            follows.0[lane] *= goes;
        }
        self.states[frame.place as usize] = State { share, follows, last: depth as u32 };
        if wants_products {
            for q in 0..self.m {
                let at = self.at(depth, rule, q);
                let always = frame.shares[side] * at[0];
                let product = self.products[depth * self.m + q];
                let mut next = Eight::default();
                for lane in 0..LANES {
                    next.0[lane] = product.0[lane] * (always + frame.followed[side].0[lane] * at[1]);
                }
                self.products[(depth + 1) * self.m + q] = next;
            }
        }
        share
    }

    /// Forgets the last split.
    #[inline(always)]
    fn pop(&mut self) {
        let frame = self.frames.pop().expect("a split was pushed before its children");
        self.states[frame.place as usize] = frame.before;
    }
}

/// Walks a block of rows, a lane each, through all nodes of a tree. `x` has their values of each feature tested.
#[inline(always)]
pub(crate) fn walk<V: Visit>(
    tree: &Tree,
    tested: &Tested,
    rule: &Rule,
    x: &[[f32; LANES]],
    stack: &mut Stack,
    visit: &mut V,
) -> Result<()> {
    debug_assert!(stack.frames.is_empty() && stack.m == rule.len());
    stack.products[..rule.len()].fill(Eight([1.0; LANES]));
    let mut at = 0;
    loop {
        if !tree.nodes[at].is_leaf() {
            stack.push(tree, at, tested, x, rule);
            let depth = stack.frames.len() - 1;
            let share = stack.turn(0, V::AT_LEAVES || stack.frames[depth].leaves[0] == super::NONE, rule);
            visit.enter(depth, share, rule);
            at += 1;
            continue;
        }
        visit.leaf(stack, rule, tree.nodes[at].right())?;
        loop {
            let Some(frame) = stack.frames.last() else { return Ok(()) };
            if !frame.is_right {
                at = frame.right as usize;
                let share = stack.turn(1, V::AT_LEAVES || frame.leaves[1] == super::NONE, rule);
                visit.enter(stack.frames.len() - 1, share, rule);
                break;
            }
            visit.leave(stack, rule);
            stack.pop();
        }
    }
}
