//! The margins of held-out samples for the classes of outputs, and the lines that make probabilities of them together.
//!
//! The probabilities of the classes of an output are the softmax of their scores. Lines that are fitted to each class alone
//! would be those of the class against all others, and their softmax too sure, so that the lines of an output have the least
//! log loss of its classes together. Given the other lines, that of a class is the line of a logistic function whose scores are
//! less by the logarithm of the sum of the others' exponentials: all lines are fitted so, and go half of the way there, until
//! they rest. No sum depends on the order of samples or of classes. Slopes are drawn towards the best common slope, and
//! intercepts towards zero, as in [`Line::fitted`]; classes with less than a weight of [`POSITIVES`] have that line.
//!
//! Source: Guo, Pleiss, Sun and Weinberger, *On calibration of modern neural networks*, 2017 (vector scaling).

use std::ops::Range;

use super::counts::Point;
use super::folds::Folds;
use crate::control::Control;
use crate::data::Outputs;
use crate::data::targets::is_binary;
use crate::elementary::{exp, ln, power_of_two};
use crate::error::{Purpose, Result};
use crate::linear::calibration::{LEAST_SLOPE, Line, POSITIVES};
use crate::linear::source::{Cells, Source};
use crate::pool;

const PURPOSE: Purpose = Purpose("the margins of held-out samples");

/// Of more margins than these, those of samples chosen by their content are kept.
pub(crate) const MOST: usize = 1 << 21;

/// The lines of an output rest when none of them moves by more than this, or after so many rounds.
const REST: f64 = 1e-2;
const ROUNDS: usize = 100;

/// Exponentials are counted in parts of this exponent of the largest one of their sample, so that their sum is exact. Those of
/// the other classes are at least one part.
const PARTS: i32 = 40;

/// The margins of samples, (samples, columns).
#[derive(Debug)]
pub(in crate::linear) struct ClassMargins {
    /// The first columns of outputs, and the number of columns.
    starts: Vec<usize>,
    /// The samples, with the numbers by which they were dealt.
    rows: Vec<(u64, u32)>,
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
    pub(in crate::linear) fn add(
        &mut self,
        source: &Source<'_>,
        folds: &Folds,
        rows: &[u32],
        margins: &[f32],
    ) -> Result<()> {
        let width = self.width();
        for (&row, margins) in rows.iter().zip(margins.chunks_exact(width)) {
            let key = folds.keys[source.sample_of(row as usize)];
            if key.is_multiple_of(self.share) {
                PURPOSE.push(&mut self.rows, (key, row))?;
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
        for (&(key, row), margins) in all.rows.iter().zip(all.margins.chunks_exact(width)) {
            let units = source.weights.units(row as usize);
            if let Some(class) = class_of(row).filter(|_| units > 0) {
                found.push((key, class, &margins[columns.clone()], units));
            }
        }
        // Copies of a sample have its number, and are in its fold.
        found.sort_unstable_by_key(|(key, ..)| *key);
        found.dedup_by(|next, kept| {
            let is_equal = (next.0, next.1) == (kept.0, kept.1) && next.2 == kept.2;
            kept.3 += if is_equal { next.3 } else { 0 };
            is_equal
        });
        let mut margins = PURPOSE.with_capacity(found.len() * columns.len())?;
        found.iter().for_each(|(.., of_sample, _)| margins.extend(of_sample.iter().map(|&margin| f64::from(margin))));
        let weight = |units: u64| units as f64 * source.weights.unit;
        Ok(Samples {
            n_classes: columns.len(),
            margins,
            classes: PURPOSE.collected(found.iter().map(|(_, class, ..)| *class))?,
            weights: PURPOSE.collected(found.iter().map(|(.., units)| weight(*units)))?,
        })
    }

    /// Returns the line of each class.
    fn lines(&self, start: Line, control: &Control) -> Result<Vec<Line>> {
        let k = self.n_classes;
        let prior = Line { slope: self.common_slope(start.slope, control)?, intercept: 0.0 };
        let mut lines = PURPOSE.filled(prior, k)?;
        let mut points = PURPOSE.with_capacity(self.classes.len())?;
        let mut parts = PURPOSE.filled(0u64, self.margins.len())?;
        // The largest score of each sample, and the sum of its parts.
        let mut of_samples = PURPOSE.filled((0.0, 0u64), self.classes.len())?;
        let grid = power_of_two(PARTS);
        let mut positives = PURPOSE.filled(0.0, k)?;
        self.classes.iter().zip(&self.weights).for_each(|(&class, weight)| positives[class as usize] += weight);
        for _ in 0..ROUNDS {
            let samples = self.margins.chunks_exact(k).zip(parts.chunks_exact_mut(k)).zip(&mut of_samples);
            for ((margins, parts), (largest, total)) in samples {
                let score = |class: usize| lines[class].score(margins[class]);
                *largest = (0..k).map(score).fold(f64::NEG_INFINITY, f64::max);
                let part = |class: usize| (exp(score(class) - *largest) * grid).round() as u64;
                parts.iter_mut().enumerate().for_each(|(class, to)| *to = part(class));
                *total = parts.iter().sum();
            }
            let mut moved = 0f64;
            for (class, line) in lines.iter_mut().enumerate().filter(|(class, _)| positives[*class] >= POSITIVES) {
                control.check()?;
                points.clear();
                for (i, (&own, &weight)) in self.classes.iter().zip(&self.weights).enumerate() {
                    let (largest, total) = of_samples[i];
                    let others = (total - parts[i * k + class]).max(1) as f64 / grid;
                    let (on, off) = if own as usize == class { (weight, 0.0) } else { (0.0, weight) };
                    points.push(Point { margin: self.margins[i * k + class], less: largest + ln(others), off, on });
                }
                let best = Line::fitted(&points, prior, *line, 2);
                let (slope, intercept) = (best.slope - line.slope, best.intercept - line.intercept);
                moved = moved.max(slope.abs()).max(intercept.abs());
                // If all went the whole way, two classes would change places for ever.
                *line = Line { slope: line.slope + slope / 2.0, intercept: line.intercept + intercept / 2.0 };
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
        let mut sorted = PURPOSE.copied(&self.margins)?;
        sorted.chunks_exact_mut(k).for_each(|margins| margins.sort_unstable_by(|a, b| b.total_cmp(a)));
        let mut slope = start;
        for _ in 0..ROUNDS {
            control.check()?;
            let (mut gradient, mut bend) = (slope - start, 1.0);
            for (i, (margins, &weight)) in sorted.chunks_exact(k).zip(&self.weights).enumerate() {
                let own = self.margins[i * k + self.classes[i] as usize];
                shares.iter_mut().zip(margins).for_each(|(share, margin)| *share = exp(slope * (margin - margins[0])));
                let total: f64 = shares.iter().sum();
                let mean = shares.iter().zip(margins).map(|(share, margin)| share * margin).sum::<f64>() / total;
                let spread = |(share, margin): (&f64, &f64)| share * (margin - mean) * (margin - mean);
                gradient += weight * (mean - own);
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
            // Classes of little weight would have the common line.
            let one_of_each = (0..3).map(|class| ([0.5, 0.0, -0.5], 1.0, class));
            let cells: Vec<_> = cells.into_iter().chain(one_of_each).map(|cell| (cell.0, POSITIVES * cell.1, cell.2)).collect();
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
            // Lines rest where none of them moves by a hundredth, which may be a few hundredths from their places: a unit of
            // weight then loses a thousandth of a nat, or two.
            let weight: f64 = samples.weights.iter().sum();
            prop_assert!(found <= least + 5e-3 * weight, "{found} {least} {lines:?}");
            prop_assert!(found <= objective(&samples, &[(common, 0.0); 3], common) + 1e-9);
            let same = |slope: f64| objective(&samples, &[(slope, 0.0); 3], 2.0) - (slope - 2.0).powi(2);
            for other in [0.5 * common, 0.99 * common, 1.01 * common, 2.0 * common] {
                prop_assert!(same(common) <= same(other.max(LEAST_SLOPE)) + 1e-3 * weight, "{common} {other}");
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
