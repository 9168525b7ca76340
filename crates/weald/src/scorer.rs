//! One sample after another, by a model of any kind.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use crate::boost::Boosted;
use crate::centroid::{CentroidForest, OfCentroids};
use crate::compress::Compressed;
use crate::data::{Outputs, Sample};
use crate::error::{Error, Purpose, Result};
use crate::forest::Forest;
use crate::label_tree::{LabelTreeModel, OfLabelTrees};
use crate::linear::{LinearModel, OfWeights};
use crate::model::{OfTrees, OneByOne, Wanted, check_topk};
#[cfg(feature = "model-files")]
use crate::model_file::Model;
use crate::tree::Tree;

/// A model of any kind that scores one sample after another, for services. What does not depend on the sample is done once.
///
/// A clone is the same scorer, and threads may share one. No call starts a thread, and memory is used again. A sparse sample
/// costs what its stored values and, in models of trees, the paths to their leaves cost.
///
/// ```
/// use weald::{LabelView, LinearConfig, Matrix, Scorer};
///
/// let x = Matrix::csr(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
/// let y = LabelView::try_new(vec![0, 1, 2, 3, 4], vec![0, 0, 2, 2], 3)?;
/// let model = LinearConfig::default().c(10.0).fit((&x, y))?;
/// let expected = model.predict(&x)?;
///
/// let scorer = Scorer::new(model)?; // or an Arc of a model
/// // Words 2 and 4, three times and once, and the same with a value for each word.
/// let mut probabilities = [0.0; 3];
/// scorer.predict((&[2, 4], &[3.0, 1.0]), &mut probabilities)?;
/// assert!(expected.row(2).iter().eq(&probabilities));
/// assert_eq!(scorer.topk(&[0.0, 0.0, 3.0, 0.0, 1.0], 1)?[0].0, 2);
/// # Ok::<(), weald::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scorer {
    model: Arc<dyn OneByOne>,
    /// Working memory that no call uses at present.
    idle: Arc<Mutex<Vec<Box<dyn Any + Send>>>>,
}

impl Scorer {
    /// Prepares a model, or an [`Arc`] of one: a tree, a forest, a boosted, compressed, linear or label-tree model, a centroid
    /// forest, or what a model file contains.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for a forest without trees, and for boosting of other weak models than trees, and
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn new<M: TryInto<Scorer, Error = Error>>(model: M) -> Result<Self> {
        model.try_into()
    }

    /// Returns the number of features that a sample must have.
    pub fn n_features(&self) -> usize {
        self.model.shape().n_features
    }

    /// Returns the meaning of predictions.
    pub fn outputs(&self) -> &Outputs {
        &self.model.shape().outputs
    }

    /// Returns the number of scores of a sample.
    pub fn n_scores(&self) -> usize {
        self.model.shape().n_scores
    }

    /// Returns the approximate number of steps for a sample: thousands take microseconds.
    pub fn cost<'s>(&self, sample: impl Into<Sample<'s>>) -> usize {
        self.model.cost(sample.into())
    }

    /// Writes the predictions of a sample, as many as its outputs have columns: numbers, or probabilities of classes or
    /// labels. The bits are those of the model's `predict`.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] or [`crate::ErrorKind::Invalid`] for another number of places, for features that do
    /// not increase or that the model does not have, for infinity, for NaN in models without trees, and if scores have no
    /// probabilities. The places are then unchanged. Returns [`crate::ErrorKind::OutOfMemory`].
    pub fn predict<'s>(&self, sample: impl Into<Sample<'s>>, predictions: &mut [f64]) -> Result<()> {
        check_length("predictions", self.outputs().width(), predictions)?;
        self.score(sample.into(), Wanted::Predictions(predictions))
    }

    /// Writes the scores of a sample, of which predictions are made: see [`Scorer::n_scores`]. In forests both are the same;
    /// labels that a label tree does not find have the score −∞.
    ///
    /// # Errors
    /// The same as for [`Scorer::predict`].
    pub fn scores<'s>(&self, sample: impl Into<Sample<'s>>, scores: &mut [f64]) -> Result<()> {
        check_length("scores", self.n_scores(), scores)?;
        self.score(sample.into(), Wanted::Scores(scores))
    }

    /// Returns the `k` best columns for a sample and what the model's `predict_topk` returns for them, in the same order.
    ///
    /// # Errors
    /// The same as for [`Scorer::predict`], and [`crate::ErrorKind::Invalid`] when `k` is 0 or larger than the number of
    /// columns.
    pub fn topk<'s>(&self, sample: impl Into<Sample<'s>>, k: usize) -> Result<Vec<(u32, f64)>> {
        check_topk((1, self.model.shape().n_ranked), k, None)?;
        let (mut columns, mut values) = (PURPOSE.filled(0, k)?, PURPOSE.filled(0.0, k)?);
        self.score(sample.into(), Wanted::Best(&mut columns, &mut values))?;
        PURPOSE.collected(columns.into_iter().zip(values))
    }

    fn score(&self, sample: Sample<'_>, wanted: Wanted<'_>) -> Result<()> {
        let has_missing = sample.check(self.n_features())?;
        if has_missing && !self.model.shape().takes_missing {
            return Err(Error::invalid("the sample", "NaN", "have finite float32 values"));
        }
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle().pop();
        let mut scratch = found.map_or_else(|| self.model.scratch(), Ok)?;
        self.model.score(sample, has_missing, wanted, &mut *scratch)?;
        idle().push(scratch);
        Ok(())
    }
}

const PURPOSE: Purpose = Purpose("the best columns");

fn check_length(what: &'static str, expected: usize, places: &[f64]) -> Result<()> {
    if places.len() == expected { Ok(()) } else { Err(Error::shape(what, expected, places.len())) }
}

/// Makes scorers of models and of shared models.
macro_rules! scorers {
    ($($model:ty: $of:expr,)+) => { $(
        impl TryFrom<Arc<$model>> for Scorer {
            type Error = Error;

            fn try_from(model: Arc<$model>) -> Result<Self> {
                Ok(Scorer { model: Arc::new($of(model)?), idle: Arc::default() })
            }
        }

        impl TryFrom<$model> for Scorer {
            type Error = Error;

            fn try_from(model: $model) -> Result<Self> {
                Scorer::try_from(Arc::new(model))
            }
        }
    )+ };
}

scorers! {
    Tree: |tree: Arc<Tree>| OfTrees::new(Arc::new(Forest::from(tree))),
    Forest: |forest: Arc<Forest>| OfTrees::new(forest),
    Boosted: |model: Arc<Boosted>| OfTrees::new(model),
    Compressed: |model: Arc<Compressed>| OfTrees::new(model),
    CentroidForest: OfCentroids::new,
    LinearModel: OfWeights::new,
    LabelTreeModel: OfLabelTrees::new,
}

#[cfg(feature = "model-files")]
impl TryFrom<Model> for Scorer {
    type Error = Error;

    fn try_from(model: Model) -> Result<Self> {
        match model {
            Model::Forest(model) => model.try_into(),
            Model::Boosted(model) => model.try_into(),
            Model::Compressed(model) => model.try_into(),
            Model::Centroid(model) => model.try_into(),
            Model::Linear(model) => model.try_into(),
            Model::LabelTree(model) => model.try_into(),
        }
    }
}
