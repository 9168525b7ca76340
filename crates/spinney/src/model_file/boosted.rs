//! Boosted models as bytes: the tensors of their trees, and these.
//!
//! | tensor | length | what |
//! |---|---|---|
//! | `start` | scores of a row | scores before the first stage |
//! | `learning_rate` | 1 | factor of every step |
//! | `step_sizes` | stages × scores | steps, stage after stage: numbers, or float8 (E4M3) |
//! | `step_exponents` | stages, with float8 | the power of two that the steps of the stage are multiplied by |
//! | `train_score` | stages | training losses |
//! | `validation_score` | stages, or none | validation losses |
//! | `oob_losses` | stages and one | losses of the rows that stages were not fitted on, from before the first stage; absent where some stage had none |
//!
//! The entry `boosting` of the header's object has the outputs (`outputs`, `sizes`), how trees and steps make scores
//! (`combine`) and what scores mean (`link`). The outputs outside it are those of the trees.

use safetensors::Dtype;
use serde::Deserialize;
use serde_json::Value;

use super::Kind;
use super::extra::Extra;
use super::header::{Form, Header, Sizes, object};
use super::names::{name_of, value_of};
use super::read::File;
use super::scores::{ScoreMeaning, check_scores};
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

/// What makes a boosted model of trees and steps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BoostHeader {
    pub(super) scores: ScoreMeaning,
    combine: Combine,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoostEntry {
    combine: String,
    link: String,
    outputs: String,
    sizes: Sizes,
}

impl BoostHeader {
    pub(super) fn encode(&self) -> Value {
        // Keys in alphabetical order, as in the object around it.
        object([("combine", Value::from(name_of(&COMBINES, &self.combine)))].into_iter().chain(self.scores.encode()))
    }

    pub(super) fn decode(entry: BoostEntry) -> Result<Self> {
        let scores = ScoreMeaning::decode(Kind::Boosted, &entry.link, &entry.outputs, entry.sizes)?;
        Ok(BoostHeader { scores, combine: value_of(&COMBINES, "combine", &entry.combine)? })
    }
}

impl Boosted {
    /// The model as a safetensors file. Equal models give equal bytes.
    ///
    /// Of weak models that are no trees only the steps are held.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
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

    /// The model that [`Boosted::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Corrupt`] with the proof that failed, [`crate::ErrorKind::Invalid`] for a newer format,
    /// [`crate::ErrorKind::OutOfMemory`]. Never panics, whatever the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Boosted> {
        Boosted::read(&File::parse(bytes)?)
    }

    pub(super) fn read(file: &File<'_>) -> Result<Boosted> {
        let header = &file.head.header;
        let Form::Boosted(boosting) = &header.form else { return Err(file.is_not(Kind::Boosted)) };
        let BoostHeader { scores: ScoreMeaning { outputs, link }, combine } = boosting.clone();
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
        // Where leaves hold what is added, steps are numbers.
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
            return Err(Error::corrupt("stages, trees, steps and losses do not fit each other"));
        }
        model.check_scores()?;
        Ok(model)
    }

    /// Proves that scores are finite, whatever the row. Predictions from elsewhere are not known here.
    fn check_scores(&self) -> Result<()> {
        match self.combine {
            Combine::Leaves | Combine::Columns => check_scores(&self.additive()?),
            Combine::RankOne => {
                self.check_steps()?;
                check_scores(&self.additive()?)
            }
            Combine::OtherRankOne | Combine::OtherEach => self.check_steps(),
        }
    }

    fn check_steps(&self) -> Result<()> {
        let is_finite = |step: f64| (self.learning_rate * step).is_finite();
        if (0..self.n_stages()).all(|stage| self.step_sizes.of_stage(stage, self.width).all(is_finite)) {
            Ok(())
        } else {
            Err(Error::corrupt("a step is not finite"))
        }
    }

    /// Numbers in a leaf of a tree.
    fn leaf_width(&self) -> usize {
        if self.combine == Combine::Leaves { self.width } else { 1 }
    }
}

/// All numbers of a tensor, proven to be finite.
fn finite(file: &File<'_>, name: &'static str) -> Result<Vec<f64>> {
    let mut numbers = file.required(name)?;
    let values = numbers.collect("the model", numbers.len(), |v| v)?;
    if values.iter().all(|v| v.is_finite()) {
        Ok(values)
    } else {
        Err(Error::corrupt(format!("`{name}` is not finite")))
    }
}

/// The steps of all stages.
fn step_sizes(file: &File<'_>) -> Result<StepSizes> {
    const EXPONENTS: &str = "step_exponents";
    let Some(codes) = file.codes("step_sizes")? else {
        return match file.optional(EXPONENTS)? {
            Some(_) => Err(Error::corrupt(format!("there is `{EXPONENTS}`, but no steps in float8"))),
            None => finite(file, "step_sizes").map(StepSizes::Float64),
        };
    };
    let mut numbers = file.required(EXPONENTS)?;
    // What is no whole number, or out of range, becomes one that is out of range.
    let whole = |e: f64| if f64::from(e as i16) == e { e as i16 } else { i16::MAX };
    let exponents = numbers.collect("the model", numbers.len(), whole)?;
    StepSizes::of_codes(codes, exponents).ok_or_else(|| Error::corrupt("the steps in float8 are not those of spinney"))
}
