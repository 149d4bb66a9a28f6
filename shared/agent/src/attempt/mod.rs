//! The durable state of a turn's work: everything that the next model call needs.
//!
//! It is stored after every tool round under the attempt's own id, and in the outcome of a suspension. After a crash,
//! or with the client's tool results, another attempt continues from there: executed tools don't run again, and no
//! recorded model call is paid for twice.

mod chain;
mod effects;
pub mod history_window;
pub mod prompt_state;
mod recovery_point;
mod spec;
mod state;
mod tool_rounds;
mod totals;

pub use chain::{ChainState, ReplyInfo};
pub use effects::StagedEffects;
pub use recovery_point::RecoveryPoint;
pub use spec::{HistorySpec, InputSpec, PromptSpec, ToolSpec, TurnSpec};
pub use state::{AttemptState, HistoryState, RetrievedContext};
pub use tool_rounds::ToolRounds;
pub use totals::{CostBeforeFallback, ModelTime, Totals, millis};
