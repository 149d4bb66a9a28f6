//! Who calls, as the authorizer verified it.

use contracts::{
    id::{OrgId, UserId},
    read::EntityHeader,
};
use serde::{Deserialize, Serialize};

/// A user of an org: the id rules, the name is for people to read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct User {
    /// The user's id.
    pub id: UserId,
    /// The user's display name; the id where the claims hold none.
    pub name: String,
}

/// The verified caller of one request (I7: the tenant comes from here and nowhere else).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The tenant.
    pub org: OrgId,
    /// The tenant's display name; none where the claims hold none.
    pub org_name: Option<String>,
    /// The user who calls.
    pub user: User,
    /// Whether the operator claim is present: sees provider ids and raw payloads.
    pub operator: bool,
}

impl From<&User> for EntityHeader {
    fn from(user: &User) -> Self {
        Self::new(user.id.as_str(), user.name.as_str())
    }
}
