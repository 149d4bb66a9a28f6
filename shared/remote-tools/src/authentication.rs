//! The header that authenticates a connection.

use agent::connection::{Authentication, ConnectionSecret, ConnectionSecrets, Scheme};
use contracts::{
    error::causes,
    id::{ConnectionId, OrgId},
};
use http::{HeaderName, HeaderValue, header};
use url::Url;

/// A header that authenticates, and the secret in it.
pub(crate) struct Credential {
    pub(crate) header: HeaderName,
    pub(crate) value: HeaderValue,
    pub(crate) secret: String,
}

/// The reason that a connection can't authenticate, worded for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoCredential {
    #[error("The connection {0} has no secret. Ask an operator to set it.")]
    Missing(String),
    #[error("The secret of the connection {0} was set for another host. Ask an operator to set it again.")]
    OtherHost(String),
    #[error(
        "The secret of the connection {0} can't be read at the moment. Continue without the tool, or try again later."
    )]
    Unavailable(String),
}

/// Returns the host of a URL with its port.
pub(crate) fn host_of(url: &Url) -> String {
    let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
    format!("{}:{port}", host.trim_end_matches('.'))
}

/// Returns the credential of a request to a connection. None without authentication. With `is_current` the secret isn't a
/// cached one.
pub(crate) async fn credential(
    secrets: &impl ConnectionSecrets,
    authentication: &Authentication,
    url: &Url,
    (org, name): (&OrgId, &str),
    is_current: bool,
) -> Result<Option<Credential>, NoCredential> {
    let header = match authentication.scheme {
        Scheme::None => return Ok(None),
        Scheme::Bearer => Some(header::AUTHORIZATION),
        Scheme::Header => authentication.header.as_deref().and_then(|name| HeaderName::try_from(name).ok()),
    };
    let missing = || NoCredential::Missing(name.to_owned());
    let (header, id) = (header.ok_or_else(missing)?, ConnectionId::new(name).map_err(|_| missing())?);
    let found = secrets.secret(org, &id, is_current).await.map_err(|error| {
        tracing::warn!(connection = name, error = %causes(&error), "{}", contracts::log::CONNECTION_SECRET_UNAVAILABLE);
        NoCredential::Unavailable(name.to_owned())
    })?;
    let ConnectionSecret { host, value: secret } = found.ok_or_else(missing)?;
    // A connection that moved to another host must not take its secret along.
    if host != host_of(url) {
        return Err(NoCredential::OtherHost(name.to_owned()));
    }
    let text = match authentication.scheme {
        Scheme::Bearer => format!("Bearer {secret}"),
        Scheme::Header | Scheme::None => secret.clone(),
    };
    let mut value = HeaderValue::try_from(text).map_err(|_| missing())?;
    value.set_sensitive(true);
    Ok(Some(Credential { header, value, secret }))
}
