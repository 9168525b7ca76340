//! The logistic loss of whole rows of float32 scores. Almost all labels of a row are absent, so every cell is computed
//! as absent, in loops without branches, and the few present ones are corrected afterwards.

use pulp::Arch;

use crate::elementary::{ln, ln_of_normal};
use crate::loss::kernels::vector::add;
use crate::loss::rows::{ColumnTargets, RowLoss, RowTargets};
use crate::loss::{Bounds, LogLoss, Loss};

/// Returns e^x for −87 ≤ x ≤ 88, with a relative error of at most 1.2·10⁻⁷ (the polynomial and the split of ln 2 are
/// from Cephes `expf`, by S. Moshier).
#[inline(always)]
#[expect(clippy::excessive_precision, reason = "as published")]
pub(crate) fn exp(x: f32) -> f32 {
    /// Adding this number rounds to an integer, which is then in the low bits.
    const ROUND: f32 = 1.5 * (1u32 << 23) as f32;
    /// ln 2 in two parts. The products of the first part with integers below 2⁹ are exact.
    const LN_2: [f32; 2] = [0.693359375, -2.12194440e-4];
    const P: [f32; 6] =
        [1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1];
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    let p = ((((P[0] * r + P[1]) * r + P[2]) * r + P[3]) * r + P[4]) * r + P[5];
    let mantissa = (p * (r * r) + r) + 1.0;
    f32::from_bits(mantissa.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// Returns e^(−2|f|), at least e^(−87), which is close to the smallest normal number. Curvatures are thus rounded up,
/// never to zero.
#[inline(always)]
fn tail(score: f32) -> f32 {
    let x = -2.0 * score.abs();
    exp(if x > -87.0 { x } else { -87.0 })
}

/// Returns 2 / (1 + e^(−2 sign f)), the magnitude of the gradient of an absent label (sign 1) or a present one (sign
/// −1).
#[inline(always)]
fn gradient(sign: f32, score: f32, tail: f32) -> f32 {
    2.0 * (if sign * score >= 0.0 { 1.0 } else { tail }) / (1.0 + tail)
}

/// The number of cells that are computed before their loss is summed, so that their tails stay in the innermost cache.
const BLOCK: usize = 256;
/// The number of running products and sums of a row's loss. Cell j belongs to lane j mod 16.
const LANES: usize = 16;
/// The products of this number of cells, after those of eight lanes have been multiplied, are below 2⁹⁶⁰.
const CELLS_OF_A_LOG: usize = 7 * BLOCK;

/// Σ log(1 + e^(2f)) over absent labels, computed from their tails with one logarithm for hundreds of cells.
struct OffLoss {
    products: [f64; LANES],
    sums: [f64; LANES],
    cells: usize,
    logs: f64,
}

impl OffLoss {
    #[inline(always)]
    fn new() -> Self {
        OffLoss { products: [1.0; LANES], sums: [0.0; LANES], cells: 0, logs: 0.0 }
    }

    /// Adds at most one block. All blocks except the last must be complete.
    #[inline(always)]
    fn add(&mut self, scores: &[f32], tails: &[f32]) {
        let ((tails, last_tails), (scores, last_scores)) = (tails.as_chunks::<32>(), scores.as_chunks::<32>());
        for (e, f) in tails.iter().zip(scores) {
            for lane in 0..LANES {
                // (1 + a)(1 + b) − 1, in which small terms stay precise in float32.
                let (a, b) = (e[lane], e[lane + LANES]);
                self.products[lane] *= 1.0 + f64::from((a + b) + a * b);
            }
            for lane in 0..LANES {
                self.sums[lane] += f64::from(positive(f[lane])) + f64::from(positive(f[lane + LANES]));
            }
        }
        for (j, (&e, &f)) in last_tails.iter().zip(last_scores).enumerate() {
            self.products[j % LANES] *= 1.0 + f64::from(e);
            self.sums[j % LANES] += f64::from(positive(f));
        }
        self.cells += BLOCK;
        if self.cells >= CELLS_OF_A_LOG {
            self.take_logs();
        }
    }

    #[inline(always)]
    fn take_logs(&mut self) {
        let product = |lanes: &[f64]| lanes.iter().fold(1.0, |p, x| p * x);
        self.logs += ln(product(&self.products[..8])) + ln(product(&self.products[8..]));
        (self.products, self.cells) = ([1.0; LANES], 0);
    }

    #[inline(always)]
    fn total(mut self) -> f64 {
        self.take_logs();
        self.logs + 2.0 * self.sums.iter().sum::<f64>()
    }
}

#[inline(always)]
fn positive(x: f32) -> f32 {
    if x > 0.0 { x } else { 0.0 }
}

/// Rows with at most this many cells are computed without lanes. Two classes have one cell.
const FEW: usize = 8;

/// Returns the same as [`OffLoss`], computed cell by cell.
#[inline(always)]
fn loss_of_few(scores: &[f32]) -> f64 {
    let (mut product, mut sum) = (1.0, 0.0);
    for &f in scores {
        product *= 1.0 + f64::from(tail(f));
        sum += f64::from(positive(f));
    }
    ln(product) + 2.0 * sum
}

/// Writes the gradients of a row whose labels are all absent, and returns its loss. The row is given in parts of
/// [`BLOCK`] scores, of which only the last may be shorter.
#[inline(always)]
fn all_off<'s>(mut parts: impl ExactSizeIterator<Item = &'s [f32]>, out: &mut [f32]) -> f64 {
    if out.len() <= FEW {
        let scores = parts.next().unwrap_or_default();
        scores.iter().zip(out).for_each(|(&f, r)| *r = -gradient(1.0, f, tail(f)));
        return loss_of_few(scores);
    }
    let mut tails = [0.0; BLOCK];
    let mut loss = OffLoss::new();
    for (scores, out) in parts.zip(out.chunks_mut(BLOCK)) {
        let tails = &mut tails[..scores.len()];
        for ((&f, r), e) in scores.iter().zip(out).zip(tails.iter_mut()) {
            *e = tail(f);
            *r = -gradient(1.0, f, *e);
        }
        loss.add(scores, tails);
    }
    loss.total()
}

/// Writes the gradients of samples with one score each, and the tails of their scores.
#[inline(always)]
fn column(y: ColumnTargets<'_>, scores: &[f32], out: &mut [f32], tails: &mut [f32]) {
    let cells = scores.iter().zip(out).zip(tails);
    let cell = |is_on: bool, f: f32, (r, e): (&mut f32, &mut f32)| {
        let sign = if is_on { -1.0 } else { 1.0 };
        *e = tail(f);
        *r = -sign * gradient(sign, f, *e);
    };
    match y {
        ColumnTargets::On(on) => cells.zip(on).for_each(|(((&f, r), e), &on)| cell(on, f, (r, e))),
        ColumnTargets::Numbers(y) => cells.zip(y).for_each(|(((&f, r), e), &y)| cell(y > 0.0, f, (r, e))),
    }
}

/// Returns the loss of a row whose labels are all absent.
#[inline(always)]
fn loss_off(scores: &[f32]) -> f64 {
    if scores.len() <= FEW {
        return loss_of_few(scores);
    }
    let mut tails = [0.0; BLOCK];
    let mut loss = OffLoss::new();
    for scores in scores.chunks(BLOCK) {
        let tails = &mut tails[..scores.len()];
        scores.iter().zip(tails.iter_mut()).for_each(|(&f, e)| *e = tail(f));
        loss.add(scores, tails);
    }
    loss.total()
}

/// Returns log(1 + e) for 0 ≤ e ≤ 1, with a relative error of at most 2·10⁻⁹: 2 artanh(e / (2 + e)), whose series
/// decreases by a factor of 9 with each term.
#[inline(always)]
fn ln_1p(e: f64) -> f64 {
    let z = e / (2.0 + e);
    let z2 = z * z;
    let series = (1..8).rev().fold(1.0 / 15.0, |sum, k| sum * z2 + 1.0 / f64::from(2 * k - 1));
    2.0 * z * series
}

/// Returns the loss of a row whose labels are all absent, where each cell is multiplied by its share.
#[inline(always)]
fn weighed_off(scores: &[f32], shares: &[f64]) -> f64 {
    let cell = |f: f32, share: f64| share * (ln_1p(f64::from(tail(f))) + 2.0 * f64::from(positive(f)));
    let ((scores, last_scores), (shares, last_shares)) = (scores.as_chunks::<LANES>(), shares.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (f, share) in scores.iter().zip(shares) {
        for lane in 0..LANES {
            sums[lane] += cell(f[lane], share[lane]);
        }
    }
    let last: f64 = last_scores.iter().zip(last_shares).map(|(&f, &share)| cell(f, share)).sum();
    sums.iter().sum::<f64>() + last
}

/// The logistic loss of float32 scores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogLossRows {
    arch: Arch,
}

impl LogLossRows {
    pub(crate) fn new() -> Self {
        LogLossRows { arch: Arch::new() }
    }

    /// Returns the kernel for the registers that every machine of the target has.
    #[cfg(any(test, feature = "bench-internals"))]
    pub(crate) fn narrow() -> Self {
        LogLossRows { arch: Arch::Scalar }
    }

    /// Runs `work` with the registers for a row of this width. A few cells are computed faster than wide registers can
    /// be set up.
    #[inline(always)]
    fn dispatch(&self, width: usize, work: impl FnOnce() -> f64) -> f64 {
        (if width <= FEW { Arch::Scalar } else { self.arch }).dispatch(work)
    }
}

impl LogLossRows {
    /// Corrects the gradients of present labels, and returns the loss of the row; `loss` is that with all labels absent.
    fn with_present(&self, mut loss: f64, y: RowTargets<'_>, scores: &[f32], out: &mut [f32]) -> f64 {
        let (mut columns, mut n) = ([0; LANES], 0);
        let mut correct = |columns: &[usize]| {
            let mut found = [0.0; LANES];
            found.iter_mut().zip(columns).for_each(|(f, &j)| *f = scores[j]);
            self.arch.dispatch(
                #[inline(always)]
                || found.iter_mut().for_each(|f| *f = gradient(-1.0, *f, tail(*f))),
            );
            columns.iter().zip(found).for_each(|(&j, r)| out[j] = r);
        };
        y.each_on(|j| {
            // log(1 + e^(−2f)) = log(1 + e^(2f)) − 2f.
            loss -= 2.0 * f64::from(scores[j]);
            columns[n] = j;
            n += 1;
            if n == LANES {
                correct(&columns);
                n = 0;
            }
        });
        if n > 0 {
            correct(&columns[..n]);
        }
        loss
    }
}

impl RowLoss<f32> for LogLossRows {
    fn responses(&self, y: RowTargets<'_>, scores: &[f32], out: &mut [f32]) -> f64 {
        let loss = self.dispatch(
            scores.len(),
            #[inline(always)]
            || all_off(scores.chunks(BLOCK), out),
        );
        self.with_present(loss, y, scores, out)
    }

    /// Each part of the row is moved just before its gradients are computed. Meanwhile, the machine fetches the next
    /// part from memory.
    fn responses_after(&self, y: RowTargets<'_>, scores: &mut [f32], step: &[f32], out: &mut [f32]) -> f64 {
        let parts = scores.chunks_mut(BLOCK).zip(step.chunks(BLOCK)).map(
            #[inline(always)]
            |(scores, step)| {
                add(scores, step);
                &*scores
            },
        );
        let loss = self.dispatch(
            step.len(),
            #[inline(always)]
            || all_off(parts, out),
        );
        self.with_present(loss, y, scores, out)
    }

    fn column(&self, y: ColumnTargets<'_>, scores: &[f32], out: &mut [f32], losses: &mut [f64]) {
        let mut tails = [0.0; BLOCK];
        let blocks = scores.chunks(BLOCK).zip(out.chunks_mut(BLOCK)).zip(losses.chunks_mut(BLOCK));
        for (block, ((scores, out), losses)) in blocks.enumerate() {
            let (y, tails) = (y.part(block * BLOCK..block * BLOCK + scores.len()), &mut tails[..scores.len()]);
            self.arch.dispatch(
                #[inline(always)]
                || {
                    column(y, scores, out, tails);
                    let cells = scores.iter().zip(&*tails).zip(&*out).zip(&mut *losses);
                    for (((&f, &e), &r), loss) in cells {
                        let off = ln_of_normal(1.0 + f64::from(e)) + 2.0 * f64::from(positive(f));
                        // The score of a sample that is on should rise.
                        *loss = off - if r > 0.0 { 2.0 * f64::from(f) } else { 0.0 };
                    }
                },
            );
        }
    }

    fn bounds(&self) -> Option<Bounds> {
        LogLoss.bounds()
    }

    fn loss(&self, y: RowTargets<'_>, scores: &[f32]) -> f64 {
        let mut loss = self.dispatch(
            scores.len(),
            #[inline(always)]
            || loss_off(scores),
        );
        y.each_on(|j| loss -= 2.0 * f64::from(scores[j]));
        loss
    }

    fn weighed_loss(&self, y: RowTargets<'_>, scores: &[f32], shares: &[f64]) -> Option<f64> {
        let mut loss = self.dispatch(
            scores.len(),
            #[inline(always)]
            || weighed_off(scores, shares),
        );
        y.each_on(|j| loss -= 2.0 * shares[j] * f64::from(scores[j]));
        Some(loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_right_to_the_last_bits() {
        let mut worst = 0f64;
        for k in 0..=1_750_000 {
            let x = -87.0 + k as f32 * 1e-4;
            let truth = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) - truth).abs() / truth);
        }
        // The tolerance is one unit in the last place of float32, 2⁻²³.
        assert!(worst < 1.3e-7, "{worst:e}");
        assert_eq!((exp(0.0), exp(-0.0)), (1.0, 1.0));
    }

    #[test]
    fn logarithms_are_right_to_nine_digits() {
        for k in 0..=100_000 {
            let e = f64::from(k) * 1e-5;
            // The tolerance is the accuracy of the polynomial.
            assert!((ln_1p(e) - e.ln_1p()).abs() <= 2e-9 * e.ln_1p(), "{e}");
        }
    }

    #[test]
    fn gradients_after_a_step_are_those_at_the_moved_scores() {
        for width in [1, 2, FEW, FEW + 1, LANES, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let scores: Vec<f32> = (0..width).map(|j| (j % 37) as f32 / 3.0 - 6.0).collect();
            let step: Vec<f32> = (0..width).map(|j| (j % 11) as f32 / 7.0 - 0.8).collect();
            let on: Vec<u32> = (0..width as u32).filter(|j| j % 5 == 2).collect();
            let (y, mut expected, mut out) = (RowTargets::On(&on), vec![0.0; width], vec![0.0; width]);
            for rows in [LogLossRows::new(), LogLossRows::narrow()] {
                let (mut moved, mut after) = (scores.clone(), scores.clone());
                add(&mut moved, &step);
                let loss = rows.responses(y, &moved, &mut expected);
                assert_eq!(rows.responses_after(y, &mut after, &step, &mut out).to_bits(), loss.to_bits());
                assert_eq!((&after, &out), (&moved, &expected), "{width}");
            }
        }
    }
}
