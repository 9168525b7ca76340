//! Folds hold out rows: which samples a fit does not see, wherever one holds some out.
//!
//! The input is a data set, the output the fold of each sample. A sample of positive weight with a known cell of y is one
//! unit, whatever its weight, and equal samples are separate units: where rows repeat, a model that is fitted without some
//! of them still knows the others, as it will know the rows that it predicts. Units are dealt one after another in the
//! order of their stratum, the class or the rarest label of the sample, and then of a number that depends on X, on the order
//! of y among samples with the same X, and on the seed. So no order of samples, layout of X, unit of y or weights shows.
//!
//! Of k equal samples some may be held out while others are fitted; of one sample of weight k all is held out or nothing.
//! This is the one exception from the rule that whole weights are counts. A table of which every row, with its y, stands
//! as often as any other, at least twice, is a table of copies: those of a row are one unit, if there are at least 30.

pub(crate) mod keys;
mod labels;
mod split;

use std::cmp::Ordering;

use crate::control::Control;
use crate::data::known::Known;
use crate::data::slots::Slots;
use crate::data::{Dataset, Matrix, Targets, Weights};
use crate::error::{Error, Purpose, Result};
use crate::rng::{Key, mix};
use keys::{numbers_key, row_keys};
pub use labels::label_folds;
pub use split::{Split, held_out, splits};

const PURPOSE: Purpose = Purpose("the folds of samples");

/// Purpose of the numbers by which samples are ordered.
const FOLDS: u64 = u64::from_be_bytes(*b"foldrows");

/// Fewer rows that all stand equally often are the cells of a design, such as those of a few yes/no columns, and no table
/// of copies: folds of cells would say nothing about the cells themselves.
const FEWEST_COPIED: usize = 30;

/// Returns the fold of each sample, from 0 to `n_folds` − 1. A class or label that k samples have, if it is the rarest one
/// of these samples, has ⌊k / n_folds⌋ or ⌈k / n_folds⌉ of them in each fold. Samples of weight zero or without a known
/// cell have a fold, too, by their number alone.
///
/// Time is O(cells of X and y + n log n).
///
/// # Errors
/// [`crate::ErrorKind::Invalid`] if there is no fold, or if weights or unknown cells do not fit X and y;
/// [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
pub fn deal<'d>(data: impl Into<Dataset<'d>>, n_folds: usize, seed: u64, control: &Control) -> Result<Vec<u32>> {
    Dealing::of_checked(&data.into(), seed, control)?.folds(n_folds)
}

/// Returns a hash of the features of each sample: equal samples have equal ones in every layout.
///
/// # Errors
/// [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
pub fn hashes(x: &Matrix<'_>, control: &Control) -> Result<Vec<u64>> {
    row_keys(x, control)
}

/// The order in which samples are dealt to folds.
#[derive(Debug)]
pub(crate) struct Dealing {
    /// The indices of these samples: any n / k evenly spaced ones hold as large a share of each class or rare label.
    pub(crate) order: Vec<u32>,
    /// How often each sample stands in the data: the samples of `order` in runs of this length are copies.
    copies: usize,
    /// The number of these samples that differ in X.
    pub(crate) n_different: usize,
    /// The number of each sample.
    pub(crate) keys: Vec<u64>,
    /// A hash of X of each sample.
    pub(crate) hashes: Vec<u64>,
}

/// What decides where a sample is dealt: how many samples have its rarest column, which these are, and that column; the
/// number of the sample, and its index.
type Place = ((u64, u64, usize), u64, u32);

impl Dealing {
    fn of_checked(data: &Dataset<'_>, seed: u64, control: &Control) -> Result<Self> {
        let n = data.n_samples();
        Weights::check(data.row_weights().sample_weight, n)?;
        if let Some(margins) = data.unchecked_margins().filter(|margins| margins.nrows() != n) {
            return Err(Error::shape("base_margin", n, margins.nrows()));
        }
        if data.y().n_samples() != n {
            return Err(Error::shape("y", n, data.y().n_samples()));
        }
        let observed = data.observed_held_out()?;
        Dealing::new(&data.with_observed(observed.as_ref()), seed, control)
    }

    /// Deals data whose mask is applied.
    pub(crate) fn new(data: &Dataset<'_>, seed: u64, control: &Control) -> Result<Self> {
        let weights = data.weight_by_row()?;
        let weight = |row: u32| weights.as_ref().map_or(1.0, |weights| weights[row as usize]);
        let hashes = row_keys(data.x(), control)?;
        let columns = Columns::new(data)?;
        let mut units = PURPOSE.with_capacity(hashes.len())?;
        units.extend((0..hashes.len() as u32).filter(|&row| weight(row) > 0.0));
        let traits = columns.traits(&units, &hashes, control)?;
        let mut keys = PURPOSE.copied(&hashes)?;
        keys.iter_mut().for_each(|key| *key = Key::from_seed(seed).child(FOLDS).child(*key).bits());
        control.check()?;
        // Samples that are equal in X become neighbours, and each gets a number of its own, in the order of y.
        let margins = data.unchecked_margins();
        let rest_of = |row: u32| {
            let margins = margins.map(|margins| numbers_key(margins.row(row as usize).iter().copied()).bits());
            (margins, weight(row).to_bits())
        };
        let compared = |a: u32, b: u32| {
            let by_y = || columns.compared(&traits, a, b);
            keys[a as usize].cmp(&keys[b as usize]).then_with(by_y).then_with(|| rest_of(a).cmp(&rest_of(b)))
        };
        units.sort_unstable_by(|&a, &b| compared(a, b).then(a.cmp(&b)));
        control.check()?;
        let mut lengths = units.chunk_by(|&a, &b| compared(a, b).is_eq()).map(<[u32]>::len);
        let first = lengths.next().unwrap_or(1);
        let is_copied = units.len() >= first * FEWEST_COPIED && lengths.all(|n| n == first);
        let copies = if is_copied { first } else { 1 };
        let (mut last, mut rank, mut n_different) = (None, 0, 0);
        for of_unit in units.chunks(copies) {
            let key = keys[of_unit[0] as usize];
            rank = if last == Some(key) { rank + 1 } else { 0 };
            n_different += usize::from(rank == 0);
            last = Some(key);
            of_unit.iter().for_each(|&row| keys[row as usize] = Key::from_seed(key).child(rank).bits());
        }
        let mut places: Vec<Place> = PURPOSE.with_capacity(units.len())?;
        places.extend(units.iter().map(|&row| (columns.rarest(&traits, row), keys[row as usize], row)));
        places.sort_unstable();
        control.check()?;
        Ok(Dealing {
            order: PURPOSE.collected(places.into_iter().map(|(.., row)| row))?,
            keys,
            hashes,
            copies,
            n_different,
        })
    }

    /// Returns the fold of each sample.
    pub(crate) fn folds(&self, n_folds: usize) -> Result<Vec<u32>> {
        if !(1..=u32::MAX as usize).contains(&n_folds) {
            return Err(Error::invalid("n_folds", n_folds, "be at least 1"));
        }
        let mut folds = PURPOSE.collected(self.keys.iter().map(|key| (key % n_folds as u64) as u32))?;
        for (at, of_unit) in self.order.chunks(self.copies).enumerate() {
            of_unit.iter().for_each(|&row| folds[row as usize] = (at % n_folds) as u32);
        }
        Ok(folds)
    }

    /// Returns the number of samples that are dealt, of copies one.
    pub(crate) fn n_units(&self) -> usize {
        self.order.len() / self.copies
    }
}

/// The columns of samples: labels, or the classes of each output; numbers have none.
#[derive(Debug)]
struct Columns<'d, 'a> {
    y: &'d Targets<'a>,
    slots: Option<Slots<'d>>,
    known: Option<&'d Known>,
}

/// What is known of each column, and of each output that a sample lists as unknown, or as known among unknown ones.
#[derive(Debug, Default)]
struct Traits {
    /// The number of samples that have a column, and a number that tells which these are.
    columns: Vec<(u64, u64)>,
    listed: Vec<u64>,
}

impl<'d, 'a> Columns<'d, 'a> {
    fn new(data: &'d Dataset<'a>) -> Result<Self> {
        Ok(Columns { y: data.y(), slots: Slots::new(data.y())?, known: data.known() })
    }

    /// Returns the columns that a sample is known to have. An unknown class has a code all the same, an unknown label none.
    fn of(&self, row: u32) -> impl Iterator<Item = usize> + '_ {
        let slots = self.slots.as_ref();
        let masked = self.known.filter(|_| slots.is_some_and(|slots| slots.n_class_outputs.is_some()));
        let is_known = move |output: usize| masked.is_none_or(|known| known.is_known(row, output as u32));
        let of_row = slots.map_or(&[][..], |slots| slots.of(row));
        of_row.iter().enumerate().filter(move |(output, _)| is_known(*output)).map(|(_, &column)| column as usize)
    }

    fn listed(&self, row: u32) -> (bool, &[u32]) {
        self.known.map_or((true, &[]), |known| known.of(row))
    }

    fn traits(&self, units: &[u32], x: &[u64], control: &Control) -> Result<Traits> {
        let Some(slots) = &self.slots else { return Ok(Traits::default()) };
        let mut traits = Traits {
            columns: PURPOSE.filled((0, 0), slots.width)?,
            listed: PURPOSE.filled(0, self.known.map_or(0, Known::n_outputs))?,
        };
        let mut pulse = control.pulse();
        for &row in units {
            pulse.after(1)?;
            let of_x = mix(x[row as usize]);
            for column in self.of(row) {
                let (n, which) = &mut traits.columns[column];
                (*n, *which) = (*n + 1, which.wrapping_add(of_x));
            }
            let (mostly, listed) = self.listed(row);
            for &output in listed {
                let which = &mut traits.listed[output as usize];
                *which = which.wrapping_add(of_x ^ u64::from(mostly));
            }
        }
        // Columns that as many samples with the same X have are told apart by the columns that these have with them.
        let mut which = PURPOSE.filled(0u64, slots.width)?;
        for &row in units {
            pulse.after(1)?;
            let together = self.of(row).map(|column| mix(traits.columns[column].1)).fold(0, u64::wrapping_add);
            let of_row = mix(x[row as usize] ^ mix(together));
            self.of(row).for_each(|column| which[column] = which[column].wrapping_add(of_row));
        }
        traits.columns.iter_mut().zip(which).for_each(|(column, which)| column.1 = which);
        Ok(traits)
    }

    /// Returns the rarest column of a sample; one above all others if it has none.
    fn rarest(&self, traits: &Traits, row: u32) -> (u64, u64, usize) {
        let of_column = |column: usize| (traits.columns[column].0, traits.columns[column].1, column);
        self.of(row).map(of_column).min().unwrap_or((u64::MAX, 0, 0))
    }

    /// Orders two samples by y: numbers by their values, so that no unit of y shows, columns by which samples have them.
    fn compared(&self, traits: &Traits, a: u32, b: u32) -> Ordering {
        let by_values = match self.y {
            Targets::Real(y) => {
                let pairs = y.row(a as usize).into_iter().zip(y.row(b as usize));
                pairs.map(|(a, b)| ordered(*a, *b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }
            Targets::SparseReal(y) => {
                // As dense rows: what one of them does not store is zero.
                let (mut of_a, mut of_b) = (y.entries(a).peekable(), y.entries(b).peekable());
                loop {
                    let at = |entry: Option<&(u32, f64)>| entry.map_or(u32::MAX, |(output, _)| *output);
                    let output = at(of_a.peek()).min(at(of_b.peek()));
                    if output == u32::MAX {
                        break Ordering::Equal;
                    }
                    let [a, b] =
                        [&mut of_a, &mut of_b].map(|of| of.next_if(|entry| entry.0 == output).map_or(0.0, |e| e.1));
                    if ordered(a, b).is_ne() {
                        break ordered(a, b);
                    }
                }
            }
            Targets::Classes { .. } | Targets::Labels(_) => {
                let of = |row: u32| {
                    let of_columns = self.of(row).map(|column| mix(traits.columns[column].1));
                    let (mostly, listed) = self.listed(row);
                    let of_mask = listed.iter().map(|&output| mix(traits.listed[output as usize]));
                    let sums = [of_columns.fold(0, u64::wrapping_add), of_mask.fold(0, u64::wrapping_add)];
                    // Where as many samples with the same X have two columns, the order of the columns shows.
                    (sums, mostly, self.of(row).map(|column| mix(column as u64)).fold(0, u64::wrapping_add))
                };
                of(a).cmp(&of(b))
            }
        };
        by_values.then_with(|| self.listed(a).cmp(&self.listed(b)))
    }
}

fn ordered(a: f64, b: f64) -> Ordering {
    (a + 0.0).total_cmp(&(b + 0.0))
}

#[cfg(test)]
mod tests;
