//! Globally induced forests (Begon, Joly, Geurts, ICML 2017): a compressed forest that is grown node by node.
//!
//! The candidates are the children of roots and of nodes that were chosen. Among them, or among some that are drawn
//! each time, the node is chosen whose best weight decreases the loss most, and a fraction of that weight
//! (`learning_rate`) is added. The best weight is c / (curvature × weight of the node): this is exact for the squared
//! error, and based on a quadratic bound for the logistic loss.
//!
//! Splits do not depend on which nodes are chosen: they are those of the full tree with the same key. The full trees
//! are therefore grown first, and followed here. The model is the one that growing on demand would give, at the cost of
//! the full trees.

use std::ops::ControlFlow;

use super::engine::Engine;
use super::path::Track;
use super::stagewise::{length, round_direction};
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::forest::Forest;
use crate::rng::{Key, Stream};
use crate::rounds::{Unobserved, rounds};

/// A gain, which is the square root of a decrease of the loss, is attributed to rounding if it is at most this fraction
/// of the largest gain. If the best node gains no more, the fit is complete.
const NOISE: f64 = 1e-9;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    pub(crate) learning_rate: f64,
    pub(crate) max_nodes: usize,
    pub(crate) window: Option<usize>,
    pub(crate) seed: u64,
}

pub(crate) fn grow(
    forest: &Forest,
    engine: &mut Engine<'_>,
    track: &mut Track<'_>,
    growth: Growth,
    control: &Control,
) -> Result<()> {
    let mut rng = Stream::new(Key::from_seed(growth.seed));
    let mut candidates: Vec<u32> = Vec::new();
    let add_children = |node: usize, engine: &mut Engine<'_>, candidates: &mut Vec<u32>| -> Result<()> {
        let (tree, at) = engine.nodes.place(node);
        let split = &forest.trees[tree].nodes[at];
        if !split.is_leaf() {
            for child in [node + 1, engine.nodes.offsets[tree] + split.right() as usize] {
                if engine.mass.weight[child] > 0.0 {
                    Purpose("the candidates of a forest that grows").push(candidates, child as u32)?;
                    engine.open(child);
                }
            }
        }
        Ok(())
    };
    for tree in 0..forest.n_trees() {
        add_children(engine.nodes.offsets[tree], engine, &mut candidates)?;
    }
    let mut direction = Purpose("the step of a move").filled(0.0, engine.rows().width)?;
    let mut largest = 0.0f64;
    // A node whose best weight is zero is closed without a move.
    rounds(0..usize::MAX, control, &mut Unobserved, |_| {
        if track.n_moves() >= growth.max_nodes || track.is_full() {
            return Ok(ControlFlow::Break(()));
        }
        let found = match growth.window {
            None => engine.select(control)?,
            Some(window) => {
                // The first positions contain a draw without replacement.
                let n = candidates.len();
                for i in 0..window.min(n) {
                    let j = i + rng.below((n - i) as u64) as usize;
                    candidates.swap(i, j);
                }
                engine.best_of(&candidates[..window.min(n)])?
            }
        };
        let Some((node, c)) = found else { return Ok(ControlFlow::Break(())) };
        let gain = length(&c) / engine.mass.weight[node].sqrt();
        largest = largest.max(gain);
        if growth.window.is_none() && gain <= NOISE * largest {
            return Ok(ControlFlow::Break(()));
        }
        let weight = growth.learning_rate * length(&c) / (engine.curvature() * engine.mass.weight[node]);
        if round_direction(&c, &mut direction) {
            engine.apply(node, weight, &direction, control)?;
            track.push(node, weight, &direction, engine)?;
        }
        engine.close(node);
        if growth.window.is_some() {
            candidates.retain(|&k| k as usize != node);
        }
        add_children(node, engine, &mut candidates)?;
        Ok(ControlFlow::Continue(None))
    })
}
