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

/// Numbers of one type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// Booleans, one byte each.
    Bool(Vec<bool>),
    /// Unsigned 8-bit integers.
    U8(Vec<u8>),
    /// 32-bit integers.
    I32(Vec<i32>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// Unsigned 32-bit integers.
    U32(Vec<u32>),
    /// Unsigned 64-bit integers.
    U64(Vec<u64>),
    /// float32, including NaN and infinities.
    F32(Vec<f32>),
    /// float64, including NaN and infinities.
    F64(Vec<f64>),
}

impl Values {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Bool(v) => v.len(),
            Values::U8(v) => v.len(),
            Values::I32(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::U32(v) => v.len(),
            Values::U64(v) => v.len(),
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
        }
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
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
        let (dtype, bytes) = match &self.values {
            Values::Bool(v) => (Dtype::BOOL, encoded(v, |b| [u8::from(b)])?),
            Values::U8(v) => (Dtype::U8, encoded(v, u8::to_le_bytes)?),
            Values::I32(v) => (Dtype::I32, encoded(v, i32::to_le_bytes)?),
            Values::I64(v) => (Dtype::I64, encoded(v, i64::to_le_bytes)?),
            Values::U32(v) => (Dtype::U32, encoded(v, u32::to_le_bytes)?),
            Values::U64(v) => (Dtype::U64, encoded(v, u64::to_le_bytes)?),
            Values::F32(v) => (Dtype::F32, encoded(v, f32::to_le_bytes)?),
            Values::F64(v) => (Dtype::F64, encoded(v, f64::to_le_bytes)?),
        };
        Ok(Tensor { name: format!("{PREFIX}{name}").into(), dtype, shape: Some(self.shape.clone()), bytes })
    }

    fn read(file: &File<'_>, info: &TensorInfo) -> Result<Self> {
        let place = info.data_offsets;
        let values = match info.dtype {
            Dtype::BOOL => {
                let mut known = true;
                let values = decoded(file, place, |[b]: [u8; 1]| {
                    known &= b <= 1;
                    b == 1
                })?;
                if !known {
                    return Err(Error::corrupt("a boolean of the estimator is neither 0 nor 1"));
                }
                Values::Bool(values)
            }
            Dtype::U8 => Values::U8(decoded(file, place, u8::from_le_bytes)?),
            Dtype::I32 => Values::I32(decoded(file, place, i32::from_le_bytes)?),
            Dtype::I64 => Values::I64(decoded(file, place, i64::from_le_bytes)?),
            Dtype::U32 => Values::U32(decoded(file, place, u32::from_le_bytes)?),
            Dtype::U64 => Values::U64(decoded(file, place, u64::from_le_bytes)?),
            Dtype::F32 => Values::F32(decoded(file, place, f32::from_le_bytes)?),
            Dtype::F64 => Values::F64(decoded(file, place, f64::from_le_bytes)?),
            other => return Err(Error::corrupt(format!("an array of the estimator is of type {other:?}"))),
        };
        Ok(Array { shape: info.shape.clone(), values })
    }
}

fn encoded<T: Copy, const N: usize>(values: &[T], encode: impl Fn(T) -> [u8; N]) -> Result<Vec<u8>> {
    let mut bytes = PURPOSE.with_capacity(values.len().saturating_mul(N))?;
    values.iter().for_each(|&value| bytes.extend_from_slice(&encode(value)));
    Ok(bytes)
}

fn decoded<T, const N: usize>(
    file: &File<'_>,
    place: (usize, usize),
    mut decode: impl FnMut([u8; N]) -> T,
) -> Result<Vec<T>> {
    let mut values = PURPOSE.with_capacity((place.1 - place.0) / N)?;
    file.pieces(place, |piece| {
        values.extend(piece.as_chunks().0.iter().map(|&chunk| decode(chunk)));
        Ok(())
    })?;
    Ok(values)
}

/// Returns whether an array may have this type.
pub(super) fn is_known(dtype: Dtype) -> bool {
    use Dtype::{BOOL, F32, F64, I32, I64, U8, U32, U64};
    [BOOL, U8, I32, I64, U32, U64, F32, F64].contains(&dtype)
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
                arrays.insert(short.to_owned(), Array::read(file, info)?);
            }
        }
        let estimator =
            estimator.as_deref().map(|text| Purpose("the text of the estimator").string(text)).transpose()?;
        Ok(Extra { estimator, arrays })
    }
}
