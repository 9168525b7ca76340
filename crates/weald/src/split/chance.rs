//! What the best set of categories gains by chance.
//!
//! Categories are put in the order of their means before they are separated, so that the best set separates them even
//! if they tell nothing: of K means that differ by chance only, the best beginning of the order explains about 2/π of
//! the variation between them, as the signs of normal numbers do of the numbers. That is 2/π (K − 1) times the impurity
//! of a sample, in the sum over the samples, while a cut of two categories has one such impurity. A feature with as
//! many categories as samples would therefore be better than any other.
//!
//! Scores of sets are thus reduced by the decrease
//!
//! ```text
//! 2/π · (K − 2) · share · impurity / n,
//! ```
//!
//! where n is the weight of the node, K the number of its categories, and `share` the part of the variation between
//! their means that is along the order: 1 with one output or two classes. The sets of a feature lose the same, so that
//! the best of them stays the best. A set that gains less than it would by chance keeps a small part of its decrease
//! (see [`LEAST`]): such a cut comes last, but it is made if there is no other.
//!
//! Nothing is lost with two categories, which are like two numbers. For random sets there is nothing to lose. For the
//! Gini index and the variance, the formula is what is expected with many categories of equal weights; for the other
//! criteria it is a heuristic.

use std::f64::consts::FRAC_2_PI;

use super::scan::Scan;
use crate::criterion::NodeCriterion;

/// The part of its decrease that a set keeps at least. It is large enough for the order of scores to stay that of the
/// decreases, up to 10⁻¹⁰ of them.
const LEAST: f64 = 1e-6;

/// Returns the decrease of impurity by chance of the best set of `n_categories`, in a node of `n` samples.
pub(super) fn decrease_by_chance(n_categories: usize, share: f64, impurity: f64, n: f64) -> f64 {
    FRAC_2_PI * n_categories.saturating_sub(2) as f64 * share * impurity / n
}

impl<C: NodeCriterion> Scan<'_, C> {
    /// Returns the score of a cut without the decrease by chance of the feature that is searched.
    #[inline]
    pub(super) fn score_beyond_chance(&self, score: f64) -> f64 {
        if self.by_chance > 0.0 { self.reduced(score) } else { score }
    }

    fn reduced(&self, score: f64) -> f64 {
        let decrease = self.criterion.decrease(score);
        let gain = score - self.criterion.score_without_gain();
        let lost = gain * (self.by_chance / decrease).min(1.0 - LEAST);
        // A cut that gains nothing, and one that is rejected, lose nothing.
        if lost > 0.0 { score - lost } else { score }
    }
}
