//! The samples of a node as points of few dimensions: their outputs times random directions, as fixed-point numbers.
//!
//! Coordinates are integers of 16 bits, and 2¹⁴ represents one. Products of points are exact in 32 bits and their sums
//! in 64 bits, so that clusters do not depend on the order of addition. For labels and classes, the sums over outputs
//! are sums of integers too; numerical outputs are projected in float64, output after output.
//!
//! An unknown label or class adds nothing to the sum of random signs. An unknown number counts as the mean of the known
//! cells of its output, and so does an unknown label or class in directions of other families.

use std::borrow::Cow;

use super::config::{CentroidForestConfig, Clustering, DirectionScope};
use crate::control::Control;
use crate::data::known::masked::MaskedSlots;
use crate::data::slots::Slots;
use crate::data::train_y::TrainY;
use crate::elementary::Squared;
use crate::error::{Error, Purpose, Result};
use crate::loss::kernels::vector::vectorised;
use crate::projection::{MatrixSource, OUTPUT_PROJECTION, ProjectionMatrix, RandomFamily, Sparsity};
use crate::rng::{Key, Stream};

/// The coordinate that represents one.
pub(super) const ONE: f32 = (1 << 14) as f32;

/// The number of coordinates of a point is a multiple of this; the last ones are filled up with zeros.
pub(super) const LANES: usize = 16;

/// The coordinate that represents one before the mean of a node is subtracted.
const FINE: f64 = (1 << 20) as f64;

/// Purpose of the key of directions.
pub(super) const DIRECTIONS: u64 = u64::from_be_bytes(*b"centrdir");

const POINTS: Purpose = Purpose("the projected samples of a node");

/// What all nodes of a forest share for their directions.
#[derive(Debug)]
pub(super) struct Projector<'a> {
    y: &'a TrainY<'a>,
    source: Source<'a>,
    scope: DirectionScope,
    forest: Key,
    n_directions: usize,
    n_columns: usize,
    clustering: Clustering,
    center: bool,
}

#[derive(Debug)]
enum Source<'a> {
    /// Random signs, times the weight of each slot (label or class).
    Signs(OnSlots<'a>, Amplitudes),
    /// The outputs themselves.
    AsTheyAre,
    Drawn(RandomFamily),
    Shared(Cow<'a, ProjectionMatrix>),
    /// One matrix for each tree.
    Each(&'a [ProjectionMatrix]),
}

/// The slots of samples; unknown cells have none.
#[derive(Clone, Copy, Debug)]
enum OnSlots<'a> {
    All(&'a Slots<'a>),
    Known(&'a MaskedSlots<'a>),
}

impl<'a> OnSlots<'a> {
    #[inline]
    fn of(self, row: u32) -> &'a [u32] {
        match self {
            OnSlots::All(y) => y.of(row),
            OnSlots::Known(y) => y.of(row),
        }
    }

    fn most_in_a_row(self) -> usize {
        match self {
            OnSlots::All(y) => y.most_in_a_row(),
            OnSlots::Known(y) => y.most_in_a_row(),
        }
    }
}

/// The weights of slots, as integers.
#[derive(Debug)]
enum Amplitudes {
    One,
    Of(Vec<i16>),
}

/// What is needed, in addition to y, to project the y of a fit.
#[derive(Debug)]
pub(super) struct Draw<'a> {
    pub(super) n_columns: usize,
    pub(super) n_samples: usize,
    /// The samples of positive weight, in increasing order.
    pub(super) rows: &'a [u32],
    pub(super) weights: Option<&'a [f64]>,
    pub(super) n_trees: usize,
}

impl<'a> Projector<'a> {
    /// `config` must be checked against the outputs.
    pub(super) fn new(
        config: &'a CentroidForestConfig,
        y: &'a TrainY<'a>,
        draw: &Draw<'_>,
        control: &Control,
    ) -> Result<Self> {
        let on = match y {
            TrainY::Slots(y) => Some(OnSlots::All(y)),
            TrainY::MaskedSlots(y) => Some(OnSlots::Known(y)),
            TrainY::Real(_) | TrainY::SparseReal(_) | TrainY::MaskedReal(_) => None,
        };
        let (source, n_directions) = match (&config.output_projection, on) {
            (None, Some(slots)) => {
                let amplitudes = Amplitudes::new(config.output_weights.as_deref(), slots.most_in_a_row())?;
                (Source::Signs(slots, amplitudes), config.n_projections)
            }
            (None, _) if draw.n_columns <= config.n_projections => (Source::AsTheyAre, draw.n_columns),
            (None, _) => (Source::Drawn(RandomFamily::Rademacher(Sparsity::Factor(1.0))), config.n_projections),
            (Some(projection), _) => {
                let q = || projection.family.resolve(draw.n_columns, projection.n_projections);
                match projection.family.source() {
                    MatrixSource::Random(family) => (Source::Drawn(family), q()?),
                    MatrixSource::Given([matrix]) => (Source::Shared(Cow::Borrowed(matrix)), matrix.n_projections()),
                    MatrixSource::Given(each) => {
                        if each.len() != draw.n_trees {
                            return Err(Error::shape("matrices of output_projection", draw.n_trees, each.len()));
                        }
                        if let Some(other) = each.iter().find(|m| m.n_projections() != each[0].n_projections()) {
                            return Err(Error::shape(
                                OUTPUT_PROJECTION,
                                each[0].n_projections(),
                                other.n_projections(),
                            ));
                        }
                        (Source::Each(each), each[0].n_projections())
                    }
                    MatrixSource::Principal => {
                        let Draw { n_columns, n_samples, rows, weights, .. } = *draw;
                        let found =
                            crate::projection::principal(y, n_columns, q()?, weights, n_samples, rows, control)?;
                        let n_directions = found.n_projections();
                        (Source::Shared(Cow::Owned(found)), n_directions)
                    }
                }
            }
        };
        Ok(Projector {
            y,
            source,
            scope: config.direction_scope,
            forest: Key::from_seed(config.seed).child(DIRECTIONS),
            n_directions,
            n_columns: draw.n_columns,
            clustering: config.clustering,
            center: config.center,
        })
    }

    /// Returns the number of coordinates of a point.
    pub(super) fn stride(&self) -> usize {
        self.n_directions.next_multiple_of(LANES)
    }

    /// Returns empty working memory for one tree.
    pub(super) fn scratch(&self) -> Result<Scratch> {
        let n_slots = if matches!(self.source, Source::Signs(..)) { self.n_columns } else { 0 };
        Ok(Scratch { place: POINTS.filled(0, n_slots)?, ..Scratch::default() })
    }

    /// Writes the points of `rows`, in their order. `weights` are the weights of these samples.
    pub(super) fn project(
        &self,
        keys: &Keys,
        rows: &[u32],
        weights: &[u32],
        scratch: &mut Scratch,
        points: &mut Vec<i16>,
        control: &Control,
    ) -> Result<()> {
        let stride = self.stride();
        points.clear();
        POINTS.resize(points, rows.len() * stride, 0)?;
        let key = match self.scope {
            DirectionScope::Node => keys.node.child(DIRECTIONS),
            DirectionScope::Tree => keys.tree.child(DIRECTIONS),
            DirectionScope::Forest => self.forest,
        };
        let at_once = self.clustering == Clustering::Spherical && !self.center;
        if let Source::Signs(slots, amplitudes) = &self.source {
            scratch.begin_signs(key);
            POINTS.resize(&mut scratch.sums, stride, 0)?;
            let n_fine = if at_once { 0 } else { rows.len() * stride };
            POINTS.resize(&mut scratch.fine, n_fine, 0)?;
            let mut pulse = control.pulse();
            for (at, &row) in rows.iter().enumerate() {
                pulse.after(stride * (1 + slots.of(row).len()) / LANES)?;
                scratch.sum_signs(slots.of(row), amplitudes, self.n_directions, stride)?;
                if at_once {
                    to_length_one(&scratch.sums, &mut points[at * stride..][..stride]);
                } else {
                    scratch.fine[at * stride..][..stride].copy_from_slice(&scratch.sums);
                }
            }
        } else {
            self.project_numbers(keys, key, rows, scratch, control)?;
            self.fix(rows.len(), at_once, scratch, points)?;
        }
        if !at_once {
            self.settle(weights, &mut scratch.fine, points);
        }
        Ok(())
    }

    /// Writes the projected samples to `scratch.numbers`.
    fn project_numbers(
        &self,
        keys: &Keys,
        key: Key,
        rows: &[u32],
        scratch: &mut Scratch,
        control: &Control,
    ) -> Result<()> {
        let q = self.n_directions;
        scratch.numbers.clear();
        POINTS.resize(&mut scratch.numbers, rows.len() * q, 0.0)?;
        let matrix = match &self.source {
            Source::AsTheyAre | Source::Signs(..) => {
                for (&row, numbers) in rows.iter().zip(scratch.numbers.chunks_exact_mut(q)) {
                    match self.y {
                        TrainY::Real(y) => numbers.iter_mut().zip(y.searched(row)).for_each(|(to, y)| *to = y),
                        TrainY::SparseReal(y) => y.searched(row).for_each(|(output, y)| numbers[output as usize] = y),
                        TrainY::MaskedReal(y) => numbers.iter_mut().zip(y.filled_row(row)).for_each(|(to, y)| *to = y),
                        TrainY::Slots(_) | TrainY::MaskedSlots(_) => {}
                    }
                }
                return Ok(());
            }
            Source::Drawn(family) => {
                if scratch.drawn.as_ref().is_none_or(|(of, _)| *of != key) {
                    scratch.drawn = Some((key, family.draw(self.n_columns, q, key, control)?));
                }
                &scratch.drawn.as_ref().expect("drawn above").1
            }
            Source::Shared(matrix) => matrix,
            Source::Each(matrices) => &matrices[keys.tree_index],
        };
        matrix.project_listed(self.y, rows, &mut scratch.numbers, control)
    }

    /// Converts numbers to points of length one, or to fine fixed-point numbers, for which the largest number of the
    /// node is one.
    fn fix(&self, n: usize, at_once: bool, scratch: &mut Scratch, points: &mut [i16]) -> Result<()> {
        let (q, stride) = (self.n_directions, self.stride());
        let Scratch { numbers, fine, .. } = scratch;
        let magnitude = |row: &[f64]| row.iter().fold(0.0f64, |largest, v| largest.max(v.abs()));
        if at_once {
            for (row, point) in numbers.chunks_exact(q).zip(points.chunks_exact_mut(stride)) {
                // Numbers are divided by the largest one first, so that squares neither overflow nor underflow.
                let largest = magnitude(row);
                let length = row.iter().map(|v| (v / largest).squared()).sum::<f64>().sqrt();
                if largest > 0.0 {
                    let coordinate = |v: f64| (v / largest / length * f64::from(ONE)).round_ties_even() as i16;
                    point.iter_mut().zip(row).for_each(|(to, &v)| *to = coordinate(v));
                }
            }
            return Ok(());
        }
        fine.clear();
        POINTS.resize(fine, n * stride, 0)?;
        let largest = magnitude(numbers);
        if largest > 0.0 {
            for (row, fine) in numbers.chunks_exact(q).zip(fine.chunks_exact_mut(stride)) {
                let fixed = |v: f64| (v / largest * FINE).round_ties_even() as i32;
                fine.iter_mut().zip(row).for_each(|(to, &v)| *to = fixed(v));
            }
        }
        Ok(())
    }

    /// Converts fine numbers to points, after the mean is subtracted if this is asked for.
    fn settle(&self, weights: &[u32], fine: &mut [i32], points: &mut [i16]) {
        let stride = self.stride();
        if self.center {
            let total: u64 = weights.iter().map(|&w| u64::from(w)).sum();
            for coordinate in 0..self.n_directions {
                let column = || fine[coordinate..].iter().step_by(stride).zip(weights);
                // The sum is exact: numbers up to 2²⁰ times weights with a sum of at most 2³¹.
                let sum: f64 = column().map(|(&v, &w)| f64::from(v) * f64::from(w)).sum();
                let mean = (sum / total as f64).round_ties_even() as i32;
                fine[coordinate..].iter_mut().step_by(stride).for_each(|v| *v -= mean);
            }
        }
        match self.clustering {
            Clustering::Spherical => {
                fine.chunks_exact(stride).zip(points.chunks_exact_mut(stride)).for_each(|(v, p)| to_length_one(v, p));
            }
            Clustering::Euclidean => {
                let longest = fine.chunks_exact(stride).map(squares).fold(0.0, f64::max).sqrt();
                if longest > 0.0 {
                    let scale = (f64::from(ONE) / longest) as f32;
                    fine.iter().zip(points).for_each(|(&v, p)| *p = nearest(v as f32 * scale));
                }
            }
        }
    }
}

impl Amplitudes {
    /// Chooses the weights so that the sums of a sample, which has at most `most` slots, stay below 2²⁰, unless it has
    /// more slots than that.
    fn new(weights: Option<&[f64]>, most: usize) -> Result<Self> {
        let Some(weights) = weights else { return Ok(Amplitudes::One) };
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let of_largest = ((1usize << 20) / most.max(1)).clamp(1, (1 << 13) - 1) as f64;
        let mut amplitudes = POINTS.with_capacity(weights.len())?;
        amplitudes.extend(weights.iter().map(|w| (w / largest * of_largest).round_ties_even() as i16));
        Ok(Amplitudes::Of(amplitudes))
    }

    #[inline(always)]
    fn of(&self, slot: u32) -> i16 {
        match self {
            Amplitudes::One => 1,
            Amplitudes::Of(amplitudes) => amplitudes[slot as usize],
        }
    }
}

/// The keys from which directions are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) node: Key,
    pub(super) tree: Key,
    /// The position of the tree in the fit.
    pub(super) tree_index: usize,
}

/// The working memory of one tree.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The directions of the slots that have occurred, a row for each.
    table: Vec<i16>,
    /// The row of each slot in the table, plus one; zero if it has none.
    place: Vec<u32>,
    /// The slots in the table.
    listed: Vec<u32>,
    /// The key of these directions.
    key: Option<Key>,
    sums: Vec<i32>,
    fine: Vec<i32>,
    numbers: Vec<f64>,
    drawn: Option<(Key, ProjectionMatrix)>,
}

impl Scratch {
    /// Clears the directions if they belong to another key.
    fn begin_signs(&mut self, key: Key) {
        if self.key != Some(key) {
            self.listed.drain(..).for_each(|slot| self.place[slot as usize] = 0);
            self.table.clear();
            self.key = Some(key);
        }
    }

    /// Writes the sum of the directions of some slots to `sums`.
    fn sum_signs(&mut self, slots: &[u32], amplitudes: &Amplitudes, n: usize, stride: usize) -> Result<()> {
        for &slot in slots {
            if self.place[slot as usize] == 0 {
                self.draw(slot, amplitudes.of(slot), n, stride)?;
            }
        }
        let Scratch { table, place, sums, .. } = self;
        vectorised(
            #[inline(always)]
            || {
                sums.fill(0);
                for &slot in slots {
                    let start = (place[slot as usize] - 1) as usize * stride;
                    let direction = &table[start..start + stride];
                    sums.iter_mut().zip(direction).for_each(|(sum, &sign)| *sum += i32::from(sign));
                }
            },
        );
        Ok(())
    }

    /// Draws the signs of a slot, from the bits of a random stream of its own.
    fn draw(&mut self, slot: u32, amplitude: i16, n: usize, stride: usize) -> Result<()> {
        let start = self.table.len();
        POINTS.push(&mut self.listed, slot)?;
        POINTS.resize(&mut self.table, start + stride, 0)?;
        self.place[slot as usize] = self.listed.len() as u32;
        let mut stream = Stream::new(self.key.expect("set before slots are drawn").child(slot.into()));
        for signs in self.table[start..start + n].chunks_mut(u64::BITS as usize) {
            let bits = stream.next_u64();
            signs.iter_mut().enumerate().for_each(|(at, to)| *to = (1 - 2 * (bits >> at & 1) as i16) * amplitude);
        }
        Ok(())
    }
}

/// If this is added to a number below 2²², the last bits of the sum are the nearest integer.
const SHIFT: f32 = 12_582_912.0;

/// Returns the nearest integer of a number of magnitude below 2¹⁵.
#[inline(always)]
fn nearest(x: f32) -> i16 {
    (x + SHIFT).to_bits().wrapping_sub(SHIFT.to_bits()) as i16
}

/// Returns Σ v², in a fixed order of addition.
#[inline(always)]
fn squares(v: &[i32]) -> f64 {
    let mut lanes = [0.0; LANES];
    for v in v.as_chunks::<LANES>().0 {
        lanes.iter_mut().zip(v).for_each(|(sum, &v)| *sum += f64::from(v) * f64::from(v));
    }
    lanes.iter().sum()
}

/// Writes `v` divided by its length; zeros stay zeros.
fn to_length_one(v: &[i32], point: &mut [i16]) {
    vectorised(
        #[inline(always)]
        || {
            let squares = squares(v);
            let scale = if squares > 0.0 { (f64::from(ONE) / squares.sqrt()) as f32 } else { 0.0 };
            point.iter_mut().zip(v).for_each(|(to, &v)| *to = nearest(v as f32 * scale));
        },
    );
}
