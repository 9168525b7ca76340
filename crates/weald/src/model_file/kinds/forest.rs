//! Forests as bytes: the tensors of their trees.
//!
//! If trees are grown for one output each, the header's object has an entry `by_output` with the outputs of the forest
//! (`outputs`, `sizes`), and the outputs outside this entry are those of a tree.

use crate::data::Outputs;
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::model_file::codec::{About, Codec};
use crate::model_file::header::{Fields, Head, Header, encode_outputs};
use crate::model_file::lengths::check_lengths;
use crate::model_file::read::File;
use crate::model_file::scores::check_scores;
use crate::model_file::tensor::Tensor;
use crate::model_file::validate::{OF_LEAVES, OF_ROWS, OF_TESTS, trees};
use crate::model_file::write::tensors;

const KEY: &str = "by_output";

impl Codec for Forest {
    const KIND: About = About {
        key: None,
        other_key: Some(KEY),
        name: "a forest",
        of_nodes: "features",
        tensors: &[OF_LEAVES, OF_ROWS, OF_TESTS],
    };
    /// Whether trees are grown for one output each.
    type Form = bool;

    fn parse(head: &Head) -> Result<(Outputs, bool)> {
        check_lengths(head)?;
        if head.header.form.is_none() {
            return Ok((head.header.outputs.try_clone()?, false));
        }
        let fields = head.header.form_of(KEY)?;
        fields.check_names(&["outputs", "sizes"])?;
        let outputs = fields.outputs()?;
        let fits = match (&outputs, &head.header.outputs) {
            (Outputs::Real { n_outputs: d }, Outputs::Real { n_outputs: 1 })
            | (Outputs::Labels { n_labels: d }, Outputs::Labels { n_labels: 1 }) => *d > 1,
            _ => false,
        };
        if fits {
            Ok((outputs, true))
        } else {
            Err(Error::corrupt("the outputs of a tree do not fit those of the forest"))
        }
    }

    fn header(&self) -> Result<Header> {
        let first = self.trees.first().ok_or_else(|| Error::invalid("forest", "0 trees", "have at least one tree"))?;
        let (n_features, criterion) = (self.n_features, first.criterion);
        if !self.by_output {
            return Ok(Header { n_features, outputs: self.outputs.clone(), criterion, form: None });
        }
        let form = Some((KEY.into(), Fields(encode_outputs(&self.outputs).into())));
        Ok(Header { n_features, outputs: first.outputs().clone(), criterion, form })
    }

    fn tensors(&self) -> Result<Vec<Tensor>> {
        tensors(&self.trees, self.n_features)
    }

    fn build(file: &File<'_>, outputs: Outputs, by_output: bool) -> Result<Forest> {
        let trees = trees(file)?;
        if trees.is_empty() {
            return Err(Error::corrupt("there are no trees"));
        }
        if by_output && !trees.len().is_multiple_of(outputs.n_outputs()) {
            return Err(Error::corrupt(format!("{} trees for {} outputs", trees.len(), outputs.n_outputs())));
        }
        let forest = Forest { n_features: file.head.header.n_features, outputs, trees, by_output };
        check_scores(&forest.additive()?)?;
        Ok(forest)
    }
}
