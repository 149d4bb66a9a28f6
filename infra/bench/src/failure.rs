//! The error of a benchmark.

/// An error that aborts the benchmark, in one line.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
