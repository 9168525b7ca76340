//! Files on the disk, and data that are stored with a model.

use std::fs;
use std::io::{self, Seek, Write};
use std::path::PathBuf;

use super::*;
use crate::model_file::{Array, Extra, Kind, Model, ModelFile, Values, inspect, inspect_bytes};

/// A temporary folder, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("weald-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn extra() -> Extra {
    let arrays = [
        ("b", vec![3], Values::Bool(vec![true, false, true])),
        ("u8", vec![1, 2], Values::U8(vec![0, 255])),
        ("i32", vec![], Values::I32(vec![i32::MIN])),
        ("i64", vec![2, 0, 3], Values::I64(vec![])),
        ("u32", vec![1], Values::U32(vec![u32::MAX])),
        ("u64", vec![2], Values::U64(vec![0, u64::MAX])),
        ("f32", vec![2], Values::F32(vec![-0.0, f32::INFINITY])),
        ("classes_.0", vec![2, 1], Values::F64(vec![f64::MIN_POSITIVE, -1.5])),
    ];
    let named = |(name, shape, values): (&str, _, _)| (name.to_owned(), Array::try_new(shape, values).unwrap());
    Extra { estimator: Some("{\"class\": \"\u{fc}\\\"\"}".to_owned()), arrays: arrays.map(named).into() }
}

#[test]
fn files_contain_the_bytes_and_can_be_loaded() {
    let folder = Folder::new("files");
    let path = folder.0.join("model");
    for seed in 0..4 {
        let forest = models::some_forest(seed);
        forest.save(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), forest.to_bytes().unwrap());
        assert_eq!(Forest::load(&path).unwrap(), forest);
        let model = Model::load(&path).unwrap();
        assert_eq!(model, Model::Forest(forest));
        model.save(path.to_str().unwrap()).unwrap();
        assert_eq!(Model::load(&path).unwrap(), model);
        assert_eq!(Model::from_bytes(&model.to_bytes().unwrap()).unwrap(), model);
        assert_eq!(model.kind(), Kind::Forest);
    }
    assert_eq!(folder.names(), ["model"]);
}

#[test]
fn extras_are_restored_and_are_ignored_if_they_are_not_requested() {
    for seed in 0..20 {
        let forest = models::some_forest(seed);
        let file = ModelFile { model: forest.clone().into(), extra: extra() };
        let bytes = file.to_bytes().unwrap();
        assert_eq!(ModelFile::from_bytes(&bytes).unwrap(), file);
        assert_eq!(file.to_bytes().unwrap(), bytes);
        assert_eq!(Forest::from_bytes(&bytes).unwrap(), forest);
        assert_eq!(Model::from_bytes(&bytes).unwrap(), Model::Forest(forest.clone()));
        let alone = ModelFile::from_bytes(&forest.to_bytes().unwrap()).unwrap();
        assert_eq!(alone, ModelFile::from(Model::from(forest)));
        for len in 0..bytes.len() {
            assert!(ModelFile::from_bytes(&bytes[..len]).is_err());
        }
    }
}

#[test]
fn any_float_is_restored_bit_for_bit() {
    let bits = [0x7FF0_0000_0000_0001, 0xFFF8_0000_0000_0000, 1, u64::MAX];
    let values = Values::F64(bits.map(f64::from_bits).to_vec());
    let arrays = [("nan".to_owned(), Array::try_new(vec![4], values).unwrap())].into();
    let file = ModelFile { model: models::some_forest(1).into(), extra: Extra { estimator: None, arrays } };
    let (shape, values) =
        ModelFile::from_bytes(&file.to_bytes().unwrap()).unwrap().extra.arrays.remove("nan").unwrap().into_parts();
    let Values::F64(values) = values else { panic!() };
    assert_eq!((shape, values.iter().map(|v| v.to_bits()).collect::<Vec<_>>()), (vec![4], bits.to_vec()));
}

#[test]
fn summaries_have_the_data_of_the_header() {
    let folder = Folder::new("inspect");
    let path = folder.0.join("model");
    let shape = models::Shape { n_features: 5, outputs: Outputs::Labels { n_labels: 90 }, max_leaves: 9, unit: 1.0 };
    let forest = models::forest(2, 3, &shape);
    let file = ModelFile { model: forest.clone().into(), extra: extra() };
    file.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let summary = inspect(&path).unwrap();
    assert_eq!(inspect_bytes(&bytes).unwrap(), summary);
    assert_eq!((summary.format_version, summary.kind, summary.n_features), (1, Kind::Forest, 5));
    assert_eq!(summary.release.as_deref(), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!(summary.outputs, shape.outputs);
    assert_eq!(summary.criterion, crate::Criterion::Gini);
    assert_eq!(summary.n_trees, 3);
    assert_eq!(summary.n_nodes, forest.trees.iter().map(|tree| tree.n_nodes() as u64).sum::<u64>());
    assert_eq!(summary.n_bytes, bytes.len() as u64);
    assert_eq!(summary.estimator, extra().estimator);
    let arrays: u64 = summary.tensors.iter().map(|tensor| tensor.n_bytes).sum();
    assert_eq!(summary.n_header_bytes + arrays, summary.n_bytes);
    let share: f64 = summary.tensors.iter().map(|tensor| tensor.share).sum();
    // The tolerance covers the rounding of a sum of some dozen quotients.
    assert!((share - arrays as f64 / bytes.len() as f64).abs() < 1e-12);
    let features = summary.tensors.iter().find(|tensor| tensor.name == "features").unwrap();
    assert_eq!((features.dtype.as_str(), &features.shape), ("U16", &vec![summary.n_nodes as usize]));
    // Only the header is read.
    let mut broken = bytes;
    let n_header = summary.n_header_bytes as usize;
    broken[n_header..].fill(0xFF);
    fs::write(&path, &broken).unwrap();
    assert_eq!(inspect(&path).unwrap(), summary);
    assert!(Forest::load(&path).is_err());
}

fn system_error(error: &crate::Error) -> io::ErrorKind {
    match error.kind() {
        ErrorKind::File { path, kind, message, .. } => {
            let text = error.to_string();
            assert!(text.contains(&path.display().to_string()) && text.contains(message), "{text}");
            let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
            assert_eq!(source.map(io::Error::kind), Some(*kind));
            *kind
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_of_the_system_are_returned_and_leave_no_files() {
    let folder = Folder::new("refused");
    let forest = models::some_forest(1);
    let missing = folder.0.join("missing");
    assert_eq!(system_error(&Forest::load(&missing).unwrap_err()), io::ErrorKind::NotFound);
    assert_eq!(system_error(&inspect(&missing).unwrap_err()), io::ErrorKind::NotFound);
    assert_eq!(system_error(&forest.save(missing.join("model")).unwrap_err()), io::ErrorKind::NotFound);
    if cfg!(unix) {
        assert_eq!(system_error(&Forest::load(&folder.0).unwrap_err()), io::ErrorKind::IsADirectory);
        fs::create_dir(folder.0.join("taken")).unwrap();
        assert_eq!(system_error(&forest.save(folder.0.join("taken")).unwrap_err()), io::ErrorKind::IsADirectory);
        assert_eq!(folder.names(), ["taken"]);
        fs::remove_dir(folder.0.join("taken")).unwrap();
        assert_eq!(system_error(&Forest::load("/dev/null").unwrap_err()), io::ErrorKind::InvalidInput);
    }
    assert_eq!(system_error(&forest.save("").unwrap_err()), io::ErrorKind::InvalidInput);
    assert_eq!(system_error(&forest.save(folder.0.join("..")).unwrap_err()), io::ErrorKind::InvalidInput);
    fs::write(folder.0.join("empty"), b"").unwrap();
    let error = Forest::load(folder.0.join("empty")).unwrap_err();
    assert!(error.to_string().contains("cut short"), "{error}");
    assert_eq!(folder.names(), ["empty"]);
}

#[test]
fn names_as_long_as_they_can_be_and_files_that_a_dead_process_has_left_are_no_hindrance() {
    let folder = Folder::new("names");
    let name = "n".repeat(255);
    let forest = models::some_forest(1);
    for number in 0..50 {
        fs::write(folder.0.join(format!(".weald-{}-{number}.tmp", std::process::id())), b"").unwrap();
    }
    forest.save(folder.0.join(&name)).unwrap();
    assert_eq!(Forest::load(folder.0.join(&name)).unwrap(), forest);
    assert_eq!(folder.names().len(), 51);
}

#[test]
fn a_model_that_cannot_be_written_leaves_the_old_file() {
    let folder = Folder::new("old");
    let path = folder.0.join("model");
    let forest = models::some_forest(1);
    forest.save(&path).unwrap();
    let none = Forest { trees: Vec::new(), ..models::some_forest(1) };
    assert!(none.save(&path).is_err());
    assert_eq!(Forest::load(&path).unwrap(), forest);
    assert_eq!(folder.names(), ["model"]);
}

/// The files have gigabytes of holes; only the header is on the disk.
#[cfg(target_os = "linux")]
#[test]
fn headers_of_files_of_five_gigabytes_are_read_and_their_faults_are_found_before_the_arrays_are() {
    let folder = Folder::new("large");
    let path = folder.0.join("model");
    let shape = models::Shape { n_features: 3, outputs: Outputs::Real { n_outputs: 1 }, max_leaves: 2, unit: 1.0 };
    let of_three = |forest: &Forest| forest.trees[0].n_nodes() == 3;
    let forest = (0..).map(|seed| models::forest(seed, 1, &shape)).find(of_three).unwrap();
    let bytes = forest.to_bytes().unwrap();
    let n_header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + n_header]).unwrap();
    let large = |width: u64| {
        let mut header = header.clone();
        let mut end = 0;
        for (name, info) in header.as_object_mut().unwrap().iter_mut().filter(|(name, _)| *name != "__metadata__") {
            let old = info["data_offsets"].clone();
            let mut n_bytes = old[1].as_u64().unwrap() - old[0].as_u64().unwrap();
            if name == "leaf_amounts" {
                n_bytes = 5_000_000_000;
                info["dtype"] = "U8".into();
                info["shape"] = serde_json::json!([n_bytes]);
            }
            info["data_offsets"] = serde_json::json!([end, end + n_bytes]);
            end += n_bytes;
        }
        let entry = header["__metadata__"]["weald"].as_str().unwrap();
        header["__metadata__"]["weald"] = entry.replace("\"sizes\":1", &format!("\"sizes\":{width}")).into();
        let text = header.to_string();
        fs::write(&path, [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(8 + text.len() as u64 + end).unwrap();
    };
    large(2_500_000_000);
    let summary = inspect(&path).unwrap();
    assert_eq!(summary.outputs, Outputs::Real { n_outputs: 2_500_000_000 });
    let amounts = summary.tensors.iter().find(|tensor| tensor.name == "leaf_amounts").unwrap();
    assert_eq!((&amounts.shape, amounts.n_bytes), (&vec![5_000_000_000], 5_000_000_000));
    assert!(summary.n_bytes > 5_000_000_000 && amounts.share > 0.999);
    // Two leaves with one number each do not fill five gigabytes. The error is found without reading them.
    large(1);
    let error = Forest::load(&path).unwrap_err();
    assert!(error.to_string().contains("`leaf_amounts` is too long"), "{error}");
}

/// The array before those of the trees is a hole of the file, so that the trees are beyond 2³² bytes.
#[cfg(target_os = "linux")]
#[test]
fn trees_beyond_four_gigabytes_are_read_and_no_more_of_the_file_than_they_take() {
    let folder = Folder::new("beyond");
    let path = folder.0.join("model");
    let n_hole = 5_000_000_000u64;
    let forest = models::some_forest(3);
    let bytes = forest.to_bytes().unwrap();
    let n_header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + n_header]).unwrap();
    for (_, info) in header.as_object_mut().unwrap().iter_mut().filter(|(name, _)| *name != "__metadata__") {
        let moved = |i: usize| info["data_offsets"][i].as_u64().unwrap() + n_hole;
        info["data_offsets"] = serde_json::json!([moved(0), moved(1)]);
    }
    header["estimator.hole"] = serde_json::json!({"dtype": "U8", "shape": [n_hole], "data_offsets": [0, n_hole]});
    let text = header.to_string();
    fs::write(&path, [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()).unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(io::SeekFrom::Start(8 + text.len() as u64 + n_hole)).unwrap();
    file.write_all(&bytes[8 + n_header..]).unwrap();
    assert_eq!(inspect(&path).unwrap().tensors[0].n_bytes, n_hole);
    assert_eq!(Forest::load(&path).unwrap(), forest);
    assert_eq!(Model::load(&path).unwrap(), Model::Forest(forest));
    // One byte less and one byte more are both errors.
    let length = file.metadata().unwrap().len();
    for length in [length - 1, length + 1] {
        file.set_len(length).unwrap();
        assert!(Forest::load(&path).unwrap_err().to_string().contains("bytes of arrays"));
    }
}

#[test]
fn trees_that_are_longer_than_a_piece_are_loaded_from_files_as_from_bytes() {
    let folder = Folder::new("pieces");
    let path = folder.0.join("model");
    let shape = |outputs, max_leaves| models::Shape { n_features: 9, outputs, max_leaves, unit: 0.5 };
    let forests = [
        models::forest(1, 3, &shape(Outputs::Labels { n_labels: 300 }, 4000)),
        models::forest(2, 2, &shape(Outputs::Real { n_outputs: 40 }, 3000)),
        Forest::from(models::chain(70_000)),
    ];
    for forest in forests {
        let file = ModelFile { model: forest.clone().into(), extra: extra() };
        file.save(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() > 2 << 16, "{}", bytes.len());
        assert_eq!(ModelFile::load(&path).unwrap(), file);
        assert_eq!(ModelFile::from_bytes(&bytes).unwrap(), file);
        assert_eq!(Forest::load(&path).unwrap(), forest);
        // A fault that is found in memory is also found on the disk, with the same message.
        for at in (bytes.len() / 9..bytes.len()).step_by(bytes.len() / 40) {
            let mut broken = bytes.clone();
            broken[at] ^= 0xFF;
            fs::write(&path, &broken).unwrap();
            match (ModelFile::load(&path), ModelFile::from_bytes(&broken)) {
                (Ok(one), Ok(other)) => assert_eq!(one, other),
                (one, other) => assert_eq!(one.unwrap_err().to_string(), other.unwrap_err().to_string()),
            }
        }
    }
}

#[test]
fn a_tree_of_many_outputs_has_them_in_common_with_the_others() {
    let shape = models::Shape {
        n_features: 2,
        outputs: Outputs::Classes { n_classes: vec![1; 1000] },
        max_leaves: 2,
        unit: 1.0,
    };
    let forest = Forest::from_bytes(&models::forest(1, 5, &shape).to_bytes().unwrap()).unwrap();
    assert!(forest.trees.iter().all(|tree| std::sync::Arc::ptr_eq(&tree.outputs, &forest.trees[0].outputs)));
}

/// The header describes a model that is larger than any memory. Memory is requested from the operating system before
/// anything else is read.
#[cfg(target_os = "linux")]
#[test]
fn a_model_that_exceeds_memory_is_refused_before_its_arrays_are_read() {
    let folder = Folder::new("memory");
    let path = folder.0.join("model");
    let shape = models::Shape { n_features: 3, outputs: Outputs::Labels { n_labels: 3 }, max_leaves: 2, unit: 1.0 };
    let bytes = models::forest(1, 1, &shape).to_bytes().unwrap();
    let n_header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + n_header]).unwrap();
    // 2⁴⁰ splits take terabytes of holes. ext4 files may have 16 terabytes.
    let n_splits = 1u64 << 40;
    let mut end = 0;
    let needless = ["leaf_impurity", "leaf_totals", "weights"];
    header.as_object_mut().unwrap().retain(|name, _| !needless.contains(&name.as_str()));
    for (name, info) in header.as_object_mut().unwrap().iter_mut().filter(|(name, _)| *name != "__metadata__") {
        let (n, item, dtype) = match name.as_str() {
            "features" => (2 * n_splits + 1, 2, "U16"),
            "thresholds" => (n_splits, 4, "F32"),
            "split_impurity" => (n_splits, 1, "U8"),
            "n_node_samples" | "leaf_sizes" => (n_splits + 1, 1, "U8"),
            "n_nodes" | "leaf_layout" => (1, 1, "U8"),
            _ => (0, 1, "U8"),
        };
        let n_bytes = n * item;
        *info = serde_json::json!({"dtype": dtype, "shape": [n], "data_offsets": [end, end + n_bytes]});
        end += n_bytes;
    }
    let text = header.to_string();
    fs::write(&path, [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    if file.set_len(8 + text.len() as u64 + end).is_err() {
        eprintln!("skipped: this file system has no files of {end} bytes");
        return;
    }
    assert_eq!(inspect(&path).unwrap().n_nodes, 2 * n_splits + 1);
    let error = Forest::load(&path).unwrap_err();
    // If the operating system grants any request for memory, the fault in the arrays is found first.
    let promises_all = fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.trim() == "1");
    assert!(promises_all || matches!(error.kind(), ErrorKind::OutOfMemory { .. }), "{error}");
}
