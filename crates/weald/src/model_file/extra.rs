//! Data that are stored with a model and are not interpreted by this crate: a text, and named arrays.

use std::collections::BTreeMap;

use safetensors::Dtype;
use safetensors::tensor::TensorInfo;

use super::header::{Head, MOST_DIMENSIONS, MOST_TENSORS};
use super::read::File;
use super::tensor::Tensor;
use crate::error::{Error, Purpose, Result};

/// The prefix of the names of tensors that are arrays of an [`Extra`].
pub(super) const PREFIX: &str = "estimator.";
/// The maximum length of the name of an array, in bytes.
const MOST_NAME_BYTES: usize = 256;
/// The number of tensors that are reserved for the model.
const RESERVED: usize = 64;
const PURPOSE: Purpose = Purpose("the arrays of the estimator");

/// Data that a caller stores with a model. The Python package stores what an estimator knows in addition to its trees.
///
/// They are stored as they are and are not interpreted. A model that is read without them is the same model.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Extra {
    /// The entry `estimator` of the header. The Python package writes JSON.
    pub estimator: Option<String>,
    /// The tensors `estimator.NAME`, by NAME. There are at most 4032, and a name has 1 to 256 visible ASCII characters.
    pub arrays: BTreeMap<String, Array>,
}

/// An array in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    shape: Vec<usize>,
    values: Values,
}

/// Declares [`Values`] and what is done with values of each type, from a row for each with the functions to bytes and back.
macro_rules! values {
    ($($(#[$doc:meta])* $name:ident($type:ty): $dtype:ident, $encode:expr, $decode:expr,)*) => {
        /// Numbers of one type.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Values {$(
            $(#[$doc])*
            $name(Vec<$type>),
        )*}

        impl Values {
            /// Returns the number of values.
            pub fn len(&self) -> usize {
                match self {
                    $(Values::$name(v) => v.len(),)*
                }
            }

            /// Returns whether there are no values.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns the type and the bytes.
            fn encoded(&self) -> Result<(Dtype, Vec<u8>)> {
                Ok(match self {
                    $(Values::$name(v) => (Dtype::$dtype, encoded(v, $encode)?),)*
                })
            }

            fn read(file: &File<'_>, info: &TensorInfo) -> Result<Self> {
                match info.dtype {
                    $(Dtype::$dtype => decoded(file, info.data_offsets, $decode, $encode).map(Values::$name),)*
                    other => Err(Error::corrupt(format!("an array of the estimator is of type {other:?}"))),
                }
            }
        }

        /// Returns whether an array may have this type.
        pub(super) fn is_known(dtype: Dtype) -> bool {
            [$(Dtype::$dtype),*].contains(&dtype)
        }
    };
}

values! {
    /// Booleans, one byte each.
    Bool(bool): BOOL, |b| [u8::from(b)], |[b]: [u8; 1]| b == 1,
    /// Unsigned 8-bit integers.
    U8(u8): U8, u8::to_le_bytes, u8::from_le_bytes,
    /// 32-bit integers.
    I32(i32): I32, i32::to_le_bytes, i32::from_le_bytes,
    /// 64-bit integers.
    I64(i64): I64, i64::to_le_bytes, i64::from_le_bytes,
    /// Unsigned 32-bit integers.
    U32(u32): U32, u32::to_le_bytes, u32::from_le_bytes,
    /// Unsigned 64-bit integers.
    U64(u64): U64, u64::to_le_bytes, u64::from_le_bytes,
    /// float32, including NaN and infinities.
    F32(f32): F32, f32::to_le_bytes, f32::from_le_bytes,
    /// float64, including NaN and infinities.
    F64(f64): F64, f64::to_le_bytes, f64::from_le_bytes,
}

impl Array {
    /// Creates an array of `values` in row-major order.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Shape`] when the number of values does not fit `shape`, and
    /// [`crate::ErrorKind::TooMany`] for more than 32 dimensions.
    pub fn try_new(shape: Vec<usize>, values: Values) -> Result<Self> {
        if shape.len() > MOST_DIMENSIONS {
            return Err(crate::ErrorKind::TooMany { what: "dimensions", limit: MOST_DIMENSIONS }.into());
        }
        let expected = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size)).unwrap_or(usize::MAX);
        if expected != values.len() {
            return Err(Error::shape("array of the estimator", expected, values.len()));
        }
        Ok(Array { shape, values })
    }

    /// Returns the length of each dimension; it is empty for a single value.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the values in row-major order.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Returns the shape and the values.
    pub fn into_parts(self) -> (Vec<usize>, Values) {
        (self.shape, self.values)
    }

    fn tensor(&self, name: &str) -> Result<Tensor> {
        let (dtype, bytes) = self.values.encoded()?;
        Ok(Tensor { name: format!("{PREFIX}{name}").into(), dtype, shape: Some(self.shape.clone()), bytes })
    }
}

fn encoded<T: Copy, const N: usize>(values: &[T], encode: impl Fn(T) -> [u8; N]) -> Result<Vec<u8>> {
    let mut bytes = PURPOSE.with_capacity(values.len().saturating_mul(N))?;
    values.iter().for_each(|&value| bytes.extend_from_slice(&encode(value)));
    Ok(bytes)
}

fn decoded<T: Copy, const N: usize>(
    file: &File<'_>,
    place: (usize, usize),
    decode: impl Fn([u8; N]) -> T,
    encode: impl Fn(T) -> [u8; N],
) -> Result<Vec<T>> {
    let mut values = PURPOSE.with_capacity((place.1 - place.0) / N)?;
    file.pieces(place, |piece| {
        let mut are_values = true;
        values.extend(piece.as_chunks().0.iter().map(|&chunk| {
            let value = decode(chunk);
            // Any bytes are a number.
            are_values &= encode(value) == chunk;
            value
        }));
        if are_values { Ok(()) } else { Err(Error::corrupt("a boolean of the estimator is neither 0 nor 1")) }
    })?;
    Ok(values)
}

/// Returns whether an array may have this name.
pub(super) fn is_name(name: &str) -> bool {
    (1..=MOST_NAME_BYTES).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic())
}

impl Extra {
    /// Returns the arrays as tensors.
    pub(super) fn tensors(&self) -> Result<Vec<Tensor>> {
        let limit = MOST_TENSORS - RESERVED;
        if self.arrays.len() > limit {
            return Err(crate::ErrorKind::TooMany { what: "arrays of the estimator", limit }.into());
        }
        let tensor = |(name, array): (&String, &Array)| {
            let must = "have 1 to 256 visible ASCII characters";
            if is_name(name) { array.tensor(name) } else { Err(Error::invalid("name of an array", name, must)) }
        };
        self.arrays.iter().map(tensor).collect()
    }

    /// Reads the data that a file holds in addition to its model.
    pub(super) fn read(file: &File<'_>) -> Result<Self> {
        let Head { metadata, estimator, .. } = &file.head;
        let mut arrays = BTreeMap::new();
        for name in metadata.offset_keys() {
            if let (Some(info), Some(short)) = (metadata.info(&name), name.strip_prefix(PREFIX)) {
                let array = Array { shape: info.shape.clone(), values: Values::read(file, info)? };
                arrays.insert(short.to_owned(), array);
            }
        }
        let estimator =
            estimator.as_deref().map(|text| Purpose("the text of the estimator").string(text)).transpose()?;
        Ok(Extra { estimator, arrays })
    }
}
