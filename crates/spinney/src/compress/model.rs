//! The compressed model: an ordinary forest of scores, and what scores mean.

use ndarray::Array2;

use crate::control::Control;
use crate::data::{LabelView, Matrix, Outputs};
use crate::error::Result;
use crate::forest::Forest;
use crate::loss::Link;
use crate::model::{Additive, RankBy, TopK};
use crate::tree::Precision;

/// A compressed forest. Immutable.
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed {
    pub(crate) forest: Forest,
    pub(crate) outputs: Outputs,
    pub(crate) link: Link,
    pub(crate) l1_norm: f64,
}

impl Compressed {
    /// The model as trees of scores and a link, which prediction and exporters read.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn additive(&self) -> Result<Additive<'_>> {
        Ok(Additive { outputs: &self.outputs, link: self.link, ..self.forest.additive()? })
    }

    /// The forest of scores: its outputs are numbers, one for each score.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// Meaning of the columns of predictions.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Number of scores of a row: one for each number and label, one for two classes, else one for each class.
    pub fn width(&self) -> usize {
        self.forest.outputs.width()
    }

    /// t: where on its path the model is.
    pub fn l1_norm(&self) -> f64 {
        self.l1_norm
    }

    /// Whether scores are log-odds (halved, of labels and two classes), and not numbers or estimates of 0 and 1.
    pub fn has_log_odds(&self) -> bool {
        self.link.has_log_odds()
    }

    /// Test nodes of all trees.
    pub fn n_test_nodes(&self) -> usize {
        self.forest.trees.iter().map(|tree| tree.n_nodes() / 2).sum()
    }

    /// Scores, (n_samples, width): the linear model over nodes. Layouts and threads as [`Forest::predict`].
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn predict_scores<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array2<f64>> {
        self.forest.predict(x, control)
    }

    /// Numbers, or probabilities of labels and classes: (n_samples, width of the outputs).
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn predict<'x>(&self, x: impl Into<Matrix<'x>>, control: &Control) -> Result<Array2<f64>> {
        self.additive()?.predict(&x.into(), control)
    }

    /// The `k` columns of greatest prediction of each row: prediction descending, then column ascending. Labels by their
    /// scores, of which probabilities are a rising function.
    ///
    /// The whole prediction is never held.
    ///
    /// # Errors
    /// As [`Forest::predict_topk`].
    pub fn predict_topk<'x>(&self, x: impl Into<Matrix<'x>>, k: usize, control: &Control) -> Result<TopK> {
        self.predict_topk_excluding(x, k, None, control)
    }

    /// The same of the columns that are not `excluded`, as [`Forest::predict_topk_excluding`]; places without a column have
    /// any score.
    ///
    /// # Errors
    /// As [`Forest::predict_topk_excluding`].
    pub fn predict_topk_excluding<'x>(
        &self,
        x: impl Into<Matrix<'x>>,
        k: usize,
        excluded: Option<&LabelView<'_>>,
        control: &Control,
    ) -> Result<TopK> {
        let model = self.additive()?;
        match self.outputs {
            Outputs::Classes { .. } => model.topk(&x.into(), k, RankBy::Predictions, excluded, control),
            Outputs::Real { .. } | Outputs::Labels { .. } => {
                let mut best = model.topk(&x.into(), k, RankBy::Scores, excluded, control)?;
                best.scores.iter_mut().for_each(|score| *score = self.link.of_score(*score));
                Ok(best)
            }
        }
    }

    /// Leaves of scores with fewer bits, as [`Forest::with_precision`].
    ///
    /// # Errors
    /// As [`Forest::with_precision`].
    pub fn with_precision(&self, precision: Precision, control: &Control) -> Result<Compressed> {
        let forest = self.forest.with_precision(precision, control)?;
        Ok(Compressed { forest, outputs: self.outputs.clone(), link: self.link, l1_norm: self.l1_norm })
    }
}
