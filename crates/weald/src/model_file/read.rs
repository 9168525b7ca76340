//! Reading: the header, and tensors piece by piece. Lengths are compared with the bytes before anything is allocated.

use std::borrow::Cow;

use safetensors::Dtype;
use safetensors::tensor::TensorInfo;

use super::disk::{self, Disk};
use super::header::Head;
use crate::error::{Error, Purpose, Result};

/// The maximum length of a piece. The pieces of all tensors of trees together fit into the cache of a core.
const PIECE_BYTES: usize = 1 << 16;

/// A file whose header has been checked.
#[derive(Debug)]
pub(super) struct File<'a> {
    pub(super) head: Head,
    arrays: Arrays<'a>,
}

/// Where the arrays are.
#[derive(Debug)]
enum Arrays<'a> {
    Memory(&'a [u8]),
    Disk(Disk),
}

/// A tensor that is read from its beginning to its end, in pieces. Each piece is used before the next one is read, so
/// that only one piece of a file is in memory.
#[derive(Debug)]
pub(super) struct TensorReader<'f> {
    name: &'static str,
    dtype: Dtype,
    /// The number of numbers that have not been read.
    left: usize,
    bytes: Bytes<'f>,
}

/// The bytes of a tensor that have not been read.
#[derive(Debug)]
enum Bytes<'f> {
    Memory(&'f [u8]),
    Disk {
        disk: &'f Disk,
        /// The position in the file of the first byte after `piece`.
        at: u64,
        /// The bytes before this position. `piece[used..]` has not been used yet, and consists of whole elements.
        piece: Vec<u8>,
        used: usize,
    },
}

/// All bytes of a tensor.
#[derive(Debug)]
pub(super) struct Whole<'f> {
    name: &'static str,
    dtype: Dtype,
    bytes: Cow<'f, [u8]>,
}

/// An array of numbers, each of which is exact in float64.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numbers<'a> {
    U8(&'a [[u8; 1]]),
    U16(&'a [[u8; 2]]),
    U32(&'a [[u8; 4]]),
    F16(&'a [[u8; 2]]),
    F32(&'a [[u8; 4]]),
    F64(&'a [[u8; 8]]),
}

/// Evaluates `$body` with an iterator over `$numbers` as float64. There is separate code for each type, so that the
/// type is not tested for each number.
macro_rules! with_numbers {
    ($numbers:expr, |$iter:ident| $body:expr) => {
        $crate::model_file::read::with_numbers!($numbers, |$iter| $body, {
            U8: |b| f64::from(b[0]),
            U16: |b| f64::from(u16::from_le_bytes(*b)),
            U32: |b| f64::from(u32::from_le_bytes(*b)),
            F16: |b| $crate::tree::leaves::Half::decode(u16::from_le_bytes(*b)),
            F32: |b| f64::from(f32::from_le_bytes(*b)),
            F64: |b| f64::from_le_bytes(*b),
        })
    };
    ($numbers:expr, |$iter:ident| $body:expr, { $($type:ident: |$bytes:ident| $number:expr,)* } $($others:tt)*) => {
        match $numbers {
            $($crate::model_file::read::Numbers::$type(v) => {
                let $iter = v.iter().map(|$bytes| $number);
                $body
            })*
            $($others)*
        }
    };
}

/// Like `with_numbers`, with an iterator over whole numbers as u32. It is an error if the numbers are floats.
macro_rules! with_whole {
    ($numbers:expr, $name:expr, |$iter:ident| $body:expr) => {
        $crate::model_file::read::with_numbers!($numbers, |$iter| $body, {
            U8: |b| u32::from(b[0]),
            U16: |b| u32::from(u16::from_le_bytes(*b)),
            U32: |b| u32::from_le_bytes(*b),
        } _ => Err(Error::corrupt(format!("`{}` does not have whole numbers", $name))))
    };
}

pub(super) use {with_numbers, with_whole};

impl<'a> File<'a> {
    /// Opens a file in memory.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self> {
        let n_header = disk::header_bytes(bytes, bytes.len() as u64)?;
        let (text, data) = bytes[8..].split_at(n_header);
        Ok(File { head: Head::parse(text, data.len() as u64)?, arrays: Arrays::Memory(data) })
    }

    /// Opens a file on the disk, of which only the header has been read.
    pub(super) fn on_disk(opened: disk::Opened) -> Self {
        File { head: opened.head, arrays: Arrays::Disk(opened.disk) }
    }

    /// Returns tensor `name`, if it exists.
    pub(super) fn optional(&self, name: &'static str) -> Result<Option<TensorReader<'_>>> {
        let Some((dtype, place)) = self.place(name) else { return Ok(None) };
        Numbers::new(dtype, &[]).ok_or_else(|| Error::corrupt(format!("`{name}` is of type {dtype:?}")))?;
        let left = (place.1 - place.0) / (dtype.bitsize() / 8);
        let bytes = match &self.arrays {
            Arrays::Memory(data) => Bytes::Memory(lent(data, name, place)?),
            Arrays::Disk(disk) => Bytes::Disk { disk, at: disk.place(place.0), piece: Vec::new(), used: 0 },
        };
        Ok(Some(TensorReader { name, dtype, left, bytes }))
    }

    /// Returns tensor `name`.
    pub(super) fn required(&self, name: &'static str) -> Result<TensorReader<'_>> {
        self.optional(name)?.ok_or_else(|| Error::corrupt(format!("there is no `{name}`")))
    }

    /// Returns all bytes of tensor `name`, if it exists. This is for tensors whose numbers are not whole bytes.
    pub(super) fn whole(&self, name: &'static str) -> Result<Option<Whole<'_>>> {
        let Some((dtype, place)) = self.place(name) else { return Ok(None) };
        Ok(Some(Whole { name, dtype, bytes: self.bytes(place)? }))
    }

    /// Returns the type of tensor `name`, and its place among the arrays.
    fn place(&self, name: &str) -> Option<(Dtype, (usize, usize))> {
        // The parser has checked that the offsets are inside the data and fit the shape and the type.
        self.head.metadata.info(name).map(|TensorInfo { dtype, data_offsets, .. }| (*dtype, *data_offsets))
    }

    /// Passes the bytes of a tensor to `each`, in pieces of whole elements of any type.
    pub(super) fn pieces(&self, (start, end): (usize, usize), mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match &self.arrays {
            Arrays::Memory(data) => each(lent(data, "an array", (start, end))?),
            Arrays::Disk(disk) => {
                let mut piece = Purpose("a piece of the file").filled(0, PIECE_BYTES.min(end - start))?;
                (start..end).step_by(PIECE_BYTES).try_for_each(|at| {
                    let piece = &mut piece[..PIECE_BYTES.min(end - at)];
                    disk.read(disk.place(at), piece)?;
                    each(piece)
                })
            }
        }
    }

    /// Returns the bytes of a tensor.
    fn bytes(&self, (start, end): (usize, usize)) -> Result<Cow<'_, [u8]>> {
        match &self.arrays {
            Arrays::Memory(data) => lent(data, "an array", (start, end)).map(Cow::Borrowed),
            Arrays::Disk(disk) => {
                let mut bytes = Purpose("an array of the model").filled(0, end - start)?;
                disk.read(disk.place(start), &mut bytes)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }
}

fn lent<'a>(data: &'a [u8], name: &str, (start, end): (usize, usize)) -> Result<&'a [u8]> {
    data.get(start..end).ok_or_else(|| Error::corrupt(format!("`{name}` is out of bounds")))
}

impl<'f> Whole<'f> {
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the bytes, if this is a tensor of bytes.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        (self.dtype == Dtype::U8).then_some(&self.bytes)
    }
}

impl TensorReader<'_> {
    /// Returns the number of numbers that have not been read.
    pub(super) fn len(&self) -> usize {
        self.left
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Checks that at least `n` numbers are left. This is called before memory is allocated for them.
    pub(super) fn check(&self, n: usize) -> Result<()> {
        if n <= self.left { Ok(()) } else { Err(Error::corrupt(format!("`{}` is too short", self.name))) }
    }

    /// Passes the next `n` numbers to `each`, piece by piece.
    pub(super) fn pieces(&mut self, n: usize, mut each: impl FnMut(Numbers<'_>) -> Result<()>) -> Result<()> {
        self.check(n)?;
        let item = self.dtype.bitsize() / 8;
        let mut wanted = n;
        while wanted > 0 {
            let piece = match &mut self.bytes {
                Bytes::Memory(bytes) => {
                    let (piece, rest) = bytes.split_at(wanted.min(PIECE_BYTES / item) * item);
                    *bytes = rest;
                    piece
                }
                Bytes::Disk { disk, at, piece, used } => {
                    if *used == piece.len() {
                        let n_bytes = PIECE_BYTES.min(self.left * item);
                        if n_bytes > piece.capacity() {
                            *piece = Purpose("a piece of the file").with_capacity(n_bytes)?;
                        }
                        piece.resize(n_bytes, 0);
                        disk.read(*at, piece)?;
                        *at += n_bytes as u64;
                        *used = 0;
                    }
                    let end = piece.len().min(*used + wanted * item);
                    let found = &piece[*used..end];
                    *used = end;
                    found
                }
            };
            wanted -= piece.len() / item;
            self.left -= piece.len() / item;
            each(Numbers::new(self.dtype, piece).expect("the type was looked at when the tensor was found"))?;
        }
        Ok(())
    }

    /// Reads the next number.
    pub(super) fn one(&mut self) -> Result<f64> {
        let mut found = 0.0;
        self.pieces(1, |numbers| {
            with_numbers!(numbers, |numbers| numbers.for_each(|number| found = number));
            Ok(())
        })?;
        Ok(found)
    }

    /// Reads the next `n` numbers, converted by `cast`.
    pub(super) fn collect<T>(&mut self, purpose: Purpose, n: usize, cast: impl Fn(f64) -> T) -> Result<Vec<T>> {
        self.check(n)?;
        let mut v = purpose.with_capacity(n)?;
        self.pieces(n, |piece| {
            with_numbers!(piece, |numbers| v.extend(numbers.map(&cast)));
            Ok(())
        })?;
        Ok(v)
    }

    /// Reads the next `n` numbers, which must be whole and below 2³².
    pub(super) fn whole(&mut self, purpose: Purpose, n: usize) -> Result<Vec<u32>> {
        self.check(n)?;
        let mut v = purpose.with_capacity(n)?;
        let name = self.name;
        self.pieces(n, |piece| {
            with_whole!(piece, name, |numbers| {
                v.extend(numbers);
                Ok(())
            })
        })?;
        Ok(v)
    }

    /// Reads `n` sizes, and returns the offsets from `first` on: `next` returns the one after another and its size.
    pub(super) fn offsets<T: Copy>(
        &mut self,
        n: usize,
        first: T,
        mut next: impl FnMut(T, u32) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.check(n)?;
        let mut offsets = Purpose("the model").with_capacity(n + 1)?;
        let (name, mut end) = (self.name, first);
        offsets.push(end);
        self.pieces(n, |piece| {
            with_whole!(piece, name, |sizes| {
                for size in sizes {
                    end = next(end, size)?;
                    offsets.push(end);
                }
                Ok(())
            })
        })?;
        Ok(offsets)
    }

    /// Checks that everything has been read.
    pub(super) fn finish(&self) -> Result<()> {
        if self.left == 0 { Ok(()) } else { Err(Error::corrupt(format!("`{}` is too long", self.name))) }
    }
}

impl<'a> Numbers<'a> {
    /// Returns the numbers in `bytes`, if the type is one of the types of numbers.
    fn new(dtype: Dtype, bytes: &'a [u8]) -> Option<Self> {
        Some(match dtype {
            Dtype::U8 => Numbers::U8(bytes.as_chunks().0),
            Dtype::U16 => Numbers::U16(bytes.as_chunks().0),
            Dtype::U32 => Numbers::U32(bytes.as_chunks().0),
            Dtype::F16 => Numbers::F16(bytes.as_chunks().0),
            Dtype::F32 => Numbers::F32(bytes.as_chunks().0),
            Dtype::F64 => Numbers::F64(bytes.as_chunks().0),
            _ => return None,
        })
    }

    pub(super) fn len(self) -> usize {
        with_numbers!(self, |numbers| numbers.len())
    }

    /// Returns whether `is_right` holds for all numbers. The loop does not stop early, so that the compiler can
    /// vectorize it.
    pub(super) fn all(self, is_right: impl Fn(f64) -> bool) -> bool {
        with_numbers!(self, |numbers| numbers.fold(true, |all, number| all & is_right(number)))
    }
}
