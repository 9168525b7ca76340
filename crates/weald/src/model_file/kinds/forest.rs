//! Forests as bytes: the tensors of their trees.

use crate::data::Outputs;
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::model_file::codec::{About, Codec};
use crate::model_file::header::{Head, Header};
use crate::model_file::lengths::{OF_LEAVES, OF_TESTS, check_lengths};
use crate::model_file::read::File;
use crate::model_file::scores::check_scores;
use crate::model_file::tensor::Tensor;
use crate::model_file::validate::trees;
use crate::model_file::write::tensors;

impl Codec for Forest {
    const KIND: About = About { key: None, name: "a forest", of_nodes: "features", tensors: &[OF_LEAVES, OF_TESTS] };
    type Form = ();

    fn parse(head: &Head) -> Result<(Outputs, ())> {
        check_lengths(head)?;
        Ok((head.header.outputs.try_clone()?, ()))
    }

    fn header(&self) -> Result<Header> {
        let first = self.trees.first().ok_or_else(|| Error::invalid("forest", "0 trees", "have at least one tree"))?;
        let (n_features, outputs) = (self.n_features, self.outputs.clone());
        Ok(Header { n_features, outputs, criterion: first.criterion, form: None })
    }

    fn tensors(&self) -> Result<Vec<Tensor>> {
        tensors(&self.trees, self.n_features)
    }

    fn build(file: &File<'_>, outputs: Outputs, (): ()) -> Result<Forest> {
        let trees = trees(file)?;
        if trees.is_empty() {
            return Err(Error::corrupt("there are no trees"));
        }
        let forest = Forest { n_features: file.head.header.n_features, outputs, trees };
        check_scores(&forest.additive()?)?;
        Ok(forest)
    }
}
