//! One sample after another, for services: what models of all kinds do for [`crate::Scorer`], and sums over trees.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use super::means::Best;
use super::{Additive, RankBy, Term, Terms};
use crate::data::{Outputs, Sample};
use crate::error::{Purpose, Result};
use crate::tree::Tree;
use crate::tree::traverse::{LANES, walk_trees};

const PURPOSE: Purpose = Purpose("a sample and its scores");

/// What is computed of a sample.
#[derive(Debug)]
pub(crate) enum Wanted<'p> {
    Scores(&'p mut [f64]),
    Predictions(&'p mut [f64]),
    /// The best columns and their scores.
    Best(&'p mut [u32], &'p mut [f64]),
}

/// What all models have for callers that score samples.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) n_features: usize,
    pub(crate) outputs: Outputs,
    pub(crate) n_scores: usize,
    /// The number of columns that are ranked.
    pub(crate) n_ranked: usize,
    /// Whether NaN is a missing value, and not an error.
    pub(crate) takes_missing: bool,
}

/// A model, prepared to score one sample after another.
pub(crate) trait OneByOne: Debug + Send + Sync {
    fn shape(&self) -> &Shape;

    /// Returns the approximate number of steps for a sample.
    fn cost(&self, sample: Sample<'_>) -> usize {
        self.shape().n_scores.saturating_mul(sample.n_stored())
    }

    /// Returns the working memory of one call.
    fn scratch(&self) -> Result<Box<dyn Any + Send>>;

    /// Computes what is wanted of a sample that was checked, of which some values may be missing. After an error, `scratch`
    /// is of no use.
    fn score(&self, sample: Sample<'_>, missing: bool, wanted: Wanted<'_>, scratch: &mut dyn Any) -> Result<()>;
}

/// A model whose scores are sums over trees.
pub(crate) trait Summed: Debug + Send + Sync {
    fn summed(&self) -> Result<Additive<'_>>;

    /// Returns an error if scores cannot be turned into predictions.
    fn check_predictions(&self) -> Result<()> {
        Ok(())
    }

    /// Returns what the best columns are the largest of.
    fn rank_by(&self) -> RankBy {
        RankBy::Scores
    }

    /// Returns what is shown for the best columns, from what they are ranked by.
    fn shown(&self, ranked: f64) -> f64 {
        ranked
    }
}

/// A model of trees, prepared to score one sample after another.
#[derive(Debug)]
pub(crate) struct OfTrees {
    model: Arc<dyn Summed>,
    shape: Shape,
    n_trees: usize,
    /// The first columns of the classes of each output.
    starts: Vec<usize>,
}

#[derive(Debug)]
struct Scratch {
    /// The values of all features of a sparse sample; otherwise zeros.
    x: Vec<f32>,
    scores: Vec<f64>,
    predictions: Vec<f64>,
    best: Best<'static>,
}

impl OfTrees {
    pub(crate) fn new(model: Arc<dyn Summed>) -> Result<Self> {
        let found = model.summed()?;
        found.check_divisor()?;
        let shape = Shape {
            n_features: found.n_features,
            outputs: found.outputs.clone(),
            n_scores: found.width,
            n_ranked: if model.rank_by() == RankBy::Scores { found.width } else { found.n_columns() },
            takes_missing: true,
        };
        let (n_trees, starts) = (found.trees.len(), found.outputs.class_starts()?);
        drop(found);
        Ok(OfTrees { model, shape, n_trees, starts })
    }
}

impl OneByOne for OfTrees {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn cost(&self, sample: Sample<'_>) -> usize {
        const STEPS_PER_TREE: usize = 16;
        let of_tree = self.shape.n_scores.saturating_add(STEPS_PER_TREE);
        of_tree.saturating_mul(self.n_trees).saturating_add(sample.n_stored())
    }

    fn scratch(&self) -> Result<Box<dyn Any + Send>> {
        let Shape { outputs, n_scores, n_ranked, .. } = &self.shape;
        let (scores, predictions) = (PURPOSE.filled(0.0, *n_scores)?, PURPOSE.filled(0.0, outputs.width())?);
        Ok(Box::new(Scratch { x: Vec::new(), scores, predictions, best: Best::new(*n_ranked, None)? }))
    }

    fn score(&self, sample: Sample<'_>, missing: bool, wanted: Wanted<'_>, scratch: &mut dyn Any) -> Result<()> {
        let Scratch { x, scores, predictions, best } = scratch.downcast_mut().expect("it is of this model");
        let model = self.model.summed()?;
        let row = match sample {
            Sample::Dense(row) => row,
            Sample::Sparse(..) => {
                PURPOSE.resize(x, self.shape.n_features, 0.0)?;
                sample.entries().for_each(|(feature, value)| x[feature as usize] = value);
                &*x
            }
        };
        let row = (row, missing);
        match wanted {
            Wanted::Scores(out) => model.scores_of_row(row, out),
            Wanted::Predictions(out) => {
                self.model.check_predictions()?;
                model.scores_of_row(row, scores);
                model.link.apply(&self.starts, scores, out);
            }
            Wanted::Best(columns, values) => {
                let by = self.model.rank_by();
                if by == RankBy::Scores && matches!(model.terms, Terms::Leaves) && model.start.is_empty() {
                    let sum = |sums: &mut super::touched::TouchedRow| {
                        model.each_leaf(row, |_, tree, leaf| sums.add(&tree.leaves, leaf, 1.0))
                    };
                    best.rank(0, sum, (model.divisor, f64::INFINITY), (columns, &mut *values))?;
                } else {
                    model.scores_of_row(row, scores);
                    if by == RankBy::Predictions {
                        model.link.apply(&self.starts, scores, predictions);
                    }
                    let ranked = if by == RankBy::Predictions { predictions } else { scores };
                    best.ranking.rank(0, ranked.iter().copied(), (columns, &mut *values))?;
                }
                values.iter_mut().for_each(|value| *value = self.model.shown(*value));
            }
        }
        if matches!(sample, Sample::Sparse(..)) {
            sample.entries().for_each(|(feature, _)| x[feature as usize] = 0.0);
        }
        Ok(())
    }
}

impl Additive<'_> {
    /// Writes the scores of one sample. The bits are those of the methods for many samples. The cost is O(trees · depth)
    /// steps, plus one step for each stored value of the leaves that are reached.
    pub(crate) fn scores_of_row(&self, row: (&[f32], bool), scores: &mut [f64]) {
        self.begin(scores);
        let added = self.each_leaf(row, |t, tree, leaf| {
            match self.term(t) {
                Term::Leaf => tree.leaves.add_to(leaf, scores),
                Term::Column(column) => tree.leaves.add_to(leaf, &mut scores[column..=column]),
                Term::RankOne(direction) => {
                    let mut number = [0.0];
                    tree.leaves.add_to(leaf, &mut number);
                    let factors = direction.factors();
                    scores.iter_mut().zip(factors).for_each(|(sum, factor)| *sum += number[0] * factor);
                }
            }
            Ok(())
        });
        added.expect("no leaf is refused");
        self.divide(scores);
    }

    /// Calls `each` with the number of each tree, the tree, and the leaf that a sample reaches, as a row of its table.
    fn each_leaf(
        &self,
        (row, has_missing): (&[f32], bool),
        mut each: impl FnMut(usize, &Tree, usize) -> Result<()>,
    ) -> Result<()> {
        let mut ids = [0; LANES];
        for (first, trees) in (0..).step_by(LANES).zip(self.trees.chunks(LANES)) {
            let ids = &mut ids[..trees.len()];
            if has_missing {
                walk_trees::<true>(trees, row, ids);
            } else {
                walk_trees::<false>(trees, row, ids);
            }
            for ((t, tree), &id) in (first..).zip(trees).zip(&*ids) {
                each(t, tree, tree.nodes[id as usize].right() as usize)?;
            }
        }
        Ok(())
    }
}
