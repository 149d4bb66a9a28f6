//! The port to the secrets of connections.

use std::{fmt, future::Future};

use contracts::id::{ConnectionId, OrgId};
use serde::{Deserialize, Serialize};

/// The secret of a connection, with the only host that it is sent to.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ConnectionSecret {
    /// The host, with its port.
    pub host: String,
    /// The secret, which can be the value of a header.
    pub value: String,
}

/// Hides the secret.
impl fmt::Debug for ConnectionSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionSecret").field("host", &self.host).finish_non_exhaustive()
    }
}

/// Secrets that can't be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the secrets of connections are unavailable")]
pub struct SecretsUnavailable(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Stores the secrets of connections, apart from their documents. Nobody but the calls of a connection reads them.
pub trait ConnectionSecrets: Send + Sync {
    /// Returns the secret of an org's connection as it was a minute ago or later, or with `is_current` as it is now.
    fn secret(
        &self,
        org: &OrgId,
        connection: &ConnectionId,
        is_current: bool,
    ) -> impl Future<Output = Result<Option<ConnectionSecret>, SecretsUnavailable>> + Send;

    /// Replaces the secret of an org's connection.
    fn set_secret(
        &self,
        org: &OrgId,
        connection: &ConnectionId,
        secret: &ConnectionSecret,
    ) -> impl Future<Output = Result<(), SecretsUnavailable>> + Send;
}
