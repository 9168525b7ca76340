//! Mean scores when the values of some features are fixed. The means of the trees are added as scores are.

use ndarray::{Array2, ArrayView2};

use super::{Additive, Term, into_array};
use crate::control::Control;
use crate::error::Result;
use crate::pool;
use crate::tree::partial_dependence::Points;

impl Additive<'_> {
    /// Returns the mean scores at each point, (n_points, number of scores). The bits are the same for any number of
    /// threads; see [`crate::Tree::partial_dependence`].
    ///
    /// # Errors
    /// The same as for [`crate::Tree::partial_dependence`].
    pub fn partial_dependence(
        &self,
        features: &[usize],
        points: ArrayView2<'_, f32>,
        control: &Control,
    ) -> Result<Array2<f64>> {
        let points = Points::new(features, points, self.n_features)?;
        let mut sums = self.start_of_rows(points.len(), control)?;
        // A few trees are walked at a time.
        let at_once = control.n_threads().min(self.trees.len()).max(1);
        for (group, trees) in self.trees.chunks(at_once).enumerate() {
            let means = pool::map(control.n_threads(), trees.len(), |t| trees[t].means_at(&points, control))?;
            for (t, means) in means.iter().enumerate() {
                self.add_means(self.term(group * at_once + t), means, &mut sums);
            }
        }
        if self.divisor != 1.0 {
            sums.iter_mut().for_each(|sum| *sum /= self.divisor);
        }
        Ok(into_array(sums, points.len(), self.width))
    }

    /// Adds the mean values of the leaves of a tree to the sums, for each point.
    fn add_means(&self, term: Term<'_>, means: &[f64], sums: &mut [f64]) {
        match term {
            Term::Leaf => sums.iter_mut().zip(means).for_each(|(sum, mean)| *sum += mean),
            Term::Column(column) => {
                let sums = sums.iter_mut().skip(column).step_by(self.width);
                sums.zip(means).for_each(|(sum, mean)| *sum += mean);
            }
            Term::RankOne(direction) => {
                for (row, mean) in sums.chunks_exact_mut(self.width).zip(means) {
                    row.iter_mut().zip(direction.factors()).for_each(|(sum, factor)| *sum += mean * factor);
                }
            }
        }
    }
}
