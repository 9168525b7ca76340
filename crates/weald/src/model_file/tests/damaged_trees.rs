//! Trees that are not trees, and leaves that no tree can have.

use super::parts::{Parts, corrupt, parts, with};
use super::*;
use crate::model_file::inspect_bytes;
use crate::tree::leaves::{Amounts, Half};

#[test]
fn frequencies_of_classes_sum_to_one() {
    let control = Control::default();
    let why = "or those of classes do not sum to one";
    // Counts: one amount is decreased by one, so that all amounts are still below their totals.
    let mut file = parts();
    file.edit("leaf_amounts", None, |amounts| {
        let largest = (0..amounts.len()).max_by_key(|&i| amounts[i]).unwrap();
        amounts[largest] -= 1;
    });
    corrupt(&file.bytes(), why);
    // Floats: changes beyond what rounding to float16 can cause, and within it.
    let outputs = Outputs::Classes { n_classes: vec![3, 2] };
    let shape = models::Shape { n_features: 3, outputs, max_leaves: 9, unit: 1.0 };
    let grown = models::forest(1, 2, &shape);
    // Amounts take eight bytes, so that floats are narrower.
    let mut trees = grown.trees.clone();
    for tree in &mut trees {
        let mut wide = crate::Tree::clone(tree);
        wide.leaves.amounts =
            Amounts::F64((0..wide.leaves.n_stored()).map(|i| 1e8 * tree.leaves.amounts.at(i)).collect());
        wide.leaves.totals.iter_mut().flatten().for_each(|total| *total *= 1e8);
        *tree = wide.into();
    }
    let wide = Forest { trees, ..grown };
    for precision in [crate::Precision::Half, crate::Precision::Single] {
        let narrow = wide.with_precision(precision, &control).unwrap();
        assert_eq!(Forest::from_bytes(&narrow.to_bytes().unwrap()).unwrap(), narrow);
        for (change, right) in [(1.0 / 2048.0, true), (1.0 / 128.0, false), (-1.0 / 128.0, false), (-2.0, false)] {
            let mut changed = narrow.clone();
            let mut tree = crate::Tree::clone(&changed.trees[0]);
            let one = |v: f64| if v > 0.25 && v < 0.75 { v + change } else { v };
            let mut done = false;
            let mut edit = |v: f64| {
                if done || one(v) == v {
                    v
                } else {
                    done = true;
                    one(v)
                }
            };
            tree.leaves.amounts = match &tree.leaves.amounts {
                Amounts::F16(v) => {
                    Amounts::F16(v.iter().map(|&h| Half::nearest(edit(Half::decode(h.bits())))).collect())
                }
                Amounts::F32(v) => Amounts::F32(v.iter().map(|&v| edit(f64::from(v)) as f32).collect()),
                other => panic!("{other:?}"),
            };
            changed.trees[0] = tree.into();
            assert!(done);
            let mut file = Parts::new(&changed.to_bytes().unwrap());
            if !right {
                // When frequencies that are too small are written, the file says that classes were left out.
                file.edit("leaf_layout", None, |layouts| layouts.iter_mut().for_each(|layout| *layout &= !64));
                corrupt(&file.bytes(), why);
            } else {
                assert_eq!(Forest::from_bytes(&file.bytes()).unwrap(), changed);
            }
        }
    }
}

#[test]
fn stored_samples_have_one_class_of_each_output() {
    // Problems with one output of classes.
    let refused = (2..60).step_by(6).filter_map(|seed| {
        let problem = crate::testing::grown::Problem::new(seed, 1.0);
        let rows = problem.with_rows(&problem.fit()).unwrap();
        let mut file = Parts::new(&rows.to_bytes().unwrap());
        assert_eq!(Forest::from_bytes(&file.bytes()).unwrap(), rows);
        // The first sample gets the class of the second one in addition, if this class is larger, and the second one
        // gets none.
        file.edit("set_sizes", None, |sizes| {
            if let [first, second, ..] = &mut sizes[..] {
                (*first, *second) = (2, 0);
            }
        });
        Forest::from_bytes(&file.bytes()).err()
    });
    let refused: Vec<String> = refused.map(|error| error.to_string()).collect();
    assert!(refused.len() > 5);
    assert!(
        refused.iter().any(|why| why.contains("a stored sample does not have one class of each output")),
        "{refused:?}"
    );
}

/// Files do not store the indices of children: a node is a split or a leaf, in pre-order, and its children follow it. A
/// node that is its own child, the child of two splits, or the child of a later node cannot be expressed. What can be
/// wrong are marks that do not close each tree where it ends. All marks of five nodes are tried, of which two are
/// trees.
#[test]
fn invalid_children_cannot_be_expressed_and_incomplete_trees_are_refused() {
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
                let mut children: Vec<usize> =
                    splits.iter().flat_map(|&i| [i + 1, nodes[i].right() as usize]).collect();
                assert!(splits.iter().all(|&i| nodes[i].right() as usize > i + 1));
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
        corrupt(
            &with(|file| file.edit("features", None, |bytes| bytes[..2].copy_from_slice(&feature.to_le_bytes()))),
            &format!("feature {feature} is out of range: there are 3 features"),
        );
    }
}

#[test]
fn thresholds_that_are_not_finite() {
    for threshold in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(0x7F80_0001)] {
        corrupt(
            &with(|file| file.edit("thresholds", None, |bytes| bytes[..4].copy_from_slice(&threshold.to_le_bytes()))),
            "a threshold is not finite",
        );
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
                let found = forest.predict(&rows.c_order).unwrap();
                assert!(found.iter().all(|v| v.is_finite()));
            }
            Err(error) => assert!(!loads && error.to_string().contains("add up"), "{error}"),
        }
    }
}

/// Leaves have sizes and no positions, so that two leaves cannot share a cell. Sizes must add up to the number of
/// cells.
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
    // The columns of a leaf are not in increasing order.
    let mut file = Parts::new(&file);
    file.edit("leaf_columns", None, |bytes| bytes.fill(7));
    corrupt(&file.bytes(), "not in increasing order");
}

#[test]
fn lengths_that_do_not_fit_each_other() {
    for name in ["n_nodes", "features", "thresholds", "split_impurity", "leaf_layout", "leaf_amounts", "n_node_samples"]
    {
        for change in [|bytes: &mut Vec<u8>| bytes.extend([0; 8]), |bytes: &mut Vec<u8>| bytes.truncate(0)] {
            let file = with(|file| file.edit(name, None, change));
            corrupt(&file, "");
            assert!(name == "leaf_amounts" || inspect_bytes(&file).is_err(), "{name}");
        }
    }
}

#[test]
fn frequencies_of_labels_are_from_zero_to_one() {
    let shape = models::Shape { n_features: 3, outputs: Outputs::Labels { n_labels: 5 }, max_leaves: 9, unit: 1.0 };
    let file = models::forest(4, 3, &shape).to_bytes().unwrap();
    // Counts become the frequencies themselves.
    let mut edited = Parts::new(&file);
    edited.edit("leaf_layout", None, |layouts| layouts.iter_mut().for_each(|layout| *layout &= !2));
    corrupt(&edited.bytes(), "the frequencies of a leaf are not from 0 to 1");
    // The type of floats is that of the layout: values within the range are another forest, and others are refused.
    let narrow = models::forest(4, 3, &shape).with_precision(crate::Precision::Half, &Control::default()).unwrap();
    let fullest = (0..3).max_by_key(|&t| narrow.trees[t].leaves.n_stored()).unwrap();
    for (value, is_right) in [(0.0, true), (0.5, true), (1.0, true), (1.001, false), (-0.25, false), (60.0, false)] {
        let mut changed = narrow.clone();
        let mut tree = crate::Tree::clone(&changed.trees[fullest]);
        let n = tree.leaves.n_stored();
        assert!(n > 0);
        tree.leaves.amounts = match &tree.leaves.amounts {
            Amounts::F16(_) => Amounts::F16(vec![Half::nearest(value); n]),
            _ => Amounts::F64(vec![value; n]),
        };
        tree.leaves.totals = None;
        changed.trees[fullest] = tree.into();
        match Forest::from_bytes(&changed.to_bytes().unwrap()) {
            Ok(read) => assert!(is_right && read == changed, "{value}"),
            Err(error) => assert!(!is_right && error.to_string().contains("not from 0 to 1"), "{value}: {error}"),
        }
    }
}

/// Returns a file of trees of labels whose leaves share values.
fn shared() -> Vec<u8> {
    let (n, q) = (90usize, 70usize);
    let x = ndarray::Array2::from_shape_fn((n, 2), |(i, j)| (i * 37 % 91 + j * i * i % 7) as f32);
    let mask = ndarray::Array2::from_shape_fn((n, q), |(i, j)| i > 0 && (i * 31 + j * j * 17 + i * j) % 10 != 0);
    let labels = crate::testing::labels::on((n, q), |i, j| (i + j) % 3 > 0);
    let data = crate::data::Dataset::new(&x, labels).y_weight(crate::data::CellWeights::from(&mask));
    let forest = crate::ForestConfig::extra_trees(crate::Criterion::Gini).n_trees(3).fit(data).unwrap();
    assert!(forest.trees.iter().all(|tree| tree.leaves.records().is_some_and(|records| records.above.len() > 8)));
    let file = forest.to_bytes().unwrap();
    assert_eq!(Forest::from_bytes(&file).unwrap(), forest);
    file
}

#[test]
fn leaves_take_values_from_nodes_above_them() {
    let file = shared();
    let edited = |name: &str, edit: &dyn Fn(&mut Vec<u8>)| {
        let mut file = Parts::new(&file);
        file.edit(name, None, edit);
        file.bytes()
    };
    // A leaf or a node takes values from a node that is not there, or is not above it.
    corrupt(&edited("leaf_above", &|above| above[0] = 255), "a node that is not above it");
    corrupt(&edited("leaf_above", &|above| above.iter_mut().for_each(|at| *at = 9)), "a node that is not above it");
    corrupt(&edited("leaf_above", &|above| above.truncate(5)), "`leaf_above` is too short");
    corrupt(&edited("leaf_above", &|above| above.extend([0; 2])), "`leaf_above` is too long");
    // More nodes than there are, or fewer.
    corrupt(&edited("leaf_records", &|n| n[0] = 255), "values of more nodes than there are");
    corrupt(&edited("leaf_records", &|n| n[0] -= 1), "");
    corrupt(&edited("leaf_records", &|n| n.truncate(1)), "`leaf_records` is too short");
    // A record has the cells of another one, or a frequency above one.
    corrupt(&edited("leaf_sizes", &|sizes| sizes[0] += 1), "");
    corrupt(&edited("leaf_columns", &|columns| columns[0] = 70), "out of range or not in increasing order");
    corrupt(&edited("leaf_amounts", &|amounts| amounts[..8].copy_from_slice(&1.5f64.to_le_bytes())), "not from 0 to 1");
    // Amounts of a total, sums of classes and 8 bits are not shared.
    for bit in [2, 64, 128] {
        corrupt(&edited("leaf_layout", &|layouts| layouts[0] |= bit), "is unknown");
    }
    for name in ["leaf_above", "leaf_records"] {
        let mut file = Parts::new(&file);
        file.edit(name, None, Vec::clear);
        file.header.as_object_mut().unwrap().remove(name);
        corrupt(&file.bytes(), "there is no `leaf_records` or `leaf_above`");
    }
}
