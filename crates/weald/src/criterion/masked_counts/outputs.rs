//! The weights of the known cells of outputs: of a node, and of the samples that a scan has moved.

use super::{ABSENT, PURPOSE};
use crate::criterion::Units;
use crate::data::known::Known;
use crate::data::known::bits::{KnownBits, MOST_AT_ONCE};
use crate::data::known::masked::MaskedSlots;
use crate::error::Result;
use crate::vectorised::vectorised;

/// Samples of weights below this are added up together, once for each binary digit of the weight.
const SMALL_WEIGHT: u64 = 1 << SMALL_DIGITS;
const SMALL_DIGITS: u32 = 4;

/// The cost of a listed output of a sample relative to that of an output in an addition of bits.
const COST_OF_LISTED: usize = 3;

/// Lengths are padded to a multiple of this.
pub(super) const LANES: usize = 8;

/// Weights are differences from the weight of the samples in which most cells are known: see [`Known`].
///
/// Outputs have *places*. Without bits of known cells, those that occur in the node have some; with bits, all of them,
/// or only those that occur, if these are few.
#[derive(Debug)]
pub(super) struct OutputWeights<'a> {
    known: &'a Known,
    bits: Option<&'a KnownBits>,
    /// The bits of the outputs and samples of the node, and the places of its samples in them, if it has few outputs.
    few_bits: KnownBits,
    place_of_row: Vec<u32>,
    has_few: bool,
    place_of_output: Vec<u32>,
    /// The output in each place.
    pub(super) outputs: Vec<u32>,
    /// The weight of the known cells of each output in the node, by place, not as a difference; padded with zeros.
    pub(super) of_node: Vec<f64>,
    /// For the moved side, by place, padded with zeros.
    pub(super) moved: Vec<f64>,
    /// The mean number of listed outputs of a sample.
    n_listed: usize,
    rows: Vec<u32>,
    counts: Vec<u32>,
}

impl<'a> OutputWeights<'a> {
    pub(super) fn new(y: &'a MaskedSlots<'a>, most_outputs: usize) -> Result<Self> {
        let (known, bits) = (y.known(), y.bits());
        let most_places = if bits.is_some() { known.n_outputs() } else { most_outputs } + LANES;
        Ok(OutputWeights {
            known,
            bits,
            few_bits: KnownBits::new(0),
            place_of_row: PURPOSE.filled(0, if bits.is_some() { known.n_rows() } else { 0 })?,
            has_few: false,
            place_of_output: PURPOSE.filled(ABSENT, known.n_outputs())?,
            outputs: PURPOSE.with_capacity(most_places)?,
            of_node: PURPOSE.with_capacity(most_places)?,
            moved: PURPOSE.with_capacity(most_places)?,
            n_listed: known.n_listed().div_ceil(known.n_rows().max(1)),
            rows: PURPOSE.with_capacity(if bits.is_some() { MOST_AT_ONCE } else { 0 })?,
            counts: PURPOSE.filled(0, bits.map_or(0, KnownBits::n_counts))?,
        })
    }

    pub(super) fn n_outputs(&self) -> usize {
        self.place_of_output.len()
    }

    /// Returns the place of an output, or [`ABSENT`].
    pub(super) fn place(&self, output: u32) -> u32 {
        self.place_of_output[output as usize]
    }

    /// Clears the places.
    pub(super) fn clear(&mut self) {
        self.outputs.drain(..).for_each(|output| self.place_of_output[output as usize] = ABSENT);
        self.of_node.clear();
    }

    /// Adds the differences of samples to `more`, by output, and returns the weight of those in which most cells are
    /// known.
    pub(super) fn add_all<U: Units>(&mut self, rows: &[u32], weights: &[U], more: &mut [f64]) -> f64 {
        let weight = |row: u32| weights[row as usize].to_f64();
        let Some(bits) = self.bits.filter(|_| self.is_long(rows.len(), more.len())) else {
            return add_listed(self.known, rows, weight, more);
        };
        let memory = (&mut self.rows, &mut self.counts[..]);
        add_bits((self.known, bits), rows, weight, |row| row, memory, more)
    }

    /// Returns whether the bits of so many samples cost less than their lists.
    fn is_long(&self, n_rows: usize, n_places: usize) -> bool {
        COST_OF_LISTED * n_rows * self.n_listed > 4 * n_places
    }

    /// Gives places to the outputs of a node. `present` are those that occur in it, in increasing order.
    pub(super) fn enter(
        &mut self,
        present: impl Iterator<Item = u32>,
        rows: &[u32],
        of_output: impl Fn(u32) -> f64,
    ) -> Result<bool> {
        self.outputs.extend(present);
        let n_outputs = self.n_outputs();
        // With one word of bits, no bits of the node are made.
        self.has_few = self.bits.is_some() && n_outputs > 64 && 2 * self.outputs.len() <= n_outputs;
        let has_all = self.bits.is_some() && !self.has_few;
        if has_all {
            self.outputs.clear();
            self.outputs.extend(0..n_outputs as u32);
        }
        for (place, &output) in (0..).zip(&self.outputs) {
            self.place_of_output[output as usize] = place;
            self.of_node.push(of_output(output));
        }
        self.of_node.resize(self.outputs.len().next_multiple_of(LANES), 0.0);
        if let (Some(bits), true) = (self.bits, self.has_few) {
            self.few_bits.take(bits, rows, &self.outputs)?;
            (0..).zip(rows).for_each(|(place, &row)| self.place_of_row[row as usize] = place);
        }
        Ok(has_all)
    }

    /// Moves no sample.
    pub(super) fn reset(&mut self) {
        self.moved.clear();
        self.moved.resize(self.of_node.len(), 0.0);
    }

    /// Moves a sample. Returns whether its weight belongs to those of samples in which most cells are known.
    #[inline]
    pub(super) fn move_one(&mut self, row: u32, w: f64) -> bool {
        let (mostly, listed) = self.known.of(row);
        let Some(bits) = self.bits.filter(|_| COST_OF_LISTED * listed.len() > self.outputs.len()) else {
            let more = if mostly { -w } else { w };
            for &output in listed {
                if let Some(moved) = self.moved.get_mut(self.place_of_output[output as usize] as usize) {
                    *moved += more;
                }
            }
            return mostly;
        };
        let (words, moved) = match self.has_few {
            true => (self.few_bits.of_row(self.place_of_row[row as usize]), &mut self.moved),
            false => (bits.of_row(row), &mut self.moved),
        };
        vectorised(
            #[inline(always)]
            || add_words(words, w, moved),
        );
        false
    }

    /// Moves some samples, and returns the weight of those in which most cells are known.
    pub(super) fn move_all<U: Units>(&mut self, rows: &[u32], weights: &[U]) -> f64 {
        let weight = |row: u32| weights[row as usize].to_f64();
        if let Some(bits) = self.bits.filter(|_| self.is_long(rows.len(), self.outputs.len())) {
            let (memory, moved) = ((&mut self.rows, &mut self.counts[..]), &mut self.moved[..self.outputs.len()]);
            let places = &self.place_of_row;
            return match self.has_few {
                true => add_bits((self.known, &self.few_bits), rows, weight, |row| places[row as usize], memory, moved),
                false => add_bits((self.known, bits), rows, weight, |row| row, memory, moved),
            };
        }
        let moved = |&row: &u32| {
            let w = weight(row);
            if self.move_one(row, w) { w } else { 0.0 }
        };
        rows.iter().map(moved).sum()
    }
}

/// Adds the listed outputs of samples to `more`.
fn add_listed(known: &Known, rows: &[u32], weight: impl Fn(u32) -> f64, more: &mut [f64]) -> f64 {
    let mut of_mostly = 0.0;
    for &row in rows {
        let (w, (mostly, listed)) = (weight(row), known.of(row));
        of_mostly += if mostly { w } else { 0.0 };
        let w = if mostly { -w } else { w };
        listed.iter().for_each(|&output| more[output as usize] += w);
    }
    of_mostly
}

/// Adds the known outputs of samples, whose bits are in the rows `place`, to `more`.
fn add_bits(
    (known, bits): (&Known, &KnownBits),
    rows: &[u32],
    weight: impl Fn(u32) -> f64,
    place: impl Fn(u32) -> u32,
    (picked, counts): (&mut Vec<u32>, &mut [u32]),
    more: &mut [f64],
) -> f64 {
    let counts = &mut counts[..bits.n_counts()];
    let mut of_mostly = 0.0;
    for rows in rows.chunks(MOST_AT_ONCE) {
        let mut digits = 0;
        for &row in rows {
            let w = weight(row);
            of_mostly += if known.of(row).0 { w } else { 0.0 };
            digits |= w as u64;
        }
        for digit in (0..SMALL_DIGITS).filter(|digit| digits >> digit & 1 == 1) {
            let has = |row: &&u32| {
                let w = weight(**row) as u64;
                w < SMALL_WEIGHT && w >> digit & 1 == 1
            };
            picked.clear();
            picked.extend(rows.iter().filter(has).map(|&row| place(row)));
            if picked.is_empty() {
                continue;
            }
            bits.count(picked, counts);
            let w = f64::from(1u32 << digit);
            more.iter_mut().zip(&*counts).for_each(|(more, &count)| *more += w * f64::from(count));
        }
        if digits >= SMALL_WEIGHT {
            for &row in rows.iter().filter(|row| weight(**row) as u64 >= SMALL_WEIGHT) {
                vectorised(
                    #[inline(always)]
                    || add_words(bits.of_row(place(row)), weight(row), more),
                );
            }
        }
    }
    more.iter_mut().for_each(|more| *more -= of_mostly);
    of_mostly
}

/// Adds a weight to the numbers whose bits are set.
#[inline(always)]
fn add_words(words: &[u64], w: f64, more: &mut [f64]) {
    for (&word, more) in words.iter().zip(more.chunks_mut(64)) {
        for (half, more) in [word as u32, (word >> 32) as u32].into_iter().zip(more.chunks_mut(32)) {
            for (i, more) in (0u32..).zip(more) {
                *more += w * f64::from(half >> i & 1);
            }
        }
    }
}
