//! Labels as points: the sum of the prepared X of their samples, with length one.

use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::linear::{Lists, Samples};
use crate::pool;

const PURPOSE: Purpose = Purpose("the labels of a label tree");

/// Of a point, no more features are kept than these, the largest ones: points of frequent labels would otherwise take
/// more memory than X.
const MOST: usize = 1024;

/// Labels that a thread takes at a time.
const AT_ONCE: usize = 256;

/// Sparse points of length one, or zero, with increasing features.
#[derive(Debug)]
pub(super) struct Points {
    ptr: Vec<usize>,
    features: Vec<u32>,
    values: Vec<f32>,
    pub(super) n_features: usize,
}

impl Points {
    /// Returns the points of `labels`, of which `samples_of` lists the samples in increasing order.
    pub(super) fn new(samples: &Samples, labels: &[u32], samples_of: &Lists, control: &Control) -> Result<Self> {
        let n_features = samples.n_features();
        let blocks = pool::map(control.n_threads(), labels.len().div_ceil(AT_ONCE), |block| {
            let mut points = Points::empty(n_features)?;
            let mut sums = Sums::new(n_features)?;
            for &label in &labels[block * AT_ONCE..labels.len().min((block + 1) * AT_ONCE)] {
                control.check()?;
                // Neighbours with the same X are one sample here, in whatever order they come.
                let has_same_x = |&a: &u32, &b: &u32| samples.x(a as usize) == samples.x(b as usize);
                let weight = |same: &[u32]| same.iter().map(|&i| samples.weights[i as usize]).sum::<f64>();
                let of_label = || samples_of.of(label as usize).chunk_by(has_same_x);
                // Sums stay finite if weights are at most one.
                let largest = of_label().map(weight).fold(f64::MIN_POSITIVE, f64::max);
                for same in of_label() {
                    let (features, values) = samples.x(same[0] as usize);
                    sums.add(features, values, weight(same) / largest)?;
                }
                let length = sums.take_largest(MOST)?;
                points.push(sums.found.iter().map(|&(feature, value)| (feature, (value / length) as f32)))?;
            }
            Ok(points)
        })?;
        let mut all = Points::empty(n_features)?;
        for block in blocks {
            let before = all.features.len();
            PURPOSE.extend(&mut all.ptr, block.ptr[1..].iter().map(|end| before + end))?;
            PURPOSE.extend(&mut all.features, block.features)?;
            PURPOSE.extend(&mut all.values, block.values)?;
        }
        Ok(all)
    }

    pub(super) fn empty(n_features: usize) -> Result<Self> {
        let mut ptr = Vec::new();
        PURPOSE.push(&mut ptr, 0)?;
        Ok(Points { ptr, features: Vec::new(), values: Vec::new(), n_features })
    }

    pub(super) fn push(&mut self, entries: impl Iterator<Item = (u32, f32)>) -> Result<()> {
        for (feature, value) in entries.filter(|(_, value)| *value != 0.0) {
            PURPOSE.push(&mut self.features, feature)?;
            PURPOSE.push(&mut self.values, value)?;
        }
        PURPOSE.push(&mut self.ptr, self.features.len())
    }

    pub(super) fn len(&self) -> usize {
        self.ptr.len() - 1
    }

    #[inline]
    pub(super) fn of(&self, point: u32) -> (&[u32], &[f32]) {
        let range = self.ptr[point as usize]..self.ptr[point as usize + 1];
        (&self.features[range.clone()], &self.values[range])
    }
}

/// A sum of sparse vectors, which is dense while it grows.
#[derive(Debug)]
pub(super) struct Sums {
    values: Vec<f64>,
    /// The features that were added to.
    touched: Vec<u32>,
    /// The features and sums that were taken, with increasing features.
    pub(super) found: Vec<(u32, f64)>,
}

impl Sums {
    pub(super) fn new(n_features: usize) -> Result<Self> {
        Ok(Sums { values: PURPOSE.zeros(1, n_features)?, touched: Vec::new(), found: Vec::new() })
    }

    pub(super) fn add(&mut self, features: &[u32], values: &[f32], weight: f64) -> Result<()> {
        for (&feature, &value) in features.iter().zip(values) {
            let sum = &mut self.values[feature as usize];
            if *sum == 0.0 {
                // A feature may be touched twice, if its sum was zero in between.
                PURPOSE.push(&mut self.touched, feature)?;
            }
            *sum += weight * f64::from(value);
        }
        Ok(())
    }

    /// Moves the sum to `found`, with the `most` features of largest magnitude, and returns its length, or 1 if it is 0.
    pub(super) fn take_largest(&mut self, most: usize) -> Result<f64> {
        let Sums { values, touched, found } = self;
        found.clear();
        for feature in touched.drain(..) {
            let sum = std::mem::take(&mut values[feature as usize]);
            if sum != 0.0 {
                PURPOSE.push(found, (feature, sum))?;
            }
        }
        if found.len() > most {
            found.select_nth_unstable_by(most, |a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
            found.truncate(most);
        }
        found.sort_unstable_by_key(|&(feature, _)| feature);
        let length = found.iter().map(|(_, sum)| sum * sum).sum::<f64>().sqrt();
        Ok(if length > 0.0 { length } else { 1.0 })
    }
}
