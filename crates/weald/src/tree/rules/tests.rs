//! Comparison of rules with the tree, and their text.

use super::*;
use crate::error::ErrorKind;
use crate::testing::{models, naive};

/// Returns whether a sample meets the conditions of a rule, which are read from its text.
fn holds(rule: &str, row: ndarray::ArrayView1<'_, f32>) -> bool {
    let Some(conditions) = rule.strip_prefix("if ").map(|rest| rest.split(": ").next().unwrap()) else {
        assert!(rule.starts_with("always: "));
        return true;
    };
    let mut seen = Vec::new();
    let value = |name: &str| row[name.strip_prefix("feature_").unwrap().parse::<usize>().unwrap()];
    let number = |text: &str| text.parse::<f32>().unwrap();
    conditions.split(" and ").all(|condition| {
        let condition = condition.strip_prefix('(').map_or(condition, |c| c.strip_suffix(" or missing)").unwrap());
        let words: Vec<&str> = condition.split(' ').collect();
        let name = words.iter().copied().find(|w| w.starts_with("feature_")).unwrap();
        assert!(!seen.contains(&name), "merged: {rule}");
        seen.push(name);
        match words[..] {
            [low, "<", name, "<=", high] => number(low) < value(name) && value(name) <= number(high),
            [name, "<=", high] => value(name) <= number(high),
            [name, ">", low] => value(name) > number(low),
            [name, "in", ..] | [name, "not", "in", ..] => {
                let listed = condition.split_once('{').unwrap().1.strip_suffix('}').unwrap();
                let is_listed = listed.split(", ").any(|category| category.parse() == Ok(value(name)));
                is_listed == (words[1] == "in")
            }
            _ => panic!("{condition}"),
        }
    })
}

#[test]
fn each_row_meets_the_rule_of_its_leaf_alone() {
    for seed in 0..120 {
        let forest = models::some_forest(seed);
        let tree = forest.tree(0);
        let style = RuleStyle { decimals: None, top_k: usize::MAX, ..RuleStyle::default() };
        let text = tree.rules(&style, &Control::default()).unwrap();
        let rules: Vec<&str> = text.lines().collect();
        assert_eq!(rules.len(), tree.n_leaves());
        for row in models::rows(seed, 30, tree.n_features).c_order.rows() {
            let leaf = tree.nodes[naive::apply(tree, row)].right() as usize;
            let met: Vec<usize> = (0..rules.len()).filter(|&r| holds(rules[r], row)).collect();
            assert_eq!(met, [leaf], "{text}");
        }
    }
}

#[test]
fn categories_are_listed_by_their_names() {
    let control = Control::default();
    let (x, y) = (
        ndarray::array![[0.0f32], [1.0], [2.0], [3.0], [f32::NAN], [0.0], [1.0]],
        ndarray::array![[1.0], [5.0], [1.0], [9.0], [5.0], [1.0], [5.0]],
    );
    let kinds = [crate::FeatureKind::Category { n_categories: 4 }];
    let data = crate::Dataset::new(&x, &y).schema(crate::Schema::new(&kinds[..]));
    let tree = crate::TreeConfig::new(crate::Criterion::Variance).fit(&data).unwrap();
    let rules = tree.rules(&RuleStyle::default().decimals(0), &control).unwrap();
    assert_eq!(
        rules,
        "if feature_0 in {0, 2}: 1 (3 samples)\n\
         if feature_0 in {3}: 9 (1 sample)\n\
         if (feature_0 not in {0, 2, 3} or missing): 5 (3 samples)\n"
    );
    let names = [vec!["red".to_owned(), "green".to_owned(), "blue".to_owned()]];
    let rules = tree.rules(&RuleStyle::default().decimals(0).category_names(&names[..]), &control).unwrap();
    assert!(rules.starts_with("if feature_0 in {red, blue}: 1 (3 samples)\nif feature_0 in {3}: 9"), "{rules}");
    let error = tree.rules(&RuleStyle::default().category_names(&[][..]), &control).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Shape { what: "category_names", expected: 1, got: 0 });
}

#[test]
fn missing_values_are_named_where_they_were_seen() {
    let nan = f32::NAN;
    let x = ndarray::array![[1.0f32, 5.0], [2.0, 3.0], [nan, 12.0], [3.0, 2.0], [3.5, nan], [4.0, 9.0]];
    let y = ndarray::array![[0.0], [0.0], [0.0], [5.0], [9.0], [5.0]];
    let control = Control::default();
    let tree = crate::TreeConfig::new(crate::Criterion::Variance).fit((&x, &y)).unwrap();
    assert_eq!(
        tree.rules(&RuleStyle::default().decimals(1), &control).unwrap(),
        "if (feature_0 <= 2.5 or missing): 0.0 (3 samples)\n\
         if feature_0 > 2.5 and feature_1 is not missing: 5.0 (2 samples)\n\
         if feature_0 > 2.5 and feature_1 is missing: 9.0 (1 sample)\n"
    );
}

#[test]
fn values_are_named_ordered_and_cut() {
    let mut tree = models::chain(2);
    let style = RuleStyle { decimals: Some(1), ..RuleStyle::default() };
    let rules = |tree: &Tree, style: &RuleStyle<'_>| tree.rules(style, &Control::default()).unwrap();
    assert_eq!(
        rules(&tree, &style),
        "if feature_0 <= -1.0: y0 1.0 (1 sample)\n\
         if -1.0 < feature_0 <= 0.0: y1 1.0 (1 sample)\n\
         if feature_0 > 0.0: y0 1.0 (1 sample)\n"
    );
    let (features, columns) = (["a b".to_owned()], ["cat".to_owned(), "dog".to_owned()]);
    let named = RuleStyle { feature_names: Some(&features), column_names: Some(&columns), ..style };
    let cut = RuleStyle { max_depth: Some(1), ..named };
    assert_eq!(
        rules(&tree, &cut),
        "if a b <= 0.0: cat 0.5, dog 0.5 (2 samples in 2 leaves)\nif a b > 0.0: cat 1.0 (1 sample)\n"
    );
    let root = RuleStyle { max_depth: Some(0), top_k: 1, ..named };
    assert_eq!(rules(&tree, &root), "always: cat 0.7 and 1 more (3 samples in 3 leaves)\n");
    assert_eq!(
        rules(&tree, &RuleStyle { column_names: None, ..root }),
        "always: y0 0.7 and 1 more (3 samples in 3 leaves)\n"
    );
    let mut builder = crate::tree::leaves::LeafTableBuilder::new(5);
    builder.push_counts(&[(0, 1), (1, 3), (4, 4)], 4).unwrap();
    builder.push_counts(&[(1, 4), (2, 2), (3, 2)], 4).unwrap();
    builder.push_counts(&[(0, 4), (3, 4)], 4).unwrap();
    tree.leaves = builder.finish().unwrap();
    tree.outputs = Outputs::Classes { n_classes: vec![2, 3] }.into();
    let of_leaves: Vec<String> =
        rules(&tree, &style).lines().map(|rule| rule.split(": ").nth(1).unwrap().to_owned()).collect();
    assert_eq!(
        of_leaves,
        ["y0=1 0.8, y1=2 1.0 (1 sample)", "y0=1 1.0, y1=0 0.5 (1 sample)", "y0=0 1.0, y1=1 1.0 (1 sample)"]
    );
    tree.outputs = Outputs::Real { n_outputs: 5 }.into();
    let first = rules(&tree, &RuleStyle { top_k: 2, ..style }).lines().next().unwrap().to_owned();
    assert!(first.ends_with(": y0 0.2, y1 0.8 and 3 more (1 sample)"), "{first}");
    tree.outputs = Outputs::Classes { n_classes: vec![5] }.into();
    let first = rules(&tree, &RuleStyle { top_k: 2, ..style }).lines().next().unwrap().to_owned();
    assert!(first.ends_with(": class 4 1.0, class 1 0.8 and 1 more (1 sample)"), "{first}");
}

#[test]
fn zero_has_no_sign() {
    let text = |v: f64, decimals| {
        let mut line = String::from("-");
        push_number(&mut line, v, decimals);
        line
    };
    assert_eq!(text(-0.0004, Some(3)), "-0.000");
    assert_eq!(text(-0.0004, None), "--0.0004");
    assert_eq!(text(-0.0, None), "-0");
}

#[test]
fn a_chain_of_100_000_splits_has_rules_and_they_can_be_stopped() {
    let tree = models::chain(100_000);
    let control = Control::default();
    let text = tree.rules(&RuleStyle::default(), &control).unwrap();
    assert_eq!(text.lines().count(), 100_001);
    let shallow = RuleStyle { max_depth: Some(3), ..RuleStyle::default() };
    assert_eq!(tree.rules(&shallow, &control).unwrap().lines().count(), 4);
    control.stop();
    let error = tree.rules(&RuleStyle::default(), &control).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Interrupted);
}

#[test]
fn the_number_of_names_must_match() {
    let tree = models::chain(2);
    let names = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
    for (style, what) in [
        (RuleStyle { feature_names: Some(&names), ..RuleStyle::default() }, "feature_names"),
        (RuleStyle { column_names: Some(&names), ..RuleStyle::default() }, "column_names"),
    ] {
        let error = tree.rules(&style, &Control::default()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Shape { what: w, got: 3, .. } if *w == what));
    }
    let none = RuleStyle { top_k: 0, ..RuleStyle::default() };
    assert!(tree.rules(&none, &Control::default()).is_err());
}
