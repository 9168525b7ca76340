//! C: tables of the model, and functions from files that compilers read.

use std::collections::BTreeSet;
use std::fmt;
use std::io;

use super::text::{Number, Text};
use super::{About, Exported, Items, List, Of};
use crate::centroid::Preparation;
use crate::control::Control;
use crate::error::{ErrorKind, Result};
use crate::loss::Link;
use crate::loss::link::{BENT, LARGEST_LOG};

/// The beginning of each file.
const HEAD: &str = include_str!("c/head.h");
const COMMON: &str = include_str!("c/common.c");
const PREDICT: &str = include_str!("c/predict.c");

/// A line of a table gets no further items from this width on.
const WIDTH: usize = 100;
const MOST_ITEMS: usize = u32::MAX as usize - 1;

/// Is called with the numbers of one item of a table after another.
type EachRow<'e> = &'e mut dyn FnMut(&[Number]) -> Result<()>;

/// A file that is being written.
pub(super) struct C<'w> {
    text: Text<'w>,
    /// The prefixes of names of functions and tables, and of macros.
    prefix: String,
    capitals: String,
    flags: BTreeSet<&'static str>,
    /// The constants, as macros.
    constants: String,
    /// The files of functions, in their order.
    files: Vec<&'static str>,
    /// The most items of a table.
    pub(super) most_items: usize,
}

/// Writes a file: flags and constants first, then tables, and functions.
pub(super) fn write(model: &Exported<'_>, about: &About<'_>, mut c: C<'_>) -> Result<()> {
    let kind = model.kind();
    let (link, n_scores) = (model.link(), model.n_scores());
    let outputs = model.starts_of_outputs()?;
    let is_of_two_classes = model.is_of_two_classes() && link != Link::Margin;
    c.constant("N_FEATURES", model.n_features());
    c.constant("N_SCORES", n_scores);
    c.constant("N_COLUMNS", if is_of_two_classes { 2 } else { n_scores });
    c.constant("N_TREES", kind.n_trees());
    c.constant("DIVISOR", model.divisor());
    let flag = match link {
        Link::Identity => "MODEL_LINK_IDENTITY",
        Link::Log => "MODEL_LINK_LOG",
        Link::Margin => "MODEL_LINK_MARGIN",
        Link::Share => "MODEL_LINK_SHARE",
        Link::Logistic | Link::OneAgainstRest => "MODEL_LINK_LOGISTIC",
        Link::Softmax => "MODEL_LINK_SOFTMAX",
    };
    c.flag(flag, true);
    let has_link = !matches!(link, Link::Identity | Link::Margin | Link::Softmax);
    c.flag("MODEL_HAS_LINK", has_link);
    c.flag("MODEL_IS_OF_TWO_CLASSES", is_of_two_classes);
    c.flag("MODEL_IS_DIVIDED", has_link && link != Link::Log && !outputs.is_empty());
    c.flag("MODEL_HAS_SOFTMAX", link == Link::Softmax);
    match link {
        Link::Log => c.constant("LARGEST_LOG", LARGEST_LOG),
        Link::Share => c.constant("BENT", BENT),
        Link::Margin => c.constant("THRESHOLD", about.threshold),
        _ => {}
    }
    c.files.push(COMMON);
    kind.describe_in_c(&mut c)?;
    if matches!(model, Exported::Linear(_)) {
        c.functions(include_str!("c/linear_alone.c"));
    }
    if !outputs.is_empty() {
        c.constant("N_OUTPUTS", outputs.len() - 1);
    }
    c.text.put(format_args!("/* {} of weald: written by weald.export.to_c. */\n\n", about.estimator))?;
    c.file(HEAD)?;
    let constants = std::mem::take(&mut c.constants);
    c.text.put(format_args!("{constants}\n"))?;
    kind.tables_to_c(&mut c)?;
    if c.has("MODEL_IS_DIVIDED") || c.has("MODEL_HAS_SOFTMAX") {
        c.table("uint32_t", "outputs", &mut |each| outputs.iter().try_for_each(|&start| each(start.into())))?;
    }
    c.text.put(format_args!("\n"))?;
    c.files.push(PREDICT);
    std::mem::take(&mut c.files).into_iter().try_for_each(|file| c.file(file))?;
    c.text.flush()
}

impl<'w> C<'w> {
    pub(super) fn new(name: &str, out: &'w mut dyn io::Write, control: &'w Control) -> Self {
        C {
            text: Text::new(out, control),
            prefix: format!("{name}_"),
            capitals: format!("{}_", name.to_uppercase()),
            flags: BTreeSet::new(),
            constants: String::new(),
            files: Vec::new(),
            most_items: MOST_ITEMS,
        }
    }

    /// Adds the functions of a file.
    pub(super) fn functions(&mut self, file: &'static str) {
        self.files.push(file);
    }

    /// Sets a flag if a condition holds.
    pub(super) fn flag(&mut self, flag: &'static str, holds: bool) {
        if holds {
            self.flags.insert(flag);
        }
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.contains(flag)
    }

    pub(super) fn constant(&mut self, name: &str, value: impl fmt::Debug) {
        self.constants += &format!("#define {}{name} {value:?}\n", self.capitals);
    }

    /// Says how features are prepared.
    pub(super) fn preparation(&mut self, preparation: Preparation<'_>) {
        self.flag("MODEL_HAS_VALUES", true);
        self.flag("MODEL_IS_NORMALIZED", preparation.normalize);
        self.flag("MODEL_HAS_LOGARITHMS", preparation.sublinear);
        self.flag("MODEL_HAS_IDF", preparation.idf.is_some());
        self.flag("MODEL_HAS_PRODUCTS", preparation.normalize);
    }

    pub(super) fn idf(&mut self, idf: Option<&[f32]>) -> Result<()> {
        let Some(idf) = idf else { return Ok(()) };
        self.table("float", "idf", &mut |each| idf.iter().try_for_each(|&factor| each(factor.into())))
    }

    /// Writes the lists of all trees, whose names get a prefix, as tables.
    pub(super) fn lists(&mut self, lists: &[List<'_>], prefix: &str, n_trees: usize) -> Result<()> {
        lists.iter().try_for_each(|List { name, of, items }| {
            let name = format!("{prefix}{name}");
            match of {
                Of::Json => Ok(()),
                Of::Type(of) => self.table(of, &name, &mut |each| (0..n_trees).try_for_each(|tree| items(tree, each))),
                Of::Offsets => self.table("uint32_t", &name, &mut |each| {
                    let mut end = 0;
                    each(Number::Int(0))?;
                    (0..n_trees).try_for_each(|tree| {
                        let (start, mut is_first) = (end, true);
                        items(tree, &mut |number| match number {
                            Number::Int(offset) if !std::mem::take(&mut is_first) => {
                                end = start + offset;
                                each(Number::Int(end))
                            }
                            _ => Ok(()),
                        })
                    })
                }),
            }
        })
    }

    /// Writes a table with the sum of the sizes before each.
    pub(super) fn offsets(&mut self, name: &str, sizes: impl Iterator<Item = usize> + Clone) -> Result<()> {
        let before = sizes.scan(0, |sum, size| Some(std::mem::replace(sum, *sum + size)));
        self.table("uint32_t", name, &mut |each| before.clone().try_for_each(|offset| each(offset.into())))
    }

    /// Writes a table of the numbers with which `items` calls a function.
    pub(super) fn table(&mut self, of: &str, name: &str, items: Items<'_>) -> Result<()> {
        self.rows(of, name, &mut |row| items(&mut |number| row(&[number])))
    }

    /// Writes a table whose items are structs of several numbers, or single numbers. It has one item at least, since C does not
    /// support empty arrays.
    pub(super) fn rows(
        &mut self,
        of: &str,
        name: &str,
        items: &mut dyn FnMut(EachRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let (most, text) = (self.most_items, &mut self.text);
        text.put(format_args!(
            "static const {} {}{name}[] = {{\n   ",
            of.replace("model_", &self.prefix),
            self.prefix
        ))?;
        let (mut n, mut width) = (0, 0);
        items(&mut |row| {
            n += 1;
            if n > most {
                let what = "nodes, weights or values of leaves in a table of C";
                return Err(ErrorKind::TooMany { what, limit: most }.into());
            }
            if width > WIDTH {
                text.put(format_args!("\n   "))?;
                width = 0;
            }
            width += text.item(row)?;
            Ok(())
        })?;
        text.put(format_args!("{}\n}};\n", if n == 0 { " 0" } else { "" }))
    }

    /// Writes the lines of a file that the flags ask for, with the names of this model.
    fn file(&mut self, file: &str) -> Result<()> {
        let mut around: Vec<bool> = Vec::new();
        for line in file.lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("#ifdef", flag) => around.push(self.has(flag)),
                ("#else", _) => around.iter_mut().next_back().into_iter().for_each(|is| *is = !*is),
                ("#endif", _) => drop(around.pop()),
                ("#include", from) if from.starts_with('"') => {}
                _ if around.contains(&false) => {}
                _ => {
                    // A name has no "model_" in capitals, but capitals may be a part of the name.
                    let line = line.replace("MODEL_", &self.capitals).replace("model_", &self.prefix);
                    self.text.put(format_args!("{line}\n"))?;
                }
            }
        }
        debug_assert!(around.is_empty());
        Ok(())
    }
}
