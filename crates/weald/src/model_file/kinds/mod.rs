//! The kinds of models that files can contain: a row for each.

mod boosted;
mod centroid;
mod compressed;
mod forest;
mod label_tree;
mod linear;

use std::path::Path;

use crate::boost::Boosted;
use crate::centroid::CentroidForest;
use crate::compress::Compressed;
use crate::data::Outputs;
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::label_tree::LabelTreeModel;
use crate::linear::LinearModel;
use crate::model_file::codec::{About, Codec, Parts};
use crate::model_file::disk;
use crate::model_file::extra::Extra;
use crate::model_file::header::Head;
use crate::model_file::read::File;

/// What is done with a header and a file of one kind.
pub(super) struct Row {
    pub(super) kind: Kind,
    pub(super) about: About,
    pub(super) outputs: fn(&Head) -> Result<Outputs>,
    read: fn(&File<'_>) -> Result<Model>,
}

/// Returns the row of a file, whose tensors fit the kind.
pub(super) fn row_of(head: &Head) -> Result<&'static Row> {
    let key = head.header.form.as_ref().map(|(key, _)| &**key);
    let row = ROWS.iter().find(|row| row.about.key == key || key.is_some() && row.about.other_key == key);
    let row = row.ok_or_else(|| Error::corrupt("the header describes a kind of model that is not known"))?;
    row.about.check(head)?;
    Ok(row)
}

/// Reads a model of one kind.
fn read<M: Codec>(file: &File<'_>) -> Result<M> {
    let Row { about, .. } = row_of(&file.head)?;
    if about.key != M::KIND.key {
        return Err(Error::corrupt(format!("this is {}, not {}", about.name, M::KIND.name)));
    }
    let (outputs, form) = M::parse(&file.head)?;
    M::build(file, outputs, form)
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($model:ident),)*) => {
        /// The kind of model that a file contains.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Kind {$(
            #[doc = concat!("A [`crate::", stringify!($model), "`].")]
            $kind,
        )*}

        /// A model of any kind.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Model {$(
            $(#[$doc])*
            $kind($model),
        )*}

        const ROWS: &[Row] = &[$(
            Row {
                kind: Kind::$kind,
                about: $model::KIND,
                outputs: |head| $model::parse(head).map(|(outputs, _)| outputs),
                read: |file| read(file).map(Model::$kind),
            },
        )*];

        impl Model {
            /// Returns the kind of the model.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Model::$kind(_) => Kind::$kind,)*
                }
            }

            pub(super) fn parts(&self, extra: &Extra) -> Result<Parts> {
                match self {
                    $(Model::$kind(model) => model.parts(extra),)*
                }
            }
        }

        $(
        impl From<$model> for Model {
            fn from(model: $model) -> Self {
                Model::$kind(model)
            }
        }

        files!($model, read);
        )*
    };
}

/// Writes the methods that read and write files. `$read` reads a model from one.
macro_rules! files {
    ($model:ident, $read:expr) => {
        impl $model {
            /// Returns the model as a safetensors file. Equal models have equal bytes.
            ///
            /// Of a boosted model whose weak models are not trees, only the steps are stored.
            ///
            /// # Errors
            /// Returns [`crate::ErrorKind::Invalid`] for a forest without trees, or [`crate::ErrorKind::OutOfMemory`].
            pub fn to_bytes(&self) -> Result<Vec<u8>> {
                self.parts(&Extra::default())?.into_bytes()
            }

            /// Reads a model that `to_bytes` wrote.
            ///
            /// # Errors
            /// Returns [`crate::ErrorKind::Corrupt`] with the check that failed, [`crate::ErrorKind::Invalid`] for a
            /// newer format, or [`crate::ErrorKind::OutOfMemory`]. It never panics, whatever the bytes are.
            pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
                $read(&File::parse(bytes)?)
            }

            /// Writes the model to a file, in the format of [`crate::model_file`].
            ///
            /// The file is written next to the old one, and replaces it once it is complete and on the disk: a crash or
            /// an error leaves the old file unchanged. The new file has the mode of the old one and, where the
            /// operating system allows it, its owner. If the path is a symbolic link, its target is written. For
            /// devices, named pipes and sockets, an error is returned before anything is written.
            ///
            /// # Errors
            /// The errors of `to_bytes`, and [`crate::ErrorKind::File`] with the path and the message of the operating
            /// system.
            pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
                self.parts(&Extra::default())?.write(path.as_ref())
            }

            /// Reads a model from a file. Data that are stored with it are ignored.
            ///
            /// # Errors
            /// The errors of `from_bytes`, and [`crate::ErrorKind::File`] with the path and the message of the
            /// operating system.
            pub fn load(path: impl AsRef<Path>) -> Result<Self> {
                $read(&File::on_disk(disk::open(path.as_ref())?))
            }
        }
    };
}

kinds! {
    /// Trees whose mean is the prediction. A single tree is a forest with one tree.
    Forest(Forest),
    /// Stages of trees that add up to scores.
    Boosted(Boosted),
    /// A forest after compression.
    Compressed(Compressed),
    /// Trees of centroids whose mean is the prediction.
    Centroid(CentroidForest),
    /// Weights of features for each label or class.
    Linear(LinearModel),
    /// Trees of labels, with linear columns at each node.
    LabelTree(LabelTreeModel),
}

files!(Model, Model::read);

impl Model {
    pub(super) fn read(file: &File<'_>) -> Result<Self> {
        (row_of(&file.head)?.read)(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the bytes of a model give an equal one with the same bytes, and calls `uses` with what damaged bytes give
    /// that are not refused, and with the place of the damage.
    pub(super) fn check_bytes<M: Codec + PartialEq + std::fmt::Debug>(model: &M, uses: impl Fn(M, usize)) -> Vec<u8> {
        let written = |model: &M| model.parts(&Extra::default()).and_then(Parts::into_bytes).unwrap();
        let of_bytes = |bytes: &[u8]| File::parse(bytes).and_then(|file| read::<M>(&file));
        let bytes = written(model);
        let loaded = of_bytes(&bytes).unwrap();
        assert_eq!(&loaded, model);
        assert_eq!(written(&loaded), bytes);
        for at in 0..bytes.len() {
            for bit in [at % 8, (at + 5) % 8] {
                let mut broken = bytes.clone();
                broken[at] ^= 1 << bit;
                of_bytes(&broken).into_iter().for_each(|model| uses(model, at));
            }
            assert!(of_bytes(&bytes[..at]).is_err());
        }
        bytes
    }
}
