//! Invalid arguments, and the names in their errors.

use ndarray::array;

use super::*;
use crate::projection::{NProjections, OutputProjection, ProjectionMatrix, johnson_lindenstrauss_dim};
use crate::{Criterion, ErrorKind, ForestConfig, TreeConfig};

/// Returns the name of the invalid argument.
fn at_fault<T: std::fmt::Debug>(result: crate::Result<T>) -> &'static str {
    match result.unwrap_err().kind() {
        ErrorKind::Invalid { what, .. }
        | ErrorKind::Unsupported { what, .. }
        | ErrorKind::Shape { what, .. }
        | ErrorKind::SparseFormat { what, .. } => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn families_refuse_what_they_cannot_draw() {
    let draw = |family: Projection, d, q: NProjections| family.draw(d, q, 0, None, None, &Control::default());
    for family in random_families() {
        for bad in [
            NProjections::Count(0),
            NProjections::Fraction(0.0),
            NProjections::Fraction(1.1),
            NProjections::Fraction(f64::NAN),
        ] {
            assert_eq!(at_fault(draw(family.clone(), 5, bad)), "n_projections");
        }
        assert_eq!(at_fault(draw(family.clone(), 0, NProjections::Log)), "n_outputs");
    }
    assert_eq!(at_fault(draw(Projection::Hadamard, 5, 9.into())), "n_projections");
    assert!(draw(Projection::Hadamard, 5, 8.into()).is_ok());
    assert_eq!(at_fault(draw(Projection::Subsample { replacement: false }, 5, 6.into())), "n_projections");
    assert!(draw(Projection::Subsample { replacement: true }, 5, 6.into()).is_ok());
    assert_eq!(at_fault(draw(Projection::Pca, 5, 6.into())), "n_projections");
    assert_eq!(at_fault(draw(Projection::Pca, 5, 5.into())), "output_projection");
    for bad in [0.5, f64::NAN, f64::INFINITY, -1.0] {
        let family = Projection::Rademacher { sparsity: Sparsity::Factor(bad) };
        assert_eq!(at_fault(draw(family, 5, 2.into())), "sparsity");
    }
    for eps in [0.0, 1.0, -0.5, f64::NAN] {
        assert_eq!(at_fault(johnson_lindenstrauss_dim(10, eps)), "eps");
    }
    assert_eq!(at_fault(johnson_lindenstrauss_dim(0, 0.5)), "n_samples");
}

#[test]
fn dimensions_of_johnson_and_lindenstrauss() {
    // ⌈8 ln n / ε²⌉, computed by hand: 8 · 6.907755 / 0.01 = 5526.2.
    assert_eq!(johnson_lindenstrauss_dim(1000, 0.1).unwrap(), 5527);
    assert_eq!(johnson_lindenstrauss_dim(1, 0.1).unwrap(), 1);
    assert_eq!(johnson_lindenstrauss_dim(2, 0.999).unwrap(), 6);
}

#[test]
fn matrices_are_checked() {
    let dense = |m: Array2<f64>| ProjectionMatrix::from_dense(m.view());
    for bad in [array![[f64::NAN]], array![[1.0], [f64::INFINITY]], Array2::zeros((0, 3)), Array2::zeros((3, 0))] {
        assert_eq!(at_fault(dense(bad)), "output_projection");
    }
    for (ptr, indices, values, d) in [
        (vec![0, 1], vec![3], vec![1.0], 3),
        (vec![0, 2], vec![1, 1], vec![1.0, 1.0], 3),
        (vec![0, 2], vec![1], vec![1.0], 3),
        (vec![0, 1], vec![1], vec![f64::NAN], 3),
        (vec![0], vec![], vec![], 3),
    ] {
        assert_eq!(at_fault(ProjectionMatrix::from_csr(&ptr, &indices, &values, d)), "output_projection");
    }
    assert!(at_fault(ProjectionMatrix::from_csr(&[0, 1], &[0], &[], 3)).contains("output_projection"));
    let of_width = |d| ProjectionMatrix::from_dense(Array2::ones((2, d)).view()).unwrap();
    let given = |matrices: Vec<_>| Projection::Given(matrices);
    assert!(
        at_fault(given(vec![of_width(4)]).draw(5, NProjections::Log, 0, None, None, &Control::default()))
            .contains("output_projection")
    );
    assert_eq!(
        at_fault(given(vec![]).draw(5, NProjections::Log, 0, None, None, &Control::default())),
        "output_projection"
    );
    assert_eq!(
        at_fault(given(vec![of_width(5); 2]).draw(5, NProjections::Log, 0, None, None, &Control::default())),
        "output_projection"
    );
    assert_eq!(at_fault(given(vec![of_width(5)]).draw(5, 3, 0, None, None, &Control::default())), "output_projection");
    assert_eq!(given(vec![of_width(5)]).draw(5, 2, 0, None, None, &Control::default()).unwrap(), of_width(5));
}

#[test]
fn principal_directions_check_y_and_weights() {
    let y = array![[1.0, 2.0], [0.0, 1.0]];
    let draw =
        |d, w: Option<&[f64]>| Projection::Pca.draw(d, 1, 0, Some(&Targets::Real(y.view())), w, &Control::default());
    assert!(draw(2, None).is_ok());
    assert_eq!(at_fault(draw(3, None)), "a row of y");
    assert_eq!(at_fault(draw(2, Some(&[1.0]))), "sample_weight");
    assert_eq!(at_fault(draw(2, Some(&[0.0, 0.0]))), "sample_weight");
    let bad = array![[f64::NAN]];
    assert_eq!(
        at_fault(Projection::Pca.draw(1, 1, 0, Some(&Targets::Real(bad.view())), None, &Control::default())),
        "y"
    );
    let none = Array2::zeros((0, 2));
    assert_eq!(
        at_fault(Projection::Pca.draw(2, 1, 0, Some(&Targets::Real(none.view())), None, &Control::default())),
        "y"
    );
}

#[test]
fn fits_refuse_what_does_not_go_together() {
    let x = Array2::from_shape_fn((6, 2), |(i, j)| (i + j) as f32);
    let targets = SomeTargets::new(1, 6, 5);
    let fit = |criterion, family: Projection, y: &Targets<'_>| {
        let tree = TreeConfig { output_projection: Some(OutputProjection::new(family)), ..TreeConfig::new(criterion) };
        tree.fit((&x, y))
    };
    for y in [targets.labels(), targets.classes()] {
        assert_eq!(at_fault(fit(Criterion::Entropy, Projection::Gaussian, &y)), "criterion");
        let plain = TreeConfig::new(Criterion::Variance).fit((&x, &y));
        assert_eq!(at_fault(plain), "criterion");
    }
    assert_eq!(at_fault(fit(Criterion::Gini, Projection::Gaussian, &targets.real())), "criterion");
    let codes = targets.codes.column(0).insert_axis(ndarray::Axis(1));
    let single = Targets::Classes { codes, n_classes: vec![3] };
    assert_eq!(at_fault(fit(Criterion::Gini, Projection::Gaussian, &single)), "output_projection");

    let matrix = ProjectionMatrix::from_dense(Array2::ones((2, 5)).view()).unwrap();
    let huge = ProjectionMatrix::from_dense(Array2::from_elem((2, 5), 1e200).view()).unwrap();
    assert_eq!(at_fault(fit(Criterion::Gini, Projection::Given(vec![huge]), &targets.labels())), "output_projection");
    let mut config = ForestConfig { n_trees: 3, ..ForestConfig::random_forest(Criterion::Gini) };
    config.tree.output_projection = Some(OutputProjection::new(Projection::Given(vec![matrix; 2])));
    let forest = config.fit((&x, &targets.labels()));
    assert_eq!(at_fault(forest), "matrices of output_projection");
    let two = config.fit_trees(4..6, (&x, &targets.labels()));
    assert_eq!(two.unwrap().n_trees(), 2);
}
