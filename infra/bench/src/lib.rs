//! Benchmarks and smoke tests, for the command line and for tests.
//!
//! [`measure`] starts local clouds and measures the overhead of a turn on top of the model: latency, CPU, memory, AWS
//! calls, table units and cost. [`smoke`] checks a deployment from outside. [`CallProxy`] records the AWS calls of
//! the functions of a local cloud.

mod call_proxy;
mod client;
mod cpu_quota;
mod deployed;
mod failure;
mod first_token;
mod floor;
mod hardware;
mod history_growth;
mod load;
mod long_sessions;
mod measure;
mod metric;
mod openai;
mod prices;
mod scaling;
mod shape;
pub mod smoke;
mod soak;
mod start;
mod system;
mod turn_calls;
mod usage;

pub use call_proxy::{Call, CallProxy, CallRequest, Policy, ProxyOptions, Service};
pub use failure::Failure;
pub use hardware::machine;
pub use measure::{Options, Part, measure};
pub use metric::Metrics;
pub use soak::SoakOptions;
