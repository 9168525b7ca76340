//! Files in parts, and checks of the errors after they have been changed.

use ndarray::Array2;
use serde_json::{Value, json};

use super::*;
use crate::boost::{BoostConfig, Boosted, OutputStrategy};
use crate::error::Error;
use crate::loss::LossKind;
use crate::model_file::Model;
use crate::projection::{NProjections, Projection};

/// A file in parts.
pub(super) struct Parts {
    pub(super) header: Value,
    pub(super) data: Vec<u8>,
}

impl Parts {
    pub(super) fn new(file: &[u8]) -> Self {
        let end = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
        Parts { header: serde_json::from_slice(&file[8..end]).unwrap(), data: file[end..].to_vec() }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        with_header(&self.header.to_string(), &self.data)
    }

    /// Returns the object in the entry `weald`.
    pub(super) fn entry(&self) -> Value {
        serde_json::from_str(self.header["__metadata__"]["weald"].as_str().unwrap()).unwrap()
    }

    pub(super) fn edit_entry<T>(&mut self, edit: impl FnOnce(&mut Value) -> T) {
        let mut entry = self.entry();
        edit(&mut entry);
        self.set_entry(&entry);
    }

    pub(super) fn set_entry(&mut self, entry: &Value) {
        self.header["__metadata__"]["weald"] = entry.to_string().into();
    }

    /// Replaces the bytes of a tensor, as `edit` changes them.
    pub(super) fn edit(&mut self, name: &str, dtype: Option<&str>, edit: impl Fn(&mut Vec<u8>)) {
        let range = |info: &Value| {
            let offsets = &info["data_offsets"];
            offsets[0].as_u64().unwrap() as usize..offsets[1].as_u64().unwrap() as usize
        };
        let all = self.header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__");
        let mut all: Vec<_> = all.map(|(name, info)| (range(info), name.clone())).collect();
        all.sort_by_key(|(range, _)| (range.start, range.end));
        let mut data = Vec::new();
        for (range, found) in all {
            let mut bytes = self.data[range].to_vec();
            let info = &mut self.header[&found];
            if found == name {
                edit(&mut bytes);
                if let Some(dtype) = dtype {
                    info["dtype"] = dtype.into();
                }
                let size = match info["dtype"].as_str().unwrap() {
                    "U8" | "BOOL" | "F8_E4M3" => 1,
                    "U16" | "F16" => 2,
                    "F64" => 8,
                    _ => 4,
                };
                info["shape"] = json!([bytes.len() / size]);
            }
            info["data_offsets"] = json!([data.len(), data.len() + bytes.len()]);
            data.extend(bytes);
        }
        self.data = data;
    }
}

pub(super) fn with_header(text: &str, data: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes(), data].concat()
}

/// Returns two trees for two classes, with more than five nodes each.
pub(super) fn forest() -> Forest {
    let outputs = Outputs::Classes { n_classes: vec![2] };
    let shape = models::Shape { n_features: 3, outputs, max_leaves: 9, unit: 1.0 };
    (0..).map(|seed| models::forest(seed, 2, &shape)).find(|f| f.trees.iter().all(|t| t.n_nodes() > 5)).unwrap()
}

pub(super) fn parts() -> Parts {
    Parts::new(&forest().to_bytes().unwrap())
}

/// Returns the file of `forest`, as `edit` changes it.
pub(super) fn with<T>(edit: impl FnOnce(&mut Parts) -> T) -> Vec<u8> {
    let mut file = parts();
    edit(&mut file);
    file.bytes()
}

#[track_caller]
pub(super) fn refused(bytes: &[u8], why: &str) -> Error {
    let error = Model::from_bytes(bytes).unwrap_err();
    assert!(error.to_string().contains(why), "{error}, and not: {why}");
    assert!(Forest::from_bytes(bytes).is_err());
    error
}

#[track_caller]
pub(super) fn corrupt(bytes: &[u8], why: &str) {
    let error = refused(bytes, why);
    assert!(matches!(error.kind(), ErrorKind::Corrupt { .. }), "{error:?}");
}

/// Returns a model with two stages of three scores each, and with out-of-bag losses.
pub(super) fn boosted() -> Boosted {
    let x = Array2::from_shape_fn((20, 2), |(i, j)| (i * (j + 3) % 7) as f32);
    let y = Array2::from_shape_fn((20, 3), |(i, j)| f64::from(x[[i, 0]]) * (j + 1) as f64 + f64::from(x[[i, 1]]));
    let config = BoostConfig {
        n_estimators: 2,
        strategy: OutputStrategy::Projected {
            projection: Projection::Gaussian,
            n_projections: NProjections::Count(1),
            relabel: false,
        },
        subsample: 0.8,
        ..BoostConfig::new(LossKind::SquaredError)
    };
    config.fit((&x, &y)).unwrap()
}
