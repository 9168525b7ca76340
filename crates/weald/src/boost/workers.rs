//! Fits to samples that are distributed over several workers.
//!
//! Each worker runs the whole fit on its samples, and exchanges sums and maxima with the others: see
//! [`crate::exact::reduce`]. What does not have such sums is not supported.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use ndarray::Array2;

use super::config::{BoostConfig, LeafEstimation};
use super::model::Boosted;
use super::observer::StageObserver;
use crate::control::Control;
use crate::data::dataset::Names;
use crate::data::targets::n_scores;
use crate::data::{Dataset, LabelView, Matrix, Outputs, SparseView, Targets};
use crate::error::{Error, Purpose, Result};
use crate::exact::reduce::{AllReduce, Reduce, Workers};
use crate::loss::LossKind;

impl BoostConfig {
    /// The fit of a worker: see [`super::BoostFit::worker`].
    pub(super) fn fit_of_worker(
        &self,
        model: Option<&Boosted>,
        data: &Dataset<'_>,
        has_validation: bool,
        reduce: Arc<dyn AllReduce>,
        observer: &mut dyn StageObserver,
        control: &Control,
    ) -> Result<Boosted> {
        let workers = Workers::many(reduce);
        // From now on every sum shows whether all workers took part in it.
        workers.place()?;
        workers.agree(self.check_of_worker(data, has_validation))?;
        self.check_is_same(&workers, model, data)?;
        let stand_in = if data.n_samples() == 0 { Some(StandIn::of(data)?) } else { None };
        let data = stand_in.as_ref().map_or_else(|| data.view(), StandIn::data);
        self.with_trees(&workers, model, &data, None, control, |trees| trees.fit(model, None, observer))
    }

    /// Returns the errors that one worker with all samples would return, and an error for what has no sums over
    /// samples.
    fn check_of_worker(&self, data: &Dataset<'_>, has_validation: bool) -> Result<()> {
        let refuse = |what, got: &str, must| Err(Error::invalid(what, got, must));
        data.check_of_worker(&Names::TRAINING)?;
        let outputs = data.outputs();
        self.check(&outputs, n_scores(&outputs))?;
        self.tree.check_constraints(data, false)?;
        let absent = [
            (data.has_mask(), "y_weight"),
            (data.margins(n_scores(&outputs), &Names::TRAINING)?.is_some(), "base_margin"),
            (data.categories()?.is_some(), "a categorical feature"),
            (self.tree.monotonic_cst.is_some(), "monotonic_cst"),
            (self.n_iter_no_change.is_some(), "n_iter_no_change"),
            (has_validation, "a validation set"),
        ];
        if let Some((_, what)) = absent.into_iter().find(|(is_given, _)| *is_given) {
            return Err(Error::unsupported(what, "if samples are spread over workers"));
        }
        if data.row_weights().class_weight.is_balanced() {
            let must = "have a weight for each class if samples are spread over workers";
            return refuse("class_weight", "balanced", must);
        }
        if self.max_bins.is_none() {
            return refuse("max_bins", "none", "be between 2 and 255 if samples are spread over workers");
        }
        if !self.loss.has_workers() {
            let must = "be SquaredError or LogLoss if samples are spread over workers";
            return refuse("loss", self.loss.name(), must);
        }
        if let (LossKind::LogLoss, LeafEstimation::LineSearch, Outputs::Classes { .. }) =
            (&self.loss, self.leaf_estimation, &outputs)
            && n_scores(&outputs) > 1
        {
            let must = "be Newton for three and more classes if samples are spread over workers";
            return refuse("leaf_estimation", "LineSearch", must);
        }
        let weights = data.weight_of_worker()?;
        self.check_domain(Names::TRAINING.y, data.y(), weights.as_deref())
    }

    /// Returns an error if workers have different parameters, features, outputs or models to start from.
    fn check_is_same(&self, workers: &Workers, model: Option<&Boosted>, data: &Dataset<'_>) -> Result<()> {
        let is_sparse = !matches!(data.x(), Matrix::Dense(_));
        let mut hash = Hash(0xcbf2_9ce4_8422_2325);
        let words = write!(hash, "{self:?} {} {is_sparse} {:?} {model:?}", data.n_features(), data.outputs());
        debug_assert!(words.is_ok(), "a hash takes any text");
        let hash = hash.0 >> 1;
        let mut ends = [hash, (u64::MAX >> 1) - hash];
        workers.max(&mut ends)?;
        if ends[0] == (u64::MAX >> 1) - ends[1] {
            return Ok(());
        }
        let must = "have the same parameters, features, outputs and earlier stages on every worker";
        Err(Error::invalid("data", "workers that differ", must))
    }
}

/// Fowler, Noll and Vo (1991), FNV-1a.
struct Hash(u64);

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.0 = text.bytes().fold(self.0, step);
        Ok(())
    }
}

/// Returns the weights of the samples of a worker: either all workers have weights, or none of them.
pub(super) fn weights_of_all<'w>(
    workers: &Workers,
    own: Option<Cow<'w, [f64]>>,
    n_samples: usize,
) -> Result<Option<Cow<'w, [f64]>>> {
    if workers.has_all_rows() || workers.max_of(u32::from(own.is_some()))? == 0 {
        return Ok(own);
    }
    match own {
        Some(own) => Ok(Some(own)),
        None => Ok(Some(Purpose("the samples of a worker").filled(1.0, n_samples)?.into())),
    }
}

/// A sample of weight zero, for a worker without samples.
struct StandIn {
    x: Matrix<'static>,
    dense_x: Array2<f32>,
    y: Array2<f64>,
    codes: Array2<u32>,
    outputs: Outputs,
}

impl StandIn {
    fn of(data: &Dataset<'_>) -> Result<Self> {
        let (outputs, n_features) = (data.outputs(), data.n_features());
        let is_dense = matches!(data.x(), Matrix::Dense(_));
        Ok(StandIn {
            x: Matrix::Csr(SparseView::try_new(vec![0, 0], Vec::new(), Vec::new(), n_features)?),
            dense_x: Array2::zeros((1, if is_dense { n_features } else { 0 })),
            y: Array2::zeros((1, outputs.n_outputs())),
            codes: Array2::zeros((1, outputs.n_outputs())),
            outputs,
        })
    }

    fn data(&self) -> Dataset<'_> {
        let y = match &self.outputs {
            Outputs::Real { .. } => Targets::Real(self.y.view()),
            Outputs::Classes { n_classes } => Targets::classes(self.codes.view(), n_classes.clone()),
            Outputs::Labels { n_labels } => {
                let none = LabelView::try_new(vec![0, 0], Vec::new(), *n_labels);
                Targets::Labels(none.expect("a sample without labels"))
            }
        };
        let x = if self.dense_x.is_empty() { self.x.view() } else { Matrix::Dense(self.dense_x.view()) };
        Dataset::new(x, y).sample_weight(&[0.0][..])
    }
}
