//! The search for the nearest child: products of X of samples and the centroids of the children of a node.
//!
//! There are three ways, the cheapest of which is taken:
//! * the weights of all children are laid out by feature, and each entry of a sample adds a few adjacent numbers, which
//!   is O(weights + entries × children);
//! * each sample is laid out by feature, and each weight looks up its entry: O(samples × weights);
//! * each entry of a sample is searched in the centroid of each child: O(entries × children), with a larger factor.
//!
//! All of them add in the order of the features, and an entry without a weight adds zero, so that the bits are the same.

use std::ops::Range;

use super::centroids::Centroids;
use super::vectors::Vectors;
use crate::error::{Purpose, Result};
use crate::loss::kernels::vector::vectorised;

const PURPOSE: Purpose = Purpose("the centroids of a node");

/// Number of children side by side, so that a register contains several.
const LANES: usize = 8;

/// Costs of the three ways in the time that reading a weight takes. They are set by hand and affect only speed.
mod cost {
    /// To lay a weight out.
    pub(super) const LAID_OUT: usize = 6;
    /// To search a feature in a centroid.
    pub(super) const SEARCHED: usize = 24;
}

/// A way to compute products of samples and centroids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    LaidOutCentroids,
    LaidOutSamples,
    Searches,
}

impl Way {
    /// `n_entries` is the number of entries of all `n_rows` samples together.
    fn cheapest(n_weights: usize, n_children: usize, n_rows: usize, n_entries: usize) -> Self {
        let ways = [
            (n_weights.saturating_mul(cost::LAID_OUT), Way::LaidOutCentroids),
            (n_weights.saturating_mul(n_rows), Way::LaidOutSamples),
            (n_children.saturating_mul(n_entries).saturating_mul(cost::SEARCHED), Way::Searches),
        ];
        ways.into_iter().min_by_key(|(cost, _)| *cost).map_or(Way::LaidOutCentroids, |(_, way)| way)
    }
}

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

    /// Computes the products of a sample, `stride` numbers.
    #[inline]
    pub(super) fn products(&self, (features, values): (&[u32], &[f32]), products: &mut [f32]) {
        vectorised(
            #[inline(always)]
            || {
                products.fill(0.0);
                for (&feature, &value) in features.iter().zip(values) {
                    let weights = &self.weights[self.place[feature as usize] as usize * self.stride..][..self.stride];
                    products.iter_mut().zip(weights).for_each(|(sum, &weight)| *sum += value * weight);
                }
            },
        );
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
    #[cfg(test)]
    forced: Option<Way>,
}

impl Router {
    pub(super) fn new(n_features: usize) -> Result<Self> {
        Ok(Router {
            lanes: Lanes::new(n_features)?,
            row: PURPOSE.filled(0.0, n_features)?,
            products: Vec::new(),
            #[cfg(test)]
            forced: None,
        })
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
        let n_children = children.len();
        let n_entries = rows.iter().map(|&row| x.of(row).0.len()).sum();
        let way = Way::cheapest(n_weights, n_children, rows.len(), n_entries);
        #[cfg(test)]
        let way = self.forced.unwrap_or(way);
        if way != Way::LaidOutCentroids {
            return self.child_by_child(x, rows, (centroids, children), way == Way::Searches, visit);
        }
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
        let Router { lanes, products, .. } = self;
        PURPOSE.resize(products, lanes.stride, 0.0)?;
        for &row in rows {
            lanes.products(x.of(row), products);
            visit(&products[..n_children]);
        }
        Ok(())
    }

    /// Computes the products with one centroid after another, which reads its weights or is searched.
    fn child_by_child(
        &mut self,
        x: &Vectors,
        rows: &[u32],
        (centroids, children): (&Centroids, Range<usize>),
        is_searched: bool,
        mut visit: impl FnMut(&[f32]),
    ) -> Result<()> {
        PURPOSE.resize(&mut self.products, children.len(), 0.0)?;
        for &row in rows {
            let (features, values) = x.of(row);
            if !is_searched {
                features.iter().zip(values).for_each(|(&feature, &value)| self.row[feature as usize] = value);
            }
            for (product, child) in self.products.iter_mut().zip(children.clone()) {
                *product = 0.0;
                if is_searched {
                    *product = centroids.product(child, features, values);
                    continue;
                }
                centroids.try_for_each(child, |feature, weight| {
                    *product += self.row[feature as usize] * weight;
                    Ok(())
                })?;
            }
            visit(&self.products[..children.len()]);
            if !is_searched {
                features.iter().for_each(|&feature| self.row[feature as usize] = 0.0);
            }
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

#[cfg(test)]
mod tests {
    use super::super::centroids::Length;
    use super::super::config::CentroidPrecision;
    use super::super::vectors::Preparation;
    use super::*;
    use crate::control::Control;
    use crate::data::Matrix;

    /// Long and short centroids, and samples of which some have no feature, or none of the features of a centroid.
    #[test]
    fn all_ways_have_the_same_bits() {
        let n_features = 900;
        let mix = |i: usize, j: usize| i.wrapping_mul(2_654_435_761).wrapping_add(j.wrapping_mul(40_503)) >> 7;
        let x = ndarray::Array2::from_shape_fn((40, n_features), |(i, j)| {
            if i > 0 && mix(i, j) % 60 == 0 { (mix(j, i) % 17) as f32 - 8.0 } else { 0.0 }
        });
        let control = Control::default();
        let preparation = Preparation { normalize: true, sublinear: false, idf: None };
        let x = Vectors::new(&Matrix::from(&x), preparation, &control).unwrap();
        let rows: Vec<u32> = (0..40).collect();
        for precision in [CentroidPrecision::Nibble, CentroidPrecision::Byte, CentroidPrecision::Half] {
            for n_children in [2, 9, 33, 40] {
                let mut centroids = Centroids::new(precision);
                centroids.push_empty().unwrap();
                for child in 0..n_children {
                    let is_there = |j: &usize| mix(child + 100, *j) % (1 + 5 * child) == 0;
                    let entries =
                        (0..n_features).filter(is_there).map(|j| (j as u32, 1.0 + (mix(j, child) % 9) as f64));
                    centroids.push(&mut entries.collect(), Length::One).unwrap();
                }
                let mut router = Router::new(n_features).unwrap();
                let mut products = |way| {
                    router.forced = Some(way);
                    let mut bits = Vec::new();
                    let visit = |products: &[f32]| bits.extend(products.iter().map(|product| product.to_bits()));
                    router.route(&x, &rows, &centroids, 1..1 + n_children, visit).unwrap();
                    bits
                };
                let expected = products(Way::LaidOutSamples);
                assert!(expected.iter().filter(|bits| **bits != 0).count() > 40);
                assert_eq!(products(Way::LaidOutCentroids), expected);
                assert_eq!(products(Way::Searches), expected);
            }
        }
    }

    #[test]
    fn one_sample_is_searched_in_long_centroids_and_many_samples_lay_them_out() {
        assert_eq!(Way::cheapest(100_000, 16, 1, 12), Way::Searches);
        assert_eq!(Way::cheapest(100_000, 16, 10_000, 120_000), Way::LaidOutCentroids);
        assert_eq!(Way::cheapest(500, 16, 1, 12), Way::LaidOutSamples);
    }
}
