//! What a kind of model tells about its files: one implementation of [`Codec`] for each kind.

use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorInfo;

use super::disk;
use super::extra::{self, Extra};
use super::header::{self, Head, Header, quoted};
use super::read::File;
use super::tensor::{PURPOSE, Tensor};
use crate::data::Outputs;
use crate::error::{Error, Result};

/// The names of tensors, with the types that each may have.
pub(super) type Names = &'static [(&'static str, &'static [Dtype])];

/// Lists tensors once: `$names` has their names and types, and `$readers` the parts of them that later trees will read. Those
/// that are `optional` may be absent; `others` are not read tree by tree.
macro_rules! tensors {
    (
        $names:ident, $readers:ident
        { $($name:ident: $types:expr,)* }
        optional { $($may_be:ident: $its_types:expr,)* }
        others { $($other:ident: $other_types:expr,)* }
    ) => {
        pub(in crate::model_file) const $names: $crate::model_file::codec::Names = &[
            $((stringify!($name), $types),)*
            $((stringify!($may_be), $its_types),)*
            $((stringify!($other), $other_types),)*
        ];

        #[derive(Debug)]
        struct $readers<'f> {
            $($name: $crate::model_file::read::TensorReader<'f>,)*
            $($may_be: Option<$crate::model_file::read::TensorReader<'f>>,)*
        }

        impl<'f> $readers<'f> {
            fn new(file: &'f $crate::model_file::read::File<'_>) -> $crate::error::Result<Self> {
                Ok($readers {
                    $($name: file.required(stringify!($name))?,)*
                    $($may_be: file.optional(stringify!($may_be))?,)*
                })
            }

            /// Checks that everything has been read.
            fn finish(&self) -> $crate::error::Result<()> {
                let optional: &[&Option<$crate::model_file::read::TensorReader<'f>>] = &[$(&self.$may_be),*];
                let all = [$(&self.$name),*].into_iter().chain(optional.iter().copied().flatten());
                all.map(|tensor| tensor.finish()).collect()
            }
        }
    };
}

pub(super) use tensors;

/// A kind of model.
#[derive(Debug)]
pub(super) struct About {
    /// The key of what the header tells of models of this kind alone.
    pub(super) key: Option<&'static str>,
    /// The key of what it tells of other models of this kind.
    pub(super) other_key: Option<&'static str>,
    /// What messages call a model of this kind.
    pub(super) name: &'static str,
    /// The tensor with a number for each node.
    pub(super) of_nodes: &'static str,
    /// The tensors that a file may have.
    pub(super) tensors: &'static [Names],
}

/// A model that files can contain.
pub(super) trait Codec: Sized {
    const KIND: About;

    /// What the header tells of models of this kind alone.
    type Form;

    /// Checks the header as far as this is possible without reading tensors. Returns the meaning of the columns of
    /// predictions, and what the header tells of models of this kind alone.
    fn parse(head: &Head) -> Result<(Outputs, Self::Form)>;

    /// Returns the header of the model.
    fn header(&self) -> Result<Header>;

    /// Returns the tensors of the model, in any order.
    fn tensors(&self) -> Result<Vec<Tensor>>;

    /// Reads and checks the tensors.
    fn build(file: &File<'_>, outputs: Outputs, form: Self::Form) -> Result<Self>;

    /// Returns the file of the model.
    fn parts(&self, extra: &Extra) -> Result<Parts> {
        Parts::new(&self.header()?, self.tensors()?, extra)
    }
}

impl About {
    /// Checks that a file of this kind may have the tensors of `head`.
    pub(super) fn check(&self, head: &Head) -> Result<()> {
        head.tensors().try_for_each(|(name, info)| self.check_tensor(&name, info))
    }

    fn check_tensor(&self, name: &str, info: &TensorInfo) -> Result<()> {
        let wrong_type = || Error::corrupt(format!("`{name}` is of type {:?}", info.dtype));
        if let Some((_, types)) = self.tensors.iter().copied().flatten().find(|(known, _)| *known == name) {
            return match info.shape.len() {
                1 if types.contains(&info.dtype) => Ok(()),
                1 => Err(wrong_type()),
                n => Err(Error::corrupt(format!("`{name}` has {n} dimensions, not one"))),
            };
        }
        match name.strip_prefix(extra::PREFIX) {
            Some(name) if !extra::is_name(name) => {
                Err(Error::corrupt("the name of an array of the estimator is invalid"))
            }
            Some(_) if !extra::is_known(info.dtype) => Err(wrong_type()),
            Some(_) => Ok(()),
            None => Err(Error::corrupt(format!("there is a tensor `{}`, which is not known", quoted(name)))),
        }
    }
}

/// A file in parts: the bytes before the arrays, and the arrays in their order.
#[derive(Debug)]
pub(super) struct Parts {
    start: Vec<u8>,
    tensors: Vec<Tensor>,
}

impl Parts {
    /// Puts the tensors in order of decreasing width of their types, so that each of them is aligned.
    pub(super) fn new(header: &Header, mut tensors: Vec<Tensor>, extra: &Extra) -> Result<Self> {
        tensors.extend(extra.tensors()?);
        tensors.sort_by(|a, b| b.dtype.bitsize().cmp(&a.dtype.bitsize()).then_with(|| a.name.cmp(&b.name)));
        let mut end = 0;
        let infos: Vec<TensorInfo> = tensors
            .iter_mut()
            .map(|tensor| {
                let start = end;
                end += tensor.bytes.len();
                let whole = || vec![tensor.bytes.len() * 8 / tensor.dtype.bitsize()];
                let shape = tensor.shape.take().unwrap_or_else(whole);
                TensorInfo { dtype: tensor.dtype, shape, data_offsets: (start, end) }
            })
            .collect();
        let named = tensors.iter().map(|tensor| tensor.name.to_string()).zip(&infos);
        let start = header::text(header, extra.estimator.as_deref(), named)?;
        Ok(Parts { start, tensors })
    }

    /// Returns the file as one array of bytes.
    pub(super) fn into_bytes(self) -> Result<Vec<u8>> {
        let n_data: usize = self.tensors.iter().map(|tensor| tensor.bytes.len()).sum();
        let mut file = PURPOSE.with_capacity(self.start.len() + n_data)?;
        file.extend_from_slice(&self.start);
        self.tensors.iter().for_each(|tensor| file.extend_from_slice(&tensor.bytes));
        Ok(file)
    }

    /// Writes the file to `path`, without a copy of it in memory.
    pub(super) fn write(self, path: &Path) -> Result<()> {
        disk::write(path, std::iter::once(&self.start[..]).chain(self.tensors.iter().map(|tensor| &tensor.bytes[..])))
    }
}
