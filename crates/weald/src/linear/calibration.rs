//! Probabilities of margins.

/// A slope and an intercept for each column: the probability of a margin m is 1 / (1 + exp(−(slope · m + intercept))).
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    pub(crate) slopes: Vec<f32>,
    pub(crate) intercepts: Vec<f32>,
}

impl Calibration {
    /// Returns the slope of each column.
    pub fn slopes(&self) -> &[f32] {
        &self.slopes
    }

    /// Returns the intercept of each column.
    pub fn intercepts(&self) -> &[f32] {
        &self.intercepts
    }
}

/// Replaces the margins of a sample by probabilities.
pub(super) fn probabilities(calibration: Option<&Calibration>, classes: Option<&[usize]>, margins: &mut [f32]) {
    let probability = |score: f64| 1.0 / (1.0 + (-score).exp());
    for (column, margin) in margins.iter_mut().enumerate() {
        let (slope, intercept) = calibration.map_or((1.0, 0.0), |c| (c.slopes[column], c.intercepts[column]));
        *margin = probability(f64::from(slope) * f64::from(*margin) + f64::from(intercept)) as f32;
    }
    for range in classes.map_or(&[][..], |starts| starts).windows(2) {
        let of_output = &mut margins[range[0]..range[1]];
        let total: f64 = of_output.iter().map(|&p| f64::from(p)).sum();
        let even = 1.0 / of_output.len() as f64;
        of_output.iter_mut().for_each(|p| *p = if total > 0.0 { f64::from(*p) / total } else { even } as f32);
    }
}
