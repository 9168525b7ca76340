//! Smaller models: with leaves that need less memory, and with fewer leaves, which are fitted anew.

mod compact;
mod prune;
