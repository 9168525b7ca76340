//! Dense projections with normally distributed entries.

use super::matrix::ProjectionMatrix;
use crate::control::Control;
use crate::error::Result;
use crate::rng::{Key, Stream};

/// Draws entries from N(0, 1/q). Row k has a random stream of its own and is the same for every q, up to the scale.
pub(super) fn draw(n_projections: usize, n_outputs: usize, key: Key, control: &Control) -> Result<ProjectionMatrix> {
    let scale = 1.0 / (n_projections as f64).sqrt();
    ProjectionMatrix::dense_by_rows(n_projections, n_outputs, control, |k| {
        let mut stream = Stream::new(key.child(k as u64));
        move |_| stream.normal() * scale
    })
}
