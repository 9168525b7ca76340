//! Fits linear models: prepares the samples, solves the blocks of columns side by side, and keeps their weights.

use std::cmp::Reverse;
use std::ops::Range;

use super::features::Learned;
use super::samples::{Lists, Samples};
use super::solve::{Block, LANES, Problem};
use super::source::{Cells, Source, by_column};
use super::weights::{Kept, Weights as ModelWeights};
use super::{LinearConfig, LinearModel};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Purpose, Result};
use crate::model::plain_fit;
use crate::pool;
use crate::rng::Key;

const PURPOSE: Purpose = Purpose("the columns of a linear model");

plain_fit!(LinearConfig, LinearModel);

/// Purpose of the key of the order of samples.
const ORDER: u64 = u64::from_be_bytes(*b"linear\0\0");

impl LinearConfig {
    /// Fits the model, on `control.n_threads()` threads.
    ///
    /// `data` is a [`Dataset`] or a pair of X, (n_samples, n_features), without NaN and categories, and y: labels or
    /// classes, of which some cells may be unknown. Each label, each class of an output, and the second of two classes is
    /// a column, which is fitted on its own. With other threads, and in another order of the samples or of the columns, its
    /// weights have the same bits; the exception are two columns with the same X, but different samples. Without the other
    /// columns too, unless samples have equal X.
    ///
    /// Memory: X once more in sparse form, and for each thread 64 bytes for each feature and each sample. Time: a pass
    /// over the stored entries for each sixteen columns, some five times. With [`LinearConfig::calibration`], up to three
    /// more fits follow, of two thirds of the samples each and of at most 2 048 columns.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::Shape`] if parameters or data are not valid,
    /// [`crate::ErrorKind::OutOfMemory`] when there is not enough memory, and [`crate::ErrorKind::Interrupted`] when
    /// `control` is stopped.
    ///
    /// ```
    /// use weald::{Control, LabelView, LinearConfig, Matrix};
    ///
    /// // Four documents over five words (CSR), and their tags out of three (CSR without values).
    /// let x = Matrix::csr(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
    /// let y = LabelView::try_new(vec![0, 1, 2, 3, 4], vec![0, 0, 2, 2], 3)?;
    /// let model = LinearConfig::default().c(10.0).fit((&x, y))?;
    /// let best = model.predict_topk(&x, 1, &Control::default())?;
    /// assert_eq!(best.indices.column(0).to_vec(), [0, 0, 2, 2]);
    /// # Ok::<(), weald::Error>(())
    /// ```
    pub fn fit_controlled<'d>(&self, data: impl Into<Dataset<'d>>, control: &Control) -> Result<LinearModel> {
        self.fit_columns(data, 0..usize::MAX, control)
    }

    /// Fits some columns only, those of `columns` that y has, for [`LinearModel::merge`]. The others have no weights. All else
    /// is as in the fit of all columns: how X is prepared, the order of the samples, and the calibration, which looks at up to
    /// 2 048 columns of y, whichever are fitted.
    ///
    /// # Errors
    /// Those of [`LinearConfig::fit_controlled`].
    ///
    /// ```
    /// use weald::{Control, LabelView, LinearConfig, LinearModel, Matrix};
    ///
    /// let x = Matrix::csr(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
    /// let y = LabelView::try_new(vec![0, 1, 2, 3, 4], vec![0, 0, 2, 2], 3)?;
    /// let (config, control) = (LinearConfig::default(), Control::default());
    /// let first = config.fit_columns((&x, y.clone()), 0..1, &control)?;
    /// let others = config.fit_columns((&x, y.clone()), 1..3, &control)?;
    /// assert_eq!(LinearModel::merge(&[(&first, 0..1), (&others, 1..3)])?, config.fit((&x, y))?);
    /// # Ok::<(), weald::Error>(())
    /// ```
    pub fn fit_columns<'d>(
        &self,
        data: impl Into<Dataset<'d>>,
        columns: Range<usize>,
        control: &Control,
    ) -> Result<LinearModel> {
        self.check()?;
        Source::with(&data.into(), |source| {
            let mut model = self.fit_on(source, &source.y, &columns, |_| true, control)?;
            if self.calibration {
                let folds = self.folds(source, Self::N_FOLDS, control)?;
                model.calibration = Some(self.calibrated(source, &folds, control)?.0);
            }
            Ok(model)
        })
    }

    /// Fits some columns of y to the samples that are used, without calibration.
    pub(super) fn fit_on(
        &self,
        source: &Source<'_>,
        y: &Cells,
        columns: &Range<usize>,
        is_used: impl Fn(usize) -> bool + Sync,
        control: &Control,
    ) -> Result<LinearModel> {
        let n_features = source.n_features();
        let (samples, learned) = self.samples(source, y, is_used, control)?;
        let mut weights = self.solve(&samples, (n_features, y.n_columns), columns, control)?;
        if let Some(standard) = &learned.standard {
            weights.for_unstandardized(standard, self.half_precision)?;
        }
        let (features, outputs) = (self.features, source.outputs.clone());
        Ok(LinearModel { n_features, outputs, features, idf: learned.idf, weights, calibration: None })
    }

    /// Returns the samples that are used, with their X prepared, and what was learned from them for that.
    pub(crate) fn samples(
        &self,
        source: &Source<'_>,
        y: &Cells,
        is_used: impl Fn(usize) -> bool + Sync,
        control: &Control,
    ) -> Result<(Samples, Learned)> {
        let weights = &source.weights;
        let units = |row: usize| if is_used(row) { weights.units(row) } else { 0 };
        let learned = self.features.learn(source.x, units, weights.unit, control)?;
        let x = learned.prepare(self.features, source.x, control)?;
        let shape = (source.n_samples(), source.n_features(), y.n_columns);
        let samples = Samples::new(shape, |row| y.given(&x, row), units, weights.unit, control)?;
        Ok((samples, learned))
    }

    /// Fits the weights of some columns.
    fn solve(
        &self,
        samples: &Samples,
        (n_features, n_columns): (usize, usize),
        columns: &Range<usize>,
        control: &Control,
    ) -> Result<ModelWeights> {
        let mut task = Task::new(self, samples, n_columns)?;
        task.order.retain(|column| columns.contains(column));
        let mut kept = PURPOSE.with_capacity(task.blocks().len())?;
        kept.resize_with(task.blocks().len(), Kept::default);
        pool::for_each(
            control.n_threads(),
            task.blocks().zip(&mut kept),
            || Ok(Block::default()),
            |block, (columns, kept)| {
                *kept = task.solve(block, columns, control)?;
                Ok(())
            },
        )?;
        ModelWeights::joined(&kept, n_features, task.starts)
    }
}

/// Samples and their columns, which are fitted in blocks.
#[derive(Debug)]
pub(crate) struct Task<'t> {
    problem: Problem<'t>,
    positives: Lists,
    unknown: Lists,
    /// The columns that have samples, the most frequent first: those of about the same frequency need about the same
    /// samples. Columns without samples need no fit.
    order: Vec<usize>,
    /// What the intercept of each column is drawn towards.
    starts: Vec<f32>,
}

impl<'t> Task<'t> {
    pub(crate) fn new(config: &'t LinearConfig, samples: &'t Samples, n_columns: usize) -> Result<Self> {
        let positives = by_column(&samples.positives, n_columns)?;
        let unknown = by_column(&samples.unknown, n_columns)?;
        let mut order = PURPOSE.collected(0..n_columns)?;
        order.sort_by_key(|&column| (Reverse(positives.of(column).len()), column));
        order.truncate(order.partition_point(|&column| !positives.of(column).is_empty()));
        let total: f64 = samples.weights.iter().sum();
        let weight = |rows: &[u32]| rows.iter().map(|&row| samples.weights[row as usize]).sum::<f64>();
        let start = |column: usize| {
            let positive = weight(positives.of(column));
            config.loss.intercept(positive, (total - weight(unknown.of(column)) - positive).max(0.0))
        };
        let starts = PURPOSE.collected((0..n_columns).map(start))?;
        let problem = Problem::new(samples, config, Key::from_seed(config.seed).child(ORDER))?;
        Ok(Task { problem, positives, unknown, order, starts })
    }

    /// Returns the columns of each block.
    pub(crate) fn blocks(&self) -> impl ExactSizeIterator<Item = &[usize]> + Send {
        self.order.chunks(LANES)
    }

    /// Fits the columns of a block, and returns the weights that are kept.
    pub(crate) fn solve(&self, block: &mut Block, columns: &[usize], control: &Control) -> Result<Kept> {
        let y = PURPOSE.collected(columns.iter().map(|&j| (self.positives.of(j), self.unknown.of(j))))?;
        let starts = PURPOSE.collected(columns.iter().map(|&j| self.starts[j]))?;
        block.solve(&self.problem, &y, &starts, control)?;
        let kept = Kept::of(block, columns, &self.problem.samples.features, self.problem.config)?;
        control.one_more_done();
        Ok(kept)
    }
}
