//! The rules of a turn's life: exactly one outcome, whatever fails (docs/lifecycle.md).
//!
//! [`turn`] and [`session`] are the state, [`transition`] decides, [`change`] says what to write and
//! under which condition. Everything is a value in and a value out. Deliberately absent: I/O, any clock
//! or randomness, the model, and what a turn is about.

pub mod announcement;
pub mod caller;
pub mod chain;
pub mod change;
pub mod correlation;
pub mod cost;
pub mod detail;
pub mod id;
pub mod line;
pub mod link;
pub mod payload;
pub mod place;
pub mod purge;
pub mod session;
pub mod timing;
pub mod transition;
pub mod turn;
pub mod version;

pub use caller::Caller;
