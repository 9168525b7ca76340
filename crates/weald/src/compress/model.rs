//! The compressed model: an ordinary forest of scores, and what the scores mean.

use ndarray::Array2;

use crate::control::Control;
use crate::data::{LabelView, Matrix, Outputs, Query};
use crate::error::Result;
use crate::forest::Forest;
use crate::loss::Link;
use crate::model::{Additive, RankBy, Summed, TopK, best_columns};
use crate::tree::Precision;

/// A compressed forest. It is immutable.
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed {
    pub(crate) forest: Forest,
    pub(crate) outputs: Outputs,
    pub(crate) link: Link,
    pub(crate) l1_norm: f64,
}

best_columns!(Compressed);

impl Summed for Compressed {
    fn summed(&self) -> Result<Additive<'_>> {
        self.additive()
    }

    fn rank_by(&self) -> RankBy {
        if matches!(self.outputs, Outputs::Classes { .. }) { RankBy::Predictions } else { RankBy::Scores }
    }

    fn shown(&self, ranked: f64) -> f64 {
        if matches!(self.outputs, Outputs::Classes { .. }) { ranked } else { self.link.of_score(ranked) }
    }
}

impl Compressed {
    /// Returns the model as trees of scores and a link, which prediction and exporters read.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`] when there is not enough memory.
    pub fn additive(&self) -> Result<Additive<'_>> {
        Ok(Additive { outputs: &self.outputs, link: self.link, ..self.forest.additive()? })
    }

    /// Returns the forest of scores: it has one numerical output for each score.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// Returns the number of features that samples must have.
    pub fn n_features(&self) -> usize {
        self.forest.n_features
    }

    /// Returns the meaning of the columns of predictions.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Returns the number of scores of a sample: one for each numerical output and label, one for two classes, and
    /// otherwise one for each class.
    pub fn width(&self) -> usize {
        self.forest.outputs.width()
    }

    /// Returns t, the norm of the coefficients, which is the position of the model on its path.
    pub fn l1_norm(&self) -> f64 {
        self.l1_norm
    }

    /// Returns whether scores are log-odds (halved, for labels and two classes), rather than numerical outputs or
    /// estimates of 0 and 1.
    pub fn has_log_odds(&self) -> bool {
        self.link.has_log_odds()
    }

    /// Returns the number of test nodes of all trees.
    pub fn n_test_nodes(&self) -> usize {
        self.forest.trees.iter().map(|tree| tree.n_nodes() / 2).sum()
    }

    /// Returns the scores, (n_samples, width), of the linear model over nodes. Layouts and threads are those of
    /// [`Forest::predict`].
    ///
    /// # Errors
    /// The same as for [`Forest::predict`].
    pub fn predict_scores<'x>(&self, x: impl Into<Query<'x>>) -> Result<Array2<f64>> {
        let Query { x, control } = &x.into();
        self.forest.predict((x, control))
    }

    /// Returns predictions, (n_samples, width of the outputs): numerical outputs, or probabilities of labels and
    /// classes.
    ///
    /// # Errors
    /// The same as for [`Forest::predict`].
    pub fn predict<'x>(&self, x: impl Into<Query<'x>>) -> Result<Array2<f64>> {
        let Query { x, control } = &x.into();
        self.additive()?.predict(x, control)
    }

    fn topk(&self, x: &Matrix<'_>, k: usize, excluded: Option<&LabelView<'_>>, control: &Control) -> Result<TopK> {
        let mut best = self.additive()?.topk(x, k, self.rank_by(), excluded, control)?;
        best.scores.iter_mut().for_each(|score| *score = self.shown(*score));
        Ok(best)
    }

    /// Returns the model with scores in leaves that have fewer bits, as [`Forest::with_precision`] does.
    ///
    /// # Errors
    /// The same as for [`Forest::with_precision`].
    pub fn with_precision(&self, precision: Precision, control: &Control) -> Result<Compressed> {
        let forest = self.forest.with_precision(precision, control)?;
        Ok(Compressed { forest, outputs: self.outputs.clone(), link: self.link, l1_norm: self.l1_norm })
    }
}
