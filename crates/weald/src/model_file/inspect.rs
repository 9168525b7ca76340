//! Summaries of model files, from their headers alone.

use std::path::Path;

use super::FORMAT_VERSION;
use super::disk;
use super::header::Head;
use super::kinds::{Kind, row_of};
use crate::criterion::Criterion;
use crate::data::Outputs;
use crate::error::Result;

/// The contents of the header of a model file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The version of the format.
    pub format_version: u64,
    /// The release of this crate that wrote the file, such as "0.2.0"; `None` for files of releases up to 0.1, which did
    /// not tell it.
    pub release: Option<String>,
    /// The kind of model.
    pub kind: Kind,
    /// The meaning of the columns of predictions.
    pub outputs: Outputs,
    /// The criterion with which the trees were grown. For centroid forests, it is the criterion of trees that have the
    /// same leaves, and for linear models that of trees for such outputs.
    pub criterion: Criterion,
    /// The number of features that samples must have.
    pub n_features: usize,
    /// The number of trees.
    pub n_trees: u64,
    /// The number of nodes of all trees, including leaves.
    pub n_nodes: u64,
    /// The length of the file in bytes.
    pub n_bytes: u64,
    /// The number of bytes before the arrays.
    pub n_header_bytes: u64,
    /// All arrays, in the order of the file.
    pub tensors: Vec<TensorSummary>,
    /// The text that is stored with the model.
    pub estimator: Option<String>,
}

/// The entry of one array in the header.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TensorSummary {
    /// The name, which is listed in [`crate::model_file`], or `estimator.NAME` for an array that is stored with the
    /// model.
    pub name: String,
    /// The name of the type in safetensors, such as "U8" or "F32".
    pub dtype: String,
    /// The length of each dimension.
    pub shape: Vec<usize>,
    /// The number of bytes that the array takes in the file.
    pub n_bytes: u64,
    /// The fraction of the bytes of the file.
    pub share: f64,
}

/// Reads only the header of a model file.
///
/// Everything that a header alone can show is checked: names and types, lengths that are consistent, arrays that fill
/// the file. Trees are not read. The cost is O(length of the header), whatever the size of the file.
///
/// # Errors
/// Returns [`crate::ErrorKind::File`] with the path and the message of the operating system,
/// [`crate::ErrorKind::Corrupt`] with the check that failed, or [`crate::ErrorKind::Invalid`] for a newer format.
pub fn inspect(path: impl AsRef<Path>) -> Result<Summary> {
    let opened = disk::open(path.as_ref())?;
    summary(&opened.head, opened.length)
}

/// Like [`inspect`], for a file in memory.
///
/// # Errors
/// The same as for [`inspect`], except those of the operating system.
pub fn inspect_bytes(bytes: &[u8]) -> Result<Summary> {
    let length = bytes.len() as u64;
    let n_header = disk::header_bytes(bytes, length)?;
    let head = Head::parse(&bytes[8..8 + n_header], length - 8 - n_header as u64)?;
    summary(&head, length)
}

/// Returns the summary of a file, after all checks that the header alone allows.
pub(super) fn summary(head: &Head, n_bytes: u64) -> Result<Summary> {
    let row = row_of(head)?;
    let tensors = head.tensors().map(|(name, info)| {
        let (start, end) = info.data_offsets;
        let (shape, dtype) = (info.shape.clone(), info.dtype.to_string());
        let length = (end - start) as u64;
        TensorSummary { name, dtype, shape, n_bytes: length, share: length as f64 / n_bytes as f64 }
    });
    let tensors = tensors.collect();
    let of_nodes = row.about.of_nodes;
    let (n_trees, n_nodes) = (head.length("n_nodes").unwrap_or(0), head.length(of_nodes).unwrap_or(0));
    let n_header_bytes = n_bytes - head.metadata.data_len() as u64;
    let header = &head.header;
    Ok(Summary {
        format_version: FORMAT_VERSION,
        release: head.release.clone(),
        kind: row.kind,
        outputs: (row.outputs)(head)?,
        criterion: header.criterion,
        n_features: header.n_features,
        n_trees,
        n_nodes,
        n_bytes,
        n_header_bytes,
        tensors,
        estimator: head.estimator.clone(),
    })
}
