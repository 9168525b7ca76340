//! One sample.

use crate::error::{Error, Result};

/// One sample: a value for each feature, `&row`, or the values of some features, `(&features, &values)`, of which the
/// features increase. The others are zero.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Sample<'a> {
    /// A value for each feature.
    Dense(&'a [f32]),
    /// Increasing features, and a value for each of them.
    Sparse(&'a [u32], &'a [f32]),
}

impl<'a, V: AsRef<[f32]> + ?Sized> From<&'a V> for Sample<'a> {
    fn from(values: &'a V) -> Self {
        Sample::Dense(values.as_ref())
    }
}

impl<'a, F: AsRef<[u32]> + ?Sized, V: AsRef<[f32]> + ?Sized> From<(&'a F, &'a V)> for Sample<'a> {
    fn from((features, values): (&'a F, &'a V)) -> Self {
        Sample::Sparse(features.as_ref(), values.as_ref())
    }
}

impl<'a> Sample<'a> {
    /// Returns an error for other features than those of a model, and for infinity. Returns whether values are missing.
    pub(crate) fn check(self, n_features: usize) -> Result<bool> {
        let (features, values) = self.stored();
        if matches!(self, Sample::Dense(_)) && values.len() != n_features {
            return Err(Error::shape("the sample", n_features, values.len()));
        }
        if matches!(self, Sample::Sparse(..)) && features.len() != values.len() {
            return Err(Error::shape("the values of the sample", features.len(), values.len()));
        }
        let mut least = 0;
        for &feature in features {
            if feature < least || feature as usize >= n_features {
                return Err(Error::invalid("the sample", feature, "have increasing features of the model"));
            }
            least = feature + 1;
        }
        let seen = |(infinite, missing): (bool, bool), v: &f32| (infinite | v.is_infinite(), missing | v.is_nan());
        let (infinite, missing) = values.iter().fold((false, false), seen);
        if infinite {
            return Err(Error::invalid("the sample", "an infinite value", "have finite float32 values"));
        }
        Ok(missing)
    }

    /// Returns the features, which are empty if all are stored, and the values.
    fn stored(self) -> (&'a [u32], &'a [f32]) {
        match self {
            Sample::Dense(values) => (&[], values),
            Sample::Sparse(features, values) => (features, values),
        }
    }

    /// Returns the number of values that are stored.
    pub(crate) fn n_stored(self) -> usize {
        self.stored().1.len()
    }

    /// Returns the features and values that are stored.
    pub(crate) fn entries(self) -> impl Iterator<Item = (u32, f32)> + 'a {
        let (features, values) = self.stored();
        let dense = if matches!(self, Sample::Dense(_)) { values } else { &[] };
        (0..).zip(dense.iter().copied()).chain(features.iter().copied().zip(values.iter().copied()))
    }
}
