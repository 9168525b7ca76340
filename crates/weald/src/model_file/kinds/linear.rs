//! Linear models as bytes: the weights feature by feature, and what is done with X and with margins.

use std::sync::Arc;

use safetensors::Dtype;

use crate::criterion::Criterion;
use crate::data::Outputs;
use crate::data::targets::n_scores;
use crate::error::{Error, Purpose, Result};
use crate::linear::{Calibration, Features, LinearModel, Weights};
use crate::model_file::codec::{About, Codec, Names};
use crate::model_file::header::{Field, Fields, Head, Header};
use crate::model_file::lengths::{WHOLE, check_fit};
use crate::model_file::read::File;
use crate::model_file::tensor::{Tensor, bytes, floats, narrowest};
use crate::tree::leaves::Half;

const PURPOSE: Purpose = Purpose("the model");

const KEY: &str = "linear";
const SINGLE: &[Dtype] = &[Dtype::F32];
const TENSORS: Names = &[
    ("fit_passes", WHOLE),
    ("idf", SINGLE),
    ("intercepts", SINGLE),
    ("proba_intercepts", SINGLE),
    ("proba_slopes", SINGLE),
    ("weight_columns", WHOLE),
    ("weight_sizes", WHOLE),
    ("weight_values", &[Dtype::F16, Dtype::F32]),
];

/// Reads the way to prepare X.
pub(super) fn features(fields: &Fields) -> Result<Features> {
    let features = fields.text("features")?;
    let found = Features::ALL.into_iter().find(|known| known.name() == features);
    found.ok_or_else(|| Error::corrupt("`features` is unknown"))
}

impl Codec for LinearModel {
    // No tensor has a number for each node.
    const KIND: About =
        About { key: Some(KEY), other_key: None, name: "a linear model", of_nodes: "n_nodes", tensors: &[TENSORS] };
    type Form = Features;

    fn parse(head: &Head) -> Result<(Outputs, Features)> {
        let fields = head.header.form_of(KEY)?;
        fields.check_names(&["features"])?;
        let features = features(fields)?;
        let outputs = head.header.outputs.try_clone()?;
        if matches!(outputs, Outputs::Real { .. }) {
            return Err(Error::corrupt("a linear model has numerical outputs"));
        }
        check_lengths(head, n_scores(&outputs) as u64)?;
        Ok((outputs, features))
    }

    fn header(&self) -> Result<Header> {
        let features = ("features".into(), Field::Text(self.features.name().into()));
        let form = Some((KEY.into(), Fields(vec![features])));
        // The criterion of trees for such y.
        Ok(Header { n_features: self.n_features, outputs: self.outputs.clone(), criterion: Criterion::Gini, form })
    }

    fn tensors(&self) -> Result<Vec<Tensor>> {
        let weights = &self.weights;
        let mut tensors = vec![
            narrowest("weight_sizes", || weights.ptr.windows(2).map(|range| (range[1] - range[0]) as f64))?,
            narrowest("weight_columns", || weights.columns.iter().map(|&column| f64::from(column)))?,
            weight_values(|| weights.values.iter())?,
            floats("intercepts", || weights.intercepts.iter().copied())?,
            narrowest("fit_passes", || [weights.n_iter, weights.n_unfinished].into_iter().map(|n| n as f64))?,
        ];
        if let Some(idf) = self.idf() {
            tensors.push(floats("idf", || idf.iter().copied())?);
        }
        if let Some(Calibration { slopes, intercepts }) = &self.calibration {
            tensors.push(floats("proba_slopes", || slopes.iter().copied())?);
            tensors.push(floats("proba_intercepts", || intercepts.iter().copied())?);
        }
        Ok(tensors)
    }

    fn build(file: &File<'_>, outputs: Outputs, features: Features) -> Result<LinearModel> {
        let n_features = file.head.header.n_features;
        let calibration = match (singles(file, "proba_slopes")?, singles(file, "proba_intercepts")?) {
            (None, None) => None,
            (Some(slopes), Some(intercepts)) => Some(Calibration { slopes, intercepts }),
            _ => return Err(Error::corrupt("there are slopes or intercepts of probabilities, but not both")),
        };
        let idf = singles(file, "idf")?.map(Arc::new);
        let weights = weights(file, n_features)?;
        LinearModel { n_features, outputs, features, idf, weights, calibration }.checked()
    }
}

/// Returns the weights in float16 if it represents all of them exactly, and otherwise in float32.
pub(super) fn weight_values<'t, I: Iterator<Item = &'t f32>>(values: impl Fn() -> I) -> Result<Tensor> {
    const NAME: &str = "weight_values";
    let half = |value: f32| Half::nearest(value.into());
    let is_half = |&value: &f32| f64::from(value.abs()) <= Half::LARGEST && f64::from(half(value)) == f64::from(value);
    if values().all(is_half) {
        return bytes(NAME, Dtype::F16, values().count(), values().map(|&value| half(value).bits().to_le_bytes()));
    }
    floats(NAME, || values().copied())
}

/// Checks the lengths of all tensors.
fn check_lengths(head: &Head, n_columns: u64) -> Result<()> {
    let n_features = head.header.n_features as u64;
    let there = |name| head.required_length(name);
    let n_weights = there("weight_columns")?;
    let lengths = [
        ("weight_sizes", there("weight_sizes")? == n_features),
        ("weight_values", there("weight_values")? == n_weights),
        ("intercepts", there("intercepts")? == n_columns),
        ("fit_passes", there("fit_passes")? == 2),
        ("idf", head.length("idf").is_none_or(|n| n == n_features)),
        ("proba_slopes", head.length("proba_slopes").is_none_or(|n| n == n_columns)),
        ("proba_intercepts", head.length("proba_intercepts").is_none_or(|n| n == n_columns)),
    ];
    check_fit(&lengths, || format!("{n_weights} weights of {n_features} features and {n_columns} columns"))
}

/// Reads a tensor of numbers that are finite in float32.
pub(super) fn singles(file: &File<'_>, name: &'static str) -> Result<Option<Vec<f32>>> {
    let Some(mut stored) = file.optional(name)? else { return Ok(None) };
    let n = stored.len();
    let numbers = stored.collect(PURPOSE, n, |number| number as f32)?;
    if !numbers.iter().all(|number| number.is_finite()) {
        return Err(Error::corrupt(format!("a number of `{name}` is not finite in float32")));
    }
    Ok(Some(numbers))
}

fn weights(file: &File<'_>, n_features: usize) -> Result<Weights> {
    let (mut sizes, mut columns) = (file.required("weight_sizes")?, file.required("weight_columns")?);
    let n_weights = columns.len();
    let missing = |name| Error::corrupt(format!("there is no `{name}`"));
    let passes = file.required("fit_passes")?.whole(PURPOSE, 2)?;
    Ok(Weights {
        ptr: sizes.offsets(n_features, 0usize, |end, size| Ok(end.saturating_add(size as usize)))?,
        columns: columns.whole(PURPOSE, n_weights)?,
        values: singles(file, "weight_values")?.ok_or_else(|| missing("weight_values"))?,
        intercepts: singles(file, "intercepts")?.ok_or_else(|| missing("intercepts"))?,
        n_iter: passes[0] as usize,
        n_unfinished: passes[1] as usize,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_bytes;
    use super::*;
    use crate::data::Targets;
    use crate::linear::LinearConfig;
    use crate::testing::{labels, models};

    /// Returns models of labels and classes, of all ways to prepare X, with and without a calibration.
    fn some_models() -> Vec<LinearModel> {
        let x = models::rows(3, 30, 4).c_order;
        let positive = x.mapv(f32::abs);
        let codes = ndarray::Array2::from_shape_fn((30, 2), |(i, j)| ((i * (3 + j)) % 5 % (3 - j)) as u32);
        let labels = labels::on((30, 5), |i, j| (i * (j + 2)) % 7 < 2);
        let targets = [
            Targets::Labels(labels),
            Targets::Classes { codes: codes.view(), n_classes: vec![3, 2] },
            Targets::Classes { codes: codes.slice_axis(ndarray::Axis(1), (1..2).into()), n_classes: vec![2] },
        ];
        let mut found = Vec::new();
        for (y, features) in targets.iter().zip([Features::Given, Features::TfIdf, Features::Standardized]) {
            let config = LinearConfig::default().features(features).max_iter(3).calibration(false);
            let mut model = config.fit((&positive, y)).unwrap();
            found.push(model.clone());
            let width = model.n_columns();
            model.calibration = Some(Calibration { slopes: vec![1.5; width], intercepts: vec![-0.25; width] });
            found.push(model);
        }
        found
    }

    #[test]
    fn loaded_models_are_equal_and_damaged_bytes_are_refused_or_harmless() {
        for model in some_models() {
            let bytes = check_bytes(&model, |model, at| {
                if model.n_features() < 10_000 {
                    let rows = models::rows(at as u64, 5, model.n_features()).c_order.mapv(|x| x.clamp(-9.0, 9.0));
                    let scores = model.predict_scores(&rows).unwrap();
                    assert!(scores.iter().all(|score| score.is_finite()));
                }
            });
            assert!(crate::forest::Forest::from_bytes(&bytes).is_err());
        }
    }

    #[test]
    fn weights_are_half_floats_where_these_are_exact() {
        let dtype = |values: &[f32]| weight_values(|| values.iter()).unwrap().dtype;
        assert_eq!(dtype(&[0.5, -0.25, 65_504.0]), Dtype::F16);
        assert_eq!(dtype(&[0.5, 0.1]), Dtype::F32);
        assert_eq!(dtype(&[65_536.0]), Dtype::F32);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let refused = |change: &dyn Fn(&mut LinearModel), message: &str| {
            let mut model = some_models().remove(3);
            change(&mut model);
            let error = LinearModel::from_bytes(&model.to_bytes().unwrap()).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        };
        refused(&|model| model.weights.columns[0] = 4_000, "out of range or not in increasing order");
        refused(&|model| model.weights.columns.swap(0, 1), "out of range or not in increasing order");
        refused(&|model| model.weights.values[0] = 0.0, "a weight is zero or not finite");
        refused(&|model| model.weights.values[0] = f32::NAN, "not finite");
        refused(&|model| model.weights.intercepts[0] = f32::INFINITY, "not finite");
        refused(&|model| model.weights.intercepts.push(0.0), "`intercepts` does not fit");
        refused(&|model| model.weights.ptr[1] -= 1, "out of range or not in increasing order");
        refused(&|model| *model.weights.ptr.last_mut().unwrap() -= 1, "do not add up to the number of weights");
        refused(&|model| model.weights.n_unfinished = 6, "more columns are unfinished");
        refused(&|model| model.idf = None, "if and only if features are tf-idf");
        refused(&|model| model.features = Features::Given, "if and only if features are tf-idf");
        refused(&|model| model.calibration.as_mut().unwrap().slopes[0] = f32::NAN, "not finite");
        refused(&|model| model.calibration.as_mut().unwrap().slopes.truncate(1), "`proba_slopes` does not fit");
    }
}
