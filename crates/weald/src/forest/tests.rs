//! Tests of merged forests.

use super::*;
use crate::criterion::Criterion;
use crate::testing::models;

#[test]
fn parts_are_merged_in_order_and_shared() {
    let shape = models::Shape { n_features: 2, outputs: models::some_outputs(3), max_leaves: 5, unit: 1.0 };
    let (a, b) = (models::forest(1, 2, &shape), models::forest(2, 3, &shape));
    let merged = Forest::merge(&[&a, &b]).unwrap();
    assert_eq!(merged.n_trees(), 5);
    assert!(Arc::ptr_eq(merged.tree(1), a.tree(1)) && Arc::ptr_eq(merged.tree(2), b.tree(0)));
}

#[test]
fn parts_that_differ_are_refused() {
    let shape = models::Shape { n_features: 2, outputs: models::some_outputs(3), max_leaves: 5, unit: 1.0 };
    let forest = models::forest(1, 2, &shape);
    assert!(Forest::merge(&[]).is_err());
    let wider = models::forest(1, 1, &models::Shape { n_features: 3, ..shape.clone() });
    let other = models::forest(1, 1, &models::Shape { outputs: models::some_outputs(4), ..shape });
    let mut entropy = Tree::clone(forest.tree(0));
    entropy.criterion = Criterion::Entropy;
    for part in [wider, other, entropy.into()] {
        assert!(Forest::merge(&[&forest, &part]).is_err());
    }
}
