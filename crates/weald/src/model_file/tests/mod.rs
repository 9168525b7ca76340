//! Round trips, and damaged files.

mod damaged_trees;
mod files;
mod hardened;
mod parts;

use crate::control::Control;
use crate::data::Outputs;
use crate::error::ErrorKind;
use crate::forest::Forest;
use crate::testing::grown::Problem;
use crate::testing::models;
use crate::tree::Precision;

#[test]
fn loaded_models_are_equal_and_are_saved_as_the_same_bytes() {
    for seed in 0..300 {
        let forest = models::some_forest(seed);
        let bytes = forest.to_bytes().unwrap();
        let loaded = Forest::from_bytes(&bytes).unwrap();
        assert_eq!(loaded, forest);
        assert_eq!(loaded.to_bytes().unwrap(), bytes);
        let rows = models::rows(seed, 10, forest.n_features);
        let x = &rows.c_order;
        assert_eq!(loaded.predict(x), forest.predict(x));
    }
}

#[test]
fn many_features_wide_outputs_and_statistics_that_are_no_sums_are_restored() {
    for n_features in [65_535, 65_536, 200_000] {
        let outputs = Outputs::Labels { n_labels: 70_000 };
        let shape = models::Shape { n_features, outputs, max_leaves: 4, unit: 1.0 };
        let mut forest = models::forest(3, 3, &shape);
        assert_eq!(Forest::from_bytes(&forest.to_bytes().unwrap()).unwrap(), forest);
        let mut tree = crate::Tree::clone(&forest.trees[0]);
        tree.n_node_samples[0] += 7;
        tree.weighted_n_node_samples[0] *= 1.0 + f64::EPSILON;
        forest.trees[0] = tree.into();
        assert_eq!(Forest::from_bytes(&forest.to_bytes().unwrap()).unwrap(), forest);
    }
}

/// Reads a file and uses the model. Returns whether the file could be read.
fn survives(bytes: &[u8]) -> bool {
    let Ok(forest) = Forest::from_bytes(bytes) else { return false };
    if forest.n_features() > 100_000 || forest.outputs().width() > 100_000 {
        return true;
    }
    let rows = models::rows(1, 8, forest.n_features());
    for x in rows.layouts() {
        let scores = forest.predict(&x).unwrap();
        assert!(scores.iter().all(|v| v.is_finite()));
        if let Outputs::Classes { n_classes } = forest.outputs() {
            assert!(scores.rows().into_iter().all(|row| {
                let mut columns = row.iter();
                // Every file of these tests has the frequencies of all classes, some of them in float16.
                n_classes.iter().all(|&k| (columns.by_ref().take(k as usize).sum::<f64>() - 1.0).abs() < 0.003)
            }));
        }
        forest.predict_topk(&x, 1).unwrap();
        forest.decision_path(&x).unwrap();
    }
    for tree in forest.trees() {
        tree.value().unwrap();
        tree.max_depth();
    }
    forest.feature_importances(None).unwrap();
    forest.feature_importances(Some(&[0])).unwrap();
    true
}

fn small_files() -> impl Iterator<Item = Vec<u8>> {
    (0..6).map(|kind| {
        let shape = models::Shape { n_features: 3, outputs: models::some_outputs(kind), max_leaves: 6, unit: 0.5 };
        models::forest(kind, 2, &shape).to_bytes().unwrap()
    })
}

/// Models with all forms of compact leaves.
fn compact_files() -> impl Iterator<Item = Vec<u8>> {
    (0..6).flat_map(|kind| {
        let control = Control::default();
        let mut problem = Problem::new(kind + 6 * 5, 70_000.0);
        problem.config.n_trees = 2;
        problem.config.tree.max_leaf_nodes = Some(5);
        let grown = problem.fit();
        let rows = problem.with_rows(&grown).unwrap();
        let narrow = [&grown, &rows].map(|forest| forest.with_precision(Precision::Half, &control).unwrap());
        let single = grown.with_precision(Precision::Single, &control).unwrap();
        let bytes = grown.with_precision(Precision::Byte, &control).unwrap_or_else(|_| narrow[0].clone());
        let merged = Forest::merge(&[&narrow[0], &narrow[1], &grown, &bytes]).unwrap();
        let [narrow, narrow_rows] = narrow;
        [narrow, narrow_rows, single, rows, merged, bytes].map(|forest| forest.to_bytes().unwrap())
    })
}

#[test]
fn the_file_records_classes_that_were_left_out() {
    let control = Control::default();
    for kind in [2, 3] {
        let shape = models::Shape { n_features: 3, outputs: models::some_outputs(kind), max_leaves: 9, unit: 0.5 };
        let forest = models::forest(kind, 3, &shape);
        let few = forest.with_top_k(1, &control).unwrap();
        let narrow = few.with_precision(Precision::Half, &control).unwrap();
        for forest in [&few, &narrow, &Forest::merge(&[&forest, &few, &narrow]).unwrap()] {
            let bytes = forest.to_bytes().unwrap();
            assert_eq!(&Forest::from_bytes(&bytes).unwrap(), forest);
        }
        // The same leaves without the bit that says that classes were left out, and complete leaves with this bit.
        for forest in [&few, &forest] {
            let mut file = parts::Parts::new(&forest.to_bytes().unwrap());
            file.edit("leaf_layout", None, |layouts| layouts.iter_mut().for_each(|layout| *layout ^= 64));
            assert!(matches!(Forest::from_bytes(&file.bytes()).unwrap_err().kind(), ErrorKind::Corrupt { .. }));
        }
    }
}

#[test]
fn every_flipped_byte_is_refused_or_harmless() {
    for file in small_files().chain(compact_files()) {
        assert!(survives(&file));
        for at in 0..file.len() {
            for flip in [0x01, 0x80, 0xFF, 0x10] {
                let mut bytes = file.clone();
                bytes[at] ^= flip;
                survives(&bytes);
            }
        }
    }
}

#[test]
fn every_truncation_and_extension_is_refused() {
    for file in small_files().chain(compact_files()) {
        for len in 0..file.len() {
            assert!(!survives(&file[..len]));
        }
        let mut longer = file.clone();
        longer.push(0);
        assert!(!survives(&longer));
    }
}

/// Returns a file whose entry `weald` is changed by `edit`.
fn edited(edit: impl Fn(&str) -> String) -> Vec<u8> {
    let file = small_files().nth(4).unwrap();
    let end = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    parts::with_header(&edit(std::str::from_utf8(&file[8..end]).unwrap()), &file[end..])
}

#[test]
fn a_newer_format_says_so() {
    assert!(survives(&edited(str::to_owned)));
    let newer = edited(|text| text.replace(r#"format_version\":1"#, r#"format_version\":2"#));
    let error = Forest::from_bytes(&newer).unwrap_err();
    assert!(error.to_string().contains("newer"), "{error}");
}

#[test]
fn false_headers_are_refused() {
    let lies = [
        ("labels", "real"),
        ("gini", "nonsense"),
        (r#"sizes\":3"#, r#"sizes\":0"#),
        (r#"sizes\":3"#, r#"sizes\":2"#),
        (r#"sizes\":3"#, r#"sizes\":1e300"#),
        (r#"n_features\":3"#, r#"n_features\":0"#),
        (r#"n_features\":3"#, r#"n_features\":-1"#),
        ("F32", "U32"),
        ("n_nodes", "m_nodes"),
        ("leaf_amounts", "leaf_amount"),
        (r#""data_offsets":[0,"#, r#""data_offsets":[1,"#),
        (r#""shape":["#, r#""shape":[18446744073709551615,"#),
        (r#""shape":["#, r#""shape":[4294967296,4294967296,"#),
    ];
    for (from, to) in lies {
        let lie = edited(|text| {
            assert!(text.contains(from), "{from} in {text}");
            text.replace(from, to)
        });
        assert!(matches!(Forest::from_bytes(&lie).unwrap_err().kind(), ErrorKind::Corrupt { .. }), "{from} {to}");
    }
}

#[test]
fn false_data_of_stored_samples_are_refused() {
    let problem = Problem::new(5, 1.0);
    let file = problem.with_rows(&problem.fit()).unwrap().to_bytes().unwrap();
    let parts::Parts { header, data } = parts::Parts::new(&file);
    let header = header.to_string();
    for name in ["row_ids", "set_rows", "set_layout", "set_sizes", "set_slots"] {
        // A tensor with another name counts as missing.
        assert!(header.contains(name));
        let file = parts::with_header(&header.replace(name, &name.to_uppercase()), &data);
        assert!(matches!(Forest::from_bytes(&file).unwrap_err().kind(), ErrorKind::Corrupt { .. }), "{name}");
    }
}

#[test]
fn a_chain_is_restored() {
    let forest = Forest::from(models::chain(100_000));
    assert_eq!(Forest::from_bytes(&forest.to_bytes().unwrap()).unwrap(), forest);
}

#[test]
fn no_trees_are_refused() {
    let forest = Forest { trees: Vec::new(), ..models::some_forest(1) };
    assert!(forest.to_bytes().is_err());
}
