//! Benchmarks.
//!
//! [`measure`] starts local clouds and measures the overhead of a turn on top of the model: latency, CPU, memory, AWS
//! calls, table units and cost. [`stream`] prints what a stream adds.

mod client;
mod cpu_quota;
mod deployed;
mod failure;
mod first_token;
mod floor;
mod fronts;
mod hardware;
mod history_growth;
mod load;
mod long_sessions;
mod measure;
mod metric;
mod prices;
mod scaling;
mod shape;
mod soak;
mod start;
pub mod stream;
mod system;
mod turn_calls;
mod usage;

pub use failure::Failure;
pub use hardware::machine;
pub use measure::{Options, Part, measure};
pub use metric::Metrics;
pub use soak::SoakOptions;
