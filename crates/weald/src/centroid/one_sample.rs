//! One sample after another, in a forest that is prepared for that.

use std::any::Any;
use std::sync::Arc;

use super::predict::{Leaves, Scratch as Found};
use super::{CentroidForest, Vectors};
use crate::control::Control;
use crate::data::Sample;
use crate::error::Result;
use crate::model::means::{Best, FindLeaves, mean_of};
use crate::model::{OneByOne, Shape, Wanted};

/// A centroid forest, prepared to score one sample after another.
#[derive(Debug)]
pub(crate) struct OfCentroids {
    forest: Arc<CentroidForest>,
    shape: Shape,
    control: Control,
}

#[derive(Debug)]
struct Scratch {
    x: Vectors,
    found: Found,
    best: Best<'static>,
}

impl OfCentroids {
    pub(crate) fn new(forest: Arc<CentroidForest>) -> Result<Self> {
        forest.check_trees()?;
        let (n_features, outputs, width) = (forest.n_features, forest.outputs.clone(), forest.outputs.width());
        let shape = Shape { n_features, outputs, n_scores: width, n_ranked: width, takes_missing: false };
        Ok(OfCentroids { forest, shape, control: Control::default() })
    }
}

impl OneByOne for OfCentroids {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn scratch(&self) -> Result<Box<dyn Any + Send>> {
        let x = Vectors::of_one_row(self.shape.n_features)?;
        let leaves = Leaves { forest: &self.forest, x };
        let (found, best) = (leaves.scratch()?, Best::new(self.shape.n_scores, None)?);
        Ok(Box::new(Scratch { x: leaves.x, found, best }))
    }

    fn score(&self, sample: Sample<'_>, _: bool, wanted: Wanted<'_>, scratch: &mut dyn Any) -> Result<()> {
        let Scratch { x, found, best } = scratch.downcast_mut().expect("it is of this model");
        x.set_row(sample.entries(), self.forest.preparation())?;
        let (leaves, n_trees) = (Leaves { forest: &self.forest, x: std::mem::take(x) }, self.forest.n_trees() as f64);
        leaves.find(0..1, found, &self.control)?;
        match wanted {
            Wanted::Scores(out) | Wanted::Predictions(out) => mean_of(&leaves, 0, found, |_| true, n_trees, out)?,
            Wanted::Best(columns, values) => best.of_means(&leaves, 0, found, 0, n_trees, (columns, values))?,
        }
        *x = leaves.x;
        Ok(())
    }
}
