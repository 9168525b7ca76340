//! The search on codes of dense X, which are the numbers of bins (see [`crate::data::bins`]), for every criterion.
//!
//! If a sample is one or two numbers for the criterion (see [`CopiedSample`]), the samples of each bin are added up, and
//! bins are moved instead of samples: nothing is sorted, and the cost of a feature is O(samples of the node). In small
//! nodes, and with other criteria, the samples are sorted, by counting or by comparing all with each other, and moved one
//! by one. Sums are exact, so that both find the same cuts with the same scores as every other search on these codes.
//!
//! For nodes with many samples, many drawn features and numerical outputs, see [`super::histogram`], which computes the
//! sums of one child from those of the other.

use std::convert::Infallible;

use super::Task;
use super::expand::Store;
use super::scan::Scan;
use crate::control::Control;
use crate::criterion::{CopiedSample, NodeCriterion};
use crate::data::Codes;
use crate::data::bins::codes::{Code, CodeColumn};
use crate::error::{Purpose, Result};
use crate::loss::kernels::vector::vectorised;
use crate::partition::decision::Decision;
use crate::partition::permutation::Permutation;
use crate::partition::{Column, Entry, KnownConstants, Span, Visitor, feature_at, order_matters};
use crate::split::bins_of_node::BinsOfNode;

const PURPOSE: Purpose = Purpose("the bins of a node");

/// In nodes with at most this number of samples, fewer than most features have bins, samples are sorted by comparing them.
/// It is small in tests, which have few samples.
const FEW: usize = if cfg!(test) { 12 } else { MOST_COMPARED };

/// The number of samples whose numbers fit into keys beside codes.
const MOST_COMPARED: usize = 1 << 6;

/// The samples of one tree, and the codes of dense X. `S` is a sample of the criterion.
#[derive(Debug)]
pub(crate) struct CodedNodes<'a, S> {
    x: &'a Codes<'a>,
    samples: Permutation,
    constants: KnownConstants,
    /// The samples of the node, for all of its features.
    copied: Vec<S>,
    bins: BinsOfNode<S>,
    entries: Vec<Entry>,
    n_threads: usize,
}

impl<'a, S: Copy + Default> CodedNodes<'a, S> {
    pub(crate) fn new(x: &'a Codes<'a>, rows: &[u32], control: &Control) -> Result<Self> {
        Ok(CodedNodes {
            x,
            samples: Permutation::one_way(rows, control)?,
            constants: KnownConstants::new(x.n_features())?,
            copied: PURPOSE.with_capacity(rows.len())?,
            bins: BinsOfNode::default(),
            entries: Vec::new(),
            n_threads: control.n_threads(),
        })
    }
}

impl<C: NodeCriterion> Store<C> for CodedNodes<'_, C::Sample> {
    type Sums = Infallible;

    fn root(&self) -> Span {
        Span { samples: 0..self.samples.len(), entries: 0..0 }
    }

    fn rows(&self, span: &Span) -> &[u32] {
        self.samples.rows(span.samples.clone())
    }

    fn split_samples(&mut self, span: &Span, feature: u32, decision: Decision<'_>) -> Result<u32> {
        split_by_code(&mut self.samples, span, (self.x, feature), decision, self.n_threads)
    }

    fn search(&mut self, scan: &mut Scan<'_, C>, task: &Task, _: Option<&mut Infallible>) -> Result<()> {
        let CodedNodes { x, samples, constants, copied, bins, entries, .. } = self;
        let (lottery, node) = (scan.lottery, &task.span.samples);
        let (rows, as_drawn) = (samples.rows(node.clone()), order_matters(lottery, scan));
        if C::Sample::IS_SUPPORTED && rows.len() > FEW {
            copied.clear();
            copied.extend(rows.iter().map(|&row| scan.criterion.sample(row)));
        }
        let counts = scan.rules.constraints.leaf_sizes.min_samples > 1;
        let mut found = false;
        for position in 0..lottery.n_positions() {
            if (position >= lottery.n_examined() && found) || scan.is_over() {
                break;
            }
            let Some(feature) = feature_at(position, lottery, as_drawn) else { continue };
            if constants.contains(feature, node) {
                continue;
            }
            let varies = match x.column(feature) {
                CodeColumn::Narrow(codes)
                    if C::Sample::IS_SUPPORTED && rows.len() > FEW && !scan.rules.is_category(feature) =>
                {
                    bins.fill(codes, rows, copied, counts);
                    let varies = bins.n_occupied() > 1;
                    if varies {
                        scan.best_bin(feature, bins, x.missing(feature));
                    }
                    bins.clear();
                    varies
                }
                CodeColumn::Narrow(_) | CodeColumn::Wide(_) => scan_by_code(scan, entries, (x, feature), rows)?,
            };
            if varies {
                found = true;
            } else {
                constants.insert(feature, node);
            }
        }
        Ok(())
    }
}

/// Passes the entries of a feature to the scan if it varies in the node, and returns whether it does.
pub(super) fn scan_by_code<C: NodeCriterion>(
    scan: &mut Scan<'_, C>,
    entries: &mut Vec<Entry>,
    (x, feature): (&Codes<'_>, u32),
    rows: &[u32],
) -> Result<bool> {
    if entries.len() < rows.len() {
        PURPOSE.reserve(entries, rows.len() - entries.len())?;
        scan.control.fill_up(entries, Entry::default(), rows.len())?;
    }
    let missing = x.missing(feature);
    let n_zeros = match (x.column(feature), x.near(feature)) {
        (CodeColumn::Narrow(_), Some((codes, step))) if rows.len() <= FEW => {
            let code_of = |row: u32| codes[row as usize * step];
            match rows.len() {
                0..=16 => sort_few::<16>(entries, code_of, missing, rows),
                17..=32 => sort_few::<32>(entries, code_of, missing, rows),
                _ => sort_few::<MOST_COMPARED>(entries, code_of, missing, rows),
            }
        }
        (CodeColumn::Narrow(codes), _) => sort_by_counting(entries, codes, missing, rows),
        (CodeColumn::Wide(codes), _) => {
            // The scan sorts these entries, which may include zeros.
            let coded = rows.iter().map(|&row| Entry::new(value_of(codes[row as usize], missing), row));
            entries.iter_mut().zip(coded).for_each(|(to, entry)| *to = entry);
            0
        }
    };
    let (entries, sorted) = (&mut entries[n_zeros..rows.len()], x.near(feature).is_some());
    Ok(Column::varying(feature, entries, sorted, n_zeros as u32).map(|column| scan.column(column)).is_some())
}

/// Returns a code as the value that is searched.
pub(super) fn value_of(code: impl Code, missing: Option<usize>) -> f32 {
    let place = code.place();
    if Some(place) == missing { f32::NAN } else { place as f32 }
}

/// Writes the entries of at most `LEN` samples in the order of their codes, and returns the number of those with code 0,
/// which are first. The place of a sample is the number of smaller keys, which are all compared with each other: that
/// takes no branch, and vector registers compare many at a time.
fn sort_few<const LEN: usize>(
    entries: &mut [Entry],
    code_of: impl Fn(u32) -> u8,
    missing: Option<usize>,
    rows: &[u32],
) -> usize {
    const { assert!(LEN <= MOST_COMPARED, "the number of a sample has six bits") };
    // No two keys are equal.
    let mut keys = [i16::MAX; LEN];
    let mut n_zeros = 0;
    for (i, (key, &row)) in keys.iter_mut().zip(rows).enumerate() {
        let code = code_of(row);
        n_zeros += usize::from(code == 0);
        *key = i16::from(code) << 6 | i as i16;
    }
    let mut places = [0i16; LEN];
    vectorised(
        #[inline(always)]
        || {
            for &key in &keys[..rows.len()] {
                places.iter_mut().zip(&keys).for_each(|(place, other)| *place += i16::from(key < *other));
            }
        },
    );
    for (i, &row) in rows.iter().enumerate() {
        let code = (keys[i] >> 6) as u8;
        entries[places[i] as usize] = Entry::new(value_of(code, missing), row);
    }
    n_zeros
}

/// Like [`sort_few`], for any number of samples. The entries of code 0 are not written.
fn sort_by_counting(entries: &mut [Entry], codes: &[u8], missing: Option<usize>, rows: &[u32]) -> usize {
    let mut ends = [0usize; 1 << u8::BITS];
    rows.iter().for_each(|&row| ends[usize::from(codes[row as usize])] += 1);
    let n_zeros = ends[0];
    let mut end = 0;
    for place in &mut ends {
        (*place, end) = (end, end + *place);
    }
    for &row in rows {
        let code = codes[row as usize];
        if code > 0 {
            let place = &mut ends[usize::from(code)];
            entries[*place] = Entry::new(value_of(code, missing), row);
            *place += 1;
        }
    }
    n_zeros
}

/// Moves the samples of a node that go right behind the others, and returns the position of the first.
pub(super) fn split_by_code(
    samples: &mut Permutation,
    span: &Span,
    (x, feature): (&Codes<'_>, u32),
    decision: Decision<'_>,
    n_threads: usize,
) -> Result<u32> {
    fn goes_right(codes: &[impl Code], missing: Option<usize>, decision: Decision<'_>) -> impl Fn(u32) -> bool + Sync {
        move |row| !decision.goes_left(value_of(codes[row as usize], missing))
    }
    let (node, missing) = (span.samples.clone(), x.missing(feature));
    match x.column(feature) {
        CodeColumn::Narrow(codes) if node.len() > usize::from(u8::MAX) => {
            // The decision is made once for each code.
            let of_code: [bool; 1 << u8::BITS] =
                std::array::from_fn(|code| !decision.goes_left(value_of(code as u8, missing)));
            samples.split_in_blocks(node, n_threads, |row| of_code[usize::from(codes[row as usize])])
        }
        CodeColumn::Narrow(codes) => samples.split_in_blocks(node, n_threads, goes_right(codes, missing, decision)),
        CodeColumn::Wide(codes) => samples.split_in_blocks(node, n_threads, goes_right(codes, missing, decision)),
    }
}
