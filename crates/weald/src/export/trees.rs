//! Trees whose nodes test features.

use super::c::C;
use super::json::Json;
use super::linear::Linear;
use super::text::Number;
use super::{Each, F64, Kind, List, Of, U32};
use crate::error::Result;
use crate::model::{Additive, Term, Terms};
use crate::partition::decision::Side;
use crate::tree::{Node, Tree};

/// Trees, and what their values are added to.
pub(super) struct Trees<'a> {
    pub(super) model: &'a Additive<'a>,
    pub(super) linear: Option<Linear<'a>>,
}

impl Trees<'_> {
    /// Calls a function with the score and the value of each cell of the leaves of a tree.
    fn cells(&self, tree: usize, mut each: impl FnMut(u32, f64) -> Result<()>) -> Result<()> {
        let leaves = &self.model.trees[tree].leaves;
        (0..leaves.n_leaves()).try_for_each(|leaf| leaves.value(leaf).try_for_each(|(score, value)| each(score, value)))
    }

    /// Returns a list with a number of each node.
    fn of_nodes<'a>(&'a self, name: &'static str, number: impl Fn(&Tree, usize, &Node) -> Number + 'a) -> List<'a> {
        List::new(name, Of::Json, move |tree, each| {
            let tree = self.model.trees[tree];
            tree.nodes.iter().enumerate().try_for_each(|(i, node)| each(number(tree, i, node)))
        })
    }

    /// Calls a function with each set of categories that go left, and its node.
    fn sets(&self, tree: usize, mut each: impl FnMut(usize, &[u16]) -> Result<()>) -> Result<()> {
        let tree = self.model.trees[tree];
        let mut sets = tree.nodes.iter().enumerate().filter(|(_, node)| !node.is_leaf());
        sets.try_for_each(|(i, node)| node.set().map_or(Ok(()), |set| each(i, tree.sets.of(set))))
    }
}

/// Returns a number of a split, or what leaves have in its place.
fn of_split(node: &Node, in_leaves: i64, number: impl Into<i64>) -> Number {
    Number::Int(if node.is_leaf() { in_leaves } else { number.into() })
}

fn threshold(node: &Node) -> Number {
    Number::Single(if node.is_leaf() || node.tests_categories() { 0.0 } else { node.threshold() })
}

fn missing_left(tree: &Tree, node: &Node) -> bool {
    !node.is_leaf() && node.decision(&tree.sets).missing() == Side::Left
}

impl Kind for Trees<'_> {
    fn n_trees(&self) -> usize {
        self.model.trees.len()
    }

    fn lists(&self) -> Vec<List<'_>> {
        // The score of a leaf is its own only if it has several.
        let columns = if matches!(self.model.terms, Terms::Leaves) { U32 } else { Of::Json };
        let leaf_ptr = move |tree: usize, each: Each<'_>| {
            let tree = self.model.trees[tree];
            let mut end = 0usize;
            each(Number::Int(0))?;
            tree.nodes.iter().try_for_each(|node| {
                end += if node.is_leaf() { tree.leaves.value(node.right() as usize).count() } else { 0 };
                each(end.into())
            })
        };
        vec![
            self.of_nodes("feature", |_, _, node| of_split(node, -1, node.feature())),
            self.of_nodes("threshold", |_, _, node| threshold(node)),
            self.of_nodes("left", |_, i, node| of_split(node, -1, i as i64 + 1)),
            self.of_nodes("right", |_, _, node| of_split(node, -1, node.right())),
            self.of_nodes("missing_left", |tree, _, node| missing_left(tree, node).into()),
            List::new("leaf_ptr", Of::Json, leaf_ptr),
            List::new("leaf_columns", columns, |tree, each| self.cells(tree, |score, _| each(score.into()))),
            List::new("leaf_values", F64, |tree, each| self.cells(tree, |_, value| each(value.into()))),
        ]
    }

    fn rules_to_json(&self, json: &mut Json<'_>) -> Result<()> {
        self.linear.as_ref().map_or(Ok(()), |linear| linear.rules_to_json(json))
    }

    fn rest_of_tree_to_json(&self, tree: usize, json: &mut Json<'_>) -> Result<()> {
        json.key("categories")?;
        json.open('{')?;
        self.sets(tree, |node, set| {
            json.numbers(&node.to_string(), &mut |each| set.iter().try_for_each(|&code| each(code.into())))
        })?;
        json.close('}')?;
        match self.model.term(tree) {
            Term::Leaf => json.null("column").and_then(|()| json.null("factors")),
            Term::Column(column) => json.number("column", column).and_then(|()| json.null("factors")),
            Term::RankOne(direction) => {
                json.null("column")?;
                json.numbers("factors", &mut |each| direction.factors().try_for_each(|factor| each(factor.into())))
            }
        }
    }

    fn describe_in_c(&self, c: &mut C<'_>) -> Result<()> {
        let (has_trees, has_factors) = (self.n_trees() > 0, matches!(self.model.terms, Terms::RankOne { .. }));
        c.flag("MODEL_HAS_TREES", has_trees);
        c.flag("MODEL_HAS_SETS", self.model.trees.iter().any(|tree| !tree.sets.is_empty()));
        c.flag("MODEL_HAS_START", self.model.start.iter().any(|&score| score != 0.0));
        c.flag("MODEL_HAS_LINEAR", self.linear.is_some());
        c.flag("MODEL_IS_BY_SCORE", matches!(self.model.terms, Terms::Columns));
        c.flag("MODEL_HAS_FACTORS", has_factors);
        c.flag("MODEL_HAS_PRODUCTS", has_factors && has_trees);
        self.linear.as_ref().map_or(Ok(()), |linear| linear.describe_in_c(c))?;
        c.functions(include_str!("c/trees.c"));
        Ok(())
    }

    fn tables_to_c(&self, c: &mut C<'_>) -> Result<()> {
        let Additive { trees, start, .. } = self.model;
        self.linear.as_ref().map_or(Ok(()), |linear| linear.tables_to_c(c))?;
        if start.iter().any(|&score| score != 0.0) {
            c.table("double", "start", &mut |each| start.iter().try_for_each(|&score| each(score.into())))?;
        }
        if trees.is_empty() {
            return Ok(());
        }
        c.offsets("roots", trees.iter().map(|tree| tree.n_nodes()))?;
        let (mut n_values, mut n_sets) = (0, 0);
        c.rows("struct model_node", "nodes", &mut |row| {
            trees.iter().try_for_each(|tree| {
                tree.nodes.iter().try_for_each(|node| {
                    let (mut right, mut last) = (node.right().into(), 0);
                    if node.is_leaf() {
                        right = n_values;
                        n_values += tree.leaves.value(node.right() as usize).count() as i64;
                        last = n_values;
                    } else if node.tests_categories() {
                        n_sets += 1;
                        last = n_sets;
                    }
                    let feature = of_split(node, -1, node.feature());
                    row(&[
                        threshold(node),
                        feature,
                        Number::Int(right),
                        Number::Int(last),
                        missing_left(tree, node).into(),
                    ])
                })
            })
        })?;
        c.lists(&self.lists(), "", trees.len())?;
        if matches!(self.model.terms, Terms::RankOne { .. }) {
            c.table("double", "factors", &mut |each| {
                self.model.terms().try_for_each(|term| match term {
                    Term::RankOne(direction) => direction.factors().try_for_each(|factor| each(factor.into())),
                    Term::Leaf | Term::Column(_) => Ok(()),
                })
            })?;
        }
        if n_sets == 0 {
            return Ok(());
        }
        let all_sets = |each: &mut dyn FnMut(&[u16]) -> Result<()>| {
            (0..trees.len()).try_for_each(|tree| self.sets(tree, |_, set| each(set)))
        };
        c.table("uint16_t", "sets", &mut |each| {
            all_sets(&mut |set| set.iter().try_for_each(|&code| each(code.into())))
        })?;
        c.table("uint32_t", "set_ptr", &mut |each| {
            let mut end = 0;
            each(Number::Int(0))?;
            all_sets(&mut |set| {
                end += set.len();
                each(end.into())
            })
        })
    }
}
