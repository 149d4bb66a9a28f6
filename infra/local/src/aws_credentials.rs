//! The developer's AWS credentials: the functions sign requests to Amazon Bedrock with them.
//!
//! The functions' own credentials are for the local services, so the developer's are served to them at an address
//! that holds a secret. The address is in their environment alone; the credentials are in no environment and no file.

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use storage::credentials::{ServedCredentials, developer_credentials, profile_region};

use crate::listener::{Listener, Server};
use crate::secret;

pub use aws_credential_types::Credentials;
pub use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};

/// Returns the credentials that the AWS CLI would use: from the environment, the selected profile, single
/// sign-on, or a role. They are read when a request is signed. The region is the region of the role's service.
pub async fn from_default_chain(region: String) -> SharedCredentialsProvider {
    developer_credentials(region).await
}

/// Returns the region of the environment or of the selected profile.
pub async fn default_region() -> Option<String> {
    profile_region().await
}

/// A server of credentials. Dropping it stops it.
pub(crate) struct CredentialsServer {
    url: String,
    _server: Server,
}

impl CredentialsServer {
    /// Starts a server of these credentials.
    pub(crate) async fn start(provider: SharedCredentialsProvider) -> std::io::Result<Self> {
        let listener = Listener::bind_loopback(0).await?;
        let path = format!("/{}", secret::random());
        let url = format!("{}{path}", listener.url());
        let server = listener.serve(Router::new().route(&path, get(current)).with_state(provider));
        Ok(Self { url, _server: server })
    }

    /// Returns the address of the credentials, which is a secret.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

/// Serves the current credentials. The default chain renews those that expire.
async fn current(State(provider): State<SharedCredentialsProvider>) -> Response {
    match provider.provide_credentials().await {
        Ok(credentials) => Json(ServedCredentials::from(&credentials)).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}
