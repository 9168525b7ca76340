//! The growth of a tree.
//!
//! | file | what |
//! |---|---|
//! | `grower` | X prepared for growth, once for all trees |
//! | `grow` | first the structure, then the values of leaves |
//! | `frontier` | the nodes that wait to be split, and their order |
//! | `subtrees` | one tree on several threads: the subtrees of some nodes in parallel |

mod frontier;
pub(crate) mod grow;
pub(crate) mod grower;
mod subtrees;
