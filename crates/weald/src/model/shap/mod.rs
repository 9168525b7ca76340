//! Shapley values of scores: those of the trees, added as scores are. See [`crate::tree`]'s `shap` for what they are.

use ndarray::{Array2, Array3, Axis};

mod mixed;
mod plan;
#[cfg(test)]
mod tests;

use super::{Additive, SparseScores};
use crate::control::Control;
use crate::data::{Matrix, Query};
use crate::error::{Error, Purpose, Result};
use crate::pool;
use crate::tree::shap::LANES;
use mixed::check_background;
use plan::{Plan, Worker};

const PURPOSE: Purpose = Purpose("Shapley values");

impl Additive<'_> {
    /// Shapley values of the scores: (n_samples, n_features, number of `outputs`), of all scores or of chosen ones.
    ///
    /// Without a background a split on a feature that is left open sends a row to both sides, in the proportion of their
    /// training weight, and the values of a row and [`Additive::shap_base_values`] add up to its score; with one, to which
    /// rows of X may belong, it goes where the background's rows go, on average over these.
    ///
    /// ```
    /// use ndarray::array;
    /// use weald::{Control, Criterion, TreeConfig};
    ///
    /// let x = array![[0.0f32, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
    /// let y = array![[0.0], [1.0], [3.0], [4.0]]; // three times the first feature and once the second
    /// let tree = TreeConfig::new(Criterion::Variance).fit((&x, &y))?;
    /// let model = tree.additive();
    /// let values = model.shap_values(&x, None, None)?;
    /// assert!((values[[3, 0, 0]] - 1.5).abs() < 1e-12 && (values[[3, 1, 0]] - 0.5).abs() < 1e-12);
    /// assert_eq!(model.shap_base_values(None, None, &Control::default())?, [2.0]);
    /// # Ok::<(), weald::Error>(())
    /// ```
    ///
    /// O(n_nodes · √depth) for a row and output, O(depth) times the stored values of leaves where outputs are many. With a
    /// background, for each leaf that mixtures of a row and one of the background reach, the features in which they differ;
    /// but of leaves whose paths test up to ten features a number of steps for each row that does not depend on the
    /// background, where this is less.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] for another number of features, of the background as well, [`crate::ErrorKind::Invalid`] for values that
    /// are not finite, an output that is none, a background without rows and a model without trees,
    /// [`crate::ErrorKind::Interrupted`], [`crate::ErrorKind::OutOfMemory`].
    pub fn shap_values<'x>(
        &self,
        x: impl Into<Query<'x>>,
        background: Option<Matrix<'_>>,
        outputs: Option<&[usize]>,
    ) -> Result<Array3<f64>> {
        let Query { x, control } = &x.into();
        let columns = self.checked_outputs(outputs)?;
        let plan = Plan::new(self, x, background, control)?;
        let (n, p, width) = (plan.rows.n_samples(), self.n_features, columns.len());
        let mut values = PURPOSE.zeros(n, p.checked_mul(width).ok_or(too_large())?)?;
        let mut first = 0;
        for columns in columns.chunks(plan.outputs_at_once()) {
            let question = plan.question(columns, columns.len(), control)?;
            let blocks = values.chunks_mut((question.block_rows() * p * width).max(1)).enumerate();
            let explain = |worker: &mut Worker, (block, out): (usize, &mut [f64])| {
                let n_rows = plan.explain(block, &question, worker, control)?;
                let groups = worker.found.chunks_exact((plan.tested.len() * columns.len()).max(1));
                for (first_row, group) in (0..n_rows).step_by(LANES).zip(groups) {
                    let found = group.chunks_exact(columns.len());
                    for (&feature, found) in plan.tested.features.iter().zip(found) {
                        for row in first_row..n_rows.min(first_row + LANES) {
                            let out = &mut out[(row * p + feature as usize) * width + first..][..columns.len()];
                            out.iter_mut().zip(found).for_each(|(out, sum)| *out = sum.0[row % LANES]);
                        }
                    }
                }
                Ok(())
            };
            if p * width > 0 {
                pool::for_each(control.n_threads(), blocks, || Ok(Worker::default()), explain)?;
            }
            first += columns.len();
        }
        Ok(Array3::from_shape_vec((n, p, width), values).expect("made with as many values"))
    }

    /// The same values where they are not zero: of each output a sparse matrix of shape (n_samples, n_features). Memory is that of
    /// the result, twice while it is put together.
    ///
    /// # Errors
    /// As [`Additive::shap_values`].
    pub fn shap_values_sparse<'x>(
        &self,
        x: impl Into<Query<'x>>,
        background: Option<Matrix<'_>>,
        outputs: Option<&[usize]>,
    ) -> Result<Vec<SparseScores>> {
        let Query { x, control } = &x.into();
        let columns = self.checked_outputs(outputs)?;
        let plan = Plan::new(self, x, background, control)?;
        let mut all = PURPOSE.with_capacity(columns.len())?;
        for columns in columns.chunks(plan.outputs_at_once()) {
            let question = plan.question(columns, columns.len(), control)?;
            let n_blocks = plan.rows.n_samples().div_ceil(question.block_rows());
            let mut blocks = PURPOSE.with_capacity(n_blocks)?;
            blocks.resize_with(n_blocks, Vec::new);
            let explain = |worker: &mut Worker, (block, out): (usize, &mut Vec<SparseScores>)| {
                let n_rows = plan.explain(block, &question, worker, control)?;
                *out = plan.sparse(worker, n_rows, columns.len())?;
                Ok(())
            };
            pool::for_each(control.n_threads(), blocks.iter_mut().enumerate(), || Ok(Worker::default()), explain)?;
            for o in 0..columns.len() {
                let mut of_output = PURPOSE.with_capacity(n_blocks)?;
                for block in &mut blocks {
                    of_output.push(std::mem::replace(&mut block[o], SparseScores::empty()?));
                }
                all.push(SparseScores::joined(of_output)?);
            }
        }
        Ok(all)
    }

    /// What Shapley values are added to, for each of `outputs`: the mean score by training weight, or over a background.
    ///
    /// # Errors
    /// As [`Additive::shap_values`].
    pub fn shap_base_values(
        &self,
        background: Option<Matrix<'_>>,
        outputs: Option<&[usize]>,
        control: &Control,
    ) -> Result<Vec<f64>> {
        let columns = self.checked_outputs(outputs)?;
        let means = match background {
            None => self.partial_dependence(&[], Array2::zeros((1, 0)).view(), control)?.row(0).to_owned(),
            Some(background) => {
                check_background(&background)?;
                let scores = self.scores(&background, control)?;
                scores.sum_axis(Axis(0)) / scores.nrows() as f64
            }
        };
        PURPOSE.collected(columns.iter().map(|&column| means[column]))
    }

    /// Interaction values of one output, (n_samples, n_features, n_features): symmetric, and each row sums to the Shapley
    /// value of its feature, without a background or with the same one.
    ///
    /// O(leaves · depth² · √depth) for a row; with a background the squares of the features that pairs differ in, for each
    /// leaf that mixtures of a row and one of the background reach.
    ///
    /// # Errors
    /// As [`Additive::shap_values`].
    pub fn shap_interaction_values<'x>(
        &self,
        x: impl Into<Query<'x>>,
        background: Option<Matrix<'_>>,
        output: usize,
    ) -> Result<Array3<f64>> {
        let Query { x, control } = &x.into();
        let columns = self.checked_outputs(Some(&[output]))?;
        let plan = Plan::new(self, x, background, control)?;
        let (n, p) = (plan.rows.n_samples(), self.n_features);
        let mut values = PURPOSE.zeros(n, p.checked_mul(p).ok_or(too_large())?)?;
        let question = plan.question(&columns, plan.tested.len(), control)?;
        let blocks = values.chunks_mut((question.block_rows() * p * p).max(1)).enumerate();
        let explain = |worker: &mut Worker, (block, out): (usize, &mut [f64])| {
            let n_rows = plan.explain(block, &question, worker, control)?;
            plan.sum(&question, true, worker, control)?;
            let (u, of_features, of_pairs) = (plan.tested.len(), &worker.found, &worker.pairs);
            for (row, out) in (0..n_rows).zip(out.chunks_exact_mut(p * p)) {
                let (group, lane) = (row / LANES * u, row % LANES);
                for (i, &of_i) in plan.tested.features.iter().enumerate() {
                    let mut rest = of_features[group + i].0[lane];
                    for (j, &of_j) in plan.tested.features.iter().enumerate().filter(|(j, _)| *j != i) {
                        let value = of_pairs[(group + i.max(j)) * u + i.min(j)].0[lane];
                        out[of_i as usize * p + of_j as usize] = value;
                        rest -= value;
                    }
                    out[of_i as usize * (p + 1)] = rest;
                }
            }
            Ok(())
        };
        if p > 0 {
            pool::for_each(control.n_threads(), blocks, || Ok(Worker::default()), explain)?;
        }
        Ok(Array3::from_shape_vec((n, p, p), values).expect("made with as many values"))
    }

    fn checked_outputs(&self, outputs: Option<&[usize]>) -> Result<Vec<usize>> {
        let Some(outputs) = outputs else { return PURPOSE.collected(0..self.width) };
        let mut met = PURPOSE.filled(false, self.width)?;
        for &output in outputs {
            let Some(met) = met.get_mut(output) else {
                return Err(Error::invalid("outputs", output, "be below the number of scores"));
            };
            if std::mem::replace(met, true) {
                return Err(Error::invalid("outputs", format!("{output}, twice"), "name each score once"));
            }
        }
        PURPOSE.collected(outputs.iter().copied())
    }
}

fn too_large() -> Error {
    PURPOSE.missing::<u8>(usize::MAX)
}
