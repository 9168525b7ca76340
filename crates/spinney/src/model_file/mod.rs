//! Forests as bytes: one safetensors file, readable without this crate.
//!
//! Nothing is stored that follows from the rest: in pre-order the leaf marks alone tell which node is whose child, and the
//! statistics of splits are sums over their leaves. Numbers go in the narrowest type that holds all of them exactly.
//! The same model gives the same bytes; loading what was saved gives an equal model. Loading runs no code and proves
//! every tree before use: on any input it ends with a valid forest or an error.
//!
//! All trees lie one after the other in the same few tensors:
//!
//! | tensor | length | what |
//! |---|---|---|
//! | `n_nodes` | trees | nodes of each tree |
//! | `features` | nodes | feature tested, or the largest number of the type in leaves; pre-order |
//! | `thresholds` | splits | `x[feature] <= threshold` goes left |
//! | `split_impurity`, `leaf_impurity` | splits, leaves | impurity; `leaf_impurity` is absent when all are zero |
//! | `n_node_samples` | leaves or nodes | distinct samples; per node only if splits are not the sums of their leaves |
//! | `weights` | leaves or nodes | total weight, likewise; absent when equal to `n_node_samples`, in trees of rows to `row_units` |
//! | `leaf_layout` | trees | bit 0: cells are sparse; 1: cells are amounts of a total; 2: leaves are rows; 3, 4: means were float32, float16; 5: columns have scales |
//! | `leaf_sizes` | leaves of sparse trees | number of cells |
//! | `leaf_columns` | cells of sparse trees | columns, rising in each leaf |
//! | `leaf_amounts` | cells | amounts, or means |
//! | `leaf_scales` | columns of trees that have some | factors of amounts, powers of two |
//! | `leaf_totals` | leaves with totals | divisor of amounts; absent when equal to the leaves' weights; not of trees of rows |
//!
//! Numbers of a few bits each lie one after the other without gaps, the lowest bit first, in tensors of bytes. Leaves that are
//! rows have as many of them as `n_node_samples` says, and the sum of their units as total:
//!
//! | tensor | length | what |
//! |---|---|---|
//! | `row_ids` | rows of all leaves | rows of the tree's set, rising in each leaf; each takes the bits that the largest set asks for |
//! | `row_units` | rows of all leaves | weight of each in units; absent when all are 1, and when they are told by |
//! | `row_ends` | units of all rows | a bit for each unit, 1 for the last of its row; where there are few |
//! | `row_set` | trees of rows | their set of rows; absent when there is one |
//! | `set_rows` | sets | rows of each set |
//! | `set_layout` | sets | bit 1: slots of classes or labels, else numbers; 3, 4, 5 as in `leaf_layout` |
//! | `set_sizes`, `set_slots` | rows of sets of slots, slots | number of slots of a row; columns of predictions that it occupies, rising, each of the bits that the width asks for |
//! | `set_values`, `set_scales` | rows × columns of sets of numbers, columns of sets that have some | y, and factors of its columns |
//!
//! The header's entry `spinney` is a JSON object: format version, outputs, criterion, number of features.
//!
//! Cost: one pass over the model; memory is that of the bytes and of the model. Not here: files (the caller has them) and
//! what an estimator adds to a forest.

mod bits;
mod boosted;
mod compressed;
mod read;
mod rows;
mod validate;
mod write;

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::boost::model::{Combine, Link};
use crate::compress::model::Link as CompressLink;
use crate::config::Criterion;
use crate::data::Outputs;
use crate::error::{Error, Result};

/// Version of the layout above. A file of a greater version is refused.
const FORMAT_VERSION: u64 = 1;
/// Name of this crate's entry among the header's metadata.
const ENTRY: &str = "spinney";
/// Bit of `leaf_layout`: only cells that differ from zero are stored.
const SPARSE: u8 = 1;
/// Bit of `leaf_layout`: cells are amounts of a total.
const COUNTS: u8 = 2;
/// Bit of `leaf_layout`: leaves are rows of y.
const ROWS: u8 = 4;
/// Bit of `leaf_layout`: means have float32 in memory.
const SINGLE: u8 = 8;
/// Bit of `leaf_layout`: means have float16 in memory.
const HALF: u8 = 16;
/// Bit of `leaf_layout`: columns have scales.
const SCALED: u8 = 32;

const CRITERIA: [(Criterion, &str); 3] =
    [(Criterion::Gini, "gini"), (Criterion::Entropy, "entropy"), (Criterion::Variance, "variance")];

/// What holds for all trees of a file.
#[derive(Clone, Debug, PartialEq)]
struct Header {
    n_features: usize,
    outputs: Outputs,
    criterion: Criterion,
    /// Of boosted models alone.
    boosting: Option<BoostHeader>,
    /// Of compressed models alone.
    compression: Option<CompressHeader>,
}

/// What makes a compressed model of trees of scores.
#[derive(Clone, Debug, PartialEq)]
struct CompressHeader {
    outputs: Outputs,
    link: CompressLink,
}

/// What makes a boosted model of trees and steps.
#[derive(Clone, Debug, PartialEq)]
struct BoostHeader {
    outputs: Outputs,
    combine: Combine,
    link: Link,
}

/// The kind of the outputs, and their sizes.
fn encode_outputs(outputs: &Outputs) -> (&'static str, Value) {
    match outputs {
        Outputs::Real { n_outputs } => ("real", Value::from(*n_outputs)),
        Outputs::Classes { n_classes } => ("classes", Value::from(n_classes.as_slice())),
        Outputs::Labels { n_labels } => ("labels", Value::from(*n_labels)),
    }
}

fn get<'o>(object: &'o Map<String, Value>, key: &str) -> Result<&'o Value> {
    object.get(key).ok_or_else(|| Error::corrupt(format!("the header has no `{key}`")))
}

fn number(value: &Value, key: &str) -> Result<usize> {
    let number = value.as_u64().filter(|n| *n < u32::MAX.into());
    number.map(|n| n as usize).ok_or_else(|| Error::corrupt(format!("`{key}` is not below 2^32 - 1")))
}

/// The outputs of which an object tells.
fn decode_outputs(object: &Map<String, Value>) -> Result<Outputs> {
    let sizes = get(object, "sizes")?;
    let outputs = match get(object, "outputs")?.as_str() {
        Some("real") => Outputs::Real { n_outputs: number(sizes, "sizes")? },
        Some("labels") => Outputs::Labels { n_labels: number(sizes, "sizes")? },
        Some("classes") => {
            let sizes = sizes.as_array().ok_or_else(|| Error::corrupt("`sizes` is no list"))?;
            let n_classes = sizes.iter().map(|k| Ok(number(k, "sizes")? as u32)).collect::<Result<_>>()?;
            Outputs::Classes { n_classes }
        }
        _ => return Err(Error::corrupt("`outputs` is unknown")),
    };
    if !(1..u32::MAX as usize).contains(&outputs.width()) {
        return Err(Error::corrupt("predictions have no columns, or 2^32 - 1 and more"));
    }
    Ok(outputs)
}

impl Header {
    /// The header's metadata: one entry, so that its order is one.
    fn encode(&self) -> HashMap<String, String> {
        let (kind, sizes) = encode_outputs(&self.outputs);
        let criterion = CRITERIA.iter().find(|(c, _)| *c == self.criterion).expect("all criteria are listed").1;
        // Keys in alphabetical order: the same bytes whether the map sorts them or keeps the order.
        let entries = [
            ("criterion", Value::from(criterion)),
            ("format_version", Value::from(FORMAT_VERSION)),
            ("n_features", Value::from(self.n_features)),
            ("outputs", Value::from(kind)),
            ("sizes", sizes),
        ];
        let boosting = self.boosting.as_ref().map(|boosting| ("boosting", boosting.encode()));
        let compression = self.compression.as_ref().map(|compression| ("compression", compression.encode()));
        let entries = boosting.into_iter().chain(compression).chain(entries);
        let object: Map<String, Value> = entries.map(|(key, value)| (key.to_owned(), value)).collect();
        HashMap::from([(ENTRY.to_owned(), Value::from(object).to_string())])
    }

    fn decode(metadata: Option<&HashMap<String, String>>) -> Result<Self> {
        let text =
            metadata.and_then(|m| m.get(ENTRY)).ok_or_else(|| Error::corrupt("the header has no entry `spinney`"))?;
        let object: Map<String, Value> =
            serde_json::from_str(text).map_err(|e| Error::corrupt(format!("the entry `spinney`: {e}")))?;
        let version =
            get(&object, "format_version")?.as_u64().ok_or_else(|| Error::corrupt("`format_version` is no number"))?;
        if version != FORMAT_VERSION {
            return Err(Error::invalid("format version of the model", version, "1 (newer files need a newer spinney)"));
        }
        let n_features = number(get(&object, "n_features")?, "n_features")?;
        let criterion = get(&object, "criterion")?.as_str();
        let criterion = CRITERIA.iter().find(|(_, name)| Some(*name) == criterion);
        let criterion = criterion.ok_or_else(|| Error::corrupt("`criterion` is unknown"))?.0;
        let outputs = decode_outputs(&object)?;
        // Variance goes with all outputs: structures may have been grown on projections of them.
        if criterion != Criterion::Variance && matches!(outputs, Outputs::Real { .. }) {
            return Err(Error::corrupt("the criterion does not fit the outputs"));
        }
        let boosting = object.get("boosting").map(BoostHeader::decode).transpose()?;
        let compression = object.get("compression").map(CompressHeader::decode).transpose()?;
        Ok(Header { n_features, outputs, criterion, boosting, compression })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::error::ErrorKind;
    use crate::forest::Forest;
    use crate::testing::grown::Problem;
    use crate::testing::models;
    use crate::tree::Precision;

    #[test]
    fn what_was_saved_comes_back_equal_and_saves_to_the_same_bytes() {
        for seed in 0..300 {
            let forest = models::some_forest(seed);
            let bytes = forest.to_bytes().unwrap();
            let loaded = Forest::from_bytes(&bytes).unwrap();
            assert_eq!(loaded, forest);
            assert_eq!(loaded.to_bytes().unwrap(), bytes);
            let rows = models::rows(seed, 10, forest.n_features);
            let x = rows.c_order.view().into();
            assert_eq!(loaded.predict(&x, &Control::default()), forest.predict(&x, &Control::default()));
        }
    }

    #[test]
    fn many_features_wide_outputs_and_statistics_that_are_no_sums_come_back() {
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

    /// Loads and uses what loads; returns whether it did.
    fn survives(bytes: &[u8]) -> bool {
        let Ok(forest) = Forest::from_bytes(bytes) else { return false };
        if forest.n_features() > 100_000 || forest.outputs().width() > 100_000 {
            return true;
        }
        let rows = models::rows(1, 8, forest.n_features());
        for x in rows.layouts() {
            let control = Control::default();
            assert!(forest.predict(&x, &control).unwrap().iter().all(|v| v.is_finite()));
            forest.predict_topk(&x, 1, &control).unwrap();
            forest.decision_path(&x, &control).unwrap();
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

    /// Models with compact leaves of every form.
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
            let merged = Forest::merge(&[&narrow[0], &narrow[1], &grown]).unwrap();
            let [narrow, narrow_rows] = narrow;
            [narrow, narrow_rows, single, rows, merged].map(|forest| forest.to_bytes().unwrap())
        })
    }

    #[test]
    fn every_flipped_byte_of_compact_leaves_is_refused_or_harmless() {
        for file in compact_files() {
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
    fn every_flipped_byte_is_refused_or_harmless() {
        for file in small_files() {
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

    /// A file whose entry `spinney` is changed by `edit`.
    fn edited(edit: impl Fn(&str) -> String) -> Vec<u8> {
        let file = small_files().nth(4).unwrap();
        let end = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
        let text = edit(std::str::from_utf8(&file[8..end]).unwrap());
        [&(text.len() as u64).to_le_bytes(), text.as_bytes(), &file[end..]].concat()
    }

    #[test]
    fn a_newer_format_says_so() {
        assert!(survives(&edited(str::to_owned)));
        let newer = edited(|text| text.replace(r#"format_version\":1"#, r#"format_version\":2"#));
        let error = Forest::from_bytes(&newer).unwrap_err();
        assert!(error.to_string().contains("newer"), "{error}");
    }

    #[test]
    fn lies_in_the_header_are_refused() {
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
    fn lies_about_rows_are_refused() {
        let problem = Problem::new(5, 1.0);
        let file = problem.with_rows(&problem.fit()).unwrap().to_bytes().unwrap();
        let end = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
        let header = std::str::from_utf8(&file[8..end]).unwrap();
        for name in ["row_ids", "set_rows", "set_layout", "set_sizes", "set_slots"] {
            // Under another name it is not there.
            assert!(header.contains(name));
            let lie = header.replace(name, &name.to_uppercase());
            let file = [&file[..8], lie.as_bytes(), &file[end..]].concat();
            assert!(matches!(Forest::from_bytes(&file).unwrap_err().kind(), ErrorKind::Corrupt { .. }), "{name}");
        }
    }

    #[test]
    fn a_chain_comes_back() {
        let forest = Forest::from(models::chain(100_000));
        assert_eq!(Forest::from_bytes(&forest.to_bytes().unwrap()).unwrap(), forest);
    }

    #[test]
    fn no_trees_are_refused() {
        let forest = Forest { trees: Vec::new(), ..models::some_forest(1) };
        assert!(forest.to_bytes().is_err());
    }
}
