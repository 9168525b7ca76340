//! The training data of a learner: X with the kinds of its features, y with its unknown cells, and weights.

use std::borrow::Cow;

use ndarray::{Array2, ArrayView2};

use super::known::Known;
use super::row_weights::{ClassWeight, RowWeights};
use super::sparse_targets::SparseTargets;
use super::targets::{LabelView, Outputs, Targets};
use super::train_y::TrainY;
use super::weights::Weights;
use super::{FeatureKind, Matrix, Schema};
use crate::control::Control;
use crate::error::{Error, Purpose, Result};

/// Samples to fit a model on, or to evaluate it on. The data are borrowed, not copied.
///
/// The `fit` method of every learner takes a data set, or a pair of X and y that is converted to one.
///
/// ```
/// use weald::ndarray::array;
/// use weald::{Criterion, Dataset, TreeConfig};
///
/// let (x, y) = (array![[0.0f32], [1.0], [2.0], [3.0]], array![[0.0], [0.0], [5.0], [6.0]]);
/// let config = TreeConfig::new(Criterion::Variance);
/// let tree = config.fit((&x, &y))?;
/// assert_eq!(tree.n_leaves(), 3);
/// // A sample of weight zero is no sample.
/// let weighted = Dataset::new(&x, &y).sample_weight(&[1.0, 1.0, 1.0, 0.0][..]);
/// assert_eq!(config.fit(&weighted)?.n_leaves(), 2);
/// # Ok::<(), weald::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dataset<'a> {
    x: Matrix<'a>,
    y: Targets<'a>,
    schema: Schema<'a>,
    y_weight: Option<CellWeights<'a>>,
    weights: RowWeights<'a>,
    base_margin: Option<ArrayView2<'a, f64>>,
    /// The known cells, if a mask hides some: see [`Dataset::observed`].
    known: Option<&'a Known>,
    control: Option<Control>,
}

/// What each cell of y weighs: see [`Dataset::y_weight`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CellWeights<'a> {
    /// `true` for each unknown cell, of shape (n_samples, n_outputs). Others weigh one.
    Unknown(ArrayView2<'a, bool>),
    /// The unknown outputs of each sample. Others weigh one.
    UnknownOutputs(LabelView<'a>),
    /// The weight of each cell, of shape (n_samples, n_outputs).
    Dense(ArrayView2<'a, f64>),
    /// The weights of some outputs of each sample. Others are unknown.
    Stored(SparseTargets<'a>),
}

impl CellWeights<'_> {
    pub(super) fn shape(&self) -> (usize, usize) {
        match self {
            CellWeights::Unknown(mask) => mask.dim(),
            CellWeights::UnknownOutputs(mask) => (mask.n_samples(), mask.n_labels()),
            CellWeights::Dense(weights) => weights.dim(),
            CellWeights::Stored(weights) => (weights.n_samples(), weights.n_outputs()),
        }
    }

    /// Returns an error if a weight is negative or not finite.
    pub(super) fn check(&self) -> Result<()> {
        let is_wrong = |weight: &&f64| !(weight.is_finite() && **weight >= 0.0);
        let wrong = match self {
            CellWeights::Unknown(_) | CellWeights::UnknownOutputs(_) => None,
            CellWeights::Dense(weights) => weights.iter().find(is_wrong),
            CellWeights::Stored(weights) => weights.values().iter().find(is_wrong),
        };
        wrong.map_or(Ok(()), |wrong| Err(Error::invalid(Y_WEIGHT, wrong, "have finite weights, none of them negative")))
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            CellWeights::Unknown(mask) => mask.iter().all(|masked| !masked),
            CellWeights::UnknownOutputs(mask) => mask.indices().is_empty(),
            CellWeights::Dense(weights) => weights.iter().all(|&weight| weight == 1.0),
            CellWeights::Stored(weights) => {
                let n_cells = weights.n_samples().saturating_mul(weights.n_outputs());
                weights.values().len() == n_cells && weights.values().iter().all(|&weight| weight == 1.0)
            }
        }
    }

    /// Returns a view of the same mask.
    pub(crate) fn view(&self) -> CellWeights<'_> {
        match self {
            CellWeights::Unknown(mask) => CellWeights::Unknown(mask.view()),
            CellWeights::UnknownOutputs(mask) => CellWeights::UnknownOutputs(mask.view()),
            CellWeights::Dense(weights) => CellWeights::Dense(weights.view()),
            CellWeights::Stored(weights) => CellWeights::Stored(weights.view()),
        }
    }
}

impl<'a> Dataset<'a> {
    /// Returns a data set with ordered features, without unknown cells of y, and with equal weights. The data are
    /// validated when a learner takes them.
    pub fn new(x: impl Into<Matrix<'a>>, y: impl Into<Targets<'a>>) -> Self {
        Dataset {
            x: x.into(),
            y: y.into(),
            schema: Schema::default(),
            y_weight: None,
            weights: RowWeights::default(),
            base_margin: None,
            known: None,
            control: None,
        }
    }

    /// Returns the data set of what does not depend on X, which has one feature that is zero.
    pub(crate) fn of_y(y: impl Into<Targets<'a>>) -> Result<Self> {
        let y = y.into();
        let ptr = Purpose("the samples of y").filled(0usize, y.n_samples() + 1)?;
        Ok(Dataset::new(Matrix::csr(ptr, Vec::new(), Vec::new(), 1)?, y))
    }

    /// Sets the weight of each sample: a slice of length n_samples of finite weights, none negative. `None`: every
    /// sample has weight 1.
    #[must_use]
    pub fn sample_weight(mut self, sample_weight: impl Into<Option<&'a [f64]>>) -> Self {
        self.weights.sample_weight = sample_weight.into();
        self
    }

    /// Sets the weights of classes. They are supported only if y is classes or labels.
    #[must_use]
    pub fn class_weight(mut self, class_weight: ClassWeight<'a>) -> Self {
        self.weights.class_weight = class_weight;
        self
    }

    /// Sets the sample weights and the class weights together.
    #[must_use]
    pub fn weights(mut self, weights: RowWeights<'a>) -> Self {
        self.weights = weights;
        self
    }

    /// Sets the kinds of the features.
    #[must_use]
    pub fn schema(mut self, schema: Schema<'a>) -> Self {
        self.schema = schema;
        self
    }

    /// Sets the weights of the cells of y, by which they multiply the weight of their sample. A cell of weight zero is
    /// unknown: its value is not read, and a sample whose cells are all unknown has no effect. Learners that know cells
    /// or do not, and learners that need all of them, return an error for other weights.
    ///
    /// ```
    /// use weald::ndarray::array;
    /// use weald::{Criterion, Dataset, CellWeights, TreeConfig};
    ///
    /// let x = array![[0.0f32], [1.0], [2.0], [3.0]];
    /// let y = array![[0.0, 5.0], [0.0, f64::NAN], [1.0, f64::NAN], [1.0, 7.0]];
    /// let mask = y.mapv(f64::is_nan);
    /// let data = Dataset::new(&x, &y).y_weight(CellWeights::from(&mask));
    /// let tree = TreeConfig::new(Criterion::Variance).fit(&data)?;
    /// // Both leaves have a known cell of each output, whose mean is the prediction.
    /// assert_eq!(tree.n_leaves(), 2);
    /// assert_eq!(tree.leaves().value(0).collect::<Vec<_>>(), [(1, 5.0)]);
    /// assert_eq!(tree.leaves().value(1).collect::<Vec<_>>(), [(0, 1.0), (1, 7.0)]);
    /// # Ok::<(), weald::Error>(())
    /// ```
    #[must_use]
    pub fn y_weight(mut self, y_weight: impl Into<Option<CellWeights<'a>>>) -> Self {
        self.y_weight = y_weight.into();
        self
    }

    /// Sets the initial scores of boosting, in place of a constant, for example the scores of another model. They have
    /// shape (n_samples, n_scores). The fitted model does not include them: to predict, add them to its scores.
    /// Learners other than boosting return an error.
    #[must_use]
    pub fn base_margin(mut self, base_margin: impl Into<Option<ArrayView2<'a, f64>>>) -> Self {
        self.base_margin = base_margin.into();
        self
    }

    /// Sets the control of the fit: its threads, its progress, and the flag that stops it. Otherwise a fit has one thread.
    #[must_use]
    pub fn control(mut self, control: &Control) -> Self {
        self.control = Some(control.clone());
        self
    }

    /// Returns the control that was set, or one for a single thread.
    pub(crate) fn under(&self) -> Control {
        self.control.clone().unwrap_or_default()
    }

    /// Returns X.
    pub fn x(&self) -> &Matrix<'a> {
        &self.x
    }

    /// Returns y.
    pub fn y(&self) -> &Targets<'a> {
        &self.y
    }

    /// Returns the number of samples.
    pub fn n_samples(&self) -> usize {
        self.x.n_samples()
    }

    /// Returns the number of features.
    pub fn n_features(&self) -> usize {
        self.x.n_features()
    }

    pub(crate) fn outputs(&self) -> Outputs {
        self.y.outputs()
    }

    /// Returns the kind of feature `j`.
    pub(crate) fn kind(&self, j: usize) -> FeatureKind {
        self.schema.kind(j)
    }

    /// Returns the kinds of the features.
    pub(crate) fn schema_view(&self) -> Schema<'_> {
        self.schema.view()
    }

    /// Returns for each feature whether it is categorical, or `None` if no feature is.
    pub(crate) fn categories(&self) -> Result<Option<Vec<bool>>> {
        self.schema.categories()
    }

    pub(crate) fn row_weights(&self) -> RowWeights<'a> {
        self.weights
    }

    /// Returns the weight of each sample, sample weight times class weight, for learners that do not draw samples.
    /// `None`: all weights are equal.
    pub(crate) fn weight_by_row(&self) -> Result<Option<Cow<'a, [f64]>>> {
        self.weights.by_row_of_known(&self.y, self.known)
    }

    /// Like [`Dataset::weight_by_row`], for one of several workers, whose samples may all have weight zero.
    pub(crate) fn weight_of_worker(&self) -> Result<Option<Cow<'a, [f64]>>> {
        self.weights.by_row_of_worker(&self.y, self.known)
    }

    /// Returns the initial scores, of shape (n_samples, `width`). Error messages use the argument names in `names`.
    pub(crate) fn unchecked_margins(&self) -> Option<&ArrayView2<'a, f64>> {
        self.base_margin.as_ref()
    }

    pub(crate) fn margins(&self, width: usize, names: &Names) -> Result<Option<ArrayView2<'_, f64>>> {
        let Some(margins) = &self.base_margin else { return Ok(None) };
        if margins.dim() != (self.n_samples(), width) {
            let got = format!("shape {:?} for {} samples and {width} scores of each", margins.dim(), self.n_samples());
            return Err(Error::invalid(names.base_margin, got, "have shape (n_samples, n_scores)"));
        }
        if !margins.iter().all(|margin| margin.is_finite()) {
            return Err(Error::invalid(names.base_margin, "NaN or infinity", "have finite values"));
        }
        Ok(Some(margins.view()))
    }

    /// Validates X, y, the kinds of features, the weights of cells and the sample weights. Error messages use the argument names in
    /// `names`.
    pub(crate) fn check(&self, names: &Names) -> Result<()> {
        if self.base_margin.is_some() {
            return Err(Error::unsupported(names.base_margin, "by this learner: only boosting starts from margins"));
        }
        self.check_but_margins(names)
    }

    /// Like [`Dataset::check`], for boosting, which supports initial scores.
    pub(crate) fn check_but_margins(&self, names: &Names) -> Result<()> {
        if self.n_samples() == 0 {
            return Err(Error::invalid(names.x, "0 samples", "have at least one sample"));
        }
        if self.n_features() == 0 {
            return Err(Error::invalid(names.x, "0 features", "have at least one feature"));
        }
        self.check_values()
    }

    /// Like [`Dataset::check`], for one of several workers, whose samples may all have weight zero.
    pub(crate) fn check_of_worker(&self, names: &Names) -> Result<()> {
        if self.n_features() == 0 {
            return Err(Error::invalid(names.x, "0 features", "have at least one feature"));
        }
        self.check_unweighted()?;
        Weights::check_numbers(self.weights.sample_weight, self.n_samples())
    }

    /// Validates the values only: a model without features accepts samples without features.
    pub(crate) fn check_values(&self) -> Result<()> {
        self.check_unweighted()?;
        Weights::check(self.weights.sample_weight, self.n_samples())
    }

    fn check_unweighted(&self) -> Result<()> {
        self.x.check()?;
        self.schema.check(&self.x)?;
        self.y.check(self.n_samples())?;
        self.check_mask()
    }

    /// Like [`Dataset::check`], for samples that are not part of the fit on `to`: the number of features and the
    /// outputs must be the same.
    pub(crate) fn check_against(&self, to: &Dataset<'_>, names: &Names) -> Result<()> {
        self.check_but_margins(names)?;
        if self.n_features() != to.n_features() {
            return Err(Error::shape(names.row_of_x, to.n_features(), self.n_features()));
        }
        if self.outputs() != to.outputs() {
            return Err(Error::invalid(names.y, "other outputs", "have the outputs of y"));
        }
        Ok(())
    }

    /// Returns an error if there is a mask that no learner has taken: see [`Dataset::observed`].
    pub(crate) fn check_mask(&self) -> Result<()> {
        let Some(mask) = &self.y_weight else { return Ok(()) };
        self.check_shape_of_mask()?;
        if mask.is_empty() {
            return Ok(());
        }
        Err(Error::unsupported(Y_WEIGHT, "by this learner"))
    }

    /// Returns an error if the shape of the weights of cells or of y does not match X.
    pub(super) fn check_shape_of_mask(&self) -> Result<()> {
        let Some(mask) = &self.y_weight else { return Ok(()) };
        if self.y.n_samples() != self.n_samples() {
            return Err(Error::shape("y", self.n_samples(), self.y.n_samples()));
        }
        let (expected, got) = ((self.n_samples(), self.outputs().n_outputs()), mask.shape());
        if got != expected {
            return Err(Error::invalid(Y_WEIGHT, format!("shape {got:?}"), "have the shape of y"));
        }
        mask.check()
    }

    pub(crate) fn has_mask(&self) -> bool {
        self.y_weight.is_some()
    }

    pub(crate) fn mask(&self) -> Option<&CellWeights<'a>> {
        self.y_weight.as_ref()
    }

    /// Returns the number of cells of y that a mask hides, or that a learner has taken from one.
    pub(crate) fn n_masked(&self) -> usize {
        let of_known = self.known.map_or(0, Known::n_masked);
        self.y_weight.as_ref().map_or(of_known, |mask| match mask {
            CellWeights::Unknown(mask) => mask.iter().filter(|masked| **masked).count(),
            CellWeights::UnknownOutputs(mask) => mask.indices().len(),
            CellWeights::Dense(weights) => weights.iter().filter(|weight| **weight == 0.0).count(),
            CellWeights::Stored(weights) => {
                let n_known = weights.values().iter().filter(|weight| **weight > 0.0).count();
                weights.n_samples().saturating_mul(weights.n_outputs()).saturating_sub(n_known)
            }
        })
    }

    /// Returns the number of categories of each categorical feature.
    pub(crate) fn numbers_of_categories(&self) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        for j in 0..self.n_features() {
            if let FeatureKind::Category { n_categories } = self.kind(j) {
                Purpose("the kinds of features").push(&mut found, n_categories)?;
            }
        }
        Ok(found)
    }

    /// Returns the known cells of y, if some are unknown and a learner has taken the mask.
    pub(crate) fn known(&self) -> Option<&'a Known> {
        self.known
    }

    /// Returns the data set with these known cells, without a mask; `None` if all cells are known.
    pub(super) fn with_known(self, known: Option<&'a Known>) -> Self {
        Dataset { y_weight: None, known, ..self }
    }

    /// Returns the data set with y in another storage format.
    pub(super) fn with_targets(self, y: Targets<'a>) -> Self {
        Dataset { y, ..self }
    }

    /// Returns y in the form that growth reads. `weights` are the weights of samples, `None` if all are equal.
    pub(crate) fn train_y(&self, weights: Option<&[f64]>) -> Result<TrainY<'_>> {
        let Some(known) = self.known else { return TrainY::new(&self.y) };
        let units = Weights::of_rows(weights, self.n_samples())?;
        TrainY::masked(self, known, |row| units.units(row as usize))
    }

    /// Returns labels with these known cells as numbers, 0 and 1: see [`Dataset::train_y`].
    pub(crate) fn labels_as_numbers(&self, known: &Known, weights: Option<&[f64]>) -> Result<TrainY<'static>> {
        let units = Weights::of_rows(weights, self.n_samples())?;
        TrainY::numbers(self, known, |row| units.units(row as usize))
    }

    /// Returns a view of the same data set.
    pub fn view(&self) -> Dataset<'_> {
        Dataset {
            x: self.x.view(),
            y: self.y.view(),
            schema: self.schema.view(),
            y_weight: self.y_weight.as_ref().map(CellWeights::view),
            weights: self.weights,
            base_margin: self.base_margin.as_ref().map(|margins| margins.view()),
            known: self.known,
            control: self.control.clone(),
        }
    }
}

const Y_WEIGHT: &str = "y_weight";

/// The names of the parts of a data set in error messages.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) x: &'static str,
    pub(crate) row_of_x: &'static str,
    pub(crate) y: &'static str,
    pub(crate) base_margin: &'static str,
}

impl Names {
    pub(crate) const TRAINING: Names = Names { x: "X", row_of_x: "each row of X", y: "y", base_margin: "base_margin" };
    pub(crate) const VALIDATION: Names = Names {
        x: "X of the validation set",
        row_of_x: "each row of X of the validation set",
        y: "y of the validation set",
        base_margin: "base_margin of the validation set",
    };
}

impl<'a, X: Into<Matrix<'a>>, Y: Into<Targets<'a>>> From<(X, Y)> for Dataset<'a> {
    fn from((x, y): (X, Y)) -> Self {
        Dataset::new(x, y)
    }
}

impl<'a, X: Into<Matrix<'a>>, Y: Into<Targets<'a>>> From<(X, Y, &Control)> for Dataset<'a> {
    fn from((x, y, control): (X, Y, &Control)) -> Self {
        Dataset::new(x, y).control(control)
    }
}

impl<'a> From<&'a Dataset<'_>> for Dataset<'a> {
    fn from(data: &'a Dataset<'_>) -> Self {
        data.view()
    }
}

impl<'a> From<(&'a Dataset<'_>, &Control)> for Dataset<'a> {
    fn from((data, control): (&'a Dataset<'_>, &Control)) -> Self {
        data.view().control(control)
    }
}

impl<'a> From<&'a Array2<bool>> for CellWeights<'a> {
    fn from(mask: &'a Array2<bool>) -> Self {
        CellWeights::Unknown(mask.view())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::data::FeatureKind;
    use crate::error::ErrorKind;

    fn at_fault(data: &Dataset<'_>) -> &'static str {
        match data.check(&Names::TRAINING).unwrap_err().kind() {
            ErrorKind::Invalid { what, .. } | ErrorKind::Unsupported { what, .. } | ErrorKind::Shape { what, .. } => {
                what
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn errors_name_the_parts_that_do_not_fit() {
        let (x, y) = (array![[0f32, 1.0], [1.0, 0.0]], array![[0.0], [1.0]]);
        assert!(Dataset::new(&x, &y).check(&Names::TRAINING).is_ok());
        assert_eq!(at_fault(&Dataset::new(&Array2::<f32>::zeros((0, 2)), &y)), "X");
        assert_eq!(at_fault(&Dataset::new(&Array2::<f32>::zeros((2, 0)), &y)), "X");
        assert_eq!(at_fault(&Dataset::new(&x, &array![[0.0]])), "y");
        assert_eq!(at_fault(&Dataset::new(&x, &y).sample_weight(&[1.0][..])), "sample_weight");
        let kinds = [FeatureKind::Ordered, FeatureKind::Category { n_categories: 65_536 }];
        assert_eq!(at_fault(&Dataset::new(&x, &y).schema(Schema::new(&kinds[..]))), "schema");
        assert_eq!(at_fault(&Dataset::new(&x, &y).schema(Schema::new(&kinds[..1]))), "schema");
        assert!(Dataset::new(&x, &y).schema(Schema::new(vec![kinds[0]; 2])).check(&Names::TRAINING).is_ok());
    }

    #[test]
    fn an_empty_mask_has_no_effect_and_others_are_refused() {
        let (x, y) = (array![[0f32], [1.0]], array![[0.0, 1.0], [1.0, 2.0]]);
        let sparse = |indices: Vec<u32>| {
            CellWeights::UnknownOutputs(LabelView::try_new(vec![0, indices.len(), indices.len()], indices, 2).unwrap())
        };
        assert!(Dataset::new(&x, &y).y_weight(sparse(vec![])).check(&Names::TRAINING).is_ok());
        assert_eq!(at_fault(&Dataset::new(&x, &y).y_weight(sparse(vec![1]))), "y_weight");
        let dense = Array2::from_elem((2, 2), false);
        assert!(Dataset::new(&x, &y).y_weight(CellWeights::from(&dense)).check(&Names::TRAINING).is_ok());
        let narrow = Array2::from_elem((2, 1), false);
        assert_eq!(at_fault(&Dataset::new(&x, &y).y_weight(CellWeights::from(&narrow))), "y_weight");
        let masked = Array2::from_elem((2, 2), true);
        assert_eq!(at_fault(&Dataset::new(&x, &y).y_weight(CellWeights::from(&masked))), "y_weight");
    }
}
