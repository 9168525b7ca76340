//! How X is prepared for a linear model.

use std::sync::Arc;

use crate::centroid::{Preparation, Vectors, inverse_document_frequencies};
use crate::control::Control;
use crate::data::{Matrix, SparseView};
use crate::error::{Purpose, Result};
use crate::exact::reduce::Workers;
use crate::exact::{exact_deviation_of_all, exact_mean};
use crate::pool;

const PURPOSE: Purpose = Purpose("the means of features");

/// How the features of X are prepared. What is learned from the samples of a fit is stored in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Features {
    /// X as it is.
    Given,
    /// Each sample is divided by its length, √(Σ x²).
    Normalized,
    /// For counts of words: sign(x) · ln(1 + |x|), times the inverse document frequency of the feature,
    /// 1 + ln((1 + n) / (1 + n with the feature)), and then each sample divided by its length.
    TfIdf,
    /// For numbers: each feature minus its mean, divided by its standard deviation and by √(n_features). X is dense then,
    /// in memory too, whatever its layout. Weights and intercepts are stored for X as it is given, so that nothing is
    /// left to do at prediction.
    Standardized,
}

/// What is learned from X.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// The inverse document frequency of each feature.
    pub(crate) idf: Option<Arc<Vec<f32>>>,
    pub(super) standard: Option<Standard>,
}

/// The mean of each feature, and the factor of its difference from it.
#[derive(Debug)]
pub(crate) struct Standard {
    pub(super) means: Vec<f64>,
    pub(super) factors: Vec<f64>,
}

impl Features {
    /// All of them.
    pub const ALL: [Features; 4] = [Features::Given, Features::Normalized, Features::TfIdf, Features::Standardized];

    /// Returns the name, as files and exports have it.
    pub fn name(self) -> &'static str {
        match self {
            Features::Given => "given",
            Features::Normalized => "normalized",
            Features::TfIdf => "tfidf",
            Features::Standardized => "standardized",
        }
    }

    /// Learns from the samples of X, of which `units` returns the weight as a multiple of `unit`.
    pub(super) fn learn(
        self,
        x: &Matrix<'_>,
        units: impl Fn(usize) -> u64 + Sync,
        unit: f64,
        control: &Control,
    ) -> Result<Learned> {
        Ok(match self {
            Features::Given | Features::Normalized => Learned::default(),
            Features::TfIdf => {
                let idf = Arc::new(inverse_document_frequencies(x, units, unit, control)?);
                Learned { idf: Some(idf), ..Learned::default() }
            }
            Features::Standardized => {
                Learned { standard: Some(Standard::learn(x, units, control)?), ..Learned::default() }
            }
        })
    }

    /// Prepares X, of the fit or of new samples, by inverse document frequencies.
    pub(crate) fn prepare(self, x: &Matrix<'_>, idf: Option<&[f32]>, control: &Control) -> Result<Vectors> {
        Vectors::new(x, self.preparation(idf), control)
    }

    /// Returns how samples are prepared by inverse document frequencies.
    pub(crate) fn preparation(self, idf: Option<&[f32]>) -> Preparation<'_> {
        let normalize = matches!(self, Features::Normalized | Features::TfIdf);
        let sublinear = matches!(self, Features::TfIdf);
        Preparation { normalize, sublinear, idf }
    }
}

impl Learned {
    /// Prepares X for a fit.
    pub(super) fn prepare(&self, features: Features, x: &Matrix<'_>, control: &Control) -> Result<Vectors> {
        match &self.standard {
            Some(Standard { means, factors }) => Vectors::standardized(x, means, factors, control),
            None => features.prepare(x, self.idf.as_deref().map(Vec::as_slice), control),
        }
    }
}

impl Standard {
    fn learn(x: &Matrix<'_>, units: impl Fn(usize) -> u64 + Sync, control: &Control) -> Result<Self> {
        let n = x.n_samples();
        let total: u64 = (0..n).map(&units).sum();
        let transposed: Option<SparseView<'_>> = match x {
            Matrix::Csr(x) => Some(x.try_transposed(control)?),
            Matrix::Csc(x) => Some(x.view()),
            Matrix::Dense(_) => None,
        };
        let of_feature = |j: usize| -> Result<(f64, f64)> {
            control.check()?;
            let weighed = |row: usize, value: f32| Some((f64::from(value), units(row))).filter(|(_, units)| *units > 0);
            let moments = |values: &mut dyn Iterator<Item = (f64, u64)>| -> Result<(f64, f64)> {
                let mut of_samples = Vec::new();
                for value in values {
                    PURPOSE.push(&mut of_samples, value)?;
                }
                let values = || of_samples.iter().copied();
                Ok((exact_mean(values()), exact_deviation_of_all(values(), &Workers::One)?))
            };
            match (x, &transposed) {
                (Matrix::Dense(x), _) => {
                    let column = x.column(j);
                    moments(&mut column.iter().enumerate().filter_map(|(row, &value)| weighed(row, value)))
                }
                (_, Some(columns)) => {
                    let (rows, values) = columns.slice(j);
                    let stored = || rows.iter().zip(values).filter_map(|(&row, &value)| weighed(row as usize, value));
                    let rest = total - stored().map(|(_, units)| units).sum::<u64>();
                    moments(&mut stored().chain((rest > 0).then_some((0.0, rest))))
                }
                (_, None) => unreachable!("sparse X is transposed"),
            }
        };
        let found = pool::map(control.n_threads(), x.n_features(), of_feature)?;
        let width = (x.n_features() as f64).sqrt();
        let factor = |deviation: f64| if deviation > 0.0 { 1.0 / (deviation * width) } else { 0.0 };
        Ok(Standard {
            means: PURPOSE.collected(found.iter().map(|(mean, _)| *mean))?,
            factors: PURPOSE.collected(found.iter().map(|(_, deviation)| factor(*deviation)))?,
        })
    }
}
