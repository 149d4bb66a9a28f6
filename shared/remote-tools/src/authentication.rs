//! The proof of who sends a request of a connection.

use agent::connection::{Authentication, ConnectionSecret, ConnectionSecrets, Scheme};
use bytes::Bytes;
use contracts::{error::causes, id::ConnectionId};
use http::{HeaderName, HeaderValue, Request, header};
use protocol::caller::BearerToken;
use url::Url;

use crate::{
    access::{Access, AwsCredentials, NoAwsCredentials, Principal},
    signature::Signer,
};

/// A proof, and the secret in it.
pub(crate) struct Credential {
    pub(crate) proof: Proof,
    pub(crate) secret: Option<String>,
}

/// What a request gets.
pub(crate) enum Proof {
    /// A header with the secret.
    Header(HeaderName, HeaderValue),
    /// A signature of each request.
    Signature(Signer),
}

impl Proof {
    /// Adds the proof to a request, whose other headers are complete.
    ///
    /// # Errors
    /// Fails if the request can't be signed.
    pub(crate) fn add_to(self, request: &mut Request<Bytes>, url: &Url) -> Result<(), sigv4::Error> {
        match self {
            Self::Signature(signer) => signer.sign(request, url),
            Self::Header(name, value) => {
                request.headers_mut().insert(name, value);
                Ok(())
            }
        }
    }
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
    #[error(
        "Nothing was sent: the connection {0} needs the token of the caller, which only a request of the user's own has. \
         This turn continues without one. Ask the user to send the request again."
    )]
    NoCaller(String),
    #[error(
        "Nothing was sent: the connection {0} needs a token for the audience {1}, and the caller's is for another one."
    )]
    OtherAudience(String, String),
    #[error(
        "Nothing was sent: the deployment doesn't sign requests to the host of the connection {0}. Ask an operator to allow it."
    )]
    NotSigned(String),
}

/// Returns the host of a URL with its port.
pub(crate) fn host_of(url: &Url) -> String {
    let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
    format!("{}:{port}", host.trim_end_matches('.'))
}

/// Returns the credential of requests to a connection. None without authentication. With `is_current` the secret isn't a
/// cached one.
pub(crate) async fn credential<S: ConnectionSecrets, C: AwsCredentials>(
    access: &Access<S, C>,
    authentication: &Authentication,
    url: &Url,
    principal: Principal<'_>,
    is_current: bool,
) -> Result<Option<Credential>, NoCredential> {
    let name = principal.connection;
    match authentication.scheme {
        Scheme::None => Ok(None),
        Scheme::Bearer => secret(access, header::AUTHORIZATION, "Bearer ", url, principal, is_current).await,
        Scheme::Header => {
            let header = authentication.header.as_deref().and_then(|name| HeaderName::try_from(name).ok());
            let header = header.ok_or_else(|| NoCredential::Missing(name.to_owned()))?;
            secret(access, header, "", url, principal, is_current).await
        }
        Scheme::Sigv4 => signer(access, authentication, url, name).await,
        Scheme::Caller => of_caller(authentication, principal.token, name),
    }
}

/// Returns the header with the secret of a connection.
async fn secret<S: ConnectionSecrets, C>(
    access: &Access<S, C>,
    header: HeaderName,
    prefix: &str,
    url: &Url,
    Principal { org, connection: name, .. }: Principal<'_>,
    is_current: bool,
) -> Result<Option<Credential>, NoCredential> {
    let missing = || NoCredential::Missing(name.to_owned());
    let id = ConnectionId::new(name).map_err(|_| missing())?;
    let found = access.secrets.secret(org, &id, is_current).await.map_err(|error| {
        tracing::warn!(connection = name, error = %causes(&error), "{}", contracts::log::CONNECTION_SECRET_UNAVAILABLE);
        NoCredential::Unavailable(name.to_owned())
    })?;
    let ConnectionSecret { host, value: secret } = found.ok_or_else(missing)?;
    // A connection that moved to another host must not take its secret along.
    if host != host_of(url) {
        return Err(NoCredential::OtherHost(name.to_owned()));
    }
    let value = sensitive(format!("{prefix}{secret}")).ok_or_else(missing)?;
    Ok(Some(Credential { proof: Proof::Header(header, value), secret: Some(secret) }))
}

/// Returns the signer of requests to a host that the deployment allows.
async fn signer<S, C: AwsCredentials>(
    access: &Access<S, C>,
    Authentication { service, region, .. }: &Authentication,
    url: &Url,
    name: &str,
) -> Result<Option<Credential>, NoCredential> {
    let not_signed = || NoCredential::NotSigned(name.to_owned());
    let (service, region) = service.clone().zip(region.clone()).ok_or_else(not_signed)?;
    if !access.may_sign_for(url) {
        return Err(not_signed());
    }
    let signer = aws_signer(access, service, region, name).await?;
    let secret = signer.credentials.session_token().map(str::to_owned);
    Ok(Some(Credential { proof: Proof::Signature(signer), secret }))
}

/// Returns a signer with the deployment's AWS credentials.
pub(crate) async fn aws_signer<S, C: AwsCredentials>(
    access: &Access<S, C>,
    service: String,
    region: String,
    name: &str,
) -> Result<Signer, NoCredential> {
    let credentials = access.credentials.credentials().await.map_err(|error: NoAwsCredentials| {
        tracing::warn!(connection = name, error = %causes(&error), "{}", contracts::log::CONNECTION_SECRET_UNAVAILABLE);
        NoCredential::Unavailable(name.to_owned())
    })?;
    Ok(Signer { credentials, service, region })
}

/// Returns the header with the token of the caller, if it is for the connection's audience.
fn of_caller(
    Authentication { audience, .. }: &Authentication,
    token: Option<&BearerToken>,
    name: &str,
) -> Result<Option<Credential>, NoCredential> {
    let no_caller = || NoCredential::NoCaller(name.to_owned());
    let token = token.ok_or_else(no_caller)?;
    let audience = audience.as_deref().unwrap_or_default();
    if !token.is_for(audience) {
        return Err(NoCredential::OtherAudience(name.to_owned(), audience.to_owned()));
    }
    let value = sensitive(format!("Bearer {}", token.reveal())).ok_or_else(no_caller)?;
    let proof = Proof::Header(header::AUTHORIZATION, value);
    Ok(Some(Credential { proof, secret: Some(token.reveal().to_owned()) }))
}

fn sensitive(text: String) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
