//! OpenAI's Responses API and Chat Completions over the turns of the service: requests, responses, errors, ids and streams, both ways.
//!
//! A response is a turn, or the part of a turn between two suspensions. Members that the service can't honour are refused
//! by name. [`start`] decides which turn a request starts or continues. Deliberately absent: routes, and every rule of a
//! turn (docs/internals/decisions/0025-an-openai-compatible-front.md).

pub mod chat;
pub mod delivery;
pub mod error;
pub mod file_search;
pub mod files;
pub mod http;
pub mod id;
pub mod input_items;
mod json_object;
pub mod models;
pub mod rate_limits;
pub mod request;
pub mod response;
pub mod retry;
pub mod sequence;
pub mod snapshot;
pub mod start;
pub mod stream;
pub mod vector_stores;
