//! Tool rounds: replies that call tools, with the results. Bounds their size for storage and replay.

mod call_record;
mod long_value;
mod message;
mod model_call;
mod replay;
mod round;
mod size;
#[cfg(test)]
mod tests;

pub use call_record::{CallFiles, CalledConnection, ToolCallRecord, called_connection, outcome_text};
pub use long_value::MAX_INLINE_VALUE_BYTES;
pub use message::AssistantMessage;
pub use model_call::ModelCallInfo;
pub use replay::{CallIds, ReplayTarget, record_calls};
pub use round::Round;
pub use size::{MAX_COMPLETED_BYTES, MAX_RUNNING_BYTES, within_bytes};
