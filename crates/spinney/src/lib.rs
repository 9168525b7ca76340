//! Trees and tree ensembles for data that is wide on both sides: a hundred thousand sparse features, a thousand
//! outputs, dense or sparse, in one engine that is exact, reproducible and stands without Python.
//!
//! ```
//! use ndarray::array;
//! use spinney::{Control, Criterion, ForestConfig, LabelView, Matrix};
//!
//! // Four documents over five words (CSR), and their tags out of three (CSR without values).
//! let x = Matrix::csr(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
//! let y = LabelView::try_new(vec![0, 2, 3, 4, 5], vec![0, 1, 0, 2, 2], 3)?;
//! let config = ForestConfig::extra_trees(Criterion::Gini).n_trees(20).seed(7);
//!
//! let control = Control::with_threads(2); // another thread may call control.clone().stop()
//! let forest = config.fit((x, y), &control)?;
//!
//! let question = array![[1.0f32, 0.0, 0.0, 0.0, 0.0]];
//! let best = forest.predict_topk(&question, 1, &control)?;
//! assert_eq!(best.indices[[0, 0]], 0);
//! assert!(best.scores[[0, 0]] > 0.9);
//! # Ok::<(), spinney::Error>(())
//! ```
//!
//! # Map
//!
//! | module | what |
//! |---|---|
//! | `rng`, `pool`, `rounds` | randomness as a function of keys; threads; the loop of learners that grow in rounds |
//! | `exact` | sums that do not show the order of addition: powers of two, grids, means; where rows of several workers would be added |
//! | [`data`] | what enters, borrowed and valid by construction: a [`Dataset`] of X in any layout, y of any kind, weights as exact integers; X in bins |
//! | `criterion` | impurity of the two sides of a cut, from exact sums, and the table of criteria. Sees y, never x |
//! | [`label_files`] | X and labels from the text formats of label data, and back |
//! | [`loss`] | what is minimised: one file a loss, with all that follows from it |
//! | `partition` | who is in a node, and in what order along a feature; the [`Decision`] of a node, the one comparison with a threshold. Sees x, never y |
//! | `split` | the search of one node: the scan of cuts, of samples or of histograms, and the expansion to its children; `dispatch` joins runtime tags and types |
//! | [`projection`] | random combinations of outputs that splits are searched on in place of y |
//! | [`tree`] | the growth loop and its frontier; the finished tree; leaves, walking, importances, pruning, rules |
//! | [`model`] | the one form of all models: trees, what each adds to the scores, what scores mean; predictions, best columns, importances |
//! | [`forest`] | rows of each tree, trees in parallel, means over trees, out-of-bag |
//! | [`boost`] | gradient boosting: stages of trees, steps, the scores they add up to |
//! | [`centroid`] | forests whose nodes cluster samples by y and send them to the nearest centroid in X |
//! | [`compress`] | sparse linear models over the nodes of a forest, and smaller forests of them |
//! | [`model_file`] | bytes and files, in and out; every tree is proven before use |
//!
//! From the ground up: imports go to rows above, never below: `tests/architecture.rs` has the floors and reads the sources.
//!
//! # Glossary
//!
//! scikit-learn's words: *sample*, *feature*, *target*, *label*, *weight*, *node*, *leaf*, *split*, *threshold*, *impurity*,
//! *stage*, *learning rate*. Besides:
//!
//! | word | meaning |
//! |---|---|
//! | output | a column of y |
//! | score | what trees add up to for a column, before the link; a margin in other libraries |
//! | link | what a row of scores means: numbers, probabilities |
//! | step | what multiplies a weak model in a stage of boosting, one for each score |
//! | cut | a place between two neighbouring values of a feature in a node; a split is a cut of a feature |
//! | decision | the test of a node: which values or categories go left, and to which side missing ones (NaN) go |
//! | category | a value without an order, as its code from 0; a test of categories *lists* those that go left |
//! | bin, code | a range of values of a feature; the number of a bin |
//! | slot | a column of predictions of classes or labels that a sample occupies with weight |
//! | unit | the power of two of which all weights of a fit are whole multiples |
//! | grid, spacing | the multiples of a power of two, the spacing, that floats are rounded to so that their sums are exact |
//! | fixed point | numbers as whole numbers: times a power of two, without their fractions |
//! | worker | one of those that each have some of the rows of a fit; mostly there is one |
//! | cell | a value other than zero that a column of sparse X stores, in bins |
//! | frame | the centre and the grid of targets that a node and its descendants share |
//! | lottery | the order in which the features of a node count as drawn |
//! | moved, rest | the samples on the two sides of a cut while a scan moves them from one to the other |
//! | urn | the samples that bootstrap draws from |
//! | indicator | of compression: whether a sample passes a node |
//!
//! # One fit
//!
//! 1. [`ForestConfig::fit`] takes a [`Dataset`], checks parameters and data, and brings X into the form that growth wants:
//!    columns, and for sparse X the rows as well; sorted once where nodes draw most features.
//! 2. Each tree has a key of its own, made from the seed and its index. The key draws the tree's rows and, with the path
//!    from the root, every node's features and thresholds. So a tree does not depend on threads or on other trees.
//!    With an [output projection](projection) it also draws the matrix by which the tree's own rows of y are projected, and
//!    the search below reads those.
//! 3. The growth loop takes a node from the frontier, moves its samples, enters and searches both children. A search is one
//!    partitioner and one criterion compiled together: the partitioner shows entries, the criterion moves samples. It
//!    returns the gap between two neighbouring values, or codes of bins, or a set of categories; growth makes the node's
//!    [`Decision`] of it.
//! 4. When the structure stands, leaves are filled from y itself in one pass over the samples, sparse when that is
//!    smaller.
//!
//! # Why the layout cannot matter
//!
//! Sums of weights, class counts and rounded targets are exact integers (see `criterion`), so the order of addition cannot
//! be seen. Zeros are never visited: a scan moves positive values from the largest down and negative ones from the least
//! up, whoever stores them. Ties go to the feature drawn first, then to the lowest threshold. Hence dense, CSR and CSC
//! input, and any number of threads, give the same bytes; a row of weight zero is no row, and weight two is two rows.
//!
//! # Features
//!
//! `model-files` (on by default): [`model_file`], and methods such as [`Forest::save`] and [`Forest::from_bytes`]. Without it
//! the crate depends on no parser.
//!
//! # Errors and limits
//!
//! Every fallible function returns this crate's [`Error`], whose [`ErrorKind`] carries the argument's name and the
//! figures. Samples, features, slots and nodes are named by 32 bits. Nothing here is `unsafe`.

// What model files alone read.
#![cfg_attr(not(feature = "model-files"), allow(dead_code))]

#[cfg(feature = "bench-internals")]
#[doc(hidden)]
pub mod bench;

pub mod boost;
pub mod centroid;
mod cholesky;
pub mod compress;
mod control;
mod criterion;
pub mod data;
mod error;
mod exact;
pub mod forest;
pub mod label_files;
pub mod loss;
pub mod model;
#[cfg(feature = "model-files")]
pub mod model_file;
mod partition;
mod pool;
pub mod projection;
mod rng;
mod rounds;
mod setters;
mod split;
#[cfg(test)]
pub(crate) mod testing;
pub mod tree;

/// Its example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

pub use boost::{
    BoostConfig, Boosted, LeafEstimation, OutputStrategy, StageObserver, StageReport, ValidationTargets, WeakLearner,
    WeakPredictions,
};
pub use centroid::{
    CentroidForest, CentroidForestConfig, CentroidPrecision, CentroidTree, Clustering, DirectionScope, Refinement,
    Routing,
};
pub use compress::{CompressConfig, CompressLoss, CompressMethod, Compressed, CompressionPath, CrossValidation, Fold};
pub use control::Control;
pub use criterion::Criterion;
pub use data::{
    Category, ClassWeight, Dataset, FeatureKind, LabelView, Mask, Matrix, OutputScaling, RowWeights, Schema,
    SparseTargets, SparseView, Targets, targets::Outputs,
};
pub use error::{Error, ErrorKind, Result};
pub use exact::reduce::{AllReduce, ReduceBuffer, ReduceOp};
pub use forest::{Forest, ForestConfig, Oob, Sampling, SparseOob};
pub use loss::{Bounds, Domain, LineProblem, LineSearch, Link, Loss, LossKind};
pub use model::{Additive, DecisionPath, Direction, SparseScores, StagedScores, StepDtype, Term, TopK, TreeWeighting};
#[cfg(feature = "model-files")]
pub use model_file::{Model, ModelFile};
pub use ndarray;
pub use partition::decision::{Decision, Side, Test};
#[doc(hidden)]
pub use pool::has_room_for_a_thread;
pub use projection::{NProjections, OutputProjection, Projection, ProjectionMatrix, ProjectionScope, Sparsity};
pub use split::Splitter;
pub use tree::{LeafTable, LeafValues, MaxFeatures, Node, Precision, PruningPath, RuleStyle, Tree, TreeConfig};
