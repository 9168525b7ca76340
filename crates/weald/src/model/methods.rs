//! Methods that several kinds of models have, each written once. A macro adds them to a model.

/// Adds the methods for the best columns of a model that has `topk(x, k, excluded, control)`. A text says what is different
/// for this model.
macro_rules! best_columns {
    ($model:ident $(, $different:literal)?) => {
        impl $model {
            /// Returns the `k` columns with the largest prediction for each sample, in descending order; of equal
            /// predictions, the lower column comes first. Labels of scores are ranked by their scores, of which
            /// probabilities are an increasing function.
            $(
                ///
                #[doc = $different]
            )?
            ///
            /// The whole prediction is never in memory: memory is O(n · k) and one row of sums for each thread, and
            /// time is that of reading the leaves that are reached.
            ///
            /// # Errors
            /// The same as for `predict`, and [`crate::ErrorKind::Invalid`] when `k` is 0 or larger than the number of
            /// columns.
            pub fn predict_topk<'x>(&self, x: impl Into<$crate::Query<'x>>, k: usize) -> $crate::Result<$crate::TopK> {
let $crate::Query { x, control } = &x.into();
                self.topk(x, k, None, control)
            }

            /// The same as `predict_topk`, but without the columns in `excluded`, which has one row of columns for each
            /// sample of X, or one row that holds for all samples. [`TopK`](crate::TopK) describes the result if fewer
            /// than `k` columns are left.
            ///
            /// # Errors
            /// The same as for `predict_topk`, and [`crate::ErrorKind::Shape`] when `excluded` does not fit X or the
            /// number of columns.
            pub fn predict_topk_excluding<'x>(&self, x: impl Into<$crate::Query<'x>>, k: usize, excluded: Option<&$crate::LabelView<'_>>) -> $crate::Result<$crate::TopK> {
let $crate::Query { x, control } = &x.into();
                self.topk(x, k, excluded, control)
            }
        }
    };
}

pub(crate) use best_columns;
