//! What a file says of itself.

use std::path::Path;

use super::FORMAT_VERSION;
use super::disk;
use super::header::{Form, Head};
use crate::criterion::Criterion;
use crate::data::Outputs;
use crate::error::Result;

/// Which kind of model a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A [`crate::Forest`].
    Forest,
    /// A [`crate::Boosted`] model.
    Boosted,
    /// A [`crate::Compressed`] model.
    Compressed,
    /// A [`crate::CentroidForest`].
    Centroid,
}

/// What the header of a model file tells.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Version of the format.
    pub format_version: u64,
    /// Kind of model.
    pub kind: Kind,
    /// Meaning of the columns of predictions.
    pub outputs: Outputs,
    /// Impurity that the trees were grown with; of centroid forests, that of leaves like theirs.
    pub criterion: Criterion,
    /// Number of features that rows must have.
    pub n_features: usize,
    /// Number of trees.
    pub n_trees: u64,
    /// Nodes of all trees, leaves included.
    pub n_nodes: u64,
    /// Bytes of the file.
    pub n_bytes: u64,
    /// Bytes before the arrays.
    pub n_header_bytes: u64,
    /// All arrays, as they lie in the file.
    pub tensors: Vec<TensorSummary>,
    /// The text that travels with the model.
    pub estimator: Option<String>,
}

/// What the header tells of one array.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TensorSummary {
    /// Name, as in the table of [`crate::model_file`]; `estimator.NAME` of arrays that travel with the model.
    pub name: String,
    /// Name of the type, as safetensors calls it: "U8", "F32".
    pub dtype: String,
    /// Length of each dimension.
    pub shape: Vec<usize>,
    /// Bytes in the file.
    pub n_bytes: u64,
    /// Share of the bytes of the file.
    pub share: f64,
}

/// Reads the header of a model file, and nothing else of it.
///
/// What a header alone can prove is proven: known names and types, lengths that fit each other, arrays that fill the file.
/// Trees are not looked at. O(header), whatever the size of the file.
///
/// # Errors
/// [`crate::ErrorKind::File`] with the path and what the system says; [`crate::ErrorKind::Corrupt`] with the proof that
/// failed; [`crate::ErrorKind::Invalid`] for a newer format.
pub fn inspect(path: impl AsRef<Path>) -> Result<Summary> {
    let opened = disk::open(path.as_ref())?;
    Ok(summary(opened.head, opened.length))
}

/// The same of a file in memory.
///
/// # Errors
/// As [`inspect`], but for those of the system.
pub fn inspect_bytes(bytes: &[u8]) -> Result<Summary> {
    let length = bytes.len() as u64;
    let n_header = disk::header_bytes(bytes, length)?;
    let head = Head::parse(&bytes[8..8 + n_header], length - 8 - n_header as u64)?;
    Ok(summary(head, length))
}

fn summary(head: Head, n_bytes: u64) -> Summary {
    let tensors = head.metadata.offset_keys().into_iter().filter_map(|name| {
        let info = head.metadata.info(&name)?;
        let (start, end) = info.data_offsets;
        let (shape, dtype) = (info.shape.clone(), info.dtype.to_string());
        let length = (end - start) as u64;
        Some(TensorSummary { name, dtype, shape, n_bytes: length, share: length as f64 / n_bytes as f64 })
    });
    let tensors = tensors.collect();
    let of_nodes = if head.header.kind() == Kind::Centroid { "n_children" } else { "features" };
    let (n_trees, n_nodes) = (head.length("n_nodes").unwrap_or(0), head.length(of_nodes).unwrap_or(0));
    let n_header_bytes = n_bytes - head.metadata.data_len() as u64;
    let Head { header, estimator, .. } = head;
    let kind = header.kind();
    let outputs = match header.form {
        Form::Forest | Form::Centroid(_) => header.outputs,
        Form::Boosted(boosting) => boosting.scores.outputs,
        Form::Compressed(scores) => scores.outputs,
    };
    Summary {
        format_version: FORMAT_VERSION,
        kind,
        outputs,
        criterion: header.criterion,
        n_features: header.n_features,
        n_trees,
        n_nodes,
        n_bytes,
        n_header_bytes,
        tensors,
        estimator,
    }
}
