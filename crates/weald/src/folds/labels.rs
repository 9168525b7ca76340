//! Iterative stratification of labels: folds in which each label is about as frequent as in all samples.
//!
//! Source: Sechidis, Tsoumakas and Vlahavas, On the stratification of multi-label data, ECML PKDD 2011, with folds of
//! equal size. The label that the fewest remaining samples have is distributed first. Each of its samples is assigned to
//! the fold with the fewest samples that have the label, and among equal ones to the fold with the fewest samples.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::control::Control;
use crate::data::LabelView;
use crate::error::{Error, ErrorKind, Purpose, Result};

const PURPOSE: Purpose = Purpose("the folds of samples");
const NONE: u32 = u32::MAX;

/// Returns the fold of each sample, from 0 to `n_folds` − 1.
///
/// Among labels with the same number of remaining samples, the one with the smallest `priority` comes first, and among
/// equal ones the first label. Among equal folds, the first one is chosen. Time is O(stored labels · log(n_labels ·
/// n_folds) + n_labels · n_folds), and memory is O(n_labels · n_folds).
///
/// # Errors
/// [`crate::ErrorKind::Invalid`] if there is no fold; [`crate::ErrorKind::Shape`] if there is not one priority for each
/// label; [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
pub fn label_folds(labels: &LabelView<'_>, n_folds: usize, priority: &[i64], control: &Control) -> Result<Vec<u32>> {
    if n_folds == 0 {
        return Err(Error::invalid("n_folds", n_folds, "be at least 1"));
    }
    let n_labels = labels.n_labels();
    if priority.len() != n_labels {
        return Err(ErrorKind::Shape { what: "priority", expected: n_labels, got: priority.len() }.into());
    }
    let mut dealer = Dealer::new(labels, n_folds)?;
    let (ends, samples) = samples_of_labels(labels)?;
    // A label may have several entries, of which the one with its number of remaining samples is valid.
    let mut queue = BinaryHeap::new();
    let push = |queue: &mut BinaryHeap<_>, label: u32, n_remaining: u32| -> Result<()> {
        queue.try_reserve(1).map_err(|_| PURPOSE.missing::<(u32, i64, u32)>(queue.len() + 1))?;
        queue.push(Reverse((n_remaining, priority[label as usize], label)));
        Ok(())
    };
    for (label, &n) in (0..).zip(&dealer.remaining).filter(|(_, n)| **n > 0) {
        push(&mut queue, label, n)?;
    }
    let mut pulse = control.pulse();
    let mut changed: Vec<u32> = Vec::new();
    while let Some(Reverse((n_remaining, _, label))) = queue.pop() {
        if n_remaining != dealer.remaining[label as usize] {
            continue;
        }
        let start = if label == 0 { 0 } else { ends[label as usize - 1] };
        dealer.deal(&samples[start..ends[label as usize]], Some(label), &mut changed)?;
        changed.sort_unstable();
        changed.dedup();
        pulse.after(changed.len() + n_folds)?;
        for label in changed.drain(..) {
            if dealer.remaining[label as usize] > 0 {
                push(&mut queue, label, dealer.remaining[label as usize])?;
            }
        }
    }
    let all: Vec<u32> = PURPOSE.collected(0..labels.n_samples() as u32)?;
    dealer.deal(&all, None, &mut changed)?;
    Ok(dealer.folds)
}

/// Returns the samples of each label, one label after the other, and where those of each label end.
fn samples_of_labels(labels: &LabelView<'_>) -> Result<(Vec<usize>, Vec<u32>)> {
    let mut ends = PURPOSE.filled(0usize, labels.n_labels())?;
    labels.indices().iter().for_each(|&label| ends[label as usize] += 1);
    (1..ends.len()).for_each(|label| ends[label] += ends[label - 1]);
    let mut samples = PURPOSE.filled(0u32, labels.indices().len())?;
    // Backwards, so that finally `ends` are the starts.
    for sample in (0..labels.n_samples()).rev() {
        for &label in &labels.indices()[labels.ptr()[sample]..labels.ptr()[sample + 1]] {
            ends[label as usize] -= 1;
            samples[ends[label as usize]] = sample as u32;
        }
    }
    ends.rotate_left(1.min(labels.n_labels()));
    if let Some(last) = ends.last_mut() {
        *last = samples.len();
    }
    Ok((ends, samples))
}

/// The folds of the samples so far.
#[derive(Debug)]
struct Dealer<'l> {
    labels: &'l LabelView<'l>,
    n_folds: usize,
    folds: Vec<u32>,
    /// The number of samples in each fold.
    n_samples: Vec<u32>,
    /// For each label, the number of its samples in each fold.
    n_with: Vec<u32>,
    /// For each label, the number of its samples that are in no fold yet.
    remaining: Vec<u32>,
}

impl<'l> Dealer<'l> {
    fn new(labels: &'l LabelView<'l>, n_folds: usize) -> Result<Self> {
        let n_labels = labels.n_labels();
        let mut remaining = PURPOSE.filled(0u32, n_labels)?;
        labels.indices().iter().for_each(|&label| remaining[label as usize] += 1);
        Ok(Dealer {
            labels,
            n_folds,
            folds: PURPOSE.filled(NONE, labels.n_samples())?,
            n_samples: PURPOSE.filled(0, n_folds)?,
            n_with: PURPOSE.filled(0, n_labels.saturating_mul(n_folds))?,
            remaining,
        })
    }

    /// Assigns those of some samples that are in no fold yet, by their number of `label` in each fold, and adds their
    /// labels to `changed`.
    fn deal(&mut self, samples: &[u32], label: Option<u32>, changed: &mut Vec<u32>) -> Result<()> {
        let n_with = |fold: usize| label.map_or(0, |label| self.n_with[label as usize * self.n_folds + fold]);
        let mut folds = PURPOSE.with_capacity(self.n_folds)?;
        folds.extend((0..self.n_folds).map(|fold| Reverse((n_with(fold), self.n_samples[fold], fold))));
        let mut folds = BinaryHeap::from(folds);
        for &sample in samples {
            if self.folds[sample as usize] != NONE {
                continue;
            }
            let mut first = folds.peek_mut().expect("there is a fold");
            let Reverse((n_with, n_samples, fold)) = &mut *first;
            self.folds[sample as usize] = *fold as u32;
            (*n_with, *n_samples) = (*n_with + u32::from(label.is_some()), *n_samples + 1);
            self.n_samples[*fold] += 1;
            for &label in
                &self.labels.indices()[self.labels.ptr()[sample as usize]..self.labels.ptr()[sample as usize + 1]]
            {
                self.n_with[label as usize * self.n_folds + *fold] += 1;
                self.remaining[label as usize] -= 1;
                PURPOSE.push(changed, label)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, one sample after the other.
    fn slow(rows: &[Vec<u32>], n_labels: usize, n_folds: usize, priority: &[i64]) -> Vec<u32> {
        let mut folds = vec![NONE; rows.len()];
        let count = |folds: &[u32], label: Option<u32>, fold: u32| {
            let has = |row: &Vec<u32>| label.is_none_or(|label| row.contains(&label));
            rows.iter().zip(folds).filter(|(row, of)| has(row) && **of == fold).count()
        };
        loop {
            let remaining = |label: u32| count(&folds, Some(label), NONE);
            let labels = (0..n_labels as u32).filter(|&label| remaining(label) > 0);
            let label = labels.min_by_key(|&label| (remaining(label), priority[label as usize], label));
            let has = |row: &Vec<u32>| label.is_none_or(|label| row.contains(&label));
            let some: Vec<usize> = (0..rows.len()).filter(|&i| folds[i] == NONE && has(&rows[i])).collect();
            for i in some {
                let key =
                    |&fold: &u32| (label.map_or(0, |_| count(&folds, label, fold)), count(&folds, None, fold), fold);
                folds[i] = (0..n_folds as u32).min_by_key(key).unwrap();
            }
            if label.is_none() {
                return folds;
            }
        }
    }

    proptest! {
        #[test]
        fn folds_are_those_of_the_definition(
            rows in prop::collection::vec(prop::collection::btree_set(0u32..6, 0..4), 0..25),
            n_folds in 1usize..5, priority in prop::collection::vec(0i64..3, 6),
        ) {
            let rows: Vec<Vec<u32>> = rows.into_iter().map(|row| row.into_iter().collect()).collect();
            let labels = crate::testing::labels::listed(&rows, 6);
            let found = label_folds(&labels, n_folds, &priority, &Control::default()).unwrap();
            prop_assert_eq!(found, slow(&rows, 6, n_folds, &priority));
        }
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused() {
        let labels = LabelView::try_new(vec![0, 1], vec![0], 2).unwrap();
        let control = Control::default();
        assert!(label_folds(&labels, 0, &[0, 0], &control).is_err());
        assert!(label_folds(&labels, 2, &[0], &control).is_err());
        let control = Control::default();
        control.stop();
        let many = LabelView::try_new((0..=4000).collect::<Vec<usize>>(), vec![0u32; 4000], 1).unwrap();
        assert_eq!(label_folds(&many, 1 << 20, &[0], &control).unwrap_err().kind(), &ErrorKind::Interrupted);
    }
}
