//! Model files of every version of the format can be loaded, predict the same bits and are saved as the same bytes.
//! They were written by `tests/golden/write.py`.

#![allow(clippy::unwrap_used, reason = "a test, helpers included")]

use std::fs;
use std::path::Path;

use ndarray::Array2;
use serde_json::Value;
use weald::{Model, ModelFile};

/// The current version of the format.
const FORMAT: &str = "v1";

/// Returns the header without the release that wrote the file, and the arrays.
fn without_release(bytes: &[u8]) -> (Value, &[u8]) {
    let (length, rest) = bytes.split_first_chunk().unwrap();
    let (header, arrays) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let mut header: Value = serde_json::from_slice(header).unwrap();
    let entry = &mut header["__metadata__"]["weald"];
    let mut fields: Value = serde_json::from_str(entry.as_str().unwrap()).unwrap();
    fields.as_object_mut().unwrap().remove("release");
    *entry = fields;
    (header, arrays)
}

#[test]
fn golden_files_load_predict_the_same_bits_and_are_written_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut n_files = 0;
    for version in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let Ok(about) = fs::read_to_string(version.join("predictions.json")) else { continue };
        let about: Value = serde_json::from_str(&about).unwrap();
        let rows = about["X"].as_array().unwrap();
        let n_features = rows[0].as_array().unwrap().len();
        let x = Array2::from_shape_fn((rows.len(), n_features), |(i, j)| rows[i][j].as_f64().unwrap() as f32);
        for (name, expected) in about["predictions"].as_object().unwrap() {
            let path = version.join(format!("{name}.safetensors"));
            let bytes = fs::read(&path).unwrap();
            let file = ModelFile::load(&path).unwrap();
            let found = match &file.model {
                Model::Forest(forest) => forest.predict(&x).unwrap(),
                Model::Boosted(boosted) => boosted.predict_scores(&x).unwrap(),
                Model::Compressed(compressed) => compressed.predict_scores(&x).unwrap(),
                Model::Centroid(forest) => forest.predict(&x).unwrap(),
                Model::Linear(linear) => linear.predict_scores(&x).unwrap(),
                Model::LabelTree(tree) => {
                    let scores = tree.predict_scores(&x).unwrap();
                    let mut found = Array2::from_elem((x.nrows(), tree.n_labels()), f64::NEG_INFINITY);
                    for (row, mut found) in found.rows_mut().into_iter().enumerate() {
                        let stored = scores.ptr[row]..scores.ptr[row + 1];
                        stored.for_each(|at| found[scores.columns[at] as usize] = scores.values[at]);
                    }
                    found
                }
                other => panic!("{other:?} is a new kind of model"),
            };
            let expected = expected.as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap());
            let expected: Vec<u64> = expected.map(|bits| bits.as_u64().unwrap()).collect();
            assert_eq!(found.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), expected, "{name}");
            assert!(file.extra.estimator.is_some());
            if version.ends_with(FORMAT) {
                let written = file.to_bytes().unwrap();
                assert!(without_release(&written) == without_release(&bytes), "{name} is written otherwise");
            }
            n_files += 1;
        }
    }
    assert!(n_files >= 18);
}
