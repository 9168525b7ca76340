//! The scores of all kinds of models: their meaning in the header, and the check that they are finite.

use serde_json::Value;

use super::Kind;
use super::header::{Sizes, decode_outputs, encode_outputs};
use super::names::{LINKS, name_of, value_of};
use crate::data::Outputs;
use crate::data::targets::is_binary;
use crate::error::{Error, Result};
use crate::loss::Link;
use crate::model::Additive;

/// The outputs of a boosted or compressed model, and the link of its scores.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScoreMeaning {
    pub(super) outputs: Outputs,
    pub(super) link: Link,
}

impl ScoreMeaning {
    /// Returns the entries of a JSON object, in alphabetical order.
    pub(super) fn encode(&self) -> [(&'static str, Value); 3] {
        let (kind, sizes) = encode_outputs(&self.outputs);
        [("link", Value::from(name_of(&LINKS, &self.link))), ("outputs", Value::from(kind)), ("sizes", sizes)]
    }

    pub(super) fn decode(kind: Kind, link: &str, outputs: &str, sizes: Sizes) -> Result<Self> {
        let outputs = decode_outputs(outputs, sizes)?;
        let link = value_of(&LINKS, "link", link)?;
        if fits(kind, link, &outputs) {
            Ok(ScoreMeaning { outputs, link })
        } else {
            Err(Error::corrupt("the link does not fit y"))
        }
    }
}

/// Returns whether models of this kind can have this link with these outputs.
fn fits(kind: Kind, link: Link, outputs: &Outputs) -> bool {
    let has_one_score = match outputs {
        Outputs::Real { .. } => return link == Link::Identity || (link == Link::Log && kind == Kind::Boosted),
        Outputs::Labels { .. } => true,
        Outputs::Classes { n_classes } => is_binary(n_classes),
    };
    match link {
        Link::Identity | Link::Log => false,
        Link::Margin => kind == Kind::Boosted,
        Link::Share => kind == Kind::Compressed,
        Link::Logistic => has_one_score,
        Link::OneAgainstRest => kind == Kind::Boosted && !has_one_score,
        Link::Softmax => !has_one_score,
    }
}

/// Checks that the scores of a model are finite for every sample.
pub(super) fn check_scores(model: &Additive<'_>) -> Result<()> {
    if model.has_finite_scores() { Ok(()) } else { Err(infinite_scores()) }
}

pub(super) fn infinite_scores() -> Error {
    Error::corrupt("the values of leaves add up to infinity")
}
