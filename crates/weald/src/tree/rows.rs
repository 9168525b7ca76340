//! X as prediction reads it: by sample, in blocks.
//!
//! A block of dense samples is borrowed if X is in C order, and copied otherwise. A sparse sample is scattered into a
//! row of n_features values, sent down a group of trees, and cleared by its own entries, which takes O(entries) and not
//! O(features).

use std::ops::Range;

use ndarray::{ArrayView2, Axis, Slice};

use crate::control::Control;
use crate::data::{Matrix, SparseView};
use crate::error::{Error, Purpose, Result};
use crate::pool;
use crate::tree::Tree;
use crate::tree::few_leaves::{FewLeaves, GROUP};
use crate::tree::traverse::{LANES, SmallTree, leaf_node, walk_rows, walk_trees};

/// The samples of X, checked against the model.
#[derive(Debug)]
pub(crate) struct Rows<'a> {
    x: ByRow<'a>,
    /// Whether a value is missing.
    has_missing: bool,
}

#[derive(Debug)]
enum ByRow<'a> {
    Dense(ArrayView2<'a, f32>),
    Sparse(SparseView<'a>),
}

/// The number of values of a dense block, which shares the second-level cache with the tree that is walked.
const BLOCK_VALUES: usize = 1 << 15;
/// The maximum number of samples of a block: enough that a tree stays in the cache while they pass it, but few enough
/// to react to a stop soon.
const BLOCK_ROWS: usize = 512;
/// The number of nodes of the trees that a sparse sample passes before the next one is scattered. They stay in the
/// second-level cache from one sample to the next.
const GROUP_NODES: usize = 1 << 17;
/// The number of node indices that are stored for one block.
const BLOCK_IDS: usize = 1 << 17;
/// The number of blocks for each thread, so that the last one does not delay the result for long.
const BLOCKS_PER_THREAD: usize = 4;

impl<'a> Rows<'a> {
    /// Checks X against the number of features of the model. CSC is transposed once.
    pub(crate) fn new(x: impl Into<Matrix<'a>>, n_features: usize, control: &Control) -> Result<Self> {
        let x = x.into();
        if x.n_features() != n_features {
            return Err(Error::shape("each row of X", n_features, x.n_features()));
        }
        let has_missing = x.check()?;
        let x = match x {
            Matrix::Dense(x) => ByRow::Dense(x),
            Matrix::Csr(x) => ByRow::Sparse(x),
            Matrix::Csc(x) => ByRow::Sparse(x.try_transposed(control)?),
        };
        Ok(Rows { x, has_missing })
    }

    pub(crate) fn n_samples(&self) -> usize {
        match &self.x {
            ByRow::Dense(x) => x.nrows(),
            ByRow::Sparse(x) => x.n_major(),
        }
    }

    fn n_features(&self) -> usize {
        match &self.x {
            ByRow::Dense(x) => x.ncols(),
            ByRow::Sparse(x) => x.n_minor(),
        }
    }

    pub(crate) fn is_sparse(&self) -> bool {
        matches!(self.x, ByRow::Sparse(_))
    }

    /// Returns the number of samples of a block, at least one, if the leaves of `ids_per_row` trees are stored for each
    /// sample. Results do not depend on it.
    pub(crate) fn block_rows(&self, ids_per_row: usize, n_threads: usize) -> usize {
        let by_values = match &self.x {
            ByRow::Dense(x) => (BLOCK_VALUES / x.ncols().max(1)).clamp(16, BLOCK_ROWS),
            ByRow::Sparse(_) => BLOCK_ROWS,
        };
        let by_threads = match n_threads {
            1 => self.n_samples(),
            n => {
                let share = self.n_samples().div_ceil(BLOCKS_PER_THREAD * n);
                // Dense samples go down a tree in groups of this length.
                share.next_multiple_of(if share < GROUP { LANES } else { GROUP })
            }
        };
        by_values.min(by_threads).min(BLOCK_IDS / ids_per_row.max(1)).max(1)
    }

    /// Returns working memory for one thread.
    pub(crate) fn scratch(&self) -> Result<Scratch> {
        self.scratch_for(&[])
    }

    /// Returns working memory for one thread that sends samples down `trees`. Results do not depend on the trees.
    pub(crate) fn scratch_for(&self, trees: &[&Tree]) -> Result<Scratch> {
        let values = match self.x {
            ByRow::Dense(_) => Vec::new(),
            ByRow::Sparse(_) => Purpose("a row of X").filled(0.0, self.n_features())?,
        };
        let is_grouped = !self.is_sparse() && !self.has_missing && self.n_samples() >= GROUP;
        let few_leaves =
            (is_grouped && FewLeaves::pays(trees, self.n_features())).then(|| FewLeaves::new(self.n_features()));
        Ok(Scratch { values, copied: 0..0, small: SmallTree::default(), few_leaves })
    }

    /// Writes the nodes of the leaves that `rows` reach: that of row r in tree t to `ids[r * trees.len() + t]`.
    pub(crate) fn walk(&self, rows: Range<usize>, trees: &[&Tree], scratch: &mut Scratch, ids: &mut [u32]) {
        if self.has_missing {
            self.walk_asking::<true>(rows, trees, scratch, ids);
        } else {
            self.walk_asking::<false>(rows, trees, scratch, ids);
        }
    }

    /// Does the same. `MISSING` says whether each step tests if the value is missing.
    fn walk_asking<const MISSING: bool>(
        &self,
        rows: Range<usize>,
        trees: &[&Tree],
        scratch: &mut Scratch,
        ids: &mut [u32],
    ) {
        match &self.x {
            ByRow::Dense(x) => {
                let (n_rows, n_features) = (rows.len(), x.ncols());
                // The last few samples are too few to go down a tree together: each goes down many trees at once.
                let n_together = n_rows - n_rows % LANES;
                let Scratch { values, copied, small, few_leaves } = scratch;
                let block = dense_block(x, &rows, values, copied);
                if n_together > 0 {
                    let few_leaves = few_leaves.as_mut().filter(|_| n_together >= GROUP);
                    let mut few_leaves = few_leaves.and_then(|found| found.read(&rows, block).then_some(found));
                    let (block, ids) = (&block[..n_together * n_features], &mut ids[..n_together * trees.len()]);
                    for (t, tree) in trees.iter().enumerate() {
                        let ids = &mut ids[t..];
                        if let Some(few_leaves) = &mut few_leaves
                            && few_leaves.copy(tree)
                        {
                            few_leaves.walk(ids, trees.len());
                        } else {
                            walk_rows::<MISSING>(tree, block, ids, trees.len(), small);
                        }
                    }
                }
                for (r, ids) in ids.chunks_exact_mut(trees.len().max(1)).enumerate().skip(n_together) {
                    walk_trees::<MISSING>(trees, &block[r * n_features..(r + 1) * n_features], ids);
                }
            }
            ByRow::Sparse(_) => {
                let mut first = 0;
                for group in groups(trees) {
                    let mut ids = ids.chunks_exact_mut(trees.len());
                    self.for_each(rows.clone(), scratch, |row| {
                        let ids = &mut ids.next().expect("one chunk of ids for each row")[first..];
                        group.iter().zip(ids).for_each(|(tree, id)| *id = leaf_node::<MISSING>(tree, row));
                    });
                    first += group.len();
                }
            }
        }
    }

    /// Returns the leaf that each sample reaches in a tree, as a row of its table.
    pub(crate) fn leaves(&self, tree: &Tree, control: &Control) -> Result<Vec<u32>> {
        let n = self.n_samples();
        let mut leaves = Purpose("the leaves of rows").filled(0, n)?;
        let block = self.block_rows(1, control.n_threads());
        pool::for_each(
            control.n_threads(),
            leaves.chunks_mut(block).enumerate(),
            || self.scratch(),
            |scratch, (b, leaves)| {
                control.check()?;
                self.walk(b * block..(b * block + block).min(n), &[tree], scratch, leaves);
                leaves.iter_mut().for_each(|node| *node = tree.nodes[*node as usize].right());
                Ok(())
            },
        )?;
        Ok(leaves)
    }

    /// Calls `visit` with each of `rows` as a dense slice.
    pub(crate) fn for_each(&self, rows: Range<usize>, scratch: &mut Scratch, mut visit: impl FnMut(&[f32])) {
        match &self.x {
            ByRow::Dense(x) if x.ncols() == 0 => rows.for_each(|_| visit(&[])),
            ByRow::Dense(x) => {
                let block = dense_block(x, &rows, &mut scratch.values, &mut scratch.copied);
                block.chunks_exact(x.ncols()).for_each(visit);
            }
            ByRow::Sparse(x) => {
                // Invariant: all values are zero between two samples.
                for row in rows {
                    let (indices, values) = x.slice(row);
                    indices.iter().zip(values).for_each(|(&j, &v)| scratch.values[j as usize] = v);
                    visit(&scratch.values);
                    indices.iter().for_each(|&j| scratch.values[j as usize] = 0.0);
                }
            }
        }
    }
}

/// Returns `rows` of a dense X in row-major order. They are borrowed if they are contiguous. Otherwise they are copied,
/// unless `copied` says that they were the last rows that were copied.
fn dense_block<'b>(
    x: &'b ArrayView2<'_, f32>,
    rows: &Range<usize>,
    scratch: &'b mut Vec<f32>,
    copied: &mut Range<usize>,
) -> &'b [f32] {
    let p = x.ncols();
    let block = x.slice_axis(Axis(0), Slice::from(rows.clone()));
    if let Some(values) = block.to_slice() {
        return values;
    }
    if copied == rows {
        return scratch;
    }
    *copied = rows.clone();
    scratch.resize(block.len(), 0.0);
    for (j, column) in block.columns().into_iter().enumerate() {
        for (i, &v) in column.iter().enumerate() {
            scratch[i * p + j] = v;
        }
    }
    scratch
}

/// Returns groups of trees, in order, each with as many trees as have [`GROUP_NODES`] nodes, or with one.
fn groups<'t, 'a>(mut trees: &'t [&'a Tree]) -> impl Iterator<Item = &'t [&'a Tree]> {
    std::iter::from_fn(move || {
        let mut n_nodes = 0;
        let fit = trees.iter().take_while(|tree| {
            n_nodes += tree.n_nodes();
            n_nodes <= GROUP_NODES
        });
        let (group, rest) = trees.split_at(fit.count().max(1).min(trees.len()));
        trees = rest;
        (!group.is_empty()).then_some(group)
    })
}

/// The working memory of one thread, for one [`Rows`].
#[derive(Debug)]
pub(crate) struct Scratch {
    /// A copied dense block, or one scattered sample, which is zero between samples.
    values: Vec<f32>,
    /// The rows of the copied block.
    copied: Range<usize>,
    small: SmallTree,
    /// For dense rows without missing values, if enough trees have few leaves.
    few_leaves: Option<FewLeaves>,
}
