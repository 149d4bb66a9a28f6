//! AG-UI over the turns of the service: runs, threads, errors and streams, both ways.
//!
//! A run starts a turn, or resumes one with the results of the client's tools. A thread is a session, and its stored
//! history counts: of the messages of a run, only those after the last reply are new. Deliberately absent: routes, and
//! every rule of a turn.

pub mod error;
mod event;
pub mod history;
pub mod http;
pub mod id;
mod messages;
pub mod request;
pub mod run;
pub mod stream;
pub mod thread;
