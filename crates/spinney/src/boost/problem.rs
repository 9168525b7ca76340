//! What loss, outputs and strategy make together, and what the columns of scores stand for.

use ndarray::{Axis, Slice};

use super::config::{BoostConfig, OutputStrategy};
use super::loss::LossKind;
use super::loss::rows::{RowLoss, SoftmaxRows};
use super::model::{Boosted, Combine, Link};
use super::step_sizes::StepDtype;
use super::steps::Method;
use super::vector::Score;
use crate::data::{LabelView, Matrix, Outputs, Targets};
use crate::error::{Error, Result, try_copied, try_filled, try_with_capacity};

/// What loss, outputs and strategy make together.
#[derive(Debug)]
pub(crate) struct Problem<'a> {
    pub(crate) kind: &'a LossKind,
    pub(crate) outputs: Outputs,
    pub(crate) width: usize,
    pub(crate) combine: Combine,
    pub(crate) link: Link,
    /// First column of each output of classes, where all columns of an output share one loss.
    pub(crate) softmax: Option<Vec<usize>>,
    /// Type of the steps that the model keeps: float64 for one score, whose steps are few or in the leaves.
    pub(crate) step_dtype: StepDtype,
}

impl<'a> Problem<'a> {
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] for float8 steps of classes that share a loss: cut each on its own, they may raise it.
    /// [`crate::ErrorKind::OutOfMemory`].
    pub(crate) fn new(config: &'a BoostConfig, outputs: Outputs) -> Result<Self> {
        let width = n_scores(&outputs);
        let single = matches!(config.strategy, OutputStrategy::SingleTarget);
        let combine = match config.strategy {
            OutputStrategy::SingleTarget if width > 1 => Combine::Columns,
            // With one score all strategies are one.
            OutputStrategy::Projected { relabel: false, .. } if width > 1 => Combine::RankOne,
            _ => Combine::Leaves,
        };
        let link = Link::new(&config.loss, &outputs, single);
        let softmax = match &outputs {
            Outputs::Classes { n_classes } if link == Link::Softmax && !is_binary(n_classes) => {
                Some(starts(n_classes)?)
            }
            _ => None,
        };
        if config.step_dtype != StepDtype::Float64 && softmax.is_some() {
            let accepted = "Float64 for the log loss of three and more classes";
            return Err(Error::invalid("step_dtype", format!("{:?}", config.step_dtype), accepted));
        }
        // `BoostConfig::check` refuses others where leaves are relabelled.
        let step_dtype = if width > 1 { config.step_dtype } else { StepDtype::Float64 };
        Ok(Problem { kind: &config.loss, outputs, width, combine, link, softmax, step_dtype })
    }

    /// Whether scores are float32.
    pub(crate) fn is_narrow(&self) -> bool {
        let bounded = matches!(self.kind, LossKind::LogLoss | LossKind::Hinge);
        bounded && !matches!(self.outputs, Outputs::Real { .. })
    }

    /// The loss of rows.
    pub(crate) fn rows<T: Score>(&self) -> Result<Box<dyn RowLoss<T>>> {
        Ok(match &self.softmax {
            Some(starts) => Box::new(SoftmaxRows { starts: try_copied("the columns of scores", starts)? }),
            None => T::rows_of(self.kind),
        })
    }

    pub(crate) fn method(&self) -> Method {
        match self.kind {
            _ if self.softmax.is_some() => Method::Softmax,
            LossKind::SquaredError => Method::SquaredError,
            LossKind::LogLoss => Method::LogLoss,
            _ => Method::Columns,
        }
    }

    /// Refuses to add stages to a model of another sort.
    pub(crate) fn check_model(&self, config: &BoostConfig, model: &Boosted, x: &Matrix<'_>) -> Result<()> {
        const WHAT: &str = "model";
        if model.n_features != x.n_features() {
            return Err(Error::shape("each row of X", model.n_features, x.n_features()));
        }
        if model.outputs != self.outputs {
            return Err(Error::invalid(WHAT, "of other outputs", "one of the same outputs and classes"));
        }
        if model.combine != self.combine || model.link != self.link {
            return Err(Error::invalid(WHAT, "of another strategy or loss", "one of the same strategy and loss"));
        }
        if model.step_dtype() != self.step_dtype {
            return Err(Error::invalid(
                WHAT,
                format!("of steps in {:?}", model.step_dtype()),
                "one of the same step_dtype",
            ));
        }
        if model.n_stages() > config.n_estimators {
            let accepted = "at least the number of stages of the model";
            return Err(Error::invalid("n_estimators", config.n_estimators, accepted));
        }
        Ok(())
    }
}

/// Number of scores of a row: one for each number and label, one for two classes, else one for each class.
pub(crate) fn n_scores(outputs: &Outputs) -> usize {
    match outputs {
        Outputs::Classes { n_classes } if is_binary(n_classes) => 1,
        other => other.width(),
    }
}

pub(crate) fn is_binary(n_classes: &[u32]) -> bool {
    n_classes == [2]
}

/// y with a column for each score: two classes are one label, which is on for the second.
pub(crate) fn in_columns<'a>(y: &'a Targets<'_>) -> Result<Targets<'a>> {
    match y {
        Targets::Classes { codes, n_classes } if is_binary(n_classes) => {
            let (n, mut n_on) = (codes.nrows(), 0);
            let mut ptr = try_with_capacity("the classes of samples", n + 1)?;
            ptr.push(0);
            ptr.extend(codes.column(0).iter().map(|&code| {
                n_on += code as usize;
                n_on
            }));
            Ok(Targets::Labels(LabelView::try_new(ptr, try_filled("a label", 0, n_on)?, 1)?))
        }
        other => Ok(other.view()),
    }
}

/// Column `j` of y, as the only one.
pub(crate) fn column<'a>(y: &'a Targets<'_>, starts: &[usize], j: usize) -> Result<Targets<'a>> {
    Ok(match y {
        Targets::Real(y) => Targets::Real(y.slice_axis(Axis(1), Slice::from(j..j + 1))),
        Targets::Labels(y) => {
            let on = |row: usize| y.indices()[y.ptr()[row]..y.ptr()[row + 1]].binary_search(&(j as u32)).is_ok();
            indicator(y.n_samples(), on)?
        }
        Targets::Classes { codes, .. } => {
            let output = starts.partition_point(|&start| start <= j) - 1;
            let code = (j - starts[output]) as u32;
            indicator(codes.nrows(), |row| codes[[row, output]] == code)?
        }
    })
}

/// One label, on in some rows.
fn indicator<'a>(n: usize, on: impl Fn(usize) -> bool) -> Result<Targets<'a>> {
    let mut ptr = try_with_capacity("a label", n + 1)?;
    ptr.push(0);
    let mut n_on = 0;
    ptr.extend((0..n).map(|row| {
        n_on += usize::from(on(row));
        n_on
    }));
    Ok(Targets::Labels(LabelView::try_new(ptr, try_filled("a label", 0, n_on)?, 1)?))
}

/// First column of each output, and the number of columns at the end.
pub(crate) fn starts(n_classes: &[u32]) -> Result<Vec<usize>> {
    let mut starts = try_with_capacity("the columns of scores", n_classes.len() + 1)?;
    starts.push(0);
    starts.extend(n_classes.iter().scan(0, |end, &k| {
        *end += k as usize;
        Some(*end)
    }));
    Ok(starts)
}
