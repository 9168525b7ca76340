//! Many outputs: the weight that each leaf has for each feature of its path, whatever the output; and interactions.

use super::batch::LeafSums;
use super::quadrature::Rule;
use super::walk::{Stack, Visit};
use super::{Eight, LANES, PURPOSE};
use crate::error::Result;

/// Memory of a walk that asks for weights of leaves.
#[derive(Debug, Default)]
pub(crate) struct Weighing {
    /// (1 − z_j) / f_j of rows that follow the splits on j, by depth of the last of them and node of the quadrature.
    slopes: Vec<f64>,
    m: usize,
    /// Weight of the quadrature times Π f at the leaf.
    products: Vec<Eight>,
    /// Of features of the path: depth of the last split on each.
    path: Vec<u32>,
}

impl Weighing {
    pub(crate) fn prepare(&mut self, depth: usize, m: usize) -> Result<()> {
        let len = (depth + 1).saturating_mul(m);
        if self.slopes.len() < len {
            PURPOSE.resize(&mut self.slopes, len, 0.0)?;
        }
        self.products.clear();
        PURPOSE.resize(&mut self.products, m, Eight::default())?;
        self.m = m;
        Ok(())
    }

    /// At a leaf: its products, and the features of its path. The sum over the quadrature of − products / (1 − t): of rows
    /// that do not follow the splits on a feature (o_j − z_j) / f_j is −1 / (1 − t), whatever the feature.
    #[inline(always)]
    fn weigh(&mut self, walk: &Stack, rule: &Rule) -> Result<Eight> {
        let depth = walk.frames.len();
        let mut astray = Eight::default();
        let at_leaf = self.products.iter_mut().zip(walk.products_at(depth)).zip(&rule.weight).zip(&rule.rest);
        for (((weighted, product), weight), rest) in at_leaf {
            for lane in 0..LANES {
                weighted.0[lane] = weight * product.0[lane];
                astray.0[lane] -= weighted.0[lane] / rest;
            }
        }
        self.path.clear();
        for at in 0..depth {
            if walk.follows(at).1 {
                PURPOSE.push(&mut self.path, at as u32)?;
            }
        }
        Ok(astray)
    }

    #[inline(always)]
    fn slopes(&self, depth: usize) -> &[f64] {
        &self.slopes[depth * self.m..][..self.m]
    }
}

/// The lanes of `one` where `follows` is 1, else of `other`.
#[inline(always)]
fn choose(follows: Eight, one: Eight, other: Eight) -> Eight {
    let mut chosen = other;
    for lane in 0..LANES {
        chosen.0[lane] = if follows.0[lane] != 0.0 { one.0[lane] } else { other.0[lane] };
    }
    chosen
}

/// Adds the Shapley values of a block of rows, for each feature tested, or the interaction values, for each pair of them.
///
/// Those of i and j ≠ i have the same integral with two features left out, v (o_i − z_i) (o_j − z_j) ∫ Π_{k ≠ i, j} f_k dt, of
/// which each of (i, j) and (j, i) has one half (K. Fujimoto et al. 2006, as Lundberg et al. 2020 write it).
#[derive(Debug)]
pub(crate) struct LeafWeights<'a> {
    pub(crate) weighing: &'a mut Weighing,
    /// A cell is the place of a feature, or i · `n_places` + j of places i and j < i.
    pub(crate) sums: LeafSums<'a>,
    pub(crate) of_pairs: bool,
    pub(crate) n_places: usize,
}

impl Visit for LeafWeights<'_> {
    const AT_LEAVES: bool = true;

    /// Notes the slopes of a side.
    #[inline(always)]
    fn enter(&mut self, depth: usize, share: f64, rule: &Rule) {
        let Weighing { slopes, m, .. } = &mut *self.weighing;
        for (slope, t) in slopes[depth * *m..][..*m].iter_mut().zip(&rule.t) {
            *slope = (1.0 - share) / (share + (1.0 - share) * t);
        }
    }

    #[inline(always)]
    fn leaf(&mut self, walk: &Stack, rule: &Rule, leaf: u32) -> Result<()> {
        if !self.sums.read(leaf as usize)? {
            return Ok(());
        }
        let astray = self.weighing.weigh(walk, rule)?;
        let Weighing { products, path, .. } = &*self.weighing;
        for (n, &i) in path.iter().enumerate() {
            let (place, follows) = (walk.frames[i as usize].place as usize, walk.follows(i as usize).0);
            let slopes = self.weighing.slopes(i as usize);
            if !self.of_pairs {
                let mut followed = Eight::default();
                for (product, slope) in products.iter().zip(slopes) {
                    for lane in 0..LANES {
                        followed.0[lane] += product.0[lane] * slope;
                    }
                }
                self.sums.add(place, &choose(follows, followed, astray))?;
                continue;
            }
            for &j in &path[..n] {
                let (other, of_j) = (walk.frames[j as usize].place as usize, self.weighing.slopes(j as usize));
                let j_follows = walk.follows(j as usize).0;
                let mut weight = Eight::default();
                for (q, product) in products.iter().enumerate() {
                    let astray = -1.0 / rule.rest[q];
                    for lane in 0..LANES {
                        let slope_i = if follows.0[lane] != 0.0 { slopes[q] } else { astray };
                        let slope_j = if j_follows.0[lane] != 0.0 { of_j[q] } else { astray };
                        weight.0[lane] += 0.5 * product.0[lane] * slope_i * slope_j;
                    }
                }
                self.sums.add(place.max(other) * self.n_places + place.min(other), &weight)?;
            }
        }
        self.sums.flush(false)
    }
}
