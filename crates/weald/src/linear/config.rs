//! Parameters of linear models: plain data, checked when they are used.

use super::features::Features;
use super::loss::LinearLoss;
use crate::error::{Error, Result};
use crate::setters::setters;

/// Parameters of a linear model of many labels.
///
/// ```
/// use weald::{Features, LinearConfig};
/// let config = LinearConfig::default().c(1.0).features(Features::Given);
/// assert_eq!(config.max_iter, 50);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinearConfig {
    /// What a sample loses by its margin.
    pub loss: LinearLoss,
    /// The inverse strength of regularisation: the loss of a sample is multiplied by it and by the weight of the sample.
    pub c: f64,
    /// The value of the constant feature whose weight is the intercept. The larger it is, the less the intercept is
    /// regularised; if it is 0, all intercepts are what they are drawn towards. With the squared hinge that is −1, which
    /// says that a sample does not have the label, and with log loss the log-odds of a label among the samples,
    /// ln((P + ½) / (N + ½)) with a weight of P of samples that have it and N of samples that have not.
    pub intercept_scaling: f64,
    /// A column is finished when no projected gradient of a sample is larger than this, and with log loss when the
    /// duality gap is at most this times the loss.
    pub tol: f64,
    /// Maximum number of passes over the samples.
    pub max_iter: usize,
    /// Weights whose magnitude is below this are dropped after the fit, if the prepared samples that are not empty have a root
    /// mean square length of one: otherwise, it is divided by that length. Of columns whose largest weight is below one it is this
    /// share of it.
    pub min_weight: f64,
    /// Whether weights are rounded to half precision (float16), after the fit of each column: a model file is then a third
    /// smaller. Those of which half precision does not have eleven significant bits, below 2⁻¹⁴ and above 65 504 in magnitude, are
    /// not rounded, and if there are some, the file has single precision.
    pub half_precision: bool,
    /// How the features of X are prepared.
    pub features: Features,
    /// Whether the fit is followed by fits to parts of the samples, whose margins of the other samples calibrate the
    /// probabilities.
    pub calibration: bool,
    /// The seed of the order in which samples are visited, and of folds.
    pub seed: u64,
}

setters! { LinearConfig {
    loss: LinearLoss,
    c: f64,
    intercept_scaling: f64,
    tol: f64,
    max_iter: usize,
    min_weight: f64,
    half_precision: bool,
    features: Features,
    calibration: bool,
    seed: u64,
} }

impl Default for LinearConfig {
    /// Parameters for counts of words.
    fn default() -> Self {
        LinearConfig {
            loss: LinearLoss::SquaredHinge,
            c: 0.3,
            intercept_scaling: 0.3,
            tol: 0.1,
            max_iter: 50,
            min_weight: 0.01,
            half_precision: false,
            features: Features::TfIdf,
            calibration: true,
            seed: 0,
        }
    }
}

/// Bounds of positive parameters, within which float32 neither overflows nor vanishes.
const LEAST: f64 = 1e-9;
const MOST: f64 = 1e9;

impl LinearConfig {
    pub(crate) fn check(&self) -> Result<()> {
        if !(LEAST..=MOST).contains(&self.c) {
            return Err(Error::invalid("C", self.c, "be between 1e-9 and 1e9"));
        }
        if !(self.intercept_scaling == 0.0 || (1e-3..=1e3).contains(&self.intercept_scaling)) {
            return Err(Error::invalid("intercept_scaling", self.intercept_scaling, "be 0, or between 0.001 and 1000"));
        }
        if !(LEAST..=MOST).contains(&self.tol) {
            return Err(Error::invalid("tol", self.tol, "be between 1e-9 and 1e9"));
        }
        if self.max_iter == 0 {
            return Err(Error::invalid("max_iter", 0, "be at least 1"));
        }
        if !(self.min_weight >= 0.0 && self.min_weight.is_finite()) {
            return Err(Error::invalid("min_weight", self.min_weight, "be finite and at least 0"));
        }
        Ok(())
    }
}
