//! Gini index of classes and labels from counts of slots: the sparse-output kernel.
//!
//! With t_j the weight of slot j in the node, m_j in the moved side and W the total weights, minimising the weighted mean
//! Gini index of the sides is maximising
//!
//!   Σ_j m_j² / W_m + Σ_j (t_j − m_j)² / W_r,
//!
//! for class outputs (Σ over outputs of 1 − Σ p²) and for labels (2p(1 − p) each: the linear term is the same for every
//! cut). Expanding the second square leaves Σ t², Σ t m and Σ m²; moving a sample of weight w changes them only in the slots
//! that it occupies, by w t_j and w (2 m_j + w): the cost is the labels of the sample, never the number of labels.

use super::slots::Slots;
use super::{Criterion, NodeStats, Units};

/// Weight of one slot in the node and in the moved side, side by side in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Slot<U> {
    total: U,
    moved: U,
}

#[derive(Debug)]
pub(crate) struct Gini<'a, U: Units> {
    y: &'a Slots<'a>,
    weights: &'a [U],
    slots: Vec<Slot<U>>,
    /// Slots with a total, and slots with something moved.
    present: Vec<u32>,
    touched: Vec<u32>,
    weight: U,
    moved_weight: U,
    total_squares: U::Square,
    moved_squares: U::Square,
    /// Σ t m.
    products: U::Square,
}

impl<'a, U: Units> Gini<'a, U> {
    pub(crate) fn new(y: &'a Slots<'a>, weights: &'a [U]) -> Self {
        Gini {
            y,
            weights,
            slots: vec![Slot::default(); y.width],
            present: Vec::new(),
            touched: Vec::new(),
            weight: U::default(),
            moved_weight: U::default(),
            total_squares: U::Square::default(),
            moved_squares: U::Square::default(),
            products: U::Square::default(),
        }
    }

    /// Impurity per unit of Σ p²: two for a label, one for a class output, over the number of outputs.
    fn scale(&self) -> f64 {
        match self.y.n_class_outputs {
            Some(n) => 1.0 / n as f64,
            None => 2.0 / self.y.width as f64,
        }
    }
}

impl<U: Units> Criterion for Gini<'_, U> {
    fn enter(&mut self, rows: &[u32]) -> NodeStats {
        self.reset();
        for slot in self.present.drain(..) {
            self.slots[slot as usize].total = U::default();
        }
        let mut weight = U::default();
        for &row in rows {
            let w = self.weights[row as usize];
            weight += w;
            for &slot in self.y.of(row) {
                let total = &mut self.slots[slot as usize].total;
                if *total == U::default() {
                    self.present.push(slot);
                }
                *total += w;
            }
        }
        self.weight = weight;
        self.total_squares = U::Square::default();
        let mut pure = true;
        // Σ p, which is exact: with Σ p² it gives the impurity.
        let mut occupied = 0u64;
        for &slot in &self.present {
            let total = self.slots[slot as usize].total;
            pure &= total == weight;
            self.total_squares = self.total_squares + total.times(total);
            occupied += total.to_f64() as u64;
        }
        let w = weight.to_f64();
        let impurity = if pure {
            0.0
        } else {
            (occupied as f64 / w - U::square_to_f64(self.total_squares) / (w * w)) * self.scale()
        };
        NodeStats { weight: w, impurity: impurity.max(0.0), pure }
    }

    fn reset(&mut self) {
        for slot in self.touched.drain(..) {
            self.slots[slot as usize].moved = U::default();
        }
        self.moved_weight = U::default();
        self.moved_squares = U::Square::default();
        self.products = U::Square::default();
    }

    #[inline]
    fn move_sample(&mut self, row: u32) {
        let w = self.weights[row as usize];
        self.moved_weight += w;
        let (mut squares, mut products) = (self.moved_squares, self.products);
        for &index in self.y.of(row) {
            let slot = &mut self.slots[index as usize];
            if slot.moved == U::default() {
                self.touched.push(index);
            }
            squares = squares + w.times(slot.moved);
            slot.moved += w;
            // w m before and w m after add up to w (2 m + w).
            squares = squares + w.times(slot.moved);
            products = products + w.times(slot.total);
        }
        (self.moved_squares, self.products) = (squares, products);
    }

    fn moved_weight(&self) -> f64 {
        self.moved_weight.to_f64()
    }

    #[inline]
    fn score(&self) -> f64 {
        let moved = self.moved_weight.to_f64();
        let rest = self.weight.to_f64() - moved;
        let rest_squares = self.total_squares + self.moved_squares - self.products - self.products;
        U::square_to_f64(self.moved_squares) / moved + U::square_to_f64(rest_squares) / rest
    }

    fn decrease(&self, score: f64) -> f64 {
        let w = self.weight.to_f64();
        ((score - U::square_to_f64(self.total_squares) / w) / w * self.scale()).max(0.0)
    }
}
