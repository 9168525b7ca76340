//! Temporary: signatures of the model's side until it is merged.
#![allow(missing_docs, missing_debug_implementations, clippy::all)]
use crate::*;
use ndarray::{Array2, Array3};
use std::sync::Arc;
pub struct TopK {
    pub indices: Array2<u32>,
    pub scores: Array2<f64>,
}
pub struct Oob {
    pub scores: Array2<f64>,
    pub n_trees: Vec<u32>,
}
pub struct DecisionPath {
    pub ptr: Vec<usize>,
    pub nodes: Vec<u32>,
    pub tree_offsets: Vec<usize>,
}
impl From<Tree> for Forest {
    fn from(t: Tree) -> Self {
        Arc::new(t).into()
    }
}
impl From<Arc<Tree>> for Forest {
    fn from(_: Arc<Tree>) -> Self {
        todo!()
    }
}
impl Forest {
    pub fn merge(_: &[&Forest]) -> Result<Forest> {
        todo!()
    }
    pub fn n_trees(&self) -> usize {
        todo!()
    }
    pub fn n_features(&self) -> usize {
        todo!()
    }
    pub fn outputs(&self) -> &Outputs {
        todo!()
    }
    pub fn tree(&self, _: usize) -> &Arc<Tree> {
        todo!()
    }
    pub fn predict(&self, _: &Matrix, _: &Control) -> Result<Array2<f64>> {
        todo!()
    }
    pub fn apply(&self, _: &Matrix, _: &Control) -> Result<Array2<u32>> {
        todo!()
    }
    pub fn decision_path(&self, _: &Matrix, _: &Control) -> Result<DecisionPath> {
        todo!()
    }
    pub fn predict_topk(&self, _: &Matrix, _: usize, _: &Control) -> Result<TopK> {
        todo!()
    }
    pub fn oob_predict(&self, _: &ForestConfig, _: &Matrix, _: Option<&[f64]>, _: &Control) -> Result<Oob> {
        todo!()
    }
    pub fn feature_importances(&self, _: Option<&[usize]>) -> Result<Vec<f64>> {
        todo!()
    }
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        todo!()
    }
    pub fn from_bytes(_: &[u8]) -> Result<Forest> {
        todo!()
    }
}
impl Tree {
    pub fn n_nodes(&self) -> usize {
        todo!()
    }
    pub fn n_leaves(&self) -> usize {
        todo!()
    }
    pub fn max_depth(&self) -> usize {
        todo!()
    }
    pub fn children_left(&self) -> Vec<i64> {
        todo!()
    }
    pub fn children_right(&self) -> Vec<i64> {
        todo!()
    }
    pub fn feature(&self) -> Vec<i64> {
        todo!()
    }
    pub fn threshold(&self) -> Vec<f64> {
        todo!()
    }
    pub fn impurity(&self) -> &[f64] {
        todo!()
    }
    pub fn n_node_samples(&self) -> &[u32] {
        todo!()
    }
    pub fn weighted_n_node_samples(&self) -> &[f64] {
        todo!()
    }
    pub fn value(&self) -> Array3<f64> {
        todo!()
    }
}
