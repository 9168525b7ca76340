//! Loops compiled for the widest registers of the machine.

/// Runs `work` with the vector instructions that the machine has. Functions called by it must be inlined to benefit.
#[inline(always)]
pub(crate) fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}
