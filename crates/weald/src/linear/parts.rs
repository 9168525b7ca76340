//! Models of some columns, which are fitted apart and merged.

use std::ops::Range;

use super::LinearModel;
use super::weights::Weights;
use crate::error::{Error, Purpose, Result};

const PURPOSE: Purpose = Purpose("the merged linear model");
const WHAT: &str = "linear models to merge";

impl LinearModel {
    /// Returns one model of models that [`LinearConfig::fit_columns`](super::LinearConfig::fit_columns) has fitted to the
    /// columns of each range: it is the model of a fit of all columns. The ranges are in increasing order.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] if `parts` is empty, if the ranges are not all columns once and in order, or if
    /// the parts differ in features, outputs, calibration, or in how X is prepared, and
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn merge(parts: &[(&LinearModel, Range<usize>)]) -> Result<LinearModel> {
        let (first, _) = parts.first().ok_or_else(|| Error::invalid(WHAT, "none", "have at least one part"))?;
        let mut end = 0;
        for (part, range) in parts {
            if part.n_features != first.n_features || part.outputs != first.outputs {
                return Err(Error::invalid(WHAT, "different ones", "have the same features and outputs"));
            }
            if (part.features, &part.idf, &part.calibration) != (first.features, &first.idf, &first.calibration) {
                let must = "have the same preparation of X and the same calibration";
                return Err(Error::invalid(WHAT, "different ones", must));
            }
            if range.start != end || range.end < end {
                return Err(Error::invalid(WHAT, format!("{range:?} after {end}"), "have each column once, in order"));
            }
            end = range.end;
        }
        if end != first.n_columns() {
            return Err(Error::invalid(WHAT, format!("{end} columns"), "have all columns"));
        }
        let n_stored = parts.iter().map(|(part, _)| part.n_weights()).sum();
        let mut weights = Weights {
            ptr: PURPOSE.with_capacity(first.n_features + 1)?,
            columns: PURPOSE.with_capacity(n_stored)?,
            values: PURPOSE.with_capacity(n_stored)?,
            intercepts: PURPOSE.with_capacity(end)?,
            n_unfinished: parts.iter().map(|(part, _)| part.n_unfinished()).sum(),
            n_iter: parts.iter().map(|(part, _)| part.n_iter()).max().unwrap_or(0),
        };
        weights.ptr.push(0);
        for feature in 0..first.n_features {
            for (part, range) in parts {
                let (columns, values) = part.weights_of(feature);
                let at = |column: usize| columns.partition_point(|&other| (other as usize) < column);
                let own = at(range.start)..at(range.end);
                weights.columns.extend_from_slice(&columns[own.clone()]);
                weights.values.extend_from_slice(&values[own]);
            }
            weights.ptr.push(weights.columns.len());
        }
        parts.iter().for_each(|(part, range)| weights.intercepts.extend_from_slice(&part.intercepts()[range.clone()]));
        Ok(LinearModel {
            n_features: first.n_features,
            outputs: first.outputs.clone(),
            features: first.features,
            idf: first.idf.clone(),
            weights,
            calibration: first.calibration.clone(),
        })
    }
}
