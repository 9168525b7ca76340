//! Blocks of vectors, on which subspace iteration operates.

use super::pca::PURPOSE;
use crate::control::Control;
use crate::elementary::Squared;
use crate::error::Result;
use crate::rng::{Key, Stream};

/// Purpose of the key of the initial block. It is the same for all seeds, as the result does not depend on it.
const START: u64 = u64::from_be_bytes(*b"pcastart");

/// A d × l matrix: l vectors side by side.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) width: usize,
    pub(super) values: Vec<f64>,
}

impl Block {
    /// Returns random vectors, or the unit vectors if the block is the whole space.
    pub(super) fn start(n_outputs: usize, width: usize, control: &Control) -> Result<Self> {
        let mut values = control.filled(PURPOSE, 0.0, n_outputs.saturating_mul(width))?;
        if width == n_outputs {
            (0..width).for_each(|k| values[k * width + k] = 1.0);
        } else {
            let mut stream = Stream::new(Key::from_seed(START));
            let mut pulse = control.pulse();
            for x in &mut values {
                *x = stream.normal();
                pulse.after(1)?;
            }
        }
        Ok(Block { width, values })
    }

    pub(super) fn row(&self, output: usize) -> &[f64] {
        &self.values[output * self.width..][..self.width]
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.width)
    }

    pub(super) fn norms(&self, control: &Control) -> Result<Vec<f64>> {
        // Entries are scaled by the largest one, so that squares neither overflow nor underflow.
        let mut pulse = control.pulse();
        let mut largest = PURPOSE.filled(0.0f64, self.width)?;
        for row in self.rows() {
            pulse.after(self.width)?;
            largest.iter_mut().zip(row).for_each(|(m, x)| *m = m.max(x.abs()));
        }
        let mut squares = PURPOSE.filled(0.0, self.width)?;
        for row in self.rows() {
            pulse.after(self.width)?;
            for (k, x) in row.iter().enumerate().filter(|(k, _)| largest[*k] > 0.0) {
                squares[k] += (x / largest[k]).squared();
            }
        }
        PURPOSE.collected(largest.into_iter().zip(squares).map(|(m, s): (f64, f64)| m * s.sqrt()))
    }

    /// Makes the vectors orthonormal by Gram–Schmidt, each vector twice. A vector in the span of the previous ones is
    /// replaced by a unit vector, so that the vectors are orthonormal even if y has fewer dimensions.
    pub(super) fn make_orthonormal(&mut self, control: &Control) -> Result<()> {
        let norms = self.norms(control)?;
        let mut dots = PURPOSE.filled(0.0, self.width)?;
        for (k, norm) in norms.into_iter().enumerate() {
            if norm > 0.0 {
                self.scale(k, 1.0 / norm);
            }
            self.project_out(k, &mut dots, control)?;
            let left = self.norm(k);
            if norm == 0.0 || left < 1e-10 {
                self.replace_by_unit(k);
                self.project_out(k, &mut dots, control)?;
            }
            self.scale(k, 1.0 / self.norm(k));
            self.project_out(k, &mut dots, control)?;
            self.scale(k, 1.0 / self.norm(k));
        }
        Ok(())
    }

    /// Subtracts from vector k its projections on the first k vectors, which must be orthonormal. `dots` must have room
    /// for k values.
    fn project_out(&mut self, k: usize, dots: &mut [f64], control: &Control) -> Result<()> {
        let dots = &mut dots[..k];
        dots.fill(0.0);
        let mut pulse = control.pulse();
        for row in self.rows() {
            pulse.after(1 + k)?;
            dots.iter_mut().zip(row).for_each(|(dot, x)| *dot += x * row[k]);
        }
        for row in self.values.chunks_exact_mut(self.width) {
            pulse.after(1 + k)?;
            let inside: f64 = dots.iter().zip(&*row).map(|(dot, x)| dot * x).sum();
            row[k] -= inside;
        }
        Ok(())
    }

    /// Replaces vector k by the unit vector that is farthest from the span of the first k vectors.
    fn replace_by_unit(&mut self, k: usize) {
        let inside = |row: &[f64]| row[..k].iter().map(|x| x * x).sum::<f64>();
        let least = self.rows().map(inside).enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        let unit = least.map_or(0, |(j, _)| j);
        for (j, row) in self.values.chunks_exact_mut(self.width).enumerate() {
            row[k] = if j == unit { 1.0 } else { 0.0 };
        }
    }

    fn norm(&self, k: usize) -> f64 {
        self.rows().map(|row| row[k] * row[k]).sum::<f64>().sqrt()
    }

    fn scale(&mut self, k: usize, factor: f64) {
        self.values.chunks_exact_mut(self.width).for_each(|row| row[k] *= factor);
    }

    /// Returns Vᵀ C V, made symmetric.
    pub(super) fn gram(&self, image: &Block, control: &Control) -> Result<Vec<f64>> {
        let l = self.width;
        let mut gram = PURPOSE.filled(0.0, l * l)?;
        let mut pulse = control.pulse();
        for (v, c) in self.rows().zip(image.rows()) {
            for (row, x) in gram.chunks_exact_mut(l).zip(v) {
                pulse.after(l)?;
                row.iter_mut().zip(c).for_each(|(sum, c)| *sum += x * c);
            }
        }
        PURPOSE.collected((0..l * l).map(|at| (gram[at] + gram[at % l * l + at / l]) / 2.0))
    }

    /// Returns the block times an l × l matrix.
    pub(super) fn rotated(&self, rotation: &[f64], control: &Control) -> Result<Block> {
        let l = self.width;
        let mut values = control.filled(PURPOSE, 0.0, self.values.len())?;
        let mut pulse = control.pulse();
        for (to, row) in values.chunks_exact_mut(l).zip(self.rows()) {
            for (x, rotation) in row.iter().zip(rotation.chunks_exact(l)) {
                pulse.after(l)?;
                to.iter_mut().zip(rotation).for_each(|(sum, r)| *sum += x * r);
            }
        }
        Ok(Block { width: l, values })
    }

    /// Returns |C v − λ v| of vector k.
    pub(super) fn residual(&self, image: &Block, k: usize, value: f64) -> f64 {
        self.rows().zip(image.rows()).map(|(v, c)| (c[k] - value * v[k]).squared()).sum::<f64>().sqrt()
    }

    /// Returns the sign of the largest entry of vector k; of equal ones, the first.
    pub(super) fn sign(&self, k: usize) -> f64 {
        let largest = self.rows().map(|row| row[k]).fold(0.0f64, |m, x| if x.abs() > m.abs() { x } else { m });
        if largest < 0.0 { -1.0 } else { 1.0 }
    }
}
