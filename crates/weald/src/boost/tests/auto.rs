//! The defaults, beside those of the Python package.

use ndarray::{Array2, Axis};

use crate::boost::BoostConfig;
use crate::data::{Dataset, LabelView, Targets};
use crate::plan::Sharing;

fn made(n: usize) -> (Array2<f32>, Array2<f64>) {
    let x = Array2::from_shape_fn((n, 4), |(i, j)| ((i * (7 + 4 * j)) % 13) as f32);
    let y = Array2::from_shape_fn((n, 12), |(i, j)| f64::from(x[[i, j % 4]]) + ((i * 31) % 17) as f64 / 4.0);
    (x, y)
}

/// Returns how columns share trees, the number of stages, and the bits of the predictions of a sample, mixed.
fn fitted<'d>(x: &'d Array2<f32>, y: Targets<'d>) -> (Sharing, usize, u64) {
    let data = Dataset::new(x, y);
    let found = BoostConfig::auto_with_seed(&data, 5).unwrap();
    let model = found.fit(&data).unwrap();
    let predicted = model.predict(x).unwrap();
    let mixed = predicted.row(7).iter().fold(0u64, |mixed, value| mixed.rotate_left(5) ^ value.to_bits());
    (found.plan.sharing, model.n_stages(), mixed)
}

/// Plans and predictions of `tests/test_plan_of_rust.py`, which fits the same data from Python.
#[test]
fn fits_are_those_of_python() {
    let (x, y) = made(90);
    let one = y.column(0).to_owned().insert_axis(Axis(1));
    let codes = one.mapv(|v| (v / 6.0) as u32);
    let on = |i: usize| (0..12u32).filter(move |&j| (i * 5 + j as usize * 3).is_multiple_of(7));
    let ptr: Vec<usize> = (0..=90).map(|n| (0..n).map(|i| on(i).count()).sum()).collect();
    let labels = LabelView::try_new(ptr, (0..90).flat_map(on).collect::<Vec<_>>(), 12).unwrap();
    let found = [
        fitted(&x, Targets::from(&one)),
        fitted(&x, Targets::classes(&codes, [3])),
        fitted(&x, Targets::from(&y)),
        fitted(&x, labels.into()),
    ];
    let [one, many] = [Sharing::SingleTarget, Sharing::Projected];
    assert_eq!(found.map(|found| found.0), [one, one, many, many]);
    assert_eq!(
        found.map(|found| (found.1, found.2)),
        [
            (93, 4_622_881_450_986_678_361),
            (69, 14_889_600_580_846_986_659),
            (300, 11_329_989_260_646_408_110),
            (1, 5_957_217_825_798_933_533)
        ]
    );
}
