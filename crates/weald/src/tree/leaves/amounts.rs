//! Arrays of columns and of amounts, each of the narrowest type that can hold its numbers.

use super::half::Half;
use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the table of leaf values");

/// Computes a number or a unit from the vector of some [`Indices`], of either type.
macro_rules! of_indices {
    ($indices:expr, $v:ident => $result:expr) => {
        match $indices {
            Indices::U16($v) => $result,
            Indices::U32($v) => $result,
        }
    };
}

/// The same of the vector of some [`Amounts`], of any type.
macro_rules! of_amounts {
    ($amounts:expr, $v:ident => $result:expr) => {
        match $amounts {
            Amounts::U8($v) => $result,
            Amounts::U16($v) => $result,
            Amounts::U32($v) => $result,
            Amounts::I8($v) => $result,
            Amounts::F16($v) => $result,
            Amounts::F32($v) => $result,
            Amounts::F64($v) => $result,
        }
    };
}

/// Makes amounts of the same type from the vector of some [`Amounts`].
macro_rules! same_amounts {
    ($amounts:expr, $v:ident => $result:expr) => {
        match $amounts {
            Amounts::U8($v) => Amounts::U8($result),
            Amounts::U16($v) => Amounts::U16($result),
            Amounts::U32($v) => Amounts::U32($result),
            Amounts::I8($v) => Amounts::I8($result),
            Amounts::F16($v) => Amounts::F16($result),
            Amounts::F32($v) => Amounts::F32($result),
            Amounts::F64($v) => Amounts::F64($result),
        }
    };
}

pub(crate) use {of_amounts, of_indices};

/// The column indices of a sparse table, as narrow as its width allows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Indices {
    U16(Vec<u16>),
    U32(Vec<u32>),
}

impl Indices {
    /// Creates an empty array of the narrowest type for columns below `width`.
    pub(crate) fn for_width(width: usize) -> Self {
        if width <= 1 << 16 { Indices::U16(Vec::new()) } else { Indices::U32(Vec::new()) }
    }

    /// Reserves memory for `n` more indices.
    pub(crate) fn try_reserve(&mut self, purpose: Purpose, n: usize) -> Result<()> {
        let reserved = of_indices!(self, v => v.try_reserve_exact(n));
        let bytes = n.saturating_mul(self.item_bytes());
        reserved.map_err(|_| purpose.missing::<u8>(bytes))
    }

    pub(crate) fn push(&mut self, column: u32) -> Result<()> {
        match self {
            Indices::U16(v) => PURPOSE.push(v, column as u16),
            Indices::U32(v) => PURPOSE.push(v, column),
        }
    }

    pub(super) fn try_clone(&self) -> Result<Self> {
        Ok(match self {
            Indices::U16(v) => Indices::U16(PURPOSE.copied(v)?),
            Indices::U32(v) => Indices::U32(PURPOSE.copied(v)?),
        })
    }

    pub(crate) fn at(&self, i: usize) -> u32 {
        match self {
            Indices::U16(v) => u32::from(v[i]),
            Indices::U32(v) => v[i],
        }
    }

    pub(crate) fn item_bytes(&self) -> usize {
        of_indices!(self, v => item_bytes(v))
    }

    pub(crate) fn shrink(&mut self) {
        of_indices!(self, v => v.shrink_to_fit());
    }
}

/// Stored amounts, as narrow as the largest amount allows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Amounts {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    /// The amounts of tables with a scale for each leaf.
    I8(Vec<i8>),
    F16(Vec<Half>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Amounts {
    /// Adds a count. All amounts are widened if it does not fit.
    pub(crate) fn push(&mut self, amount: u64) -> Result<()> {
        loop {
            *self = match self {
                Amounts::U8(v) if amount <= u64::from(u8::MAX) => return PURPOSE.push(v, amount as u8),
                Amounts::U16(v) if amount <= u64::from(u16::MAX) => return PURPOSE.push(v, amount as u16),
                Amounts::U32(v) if amount <= u64::from(u32::MAX) => return PURPOSE.push(v, amount as u32),
                Amounts::F64(v) => return PURPOSE.push(v, amount as f64),
                Amounts::U8(v) => Amounts::U16(widened(v)?),
                Amounts::U16(v) => Amounts::U32(widened(v)?),
                Amounts::U32(v) => Amounts::F64(widened(v)?),
                Amounts::I8(v) => Amounts::F64(widened(v)?),
                Amounts::F16(v) => Amounts::F64(widened(v)?),
                Amounts::F32(v) => Amounts::F64(widened(v)?),
            };
        }
    }

    pub(crate) fn try_clone(&self) -> Result<Self> {
        Ok(same_amounts!(self, v => PURPOSE.copied(v)?))
    }

    /// Adds a number, rounded to the type of the amounts; unsigned integers are widened to float64. A number that
    /// becomes zero in a narrow type loses its sign.
    pub(super) fn push_rounded(&mut self, value: f64) -> Result<()> {
        loop {
            *self = match self {
                // These are whole numbers of magnitudes up to 127.
                Amounts::I8(v) => return PURPOSE.push(v, value as i8),
                Amounts::F16(v) => return PURPOSE.push(v, Half::nearest(f64::from(Half::nearest(value)) + 0.0)),
                Amounts::F32(v) => return PURPOSE.push(v, value as f32 + 0.0),
                Amounts::F64(v) => return PURPOSE.push(v, value),
                Amounts::U8(v) => Amounts::F64(widened(v)?),
                Amounts::U16(v) => Amounts::F64(widened(v)?),
                Amounts::U32(v) => Amounts::F64(widened(v)?),
            };
        }
    }

    /// Returns an empty array of the same floats, or of float64.
    pub(super) fn no_floats(&self) -> Self {
        match self {
            Amounts::F16(_) => Amounts::F16(Vec::new()),
            Amounts::F32(_) => Amounts::F32(Vec::new()),
            Amounts::F64(_) | Amounts::I8(_) | Amounts::U8(_) | Amounts::U16(_) | Amounts::U32(_) => {
                Amounts::F64(Vec::new())
            }
        }
    }

    pub(crate) fn at(&self, i: usize) -> f64 {
        of_amounts!(self, v => number_at(v, i))
    }

    pub(crate) fn len(&self) -> usize {
        of_amounts!(self, v => v.len())
    }

    pub(super) fn item_bytes(&self) -> usize {
        of_amounts!(self, v => item_bytes(v))
    }

    /// Returns the amounts at positions `place(cell)` of an array of length `len` that is zero elsewhere.
    pub(super) fn spread(&self, len: usize, place: impl Fn(usize) -> usize) -> Result<Self> {
        fn spread<T: Copy + Default>(from: &[T], len: usize, place: impl Fn(usize) -> usize) -> Result<Vec<T>> {
            let mut to = PURPOSE.filled(T::default(), len)?;
            for (cell, &amount) in from.iter().enumerate() {
                to[place(cell)] = amount;
            }
            Ok(to)
        }
        Ok(same_amounts!(self, v => spread(v, len, place)?))
    }

    pub(super) fn shrink(&mut self) {
        of_amounts!(self, v => v.shrink_to_fit());
    }
}

fn widened<A: Copy, B: From<A>>(v: &[A]) -> Result<Vec<B>> {
    PURPOSE.collected(v.iter().map(|&a| a.into()))
}

fn item_bytes<T>(_: &[T]) -> usize {
    size_of::<T>()
}

#[inline]
fn number_at<T: Copy + Into<f64>>(v: &[T], i: usize) -> f64 {
    v[i].into()
}
