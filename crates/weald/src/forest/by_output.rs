//! A forest of its own for each output: each of its trees is grown on the samples for which the output is known.
//!
//! Tree t of output j is tree t of the forest that is fitted to column j alone, without the samples for which it is
//! unknown. Outputs that are known for the same samples share what is made of X: its sorted columns, or its bins. Of
//! other samples, X is copied for each of these groups. Out-of-bag predictions and pruning are those of the forests of
//! the single outputs as well.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::bootstrap::tree_key;
use super::grow::{Fit, TrainingSet, grower_of};
use super::{Forest, ForestConfig, Oob, SparseOob};
use crate::control::Control;
use crate::data::dataset::Names;
use crate::data::rows::{RowsOfX, RowsOfY};
use crate::data::targets::column;
use crate::data::{ClassWeight, Dataset, Matrix, Outputs, Targets};
use crate::error::{Error, Purpose, Result};
use crate::model::{SparseScores, into_array};
use crate::pool;
use crate::rng::Key;
use crate::rounds::side_by_side;
use crate::tree::Tree;
use crate::tree::config::TreeConfig;

const PURPOSE: Purpose = Purpose("the samples of an output");
const BY_OUTPUT: &str = "by_output";

impl ForestConfig {
    /// Returns whether a fit to these outputs grows trees of one output each: there is nothing to separate for one.
    pub(super) fn separates(&self, outputs: &Outputs) -> bool {
        self.by_output && outputs.n_outputs() > 1
    }

    /// Fits the trees `trees` of each output. X and parameters are checked.
    pub(super) fn fit_by_output(&self, trees: Range<usize>, data: &Dataset<'_>, control: &Control) -> Result<Forest> {
        data.check(&Names::TRAINING)?;
        self.check_by_output(data)?;
        let columns = Columns::new(data);
        let groups = columns.groups(control)?;
        let of_group = control.shared_by(groups.len());
        let grown = pool::map(control.n_threads(), groups.len(), |group| {
            control.check()?;
            self.fit_group(trees.clone(), &columns, &groups[group], &of_group)
        })?;
        let d = columns.n_outputs;
        let mut of_output = PURPOSE.filled(Vec::new(), d)?;
        for (&output, trees) in groups.iter().flatten().zip(grown.into_iter().flatten()) {
            of_output[output] = trees;
        }
        Ok(Forest {
            n_features: data.n_features(),
            outputs: data.outputs(),
            trees: interleaved(&of_output)?,
            by_output: true,
        })
    }

    fn check_by_output(&self, data: &Dataset<'_>) -> Result<()> {
        if matches!(data.outputs(), Outputs::Classes { .. }) {
            return Err(Error::unsupported(BY_OUTPUT, "for several outputs of classes"));
        }
        if self.tree.output_projection.is_some() {
            return Err(Error::unsupported(BY_OUTPUT, "with output_projection"));
        }
        let factors = self.tree.output_factors();
        if factors.are_given() {
            return Err(Error::invalid(factors.name(), "given with by_output", "not be set"));
        }
        if !matches!(data.row_weights().class_weight, ClassWeight::Equal) {
            return Err(Error::unsupported("class_weight", "with by_output"));
        }
        Ok(())
    }

    /// Fits the trees of outputs that are known for the same samples.
    fn fit_group(
        &self,
        trees: Range<usize>,
        columns: &Columns<'_, '_>,
        group: &[usize],
        control: &Control,
    ) -> Result<Vec<Vec<Arc<Tree>>>> {
        let samples = columns.samples(columns.known_rows(group[0])?, control)?;
        let (x, weights) = (samples.x(), samples.weights());
        let schema = columns.data.schema_view();
        let rows = listed((0..x.n_samples() as u32).filter(|&row| weights.is_none_or(|w| w[row as usize] > 0.0)))?;
        let categories = columns.data.categories()?;
        let grower = Arc::new(grower_of(&self.tree, &x, categories, (&rows, weights), control)?);
        let fit = Fit { sampling: self.sampling, seed: self.seed, n_trees: trees.len(), is_alone: false };
        let of_tree = control.shared_by(trees.len());
        let fitted = group.iter().map(|&output| {
            let y = columns.y(output, samples.rows.as_deref(), control)?;
            let data = Dataset::new(&x, y.view()).sample_weight(weights).schema(schema.view());
            let config = self.of_output(output)?;
            let config = config.as_ref().unwrap_or(&self.tree);
            let set = TrainingSet::with_grower(config, &data, fit, Some(Arc::clone(&grower)), control)?;
            side_by_side(trees.len(), control, |i| {
                let key: Key = tree_key(self.seed, trees.start + i);
                set.grow(config, i, key, &of_tree).map(Arc::new)
            })
        });
        PURPOSE.results(fitted)
    }

    /// Returns the parameters of the trees of one output, if they differ from those of others.
    fn of_output(&self, output: usize) -> Result<Option<TreeConfig>> {
        match &self.tree.monotonic_cst {
            Some(signs) if signs.ncols() > 1 => {
                let own = signs.column(output).to_owned().insert_axis(ndarray::Axis(1));
                Ok(Some(self.tree.clone().monotonic_cst(own)))
            }
            _ => Ok(None),
        }
    }
}

impl Forest {
    /// Returns whether each tree is grown for one output alone: tree t of d outputs for output t mod d.
    pub fn is_by_output(&self) -> bool {
        self.by_output
    }

    /// Returns the number of trees of each output: all of them, unless they are grown for one output each.
    pub fn n_trees_of_an_output(&self) -> usize {
        self.trees.len() / self.trees_at_a_time()
    }

    /// Returns the number of trees that belong together: one, or one for each output.
    fn trees_at_a_time(&self) -> usize {
        if self.by_output { self.outputs.n_outputs().max(1) } else { 1 }
    }

    /// Returns the forest with some of the trees of each output, which are shared and not copied.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] if the range is empty or exceeds the number of trees of an output.
    pub fn some_trees(&self, trees: Range<usize>) -> Result<Forest> {
        if trees.is_empty() || trees.end > self.n_trees_of_an_output() {
            return Err(Error::invalid("trees", format!("{trees:?}"), "be some of the trees"));
        }
        let each = self.trees_at_a_time();
        let trees = self.trees[trees.start * each..trees.end * each].iter().cloned();
        Ok(Forest { trees: Purpose("the trees of a model").collected(trees)?, ..self.clone() })
    }

    /// Returns the forest of one output, whose trees are shared and not copied.
    pub(super) fn of_output(&self, output: usize) -> Result<Forest> {
        debug_assert!(self.by_output);
        let trees = self.trees.iter().skip(output).step_by(self.outputs.n_outputs()).cloned();
        Ok(Forest {
            n_features: self.n_features,
            outputs: of_one(&self.outputs),
            trees: Purpose("the trees of a model").collected(trees)?,
            by_output: false,
        })
    }

    pub(super) fn only_of(&self, i: usize) -> Forest {
        let tree = Arc::clone(&self.trees[i]);
        if self.by_output { Forest::from(tree) } else { Forest { trees: vec![tree], ..self.clone() } }
    }

    /// Returns an error for what trees of one output do not support.
    pub(super) fn check_of_all_outputs(&self, what: &'static str) -> Result<()> {
        if self.by_output { Err(Error::unsupported(what, "for trees of one output each")) } else { Ok(()) }
    }

    /// Returns the out-of-bag predictions of trees of one output each, or `None` for other trees. Where an output is
    /// unknown, all its trees are out of bag. The number of trees of a sample is the smallest over the outputs.
    pub(super) fn oob_by_output(
        &self,
        config: &ForestConfig,
        data: &Dataset<'_>,
        control: &Control,
    ) -> Result<Option<Oob>> {
        if !self.by_output {
            return Ok(None);
        }
        let observed = data.observed()?;
        let data = data.with_observed(observed.as_ref());
        data.check(&Names::TRAINING)?;
        self.check_outputs(&data)?;
        let columns = Columns::new(&data);
        let (n, d) = (data.n_samples(), columns.n_outputs);
        let of_output = control.shared_by(d);
        let found = pool::map(control.n_threads(), d, |output| {
            control.check()?;
            let forest = self.of_output(output)?;
            let rows = columns.known_rows(output)?;
            let others = rows.as_deref().map(|rows| others(rows, n)).transpose()?;
            let samples = columns.samples(rows, &of_output)?;
            let (x, y) = (samples.x(), columns.y(output, samples.rows.as_deref(), &of_output)?);
            let own = Dataset::new(&x, y.view()).sample_weight(samples.weights());
            let known = forest.oob_predict(config, own.control(&of_output))?;
            let mut scores = PURPOSE.filled(0.0, n)?;
            let mut n_trees = PURPOSE.filled(forest.n_trees() as u32, n)?;
            for (at, (&score, &trees)) in known.scores.iter().zip(&known.n_trees).enumerate() {
                let row = samples.rows.as_ref().map_or(at, |rows| rows[at] as usize);
                (scores[row], n_trees[row]) = (score, trees);
            }
            if let Some(others) = others.filter(|others| !others.is_empty()) {
                let samples = columns.samples(Some(others), &of_output)?;
                let unknown = forest.predict((samples.x(), &of_output))?;
                for (&row, &score) in samples.rows.iter().flatten().zip(&unknown) {
                    scores[row as usize] = score;
                }
            }
            Ok((scores, n_trees))
        })?;
        let mut scores = Purpose("out-of-bag predictions").zeros(n, d)?;
        let mut n_trees = Purpose("out-of-bag predictions").filled(u32::MAX, n)?;
        for (output, (of_output, trees)) in found.iter().enumerate() {
            scores.iter_mut().skip(output).step_by(d).zip(of_output).for_each(|(to, score)| *to = *score);
            n_trees.iter_mut().zip(trees).for_each(|(least, trees)| *least = (*least).min(*trees));
        }
        Ok(Some(Oob { scores: into_array(scores, n, d), n_trees }))
    }

    /// Prunes the trees of each output by the held-out samples for which it is known. Without any, they stay.
    pub(super) fn prune_by_output(&self, data: &Dataset<'_>, control: &Control) -> Result<Forest> {
        data.check_values()?;
        self.check_outputs(data)?;
        let columns = Columns::new(data);
        let of_output = control.shared_by(columns.n_outputs);
        let pruned = pool::map(control.n_threads(), columns.n_outputs, |output| {
            control.check()?;
            let forest = self.of_output(output)?;
            let rows = columns.known_rows(output)?;
            if rows.as_ref().is_some_and(Vec::is_empty) {
                return Ok(forest.trees);
            }
            let samples = columns.samples(rows, &of_output)?;
            let (x, y) = (samples.x(), columns.y(output, samples.rows.as_deref(), &of_output)?);
            let own = Dataset::new(&x, y.view()).sample_weight(samples.weights());
            forest.prune_reduced_error(own.control(&of_output)).map(|forest| forest.trees)
        })?;
        Ok(Forest { trees: interleaved(&pruned)?, ..self.clone() })
    }

    fn check_outputs(&self, data: &Dataset<'_>) -> Result<()> {
        if data.outputs() == self.outputs {
            return Ok(());
        }
        Err(Error::invalid("y", "other outputs", "have the outputs of the fit"))
    }
}

impl Oob {
    /// Returns the predictions that are positive and at least `floor`.
    pub(crate) fn at_least(self, floor: f64) -> Result<SparseOob> {
        Ok(SparseOob { scores: SparseScores::of_dense(self.scores.view(), floor)?, n_trees: self.n_trees })
    }
}

/// Returns the outputs of the trees of one output.
fn of_one(outputs: &Outputs) -> Outputs {
    match outputs {
        Outputs::Real { .. } => Outputs::Real { n_outputs: 1 },
        Outputs::Labels { .. } => Outputs::Labels { n_labels: 1 },
        Outputs::Classes { n_classes } => Outputs::Classes { n_classes: n_classes[..1].to_vec() },
    }
}

/// Returns the first tree of each output, then the second ones, and so on.
fn interleaved(of_output: &[Vec<Arc<Tree>>]) -> Result<Vec<Arc<Tree>>> {
    let n_trees = of_output.first().map_or(0, Vec::len);
    let d = of_output.len();
    let all = (0..n_trees * d).map(|place| Arc::clone(&of_output[place % d][place / d]));
    Purpose("the trees of a model").collected(all)
}

fn listed(rows: impl Iterator<Item = u32>) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for row in rows {
        PURPOSE.push(&mut found, row)?;
    }
    Ok(found)
}

/// Returns the samples, of `n`, that are not among `rows`, which are increasing.
fn others(rows: &[u32], n: usize) -> Result<Vec<u32>> {
    let mut rows = rows.iter().copied().peekable();
    listed((0..n as u32).filter(|row| rows.next_if_eq(row).is_none()))
}

/// The training data by output.
#[derive(Debug)]
struct Columns<'d, 't> {
    data: &'d Dataset<'t>,
    n_outputs: usize,
}

/// X and the weights of some samples, or of all.
#[derive(Debug)]
struct Samples<'d, 't> {
    data: &'d Dataset<'t>,
    /// The samples, in increasing order; `None`: all.
    rows: Option<Vec<u32>>,
    x: Option<RowsOfX>,
    weights: Option<Vec<f64>>,
}

impl<'d, 't> Columns<'d, 't> {
    /// The mask of `data` must have been applied, and its shapes be checked.
    fn new(data: &'d Dataset<'t>) -> Self {
        Columns { data, n_outputs: data.outputs().n_outputs() }
    }

    fn is_there(&self, row: u32) -> bool {
        self.data.row_weights().sample_weight.is_none_or(|weights| weights[row as usize] > 0.0)
    }

    /// Returns the samples of positive weight for which the output is known; `None` if these are all samples.
    fn known_rows(&self, output: usize) -> Result<Option<Vec<u32>>> {
        let Some(known) = self.data.known() else { return Ok(None) };
        let rows = (0..self.data.n_samples() as u32).filter(|&row| self.is_there(row));
        let rows = listed(rows.filter(|&row| known.is_known(row, output as u32)))?;
        Ok(Some(rows).filter(|rows| rows.len() < self.data.n_samples()))
    }

    /// Returns the outputs in groups that are known for the same samples of positive weight, in the order of their
    /// first outputs.
    fn groups(&self, control: &Control) -> Result<Vec<Vec<usize>>> {
        let Some(known) = self.data.known() else { return Ok(vec![PURPOSE.collected(0..self.n_outputs)?]) };
        let mut keys = PURPOSE.filled([0u64; 2], self.n_outputs)?;
        let mut pulse = control.pulse();
        for row in (0..self.data.n_samples() as u32).filter(|&row| self.is_there(row)) {
            // A sum of two hashes for each unknown cell: that other cells have the same sums is as good as impossible.
            let of_row = [Key::from_seed(u64::from(row)), Key::from_seed(u64::from(row)).child(1)].map(Key::bits);
            known.each_masked(row, |output| {
                let key = &mut keys[output as usize];
                *key = [key[0].wrapping_add(of_row[0]), key[1].wrapping_add(of_row[1])];
            });
            pulse.after(self.n_outputs)?;
        }
        let mut place_of: HashMap<[u64; 2], usize> = HashMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (output, key) in keys.into_iter().enumerate() {
            let place = *place_of.entry(key).or_insert(groups.len());
            if place == groups.len() {
                groups.push(Vec::new());
            }
            groups[place].push(output);
        }
        Ok(groups)
    }

    /// Returns X and the weights of some samples.
    fn samples(&self, rows: Option<Vec<u32>>, control: &Control) -> Result<Samples<'d, 't>> {
        let Some(rows) = rows else { return Ok(Samples { data: self.data, rows: None, x: None, weights: None }) };
        let x = RowsOfX::of(self.data.x(), &rows, control)?;
        let weights = self.data.row_weights().sample_weight;
        let weights = weights.map(|w| PURPOSE.collected(rows.iter().map(|&row| w[row as usize]))).transpose()?;
        Ok(Samples { data: self.data, rows: Some(rows), x: Some(x), weights })
    }

    /// Returns y of one output, as dense numbers or a label, for some samples or for all.
    fn y(&self, output: usize, rows: Option<&[u32]>, control: &Control) -> Result<RowsOfY> {
        let all;
        let rows = match rows {
            Some(rows) => rows,
            None => {
                all = PURPOSE.collected(0..self.data.n_samples() as u32)?;
                &all
            }
        };
        match column(self.data.y(), &[], output)? {
            Targets::SparseReal(y) => RowsOfY::of(&Targets::Real(y.to_dense()?.view()), rows, control),
            y => RowsOfY::of(&y, rows, control),
        }
    }
}

impl Samples<'_, '_> {
    fn x(&self) -> Matrix<'_> {
        self.x.as_ref().map_or_else(|| self.data.x().view(), RowsOfX::view)
    }

    fn weights(&self) -> Option<&[f64]> {
        if self.rows.is_none() { self.data.row_weights().sample_weight } else { self.weights.as_deref() }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};

    use super::*;
    use crate::criterion::Criterion;
    use crate::data::CellWeights;
    use crate::forest::Sampling;
    use crate::testing::{labels, models};

    /// Fits a forest to each output, on the samples for which it is known.
    fn apart(config: &ForestConfig, x: &Array2<f32>, y: &Array2<f64>, mask: &Array2<bool>) -> Vec<Forest> {
        let config = config.clone().by_output(false);
        let of_output = |output: usize| {
            let rows: Vec<usize> = (0..x.nrows()).filter(|&row| !mask[[row, output]]).collect();
            let (x, y) = (x.select(Axis(0), &rows), y.select(Axis(0), &rows).select(Axis(1), &[output]));
            if config.tree.criterion.is_for_numbers() {
                return config.fit((&x, &y)).unwrap();
            }
            config.fit((&x, labels::on(y.dim(), |i, j| y[[i, j]] > 0.5))).unwrap()
        };
        (0..y.ncols()).map(of_output).collect()
    }

    #[test]
    fn a_single_target_forest_equals_a_forest_for_each_output() {
        for seed in 0..40 {
            let rows = models::rows(seed, 30, 4);
            let mut stream = crate::rng::Stream::new(Key::from_seed(seed));
            let y = Array2::from_shape_fn((30, 3), |_| stream.below(3) as f64 / 2.0);
            // The first output is known for all samples, or for the same as the second one.
            let mut mask = Array2::from_shape_fn((30, 3), |(i, _)| i > 1 && stream.below(2) == 0);
            for i in 0..30 {
                mask[[i, 0]] = seed % 2 == 0 && mask[[i, 1]];
            }
            let criterion = if seed % 3 == 0 { Criterion::Gini } else { Criterion::Variance };
            let config = ForestConfig::random_forest(criterion).n_trees(5).seed(seed).by_output(true);
            let config = if seed % 4 == 0 { config.sampling(Sampling::All) } else { config };
            let expected = apart(&config, &rows.c_order, &y, &mask);
            let labels = labels::on(y.dim(), |i, j| y[[i, j]] > 0.5);
            for (x, n_threads) in rows.layouts().into_iter().zip([1, 2, 3, 1, 4]) {
                let control = Control::with_threads(n_threads);
                let targets = match criterion {
                    Criterion::Gini => Targets::Labels(labels.view()),
                    _ => Targets::Real(y.view()),
                };
                let data = || Dataset::new(&x, &targets).y_weight(CellWeights::from(&mask));
                let forest = config.fit(data().control(&control)).unwrap();
                assert!(forest.is_by_output() && forest.n_trees_of_an_output() == 5);
                let found = forest.predict((&x, &control)).unwrap();
                for (output, one) in expected.iter().enumerate() {
                    assert_eq!(&forest.of_output(output).unwrap(), one, "{seed}");
                    assert_eq!(found.column(output), one.predict((&x, &control)).unwrap().column(0));
                }
                let parts = [0..2, 2..5].map(|trees| config.fit_trees(trees, data().control(&control)).unwrap());
                assert_eq!(Forest::merge(&[&parts[0], &parts[1]]).unwrap(), forest);
                assert_eq!(forest.some_trees(2..5).unwrap(), parts[1]);
                assert!(forest.some_trees(2..6).is_err());
                let sparse = forest.predict_at_least((&x, &control), 0.3).unwrap();
                assert_eq!(sparse, SparseScores::of_dense(found.view(), 0.3).unwrap());
            }
        }
    }

    #[test]
    fn trees_of_one_output_and_trees_of_all_do_not_mix() {
        let rows = models::rows(1, 12, 3);
        let y = Array2::from_shape_fn((12, 2), |(i, j)| (i * (j + 1) % 5) as f64);
        let config = ForestConfig::random_forest(Criterion::Variance).n_trees(2);
        let joint = config.fit((&rows.c_order, &y)).unwrap();
        let by_output = config.clone().by_output(true).fit((&rows.c_order, &y)).unwrap();
        assert!(Forest::merge(&[&joint, &by_output]).is_err());
        assert!(by_output.with_top_k(1, &Control::default()).is_err());
        let codes = Array2::from_shape_fn((12, 2), |(i, _)| (i % 2) as u32);
        let classes = Targets::classes(codes.view(), vec![2, 2]);
        let of_classes = ForestConfig::random_forest(Criterion::Gini).by_output(true);
        assert!(of_classes.fit((&rows.c_order, classes)).is_err());
        // With one output there is nothing to separate.
        let one = y.select(Axis(1), &[0]);
        let (a, b) = (config.fit((&rows.c_order, &one)).unwrap(), config.by_output(true).fit((&rows.c_order, &one)));
        assert_eq!(a, b.unwrap());
    }
}
