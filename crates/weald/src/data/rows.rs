//! Some samples of a data set, as a data set of their own: those of a fold.

use ndarray::{Array2, ArrayView2, ShapeBuilder};

use super::dataset::CellWeights;
use super::targets::{LabelView, Targets};
use super::{Dataset, Matrix, SparseTargets, SparseView};
use crate::control::Control;
use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the samples of a fold");

/// X, y, the mask and the initial scores of some samples. Weights are those of the caller.
#[derive(Debug)]
pub(crate) struct Rows {
    x: RowsOfX,
    y: RowsOfY,
    y_weight: Option<WeightsOf>,
    base_margin: Option<Array2<f64>>,
}

/// Some samples of X.
#[derive(Debug)]
pub(crate) enum RowsOfX {
    Dense(Array2<f32>),
    Sparse(Matrix<'static>),
}

impl RowsOfX {
    /// Copies the samples `rows`, in increasing order, some of which may be repeated.
    pub(crate) fn of(x: &Matrix<'_>, rows: &[u32], control: &Control) -> Result<Self> {
        Ok(match x {
            Matrix::Dense(x) => RowsOfX::Dense(dense(x, rows, control)?),
            Matrix::Csr(x) => RowsOfX::Sparse(Matrix::Csr(x.narrowed(rows, control)?)),
            Matrix::Csc(x) => RowsOfX::Sparse(Matrix::Csc(of_columns(x, rows, control)?)),
        })
    }

    pub(crate) fn view(&self) -> Matrix<'_> {
        match self {
            RowsOfX::Dense(x) => Matrix::Dense(x.view()),
            RowsOfX::Sparse(x) => x.view(),
        }
    }
}

/// y of some samples.
#[derive(Debug)]
pub(crate) enum RowsOfY {
    Real(Array2<f64>),
    Classes(Array2<u32>, Vec<u32>),
    Stored(Targets<'static>),
}

impl RowsOfY {
    /// Copies y of the samples `rows`, as [`RowsOfX::of`] copies X.
    pub(crate) fn of(y: &Targets<'_>, rows: &[u32], control: &Control) -> Result<Self> {
        Ok(match y {
            Targets::Real(y) => RowsOfY::Real(dense(y, rows, control)?),
            Targets::Classes { codes, n_classes } => {
                RowsOfY::Classes(dense(codes, rows, control)?, PURPOSE.copied(n_classes)?)
            }
            Targets::Labels(y) => RowsOfY::Stored(Targets::Labels(labels(y, rows)?)),
            Targets::SparseReal(y) => RowsOfY::Stored(Targets::SparseReal(y.narrowed(rows)?)),
        })
    }

    pub(crate) fn view(&self) -> Targets<'_> {
        match self {
            RowsOfY::Real(y) => Targets::Real(y.view()),
            RowsOfY::Classes(codes, n_classes) => Targets::classes(codes.view(), &n_classes[..]),
            RowsOfY::Stored(y) => y.view(),
        }
    }
}

#[derive(Debug)]
enum WeightsOf {
    Unknown(Array2<bool>),
    UnknownOutputs(LabelView<'static>),
    Dense(Array2<f64>),
    Stored(SparseTargets<'static>),
}

impl Rows {
    /// Copies the samples `rows`, in increasing order, some of which may be repeated, of checked data.
    pub(crate) fn of(data: &Dataset<'_>, rows: &[u32], control: &Control) -> Result<Self> {
        let x = RowsOfX::of(data.x(), rows, control)?;
        let y = RowsOfY::of(data.y(), rows, control)?;
        let y_weight = match data.mask() {
            None => None,
            Some(CellWeights::Unknown(mask)) => Some(WeightsOf::Unknown(dense(mask, rows, control)?)),
            Some(CellWeights::UnknownOutputs(mask)) => Some(WeightsOf::UnknownOutputs(labels(mask, rows)?)),
            Some(CellWeights::Dense(weights)) => Some(WeightsOf::Dense(dense(weights, rows, control)?)),
            Some(CellWeights::Stored(weights)) => Some(WeightsOf::Stored(weights.narrowed(rows)?)),
        };
        let base_margin = data.unchecked_margins().map(|margins| dense(margins, rows, control)).transpose()?;
        Ok(Rows { x, y, y_weight, base_margin })
    }

    /// Returns these samples with features of the kinds of `data`, which they are of.
    pub(crate) fn data<'a>(&'a self, data: &'a Dataset<'_>) -> Dataset<'a> {
        let y_weight = self.y_weight.as_ref().map(|mask| match mask {
            WeightsOf::Unknown(mask) => CellWeights::Unknown(mask.view()),
            WeightsOf::UnknownOutputs(mask) => CellWeights::UnknownOutputs(mask.view()),
            WeightsOf::Dense(weights) => CellWeights::Dense(weights.view()),
            WeightsOf::Stored(weights) => CellWeights::Stored(weights.view()),
        });
        let margins = self.base_margin.as_ref().map(|margins| margins.view());
        Dataset::new(self.x.view(), self.y.view()).schema(data.schema_view()).y_weight(y_weight).base_margin(margins)
    }
}

/// Copies rows into the order of the memory that they are read from.
fn dense<T: Copy>(from: &ArrayView2<'_, T>, rows: &[u32], control: &Control) -> Result<Array2<T>> {
    let shape = (rows.len(), from.ncols());
    let mut values = PURPOSE.with_capacity(shape.0.saturating_mul(shape.1))?;
    let mut pulse = control.pulse();
    let by_columns = from.strides()[0].abs() <= from.strides()[1].abs();
    if by_columns {
        for column in from.columns() {
            pulse.after(rows.len())?;
            values.extend(rows.iter().map(|&row| column[row as usize]));
        }
    } else {
        for &row in rows {
            pulse.after(from.ncols())?;
            values.extend(from.row(row as usize));
        }
    }
    Ok(Array2::from_shape_vec(shape.set_f(by_columns), values).expect("a value for each cell"))
}

/// Copies rows of a matrix that is stored by columns.
fn of_columns(from: &SparseView<'_>, rows: &[u32], control: &Control) -> Result<SparseView<'static>> {
    // The places of row i are `places[i]..places[i + 1]`.
    let mut places = PURPOSE.filled(0u32, from.n_minor() + 1)?;
    rows.iter().for_each(|&row| places[row as usize + 1] += 1);
    (0..from.n_minor()).for_each(|row| places[row + 1] += places[row]);
    let of = |row: u32| places[row as usize]..places[row as usize + 1];
    let n_stored = from.indices().iter().map(|&row| of(row).len()).sum();
    let mut ptr = PURPOSE.with_capacity(from.n_major() + 1)?;
    let mut indices = PURPOSE.with_capacity(n_stored)?;
    let mut values = PURPOSE.with_capacity(n_stored)?;
    let mut pulse = control.pulse();
    ptr.push(0);
    for column in 0..from.n_major() {
        let (of_column, stored) = from.slice(column);
        pulse.after(of_column.len())?;
        for (&row, &value) in of_column.iter().zip(stored) {
            indices.extend(of(row));
            values.extend(of(row).map(|_| value));
        }
        ptr.push(indices.len());
    }
    SparseView::try_new(ptr, indices, values, rows.len())
}

fn labels(from: &LabelView<'_>, rows: &[u32]) -> Result<LabelView<'static>> {
    let of = |row: u32| &from.indices()[from.ptr()[row as usize]..from.ptr()[row as usize + 1]];
    let mut ptr = PURPOSE.with_capacity(rows.len() + 1)?;
    let mut indices = PURPOSE.with_capacity(rows.iter().map(|&row| of(row).len()).sum())?;
    ptr.push(0);
    for &row in rows {
        indices.extend_from_slice(of(row));
        ptr.push(indices.len());
    }
    LabelView::try_new(ptr, indices, from.n_labels())
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, array};

    use super::*;

    #[test]
    fn rows_are_those_of_numpy_in_every_layout() {
        let x = array![[0f32, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 4.0], [5.0, 0.0, 6.0]];
        let (ptr, columns, values) = (vec![0, 1, 2, 4, 6], vec![1u32, 0, 1, 2, 0, 2], vec![1f32, 2., 3., 4., 5., 6.]);
        let csr = SparseView::try_new(ptr, columns, values, 3).unwrap();
        let csc = csr.transposed().unwrap();
        let by_column = Array2::from_shape_fn((4, 3).f(), |at| x[at]);
        let y = array![[0.0], [1.0], [2.0], [3.0]];
        let codes = array![[0u32], [1], [1], [0]];
        let label = LabelView::try_new(vec![0, 1, 1, 3, 4], vec![0, 0, 1, 1], 2).unwrap();
        let mask = array![[true, false], [false, false], [false, true], [true, true]];
        for rows in [vec![], vec![2], vec![0, 3], vec![1, 2, 3], vec![0, 1, 2, 3], vec![0, 0, 2, 3, 3, 3]] {
            let control = Control::default();
            let places = rows.iter().map(|&row| row as usize).collect::<Vec<_>>();
            let expected = x.select(Axis(0), &places);
            let layouts =
                [Matrix::from(&x), Matrix::from(&by_column), Matrix::Csr(csr.view()), Matrix::Csc(csc.view())];
            for x in layouts {
                let data = Dataset::new(x, &y).base_margin(y.view());
                let taken = Rows::of(&data, &rows, &control).unwrap();
                let found = taken.data(&data);
                let mut dense = Array2::zeros(expected.dim());
                match found.x() {
                    Matrix::Dense(x) => dense.assign(x),
                    Matrix::Csr(x) => (0..rows.len()).for_each(|row| {
                        let (columns, values) = x.slice(row);
                        columns.iter().zip(values).for_each(|(&at, &value)| dense[[row, at as usize]] = value);
                    }),
                    Matrix::Csc(x) => (0..3).for_each(|column| {
                        let (rows, values) = x.slice(column);
                        rows.iter().zip(values).for_each(|(&at, &value)| dense[[at as usize, column]] = value);
                    }),
                }
                assert_eq!(dense, expected);
                let Targets::Real(of_y) = found.y() else { panic!() };
                assert_eq!(of_y, y.select(Axis(0), &places));
                assert_eq!(found.unchecked_margins().unwrap(), y.select(Axis(0), &places));
            }
            let data = Dataset::new(&x, Targets::classes(&codes, [2])).y_weight(CellWeights::from(&mask));
            let taken = Rows::of(&data, &rows, &control).unwrap();
            let found = taken.data(&data);
            let Targets::Classes { codes: found_codes, n_classes } = found.y() else { panic!() };
            assert_eq!((found_codes, &n_classes[..]), (&codes.select(Axis(0), &places).view(), &[2][..]));
            let Some(CellWeights::Unknown(found)) = found.mask() else { panic!() };
            assert_eq!(found, mask.select(Axis(0), &places));
            let data = Dataset::new(&x, label.view()).y_weight(CellWeights::UnknownOutputs(label.view()));
            let taken = Rows::of(&data, &rows, &control).unwrap();
            let found = taken.data(&data);
            let (Targets::Labels(y), Some(CellWeights::UnknownOutputs(mask))) = (found.y(), found.mask()) else {
                panic!()
            };
            let of = |row: &usize| label.indices()[label.ptr()[*row]..label.ptr()[*row + 1]].to_vec();
            for found in [y, mask] {
                assert_eq!(found.indices(), places.iter().flat_map(of).collect::<Vec<_>>());
                assert_eq!(
                    found.ptr().windows(2).map(|w| w[1] - w[0]).collect::<Vec<_>>(),
                    places.iter().map(|row| of(row).len()).collect::<Vec<_>>()
                );
            }
        }
    }
}
