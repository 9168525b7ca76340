//! The names of enum values in files. They never change. The names of criteria are defined with the criteria.

use crate::error::{Error, Result};
use crate::loss::Link;

pub(super) const LINKS: [(Link, &str); 7] = [
    (Link::Identity, "identity"),
    (Link::Log, "log"),
    (Link::Margin, "margin"),
    (Link::Share, "share"),
    (Link::Logistic, "logistic"),
    (Link::OneAgainstRest, "one_against_rest"),
    (Link::Softmax, "softmax"),
];

pub(super) fn name_of<T: PartialEq>(names: &[(T, &'static str)], value: &T) -> &'static str {
    names.iter().find(|(v, _)| v == value).expect("all are listed").1
}

pub(super) fn value_of<T: Copy>(names: &[(T, &str)], key: &str, name: &str) -> Result<T> {
    let found = names.iter().find(|(_, n)| *n == name);
    found.map(|(value, _)| *value).ok_or_else(|| Error::corrupt(format!("`{key}` is unknown")))
}
