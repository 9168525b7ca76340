//! Centroid forests: the centroids of nodes, and the values of leaves and of their parents.

use super::c::C;
use super::json::Json;
use super::text::Number;
use super::{Each, F32, F64, Kind, List, Of, U32};
use crate::centroid::{CentroidForest, CentroidTree, Routing};
use crate::data::Outputs;
use crate::error::Result;
use crate::tree::LeafTable;

impl CentroidForest {
    /// Returns how fast the share of the nearest child grows with the difference of products, and the least share of a second
    /// one; zeros if only the nearest child counts.
    fn sharing(&self) -> (f32, f32) {
        match self.routing {
            Routing::Nearest => (0.0, 0.0),
            Routing::Shared { sharpness, least } => (sharpness, least),
        }
    }

    /// Returns a list with the entries of the centroids of a tree.
    fn of_centroids(&self, name: &'static str, of: Of, number: fn((u32, f32)) -> Number) -> List<'_> {
        List::new(name, of, move |tree, each| {
            let tree = &self.trees[tree];
            (0..tree.n_nodes()).try_for_each(|node| {
                tree.centroids.try_for_each(node, |feature, weight| each(number((feature, weight))))
            })
        })
    }

    /// Returns the lists of a table of values.
    fn of_table<'a>(
        &'a self,
        names: [&'static str; 3],
        table: fn(&CentroidTree) -> Option<&LeafTable>,
    ) -> [List<'a>; 3] {
        let cells = move |tree: usize, number: fn((u32, f64)) -> Number, each: Each<'_>| {
            let Some(table) = table(&self.trees[tree]) else { return Ok(()) };
            (0..table.n_leaves()).try_for_each(|row| table.value(row).try_for_each(|cell| each(number(cell))))
        };
        let ptr = move |tree: usize, each: Each<'_>| {
            // Of a tree of one leaf, which has no parent, the one row is empty.
            let table = table(&self.trees[tree]);
            let mut end = 0usize;
            each(Number::Int(0))?;
            (0..table.map_or(1, LeafTable::n_leaves)).try_for_each(|row| {
                end += table.map_or(0, |table| table.value(row).count());
                each(end.into())
            })
        };
        [
            List::new(names[0], Of::Offsets, ptr),
            List::new(names[1], U32, move |tree, each| cells(tree, |(score, _)| score.into(), each)),
            List::new(names[2], F64, move |tree, each| cells(tree, |(_, value)| value.into(), each)),
        ]
    }

    fn has_parents(&self) -> bool {
        self.leaf_shrinkage > 0.0
    }
}

impl Kind for &CentroidForest {
    fn n_trees(&self) -> usize {
        self.trees.len()
    }

    fn lists(&self) -> Vec<List<'_>> {
        let mut lists = vec![
            List::of_slice("children", U32, |tree| &self.trees[tree].starts),
            List::of_slice("centroid_ptr", Of::Offsets, |tree| &self.trees[tree].centroids.ptr),
            self.of_centroids("centroid_features", U32, |(feature, _)| feature.into()),
            self.of_centroids("centroid_weights", F32, |(_, weight)| weight.into()),
        ];
        lists.extend(self.of_table(["leaf_ptr", "leaf_columns", "leaf_values"], |tree| Some(&tree.leaves)));
        if self.has_parents() {
            let of_leaves = |name, of, number: fn((f64, u32)) -> Number| {
                List::new(name, of, move |tree: usize, each: Each<'_>| {
                    let tree = &self.trees[tree];
                    let own = |leaf| {
                        tree.parents.as_ref().map_or((1.0, 0), |parents| {
                            let (own, _, row) = parents.of(leaf);
                            (own, row as u32)
                        })
                    };
                    (0..tree.n_leaves()).try_for_each(|leaf| each(number(own(leaf))))
                })
            };
            lists.push(of_leaves("own", F64, |(own, _)| own.into()));
            lists.push(of_leaves("parent_of", U32, |(_, row)| row.into()));
            let names = ["parent_ptr", "parent_columns", "parent_values"];
            lists.extend(self.of_table(names, |tree| tree.parents.as_ref().map(|parents| parents.table())));
        }
        lists
    }

    fn rules_to_json(&self, json: &mut Json<'_>) -> Result<()> {
        let (sharpness, least) = self.sharing();
        json.key("centroids")?;
        json.open('{')?;
        json.boolean("normalize", self.normalize)?;
        json.number("sharpness", sharpness)?;
        json.number("least", least)?;
        json.idf(self.idf())?;
        json.close('}')
    }

    fn rest_of_tree_to_json(&self, _tree: usize, json: &mut Json<'_>) -> Result<()> {
        if self.has_parents() { Ok(()) } else { json.null("own") }
    }

    fn describe_in_c(&self, c: &mut C<'_>) -> Result<()> {
        let (sharpness, least) = self.sharing();
        // All shares are at least the least one.
        let most_nodes = match self.routing {
            Routing::Nearest => 1,
            Routing::Shared { least, .. } if least > 0.0 => (1.0 / least) as usize + 2,
            Routing::Shared { .. } => self.trees.iter().map(|tree| tree.n_nodes()).max().unwrap_or(1),
        };
        c.preparation(self.preparation());
        c.flag("MODEL_HAS_PRODUCTS", true);
        c.flag("MODEL_HAS_PARENTS", self.has_parents());
        c.flag("MODEL_HAS_SHARES", !matches!(self.outputs, Outputs::Real { .. }));
        c.flag("MODEL_IS_SHARED", sharpness > 0.0);
        c.constant("MOST_NODES", most_nodes);
        c.constant("SHARPNESS", f64::from(sharpness));
        c.constant("LEAST_SHARE", f64::from(least));
        c.functions(include_str!("c/centroids.c"));
        Ok(())
    }

    fn tables_to_c(&self, c: &mut C<'_>) -> Result<()> {
        let trees = || self.trees.iter();
        c.idf(self.idf())?;
        c.offsets("roots", trees().map(|tree| tree.n_nodes()))?;
        c.offsets("first_leaves", trees().map(|tree| tree.n_leaves()))?;
        c.table("uint32_t", "leaf_of", &mut |each| {
            trees().try_for_each(|tree| tree.leaf_of.iter().try_for_each(|&leaf| each(leaf.into())))
        })?;
        if self.has_parents() {
            let n_parents = |tree: &std::sync::Arc<CentroidTree>| {
                tree.parents.as_ref().map_or(1, |parents| parents.table().n_leaves())
            };
            c.offsets("first_parents", trees().map(n_parents))?;
        }
        c.lists(&self.lists(), "", self.trees.len())
    }
}
