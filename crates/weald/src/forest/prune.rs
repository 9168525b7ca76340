//! Pruning of every tree of a forest independently, on all threads.

use super::Forest;
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::rounds::side_by_side;
use crate::tree::prune::check_alpha;
use crate::tree::reduced_error::HeldOut;

impl Forest {
    /// Returns the forest with every tree [pruned](crate::Tree::pruned) independently, on `control.n_threads()`
    /// threads.
    ///
    /// # Errors
    /// The same as for [`crate::Tree::pruned`].
    pub fn pruned(&self, ccp_alpha: f64, control: &Control) -> Result<Forest> {
        check_alpha(ccp_alpha)?;
        if ccp_alpha == 0.0 {
            return Ok(self.clone());
        }
        let trees = side_by_side(self.n_trees(), control, |i| Ok(self.trees[i].pruned(ccp_alpha, control)?.into()))?;
        Ok(Forest { trees, ..self.clone() })
    }

    /// Returns the forest with every tree [pruned](crate::Tree::prune_reduced_error) independently, on
    /// `control.n_threads()` threads.
    ///
    /// # Errors
    /// The same as for [`crate::Tree::prune_reduced_error`].
    pub fn prune_reduced_error<'d>(&self, data: impl Into<Dataset<'d>>) -> Result<Forest> {
        let data = data.into();
        let control = &data.under();
        let observed = data.observed_held_out()?;
        let data = data.with_observed(observed.as_ref());
        if self.by_output {
            return self.prune_by_output(&data, control);
        }
        let held_out = HeldOut::new(self.n_features, &self.outputs, &data, control)?;
        let one = control.on_one_thread();
        let trees = side_by_side(self.n_trees(), control, |i| Ok(held_out.prune(&self.trees[i], &one)?.into()))?;
        Ok(Forest { trees, ..self.clone() })
    }
}
