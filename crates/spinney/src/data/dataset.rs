//! What a learner is fitted to: X with the kinds of its features, y with the cells that are not known, and weights.

use std::borrow::Cow;

use ndarray::{Array2, ArrayView2};

use super::known::Known;
use super::row_weights::{ClassWeight, RowWeights};
use super::targets::{LabelView, Outputs, Targets};
use super::train_y::TrainY;
use super::weights::Weights;
use super::{FeatureKind, Matrix, Schema};
use crate::error::{Error, Result};

/// Samples to fit a model to, or to judge it by: borrowed, nothing is copied.
///
/// Every learner's `fit` takes a data set, or what can be made into one: a pair of X and y.
///
/// ```
/// use spinney::ndarray::array;
/// use spinney::{Control, Criterion, Dataset, TreeConfig};
///
/// let (x, y) = (array![[0.0f32], [1.0], [2.0], [3.0]], array![[0.0], [0.0], [5.0], [6.0]]);
/// let config = TreeConfig::new(Criterion::Variance);
/// let tree = config.fit((&x, &y), &Control::default())?;
/// assert_eq!(tree.n_leaves(), 3);
/// // A sample of weight zero is no sample.
/// let weighted = Dataset::new(&x, &y).sample_weight(&[1.0, 1.0, 1.0, 0.0][..]);
/// assert_eq!(config.fit(&weighted, &Control::default())?.n_leaves(), 2);
/// # Ok::<(), spinney::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dataset<'a> {
    x: Matrix<'a>,
    y: Targets<'a>,
    schema: Schema<'a>,
    y_mask: Option<Mask<'a>>,
    weights: RowWeights<'a>,
    base_margin: Option<ArrayView2<'a, f64>>,
    /// Of what a mask has left, where it masks something: see [`Dataset::observed`].
    known: Option<&'a Known>,
}

/// Cells of y whose values are not known.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Mask<'a> {
    /// `true` where a cell is not known: (n_samples, n_outputs).
    Dense(ArrayView2<'a, bool>),
    /// The columns of each sample that are not known.
    Sparse(LabelView<'a>),
}

impl Mask<'_> {
    pub(super) fn shape(&self) -> (usize, usize) {
        match self {
            Mask::Dense(mask) => mask.dim(),
            Mask::Sparse(mask) => (mask.n_samples(), mask.n_labels()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Mask::Dense(mask) => mask.iter().all(|masked| !masked),
            Mask::Sparse(mask) => mask.indices().is_empty(),
        }
    }

    /// The same, lent.
    fn view(&self) -> Mask<'_> {
        match self {
            Mask::Dense(mask) => Mask::Dense(mask.view()),
            Mask::Sparse(mask) => Mask::Sparse(mask.view()),
        }
    }
}

impl<'a> Dataset<'a> {
    /// Ordered features, all cells of y known, and every sample there once. Checked when a learner takes it.
    pub fn new(x: impl Into<Matrix<'a>>, y: impl Into<Targets<'a>>) -> Self {
        Dataset {
            x: x.into(),
            y: y.into(),
            schema: Schema::default(),
            y_mask: None,
            weights: RowWeights::default(),
            base_margin: None,
            known: None,
        }
    }

    /// How often each sample is there: one finite weight for each, none negative; `None` for once each.
    #[must_use]
    pub fn sample_weight(mut self, sample_weight: impl Into<Option<&'a [f64]>>) -> Self {
        self.weights.sample_weight = sample_weight.into();
        self
    }

    /// What classes weigh; with classes and labels alone.
    #[must_use]
    pub fn class_weight(mut self, class_weight: ClassWeight<'a>) -> Self {
        self.weights.class_weight = class_weight;
        self
    }

    /// Both kinds of weights at once.
    #[must_use]
    pub fn weights(mut self, weights: RowWeights<'a>) -> Self {
        self.weights = weights;
        self
    }

    /// The kinds of the features.
    #[must_use]
    pub fn schema(mut self, schema: Schema<'a>) -> Self {
        self.schema = schema;
        self
    }

    /// Cells of y that are not known; the values that y has there are not looked at. A sample without a known cell is no
    /// sample. Trees, forests and boosting support masked cells; others refuse a mask that is not empty.
    ///
    /// ```
    /// use spinney::ndarray::array;
    /// use spinney::{Control, Criterion, Dataset, Mask, TreeConfig};
    ///
    /// let x = array![[0.0f32], [1.0], [2.0], [3.0]];
    /// let y = array![[0.0, 5.0], [0.0, f64::NAN], [1.0, f64::NAN], [1.0, 7.0]];
    /// let mask = y.mapv(f64::is_nan);
    /// let data = Dataset::new(&x, &y).y_mask(Mask::from(&mask));
    /// let tree = TreeConfig::new(Criterion::Variance).fit(&data, &Control::default())?;
    /// // Both leaves have a known cell of each output, whose mean is the prediction.
    /// assert_eq!(tree.n_leaves(), 2);
    /// assert_eq!(tree.leaves().value(0).collect::<Vec<_>>(), [(1, 5.0)]);
    /// assert_eq!(tree.leaves().value(1).collect::<Vec<_>>(), [(0, 1.0), (1, 7.0)]);
    /// # Ok::<(), spinney::Error>(())
    /// ```
    #[must_use]
    pub fn y_mask(mut self, y_mask: impl Into<Option<Mask<'a>>>) -> Self {
        self.y_mask = y_mask.into();
        self
    }

    /// Scores that boosting starts from, (n_samples, width) with a column for each score of a row, in place of a constant:
    /// those of another model. The fitted model does not have them in its scores, so that whoever predicts adds them. Other
    /// learners refuse them.
    #[must_use]
    pub fn base_margin(mut self, base_margin: impl Into<Option<ArrayView2<'a, f64>>>) -> Self {
        self.base_margin = base_margin.into();
        self
    }

    /// X.
    pub fn x(&self) -> &Matrix<'a> {
        &self.x
    }

    /// y.
    pub fn y(&self) -> &Targets<'a> {
        &self.y
    }

    /// Number of rows of X.
    pub fn n_samples(&self) -> usize {
        self.x.n_samples()
    }

    /// Number of columns of X.
    pub fn n_features(&self) -> usize {
        self.x.n_features()
    }

    pub(crate) fn outputs(&self) -> Outputs {
        self.y.outputs()
    }

    /// The kind of feature `j`.
    pub(crate) fn kind(&self, j: usize) -> FeatureKind {
        self.schema.kind(j)
    }

    /// Which features are categories; `None` where none is.
    pub(crate) fn categories(&self) -> Result<Option<Vec<bool>>> {
        self.schema.categories()
    }

    pub(crate) fn row_weights(&self) -> RowWeights<'a> {
        self.weights
    }

    /// One weight for each sample, for learners that draw no rows of their own: sample weight times class weight. `None`
    /// when all weigh the same.
    pub(crate) fn weight_by_row(&self) -> Result<Option<Cow<'a, [f64]>>> {
        self.weights.by_row(&self.y)
    }

    /// The same of a worker, whose samples may all weigh nothing.
    pub(crate) fn weight_of_worker(&self) -> Result<Option<Cow<'a, [f64]>>> {
        self.weights.by_row_of_worker(&self.y)
    }

    /// The scores to start from, of `width` columns; errors speak of them by `names`.
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

    /// Proves X, y, the kinds of features, the mask and the sample weights; errors speak of them by `names`.
    pub(crate) fn check(&self, names: &Names) -> Result<()> {
        if self.base_margin.is_some() {
            return Err(Error::unsupported(names.base_margin, "by this learner: only boosting starts from margins"));
        }
        self.check_but_margins(names)
    }

    /// The same for boosting, which takes margins.
    pub(crate) fn check_but_margins(&self, names: &Names) -> Result<()> {
        if self.n_samples() == 0 {
            return Err(Error::invalid(names.x, "0 samples", "have at least one sample"));
        }
        if self.n_features() == 0 {
            return Err(Error::invalid(names.x, "0 features", "have at least one feature"));
        }
        self.check_values()
    }

    /// The same of a worker, whose samples may all weigh nothing.
    pub(crate) fn check_of_worker(&self, names: &Names) -> Result<()> {
        if self.n_features() == 0 {
            return Err(Error::invalid(names.x, "0 features", "have at least one feature"));
        }
        self.check_unweighted()?;
        Weights::check_numbers(self.weights.sample_weight, self.n_samples())
    }

    /// Proves what there is: a model of no features takes samples without any.
    pub(crate) fn check_values(&self) -> Result<()> {
        self.check_unweighted()?;
        Weights::check(self.weights.sample_weight, self.n_samples())
    }

    fn check_unweighted(&self) -> Result<()> {
        self.x.check()?;
        self.schema.check(&self.x)?;
        self.y.check(self.n_samples())?;
        self.check_mask()?;
        if let (Some(_), ClassWeight::Balanced | ClassWeight::BalancedSubsample) =
            (self.known, self.weights.class_weight)
        {
            return Err(Error::unsupported("class_weight", "if y has masked cells"));
        }
        Ok(())
    }

    /// The same for samples that are kept apart from those of the fit `to`: as many features, the same outputs.
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

    /// Refuses masks that nobody has taken: see [`Dataset::observed`].
    pub(crate) fn check_mask(&self) -> Result<()> {
        let Some(mask) = &self.y_mask else { return Ok(()) };
        self.check_shape_of_mask()?;
        if mask.is_empty() {
            return Ok(());
        }
        Err(Error::unsupported(Y_MASK, "by this learner"))
    }

    /// Refuses a mask, or y, of another shape than X asks for.
    pub(super) fn check_shape_of_mask(&self) -> Result<()> {
        let Some(mask) = &self.y_mask else { return Ok(()) };
        if self.y.n_samples() != self.n_samples() {
            return Err(Error::shape("y", self.n_samples(), self.y.n_samples()));
        }
        let (expected, got) = ((self.n_samples(), self.outputs().n_outputs()), mask.shape());
        if got != expected {
            return Err(Error::invalid(Y_MASK, format!("shape {got:?}"), "have the shape of y"));
        }
        Ok(())
    }

    pub(crate) fn has_mask(&self) -> bool {
        self.y_mask.is_some()
    }

    pub(super) fn mask(&self) -> Option<&Mask<'a>> {
        self.y_mask.as_ref()
    }

    /// Which cells of y are known, where some are not and a learner has taken the mask.
    pub(crate) fn known(&self) -> Option<&'a Known> {
        self.known
    }

    /// The same with other values of y, of which some cells may not be known, and without a mask.
    pub(super) fn with_known(self, y: Targets<'a>, known: Option<&'a Known>) -> Self {
        Dataset { y, y_mask: None, known, ..self }
    }

    /// The same with y in another storage.
    pub(super) fn with_targets(self, y: Targets<'a>) -> Self {
        Dataset { y, ..self }
    }

    /// y as growth reads it. `weights` tell what each row weighs, `None` for all the same.
    pub(crate) fn train_y(&self, weights: Option<&[f64]>) -> Result<TrainY<'_>> {
        let Some(known) = self.known else { return TrainY::new(&self.y) };
        let units = Weights::of_rows(weights, self.n_samples())?;
        TrainY::masked(&self.y, known, |row| units.units(row as usize))
    }

    /// The same, lent.
    pub fn view(&self) -> Dataset<'_> {
        Dataset {
            x: self.x.view(),
            y: self.y.view(),
            schema: self.schema.view(),
            y_mask: self.y_mask.as_ref().map(Mask::view),
            weights: self.weights,
            base_margin: self.base_margin.as_ref().map(|margins| margins.view()),
            known: self.known,
        }
    }
}

const Y_MASK: &str = "y_mask";

/// What errors call the parts of a data set.
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

impl<'a> From<&'a Dataset<'_>> for Dataset<'a> {
    fn from(data: &'a Dataset<'_>) -> Self {
        data.view()
    }
}

impl<'a> From<&'a Array2<bool>> for Mask<'a> {
    fn from(mask: &'a Array2<bool>) -> Self {
        Mask::Dense(mask.view())
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
    fn parts_that_do_not_fit_are_refused_by_name() {
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
    fn an_empty_mask_is_none_and_others_are_refused() {
        let (x, y) = (array![[0f32], [1.0]], array![[0.0, 1.0], [1.0, 2.0]]);
        let sparse = |indices: Vec<u32>| {
            Mask::Sparse(LabelView::try_new(vec![0, indices.len(), indices.len()], indices, 2).unwrap())
        };
        assert!(Dataset::new(&x, &y).y_mask(sparse(vec![])).check(&Names::TRAINING).is_ok());
        assert_eq!(at_fault(&Dataset::new(&x, &y).y_mask(sparse(vec![1]))), "y_mask");
        let dense = Array2::from_elem((2, 2), false);
        assert!(Dataset::new(&x, &y).y_mask(Mask::from(&dense)).check(&Names::TRAINING).is_ok());
        let narrow = Array2::from_elem((2, 1), false);
        assert_eq!(at_fault(&Dataset::new(&x, &y).y_mask(Mask::from(&narrow))), "y_mask");
        let masked = Array2::from_elem((2, 2), true);
        assert_eq!(at_fault(&Dataset::new(&x, &y).y_mask(Mask::from(&masked))), "y_mask");
    }
}
