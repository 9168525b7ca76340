//! CSR arrays as they are read from a file.

use crate::error::{Purpose, Result};

use super::lines::Line;

/// X in CSR format: sample `i` has the features `indices[ptr[i]..ptr[i + 1]]`, which are strictly increasing, and the
/// values at the same positions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SparseRows {
    /// Offsets of the samples, n_samples + 1 of them.
    pub ptr: Vec<usize>,
    /// Feature indices.
    pub indices: Vec<u32>,
    /// Values, finite or NaN; stored zeros are kept.
    pub values: Vec<f32>,
    /// Number of features.
    pub n_features: usize,
}

/// Labels in CSR format without values: sample `i` has the labels `indices[ptr[i]..ptr[i + 1]]`, which are strictly
/// increasing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LabelRows {
    /// Offsets of the samples, n_samples + 1 of them.
    pub ptr: Vec<usize>,
    /// Label indices.
    pub indices: Vec<u32>,
    /// Number of labels.
    pub n_labels: usize,
}

/// The content of a file of label data: X and the labels of the same samples.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LabelData {
    /// The features.
    pub x: SparseRows,
    /// The labels.
    pub y: LabelRows,
}

const PURPOSE: Purpose = Purpose("the rows of a file");

/// The samples that were read so far. A sample is pushed entry by entry, and then ended.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) x: SparseRows,
    pub(super) y: LabelRows,
    /// Working memory to sort a sample whose entries are not in order.
    row: Vec<(u32, f32)>,
}

impl Rows {
    /// Returns no samples, with room for these numbers of samples, entries and labels.
    pub(super) fn with_room(n_rows: usize, n_entries: usize, n_labels: usize) -> Result<Self> {
        let ptr = || -> Result<Vec<usize>> {
            let mut ptr = PURPOSE.with_capacity(n_rows.saturating_add(1))?;
            ptr.push(0);
            Ok(ptr)
        };
        let (indices, values) = (PURPOSE.with_capacity(n_entries)?, PURPOSE.with_capacity(n_entries)?);
        let x = SparseRows { ptr: ptr()?, indices, values, n_features: 0 };
        let y = LabelRows { ptr: ptr()?, indices: PURPOSE.with_capacity(n_labels)?, n_labels: 0 };
        Ok(Rows { x, y, row: Vec::new() })
    }

    /// Allocates room for the maximum that a text can contain, if each entry has a colon and labels are separated by
    /// commas.
    pub(super) fn for_text(text: &[u8]) -> Result<Self> {
        // Pieces are so short that their counts fit into a byte, and many bytes are compared at once.
        let of_piece = |piece: &[u8], sought: u8| piece.iter().map(|&byte| u8::from(byte == sought)).sum::<u8>();
        let count = |sought| text.chunks(255).map(|piece| usize::from(of_piece(piece, sought))).sum::<usize>();
        let n_lines = count(b'\n') + 1;
        Rows::with_room(n_lines, count(b':'), n_lines + count(b','))
    }

    /// Returns the number of samples that have ended.
    pub(super) fn len(&self) -> usize {
        self.y.ptr.len() - 1
    }

    #[inline]
    pub(super) fn push_entry(&mut self, feature: u32, value: f32) -> Result<()> {
        PURPOSE.push(&mut self.x.indices, feature)?;
        PURPOSE.push(&mut self.x.values, value)
    }

    #[inline]
    pub(super) fn push_label(&mut self, label: u32) -> Result<()> {
        PURPOSE.push(&mut self.y.indices, label)
    }

    /// Ends the sample of `line`, and sorts its entries and labels.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Line`] if a feature or a label occurs twice.
    pub(super) fn end_row(&mut self, line: &Line<'_>) -> Result<()> {
        self.end_entries(line)?;
        self.end_labels(line)
    }

    fn end_entries(&mut self, line: &Line<'_>) -> Result<()> {
        let start = self.x.ptr.last().copied().unwrap_or_default();
        let (indices, values) = (&mut self.x.indices[start..], &mut self.x.values[start..]);
        if !indices.is_sorted_by(|a, b| a < b) {
            self.row.clear();
            PURPOSE.extend(&mut self.row, indices.iter().copied().zip(values.iter().copied()))?;
            self.row.sort_unstable_by_key(|&(feature, _)| feature);
            if let Some(twice) = self.row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let feature = twice[0].0;
                return Err(line.error(format!("the feature {feature} twice"), "each feature once in a line"));
            }
            for ((index, value), &(feature, of_feature)) in indices.iter_mut().zip(values).zip(&self.row) {
                (*index, *value) = (feature, of_feature);
            }
        }
        PURPOSE.push(&mut self.x.ptr, self.x.indices.len())
    }

    pub(super) fn end_labels(&mut self, line: &Line<'_>) -> Result<()> {
        let start = self.y.ptr.last().copied().unwrap_or_default();
        let labels = &mut self.y.indices[start..];
        if !labels.is_sorted_by(|a, b| a < b) {
            labels.sort_unstable();
            if let Some(twice) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(line.error(format!("the label {} twice", twice[0]), "each label once in a line"));
            }
        }
        PURPOSE.push(&mut self.y.ptr, self.y.indices.len())
    }

    pub(super) fn into_data(self) -> LabelData {
        LabelData { x: self.x, y: self.y }
    }
}
