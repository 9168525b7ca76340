//! The header of a file: JSON, none of which is trusted.
//!
//! The header is read by visitors that reject whatever is not expected, so that no value is built whose size is not
//! bounded by the length of the header. Maps of `serde_json` would also accept a repeated name and keep its last value.
//! The process is aborted if the parser itself runs out of memory, so as much memory as it may take is requested from
//! the operating system before it starts.

use std::borrow::Cow;
use std::{fmt, io};

use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::FORMAT_VERSION;
use crate::criterion::Criterion;
use crate::data::{MOST_FEATURES, Outputs};
use crate::error::{Error, Purpose, Result};

const PURPOSE: Purpose = Purpose("the header of the model");
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
/// The name of the field with the release that wrote the file, and its maximum length in bytes.
const RELEASE: &str = "release";
const MOST_RELEASE_BYTES: usize = 100;
/// The maximum number of fields of an object in the entry `weald`. This crate writes at most six.
const MOST_FIELDS: usize = 16;
/// The name of the object of text entries in the header.
const METADATA: &str = "__metadata__";

/// The properties that all trees of a file have in common.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) n_features: usize,
    pub(super) outputs: Outputs,
    pub(super) criterion: Criterion,
    /// What the header tells of models of one kind alone, after the key of the kind.
    pub(super) form: Option<(Cow<'static, str>, Fields)>,
}

/// The fields of an object. They are written in the order that they have here, which must be that of their names, so
/// that the bytes are the same whether a map sorts them or keeps their order.
#[derive(Debug)]
pub(super) struct Fields(pub(super) Vec<(Cow<'static, str>, Field)>);

/// The value of a field.
#[derive(Debug)]
pub(super) enum Field {
    Text(Cow<'static, str>),
    Sizes(Sizes),
    Fields(Fields),
}

/// A number, such as that of outputs, or numbers, such as those of the classes of outputs. All that are read are below
/// 2³² − 1.
#[derive(Debug)]
pub(super) enum Sizes {
    One(usize),
    Many(Vec<u32>),
}

/// A header that has been checked.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) header: Header,
    /// The release of this crate that wrote the file; releases up to 0.1 did not tell it.
    pub(super) release: Option<String>,
    /// The text of the estimator, which is stored with the model.
    pub(super) estimator: Option<String>,
    /// The tensors, whose offsets follow one another up to the end of the file.
    pub(super) metadata: Metadata,
}

// --- the entry `weald` ---------------------------------------------------------------------------------------------

impl Fields {
    fn get(&self, name: &str) -> Option<&Field> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, field)| field)
    }

    /// Returns the text of a field, if it exists.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&str>> {
        match self.get(name) {
            None => Ok(None),
            Some(Field::Text(text)) => Ok(Some(text)),
            Some(_) => Err(Error::corrupt(format!("`{name}` is not a text"))),
        }
    }

    /// Returns the text of a field.
    pub(super) fn text(&self, name: &str) -> Result<&str> {
        self.optional_text(name)?.ok_or_else(|| missing(name))
    }

    fn sizes(&self, name: &str) -> Result<&Sizes> {
        match self.get(name) {
            None => Err(missing(name)),
            Some(Field::Sizes(sizes)) => Ok(sizes),
            Some(_) => Err(Error::corrupt(format!("`{name}` is not a number, or a list of numbers"))),
        }
    }

    /// Returns the outputs that the fields `outputs` and `sizes` describe.
    pub(super) fn outputs(&self) -> Result<Outputs> {
        decode_outputs(self.text("outputs")?, self.sizes("sizes")?)
    }

    /// Refuses other fields than these.
    pub(super) fn check_names(&self, known: &[&str]) -> Result<()> {
        match self.0.iter().find(|(name, _)| !known.contains(&&**name)) {
            None => Ok(()),
            Some((name, _)) => Err(Error::corrupt(format!("unknown field `{}` in the header", quoted(name)))),
        }
    }

    fn encode(&self) -> Map<String, Value> {
        let value = |field: &Field| match field {
            Field::Text(text) => Value::from(&**text),
            Field::Sizes(Sizes::One(size)) => Value::from(*size),
            Field::Sizes(Sizes::Many(sizes)) => Value::from(sizes.as_slice()),
            Field::Fields(fields) => fields.encode().into(),
        };
        self.0.iter().map(|(name, field)| (name.to_string(), value(field))).collect()
    }
}

fn missing(name: &str) -> Error {
    Error::corrupt(format!("missing field `{name}` in the header"))
}

/// Reads a value in which there are at most so many levels of objects.
#[derive(Clone, Copy)]
struct ReadField {
    n_levels: usize,
}

impl<'de> DeserializeSeed<'de> for ReadField {
    type Value = Field;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Field, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ReadField {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number below 2^32 - 1, or a list of such")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Field, E> {
        Ok(Field::Text(text.to_owned().into()))
    }

    fn visit_u64<E: de::Error>(self, size: u64) -> Result<Field, E> {
        below_limit(size).map(|size| Field::Sizes(Sizes::One(size as usize)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Field, A::Error> {
        let mut sizes = Vec::new();
        while let Some(size) = seq.next_element()? {
            sizes.push(below_limit(size)?);
        }
        Ok(Field::Sizes(Sizes::Many(sizes)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Field, A::Error> {
        if self.n_levels == 0 {
            return Err(de::Error::custom("an object inside the entry of a kind"));
        }
        let mut fields: Vec<(Cow<'static, str>, Field)> = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if fields.iter().any(|(known, _)| *known == name) {
                return Err(de::Error::custom(format!("duplicate field `{name}`")));
            }
            if fields.len() == MOST_FIELDS {
                return Err(de::Error::custom(format!("more than {MOST_FIELDS} fields")));
            }
            fields.push((name.into(), map.next_value_seed(ReadField { n_levels: self.n_levels - 1 })?));
        }
        Ok(Field::Fields(Fields(fields)))
    }
}

/// Returns the fields `outputs` and `sizes`.
pub(super) fn encode_outputs(outputs: &Outputs) -> [(Cow<'static, str>, Field); 2] {
    let (kind, sizes) = match outputs {
        Outputs::Real { n_outputs } => ("real", Sizes::One(*n_outputs)),
        Outputs::Classes { n_classes } => ("classes", Sizes::Many(n_classes.clone())),
        Outputs::Labels { n_labels } => ("labels", Sizes::One(*n_labels)),
    };
    [("outputs".into(), Field::Text(kind.into())), ("sizes".into(), Field::Sizes(sizes))]
}

fn below_limit<E: de::Error>(number: u64) -> Result<u32, E> {
    u32::try_from(number)
        .ok()
        .filter(|n| *n < u32::MAX)
        .ok_or_else(|| E::custom(format!("{number} is not below 2^32 - 1")))
}

/// Returns the outputs that an object describes.
fn decode_outputs(outputs: &str, sizes: &Sizes) -> Result<Outputs> {
    let outputs = match (outputs, sizes) {
        ("real", Sizes::One(n)) => Outputs::Real { n_outputs: *n },
        ("labels", Sizes::One(n)) => Outputs::Labels { n_labels: *n },
        ("classes", Sizes::Many(n_classes)) => Outputs::Classes { n_classes: PURPOSE.copied(n_classes)? },
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

impl Header {
    /// Returns what the header tells of models of the kind with this key alone.
    pub(super) fn form_of(&self, key: &str) -> Result<&Fields> {
        let form = self.form.as_ref().filter(|(known, _)| known == key).map(|(_, fields)| fields);
        form.ok_or_else(|| Error::corrupt(format!("the header has no entry `{key}`")))
    }

    /// Returns the entry `weald`.
    pub(super) fn encode(&self) -> String {
        let number = |n: usize| Field::Sizes(Sizes::One(n));
        let fields = [
            ("criterion".into(), Field::Text(self.criterion.name().into())),
            ("format_version".into(), number(FORMAT_VERSION as usize)),
            ("n_features".into(), number(self.n_features)),
        ];
        let form = self.form.iter().map(|(key, form)| (key.to_string(), Value::from(form.encode())));
        let mut entries: Map<String, Value> = form.collect();
        let [outputs, sizes] = encode_outputs(&self.outputs);
        let release = (RELEASE.into(), Field::Text(env!("CARGO_PKG_VERSION").into()));
        entries.extend(Fields(fields.into_iter().chain([outputs, release, sizes]).collect()).encode());
        Value::from(entries).to_string()
    }

    /// Returns the header of an entry, and the release that wrote it.
    fn decode(text: &str) -> Result<(Self, Option<String>)> {
        ask_for_parser(text)?;
        let broken = |e| not_read("the entry `weald`", e);
        let Version { format_version } = serde_json::from_str(text).map_err(broken)?;
        if format_version != FORMAT_VERSION {
            let must = "be 1 (newer files need a newer weald)";
            return Err(Error::invalid("format version of the model", format_version, must));
        }
        let mut parser = serde_json::Deserializer::from_str(text);
        let entry = ReadField { n_levels: 2 }.deserialize(&mut parser);
        let entry = entry.and_then(|entry| parser.end().map(|()| entry)).map_err(broken)?;
        let Field::Fields(Fields(fields)) = entry else { return Err(Error::corrupt("`weald` is not an object")) };
        let (mut forms, fields): (Vec<_>, Vec<_>) =
            fields.into_iter().partition(|(_, field)| matches!(field, Field::Fields(_)));
        let form = match (forms.pop(), forms.len()) {
            (Some((key, Field::Fields(form))), 0) => Some((key, form)),
            (None, _) => None,
            _ => return Err(Error::corrupt("the header describes models of two kinds")),
        };
        let entry = Fields(fields);
        entry.check_names(&["criterion", "format_version", "n_features", "outputs", RELEASE, "sizes"])?;
        let criterion = Criterion::from_name(entry.text("criterion")?);
        let criterion = criterion.ok_or_else(|| Error::corrupt("`criterion` is unknown"))?;
        let Sizes::One(n_features) = *entry.sizes("n_features")? else {
            return Err(Error::corrupt("`n_features` is not a number"));
        };
        if n_features > MOST_FEATURES {
            return Err(Error::corrupt(format!("the model has {n_features} features, more than {MOST_FEATURES}")));
        }
        let outputs = entry.outputs()?;
        if !criterion.fits(&outputs) {
            return Err(Error::corrupt("the criterion does not fit the outputs"));
        }
        let release = entry.optional_text(RELEASE)?;
        if release.is_some_and(|release| release.len() > MOST_RELEASE_BYTES) {
            return Err(Error::corrupt(format!("`{RELEASE}` has more than {MOST_RELEASE_BYTES} bytes")));
        }
        Ok((Header { n_features, outputs, criterion, form }, release.map(str::to_owned)))
    }
}

/// Requests as much memory from the operating system as the parser will take for a text, because a failure of the
/// parser's own requests cannot be handled. Memory that is not touched costs nothing.
fn ask_for_parser(text: &str) -> Result<()> {
    let n_bytes = if text.len() > SHORT_BYTES { text.len().saturating_mul(PARSED_BYTES) } else { 0 };
    PURPOSE.with_capacity::<u8>(n_bytes).map(drop)
}

/// Returns the beginning of a text of a file, for a message.
pub(super) fn quoted(text: &str) -> String {
    text.chars().take(MOST_QUOTED).flat_map(char::escape_debug).collect()
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
        let (header, release) = Header::decode(&entry)?;
        tensors.sort_by_key(|(_, info)| info.data_offsets);
        let metadata = Metadata::new(None, tensors).map_err(|e| not_read("the header", e))?;
        if metadata.data_len() as u64 != n_data {
            let why = format!("{n_data} bytes of arrays, the header tells of {}", metadata.data_len());
            return Err(Error::corrupt(why));
        }
        Ok(Head { header, release, estimator: texts.estimator, metadata })
    }

    /// Returns the names and the properties of all tensors.
    pub(super) fn tensors(&self) -> impl Iterator<Item = (String, &TensorInfo)> {
        self.metadata.offset_keys().into_iter().filter_map(|name| self.metadata.info(&name).map(|info| (name, info)))
    }

    /// Returns the number of elements of tensor `name`, if it exists.
    pub(super) fn length(&self, name: &str) -> Option<u64> {
        self.metadata.info(name).map(|info| info.shape.iter().product::<usize>() as u64)
    }

    /// Returns the number of elements of tensor `name`.
    pub(super) fn required_length(&self, name: &str) -> Result<u64> {
        self.length(name).ok_or_else(|| Error::corrupt(format!("there is no `{name}`")))
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
        return Err(Error::invalid(PURPOSE.0, format!("{length} bytes"), "have at most 100 000 000 bytes"));
    }
    PURPOSE.resize(&mut bytes, 8 + length, b' ')?;
    bytes[..8].copy_from_slice(&(length as u64).to_le_bytes());
    Ok(bytes)
}

/// A text that grows, and reports if there is not enough memory.
struct Text(Vec<u8>);

impl Text {
    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        PURPOSE.extend(&mut self.0, bytes.iter().copied())
    }

    /// Appends a JSON string.
    fn push_quoted(&mut self, text: &str) -> Result<()> {
        // Writing a string to memory can fail only if there is not enough memory.
        serde_json::to_writer(&mut *self, text).map_err(|_| PURPOSE.missing::<u8>(self.0.len() + text.len()))
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
