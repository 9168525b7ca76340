//! Few outputs: sums over subtrees, one pass down and up for all features of a path at once.

use super::batch::To;
use super::quadrature::Rule;
use super::walk::{Stack, Visit};
use super::{Eight, LANES, NONE, PURPOSE};
use crate::error::Result;

/// T of the nodes of the path and of their left siblings, see the [module](super).
#[derive(Debug, Default)]
pub(crate) struct Subtrees {
    /// By depth, side of the parent, output and node of the quadrature.
    sums: Vec<Eight>,
}

/// Adds the Shapley values of a block of rows, for each feature tested and each of a few outputs.
#[derive(Debug)]
pub(crate) struct Sums<'a> {
    pub(crate) subtrees: &'a mut Subtrees,
    /// The values of leaves, a row of `n_outputs` for each.
    pub(crate) table: &'a [f64],
    pub(crate) n_outputs: usize,
    /// A cell is the place of a feature.
    pub(crate) to: To<'a>,
}

impl Subtrees {
    pub(crate) fn prepare(&mut self, depth: usize, m: usize, n_outputs: usize) -> Result<()> {
        let len = (2 * (depth + 1)).saturating_mul(m).saturating_mul(n_outputs);
        if self.sums.len() < len {
            PURPOSE.resize(&mut self.sums, len, Eight::default())?;
        }
        Ok(())
    }
}

impl Visit for Sums<'_> {
    const AT_LEAVES: bool = false;

    #[inline(always)]
    fn leave(&mut self, walk: &Stack, rule: &Rule) {
        let depth = walk.frames.len() - 1;
        let frame = &walk.frames[depth];
        // Which child of its parent the split is; the root counts as a left one.
        let side = usize::from(depth > 0 && walk.frames[depth - 1].is_right());
        let stride = rule.len() * self.n_outputs;
        let (above, below) = self.subtrees.sums.split_at_mut(2 * (depth + 1) * stride);
        let above = &mut above[(2 * depth + side) * stride..][..stride];
        let (left, right) = below[..2 * stride].split_at(stride);
        for output in 0..self.n_outputs {
            let range = output * rule.len()..(output + 1) * rule.len();
            let (above, left, right) = (&mut above[range.clone()], &left[range.clone()], &right[range]);
            let value = |leaf: u32| Eight([self.table[leaf as usize * self.n_outputs + output]; LANES]);
            let sum = match frame.leaves {
                [NONE, NONE] => joined(walk, rule, above, |q| left[q], |q| right[q]),
                [NONE, r] => {
                    let r = value(r);
                    joined(walk, rule, above, |q| left[q], |_| r)
                }
                [l, NONE] => {
                    let l = value(l);
                    joined(walk, rule, above, |_| l, |q| right[q])
                }
                [l, r] => {
                    let (l, r) = (value(l), value(r));
                    joined(walk, rule, above, |_| l, |_| r)
                }
            };
            let found = &mut self.to.sums[frame.place as usize * self.to.stride + self.to.first + output];
            for lane in 0..LANES {
                found.0[lane] += frame.gain.0[lane] * sum.0[lane];
            }
        }
    }
}

/// Writes T of the last split to `above`; Σ weight Π f / f_j² (T_l − T_r).
#[inline(always)]
fn joined(
    walk: &Stack,
    rule: &Rule,
    above: &mut [Eight],
    left: impl Fn(usize) -> Eight,
    right: impl Fn(usize) -> Eight,
) -> Eight {
    let depth = walk.frames.len() - 1;
    let frame = &walk.frames[depth];
    let products = walk.products_at(depth);
    let mut sum = Eight::default();
    for (q, above) in above.iter_mut().enumerate() {
        let at = walk.at(depth, rule, q);
        let to_right = Stack::share_of_right(frame, at);
        let (left, right) = (left(q), right(q));
        for lane in 0..LANES {
            let difference = left.0[lane] - right.0[lane];
            sum.0[lane] += products[q].0[lane] * at[2] * difference;
            above.0[lane] = left.0[lane] - to_right.0[lane] * difference;
        }
    }
    sum
}
