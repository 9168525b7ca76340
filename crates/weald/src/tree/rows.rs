//! X as prediction reads it: by row, in blocks.
//!
//! A block of dense rows is lent as it lies when X is in C order, else copied into scratch. A sparse row is scattered
//! into a scratch of length p, walked through a group of trees, and cleared by its own entries: O(entries), never O(p).

use std::ops::Range;

use ndarray::{ArrayView2, Axis, Slice};

use crate::control::Control;
use crate::data::{Matrix, SparseView};
use crate::error::{Error, Result, try_filled};
use crate::pool;
use crate::tree::Tree;
use crate::tree::few_leaves::{FewLeaves, GROUP};
use crate::tree::traverse::{LANES, SmallTree, leaf_node, walk_rows, walk_trees};

/// Rows of X, checked against the model.
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

/// Values of a dense block: it shares the second-level cache with the tree that is walked.
const BLOCK_VALUES: usize = 1 << 15;
/// Most rows of a block: enough that a tree stays in the cache while they pass, few enough to answer a stop soon.
const BLOCK_ROWS: usize = 512;
/// Nodes of the trees that sparse rows walk before the next row is scattered: they stay in the second-level cache from
/// one row to the next.
const GROUP_NODES: usize = 1 << 17;
/// Node ids held for one block.
const BLOCK_IDS: usize = 1 << 17;
/// Blocks for each thread, so that the last one is not waited for long.
const BLOCKS_PER_THREAD: usize = 4;

impl<'a> Rows<'a> {
    /// Checks X against the number of features of the model; a CSC X is transposed once.
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

    /// Number of rows of a block, at least one, where the leaves of `ids_per_row` trees are held for each row. Results do
    /// not depend on it.
    pub(crate) fn block_rows(&self, ids_per_row: usize, n_threads: usize) -> usize {
        let by_values = match &self.x {
            ByRow::Dense(x) => (BLOCK_VALUES / x.ncols().max(1)).clamp(16, BLOCK_ROWS),
            ByRow::Sparse(_) => BLOCK_ROWS,
        };
        let by_threads = match n_threads {
            1 => self.n_samples(),
            n => {
                let share = self.n_samples().div_ceil(BLOCKS_PER_THREAD * n);
                // Dense rows go down a tree in groups of this length.
                share.next_multiple_of(if share < GROUP { LANES } else { GROUP })
            }
        };
        by_values.min(by_threads).min(BLOCK_IDS / ids_per_row.max(1)).max(1)
    }

    /// An empty scratch for one thread.
    pub(crate) fn scratch(&self) -> Result<Scratch> {
        self.scratch_for(&[])
    }

    /// Returns an empty scratch for one thread that sends rows down `trees`. Results do not depend on the trees.
    pub(crate) fn scratch_for(&self, trees: &[&Tree]) -> Result<Scratch> {
        let values = match self.x {
            ByRow::Dense(_) => Vec::new(),
            ByRow::Sparse(_) => try_filled("a row of X", 0.0, self.n_features())?,
        };
        let is_grouped = !self.is_sparse() && !self.has_missing && self.n_samples() >= GROUP;
        let few_leaves =
            (is_grouped && FewLeaves::pays(trees, self.n_features())).then(|| FewLeaves::new(self.n_features()));
        Ok(Scratch { values, copied: 0..0, small: SmallTree::default(), few_leaves })
    }

    /// The leaves' nodes that `rows` reach: of row r on tree t at `ids[r * trees.len() + t]`.
    pub(crate) fn walk(&self, rows: Range<usize>, trees: &[&Tree], scratch: &mut Scratch, ids: &mut [u32]) {
        if self.has_missing {
            self.walk_asking::<true>(rows, trees, scratch, ids);
        } else {
            self.walk_asking::<false>(rows, trees, scratch, ids);
        }
    }

    /// The same, asking at each step whether the value is missing or not.
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
                // The last few rows are too few to go down a tree together: each goes down many trees at once.
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

    /// The leaf that each row reaches in a tree, as a row of its table.
    pub(crate) fn leaves(&self, tree: &Tree, control: &Control) -> Result<Vec<u32>> {
        let n = self.n_samples();
        let mut leaves = try_filled("the leaves of rows", 0, n)?;
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
                // Invariant: scratch is zero everywhere between two rows.
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

/// `rows` of a dense X, row-major: lent where they are contiguous, else copied, unless `copied` says that they were the
/// last to be.
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

/// `trees` in turn, as many at once as have [`GROUP_NODES`] nodes, or one.
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

/// What one thread writes on, for one [`Rows`].
#[derive(Debug)]
pub(crate) struct Scratch {
    /// A copied dense block, or one scattered row (zero between rows).
    values: Vec<f32>,
    /// The rows of the copied block.
    copied: Range<usize>,
    small: SmallTree,
    /// For dense rows without missing values, if enough trees have few leaves.
    few_leaves: Option<FewLeaves>,
}
