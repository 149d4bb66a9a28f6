//! The window: from which turn on a conversation is told, and how the telling began.

use protocol::session::SolutionContext;
use serde::{Deserialize, Serialize};

/// Where the telling of a conversation begins. It is kept with every turn that was told so, and the next
/// turn's telling begins there too: what the provider has read before it need not read again. When the
/// budget is used up, a quarter of it is made free at once, and the window moves on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Window {
    /// The first turn that is told.
    pub from: u64,
    /// The first turn that is told whole; those before it are told without their files and long values.
    pub whole_from: u64,
    /// The mode that the system message names.
    pub mode: String,
    /// The solution context that it tells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub solution: Option<SolutionContext>,
}
