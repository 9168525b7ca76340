//! Residuals of the squared error as a sparse matrix minus one of low rank, R = Y − 1 ρ₀ᵀ − Σ_k g_k v_kᵀ, which is
//! never computed as a whole.
//!
//! Y contains the stored labels, g_k a number for each sample and v_k one for each label, both of stage k. A projection
//! of R, or its product with a weak model, costs the number of stored labels plus k (n + d). Memory is that of the
//! labels, of one leaf index for each sample and stage, and of the v_k, which are part of the model. A hundred thousand
//! labels therefore fit in memory where n × d numbers do not.
//!
//! The training loss is updated: |R − g vᵀ|² = |R|² − 2 v·(Rᵀg) + |v|² |g|². If the losses of some samples are needed,
//! that of each sample is updated as well, |r − g v|² = |r|² − 2 g (r·v) + g² |v|², which costs one more projection for
//! each stage.

use crate::boost::data::{Data, Losses, OutOfBag};
use crate::boost::leaves::{Fit, Leaves};
use crate::boost::projector::Projector;
use crate::control::Control;
use crate::data::slots::Slots;
use crate::error::{Purpose, Result};
use crate::exact::WeightedGrid;
use crate::exact::reduce::Reduce;
use crate::loss::kernels::float::Float;
use crate::loss::kernels::vector::{dot, vectorised};
use crate::tree::traverse::by_leaf;

/// The contribution of a stage.
#[derive(Debug)]
struct RankOneTerm {
    leaf_of: Vec<u32>,
    /// g of each leaf.
    values: Vec<f64>,
    /// v: the learning rate times the steps.
    direction: Vec<f64>,
}

const TERMS: Purpose = Purpose("the stages of a model");

/// The residuals of some samples.
#[derive(Debug)]
pub(crate) struct LowRank<'a> {
    y: Slots<'a>,
    start: Vec<f64>,
    /// The weight of each label in the loss; `None` if all labels have the same weight.
    shares: Option<&'a [f64]>,
    terms: Vec<RankOneTerm>,
    /// Σ w |r|² over samples and labels, in units of weight.
    square: f64,
    /// The total weight, in units.
    weight: f64,
    /// The samples of positive weight, in increasing order.
    rows: Vec<u32>,
    /// The products of the residuals with the weak model along which steps were found last, if it was fitted to all
    /// samples.
    products: Option<Vec<f64>>,
    /// |r|² of each sample, if these are updated.
    of_rows: Option<Vec<f64>>,
}

impl<'a> LowRank<'a> {
    /// `y` must be the labels or classes of the data.
    pub(crate) fn new<T: Float>(data: &Data<'a, T>, y: Slots<'a>, start: &[f64]) -> Result<Self> {
        let mut on = Purpose("the counts of labels").filled(0u64, data.width)?;
        let mut weight = 0;
        let mut rows = Purpose("rows").with_capacity(data.n_samples)?;
        for row in 0..data.n_samples {
            let units = data.weights.units(row);
            weight += units;
            if units > 0 {
                rows.push(row as u32);
                y.of(row as u32).iter().for_each(|&j| on[j as usize] += units);
            }
        }
        let workers = data.weights.workers();
        workers.sum(&mut on)?;
        let weight = workers.sum_of(weight)? as f64;
        let of_label = |(&on, &c): (&u64, &f64)| on as f64 * (1.0 - c) * (1.0 - c) + (weight - on as f64) * c * c;
        let shares = data.shares;
        let square = on.iter().zip(start).map(of_label).enumerate().map(|(j, square)| share(shares, j) * square).sum();
        let start = Purpose("the steps of a stage").copied(start)?;
        Ok(LowRank { y, start, shares, terms: Vec::new(), square, weight, rows, products: None, of_rows: None })
    }

    /// Returns half the mean square of the residuals, over all samples and, if samples are followed, over those that
    /// are out of bag.
    pub(crate) fn losses<T: Float>(
        &self,
        data: &Data<'_, T>,
        out_of_bag: Option<OutOfBag<'_>>,
        n_threads: usize,
    ) -> Result<Losses> {
        let of_all = 0.5 * self.square.max(0.0) / self.weight / self.start.len() as f64;
        let of_rows = self.of_rows.as_deref();
        let of_row = |squares: &[f64]| data.out_of_bag_loss(|row| 0.5 * squares[row].max(0.0), out_of_bag, n_threads);
        Ok(Losses { all: Some(of_all), out_of_bag: of_rows.map(of_row).transpose()?.flatten() })
    }

    /// Starts to update the squares of each sample; must be called before the first stage.
    pub(crate) fn follow_rows<T: Float>(&mut self, data: &Data<'_, T>) -> Result<()> {
        debug_assert!(self.terms.is_empty());
        let y = &self.y;
        let of_none: f64 = self.start.iter().enumerate().map(|(j, c)| share(self.shares, j) * c * c).sum();
        let more = |j: usize| share(self.shares, j) * (1.0 - 2.0 * self.start[j]);
        let mut squares = Purpose("the losses of rows").filled(0.0, data.n_samples)?;
        for &row in &self.rows {
            // (1 − c)² instead of c².
            squares[row as usize] = of_none + y.of(row).iter().map(|&j| more(j as usize)).sum::<f64>();
        }
        self.of_rows = Some(squares);
        Ok(())
    }

    /// Computes R φ for one row φ of a projection. The targets of samples of weight zero are not written.
    pub(crate) fn project(&self, projector: &Projector, targets: &mut [f64], control: &Control) -> Result<()> {
        let mut phi = Purpose("a projection").filled(0.0, self.start.len())?;
        projector.write_row(0, &mut phi);
        self.along(&phi, control, |row, product| targets[row] = product)
    }

    /// Calls `visit` with every sample of positive weight, and its residuals times φ.
    fn along(&self, phi: &[f64], control: &Control, mut visit: impl FnMut(usize, f64)) -> Result<()> {
        let y = &self.y;
        let along = |v: &[f64]| vectorised(|| dot(v, phi));
        let constant = along(&self.start);
        let mut of_leaves = TERMS.with_capacity(self.terms.len())?;
        for term in &self.terms {
            control.check()?;
            let factor = along(&term.direction);
            of_leaves.push(TERMS.collected(term.values.iter().map(|g| g * factor))?);
        }
        let mut pulse = control.pulse();
        for &row in &self.rows {
            pulse.after(1 + self.terms.len())?;
            let labels: f64 = y.of(row).iter().map(|&j| phi[j as usize]).sum();
            let terms = self.terms.iter().zip(&of_leaves).map(|(term, g)| g[term.leaf_of[row as usize] as usize]);
            visit(row as usize, labels - constant - terms.sum::<f64>());
        }
        Ok(())
    }

    /// Computes Rᵀ g over the samples of `leaves`, for each label. Terms are grouped so that sums over samples are
    /// exact.
    fn products<T: Float>(
        &self,
        data: &Data<'_, T>,
        leaves: &Leaves<'_>,
        values: &[f64],
        control: &Control,
    ) -> Result<Vec<f64>> {
        const PURPOSE: Purpose = Purpose("the steps of a stage");
        let y = &self.y;
        let mut products = PURPOSE.filled(0.0, data.width)?;
        let mut counts = PURPOSE.filled(0u64, data.width)?;
        let mut touched = Vec::new();
        let mut weight = 0.0;
        let mut pulse = control.pulse();
        for (leaf, &g) in values.iter().enumerate() {
            for &row in leaves.rows(leaf) {
                pulse.after(1 + y.of(row).len())?;
                let units = leaves.units(row);
                for &j in y.of(row) {
                    if counts[j as usize] == 0 {
                        touched.push(j);
                    }
                    counts[j as usize] += units;
                }
            }
            data.weights.workers().sum_sparse(&mut counts, &mut touched)?;
            for j in touched.drain(..) {
                products[j as usize] += g * std::mem::take(&mut counts[j as usize]) as f64;
            }
            weight += g * leaves.weights[leaf];
        }
        products.iter_mut().zip(&self.start).for_each(|(sum, c)| *sum -= c * weight);
        let largest = |values: &[f64]| values.iter().fold(0.0f64, |largest, g| largest.max(g.abs()));
        for term in &self.terms {
            control.check()?;
            let bound = largest(values) * largest(&term.values);
            let grid = WeightedGrid::for_sums(bound, leaves.total);
            let mut own = 0.0;
            for (leaf, &g) in values.iter().enumerate() {
                for &row in leaves.rows(leaf) {
                    let other = term.values[term.leaf_of[row as usize] as usize];
                    own += grid.product(leaves.units(row) as f64, g * other);
                }
            }
            let overlap = data.weights.workers().sum_of(own)?;
            products.iter_mut().zip(&term.direction).for_each(|(sum, v)| *sum -= v * overlap);
        }
        Ok(products)
    }

    /// Returns the steps of all labels along one value for each leaf, Σ w r g / (Σ w g² + λ Σ_l g_l²), from sums in
    /// units. If the stage is accepted, [`LowRank::take`] must be called next.
    pub(crate) fn steps<T: Float>(&mut self, fit: Fit<'_, T>, values: &[f64]) -> Result<Vec<f64>> {
        let Fit { data, leaves, control, .. } = fit;
        let (square, regularization) = (leaves.square(values), fit.in_units().along(values));
        let products = self.products(data, leaves, values, control)?;
        let mut steps = Purpose("the steps of a stage").with_capacity(products.len())?;
        steps.extend(products.iter().map(|&product| regularization.step(product, square)));
        self.products = (leaves.total.as_f64() == self.weight).then_some(products);
        Ok(steps)
    }

    /// Updates the residuals by a stage.
    pub(crate) fn take<T: Float>(
        &mut self,
        data: &Data<'_, T>,
        leaf_of: Vec<u32>,
        values: &[f64],
        direction: &[f64],
        control: &Control,
    ) -> Result<()> {
        let (order, ranges) = by_leaf(&self.rows, &leaf_of, values.len())?;
        let leaves = Leaves::new(&order, ranges, &data.weights)?;
        let products = match self.products.take() {
            Some(products) => products,
            None => self.products(data, &leaves, values, control)?,
        };
        let square = leaves.square(values);
        let change = products.iter().zip(direction).map(|(r, v)| v * (v * square - 2.0 * r));
        self.square += change.enumerate().map(|(j, change)| share(self.shares, j) * change).sum::<f64>();
        if let Some(mut squares) = self.of_rows.take() {
            let weighed = direction.iter().enumerate().map(|(j, v)| share(self.shares, j) * v);
            let weighed = TERMS.collected(weighed)?;
            let of_direction = vectorised(|| dot(&weighed, direction));
            self.along(&weighed, control, |row, product| {
                let g = values[leaf_of[row] as usize];
                squares[row] += g * (g * of_direction - 2.0 * product);
            })?;
            self.of_rows = Some(squares);
        }
        let (values, direction) = (TERMS.copied(values)?, TERMS.copied(direction)?);
        TERMS.push(&mut self.terms, RankOneTerm { leaf_of, values, direction })
    }
}

/// Returns the weight of label `j` in the loss.
#[inline]
fn share(shares: Option<&[f64]>, j: usize) -> f64 {
    shares.map_or(1.0, |shares| shares[j])
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;
    use crate::boost::{BoostConfig, LeafEstimation};
    use crate::data::{LabelView, Targets, Weights};
    use crate::loss::outputs::ColumnLosses;
    use crate::loss::working::WorkingLoss;
    use crate::loss::{LossKind, SquaredError};
    use crate::rng::{Key, Stream};

    proptest! {
        #[test]
        fn products_losses_and_targets_are_those_of_the_dense_residual(seed in 0u64..10_000, n in 1usize..30, d in 1usize..6) {
            const LEAVES: usize = 3;
            let mut stream = Stream::new(Key::from_seed(seed));
            let mut number = |below: u64| stream.below(below) as f64 - 3.0;
            let weights: Vec<f64> = (0..n).map(|i| if i == 0 { 1.0 } else { number(3) + 3.0 }).collect();
            let (mut ptr, mut labels) = (vec![0], Vec::new());
            for _ in 0..n {
                labels.extend((0..d as u32).filter(|_| number(7) > 0.0));
                ptr.push(labels.len());
            }
            let targets = Targets::Labels(LabelView::try_new(ptr.clone(), labels.clone(), d).unwrap());
            let loss = WorkingLoss::Columns(ColumnLosses::One(&SquaredError));
            let shares = (seed % 2 == 1).then(|| (0..d).map(|_| number(4) + 3.0).collect::<Vec<_>>());
            let share = |j: usize| shares.as_ref().map_or(1.0, |shares| shares[j]);
            let weights_of_rows = Weights::of_rows(Some(&weights), n).unwrap();
            let data = Data::<f64>::new(&targets, (&loss, shares.as_deref()), weights_of_rows, d).unwrap();
            let start: Vec<f64> = (0..d).map(|_| number(7) / 10.0).collect();
            let mut r = Array2::from_shape_fn((n, d), |(i, j)| {
                f64::from(u8::from(labels[ptr[i]..ptr[i + 1]].contains(&(j as u32)))) - start[j]
            });
            let control = Control::default();
            let mut low_rank = LowRank::new(&data, Slots::new(&targets).unwrap().unwrap(), &start).unwrap();
            low_rank.follow_rows(&data).unwrap();
            // Products with factors of low rank are added in another order than those with scores.
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-10 * (1.0 + b.abs());
            let all: Vec<u32> = (0..n as u32).filter(|&row| weights[row as usize] > 0.0).collect();
            for _ in 0..4 {
                let phi: Vec<f64> = (0..d).map(|_| number(7)).collect();
                let mut projected = vec![0.0; n];
                let projector = Projector::dense(&phi, d).unwrap();
                low_rank.project(&projector, &mut projected, &control).unwrap();
                for &row in &all {
                    let expected: f64 = r.row(row as usize).iter().zip(&phi).map(|(r, phi)| r * phi).sum();
                    prop_assert!(close(projected[row as usize], expected));
                }
                let leaf_of: Vec<u32> = (0..n).map(|_| (number(3) + 3.0) as u32).collect();
                let values: Vec<f64> = (0..LEAVES).map(|_| number(7) / 4.0).collect();
                let drawn: Vec<bool> = (0..n).map(|_| number(4) > -3.0).collect();
                let inside: Vec<u32> = all.iter().copied().filter(|&row| drawn[row as usize]).collect();
                let (order, ranges) = by_leaf(&inside, &leaf_of, LEAVES).unwrap();
                for (leaf, range) in ranges.iter().enumerate() {
                    let rows: Vec<u32> = inside.iter().copied().filter(|&row| leaf_of[row as usize] == leaf as u32).collect();
                    prop_assert_eq!(&order[range.start as usize..range.end as usize], &rows);
                }
                let leaves = Leaves::new(&order, ranges, &data.weights)?;
                let config = BoostConfig::new(LossKind::SquaredError).leaf_estimation(LeafEstimation::LineSearch);
                let fit = Fit { data: &data, leaves: &leaves, gradients: None, config: &config, control: &control };
                let steps = low_rank.steps(fit, &values).unwrap();
                for (j, &step) in steps.iter().enumerate() {
                    let (mut product, mut square) = (0.0, 0.0);
                    for &row in &order {
                        let (row, g) = (row as usize, values[leaf_of[row as usize] as usize]);
                        product += weights[row] * r[[row, j]] * g;
                        square += weights[row] * g * g;
                    }
                    let expected = if square > 0.0 { product / square } else { 0.0 };
                    prop_assert!(close(step, expected));
                }
                let direction: Vec<f64> = steps.iter().map(|step| 0.5 * step).collect();
                low_rank.take(&data, leaf_of.clone(), &values, &direction, &control).unwrap();
                for ((i, j), r) in r.indexed_iter_mut() {
                    *r -= values[leaf_of[i] as usize] * direction[j];
                }
                let square: f64 = r.indexed_iter().map(|((i, j), r)| weights[i] * share(j) * r * r).sum();
                let losses = low_rank.losses(&data, Some(OutOfBag::Rows(&drawn)), 1).unwrap();
                prop_assert!(close(losses.all.unwrap(), 0.5 * square / weights.iter().sum::<f64>() / d as f64));
                let outside = |i: usize| if drawn[i] { 0.0 } else { weights[i] };
                let square: f64 = r.indexed_iter().map(|((i, j), r)| outside(i) * share(j) * r * r).sum();
                let weight: f64 = (0..n).map(outside).sum();
                prop_assert_eq!(losses.out_of_bag.is_some(), weight > 0.0);
                if let Some(loss) = losses.out_of_bag {
                    prop_assert!(close(loss, 0.5 * square / weight / d as f64));
                }
            }
        }
    }
}
