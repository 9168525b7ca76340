//! Bounds on the scores of a node by the Gini index of labels, which spare most scores.
//!
//! Let t_j and W_j be the weights of the positive and of the known cells of label j in the node, m_j and w_j those in the
//! moved side. The score is above that of no cut by the gain Σ_j (m_j W_j − w_j t_j)² / (W_j w_j (W_j − w_j)).

use super::outputs::LANES;
use crate::criterion::least_weight;
use crate::elementary::Squared;
use crate::vectorised::vectorised;

/// Below this weight, products of two weights are exact.
const EXACT_PRODUCTS: f64 = (1u64 << 26) as f64;

/// The rounding errors of scores and gains, relative to the score, are far smaller: they are sums of at most this many
/// positive terms, each rounded a few times.
const MARGIN: f64 = 1e-9;
const MOST_TERMS: usize = 1 << 20;

/// The number of binary digits of a weight.
const DIGITS: usize = 52;

/// What bounds the scores of a node.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// Whether gains are computed to within the margin.
    has_gains: bool,
    /// The score of two pure sides. Others are below it by at least 1/2, apart from rounding.
    perfect: f64,
    /// Σ_j (t_j / W_j)².
    squares: f64,
    /// For each number of binary digits of W_j, the gain of two pure sides in the labels with so many.
    most_gains: [f64; DIGITS + 1],
}

impl Bounds {
    pub(super) const NONE: Bounds =
        Bounds { has_gains: false, perfect: 0.0, squares: 0.0, most_gains: [0.0; DIGITS + 1] };

    /// Adds a label that occurs in the node.
    pub(super) fn add(&mut self, t: f64, weight: f64) {
        self.perfect += t;
        self.squares += (t / weight).squared();
        let n_digits = (u64::BITS - (weight as u64).leading_zeros()) as usize;
        self.most_gains[n_digits.min(DIGITS)] += t - t * t / weight;
    }

    /// Sets the weight of the node and the number of its terms.
    pub(super) fn finish(&mut self, weight: f64, n_terms: usize) {
        self.has_gains = weight < EXACT_PRODUCTS && n_terms < MOST_TERMS;
    }

    /// Returns the score of two pure sides, if no other score is rounded to it.
    pub(super) fn perfect_score(&self) -> f64 {
        if self.has_gains && self.perfect < EXACT_PRODUCTS { self.perfect } else { f64::INFINITY }
    }

    /// Returns a weight below which no moved side can reach `score`. A sample has at most `slots_of_a_sample` labels.
    ///
    /// The gain of a label is at most W_j / (W_j − w_j) times the weighted sum over moved samples of (e − t_j / W_j)²,
    /// where e is 1 for a positive and 0 for a negative cell. Over all labels that some samples of weight M know, these
    /// sums are at most M times the number of labels of a sample plus Σ (t_j / W_j)². For any limit T on M, the labels
    /// with W_j >= T therefore gain no more than a criterion of weight T would: see [`least_weight`]. The others gain no
    /// more than two pure sides do.
    pub(super) fn least_moved_weight(&self, score: f64, base: f64, slots_of_a_sample: f64) -> f64 {
        if !self.has_gains {
            return 0.0;
        }
        let (reach, mut of_others, mut least) = (slots_of_a_sample + self.squares, 0.0, 0.0f64);
        for (n_digits, gain) in self.most_gains.iter().enumerate().skip(1) {
            // Labels of weight T and more have so many digits.
            let limit = (1u64 << (n_digits - 1)) as f64;
            least = least.max(least_weight(score - of_others, base, limit, reach));
            of_others += gain;
            if of_others >= score - base {
                break;
            }
        }
        least
    }

    /// Returns whether a score is certainly below `floor`. For each label, by place: t, W, m, and the difference between
    /// w and `mostly`. They are padded with zeros.
    #[inline]
    pub(super) fn is_below(&self, floor: f64, base: f64, mostly: f64, cells: [&[f64]; 4]) -> bool {
        let wanted = floor * (1.0 - MARGIN) - base * (1.0 + MARGIN);
        self.has_gains && wanted > 0.0 && gain(mostly, cells) < wanted
    }
}

/// Returns the gain of a cut.
fn gain(mostly: f64, [t, weights, m, more]: [&[f64]; 4]) -> f64 {
    vectorised(
        #[inline(always)]
        || {
            let mut sums = [0.0; LANES];
            let chunks = t.as_chunks::<LANES>().0.iter().zip(weights.as_chunks::<LANES>().0);
            let moved = m.as_chunks::<LANES>().0.iter().zip(more.as_chunks::<LANES>().0);
            for ((t, weight), (m, more)) in chunks.zip(moved) {
                for i in 0..LANES {
                    let w = mostly + more[i];
                    let apart = m[i] * weight[i] - w * t[i];
                    // Labels that no sample of a side knows gain nothing.
                    let divisor = (weight[i] * w * (weight[i] - w)).max(1.0);
                    sums[i] += apart * apart / divisor;
                }
            }
            sums.iter().sum()
        },
    )
}
