//! The leaves of a tree as rules in text, one a line.
//!
//! A rule has one condition for each feature that is tested on the path, in order of first appearance: the thresholds
//! of a feature are merged into a single interval. It ends with the prediction of the leaf, limited to a few columns if
//! there are many, and with the number of training samples of the leaf.
//!
//! The tree is traversed by a loop. The conditions of the path are extended on the way down and restored on the way up,
//! so that the time for a rule is proportional to the length of its text. Memory: the text, O(n_features), and
//! O(depth).

#[cfg(test)]
mod tests;

use std::fmt::{Display, Write};

use super::{Node, Tree};
use crate::control::Control;
use crate::criterion::LeafValues;
use crate::data::Category;
use crate::data::Outputs;
use crate::error::{Error, Purpose, Result};
use crate::partition::category_sets::CategorySets;
use crate::partition::decision::{ABOVE_ALL, Decision, Side, Test};
use crate::setters::setters;

const PURPOSE: Purpose = Purpose("the rules of a tree");

/// The format of rules.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RuleStyle<'a> {
    /// The names of the features. `None`: the names are `feature_0` and so on.
    pub feature_names: Option<&'a [String]>,
    /// The names of the columns of predictions. `None`: the names are `y0` and so on for numerical outputs and labels
    /// (a single numerical output has no name), `class 0` and so on for classes, and `y0=0` and so on for classes of
    /// several outputs.
    pub column_names: Option<&'a [String]>,
    /// The names of the categories of each feature. Categories without a name are written as their codes.
    pub category_names: Option<&'a [Vec<String>]>,
    /// The number of decimals. `None`: as many as are needed to distinguish each number from its neighbours.
    pub decimals: Option<usize>,
    /// Splits at this depth are written as if they were leaves. `None`: all leaves are written.
    pub max_depth: Option<usize>,
    /// The maximum number of columns that are written for a leaf: the most frequent classes or labels, or the first of
    /// several outputs.
    pub top_k: usize,
}

setters! { RuleStyle<'a> {
    feature_names: impl Into<Option<&'a [String]>>,
    column_names: impl Into<Option<&'a [String]>>,
    category_names: impl Into<Option<&'a [Vec<String>]>>,
    decimals: impl Into<Option<usize>>,
    max_depth: impl Into<Option<usize>>,
    top_k: usize,
} }

impl Default for RuleStyle<'_> {
    fn default() -> Self {
        RuleStyle {
            feature_names: None,
            column_names: None,
            category_names: None,
            decimals: Some(3),
            max_depth: None,
            top_k: 5,
        }
    }
}

impl Tree {
    /// Returns the leaves as rules, from left to right, one on each line.
    ///
    /// ```
    /// use ndarray::array;
    /// use weald::{Control, Criterion, RuleStyle, Targets, TreeConfig};
    ///
    /// let (x, y) = (array![[0.0f32], [1.0], [2.0], [3.0]], array![[0.0], [0.0], [5.0], [6.0]]);
    /// let control = Control::default();
    /// let tree = TreeConfig::new(Criterion::Variance).fit((&x, &y))?;
    /// let style = RuleStyle::default().decimals(1);
    /// assert_eq!(
    ///     tree.rules(&style, &control)?,
    ///     "if feature_0 <= 1.5: 0.0 (2 samples)\n\
    ///      if 1.5 < feature_0 <= 2.5: 5.0 (1 sample)\n\
    ///      if feature_0 > 2.5: 6.0 (1 sample)\n"
    /// );
    /// # Ok::<(), weald::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] if the number of names does not match the number of features or columns,
    /// [`crate::ErrorKind::Invalid`] if `top_k` is 0, [`crate::ErrorKind::Unsupported`] for a `max_depth` with
    /// [`crate::Criterion::AbsoluteError`], [`crate::ErrorKind::Interrupted`], [`crate::ErrorKind::OutOfMemory`].
    pub fn rules(&self, style: &RuleStyle<'_>, control: &Control) -> Result<String> {
        for (what, names, expected) in [
            ("feature_names", style.feature_names, self.n_features),
            ("column_names", style.column_names, self.leaves.width()),
        ] {
            if let Some(names) = names.filter(|names| names.len() != expected) {
                return Err(Error::shape(what, expected, names.len()));
            }
        }
        if let Some(names) = style.category_names.filter(|names| names.len() != self.n_features) {
            return Err(Error::shape("category_names", self.n_features, names.len()));
        }
        if style.top_k == 0 {
            return Err(Error::invalid("top_k", 0, "be at least 1"));
        }
        let Some(max_depth) = style.max_depth else { return Writer::new(self, style)?.write(None, control) };
        if self.criterion.leaf_values() == LeafValues::Medians {
            return Err(Error::unsupported("max_depth", "if leaves are medians, as inner nodes have no values then"));
        }
        let mut cut = PURPOSE.with_capacity(self.n_nodes())?;
        cut.extend(self.depths().map(|depth| depth >= max_depth));
        let is_cut = |i: usize| cut[i];
        let tree = self.collapsed(is_cut, control)?;
        // The number of leaves below each leaf that is written.
        let ends = self.subtree_ends()?;
        let (mut n_below, mut i) = (PURPOSE.with_capacity(tree.n_leaves())?, 0);
        while i < self.n_nodes() {
            if !self.nodes[i].is_leaf() && !is_cut(i) {
                i += 1;
                continue;
            }
            n_below.push((ends[i] as usize - i).div_ceil(2));
            i = ends[i] as usize;
        }
        Writer::new(&tree, style)?.write(Some(&n_below), control)
    }
}

/// The condition of a path on one feature: which values, and whether missing values.
#[derive(Clone, Debug)]
struct Condition {
    feature: u32,
    values: Values,
    /// Whether missing values, if growth saw some, followed the path too.
    or_missing: bool,
}

/// The values of a feature that follow a path.
#[derive(Clone, Debug)]
enum Values {
    /// Values above `low` and not above `high`.
    Interval { low: f32, high: f32 },
    /// These categories, in increasing order.
    AnyOf(Vec<Category>),
    /// All categories except these, in increasing order.
    NoneOf(Vec<Category>),
}

impl Values {
    /// Returns all values that a node with this kind of decision may be given.
    fn all(decision: Decision<'_>) -> Self {
        match decision.test() {
            Test::AtMost(_) => Values::Interval { low: f32::NEG_INFINITY, high: ABOVE_ALL },
            Test::AnyOf(_) => Values::NoneOf(Vec::new()),
        }
    }

    /// Returns the values that a decision sends to one side.
    fn narrowed(self, decision: Decision<'_>, right: bool) -> Self {
        match (self, decision.test()) {
            (Values::Interval { low, high }, Test::AtMost(threshold)) if right => {
                Values::Interval { low: low.max(threshold), high }
            }
            (Values::Interval { low, high }, Test::AtMost(threshold)) => {
                Values::Interval { low, high: high.min(threshold) }
            }
            (Values::AnyOf(mut left), Test::AnyOf(listed)) => {
                left.retain(|category| listed.binary_search(category).is_ok() != right);
                Values::AnyOf(left)
            }
            (Values::NoneOf(mut out), Test::AnyOf(listed)) if right => {
                out.extend(listed);
                out.sort_unstable();
                out.dedup();
                Values::NoneOf(out)
            }
            (Values::NoneOf(out), Test::AnyOf(listed)) => {
                let left = listed.iter().filter(|category| out.binary_search(category).is_err());
                Values::AnyOf(left.copied().collect())
            }
            // A feature is tested either by thresholds or by categories.
            (values @ Values::Interval { .. }, Test::AnyOf(_))
            | (values @ (Values::AnyOf(_) | Values::NoneOf(_)), Test::AtMost(_)) => values,
        }
    }
}

/// The conditions of the path to a node, one for each feature, in order of first appearance.
#[derive(Debug)]
struct Conditions {
    of_features: Vec<Condition>,
    /// The position of each feature in `of_features`, or [`ABSENT`].
    places: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

/// A condition before it was narrowed, or `None` if there was no condition.
type Before = Option<Condition>;

impl Conditions {
    /// Adds the condition of one side of the split of `node`.
    fn narrow(&mut self, node: &Node, sets: &CategorySets, right: bool) -> Before {
        let decision = node.decision(sets);
        let place = &mut self.places[node.feature() as usize];
        let before = self.of_features.get(*place as usize).cloned();
        if before.is_none() {
            *place = self.of_features.len() as u32;
        }
        let (values, mut or_missing) = match &before {
            Some(before) => (before.values.clone(), before.or_missing),
            None => (Values::all(decision), false),
        };
        if decision.saw_missing() {
            or_missing = (decision.missing() == Side::Right) == right;
        }
        let narrowed = Condition { feature: node.feature(), values: values.narrowed(decision, right), or_missing };
        match self.of_features.get_mut(*place as usize) {
            Some(condition) => *condition = narrowed,
            None => self.of_features.push(narrowed),
        }
        before
    }

    /// Restores the conditions before the last call of `narrow`.
    fn restore(&mut self, node: &Node, before: Before) {
        let place = &mut self.places[node.feature() as usize];
        match before {
            Some(condition) => self.of_features[*place as usize] = condition,
            None => {
                self.of_features.pop();
                *place = ABSENT;
            }
        }
    }
}

/// A split on the path: whether its right side is being written, and the previous condition of its feature.
#[derive(Debug)]
struct Open {
    node: Node,
    right: bool,
    before: Before,
}

#[derive(Debug)]
struct Writer<'a> {
    tree: &'a Tree,
    style: &'a RuleStyle<'a>,
    conditions: Conditions,
    cells: Vec<(u32, f64)>,
    line: String,
}

impl<'a> Writer<'a> {
    fn new(tree: &'a Tree, style: &'a RuleStyle<'a>) -> Result<Self> {
        let conditions = Conditions { of_features: Vec::new(), places: PURPOSE.filled(ABSENT, tree.n_features)? };
        Ok(Writer { tree, style, conditions, cells: Vec::new(), line: String::new() })
    }

    /// Writes all rules. `n_below` are the numbers of leaves that each rule represents, if `max_depth` is set.
    fn write(mut self, n_below: Option<&[usize]>, control: &Control) -> Result<String> {
        let mut text = String::new();
        let mut open: Vec<Open> = Vec::new();
        let mut pulse = control.pulse();
        for (i, node) in self.tree.nodes.iter().enumerate() {
            if !node.is_leaf() {
                let before = self.conditions.narrow(node, &self.tree.sets, false);
                open.push(Open { node: *node, right: false, before });
                continue;
            }
            self.line.clear();
            self.write_conditions();
            self.write_value(node.right() as usize)?;
            self.write_size(i, n_below.map_or(1, |n_below| n_below[node.right() as usize]));
            let bytes = text.len() + self.line.len();
            text.try_reserve(self.line.len()).map_err(|_| PURPOSE.missing::<u8>(bytes))?;
            text.push_str(&self.line);
            pulse.after(1 + self.line.len())?;
            // A leaf may be the last one of several right sides. After these, the right side of the split above them
            // follows.
            while let Some(mut split) = open.pop() {
                self.conditions.restore(&split.node, split.before);
                if !split.right {
                    split.right = true;
                    split.before = self.conditions.narrow(&split.node, &self.tree.sets, true);
                    open.push(split);
                    break;
                }
            }
        }
        Ok(text)
    }

    fn write_conditions(&mut self) {
        let Writer { line, style, conditions, .. } = self;
        for (c, condition) in conditions.of_features.iter().enumerate() {
            line.push_str(if c == 0 { "if " } else { " and " });
            let is_for_missing = matches!(condition.values, Values::Interval { low: ABOVE_ALL, .. });
            let or_missing = condition.or_missing && !is_for_missing;
            if or_missing {
                line.push('(');
            }
            let name = |line: &mut String| match style.feature_names {
                Some(names) => line.push_str(&names[condition.feature as usize]),
                None => push(line, format_args!("feature_{}", condition.feature)),
            };
            match &condition.values {
                Values::Interval { low, high } => {
                    let is_bounded = *high < ABOVE_ALL;
                    if *low > f32::NEG_INFINITY && is_bounded {
                        push_number(line, *low, style.decimals);
                        line.push_str(" < ");
                    }
                    name(line);
                    if is_for_missing {
                        line.push_str(" is missing");
                    } else if *low == f32::NEG_INFINITY && !is_bounded {
                        line.push_str(" is not missing");
                    } else {
                        let (sign, bound) = if is_bounded { (" <= ", *high) } else { (" > ", *low) };
                        line.push_str(sign);
                        push_number(line, bound, style.decimals);
                    }
                }
                Values::AnyOf(categories) | Values::NoneOf(categories) => {
                    name(line);
                    line.push_str(if let Values::AnyOf(_) = condition.values { " in {" } else { " not in {" });
                    let names = style.category_names.map_or(&[][..], |names| &names[condition.feature as usize]);
                    for (i, category) in categories.iter().enumerate() {
                        line.push_str(if i == 0 { "" } else { ", " });
                        match names.get(usize::from(*category)) {
                            Some(name) => line.push_str(name),
                            None => push(line, format_args!("{category}")),
                        }
                    }
                    line.push('}');
                }
            }
            if or_missing {
                line.push_str(" or missing)");
            }
        }
        line.push_str(if conditions.of_features.is_empty() { "always: " } else { ": " });
    }

    fn write_value(&mut self, leaf: usize) -> Result<()> {
        self.cells.clear();
        match self.tree.outputs() {
            Outputs::Real { n_outputs } => {
                self.cells = PURPOSE.collected((0..*n_outputs as u32).map(|column| (column, 0.0)))?;
                self.tree.leaves.value(leaf).for_each(|(column, v)| self.cells[column as usize].1 = v);
            }
            Outputs::Classes { n_classes } if n_classes.len() > 1 => {
                // The most frequent class of each output is written, the first of equals.
                let mut start = 0;
                let mut ends = n_classes.iter().map(|&k| {
                    start += k;
                    (start - k, start)
                });
                let (mut first, mut end) = ends.next().unwrap_or_default();
                let mut best = (first, 0.0);
                for (column, v) in self.tree.leaves.value(leaf) {
                    while column >= end {
                        self.cells.push(best);
                        (first, end) = ends.next().unwrap_or((end, u32::MAX));
                        best = (first, 0.0);
                    }
                    if v > best.1 {
                        best = (column, v);
                    }
                }
                self.cells.push(best);
            }
            Outputs::Classes { .. } | Outputs::Labels { .. } => {
                self.cells.extend(self.tree.leaves.value(leaf));
                self.cells.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            }
        }
        if self.cells.is_empty() {
            self.line.push_str("no labels");
        }
        for c in 0..self.cells.len().min(self.style.top_k) {
            let (column, v) = self.cells[c];
            if c > 0 {
                self.line.push_str(", ");
            }
            self.write_name(column);
            push_number(&mut self.line, v, self.style.decimals);
        }
        match self.cells.len().saturating_sub(self.style.top_k) {
            0 => {}
            more => push(&mut self.line, format_args!(" and {more} more")),
        }
        Ok(())
    }

    /// Writes the name of a column and a space.
    fn write_name(&mut self, column: u32) {
        match (self.style.column_names, self.tree.outputs()) {
            (Some(names), _) => self.line.push_str(&names[column as usize]),
            (None, Outputs::Real { n_outputs: 1 }) => return,
            (None, Outputs::Real { .. } | Outputs::Labels { .. }) => push(&mut self.line, format_args!("y{column}")),
            (None, Outputs::Classes { n_classes }) if n_classes.len() == 1 => {
                push(&mut self.line, format_args!("class {column}"));
            }
            (None, Outputs::Classes { n_classes }) => {
                let (mut output, mut class) = (0, column);
                while class >= n_classes[output] {
                    class -= n_classes[output];
                    output += 1;
                }
                push(&mut self.line, format_args!("y{output}={class}"));
            }
        }
        self.line.push(' ');
    }

    fn write_size(&mut self, i: usize, n_below: usize) {
        let n = self.tree.n_node_samples[i];
        push(&mut self.line, format_args!(" ({n} {}", if n == 1 { "sample" } else { "samples" }));
        if n_below > 1 {
            push(&mut self.line, format_args!(" in {n_below} leaves"));
        }
        self.line.push_str(")\n");
    }
}

fn push(line: &mut String, text: std::fmt::Arguments<'_>) {
    line.write_fmt(text).expect("writing to a string cannot fail");
}

/// Writes a number with the given number of decimals; zero has no sign.
fn push_number<T: Display>(line: &mut String, number: T, decimals: Option<usize>) {
    let start = line.len();
    match decimals {
        Some(decimals) => push(line, format_args!("{number:.decimals$}")),
        None => push(line, format_args!("{number}")),
    }
    let number = &line[start..];
    if number.starts_with('-') && number[1..].chars().all(|c| c == '0' || c == '.') {
        line.remove(start);
    }
}
