//! Boosted models as bytes: the tensors of their trees, and the following tensors.
//!
//! | tensor | length | what |
//! |---|---|---|
//! | `start` | scores of a sample | scores before the first stage |
//! | `learning_rate` | 1 | factor of every step |
//! | `step_sizes` | stages × scores | steps of one stage after another |
//! | `train_score` | stages | training losses |
//! | `validation_score` | stages, or 0 | validation losses |
//! | `oob_losses` | stages + 1 | losses on the samples that stages were not fitted to, preceded by the loss before the first stage; absent if some stage has no such samples |
//!
//! The entry `boosting` of the header's object has the outputs (`outputs`, `sizes`), how trees and steps are combined
//! to scores (`combine`), the link (`link`), and the name of the loss (`loss`), which some files lack. The outputs
//! outside this entry are those of the trees.

use safetensors::Dtype;

use crate::boost::Boosted;
use crate::boost::model::Combine;
use crate::criterion::Criterion;
use crate::data::Outputs;
use crate::data::targets::n_scores;
use crate::error::{Error, Purpose, Result};
use crate::loss::Link;
use crate::model::step_sizes::StepSizes;
use crate::model_file::codec::{About, Codec, Names};
use crate::model_file::header::{Field, Fields, Head, Header};
use crate::model_file::lengths::{NUMBERS, check_lengths};
use crate::model_file::read::File;
use crate::model_file::scores::{ScoreMeaning, infinite_scores};
use crate::model_file::tensor::{Tensor, bytes, narrowest};
use crate::model_file::validate::{OF_LEAVES, OF_ROWS, OF_TESTS, trees};
use crate::model_file::write::tensors;

const KEY: &str = "boosting";
const OOB_LOSSES: &str = "oob_losses";

const COMBINES: [(Combine, &str); 5] = [
    (Combine::Leaves, "leaves"),
    (Combine::RankOne, "rank_one"),
    (Combine::Columns, "columns"),
    (Combine::OtherRankOne, "other_rank_one"),
    (Combine::OtherEach, "other_each"),
];

const TENSORS: Names = &[
    ("learning_rate", &[Dtype::F64]),
    ("oob_losses", NUMBERS),
    ("start", NUMBERS),
    ("step_exponents", NUMBERS),
    ("step_sizes", &[Dtype::U8, Dtype::U16, Dtype::U32, Dtype::F16, Dtype::F32, Dtype::F64]),
    ("train_score", NUMBERS),
    ("validation_score", NUMBERS),
];
const LINKS: [Link; 6] = [Link::Identity, Link::Log, Link::Margin, Link::Logistic, Link::OneAgainstRest, Link::Softmax];

impl Codec for Boosted {
    const KIND: About = About {
        key: Some(KEY),
        other_key: None,
        name: "a boosted model",
        of_nodes: "features",
        tensors: &[OF_LEAVES, OF_ROWS, OF_TESTS, TENSORS],
    };
    /// The link, how trees and steps are combined, and the name of the loss.
    type Form = (Link, Combine, Option<String>);

    fn parse(head: &Head) -> Result<(Outputs, Self::Form)> {
        check_lengths(head)?;
        let fields = head.header.form_of(KEY)?;
        fields.check_names(&["combine", "link", "loss", "outputs", "sizes"])?;
        let ScoreMeaning { outputs, link } = ScoreMeaning::decode(fields, &LINKS)?;
        let combine = fields.text("combine")?;
        let combine = COMBINES.iter().find(|(_, name)| *name == combine).map(|(combine, _)| *combine);
        let combine = combine.ok_or_else(|| Error::corrupt("`combine` is unknown"))?;
        let loss =
            fields.optional_text("loss")?.map(|name| Purpose("the name of the loss").string(name)).transpose()?;
        Ok((outputs, (link, combine, loss)))
    }

    fn header(&self) -> Result<Header> {
        let (_, combine) = COMBINES.iter().find(|(combine, _)| *combine == self.combine).expect("all are listed");
        let combine = ("combine".into(), Field::Text((*combine).into()));
        let loss = self.loss.clone().map(|name| ("loss".into(), Field::Text(name.into())));
        let meaning = ScoreMeaning { outputs: self.outputs.clone(), link: self.link };
        let mut fields: Vec<_> = [combine].into_iter().chain(loss).chain(meaning.encode()).collect();
        // Fields are written in alphabetical order.
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Header {
            n_features: self.n_features,
            outputs: Outputs::Real { n_outputs: leaf_width(self) },
            criterion: Criterion::Variance,
            form: Some((KEY.into(), Fields(fields))),
        })
    }

    fn tensors(&self) -> Result<Vec<Tensor>> {
        let mut all = tensors(&self.trees, self.n_features)?;
        let numbers = |name, values: &[f64]| -> Result<Tensor> { narrowest(name, || values.iter().copied()) };
        all.push(bytes("learning_rate", Dtype::F64, 1, [self.learning_rate.to_le_bytes()].into_iter())?);
        all.push(numbers("start", &self.start)?);
        all.push(numbers("step_sizes", &self.step_sizes.0)?);
        all.push(numbers("train_score", &self.train_score)?);
        all.push(numbers("validation_score", &self.validation_score)?);
        if !self.oob_losses.is_empty() {
            all.push(numbers(OOB_LOSSES, &self.oob_losses)?);
        }
        Ok(all)
    }

    fn build(file: &File<'_>, outputs: Outputs, (link, combine, loss): Self::Form) -> Result<Boosted> {
        let header = &file.head.header;
        let width = n_scores(&outputs);
        let finite = |name| finite(file, name);
        let one = |name| match finite(name)?[..] {
            [value] => Ok(value),
            _ => Err(Error::corrupt(format!("`{name}` is not one number"))),
        };
        let model = Boosted {
            n_features: header.n_features,
            outputs,
            width,
            combine,
            link,
            loss,
            start: finite("start")?,
            learning_rate: one("learning_rate")?,
            trees: trees(file)?,
            step_sizes: StepSizes(finite("step_sizes")?),
            train_score: finite("train_score")?,
            validation_score: finite("validation_score")?,
            oob_losses: if file.optional(OOB_LOSSES)?.is_some() { finite(OOB_LOSSES)? } else { Vec::new() },
        };
        let n_stages = model.n_stages();
        let n_trees = match combine {
            Combine::Leaves | Combine::RankOne => n_stages,
            Combine::Columns => n_stages.saturating_mul(width),
            Combine::OtherRankOne | Combine::OtherEach => 0,
        };
        let leaf_width = Outputs::Real { n_outputs: leaf_width(&model) };
        let is_whole = model.start.len() == width
            && model.step_sizes.len() == n_stages * width
            && model.train_score.len() == n_stages
            && [0, n_stages].contains(&model.validation_score.len())
            && [0, n_stages + 1].contains(&model.oob_losses.len())
            && model.trees.len() == n_trees
            && header.outputs == leaf_width
            && header.criterion == Criterion::Variance
            && model.learning_rate > 0.0;
        if !is_whole {
            return Err(Error::corrupt("the numbers of stages, trees, steps and losses are inconsistent"));
        }
        if model.has_finite_scores()? { Ok(model) } else { Err(infinite_scores()) }
    }
}

/// Returns the number of values in a leaf of a tree.
fn leaf_width(model: &Boosted) -> usize {
    if model.combine == Combine::Leaves { model.width } else { 1 }
}

/// Reads all numbers of a tensor, and checks that they are finite.
fn finite(file: &File<'_>, name: &'static str) -> Result<Vec<f64>> {
    let mut numbers = file.required(name)?;
    let values = numbers.collect(Purpose("the model"), numbers.len(), |v| v)?;
    if values.iter().all(|v| v.is_finite()) {
        Ok(values)
    } else {
        Err(Error::corrupt(format!("`{name}` is not finite")))
    }
}
