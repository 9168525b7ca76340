//! Runs the fuzz targets on stored inputs, which are those that once failed and valid ones. `cargo test -p weald
//! --test fuzz_regressions -- --ignored` writes the valid ones to `fuzz/corpus`, as seeds of a fuzzer.

#![allow(clippy::print_stdout)] // the name of an input is shown if it fails

#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::{Path, PathBuf};

type Target = fn(&[u8]);

const TARGETS: [(&str, Target); 4] = [
    ("model_file", targets::model_file),
    ("sparse", targets::sparse),
    ("predict", targets::predict),
    ("label_files", targets::label_files),
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(name)
}

#[test]
fn stored_inputs_do_not_fail() {
    for (name, target) in TARGETS {
        let inputs: Vec<_> =
            fs::read_dir(folder("regressions").join(name)).unwrap().map(|f| f.unwrap().path()).collect();
        assert!(!inputs.is_empty(), "{name} has no input");
        for input in inputs {
            println!("{}", input.display()); // shown if the target panics on this input
            target(&fs::read(input).unwrap());
        }
    }
}

#[test]
fn seeds_do_not_fail() {
    for (target, name, bytes) in targets::seeds().unwrap() {
        println!("{target}: {name}, {} bytes", bytes.len());
        TARGETS.iter().find(|(of, _)| *of == target).unwrap().1(&bytes);
    }
}

/// Every model file is truncated at many positions, and bytes at these positions are changed.
#[test]
fn damaged_seeds_do_not_fail() {
    for (_, _, bytes) in targets::seeds().unwrap().iter().filter(|(target, ..)| *target == "model_file") {
        for at in (0..bytes.len()).step_by(37) {
            targets::model_file(&bytes[..at]);
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            targets::model_file(&flipped);
        }
    }
}

#[test]
#[ignore = "writes files for a fuzzer"]
fn write_seeds() {
    for (target, name, bytes) in targets::seeds().unwrap() {
        let corpus = folder("corpus").join(target);
        fs::create_dir_all(&corpus).unwrap();
        fs::write(corpus.join(name.replace(' ', "_")), bytes).unwrap();
    }
}
