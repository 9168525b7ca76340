//! The margins of held-out samples for the classes of outputs, and the lines that make probabilities of them together.
//!
//! The probabilities of the classes of an output are the softmax of their scores. Lines that are fitted to each class alone
//! would be those of the class against all others, and their softmax too sure, so that the lines of an output have the least
//! log loss of its classes together. Given the other lines, that of a class is the line of a logistic function whose scores are
//! less by the logarithm of the sum of the others' exponentials: one line after the other is fitted so until they rest.
//! Slopes are drawn towards the best common slope, and intercepts towards zero, as in [`Line::fitted`].
//!
//! Source: Guo, Pleiss, Sun and Weinberger, *On calibration of modern neural networks*, 2017 (vector scaling).

use std::ops::Range;

use super::counts::Point;
use super::folds::Folds;
use crate::control::Control;
use crate::data::Outputs;
use crate::data::targets::is_binary;
use crate::elementary::{exp, ln};
use crate::error::{Purpose, Result};
use crate::linear::calibration::{LEAST_SLOPE, Line};
use crate::linear::source::{Cells, Source};
use crate::pool;

const PURPOSE: Purpose = Purpose("the margins of held-out samples");

/// Of more margins than these, those of samples chosen by their content are kept.
pub(crate) const MOST: usize = 1 << 21;

/// The lines of an output rest when none of them moves by more than this, or after so many rounds.
const REST: f64 = 1e-2;
const ROUNDS: usize = 30;

/// No score is further than this from the largest of its sample before a round, so that no exponential is infinite.
const FAR: f64 = 600.0;

/// The margins of samples, (samples, columns).
#[derive(Debug)]
pub(in crate::linear) struct ClassMargins {
    /// The first columns of outputs, and the number of columns.
    starts: Vec<usize>,
    rows: Vec<u32>,
    margins: Vec<f32>,
    /// One in so many samples is kept.
    share: u64,
}

impl ClassMargins {
    /// Returns a place for the margins of these columns if they are those of classes that have a softmax, of `n_samples`.
    pub(in crate::linear) fn new(source: &Source<'_>, y: &Cells, n_samples: usize) -> Result<Option<Self>> {
        let Outputs::Classes { n_classes } = &source.outputs else { return Ok(None) };
        if is_binary(n_classes) || y.n_columns != source.y.n_columns {
            return Ok(None);
        }
        let share = (n_samples * y.n_columns).div_ceil(MOST).max(1) as u64;
        Ok(Some(ClassMargins { starts: source.outputs.class_starts()?, rows: Vec::new(), margins: Vec::new(), share }))
    }

    /// Adds the margins of samples, (rows, n_columns).
    pub(in crate::linear) fn add(&mut self, folds: &Folds, rows: &[u32], margins: &[f32]) -> Result<()> {
        let width = self.width();
        for (&row, margins) in rows.iter().zip(margins.chunks_exact(width)) {
            if folds.keys[row as usize] % self.share == 0 {
                PURPOSE.push(&mut self.rows, row)?;
                PURPOSE.extend(&mut self.margins, margins.iter().copied())?;
            }
        }
        Ok(())
    }

    fn width(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    /// Returns the line of each column. `start` is that of a column where no samples say anything.
    pub(in crate::linear) fn lines(&self, source: &Source<'_>, start: Line, control: &Control) -> Result<Vec<Line>> {
        let of_outputs = pool::map(control.n_threads(), self.starts.len() - 1, |output| {
            let columns = self.starts[output]..self.starts[output + 1];
            Samples::new(self, source, columns)?.lines(start, control)
        })?;
        Ok(of_outputs.concat())
    }
}

/// The different samples of an output, in an order that depends on nothing but them.
struct Samples {
    n_classes: usize,
    /// Margins, (samples, classes).
    margins: Vec<f64>,
    classes: Vec<u32>,
    weights: Vec<f64>,
}

impl Samples {
    fn new(all: &ClassMargins, source: &Source<'_>, columns: Range<usize>) -> Result<Self> {
        let width = all.width();
        let class_of = |row: u32| {
            let own = source.y.positives.of(row as usize).iter().find(|column| columns.contains(&(**column as usize)));
            own.map(|&column| column - columns.start as u32)
        };
        let mut found = PURPOSE.with_capacity(all.rows.len())?;
        for (&row, margins) in all.rows.iter().zip(all.margins.chunks_exact(width)) {
            let units = source.weights.units(row as usize);
            if let Some(class) = class_of(row).filter(|_| units > 0) {
                found.push((class, &margins[columns.clone()], units));
            }
        }
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| bits_of(a.1).cmp(bits_of(b.1))));
        found.dedup_by(|next, kept| {
            let is_equal = next.0 == kept.0 && bits_of(next.1).eq(bits_of(kept.1));
            kept.2 += if is_equal { next.2 } else { 0 };
            is_equal
        });
        let mut margins = PURPOSE.with_capacity(found.len() * columns.len())?;
        found.iter().for_each(|(_, of_sample, _)| margins.extend(of_sample.iter().map(|&margin| f64::from(margin))));
        let weight = |units: u64| units as f64 * source.weights.unit;
        Ok(Samples {
            n_classes: columns.len(),
            margins,
            classes: PURPOSE.collected(found.iter().map(|(class, ..)| *class))?,
            weights: PURPOSE.collected(found.iter().map(|(.., units)| weight(*units)))?,
        })
    }

    /// Returns the line of each class.
    fn lines(&self, start: Line, control: &Control) -> Result<Vec<Line>> {
        let k = self.n_classes;
        let prior = Line { slope: self.common_slope(start.slope, control)?, intercept: 0.0 };
        let mut lines = PURPOSE.filled(prior, k)?;
        let mut points = PURPOSE.with_capacity(self.classes.len())?;
        // Exponentials of scores, and of each sample their sums over the classes that follow and over those that went before.
        let mut exponentials = PURPOSE.filled(0.0, self.margins.len())?;
        let mut after = PURPOSE.filled(0.0, self.margins.len())?;
        let mut before = PURPOSE.filled(0.0, self.classes.len())?;
        let mut largest = PURPOSE.filled(0.0, self.classes.len())?;
        for _ in 0..ROUNDS {
            let of_samples = exponentials.chunks_exact_mut(k).zip(after.chunks_exact_mut(k));
            for ((of_sample, after), (margins, largest)) in
                of_samples.zip(self.margins.chunks_exact(k).zip(&mut largest))
            {
                let score = |class: usize| lines[class].score(margins[class]);
                *largest = (0..k).map(score).fold(f64::NEG_INFINITY, f64::max);
                let mut sum = 0.0;
                for class in (0..k).rev() {
                    after[class] = sum;
                    of_sample[class] = exp(score(class) - *largest);
                    sum += of_sample[class];
                }
            }
            before.fill(0.0);
            let mut moved = 0f64;
            for class in 0..k {
                control.check()?;
                points.clear();
                for (i, (&own, &weight)) in self.classes.iter().zip(&self.weights).enumerate() {
                    let others = (before[i] + after[i * k + class]).max(f64::MIN_POSITIVE);
                    let (on, off) = if own as usize == class { (weight, 0.0) } else { (0.0, weight) };
                    points.push(Point { margin: self.margins[i * k + class], less: largest[i] + ln(others), off, on });
                }
                let line = Line::fitted(&points, prior, lines[class], 2);
                moved = moved.max((line.slope - lines[class].slope).abs());
                moved = moved.max((line.intercept - lines[class].intercept).abs());
                lines[class] = line;
                for (i, before) in before.iter_mut().enumerate() {
                    *before += exp((line.score(self.margins[i * k + class]) - largest[i]).clamp(-FAR, FAR));
                }
            }
            if moved <= REST {
                break;
            }
        }
        Ok(lines)
    }

    /// Returns the slope that has the least log loss, if it is that of all classes and intercepts are zero, plus half its squared
    /// distance from `start`, by Newton's method.
    fn common_slope(&self, start: f64, control: &Control) -> Result<f64> {
        let k = self.n_classes;
        let mut shares = PURPOSE.filled(0.0, k)?;
        let mut slope = start;
        for _ in 0..ROUNDS {
            control.check()?;
            let (mut gradient, mut bend) = (slope - start, 1.0);
            for ((margins, &class), &weight) in self.margins.chunks_exact(k).zip(&self.classes).zip(&self.weights) {
                let largest = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                shares.iter_mut().zip(margins).for_each(|(share, margin)| *share = exp(slope * (margin - largest)));
                let total: f64 = shares.iter().sum();
                let mean = shares.iter().zip(margins).map(|(share, margin)| share * margin).sum::<f64>() / total;
                let spread = |(share, margin): (&f64, &f64)| share * (margin - mean) * (margin - mean);
                gradient += weight * (mean - margins[class as usize]);
                bend += weight * shares.iter().zip(margins).map(spread).sum::<f64>() / total;
            }
            // Far from the solution, where the loss bends little, a step would be too long.
            let next = (slope - gradient / bend).clamp(slope / 2.0, slope * 2.0).max(LEAST_SLOPE);
            let step = (next - slope).abs();
            slope = next;
            if step <= REST * slope {
                break;
            }
        }
        Ok(slope)
    }
}

fn bits_of(margins: &[f32]) -> impl Iterator<Item = u32> + '_ {
    margins.iter().map(|margin| margin.to_bits())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The log loss of lines, plus half their squared distance from the common line, by its definition.
    fn objective(samples: &Samples, lines: &[(f64, f64)], common: f64) -> f64 {
        let of_samples = samples.margins.chunks_exact(samples.n_classes).zip(&samples.classes).zip(&samples.weights);
        let losses = of_samples.map(|((margins, &class), weight)| {
            let scores: Vec<f64> = margins.iter().zip(lines).map(|(margin, line)| line.0 * margin + line.1).collect();
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
            weight * (largest + sum.ln() - scores[class as usize])
        });
        let away = lines.iter().map(|line| (line.0 - common).powi(2) + line.1 * line.1);
        losses.sum::<f64>() + 0.5 * away.sum::<f64>()
    }

    /// Goes down the objective by the difference quotients of each number, in ever smaller steps.
    fn slowly(samples: &Samples, common: f64) -> f64 {
        let mut lines = vec![(common, 0.0); samples.n_classes];
        let (mut least, mut step) = (objective(samples, &lines, common), 1.0);
        while step > 1e-5 {
            let before = least;
            for place in 0..2 * lines.len() {
                for change in [step, -step] {
                    let mut moved = lines.clone();
                    let line = &mut moved[place / 2];
                    *(if place % 2 == 0 { &mut line.0 } else { &mut line.1 }) += change;
                    line.0 = line.0.max(LEAST_SLOPE);
                    let value = objective(samples, &moved, common);
                    if value < least {
                        (lines, least) = (moved, value);
                    }
                }
            }
            step *= if least < before - 1e-9 { 1.0 } else { 0.5 };
        }
        least
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn lines_of_classes_have_the_least_loss_together(
            cells in prop::collection::vec((prop::array::uniform3(-3.0f64..3.0), 0.1f64..3.0, 0u32..3), 0..20),
        ) {
            let samples = Samples {
                n_classes: 3,
                margins: cells.iter().flat_map(|cell| cell.0).collect(),
                classes: cells.iter().map(|cell| cell.2).collect(),
                weights: cells.iter().map(|cell| cell.1).collect(),
            };
            let control = Control::default();
            let common = samples.common_slope(2.0, &control).unwrap();
            let lines = samples.lines(Line { slope: 2.0, intercept: 0.0 }, &control).unwrap();
            let lines: Vec<_> = lines.iter().map(|line| (line.slope, line.intercept)).collect();
            let (found, least) = (objective(&samples, &lines, common), slowly(&samples, common));
            // Lines rest a hundredth from their places, where the loss is flat.
            prop_assert!(found <= least + 1e-3 * (1.0 + least), "{found} {least} {lines:?}");
            let same = |slope: f64| objective(&samples, &[(slope, 0.0); 3], 2.0) - (slope - 2.0).powi(2);
            for other in [0.5 * common, 0.99 * common, 1.01 * common, 2.0 * common] {
                prop_assert!(same(common) <= same(other.max(LEAST_SLOPE)) + 1e-3, "{common} {other}");
            }
        }
    }

    #[test]
    fn margins_beyond_all_exponentials_have_finite_lines() {
        let margins = vec![1e30, -1e30, 0.0, -1e30, 1e30, 5.0, 0.0, 0.0, 0.0];
        let samples = Samples { n_classes: 3, margins, classes: vec![0, 1, 2], weights: vec![1.0, 1e-300, 1e9] };
        let lines = samples.lines(Line { slope: 2.0, intercept: 0.0 }, &Control::default()).unwrap();
        assert!(lines.iter().all(|line| line.slope >= LEAST_SLOPE && line.slope.is_finite()));
        assert!(lines.iter().all(|line| line.intercept.is_finite()), "{lines:?}");
    }
}
