//! Compressed models as bytes: the tensors of their trees, and `l1_norm`, which is one number.
//!
//! The entry `compression` of the header's object has the outputs (`outputs`, `sizes`) and the link (`link`). The
//! outputs outside this entry are those of the trees, which are scores.

use safetensors::Dtype;

use crate::compress::Compressed;
use crate::criterion::Criterion;
use crate::data::Outputs;
use crate::data::targets::n_scores;
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::loss::Link;
use crate::model_file::codec::{About, Codec};
use crate::model_file::header::{Fields, Head, Header};
use crate::model_file::lengths::check_lengths;
use crate::model_file::read::File;
use crate::model_file::scores::{ScoreMeaning, check_scores};
use crate::model_file::tensor::{Tensor, bytes};
use crate::model_file::validate::{OF_LEAVES, OF_ROWS, OF_TESTS, trees};
use crate::model_file::write::tensors;

const KEY: &str = "compression";
const LINKS: [Link; 4] = [Link::Identity, Link::Share, Link::Logistic, Link::Softmax];

impl Codec for Compressed {
    const KIND: About = About {
        key: Some(KEY),
        other_key: None,
        name: "a compressed model",
        of_nodes: "features",
        tensors: &[OF_LEAVES, OF_ROWS, OF_TESTS, &[("l1_norm", &[Dtype::F64])]],
    };
    type Form = Link;

    fn parse(head: &Head) -> Result<(Outputs, Link)> {
        check_lengths(head)?;
        let fields = head.header.form_of(KEY)?;
        fields.check_names(&["link", "outputs", "sizes"])?;
        let ScoreMeaning { outputs, link } = ScoreMeaning::decode(fields, &LINKS)?;
        Ok((outputs, link))
    }

    fn header(&self) -> Result<Header> {
        let meaning = ScoreMeaning { outputs: self.outputs.clone(), link: self.link };
        Ok(Header {
            n_features: self.forest.n_features,
            outputs: self.forest.outputs.clone(),
            criterion: Criterion::Variance,
            form: Some((KEY.into(), Fields(meaning.encode().collect()))),
        })
    }

    fn tensors(&self) -> Result<Vec<Tensor>> {
        let mut all = tensors(&self.forest.trees, self.forest.n_features)?;
        all.push(bytes("l1_norm", Dtype::F64, 1, [self.l1_norm.to_le_bytes()].into_iter())?);
        Ok(all)
    }

    fn build(file: &File<'_>, outputs: Outputs, link: Link) -> Result<Compressed> {
        let mut norms = file.required("l1_norm")?;
        let l1_norm = if norms.len() == 1 { norms.one()? } else { f64::NAN };
        if !(l1_norm >= 0.0 && l1_norm.is_finite()) {
            return Err(Error::corrupt("`l1_norm` is not one non-negative number"));
        }
        let trees = trees(file)?;
        let scores = Outputs::Real { n_outputs: n_scores(&outputs) };
        let header = &file.head.header;
        if trees.is_empty() || header.outputs != scores {
            return Err(Error::corrupt("the trees and the outputs do not fit the kind of model"));
        }
        let forest = Forest { n_features: header.n_features, outputs: scores, trees, by_output: false };
        check_scores(&forest.additive()?)?;
        Ok(Compressed { forest, outputs, link, l1_norm })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_bytes;
    use super::*;
    use crate::compress::CompressConfig;
    use crate::control::Control;
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
            let bytes = check_bytes(&model, |model, _| {
                let rows = models::rows(seed, 5, model.forest.n_features.min(10_000));
                let _ = model.predict(&rows.c_order);
            });
            assert!(Forest::from_bytes(&bytes).is_err());
            assert!(crate::boost::Boosted::from_bytes(&bytes).is_err());
            assert!(Compressed::from_bytes(&forest.to_bytes().unwrap()).is_err());
        }
    }

    /// Returns a forest with `width` numerical outputs.
    fn constant(width: usize) -> Forest {
        let shape =
            models::Shape { n_features: 3, outputs: Outputs::Real { n_outputs: width }, max_leaves: 9, unit: 1.0 };
        models::forest(width as u64, 2, &shape)
    }

    #[test]
    fn the_last_model_of_a_path_comes_back() {
        let x = ndarray::Array2::from_shape_fn((30, 2), |(i, j)| ((i * (3 + 4 * j)) % 30) as f32);
        let y = ndarray::Array2::from_shape_fn((30, 1), |(i, _)| i as f64);
        let forest = crate::ForestConfig { n_trees: 5, ..crate::ForestConfig::extra_trees(Criterion::Variance) };
        let forest = forest.fit((&x, &y)).unwrap();
        let path = CompressConfig::stagewise(0.1).path(&forest, (&x, &y), None).unwrap();
        let last = path.at_step(path.n_steps(), &Control::default()).unwrap();
        assert_eq!(Compressed::from_bytes(&last.to_bytes().unwrap()).unwrap(), last);
    }
}
