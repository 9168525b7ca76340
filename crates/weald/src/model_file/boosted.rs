//! Boosted models as bytes: the tensors of their trees, and the following tensors.
//!
//! | tensor | length | what |
//! |---|---|---|
//! | `start` | scores of a sample | scores before the first stage |
//! | `learning_rate` | 1 | factor of every step |
//! | `step_sizes` | stages × scores | steps of one stage after another, as numbers or in float8 (E4M3) |
//! | `step_exponents` | stages, with float8 | exponent of the power of two by which the steps of the stage are multiplied |
//! | `train_score` | stages | training losses |
//! | `validation_score` | stages, or 0 | validation losses |
//! | `oob_losses` | stages + 1 | losses on the samples that stages were not fitted to, preceded by the loss before the first stage; absent if some stage has no such samples |
//!
//! The entry `boosting` of the header's object has the outputs (`outputs`, `sizes`), how trees and steps are combined
//! to scores (`combine`), the link (`link`), and the name of the loss (`loss`), which some files lack. The outputs outside this entry are those of the trees.

use safetensors::Dtype;
use serde::Deserialize;
use serde_json::Value;

use super::Kind;
use super::extra::Extra;
use super::header::{Form, Header, Sizes, object};
use super::names::{name_of, value_of};
use super::read::File;
use super::scores::{ScoreMeaning, infinite_scores};
use super::validate::trees;
use super::write::{Parts, Tensor, WHAT, bytes, narrowest, tensors};
use crate::boost::Boosted;
use crate::boost::model::Combine;
use crate::criterion::Criterion;
use crate::data::Outputs;
use crate::data::targets::n_scores;
use crate::error::{Error, Result, try_copied};
use crate::model::step_sizes::StepSizes;

const OOB_LOSSES: &str = "oob_losses";

const COMBINES: [(Combine, &str); 5] = [
    (Combine::Leaves, "leaves"),
    (Combine::RankOne, "rank_one"),
    (Combine::Columns, "columns"),
    (Combine::OtherRankOne, "other_rank_one"),
    (Combine::OtherEach, "other_each"),
];

/// The parts of the header that belong to boosted models.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BoostHeader {
    pub(super) scores: ScoreMeaning,
    combine: Combine,
    loss: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoostEntry {
    combine: String,
    link: String,
    loss: Option<String>,
    outputs: String,
    sizes: Sizes,
}

impl BoostHeader {
    pub(super) fn encode(&self) -> Value {
        // The object sorts its keys.
        let combine = ("combine", Value::from(name_of(&COMBINES, &self.combine)));
        let loss = self.loss.as_ref().map(|name| ("loss", Value::from(name.as_str())));
        object([combine].into_iter().chain(loss).chain(self.scores.encode()))
    }

    pub(super) fn decode(entry: BoostEntry) -> Result<Self> {
        let scores = ScoreMeaning::decode(Kind::Boosted, &entry.link, &entry.outputs, entry.sizes)?;
        Ok(BoostHeader { scores, combine: value_of(&COMBINES, "combine", &entry.combine)?, loss: entry.loss })
    }
}

impl Boosted {
    /// Returns the model as a safetensors file. Equal models have equal bytes.
    ///
    /// If the weak models are not trees, only the steps are stored.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`] when there is not enough memory.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.parts(&Extra::default())?.into_bytes()
    }

    pub(super) fn parts(&self, extra: &Extra) -> Result<Parts> {
        let header = Header {
            n_features: self.n_features,
            outputs: Outputs::Real { n_outputs: self.leaf_width() },
            criterion: Criterion::Variance,
            form: Form::Boosted(BoostHeader {
                scores: ScoreMeaning { outputs: self.outputs.clone(), link: self.link },
                combine: self.combine,
                loss: self.loss.clone(),
            }),
        };
        let mut all = tensors(&self.trees, self.n_features)?;
        let numbers = |name, values: &[f64]| -> Result<Tensor> { narrowest(name, || values.iter().copied()) };
        all.push(bytes("learning_rate", Dtype::F64, 1, [self.learning_rate.to_le_bytes()].into_iter())?);
        all.push(numbers("start", &self.start)?);
        match &self.step_sizes {
            StepSizes::Float64(steps) => all.push(numbers("step_sizes", steps)?),
            StepSizes::Float8 { codes, exponents } => {
                all.push(Tensor::new("step_sizes", Dtype::F8_E4M3, try_copied(WHAT, codes)?));
                all.push(narrowest("step_exponents", || exponents.iter().map(|&e| e.into()))?);
            }
        }
        all.push(numbers("train_score", &self.train_score)?);
        all.push(numbers("validation_score", &self.validation_score)?);
        if !self.oob_losses.is_empty() {
            all.push(numbers(OOB_LOSSES, &self.oob_losses)?);
        }
        Parts::new(&header, all, extra)
    }

    /// Reads a model that [`Boosted::to_bytes`] wrote.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Corrupt`] with the check that failed, [`crate::ErrorKind::Invalid`] for a newer
    /// format, or [`crate::ErrorKind::OutOfMemory`]. It never panics, whatever the bytes are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Boosted> {
        Boosted::read(&File::parse(bytes)?)
    }

    pub(super) fn read(file: &File<'_>) -> Result<Boosted> {
        let header = &file.head.header;
        let Form::Boosted(boosting) = &header.form else { return Err(file.is_not(Kind::Boosted)) };
        let BoostHeader { scores: ScoreMeaning { outputs, link }, combine, loss } = boosting.clone();
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
            step_sizes: step_sizes(file)?,
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
        let leaf_width = Outputs::Real { n_outputs: model.leaf_width() };
        // If leaves hold what is added to scores, steps are not in float8.
        let may_be_narrow = matches!(combine, Combine::RankOne | Combine::OtherRankOne) && width > 1;
        let is_whole = model.start.len() == width
            && model.step_sizes.len() == n_stages * width
            && model.step_sizes.n_exponents().is_none_or(|n| n == n_stages && may_be_narrow)
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

    /// Returns the number of values in a leaf of a tree.
    fn leaf_width(&self) -> usize {
        if self.combine == Combine::Leaves { self.width } else { 1 }
    }
}

/// Reads all numbers of a tensor, and checks that they are finite.
fn finite(file: &File<'_>, name: &'static str) -> Result<Vec<f64>> {
    let mut numbers = file.required(name)?;
    let values = numbers.collect("the model", numbers.len(), |v| v)?;
    if values.iter().all(|v| v.is_finite()) {
        Ok(values)
    } else {
        Err(Error::corrupt(format!("`{name}` is not finite")))
    }
}

/// Reads the steps of all stages.
fn step_sizes(file: &File<'_>) -> Result<StepSizes> {
    const EXPONENTS: &str = "step_exponents";
    let Some(codes) = file.codes("step_sizes")? else {
        return match file.optional(EXPONENTS)? {
            Some(_) => Err(Error::corrupt(format!("there is `{EXPONENTS}`, but no steps in float8"))),
            None => finite(file, "step_sizes").map(StepSizes::Float64),
        };
    };
    let mut numbers = file.required(EXPONENTS)?;
    // Exponents that are not whole numbers, or are out of range, are replaced by one that is out of range.
    let whole = |e: f64| if f64::from(e as i16) == e { e as i16 } else { i16::MAX };
    let exponents = numbers.collect("the model", numbers.len(), whole)?;
    StepSizes::of_codes(codes, exponents).ok_or_else(|| Error::corrupt("the steps in float8 are invalid"))
}
