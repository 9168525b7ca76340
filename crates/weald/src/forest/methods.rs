//! What forests of any trees have in common: the public methods of trees and of predictions, each written once.

/// Adds the methods of a forest `$model` of trees `$tree`, which is configured by `$config`. The forest has fields
/// `n_features`, `outputs` and `trees`, and private methods with the names of the public ones and `_of`, whose
/// arguments are converted.
macro_rules! forest_methods {
    ($model:ident, $tree:ident, $config:ident) => {
        crate::model::best_columns!($model);

        impl $model {
            /// Returns the number of trees.
            pub fn n_trees(&self) -> usize {
                self.trees.len()
            }

            /// Returns the number of features that samples must have.
            pub fn n_features(&self) -> usize {
                self.n_features
            }

            /// Returns the meaning of the columns of predictions.
            pub fn outputs(&self) -> &crate::data::Outputs {
                &self.outputs
            }

            /// Returns tree `i`.
            ///
            /// # Panics
            /// Panics when `i` is not below the number of trees.
            pub fn tree(&self, i: usize) -> &std::sync::Arc<$tree> {
                &self.trees[i]
            }

            /// Returns all trees, in order.
            pub fn trees(&self) -> &[std::sync::Arc<$tree>] {
                &self.trees
            }

            /// Returns a forest with tree `i` alone, which is shared and not copied. Its outputs are those of the tree.
            ///
            /// # Panics
            /// Panics when `i` is not below the number of trees.
            pub fn only(&self, i: usize) -> $model {
                self.only_of(i)
            }

            /// Returns the mean over trees, (n_samples, width of the outputs): means of numerical outputs, frequencies
            /// of classes and labels.
            ///
            /// The bits are the same for any number of threads and any layout of X.
            ///
            /// # Errors
            /// Returns [`crate::ErrorKind::Shape`] if X has another number of features, [`crate::ErrorKind::Invalid`]
            /// if it has values that are not finite, [`crate::ErrorKind::Interrupted`] or
            /// [`crate::ErrorKind::OutOfMemory`].
            pub fn predict<'x>(&self, x: impl Into<crate::Query<'x>>) -> crate::error::Result<ndarray::Array2<f64>> {
                let crate::Query { x, control } = &x.into();
                let (n, width) = (x.n_samples(), self.outputs.width());
                let mut scores = crate::error::Purpose("predictions").zeros(n, width)?;
                self.predict_into_of(x, &mut scores, control)?;
                Ok(crate::model::into_array(scores, n, width))
            }

            /// Writes the result of `predict` into memory of the caller, in row-major order. Its previous content is
            /// overwritten.
            ///
            /// # Errors
            /// The same as for `predict`, and [`crate::ErrorKind::Shape`] when the length of `out` is not n_samples ×
            /// width. After an error, `out` may be partly written.
            pub fn predict_into<'x>(
                &self,
                x: impl Into<crate::Query<'x>>,
                out: &mut [f64],
            ) -> crate::error::Result<()> {
                let crate::Query { x, control } = &x.into();
                self.predict_into_of(x, out, control)
            }

            /// Returns the node index of the leaf that each sample reaches in each tree, (n_samples, n_trees).
            ///
            /// # Errors
            /// The same as for `predict`.
            pub fn apply<'x>(&self, x: impl Into<crate::Query<'x>>) -> crate::error::Result<ndarray::Array2<u32>> {
                let crate::Query { x, control } = &x.into();
                self.apply_of(x, control)
            }

            /// Returns the means that are positive and at least `floor`. They have the same bits as those of `predict`,
            /// for any number of threads.
            ///
            /// The whole prediction is never in memory: memory is that of the result and one row of sums for each
            /// thread, and time is that of reading the leaves that are reached.
            ///
            /// # Errors
            /// The same as for `predict`, and [`crate::ErrorKind::Invalid`] when `floor` is negative or NaN.
            pub fn predict_at_least<'x>(
                &self,
                x: impl Into<crate::Query<'x>>,
                floor: f64,
            ) -> crate::error::Result<crate::model::SparseScores> {
                let crate::Query { x, control } = &x.into();
                let n_trees = self.trees.len() as f64;
                self.at_least_of(x, floor, |_, _| true, |_| n_trees, control)
            }

            /// Returns predictions for the samples to which the forest was fitted, each by the trees that did not draw
            /// the sample.
            ///
            /// `config` and `data` must be those of the fit, as the draws are repeated from the seed. Samples of weight
            /// zero are out of bag for every tree. The bits are the same for any number of threads.
            ///
            /// # Errors
            /// The same as for `predict`, and [`crate::ErrorKind::Shape`] when `y` or `sample_weight` does not fit X.
            pub fn oob_predict<'d>(
                &self,
                config: &$config,
                data: impl Into<crate::data::Dataset<'d>>,
            ) -> crate::error::Result<crate::forest::Oob> {
                let data = data.into();
                let control = &data.under();
                if let Some(found) = self.oob_by_output(config, &data, control)? {
                    return Ok(found);
                }
                self.oob_of(data.x(), &self.unseen(config, &data, control)?, control)
            }

            /// Returns the means over the trees that did not draw a sample.
            fn oob_of(
                &self,
                x: &crate::data::Matrix<'_>,
                unseen: &crate::forest::oob::Unseen,
                control: &crate::control::Control,
            ) -> crate::error::Result<crate::forest::Oob> {
                let (n_trees, n, width) = (unseen.n_trees()?, x.n_samples(), self.outputs.width());
                let mut scores = crate::error::Purpose("out-of-bag predictions").zeros(n, width)?;
                let (unseen, divisor) = (|row, tree| unseen.has(row, tree), |row: usize| f64::from(n_trees[row]));
                self.means_into(x, &mut scores, unseen, divisor, control)?;
                Ok(crate::forest::Oob { scores: crate::model::into_array(scores, n, width), n_trees })
            }

            /// Returns the same predictions where they are positive and at least `floor`, with the same bits. The whole
            /// prediction is never in memory: memory is that of the result, one bit for each sample and tree and one
            /// row of sums for each thread; time is that of reading the leaves that are reached.
            ///
            /// # Errors
            /// The same as for `oob_predict`, and [`crate::ErrorKind::Invalid`] when `floor` is negative or NaN.
            pub fn oob_at_least<'d>(
                &self,
                config: &$config,
                data: impl Into<crate::data::Dataset<'d>>,
                floor: f64,
            ) -> crate::error::Result<crate::forest::SparseOob> {
                let data = data.into();
                let control = &data.under();
                if let Some(found) = self.oob_by_output(config, &data, control)? {
                    return found.at_least(floor);
                }
                let unseen = self.unseen(config, &data, control)?;
                let n_trees = unseen.n_trees()?;
                let divisor = |row: usize| f64::from(n_trees[row]);
                let counts = |row: usize, tree: usize| unseen.has(row, tree);
                let scores = self.at_least_of(data.x(), floor, counts, divisor, control)?;
                Ok(crate::forest::SparseOob { scores, n_trees })
            }
        }
    };
}

pub(crate) use forest_methods;
