//! Scores of labels: means over the trees, and the best labels.

use super::LabelTreeModel;
use super::beam::Beam;
use crate::centroid::Vectors;
use crate::control::Control;
use crate::data::{LabelView, Matrix};
use crate::error::{Error, Purpose, Result};
use crate::model::{Ranking, SparseScores, TopK, best_columns, check_topk, into_array};
use crate::pool;

const PURPOSE: Purpose = Purpose("the scores of samples");

/// Samples that a thread takes at a time.
const AT_ONCE: usize = 64;

/// Stands for a label that was not found.
const NOT_FOUND: u32 = u32::MAX;

best_columns!(
    LabelTreeModel,
    "Labels are ranked by their scores: see [`LabelTreeModel::predict_scores`]. More nodes than `beam_width` are followed \
     if these have fewer than k labels. Labels that no sample of the fit had come last, with the score −∞."
);

impl LabelTreeModel {
    /// Returns the scores of the labels that the search finds for each sample: logarithms of the mean over the trees of
    /// the product of exp(−max(0, 1 − margin)³) along the path from the root to the label. A label that the search in a tree
    /// does not find has the product 0 there. Labels that are not stored have the score −∞.
    ///
    /// Time for a sample and a node that is followed is that of the sample's entries times the logarithm of the number of
    /// features of the node, and of the weights of these features.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] or [`crate::ErrorKind::Invalid`] if X is not valid,
    /// [`crate::ErrorKind::OutOfMemory`] and [`crate::ErrorKind::Interrupted`].
    pub fn predict_scores<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<SparseScores> {
        self.sparse(&x.into(), |score| score, control)
    }

    /// Returns the exponentials of [`LabelTreeModel::predict_scores`], between 0 and 1. Labels that are not stored have 0.
    ///
    /// # Errors
    /// The same as for [`LabelTreeModel::predict_scores`].
    pub fn predict_proba<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<SparseScores> {
        self.sparse(&x.into(), f64::exp, control)
    }

    fn sparse(&self, x: &Matrix<'_>, of: impl Fn(f64) -> f64 + Sync, control: &Control) -> Result<SparseScores> {
        let (x, below) = (self.prepared(x, control)?, self.n_labels_below()?);
        let n = x.n_rows();
        let blocks = pool::map(control.n_threads(), n.div_ceil(AT_ONCE), |block| {
            let mut search = Search::new(self, &below)?;
            let mut found = SparseScores::empty()?;
            for row in block * AT_ONCE..n.min((block + 1) * AT_ONCE) {
                control.check()?;
                search.find(x.of(row as u32), 0)?;
                search.found.sort_unstable_by_key(|&(label, ..)| label);
                PURPOSE.extend(&mut found.columns, search.found.iter().map(|&(label, ..)| label))?;
                let score = |&(_, largest, sum): &Found| of(self.score(largest, sum));
                PURPOSE.extend(&mut found.values, search.found.iter().map(score))?;
                PURPOSE.push(&mut found.ptr, found.columns.len())?;
                search.forget();
            }
            Ok(found)
        })?;
        SparseScores::joined(blocks)
    }

    fn topk(&self, x: &Matrix<'_>, k: usize, excluded: Option<&LabelView<'_>>, control: &Control) -> Result<TopK> {
        let width = self.n_labels;
        check_topk((x.n_samples(), width), k, excluded)?;
        let (x, below) = (self.prepared(x, control)?, self.n_labels_below()?);
        let n = x.n_rows();
        let mut labels = Purpose("the best labels").zeros(n, k)?;
        let mut values = Purpose("the best scores").zeros(n, k)?;
        pool::for_each(
            control.n_threads(),
            labels.chunks_mut(AT_ONCE * k).zip(values.chunks_mut(AT_ONCE * k)).enumerate(),
            || Ok((Ranking::new(width, excluded)?, Search::new(self, &below)?, Vec::new())),
            |(ranking, search, listed), (block, (labels, values))| {
                let places = labels.chunks_exact_mut(k).zip(values.chunks_exact_mut(k));
                for (row, places) in (block * AT_ONCE..).zip(places) {
                    control.check()?;
                    let least = k + excluded.map_or(0, |excluded| n_excluded(excluded, row));
                    search.find(x.of(row as u32), least)?;
                    listed.clear();
                    let score = |&(label, largest, sum): &Found| (self.score(largest, sum), label);
                    PURPOSE.extend(listed, search.found.iter().map(score))?;
                    if listed.len() < least {
                        // All labels of the trees were found.
                        for label in (0..width as u32).filter(|&label| !search.is_found(label)) {
                            PURPOSE.push(listed, (f64::NEG_INFINITY, label))?;
                        }
                    }
                    ranking.rank_with_zeros(row, listed.iter().copied(), std::iter::empty(), places)?;
                    search.forget();
                }
                Ok(())
            },
        )?;
        Ok(TopK { indices: into_array(labels, n, k), scores: into_array(values, n, k) })
    }

    fn prepared(&self, x: &Matrix<'_>, control: &Control) -> Result<Vectors> {
        if x.n_features() != self.n_features {
            return Err(Error::shape("each row of X", self.n_features, x.n_features()));
        }
        self.features.prepare(x, self.idf(), control)
    }

    fn n_labels_below(&self) -> Result<Vec<Vec<u32>>> {
        PURPOSE.results(self.trees.iter().map(|tree| tree.n_labels_below()))
    }

    /// Returns the logarithm of the mean over the trees.
    fn score(&self, largest: f64, sum: f64) -> f64 {
        largest + (sum / self.trees.len() as f64).ln()
    }
}

/// Returns the number of labels that are excluded for a sample.
fn n_excluded(excluded: &LabelView<'_>, row: usize) -> usize {
    let row = if excluded.n_samples() == 1 { 0 } else { row };
    excluded.ptr()[row + 1] - excluded.ptr()[row]
}

/// A label, the largest logarithm of its products in the trees, and the sum of the products divided by the largest one.
type Found = (u32, f64, f64);

/// The labels that all trees find for a sample.
#[derive(Debug)]
struct Search<'s> {
    model: &'s LabelTreeModel,
    n_labels_below: &'s [Vec<u32>],
    beam: Beam,
    found: Vec<Found>,
    /// The place of each label among those that were found.
    place: Vec<u32>,
}

impl<'s> Search<'s> {
    fn new(model: &'s LabelTreeModel, n_labels_below: &'s [Vec<u32>]) -> Result<Self> {
        let place = PURPOSE.filled(NOT_FOUND, model.n_labels)?;
        Ok(Search { model, n_labels_below, beam: Beam::default(), found: Vec::new(), place })
    }

    /// Finds the labels of a sample, at least `least` in each tree if it has as many.
    fn find(&mut self, sample: (&[u32], &[f32]), least: usize) -> Result<()> {
        let Search { model, n_labels_below, beam, found, place } = self;
        for (tree, below) in model.trees.iter().zip(*n_labels_below) {
            beam.search(tree, below, sample, (model.beam_width, least), |label, log| {
                let place = &mut place[label as usize];
                if *place == NOT_FOUND {
                    *place = found.len() as u32;
                    return PURPOSE.push(found, (label, log, 1.0));
                }
                let (_, largest, sum) = &mut found[*place as usize];
                match log > *largest {
                    true => (*largest, *sum) = (log, *sum * (*largest - log).exp() + 1.0),
                    false => *sum += (log - *largest).exp(),
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn is_found(&self, label: u32) -> bool {
        self.place[label as usize] != NOT_FOUND
    }

    fn forget(&mut self) {
        self.found.drain(..).for_each(|(label, ..)| self.place[label as usize] = NOT_FOUND);
    }
}
