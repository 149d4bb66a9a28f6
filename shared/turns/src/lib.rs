//! The life of a turn: exactly one outcome, whatever fails.
//!
//! The heart of the system. [`turn`] and [`session`] are the state, [`transition`] decides, [`change`]
//! says what to write and under which condition, and [`flow`] reads, decides and writes through the
//! [`ports`]. Deliberately absent: AWS, HTTP, the provider's wire, and any clock or randomness that
//! does not come through [`ports::World`].

pub mod chain;
pub mod change;
pub mod context;
pub mod detail;
pub mod fault;
pub mod flow;
pub mod history;
pub mod id;
pub mod link;
pub mod matching;
pub mod material;
pub mod mode;
pub mod model;
pub mod outcome;
pub mod payload;
pub mod ports;
pub mod progress;
pub mod session;
pub mod stream;
pub mod summary;
pub mod system;
pub mod timing;
pub mod tool;
pub mod transition;
pub mod turn;
pub mod view;
