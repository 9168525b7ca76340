//! Models as bytes and files: one safetensors file, readable without this crate.
//!
//! | | what |
//! |---|---|
//! | [`Model`] | a forest, a boosted or a compressed model, whichever a file holds |
//! | [`ModelFile`] | a model and what travels with it: a text and named arrays, an [`Extra`] |
//! | [`inspect`] | what a file says of itself, from its header alone |
//!
//! ```
//! # use ndarray::array;
//! # use spinney::{Control, Criterion, ForestConfig, Targets};
//! use spinney::model_file::{Model, inspect};
//!
//! # let (x, y) = (array![[0.0f32], [1.0]], array![[0.0], [5.0]]);
//! # let config = ForestConfig::extra_trees(Criterion::Variance).n_trees(3);
//! # let forest = config.fit((&x, &y), &Control::default())?;
//! # let path = std::env::temp_dir().join(format!("spinney-{}.safetensors", std::process::id()));
//! forest.save(&path)?;
//! assert_eq!(inspect(&path)?.n_trees, 3);
//! assert_eq!(Model::load(&path)?, Model::Forest(forest));
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), spinney::Error>(())
//! ```
//!
//! # Layout
//!
//! Nothing is stored that follows from the rest: in pre-order the leaf marks alone tell which node is whose child, and the
//! statistics of splits are sums over their leaves. Numbers go in the narrowest type that holds all of them exactly.
//! The same model gives the same bytes; loading what was saved gives an equal model. Loading runs no code and proves
//! every tree before use: on any input it ends with a valid forest or an error.
//!
//! All trees lie one after the other in the same few tensors:
//!
//! | tensor | length | what |
//! |---|---|---|
//! | `n_nodes` | trees | nodes of each tree |
//! | `features` | nodes | feature tested, or the largest number of the type in leaves; pre-order |
//! | `thresholds` | splits | `x[feature] <= threshold` goes left; 0 where categories are listed |
//! | `category_splits` | splits | a bit each, as below: 1 where the categories that go left are listed; absent when all are 0 |
//! | `category_sizes` | splits that list categories | number of categories listed, at least one; absent with `category_splits` |
//! | `categories` | categories listed | codes that go left, rising in each split; all other values go right |
//! | `missing_sides` | splits | two bits each, as below: 1 where missing values were seen and go left, 2 where they go right, 0 where none were seen and they go to the child of more weight, the left one of equal weights (right where categories are listed); absent when all are 0 |
//! | `split_impurity`, `leaf_impurity` | splits, leaves | impurity; `leaf_impurity` is absent when all are zero |
//! | `n_node_samples` | leaves or nodes | distinct samples; per node only if splits are not the sums of their leaves |
//! | `weights` | leaves or nodes | total weight, likewise; absent when equal to `n_node_samples`, in trees of rows to `row_units` |
//! | `leaf_layout` | trees | bit 0: cells are sparse; 1: cells are amounts of a total; 2: leaves are rows; 3, 4: means were float32, float16; 5: columns have scales; 6: classes were left out, so that frequencies sum to less than one; 7: means have 8 bits, and are stored 128 above |
//! | `leaf_sizes` | leaves of sparse trees | number of cells |
//! | `leaf_columns` | cells of sparse trees | columns, rising in each leaf |
//! | `leaf_amounts` | cells | amounts, or means |
//! | `leaf_scales` | columns of trees that have some | factors of amounts, powers of two |
//! | `leaf_factors` | leaves of trees of 8 bits | factors of amounts, powers of two |
//! | `leaf_totals` | leaves with totals | divisor of amounts; absent when equal to the leaves' weights; not of trees of rows |
//!
//! Numbers of a few bits each lie one after the other without gaps, the lowest bit first, in tensors of bytes. Leaves that are
//! rows have as many of them as `n_node_samples` says, and the sum of their units as total:
//!
//! | tensor | length | what |
//! |---|---|---|
//! | `row_ids` | rows of all leaves | rows of the tree's set, rising in each leaf; each takes the bits that the largest set asks for |
//! | `row_units` | rows of all leaves | weight of each in units; absent when all are 1, and when they are told by |
//! | `row_ends` | units of all rows | a bit for each unit, 1 for the last of its row; where there are few |
//! | `row_set` | trees of rows | their set of rows; absent when there is one |
//! | `set_rows` | sets | rows of each set |
//! | `set_layout` | sets | bit 1: slots of classes or labels, else numbers; 3, 4, 5 as in `leaf_layout` |
//! | `set_sizes`, `set_slots` | rows of sets of slots, slots | number of slots of a row; columns of predictions that it occupies, rising, each of the bits that the width asks for |
//! | `set_values`, `set_scales` | rows × columns of sets of numbers, columns of sets that have some | y, and factors of its columns |
//!
//! Trees of a centroid forest have the tensors of leaves, `n_nodes`, `n_node_samples` and `weights` of leaves, and these.
//! Where leaves are shrunk to their parents, each tree of several nodes has a second table of leaves, of the parents:
//!
//! | tensor | length | what |
//! |---|---|---|
//! | `n_children` | nodes | children of each node, level by level; 0 of leaves |
//! | `centroid_sizes` | nodes | features of its centroid; 0 of the root |
//! | `centroid_bytes` | trees | bytes of its `centroid_features` |
//! | `centroid_features` | bytes | features of each centroid, rising: nothing where there are none, else five bits r, and of each gap g between neighbours (the first: the feature; the others: less one) g >> r zeros, a one, and r bits of g, from the lowest bit of a byte on; zeros fill the last byte |
//! | `centroid_weights` | features of all centroids | float16, or of 8 bits and stored 128 above, not zero; or half bytes, the first of two in the lower half, zero where the number in a tree is odd: 8 where negative, and k of 10^(-k/7) |
//! | `centroid_factors` | nodes | factors of weights that are not float16 |
//! | `centroid_rules` | 4 | 1 where rows are brought to length one; sharpness and least share of a second child, 0 of the nearest alone; shrinkage of leaves |
//! | `idf` | features | factors of features, if they have some |
//!
//! The header's entry `spinney` is a JSON object: format version, outputs, criterion, number of features, and of boosted
//! and compressed models how trees make predictions. The entry `estimator` and the tensors `estimator.*` are the
//! [`Extra`]: stored and bounded, but not looked into. The types that read a model alone leave them out. Anything else is
//! refused, and so are names that occur twice.
//!
//! # What is proven
//!
//! Of the header: at most 100 MB of UTF-8 and JSON, at most 4096 tensors, each name once, arrays that follow one another
//! without gaps and fill the file, the type and the number of dimensions of each tensor, lengths that fit each other. Of
//! the trees: one parent for each node, features in range, finite thresholds and values, positive totals, columns and rows
//! that rise and are there, frequencies of the classes of an output that sum to one: exactly where they are amounts of a
//! total, within the rounding of float16 (2⁻⁹ in all, and 2⁻²³ for each class) where they are floats. Lengths are compared
//! with the bytes that are there before anything is allocated. What the parser of the header may take is asked of the system
//! before it begins, and what the header tells of before the arrays are read. A model takes at most 8 bytes for each byte of
//! its file, those of whole numbers which a file stores in one byte and a model in eight, and about a kilobyte for each tree.
//!
//! # Cost
//!
//! One pass over the model; files are read in pieces of 64 kilobytes, each proven while it is in the cache, so that no copy
//! of the file is in memory. Offsets have 64 bits: files may be larger than 4 GB, and tensors longer than 2³¹. A single tree
//! has fewer than 2³² nodes, and so have its leaves cells.

mod amounts;
mod bits;
mod boosted;
mod centroid;
mod compressed;
mod disk;
mod extra;
mod frequencies;
mod header;
mod inspect;
mod leaves;
mod model;
mod names;
mod places;
mod read;
mod rows;
mod scores;
mod validate;
mod write;

pub use disk::write_bytes;
pub use extra::{Array, Extra, Values};
pub use inspect::{Kind, Summary, TensorSummary, inspect, inspect_bytes};
pub use model::{Model, ModelFile};

/// Version of the layout above. A file of a greater version is refused.
const FORMAT_VERSION: u64 = 1;
/// Bit of `leaf_layout`: only cells that differ from zero are stored.
const SPARSE: u8 = 1;
/// Bit of `leaf_layout`: cells are amounts of a total.
const COUNTS: u8 = 2;
/// Bit of `leaf_layout`: leaves are rows of y.
const ROWS: u8 = 4;
/// Bit of `leaf_layout`: means have float32 in memory.
const SINGLE: u8 = 8;
/// Bit of `leaf_layout`: means have float16 in memory.
const HALF: u8 = 16;
/// Bit of `leaf_layout`: columns have scales.
const SCALED: u8 = 32;
/// Bit of `leaf_layout`: classes of small frequency were left out of some leaf.
const PARTIAL: u8 = 64;
/// Bit of `leaf_layout`: means have 8 bits in memory, and leaves a factor each.
const BYTES: u8 = 128;
/// What is added to such means in files, so that none is negative.
const ABOVE: i16 = 128;

#[cfg(test)]
mod tests;
