//! The connection to the database: gRPC over one channel, which is opened at the first request.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use http::Uri;
use llm::key::{ApiKey, KeySource};
use qdrant_client::qdrant::{
    CollectionInfo, GetCollectionInfoRequest, collections_client::CollectionsClient,
    points_client::PointsClient,
};
use tonic::{
    Code, Request, Response, Status,
    metadata::AsciiMetadataValue,
    service::{Interceptor, interceptor::InterceptedService},
};

use crate::channel::Server;
pub use crate::channel::{Channel, InvalidUrl, QdrantTimeouts};

/// The maximum size of one response, in bytes: about ten times the response to a search of this service.
pub const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// A lazy connection to the database. Clones share the channel.
#[derive(Clone)]
pub struct Connection<K = ApiKey> {
    server: Arc<Server>,
    /// None before the first request, and after one that didn't reach the server.
    channel: Arc<Mutex<Option<Channel>>>,
    key: Option<K>,
}

/// The database's gRPC clients, authenticated with one key.
#[derive(Debug, Clone)]
pub struct Clients {
    transport: Transport,
    origin: Uri,
}

/// The transport of a client.
pub type Transport = InterceptedService<Channel, ApiKeyInterceptor>;

impl Clients {
    /// Returns the client for collections.
    #[must_use]
    pub fn collections(&self) -> CollectionsClient<Transport> {
        CollectionsClient::with_origin(self.transport.clone(), self.origin.clone())
            .max_decoding_message_size(MAX_RESPONSE_BYTES)
    }

    /// Returns the client for points.
    #[must_use]
    pub fn points(&self) -> PointsClient<Transport> {
        PointsClient::with_origin(self.transport.clone(), self.origin.clone())
            .max_decoding_message_size(MAX_RESPONSE_BYTES)
    }
}

/// Sends the API key with each request.
#[derive(Debug, Clone)]
pub struct ApiKeyInterceptor(Option<AsciiMetadataValue>);

impl Interceptor for ApiKeyInterceptor {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("api-key", key.clone());
        }
        Ok(request)
    }
}

impl<K: KeySource> Connection<K> {
    /// Prepares a connection to the gRPC port at `url`, with a `key` if the database requires one. Nothing is sent
    /// before the first request.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidUrl`] if `url` is not an http or https URL.
    pub fn new(url: &str, key: Option<K>, timeouts: QdrantTimeouts) -> Result<Self, InvalidUrl> {
        let server = Arc::new(Server::new(url, timeouts)?);
        Ok(Self { server, channel: Arc::default(), key })
    }

    /// Calls the database. If it rejects the key and the source of keys returns another one, the call is retried
    /// once with that key.
    ///
    /// # Errors
    ///
    /// Returns the [`QdrantError`] of the last attempt.
    pub async fn call<T, F: Future<Output = Result<Response<T>, Status>>>(
        &self,
        operation: impl Fn(Clients) -> F,
    ) -> Result<T, QdrantError> {
        let key = self.key(None).await?;
        match self.call_with_key(key.as_ref(), &operation).await {
            Err(QdrantError::Unauthorized) if key.is_some() => {
                let fresh_key = self.key(key.as_ref()).await?;
                if fresh_key == key {
                    return Err(QdrantError::Unauthorized);
                }
                self.call_with_key(fresh_key.as_ref(), &operation).await
            }
            response => response,
        }
    }

    /// Returns the configuration of a collection.
    ///
    /// # Errors
    ///
    /// Returns [`QdrantError::CollectionNotFound`] if the collection doesn't exist, or another [`QdrantError`].
    pub async fn collection(&self, name: &str) -> Result<CollectionInfo, QdrantError> {
        let request = GetCollectionInfoRequest { collection_name: name.to_owned() };
        let response = self.call(|qdrant| {
            let request = request.clone();
            async move { qdrant.collections().get(request).await }
        });
        response.await?.result.ok_or(QdrantError::CollectionNotFound)
    }

    /// Calls with this key, and retries once over a new connection if the first one failed.
    async fn call_with_key<T, F: Future<Output = Result<Response<T>, Status>>>(
        &self,
        key: Option<&ApiKey>,
        operation: &impl Fn(Clients) -> F,
    ) -> Result<T, QdrantError> {
        let attempt = async || {
            let response = operation(self.clients(key)?).await;
            response.map(Response::into_inner).map_err(QdrantError::from)
        };
        match attempt().await {
            Err(QdrantError::Unavailable | QdrantError::TimedOut) => {
                *self.channel.lock().unwrap_or_else(PoisonError::into_inner) = None;
                attempt().await
            }
            response => response,
        }
    }

    fn clients(&self, key: Option<&ApiKey>) -> Result<Clients, QdrantError> {
        let key = key.map(|key| AsciiMetadataValue::try_from(key.reveal())).transpose();
        let mut key = key.map_err(|_| QdrantError::Unauthorized)?;
        key.iter_mut().for_each(|key| key.set_sensitive(true));
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = match channel.as_ref() {
            Some(open) => open.clone(),
            None => channel.insert(self.server.channel()?).clone(),
        };
        let transport = InterceptedService::new(channel, ApiKeyInterceptor(key));
        Ok(Clients { transport, origin: self.server.origin.clone() })
    }

    async fn key(&self, rejected: Option<&ApiKey>) -> Result<Option<ApiKey>, QdrantError> {
        match &self.key {
            Some(keys) => Ok(Some(keys.key(rejected).await?)),
            None => Ok(None),
        }
    }
}

impl<K> fmt::Debug for Connection<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// A failed database call. No variant carries the server's message, since it may quote the request (I14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QdrantError {
    /// The database is unreachable or failed.
    #[error("the vector database is unavailable")]
    Unavailable,
    /// The database did not respond in time.
    #[error("the vector database did not answer in time")]
    TimedOut,
    /// The database rejected the key, or no key is configured.
    #[error("the vector database refused the credentials")]
    Unauthorized,
    /// The collection doesn't exist.
    #[error("the vector database has no such collection")]
    CollectionNotFound,
    /// The database rejected the request, for example for a vector of other dimensions.
    #[error("the vector database rejected the request")]
    Rejected,
    /// The database has no room for more data.
    #[error("the vector database's disk is full")]
    Full,
    /// A message exceeds the size limit of either side.
    #[error("a message to or from the vector database is too large")]
    TooLarge,
}

impl From<Status> for QdrantError {
    fn from(status: Status) -> Self {
        match status.code() {
            Code::NotFound => Self::CollectionNotFound,
            Code::Unauthenticated | Code::PermissionDenied => Self::Unauthorized,
            Code::InvalidArgument | Code::Unimplemented => Self::Rejected,
            Code::OutOfRange => Self::TooLarge,
            Code::ResourceExhausted => Self::Full,
            // Our own timeouts end in these codes.
            Code::Cancelled | Code::DeadlineExceeded => Self::TimedOut,
            _ => Self::Unavailable,
        }
    }
}

impl From<agent::model::Error> for QdrantError {
    fn from(_: agent::model::Error) -> Self {
        Self::Unauthorized
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn missing_database_is_unavailable_on_first_call() {
        let connection = Connection::<ApiKey>::new("http://127.0.0.1:1", None, QdrantTimeouts::TURN).unwrap();
        assert_eq!(connection.collection("c").await, Err(QdrantError::Unavailable));
    }

    #[test]
    fn invalid_url_is_rejected_and_debug_hides_the_key() {
        for url in ["", "localhost:6334", "ftp://host", "http://a b", "http://", "/path"] {
            assert!(Connection::<ApiKey>::new(url, None, QdrantTimeouts::TURN).is_err(), "{url}");
        }
        let key = Some(ApiKey::new("secret"));
        let connection = Connection::new("https://host:6334", key, QdrantTimeouts::TURN).unwrap();
        assert!(!format!("{connection:?}").contains("secret"));
    }
}
