//! Whichever model a file holds.

use std::path::Path;

use super::extra::Extra;
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
    /// Trees whose mean is the prediction; a tree on its own is a forest of one.
    Forest(Forest),
    /// Stages of trees that add up to scores.
    Boosted(Boosted),
    /// What is left of a forest after compression.
    Compressed(Compressed),
    /// Trees of centroids whose mean is the prediction.
    Centroid(CentroidForest),
}

/// A model with what travels with it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// The model.
    pub model: Model,
    /// A text and arrays that this crate does not look into.
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
    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Model::Forest(_) => Kind::Forest,
            Model::Boosted(_) => Kind::Boosted,
            Model::Compressed(_) => Kind::Compressed,
            Model::Centroid(_) => Kind::Centroid,
        }
    }

    /// The model as a safetensors file, as [`Forest::to_bytes`].
    ///
    /// # Errors
    /// As [`Forest::to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.parts(&Extra::default())?.into_bytes()
    }

    /// The model in such bytes; an [`Extra`] in them is left out.
    ///
    /// # Errors
    /// As [`Forest::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Model::read(&File::parse(bytes)?)
    }

    /// Writes the model to a file, as [`Forest::save`].
    ///
    /// # Errors
    /// As [`Forest::save`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.parts(&Extra::default())?.write(path.as_ref())
    }

    /// Reads a model from a file, as [`Forest::load`].
    ///
    /// # Errors
    /// As [`Forest::load`].
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
    /// Both as a safetensors file. Equal models with equal extras give equal bytes.
    ///
    /// # Errors
    /// As [`Forest::to_bytes`]; [`crate::ErrorKind::Invalid`] and [`crate::ErrorKind::TooMany`] for an extra outside its
    /// bounds: names, the number of arrays, a header of more than 100 MB.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.model.parts(&self.extra)?.into_bytes()
    }

    /// What such bytes hold.
    ///
    /// # Errors
    /// As [`Forest::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        ModelFile::read(&File::parse(bytes)?)
    }

    fn read(file: &File<'_>) -> Result<Self> {
        Ok(ModelFile { model: Model::read(file)?, extra: file.extra()? })
    }

    /// Writes both to a file, as [`Forest::save`].
    ///
    /// # Errors
    /// As [`ModelFile::to_bytes`] and [`Forest::save`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.model.parts(&self.extra)?.write(path.as_ref())
    }

    /// Reads both from a file, as [`Forest::load`].
    ///
    /// # Errors
    /// As [`Forest::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        ModelFile::read(&File::on_disk(disk::open(path.as_ref())?))
    }
}

macro_rules! files {
    ($model:ty) => {
        impl $model {
            /// Writes the model to a file, in the format of [`crate::model_file`].
            ///
            /// The file is written beside the old one and takes its name when it is whole and on the disk: a crash or an
            /// error leaves the old file as it was. The new file has the mode of the old one and, where the system allows it,
            /// its owner. Of a symbolic link the file that it leads to is written. Devices, named pipes and sockets are
            /// refused before anything is written.
            ///
            /// # Errors
            /// Those of `to_bytes`, and [`crate::ErrorKind::File`] with the path and what the system says.
            pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
                self.parts(&Extra::default())?.write(path.as_ref())
            }

            /// Reads a model from a file; what travels with it is left out.
            ///
            /// # Errors
            /// Those of `from_bytes`, and [`crate::ErrorKind::File`] with the path and what the system says.
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
