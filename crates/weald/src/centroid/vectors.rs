//! X of samples as centroid forests read it: sparse, weighted, normalised to length one.
//!
//! Whatever the layout of X, a sample is represented by its non-zero entries with increasing features, so that results
//! cannot depend on the layout. Entries of normalised samples are multiples of 2⁻²⁴: sums of them times integer weights
//! are exact in float64 up to a total of 2²⁹, in any order.

use crate::control::Control;
use crate::data::Matrix;
use crate::elementary::{ln, ln_1p};
use crate::error::{Error, Purpose, Result};

const PURPOSE: Purpose = Purpose("the rows of X");

/// The inverse of the number of which entries of normalised samples are multiples.
const GRID: f32 = (1u32 << 24) as f32;

/// How the entries of a sample are prepared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preparation<'a> {
    pub(crate) normalize: bool,
    /// Whether values are frequencies, of which the logarithm is taken first: sign(x) · ln(1 + |x|).
    pub(crate) sublinear: bool,
    /// A factor for each feature.
    pub(crate) idf: Option<&'a [f32]>,
}

/// Sparse samples.
#[derive(Debug, Default)]
pub(crate) struct Vectors {
    ptr: Vec<usize>,
    features: Vec<u32>,
    values: Vec<f32>,
    n_features: usize,
}

impl Vectors {
    /// Converts X; returns an error for infinity and NaN.
    pub(crate) fn new(x: &Matrix<'_>, preparation: Preparation<'_>, control: &Control) -> Result<Self> {
        let mut vectors = Vectors::empty(x)?;
        let mut pulse = control.pulse();
        match x {
            Matrix::Dense(x) => {
                for row in x.rows() {
                    pulse.after(row.len())?;
                    vectors.push_row((0..).zip(row.iter().copied()), preparation)?;
                }
            }
            Matrix::Csr(x) => vectors.push_rows(x, preparation, control)?,
            Matrix::Csc(x) => vectors.push_rows(&x.try_transposed(control)?, preparation, control)?,
        }
        Ok(vectors)
    }

    /// Converts X, of which each feature has a mean and a factor: values are their difference from the mean times the
    /// factor. Returns an error for infinity and NaN.
    pub(crate) fn standardized(x: &Matrix<'_>, means: &[f64], factors: &[f64], control: &Control) -> Result<Self> {
        let mut vectors = Vectors::empty(x)?;
        let standardized = |feature: usize, value: f64| ((value - means[feature]) * factors[feature]) as f32;
        let zeros = PURPOSE.collected((0..x.n_features()).map(|feature| standardized(feature, 0.0)))?;
        let plain = Preparation { normalize: false, sublinear: false, idf: None };
        let mut pulse = control.pulse();
        let mut of_sparse = |x: &crate::data::SparseView<'_>| -> Result<()> {
            let mut row = PURPOSE.copied(&zeros)?;
            for i in 0..x.n_major() {
                let (features, values) = x.slice(i);
                pulse.after(row.len())?;
                for (&feature, &value) in features.iter().zip(values) {
                    row[feature as usize] = standardized(feature as usize, value.into());
                }
                vectors.push_row((0..).zip(row.iter().copied()), plain)?;
                features.iter().for_each(|&feature| row[feature as usize] = zeros[feature as usize]);
            }
            Ok(())
        };
        match x {
            Matrix::Csr(x) => of_sparse(x)?,
            Matrix::Csc(x) => of_sparse(&x.try_transposed(control)?)?,
            Matrix::Dense(x) => {
                for row in x.rows() {
                    pulse.after(row.len())?;
                    let values = row.iter().enumerate().map(|(j, &value)| standardized(j, value.into()));
                    vectors.push_row((0..).zip(values), plain)?;
                }
            }
        }
        Ok(vectors)
    }

    fn empty(x: &Matrix<'_>) -> Result<Self> {
        if x.check()? {
            return Err(Error::invalid("X", "NaN", "have finite float32 values"));
        }
        Vectors::with_room_for(x.n_samples(), x.n_features())
    }

    fn with_room_for(n_rows: usize, n_features: usize) -> Result<Self> {
        let mut ptr = PURPOSE.with_capacity(n_rows + 1)?;
        ptr.push(0);
        Ok(Vectors { ptr, features: Vec::new(), values: Vec::new(), n_features })
    }

    /// Returns a single sample without entries, for [`Vectors::set_row`].
    pub(crate) fn of_one_row(n_features: usize) -> Result<Self> {
        let mut vectors = Vectors::with_room_for(1, n_features)?;
        vectors.ptr.push(0);
        Ok(vectors)
    }

    /// Replaces all samples by a single one, with finite values and increasing features.
    pub(crate) fn set_row(
        &mut self,
        row: impl Iterator<Item = (u32, f32)>,
        preparation: Preparation<'_>,
    ) -> Result<()> {
        self.ptr.truncate(1);
        self.features.clear();
        self.values.clear();
        self.push_row(row, preparation)
    }

    fn push_rows(
        &mut self,
        x: &crate::data::SparseView<'_>,
        preparation: Preparation<'_>,
        control: &Control,
    ) -> Result<()> {
        let reserved = self.features.try_reserve_exact(x.values().len());
        let reserved = reserved.and_then(|()| self.values.try_reserve_exact(x.values().len()));
        let bytes = x.values().len().saturating_mul(8);
        reserved.map_err(|_| PURPOSE.missing::<u8>(bytes))?;
        let mut pulse = control.pulse();
        (0..x.n_major()).try_for_each(|row| {
            let (features, values) = x.slice(row);
            pulse.after(features.len())?;
            self.push_row(features.iter().copied().zip(values.iter().copied()), preparation)
        })
    }

    fn push_row(&mut self, row: impl Iterator<Item = (u32, f32)>, preparation: Preparation<'_>) -> Result<()> {
        let start = self.values.len();
        let mut squares = 0.0;
        for (feature, value) in row.filter(|(_, value)| *value != 0.0) {
            let factor = preparation.idf.map_or(1.0, |idf| idf[feature as usize]);
            let value = f64::from(value);
            let value = if preparation.sublinear { ln_1p(value.abs()).copysign(value) } else { value };
            let value = value * f64::from(factor);
            squares += value * value;
            PURPOSE.push(&mut self.features, feature)?;
            // Products of the largest numbers stay finite.
            PURPOSE.push(&mut self.values, value.clamp(f32::MIN.into(), f32::MAX.into()) as f32)?;
        }
        if preparation.normalize {
            self.shorten(start, squares.sqrt());
        }
        PURPOSE.push(&mut self.ptr, self.values.len())
    }

    /// Divides the entries from `start` on by `length`, and removes those that become zero.
    fn shorten(&mut self, start: usize, length: f64) {
        let mut end = start;
        for at in start..self.values.len() {
            let value = (f64::from(self.values[at]) / length * f64::from(GRID)).round_ties_even() as f32 / GRID;
            self.values[end] = value;
            self.features[end] = self.features[at];
            end += usize::from(value != 0.0);
        }
        self.values.truncate(end);
        self.features.truncate(end);
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.ptr.len() - 1
    }

    pub(crate) fn n_features(&self) -> usize {
        self.n_features
    }

    /// Returns the features of a sample, which are increasing, and their values.
    #[inline(always)]
    pub(crate) fn of(&self, row: u32) -> (&[u32], &[f32]) {
        let range = self.ptr[row as usize]..self.ptr[row as usize + 1];
        (&self.features[range.clone()], &self.values[range])
    }
}

/// Returns the factor of each feature: 1 + ln((1 + n) / (1 + n with the feature)), where n is counted by weight.
pub(crate) fn inverse_document_frequencies(
    x: &Matrix<'_>,
    units: impl Fn(usize) -> u64,
    unit: f64,
    control: &Control,
) -> Result<Vec<f32>> {
    let mut counts = Purpose("the frequencies of features").filled(0u64, x.n_features())?;
    let mut pulse = control.pulse();
    let n: u64 = (0..x.n_samples()).map(&units).sum();
    match x {
        Matrix::Dense(x) => {
            for (row, values) in x.rows().into_iter().enumerate() {
                pulse.after(values.len())?;
                let there = counts.iter_mut().zip(values).filter(|(_, value)| **value != 0.0);
                there.for_each(|(count, _)| *count += units(row));
            }
        }
        Matrix::Csr(x) => {
            for row in 0..x.n_major() {
                let (features, values) = x.slice(row);
                pulse.after(features.len())?;
                let there = features.iter().zip(values).filter(|(_, value)| **value != 0.0);
                there.for_each(|(&feature, _)| counts[feature as usize] += units(row));
            }
        }
        Matrix::Csc(x) => {
            for (feature, count) in counts.iter_mut().enumerate() {
                let (rows, values) = x.slice(feature);
                pulse.after(rows.len())?;
                let there = rows.iter().zip(values).filter(|(_, value)| **value != 0.0);
                *count = there.map(|(&row, _)| units(row as usize)).sum();
            }
        }
    }
    let weight = |units: u64| units as f64 * unit;
    let factor = |count: u64| (1.0 + ln((1.0 + weight(n)) / (1.0 + weight(count)))) as f32;
    let mut factors = Purpose("the frequencies of features").with_capacity(counts.len())?;
    factors.extend(counts.into_iter().map(factor));
    Ok(factors)
}
