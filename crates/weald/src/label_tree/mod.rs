//! Label trees: linear models of very many labels, of which a sample only visits those that are near it.
//!
//! One column for each label costs a pass over X for each sixteen labels. A label tree clusters the labels by the
//! samples that have them. Each node has one linear column for each of its children, and each leaf one for each of its
//! labels, fitted to the samples that have a label below the node and to those whose search comes there. A search, in the
//! fit as in predictions, follows the best nodes of each depth only: a fit takes time in proportion to the stored entries
//! of X, the children and labels of the nodes that are followed, and the depth.
//!
//! Sources: Y. Prabhu, A. Kag, S. Harsola, R. Agrawal and M. Varma, *Parabel: Partitioned label trees for extreme
//! classification with application to dynamic search advertising*, 2018, for label trees of linear models with two
//! balanced children and the beam search; S. Khandagale, H. Xiao and R. Babbar, *Bonsai: Diverse and shallow trees for
//! extreme multi-label classification*, 2020, for many children of any size. Nodes are fitted by [`crate::linear`].
//!
//! # How a tree is made
//!
//! 1. Each label that a sample has becomes a point of length one: the sum of the prepared X of its samples. Labels have
//!    an order of their own, by a hash of the seed and of the samples that have them.
//! 2. A node with more than `max_leaf_labels` labels is divided. With two children, both get half of the labels
//!    (balanced k-means); with more, each label goes to the child with the most similar centre (spherical k-means), unless
//!    one of them has more than three quarters of the labels.
//! 3. The columns of all nodes are fitted depth by depth, with the samples of a node copied once, and only the features
//!    that they have. Then the search for each sample goes on to the best nodes of the next depth.
//! 4. The score of a label depends on its margin in its leaf, if the search comes there. The nodes above decide where the
//!    search goes and count little else, since leaves are fitted to samples of other leaves as well.
//!
//! # What results depend on
//!
//! A tree is a function of (data, parameters, seed, index). It does not depend on the layout of X, on the number of
//! threads, on the order of samples, or on the order of labels, except that of labels that samples with the same X have. A sample of
//! weight zero has no effect, and a sample of weight two is the same as two samples.
//!
//! | file | what |
//! |---|---|
//! | `arrays` | what the arrays of a model must fulfil |
//! | `config` | parameters |
//! | `points` | labels as points |
//! | `clustering` | the clusters of the labels of a node |
//! | `plan` | the nodes of a tree, before anything is fitted |
//! | `routes` | which samples reach which nodes during the fit |
//! | `fit` | the columns of all nodes |
//! | `tree` | the fitted tree |
//! | `beam`, `predict`, `one_sample` | the labels of a tree for a sample; means over the trees |

mod arrays;
mod beam;
mod clustering;
mod config;
mod fit;
mod one_sample;
mod plan;
mod points;
mod predict;
mod routes;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::Arc;

pub(crate) use beam::SHARE_OF_PATH;
pub use config::LabelTreeConfig;
pub(crate) use one_sample::OfLabelTrees;
pub use tree::LabelTree;

use crate::data::Outputs;
use crate::error::{Error, Purpose, Result};
use crate::linear::Features;

/// A fitted model of label trees. It is immutable.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelTreeModel {
    pub(crate) n_features: usize,
    /// Labels, or one output of classes, each of which is a label here.
    pub(crate) outputs: Outputs,
    /// How the features of X are prepared.
    pub(crate) features: Features,
    /// The inverse document frequency of each feature, if `features` are tf-idf.
    pub(crate) idf: Option<Arc<Vec<f32>>>,
    /// The number of nodes of a tree that are followed at a time.
    pub(crate) beam_width: usize,
    pub(crate) trees: Vec<LabelTree>,
}

impl LabelTreeModel {
    /// Returns one model with the trees of all `parts`, in order. The trees are copied.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] if `parts` is empty, or if the parts differ in features, outputs, `beam_width`, or
    /// in how X is prepared, and [`crate::ErrorKind::OutOfMemory`].
    pub fn merge(parts: &[&LabelTreeModel]) -> Result<LabelTreeModel> {
        const WHAT: &str = "label trees to merge";
        let first = parts.first().ok_or_else(|| Error::invalid(WHAT, "none", "have at least one part"))?;
        let mut trees = Purpose(WHAT).with_capacity(parts.iter().map(|part| part.trees.len()).sum())?;
        for part in parts {
            if part.n_features != first.n_features || part.outputs != first.outputs {
                return Err(Error::invalid(WHAT, "different ones", "have the same features and outputs"));
            }
            if (part.features, &part.idf, part.beam_width) != (first.features, &first.idf, first.beam_width) {
                let must = "have the same preparation of X and the same beam_width";
                return Err(Error::invalid(WHAT, "different ones", must));
            }
            trees.extend(part.trees.iter().cloned());
        }
        let (outputs, idf) = (first.outputs.clone(), first.idf.clone());
        let LabelTreeModel { n_features, features, beam_width, .. } = **first;
        Ok(LabelTreeModel { n_features, outputs, features, idf, beam_width, trees })
    }

    /// Returns the number of features.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Returns the meaning of the columns of predictions: labels, or one output of classes.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Returns the number of labels or classes, with those that no sample had.
    pub fn n_labels(&self) -> usize {
        self.outputs.width()
    }

    /// Returns how the features of X are prepared.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Returns the inverse document frequency of each feature, if the features are tf-idf.
    pub fn idf(&self) -> Option<&[f32]> {
        self.idf.as_deref().map(Vec::as_slice)
    }

    /// Returns the number of nodes of a tree that predictions follow at a time.
    pub fn beam_width(&self) -> usize {
        self.beam_width
    }

    /// Returns the same model with another number of nodes that predictions follow at a time, from 1 to 2³² − 1.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for another number.
    pub fn with_beam_width(mut self, beam_width: usize) -> crate::Result<Self> {
        config::check_beam_width(beam_width)?;
        self.beam_width = beam_width;
        Ok(self)
    }

    /// Returns the trees.
    pub fn trees(&self) -> &[LabelTree] {
        &self.trees
    }

    /// Returns the number of stored weights of all trees.
    pub fn n_weights(&self) -> usize {
        self.trees.iter().map(LabelTree::n_weights).sum()
    }

    /// Returns the largest number of passes over the samples of a column.
    pub fn n_iter(&self) -> usize {
        self.trees.iter().map(LabelTree::n_iter).max().unwrap_or(0)
    }

    /// Returns the number of columns of all trees: children and labels of all nodes.
    pub fn n_columns(&self) -> usize {
        self.trees.iter().map(|tree| tree.targets.len()).sum()
    }

    /// Returns the number of columns of all trees whose fit did not reach the tolerance within the passes that were
    /// allowed.
    pub fn n_unfinished(&self) -> usize {
        self.trees.iter().map(|tree| tree.n_unfinished).sum()
    }

    /// Returns the number of bytes of the trees and of inverse document frequencies.
    pub fn n_bytes(&self) -> usize {
        self.idf().map_or(0, size_of_val) + self.trees.iter().map(LabelTree::n_bytes).sum::<usize>()
    }
}
