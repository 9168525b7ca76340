//! The scores of all kinds of models: their meaning in the header, and the check that they are finite.

use std::borrow::Cow;

use super::header::{Field, Fields, encode_outputs};
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
    /// Returns the fields of the header, in alphabetical order.
    pub(super) fn encode(&self) -> impl Iterator<Item = (Cow<'static, str>, Field)> {
        let link = Field::Text(self.link.name().into());
        std::iter::once(("link".into(), link)).chain(encode_outputs(&self.outputs))
    }

    /// Reads this from the fields of the header, for a kind of model that can have these links.
    pub(super) fn decode(fields: &Fields, links: &[Link]) -> Result<Self> {
        let outputs = fields.outputs()?;
        let link = fields.text("link")?;
        let link = Link::ALL.into_iter().find(|known| known.name() == link);
        let link = link.ok_or_else(|| Error::corrupt("`link` is unknown"))?;
        if links.contains(&link) && fits(link, &outputs) {
            Ok(ScoreMeaning { outputs, link })
        } else {
            Err(Error::corrupt("the link does not fit y"))
        }
    }
}

/// Returns whether models with these outputs can have this link.
fn fits(link: Link, outputs: &Outputs) -> bool {
    let has_one_score = match outputs {
        Outputs::Real { .. } => return matches!(link, Link::Identity | Link::Log),
        Outputs::Labels { .. } => true,
        Outputs::Classes { n_classes } => is_binary(n_classes),
    };
    match link {
        Link::Identity | Link::Log => false,
        Link::Margin | Link::Share => true,
        Link::Logistic => has_one_score,
        Link::OneAgainstRest | Link::Softmax => !has_one_score,
    }
}

/// Checks that the scores of a model are finite for every sample.
pub(super) fn check_scores(model: &Additive<'_>) -> Result<()> {
    if model.has_finite_scores() { Ok(()) } else { Err(infinite_scores()) }
}

pub(super) fn infinite_scores() -> Error {
    Error::corrupt("the values of leaves add up to infinity")
}
