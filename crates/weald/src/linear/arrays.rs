//! What the arrays of a model must fulfil.

use super::{Features, LinearModel, Weights};
use crate::data::targets::n_scores;
use crate::data::{MOST_FEATURES, Outputs};
use crate::error::{Error, Result};

impl LinearModel {
    /// Returns the model if its arrays fit one another.
    pub(crate) fn checked(self) -> Result<Self> {
        match self.fault() {
            None => Ok(self),
            Some(why) => Err(Error::corrupt(why)),
        }
    }

    /// Returns the rule that the arrays break, if they do.
    fn fault(&self) -> Option<&'static str> {
        let Weights { ptr, columns, values, intercepts, n_unfinished, .. } = &self.weights;
        let (n_features, n_columns) = (self.n_features, n_scores(&self.outputs));
        let are_finite = |numbers: &[f32]| numbers.iter().all(|number| number.is_finite());
        let is_range = |range: &[usize]| range[0] <= range[1];
        let has_ends = ptr.len() == n_features.wrapping_add(1) && ptr.first() == Some(&0);
        if n_features == 0 || n_features > MOST_FEATURES {
            return Some("the number of features is zero or too large");
        }
        if matches!(self.outputs, Outputs::Real { .. }) || n_columns == 0 {
            return Some("a linear model has labels or classes");
        }
        if !has_ends || !ptr.windows(2).all(is_range) || ptr.last() != Some(&columns.len()) {
            return Some("the numbers of weights of features do not add up to the number of weights");
        }
        if values.len() != columns.len() {
            return Some("there are not as many weights as columns of weights");
        }
        let rise = |range: &[usize]| {
            let of_feature = &columns[range[0]..range[1]];
            let in_range = of_feature.last().is_none_or(|&column| (column as usize) < n_columns);
            in_range && of_feature.windows(2).all(|pair| pair[0] < pair[1])
        };
        if !ptr.windows(2).all(rise) {
            return Some("the columns of a feature are out of range or not in increasing order");
        }
        if values.contains(&0.0) || !are_finite(values) {
            return Some("a weight is zero or not finite");
        }
        if intercepts.len() != n_columns || !are_finite(intercepts) {
            return Some("the intercepts are not one finite number for each column");
        }
        if self.idf.is_some() != (self.features == Features::TfIdf) {
            return Some("there are inverse document frequencies if and only if features are tf-idf");
        }
        let is_factor = |factor: &f32| factor.is_finite() && *factor > 0.0;
        if self.idf().is_some_and(|idf| idf.len() != n_features || !idf.iter().all(is_factor)) {
            return Some("the inverse document frequencies are not one positive number for each feature");
        }
        let fits = |numbers: &[f32]| numbers.len() == n_columns && are_finite(numbers);
        if self.calibration.as_ref().is_some_and(|found| !fits(&found.slopes) || !fits(&found.intercepts)) {
            return Some("slopes and intercepts of probabilities are not one finite number for each column");
        }
        (*n_unfinished > n_columns).then_some("more columns are unfinished than there are")
    }
}
