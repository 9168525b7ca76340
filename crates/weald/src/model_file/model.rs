//! Models of any kind, as files contain them.

use std::path::Path;

use super::disk;
use super::extra::Extra;
use super::inspect::{Summary, summary};
use super::kinds::Model;
use super::read::File;
use crate::error::Result;

/// A model, and the data that are stored with it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelFile {
    /// The model.
    pub model: Model,
    /// A text and arrays, which this crate does not interpret.
    pub extra: Extra,
}

impl From<Model> for ModelFile {
    fn from(model: Model) -> Self {
        ModelFile { model, extra: Extra::default() }
    }
}

impl ModelFile {
    /// Returns a model and what is stored with it.
    pub fn new(model: impl Into<Model>, extra: Extra) -> Self {
        ModelFile { model: model.into(), extra }
    }

    /// Returns the model and the extra as a safetensors file. Equal models with equal extras have equal bytes.
    ///
    /// # Errors
    /// The same as for [`crate::Forest::to_bytes`], and [`crate::ErrorKind::Invalid`] or [`crate::ErrorKind::TooMany`]
    /// for an extra that exceeds the limits on names, on the number of arrays, and of 100 MB for the header.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.model.parts(&self.extra)?.into_bytes()
    }

    /// Reads a model and its extra from bytes.
    ///
    /// # Errors
    /// The same as for [`crate::Forest::from_bytes`].
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
        accept(summary(&file.head, bytes.len() as u64)?)?;
        ModelFile::read(&file)
    }

    fn read(file: &File<'_>) -> Result<Self> {
        Ok(ModelFile { model: Model::read(file)?, extra: Extra::read(file)? })
    }

    /// Writes the model and the extra to a file: see [`crate::Forest::save`].
    ///
    /// # Errors
    /// The same as for [`ModelFile::to_bytes`] and [`crate::Forest::save`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.model.parts(&self.extra)?.write(path.as_ref())
    }

    /// Reads a model and its extra from a file: see [`crate::Forest::load`].
    ///
    /// # Errors
    /// The same as for [`crate::Forest::load`].
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
        accept(summary(&opened.head, opened.length)?)?;
        ModelFile::read(&File::on_disk(opened))
    }
}
