//! Data that the benchmarks generate.
#![allow(clippy::disallowed_methods)]

use weald::SparseView;

/// A small random number generator (SplitMix64). It is written here so that the data never change.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// Returns a number that is uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns an integer that is uniform in `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }
}

/// Returns word counts of texts. The frequency of a word is inversely proportional to its rank (Zipf's law), ranks are
/// assigned to columns at random, and a text has between half of `per_row` and one and a half times `per_row` distinct
/// words.
pub fn text(n_rows: usize, n_words: usize, per_row: usize) -> SparseView<'static> {
    let mut random = Random(1);
    let mut column: Vec<u32> = (0..n_words as u32).collect();
    for i in (1..n_words).rev() {
        column.swap(i, random.below(i + 1));
    }
    let (mut ptr, mut indices, mut values) = (vec![0], vec![], vec![]);
    for _ in 0..n_rows {
        let length = per_row / 2 + random.below(per_row + 1);
        let mut row = std::collections::BTreeSet::new();
        while row.len() < length {
            let rank = (n_words as f64).powf(random.uniform()) as usize;
            row.insert(column[rank.min(n_words) - 1]);
        }
        values.extend(row.iter().map(|_| (1.0 / random.uniform().max(0.05)).floor() as f32));
        indices.extend(row);
        ptr.push(indices.len());
    }
    SparseView::try_new(ptr, indices, values, n_words).expect("rows rise: they were sets")
}
