//! Client of the [Model Context Protocol](https://modelcontextprotocol.io) over streamable HTTP, in the revisions
//! 2026-07-28 (stateless) and 2025-11-25 with 2025-06-18 (sessions).
//!
//! A call has an effect, so [`Session::call`] sends it at most once: its body leaves through a gate that opens once,
//! after the caller has confirmed it ([`Observer::may_send`]), and only while the future of the call is polled. The
//! [`Outcome`] says if the server performed the call, refused it, never got it, or if that is unknown.
//!
//! Deliberately absent: a worker task, pools of sessions, a new session after an expired one, redirects, retries of
//! calls, capabilities of a client (roots, sampling, elicitation, tasks), and authorization. The caller builds the
//! HTTP client, which guards addresses, and sets the authentication header.

mod client;
mod gate;
mod list;
mod message;
mod outcome;
mod param_header;
mod reader;
mod result;
mod revision;
mod session;
mod text;
mod tool;
mod transport;

pub use client::Client;
pub use list::ToolList;
pub use outcome::{NotSent, Outcome, Refusal, Unknown};
pub use param_header::ParamHeader;
pub use reader::ReadError;
pub use result::{CallResult, Content, ResourceBody};
pub use revision::Revision;
pub use session::{Call, Observer, Progress, Session};
pub use text::visible;
pub use tool::{ExcludedTool, Hints, Tool, show_schema};
pub use transport::{Authentication, Error, Sign};
