//! The agent's domain logic: composing prompts, tools and their results, and the outcome of a turn.
//!
//! [`mode`], [`context`] and [`tool`] define what a turn works with besides its request. [`attachments`] holds the
//! files that go with it, [`history`] the turns before it, and [`retrieval`] the context from its org's index.
//! [`model`] is the port to the language model, [`attempt`] the durable state of a turn's work, and [`outcome`] the
//! stored result. The crate does no I/O, knows no provider's wire format, and has no rules about who may write what.
//! Those are in `protocol`.

pub mod answer;
pub mod attachments;
pub mod attempt;
mod block;
pub mod compaction;
pub mod compose;
pub mod config;
pub mod context;
pub mod conversation;
pub mod excerpt;
pub mod fallback_reason;
pub mod fault;
pub mod history;
pub mod history_window;
pub mod hosted_tools;
pub mod mode;
pub mod model;
pub mod model_settings;
pub mod outcome;
pub mod output_filter;
pub mod prompt_state;
pub mod provider_response;
pub mod providers;
pub mod result_validation;
pub mod retrieval;
pub mod rounds;
pub mod text;
pub mod timer;
pub mod tool;
