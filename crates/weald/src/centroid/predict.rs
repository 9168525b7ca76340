//! Predictions of a centroid forest: means over trees of the leaves that samples reach.

use std::ops::Range;

use ndarray::Array2;

use super::tree::{Hit, Walker};
use super::vectors::{Preparation, Vectors};
use super::{CentroidForest, CentroidTree, Routing};
use crate::control::Control;
use crate::data::{LabelView, Matrix, Outputs};
use crate::error::{Error, Purpose, Result};
use crate::model::means::{self, FindLeaves};
use crate::model::{SparseScores, TopK, into_array};
use crate::pool;
use crate::tree::LeafTable;

const PURPOSE: Purpose = Purpose("the leaves of rows");

/// Number of leaves that are stored for one block of samples.
const BLOCK_IDS: usize = 1 << 18;
/// Maximum number of samples in a block: enough that the layout of the centroids of a node is shared by many samples,
/// but few enough to react to a stop soon.
const BLOCK_ROWS: usize = 1 << 14;
/// Number of blocks for each thread, so that the last one does not delay the result for long.
const BLOCKS_PER_THREAD: usize = 2;

/// The leaves of the samples of one X.
#[derive(Debug)]
pub(super) struct Leaves<'m> {
    pub(super) forest: &'m CentroidForest,
    pub(super) x: Vectors,
}

/// The working memory of one thread.
#[derive(Debug)]
pub(super) struct Scratch {
    walker: Walker,
    /// For each sample and tree, the row of the tree's table, if samples go to one leaf.
    ids: Vec<u32>,
    /// If samples go to several leaves, those of sample i are `sorted[ptr[i]..ptr[i + 1]]`, with the tree of each.
    hits: Vec<Hit>,
    trees: Vec<usize>,
    ptr: Vec<u32>,
    sorted: Vec<(u32, Hit)>,
}

impl Scratch {
    /// Sorts the hits by sample; those of tree t are `hits[trees[t]..trees[t + 1]]`.
    fn sort(&mut self, n_rows: usize) -> Result<()> {
        let Scratch { hits, trees, ptr, sorted, .. } = self;
        ptr.clear();
        PURPOSE.resize(ptr, n_rows + 2, 0)?;
        hits.iter().for_each(|hit| ptr[hit.at as usize + 2] += 1);
        (2..ptr.len()).for_each(|row| ptr[row] += ptr[row - 1]);
        let nothing = (0, Hit { at: 0, leaf: 0, share: 0.0 });
        sorted.clear();
        PURPOSE.resize(sorted, hits.len(), nothing)?;
        for (tree, range) in (0..).zip(trees.windows(2)) {
            for hit in &hits[range[0]..range[1]] {
                // The next free position of the sample; afterwards, its end.
                let at = &mut ptr[hit.at as usize + 1];
                sorted[*at as usize] = (tree, *hit);
                *at += 1;
            }
        }
        Ok(())
    }
}

impl FindLeaves for Leaves<'_> {
    type Scratch = Scratch;

    fn n_samples(&self) -> usize {
        self.x.n_rows()
    }

    /// The shares of a sample in several leaves are rounded, so that their sum may be slightly more than one.
    fn largest_mean(&self) -> f64 {
        match &self.forest.outputs {
            Outputs::Classes { .. } | Outputs::Labels { .. } => 1.0,
            Outputs::Real { .. } => f64::INFINITY,
        }
    }

    fn scratch(&self) -> Result<Scratch> {
        let walker = Walker::new(self.x.n_features(), self.x.n_rows().min(BLOCK_ROWS))?;
        let (ids, hits, trees) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Scratch { walker, ids, hits, trees, ptr: Vec::new(), sorted: Vec::new() })
    }

    fn block_rows(&self, n_threads: usize) -> usize {
        let by_threads = match n_threads {
            1 => self.n_samples(),
            n => self.n_samples().div_ceil(BLOCKS_PER_THREAD * n),
        };
        by_threads.min(BLOCK_IDS / self.forest.n_trees().max(1)).clamp(1, BLOCK_ROWS)
    }

    fn find(&self, rows: Range<usize>, scratch: &mut Scratch, control: &Control) -> Result<()> {
        let trees = &self.forest.trees;
        let n_trees = trees.len();
        let Scratch { walker, ids, hits, trees: ends, .. } = scratch;
        match self.forest.routing {
            Routing::Nearest => {
                ids.clear();
                PURPOSE.resize(ids, rows.len() * n_trees, 0)?;
                for (t, tree) in trees.iter().enumerate() {
                    tree.walk(&self.x, rows.clone(), walker, &mut ids[t..], n_trees, control)?;
                    ids[t..].iter_mut().step_by(n_trees).for_each(|id| *id = tree.leaf_of[*id as usize]);
                }
                Ok(())
            }
            Routing::Shared { sharpness, least } => {
                hits.clear();
                ends.clear();
                PURPOSE.push(ends, 0)?;
                for tree in trees {
                    tree.walk_shared(&self.x, rows.clone(), (sharpness, least), walker, hits, control)?;
                    PURPOSE.push(ends, hits.len())?;
                }
                scratch.sort(rows.len())
            }
        }
    }

    fn visit<'s>(
        &'s self,
        at: usize,
        scratch: &Scratch,
        mut each: impl FnMut(usize, &'s LeafTable, usize, f64) -> Result<()>,
    ) -> Result<()> {
        let trees = &self.forest.trees;
        let mut with_parent = |t: usize, leaf: u32, share: f64| {
            let (tree, leaf) = (&trees[t], leaf as usize);
            let Some(parents) = &tree.parents else { return each(t, &tree.leaves, leaf, share) };
            let (own, table, parent) = parents.of(leaf);
            each(t, &tree.leaves, leaf, share * own)?;
            each(t, table, parent, share * (1.0 - own))
        };
        match self.forest.routing {
            Routing::Nearest => {
                let ids = &scratch.ids[at * trees.len()..][..trees.len()];
                ids.iter().enumerate().try_for_each(|(t, &leaf)| with_parent(t, leaf, 1.0))
            }
            Routing::Shared { .. } => {
                let range = scratch.ptr[at] as usize..scratch.ptr[at + 1] as usize;
                let mut hits = scratch.sorted[range].iter();
                hits.try_for_each(|&(t, hit)| with_parent(t as usize, hit.leaf, hit.share.into()))
            }
        }
    }
}

impl CentroidForest {
    /// Converts X to sparse rows, after it is checked against the model.
    pub(super) fn leaves_of(&self, x: &Matrix<'_>, control: &Control) -> Result<Leaves<'_>> {
        self.check_trees()?;
        if x.n_features() != self.n_features {
            return Err(Error::shape("each row of X", self.n_features, x.n_features()));
        }
        Ok(Leaves { forest: self, x: Vectors::new(x, self.preparation(), control)? })
    }

    /// Returns an error for a mean of no trees.
    pub(super) fn check_trees(&self) -> Result<()> {
        if self.trees.is_empty() {
            return Err(Error::invalid("forest", "0 trees", "have at least one tree"));
        }
        Ok(())
    }

    /// Returns how samples are prepared.
    pub(crate) fn preparation(&self) -> Preparation<'_> {
        Preparation { normalize: self.normalize, sublinear: false, idf: self.idf() }
    }

    pub(super) fn predict_into_of(&self, x: &Matrix<'_>, out: &mut [f64], control: &Control) -> Result<()> {
        let n_trees = self.n_trees() as f64;
        self.means_into(x, out, |_, _| true, |_| n_trees, control)
    }

    /// Writes the means over the trees that count for a sample: see [`means::means_into`].
    pub(super) fn means_into(
        &self,
        x: &Matrix<'_>,
        out: &mut [f64],
        counts: impl Fn(usize, usize) -> bool + Sync,
        n_counting: impl Fn(usize) -> f64 + Sync,
        control: &Control,
    ) -> Result<()> {
        means::means_into(&self.leaves_of(x, control)?, (self.outputs.width(), out), counts, n_counting, control)
    }

    pub(super) fn apply_of(&self, x: &Matrix<'_>, control: &Control) -> Result<Array2<u32>> {
        let found = self.leaves_of(x, control)?;
        let (n, n_trees) = (found.n_samples(), self.n_trees());
        let mut ids = Purpose("leaf indices").zeros(n, n_trees)?;
        let size = found.block_rows(control.n_threads());
        pool::for_each(
            control.n_threads(),
            ids.chunks_mut(size * n_trees).enumerate(),
            || found.scratch(),
            |scratch, (b, ids)| {
                let rows = b * size..(b * size + size).min(n);
                self.trees.iter().enumerate().try_for_each(|(t, tree): (usize, &std::sync::Arc<CentroidTree>)| {
                    tree.walk(&found.x, rows.clone(), &mut scratch.walker, &mut ids[t..], n_trees, control)
                })
            },
        )?;
        Ok(into_array(ids, n, n_trees))
    }

    pub(super) fn topk(
        &self,
        x: &Matrix<'_>,
        k: usize,
        excluded: Option<&LabelView<'_>>,
        control: &Control,
    ) -> Result<TopK> {
        let found = self.leaves_of(x, control)?;
        means::topk(&found, (self.outputs.width(), k), self.n_trees() as f64, excluded, control)
    }

    /// Returns the means over the trees that count for a sample: see [`means::at_least`].
    pub(super) fn at_least_of(
        &self,
        x: &Matrix<'_>,
        floor: f64,
        counts: impl Fn(usize, usize) -> bool + Sync,
        n_counting: impl Fn(usize) -> f64 + Sync,
        control: &Control,
    ) -> Result<SparseScores> {
        let found = self.leaves_of(x, control)?;
        means::at_least(&found, (self.outputs.width(), floor), counts, n_counting, control)
    }
}
