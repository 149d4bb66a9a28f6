//! How the database is reached: gRPC over one connection, which is made when it is first needed.

use std::fmt;
use std::time::Duration;

use llm::key::{ApiKey, Keys};
use qdrant_client::{Qdrant, QdrantError, config::QdrantConfig};

/// How long to wait for what. A request that got nowhere is sent once more over a new connection, since one that the
/// platform froze and thawed may be dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For one attempt of a request.
    pub attempt: Duration,
}

impl Patience {
    /// For a turn, which waits for all of retrieval no longer than two seconds.
    pub const OF_A_TURN: Self =
        Self { connect: Duration::from_millis(700), attempt: Duration::from_millis(900) };
    /// For an indexer, which has time.
    pub const OF_AN_INDEXER: Self =
        Self { connect: Duration::from_secs(10), attempt: Duration::from_secs(60) };
}

/// A database that has not been connected to yet. Clones share the connection.
#[derive(Clone)]
pub struct Connection<K = ApiKey> {
    qdrant: Qdrant,
    key: Option<K>,
}

/// Why there is no database to ask.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// What is no URL of a gRPC server, such as `https://name.cloud.qdrant.io:6334`.
    #[error("the vector database's URL is not an http or https URL")]
    Url,
}

impl<K: Keys> Connection<K> {
    /// Prepares a connection to the gRPC port at `url`; `key` where the database asks for one. Nothing is sent before
    /// the first request.
    ///
    /// # Errors
    ///
    /// [`Unusable`], which says what is wrong.
    pub fn new(url: &str, key: Option<K>, patience: Patience) -> Result<Self, Unusable> {
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(Unusable::Url);
        }
        let mut config = QdrantConfig::from_url(url)
            .skip_compatibility_check()
            .connect_timeout(patience.connect)
            .timeout(patience.attempt);
        // One connection carries any number of requests.
        config.set_pool_size(1);
        let qdrant = config.build().map_err(|_| Unusable::Url)?;
        Ok(Self { qdrant, key })
    }

    /// The database's client, with the key as it is now.
    ///
    /// # Errors
    ///
    /// What the source of the key says when there is none to be had.
    pub async fn client(&self) -> Result<Qdrant, agent::model::Error> {
        self.with_key(None).await
    }

    /// Asks the database. If it refuses the key, and the source of keys has another by now, it is asked again.
    ///
    /// # Errors
    ///
    /// [`Failure`], as the last attempt ended.
    pub async fn ask<T, F: Future<Output = Result<T, QdrantError>>>(
        &self,
        question: impl Fn(Qdrant) -> F,
    ) -> Result<T, Failure> {
        let client = self.client().await?;
        let used = client.config.api_key.clone().map(ApiKey::new);
        match question(client).await.map_err(Failure::from) {
            Err(Failure::Refused) if used.is_some() => {
                let fresh = self.with_key(used.as_ref()).await?;
                if fresh.config.api_key.clone().map(ApiKey::new) == used {
                    return Err(Failure::Refused);
                }
                Ok(question(fresh).await?)
            }
            answer => answer,
        }
    }

    async fn with_key(&self, refused: Option<&ApiKey>) -> Result<Qdrant, agent::model::Error> {
        let mut qdrant = self.qdrant.clone();
        if let Some(keys) = &self.key {
            qdrant.config.set_api_key(keys.key(refused).await?.reveal());
        }
        Ok(qdrant)
    }
}

impl<K> fmt::Debug for Connection<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// Why the database did not answer. No variant carries its words, since they may hold what it was asked (I14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It can't be reached, or failed.
    #[error("the vector database is unavailable")]
    Unavailable,
    /// It did not answer in time.
    #[error("the vector database did not answer in time")]
    TimedOut,
    /// It refused the key, or there is none.
    #[error("the vector database refused the credentials")]
    Refused,
    /// It has no such collection.
    #[error("the vector database has no such collection")]
    NoCollection,
    /// It does not take the request as it is: another dimension, for example.
    #[error("the vector database rejected the request")]
    Rejected,
}

impl From<QdrantError> for Failure {
    fn from(error: QdrantError) -> Self {
        use tonic_code::{
            CANCELLED, DEADLINE_EXCEEDED, INVALID_ARGUMENT, NOT_FOUND, OUT_OF_RANGE, PERMISSION_DENIED,
            UNAUTHENTICATED, UNIMPLEMENTED,
        };
        let QdrantError::ResponseError { status } = error else { return Self::Unavailable };
        match i32::from(status.code()) {
            NOT_FOUND => Self::NoCollection,
            UNAUTHENTICATED | PERMISSION_DENIED => Self::Refused,
            INVALID_ARGUMENT | OUT_OF_RANGE | UNIMPLEMENTED => Self::Rejected,
            // What the client's own patience ends in.
            CANCELLED | DEADLINE_EXCEEDED => Self::TimedOut,
            _ => Self::Unavailable,
        }
    }
}

impl From<agent::model::Error> for Failure {
    fn from(_: agent::model::Error) -> Self {
        Self::Refused
    }
}

/// The codes of gRPC that mean something here, since the client does not pass on the type that names them.
mod tonic_code {
    pub(super) const CANCELLED: i32 = 1;
    pub(super) const INVALID_ARGUMENT: i32 = 3;
    pub(super) const DEADLINE_EXCEEDED: i32 = 4;
    pub(super) const NOT_FOUND: i32 = 5;
    pub(super) const PERMISSION_DENIED: i32 = 7;
    pub(super) const OUT_OF_RANGE: i32 = 11;
    pub(super) const UNIMPLEMENTED: i32 = 12;
    pub(super) const UNAUTHENTICATED: i32 = 16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_database_that_is_not_there_is_unavailable_and_only_when_it_is_asked() {
        let connection = Connection::<ApiKey>::new("http://127.0.0.1:1", None, Patience::OF_A_TURN).unwrap();
        let asked = connection.ask(|qdrant| async move { qdrant.collection_exists("c").await }).await;
        assert_eq!(asked, Err(Failure::Unavailable));
    }

    #[test]
    fn what_is_no_url_is_refused_and_a_key_never_shows() {
        for url in ["", "localhost:6334", "ftp://host", "http://a b"] {
            assert!(Connection::<ApiKey>::new(url, None, Patience::OF_A_TURN).is_err(), "{url}");
        }
        let key = Some(ApiKey::new("secret"));
        let connection = Connection::new("https://host:6334", key, Patience::OF_A_TURN).unwrap();
        assert!(!format!("{connection:?}").contains("secret"));
    }
}
