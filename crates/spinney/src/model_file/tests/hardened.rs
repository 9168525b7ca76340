//! Each fault of a file by itself: what is wrong is said, and nothing else is wrong.

use ndarray::Array2;
use serde_json::{Value, json};

use super::*;
use crate::boost::{BoostConfig, Boosted, LossKind, OutputStrategy, StepDtype};
use crate::compress::Compressed;
use crate::data::Targets;
use crate::error::Error;
use crate::model_file::header::{MOST_DIMENSIONS, MOST_HEADER_BYTES, MOST_TENSORS};
use crate::model_file::{Array, Extra, Model, ModelFile, Values, inspect_bytes};
use crate::projection::{NProjections, Projection};

/// A file taken apart.
struct Parts {
    header: Value,
    data: Vec<u8>,
}

impl Parts {
    fn new(file: &[u8]) -> Self {
        let end = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
        Parts { header: serde_json::from_slice(&file[8..end]).unwrap(), data: file[end..].to_vec() }
    }

    fn bytes(&self) -> Vec<u8> {
        with_header(&self.header.to_string(), &self.data)
    }

    /// The object in the entry `spinney`.
    fn entry(&self) -> Value {
        serde_json::from_str(self.header["__metadata__"]["spinney"].as_str().unwrap()).unwrap()
    }

    fn set_entry(&mut self, entry: &Value) {
        self.header["__metadata__"]["spinney"] = entry.to_string().into();
    }

    /// Replaces the bytes of a tensor by those that `edit` makes of them.
    fn edit(&mut self, name: &str, dtype: Option<&str>, edit: impl Fn(&mut Vec<u8>)) {
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

fn with_header(text: &str, data: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes(), data].concat()
}

/// Two trees of two classes: nine nodes and more.
fn forest() -> Forest {
    let outputs = Outputs::Classes { n_classes: vec![2] };
    let shape = models::Shape { n_features: 3, outputs, max_leaves: 9, unit: 1.0 };
    (0..).map(|seed| models::forest(seed, 2, &shape)).find(|f| f.trees.iter().all(|t| t.n_nodes() > 5)).unwrap()
}

fn parts() -> Parts {
    Parts::new(&forest().to_bytes().unwrap())
}

#[track_caller]
fn refused(bytes: &[u8], why: &str) -> Error {
    let error = Model::from_bytes(bytes).unwrap_err();
    assert!(error.to_string().contains(why), "{error}, and not: {why}");
    assert!(Forest::from_bytes(bytes).is_err());
    error
}

#[track_caller]
fn corrupt(bytes: &[u8], why: &str) {
    let error = refused(bytes, why);
    assert!(matches!(error.kind(), ErrorKind::Corrupt { .. }), "{error:?}");
}

#[test]
fn a_header_put_together_again_is_the_same_model() {
    assert_eq!(Forest::from_bytes(&parts().bytes()).unwrap(), forest());
}

/// Two stages of three scores each, whose steps are float8.
fn boosted() -> Boosted {
    let x = Array2::from_shape_fn((20, 2), |(i, j)| (i * (j + 3) % 7) as f32);
    let y = Array2::from_shape_fn((20, 3), |(i, j)| f64::from(x[[i, 0]]) * (j + 1) as f64 + f64::from(x[[i, 1]]));
    let config = BoostConfig {
        n_estimators: 2,
        strategy: OutputStrategy::Projected {
            projection: Projection::Gaussian,
            n_projections: NProjections::Count(1),
            relabel: false,
        },
        step_dtype: StepDtype::Float8,
        ..BoostConfig::new(LossKind::SquaredError)
    };
    config.fit(&x.view().into(), &Targets::Real(y.view()), None, None, &Control::default()).unwrap()
}

#[test]
fn steps_in_float8() {
    let whole = boosted();
    let parts = || Parts::new(&whole.to_bytes().unwrap());
    assert_eq!(Boosted::from_bytes(&parts().bytes()).unwrap(), whole);
    let edited = |name: &str, dtype: Option<&str>, edit: &dyn Fn(&mut Vec<u8>)| {
        let mut file = parts();
        file.edit(name, dtype, edit);
        file.bytes()
    };
    let unknown = "the steps in float8 are not those of spinney";
    // No number, above the codes that are written, minus zero.
    for code in [0x7F, 0x78, 0x80] {
        corrupt(&edited("step_sizes", None, &|codes| codes[4] = code), unknown);
    }
    // Exponents of float16: 0.5, an infinity, one out of range.
    for bits in [0x3800u16, 0x7C00, 0x6400 + 1] {
        let exponents = bits.to_le_bytes().repeat(2);
        corrupt(&edited("step_exponents", Some("F16"), &|bytes| *bytes = exponents.clone()), unknown);
    }
    let contradiction = "stages, trees, steps and losses do not fit each other";
    corrupt(&edited("step_exponents", Some("U8"), &|bytes| *bytes = vec![1]), contradiction);
    corrupt(&edited("step_sizes", None, &|codes| codes.truncate(3)), contradiction);
    let text = "there is `step_exponents`, but no steps in float8";
    corrupt(&edited("step_sizes", Some("U8"), &|_| ()), text);
    corrupt(&edited("train_score", Some("F8_E4M3"), &|bytes| *bytes = vec![1, 1]), "`train_score` is of type F8_E4M3");
    let mut file = parts();
    file.header.as_object_mut().unwrap().remove("step_exponents");
    assert!(Boosted::from_bytes(&file.bytes()).is_err());
    // Leaves that hold what is added leave no steps to keep.
    let mut file = parts();
    let mut entry = file.entry();
    entry["boosting"]["combine"] = "leaves".into();
    file.set_entry(&entry);
    assert!(Boosted::from_bytes(&file.bytes()).is_err());
}

#[test]
fn a_header_longer_than_the_file() {
    let mut file = forest().to_bytes().unwrap();
    for length in [file.len() as u64 - 7, file.len() as u64, 99_999_999] {
        file[..8].copy_from_slice(&length.to_le_bytes());
        corrupt(&file, "cut short");
    }
    for n in 0..8 {
        corrupt(&file[..n], "cut short");
    }
}

#[test]
fn a_header_of_more_than_100_megabytes() {
    let mut file = forest().to_bytes().unwrap();
    for length in [MOST_HEADER_BYTES + 1, 1 << 31, 1 << 53, 1 << 63, u64::MAX] {
        file[..8].copy_from_slice(&length.to_le_bytes());
        corrupt(&file, "bytes long, more than 100000000");
    }
    // It would not be written either.
    let extra = Extra { estimator: Some("x".repeat(MOST_HEADER_BYTES as usize)), ..Extra::default() };
    let error = ModelFile { model: forest().into(), extra }.to_bytes().unwrap_err();
    assert!(error.to_string().contains("at most 100 000 000 bytes"), "{error}");
}

#[test]
fn text_that_is_not_utf8_or_not_json() {
    let Parts { header, data } = parts();
    let text = header.to_string();
    let mut bytes = with_header(&text, &data);
    bytes[8 + text.find("n_nodes").unwrap()] = 0xFF;
    corrupt(&bytes, "invalid utf-8");
    corrupt(&with_header(&text[..text.len() - 1], &data), "EOF");
    corrupt(&with_header(&format!("{text}}}"), &data), "trailing characters");
    corrupt(&with_header("[]", &data), "the header");
    corrupt(&with_header("", &data), "EOF");
    corrupt(&with_header(&text.replace("spinney\":\"{", "spinney\":\"["), &data), "the entry `spinney`");
}

#[test]
fn names_that_occur_twice() {
    let Parts { header, data } = parts();
    let text = header.to_string();
    let info = header["n_nodes"].to_string();
    corrupt(&with_header(&text.replacen('{', &format!("{{\"n_nodes\":{info},"), 1), &data), "the name `n_nodes`");
    let texts = header["__metadata__"].to_string();
    corrupt(&with_header(&text.replacen('{', &format!("{{\"__metadata__\":{texts},"), 1), &data), "duplicate field");
    let entry = header["__metadata__"]["spinney"].to_string();
    let twice = text.replacen("\"spinney\":", &format!("\"spinney\":{entry},\"spinney\":"), 1);
    corrupt(&with_header(&twice, &data), "duplicate field `spinney`");
    for name in ["format_version", "sizes", "n_features"] {
        let once = format!("\\\"{name}\\\":");
        corrupt(&with_header(&text.replacen(&once, &format!("{once}1,{once}"), 1), &data), "duplicate field");
    }
    for name in ["dtype", "shape", "data_offsets"] {
        let once = format!("\"{name}\":");
        corrupt(&with_header(&text.replacen(&once, &format!("{once}\"U8\",{once}"), 1), &data), "the header");
    }
}

#[test]
fn names_that_are_not_known() {
    let mut file = parts();
    file.header["__metadata__"]["format"] = "pt".into();
    corrupt(&file.bytes(), "unknown field `format`");
    let mut file = parts();
    file.header["more"] = json!({"dtype": "U8", "shape": [0], "data_offsets": [0, 0]});
    corrupt(&file.bytes(), "`more`, which is not known");
    // Tensors of other kinds of models are not those of this one.
    for name in ["step_sizes", "l1_norm"] {
        let mut file = parts();
        file.header[name] = json!({"dtype": "F64", "shape": [0], "data_offsets": [0, 0]});
        corrupt(&file.bytes(), "which is not known");
    }
    let mut file = parts();
    file.header["n_nodes"]["stride"] = 1.into();
    corrupt(&file.bytes(), "unknown field `stride`");
    let mut file = parts();
    let mut entry = file.entry();
    entry["more"] = 1.into();
    file.set_entry(&entry);
    corrupt(&file.bytes(), "unknown field `more`");
    for name in ["estimator.", "estimator.a b", "estimator.\u{e9}", &format!("estimator.{}", "x".repeat(257))] {
        let mut file = parts();
        file.header[name] = json!({"dtype": "U8", "shape": [0], "data_offsets": [0, 0]});
        corrupt(&file.bytes(), "is no name");
    }
    let mut file = parts();
    file.header["estimator.a"] = json!({"dtype": "BF16", "shape": [0], "data_offsets": [0, 0]});
    corrupt(&file.bytes(), "is of type BF16");
}

#[test]
fn more_than_4096_tensors() {
    let mut file = parts();
    let n = file.header.as_object().unwrap().len() - 1;
    for i in 0..=MOST_TENSORS - n {
        if i == MOST_TENSORS - n {
            assert!(Forest::from_bytes(&file.bytes()).is_ok());
        }
        file.header[format!("estimator.{i}")] = json!({"dtype": "U8", "shape": [0], "data_offsets": [0, 0]});
    }
    corrupt(&file.bytes(), "more than 4096 tensors");
}

#[test]
fn more_than_32_dimensions() {
    let shape = |n: usize| json!({"dtype": "U8", "shape": vec![0; n], "data_offsets": [0, 0]});
    let mut file = parts();
    file.header["estimator.a"] = shape(MOST_DIMENSIONS);
    assert!(Forest::from_bytes(&file.bytes()).is_ok());
    file.header["estimator.a"] = shape(MOST_DIMENSIONS + 1);
    corrupt(&file.bytes(), "more than 32 dimensions");
    let mut file = parts();
    let n = file.header["n_nodes"]["shape"][0].clone();
    file.header["n_nodes"]["shape"] = json!([1, n]);
    corrupt(&file.bytes(), "has 2 dimensions");
    file.header["n_nodes"]["shape"] = json!([]);
    refused(&file.bytes(), "");
}

#[test]
fn a_tensor_that_is_missing() {
    let names = ["n_nodes", "features", "thresholds", "split_impurity", "leaf_layout", "leaf_sizes", "leaf_columns"];
    for name in names.iter().chain(&["leaf_amounts", "n_node_samples"]) {
        let mut file = parts();
        file.edit(name, None, Vec::clear);
        file.header.as_object_mut().unwrap().remove(*name);
        corrupt(&file.bytes(), &format!("there is no `{name}`"));
    }
    let mut file = parts();
    file.header.as_object_mut().unwrap().remove("__metadata__");
    corrupt(&file.bytes(), "missing field `__metadata__`");
    let mut file = parts();
    file.header["__metadata__"] = json!({});
    corrupt(&file.bytes(), "no entry `spinney`");
    for key in ["format_version", "n_features", "criterion", "outputs", "sizes"] {
        let mut file = parts();
        let mut entry = file.entry();
        entry.as_object_mut().unwrap().remove(key);
        file.set_entry(&entry);
        corrupt(&file.bytes(), &format!("missing field `{key}`"));
    }
}

#[test]
fn a_tensor_of_the_wrong_type() {
    let header = parts().header;
    for name in header.as_object().unwrap().keys().filter(|name| *name != "__metadata__") {
        for dtype in ["BOOL", "I8", "I16", "I32", "I64", "U64", "BF16", "C64", "F8_E4M3"] {
            let mut file = parts();
            file.edit(name, None, |bytes| bytes.resize(bytes.len().next_multiple_of(8), 0));
            let n_bits = |dtype| match dtype {
                "BOOL" | "I8" | "F8_E4M3" => 8,
                "I16" | "BF16" => 16,
                "I32" => 32,
                _ => 64,
            };
            let offsets = file.header[name]["data_offsets"].clone();
            let n_bytes = offsets[1].as_u64().unwrap() - offsets[0].as_u64().unwrap();
            file.header[name]["dtype"] = dtype.into();
            file.header[name]["shape"] = json!([n_bytes * 8 / n_bits(dtype)]);
            corrupt(&file.bytes(), &format!("`{name}` is of type {dtype}"));
        }
    }
    let mut file = parts();
    file.header["n_nodes"]["dtype"] = "U9".into();
    corrupt(&file.bytes(), "unknown variant `U9`");
}

#[test]
fn lengths_that_are_negative_or_huge() {
    for length in ["-1", "2147483648", "4294967296", "9007199254740992", "9223372036854775808", "18446744073709551615"]
    {
        for (part, n) in [("shape", 1), ("data_offsets", 2)] {
            for at in 0..n {
                let mut file = parts();
                file.header["features"][part][at] = 987_654_321.into();
                let text = file.header.to_string().replace("987654321", length);
                corrupt(&with_header(&text, &file.data), "the header");
            }
        }
        let mut file = parts();
        let Value::Array(shape) = &mut file.header["features"]["shape"] else { panic!() };
        shape.push(987_654_321.into());
        let text = file.header.to_string().replace("987654321", length);
        corrupt(&with_header(&text, &file.data), "");
    }
    for number in ["1.5", "1e3", "true", "null", "\"7\"", "[7]"] {
        let mut file = parts();
        file.header["features"]["shape"][0] = 987_654_321.into();
        let text = file.header.to_string().replace("987654321", number);
        corrupt(&with_header(&text, &file.data), "the header");
    }
}

#[test]
fn offsets_that_overlap_or_leave_gaps() {
    let n = |value: &Value| value.as_u64().unwrap();
    let header = parts().header;
    let mut tensors = header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__");
    let name = tensors.find(|(_, info)| n(&info["data_offsets"][0]) > 0).unwrap().0.clone();
    for (start, end) in [(-1, -1), (1, 1), (-1, 0), (0, -1), (1, 0), (0, 1)] {
        let mut file = parts();
        let offsets = &mut file.header[&name]["data_offsets"];
        let moved =
            json!([n(&offsets[0]).checked_add_signed(start).unwrap(), n(&offsets[1]).checked_add_signed(end).unwrap()]);
        *offsets = moved;
        corrupt(&file.bytes(), "the header");
    }
    // One after the other, but the end before the start.
    let mut file = parts();
    let offsets = file.header[&name]["data_offsets"].clone();
    file.header[&name]["data_offsets"] = json!([offsets[1], offsets[0]]);
    corrupt(&file.bytes(), "the header");
}

#[test]
fn offsets_that_are_not_aligned_are_allowed() {
    let mut file = parts();
    let mut text = file.header.to_string();
    text.push_str(&" ".repeat(9 - text.len() % 8));
    assert!(!text.len().is_multiple_of(8));
    assert_eq!(Forest::from_bytes(&with_header(&text, &file.data)).unwrap(), forest());
    // A byte before all others: every wide number begins at an odd place.
    let all = file.header.as_object_mut().unwrap();
    for (_, info) in all.iter_mut().filter(|(name, _)| *name != "__metadata__") {
        let moved = |i: usize| info["data_offsets"][i].as_u64().unwrap() + 1;
        info["data_offsets"] = json!([moved(0), moved(1)]);
    }
    all.insert("estimator.a".to_owned(), json!({"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}));
    file.data.insert(0, 0);
    assert_eq!(Forest::from_bytes(&file.bytes()).unwrap(), forest());
}

#[test]
fn bytes_after_the_last_array_or_too_few() {
    let mut file = parts();
    file.data.push(0);
    corrupt(&file.bytes(), "bytes of arrays, the header tells of");
    file.data.truncate(file.data.len() - 2);
    corrupt(&file.bytes(), "bytes of arrays, the header tells of");
}

#[test]
fn json_nested_without_end() {
    for depth in [200, 100_000] {
        let deep = "[".repeat(depth) + &"]".repeat(depth);
        let mut file = parts();
        file.header["features"]["shape"] = "DEEP".into();
        corrupt(&with_header(&file.header.to_string().replace("\"DEEP\"", &deep), &file.data), "the header");
        for entry in
            [deep.clone(), format!("{{\"boosting\":{deep}}}"), format!("{{\"format_version\":1,\"x\":{deep}}}")]
        {
            let mut file = parts();
            file.header["__metadata__"]["spinney"] = entry.into();
            corrupt(&file.bytes(), "the entry `spinney`");
        }
        // What travels with the model is a text, whatever it is.
        let mut file = parts();
        file.header["__metadata__"]["estimator"] = deep.as_str().into();
        assert_eq!(ModelFile::from_bytes(&file.bytes()).unwrap().extra.estimator, Some(deep));
    }
}

#[test]
fn format_versions_other_than_this() {
    for version in [0u64, 2, 1 << 32, u64::MAX] {
        let mut file = parts();
        // A later version may have other keys: it is named all the same.
        file.set_entry(&json!({"format_version": version, "trees": [1, 2]}));
        let error = refused(&file.bytes(), &format!("version of the model is {version}, accepted: 1"));
        assert!(matches!(error.kind(), ErrorKind::Invalid { .. }));
        assert!(inspect_bytes(&file.bytes()).is_err());
    }
    for version in [json!(-1), json!(1.0), json!("1"), json!(null), json!([1])] {
        let mut file = parts();
        let mut entry = file.entry();
        entry["format_version"] = version;
        file.set_entry(&entry);
        corrupt(&file.bytes(), "the entry `spinney`");
    }
}

/// Children have no numbers in a file: a node is a split or a leaf, in pre-order, and the children follow. Marks that would
/// make a node its own child, or that of two splits, or of a later one, are marks that do not close each tree where it
/// ends: all marks of five nodes are tried, of which two are trees.
#[test]
fn children_that_go_backwards_or_have_two_parents_cannot_be_said_and_marks_that_do_not_close_are_refused() {
    let shape = models::Shape { n_features: 3, outputs: Outputs::Real { n_outputs: 1 }, max_leaves: 3, unit: 1.0 };
    let of_five = |forest: &Forest| forest.trees[0].n_nodes() == 5;
    let forest = (0..).map(|seed| models::forest(seed, 1, &shape)).find(of_five).unwrap();
    let file = forest.to_bytes().unwrap();
    let mut n_trees = 0;
    for marks in 0..1u32 << 5 {
        let mut file = Parts::new(&file);
        file.edit("features", None, |bytes| {
            bytes.clear();
            (0..5).for_each(|i| bytes.extend(if marks >> i & 1 == 1 { u16::MAX } else { i % 3 }.to_le_bytes()));
        });
        match Forest::from_bytes(&file.bytes()) {
            Ok(forest) => {
                n_trees += 1;
                let nodes = forest.trees[0].nodes();
                let splits: Vec<usize> = (0..5).filter(|&i| !nodes[i].is_leaf()).collect();
                let mut children: Vec<usize> = splits.iter().flat_map(|&i| [i + 1, nodes[i].right as usize]).collect();
                assert!(splits.iter().all(|&i| nodes[i].right as usize > i + 1));
                children.sort_unstable();
                assert_eq!(children, [1, 2, 3, 4]);
            }
            Err(error) => assert!(error.to_string().contains("one tree in pre-order"), "{error}"),
        }
    }
    assert_eq!(n_trees, 2);
}

#[test]
fn features_out_of_range() {
    for feature in [3u16, 4, 1000, 65_534] {
        let mut file = parts();
        file.edit("features", None, |bytes| bytes[..2].copy_from_slice(&feature.to_le_bytes()));
        corrupt(&file.bytes(), &format!("feature {feature} of 3"));
    }
}

#[test]
fn thresholds_that_are_not_finite() {
    for threshold in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(0x7F80_0001)] {
        let mut file = parts();
        file.edit("thresholds", None, |bytes| bytes[..4].copy_from_slice(&threshold.to_le_bytes()));
        corrupt(&file.bytes(), "a threshold is not finite");
    }
}

#[test]
fn values_and_statistics_that_are_not_finite_or_negative() {
    let shape = models::Shape { n_features: 3, outputs: Outputs::Real { n_outputs: 2 }, max_leaves: 9, unit: 1.0 };
    let file = models::forest(3, 2, &shape).to_bytes().unwrap();
    let names = ["leaf_amounts", "split_impurity", "weights"];
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
        for name in names.iter().filter(|name| value.is_nan() || value.is_infinite() || **name != "leaf_amounts") {
            let mut file = Parts::new(&file);
            let Some(n) = file.header.get(*name).map(|info| info["shape"][0].as_u64().unwrap() as usize) else {
                continue;
            };
            file.edit(name, Some("F64"), |bytes| {
                bytes.clear();
                (0..n).for_each(|i| bytes.extend(if i == n / 2 { value } else { 1.0 }.to_le_bytes()));
            });
            corrupt(&file.bytes(), "");
        }
    }
}

#[test]
fn values_that_are_finite_but_add_up_to_infinity() {
    let shape = models::Shape { n_features: 3, outputs: Outputs::Real { n_outputs: 2 }, max_leaves: 9, unit: 1.0 };
    let file = models::forest(3, 3, &shape).to_bytes().unwrap();
    for (value, loads) in [(1e300, true), (f64::MAX / 4.0, false), (-f64::MAX / 4.0, false), (f64::MAX, false)] {
        let mut file = Parts::new(&file);
        file.edit("leaf_amounts", Some("F64"), |bytes| {
            let n = bytes.len() / 8;
            *bytes = (0..n).flat_map(|_| f64::to_le_bytes(value)).collect();
        });
        match Forest::from_bytes(&file.bytes()) {
            Ok(forest) => {
                assert!(loads);
                let rows = models::rows(1, 8, 3);
                let found = forest.predict(&rows.c_order.view().into(), &Control::default()).unwrap();
                assert!(found.iter().all(|v| v.is_finite()));
            }
            Err(error) => assert!(!loads && error.to_string().contains("add up"), "{error}"),
        }
    }
}

/// Leaves have sizes and no places, so that no two can share a cell; sizes must add up to what there is.
#[test]
fn slices_of_leaves_cannot_overlap_and_sizes_that_do_not_add_up_are_refused() {
    let shape = models::Shape { n_features: 3, outputs: Outputs::Labels { n_labels: 90 }, max_leaves: 9, unit: 1.0 };
    let file = models::forest(1, 1, &shape).to_bytes().unwrap();
    let n = Parts::new(&file).header["leaf_sizes"]["shape"][0].as_u64().unwrap() as usize;
    assert!(n > 2);
    for (size, why) in [(u32::MAX, "2^32 cells"), (u32::MAX / 2, ""), (1 << 20, "too short"), (0, "")] {
        for at in 0..n {
            let mut file = Parts::new(&file);
            file.edit("leaf_sizes", Some("U32"), |bytes| {
                let mut sizes: Vec<u32> = bytes.iter().map(|b| (*b).into()).collect();
                sizes[at] = size;
                if size == u32::MAX {
                    sizes[(at + 1) % n] = size;
                }
                *bytes = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
            });
            corrupt(&file.bytes(), why);
        }
    }
    // Columns that fall or repeat inside a leaf.
    let mut file = Parts::new(&file);
    file.edit("leaf_columns", None, |bytes| bytes.fill(7));
    corrupt(&file.bytes(), "do not rise");
}

#[test]
fn lengths_that_do_not_fit_each_other() {
    for name in ["n_nodes", "features", "thresholds", "split_impurity", "leaf_layout", "leaf_amounts", "n_node_samples"]
    {
        for change in [|bytes: &mut Vec<u8>| bytes.extend([0; 8]), |bytes: &mut Vec<u8>| bytes.truncate(0)] {
            let mut file = parts();
            file.edit(name, None, change);
            corrupt(&file.bytes(), "");
            if name != "leaf_amounts" {
                assert!(inspect_bytes(&file.bytes()).is_err(), "{name}");
            }
        }
    }
}

#[test]
fn one_number_is_one_number() {
    let shape = models::Shape { n_features: 3, outputs: Outputs::Real { n_outputs: 1 }, max_leaves: 4, unit: 1.0 };
    let forest = models::forest(1, 1, &shape);
    let x = ndarray::array![[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let y = ndarray::array![[0.0], [1.0], [3.0]];
    let (x, y) = (x.view().into(), crate::Targets::Real(y.view()));
    let path = crate::CompressConfig::stagewise(0.5).path(&forest, &x, &y, None, None, &Control::default()).unwrap();
    let file = path.at_step(0).unwrap().to_bytes().unwrap();
    assert!(Compressed::from_bytes(&file).is_ok());
    for norms in [vec![], vec![1.0, 2.0], vec![-1.0], vec![f64::NAN]] {
        let mut file = Parts::new(&file);
        file.edit("l1_norm", None, |bytes| *bytes = norms.iter().flat_map(|norm: &f64| norm.to_le_bytes()).collect());
        corrupt(&file.bytes(), "`l1_norm` is not one number");
    }
}

#[test]
fn arrays_of_the_estimator_that_are_not_what_they_say() {
    let mut extra = Extra::default();
    extra.arrays.insert("a".to_owned(), Array::try_new(vec![2], Values::Bool(vec![true, false])).unwrap());
    let file = ModelFile { model: forest().into(), extra }.to_bytes().unwrap();
    let mut file = Parts::new(&file);
    file.edit("estimator.a", None, |bytes| bytes[1] = 2);
    let bytes = file.bytes();
    let error = ModelFile::from_bytes(&bytes).unwrap_err();
    assert!(error.to_string().contains("neither 0 nor 1"), "{error}");
    assert_eq!(Forest::from_bytes(&bytes).unwrap(), forest());
    assert!(Array::try_new(vec![3], Values::U8(vec![0; 2])).is_err());
    assert!(Array::try_new(vec![usize::MAX, 2], Values::U8(vec![])).is_err());
    assert!(Array::try_new(vec![1; 33], Values::U8(vec![0])).is_err());
    for name in ["", "a b", "\u{e9}", &"x".repeat(257)] {
        let array = Array::try_new(vec![], Values::F64(vec![1.0])).unwrap();
        let extra = Extra { estimator: None, arrays: [(name.to_owned(), array)].into() };
        assert!(ModelFile { model: forest().into(), extra }.to_bytes().is_err());
    }
}
