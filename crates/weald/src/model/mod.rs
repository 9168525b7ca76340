//! The common form of all models: a list of trees, what each tree adds to the scores of a sample, and what the scores
//! mean.
//!
//! ```text
//! score(x)      = (start + Σ_t term_t(leaf_t(x))) / divisor
//! prediction(x) = link(score(x))
//! ```
//!
//! leaf_t(x) is the content of the leaf that x reaches in tree t, and [`Term`] says to which scores it is added. An
//! [`Additive`] borrows all this from a model; the trees are not copied:
//!
//! | model | term of a tree | start | divisor | link |
//! |---|---|---|---|---|
//! | [`Forest::additive`](crate::Forest::additive) | the values of a leaf, one for each score | 0 | number of trees | identity: means, frequencies |
//! | [`Boosted::additive`](crate::Boosted::additive) | the values of a leaf, one for each score; its value, added to one score; or its value times a direction | constants | 1 | of the loss |
//! | [`Compressed::additive`](crate::Compressed::additive) | the scores of a leaf | 0 | number of trees | of the loss |
//!
//! Sums are taken in the order of the trees, so that scores are bit for bit the same for any number of threads, any
//! block of samples and any layout of X.
//!
//! ```
//! use ndarray::array;
//! use weald::{Criterion, ForestConfig, model::Term};
//!
//! let (x, y) = (array![[0.0f32], [1.0], [2.0]], array![[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]);
//! let config = ForestConfig::extra_trees(Criterion::Variance).n_trees(3);
//! let forest = config.fit((&x, &y))?;
//!
//! let model = forest.additive()?;
//! let leaves = forest.apply(&x)?;
//! let mut score = 0.0;
//! for (t, tree) in model.trees().iter().enumerate() {
//!     assert!(matches!(model.term(t), Term::Leaf));
//!     score += tree.value()?[[leaves[[0, t]] as usize, 1, 0]]; // of the first sample and the second output
//! }
//! assert_eq!(score / model.divisor(), 10.0);
//! # Ok::<(), weald::Error>(())
//! ```
//!
//! | file | what |
//! |---|---|
//! | `predict` | scores, after all trees or stage by stage; predictions |
//! | `one_sample` | one sample after another |
//! | `ranking` | the k best labels of each sample by scores in any layout: the order of labels for all that rank them |
//! | `true_ranks` | how far down a ranking the true labels of each sample are |
//! | `topk` | the k columns with the largest predictions for each sample |
//! | `at_least` | the columns of each sample whose prediction is at least a given floor |
//! | `means` | both of these for means of the values of leaves, independently of how the leaves are found |
//! | `touched` | sums for one sample where its leaves store few columns |
//! | `paths` | the leaves that samples reach, and the nodes on the way |
//! | `partial_dependence` | mean scores when the values of some features are fixed |
//! | `shap` | Shapley values: how features move a score away from the mean |
//! | `bounds` | whether scores are finite for every sample |
//! | `importance` | how much each feature reduced the impurity |
//! | `step_sizes` | the factors of directions |
//! | `matrix` | allocation of row-major results |
//! | `methods` | methods that several kinds of models have |
//!
//! A prediction costs O(n · trees · depth) steps, plus one step for each stored value of the leaves that are reached.
//! Memory is that of the result and of one scratch area for each thread.

mod at_least;
pub(crate) mod bounds;
mod importance;
mod matrix;
pub(crate) mod means;
mod methods;
mod one_sample;
mod partial_dependence;
mod paths;
mod predict;
mod ranking;
mod shap;
pub(crate) mod step_sizes;
#[cfg(test)]
mod tests;
mod topk;
pub(crate) mod touched;
mod true_ranks;

pub use at_least::SparseScores;
pub use importance::TreeWeighting;
pub(crate) use matrix::into_array;
pub(crate) use methods::best_columns;
pub(crate) use one_sample::{OfTrees, OneByOne, Shape, Summed, Wanted};
pub use paths::DecisionPath;
pub use predict::StagedScores;
pub use ranking::{LabelScores, StoredScores, rank_rows};
pub(crate) use ranking::{Places, Ranking};
pub use topk::TopK;
pub(crate) use topk::{RankBy, check_topk};
pub use true_ranks::{coverage, label_precision};

use std::sync::Arc;

use crate::data::Outputs;
use crate::error::{Purpose, Result};
use crate::loss::Link;
use crate::tree::Tree;
use step_sizes::StepSizes;

/// What the leaf that a sample reaches in a tree adds to the sample's scores.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Term<'a> {
    /// The leaf holds one value for each score, and these are added.
    Leaf,
    /// The leaf holds one value, which is added to the score of this index alone.
    Column(usize),
    /// The leaf holds one value, which is multiplied by a direction (one factor for each score) and then added.
    RankOne(Direction<'a>),
}

/// The factors, one for each score, by which the value of a leaf is multiplied.
#[derive(Clone, Copy, Debug)]
pub struct Direction<'a> {
    steps: &'a StepSizes,
    learning_rate: f64,
    stage: usize,
    width: usize,
}

impl<'a> Direction<'a> {
    /// The factors, one for each score: the learning rate times the step size.
    pub fn factors(self) -> impl ExactSizeIterator<Item = f64> + Clone + 'a {
        let Direction { steps, learning_rate, stage, width } = self;
        steps.of_stage(stage, width).map(move |step| learning_rate * step)
    }
}

/// What the trees of a model add to the scores; the same kind for all trees.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Terms<'a> {
    /// See [`Term::Leaf`].
    Leaves,
    /// See [`Term::Column`]. Tree t belongs to score t modulo the number of scores.
    Columns,
    /// See [`Term::RankOne`].
    RankOne {
        steps: &'a StepSizes,
        learning_rate: f64,
        /// The stage of the first tree.
        first_stage: usize,
    },
}

/// A model as a list of trees, what each tree adds to the scores of a sample, and what the scores mean. See the
/// [module](self).
#[derive(Clone, Debug)]
pub struct Additive<'a> {
    pub(crate) n_features: usize,
    pub(crate) outputs: &'a Outputs,
    /// Number of scores of a sample.
    pub(crate) width: usize,
    pub(crate) trees: Vec<&'a Tree>,
    pub(crate) terms: Terms<'a>,
    /// The scores before the first tree; empty if all of them are zero.
    pub(crate) start: &'a [f64],
    pub(crate) divisor: f64,
    pub(crate) link: Link,
}

impl<'a> Additive<'a> {
    /// The model whose scores are the means, over trees, of the values of the leaves.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`] when there is not enough memory.
    pub(crate) fn mean(trees: &'a [Arc<Tree>], n_features: usize, outputs: &'a Outputs) -> Result<Self> {
        let borrowed = borrowed(trees)?;
        let divisor = borrowed.len() as f64;
        let (width, terms, link) = (outputs.width(), Terms::Leaves, Link::Identity);
        Ok(Additive { n_features, outputs, width, trees: borrowed, terms, start: &[], divisor, link })
    }

    /// Returns the number of features that samples must have.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Returns the meaning of the columns of predictions.
    pub fn outputs(&self) -> &'a Outputs {
        self.outputs
    }

    /// Returns the number of scores of a sample.
    pub fn n_scores(&self) -> usize {
        self.width
    }

    /// Returns all trees, in the order in which they are added.
    pub fn trees(&self) -> &[&'a Tree] {
        &self.trees
    }

    /// Returns what tree `t` adds to the scores.
    ///
    /// # Panics
    /// Panics when `t` is not below the number of trees.
    pub fn term(&self, t: usize) -> Term<'a> {
        assert!(t < self.trees.len(), "tree {t} of {}", self.trees.len());
        match self.terms {
            Terms::Leaves => Term::Leaf,
            Terms::Columns => Term::Column(t % self.width),
            Terms::RankOne { steps, learning_rate, first_stage } => {
                Term::RankOne(Direction { steps, learning_rate, stage: first_stage + t, width: self.width })
            }
        }
    }

    /// Returns the terms of all trees, in the order of the trees.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = Term<'a>> + '_ {
        (0..self.trees.len()).map(|t| self.term(t))
    }

    /// Returns the initial value of the sum of each score. The slice is empty if all of them are zero.
    pub fn start(&self) -> &'a [f64] {
        self.start
    }

    /// Returns the number by which the sums are divided.
    pub fn divisor(&self) -> f64 {
        self.divisor
    }

    /// Returns the link, which turns scores into predictions.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Returns the number of trees of one stage.
    fn trees_per_stage(&self) -> usize {
        match self.terms {
            Terms::Leaves | Terms::RankOne { .. } => 1,
            Terms::Columns => self.width,
        }
    }

    /// Returns the number of columns of predictions.
    fn n_columns(&self) -> usize {
        match self.link {
            Link::Margin => self.width,
            Link::Identity | Link::Log | Link::Share | Link::Logistic | Link::OneAgainstRest | Link::Softmax => {
                self.outputs.width()
            }
        }
    }
}

/// Borrows the trees, as a model reads them.
pub(crate) fn borrowed(trees: &[Arc<Tree>]) -> Result<Vec<&Tree>> {
    Purpose("the trees of a model").collected(trees.iter().map(|tree| &**tree))
}
