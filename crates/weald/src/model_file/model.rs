//! Models of any kind, as files contain them.

use std::path::Path;

use super::extra::Extra;
use super::inspect::{Summary, summary};
use super::read::File;
use super::write::Parts;
use super::{Kind, disk};
use crate::boost::Boosted;
use crate::centroid::CentroidForest;
use crate::compress::Compressed;
use crate::error::Result;
use crate::forest::Forest;

/// A model of any kind.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Model {
    /// Trees whose mean is the prediction. A single tree is a forest with one tree.
    Forest(Forest),
    /// Stages of trees that add up to scores.
    Boosted(Boosted),
    /// A forest after compression.
    Compressed(Compressed),
    /// Trees of centroids whose mean is the prediction.
    Centroid(CentroidForest),
}

/// A model, and the data that are stored with it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// The model.
    pub model: Model,
    /// A text and arrays, which this crate does not interpret.
    pub extra: Extra,
}

impl From<Forest> for Model {
    fn from(forest: Forest) -> Self {
        Model::Forest(forest)
    }
}

impl From<Boosted> for Model {
    fn from(boosted: Boosted) -> Self {
        Model::Boosted(boosted)
    }
}

impl From<Compressed> for Model {
    fn from(compressed: Compressed) -> Self {
        Model::Compressed(compressed)
    }
}

impl From<CentroidForest> for Model {
    fn from(forest: CentroidForest) -> Self {
        Model::Centroid(forest)
    }
}

impl From<Model> for ModelFile {
    fn from(model: Model) -> Self {
        ModelFile { model, extra: Extra::default() }
    }
}

impl Model {
    /// Returns the kind of the model.
    pub fn kind(&self) -> Kind {
        match self {
            Model::Forest(_) => Kind::Forest,
            Model::Boosted(_) => Kind::Boosted,
            Model::Compressed(_) => Kind::Compressed,
            Model::Centroid(_) => Kind::Centroid,
        }
    }

    /// Returns the model as a safetensors file: see [`Forest::to_bytes`].
    ///
    /// # Errors
    /// The same as for [`Forest::to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.parts(&Extra::default())?.into_bytes()
    }

    /// Reads a model from bytes. An [`Extra`] in them is ignored.
    ///
    /// # Errors
    /// The same as for [`Forest::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Model::read(&File::parse(bytes)?)
    }

    /// Writes the model to a file: see [`Forest::save`].
    ///
    /// # Errors
    /// The same as for [`Forest::save`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.parts(&Extra::default())?.write(path.as_ref())
    }

    /// Reads a model from a file: see [`Forest::load`].
    ///
    /// # Errors
    /// The same as for [`Forest::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Model::read(&File::on_disk(disk::open(path.as_ref())?))
    }

    fn parts(&self, extra: &Extra) -> Result<Parts> {
        match self {
            Model::Forest(forest) => forest.parts(extra),
            Model::Boosted(boosted) => boosted.parts(extra),
            Model::Compressed(compressed) => compressed.parts(extra),
            Model::Centroid(forest) => forest.parts(extra),
        }
    }

    fn read(file: &File<'_>) -> Result<Self> {
        match file.head.header.kind() {
            Kind::Forest => Forest::read(file).map(Model::Forest),
            Kind::Boosted => Boosted::read(file).map(Model::Boosted),
            Kind::Compressed => Compressed::read(file).map(Model::Compressed),
            Kind::Centroid => CentroidForest::read(file).map(Model::Centroid),
        }
    }
}

impl ModelFile {
    /// Returns the model and the extra as a safetensors file. Equal models with equal extras have equal bytes.
    ///
    /// # Errors
    /// The same as for [`Forest::to_bytes`], and [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::TooMany`] for an
    /// extra that exceeds the limits on names, on the number of arrays, and of 100 MB for the header.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.model.parts(&self.extra)?.into_bytes()
    }

    /// Reads a model and its extra from bytes.
    ///
    /// # Errors
    /// The same as for [`Forest::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        ModelFile::from_bytes_if(bytes, |_| Ok(()))
    }

    /// Like [`ModelFile::from_bytes`], for bytes whose header `accept` accepts: it sees the summary before any array is
    /// read.
    ///
    /// # Errors
    /// The same as for [`ModelFile::from_bytes`], and those of `accept`.
    pub fn from_bytes_if(bytes: &[u8], accept: impl FnOnce(Summary) -> Result<()>) -> Result<Self> {
        let file = File::parse(bytes)?;
        accept(summary(&file.head, bytes.len() as u64))?;
        ModelFile::read(&file)
    }

    fn read(file: &File<'_>) -> Result<Self> {
        Ok(ModelFile { model: Model::read(file)?, extra: file.extra()? })
    }

    /// Writes the model and the extra to a file: see [`Forest::save`].
    ///
    /// # Errors
    /// The same as for [`ModelFile::to_bytes`] and [`Forest::save`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.model.parts(&self.extra)?.write(path.as_ref())
    }

    /// Reads a model and its extra from a file: see [`Forest::load`].
    ///
    /// # Errors
    /// The same as for [`Forest::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        ModelFile::load_if(path, |_| Ok(()))
    }

    /// Like [`ModelFile::load`], for a file whose header `accept` accepts: it sees the summary before any array is
    /// read. The file is opened once.
    ///
    /// # Errors
    /// The same as for [`ModelFile::load`], and those of `accept`.
    pub fn load_if(path: impl AsRef<Path>, accept: impl FnOnce(Summary) -> Result<()>) -> Result<Self> {
        let opened = disk::open(path.as_ref())?;
        accept(summary(&opened.head, opened.length))?;
        ModelFile::read(&File::on_disk(opened))
    }
}

macro_rules! files {
    ($model:ty) => {
        impl $model {
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
                Self::read(&File::on_disk(disk::open(path.as_ref())?))
            }
        }
    };
}

files!(Forest);
files!(Boosted);
files!(Compressed);
files!(CentroidForest);
