//! Refinement of centroids: a pass of gradient descent on the multinomial logistic loss of the clusters of a node.
//!
//! Weights start from the means of clusters, so that one pass is enough. Features of one centroid may be added to other
//! centroids of the node, where they are evidence against a cluster; small weights are dropped afterwards. Steps are
//! sequential: sums depend on their order, which is drawn, and a sample of weight two is a step of twice the length,
//! not two steps.

use super::route::{Lanes, greatest};
use super::vectors::Vectors;
use crate::control::Control;
use crate::elementary::exp_of_negative;
use crate::error::{Purpose, Result};
use crate::loss::kernels::vector::vectorised;
use crate::rng::{Key, Stream};

const PURPOSE: Purpose = Purpose("the centroids of a node");

/// Number of children that are side by side in a row of weights.
const EIGHT: usize = 8;

/// The samples of a node and their clusters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clustered<'a> {
    pub(super) x: &'a Vectors,
    pub(super) rows: &'a [u32],
    pub(super) cluster_of: &'a [u32],
    pub(super) weights: &'a [u32],
}

/// The working memory with which one tree refines centroids.
#[derive(Debug, Default)]
pub(super) struct Refiner {
    order: Vec<u32>,
    products: Vec<f32>,
}

impl Refiner {
    /// Makes one pass over the samples, in an order that is drawn with `key`, with steps of length `rate`. `lanes` must
    /// contain the initial weights of `k` children.
    pub(super) fn pass(
        &mut self,
        lanes: &mut Lanes,
        data: Clustered<'_>,
        k: usize,
        rate: f32,
        key: Key,
        control: &Control,
    ) -> Result<()> {
        let Refiner { order, products } = self;
        let stride = lanes.stride;
        PURPOSE.resize(products, stride, 0.0)?;
        shuffle(order, data.rows.len(), key)?;
        let total: u64 = data.weights.iter().map(|&w| u64::from(w)).sum();
        let mean = total as f64 / data.rows.len() as f64;
        let mut pulse = control.pulse();
        for &at in &*order {
            let at = at as usize;
            let (features, values) = data.x.of(data.rows[at]);
            pulse.after(features.len() * stride / EIGHT)?;
            let step = rate * (f64::from(data.weights[at]) / mean) as f32;
            lanes.products((features, values), products);
            to_errors(products, k, data.cluster_of[at] as usize);
            vectorised(
                #[inline(always)]
                || {
                    for (&feature, &value) in features.iter().zip(values) {
                        let place = lanes.place[feature as usize] as usize;
                        if place > 0 {
                            let length = step * value;
                            let weights = lanes.weights[place * stride..][..stride].iter_mut();
                            weights.zip(&*products).for_each(|(weight, error)| *weight -= length * error);
                        }
                    }
                },
            );
        }
        Ok(())
    }
}

/// Converts products to the predicted probabilities of the children, minus 1 for the cluster of the sample.
fn to_errors(products: &mut [f32], k: usize, cluster: usize) {
    let most = products[greatest(&products[..k]) as usize];
    let mut total = 0.0;
    for product in &mut products[..k] {
        let share = exp_of_negative(f64::from(*product - most));
        total += share;
        *product = share as f32;
    }
    let factor = (1.0 / total) as f32;
    products[..k].iter_mut().for_each(|product| *product *= factor);
    products[cluster] -= 1.0;
    products[k..].fill(0.0);
}

/// Writes the numbers below `n` in a random order (Fisher and Yates).
fn shuffle(order: &mut Vec<u32>, n: usize, key: Key) -> Result<()> {
    order.clear();
    PURPOSE.extend(order, 0..n as u32)?;
    let mut stream = Stream::new(key);
    for last in (1..n).rev() {
        order.swap(last, stream.below(last as u64 + 1) as usize);
    }
    Ok(())
}
