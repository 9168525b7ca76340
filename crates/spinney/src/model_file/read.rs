//! Reading: the header and views of the tensors, lengths proven against the bytes before anything is allocated.

use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use super::Header;
use crate::error::{Error, Result};
use crate::tree::leaves::Half;

/// A parsed file; tensors are lent from its bytes.
#[derive(Debug)]
pub(super) struct File<'a> {
    pub(super) header: Header,
    metadata: Metadata,
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

impl<'a> File<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self> {
        let short = || Error::corrupt("the file is cut short");
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| short())?;
        let (text, data) = rest.split_at_checked(length).ok_or_else(short)?;
        let metadata: Metadata =
            serde_json::from_slice(text).map_err(|e| Error::corrupt(format!("the header: {e}")))?;
        if metadata.data_len() != data.len() {
            let why = format!("{} bytes of arrays, the header tells of {}", data.len(), metadata.data_len());
            return Err(Error::corrupt(why));
        }
        let header = Header::decode(metadata.metadata().as_ref())?;
        Ok(File { header, metadata, data })
    }

    /// Tensor `name`, if there is one.
    pub(super) fn optional(&self, name: &str) -> Result<Option<Numbers<'a>>> {
        let Some(TensorInfo { dtype, data_offsets: (start, end), .. }) = self.metadata.info(name) else {
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

    pub(super) fn iter(self) -> impl Iterator<Item = f64> + 'a {
        (0..self.len()).map(move |i| self.at(i))
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

    /// Whole numbers below 2³².
    pub(super) fn whole(self, name: &str) -> Result<impl Iterator<Item = u32> + 'a> {
        match self {
            Numbers::U8(_) | Numbers::U16(_) | Numbers::U32(_) => Ok(self.iter().map(|v| v as u32)),
            _ => Err(Error::corrupt(format!("`{name}` is not of whole numbers"))),
        }
    }
}
