//! Fits linear models: prepares the samples, solves the blocks of columns side by side, and keeps their weights.

use std::cmp::Reverse;
use std::ops::Range;

use super::features::Learned;
use super::problem::Problem;
use super::samples::{Lists, Samples};
use super::solve::{Block, LANES};
use super::source::{Cells, Source, by_column};
use super::weights::{Kept, Weights as ModelWeights};
use super::{Calibration, LinearConfig, LinearModel};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Purpose, Result};
use crate::pool;
use crate::rng::Key;

const PURPOSE: Purpose = Purpose("the columns of a linear model");

/// Purpose of the key of the order of samples.
const ORDER: u64 = u64::from_be_bytes(*b"linear\0\0");

impl LinearConfig {
    /// Fits the model, on the threads of the control.
    ///
    /// `data` is a [`Dataset`] or a pair of X, (n_samples, n_features), without NaN and categories, and y: labels or
    /// classes, of which some cells may be unknown. Each label, each class of an output, and the second of two classes is
    /// a column, which is fitted on its own. With other threads, and in another order of the samples or of the columns, its
    /// weights have the same bits. Without the other columns too, unless samples have equal X.
    ///
    /// Memory: X once more in sparse form, and for each thread 64 bytes for each feature and each sample. Time: a pass
    /// over the stored entries for each sixteen columns, some five times. With [`LinearConfig::calibration`], up to three
    /// more fits follow, of two thirds of the samples each and of at most 2 048 columns.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::Shape`] if parameters or data are not valid,
    /// [`crate::ErrorKind::OutOfMemory`] when there is not enough memory, and [`crate::ErrorKind::Interrupted`] when
    /// its control is stopped.
    ///
    /// ```
    /// use weald::{LabelView, LinearConfig, Matrix};
    ///
    /// // Four documents over five words (CSR), and their tags out of three (CSR without values).
    /// let x = Matrix::csr(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
    /// let y = LabelView::try_new(vec![0, 1, 2, 3, 4], vec![0, 0, 2, 2], 3)?;
    /// let model = LinearConfig::default().c(10.0).fit((&x, y))?;
    /// let best = model.predict_topk(&x, 1)?;
    /// assert_eq!(best.indices.column(0).to_vec(), [0, 0, 2, 2]);
    /// # Ok::<(), weald::Error>(())
    /// ```
    pub fn fit<'d>(&self, data: impl Into<Dataset<'d>>) -> Result<LinearModel> {
        self.fit_columns(data, 0..usize::MAX)
    }

    /// Fits some columns only, those of `columns` that y has, for [`LinearModel::merge`]. The others have no weights. All else
    /// is as in the fit of all columns: how X is prepared, the order of the samples, and the calibration, which looks at up to
    /// 2 048 columns of y, whichever are fitted.
    ///
    /// # Errors
    /// Those of [`LinearConfig::fit`].
    ///
    /// ```
    /// use weald::{LabelView, LinearConfig, LinearModel, Matrix};
    ///
    /// let x = Matrix::csr(vec![0, 2, 3, 5, 6], vec![0, 1, 0, 2, 4, 2], vec![2.0, 1.0, 1.0, 3.0, 1.0, 1.0], 5)?;
    /// let y = LabelView::try_new(vec![0, 1, 2, 3, 4], vec![0, 0, 2, 2], 3)?;
    /// let config = LinearConfig::default();
    /// let first = config.fit_columns((&x, y.clone()), 0..1)?;
    /// let others = config.fit_columns((&x, y.clone()), 1..3)?;
    /// assert_eq!(LinearModel::merge(&[(&first, 0..1), (&others, 1..3)])?, config.fit((&x, y))?);
    /// # Ok::<(), weald::Error>(())
    /// ```
    pub fn fit_columns<'d>(&self, data: impl Into<Dataset<'d>>, columns: Range<usize>) -> Result<LinearModel> {
        let calibrated = |source: &Source<'_>, control: &Control| {
            if !self.calibration {
                return Ok(None);
            }
            let folds = self.folds(source, Self::N_FOLDS, control)?;
            Ok(Some(self.calibrated(source, &folds, control)?.0))
        };
        self.fit_with(data, columns, calibrated)
    }

    /// Fits some columns, with the calibration that `calibrated` returns after the fit.
    pub(super) fn fit_with<'d>(
        &self,
        data: impl Into<Dataset<'d>>,
        columns: Range<usize>,
        calibrated: impl FnOnce(&Source<'_>, &Control) -> Result<Option<Calibration>>,
    ) -> Result<LinearModel> {
        self.check()?;
        let data = data.into();
        let control = &data.under();
        Source::with(&data, control, |source| {
            let n_columns = columns.end.min(source.y.n_columns).saturating_sub(columns.start);
            control.expect(n_blocks(n_columns));
            let (mut model, lowest) = self.fit_on(source, &source.y, &columns, |_| true, control)?;
            model.calibration = calibrated(source, control)?;
            model.lower_columns_without_samples(source, lowest)?;
            Ok(model)
        })
    }

    /// Fits some columns of y to the samples that are used, without calibration. Returns the model, and what no margin of these
    /// samples is below in a column that one of them has.
    pub(super) fn fit_on(
        &self,
        source: &Source<'_>,
        y: &Cells,
        columns: &Range<usize>,
        is_used: impl Fn(usize) -> bool + Sync,
        control: &Control,
    ) -> Result<(LinearModel, f64)> {
        let n_features = source.n_features();
        let (samples, learned) = self.samples(source, y, is_used, control)?;
        let (mut weights, lowest) = self.solve(&samples, (n_features, y.n_columns), columns, control)?;
        if let Some(standard) = &learned.standard {
            weights.for_unstandardized(standard, self.half_precision)?;
        }
        let (features, outputs) = (self.features, source.outputs.clone());
        Ok((LinearModel { n_features, outputs, features, idf: learned.idf, weights, calibration: None }, lowest))
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
        let shape = (source.n_samples(), source.n_features());
        let samples = Samples::new(shape, |row| y.given(&x, row), units, weights.unit, control)?;
        Ok((samples, learned))
    }

    /// Fits the weights of some columns. Returns also what [`LinearConfig::fit_on`] does.
    fn solve(
        &self,
        samples: &Samples,
        (n_features, n_columns): (usize, usize),
        columns: &Range<usize>,
        control: &Control,
    ) -> Result<(ModelWeights, f64)> {
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
        let lowest = task.lowest;
        Ok((ModelWeights::joined(&kept, n_features, task.starts)?, lowest))
    }
}

impl LinearModel {
    /// Gives the columns that no sample has an intercept with which their scores are below all others, for samples that are not
    /// longer than those of the fit: no margin of other columns is below `lowest`. Where that is above what they have, as beside
    /// a column that all samples have, they keep it.
    fn lower_columns_without_samples(&mut self, source: &Source<'_>, lowest: f64) -> Result<()> {
        let totals = source.y.totals(&source.weights)?;
        let line = |column: usize| match &self.calibration {
            None => (1.0, 0.0),
            Some(found) => (f64::from(found.slopes[column]), f64::from(found.intercepts[column])),
        };
        let scores = (0..totals.len()).filter(|&column| totals[column] > 0).map(|column| {
            let (slope, intercept) = line(column);
            slope * lowest + intercept
        });
        let lowest = scores.fold(f64::INFINITY, f64::min);
        if lowest == f64::INFINITY {
            return Ok(());
        }
        for column in (0..totals.len()).filter(|&column| totals[column] == 0) {
            let (slope, intercept) = line(column);
            let margin = ((lowest - intercept) / slope).clamp(f32::MIN.into(), f32::MAX.into()) as f32;
            self.weights.intercepts[column] = margin.min(self.weights.intercepts[column]);
        }
        Ok(())
    }
}

/// Returns the number of blocks of columns, each of which is a unit of progress.
pub(crate) fn n_blocks(n_columns: usize) -> usize {
    n_columns.div_ceil(LANES)
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
    /// What no margin of these samples is below, in a column that one of them has.
    lowest: f64,
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
        // The penalty of a column is at most the loss before the fit, whose dual objective is 0 and does not become less, and by
        // the inequality of Cauchy and Schwarz a margin is not further from the start than the product of two lengths. A
        // hundredth more is for weights in single or half precision.
        let square = samples.longest * samples.longest + config.intercept_scaling * config.intercept_scaling;
        let mut starts = PURPOSE.with_capacity(n_columns)?;
        let mut lowest = f64::INFINITY;
        for column in 0..n_columns {
            let positive = weight(positives.of(column));
            let negative = (total - weight(unknown.of(column)) - positive).max(0.0);
            let start = config.loss.intercept(positive, negative);
            if positive > 0.0 {
                let loss = config.loss.at_start(start.into(), positive, negative);
                lowest = lowest.min(f64::from(start) - 1.01 * (square * 2.0 * config.c * loss).sqrt());
            }
            starts.push(start);
        }
        let problem = Problem::new(samples, config, Key::from_seed(config.seed).child(ORDER))?;
        Ok(Task { problem, positives, unknown, order, starts, lowest })
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
        let kept = Kept::of(block, columns, &self.problem)?;
        control.one_more_done();
        Ok(kept)
    }
}
