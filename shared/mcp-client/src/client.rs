//! Connecting to a server.

use std::time::Duration;

use url::Url;

use crate::{
    message::UNSUPPORTED_VERSION,
    revision::Revision,
    session::Session,
    transport::{Authentication, Endpoint, Error},
};

/// A client of one server.
#[derive(Debug, Clone)]
pub struct Client {
    endpoint: Endpoint,
    timeout: Duration,
}

impl Client {
    /// Creates a client. `http` must follow no redirects and use no proxy; `timeout` is the limit of each request that has no
    /// effect.
    ///
    /// # Errors
    /// Fails if the authentication uses a header of the protocol.
    pub fn new(
        http: &reqwest::Client,
        url: Url,
        authentication: Option<Authentication>,
        timeout: Duration,
    ) -> Result<Self, Error> {
        let endpoint = Endpoint::new(http.clone(), url, authentication)?;
        Ok(Self { endpoint, timeout })
    }

    /// Finds the newest revision that both sides have, and begins a session.
    ///
    /// # Errors
    /// Returns the fault of a request, and fails if there is no common revision.
    pub async fn connect(&self) -> Result<Session, Error> {
        let session = self.session(Revision::V2026_07_28);
        let is_known = |versions: &[String]| versions.iter().any(|v| v == Revision::V2026_07_28.as_str());
        let versions = match session.discover().await {
            Err(Error::Rejected { code: UNSUPPORTED_VERSION, supported, .. }) if is_known(&supported) => {
                session.discover().await?
            }
            Err(Error::Rejected { code: UNSUPPORTED_VERSION, supported, .. }) => supported,
            // Servers of the older revisions answer the unknown method in many ways. These faults aren't among them.
            Err(error @ (Error::Connection(_) | Error::Timeout(_) | Error::Status(401 | 403))) => {
                return Err(error);
            }
            Err(_) => Vec::new(),
            Ok(versions) => versions,
        };
        if is_known(&versions) { Ok(session) } else { self.connect_at(Revision::NEWEST_WITH_SESSIONS).await }
    }

    /// Begins a session in a revision that the server is known to have. The stateless one sends nothing.
    ///
    /// # Errors
    /// Returns the fault of a request, and fails if the server answers with a revision that this client doesn't have.
    pub async fn connect_at(&self, revision: Revision) -> Result<Session, Error> {
        let session = self.session(revision);
        if revision.is_stateless() { Ok(session) } else { session.initialize().await }
    }

    fn session(&self, revision: Revision) -> Session {
        Session::new(self.endpoint.clone(), revision, self.timeout)
    }
}
