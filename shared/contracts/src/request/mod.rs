//! Requests: parsing and validation of everything that a client may send.
//!
//! A body is parsed into a tree that keeps its exact spelling. The field tables of the contract (`envelope.rs`, and
//! one per object) read the tree. The result is a valid value, or every violation at once, in document order. The
//! other request encodings ([`crate::encoding`]) build the same tree, so there is one set of rules.
//!
//! - Members are PascalCase or camelCase. A duplicate member is rejected.
//! - Null counts as absent, for every member of the contract.
//! - An unknown or server-owned name is rejected, whatever its value.
//!
//! Deliberately absent: the caller, the state of turns, and anything about models.

mod approval;
mod artifact;
pub(crate) mod base64;
pub(crate) mod body;
mod budgets;
mod canonical;
mod chat_message;
mod connection;
mod context;
mod effect;
pub(crate) mod envelope;
mod execute;
mod exports;
mod feedback;
pub(crate) mod field_table;
mod image;
pub(crate) mod json;
pub(crate) mod kind;
mod knowledge;
pub mod limits;
mod org_settings;
mod rag;
mod relative_path;
mod rerun_and_fork;
#[cfg(feature = "openapi")]
mod schemas;
mod server_owned;
mod session_edit;
mod tool_results;
mod turn_input;
mod turn_options;
mod uniqueness;
pub(crate) mod value;
pub(crate) mod violations;
mod webhook;

pub use approval::{ApproveRequest, DenyRequest};
pub use artifact::{Artifact, Contents, Origin};
pub use body::JsonRequest;
pub use budgets::{Budget, BudgetAction, BudgetScope, BudgetUnit, BudgetUnpriced, BudgetWindow, Budgets};
pub use chat_message::{ChatCall, ChatContent, ChatFile, ChatMessage, ChatResult, InlineData, UserMessage};
pub use connection::{ConnectionRefreshRequest, ConnectionSecretRequest, ToolTrialRequest};
pub use context::{ContextText, RollbackRequest, RolloutRequest};
pub use effect::{EffectFinding, EffectResolution};
pub use execute::{AgentExecuteRequest, ToolContinuation, UserTurn};
pub use exports::parse_exports;
pub use feedback::FeedbackRequest;
pub use image::{ClipboardImage, ImageType};
pub use knowledge::{KnowledgeAttribute, KnowledgeContent, KnowledgeUpload};
pub use org_settings::{DisabledSubjects, OrgPolicy, OrgSettings, SessionVisibility, TitleSettings};
pub use rag::{RagCondition, RagOperator, RagValue, parse_scope};
pub use relative_path::{FileName, InvalidPath, RelativePath};
pub use rerun_and_fork::{ForkRequest, RerunRequest};
pub use session_edit::SessionEdit;
pub use turn_input::TurnInput;
pub use turn_options::{FunctionTool, JsonFormat, TurnOptions};
pub use value::is_mime_type;
pub use webhook::WebhookReplayRequest;
