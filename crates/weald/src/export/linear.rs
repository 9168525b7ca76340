//! Linear models, alone or as what trees add their values to.

use super::c::C;
use super::json::Json;
use super::{Added, F32, Kind, List, Of, U32};
use crate::centroid::Preparation;
use crate::error::Result;
use crate::linear::{Features, LinearModel};
use crate::loss::Link;

pub(super) struct Linear<'a> {
    pub(super) model: &'a LinearModel,
    pub(super) added: Added,
}

impl Linear<'_> {
    fn preparation(&self) -> Preparation<'_> {
        self.model.features.preparation(self.model.idf())
    }

    /// Returns whether slopes are not all 1 and intercepts 0.
    fn is_calibrated(&self) -> bool {
        let changes = |found: &crate::linear::Calibration| {
            found.slopes.iter().any(|&slope| slope != 1.0) || found.intercepts.iter().any(|&intercept| intercept != 0.0)
        };
        self.model.calibration.as_ref().is_some_and(changes)
    }

    /// Returns a list with a number of each score, which is a constant in a model without calibration.
    fn of_scores<'a>(
        &'a self,
        name: &'static str,
        numbers: impl Fn(&'a crate::linear::Calibration) -> &'a [f32] + 'a,
        otherwise: f32,
    ) -> List<'a> {
        let of = if self.is_calibrated() { F32 } else { Of::Json };
        List::new(name, of, move |_, each| match &self.model.calibration {
            Some(found) => numbers(found).iter().try_for_each(|&number| each(number.into())),
            None => (0..self.model.n_columns()).try_for_each(|_| each(otherwise.into())),
        })
    }
}

/// Returns the name of how a model that was fitted prepares X: weights of standardised features are those of X as it is given.
pub(super) fn name_of(features: Features) -> &'static str {
    if features == Features::Standardized { Features::Given.name() } else { features.name() }
}

impl Kind for Linear<'_> {
    fn n_trees(&self) -> usize {
        0
    }

    fn lists(&self) -> Vec<List<'_>> {
        let weights = &self.model.weights;
        vec![
            List::of_slice("ptr", Of::Offsets, |_| &weights.ptr),
            List::of_slice("columns", U32, |_| &weights.columns),
            List::of_slice("values", F32, |_| &weights.values),
            List::of_slice("intercepts", F32, |_| &weights.intercepts),
            self.of_scores("slopes", |found| &found.slopes, 1.0),
            self.of_scores("offsets", |found| &found.intercepts, 0.0),
        ]
    }

    fn rules_to_json(&self, json: &mut Json<'_>) -> Result<()> {
        json.key("linear")?;
        json.open('{')?;
        json.string("link", self.model.link().name())?;
        let added = match self.added {
            Added::Scores => "scores",
            Added::Log => "log",
            Added::HalfLogOdds => "half_logit",
        };
        json.string("added", added)?;
        json.string("features", name_of(self.model.features))?;
        json.idf(self.model.idf())?;
        json.lists(self, 0)?;
        json.close('}')
    }

    fn describe_in_c(&self, c: &mut C<'_>) -> Result<()> {
        let adds_probabilities = self.added != Added::Scores;
        c.preparation(self.preparation());
        c.flag("MODEL_IS_CALIBRATED", self.is_calibrated());
        c.flag("MODEL_HAS_PRODUCTS", self.is_calibrated());
        c.flag("MODEL_ADDS_PROBABILITIES", adds_probabilities);
        c.flag("MODEL_ADDS_LOG_ODDS", self.added == Added::HalfLogOdds);
        c.flag("MODEL_HAS_SOFTMAX", adds_probabilities && self.model.link() == Link::Softmax);
        c.constant("UNIT", self.model.unit());
        if adds_probabilities {
            c.constant("LEAST_PROBABILITY", Added::LEAST_PROBABILITY);
        }
        c.functions(include_str!("c/linear.c"));
        Ok(())
    }

    fn tables_to_c(&self, c: &mut C<'_>) -> Result<()> {
        c.idf(self.model.idf())?;
        c.lists(&self.lists(), "linear_", 1)
    }
}
