//! A digest of training data that does not depend on its layout: equal values have it as dense, CSR and CSC data.

use ndarray::ArrayView2;

use super::known::Known;
use super::{CellWeights, LabelView, Matrix};
use crate::error::{Error, ErrorKind, Result};
use crate::rng::{GOLDEN, mix};

/// The values of y, as they were passed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cells<'a> {
    /// Numbers, (n_samples, n_outputs).
    Dense(ArrayView2<'a, f64>),
    /// The stored values of each sample, which are in the order of the pattern. Others are zero.
    Stored(&'a LabelView<'a>, &'a [f64]),
    /// The samples, outputs and texts of cells, and the number of samples and outputs. Other cells do not count.
    Texts(&'a [i64], &'a [i64], &'a [String], (usize, usize)),
}

/// Returns 128 bits, as hexadecimal digits, of X, y, the mask of its unknown cells, weights, and the names of the classes
/// of each output, in increasing order.
///
/// It is a sum of the hashes of all values that are not zero with their rows and columns, and so does not depend on
/// their order or the layout. The digest detects mistakes, but it is not a cryptographic hash: it does not detect data
/// that was constructed to have the same digest. Nothing is copied, and the time is that of reading the data once.
///
/// # Errors
/// [`crate::ErrorKind::Shape`] or [`crate::ErrorKind::Invalid`] if the arrays of `y` do not fit each other.
pub fn data_digest(
    x: &Matrix<'_>,
    y: &Cells<'_>,
    mask: Option<&CellWeights<'_>>,
    weights: Option<&[f64]>,
    classes: &[Vec<String>],
) -> Result<String> {
    let mut parts = vec![of_x(x), of_y(y)?, of_mask(mask)?, of_weights(weights)];
    for (place, classes) in (0..).zip(classes) {
        for (number, name) in (0..).zip(classes) {
            parts.push(mixed([place, number].into_iter().chain(name.bytes().map(u64::from)), 2 + name.len()));
        }
    }
    let add = |a: [u64; 2], b: &[u64; 2]| [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])];
    let total = parts.iter().fold([0; 2], add);
    Ok(format!("{:016x}{:016x}", total[0], total[1]))
}

fn of_x(x: &Matrix<'_>) -> [u64; 2] {
    let mut sum = CellSum::new(0, (x.n_samples(), x.n_features()));
    match x {
        Matrix::Dense(x) => x.indexed_iter().for_each(|((row, column), &v)| sum.number(row, column, v.into())),
        Matrix::Csr(x) => (0..x.n_major()).for_each(|row| {
            let (columns, values) = x.slice(row);
            columns.iter().zip(values).for_each(|(&column, &v)| sum.number(row, column as usize, v.into()));
        }),
        Matrix::Csc(x) => (0..x.n_major()).for_each(|column| {
            let (rows, values) = x.slice(column);
            rows.iter().zip(values).for_each(|(&row, &v)| sum.number(row as usize, column, v.into()));
        }),
    }
    sum.words()
}

fn of_y(y: &Cells<'_>) -> Result<[u64; 2]> {
    let one_each = |what, expected: usize, got: usize| match expected == got {
        true => Ok(()),
        false => Err(Error::from(ErrorKind::Shape { what, expected, got })),
    };
    let mut sum = CellSum::new(1, (0, 0));
    match y {
        Cells::Dense(y) => {
            sum.shape = y.dim();
            y.indexed_iter().for_each(|((row, column), &v)| sum.number(row, column, v));
        }
        Cells::Stored(pattern, values) => {
            one_each("the values of y", pattern.indices().len(), values.len())?;
            sum.shape = (pattern.n_samples(), pattern.n_labels());
            for row in 0..pattern.n_samples() {
                let range = pattern.ptr()[row]..pattern.ptr()[row + 1];
                let cells = pattern.indices()[range.clone()].iter().zip(&values[range]);
                cells.for_each(|(&column, &v)| sum.number(row, column as usize, v));
            }
        }
        Cells::Texts(rows, columns, texts, shape) => {
            one_each("the samples of texts", texts.len(), rows.len())?;
            one_each("the outputs of texts", texts.len(), columns.len())?;
            sum.shape = *shape;
            for ((&row, &column), text) in rows.iter().zip(*columns).zip(*texts) {
                sum.bits(row as u64, column as u64, mixed(text.bytes().map(u64::from), text.len())[0]);
            }
        }
    }
    Ok(sum.words())
}

fn of_mask(mask: Option<&CellWeights<'_>>) -> Result<[u64; 2]> {
    let mut sum = CellSum::new(2, (0, 0));
    if let Some(mask) = mask {
        let known = Known::new(mask)?;
        sum.shape = mask.shape();
        for row in 0..known.n_rows() as u32 {
            known.each_masked(row, |output| sum.number(row as usize, output as usize, 1.0));
            if known.has_factors() {
                known.each_known(row, |output, factor| match factor {
                    1.0 => {}
                    _ => sum.number(row as usize, output as usize, factor),
                });
            }
        }
    }
    Ok(sum.words())
}

fn of_weights(weights: Option<&[f64]>) -> [u64; 2] {
    let mut sum = CellSum::new(3, (0, 0));
    if let Some(weights) = weights {
        sum.shape = (weights.len(), 1);
        weights.iter().enumerate().for_each(|(row, &w)| sum.number(row, 0, w));
    }
    sum.words()
}

/// The sums of two hashes of all cells of a part of the data that are not zero.
#[derive(Debug)]
struct CellSum {
    part: u64,
    shape: (usize, usize),
    sums: [u64; 2],
}

impl CellSum {
    fn new(part: u64, shape: (usize, usize)) -> Self {
        CellSum { part, shape, sums: [0; 2] }
    }

    fn number(&mut self, row: usize, column: usize, value: f64) {
        if value != 0.0 {
            // All NaN have the same bits.
            let value = if value.is_nan() { f64::NAN } else { value };
            self.bits(row as u64, column as u64, value.to_bits());
        }
    }

    fn bits(&mut self, row: u64, column: u64, bits: u64) {
        let hash = hash_of(bits, hash_of(row, column));
        self.sums[0] = self.sums[0].wrapping_add(hash);
        self.sums[1] = self.sums[1].wrapping_add(hash_of(hash, 1));
    }

    fn words(&self) -> [u64; 2] {
        let (rows, columns) = self.shape;
        mixed([self.part, rows as u64, columns as u64, self.sums[0], self.sums[1]], 5)
    }
}

/// Returns a hash of a word, with another one for each `salt`.
fn hash_of(word: u64, salt: u64) -> u64 {
    mix(word.wrapping_add(GOLDEN.wrapping_mul(salt.wrapping_add(1))))
}

/// Returns a hash of two words of a sequence of `n` words, which depends on their order.
fn mixed(words: impl IntoIterator<Item = u64>, n: usize) -> [u64; 2] {
    let start = [n as u64, n as u64 + 1];
    words.into_iter().fold(start, |[a, b], word| [hash_of(a ^ word, 2), hash_of(b ^ word, 3)])
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    fn digest(x: &Matrix<'_>, y: &Cells<'_>) -> String {
        data_digest(x, y, None, None, &[]).unwrap()
    }

    #[test]
    fn layouts_have_one_digest_and_other_values_another() {
        let x = array![[0f32, 1.5, 0.0], [-2.0, 0.0, f32::NAN]];
        let of = |x: &Matrix<'_>| digest(x, &Cells::Dense(array![[1.0, 0.0], [0.0, -3.0]].view()));
        let csr = Matrix::csr(vec![0, 1, 3], vec![1, 0, 2], vec![1.5, -2.0, -f32::NAN], 3).unwrap();
        let csc = Matrix::csc(vec![0, 2, 3, 4], vec![0, 1, 0, 1], vec![-0.0, -2.0, 1.5, f32::NAN], 2).unwrap();
        let dense = of(&Matrix::from(&x));
        assert_eq!((of(&csr), of(&csc)), (dense.clone(), dense.clone()));
        let transposed = x.t();
        for other in
            [x.mapv(|v| 2.0 * v), x.slice_axis(ndarray::Axis(1), (..2).into()).to_owned(), transposed.to_owned()]
        {
            assert_ne!(of(&Matrix::from(&other)), dense);
        }
        let labels = LabelView::try_new(vec![0, 1, 2], vec![0, 1], 2).unwrap();
        assert_eq!(digest(&csr, &Cells::Stored(&labels, &[1.0, -3.0])), dense);
        assert!(data_digest(&csr, &Cells::Stored(&labels, &[1.0]), None, None, &[]).is_err());
    }

    #[test]
    fn masks_weights_texts_and_classes_count() {
        let x = Array2::<f32>::zeros((2, 1));
        let x = Matrix::from(&x);
        let texts = ["a".to_owned(), "b".to_owned()];
        let y = Cells::Texts(&[0, 1], &[0, 0], &texts, (2, 1));
        let mask = array![[true], [false]];
        let listed = LabelView::try_new(vec![0, 1, 1], vec![0], 1).unwrap();
        let masked = |mask: CellWeights<'_>| data_digest(&x, &y, Some(&mask), None, &[]).unwrap();
        assert_eq!(masked(CellWeights::from(&mask)), masked(CellWeights::UnknownOutputs(listed)));
        let swapped = Cells::Texts(&[1, 0], &[0, 0], &texts, (2, 1));
        let found = [
            digest(&x, &y),
            digest(&x, &swapped),
            masked(CellWeights::from(&mask)),
            data_digest(&x, &y, None, Some(&[1.0, 2.0]), &[]).unwrap(),
            data_digest(&x, &y, None, None, &[texts.to_vec()]).unwrap(),
        ];
        for (i, a) in found.iter().enumerate() {
            assert_eq!(a.len(), 32);
            assert!(found[..i].iter().all(|b| a != b));
        }
    }
}
