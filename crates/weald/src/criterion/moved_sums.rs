//! Sums of numerical outputs over the samples that a scan has moved. Those of one output are in registers, those of
//! several outputs in memory.

use super::CopiedSample;
use super::is_below;
use crate::error::{Purpose, Result};

/// The sums of the moved side. A sample consists of its weight, followed by weight × target of each output.
pub(crate) trait MovedSums: std::fmt::Debug + Sized + Send + Sync {
    /// The part that is kept in registers during a scan, which includes the weight.
    type Local: Copy;
    /// A copy of a sample, see [`super::NodeCriterion::Sample`].
    type Copied: CopiedSample<Self::Local>;

    fn n_outputs(&self) -> usize;
    /// Returns the sums of another moved side.
    fn another(&self) -> Result<Self>;
    /// Returns the sample in row `row` of the table.
    fn sample<'t>(&self, table: &'t [f64], row: u32) -> &'t [f64];
    /// Returns a copy of a sample, if copies are supported.
    #[inline]
    fn copied(_sample: &[f64]) -> Self::Copied {
        Self::Copied::default()
    }
    fn reset(&mut self) -> Self::Local;
    fn add(&mut self, local: &mut Self::Local, sample: &[f64]);
    /// Adds four samples.
    fn add_four(&mut self, local: &mut Self::Local, samples: [&[f64]; 4]) {
        samples.into_iter().for_each(|sample| self.add(local, sample));
    }
    /// Adds samples with this weight and these sums, each with its output.
    fn add_sums(&mut self, local: &mut Self::Local, weight: f64, sums: &[(u32, f64)]);
    /// Returns m_j.
    fn sum(&self, local: &Self::Local, output: u32) -> f64;
    /// Visits m_j of each output j.
    fn for_each(&self, local: &Self::Local, visit: impl FnMut(u32, f64));
    fn weight(local: &Self::Local) -> f64;
    /// Returns Σ_j m_j² and Σ_j (total_j − m_j)².
    fn squares(&self, local: &Self::Local, total: &[f64]) -> (f64, f64);

    /// Adds [`AT_ONCE`] sums, if no cut before any of them can score `floor`; see [`is_below`]. Returns whether it
    /// did. The node has this weight and these totals.
    fn skip(&self, _local: &mut Self::Local, _sums: &[f64], _node: (f64, &[f64]), _floor: f64) -> bool {
        false
    }
}

/// The number of sums that [`MovedSums::skip`] adds.
pub(crate) const AT_ONCE: usize = 8;

/// One output, both of whose sums are in registers.
#[derive(Debug)]
pub(crate) struct One;

impl MovedSums for One {
    type Local = [f64; 2];
    type Copied = [f64; 2];

    fn n_outputs(&self) -> usize {
        1
    }

    fn another(&self) -> Result<One> {
        Ok(One)
    }

    #[inline]
    fn sample<'t>(&self, table: &'t [f64], row: u32) -> &'t [f64] {
        &table.as_chunks::<2>().0[row as usize]
    }

    #[inline]
    fn copied(sample: &[f64]) -> [f64; 2] {
        [sample[0], sample[1]]
    }

    #[inline]
    fn reset(&mut self) -> [f64; 2] {
        [0.0; 2]
    }

    #[inline]
    fn add(&mut self, local: &mut [f64; 2], sample: &[f64]) {
        local[0] += sample[0];
        local[1] += sample[1];
    }

    #[inline]
    fn add_sums(&mut self, local: &mut [f64; 2], weight: f64, sums: &[(u32, f64)]) {
        local[0] += weight;
        sums.iter().for_each(|(_, sum)| local[1] += sum);
    }

    fn sum(&self, local: &[f64; 2], _: u32) -> f64 {
        local[1]
    }

    fn for_each(&self, local: &[f64; 2], mut visit: impl FnMut(u32, f64)) {
        visit(0, local[1]);
    }

    #[inline]
    fn weight(local: &[f64; 2]) -> f64 {
        local[0]
    }

    #[inline]
    fn squares(&self, local: &[f64; 2], total: &[f64]) -> (f64, f64) {
        let rest = total[0] - local[1];
        (local[1] * local[1], rest * rest)
    }

    #[inline(always)]
    fn skip(&self, local: &mut [f64; 2], sums: &[f64], (of_node, total): (f64, &[f64]), floor: f64) -> bool {
        let Some(sums) = sums.as_chunks::<2>().0.first_chunk::<AT_ONCE>() else { return false };
        // Sums are exact, so that they may be added in any order: no addition waits for those of earlier cuts.
        let mut before = [[0.0; AT_ONCE]; 2];
        for i in 1..AT_ONCE {
            before[0][i] = before[0][i - 1] + sums[i - 1][0];
            before[1][i] = before[1][i - 1] + sums[i - 1][1];
        }
        let mut all_below = true;
        for (weight, moved) in before[0].iter().zip(&before[1]) {
            let (weight, moved) = (local[0] + weight, local[1] + moved);
            let rest = total[0] - moved;
            all_below &= is_below(floor, [moved * moved, rest * rest], [weight, of_node - weight]);
        }
        if all_below {
            let last = sums[AT_ONCE - 1];
            *local = [local[0] + (before[0][AT_ONCE - 1] + last[0]), local[1] + (before[1][AT_ONCE - 1] + last[1])];
        }
        all_below
    }
}

/// The purpose of memory with one number for each output, for error messages.
pub(super) const OUTPUTS: Purpose = Purpose("the sums of a node");

/// Any number of outputs.
#[derive(Debug)]
pub(crate) struct Many(Vec<f64>);

impl Many {
    pub(crate) fn new(n_outputs: usize) -> Result<Self> {
        Ok(Many(OUTPUTS.filled(0.0, n_outputs)?))
    }
}

impl MovedSums for Many {
    type Local = f64;
    type Copied = ();

    fn n_outputs(&self) -> usize {
        self.0.len()
    }

    fn another(&self) -> Result<Many> {
        Many::new(self.0.len())
    }

    #[inline]
    fn sample<'t>(&self, table: &'t [f64], row: u32) -> &'t [f64] {
        let width = self.0.len() + 1;
        &table[row as usize * width..][..width]
    }

    #[inline]
    fn reset(&mut self) -> f64 {
        self.0.fill(0.0);
        0.0
    }

    #[inline]
    fn add(&mut self, weight: &mut f64, sample: &[f64]) {
        *weight += sample[0];
        for (moved, t) in self.0.iter_mut().zip(&sample[1..]) {
            *moved += t;
        }
    }

    #[inline]
    fn add_four(&mut self, weight: &mut f64, [a, b, c, d]: [&[f64]; 4]) {
        // Sums are exact, so they may be added in any order. This needs only one write for four samples.
        *weight += (a[0] + b[0]) + (c[0] + d[0]);
        let (ab, cd) = (a[1..].iter().zip(&b[1..]), c[1..].iter().zip(&d[1..]));
        for (moved, ((a, b), (c, d))) in self.0.iter_mut().zip(ab.zip(cd)) {
            *moved += (a + b) + (c + d);
        }
    }

    fn add_sums(&mut self, local: &mut f64, weight: f64, sums: &[(u32, f64)]) {
        *local += weight;
        sums.iter().for_each(|&(output, sum)| self.0[output as usize] += sum);
    }

    fn sum(&self, _: &f64, output: u32) -> f64 {
        self.0[output as usize]
    }

    fn for_each(&self, _: &f64, mut visit: impl FnMut(u32, f64)) {
        (0..).zip(&self.0).for_each(|(output, &sum)| visit(output, sum));
    }

    #[inline]
    fn weight(weight: &f64) -> f64 {
        *weight
    }

    #[inline]
    fn squares(&self, _: &f64, total: &[f64]) -> (f64, f64) {
        // Every second output goes to the same partial sum, in a fixed order, so that the processor can add two outputs
        // at a time.
        let (mut moved_squares, mut rest_squares) = ([0.0; 2], [0.0; 2]);
        let ((moved, moved_tail), (total, total_tail)) = (self.0.as_chunks::<2>(), total.as_chunks::<2>());
        for (m, t) in moved.iter().zip(total) {
            let rest = [t[0] - m[0], t[1] - m[1]];
            moved_squares = [moved_squares[0] + m[0] * m[0], moved_squares[1] + m[1] * m[1]];
            rest_squares = [rest_squares[0] + rest[0] * rest[0], rest_squares[1] + rest[1] * rest[1]];
        }
        if let ([m], [t]) = (moved_tail, total_tail) {
            moved_squares[0] += m * m;
            rest_squares[0] += (t - m) * (t - m);
        }
        (moved_squares[0] + moved_squares[1], rest_squares[0] + rest_squares[1])
    }
}
