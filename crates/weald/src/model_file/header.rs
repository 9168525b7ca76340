//! The header of a file: JSON, none of which is trusted.
//!
//! The header is read by visitors that reject whatever is not expected, so that no value is built whose size is not
//! bounded by the length of the header. Maps of `serde_json` would also accept a repeated name and keep its last value.
//! The process is aborted if the parser itself runs out of memory, so as much memory as it may take is requested from
//! the operating system before it starts.

use std::{fmt, io};

use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::boosted::{BoostEntry, BoostHeader};
use super::centroid::CentroidEntry;
use super::compressed::CompressEntry;
use super::extra;
use super::scores::ScoreMeaning;
use super::{FORMAT_VERSION, Kind};
use crate::centroid::CentroidPrecision;
use crate::criterion::Criterion;
use crate::data::{MOST_FEATURES, Outputs};
use crate::error::{Error, Result, out_of_memory, try_extend, try_resize, try_with_capacity};

const WHAT: &str = "the header of the model";
/// The maximum length of a header, which is the limit of the safetensors format.
pub(super) const MOST_HEADER_BYTES: u64 = 100_000_000;
/// The maximum number of tensors of a file. This crate writes a few tens.
pub(super) const MOST_TENSORS: usize = 4096;
/// The maximum number of dimensions of an array, which is numpy's limit before version 2.
pub(super) const MOST_DIMENSIONS: usize = 32;
/// An upper bound on the bytes that the parser takes for each byte of the text, in addition to the text itself.
///
/// A string takes one byte per byte for what has been read, and three while the buffer of a string with escapes grows
/// to twice its size. In an invalid text it takes two for this buffer, and three for a growing message that quotes the
/// string. Sizes in the entry `weald` take four bytes for two bytes of text, and three times as many while their
/// vector grows to twice its size. A tensor of 32 dimensions takes 542 bytes for 114 bytes of text, a tensor of one
/// dimension 318 bytes for 52, each plus twice its name. The rest is for memory that has been freed and is too small to
/// be used again.
const PARSED_BYTES: usize = 7;
/// Texts up to this length are parsed without the request, because a few kilobytes are always available.
const SHORT_BYTES: usize = 16 << 10;
/// The maximum length, in characters, of a quotation from a file in a message.
const MOST_QUOTED: usize = 200;
/// The name of the object of text entries in the header.
const METADATA: &str = "__metadata__";

/// The properties that all trees of a file have in common.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    pub(super) n_features: usize,
    pub(super) outputs: Outputs,
    pub(super) criterion: Criterion,
    /// How the model uses the trees.
    pub(super) form: Form,
}

/// How a model uses its trees.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    /// The prediction is the mean over the trees.
    Forest,
    /// The trees are stages, which add up to scores.
    Boosted(BoostHeader),
    /// The trees add up to scores.
    Compressed(ScoreMeaning),
    /// The prediction is the mean over trees of centroids, whose weights have this type.
    Centroid(CentroidPrecision),
}

/// A header that has been checked.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) header: Header,
    /// The text of the estimator, which is stored with the model.
    pub(super) estimator: Option<String>,
    /// The tensors, whose offsets follow one another up to the end of the file.
    pub(super) metadata: Metadata,
}

// --- the entry `weald` ---------------------------------------------------------------------------------------------

/// Creates a JSON object. The keys must be given in alphabetical order, so that the bytes are the same whether the map
/// sorts them or keeps their order.
pub(super) fn object(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<String, Value>>().into()
}

/// Returns the kind of the outputs, and their sizes.
pub(super) fn encode_outputs(outputs: &Outputs) -> (&'static str, Value) {
    match outputs {
        Outputs::Real { n_outputs } => ("real", Value::from(*n_outputs)),
        Outputs::Classes { n_classes } => ("classes", Value::from(n_classes.as_slice())),
        Outputs::Labels { n_labels } => ("labels", Value::from(*n_labels)),
    }
}

/// The number of outputs, or the numbers of classes of the outputs. All are below 2³² − 1.
#[derive(Debug)]
pub(super) enum Sizes {
    One(u32),
    Many(Vec<u32>),
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Sizes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number below 2^32 - 1, or a list of such")
            }

            fn visit_u64<E: de::Error>(self, size: u64) -> Result<Sizes, E> {
                below_limit(size).map(Sizes::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Sizes, A::Error> {
                let mut sizes = Vec::new();
                while let Some(size) = seq.next_element()? {
                    sizes.push(below_limit(size)?);
                }
                Ok(Sizes::Many(sizes))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

fn below_limit<E: de::Error>(number: u64) -> Result<u32, E> {
    u32::try_from(number)
        .ok()
        .filter(|n| *n < u32::MAX)
        .ok_or_else(|| E::custom(format!("{number} is not below 2^32 - 1")))
}

fn limited<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    below_limit(u64::deserialize(deserializer)?)
}

/// Returns the outputs that an object describes.
pub(super) fn decode_outputs(outputs: &str, sizes: Sizes) -> Result<Outputs> {
    let outputs = match (outputs, sizes) {
        ("real", Sizes::One(n)) => Outputs::Real { n_outputs: n as usize },
        ("labels", Sizes::One(n)) => Outputs::Labels { n_labels: n as usize },
        ("classes", Sizes::Many(n_classes)) => Outputs::Classes { n_classes },
        _ => return Err(Error::corrupt("`outputs` is unknown, or `sizes` does not fit it")),
    };
    let width = match &outputs {
        Outputs::Real { n_outputs: n } | Outputs::Labels { n_labels: n } => *n as u64,
        // The sum cannot overflow: there are fewer than 2²⁷ numbers, each below 2³².
        Outputs::Classes { n_classes } => n_classes.iter().map(|&k| u64::from(k)).sum(),
    };
    if !(1..u64::from(u32::MAX)).contains(&width) {
        return Err(Error::corrupt("predictions must have between 1 and 2^32 - 2 columns"));
    }
    Ok(outputs)
}

/// The part of the entry that is read first, because other versions may have other keys.
#[derive(Deserialize)]
struct Version {
    format_version: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderEntry {
    #[serde(rename = "format_version")]
    _format_version: IgnoredAny,
    #[serde(deserialize_with = "limited")]
    n_features: u32,
    criterion: String,
    outputs: String,
    sizes: Sizes,
    boosting: Option<BoostEntry>,
    compression: Option<CompressEntry>,
    centroids: Option<CentroidEntry>,
}

impl Header {
    /// Returns the entry `weald`.
    pub(super) fn encode(&self) -> String {
        let (kind, sizes) = encode_outputs(&self.outputs);
        let entries = [
            ("criterion", Value::from(self.criterion.name())),
            ("format_version", Value::from(FORMAT_VERSION)),
            ("n_features", Value::from(self.n_features)),
            ("outputs", Value::from(kind)),
            ("sizes", sizes),
        ];
        let form = match &self.form {
            Form::Forest => None,
            Form::Boosted(boosting) => Some(("boosting", boosting.encode())),
            Form::Compressed(scores) => Some(("compression", object(scores.encode()))),
            Form::Centroid(precision) => Some(("centroids", CentroidEntry::encode(*precision))),
        };
        object(form.into_iter().chain(entries)).to_string()
    }

    fn decode(text: &str) -> Result<Self> {
        ask_for_parser(text)?;
        let broken = |e| not_read("the entry `weald`", e);
        let Version { format_version } = serde_json::from_str(text).map_err(broken)?;
        if format_version != FORMAT_VERSION {
            let must = "be 1 (newer files need a newer weald)";
            return Err(Error::invalid("format version of the model", format_version, must));
        }
        let entry: HeaderEntry = serde_json::from_str(text).map_err(broken)?;
        let criterion = Criterion::from_name(&entry.criterion);
        let criterion = criterion.ok_or_else(|| Error::corrupt("`criterion` is unknown"))?;
        let n_features = entry.n_features as usize;
        if n_features > MOST_FEATURES {
            return Err(Error::corrupt(format!("the model has {n_features} features, more than {MOST_FEATURES}")));
        }
        let outputs = decode_outputs(&entry.outputs, entry.sizes)?;
        if !criterion.fits(&outputs) {
            return Err(Error::corrupt("the criterion does not fit the outputs"));
        }
        let form = match (entry.boosting, entry.compression, entry.centroids) {
            (None, None, None) => Form::Forest,
            (Some(boosting), None, None) => Form::Boosted(BoostHeader::decode(boosting)?),
            (None, Some(compression), None) => Form::Compressed(compression.decode()?),
            (None, None, Some(centroids)) => Form::Centroid(centroids.decode()?),
            (Some(_), Some(_), _) | (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                return Err(Error::corrupt("the header describes models of two kinds"));
            }
        };
        Ok(Header { n_features, outputs, criterion, form })
    }

    /// Returns the kind of the model.
    pub(super) fn kind(&self) -> Kind {
        match &self.form {
            Form::Forest => Kind::Forest,
            Form::Boosted(_) => Kind::Boosted,
            Form::Compressed(_) => Kind::Compressed,
            Form::Centroid(_) => Kind::Centroid,
        }
    }
}

/// Requests as much memory from the operating system as the parser will take for a text, because a failure of the
/// parser's own requests cannot be handled. Memory that is not touched costs nothing.
fn ask_for_parser(text: &str) -> Result<()> {
    let n_bytes = if text.len() > SHORT_BYTES { text.len().saturating_mul(PARSED_BYTES) } else { 0 };
    try_with_capacity::<u8>(WHAT, n_bytes).map(drop)
}

/// Returns the error of a parser. Its message may quote everything that the parser has read; a long message is cut, and
/// its source is then dropped.
fn not_read(what: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    /// Keeps the beginning of what is written to it.
    struct Beginning(String);
    impl fmt::Write for Beginning {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let left = MOST_QUOTED - self.0.chars().count();
            self.0.extend(text.chars().take(left));
            if self.0.chars().count() < MOST_QUOTED { Ok(()) } else { Err(fmt::Error) }
        }
    }
    let mut message = Beginning(String::new());
    let cut = fmt::write(&mut message, format_args!("{error}")).is_err();
    let broken = Error::corrupt(format!("{what}: {}{}", message.0, if cut { "..." } else { "" }));
    if cut { broken } else { broken.caused_by(error) }
}

// --- the JSON around it ----------------------------------------------------------------------------------------------

/// The object `__metadata__`. Unknown and repeated names are errors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Texts {
    weald: Option<String>,
    estimator: Option<String>,
}

/// The entry of one tensor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Info {
    dtype: Dtype,
    #[serde(deserialize_with = "shape")]
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

fn shape<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<usize>, D::Error> {
    struct Read;
    impl<'de> Visitor<'de> for Read {
        type Value = Vec<usize>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a shape of at most {MOST_DIMENSIONS} dimensions")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<usize>, A::Error> {
            let mut shape = Vec::new();
            while let Some(size) = seq.next_element()? {
                if shape.len() == MOST_DIMENSIONS {
                    return Err(de::Error::custom(format!("a tensor of more than {MOST_DIMENSIONS} dimensions")));
                }
                shape.push(size);
            }
            Ok(shape)
        }
    }
    deserializer.deserialize_seq(Read)
}

struct Raw {
    texts: Texts,
    tensors: Vec<(String, TensorInfo)>,
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
                let (mut texts, mut tensors) = (None, Vec::new());
                while let Some(name) = map.next_key::<String>()? {
                    if name == METADATA {
                        if texts.replace(map.next_value()?).is_some() {
                            return Err(de::Error::duplicate_field(METADATA));
                        }
                        continue;
                    }
                    if tensors.len() == MOST_TENSORS {
                        return Err(de::Error::custom(format!("more than {MOST_TENSORS} tensors")));
                    }
                    let Info { dtype, shape, data_offsets } = map.next_value()?;
                    tensors.push((name, TensorInfo { dtype, shape, data_offsets }));
                }
                let texts = texts.ok_or_else(|| de::Error::missing_field(METADATA))?;
                tensors.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
                if let Some(same) = tensors.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                    return Err(de::Error::custom(format!("two tensors have the name `{}`", same[0].0)));
                }
                Ok(Raw { texts, tensors })
            }
        }
        deserializer.deserialize_map(Read)
    }
}

impl Head {
    /// Parses and checks the header `text` of a file that has `n_data` bytes after it.
    pub(super) fn parse(text: &[u8], n_data: u64) -> Result<Self> {
        let text = std::str::from_utf8(text).map_err(|e| not_read("the header", e))?;
        ask_for_parser(text)?;
        let Raw { texts, mut tensors } = serde_json::from_str(text).map_err(|e| not_read("the header", e))?;
        let entry = texts.weald.ok_or_else(|| Error::corrupt("the header has no entry `weald`"))?;
        let header = Header::decode(&entry)?;
        tensors.iter().try_for_each(|(name, info)| check_tensor(header.kind(), name, info))?;
        tensors.sort_by_key(|(_, info)| info.data_offsets);
        let metadata = Metadata::new(None, tensors).map_err(|e| not_read("the header", e))?;
        if metadata.data_len() as u64 != n_data {
            let why = format!("{n_data} bytes of arrays, the header tells of {}", metadata.data_len());
            return Err(Error::corrupt(why));
        }
        let head = Head { header, estimator: texts.estimator, metadata };
        head.check_lengths()?;
        Ok(head)
    }

    /// Returns the number of elements of tensor `name`, if it exists.
    pub(super) fn length(&self, name: &str) -> Option<u64> {
        self.metadata.info(name).map(|info| info.shape.iter().product::<usize>() as u64)
    }

    /// Checks that the lengths of the tensors of trees are consistent, as far as this can be seen from the lengths
    /// alone.
    fn check_lengths(&self) -> Result<()> {
        if self.header.kind() == Kind::Centroid {
            return self.check_lengths_of_centroids();
        }
        let there = |name| self.length(name).ok_or_else(|| Error::corrupt(format!("there is no `{name}`")));
        let (n_trees, n_nodes) = (there("n_nodes")?, there("features")?);
        if n_nodes < n_trees || !(n_nodes - n_trees).is_multiple_of(2) {
            return Err(Error::corrupt(format!("{n_trees} trees cannot have {n_nodes} nodes")));
        }
        let n_splits = (n_nodes - n_trees) / 2;
        let n_leaves = n_nodes - n_splits;
        let n_values = n_leaves.saturating_mul(self.header.outputs.width() as u64);
        let n_cells = there("leaf_amounts")?;
        let lengths = [
            ("thresholds", n_splits, n_splits),
            ("split_impurity", n_splits, n_splits),
            ("leaf_layout", n_trees, n_trees),
            ("leaf_sizes", 0, n_leaves),
            ("leaf_columns", 0, n_cells),
            ("leaf_amounts", 0, n_values),
            ("n_node_samples", n_leaves, n_nodes),
        ];
        let optional = [
            ("leaf_impurity", n_leaves, n_leaves),
            ("leaf_scales", 0, n_trees.saturating_mul(self.header.outputs.width() as u64)),
            ("leaf_factors", 0, n_leaves),
            ("leaf_totals", 0, n_leaves),
            ("category_sizes", 0, n_splits),
            ("weights", n_leaves, n_nodes),
            ("row_set", 0, n_trees),
        ];
        let required = lengths.map(|(name, least, most)| there(name).map(|n| (name, n, least, most)));
        let optional = optional.map(|(name, least, most)| self.length(name).map(|n| Ok((name, n, least, most))));
        for found in required.into_iter().chain(optional.into_iter().flatten()) {
            let (name, n, least, most) = found?;
            // If the smallest length is not zero, the tensor has one number for each leaf, or one for each node.
            if !(least..=most).contains(&n) || least > 0 && n != least && n != most {
                let short = if n < most { "short" } else { "long" };
                return Err(Error::corrupt(format!("`{name}` is too {short} for {n_trees} trees of {n_nodes} nodes")));
            }
        }
        self.check_sets()
    }

    fn check_sets(&self) -> Result<()> {
        if self.length("set_rows") == self.length("set_layout") {
            Ok(())
        } else {
            Err(Error::corrupt("`set_rows` and `set_layout` have different lengths"))
        }
    }

    /// Like `check_lengths`, for trees of centroids.
    fn check_lengths_of_centroids(&self) -> Result<()> {
        let there = |name| self.length(name).ok_or_else(|| Error::corrupt(format!("there is no `{name}`")));
        let (n_trees, n_nodes) = (there("n_nodes")?, there("n_children")?);
        let n_tables = there("leaf_layout")?;
        let lengths = [
            ("n_children", n_trees <= n_nodes),
            ("centroid_sizes", there("centroid_sizes")? == n_nodes),
            ("centroid_bytes", there("centroid_bytes")? == n_trees),
            ("centroid_factors", self.length("centroid_factors").is_none_or(|n| n == n_nodes)),
            ("n_node_samples", there("n_node_samples")? <= n_nodes),
            ("leaf_layout", (n_trees..=n_trees.saturating_mul(2)).contains(&n_tables)),
            ("idf", self.length("idf").is_none_or(|n| n == self.header.n_features as u64)),
        ];
        if let Some((name, _)) = lengths.iter().find(|(_, fits)| !fits) {
            return Err(Error::corrupt(format!("`{name}` does not fit {n_trees} trees of {n_nodes} nodes")));
        }
        self.check_sets()
    }
}

// --- which tensors there may be --------------------------------------------------------------------------------------

const WHOLE: &[Dtype] = &[Dtype::U8, Dtype::U16, Dtype::U32];
const NUMBERS: &[Dtype] = &[Dtype::U8, Dtype::U16, Dtype::U32, Dtype::F16, Dtype::F32, Dtype::F64];

/// The tensors of trees, with the types that each may have.
const OF_TREES: [(&str, &[Dtype]); 28] = [
    ("categories", WHOLE),
    ("category_sizes", WHOLE),
    ("category_splits", &[Dtype::U8]),
    ("features", &[Dtype::U16, Dtype::U32]),
    ("leaf_amounts", NUMBERS),
    ("leaf_columns", WHOLE),
    ("leaf_factors", NUMBERS),
    ("leaf_impurity", NUMBERS),
    ("leaf_layout", &[Dtype::U8]),
    ("leaf_scales", NUMBERS),
    ("leaf_sizes", WHOLE),
    ("leaf_totals", NUMBERS),
    ("missing_sides", &[Dtype::U8]),
    ("n_node_samples", WHOLE),
    ("n_nodes", WHOLE),
    ("row_ends", &[Dtype::U8]),
    ("row_ids", &[Dtype::U8]),
    ("row_set", WHOLE),
    ("row_units", NUMBERS),
    ("set_layout", &[Dtype::U8]),
    ("set_rows", WHOLE),
    ("set_scales", NUMBERS),
    ("set_sizes", WHOLE),
    ("set_slots", &[Dtype::U8]),
    ("set_values", NUMBERS),
    ("split_impurity", NUMBERS),
    ("thresholds", &[Dtype::F32]),
    ("weights", NUMBERS),
];
const OF_BOOSTED: [(&str, &[Dtype]); 7] = [
    ("learning_rate", &[Dtype::F64]),
    ("oob_losses", NUMBERS),
    ("start", NUMBERS),
    ("step_exponents", NUMBERS),
    ("step_sizes", &[Dtype::U8, Dtype::U16, Dtype::U32, Dtype::F8_E4M3, Dtype::F16, Dtype::F32, Dtype::F64]),
    ("train_score", NUMBERS),
    ("validation_score", NUMBERS),
];
/// The tensors of [`OF_TREES`] that trees of centroids have, too.
const OF_ALL_TREES: [&str; 20] = [
    "leaf_amounts",
    "leaf_columns",
    "leaf_factors",
    "leaf_layout",
    "leaf_scales",
    "leaf_sizes",
    "leaf_totals",
    "n_node_samples",
    "n_nodes",
    "row_ends",
    "row_ids",
    "row_set",
    "row_units",
    "set_layout",
    "set_rows",
    "set_scales",
    "set_sizes",
    "set_slots",
    "set_values",
    "weights",
];
const OF_CENTROIDS: [(&str, &[Dtype]); 8] = [
    ("centroid_bytes", WHOLE),
    ("centroid_factors", &[Dtype::F32]),
    ("centroid_features", &[Dtype::U8]),
    ("centroid_rules", &[Dtype::F64]),
    ("centroid_sizes", WHOLE),
    ("centroid_weights", &[Dtype::U8, Dtype::F16]),
    ("idf", &[Dtype::F32]),
    ("n_children", WHOLE),
];
const OF_COMPRESSED: [(&str, &[Dtype]); 1] = [("l1_norm", &[Dtype::F64])];

/// Checks that a file of this `kind` may have such a tensor.
fn check_tensor(kind: Kind, name: &str, info: &TensorInfo) -> Result<()> {
    let more: &[(&str, &[Dtype])] = match kind {
        Kind::Forest => &[],
        Kind::Boosted => &OF_BOOSTED,
        Kind::Compressed => &OF_COMPRESSED,
        Kind::Centroid => &OF_CENTROIDS,
    };
    let may_be = |name: &str| kind != Kind::Centroid || OF_ALL_TREES.contains(&name);
    let of_trees = OF_TREES.iter().filter(|(known, _)| may_be(known));
    let wrong_type = || Error::corrupt(format!("`{name}` is of type {:?}", info.dtype));
    if let Some((_, types)) = of_trees.chain(more).find(|(known, _)| *known == name) {
        return match info.shape.len() {
            1 if types.contains(&info.dtype) => Ok(()),
            1 => Err(wrong_type()),
            n => Err(Error::corrupt(format!("`{name}` has {n} dimensions, not one"))),
        };
    }
    match name.strip_prefix(extra::PREFIX) {
        Some(name) if !extra::is_name(name) => Err(Error::corrupt("the name of an array of the estimator is invalid")),
        Some(_) if !extra::is_known(info.dtype) => Err(wrong_type()),
        Some(_) => Ok(()),
        None => {
            let name: String = name.chars().take(MOST_QUOTED).collect();
            Err(Error::corrupt(format!("there is a tensor `{}`, which is not known", name.escape_debug())))
        }
    }
}

// --- writing ---------------------------------------------------------------------------------------------------------

/// Returns the header for these tensors. It starts with its length, and ends with blanks, so that the data start at a
/// multiple of eight.
pub(super) fn text<'t>(
    header: &Header,
    estimator: Option<&str>,
    tensors: impl Iterator<Item = (String, &'t TensorInfo)>,
) -> Result<Vec<u8>> {
    // The text is written here, because a map would write its entries in a different order each time.
    let mut text = Text(Vec::new());
    // The space for the length, which is known only at the end.
    text.push(&[0; 8])?;
    text.push(format!("{{\"{METADATA}\":{{").as_bytes())?;
    if let Some(estimator) = estimator {
        text.push(b"\"estimator\":")?;
        text.push_quoted(estimator)?;
        text.push(b",")?;
    }
    text.push(b"\"weald\":")?;
    text.push_quoted(&header.encode())?;
    text.push(b"}")?;
    for (name, info) in tensors {
        let info = serde_json::to_string(info).expect("names and numbers are always JSON");
        text.push(b",")?;
        text.push_quoted(&name)?;
        text.push(format!(":{info}").as_bytes())?;
    }
    text.push(b"}")?;
    let Text(mut bytes) = text;
    let length = (bytes.len() - 8).next_multiple_of(8);
    if length as u64 > MOST_HEADER_BYTES {
        return Err(Error::invalid(WHAT, format!("{length} bytes"), "have at most 100 000 000 bytes"));
    }
    try_resize(WHAT, &mut bytes, 8 + length, b' ')?;
    bytes[..8].copy_from_slice(&(length as u64).to_le_bytes());
    Ok(bytes)
}

/// A text that grows, and reports if there is not enough memory.
struct Text(Vec<u8>);

impl Text {
    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        try_extend(WHAT, &mut self.0, bytes.iter().copied())
    }

    /// Appends a JSON string.
    fn push_quoted(&mut self, text: &str) -> Result<()> {
        // Writing a string to memory can fail only if there is not enough memory.
        serde_json::to_writer(&mut *self, text).map_err(|_| out_of_memory::<u8>(WHAT, self.0.len() + text.len()))
    }
}

impl io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
