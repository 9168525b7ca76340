//! Fits linear models: prepares the samples, solves the blocks of columns side by side, and keeps their weights.

use std::cmp::Reverse;

use super::samples::{Given, Lists, Samples};
use super::solve::{Block, LANES, Problem};
use super::weights::{Kept, Weights as ModelWeights};
use super::{LinearConfig, LinearModel};
use crate::control::Control;
use crate::data::dataset::Names;
use crate::data::slots::Slots;
use crate::data::targets::{in_columns, is_binary};
use crate::data::{Dataset, Outputs, Weights};
use crate::error::{Error, Purpose, Result};
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
    /// over the stored entries for each sixteen columns, some five times.
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
        self.check()?;
        let data = data.into();
        let observed = data.observed()?;
        let data = &data.with_observed(observed.as_ref());
        data.check(&Names::TRAINING)?;
        if data.categories()?.is_some() {
            return Err(Error::invalid("schema", "categorical features", "have no categorical features"));
        }
        let outputs = data.outputs();
        let y = in_columns(data.y())?;
        let slots = Slots::new(&y)?.ok_or_else(|| Error::unsupported("y", "if it is numerical, by a linear model"))?;
        let overall = data.weight_by_row()?;
        let weights = Weights::of_rows(overall.as_deref(), data.n_samples())?;
        let units = |row: usize| weights.units(row);
        let learned = self.features.learn(data.x(), units, weights.unit, control)?;
        let x = learned.prepare(self.features, data.x(), control)?;
        let unknown = unknown_columns(data, &outputs)?;
        let given = |row: usize| {
            let (features, values) = x.of(row as u32);
            let unknown = unknown.as_ref().map_or(&[][..], |unknown| unknown.of(row));
            Given { features, values, positives: slots.of(row as u32), unknown }
        };
        let shape = (data.n_samples(), data.n_features(), slots.width);
        let samples = Samples::new(shape, given, units, weights.unit, control)?;
        drop(x);
        let mut weights = self.solve(&samples, slots.width, control)?;
        if let Some(standard) = &learned.standard {
            weights.for_unstandardized(standard)?;
        }
        let (n_features, features) = (data.n_features(), self.features);
        Ok(LinearModel { n_features, outputs, features, idf: learned.idf, weights, calibration: None })
    }

    /// Fits the weights of all columns.
    fn solve(&self, samples: &Samples, n_columns: usize, control: &Control) -> Result<ModelWeights> {
        let positives = by_column(&samples.positives, n_columns)?;
        let unknown = by_column(&samples.unknown, n_columns)?;
        // Columns of about the same frequency need about the same samples. Those without samples need no fit.
        let mut order = PURPOSE.collected(0..n_columns)?;
        order.sort_by_key(|&column| (Reverse(positives.of(column).len()), column));
        order.truncate(order.partition_point(|&column| !positives.of(column).is_empty()));

        let problem = Problem::new(samples, self, Key::from_seed(self.seed).child(ORDER))?;
        let mut kept = PURPOSE.with_capacity(order.len().div_ceil(LANES))?;
        kept.resize_with(order.len().div_ceil(LANES), Kept::default);
        let jobs = order.chunks(LANES).zip(&mut kept);
        pool::for_each(
            control.n_threads(),
            jobs,
            || Block::new(&problem),
            |block, (columns, kept)| {
                let y = PURPOSE.collected(columns.iter().map(|&j| (positives.of(j), unknown.of(j))))?;
                block.solve(&problem, &y, control)?;
                *kept = Kept::of(block, columns, &samples.features, self.min_weight as f32)?;
                control.one_more_done();
                Ok(())
            },
        )?;
        ModelWeights::joined(&kept, (samples.n_features(), n_columns))
    }
}

/// Returns the columns whose y is unknown, for each sample; `None` if all are known.
fn unknown_columns(data: &Dataset<'_>, outputs: &Outputs) -> Result<Option<Lists>> {
    let Some(known) = data.known() else { return Ok(None) };
    let starts = match outputs {
        Outputs::Classes { n_classes } if !is_binary(n_classes) => Some(outputs.class_starts()?),
        Outputs::Classes { .. } | Outputs::Labels { .. } | Outputs::Real { .. } => None,
    };
    let mut unknown = Lists::new()?;
    for row in 0..data.n_samples() as u32 {
        let mut columns = Vec::new();
        known.each_masked(row, |output| match &starts {
            None => columns.push(output),
            Some(starts) => columns.extend(starts[output as usize] as u32..starts[output as usize + 1] as u32),
        });
        unknown.push(columns.into_iter())?;
    }
    Ok(Some(unknown))
}

/// Returns the samples of each column, in increasing order.
fn by_column(rows: &Lists, n_columns: usize) -> Result<Lists> {
    let mut ptr = PURPOSE.filled(0usize, n_columns + 1)?;
    rows.items.iter().for_each(|&column| ptr[column as usize + 1] += 1);
    (0..n_columns).for_each(|column| ptr[column + 1] += ptr[column]);
    let mut at = PURPOSE.copied(&ptr)?;
    let mut items = PURPOSE.filled(0u32, rows.items.len())?;
    for row in 0..rows.len() {
        for &column in rows.of(row) {
            items[at[column as usize]] = row as u32;
            at[column as usize] += 1;
        }
    }
    Ok(Lists { ptr, items })
}
