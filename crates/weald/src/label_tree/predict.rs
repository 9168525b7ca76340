//! Scores and probabilities of labels: means over the trees, and the best labels.

use super::LabelTreeModel;
use super::beam::Beam;
use crate::centroid::Vectors;
use crate::control::Control;
use crate::data::{LabelView, Matrix, Outputs, Query};
use crate::elementary::{exp, ln};
use crate::error::{Error, Purpose, Result};
use crate::model::{Places, Ranking, SparseScores, TopK, best_columns, check_topk, into_array};
use crate::pool;

const PURPOSE: Purpose = Purpose("the scores of samples");

/// Samples that a thread takes at a time.
const AT_ONCE: usize = 64;

/// Stands for a label that was not found.
const NOT_FOUND: u32 = u32::MAX;

best_columns!(
    LabelTreeModel,
    "Labels are ranked by [`LabelTreeModel::predict_scores`], and their probabilities are returned. Labels that the search \
     does not find come last, with the probability 0: first those of other nodes than the `beam_width` best ones, and then those that \
     no sample of the fit had."
);

impl LabelTreeModel {
    /// Returns the scores of the labels that the search finds for each sample: logarithms of the mean over the trees of
    /// exp(−max(0, 1 − margin)³), with the margin of the label in its leaf, times the twentieth root of the product of this
    /// over the nodes on the path there. A label that the search in a tree does not find counts as 0 there. Labels that are not stored have the score −∞.
    ///
    /// Time for a sample and a node that is followed is that of the sample's entries times the logarithm of the number of
    /// features of the node, and of the weights of these features.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] or [`crate::ErrorKind::Invalid`] if X is not valid,
    /// [`crate::ErrorKind::OutOfMemory`] and [`crate::ErrorKind::Interrupted`].
    pub fn predict_scores<'x>(&self, x: impl Into<Query<'x>>) -> Result<SparseScores> {
        let Query { x, control } = &x.into();
        self.sparse(x, |score, _| Some(score), control)
    }

    /// Returns the probabilities of the labels that the search finds: [`LabelTreeModel::predict_at_least`] with the floor 0.
    ///
    /// # Errors
    /// The same as for [`LabelTreeModel::predict_scores`].
    pub fn predict<'x>(&self, x: impl Into<Query<'x>>) -> Result<SparseScores> {
        self.predict_at_least(x, 0.0)
    }

    /// Returns the probabilities that are positive and at least `floor`: the exponentials of
    /// [`LabelTreeModel::predict_scores`], between 0 and 1. Those of classes are divided by their sum over the classes that
    /// the search finds. Labels that are not stored have a probability of 0, or below the floor.
    ///
    /// # Errors
    /// The same as for [`LabelTreeModel::predict_scores`].
    pub fn predict_at_least<'x>(&self, x: impl Into<Query<'x>>, floor: f64) -> Result<SparseScores> {
        let Query { x, control } = &x.into();
        let kept = |_, probability| Some(probability).filter(|p| *p > 0.0 && *p >= floor);
        self.sparse(x, kept, control)
    }

    /// Returns what `of` keeps of the scores and the probabilities.
    fn sparse(
        &self,
        x: &Matrix<'_>,
        of: impl Fn(f64, f64) -> Option<f64> + Sync,
        control: &Control,
    ) -> Result<SparseScores> {
        let x = self.prepared(x, control)?;
        let n = x.n_rows();
        let blocks = pool::map(control.n_threads(), n.div_ceil(AT_ONCE), |block| {
            let mut search = Search::new(self)?;
            let mut found = SparseScores::empty()?;
            for row in block * AT_ONCE..n.min((block + 1) * AT_ONCE) {
                control.check()?;
                search.each(self, x.of(row as u32), |label, score, probability| {
                    let Some(value) = of(score, probability) else { return Ok(()) };
                    PURPOSE.push(&mut found.columns, label)?;
                    PURPOSE.push(&mut found.values, value)
                })?;
                PURPOSE.push(&mut found.ptr, found.columns.len())?;
            }
            Ok(found)
        })?;
        SparseScores::joined(blocks)
    }

    fn topk(&self, x: &Matrix<'_>, k: usize, excluded: Option<&LabelView<'_>>, control: &Control) -> Result<TopK> {
        let width = self.n_labels();
        check_topk((x.n_samples(), width), k, excluded)?;
        let x = self.prepared(x, control)?;
        let n = x.n_rows();
        let has_samples = self.has_samples()?;
        let mut labels = Purpose("the best labels").zeros(n, k)?;
        let mut values = Purpose("the best scores").zeros(n, k)?;
        pool::for_each(
            control.n_threads(),
            labels.chunks_mut(AT_ONCE * k).zip(values.chunks_mut(AT_ONCE * k)).enumerate(),
            || Ok((Ranking::new(width, excluded)?, Search::new(self)?)),
            |(ranking, search), (block, (labels, values))| {
                let places = labels.chunks_exact_mut(k).zip(values.chunks_exact_mut(k));
                for (row, places) in (block * AT_ONCE..).zip(places) {
                    control.check()?;
                    let least = k + excluded.map_or(0, |excluded| n_excluded(excluded, row));
                    search.best(self, x.of(row as u32), (row, least), &has_samples, ranking, places)?;
                }
                Ok(())
            },
        )?;
        Ok(TopK { indices: into_array(labels, n, k), scores: into_array(values, n, k) })
    }

    /// Returns whether each label is in a leaf: whether samples of the fit had it.
    pub(super) fn has_samples(&self) -> Result<Vec<bool>> {
        let mut found = PURPOSE.filled(false, self.n_labels())?;
        if let Some(tree) = self.trees.first() {
            let leaves = (0..tree.n_nodes()).filter_map(|node| tree.labels(node));
            leaves.flatten().for_each(|&label| found[label as usize] = true);
        }
        Ok(found)
    }

    fn prepared(&self, x: &Matrix<'_>, control: &Control) -> Result<Vectors> {
        if x.n_features() != self.n_features {
            return Err(Error::shape("each row of X", self.n_features, x.n_features()));
        }
        self.features.prepare(x, self.idf(), control)
    }
}

/// What makes probabilities of the scores of a sample.
#[derive(Debug)]
struct Unit {
    largest: f64,
    sum: f64,
}

impl Unit {
    fn probability(&self, score: f64) -> f64 {
        match score <= f64::MIN {
            true => 0.0,
            false => exp(score - self.largest) / self.sum,
        }
    }
}

/// Returns the number of labels that are excluded for a sample.
fn n_excluded(excluded: &LabelView<'_>, row: usize) -> usize {
    let row = if excluded.n_samples() == 1 { 0 } else { row };
    excluded.ptr()[row + 1] - excluded.ptr()[row]
}

/// A label, the largest logarithm in the trees, and the sum of what they are the logarithms of, divided by the largest one.
type Found = (u32, f64, f64);

/// The labels that all trees of a model find for a sample.
#[derive(Debug)]
pub(super) struct Search {
    beam: Beam,
    found: Vec<Found>,
    listed: Vec<(f64, u32)>,
    /// The place of each label among those that were found first.
    place: Vec<u32>,
}

impl Search {
    pub(super) fn new(model: &LabelTreeModel) -> Result<Self> {
        let place = PURPOSE.filled(NOT_FOUND, model.n_labels())?;
        Ok(Search { beam: Beam::default(), found: Vec::new(), listed: Vec::new(), place })
    }

    /// Calls `each` with the labels of a sample that are found, in increasing order, their scores and their probabilities.
    pub(super) fn each(
        &mut self,
        model: &LabelTreeModel,
        sample: (&[u32], &[f32]),
        mut each: impl FnMut(u32, f64, f64) -> Result<()>,
    ) -> Result<()> {
        self.find(model, sample)?;
        self.found.sort_unstable_by_key(|&(label, ..)| label);
        let unit = self.unit(model);
        self.scores(model).try_for_each(|(score, label)| each(label, score, unit.probability(score)))?;
        self.forget();
        Ok(())
    }

    /// Writes the best labels of sample `row` and their probabilities. If fewer than `least` are found, others follow.
    pub(super) fn best(
        &mut self,
        model: &LabelTreeModel,
        sample: (&[u32], &[f32]),
        (row, least): (usize, usize),
        has_samples: &[bool],
        ranking: &mut Ranking<'_>,
        (labels, values): Places<'_>,
    ) -> Result<()> {
        self.find(model, sample)?;
        let unit = self.unit(model);
        let mut listed = std::mem::take(&mut self.listed);
        listed.clear();
        PURPOSE.extend(&mut listed, self.scores(model))?;
        if listed.len() < least {
            for (label, has_samples) in (0..).zip(has_samples).filter(|(label, _)| !self.is_found(*label)) {
                let last = if *has_samples { f64::MIN } else { f64::NEG_INFINITY };
                PURPOSE.push(&mut listed, (last, label))?;
            }
        }
        ranking.rank_with_zeros(row, listed.iter().copied(), std::iter::empty(), (labels, &mut *values))?;
        let is_label = labels.iter().map(|label| *label != TopK::NONE);
        for (value, _) in values.iter_mut().zip(is_label).filter(|(_, is_label)| *is_label) {
            *value = unit.probability(*value);
        }
        self.listed = listed;
        self.forget();
        Ok(())
    }

    /// Finds the labels of a sample.
    fn find(&mut self, model: &LabelTreeModel, sample: (&[u32], &[f32])) -> Result<()> {
        let Search { beam, found, place, .. } = self;
        for tree in &model.trees {
            beam.search(tree, sample, model.beam_width, |label, log| {
                let place = &mut place[label as usize];
                if *place == NOT_FOUND {
                    *place = found.len() as u32;
                    return PURPOSE.push(found, (label, log, 1.0));
                }
                let (_, largest, sum) = &mut found[*place as usize];
                match log > *largest {
                    true => (*largest, *sum) = (log, *sum * exp(*largest - log) + 1.0),
                    false => *sum += exp(log - *largest),
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Returns the scores and the labels that were found: the logarithm of the mean over the trees.
    fn scores(&self, model: &LabelTreeModel) -> impl ExactSizeIterator<Item = (f64, u32)> + Clone {
        let n_trees = model.trees.len() as f64;
        self.found.iter().map(move |&(label, largest, sum)| (largest + ln(sum / n_trees), label))
    }

    /// Returns what makes probabilities of the scores.
    fn unit(&mut self, model: &LabelTreeModel) -> Unit {
        match model.outputs {
            Outputs::Classes { .. } => {
                // Sums follow the order of classes.
                self.found.sort_unstable_by_key(|&(label, ..)| label);
                let scores = self.scores(model).map(|(score, _)| score);
                let largest = scores.clone().fold(f64::NEG_INFINITY, f64::max);
                Unit { largest, sum: scores.map(|score| exp(score - largest)).sum() }
            }
            Outputs::Labels { .. } | Outputs::Real { .. } => Unit { largest: 0.0, sum: 1.0 },
        }
    }

    fn is_found(&self, label: u32) -> bool {
        self.place[label as usize] != NOT_FOUND
    }

    fn forget(&mut self) {
        self.found.drain(..).for_each(|(label, ..)| self.place[label as usize] = NOT_FOUND);
    }
}
