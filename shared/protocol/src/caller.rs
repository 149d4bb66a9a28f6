//! The caller of a request, as the authorizer verified it.

use contracts::{
    id::{OrgId, UserId},
    read::EntityHeader,
};
use serde::{Deserialize, Serialize};

/// A user of an org. The id decides; the name is for display.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct User {
    /// The user's id.
    pub id: UserId,
    /// The user's display name, or the id if the claims hold no name.
    pub name: String,
}

/// The verified caller of one request (I7: this is the only source of the tenant).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The tenant.
    pub org: OrgId,
    /// The tenant's display name, if the claims hold one.
    pub org_name: Option<String>,
    /// The calling user.
    pub user: User,
    /// True if the operator claim is present, which grants access to provider ids and raw payloads.
    pub operator: bool,
    /// True if the agent editor claim is present, which grants access to the org's contexts.
    pub agent_editor: bool,
}

impl Caller {
    /// True if the caller may read and change the org's contexts.
    #[must_use]
    pub fn may_edit_contexts(&self) -> bool {
        self.operator || self.agent_editor
    }
}

impl From<&User> for EntityHeader {
    fn from(user: &User) -> Self {
        Self::new(user.id.as_str(), user.name.as_str())
    }
}
