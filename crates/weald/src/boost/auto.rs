//! Fits of which the plan decides everything: the defaults of the Python package.

use super::config::{BoostConfig, OutputStrategy};
use super::model::Boosted;
use super::search::StageSearch;
use crate::data::targets::n_scores;
use crate::data::{Dataset, Outputs};
use crate::error::Result;
use crate::folds::splits;
use crate::loss::LossKind;
use crate::plan::{Asked, Counts, Kind, Plan, Sharing, Stop};
use crate::projection::{NProjections, Projection, Sparsity};
use crate::rounds::Unobserved;
use crate::tree::config::MaxFeatures;

/// Where few cells are known, a stage combines one output in so many.
const ONE_OUTPUT_IN: f64 = 20.0;

/// A fit with what a plan has decided for its data.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AutoBoost {
    /// The parameters. The number of stages is the largest one if the plan searches for it.
    pub config: BoostConfig,
    /// What has decided them.
    pub plan: Plan,
}

impl BoostConfig {
    /// Decides all parameters for these data, as the Python package does where none is given: see [`crate::plan`]. The
    /// loss is the squared error of numbers, and the log loss of labels and classes; the seed is 0.
    ///
    /// ```
    /// use weald::BoostConfig;
    /// use weald::ndarray::Array2;
    ///
    /// // One column of eight codes, each with a mean of its own.
    /// let x = Array2::from_shape_fn((200, 1), |(i, _)| (i % 8) as f32);
    /// let y = Array2::from_shape_fn((200, 1), |(i, _)| [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0][i % 8]);
    /// let found = BoostConfig::auto((&x, &y))?;
    /// let model = found.fit((&x, &y))?;
    /// assert!(model.n_stages() < found.config.n_estimators);
    /// assert!(model.train_score().last() < Some(&0.01));
    /// # Ok::<(), weald::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::Shape`] if weights, mask or y do not fit X, and
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn auto<'d>(data: impl Into<Dataset<'d>>) -> Result<AutoBoost> {
        BoostConfig::auto_with_seed(data, 0)
    }

    /// [`auto`](BoostConfig::auto) with a seed, which decides which samples a fold has, too.
    ///
    /// # Errors
    /// The same as for [`auto`](BoostConfig::auto), and [`crate::ErrorKind::Interrupted`].
    pub fn auto_with_seed<'d>(data: impl Into<Dataset<'d>>, seed: u64) -> Result<AutoBoost> {
        let data = data.into();
        let control = &data.under();
        let outputs = data.outputs();
        let (kind, loss) = match outputs {
            Outputs::Real { .. } => (Kind::Numbers, LossKind::SquaredError),
            Outputs::Classes { .. } => (Kind::Classes, LossKind::LogLoss),
            Outputs::Labels { .. } => (Kind::Labels, LossKind::LogLoss),
        };
        let is_one_class = matches!(&outputs, Outputs::Classes { n_classes } if n_classes[..] == [1]);
        let asked = Asked {
            n_features: data.n_features(),
            stop: if is_one_class { Stop::Never } else { Stop::Free },
            ..Asked::nothing(kind, outputs.n_outputs(), n_scores(&outputs))
        };
        let plan = Plan::new(&asked, &Counts::counted(&data, &asked, seed, control)?);
        let few = OutputStrategy::Projected {
            projection: Projection::Rademacher { sparsity: Sparsity::Factor(ONE_OUTPUT_IN) },
            n_projections: NProjections::Count(1),
            relabel: true,
        };
        let strategy = match plan.sharing {
            Sharing::Projected if plan.has_few_cells => few,
            Sharing::Joint => OutputStrategy::Joint,
            Sharing::SingleTarget => OutputStrategy::SingleTarget,
            Sharing::Projected => BoostConfig::new(loss.clone()).strategy,
        };
        let config = BoostConfig::new(loss)
            .strategy(strategy)
            .learning_rate(plan.learning_rate)
            .n_estimators(plan.n_stages)
            .n_iter_no_change(plan.patience)
            .max_leaf_nodes((plan.max_leaf_nodes > 0).then_some(plan.max_leaf_nodes))
            .max_features(if plan.draws_half { MaxFeatures::Half } else { MaxFeatures::All })
            .max_features_by_tree(MaxFeatures::Fraction(plan.features_of_tree))
            .subsample(plan.subsample)
            .l2_regularization(plan.l2_regularization)
            .tol(1e-7)
            .seed(seed);
        Ok(AutoBoost { config, plan })
    }
}

impl AutoBoost {
    /// Fits the model to the data that the plan was made for. Where folds find the number of stages, this costs a fit for
    /// each of them, or two where they try all features, and one to all samples.
    ///
    /// # Errors
    /// The same as for [`BoostConfig::fit`].
    pub fn fit<'d>(&self, data: impl Into<Dataset<'d>>) -> Result<Boosted> {
        let data = data.into();
        let control = &data.under();
        let (data, mut config) = (&data, self.config.clone());
        if let Some(planned) = self.plan.search {
            let mut folds = splits(data, planned.n_folds, config.seed, control)?;
            folds.truncate(planned.n_grown);
            let search =
                StageSearch { folds: &folds, patience_share: planned.patience_share, ..StageSearch::default() };
            let mut found = config.search(data, &search, &mut Unobserved)?;
            if let Some(gain) = planned.all_gain {
                let all = config.clone().max_features(MaxFeatures::All);
                let with_all = all.search(data, &search, &mut Unobserved)?;
                if with_all.least() < found.least() - gain * found.least().abs() {
                    (config, found) = (all, with_all);
                }
            }
            config.n_estimators = found.n_stages;
        }
        config.n_iter_no_change(None).fit(data)
    }
}
