//! Which samples a fit has, and which it does not see.

use ndarray::ArrayView1;

use super::{Dealing, PURPOSE};
use crate::control::Control;
use crate::data::{Dataset, Targets};
use crate::error::{Error, Result};

/// The samples of one fit, and those that judge it. Both are in increasing order and have positive weights.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Split {
    /// The samples to fit to.
    pub train: Vec<u32>,
    /// The samples that are held out.
    pub held_out: Vec<u32>,
}

impl Split {
    /// Returns a split of these samples.
    pub fn new(train: Vec<u32>, held_out: Vec<u32>) -> Self {
        Split { train, held_out }
    }
}

/// Returns the splits of `n_folds` folds, each of which is held out once: see [`deal`](super::deal). The only sample of a
/// class, if y is one output of classes, and samples without a known cell are in no fold: all fits have them.
///
/// # Errors
/// Those of [`deal`](super::deal), and [`crate::ErrorKind::Invalid`] if there are more folds than samples.
pub fn splits<'d>(data: impl Into<Dataset<'d>>, n_folds: usize, seed: u64, control: &Control) -> Result<Vec<Split>> {
    let data = &data.into();
    let units = Units::of(data, seed, control)?;
    if n_folds == 0 {
        return Err(Error::invalid("n_folds", n_folds, "be at least 1"));
    }
    if units.len() < n_folds {
        let of = if units.classes.is_some() { "a class of other samples" } else { "a known y" };
        let got = format!("{n_folds} for {} samples with {of}", units.len());
        return Err(Error::invalid("n_folds", got, "be at most the number of samples"));
    }
    const NONE: u32 = u32::MAX;
    let mut fold = PURPOSE.filled(NONE, data.n_samples())?;
    for (at, unit) in units.each().enumerate() {
        unit.iter().for_each(|&row| fold[row as usize] = (at % n_folds) as u32);
    }
    let weights = data.weight_by_row()?;
    let has_weight = |row: &u32| weights.as_ref().is_none_or(|weights| weights[*row as usize] > 0.0);
    let mut weighted: Vec<u32> = PURPOSE.with_capacity(data.n_samples())?;
    weighted.extend((0..data.n_samples() as u32).filter(has_weight));
    let mut found = PURPOSE.with_capacity(n_folds)?;
    for number in 0..n_folds as u32 {
        let rows = |is_held: bool| {
            let is_there = |row: &&u32| (fold[**row as usize] == number) == is_held;
            let there = weighted.iter().filter(is_there);
            let mut rows = PURPOSE.with_capacity(there.clone().count())?;
            rows.extend(there);
            Ok::<Vec<u32>, Error>(rows)
        };
        found.push(Split { train: rows(false)?, held_out: rows(true)? });
    }
    Ok(found)
}

/// Returns the samples to hold out, in increasing order: ⌈`share` · n⌉ of the n that are dealt, as large a share of each
/// class or rare label. No class is lost: where all samples of one would be held out, one of them is not.
///
/// # Errors
/// Those of [`deal`](super::deal), and [`crate::ErrorKind::Invalid`] if no sample remains for the fit.
pub fn held_out<'d>(data: impl Into<Dataset<'d>>, share: f64, seed: u64, control: &Control) -> Result<Vec<u32>> {
    let data = &data.into();
    let units = Units::of(data, seed, control)?;
    let n = units.len();
    let n_held = (share * n as f64).ceil() as usize;
    if n_held >= n {
        let got = format!("{share}, which holds out {n_held} of {n} samples");
        return Err(Error::invalid("share", got, "leave at least one sample for the fit"));
    }
    let mut is_held = PURPOSE.filled(false, n)?;
    let spacing = n as f64 / n_held as f64;
    (0..n_held).for_each(|i| is_held[((i as f64 + 0.5) * spacing) as usize] = true);
    // The samples of a class are neighbours.
    let mut start = 0;
    while let Some(class) = units.class(start) {
        let end = (start..n).find(|&at| units.class(at) != Some(class)).unwrap_or(n);
        if is_held[start..end].iter().all(|held| *held) {
            is_held[start] = false;
        }
        start = end;
    }
    let held = units.each().zip(&is_held).filter(|(_, is_held)| **is_held).flat_map(|(unit, _)| unit);
    let mut rows: Vec<u32> = PURPOSE.with_capacity(units.order.len())?;
    rows.extend(held);
    rows.sort_unstable();
    Ok(rows)
}

/// The samples that are dealt, in their order, in runs of copies; the only sample of a class is not.
struct Units<'d> {
    order: Vec<u32>,
    copies: usize,
    /// The class of each sample if y is one output of classes.
    classes: Option<ArrayView1<'d, u32>>,
}

impl<'d> Units<'d> {
    fn of(data: &'d Dataset<'_>, seed: u64, control: &Control) -> Result<Self> {
        let Dealing { mut order, copies, .. } = Dealing::of_checked(data, seed, control)?;
        let classes = match data.y() {
            Targets::Classes { codes, n_classes } if n_classes.len() == 1 => Some(codes.column(0)),
            _ => None,
        };
        if let Some(classes) = &classes {
            let class = |unit: &[u32]| classes[unit[0] as usize] as usize;
            let mut n_units = PURPOSE.filled(0usize, data.y().width())?;
            order.chunks(copies).for_each(|unit| n_units[class(unit)] += 1);
            let mut kept = PURPOSE.with_capacity(order.len())?;
            order.chunks(copies).filter(|unit| n_units[class(unit)] > 1).for_each(|unit| kept.extend_from_slice(unit));
            order = kept;
        }
        Ok(Units { order, copies, classes })
    }

    fn len(&self) -> usize {
        self.order.len() / self.copies
    }

    fn each(&self) -> impl Iterator<Item = &[u32]> {
        self.order.chunks(self.copies)
    }

    /// Returns the class of a unit, if there is such a unit and y is one output of classes.
    fn class(&self, at: usize) -> Option<u32> {
        let row = *self.order.get(at * self.copies)?;
        self.classes.as_ref().map(|classes| classes[row as usize])
    }
}
