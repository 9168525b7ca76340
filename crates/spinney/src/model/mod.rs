//! The one form of all models: trees, what each adds to the scores of a sample, and what scores mean.
//!
//! ```text
//! score(x)      = (start + Σ_t term_t(leaf_t(x))) / divisor
//! prediction(x) = link(score(x))
//! ```
//!
//! leaf_t(x) are the numbers of the leaf that x reaches in tree t, and [`Term`] says to which scores they go. An
//! [`Additive`] borrows all this from a model, whose trees are not copied:
//!
//! | model | term of a tree | start | divisor | link |
//! |---|---|---|---|---|
//! | [`Forest::additive`](crate::Forest::additive) | a leaf's row | 0 | number of trees | identity: means, frequencies |
//! | [`Boosted::additive`](crate::Boosted::additive) | a leaf's row; its number to one score; its number times a direction | constants | 1 | of the loss |
//! | [`Compressed::additive`](crate::Compressed::additive) | a leaf's row of scores | 0 | number of trees | of the loss |
//!
//! Sums run in the order of the trees, so that scores are bit for bit the same for any number of threads, block of rows
//! and layout of X.
//!
//! ```
//! use ndarray::array;
//! use spinney::{Control, Criterion, ForestConfig, model::Term};
//!
//! let (x, y) = (array![[0.0f32], [1.0], [2.0]], array![[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]);
//! let config = ForestConfig::extra_trees(Criterion::Variance).n_trees(3);
//! let forest = config.fit((&x, &y), &Control::default())?;
//!
//! let model = forest.additive()?;
//! let leaves = forest.apply(&x, &Control::default())?;
//! let mut score = 0.0;
//! for (t, tree) in model.trees().iter().enumerate() {
//!     assert!(matches!(model.term(t), Term::Leaf));
//!     score += tree.value()?[[leaves[[0, t]] as usize, 1, 0]]; // of the first sample and the second output
//! }
//! assert_eq!(score / model.divisor(), 10.0);
//! # Ok::<(), spinney::Error>(())
//! ```
//!
//! | file | what |
//! |---|---|
//! | `predict` | scores, after all trees or stage by stage; predictions |
//! | `one_sample` | scores of one sample, without threads and allocations |
//! | `topk` | the best k columns of each sample |
//! | `at_least` | the columns of each sample that are large enough |
//! | `means` | both of these for means of leaves' rows, whoever finds the leaves |
//! | `touched` | sums of a sample where leaves touch few columns |
//! | `paths` | leaves that samples reach, nodes that they pass |
//! | `partial_dependence` | mean scores when some features are given |
//! | `shap` | Shapley values: how features move a score away from the mean |
//! | `importance` | which features reduced the impurity |
//! | `step_sizes` | factors of directions, in eight bytes or in one |
//! | `matrix` | results, row-major |
//!
//! Cost of a prediction: O(n · trees · depth) steps and the cells of the leaves that are reached; memory is that of the
//! result and of one scratch for each thread.

mod at_least;
mod importance;
mod matrix;
pub(crate) mod means;
mod one_sample;
mod partial_dependence;
mod paths;
mod predict;
mod shap;
pub(crate) mod step_sizes;
#[cfg(test)]
mod tests;
mod topk;
mod touched;

pub use at_least::SparseScores;
pub use importance::TreeWeighting;
pub(crate) use matrix::{into_array, try_matrix};
pub use paths::DecisionPath;
pub use predict::StagedScores;
pub(crate) use predict::TREES_AT_ONCE;
pub use step_sizes::StepDtype;
pub(crate) use topk::RankBy;
pub use topk::TopK;

use std::sync::Arc;

use crate::data::Outputs;
use crate::error::{Result, try_collected};
use crate::loss::Link;
use crate::tree::Tree;
use step_sizes::StepSizes;

/// What the leaf that a sample reaches in a tree adds to the sample's scores.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Term<'a> {
    /// The leaf holds a number for each score, and adds them.
    Leaf,
    /// The leaf holds one number, which is added to this score alone.
    Column(usize),
    /// The leaf holds one number, and adds it times a direction: a factor for each score.
    RankOne(Direction<'a>),
}

/// Factors of a leaf's number, one for each score.
#[derive(Clone, Copy, Debug)]
pub struct Direction<'a> {
    steps: &'a StepSizes,
    learning_rate: f64,
    stage: usize,
    width: usize,
}

impl<'a> Direction<'a> {
    /// The factors: learning rate times step size.
    pub fn factors(self) -> impl ExactSizeIterator<Item = f64> + Clone + 'a {
        let Direction { steps, learning_rate, stage, width } = self;
        steps.of_stage(stage, width).map(move |step| learning_rate * step)
    }
}

/// What all trees of a model add.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Terms<'a> {
    /// See [`Term::Leaf`].
    Leaves,
    /// See [`Term::Column`]: one tree for each score, again and again.
    Columns,
    /// See [`Term::RankOne`].
    RankOne {
        steps: &'a StepSizes,
        learning_rate: f64,
        /// That of the first tree.
        first_stage: usize,
    },
}

/// A model as trees, what each adds to the scores of a sample, and what scores mean. See the [module](self).
#[derive(Clone, Debug)]
pub struct Additive<'a> {
    pub(crate) n_features: usize,
    pub(crate) outputs: &'a Outputs,
    /// Number of scores of a sample.
    pub(crate) width: usize,
    pub(crate) trees: Vec<&'a Tree>,
    pub(crate) terms: Terms<'a>,
    /// Empty: zeros.
    pub(crate) start: &'a [f64],
    pub(crate) divisor: f64,
    pub(crate) link: Link,
}

impl<'a> Additive<'a> {
    /// Trees whose leaves' rows are averaged.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub(crate) fn mean(trees: &'a [Arc<Tree>], n_features: usize, outputs: &'a Outputs) -> Result<Self> {
        let borrowed = borrowed(trees)?;
        let divisor = borrowed.len() as f64;
        let (width, terms, link) = (outputs.width(), Terms::Leaves, Link::Identity);
        Ok(Additive { n_features, outputs, width, trees: borrowed, terms, start: &[], divisor, link })
    }

    /// Number of features that samples must have.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Meaning of the columns of predictions.
    pub fn outputs(&self) -> &'a Outputs {
        self.outputs
    }

    /// Number of scores of a sample.
    pub fn n_scores(&self) -> usize {
        self.width
    }

    /// All trees, in the order in which they are added.
    pub fn trees(&self) -> &[&'a Tree] {
        &self.trees
    }

    /// What tree `t` adds.
    ///
    /// # Panics
    /// When there is no such tree.
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

    /// Terms of all trees, in their order.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = Term<'a>> + '_ {
        (0..self.trees.len()).map(|t| self.term(t))
    }

    /// What the sums begin with, for each score; empty where that is zero.
    pub fn start(&self) -> &'a [f64] {
        self.start
    }

    /// What sums are divided by.
    pub fn divisor(&self) -> f64 {
        self.divisor
    }

    /// What scores mean.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Trees of one stage.
    fn trees_per_stage(&self) -> usize {
        match self.terms {
            Terms::Leaves | Terms::RankOne { .. } => 1,
            Terms::Columns => self.width,
        }
    }

    /// Number of columns of predictions.
    fn n_columns(&self) -> usize {
        match self.link {
            Link::Margin => self.width,
            Link::Identity | Link::Log | Link::Share | Link::Logistic | Link::OneAgainstRest | Link::Softmax => {
                self.outputs.width()
            }
        }
    }
}

/// Trees as a model reads them.
pub(crate) fn borrowed(trees: &[Arc<Tree>]) -> Result<Vec<&Tree>> {
    try_collected("the trees of a model", trees.iter().map(|tree| &**tree))
}
