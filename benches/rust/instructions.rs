//! Small pieces of work whose instructions are counted: `python benches/instructions.py main` runs each of them under
//! callgrind, which counts what happens inside [`counted`].
//!
//! `cargo bench -p weald-benches --bench instructions -- --list` prints their names, and with a name the work is done
//! once. All use one thread, and data and seeds are fixed. Work that becomes another gets another name: `history.json` has
//! the counts of each name at former commits.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::hint::black_box;

use ndarray::Array2;
use weald::bench::nanoseconds_of_rows;
use weald::projection::{OutputProjection, Projection};
use weald::{
    BoostConfig, CentroidForestConfig, CompressConfig, Control, Criterion, Forest, ForestConfig, LabelTreeConfig,
    LabelView, LinearConfig, LossKind, Matrix, Result, Scorer, SparseView, Targets, TreeConfig,
};
use weald_benches::{Random, text};

/// What callgrind counts. It has to stay a function of its own with this name.
#[inline(never)]
fn counted(work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    work()
}

fn count<T>(mut work: impl FnMut() -> Result<T>) -> Result<()> {
    counted(&mut || work().map(|result| drop(black_box(result))))
}

/// Samples of real numbers, and `n_outputs` functions of five features each, with noise.
fn numbers(n: usize, n_outputs: usize) -> (Array2<f32>, Array2<f64>) {
    const P: usize = 20;
    let mut random = Random(2);
    let x = Array2::from_shape_simple_fn((n, P), || random.uniform() as f32);
    let y = Array2::from_shape_fn((n, n_outputs), |(i, j)| {
        let x = |k: usize| f64::from(x[[i, (3 * j + k) % P]]);
        6.0 * x(0) * x(1) + (x(2) - 0.5).abs() + if x(3) > x(4) { 1.0 } else { 0.0 } + 0.3 * random.uniform()
    });
    (x, y)
}

/// One of three classes for each sample: the third of the range of the first output.
fn classes(y: &Array2<f64>) -> Array2<u32> {
    let class = |y: f64| if y < 1.5 { 0 } else { u32::from(y >= 3.0) + 1 };
    Array2::from_shape_fn((y.nrows(), 1), |(i, _)| class(y[[i, 0]]))
}

/// Texts with the labels of some of their words: a label is there if its word is.
struct Tagged {
    x: SparseView<'static>,
    ptr: Vec<usize>,
    labels: Vec<u32>,
    n_labels: usize,
}

impl Tagged {
    fn new(n: usize, n_words: usize, n_labels: usize) -> Self {
        let x = text(n, n_words, 20);
        let (mut ptr, mut labels) = (vec![0], Vec::new());
        for row in x.ptr().windows(2) {
            let words = &x.indices()[row[0]..row[1]];
            labels.extend(words.iter().copied().filter(|&word| (word as usize) < n_labels));
            ptr.push(labels.len());
        }
        Tagged { x, ptr, labels, n_labels }
    }

    fn x(&self) -> Result<Matrix<'_>> {
        let x = &self.x;
        SparseView::try_new(x.ptr(), x.indices(), x.values(), x.n_minor()).map(Matrix::Csr)
    }

    fn y(&self) -> Result<Targets<'_>> {
        LabelView::try_new(&self.ptr[..], &self.labels[..], self.n_labels).map(Targets::Labels)
    }
}

/// A forest of the first sample numbers, for what is done with forests.
fn forest(x: &Array2<f32>, y: &Array2<f64>, n_trees: usize) -> Result<Forest> {
    ForestConfig::extra_trees(Criterion::Variance).n_trees(n_trees).max_depth(8).fit((x, y))
}

type Work = fn(&Control) -> Result<()>;

const ALL: [(&str, Work); 17] = [
    ("tree, dense", |control| {
        let (x, y) = numbers(3000, 1);
        count(|| TreeConfig::new(Criterion::Variance).fit((&x, &y, control)))
    }),
    ("tree, sparse", |control| {
        let data = Tagged::new(1000, 500, 50);
        let (x, y) = (data.x()?, data.y()?);
        count(|| TreeConfig::new(Criterion::Gini).max_depth(12).fit((&x, &y, control)))
    }),
    ("tree, binned", |control| {
        let (x, y) = numbers(5000, 1);
        let y = classes(&y);
        let config = TreeConfig::new(Criterion::Gini).max_bins(255);
        count(|| config.fit((&x, Targets::classes(&y, [3]), control)))
    }),
    ("random forest", |control| {
        let (x, y) = numbers(1500, 3);
        count(|| ForestConfig::random_forest(Criterion::Variance).n_trees(3).fit((&x, &y, control)))
    }),
    ("boosting, numbers", |control| {
        let (x, y) = numbers(3000, 1);
        count(|| BoostConfig::new(LossKind::SquaredError).n_estimators(20).fit((&x, &y, control)))
    }),
    ("boosting, labels", |control| {
        let data = Tagged::new(500, 300, 30);
        let (x, y) = (data.x()?, data.y()?);
        count(|| BoostConfig::new(LossKind::LogLoss).n_estimators(5).fit((&x, &y, control)))
    }),
    ("boosting, classes", |control| {
        let (x, y) = numbers(1500, 1);
        let y = classes(&y);
        let config = BoostConfig::new(LossKind::LogLoss).n_estimators(10);
        count(|| config.fit((&x, Targets::classes(&y, [3]), control)))
    }),
    ("tree, projected labels", |control| {
        let data = Tagged::new(1000, 500, 300);
        let (x, y) = (data.x()?, data.y()?);
        let projection = OutputProjection::new(Projection::Gaussian).n_projections(20);
        let config = TreeConfig::new(Criterion::Gini).max_depth(8).output_projection(projection);
        count(|| config.fit((&x, &y, control)))
    }),
    ("loss sums", |_| count(|| Ok(nanoseconds_of_rows(100, 1000, 1)))),
    ("predictions, dense", |control| {
        let (x, y) = numbers(3000, 2);
        let forest = forest(&x, &y, 10)?;
        count(|| forest.predict((&x, control)))
    }),
    ("predictions, sparse", |control| {
        let data = Tagged::new(1000, 500, 50);
        let (x, y) = (data.x()?, data.y()?);
        let forest = ForestConfig::extra_trees(Criterion::Gini).n_trees(5).max_depth(12).fit((&x, &y))?;
        count(|| forest.predict((&x, control)))
    }),
    ("predictions, one sample", |_| {
        let (x, y) = numbers(1000, 1);
        let forest = forest(&x, &y, 30)?;
        let (scorer, mut scores) = (Scorer::new(forest)?, [0.0]);
        count(|| {
            let mut rows = x.rows().into_iter().filter_map(|row| row.to_slice());
            rows.try_for_each(|sample| scorer.scores(sample, black_box(&mut scores)))
        })
    }),
    ("linear classifier", |control| {
        let data = Tagged::new(1000, 500, 50);
        let (x, y) = (data.x()?, data.y()?);
        count(|| LinearConfig::default().fit((&x, &y, control)))
    }),
    ("label tree", |control| {
        let data = Tagged::new(1000, 500, 300);
        let (x, y) = (data.x()?, data.y()?);
        count(|| LabelTreeConfig::default().fit((&x, &y, control)))
    }),
    ("centroid forest", |control| {
        let data = Tagged::new(1000, 500, 100);
        let (x, y) = (data.x()?, data.y()?);
        count(|| CentroidForestConfig::default().n_trees(2).fit((&x, &y, control)))
    }),
    ("compression", |control| {
        let (x, y) = numbers(500, 1);
        let forest = forest(&x, &y, 10)?;
        let config = CompressConfig::stagewise(0.01).max_test_nodes(50);
        count(|| config.path(&forest, (&x, &y, control), None))
    }),
    ("saving and loading", |_| {
        let (x, y) = numbers(1000, 2);
        let forest = forest(&x, &y, 20)?;
        count(|| Forest::from_bytes(&forest.to_bytes()?))
    }),
];

fn main() -> Result<()> {
    // Cargo adds `--bench`.
    let names: Vec<String> = std::env::args().skip(1).filter(|name| name != "--bench").collect();
    match names.as_slice() {
        [list] if list == "--list" => {
            ALL.iter().for_each(|(name, _)| println!("{name}"));
            Ok(())
        }
        [name] => match ALL.iter().find(|(known, _)| known == name) {
            Some((_, work)) => work(&Control::default()),
            None => panic!("no work has the name {name:?}: see --list"),
        },
        [] => ALL.iter().try_for_each(|(_, work)| work(&Control::default())),
        _ => panic!("one name, or --list"),
    }
}
