//! Models as text for programs that do not have this crate: a C99 source file, or a JSON object.
//!
//! ```
//! use ndarray::array;
//! use weald::export::{About, Exported};
//! use weald::{Control, Criterion, ForestConfig};
//!
//! let forest = ForestConfig::extra_trees(Criterion::Variance).fit((&array![[0.0f32], [1.0]], &array![[1.0], [2.0]]))?;
//! let mut text = Vec::new();
//! let about = About::new("Forest");
//! Exported::Trees(forest.additive()?, None).to_c("tags", &about, &mut text, &Control::default())?;
//! assert!(String::from_utf8_lossy(&text).contains("void tags_predict(const float *x, double *out);"));
//! # Ok::<(), weald::Error>(())
//! ```
//!
//! A model is a list of trees, or a single part without trees, each of which has the same lists of numbers. JSON has the
//! lists of a tree as members of an object. C has a table for each list, with those of all trees one after another. Text is
//! written as it is made, so that the memory of an export does not depend on the size of the model.
//!
//! | file | what |
//! |---|---|
//! | `text` | numbers as text, a writer |
//! | `c`, `json` | the formats |
//! | `trees`, `linear`, `centroids`, `label_trees` | the lists and rules of a kind of models |
//! | `c/*.c` | the functions of a file in C, whose names begin with `model_`: lines between `#ifdef MODEL_FLAG`, `#else` and `#endif` are written if the model has, or has not, this flag |
//! | `c/head.h`, `c/sample.h` | the beginning of a file; a model in place of that of an export, so that a compiler reads the other files |

mod c;
mod centroids;
mod json;
mod label_trees;
mod linear;
#[cfg(test)]
mod tests;
mod text;
mod trees;

use std::io;

use crate::centroid::CentroidForest;
use crate::control::Control;
use crate::data::Outputs;
use crate::error::Result;
use crate::label_tree::LabelTreeModel;
use crate::linear::LinearModel;
use crate::loss::Link;
use crate::model::Additive;
use c::C;
use json::Json;
use linear::Linear;
use text::Number;
use trees::Trees;

/// A model to export.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Exported<'a> {
    /// Trees whose values are added up, to what a linear model says if there is one.
    Trees(Additive<'a>, Option<(&'a LinearModel, Added)>),
    /// A linear model.
    Linear(&'a LinearModel),
    /// A centroid forest.
    Centroids(&'a CentroidForest),
    /// Label trees.
    LabelTrees(&'a LabelTreeModel),
}

/// What is added of a linear model to the sums over trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Added {
    /// Its scores.
    Scores,
    /// The logarithms of its probabilities, which are moved to at least [`Added::LEAST_PROBABILITY`] from 0 and 1.
    Log,
    /// Half the log-odds of these probabilities.
    HalfLogOdds,
}

impl Added {
    /// Probabilities whose logarithms are added are at least so far from 0 and 1.
    pub const LEAST_PROBABILITY: f64 = 1e-6;
}

/// What only the caller of an export knows.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct About<'a> {
    /// The name of the model.
    pub estimator: &'a str,
    /// The score above which a label, or the second of two classes, is predicted.
    pub threshold: f64,
    /// More members of the JSON object, as JSON without braces: names and classes.
    pub members: &'a str,
}

impl<'a> About<'a> {
    /// Returns what is known of a model with this name: a threshold of 0, and no more members.
    pub fn new(estimator: &'a str) -> Self {
        About { estimator, threshold: 0.0, members: "" }
    }
}

impl Exported<'_> {
    /// Writes a C99 source file. `name` is the prefix of all names in it, and must be an identifier.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::TooMany`] for more numbers of one sort than C counts in 32 bits,
    /// [`crate::ErrorKind::Invalid`] if the search in label trees may find more labels than have room on a stack,
    /// [`crate::ErrorKind::File`] if `out` fails, or [`crate::ErrorKind::Interrupted`].
    pub fn to_c(&self, name: &str, about: &About<'_>, out: &mut dyn io::Write, control: &Control) -> Result<()> {
        c::write(self, about, C::new(name, out, control))
    }

    /// Writes a JSON object.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::File`] if `out` fails, or [`crate::ErrorKind::Interrupted`].
    pub fn to_json(&self, about: &About<'_>, out: &mut dyn io::Write, control: &Control) -> Result<()> {
        json::write(self, about, Json::new(out, control))
    }

    fn kind(&self) -> Box<dyn Kind + '_> {
        match self {
            Exported::Trees(model, linear) => {
                Box::new(Trees { model, linear: linear.map(|(model, added)| Linear { model, added }) })
            }
            Exported::Linear(model) => Box::new(Linear { model, added: Added::Scores }),
            Exported::Centroids(model) => Box::new(*model),
            Exported::LabelTrees(model) => Box::new(*model),
        }
    }

    fn n_features(&self) -> usize {
        match self {
            Exported::Trees(model, _) => model.n_features,
            Exported::Linear(model) => model.n_features(),
            Exported::Centroids(model) => model.n_features(),
            Exported::LabelTrees(model) => model.n_features(),
        }
    }

    fn outputs(&self) -> &Outputs {
        match self {
            Exported::Trees(model, _) => model.outputs,
            Exported::Linear(model) => &model.outputs,
            Exported::Centroids(model) => &model.outputs,
            Exported::LabelTrees(model) => &model.outputs,
        }
    }

    fn n_scores(&self) -> usize {
        match self {
            Exported::Trees(model, _) => model.width,
            Exported::Linear(model) => model.n_columns(),
            Exported::Centroids(_) | Exported::LabelTrees(_) => self.outputs().width(),
        }
    }

    fn start(&self) -> &[f64] {
        match self {
            Exported::Trees(model, _) if model.start.iter().any(|&score| score != 0.0) => model.start,
            _ => &[],
        }
    }

    fn divisor(&self) -> f64 {
        match self {
            Exported::Trees(model, _) => model.divisor,
            Exported::Linear(_) => 1.0,
            Exported::Centroids(_) | Exported::LabelTrees(_) => self.kind().n_trees() as f64,
        }
    }

    fn link(&self) -> Link {
        match self {
            Exported::Trees(model, _) => model.link,
            Exported::Linear(model) => model.link(),
            Exported::Centroids(_) | Exported::LabelTrees(_) => Link::Identity,
        }
    }

    /// Returns whether a single score means the probabilities of two classes.
    fn is_of_two_classes(&self) -> bool {
        self.n_scores() == 1 && self.outputs().width() == 2
    }

    /// Returns the first score of each output of classes, and the number of scores; nothing without such scores.
    fn starts_of_outputs(&self) -> Result<Vec<usize>> {
        if self.is_of_two_classes() { Ok(Vec::new()) } else { self.outputs().class_starts() }
    }
}

/// What the formats write of a kind of models.
trait Kind {
    /// Returns the number of trees: 0 for a model that has none, whose lists are members of an object of the whole.
    fn n_trees(&self) -> usize;

    /// Returns the lists of a tree.
    fn lists(&self) -> Vec<List<'_>>;

    /// Writes the members of the JSON object that only this kind has.
    fn rules_to_json(&self, json: &mut Json<'_>) -> Result<()>;

    /// Writes the members of a tree that are no lists of numbers.
    fn rest_of_tree_to_json(&self, _tree: usize, _json: &mut Json<'_>) -> Result<()> {
        Ok(())
    }

    /// Says which flags, constants and files of functions C has for this kind.
    fn describe_in_c(&self, c: &mut C<'_>) -> Result<()>;

    /// Writes the tables of C.
    fn tables_to_c(&self, c: &mut C<'_>) -> Result<()>;
}

/// Is called with one number after another.
type Each<'e> = &'e mut dyn FnMut(Number) -> Result<()>;

/// Calls a function with one number after another.
type Items<'i> = &'i mut dyn FnMut(Each<'_>) -> Result<()>;

/// The same with the numbers of a tree.
type OfTree<'a> = Box<dyn Fn(usize, Each<'_>) -> Result<()> + 'a>;

/// A list of numbers of each tree.
struct List<'a> {
    name: &'static str,
    of: Of,
    items: OfTree<'a>,
}

/// What a list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// Numbers of this type in C.
    Type(&'static str),
    /// Offsets, which in C go on from tree to tree.
    Offsets,
    /// Numbers that only JSON has.
    Json,
}

const U32: Of = Of::Type("uint32_t");
const F32: Of = Of::Type("float");
const F64: Of = Of::Type("double");

impl<'a> List<'a> {
    fn new(name: &'static str, of: Of, items: impl Fn(usize, Each<'_>) -> Result<()> + 'a) -> Self {
        List { name, of, items: Box::new(items) }
    }

    /// A list whose numbers are in memory, of each tree.
    fn of_slice<T: Copy + Into<Number> + 'a>(
        name: &'static str,
        of: Of,
        slice: impl Fn(usize) -> &'a [T] + 'a,
    ) -> Self {
        List::new(name, of, move |tree, each| slice(tree).iter().try_for_each(|&item| each(item.into())))
    }
}
