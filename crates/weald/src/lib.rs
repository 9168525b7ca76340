//! Trees and tree ensembles for data with many features and many outputs, for example a hundred thousand sparse
//! features and a thousand labels, dense or sparse. The engine is exact and reproducible, and does not need Python.
//!
//! ```
//! use ndarray::array;
//! use weald::{Control, Criterion, ForestConfig, LabelView, Matrix};
//!
//! // Four documents over five words (CSR), and their tags out of three (CSR without values).
//! let x = Matrix::csr(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
//! let y = LabelView::try_new(vec![0, 2, 3, 4, 5], vec![0, 1, 0, 2, 2], 3)?;
//! let config = ForestConfig::extra_trees(Criterion::Gini).n_trees(20).seed(7);
//!
//! let forest = config.fit((x, y))?;
//!
//! let question = array![[1.0f32, 0.0, 0.0, 0.0, 0.0]];
//! let best = forest.predict_topk(&question, 1)?;
//! assert_eq!(best.indices[[0, 0]], 0);
//! assert!(best.scores[[0, 0]] > 0.9);
//!
//! // A control sets the threads. Another thread may ask it how far the work is, and stop it.
//! let control = Control::with_threads(2);
//! assert_eq!(forest.predict((&question, &control))?, forest.predict(&question)?);
//! # Ok::<(), weald::Error>(())
//! ```
//!
//! All fits and predictions take a control in the same way: `(&x, &control)` or `(&x, &y, &control)`, or
//! [`Dataset::control`].
//!
//! # Map
//!
//! | module | what it contains |
//! |---|---|
//! | `elementary` | exponentials, logarithms and other functions with the same bits on every machine |
//! | `rng`, `pool`, `rounds` | random numbers as a function of keys; threads; the loop of learners that grow in rounds |
//! | `exact` | sums that do not depend on the order of addition: powers of two, grids, means; the reduction over several workers |
//! | [`data`] | the inputs, borrowed and validated on construction: a [`Dataset`] of X in any layout, y of any kind, and weights as exact integers; binned X |
//! | [`folds`] | which samples a fit does not see, wherever one holds some out |
//! | `criterion` | the impurity of the two sides of a cut, from exact sums, and the table of criteria. Reads y, never X |
//! | [`label_files`] | reading and writing X and labels in the text formats of multi-label data sets |
//! | [`loss`] | the loss functions: one file for each loss, with everything that is specific to it |
//! | `partition` | which samples a node contains, and their order along a feature; the [`Decision`] of a node, the only comparison with a threshold. Reads X, never y |
//! | `split` | the search for the best split of a node, over samples or histograms, and the creation of its children; `dispatch` maps runtime parameters to compiled types |
//! | [`projection`] | random combinations of outputs on which splits are searched in place of y |
//! | [`tree`] | the growth loop and its frontier; the fitted tree; leaves, traversal, importances, pruning, rules |
//! | [`model`] | the common form of all additive models: trees, what each adds to the scores, the meaning of scores; predictions, top-k outputs, importances |
//! | [`forest`] | the samples of each tree, trees in parallel, means over trees, out-of-bag estimates |
//! | [`plan`] | what boosting does where nothing is given, decided once |
//! | [`boost`] | gradient boosting: stages of trees, steps, and the scores that they add up to |
//! | [`centroid`] | forests whose nodes cluster samples by y and send them to the nearest centroid in X |
//! | [`linear`] | linear models of many labels, fitted sixteen labels at a time |
//! | [`label_tree`] | linear models of very many labels, in trees of labels |
//! | [`compress`] | sparse linear models over the nodes of a forest, and the smaller forests made from them |
//! | [`export`] | models as C or JSON, for programs without this crate |
//! | [`memory`] | the memory of a fit, estimated from the shapes of its data before it starts |
//! | [`model_file`] | reading and writing models as bytes and files; every tree is validated before use |
//! | [`Scorer`] | one sample after another, by a model of any kind |
//!
//! The table is ordered from the lowest layer to the highest. A module imports only from rows above its own;
//! `tests/architecture.rs` lists the layers and checks the sources.
//!
//! # Glossary
//!
//! The engine uses scikit-learn's words: *sample*, *feature*, *target*, *label*, *weight*, *node*, *leaf*, *split*,
//! *threshold*, *impurity*, *stage*, *learning rate*. The following words have a specific meaning here:
//!
//! | word | meaning |
//! |---|---|
//! | output | a column of y |
//! | numerical outputs | the targets of a regression, as opposed to classes and labels |
//! | column of predictions | a numerical output, a class of an output, or a label |
//! | score | the sum of the trees for a column of predictions, before the link is applied; called margin in other libraries |
//! | link | the function from the scores of a sample to its predictions: numbers or probabilities |
//! | step | the factor of a weak model in a stage of boosting, one for each score |
//! | cut | a place between two neighbouring values of a feature in a node; a candidate for a split |
//! | decision | the test of a node: which values or categories go left, and to which side missing values (NaN) go |
//! | category | a value of an unordered feature, as a code that starts at 0; the test of a node *lists* the categories that go left |
//! | bin, code | an interval of values of a feature; the number of a bin |
//! | slot | a column of predictions that is non-zero in the y of a sample: its class of an output, or one of its labels |
//! | unit | the power of two of which all weights of a fit are integer multiples |
//! | grid, spacing | the multiples of a power of two, the spacing, to which floats are rounded so that their sums are exact |
//! | fixed point | a number as an integer: multiplied by a power of two, with the fraction dropped or rounded |
//! | worker | one of the processes that each have some of the samples of a fit; most fits have one |
//! | cell of X | in binned sparse X, a stored value other than zero |
//! | cell of y | the value of one output for one sample; a mask marks cells as unknown |
//! | frame | the centre and the grid of the targets, shared by a node and its descendants |
//! | lottery | the order in which the features of a node are drawn |
//! | moved, rest | the samples on the two sides of a cut, while a scan moves them from one side to the other |
//! | urn | the samples that the bootstrap draws from |
//! | indicator | in compression, the variable that is 1 for samples that pass through a node |
//!
//! # How a forest is fitted
//!
//! 1. [`ForestConfig::fit`] takes a [`Dataset`], validates parameters and data, and converts X to the layout that
//!    growth needs: columns, and for sparse X also rows. Columns are sorted once if nodes draw most of the features.
//! 2. Each tree has its own random key, which is derived from the seed and the index of the tree. The key determines
//!    the samples of the tree and, together with the path from the root, the features and random thresholds of every
//!    node. A tree therefore does not depend on threads or on other trees. With an [output projection](projection), the
//!    key also determines the matrix that projects y for this tree, and splits are searched on the projected outputs.
//! 3. The growth loop takes a node from the frontier, partitions its samples, and searches the best split of both
//!    children. A search is compiled for a pair of a partitioner and a criterion: the partitioner enumerates values of
//!    X, and the criterion moves samples from one side to the other. The result is a pair of neighbouring values, of
//!    codes of bins, or a set of categories, from which growth makes the [`Decision`] of the node.
//! 4. When the structure is complete, the values of leaves are computed from y itself in one pass over the samples.
//!    They are stored as a sparse table if that is smaller.
//!
//! # Why the layout of X does not change results
//!
//! Sums of weights, class counts and rounded targets are exact integers (see `criterion`), so the order of addition
//! does not change them. Zeros are never visited: a scan moves positive values in decreasing order and negative ones in
//! increasing order, whatever the layout. Ties are resolved in favour of the feature drawn first, then of the lowest
//! threshold. Hence dense, CSR and CSC input, and any number of threads, give the same model, byte for byte. A sample
//! of weight zero has no effect. A sample of weight two is equivalent to two samples, except for parameters that count
//! samples, such as [`TreeConfig::min_samples_leaf`], for learners that draw samples at random, and for weights that
//! have too many bits and must be rounded.
//!
//! # Cargo features
//!
//! `model-files` (on by default) adds [`model_file`], and methods such as [`Forest::save`] and [`Forest::from_bytes`].
//! If it is disabled, the crate does not depend on any parser.
//!
//! `sprs` converts matrices of the crate `sprs`, by `Matrix::try_from` for X and `LabelView::try_from` for labels.
//!
//! # Errors and limits
//!
//! Every fallible function returns this crate's [`Error`]. Its [`ErrorKind`] contains the name of the argument and the
//! values in question. Samples, features, slots and nodes have 32-bit indices. The crate contains no `unsafe` code.

// What callers may build or match has room for more.
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]
// Without model files and the binding, some items that only they read are unused.
#![cfg_attr(not(all(feature = "model-files", feature = "binding")), allow(dead_code))]
// Tests compare with the functions of the standard library.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(feature = "bench-internals")]
#[doc(hidden)]
#[allow(clippy::exhaustive_enums, clippy::exhaustive_structs, reason = "nobody depends on it")]
pub mod bench;

#[cfg(feature = "binding")]
#[doc(hidden)]
pub mod binding;
pub mod boost;
pub mod centroid;
mod cholesky;
pub mod compress;
mod control;
mod criterion;
pub mod data;
mod elementary;
mod error;
mod exact;
pub mod export;
pub mod folds;
pub mod forest;
pub mod label_files;
pub mod label_tree;
pub mod linear;
#[allow(clippy::exhaustive_structs, reason = "losses have one parameter or none")]
pub mod loss;
pub mod memory;
pub mod model;
#[cfg(feature = "model-files")]
pub mod model_file;
mod partition;
pub mod plan;
mod pool;
pub mod projection;
mod reuse;
mod rng;
mod rounds;
mod scorer;
mod setters;
mod split;
#[cfg(test)]
pub(crate) mod testing;
pub mod tree;
mod vectorised;

/// The example of the README is compiled and run as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

pub use boost::{
    AutoBoost, BoostConfig, BoostFit, Boosted, LeafEstimation, OutputStrategy, Search, SearchObserver, StageObserver,
    StageReport, StageSearch, ValidationTargets, WeakFold, WeakLearner, WeakPredictions,
};
pub use centroid::{
    CentroidForest, CentroidForestConfig, CentroidPrecision, CentroidTree, Clustering, DirectionScope, Refinement,
    Routing,
};
pub use compress::{CompressConfig, CompressLoss, CompressMethod, Compressed, CompressionPath, CrossValidation};
pub use control::Control;
pub use criterion::Criterion;
pub use data::{
    Category, CellWeights, ClassWeight, Dataset, FeatureKind, LabelView, Matrix, OutputScaling, Query, RowWeights,
    Sample, Schema, SparseTargets, SparseView, Targets, targets::Outputs,
};
pub use error::{Error, ErrorKind, Result};
pub use exact::exact_sums;
pub use exact::reduce::{AllReduce, ReduceBuffer, ReduceOp};
pub use forest::{Forest, ForestConfig, Oob, Sampling, SparseOob};
pub use label_tree::{LabelTree, LabelTreeConfig, LabelTreeModel};
pub use linear::{Calibration, Candidate, Choice, Features, FoldModels, Grid, LinearConfig, LinearLoss, LinearModel};
pub use loss::{Bounds, Domain, LineProblem, Link, Loss, LossKind, LossParameter, LossRow, LossTargets};
pub use memory::{FitShapes, LayoutOfX, MemoryTerm, reserve};
pub use model::{
    Additive, DecisionPath, Direction, LabelScores, SparseScores, StagedScores, StoredScores, Term, TopK, TreeWeighting,
};
#[cfg(feature = "model-files")]
pub use model_file::{Model, ModelFile};
pub use ndarray;
pub use partition::decision::{Decision, Side, Test};
pub use projection::{NProjections, OutputProjection, Projection, ProjectionMatrix, ProjectionScope, Sparsity};
pub use scorer::Scorer;
pub use split::Splitter;
pub use tree::{LeafTable, LeafValues, MaxFeatures, Node, Precision, PruningPath, RuleStyle, Tree, TreeConfig};
