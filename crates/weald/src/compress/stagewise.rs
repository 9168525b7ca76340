//! Monotone incremental forward stagewise regression.
//!
//! The following is repeated: among the nodes that may move (a coefficient never turns back), the one with the largest
//! ‖c_k‖ moves by ε along c_k / ‖c_k‖, which is the sign if there is one score. Directions are rounded to float32, as
//! the path stores them. The path ends when no node may move, when the step no longer lowers the loss, or when a
//! thousandth of a logistic loss is left. With raw indicators, the constant stays at its initial value: steps are those
//! of the columns alone, as in the literature, where columns are centred.
//!
//! A step may be limited to the scores with the largest |c_k|: it then moves only these.

use std::ops::ControlFlow;

use super::engine::{Engine, Scoring};
use super::path::Track;
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::rounds::{Unobserved, rounds};

/// The length and number of steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stride {
    /// ε.
    pub(crate) size: f64,
    /// Maximum number of steps.
    pub(crate) most: usize,
    /// Maximum number of scores that a step moves.
    pub(crate) outputs: Option<usize>,
}

const PURPOSE: Purpose = Purpose("the step of a move");

pub(crate) fn stagewise(
    engine: &mut Engine<'_>,
    track: &mut Track<'_>,
    steps: Stride,
    control: &Control,
) -> Result<()> {
    let width = engine.rows().width;
    let mut direction = PURPOSE.filled(0.0, width)?;
    let mut columns: Vec<usize> = Vec::new();
    let at_first = engine.rows().losses().0;
    rounds(track.n_moves()..steps.most, control, &mut Unobserved, |_| {
        if track.is_full() || engine.fits_all(at_first) {
            return Ok(ControlFlow::Break(()));
        }
        let Some((node, mut c)) = engine.select(control)? else { return Ok(ControlFlow::Break(())) };
        if let Some(k) = steps.outputs.filter(|&k| k < width) {
            columns.clear();
            PURPOSE.extend(&mut columns, 0..width)?;
            // Of equal columns, the first is chosen.
            columns.select_nth_unstable_by(k, |&a, &b| c[b].abs().total_cmp(&c[a].abs()).then(a.cmp(&b)));
            columns[k..].iter().for_each(|&column| c[column] = 0.0);
        }
        if !round_direction(&c, &mut direction) || engine.apply(node, steps.size, &direction, control)? >= 0.0 {
            return Ok(ControlFlow::Break(()));
        }
        track.push(node, steps.size, &direction, engine)?;
        Ok(ControlFlow::Continue(None))
    })
}

/// Returns the scoring of stagewise steps.
pub(crate) fn scoring(standardize: bool) -> Scoring {
    if standardize { Scoring::Standardized } else { Scoring::Raw }
}

/// Writes c / ‖c‖, rounded to float32. Returns whether c is not zero.
pub(crate) fn round_direction(c: &[f64], direction: &mut [f64]) -> bool {
    let norm = length(c);
    direction.iter_mut().zip(c).for_each(|(u, c)| *u = f64::from((c / norm) as f32));
    norm > 0.0 && norm.is_finite()
}

pub(crate) fn length(c: &[f64]) -> f64 {
    if let [c] = c { c.abs() } else { c.iter().map(|c| c * c).sum::<f64>().sqrt() }
}
