//! Large vectors that one tree or stage after another needs. To take them from the system every time costs as much as
//! the work on them, because it provides memory page by page.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Purpose, Result};

/// The vectors of a computation that are not in use.
#[derive(Debug, Default)]
pub(crate) struct Shelves {
    words: Shelf<u32>,
    long_words: Shelf<u64>,
    floats: Shelf<f64>,
    pairs: Shelf<[f64; 2]>,
    squares: Shelf<i128>,
}

type Shelf<T> = Mutex<Vec<Vec<T>>>;

/// A type of which there are vectors on shelves.
pub(crate) trait Shelved: Copy + Default {
    fn shelf(shelves: &Shelves) -> &Shelf<Self>;
}

macro_rules! shelved {
    ($($item:ty => $shelf:ident),*) => { $(
        impl Shelved for $item {
            fn shelf(shelves: &Shelves) -> &Shelf<Self> {
                &shelves.$shelf
            }
        }
    )* };
}

shelved!(u32 => words, u64 => long_words, f64 => floats, [f64; 2] => pairs, i128 => squares);

/// A vector whose contents are not specified when it is taken. It goes back to its shelf when it is dropped.
#[derive(Debug)]
pub(crate) struct Buffer<T: Shelved> {
    items: Vec<T>,
    len: usize,
    shelves: Arc<Shelves>,
}

impl<T: Shelved> Buffer<T> {
    /// Takes a vector of `len` items. `lengthen` makes a shorter one longer.
    pub(crate) fn take(
        shelves: &Arc<Shelves>,
        purpose: Purpose,
        len: usize,
        lengthen: impl FnOnce(&mut Vec<T>) -> Result<()>,
    ) -> Result<Self> {
        let mut items = {
            let mut shelf = T::shelf(shelves).lock().unwrap_or_else(PoisonError::into_inner);
            // Memory for giving it back is reserved now.
            purpose.grow(&mut shelf, 1)?;
            let at = shelf.iter().position(|items| items.len() >= len);
            at.map(|at| shelf.swap_remove(at)).or_else(|| shelf.pop()).unwrap_or_default()
        };
        if items.len() < len {
            // What is in it need not be copied.
            items.clear();
            purpose.reserve(&mut items, len)?;
            lengthen(&mut items)?;
        }
        Ok(Buffer { items, len, shelves: Arc::clone(shelves) })
    }
}

impl<T: Shelved> Buffer<T> {
    /// Changes the number of items, whose contents are then not specified.
    pub(crate) fn resize(&mut self, purpose: Purpose, len: usize) -> Result<()> {
        if self.items.len() < len {
            (self.len, self.items) = (0, Vec::new());
            self.items = purpose.filled(T::default(), len)?;
        }
        self.len = len;
        Ok(())
    }
}

impl<T: Shelved> Drop for Buffer<T> {
    fn drop(&mut self) {
        let mut shelf = T::shelf(&self.shelves).lock().unwrap_or_else(PoisonError::into_inner);
        if shelf.len() < shelf.capacity() {
            shelf.push(std::mem::take(&mut self.items));
        }
    }
}

impl<T: Shelved> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items[..self.len]
    }
}

impl<T: Shelved> DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;

    const PURPOSE: Purpose = Purpose("a test");

    #[test]
    fn buffers_that_are_given_back_are_reused() {
        let control = Control::default();
        let (address, other) = {
            let mut first = control.buffer::<u32>(PURPOSE, 10).unwrap();
            first.fill(7);
            let second = control.buffer::<u32>(PURPOSE, 10).unwrap();
            assert_ne!(first.as_ptr(), second.as_ptr());
            (first.as_ptr(), second.as_ptr())
        };
        let mut grown = control.buffer::<u64>(PURPOSE, 0).unwrap();
        for len in [5, 300, 0, 7] {
            grown.resize(PURPOSE, len).unwrap();
            assert_eq!(grown.len(), len);
        }
        let shorter = control.buffer::<u32>(PURPOSE, 4).unwrap();
        assert!(shorter.len() == 4 && [address, other].contains(&shorter.as_ptr()));
        let longer = control.clone().buffer::<u32>(PURPOSE, 1000).unwrap();
        assert_eq!(longer.len(), 1000);
        assert!(control.buffer::<f64>(PURPOSE, 0).unwrap().is_empty());
    }

    #[test]
    fn threads_take_different_vectors() {
        let control = Control::with_threads(4);
        crate::pool::for_each(
            4,
            0..200u32,
            || Ok(()),
            |(), job| {
                let mut buffer = control.buffer::<u32>(PURPOSE, 50 + job as usize % 7)?;
                buffer.fill(job);
                std::thread::yield_now();
                assert!(buffer.iter().all(|item| *item == job));
                Ok(())
            },
        )
        .unwrap();
    }

    #[test]
    fn memory_that_cannot_be_had_is_an_error_and_leaves_the_shelf_as_it_is() {
        let control = Control::default();
        assert!(control.buffer::<f64>(PURPOSE, usize::MAX / 16).is_err());
        assert_eq!(control.buffer::<f64>(PURPOSE, 3).unwrap().len(), 3);
    }
}
