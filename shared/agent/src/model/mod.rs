//! The port to the language model: one reply per call.
//!
//! A [`Request`] contains what the orchestrator knows, independent of a provider's wire format. The adapter in `llm`
//! owns the wire format, the retries and the timeouts.

mod call_meter;
mod error;
pub mod fallback_reason;
pub mod freeform;
pub mod hosted_tools;
mod identifiers;
mod input_tokens;
mod message;
pub mod model_settings;
mod observer;
mod port;
pub mod price_list;
pub mod providers;
mod reply;
mod request;
pub mod route;
mod wire;

pub use call_meter::CallMeter;
pub use error::Error;
pub use identifiers::Identifiers;
pub(crate) use message::attached_tokens;
pub use message::{Attachment, Instruction, Message};
pub use observer::{Observer, RawPayloads};
pub use port::Model;
pub use protocol::price;
pub use reply::{FunctionCall, HostedCall, MessagePhase, Reasoning, Reply, ReplyItem, TextPart, ToolOutput};
pub use request::{Chain, HistoryItem, Request, Tool};
pub use wire::Wire;
