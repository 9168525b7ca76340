//! What holds for the scores of every model: what they mean, in the header, and the proof that they are finite.

use serde_json::Value;

use super::Kind;
use super::header::{Sizes, decode_outputs, encode_outputs};
use super::names::{LINKS, name_of, value_of};
use super::validate::{check_sum, largest_values};
use crate::data::Outputs;
use crate::data::targets::is_binary;
use crate::error::{Error, Result};
use crate::loss::Link;
use crate::model::{Additive, Term};

/// What the scores of a boosted or compressed model are of, and what they mean.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScoreMeaning {
    pub(super) outputs: Outputs,
    pub(super) link: Link,
}

impl ScoreMeaning {
    /// The entries of a JSON object, in alphabetical order.
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

/// Whether models of this kind are made with such a link of such outputs.
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

/// Proves that the scores of a model are finite, whatever the row: those of the leaves that it reaches are no larger than
/// the largest of each tree. Of one score only some trees may count; all together are more.
pub(super) fn check_scores(model: &Additive<'_>) -> Result<()> {
    let factors = model.terms().map(|term| match term {
        Term::Leaf | Term::Column(_) => 1.0,
        Term::RankOne(direction) => largest(direction.factors()),
    });
    let of_trees = largest_values(model.trees().iter().map(|tree| tree.leaves()))
        .zip(factors)
        .map(|(value, factor)| value * factor);
    check_sum(std::iter::once(largest(model.start().iter().copied())).chain(of_trees))
}

/// The largest magnitude.
fn largest(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |most, number| f64::max(most, number.abs()))
}
