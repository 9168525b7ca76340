//! Each folder of the crate stands on a floor and imports from those below alone.
//!
//! Reads the source text: every path that begins with `crate::`, outside of comments and of tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up. Modules of one floor do not know each other.
const FLOORS: &[&[&str]] = &[
    &["error", "setters"],
    &["rng", "pool", "exact", "cholesky"],
    &["control"],
    &["rounds"],
    &["data"],
    &["criterion", "loss", "label_files"],
    &["partition"],
    &["split"],
    &["projection"],
    &["tree"],
    &["model"],
    &["forest"],
    &["boost", "centroid"],
    &["compress"],
    &["model_file"],
];

/// May name every floor, and no floor names them: the face, tests, and what benchmarks time.
const OUTSIDE: &[&str] = &["lib", "testing", "bench"];

fn floor_of(module: &str) -> usize {
    let at = FLOORS.iter().position(|floor| floor.contains(&module));
    at.unwrap_or_else(|| panic!("`{module}` is on no floor: give it one in {}", file!()))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// Modules of the crate that the source names, outside of comments and of what is compiled for tests alone.
fn named_modules(source: &str) -> BTreeSet<String> {
    let code: Vec<&str> = source
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let code = code.join("\n");
    let after = code.split("crate::").skip(1);
    let name = |rest: &str| rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>();
    after.map(name).filter(|name| !name.is_empty()).collect()
}

/// Imports of one module's source that lead up or sideways.
fn upward(module: &str, source: &str) -> Vec<String> {
    let floor = floor_of(module);
    let other = |name: &String| name != module && !OUTSIDE.contains(&name.as_str());
    named_modules(source).into_iter().filter(other).filter(|name| floor_of(name) >= floor).collect()
}

#[test]
fn imports_go_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut faults = Vec::new();
    let mut n_checked = 0;
    for file in files {
        let inside = file.strip_prefix(&root).expect("below the root").with_extension("");
        let parts: Vec<&str> = inside.iter().map(|part| part.to_str().expect("a name in UTF-8")).collect();
        if OUTSIDE.contains(&parts[0]) || parts.contains(&"tests") {
            continue;
        }
        let source = fs::read_to_string(&file).expect("a source");
        faults.extend(upward(parts[0], &source).iter().map(|name| format!("{} names crate::{name}", inside.display())));
        n_checked += 1;
    }
    assert!(n_checked > 100, "only {n_checked} sources were found");
    assert!(faults.is_empty(), "these imports do not go down:\n{}", faults.join("\n"));
}

#[test]
fn an_import_that_goes_up_or_sideways_is_found() {
    assert_eq!(upward("data", "use crate::error::Result;\nuse crate::tree::Tree;"), ["tree"]);
    assert_eq!(upward("criterion", "fn f() { crate::loss::f() }"), ["loss"]);
    assert!(upward("data", "//! See [`crate::tree`].\nuse crate::error::Result;").is_empty());
    assert!(upward("data", "fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::tree::Tree;\n}").is_empty());
}
