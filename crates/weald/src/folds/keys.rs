//! Hashes of what a sample is, which do not depend on where it stands or on the layout of X.

use ndarray::Axis;

use crate::control::{Control, STEPS};
use crate::data::{Matrix, SparseView};
use crate::error::{Error, Purpose, Result};
use crate::rng::Key;

const PURPOSE: Purpose = Purpose("the hashes of samples");

/// Returns a hash of the values of each sample. It is the same in every layout, as it is a sum over the non-zero
/// entries.
pub(crate) fn row_keys(x: &Matrix<'_>, control: &Control) -> Result<Vec<u64>> {
    let mut keys = control.filled(PURPOSE, 0u64, x.n_samples())?;
    let mut pulse = control.pulse();
    let mut add = |row: usize, feature: usize, value: f32| {
        if value != 0.0 {
            // All NaN, whatever their bits, are one value: missing.
            let value = if value.is_nan() { f32::NAN } else { value };
            let entry = (feature as u64) << 32 | u64::from(value.to_bits());
            keys[row] = keys[row].wrapping_add(Key::from_seed(entry).bits());
        }
    };
    let mut each = |x: &SparseView<'_>, add: &mut dyn FnMut(usize, usize, f32)| {
        for major in 0..x.n_major() {
            pulse.after(1)?;
            let (minors, values) = x.slice(major);
            for (minors, values) in minors.chunks(STEPS).zip(values.chunks(STEPS)) {
                pulse.after(minors.len())?;
                minors.iter().zip(values).for_each(|(&minor, &value)| add(major, minor as usize, value));
            }
        }
        Ok::<_, Error>(())
    };
    match x {
        // The loop runs along the shorter stride.
        Matrix::Dense(x) if x.strides()[0].abs() < x.strides()[1].abs() => {
            for (feature, column) in x.columns().into_iter().enumerate() {
                for (piece, values) in column.axis_chunks_iter(Axis(0), STEPS).enumerate() {
                    control.check()?;
                    let first = piece * STEPS;
                    values.iter().enumerate().for_each(|(i, &value)| add(first + i, feature, value));
                }
            }
        }
        Matrix::Dense(x) => {
            let at_once = (STEPS / x.ncols().max(1)).max(1);
            for (piece, rows) in x.axis_chunks_iter(Axis(0), at_once).enumerate() {
                control.check()?;
                let first = piece * at_once;
                rows.indexed_iter().for_each(|((i, feature), &value)| add(first + i, feature, value));
            }
        }
        Matrix::Csr(x) => each(x, &mut add)?,
        Matrix::Csc(x) => each(x, &mut |feature, row, value| add(row, feature, value))?,
    }
    Ok(keys)
}

/// Returns a hash of numbers, of which positive and negative zero are the same.
pub(crate) fn numbers_key(numbers: impl Iterator<Item = f64>) -> Key {
    numbers.fold(Key::from_seed(0), |key, v| key.child(if v == 0.0 { 0 } else { v.to_bits() }))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn keys_do_not_depend_on_the_layout() {
        let x = array![[0f32, 1.5, 0.0], [-0.0, 0.0, f32::NAN], [3.0, 0.0, -1.0]];
        let fortran = x.t().as_standard_layout().into_owned();
        let ptr: Vec<usize> = vec![0, 1, 2, 4];
        let csr = SparseView::try_new(ptr, vec![1u32, 2, 0, 2], vec![1.5f32, -f32::NAN, 3.0, -1.0], 3).unwrap();
        let csc = csr.transposed().unwrap();
        let expected = row_keys(&Matrix::Dense(x.view()), &Control::default()).unwrap();
        assert_eq!(row_keys(&Matrix::Dense(fortran.t()), &Control::default()).unwrap(), expected);
        assert_eq!(row_keys(&Matrix::Csr(csr), &Control::default()).unwrap(), expected);
        assert_eq!(row_keys(&Matrix::Csc(csc), &Control::default()).unwrap(), expected);
        assert_eq!(
            row_keys(&Matrix::Dense(x.index_axis(Axis(0), 0).insert_axis(Axis(0))), &Control::default()).unwrap(),
            expected[..1]
        );
    }
}
