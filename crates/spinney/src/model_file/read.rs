//! Reading: the header and views of the tensors, lengths proven against the bytes before anything is allocated.

use safetensors::Dtype;
use safetensors::tensor::TensorInfo;

use super::extra::Extra;
use super::header::Head;
use super::{Kind, disk};
use crate::error::{Error, Result, try_with_capacity};
use crate::tree::leaves::Half;

/// A parsed file; tensors are lent from its bytes.
#[derive(Debug)]
pub(super) struct File<'a> {
    pub(super) head: Head,
    data: &'a [u8],
}

/// An array of numbers, each exact as float64.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numbers<'a> {
    U8(&'a [[u8; 1]]),
    U16(&'a [[u8; 2]]),
    U32(&'a [[u8; 4]]),
    F16(&'a [[u8; 2]]),
    F32(&'a [[u8; 4]]),
    F64(&'a [[u8; 8]]),
}

/// Evaluates `$body` with an iterator over `$numbers` as float64: code of its own for each type, so that no number asks
/// again of which type it is.
macro_rules! with_numbers {
    ($numbers:expr, |$($iter:ident)+| $body:expr) => {
        match $numbers {
            Numbers::U8(v) => { let $($iter)+ = v.iter().map(|b| f64::from(b[0])); $body }
            Numbers::U16(v) => { let $($iter)+ = v.iter().map(|b| f64::from(u16::from_le_bytes(*b))); $body }
            Numbers::U32(v) => { let $($iter)+ = v.iter().map(|b| f64::from(u32::from_le_bytes(*b))); $body }
            Numbers::F16(v) => { let $($iter)+ = v.iter().map(|b| Half::decode(u16::from_le_bytes(*b))); $body }
            Numbers::F32(v) => { let $($iter)+ = v.iter().map(|b| f64::from(f32::from_le_bytes(*b))); $body }
            Numbers::F64(v) => { let $($iter)+ = v.iter().map(|b| f64::from_le_bytes(*b)); $body }
        }
    };
}

/// The same with an iterator over whole numbers as u32; an error where they are floats.
macro_rules! with_whole {
    ($numbers:expr, $name:expr, |$($iter:ident)+| $body:expr) => {
        match $numbers {
            Numbers::U8(v) => { let $($iter)+ = v.iter().map(|b| u32::from(b[0])); $body }
            Numbers::U16(v) => { let $($iter)+ = v.iter().map(|b| u32::from(u16::from_le_bytes(*b))); $body }
            Numbers::U32(v) => { let $($iter)+ = v.iter().map(|b| u32::from_le_bytes(*b)); $body }
            _ => Err(Error::corrupt(format!("`{}` is not of whole numbers", $name))),
        }
    };
}

pub(super) use {with_numbers, with_whole};

impl<'a> File<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self> {
        let n_header = disk::header_bytes(bytes, bytes.len() as u64)?;
        let (text, data) = bytes[8..].split_at(n_header);
        Ok(File { head: Head::parse(text, data.len() as u64)?, data })
    }

    /// What travels with the model.
    pub(super) fn extra(&self) -> Result<Extra> {
        Extra::read(&self.head, self.data)
    }

    /// The error that the model is not of the kind that was asked for.
    pub(super) fn is_not(&self, kind: Kind) -> Error {
        let name = |kind| match kind {
            Kind::Forest => "a forest",
            Kind::Boosted => "a boosted model",
            Kind::Compressed => "a compressed model",
        };
        Error::corrupt(format!("this is {}, not {}", name(self.head.header.kind()), name(kind)))
    }

    /// Tensor `name`, if there is one.
    pub(super) fn optional(&self, name: &str) -> Result<Option<Numbers<'a>>> {
        let Some(TensorInfo { dtype, data_offsets: (start, end), .. }) = self.head.metadata.info(name) else {
            return Ok(None);
        };
        // The offsets were proven by the parser: inside the data, and as long as shape and type ask.
        let bytes = self.data.get(*start..*end).ok_or_else(|| Error::corrupt(format!("`{name}` is out of bounds")))?;
        Ok(Some(match dtype {
            Dtype::U8 => Numbers::U8(bytes.as_chunks().0),
            Dtype::U16 => Numbers::U16(bytes.as_chunks().0),
            Dtype::U32 => Numbers::U32(bytes.as_chunks().0),
            Dtype::F16 => Numbers::F16(bytes.as_chunks().0),
            Dtype::F32 => Numbers::F32(bytes.as_chunks().0),
            Dtype::F64 => Numbers::F64(bytes.as_chunks().0),
            other => return Err(Error::corrupt(format!("`{name}` is of type {other:?}"))),
        }))
    }

    /// Tensor `name`.
    pub(super) fn required(&self, name: &str) -> Result<Numbers<'a>> {
        self.optional(name)?.ok_or_else(|| Error::corrupt(format!("there is no `{name}`")))
    }
}

impl<'a> Numbers<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Numbers::U8(v) => v.len(),
            Numbers::U16(v) | Numbers::F16(v) => v.len(),
            Numbers::U32(v) | Numbers::F32(v) => v.len(),
            Numbers::F64(v) => v.len(),
        }
    }

    pub(super) fn at(&self, i: usize) -> f64 {
        match self {
            Numbers::U8(v) => v[i][0].into(),
            Numbers::U16(v) => u16::from_le_bytes(v[i]).into(),
            Numbers::U32(v) => u32::from_le_bytes(v[i]).into(),
            Numbers::F16(v) => Half::decode(u16::from_le_bytes(v[i])),
            Numbers::F32(v) => f32::from_le_bytes(v[i]).into(),
            Numbers::F64(v) => f64::from_le_bytes(v[i]),
        }
    }

    /// All numbers, each as `cast` has it.
    pub(super) fn collect<T>(self, what: &'static str, cast: impl Fn(f64) -> T) -> Result<Vec<T>> {
        let mut v = try_with_capacity(what, self.len())?;
        with_numbers!(self, |numbers| v.extend(numbers.map(cast)));
        Ok(v)
    }

    /// Whether `is_right` of all numbers.
    pub(super) fn all(self, is_right: impl Fn(f64) -> bool) -> bool {
        with_numbers!(self, |mut numbers| numbers.all(is_right))
    }

    /// The first `n` numbers; `self` keeps the others.
    pub(super) fn take(&mut self, n: usize, name: &str) -> Result<Numbers<'a>> {
        fn cut<'a, T>(v: &mut &'a [T], n: usize) -> Option<&'a [T]> {
            let (head, rest) = v.split_at_checked(n)?;
            *v = rest;
            Some(head)
        }
        let head = match self {
            Numbers::U8(v) => cut(v, n).map(Numbers::U8),
            Numbers::U16(v) => cut(v, n).map(Numbers::U16),
            Numbers::U32(v) => cut(v, n).map(Numbers::U32),
            Numbers::F16(v) => cut(v, n).map(Numbers::F16),
            Numbers::F32(v) => cut(v, n).map(Numbers::F32),
            Numbers::F64(v) => cut(v, n).map(Numbers::F64),
        };
        head.ok_or_else(|| Error::corrupt(format!("`{name}` is too short")))
    }

    /// Proves that `take` has used all.
    pub(super) fn finish(&self, name: &str) -> Result<()> {
        if self.len() == 0 { Ok(()) } else { Err(Error::corrupt(format!("`{name}` is too long"))) }
    }

    /// The numbers where they are whole and below 2³².
    pub(super) fn whole(self, name: &str) -> Result<impl ExactSizeIterator<Item = u32> + 'a> {
        match self {
            Numbers::U8(_) | Numbers::U16(_) | Numbers::U32(_) => Ok((0..self.len()).map(move |i| self.at(i) as u32)),
            _ => Err(Error::corrupt(format!("`{name}` is not of whole numbers"))),
        }
    }
}
