//! JSON: an object with the rules of the model, and a list of trees.

use std::fmt;
use std::io;

use super::text::{Number, Text};
use super::{About, Exported, Items, Kind, List};
use crate::control::Control;
use crate::data::Outputs;
use crate::error::Result;

/// A JSON text whose objects get one member after another.
pub(super) struct Json<'w> {
    text: Text<'w>,
    /// Whether the object or list that is open has nothing yet.
    is_empty: bool,
}

pub(super) fn write(model: &Exported<'_>, about: &About<'_>, mut json: Json<'_>) -> Result<()> {
    let kind = model.kind();
    json.open('{')?;
    json.string("format", "weald.export")?;
    json.number("version", 1i64)?;
    json.string("estimator", about.estimator)?;
    if !about.members.is_empty() {
        json.next(format_args!("{}", about.members))?;
    }
    let name = match model.outputs() {
        Outputs::Real { .. } => "numbers",
        Outputs::Classes { .. } => "classes",
        Outputs::Labels { .. } => "labels",
    };
    json.string("kind", name)?;
    json.number("n_features", model.n_features())?;
    json.number("n_outputs", model.outputs().n_outputs())?;
    json.number("n_scores", model.n_scores())?;
    json.numbers("start", &mut |each| model.start().iter().try_for_each(|&score| each(score.into())))?;
    json.number("divisor", model.divisor())?;
    json.string("link", model.link().name())?;
    json.number("threshold", about.threshold)?;
    kind.rules_to_json(&mut json)?;
    json.key("trees")?;
    json.open('[')?;
    for tree in 0..kind.n_trees() {
        json.next(format_args!("\n"))?;
        json.open('{')?;
        json.lists(&*kind, tree)?;
        kind.rest_of_tree_to_json(tree, &mut json)?;
        json.close('}')?;
    }
    json.text.put(format_args!("\n"))?;
    json.close(']')?;
    json.close('}')?;
    json.text.put(format_args!("\n"))?;
    json.text.flush()
}

impl<'w> Json<'w> {
    pub(super) fn new(out: &'w mut dyn io::Write, control: &'w Control) -> Self {
        Json { text: Text::new(out, control), is_empty: true }
    }

    fn next(&mut self, text: fmt::Arguments<'_>) -> Result<()> {
        let comma = if std::mem::replace(&mut self.is_empty, false) { "" } else { "," };
        self.text.put(format_args!("{comma}{text}"))
    }

    /// Begins a member of the object that is open.
    pub(super) fn key(&mut self, name: &str) -> Result<()> {
        self.next(format_args!("\"{name}\":"))
    }

    pub(super) fn open(&mut self, bracket: char) -> Result<()> {
        self.is_empty = true;
        self.text.put(format_args!("{bracket}"))
    }

    pub(super) fn close(&mut self, bracket: char) -> Result<()> {
        self.is_empty = false;
        self.text.put(format_args!("{bracket}"))
    }

    /// Writes a member of plain text.
    pub(super) fn string(&mut self, name: &str, text: &str) -> Result<()> {
        debug_assert!(text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'.'));
        self.key(name)?;
        self.text.put(format_args!("\"{text}\""))
    }

    pub(super) fn null(&mut self, name: &str) -> Result<()> {
        self.next(format_args!("\"{name}\":null"))
    }

    pub(super) fn boolean(&mut self, name: &str, is: bool) -> Result<()> {
        self.next(format_args!("\"{name}\":{is}"))
    }

    pub(super) fn number(&mut self, name: &str, number: impl Into<Number>) -> Result<()> {
        self.key(name)?;
        self.text.decimal(number.into())
    }

    /// Writes a list of the numbers with which `items` calls a function.
    pub(super) fn numbers(&mut self, name: &str, items: Items<'_>) -> Result<()> {
        self.key(name)?;
        self.open('[')?;
        items(&mut |number| {
            self.next(format_args!(""))?;
            self.text.decimal(number)
        })?;
        self.close(']')
    }

    /// Writes the lists of a tree.
    pub(super) fn lists(&mut self, kind: &dyn Kind, tree: usize) -> Result<()> {
        kind.lists().iter().try_for_each(|List { name, items, .. }| self.numbers(name, &mut |each| items(tree, each)))
    }

    /// Writes a factor of each feature, or null.
    pub(super) fn idf(&mut self, idf: Option<&[f32]>) -> Result<()> {
        let Some(idf) = idf else { return self.null("idf") };
        self.numbers("idf", &mut |each| idf.iter().try_for_each(|&factor| each(factor.into())))
    }
}
