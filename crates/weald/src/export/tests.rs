//! What the tests in Python do not see: text of single numbers, pieces of files, limits, and failing writers.

use std::io;

use ndarray::Array2;

use super::c::{self, C};
use super::text::Hexadecimal;
use super::{About, Exported};
use crate::testing::models;
use crate::{Control, ErrorKind, LabelTreeConfig, LabelView, Matrix};

const ABOUT: About<'static> = About { estimator: "Forest", threshold: 0.5, members: "\"classes\":[]" };

#[test]
fn hexadecimal_numbers_are_those_of_c() {
    let pairs = [
        (0.0, "0x0p+0"),
        (-0.0, "-0x0p+0"),
        (1.0, "0x1p+0"),
        (-0.75, "-0x1.8p-1"),
        (0.1, "0x1.999999999999ap-4"),
        (f64::MAX, "0x1.fffffffffffffp+1023"),
        (f64::MIN_POSITIVE, "0x1p-1022"),
        (f64::from_bits(1), "0x0.0000000000001p-1022"),
        (f64::from(f32::from_bits(1)), "0x1p-149"),
    ];
    for (value, expected) in pairs {
        assert_eq!(Hexadecimal(value).to_string(), expected);
    }
}

#[test]
fn files_have_the_parts_that_flags_ask_for_and_no_directive_about_flags() {
    let forest = models::some_forest(3);
    let mut text = Vec::new();
    let model = Exported::Trees(forest.additive().unwrap(), None);
    model.to_c("MODEL_a", &ABOUT, &mut text, &Control::default()).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("/* Forest of weald: written by weald.export.to_c. */\n"));
    assert!(text.contains("void MODEL_a_predict(const float *x, double *out)\n{\n    MODEL_a_scores(x, out);\n"));
    assert!(text.contains(&format!("#define MODEL_A_N_TREES {}\n", forest.n_trees())));
    assert!(
        !["#ifdef", "#else", "#endif", "#include \"", " model_", " MODEL_N"].iter().any(|part| text.contains(part))
    );
}

#[test]
fn json_is_written_in_pieces_and_a_failing_writer_is_an_error() {
    struct Full(usize);
    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let forest = models::some_forest(4);
    let model = Exported::Trees(forest.additive().unwrap(), None);
    let (control, mut text) = (Control::default(), Vec::new());
    model.to_json(&ABOUT, &mut text, &control).unwrap();
    assert!(
        text.starts_with(
            b"{\"format\":\"weald.export\",\"version\":1,\"estimator\":\"Forest\",\"classes\":[],\"kind\""
        )
    );
    assert!(text.ends_with(b"}\n]}\n"));
    model.to_json(&ABOUT, &mut Full(text.len()), &control).unwrap();
    let failed = model.to_json(&ABOUT, &mut Full(text.len() - 1), &control).unwrap_err();
    assert!(matches!(failed.kind(), ErrorKind::File { kind: io::ErrorKind::StorageFull, .. }));
    control.stop();
    assert_eq!(*model.to_json(&ABOUT, &mut text, &control).unwrap_err().kind(), ErrorKind::Interrupted);
}

#[test]
fn what_c_has_no_room_for_is_refused() {
    let forest = models::some_forest(5);
    let (control, mut text) = (Control::default(), Vec::new());
    let model = Exported::Trees(forest.additive().unwrap(), None);
    let mut few = C::new("model", &mut text, &control);
    few.most_items = 2;
    let found = c::write(&model, &ABOUT, few).unwrap_err();
    assert!(matches!(found.kind(), ErrorKind::TooMany { limit: 2, .. }), "{found}");
    // Thirty labels, of which a search in tests may find no more than twenty.
    let x = Array2::from_shape_fn((60, 5), |(i, j)| ((i * (j + 3)) % 7) as f32);
    let y = LabelView::try_new((0..=60).collect::<Vec<_>>(), (0..60).map(|i| i % 30).collect::<Vec<_>>(), 30).unwrap();
    let trees = LabelTreeConfig::default().fit((Matrix::from(&x), y)).unwrap();
    let found = Exported::LabelTrees(&trees).to_c("model", &ABOUT, &mut text, &control).unwrap_err();
    assert!(found.to_string().contains("by which it may find 30"), "{found}");
}
