//! ARFF: the header, and the values of a row. The format is Weka's (<https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/>).

use std::borrow::Cow;

use crate::error::{ErrorKind, Purpose, Result};

use super::lines::{Line, Lines, error_of_line, is_blank, shown, split_word, trimmed, without_leading_blanks};

const PURPOSE: Purpose = Purpose("the header of a file");

/// Maximum number of categories, because their codes are float32 in X.
const MOST_CATEGORIES: usize = 1 << 24;

/// A column of the file.
#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: String,
    /// Number of the line that declares it.
    pub(super) line: usize,
    /// The categories; `None` for numerical attributes.
    pub(super) categories: Option<Categories>,
}

/// The values of a nominal attribute, in order: the position of a category is its code.
#[derive(Debug)]
pub(super) struct Categories {
    pub(super) names: Vec<String>,
    /// The codes, in increasing order of the names.
    by_name: Vec<u32>,
}

impl Categories {
    fn of(names: Vec<String>, line: &Line<'_>) -> Result<Self> {
        if names.len() > MOST_CATEGORIES {
            return Err(ErrorKind::TooMany { what: "categories of an attribute", limit: MOST_CATEGORIES }.into());
        }
        let mut by_name = PURPOSE.with_capacity(names.len())?;
        by_name.extend(0..names.len() as u32);
        by_name.sort_unstable_by_key(|&code| &names[code as usize]);
        if let Some(twice) = by_name.windows(2).find(|pair| names[pair[0] as usize] == names[pair[1] as usize]) {
            let name = shown(names[twice[0] as usize].as_bytes());
            return Err(line.error(format!("the category {name} twice"), "categories that differ"));
        }
        Ok(Categories { names, by_name })
    }

    /// Returns the code of a category.
    pub(super) fn code(&self, name: &[u8]) -> Option<u32> {
        let at = self.by_name.binary_search_by_key(&name, |&code| self.names[code as usize].as_bytes()).ok()?;
        Some(self.by_name[at])
    }
}

/// Reads the attributes; the remaining lines are data.
pub(super) fn read_header(lines: &mut Lines<'_>) -> Result<Vec<Attribute>> {
    let mut attributes = Vec::new();
    let mut has_relation = false;
    for line in lines.by_ref() {
        if is_comment(line.text) {
            continue;
        }
        let (keyword, rest) = split_word(trimmed(line.text));
        if keyword.eq_ignore_ascii_case(b"@relation") && !has_relation && attributes.is_empty() {
            has_relation = true;
        } else if keyword.eq_ignore_ascii_case(b"@attribute") {
            PURPOSE.push(&mut attributes, attribute(&line, without_leading_blanks(rest))?)?;
        } else if keyword.eq_ignore_ascii_case(b"@data") {
            if !rest.is_empty() || attributes.is_empty() {
                return Err(line.error(shown(line.text), "@data alone in its line, after the attributes"));
            }
            check_names(&attributes)?;
            return Ok(attributes);
        } else {
            return Err(
                line.error(shown(line.text), "@relation first, @attribute or @data, or a comment that begins with %")
            );
        }
    }
    Err(error_of_line(lines.next_number(), "the end of the file", "@data"))
}

/// Returns whether a line is blank or a comment.
pub(super) fn is_comment(text: &[u8]) -> bool {
    matches!(without_leading_blanks(text), [] | [b'%', ..])
}

fn check_names(attributes: &[Attribute]) -> Result<()> {
    let mut by_name: Vec<&Attribute> = PURPOSE.with_capacity(attributes.len())?;
    by_name.extend(attributes);
    by_name.sort_unstable_by_key(|attribute| (&attribute.name, attribute.line));
    match by_name.windows(2).find(|pair| pair[0].name == pair[1].name) {
        Some(twice) => {
            let got = format!("the attribute {} again", shown(twice[1].name.as_bytes()));
            Err(error_of_line(twice[1].line, got, format!("names that differ, as line {} has it", twice[0].line)))
        }
        None => Ok(()),
    }
}

/// Parses what follows `@attribute`: a name, and `numeric`, `real`, `integer` or categories between braces.
fn attribute(line: &Line<'_>, text: &[u8]) -> Result<Attribute> {
    let (name, rest) = token(line, text, |byte| is_blank(byte) || byte == b'{')?;
    if name.is_empty() && !text.starts_with(b"'") && !text.starts_with(b"\"") {
        return Err(line.error(shown(line.text), "@attribute with a name and a type"));
    }
    let rest = without_leading_blanks(rest);
    let categories = match rest.strip_prefix(b"{") {
        Some(list) => Some(categories(line, list)?),
        None if [&b"numeric"[..], b"real", b"integer"].iter().any(|kind| rest.eq_ignore_ascii_case(kind)) => None,
        None => {
            let got = format!("the type {} of the attribute {}", shown(rest), shown(&name));
            return Err(line.error(got, "numeric, real, integer or {categories}"));
        }
    };
    Ok(Attribute { name: text_of(line, &name)?, line: line.number, categories })
}

/// Parses what follows the opening brace: names separated by commas, and a closing brace at the end of the line.
fn categories(line: &Line<'_>, text: &[u8]) -> Result<Categories> {
    let mut names = Vec::new();
    let mut rest = without_leading_blanks(text);
    loop {
        let name;
        (name, rest) = value(line, rest, |byte| matches!(byte, b',' | b'}'))?;
        let Value::Known(name) = name else {
            return Err(
                line.error("the category ?, which means a missing value", "'?' between quotes, or another name")
            );
        };
        PURPOSE.push(&mut names, text_of(line, &name)?)?;
        rest = match rest {
            [b',', rest @ ..] => without_leading_blanks(rest),
            [b'}'] => return Categories::of(names, line),
            _ => return Err(line.error(shown(rest), "a comma, or a closing brace at the end of the line")),
        };
    }
}

fn text_of(line: &Line<'_>, bytes: &[u8]) -> Result<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => PURPOSE.string(text),
        Err(_) => Err(line.error(shown(bytes), "text in UTF-8")),
    }
}

/// A value of a sample.
#[derive(Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// A missing value, `?`.
    Missing,
    Known(Cow<'a, [u8]>),
}

/// Parses a value, and returns it with the rest of the text, beginning with its separator.
#[inline]
pub(super) fn value<'a>(line: &Line<'_>, text: &'a [u8], ends: impl Fn(u8) -> bool) -> Result<(Value<'a>, &'a [u8])> {
    let is_quoted = matches!(text, [b'\'' | b'"', ..]);
    let (value, rest) = token(line, text, ends)?;
    match &*value {
        b"?" if !is_quoted => Ok((Value::Missing, rest)),
        b"" if !is_quoted => Err(line.error("an empty value", "a value, or ? where it is missing")),
        _ => Ok((Value::Known(value), rest)),
    }
}

/// Returns a text between quotes, or an unquoted one up to a byte that ends it or the end of the line; and the rest of
/// the text without leading blanks.
#[inline]
fn token<'a>(line: &Line<'_>, text: &'a [u8], ends: impl Fn(u8) -> bool) -> Result<(Cow<'a, [u8]>, &'a [u8])> {
    if let [quote @ (b'\'' | b'"'), inside @ ..] = text {
        let (inside, rest) = quoted(line, inside, *quote)?;
        return Ok((inside, without_leading_blanks(rest)));
    }
    let end = text.iter().position(|&byte| ends(byte)).unwrap_or(text.len());
    Ok((Cow::Borrowed(trimmed(&text[..end])), &text[end..]))
}

/// Returns the text between quotes, of which the first has already been read, and what follows the second quote.
#[cold]
fn quoted<'a>(line: &Line<'_>, text: &'a [u8], quote: u8) -> Result<(Cow<'a, [u8]>, &'a [u8])> {
    let mut at = 0;
    // The bytes so far; `None` as long as they are those of the text.
    let mut unescaped: Option<Vec<u8>> = None;
    while let Some(&byte) = text.get(at) {
        if byte == quote {
            let inside = unescaped.map_or(Cow::Borrowed(&text[..at]), Cow::Owned);
            return Ok((inside, &text[at + 1..]));
        }
        let escaped = if byte == b'\\' { text.get(at + 1) } else { None };
        if escaped.is_some() && unescaped.is_none() {
            let mut before = PURPOSE.with_capacity(text.len())?;
            before.extend_from_slice(&text[..at]);
            unescaped = Some(before);
        }
        let Some(escaped) = escaped else {
            if let Some(found) = &mut unescaped {
                found.push(byte);
            }
            at += 1;
            continue;
        };
        let found = unescaped.get_or_insert_default();
        if let (b'u', Some(of_code)) = (escaped, text.get(at + 2..at + 6).and_then(character)) {
            found.extend_from_slice(of_code.encode_utf8(&mut [0; 4]).as_bytes());
            at += 6;
        } else {
            found.push(match escaped {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                &other => other,
            });
            at += 2;
        }
    }
    Err(line.error(format!("{} after a quote", shown(text)), format!("a second {}", char::from(quote))))
}

/// Returns the character with four hexadecimal digits as its code.
fn character(digits: &[u8]) -> Option<char> {
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}
