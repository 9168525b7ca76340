//! Numbers as text, and a writer.

use std::fmt::{self, Write as _};
use std::io;
use std::path::PathBuf;

use crate::control::Control;
use crate::error::{Error, ErrorKind, Result};

/// Text is handed on in pieces of at least so many bytes.
const PIECE: usize = 1 << 16;

/// A number of a model.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i64),
    Single(f32),
    Double(f64),
}

macro_rules! numbers {
    ($($type:ty => $of:expr,)*) => {$(
        impl From<$type> for Number {
            fn from(value: $type) -> Self {
                $of(value)
            }
        }
    )*};
}

numbers! {
    bool => |value| Number::Int(i64::from(value)),
    u16 => |value| Number::Int(i64::from(value)),
    u32 => |value| Number::Int(i64::from(value)),
    usize => |value| Number::Int(value as i64),
    i64 => Number::Int,
    f32 => Number::Single,
    f64 => Number::Double,
}

/// Text that is written in pieces.
pub(super) struct Text<'w> {
    pub(super) piece: String,
    out: &'w mut dyn io::Write,
    control: &'w Control,
}

impl<'w> Text<'w> {
    pub(super) fn new(out: &'w mut dyn io::Write, control: &'w Control) -> Self {
        Text { piece: String::new(), out, control }
    }

    pub(super) fn put(&mut self, text: fmt::Arguments<'_>) -> Result<()> {
        let _ = self.piece.write_fmt(text);
        if self.piece.len() < PIECE { Ok(()) } else { self.flush() }
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.control.check()?;
        self.out.write_all(self.piece.as_bytes()).map_err(failed)?;
        self.piece.clear();
        Ok(())
    }

    /// Writes a number with all its digits, as JSON and C read it.
    pub(super) fn decimal(&mut self, number: Number) -> Result<()> {
        match number {
            Number::Int(value) => self.put(format_args!("{value}")),
            // Readers have no other floats than float64.
            Number::Single(value) => self.decimal(Number::Double(value.into())),
            Number::Double(value) => self.put(format_args!("{:?}", finite(value)?)),
        }
    }

    /// Writes an item of a table in C: a number, or a struct of several; returns its width.
    pub(super) fn item(&mut self, row: &[Number]) -> Result<usize> {
        let start = self.piece.len();
        let (open, close) = if row.len() == 1 { ("", "") } else { ("{", "}") };
        let _ = write!(self.piece, " {open}");
        for (i, &number) in row.iter().enumerate() {
            self.piece += if i == 0 { "" } else { "," };
            self.hexadecimal(number)?;
        }
        let _ = write!(self.piece, "{close},");
        let width = self.piece.len() - start;
        self.put(format_args!(""))?;
        Ok(width)
    }

    /// Writes a number as C reads it without rounding, and with its type.
    fn hexadecimal(&mut self, number: Number) -> Result<()> {
        match number {
            Number::Int(value) => write!(self.piece, "{value}"),
            Number::Single(value) => write!(self.piece, "{}f", Hexadecimal(finite(value.into())?)),
            Number::Double(value) => write!(self.piece, "{}", Hexadecimal(finite(value)?)),
        }
        .map_err(|_| io::Error::from(io::ErrorKind::Other))
        .map_err(failed)
    }
}

fn failed(error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::OutOfMemory {
        return ErrorKind::OutOfMemory { what: "the text of a model", bytes: 0 }.into();
    }
    let (kind, code, message) = (error.kind(), error.raw_os_error(), error.to_string());
    Error::from(ErrorKind::File { path: PathBuf::from("the export of a model"), kind, code, message }).caused_by(error)
}

/// Returns a number that is finite: the formats have no other.
fn finite(value: f64) -> Result<f64> {
    if value.is_finite() { Ok(value) } else { Err(Error::invalid("the numbers of a model", value, "be finite")) }
}

/// A finite number in C99's notation without rounding.
pub(super) struct Hexadecimal(pub(super) f64);

impl fmt::Display for Hexadecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FRACTION: u32 = 52;
        let bits = self.0.to_bits();
        let (biased, fraction) = ((bits >> FRACTION & 0x7ff) as i32, bits & ((1 << FRACTION) - 1));
        let (lead, exponent) = match (biased, fraction) {
            (0, 0) => (0, 0),
            (0, _) => (0, -1022),
            _ => (1, biased - 1023),
        };
        f.write_str(if self.0.is_sign_negative() { "-" } else { "" })?;
        write!(f, "0x{lead}")?;
        if fraction != 0 {
            let dropped = fraction.trailing_zeros() / 4;
            write!(f, ".{:0width$x}", fraction >> (4 * dropped), width = (FRACTION / 4 - dropped) as usize)?;
        }
        write!(f, "p{exponent:+}")
    }
}
