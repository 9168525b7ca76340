//! The scores of a fit that is done in several parts, so that no part computes those of the parts before again.

use std::sync::Arc;

use super::model::Boosted;
use super::scores::booster::Booster;
use super::scores::{Held, Scored, Scores};
use crate::error::{Purpose, Result};
use crate::loss::kernels::float::Float;
use crate::tree::Tree;

const SCORES: Purpose = Purpose("the scores of the stages so far");

/// The scores of the samples after the last stage of a part of a fit, from which
/// a fit goes on. It takes 8 bytes for each score.
#[derive(Clone, Debug, Default)]
pub(super) struct ScoresSoFar {
    /// The trees of the part: scores of another model are computed again.
    trees: Vec<Arc<Tree>>,
    /// Those of the training and of the held-out samples, for each group of scores that are boosted together. Empty if
    /// scores are not stored during the fit.
    of_each: Vec<[Option<Vec<f64>>; 2]>,
}

impl ScoresSoFar {
    /// Returns the scores after the stages of this model.
    pub(super) fn after<'a, T: Float, S: Scores<'a, T>>(
        model: &Boosted,
        boosters: &[Booster<'a, T, S>],
    ) -> Result<Self> {
        let of = |scored: &Scored<'a, T, S>| {
            let numbers = |held: &Held<T>| SCORES.collected(held.scores.iter().map(|score| score.to_f64()));
            scored.scores.held().map(numbers).transpose()
        };
        let mut of_each = SCORES.with_capacity(boosters.len())?;
        for Booster { train, validation, .. } in boosters {
            let Some(of_training) = of(train)? else { return Ok(ScoresSoFar::default()) };
            of_each.push([Some(of_training), validation.as_ref().map(of).transpose()?.flatten()]);
        }
        Ok(ScoresSoFar { trees: SCORES.collected(model.trees.iter().map(Arc::clone))?, of_each })
    }

    /// Adds a number to all scores, to find out whether they are used.
    #[cfg(test)]
    pub(super) fn shift(&mut self, by: f64) {
        let known = self.of_each.iter_mut().flatten().flatten();
        known.flat_map(|scores| scores.iter_mut()).for_each(|score| *score += by);
    }

    /// Brings scores to their values after the stages of `model`, if they are known. Returns whether they are.
    pub(super) fn restore<'a, T: Float, S: Scores<'a, T>>(
        &self,
        model: &Boosted,
        boosters: &mut [Booster<'a, T, S>],
    ) -> bool {
        let n_stages = model.n_stages();
        let is_of_model = self.trees.len() == model.trees.len()
            && self.trees.iter().zip(&model.trees).all(|(known, tree)| Arc::ptr_eq(known, tree));
        if !is_of_model || self.of_each.len() != boosters.len() {
            return false;
        }
        let is_validated = boosters.iter().any(|booster| booster.validation.is_some());
        if is_validated && model.validation_score.len() != n_stages {
            return false;
        }
        let fits = |known: &Option<Vec<f64>>, scored: Option<&Scored<'a, T, S>>| match scored {
            None => true,
            Some(scored) => {
                let len = scored.scores.held().map(|held| held.scores.len());
                len.is_some() && len == known.as_ref().map(Vec::len)
            }
        };
        let mut each = boosters.iter().zip(&self.of_each);
        if !each.all(|(booster, [of_training, of_held])| {
            fits(of_training, Some(&booster.train)) && fits(of_held, booster.validation.as_ref())
        }) {
            return false;
        }
        for (booster, known) in boosters.iter_mut().zip(&self.of_each) {
            let Booster { train, validation, .. } = booster;
            for (scored, known) in [Some(train), validation.as_mut()].into_iter().zip(known) {
                let held = scored.and_then(|scored| scored.scores.held_mut());
                if let (Some(held), Some(known)) = (held, known) {
                    held.scores.iter_mut().zip(known).for_each(|(score, &known)| *score = T::from_f64(known));
                }
            }
        }
        true
    }
}
