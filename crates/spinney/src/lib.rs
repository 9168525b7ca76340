//! Trees and tree ensembles for data that is wide on both sides: a hundred thousand sparse features, a thousand
//! outputs, dense or sparse, in one engine that is exact, reproducible and stands without Python.
//!
//! ```
//! use ndarray::array;
//! use spinney::{Control, Criterion, ForestConfig, LabelView, Matrix, SparseView, Targets};
//!
//! // Four documents over five words (CSR), and their tags out of three (CSR without values).
//! let x = SparseView::try_new(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
//! let y = LabelView::try_new(vec![0, 2, 3, 4, 5], vec![0, 1, 0, 2, 2], 3)?;
//! let config = ForestConfig { n_trees: 20, seed: 7, ..ForestConfig::extra_trees(Criterion::Gini) };
//!
//! let control = Control::with_threads(2); // another thread may call control.clone().stop()
//! let forest = config.fit(&Matrix::Csr(x), &Targets::Labels(y), None, &control)?;
//!
//! let question = array![[1.0f32, 0.0, 0.0, 0.0, 0.0]];
//! let best = forest.predict_topk(&question.view().into(), 1, &control)?;
//! assert_eq!(best.indices[[0, 0]], 0);
//! assert!(best.scores[[0, 0]] > 0.9);
//! # Ok::<(), spinney::Error>(())
//! ```
//!
//! # Map
//!
//! | module | what |
//! |---|---|
//! | [`data`] | what enters, borrowed and valid by construction: X in any layout, y of any kind, weights as exact integers; X in bins |
//! | `partition` | who is in a node, and in what order along a feature. Sees x, never y |
//! | `criterion` | impurity of the two sides of a cut, from exact sums. Sees y, never x |
//! | `split` | the search of one node: the lottery of features, the scan of cuts, of samples or of histograms; `dispatch` joins runtime tags and types |
//! | [`projection`] | random combinations of outputs that splits are searched on in place of y |
//! | [`tree`] | the growth loop and its frontier; the finished tree; leaves, walking, importances, pruning, rules |
//! | [`boost`] | gradient boosting: losses, stages of trees, steps, the scores they add up to |
//! | [`compress`] | sparse linear models over the nodes of a forest, and smaller forests of them |
//! | [`forest`] | rows of each tree, trees in parallel, means over trees, out-of-bag |
//! | [`model_file`] | bytes and files, in and out; every tree is proven before use |
//! | `rng`, `pool` | randomness as a function of keys; threads |
//!
//! # One fit
//!
//! 1. [`ForestConfig::fit`] checks parameters and data, and brings X into the form that growth wants: columns, and for sparse
//!    X the rows as well; sorted once where nodes draw most features.
//! 2. Each tree has a key of its own, made from the seed and its index. The key draws the tree's rows and, with the path
//!    from the root, every node's features and thresholds. So a tree does not depend on threads or on other trees.
//!    With an [output projection](projection) it also draws the matrix by which the tree's own rows of y are projected, and
//!    the search below reads those.
//! 3. The growth loop takes a node from the frontier, moves its samples, enters and searches both children. A search is one
//!    partitioner and one criterion compiled together: the partitioner shows entries, the criterion moves samples.
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
//! # Errors and limits
//!
//! Every fallible function returns this crate's [`Error`], whose [`ErrorKind`] carries the argument's name and the
//! figures. Samples, features, slots and nodes are named by 32 bits. Nothing here is `unsafe`.

#[cfg(feature = "bench-internals")]
#[doc(hidden)]
pub mod bench;

pub mod boost;
pub mod compress;
mod config;
mod control;
mod criterion;
pub mod data;
mod error;
pub mod forest;
pub mod model_file;
mod partition;
mod pool;
pub mod projection;
mod rng;
mod split;
#[cfg(test)]
pub(crate) mod testing;
pub mod tree;

pub use boost::{
    BoostConfig, Boosted, LineProblem, LineSearch, Loss, LossKind, OutputStrategy, StagedScores, StepDtype, Validation,
    ValidationTargets, WeakLearner, WeakPredictions,
};
pub use compress::{CompressConfig, CompressLoss, CompressMethod, Compressed, CompressionPath, CrossValidation, Fold};
pub use config::{Criterion, ForestConfig, MaxFeatures, Sampling, Splitter, TreeConfig};
pub use control::Control;
pub use data::{ClassWeight, LabelView, Matrix, RowWeights, SparseView, Targets, targets::Outputs};
pub use error::{Error, ErrorKind, Result};
pub use forest::{DecisionPath, Forest, Oob, TopK};
pub use model_file::{Model, ModelFile};
pub use projection::{NProjections, OutputProjection, Projection, ProjectionMatrix, ProjectionScope, Sparsity};
pub use tree::{LeafTable, Node, Precision, PruningPath, RuleStyle, Tree};
