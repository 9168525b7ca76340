//! Fits, and the frozen classes around the models that they return.
//!
//! | file | what it contains |
//! |------|---------------|
//! | `tree`, `forest`, `boost`, `centroid`, `linear`, `label_tree`, `compress` | a learner each |
//! | `part` | boosting with samples on several workers |
//! | `one_sample` | scores of one sample at a time |
//! | `model` | what the classes have in common |

pub(crate) mod boost;
pub(crate) mod centroid;
pub(crate) mod compress;
pub(crate) mod forest;
pub(crate) mod label_tree;
pub(crate) mod linear;
pub(crate) mod model;
pub(crate) mod one_sample;
pub(crate) mod part;
pub(crate) mod search;
pub(crate) mod tree;
