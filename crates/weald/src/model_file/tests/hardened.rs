//! Each test makes one fault in a file, and checks that the error names it.

use serde_json::{Value, json};

use super::parts::{Parts, boosted, corrupt, forest, parts, refused, with, with_header};
use super::*;
use crate::boost::Boosted;
use crate::compress::Compressed;
use crate::model_file::header::{MOST_DIMENSIONS, MOST_HEADER_BYTES, MOST_TENSORS};
use crate::model_file::{Array, Extra, ModelFile, Values, inspect_bytes};

/// Returns the entry of a tensor without numbers.
fn empty(dtype: &str) -> Value {
    json!({"dtype": dtype, "shape": [0], "data_offsets": [0, 0]})
}

#[test]
fn a_header_put_together_again_is_the_same_model() {
    assert_eq!(Forest::from_bytes(&parts().bytes()).unwrap(), forest());
}

#[test]
fn numbers_of_stages_steps_and_losses() {
    let whole = boosted();
    let parts = || Parts::new(&whole.to_bytes().unwrap());
    assert_eq!(Boosted::from_bytes(&parts().bytes()).unwrap(), whole);
    let edited = |name: &str, dtype: Option<&str>, edit: &dyn Fn(&mut Vec<u8>)| {
        let mut file = parts();
        file.edit(name, dtype, edit);
        file.bytes()
    };
    let contradiction = "the numbers of stages, trees, steps and losses are inconsistent";
    corrupt(&edited("step_sizes", Some("U8"), &|bytes| *bytes = vec![1; 3]), contradiction);
    corrupt(&edited("step_sizes", Some("F64"), &|bytes| *bytes = vec![0xFF; 48]), "`step_sizes` is not finite");
    assert_eq!(whole.oob_score().len(), 2);
    corrupt(&edited("oob_losses", Some("F64"), &|bytes| *bytes = vec![0; 16]), contradiction);
    corrupt(&edited("oob_losses", Some("F64"), &|bytes| *bytes = vec![0; 32]), contradiction);
    corrupt(&edited("oob_losses", Some("F64"), &|bytes| *bytes = vec![0xFF; 24]), "`oob_losses` is not finite");
    corrupt(&edited("train_score", Some("F8_E4M3"), &|bytes| *bytes = vec![1, 1]), "`train_score` is of type F8_E4M3");
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
    // Such a header cannot be written either.
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
    let error = Forest::from_bytes(&with_header("", &data)).unwrap_err();
    assert!(std::error::Error::source(&error).is_some_and(|source| source.is::<serde_json::Error>()), "{error:?}");
    corrupt(&with_header(&text.replace("weald\":\"{", "weald\":\"["), &data), "the entry `weald`");
}

#[test]
fn names_that_occur_twice() {
    let Parts { header, data } = parts();
    let text = header.to_string();
    let info = header["n_nodes"].to_string();
    corrupt(&with_header(&text.replacen('{', &format!("{{\"n_nodes\":{info},"), 1), &data), "the name `n_nodes`");
    let texts = header["__metadata__"].to_string();
    corrupt(&with_header(&text.replacen('{', &format!("{{\"__metadata__\":{texts},"), 1), &data), "duplicate field");
    let entry = header["__metadata__"]["weald"].to_string();
    let twice = text.replacen("\"weald\":", &format!("\"weald\":{entry},\"weald\":"), 1);
    corrupt(&with_header(&twice, &data), "duplicate field `weald`");
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
    corrupt(&with(|file| file.header["__metadata__"]["format"] = "pt".into()), "unknown field `format`");
    corrupt(&with(|file| file.header["more"] = empty("U8")), "`more`, which is not known");
    // Tensors of other kinds of models are unknown in this one.
    for name in ["step_sizes", "l1_norm"] {
        corrupt(&with(|file| file.header[name] = empty("F64")), "which is not known");
    }
    corrupt(&with(|file| file.header["n_nodes"]["stride"] = 1.into()), "unknown field `stride`");
    corrupt(&with(|file| file.edit_entry(|entry| entry["more"] = 1.into())), "unknown field `more`");
    for name in ["estimator.", "estimator.a b", "estimator.\u{e9}", &format!("estimator.{}", "x".repeat(257))] {
        corrupt(&with(|file| file.header[name] = empty("U8")), "the name of an array of the estimator is invalid");
    }
    corrupt(&with(|file| file.header["estimator.a"] = empty("BF16")), "is of type BF16");
}

#[test]
fn more_than_4096_tensors() {
    let mut file = parts();
    let n = file.header.as_object().unwrap().len() - 1;
    for i in 0..=MOST_TENSORS - n {
        if i == MOST_TENSORS - n {
            assert!(Forest::from_bytes(&file.bytes()).is_ok());
        }
        file.header[format!("estimator.{i}")] = empty("U8");
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
    corrupt(&with(|file| file.header.as_object_mut().unwrap().remove("__metadata__")), "missing field `__metadata__`");
    corrupt(&with(|file| file.header["__metadata__"] = json!({})), "no entry `weald`");
    for key in ["format_version", "n_features", "criterion", "outputs", "sizes"] {
        corrupt(
            &with(|file| file.edit_entry(|entry| entry.as_object_mut().unwrap().remove(key))),
            &format!("missing field `{key}`"),
        );
    }
}

#[test]
fn the_release_that_wrote_a_file() {
    let mut file = parts();
    let mut entry = file.entry();
    assert_eq!(entry["release"], env!("CARGO_PKG_VERSION"));
    // Another release is no error, and no release is one up to 0.1.
    entry["release"] = json!("9.9.9-beta");
    file.set_entry(&entry);
    assert_eq!(inspect_bytes(&file.bytes()).unwrap().release.as_deref(), Some("9.9.9-beta"));
    entry.as_object_mut().unwrap().remove("release");
    file.set_entry(&entry);
    assert_eq!(inspect_bytes(&file.bytes()).unwrap().release, None);
    ModelFile::from_bytes(&file.bytes()).unwrap();
    for (release, why) in [(json!(2), "`release` is not a text"), (json!("x".repeat(101)), "more than 100 bytes")] {
        entry["release"] = release;
        file.set_entry(&entry);
        corrupt(&file.bytes(), why);
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
    corrupt(&with(|file| file.header["n_nodes"]["dtype"] = "U9".into()), "unknown variant `U9`");
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
    // The tensors follow one another, but the end of one is before its start.
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
    // There is one byte before all others, so that every wide number starts at an odd position.
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
    corrupt(&with(|file| file.data.push(0)), "bytes of arrays, the header tells of");
    corrupt(&with(|file| file.data.pop()), "bytes of arrays, the header tells of");
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
            corrupt(&with(|file| file.header["__metadata__"]["weald"] = entry.into()), "the entry `weald`");
        }
        // The text that is stored with the model may be any text.
        let mut file = parts();
        file.header["__metadata__"]["estimator"] = deep.as_str().into();
        assert_eq!(ModelFile::from_bytes(&file.bytes()).unwrap().extra.estimator, Some(deep));
    }
}

#[test]
fn format_versions_other_than_this() {
    for version in [0u64, 2, 1 << 32, u64::MAX] {
        let mut file = parts();
        // A later version may have other keys. The error names the version in any case.
        file.set_entry(&json!({"format_version": version, "trees": [1, 2]}));
        let error = refused(
            &file.bytes(),
            &format!("version of the model must be 1 (newer files need a newer weald), got {version}"),
        );
        assert!(matches!(error.kind(), ErrorKind::Invalid { .. }));
        assert!(inspect_bytes(&file.bytes()).is_err());
    }
    for version in [json!(-1), json!(1.0), json!("1"), json!(null), json!([1])] {
        corrupt(&with(|file| file.edit_entry(|entry| entry["format_version"] = version)), "the entry `weald`");
    }
}

#[test]
fn files_whose_l1_norm_is_not_one_non_negative_number_are_refused() {
    let shape = models::Shape { n_features: 3, outputs: Outputs::Real { n_outputs: 1 }, max_leaves: 4, unit: 1.0 };
    let forest = models::forest(1, 1, &shape);
    let x = ndarray::array![[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let y = ndarray::array![[0.0], [1.0], [3.0]];
    let path = crate::CompressConfig::stagewise(0.5).path(&forest, (&x, &y), None).unwrap();
    let file = path.at_step(0, &Control::default()).unwrap().to_bytes().unwrap();
    assert!(Compressed::from_bytes(&file).is_ok());
    for norms in [vec![], vec![1.0, 2.0], vec![-1.0], vec![f64::NAN]] {
        let mut file = Parts::new(&file);
        file.edit("l1_norm", None, |bytes| *bytes = norms.iter().flat_map(|norm: &f64| norm.to_le_bytes()).collect());
        corrupt(&file.bytes(), "`l1_norm` is not one non-negative number");
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
