//! Compressed models as bytes: the tensors of their trees, and `l1_norm`, which is one number.
//!
//! The entry `compression` of the header's object has the outputs (`outputs`, `sizes`) and the link (`link`). The
//! outputs outside this entry are those of the trees, which are scores.

use safetensors::Dtype;
use serde::Deserialize;

use super::Kind;
use super::extra::Extra;
use super::header::{Form, Header, Sizes};
use super::read::File;
use super::scores::{ScoreMeaning, check_scores};
use super::validate::trees;
use super::write::{Parts, bytes, tensors};
use crate::compress::Compressed;
use crate::criterion::Criterion;
use crate::data::Outputs;
use crate::data::targets::n_scores;
use crate::error::{Error, Result};
use crate::forest::Forest;

/// The entry of a compressed model in the header.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CompressEntry {
    link: String,
    outputs: String,
    sizes: Sizes,
}

impl CompressEntry {
    pub(super) fn decode(self) -> Result<ScoreMeaning> {
        ScoreMeaning::decode(Kind::Compressed, &self.link, &self.outputs, self.sizes)
    }
}

impl Compressed {
    /// Returns the model as a safetensors file. Equal models have equal bytes.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`] when there is not enough memory.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.parts(&Extra::default())?.into_bytes()
    }

    pub(super) fn parts(&self, extra: &Extra) -> Result<Parts> {
        let header = Header {
            n_features: self.forest.n_features,
            outputs: self.forest.outputs.clone(),
            criterion: Criterion::Variance,
            form: Form::Compressed(ScoreMeaning { outputs: self.outputs.clone(), link: self.link }),
        };
        let mut all = tensors(&self.forest.trees, self.forest.n_features)?;
        all.push(bytes("l1_norm", Dtype::F64, 1, [self.l1_norm.to_le_bytes()].into_iter())?);
        Parts::new(&header, all, extra)
    }

    /// Reads a model that [`Compressed::to_bytes`] wrote.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Corrupt`] with the check that failed, [`crate::ErrorKind::Invalid`] for a newer
    /// format, or [`crate::ErrorKind::OutOfMemory`]. It never panics, whatever the bytes are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Compressed> {
        Compressed::read(&File::parse(bytes)?)
    }

    pub(super) fn read(file: &File<'_>) -> Result<Compressed> {
        let header = &file.head.header;
        let Form::Compressed(scores) = &header.form else { return Err(file.is_not(Kind::Compressed)) };
        let ScoreMeaning { outputs, link } = scores.clone();
        let mut norms = file.required("l1_norm")?;
        let l1_norm = if norms.len() == 1 { norms.one()? } else { f64::NAN };
        if !(l1_norm >= 0.0 && l1_norm.is_finite()) {
            return Err(Error::corrupt("`l1_norm` is not one non-negative number"));
        }
        let trees = trees(file)?;
        let scores = Outputs::Real { n_outputs: n_scores(&outputs) };
        if trees.is_empty() || header.outputs != scores {
            return Err(Error::corrupt("the trees and the outputs do not fit the kind of model"));
        }
        let forest = Forest { n_features: header.n_features, outputs: scores, trees };
        check_scores(&forest.additive()?)?;
        Ok(Compressed { forest, outputs, link, l1_norm })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::CompressConfig;
    use crate::control::Control;
    use crate::loss::Link;
    use crate::testing::models;

    #[test]
    fn loaded_models_are_equal_and_damaged_bytes_are_refused_or_harmless() {
        for seed in 0..40 {
            let forest = models::some_forest(7 * seed + 1);
            let model = Compressed {
                link: if matches!(forest.outputs, Outputs::Real { .. }) { Link::Identity } else { Link::Share },
                outputs: forest.outputs.clone(),
                l1_norm: seed as f64 / 7.0,
                forest: Forest {
                    outputs: Outputs::Real { n_outputs: n_scores(&forest.outputs) },
                    ..constant(n_scores(&forest.outputs))
                },
            };
            let bytes = model.to_bytes().unwrap();
            let loaded = Compressed::from_bytes(&bytes).unwrap();
            assert_eq!(loaded, model);
            assert_eq!(loaded.to_bytes().unwrap(), bytes);
            assert!(Forest::from_bytes(&bytes).is_err());
            assert!(crate::boost::Boosted::from_bytes(&bytes).is_err());
            assert!(Compressed::from_bytes(&forest.to_bytes().unwrap()).is_err());
            for at in 0..bytes.len() {
                let mut broken = bytes.clone();
                broken[at] ^= 1 << (at % 8);
                if let Ok(model) = Compressed::from_bytes(&broken) {
                    let rows = models::rows(seed, 5, model.forest.n_features.min(10_000));
                    let x = &rows.c_order;
                    let _ = model.predict(x, &Control::default());
                }
                assert!(Compressed::from_bytes(&bytes[..at]).is_err());
            }
        }
    }

    /// Returns a forest with `width` numerical outputs.
    fn constant(width: usize) -> Forest {
        let shape =
            models::Shape { n_features: 3, outputs: Outputs::Real { n_outputs: width }, max_leaves: 9, unit: 1.0 };
        models::forest(width as u64, 2, &shape)
    }

    #[test]
    fn paths_return_the_sizes_of_their_models() {
        let x = ndarray::Array2::from_shape_fn((30, 2), |(i, j)| ((i * (3 + 4 * j)) % 30) as f32);
        let y = ndarray::Array2::from_shape_fn((30, 1), |(i, _)| i as f64);
        let forest = crate::ForestConfig { n_trees: 5, ..crate::ForestConfig::extra_trees(Criterion::Variance) };
        let forest = forest.fit((&x, &y), &Control::default()).unwrap();
        let path = CompressConfig::stagewise(0.1).path(&forest, (&x, &y), None, &Control::default()).unwrap();
        let last = path.at_step(path.n_steps(), &Control::default()).unwrap();
        assert_eq!(path.bytes_at(path.n_steps(), &Control::default()).unwrap(), last.to_bytes().unwrap().len());
        assert_eq!(Compressed::from_bytes(&last.to_bytes().unwrap()).unwrap(), last);
    }
}
