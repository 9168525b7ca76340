//! One sample after another, by a model that is prepared for that.

use std::any::Any;
use std::sync::Arc;

use super::LabelTreeModel;
use super::predict::Search;
use crate::centroid::Vectors;
use crate::data::Sample;
use crate::error::Result;
use crate::model::{OneByOne, Ranking, Shape, Wanted};

/// A model of label trees, prepared to score one sample after another.
#[derive(Debug)]
pub(crate) struct OfLabelTrees {
    model: Arc<LabelTreeModel>,
    shape: Shape,
    has_samples: Vec<bool>,
}

#[derive(Debug)]
struct Scratch {
    x: Vectors,
    search: Search,
    ranking: Ranking<'static>,
}

impl OfLabelTrees {
    pub(crate) fn new(model: Arc<LabelTreeModel>) -> Result<Self> {
        let (n_features, outputs, width) = (model.n_features, model.outputs.clone(), model.n_labels());
        let shape = Shape { n_features, outputs, n_scores: width, n_ranked: width, takes_missing: false };
        Ok(OfLabelTrees { has_samples: model.has_samples()?, shape, model })
    }
}

impl OneByOne for OfLabelTrees {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn scratch(&self) -> Result<Box<dyn Any + Send>> {
        let (x, ranking) = (Vectors::of_one_row(self.shape.n_features)?, Ranking::new(self.shape.n_ranked, None)?);
        Ok(Box::new(Scratch { x, search: Search::new(&self.model)?, ranking }))
    }

    fn score(&self, sample: Sample<'_>, _: bool, wanted: Wanted<'_>, scratch: &mut dyn Any) -> Result<()> {
        let Scratch { x, search, ranking } = scratch.downcast_mut().expect("it is of this model");
        x.set_row(sample.entries(), self.model.features.preparation(self.model.idf()))?;
        let mut write = |out: &mut [f64], none: f64, of: fn(f64, f64) -> f64| {
            out.fill(none);
            search.each(&self.model, x.of(0), |label, score, probability| {
                out[label as usize] = of(score, probability);
                Ok(())
            })
        };
        match wanted {
            Wanted::Scores(out) => write(out, f64::NEG_INFINITY, |score, _| score),
            Wanted::Predictions(out) => write(out, 0.0, |_, probability| probability),
            Wanted::Best(labels, values) => {
                let least = (0, labels.len());
                search.best(&self.model, x.of(0), least, &self.has_samples, ranking, (labels, values))
            }
        }
    }
}
