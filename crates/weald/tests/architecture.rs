//! Each module of the crate has a layer, and only imports from lower layers.
//!
//! The test reads the source text: every path that begins with `crate::`, except in comments and tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The layers, from the lowest to the highest. Modules of the same layer do not import each other.
const LAYERS: &[&[&str]] = &[
    &["error", "setters", "elementary"],
    &["pool", "reuse", "vectorised"],
    &["rng", "exact", "cholesky"],
    &["control"],
    &["rounds"],
    &["data"],
    &["criterion", "folds", "loss", "label_files"],
    &["partition", "plan"],
    &["split"],
    &["projection"],
    &["tree"],
    &["model"],
    &["forest"],
    &["boost", "centroid"],
    &["compress", "linear"],
    &["label_tree"],
    &["export", "memory", "model_file"],
    &["scorer"],
];

/// Modules that may import from all layers, and from which no layer imports: the root of the crate, tests, the
/// measurements of benchmarks, and what the binding needs.
const OUTSIDE: &[&str] = &["lib", "testing", "bench", "binding"];

fn layer_of(module: &str) -> usize {
    let at = LAYERS.iter().position(|layer| layer.contains(&module));
    at.unwrap_or_else(|| panic!("`{module}` has no layer: add it to one in {}", file!()))
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

/// Returns the modules of the crate that the source names, except in comments and in code that is only compiled for
/// tests.
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

/// Returns the imports of a module from its own layer or from a higher one.
fn upward(module: &str, source: &str) -> Vec<String> {
    let layer = layer_of(module);
    let other = |name: &String| name != module && !OUTSIDE.contains(&name.as_str());
    named_modules(source).into_iter().filter(other).filter(|name| layer_of(name) >= layer).collect()
}

#[test]
fn modules_import_from_lower_layers() {
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
    assert!(faults.is_empty(), "these imports are not from lower layers:\n{}", faults.join("\n"));
}

#[test]
fn imports_from_the_same_or_a_higher_layer_are_found() {
    assert_eq!(upward("data", "use crate::error::Result;\nuse crate::tree::Tree;"), ["tree"]);
    assert_eq!(upward("criterion", "fn f() { crate::loss::f() }"), ["loss"]);
    assert!(upward("data", "//! See [`crate::tree`].\nuse crate::error::Result;").is_empty());
    assert!(upward("data", "fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::tree::Tree;\n}").is_empty());
}

/// The most files in a folder of sources: a reader takes in their names at a glance.
const MOST_FILES: usize = 20;

#[test]
fn folders_have_few_files() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of the crates");
    let mut files = Vec::new();
    sources(crates, &mut files);
    let mut n_files = BTreeMap::new();
    for file in &files {
        *n_files.entry(file.parent().expect("a folder")).or_insert(0) += 1;
    }
    assert!(n_files.len() > 20, "only {} folders were found", n_files.len());
    n_files.retain(|_, n| *n > MOST_FILES);
    assert!(n_files.is_empty(), "these folders have more than {MOST_FILES} files: {n_files:?}");
}

/// Returns the modules of model files that a module imports.
fn imports_of_model_files(source: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let imports = code.lines().filter_map(|line| {
        let line = line.strip_prefix("use ").or_else(|| line.strip_prefix("pub use "))?;
        line.strip_prefix("super::").or_else(|| line.strip_prefix("crate::model_file::"))
    });
    // `use super::{ABOVE, disk, rows};` names modules in lower case.
    let names = imports.flat_map(|import| match import.strip_prefix('{') {
        Some(several) => several.split(',').collect(),
        None => vec![import],
    });
    let name = |import: &str| import.trim().chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
    names.map(name).filter(|name: &String| !name.is_empty()).collect()
}

#[test]
fn modules_of_model_files_have_no_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/model_file");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut left: Vec<(String, BTreeSet<String>)> = Vec::new();
    for file in files.iter().filter(|file| !file.components().any(|part| part.as_os_str() == "tests")) {
        let inside = file.strip_prefix(&root).expect("below the root").with_extension("");
        let stem = |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).expect("a name in UTF-8").to_owned();
        let name = match stem(&inside) {
            name if name == "mod" => inside.parent().filter(|folder| folder.file_stem().is_some()).map(stem),
            name => Some(name),
        };
        // The root of the folder declares the modules.
        if let Some(name) = name {
            left.push((name, imports_of_model_files(&fs::read_to_string(file).expect("a source"))));
        }
    }
    assert!(left.len() > 20, "only {} modules were found", left.len());
    // The kinds are files of one module, which declares them.
    for (name, imports) in &mut left {
        if name == "kinds" {
            imports.extend(["boosted", "centroid", "compressed", "forest", "label_tree", "linear"].map(String::from));
        }
    }
    while !left.is_empty() {
        let names: BTreeSet<String> = left.iter().map(|(name, _)| name.clone()).collect();
        let n = left.len();
        left.retain(|(_, imports)| imports.iter().any(|name| names.contains(name)));
        assert!(left.len() < n, "these modules import each other: {left:?}");
    }
}
