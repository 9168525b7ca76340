//! Models as bytes and files. A file is in the safetensors format, which can be read without this crate.
//!
//! | | contents |
//! |---|---|
//! | [`Model`] | a forest, a boosted model, a compressed model, a centroid forest, a linear model or a label tree, depending on the file |
//! | [`ModelFile`] | a model and an [`Extra`]: a text and named arrays that are stored with it |
//! | [`inspect()`] | a summary of a file, from its header alone |
//!
//! ```
//! # use ndarray::array;
//! # use weald::{Criterion, ForestConfig, Targets};
//! use weald::model_file::{Model, inspect};
//!
//! # let (x, y) = (array![[0.0f32], [1.0]], array![[0.0], [5.0]]);
//! # let config = ForestConfig::extra_trees(Criterion::Variance).n_trees(3);
//! # let forest = config.fit((&x, &y))?;
//! # let path = std::env::temp_dir().join(format!("weald-{}.safetensors", std::process::id()));
//! forest.save(&path)?;
//! assert_eq!(inspect(&path)?.n_trees, 3);
//! assert_eq!(Model::load(&path)?, Model::Forest(forest));
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), weald::Error>(())
//! ```
//!
//! # Layout
//!
//! Nothing is stored that can be computed from the rest: in pre-order, the marks of leaves determine the children of
//! each node, and the statistics of splits are sums over their leaves. Numbers are stored in the narrowest type that
//! can represent all of them exactly. Equal models have equal bytes, and loading a saved model returns an equal model.
//! Loading runs no code from the file and checks every tree before it is used: for any input, it returns a valid forest
//! or an error.
//!
//! The trees are stored one after another in the same few tensors:
//!
//! | tensor | length | contents |
//! |---|---|---|
//! | `n_nodes` | trees | number of nodes of each tree |
//! | `features` | nodes | feature of the test, or the largest number of the type for leaves; in pre-order |
//! | `thresholds` | splits | samples with `x[feature] <= threshold` go left; 0 if categories are listed |
//! | `category_splits` | splits | one bit each, stored as described below: 1 if the categories that go left are listed; absent if all are 0 |
//! | `category_sizes` | splits that list categories | number of categories listed, at least one; absent with `category_splits` |
//! | `categories` | categories listed | codes that go left, in increasing order for each split; all other values go right |
//! | `missing_sides` | splits | two bits each, stored as described below: 1 if missing values were seen and go left, 2 if they were seen and go right, 0 if none were seen; missing values then go to the child with the larger weight, or left if the weights are equal (and right if categories are listed); absent if all are 0 |
//! | `split_impurity`, `leaf_impurity` | splits, leaves | impurity; `leaf_impurity` is absent if all are zero |
//! | `n_node_samples` | leaves or nodes | number of distinct samples; stored for all nodes only if the values of splits are not the sums over their leaves |
//! | `weights` | leaves or nodes | total weight, stored for leaves or nodes likewise; absent if equal to `n_node_samples` or, for trees whose leaves refer to stored samples, to the sums of `row_units` |
//! | `leaf_layout` | trees | bit 0: cells are sparse; 1: cells are amounts of a total; 2: leaves refer to stored samples, or, if cells are sparse, share values; 3, 4: means were float32, float16; 5: columns have scales; 6: classes were left out, so that frequencies sum to less than one; 7: means have 8 bits, and are stored with 128 added |
//! | `leaf_sizes` | records of sparse trees | number of cells; each leaf has a record, followed by those of inner nodes if leaves share values |
//! | `leaf_records` | trees whose leaves share values | number of records of inner nodes; absent if there are no such trees |
//! | `leaf_above` | records of these trees | the next record above, counted from one among those of inner nodes, or 0. A leaf has the cells of its record, and of those above the ones of columns that no record below has |
//! | `leaf_columns` | cells of sparse trees | columns, in increasing order for each record |
//! | `leaf_amounts` | cells | amounts or means |
//! | `leaf_scales` | columns of trees with scales | factors of amounts, which are powers of two |
//! | `leaf_factors` | leaves of trees with 8 bits | factors of amounts, which are powers of two |
//! | `leaf_totals` | leaves with totals | divisor of amounts; absent if equal to the weights of leaves; trees whose leaves refer to stored samples have none |
//!
//! Numbers of a few bits each are stored one after another without gaps, starting with the lowest bit, in tensors of
//! bytes. Leaves that refer to stored samples have as many of them as `n_node_samples` says, and the sum of their units
//! as total:
//!
//! | tensor | length | contents |
//! |---|---|---|
//! | `row_ids` | stored samples of all leaves | indices in the tree's set, in increasing order for each leaf; each takes the number of bits that the largest set needs |
//! | `row_units` | stored samples of all leaves | weight of each in units; absent if all are 1, or if `row_ends` is present |
//! | `row_ends` | units of all stored samples | one bit for each unit, which is 1 for the last unit of a sample; present if there are few units |
//! | `row_set` | trees whose leaves refer to stored samples | index of their set of samples; absent if there is only one set |
//! | `set_rows` | sets | number of samples of each set |
//! | `set_layout` | sets | bit 1: slots of classes or labels, otherwise numerical outputs; 3, 4, 5 as in `leaf_layout` |
//! | `set_sizes`, `set_slots` | samples of sets of slots, slots | number of slots of a sample; columns of predictions of the slots, in increasing order, each with the number of bits that the width needs |
//! | `set_values`, `set_scales` | samples × columns of sets of numerical outputs, columns of sets with scales | y, and factors of its columns |
//!
//! The trees of a centroid forest have the tensors of leaves, `n_nodes`, `n_node_samples` and `weights` of leaves, and
//! the following ones. If leaves are shrunk towards their parents, each tree with several nodes has a second table of
//! leaves, for the parents:
//!
//! | tensor | length | contents |
//! |---|---|---|
//! | `n_children` | nodes | number of children of each node, level by level; 0 for leaves |
//! | `centroid_sizes` | nodes | number of features of the centroid; 0 for the root |
//! | `centroid_bytes` | trees | number of bytes of the tree's `centroid_features` |
//! | `centroid_features` | bytes | features of each centroid, in increasing order. A centroid without features takes nothing; another one starts at the lowest bit of a byte with five bits r, followed for each gap g by g >> r zeros, a one, and r bits of g. The first gap is the first feature, and the others are the difference to the previous feature minus one. The last byte is filled with zeros |
//! | `centroid_weights` | features of all centroids | float16, or 8 bits with 128 added, not zero; or half bytes, the first of two in the lower half, where an odd number of weights in a tree is filled up with zero: 8 if the weight is negative, plus k for 10^(-k/7) |
//! | `centroid_factors` | nodes | factors of weights that are not float16 |
//! | `centroid_rules` | 4 | 1 if samples are normalized to length one; sharpness and smallest share of a second child, or 0 and 0 if only the nearest child is used; shrinkage of leaves |
//! | `idf` | features | factors of features, if there are any |
//!
//! A linear model has no trees, and these tensors alone. Its columns are one for each label, one for an output with two
//! classes, and otherwise one for each class of each output:
//!
//! | tensor | length | contents |
//! |---|---|---|
//! | `weight_sizes` | features | number of weights of each feature |
//! | `weight_columns` | weights | columns, in increasing order for each feature |
//! | `weight_values` | weights | weights, none of which is zero |
//! | `intercepts` | columns | intercepts |
//! | `idf` | features | factors of features, if they are weighted |
//! | `proba_slopes`, `proba_intercepts` | columns | log-odds are slope times margin plus intercept; absent if they are the margins |
//! | `fit_passes` | 2 | largest number of passes over the samples, and number of columns whose fit did not reach the tolerance |
//!
//! The trees of a label tree have these tensors alone. The columns of a node are its children, which are the nodes that
//! follow in a numbering level by level, or in a leaf its labels. All trees have the same labels:
//!
//! | tensor | length | contents |
//! |---|---|---|
//! | `beam_width` | 1 | number of nodes that predictions follow at a time |
//! | `n_nodes` | trees | number of nodes of each tree |
//! | `n_columns`, `is_leaf` | nodes | number of columns; 1 for leaves, 0 for other nodes |
//! | `leaf_labels` | columns of leaves | labels, in increasing order for each leaf; each label is in one leaf of a tree at most |
//! | `intercepts` | columns | intercepts |
//! | `n_node_features` | nodes | number of features with a weight |
//! | `node_features` | features of nodes | features, in increasing order for each node |
//! | `weight_sizes` | features of nodes | number of weights, at least one |
//! | `weight_columns` | weights | columns of the node, in increasing order for each feature |
//! | `weight_values` | weights | weights, none of which is zero |
//! | `idf` | features | factors of features, if they are weighted |
//! | `fit_passes` | 2 × trees | as for a linear model, tree by tree |
//!
//! The header's entry `weald` is a JSON object. It has the format version, the outputs, the criterion, the number of
//! features and, for forests with trees of one output each, boosted, compressed and linear models and label trees, how
//! predictions are made. The entry `estimator` and the tensors
//! `estimator.*` are the [`Extra`], whose size is limited and which is not interpreted. The types that read only a
//! model ignore it. Other entries and tensors, and names that occur twice, are errors.
//!
//! # What is checked
//!
//! For the header: at most 100 MB of UTF-8 and JSON, at most 4096 tensors, unique names, arrays that follow one another
//! without gaps and fill the file, the type and the number of dimensions of each tensor, and lengths that are
//! consistent. For the trees: one parent for each node, features in range, finite thresholds and values, positive
//! totals, columns and stored samples that are in range and in increasing order, and frequencies of the classes of an
//! output that sum to one. The sum is exact if frequencies are amounts of a total, and within the rounding of float16
//! (2⁻⁹, plus 2⁻²³ for each class) if they are floats. Lengths are compared with the bytes that exist before anything
//! is allocated. The memory that the parser of the header may take is requested from the operating system before the
//! parser starts, and the memory that the header announces is requested before the arrays are read. A model takes at
//! most 8 bytes for each byte of its file (for whole numbers that a file stores in one byte and a model in eight), plus
//! about a kilobyte for each tree.
//!
//! # Cost
//!
//! Reading and writing take one pass over the model. Files are read in pieces of 64 kilobytes, each of which is checked
//! while it is in the cache, so that no copy of the file is in memory. Offsets have 64 bits: files may be larger than 4
//! GB, and tensors longer than 2³¹. A single tree has fewer than 2³² nodes, and its leaves have fewer than 2³² cells.

mod amounts;
mod bits;
mod codec;
mod disk;
mod extra;
mod frequencies;
mod header;
mod inspect;
mod kinds;
mod leaves;
mod lengths;
mod model;
mod places;
mod read;
mod rows;
mod scores;
mod tensor;
mod validate;
mod write;

pub use disk::write_bytes;
pub use extra::{Array, Extra, Values};
pub use inspect::{Summary, TensorSummary, inspect, inspect_bytes};
pub use kinds::{Kind, Model};
pub use model::ModelFile;

/// The version of the layout above. Files of other versions raise an error.
const FORMAT_VERSION: u64 = 1;
/// Bit of `leaf_layout`: only non-zero cells are stored.
const SPARSE: u8 = 1;
/// Bit of `leaf_layout`: cells are amounts of a total.
const COUNTS: u8 = 2;
/// Bit of `leaf_layout`: leaves refer to stored samples.
const ROWS: u8 = 4;
/// Bits of `leaf_layout`: leaves share values with others. Stored samples are never sparse.
const INHERITED: u8 = SPARSE | ROWS;
/// Bit of `leaf_layout`: means are float32 in memory.
const SINGLE: u8 = 8;
/// Bit of `leaf_layout`: means are float16 in memory.
const HALF: u8 = 16;
/// Bit of `leaf_layout`: columns have scales.
const SCALED: u8 = 32;
/// Bit of `leaf_layout`: some leaf lacks classes with a small frequency, which were left out.
const PARTIAL: u8 = 64;
/// Bit of `leaf_layout`: means have 8 bits in memory, and each leaf has a factor.
const BYTES: u8 = 128;
/// The number that is added to such means in files, so that none of them is negative.
const ABOVE: i16 = 128;

#[cfg(test)]
mod tests;
