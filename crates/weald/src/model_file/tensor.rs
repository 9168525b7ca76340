//! Tensors: named arrays, each in the narrowest type that can represent all of its numbers exactly.

use std::borrow::Cow;

use safetensors::Dtype;

use super::{BYTES, HALF, SCALED, SINGLE};
use crate::error::{Purpose, Result};
use crate::tree::leaves::{Amounts, Half};

pub(super) const PURPOSE: Purpose = Purpose("the bytes of the model");

/// A named array in little-endian bytes.
#[derive(Debug)]
pub(super) struct Tensor {
    pub(super) name: Cow<'static, str>,
    pub(super) dtype: Dtype,
    /// The shape; `None`: the array has one dimension.
    pub(super) shape: Option<Vec<usize>>,
    pub(super) bytes: Vec<u8>,
}

#[cfg(test)]
impl Tensor {
    pub(super) fn contents(&self) -> &[u8] {
        &self.bytes
    }
}

impl Tensor {
    /// Creates a one-dimensional tensor.
    pub(super) fn new(name: &'static str, dtype: Dtype, bytes: Vec<u8>) -> Self {
        Tensor { name: name.into(), dtype, shape: None, bytes }
    }
}

/// Returns the bits for the type of floats, which cannot be seen from the numbers.
pub(super) fn type_bits(amounts: &Amounts, scales: Option<&[f64]>) -> u8 {
    let precision = match amounts {
        Amounts::I8(_) => BYTES,
        Amounts::F16(_) => HALF,
        Amounts::F32(_) => SINGLE,
        Amounts::U8(_) | Amounts::U16(_) | Amounts::U32(_) | Amounts::F64(_) => 0,
    };
    precision | if scales.is_some() { SCALED } else { 0 }
}

/// Whole numbers in the type in which the model stores them.
pub(super) enum Whole<'t> {
    U8(&'t [u8]),
    U16(&'t [u16]),
    U32(&'t [u32]),
}

/// Evaluates `$body` with the numbers of `$whole`, a slice of any of the types.
macro_rules! with_slice {
    ($whole:expr, |$slice:ident| $body:expr) => {
        match $whole {
            Whole::U8($slice) => $body,
            Whole::U16($slice) => $body,
            Whole::U32($slice) => $body,
        }
    };
}

/// Returns the same tensor as [`narrowest`] for the same numbers.
#[expect(clippy::useless_conversion, clippy::unnecessary_cast, reason = "one code for slices of three types")]
pub(super) fn whole<'t, I: Iterator<Item = Whole<'t>>>(name: &'static str, parts: impl Fn() -> I) -> Result<Tensor> {
    let (mut n, mut largest) = (0, 0u32);
    parts().for_each(|part| {
        with_slice!(part, |slice| {
            n += slice.len();
            largest = largest.max(slice.iter().fold(0, |most, &v| most.max(v)).into());
        });
    });
    Ok(match largest {
        l if l <= u8::MAX.into() => {
            let mut bytes: Vec<u8> = PURPOSE.with_capacity(n)?;
            parts().for_each(|part| with_slice!(part, |slice| bytes.extend(slice.iter().map(|&v| v as u8))));
            Tensor::new(name, Dtype::U8, bytes)
        }
        // Whole numbers above 65 535 do not fit into 16 bits; the largest float16 is smaller.
        l if l <= u16::MAX.into() => spread(name, Dtype::U16, n, parts(), |v| (v as u16).to_le_bytes())?,
        _ => spread(name, Dtype::U32, n, parts(), u32::to_le_bytes)?,
    })
}

#[expect(clippy::useless_conversion, reason = "one code for slices of three types")]
fn spread<'t, const N: usize>(
    name: &'static str,
    dtype: Dtype,
    n: usize,
    parts: impl Iterator<Item = Whole<'t>>,
    encode: impl Fn(u32) -> [u8; N],
) -> Result<Tensor> {
    /// The number of values that are encoded at a time, so that they stay in the cache.
    const AT_ONCE: usize = 1 << 12;
    let mut bytes: Vec<u8> = PURPOSE.with_capacity(n * N)?;
    let mut encoded = [[0; N]; AT_ONCE];
    parts.for_each(|part| {
        with_slice!(part, |slice| for few in slice.chunks(AT_ONCE) {
            encoded.iter_mut().zip(few).for_each(|(bytes, &v)| *bytes = encode(v.into()));
            bytes.extend_from_slice(encoded[..few.len()].as_flattened());
        });
    });
    Ok(Tensor::new(name, dtype, bytes))
}

pub(super) fn floats<I: Iterator<Item = f32>>(name: &'static str, values: impl Fn() -> I) -> Result<Tensor> {
    bytes(name, Dtype::F32, values().count(), values().map(f32::to_le_bytes))
}

/// Returns `values` in the narrowest of u8, u16, f16, u32, f32 and f64 that can represent all of them exactly.
///
/// The iterators are run by `for_each`, which turns nested iterators into nested loops.
pub(super) fn narrowest<I: Iterator<Item = f64>>(name: &'static str, values: impl Fn() -> I) -> Result<Tensor> {
    let (mut n, mut largest) = (0, 0.0f64);
    let (mut whole, mut single) = (true, true);
    values().for_each(|v| {
        n += 1;
        largest = largest.max(v);
        whole &= f64::from(v as u32) == v;
        single &= f64::from(v as f32) == v;
    });
    let in_half = |v: f64| v.abs() <= Half::LARGEST && f64::from(Half::nearest(v)) == v;
    match largest {
        l if whole && l <= u8::MAX.into() => bytes(name, Dtype::U8, n, values().map(|v| (v as u8).to_le_bytes())),
        l if whole && l <= u16::MAX.into() => bytes(name, Dtype::U16, n, values().map(|v| (v as u16).to_le_bytes())),
        _ if values().all(in_half) => {
            bytes(name, Dtype::F16, n, values().map(|v| Half::nearest(v).bits().to_le_bytes()))
        }
        _ if whole => bytes(name, Dtype::U32, n, values().map(|v| (v as u32).to_le_bytes())),
        _ if single => bytes(name, Dtype::F32, n, values().map(|v| (v as f32).to_le_bytes())),
        _ => bytes(name, Dtype::F64, n, values().map(f64::to_le_bytes)),
    }
}

/// Returns a tensor of `n` values.
pub(super) fn bytes<const N: usize>(
    name: &'static str,
    dtype: Dtype,
    n: usize,
    values: impl Iterator<Item = [u8; N]>,
) -> Result<Tensor> {
    let mut bytes: Vec<u8> = PURPOSE.with_capacity(n * N)?;
    values.for_each(|value| bytes.extend_from_slice(&value));
    Ok(Tensor::new(name, dtype, bytes))
}
