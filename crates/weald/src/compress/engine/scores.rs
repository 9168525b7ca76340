//! Scores of nodes: lengths of c_k, times a factor.

use super::PURPOSE;
use super::coefficients::Coefficients;
use crate::compress::best::Best;
use crate::compress::indicators::Indicators;
use crate::compress::mass::NodeMass;
use crate::error::Result;

/// How the length of c_k is converted to a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scoring {
    /// The score is the length.
    Raw,
    /// For standardised indicators: c_k is the centred sum, divided by the standard deviation of the indicator.
    Standardized,
    /// The length is divided by √weight of the node, for nodes that are open: the square of the score is twice what the
    /// best weight of the node gains.
    Gain,
}

/// By how much the score of a sample moves, in lengths of the step: for samples in the node, and for all others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub(super) inside: f64,
    pub(super) outside: f64,
}

impl Reach {
    pub(super) fn moves_all(self) -> bool {
        self.outside != 0.0
    }
}

impl Scoring {
    fn factor(self, mass: &NodeMass, node: usize) -> f64 {
        match self {
            Scoring::Raw => 1.0,
            Scoring::Standardized => 1.0 / mass.deviation(node),
            Scoring::Gain => 1.0 / mass.weight[node].sqrt(),
        }
    }

    /// Returns whether a node of positive weight may be chosen from the beginning.
    fn opens(self, mass: &NodeMass, node: usize) -> bool {
        match self {
            Scoring::Raw => true,
            Scoring::Standardized => mass.deviation(node) > 0.0,
            Scoring::Gain => false,
        }
    }

    fn reach(self, mass: &NodeMass, node: usize) -> Reach {
        match self {
            Scoring::Raw | Scoring::Gain => Reach { inside: 1.0, outside: 0.0 },
            Scoring::Standardized => {
                let (share, deviation) = (mass.share[node], mass.deviation(node));
                Reach { inside: (1.0 - share) / deviation, outside: -share / deviation }
            }
        }
    }

    /// Returns the share of the sum over all samples that is subtracted from the sum over the samples of a node.
    fn centring(self, mass: &NodeMass, node: usize) -> f64 {
        match self {
            Scoring::Raw | Scoring::Gain => 0.0,
            Scoring::Standardized => mass.share[node],
        }
    }

    /// Returns the divisor that c_k has in its own units.
    fn unit(self, mass: &NodeMass, node: usize) -> f64 {
        match self {
            Scoring::Raw | Scoring::Gain => 1.0,
            Scoring::Standardized => mass.deviation(node),
        }
    }
}

/// The scores of all nodes, which of them may be chosen, and the coefficients of those that have moved.
#[derive(Debug)]
pub(super) struct NodeScores<'a> {
    pub(super) nodes: &'a Indicators,
    pub(super) mass: &'a NodeMass,
    scoring: Scoring,
    /// The factor by which the length of c_k is multiplied.
    pub(super) factor: Vec<f64>,
    /// Whether a node may be chosen; [`Scoring::Gain`] opens nodes one by one.
    pub(super) is_open: Vec<bool>,
    pub(super) best: Best,
    pub(super) coefficients: Coefficients,
}

impl<'a> NodeScores<'a> {
    /// No node has moved. A step has `width` coefficients.
    pub(super) fn new(nodes: &'a Indicators, mass: &'a NodeMass, scoring: Scoring, width: usize) -> Result<Self> {
        let n = nodes.n_nodes();
        let mut is_open = PURPOSE.filled(false, n)?;
        for (k, is_open) in is_open.iter_mut().enumerate() {
            *is_open = !nodes.is_root(k) && mass.weight[k] > 0.0 && scoring.opens(mass, k);
        }
        let mut factor = PURPOSE.filled(1.0, n)?;
        factor.iter_mut().enumerate().for_each(|(k, factor)| *factor = scoring.factor(mass, k));
        let (best, coefficients) = (Best::new(n)?, Coefficients::new(n, width)?);
        Ok(NodeScores { nodes, mass, scoring, factor, is_open, best, coefficients })
    }

    /// Returns the score of a node whose c_k has this length.
    pub(super) fn of_length(&self, node: usize, length: f64) -> f32 {
        (length * self.factor[node]) as f32
    }

    /// Writes the score of a node, if it may be chosen.
    #[inline]
    pub(super) fn set(&mut self, node: usize, score: impl FnOnce(&Self) -> f32) {
        if self.is_open[node] {
            let score = score(self);
            self.best.set(node, score);
        }
    }

    pub(super) fn reach(&self, node: usize) -> Reach {
        self.scoring.reach(self.mass, node)
    }

    /// See [`Scoring::centring`].
    #[inline]
    pub(super) fn centring(&self, node: usize) -> f64 {
        self.scoring.centring(self.mass, node)
    }

    /// Returns whether sums over the samples of nodes are centred.
    pub(super) fn is_centred(&self) -> bool {
        match self.scoring {
            Scoring::Raw | Scoring::Gain => false,
            Scoring::Standardized => true,
        }
    }

    /// See [`Scoring::unit`].
    pub(super) fn unit(&self, node: usize) -> f64 {
        self.scoring.unit(self.mass, node)
    }
}
