//! Counts, means and scales of leaves and of stored samples, in the types in which the file stores them.

use safetensors::Dtype;

use super::read::{Numbers, TensorReader, with_numbers};
use super::{ABOVE, HALF, SINGLE};
use crate::error::{Error, Purpose, Result};
use crate::tree::leaves::{Amounts, Half};

const PURPOSE: Purpose = Purpose("the model");

/// Reads the scales of one tree or set, which are powers of two.
pub(super) fn scales(stored: &mut Option<TensorReader<'_>>, width: usize) -> Result<Vec<f64>> {
    let stored =
        stored.as_mut().ok_or_else(|| Error::corrupt("there is no `leaf_scales`, `leaf_factors` or `set_scales`"))?;
    let scales = stored.collect(PURPOSE, width, |scale| scale)?;
    let is_power = |scale: &f64| scale.is_normal() && *scale > 0.0 && scale.to_bits().trailing_zeros() >= 52;
    if scales.iter().all(is_power) { Ok(scales) } else { Err(Error::corrupt("a scale is not a power of two")) }
}

/// Reads the next `n` whole numbers into the narrowest type, which is the one that the saved tree had.
pub(super) fn counts(stream: &mut TensorReader<'_>, n: usize) -> Result<Amounts> {
    match stream.dtype() {
        Dtype::U8 => {
            stream.check(n)?;
            let mut v: Vec<u8> = PURPOSE.with_capacity(n)?;
            stream.pieces(n, |piece| {
                if let Numbers::U8(bytes) = piece {
                    v.extend_from_slice(bytes.as_flattened());
                }
                Ok(())
            })?;
            Ok(Amounts::U8(v))
        }
        Dtype::U16 => narrowed(stream.collect(PURPOSE, n, |amount| amount as u16)?, Amounts::U16),
        Dtype::U32 => narrowed(stream.whole(PURPOSE, n)?, Amounts::U32),
        _ => {
            let v = stream.collect(PURPOSE, n, |amount| amount)?;
            if !v.iter().all(|&amount| amount.is_finite() && amount >= 0.0 && amount.fract() == 0.0) {
                return Err(Error::corrupt("an amount of a leaf is not a whole number"));
            }
            narrowed(v, Amounts::F64)
        }
    }
}

/// Reads the next `n` signed 8-bit numbers, from −127 to 127.
pub(super) fn in_bytes(stream: &mut TensorReader<'_>, n: usize) -> Result<Amounts> {
    let wrong = || Error::corrupt("an amount of a leaf is not an 8-bit number");
    let Amounts::U8(codes) = counts(stream, n)? else { return Err(wrong()) };
    if codes.contains(&0) {
        return Err(wrong());
    }
    Ok(Amounts::I8(PURPOSE.collected(codes.iter().map(|&code| (i16::from(code) - ABOVE) as i8))?))
}

/// Converts whole numbers to the narrowest type that can hold them. If no type is narrower, `same` wraps them as they
/// are.
fn narrowed<T: Copy + Default + PartialOrd + Into<f64>>(v: Vec<T>, same: fn(Vec<T>) -> Amounts) -> Result<Amounts> {
    let most: f64 = v.iter().fold(T::default(), |most, &amount| if amount > most { amount } else { most }).into();
    let numbers = v.iter().map(|&amount| -> f64 { amount.into() });
    Ok(match size_of::<T>() {
        _ if most <= u8::MAX.into() => Amounts::U8(PURPOSE.collected(numbers.map(|amount| amount as u8))?),
        3.. if most <= u16::MAX.into() => Amounts::U16(PURPOSE.collected(numbers.map(|amount| amount as u16))?),
        5.. if most <= u32::MAX.into() => Amounts::U32(PURPOSE.collected(numbers.map(|amount| amount as u32))?),
        _ => same(v),
    })
}

/// Reads the next `n` finite numbers, of the type given by `layout`.
pub(super) fn means(stream: &mut TensorReader<'_>, n: usize, layout: u8) -> Result<Amounts> {
    fn all<T>(
        stream: &mut TensorReader<'_>,
        n: usize,
        is_exact: impl Fn(f64) -> bool,
        cast: impl Fn(f64) -> T,
    ) -> Result<Vec<T>> {
        stream.check(n)?;
        let mut v = PURPOSE.with_capacity(n)?;
        stream.pieces(n, |piece| {
            if !piece.all(f64::is_finite) {
                return Err(Error::corrupt("a value of a leaf is not finite"));
            }
            if !piece.all(&is_exact) {
                return Err(Error::corrupt("a value of a leaf has more bits than its type"));
            }
            with_numbers!(piece, |numbers| v.extend(numbers.map(&cast)));
            Ok(())
        })?;
        Ok(v)
    }
    let in_half = |v: f64| v.abs() <= Half::LARGEST && f64::from(Half::nearest(v)) == v;
    Ok(match layout & (SINGLE | HALF) {
        SINGLE => Amounts::F32(all(stream, n, |v| f64::from(v as f32) == v, |v| v as f32)?),
        // A zero has no sign: different bits would be different models.
        HALF => Amounts::F16(all(stream, n, in_half, |v| Half::nearest(v + 0.0))?),
        _ => Amounts::F64(all(stream, n, |_| true, |v| v)?),
    })
}
