//! Label trees: a linear model at each node.

use super::c::C;
use super::json::Json;
use super::linear::name_of;
use super::{F32, Kind, List, Of, U32};
use crate::data::Outputs;
use crate::error::{Error, Result};
use crate::label_tree::{LabelTree, LabelTreeModel, SHARE_OF_PATH};

/// The most labels that a search in C may find: each takes some 40 bytes on the stack.
const MOST_FOUND: usize = if cfg!(test) { 20 } else { 1 << 16 };

impl LabelTreeModel {
    /// Returns the most labels that a search may find: of each tree, those of as many leaves as are followed.
    fn most_found(&self) -> usize {
        let of_tree = |tree: &LabelTree| {
            let mut sizes: Vec<usize> =
                (0..tree.n_nodes()).filter_map(|node| tree.labels(node).map(<[u32]>::len)).collect();
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            sizes.into_iter().take(self.beam_width).sum::<usize>()
        };
        self.trees.iter().map(of_tree).sum::<usize>().min(self.n_labels())
    }
}

impl Kind for &LabelTreeModel {
    fn n_trees(&self) -> usize {
        self.trees.len()
    }

    fn lists(&self) -> Vec<List<'_>> {
        let trees = &self.trees;
        vec![
            List::of_slice("is_leaf", Of::Type("uint8_t"), |tree| &trees[tree].is_leaf),
            List::of_slice("column_ptr", Of::Offsets, |tree| &trees[tree].column_ptr),
            List::of_slice("targets", U32, |tree| &trees[tree].targets),
            List::of_slice("intercepts", F32, |tree| &trees[tree].intercepts),
            List::of_slice("feature_ptr", Of::Offsets, |tree| &trees[tree].feature_ptr),
            List::of_slice("features", U32, |tree| &trees[tree].features),
            List::of_slice("weight_ptr", Of::Offsets, |tree| &trees[tree].weight_ptr),
            List::of_slice("weight_columns", Of::Type("uint16_t"), |tree| &trees[tree].columns),
            List::of_slice("weights", F32, |tree| &trees[tree].values),
        ]
    }

    fn rules_to_json(&self, json: &mut Json<'_>) -> Result<()> {
        json.key("label_trees")?;
        json.open('{')?;
        json.string("features", name_of(self.features))?;
        json.idf(self.idf())?;
        json.number("beam_width", self.beam_width)?;
        json.close('}')
    }

    fn describe_in_c(&self, c: &mut C<'_>) -> Result<()> {
        let most_found = self.most_found();
        if most_found > MOST_FOUND {
            let got = format!("{}, by which it may find {most_found}", self.beam_width);
            let must = "be so small that a search finds no more labels than have room on the stack of a program in C";
            return Err(Error::invalid("beam_width", got, must));
        }
        let most_nodes = self.trees.iter().map(LabelTree::n_nodes).max().unwrap_or(1);
        let columns = self.trees.iter().flat_map(|tree| tree.column_ptr.windows(2).map(|ends| ends[1] - ends[0]));
        c.preparation(self.features.preparation(self.idf()));
        c.flag("MODEL_HAS_PRODUCTS", true);
        c.flag("MODEL_HAS_SEARCH", true);
        c.flag("MODEL_HAS_CLASSES", matches!(self.outputs, Outputs::Classes { .. }));
        c.constant("BEAM", self.beam_width.min(most_nodes));
        c.constant("MOST_COLUMNS", columns.max().unwrap_or(1));
        c.constant("MOST_FOUND", most_found);
        c.constant("SLOTS", (2 * most_found).next_power_of_two());
        c.constant("SHARE_OF_PATH", SHARE_OF_PATH);
        c.functions(include_str!("c/label_trees.c"));
        Ok(())
    }

    fn tables_to_c(&self, c: &mut C<'_>) -> Result<()> {
        c.idf(self.idf())?;
        c.offsets("roots", self.trees.iter().map(LabelTree::n_nodes))?;
        c.lists(&self.lists(), "", self.trees.len())
    }
}
