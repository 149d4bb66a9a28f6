//! The caller of a request, as the authorizer verified it.

use std::fmt;

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
    /// The token that the authorizer verified, if the request has one.
    pub token: Option<BearerToken>,
}

/// The bearer token of a request. It is passed on to a server of its audience, and never stored: it has no stored form, and
/// `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken {
    value: String,
    audiences: Vec<String>,
}

impl BearerToken {
    /// Creates a token with the audiences and the client that it was issued for.
    #[must_use]
    pub fn new(value: String, audiences: Vec<String>) -> Self {
        Self { value, audiences }
    }

    /// True if the token was issued for this audience or client.
    #[must_use]
    pub fn is_for(&self, audience: &str) -> bool {
        self.audiences.iter().any(|own| own == audience)
    }

    /// Returns the token itself, for a header of a request. Don't use it for anything else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.value
    }
}

/// Hides the token.
impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BearerToken").field("audiences", &self.audiences).finish_non_exhaustive()
    }
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
