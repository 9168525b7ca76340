//! Data sets of Mulan (Tsoumakas et al., 2011): an ARFF file some of whose attributes are labels.

use crate::control::Control;
use crate::error::{Error, Purpose, Result};

use super::arff::{Attribute, Value, is_comment, read_header, value};
use super::lines::{Line, Lines, error_of_line, shown, split_word, trimmed, without_leading_blanks};
use super::number::{decimal, whole};
use super::rows::{LabelRows, Rows, SparseRows};

/// X, dense or sparse as in the file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Features {
    /// The file has dense samples.
    Dense {
        /// The values, sample after sample, `n_features` values for each; finite or NaN.
        values: Vec<f32>,
        /// Number of features.
        n_features: usize,
    },
    /// The file has sparse samples, between braces.
    Sparse(SparseRows),
}

/// The content of an ARFF file, divided into features and labels.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Mulan {
    /// The features: numbers, or codes of categories; NaN for missing values.
    pub x: Features,
    /// The labels.
    pub y: LabelRows,
    /// The names of the features.
    pub feature_names: Vec<String>,
    /// The names of the labels.
    pub label_names: Vec<String>,
    /// For each feature, the names of its categories in the order of their codes; `None` for numerical features.
    pub categories: Vec<Option<Vec<String>>>,
}

/// How an attribute is used.
#[derive(Clone, Copy)]
enum Column {
    Feature(u32),
    Label(u32),
}

const PURPOSE: Purpose = Purpose("the rows of a file");

/// Reads an ARFF file whose attributes with the names `labels` are labels. Features and labels keep the order of the
/// file.
///
/// Attributes are `numeric`, `real`, `integer` or categorical; labels have the values 0 and 1, as numbers or as
/// categories. Samples are all dense or all sparse (between braces); `?` is a missing value, which is only allowed for
/// features. In a sparse sample, an absent value is 0 or the first category. Keywords may have upper or lower case;
/// lines that begin with `%` are comments. Names and values between quotes may contain any character, with a backslash
/// before quotes and for `\n`, `\r`, `\t` and `\uXXXX`.
///
/// # Errors
/// Returns [`crate::ErrorKind::Line`] if the text does not have this format, [`crate::ErrorKind::Invalid`] if a label
/// is not an attribute, [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
pub fn read_mulan<S: AsRef<str>>(text: &[u8], labels: &[S], control: &Control) -> Result<Mulan> {
    let mut lines = Lines::of(text);
    let attributes = read_header(&mut lines)?;
    let columns = columns(&attributes, labels)?;
    let n_labels = columns.iter().filter(|column| matches!(column, Column::Label(_))).count();
    let mut reader = Reader {
        attributes: &attributes,
        columns: &columns,
        rows: Rows::with_room(0, 0, 0)?,
        told: PURPOSE.filled(0, attributes.len())?,
        is_sparse: None,
    };
    let mut pulse = control.pulse();
    for line in lines {
        pulse.after(line.text.len())?;
        if !is_comment(line.text) {
            reader.push(&line)?;
        }
    }
    let (mut rows, n_features) = (reader.rows, attributes.len() - n_labels);
    rows.y.n_labels = n_labels;
    rows.x.n_features = n_features;
    let is_sparse = reader.is_sparse == Some(true);
    let x = if is_sparse { Features::Sparse(rows.x) } else { Features::Dense { values: rows.x.values, n_features } };
    named(x, rows.y, attributes, &columns)
}

fn named(x: Features, y: LabelRows, attributes: Vec<Attribute>, columns: &[Column]) -> Result<Mulan> {
    let mut mulan = Mulan { x, y, feature_names: Vec::new(), label_names: Vec::new(), categories: Vec::new() };
    for (attribute, column) in attributes.into_iter().zip(columns) {
        match column {
            Column::Label(_) => PURPOSE.push(&mut mulan.label_names, attribute.name)?,
            Column::Feature(_) => {
                PURPOSE.push(&mut mulan.feature_names, attribute.name)?;
                PURPOSE.push(&mut mulan.categories, attribute.categories.map(|categories| categories.names))?;
            }
        }
    }
    Ok(mulan)
}

/// Returns how each attribute is used.
fn columns<S: AsRef<str>>(attributes: &[Attribute], labels: &[S]) -> Result<Vec<Column>> {
    let mut names: Vec<&str> = PURPOSE.with_capacity(labels.len())?;
    names.extend(labels.iter().map(AsRef::as_ref));
    names.sort_unstable();
    let (mut n_features, mut n_labels) = (0, 0);
    let mut columns = PURPOSE.with_capacity(attributes.len())?;
    let mut is_there = PURPOSE.filled(false, names.len())?;
    for attribute in attributes {
        let Ok(at) = names.binary_search(&attribute.name.as_str()) else {
            columns.push(Column::Feature(n_features));
            n_features += 1;
            continue;
        };
        is_there[at] = true;
        columns.push(Column::Label(n_labels));
        n_labels += 1;
        let holds = |categories: &[String]| categories.iter().all(|name| name == "0" || name == "1");
        if attribute.categories.as_ref().is_some_and(|categories| !holds(&categories.names)) {
            let got = format!("the label {} with other categories", shown(attribute.name.as_bytes()));
            return Err(error_of_line(attribute.line, got, "{0, 1}"));
        }
    }
    match is_there.iter().position(|is_there| !is_there) {
        Some(absent) => {
            Err(Error::invalid("label", shown(names[absent].as_bytes()), "be names of attributes, each named once"))
        }
        None => Ok(columns),
    }
}

/// The state while samples are read.
struct Reader<'a> {
    attributes: &'a [Attribute],
    columns: &'a [Column],
    rows: Rows,
    /// For each attribute, the last sparse sample that gave it a value, counted from 1.
    told: Vec<usize>,
    /// Whether samples are sparse; `None` before the first sample.
    is_sparse: Option<bool>,
}

impl Reader<'_> {
    fn push(&mut self, line: &Line<'_>) -> Result<()> {
        let text = trimmed(line.text);
        let inside = text.strip_prefix(b"{");
        let is_sparse = *self.is_sparse.get_or_insert(inside.is_some());
        if is_sparse != inside.is_some() {
            let kinds = ["a dense row", "a sparse row"];
            let (got, expected) = (kinds[usize::from(!is_sparse)], kinds[usize::from(is_sparse)]);
            return Err(line.error(got, format!("{expected} as those before")));
        }
        match inside {
            Some(inside) => self.push_sparse(line, inside),
            None => self.push_dense(line, text),
        }
    }

    fn push_dense(&mut self, line: &Line<'_>, text: &[u8]) -> Result<()> {
        let mut rest = text;
        let n_attributes = self.attributes.len();
        for at in 0..n_attributes {
            let found;
            (found, rest) = value(line, rest, |byte| byte == b',')?;
            if let Some(value) = self.take(line, at, &found)? {
                PURPOSE.push(&mut self.rows.x.values, value)?;
            }
            rest = match rest {
                [b',', rest @ ..] if at + 1 < n_attributes => without_leading_blanks(rest),
                [] if at + 1 == n_attributes => rest,
                [] => return Err(line.error(format!("{} values", at + 1), format!("{n_attributes}, one an attribute"))),
                _ => return Err(line.error(shown(rest), after(at, n_attributes))),
            };
        }
        self.rows.end_labels(line)
    }

    fn push_sparse(&mut self, line: &Line<'_>, text: &[u8]) -> Result<()> {
        self.check_absent_labels(line)?;
        let row = self.rows.len() + 1;
        let mut rest = without_leading_blanks(text);
        let mut goes_on = !rest.starts_with(b"}");
        while goes_on {
            rest = self.take_pair(line, rest, row)?;
            goes_on = rest.starts_with(b",");
            if goes_on {
                rest = without_leading_blanks(&rest[1..]);
            }
        }
        if rest != b"}" {
            return Err(line.error(shown(rest), "a comma, or a closing brace at the end of the line"));
        }
        self.rows.end_row(line)
    }

    /// Reads the index of an attribute and its value, and returns the rest of the text.
    fn take_pair<'t>(&mut self, line: &Line<'_>, text: &'t [u8], row: usize) -> Result<&'t [u8]> {
        let (word, rest) = split_word(text);
        let known = whole(word).and_then(|index| usize::try_from(index).ok());
        let Some(at) = known.filter(|&index| index < self.attributes.len()) else {
            let last = self.attributes.len() - 1;
            let expected =
                format!("the number of an attribute from 0 to {last}, a blank and its value, or a closing brace");
            return Err(line.error(shown(word), expected));
        };
        if std::mem::replace(&mut self.told[at], row) == row {
            return Err(line.error(format!("the attribute {at} twice"), "each attribute once in a row"));
        }
        let (found, rest) = value(line, without_leading_blanks(rest), |byte| matches!(byte, b',' | b'}'))?;
        if let (Some(value), Column::Feature(feature)) = (self.take(line, at, &found)?, self.columns[at]) {
            self.rows.push_entry(feature, value)?;
        }
        Ok(rest)
    }

    /// Returns an error if there is a label that is 1 where it is absent: it would be present in nearly every sparse
    /// sample.
    fn check_absent_labels(&self, line: &Line<'_>) -> Result<()> {
        if self.rows.len() > 0 {
            return Ok(());
        }
        let starts_with_one = |attribute: &Attribute| {
            attribute.categories.as_ref().is_some_and(|categories| categories.names.first().is_some_and(|n| n == "1"))
        };
        let mut labels = self.attributes.iter().zip(self.columns).filter(|(_, c)| matches!(c, Column::Label(_)));
        match labels.find(|(attribute, _)| starts_with_one(attribute)) {
            Some((attribute, _)) => {
                let name = shown(attribute.name.as_bytes());
                let got = format!("a sparse row, where the label {name}, with the categories {{1, 0}}, is 1 if absent");
                Err(line.error(got, "labels with the categories {0, 1}"))
            }
            None => Ok(()),
        }
    }

    /// Pushes a label, or returns the value of a feature.
    #[inline]
    fn take(&mut self, line: &Line<'_>, at: usize, found: &Value<'_>) -> Result<Option<f32>> {
        let attribute = &self.attributes[at];
        let value = match (found, &attribute.categories) {
            (Value::Missing, _) => Some(f32::NAN),
            (Value::Known(text), Some(categories)) => categories.code(text).map(|code| match self.columns[at] {
                Column::Feature(_) => code as f32,
                // The name of the category, not its code, determines the value of the label.
                Column::Label(_) => f32::from(u8::from(categories.names[code as usize] == "1")),
            }),
            (Value::Known(text), None) => decimal(text),
        };
        match (self.columns[at], value) {
            (Column::Feature(_), Some(value)) => return Ok(Some(value)),
            (Column::Label(label), Some(1.0)) => self.rows.push_label(label)?,
            (Column::Label(_), Some(0.0)) => {}
            _ => return Err(unfit(line, attribute, self.columns[at], found)),
        }
        Ok(None)
    }
}

/// Returns what is expected after the value of an attribute.
fn after(at: usize, n_attributes: usize) -> String {
    let place = if at + 1 < n_attributes { "a comma" } else { "the end of the line" };
    format!("{place} after the value {} of {n_attributes}", at + 1)
}

#[cold]
fn unfit(line: &Line<'_>, attribute: &Attribute, column: Column, found: &Value<'_>) -> Error {
    let value = match found {
        Value::Missing => "?".to_owned(),
        Value::Known(text) => shown(text),
    };
    let expected = match (column, &attribute.categories) {
        (Column::Label(_), _) => "0 or 1",
        (_, Some(_)) => "one of its categories, or ?",
        (_, None) => "a number that float32 holds, or ?",
    };
    line.error(format!("the value {value} of {}", shown(attribute.name.as_bytes())), expected)
}
