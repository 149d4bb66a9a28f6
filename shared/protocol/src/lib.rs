//! The rules of a turn's life: exactly one outcome, whatever fails (docs/internals/correctness.md).
//!
//! [`turn`] and [`session`] are the state, [`transition`] decides, and [`change`] says what to write and under which
//! condition. All of it is pure: values in, values out. Deliberately absent: I/O, clocks, randomness, the model, and
//! the content of turns.

pub mod ancestry;
pub mod approval;
pub mod budget;
pub mod caller;
pub mod chain;
pub mod change;
pub mod correlation;
pub mod cost;
pub mod detail;
pub mod effect;
pub mod id;
pub mod link;
pub mod payload;
pub mod price;
pub mod purge;
pub mod queue_message;
pub mod ratings;
pub mod session;
pub mod spent;
pub mod stream_position;
pub mod timing;
pub mod tool_use;
pub mod transition;
pub mod turn;
pub mod usage;
pub mod version;
pub mod webhook;

pub use caller::Caller;
