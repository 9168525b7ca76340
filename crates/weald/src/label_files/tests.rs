//! Reading damaged files, and reading back written files.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use super::*;
use crate::control::Control;
use crate::data::{LabelView, SparseView};
use crate::error::{ErrorKind, Result};

fn control() -> Control {
    Control::default()
}

/// Returns the line of an error, what was found there, and what was expected.
fn refused<T: std::fmt::Debug>(found: Result<T>) -> (usize, String, String) {
    match found.unwrap_err().kind().clone() {
        ErrorKind::Line { line, got, expected } => (line, got, expected),
        other => panic!("{other:?} names no line"),
    }
}

fn check_refused<T: std::fmt::Debug>(found: Result<T>, line: usize, got: &str, expected: &str) {
    let (of_line, what_came, what_is_expected) = refused(found);
    assert!(
        of_line == line && what_came.contains(got) && what_is_expected.contains(expected),
        "line {of_line}: {what_came}, expected {what_is_expected}"
    );
}

#[test]
fn lines_that_are_no_samples_are_named() {
    for (text, line, got, expected) in [
        (&b""[..], 1, "an empty file", "n_samples n_features n_labels"),
        (b"\n", 1, "''", "three counts"),
        (b"1 2\n", 1, "'1 2'", "three counts"),
        (b"1 2 3 4\n", 1, "'1 2 3 4'", "three counts"),
        (b"1 -2 3\n", 1, "'1 -2 3'", "three counts"),
        (b"1 5000000000 3\n", 1, "5000000000 features", "4294967295"),
        (b"1 3 5000000000\n", 1, "5000000000 labels", "4294967295"),
        (b"2 3 4\n0 1:1\n", 3, "after 1 samples", "2, as line 1 says"),
        (b"1000000000000000000 3 4\n0 1:1\n\n", 4, "after 2 samples", "1000000000000000000"),
        (b"1 3 4\n0 1:1\n\n0 2:1\n", 4, "'0 2:1'", "the end of the file after 1 samples"),
        (b"1 3 4\n0 3:1\n", 2, "the feature '3'", "from 0 to 2"),
        (b"1 3 4\n4 1:1\n", 2, "the label '4'", "from 0 to 3"),
        (b"1 0 4\n0 0:1\n", 2, "the feature '0'", "0 of them"),
        (b"1 3 4\n0, 1:1\n", 2, "the label ''", "from 0 to 3"),
        (b"1 3 4\n0,-1 1:1\n", 2, "the label '-1'", "from 0 to 3"),
        (b"1 3 4\n0,1,0 1:1\n", 2, "the label 0 twice", "each label once"),
        (b"1 3 4\n0 2:1 1:1 2:3\n", 2, "the feature 2 twice", "each feature once"),
        (b"1 3 4\n0 1:one\n", 2, "the value 'one' of the feature 1", "a number"),
        (b"1 3 4\n0 1:\n", 2, "the value ''", "a number"),
        (b"1 3 4\n0 1:1e39\n", 2, "the value '1e39'", "float32"),
        (b"1 3 4\n0 1:inf\n", 2, "the value 'inf'", "float32"),
        (b"1 3 4\n0 1:1:2\n", 2, "the value '1:2'", "a number"),
        (b"1 3 4\n0 1:1 # no\n", 2, "'#'", "feature:value"),
        (b"1 3 4\n0 1:1\x00\n", 2, "the value '1\\x00'", "a number"),
        (b"1 3 4\n0 1:1\r2:2\n", 2, "the value '1\\r2:2'", "a number"),
        (b"1 3 4\n 0,1\n", 2, "'0,1'", "feature:value"),
        (b"1 3 4\n0 99999999999999999999:1\n", 2, "the feature '99999999999999999999'", "from 0 to 2"),
    ] {
        check_refused(read_xmc(text, &control()), line, got, expected);
    }
}

#[test]
fn blanks_ends_of_lines_and_the_order_within_a_line_are_free() {
    let plain = read_xmc(b"3 9 9\n1,7 2:0.5 8:nan\n 0:1\n \n", &control()).unwrap();
    assert_eq!(plain.y.ptr, [0, 2, 2, 2]);
    assert_eq!(plain.x.ptr, [0, 2, 3, 3]);
    assert!(plain.x.values[1].is_nan());
    for text in [
        &b"\xef\xbb\xbf3 9 9\r\n7,1\t8:NaN  2:.5 \r\n0:1e0\r\n\r\n"[..],
        b"  3\t9 9 \n1,7 2:+0.5 8:nan\n\t0:1.\n\n \n\t\n\r\n",
        b"3 9 9\n7,1 8:nan 2:5e-1\n 0:1\n ",
    ] {
        let other = read_xmc(text, &control()).unwrap();
        assert_eq!((&other.x.ptr, &other.x.indices, &other.y), (&plain.x.ptr, &plain.x.indices, &plain.y));
        assert_eq!((other.x.values[0], other.x.values[2]), (0.5, 1.0));
    }
}

#[test]
fn svmlight_counts_features_from_one_unless_there_is_a_zero() {
    let read = |text: &[u8], base| read_svmlight(text, None, None, base, &control());
    let indices = |text: &[u8], base| read(text, base).unwrap().x.indices;
    assert_eq!(indices(b"1 1:1 3:1\n", IndexBase::Auto), [0, 2]);
    assert_eq!(indices(b"1 1:1 3:1\n0 0:2\n", IndexBase::Auto), [1, 3, 0]);
    assert_eq!(indices(b"1 1:1 3:1\n", IndexBase::Zero), [1, 3]);
    assert_eq!(indices(b"1 1:1 3:1\n", IndexBase::One), [0, 2]);
    check_refused(read(b"1 1:1\n# of zeros\n2 0:1\n", IndexBase::One), 3, "the feature 0", "from 1");
    let data = read(b"# nothing\n\n3,1 qid:5 2:1 # 7:7\nqid:5 1:1\n1 qid:6\n", IndexBase::Auto).unwrap();
    assert_eq!((data.x.ptr, data.x.indices, data.x.n_features), (vec![0, 1, 2, 2], vec![1, 0], 2));
    assert_eq!((data.y.ptr, data.y.indices, data.y.n_labels), (vec![0, 2, 2, 3], vec![1, 3, 1], 4));
    let narrow = |n_features, base| read_svmlight(b"1 2:1\n1 4:1\n1 3:1", Some(n_features), Some(2), base, &control());
    assert_eq!(narrow(4, IndexBase::Auto).unwrap().x.n_features, 4);
    assert_eq!(narrow(9, IndexBase::Auto).unwrap().x.n_features, 9);
    check_refused(narrow(3, IndexBase::Auto), 2, "the feature 4", "one of 3 features, counted from 1");
    check_refused(narrow(4, IndexBase::Zero), 2, "the feature 4", "one of 4 features, counted from 0");
    let labels = read_svmlight(b"1 1:1\n2 1:1\n", None, Some(2), IndexBase::Auto, &control());
    check_refused(labels, 2, "the label '2'", "from 0 to 1");
    for (text, got) in
        [(&b"1.5 1:1\n"[..], "the label '1.5'"), (b"1 1:1 qid:3\n", "the feature 'qid'"), (b"-1 1:1\n", "'-1'")]
    {
        check_refused(read(text, IndexBase::Auto), 1, got, "a whole number");
    }
    let none = read(b"", IndexBase::Auto).unwrap();
    assert_eq!((none.x.ptr, none.x.n_features, none.y.n_labels), (vec![0], 0, 0));
}

const HEADER: &str = "@RELATION 'a b'\n% comment\n@attribute x REAL\n\n@Attribute 'dark \\'red\\'' {1,0}\n\
                      @attribute \"colour\\u0020x\"{red, 'dark, blue'}\n@attribute last numeric\n@DATA\n";

fn mulan(rows: &str) -> Result<Mulan> {
    read_mulan(format!("{HEADER}{rows}").as_bytes(), &["last", "dark 'red'"], &control())
}

#[test]
fn attributes_become_features_and_labels() {
    let found = mulan("1.5,1,'dark, blue',0\r\n % comment\n?, 0 , red ,1\n -2e0,1,?,1").unwrap();
    assert_eq!(found.feature_names, ["x", "colour x"]);
    assert_eq!(found.label_names, ["dark 'red'", "last"]);
    assert_eq!(found.categories, [None, Some(vec!["red".to_owned(), "dark, blue".to_owned()])]);
    assert_eq!((found.y.ptr, found.y.indices, found.y.n_labels), (vec![0, 1, 2, 4], vec![0, 1, 0, 1], 2));
    let Features::Dense { values, n_features: 2 } = found.x else { panic!("dense rows of two features") };
    assert_eq!((values[0], values[1], values[3], values[4]), (1.5, 1.0, 0.0, -2.0));
    assert!(values[2].is_nan() && values[5].is_nan());
    let text = b"@attribute a numeric\n@attribute l {0,1}\n@attribute b {x,y}\n@data\n{2 y , 1 1,0 2}\n{}\n{ 0 ? }\n{1 0, 2 x}";
    let found = read_mulan(text, &["l"], &control()).unwrap();
    let Features::Sparse(x) = found.x else { panic!("sparse rows") };
    assert_eq!((x.ptr, x.indices, x.n_features), (vec![0, 2, 2, 3, 4], vec![0, 1, 0, 1], 2));
    assert_eq!((x.values[0], x.values[1], x.values[3]), (2.0, 1.0, 0.0));
    assert_eq!((found.y.ptr, found.y.indices), (vec![0, 1, 1, 1, 1], vec![0]));
}

#[test]
fn samples_that_do_not_fit_the_attributes_are_named() {
    for (rows, got, expected) in [
        ("1,1,red", "3 values", "4, one an attribute"),
        ("1,1,red,0,1", "',1'", "the end of the line"),
        ("1,,red,0", "an empty value", "?"),
        ("one,1,red,0", "the value 'one' of 'x'", "a number"),
        ("1e39,1,red,0", "the value '1e39' of 'x'", "a number"),
        ("1,2,red,0", "the value '2' of 'dark \\'red\\''", "0 or 1"),
        ("1,1,blue,0", "the value 'blue' of 'colour x'", "one of its categories"),
        ("1,1,red,?", "the value ? of 'last'", "0 or 1"),
        ("1,1,red,0.5", "the value '0.5' of 'last'", "0 or 1"),
        ("1,1,'red,0", "'red,0' after a quote", "a second '"),
        ("1,1,'red'x,0", "'x,0'", "a comma"),
        ("{0 1}", "is 1 if absent", "{0, 1}"),
    ] {
        check_refused(
            mulan(&format!("0,0,red,0\n{rows}").replace("0,0,red,0\n{", "{")),
            if rows.starts_with('{') { 9 } else { 10 },
            got,
            expected,
        );
    }
    check_refused(mulan("1,1,red,0\n{0 1}"), 10, "a sparse row", "a dense row as those before");
    let sparse = |row: &str| {
        read_mulan(format!("@attribute a real\n@attribute b real\n@data\n{{}}\n{row}").as_bytes(), &["b"], &control())
    };
    for (row, got, expected) in [
        ("{2 1}", "'2'", "from 0 to 1"),
        ("{0 1", "''", "a closing brace at the end"),
        ("{", "''", "a closing brace"),
        ("{0 1} x", "'} x'", "a closing brace at the end"),
        ("{0 1, 0 2}", "the attribute 0 twice", "once"),
        ("{1 0, 1 1}", "the attribute 1 twice", "once"),
        ("{0 1,}", "'}'", "from 0 to 1"),
        ("{0}", "'0}'", "a blank and its value"),
        ("1,1", "a dense row", "a sparse row"),
    ] {
        check_refused(sparse(row), 5, got, expected);
    }
}

#[test]
fn headers_that_are_none_are_named() {
    for (text, line, got, expected) in [
        ("", 1, "the end of the file", "@data"),
        ("@attribute a real\n", 2, "the end of the file", "@data"),
        ("@data\n", 1, "'@data'", "after the attributes"),
        ("1,2\n", 1, "'1,2'", "@relation first"),
        ("@attribute a real\n@relation x\n", 2, "'@relation x'", "@relation first"),
        ("@attribute a string\n", 1, "the type 'string' of the attribute 'a'", "numeric, real, integer"),
        ("@attribute a date 'yyyy'\n", 1, "the type", "numeric, real, integer"),
        ("@attribute\n", 1, "'@attribute'", "a name and a type"),
        ("@attribute a\n", 1, "the type ''", "numeric"),
        ("@attribute a {x, y\n", 1, "''", "a closing brace"),
        ("@attribute a {x, y} z\n", 1, "'} z'", "a closing brace at the end"),
        ("@attribute a {}\n", 1, "an empty value", "a value"),
        ("@attribute a {x, ?}\n", 1, "the category ?", "between quotes"),
        ("@attribute a {x, y, x}\n", 1, "the category 'x' twice", "differ"),
        ("@attribute a real\n@attribute b real\n@attribute 'a' real\n@data\n", 3, "the attribute 'a' again", "line 1"),
        ("@attribute l {a, b}\n@data\n", 1, "the label 'l' with other categories", "{0, 1}"),
        ("@attribute 'a real\n@data\n", 1, "after a quote", "a second '"),
    ] {
        check_refused(read_mulan(text.as_bytes(), &["l"], &control()), line, got, expected);
    }
    check_refused(read_mulan(b"@attribute \xff real\n@data\n", &[""; 0], &control()), 1, "\\xff", "UTF-8");
    for labels in [&["b"][..], &["a", "a"]] {
        let error = read_mulan(b"@attribute a real\n@data\n", labels, &control()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Invalid { what: "label", .. }), "{error}");
    }
}

#[test]
fn infinity_is_not_written() {
    let x = SparseView::try_new(vec![0, 1], vec![2], vec![f32::INFINITY], 3).unwrap();
    let y = LabelView::try_new(vec![0, 0], vec![], 1).unwrap();
    let error = write_xmc(&x, &y, &control()).unwrap_err();
    assert_eq!(error.to_string(), "X must have finite values or NaN, got inf at sample 0, feature 2");
    let none = LabelView::try_new(vec![0], vec![], 1).unwrap();
    assert!(matches!(write_xmc(&x, &none, &control()).unwrap_err().kind(), ErrorKind::Shape { what: "y", .. }));
}

#[test]
fn a_raised_flag_ends_the_reading() {
    let control = control();
    control.clone().stop();
    let mut text = b"100000 3 3\n".to_vec();
    (0..100_000).for_each(|_| text.extend_from_slice(b"0 1:1\n"));
    assert_eq!(*read_xmc(&text, &control).unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(
        *read_svmlight(&text[11..], None, None, IndexBase::Auto, &control).unwrap_err().kind(),
        ErrorKind::Interrupted
    );
}

/// The labels and the entries of a sample.
type Row = (Vec<u32>, Vec<(u32, f32)>);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let value = any::<u32>().prop_map(f32::from_bits).prop_filter("finite or NaN", |value| !value.is_infinite());
    let row = (btree_set(0u32..5, 0..4), btree_map(0u32..2000, value, 0..5));
    vec(row.prop_map(|(labels, entries)| (labels.into_iter().collect(), entries.into_iter().collect())), 0..8)
}

/// Generates texts from parts of the formats, so that they are almost valid.
fn nearly_right() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "\n",
        "\n",
        " ",
        " ",
        ",",
        ":",
        "1",
        "0",
        "2",
        "9",
        "1:1",
        "0,1",
        ".",
        "-",
        "e",
        "nan",
        "inf",
        "\r\n",
        "\t",
        "#",
        "qid:",
        "%",
        "@relation r\n",
        "@attribute a {0,1}\n",
        "@attribute 'b c' {1,0}\n",
        "@attribute d real\n",
        "@attribute ",
        "@data\n",
        "{",
        "}",
        "{0 1}",
        "?",
        "'",
        "\"",
        "\\",
        "\\u00e9",
        "a",
        "\u{0}",
        "\u{feff}",
        "\u{e9}",
        "4294967295",
        "99999999999999999999",
    ];
    let right = ["2 9 9\n", "@attribute a {0,1}\n@attribute d real\n@attribute e {x,'y z'}\n@data\n", ""];
    (prop::sample::select(right.to_vec()), vec(prop::sample::select(pieces.to_vec()), 0..40))
        .prop_map(|(start, pieces)| [start.as_bytes(), pieces.concat().as_bytes()].concat())
}

fn read_all(text: &[u8]) {
    for data in [
        read_xmc(text, &control()),
        read_svmlight(text, None, None, IndexBase::Auto, &control()),
        read_svmlight(text, Some(3), Some(3), IndexBase::One, &control()),
    ]
    .into_iter()
    .flatten()
    {
        let x = SparseView::try_new(data.x.ptr, data.x.indices, data.x.values, data.x.n_features).unwrap();
        let y = LabelView::try_new(data.y.ptr, data.y.indices, data.y.n_labels).unwrap();
        assert_eq!(x.n_major(), y.n_samples());
    }
    for labels in [&["a"][..], &["a", "b c"], &[]] {
        let Ok(found) = read_mulan(text, labels, &control()) else { continue };
        let y = LabelView::try_new(found.y.ptr, found.y.indices, labels.len()).unwrap();
        match found.x {
            Features::Dense { values, n_features } => assert_eq!(values.len(), n_features * y.n_samples()),
            Features::Sparse(x) => {
                let x = SparseView::try_new(x.ptr, x.indices, x.values, found.feature_names.len()).unwrap();
                assert_eq!(x.n_major(), y.n_samples());
            }
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(rows in rows()) {
        let (mut x, mut y) = ((vec![0], Vec::new(), Vec::new()), (vec![0], Vec::new()));
        for (labels, entries) in &rows {
            y.1.extend(labels);
            y.0.push(y.1.len());
            entries.iter().for_each(|&(feature, value)| {
                x.1.push(feature);
                x.2.push(value);
            });
            x.0.push(x.1.len());
        }
        let view = SparseView::try_new(x.0.clone(), x.1.clone(), x.2.clone(), 2000).unwrap();
        let labels = LabelView::try_new(y.0.clone(), y.1.clone(), 5).unwrap();
        let text = write_xmc(&view, &labels, &control()).unwrap();
        prop_assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count(), rows.len() + 1);
        let found = read_xmc(&text, &control()).unwrap();
        prop_assert_eq!((found.x.ptr, found.x.indices, found.x.n_features), (x.0, x.1, 2000));
        prop_assert_eq!((found.y.ptr, found.y.indices, found.y.n_labels), (y.0, y.1, 5));
        let bits = |values: Vec<f32>| values.into_iter().map(|v| if v.is_nan() { None } else { Some(v.to_bits()) });
        prop_assert!(bits(found.x.values).eq(bits(x.2)));
    }

    #[test]
    fn no_bytes_panic(text in vec(any::<u8>(), 0..200)) {
        read_all(&text);
    }

    #[test]
    fn no_text_that_is_nearly_right_panics(text in nearly_right()) {
        read_all(&text);
    }
}
