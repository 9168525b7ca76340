//! The rows that each tree draws, as a function of the seed and the tree's index.

use crate::config::Sampling;
use crate::rng::{Key, Stream};

/// Purpose of the stream that draws rows.
const SAMPLING: u64 = u64::from_be_bytes(*b"sampling");

/// Key of tree `index` of a forest: everything random about the tree is derived from it.
pub(crate) fn tree_key(seed: u64, index: usize) -> Key {
    Key::from_seed(seed).child(index as u64)
}

/// How often the tree draws each of `n_samples` rows; `None` when it takes all as they are.
///
/// Draws are among `rows`, those of positive weight in rising order: a row of weight zero changes them no more than a
/// row that is not there. The caller has proven that `WithoutReplacement(m)` asks for at most `rows.len()`.
pub(crate) fn draw(sampling: Sampling, rows: &[u32], n_samples: usize, tree: Key) -> Option<Vec<u32>> {
    let mut stream = Stream::new(tree.child(SAMPLING));
    let mut counts = match sampling {
        Sampling::All => return None,
        _ => vec![0; n_samples],
    };
    match sampling {
        Sampling::Bootstrap(draws) if !rows.is_empty() => {
            for _ in 0..draws.unwrap_or(rows.len()) {
                counts[rows[stream.below(rows.len() as u64) as usize] as usize] += 1;
            }
        }
        Sampling::WithoutReplacement(m) => {
            debug_assert!(m <= rows.len());
            // Floyd's algorithm: after each turn, the rows drawn are a uniform subset of rows[..=last].
            for last in rows.len() - m..rows.len() {
                let drawn = rows[stream.below(last as u64 + 1) as usize] as usize;
                let drawn = if counts[drawn] == 0 { drawn } else { rows[last] as usize };
                counts[drawn] = 1;
            }
        }
        _ => {}
    }
    Some(counts)
}
