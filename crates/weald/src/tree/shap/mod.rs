//! Shapley values of what a tree adds to a score: which features of a row move it away from the mean.
//!
//! The game of a row x: the value of a set S of features is what the tree tells when the features in S have the values of x
//! and the others are left open: a split on one of these sends x to both sides, in the proportion of their training weight
//! (*path-dependent*), or where a row of a background goes, averaged over its rows (*interventional*). Sources:
//! S. Lundberg et al., *From local explanations to global understanding with explainable AI for trees*, Nature Machine
//! Intelligence 2020; P. Yu et al., *Linear TreeShap*, NeurIPS 2022, whose sums over a subtree are taken here as well, but at
//! the nodes of a quadrature in place of coefficients of polynomials.
//!
//! For a leaf of value v whose path tests the features F, let o_j be whether x follows all splits on j (0 or 1), and z_j the
//! share of training weight that follows them. Its part of the game is v Π_{j in S} o_j Π_{j not in S} z_j, and by the multilinear
//! extension of Owen (1972) its part of the Shapley value of j is
//!
//! ```text
//! v (o_j − z_j) ∫ Π_{k in F, k ≠ j} f_k(t) dt,   f_k(t) = z_k + (o_k − z_k) t,   t from 0 to 1.
//! ```
//!
//! All factors are between 0 and 1, and so are the weights of a quadrature: nothing grows, at any depth, where recursions
//! that divide polynomials lose all digits at a depth of some fifty. At a split on j, where the path above has f_j, z_j
//! and r_l, r_r are the shares of the weight that go to each side, the children's factors are ρ_l f_j and ρ_r f_j with ρ_l + ρ_r = 1
//! wherever x follows the splits on j so far. Let T_l, T_r be the sums over the leaves of a side of v and the factors below; then the sum of
//! the node is T = ρ_l T_l + ρ_r T_r, and what both sides add to the Shapley value of j, a feature that is tested again
//! below included, is
//!
//! ```text
//! ± z_j r_u ∫ (Π f / f_j²) (T_l − T_r) dt,   u the side that x does not take, + where x goes left.
//! ```
//!
//! | file | what |
//! |---|---|
//! | `quadrature` | nodes and weights, and how many are enough |
//! | `walk` | a block of rows down a tree and up again: products of factors |
//! | `sums` | few outputs: sums over subtrees, O(nodes · quadrature) for a row |
//! | `leaf_weights` | many outputs: weights of leaves, O(leaves · depth · (quadrature + stored values)); interactions |
//! | `background` | interventional values: a block of rows and those of a background down a tree |
//! | `mixed_leaf` | what their mixtures that reach a leaf are worth; interactions |
//! | `batch` | these weights times the values of leaves |
//! | `orders` | the chances of random orders that this takes, as whole numbers |
//!
//! In: trees, rows in blocks of [`LANES`], by the features that the trees test ([`Tested`]). Out: sums for each of these
//! features, output and row. Rows do not see each other, so that blocks and threads do not change a bit.

pub(crate) mod background;
pub(crate) mod batch;
pub(crate) mod leaf_weights;
pub(crate) mod mixed_leaf;
pub(crate) mod orders;
pub(crate) mod quadrature;
pub(crate) mod sums;
pub(crate) mod walk;

use super::Tree;
use crate::error::{Purpose, Result};
pub(crate) use crate::loss::kernels::vector::{Eight, LANES};
use quadrature::nodes_for;

const PURPOSE: Purpose = Purpose("Shapley values");

/// No place, and no feature.
pub(crate) const NONE: u32 = u32::MAX;

/// The features that some trees test, in their order: their places take less memory than all features.
#[derive(Clone, Debug)]
pub(crate) struct Tested {
    place_of: Vec<u32>,
    pub(crate) features: Vec<u32>,
}

impl Tested {
    pub(crate) fn by(trees: &[&Tree], n_features: usize) -> Result<Tested> {
        let mut place_of = PURPOSE.filled(NONE, n_features)?;
        for node in trees.iter().flat_map(|tree| &tree.nodes).filter(|node| !node.is_leaf()) {
            place_of[node.tested()] = 0;
        }
        let mut features = Vec::new();
        for (feature, place) in (0u32..).zip(&mut place_of).filter(|(_, place)| **place == 0) {
            *place = features.len() as u32;
            PURPOSE.push(&mut features, feature)?;
        }
        Ok(Tested { place_of, features })
    }

    /// Number of features that are tested.
    pub(crate) fn len(&self) -> usize {
        self.features.len()
    }

    #[inline(always)]
    pub(crate) fn place(&self, feature: usize) -> usize {
        self.place_of[feature] as usize
    }
}

/// What is known of a tree before a row comes.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    /// Splits on the longest path.
    pub(crate) depth: usize,
    /// Nodes of the quadrature.
    pub(crate) n_quadrature: usize,
}

impl Paths {
    /// O(n_nodes); `met` has a zero for each place, and has so afterwards.
    pub(crate) fn of(tree: &Tree, tested: &Tested, met: &mut [u32]) -> Result<Paths> {
        // Splits above the next node in pre-order whose right children are to come: how often each place is on the path.
        let (mut path, mut depth, mut n_features, mut n_now) = (Vec::new(), 0, 0, 0);
        for node in &tree.nodes {
            if !node.is_leaf() {
                let place = tested.place(node.tested());
                n_now += usize::from(met[place] == 0);
                met[place] += 1;
                PURPOSE.push(&mut path, (place, false))?;
                depth = depth.max(path.len());
                n_features = n_features.max(n_now);
                continue;
            }
            while let Some((place, is_right)) = path.last_mut() {
                if !*is_right {
                    *is_right = true;
                    break;
                }
                met[*place] -= 1;
                n_now -= usize::from(met[*place] == 0);
                path.pop();
            }
        }
        Ok(Paths { depth, n_quadrature: nodes_for(n_features) })
    }
}

/// The shares of a split's training weight that go left and right; halves where a model has none there.
#[inline(always)]
pub(crate) fn shares(tree: &Tree, left: usize, right: usize) -> [f64; 2] {
    let (left, right) = (tree.weighted_n_node_samples[left], tree.weighted_n_node_samples[right]);
    let both = left + right;
    if both > 0.0 { [left / both, right / both] } else { [0.5, 0.5] }
}

/// Values of some columns of a tree's leaves.
#[derive(Clone, Debug)]
pub(crate) struct LeafColumns<'a> {
    pub(crate) tree: &'a Tree,
    /// Of each column of leaves its place among the chosen ones, or [`NONE`]; `None` where all are chosen.
    pub(crate) chosen: Option<&'a [u32]>,
}

impl LeafColumns<'_> {
    /// Whether leaves store all of their columns.
    pub(crate) fn are_dense(&self) -> bool {
        !self.tree.leaves.is_sparse() && !self.tree.leaves.has_rows()
    }

    /// Calls `each` with the places of columns and values of a leaf that differ from zero.
    #[inline]
    pub(crate) fn visit(&self, leaf: usize, mut each: impl FnMut(u32, f64)) {
        match self.chosen {
            None => self.tree.leaves.visit(leaf, each),
            Some(chosen) => self.tree.leaves.visit(leaf, |column, value| {
                let place = chosen[column as usize];
                if place != NONE {
                    each(place, value);
                }
            }),
        }
    }

    /// All of them, a row of `width` numbers for each leaf.
    pub(crate) fn table(&self, width: usize) -> Result<Vec<f64>> {
        let mut table = PURPOSE.filled(0.0, self.tree.n_leaves().saturating_mul(width))?;
        for (leaf, row) in table.chunks_exact_mut(width).enumerate() {
            self.visit(leaf, |column, value| row[column as usize] = value);
        }
        Ok(table)
    }
}

/// Empty sums: `len` times zero for each row of a block.
pub(crate) fn no_sums(len: usize) -> Result<Vec<Eight>> {
    PURPOSE.filled(Eight::default(), len)
}

/// Where the places of chosen columns are noted.
pub(crate) fn chosen_places(columns: &[usize], width: usize) -> Result<Vec<u32>> {
    let mut places = PURPOSE.collected((0..width).map(|_| NONE))?;
    columns.iter().enumerate().for_each(|(place, &column)| places[column] = place as u32);
    Ok(places)
}
