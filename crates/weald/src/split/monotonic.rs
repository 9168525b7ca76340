//! Monotonic constraints: predictions that never decrease, or never increase, with a feature.
//!
//! The sides of a cut on a feature with a direction must be in this order, and everything below a side stays on its
//! side of the *middle* between both. For this, nodes pass on *ranges*: the means of both sides of every later cut must
//! be in the range, and the values of leaves are clipped to it (`tree::constraints`). Predictions are therefore ordered
//! along the feature, whatever the values of the other features. This is scikit-learn's rule for single trees.
//!
//! Ranges are for columns of the sums of a criterion: outputs, or the second class of an output with two classes. The
//! cost for a cut that would be the best so far is that of the columns that have a direction. There is no cost without
//! constraints.

use crate::error::{Purpose, Result};
use crate::partition::decision::Side;

const PURPOSE: Purpose = Purpose("the ranges of nodes");

/// The directions of columns with respect to features.
#[derive(Debug)]
pub(crate) struct Directions {
    /// The columns that have a direction with respect to some feature.
    columns: Vec<u32>,
    /// The sign −1, 0 or 1 of each of these columns, feature by feature.
    signs: Vec<i8>,
}

impl Directions {
    /// `signs` has those of `columns`, feature by feature.
    pub(crate) fn new(columns: Vec<u32>, signs: Vec<i8>) -> Self {
        Directions { columns, signs }
    }

    fn of(&self, feature: u32) -> &[i8] {
        let n = self.columns.len();
        &self.signs[feature as usize * n..][..n]
    }
}

/// The ranges of nodes: a minimum and a maximum of the mean for every column that has a direction. Each range has an
/// index, its *place*. Nodes with the same restrictions share a range.
#[derive(Debug)]
pub(super) struct Ranges {
    values: Vec<[f64; 2]>,
    middles: Middles,
}

/// The middles between the means of both sides of a cut.
#[derive(Debug, Default)]
struct Middles {
    /// The middles of the current cut. Those of columns without a direction are not meaningful.
    tested: Vec<f64>,
    /// The middles of the best cut of the node so far.
    best: Vec<f64>,
}

impl Ranges {
    /// Starts with the range of the root, which has place 0.
    pub(super) fn new(directions: &Directions) -> Result<Self> {
        let mut values = Vec::new();
        PURPOSE.extend(&mut values, directions.columns.iter().map(|_| [f64::NEG_INFINITY, f64::INFINITY]))?;
        let mut middles = Middles::default();
        PURPOSE.reserve(&mut middles.tested, directions.columns.len())?;
        PURPOSE.reserve(&mut middles.best, directions.columns.len())?;
        Ok(Ranges { values, middles })
    }

    /// Returns the constraints for the search of a node whose range is at `place`.
    pub(super) fn of_node<'a>(&'a mut self, directions: &'a Directions, place: u32) -> InRange<'a> {
        let n = directions.columns.len();
        InRange { directions, range: &self.values[place as usize * n..][..n], middles: &mut self.middles }
    }

    /// Returns the places of the children of a node at `place` for which the search has found a split on this feature.
    pub(super) fn children(&mut self, directions: &Directions, place: u32, feature: u32) -> Result<[u32; 2]> {
        let signs = directions.of(feature);
        if signs.iter().all(|&sign| sign == 0) {
            return Ok([place; 2]);
        }
        let n = signs.len();
        let first = (self.values.len() / n) as u32;
        let start = place as usize * n;
        PURPOSE.reserve(&mut self.values, 2 * n)?;
        for is_right in [false, true] {
            for (at, (&sign, &middle)) in signs.iter().zip(&self.middles.best).enumerate() {
                let [low, high] = self.values[start + at];
                // The means are in the range of the node, and so is their middle.
                let range = match (sign, is_right) {
                    (0, _) => [low, high],
                    (1, false) | (-1, true) => [low, middle],
                    _ => [middle, high],
                };
                self.values.push(range);
            }
        }
        Ok([first, first + 1])
    }
}

/// The constraints for the search of a node.
#[derive(Debug)]
pub(super) struct InRange<'a> {
    directions: &'a Directions,
    range: &'a [[f64; 2]],
    middles: &'a mut Middles,
}

impl InRange<'_> {
    /// Returns the same for a part of the search.
    pub(super) fn again(&mut self) -> InRange<'_> {
        InRange { middles: self.middles, ..*self }
    }

    /// Returns whether both sides of a cut are in the range and in order, for the columns that have a direction with
    /// respect to the feature; `side` is that of the moved samples, and `means` returns the means of a column on their
    /// side and on the other.
    pub(super) fn admits(&mut self, feature: u32, side: Side, means: impl Fn(u32) -> [f64; 2]) -> bool {
        let Middles { tested, .. } = self.middles;
        tested.clear();
        let columns = self.directions.columns.iter().zip(self.directions.of(feature));
        columns.zip(self.range).all(|((&column, &sign), &[low, high])| {
            if sign == 0 {
                tested.push(0.0);
                return true;
            }
            let [moved, rest] = means(column);
            let [left, right] = if side == Side::Left { [moved, rest] } else { [rest, moved] };
            tested.push(left / 2.0 + right / 2.0);
            let is_inside = |mean: f64| low <= mean && mean <= high;
            let is_ordered = if sign == 1 { left <= right } else { left >= right };
            is_inside(left) && is_inside(right) && is_ordered
        })
    }

    /// Records that the cut that was admitted last is the best so far.
    pub(super) fn keep(&mut self) {
        std::mem::swap(&mut self.middles.tested, &mut self.middles.best);
    }
}
