//! What an agent is told, what it may call, and what its answer comes to.
//!
//! [`mode`], [`context`] and [`tool`] are what a turn is made of besides its request; [`material`] is the
//! files that go with it, [`history`] what came before it, [`retrieval`] what its
//! org has indexed. [`model`] is the port to the language model,
//! [`progress`] how far a turn's work has come, [`outcome`] what is stored of its end. Deliberately
//! absent: I/O, a provider's wire, and every rule about who may write what: those are the `protocol`'s.

pub mod answer;
mod block;
pub mod call;
pub mod compose;
pub mod config;
pub mod context;
pub mod conversation;
pub mod fault;
pub mod guard;
pub mod history;
pub mod hosted;
pub mod known;
pub mod left_upstream;
pub mod matching;
pub mod material;
pub mod mode;
pub mod model;
pub mod outcome;
pub mod progress;
pub mod providers;
pub mod retrieval;
pub mod settings;
pub mod sum_up;
pub mod summary;
pub mod text;
pub mod timer;
pub mod tool;
pub mod trouble;
pub mod window;
