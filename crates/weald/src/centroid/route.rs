//! The search for the nearest child: products of X of samples and the centroids of the children of a node.
//!
//! If there are many samples, the weights of all children are laid out by feature, and each entry of a sample adds a
//! few adjacent numbers: O(entries × children). If there are few samples, the sample is laid out by feature, and each
//! weight looks up its entry: O(weights). Both add in the order of the features, and an entry without a weight adds
//! zero, so that the bits are the same.

use std::ops::Range;

use super::centroids::Centroids;
use super::vectors::Vectors;
use crate::error::{Purpose, Result};
use crate::loss::vector::vectorised;

const PURPOSE: Purpose = Purpose("the centroids of a node");

/// Number of children side by side, so that a register contains several.
const LANES: usize = 8;

/// Samples are laid out one by one if there is fewer than one sample for this number of weights of the children's
/// centroids, as laying these out costs a few steps for each weight.
const WEIGHTS_A_ROW: usize = 64;

/// The weights of some children, laid out by feature.
#[derive(Debug)]
pub(super) struct Lanes {
    /// The row of each feature in `weights`; 0 if no child has a weight for it: this row is zero.
    pub(super) place: Vec<u32>,
    /// The features that have a row, in the order of the rows.
    pub(super) listed: Vec<u32>,
    /// A row for each of these features, with the weights of the children.
    pub(super) weights: Vec<f32>,
    pub(super) stride: usize,
}

impl Lanes {
    fn new(n_features: usize) -> Result<Self> {
        Ok(Lanes { place: PURPOSE.filled(0, n_features)?, listed: Vec::new(), weights: Vec::new(), stride: 0 })
    }

    /// Clears the weights, and sets the number of children.
    pub(super) fn begin(&mut self, n_children: usize) -> Result<()> {
        self.listed.drain(..).for_each(|feature| self.place[feature as usize] = 0);
        self.stride = n_children.next_multiple_of(LANES);
        self.weights.clear();
        PURPOSE.resize(&mut self.weights, self.stride, 0.0)
    }

    pub(super) fn set(&mut self, feature: u32, child: usize, weight: f32) -> Result<()> {
        let place = &mut self.place[feature as usize];
        if *place == 0 {
            PURPOSE.push(&mut self.listed, feature)?;
            *place = self.listed.len() as u32;
            PURPOSE.resize(&mut self.weights, (self.listed.len() + 1) * self.stride, 0.0)?;
        }
        self.weights[*place as usize * self.stride + child] = weight;
        Ok(())
    }
}

/// The working memory of one thread.
#[derive(Debug)]
pub(super) struct Router {
    pub(super) lanes: Lanes,
    /// X of one sample, which is zero between two samples.
    row: Vec<f32>,
    products: Vec<f32>,
}

impl Router {
    pub(super) fn new(n_features: usize) -> Result<Self> {
        Ok(Router { lanes: Lanes::new(n_features)?, row: PURPOSE.filled(0.0, n_features)?, products: Vec::new() })
    }

    /// Calls `visit` with the products of each sample, in turn, and the centroids of `children`.
    pub(super) fn route(
        &mut self,
        x: &Vectors,
        rows: &[u32],
        centroids: &Centroids,
        children: Range<usize>,
        visit: impl FnMut(&[f32]),
    ) -> Result<()> {
        let n_weights = (centroids.ptr[children.end] - centroids.ptr[children.start]) as usize;
        if n_weights / WEIGHTS_A_ROW > rows.len() {
            return self.one_by_one(x, rows, centroids, children, visit);
        }
        let n_children = children.len();
        self.lanes.begin(n_children)?;
        for (lane, child) in children.enumerate() {
            centroids.try_for_each(child, |feature, weight| self.lanes.set(feature, lane, weight))?;
        }
        match self.lanes.stride {
            8 => self.all::<8>(x, rows, n_children, visit),
            16 => self.all::<16>(x, rows, n_children, visit),
            24 => self.all::<24>(x, rows, n_children, visit),
            32 => self.all::<32>(x, rows, n_children, visit),
            _ => self.all_of_many(x, rows, n_children, visit)?,
        }
        Ok(())
    }

    fn all<const N: usize>(&self, x: &Vectors, rows: &[u32], n_children: usize, mut visit: impl FnMut(&[f32])) {
        let (lanes, place) = (self.lanes.weights.as_chunks::<N>().0, &self.lanes.place);
        for &row in rows {
            let (features, values) = x.of(row);
            let products = vectorised(
                #[inline(always)]
                || {
                    let mut products = [0.0f32; N];
                    for (&feature, &value) in features.iter().zip(values) {
                        let weights = &lanes[place[feature as usize] as usize];
                        products.iter_mut().zip(weights).for_each(|(sum, &weight)| *sum += value * weight);
                    }
                    products
                },
            );
            visit(&products[..n_children]);
        }
    }

    fn all_of_many(
        &mut self,
        x: &Vectors,
        rows: &[u32],
        n_children: usize,
        mut visit: impl FnMut(&[f32]),
    ) -> Result<()> {
        let Router { lanes: Lanes { place, weights: lanes, stride, .. }, products, .. } = self;
        let stride = *stride;
        PURPOSE.resize(products, stride, 0.0)?;
        for &row in rows {
            let (features, values) = x.of(row);
            vectorised(
                #[inline(always)]
                || {
                    products.fill(0.0);
                    for (&feature, &value) in features.iter().zip(values) {
                        let weights = &lanes[place[feature as usize] as usize * stride..][..stride];
                        products.iter_mut().zip(weights).for_each(|(sum, &weight)| *sum += value * weight);
                    }
                },
            );
            visit(&products[..n_children]);
        }
        Ok(())
    }

    fn one_by_one(
        &mut self,
        x: &Vectors,
        rows: &[u32],
        centroids: &Centroids,
        children: Range<usize>,
        mut visit: impl FnMut(&[f32]),
    ) -> Result<()> {
        PURPOSE.resize(&mut self.products, children.len(), 0.0)?;
        for &row in rows {
            let (features, values) = x.of(row);
            features.iter().zip(values).for_each(|(&feature, &value)| self.row[feature as usize] = value);
            for (product, child) in self.products.iter_mut().zip(children.clone()) {
                *product = 0.0;
                centroids.try_for_each(child, |feature, weight| {
                    *product += self.row[feature as usize] * weight;
                    Ok(())
                })?;
            }
            visit(&self.products[..children.len()]);
            features.iter().for_each(|&feature| self.row[feature as usize] = 0.0);
        }
        Ok(())
    }
}

/// Returns the position of the largest product, and of the first of equal ones; 0 if all are NaN.
#[inline(always)]
pub(super) fn greatest(products: &[f32]) -> u32 {
    let mut best = (f32::NEG_INFINITY, 0);
    for (&product, place) in products.iter().zip(0..) {
        if product > best.0 {
            best = (product, place);
        }
    }
    best.1
}
