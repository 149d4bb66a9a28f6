//! How the database is reached: gRPC over one connection, which is made when it is first needed.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use http::Uri;
use llm::key::{ApiKey, Keys};
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
pub use crate::channel::{Channel, Patience, Unusable};

/// The most that one answer may have, in bytes: some ten times what a search of ours comes to.
pub const MOST_ANSWER_BYTES: usize = 16 << 20;

/// A database that has not been connected to yet. Clones share the connection.
#[derive(Clone)]
pub struct Connection<K = ApiKey> {
    server: Arc<Server>,
    /// None before the first request, and after one that got nowhere.
    channel: Arc<Mutex<Option<Channel>>>,
    key: Option<K>,
}

/// What the database does for who has this key.
#[derive(Debug, Clone)]
pub struct Services {
    transport: Transport,
    origin: Uri,
}

/// A service's transport.
pub type Transport = InterceptedService<Channel, WithKey>;

impl Services {
    /// What is done with collections.
    #[must_use]
    pub fn collections(&self) -> CollectionsClient<Transport> {
        CollectionsClient::with_origin(self.transport.clone(), self.origin.clone())
            .max_decoding_message_size(MOST_ANSWER_BYTES)
    }

    /// What is done with points.
    #[must_use]
    pub fn points(&self) -> PointsClient<Transport> {
        PointsClient::with_origin(self.transport.clone(), self.origin.clone())
            .max_decoding_message_size(MOST_ANSWER_BYTES)
    }
}

/// Sends a key with each request.
#[derive(Debug, Clone)]
pub struct WithKey(Option<AsciiMetadataValue>);

impl Interceptor for WithKey {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("api-key", key.clone());
        }
        Ok(request)
    }
}

impl<K: Keys> Connection<K> {
    /// Prepares a connection to the gRPC port at `url`; `key` where the database asks for one. Nothing is sent before
    /// the first request.
    ///
    /// # Errors
    ///
    /// [`Unusable`], which says what is wrong.
    pub fn new(url: &str, key: Option<K>, patience: Patience) -> Result<Self, Unusable> {
        let server = Arc::new(Server::at(url, patience)?);
        Ok(Self { server, channel: Arc::default(), key })
    }

    /// Asks the database. If it refuses the key, and the source of keys has another by now, it is asked again.
    ///
    /// # Errors
    ///
    /// [`Failure`], as the last attempt ended.
    pub async fn ask<T, F: Future<Output = Result<Response<T>, Status>>>(
        &self,
        question: impl Fn(Services) -> F,
    ) -> Result<T, Failure> {
        let key = self.key(None).await?;
        match self.ask_with(key.as_ref(), &question).await {
            Err(Failure::Refused) if key.is_some() => {
                let fresh = self.key(key.as_ref()).await?;
                if fresh == key {
                    return Err(Failure::Refused);
                }
                self.ask_with(fresh.as_ref(), &question).await
            }
            answer => answer,
        }
    }

    /// How a collection is laid out.
    ///
    /// # Errors
    ///
    /// [`Failure`], which is [`Failure::NoCollection`] where there is none.
    pub async fn collection(&self, name: &str) -> Result<CollectionInfo, Failure> {
        let asked = GetCollectionInfoRequest { collection_name: name.to_owned() };
        let answer = self.ask(|qdrant| {
            let asked = asked.clone();
            async move { qdrant.collections().get(asked).await }
        });
        answer.await?.result.ok_or(Failure::NoCollection)
    }

    /// Asks with this key, and once more over a new connection if that one led nowhere.
    async fn ask_with<T, F: Future<Output = Result<Response<T>, Status>>>(
        &self,
        key: Option<&ApiKey>,
        question: &impl Fn(Services) -> F,
    ) -> Result<T, Failure> {
        let once = async || {
            let answer = question(self.services(key)?).await;
            answer.map(Response::into_inner).map_err(Failure::from)
        };
        match once().await {
            Err(Failure::Unavailable | Failure::TimedOut) => {
                *self.channel.lock().unwrap_or_else(PoisonError::into_inner) = None;
                once().await
            }
            answer => answer,
        }
    }

    fn services(&self, key: Option<&ApiKey>) -> Result<Services, Failure> {
        let key = key.map(|key| AsciiMetadataValue::try_from(key.reveal())).transpose();
        let mut key = key.map_err(|_| Failure::Refused)?;
        key.iter_mut().for_each(|key| key.set_sensitive(true));
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = match channel.as_ref() {
            Some(open) => open.clone(),
            None => channel.insert(self.server.channel()?).clone(),
        };
        let transport = InterceptedService::new(channel, WithKey(key));
        Ok(Services { transport, origin: self.server.origin.clone() })
    }

    async fn key(&self, refused: Option<&ApiKey>) -> Result<Option<ApiKey>, Failure> {
        match &self.key {
            Some(keys) => Ok(Some(keys.key(refused).await?)),
            None => Ok(None),
        }
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
    /// What it was sent or sends back is larger than either side takes.
    #[error("a message to or from the vector database is too large")]
    TooLarge,
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        match status.code() {
            Code::NotFound => Self::NoCollection,
            Code::Unauthenticated | Code::PermissionDenied => Self::Refused,
            Code::InvalidArgument | Code::Unimplemented => Self::Rejected,
            Code::OutOfRange => Self::TooLarge,
            // What our own patience ends in.
            Code::Cancelled | Code::DeadlineExceeded => Self::TimedOut,
            _ => Self::Unavailable,
        }
    }
}

impl From<agent::model::Error> for Failure {
    fn from(_: agent::model::Error) -> Self {
        Self::Refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_database_that_is_not_there_is_unavailable_and_only_when_it_is_asked() {
        let connection = Connection::<ApiKey>::new("http://127.0.0.1:1", None, Patience::OF_A_TURN).unwrap();
        assert_eq!(connection.collection("c").await, Err(Failure::Unavailable));
    }

    #[test]
    fn what_is_no_url_is_refused_and_a_key_never_shows() {
        for url in ["", "localhost:6334", "ftp://host", "http://a b", "http://", "/path"] {
            assert!(Connection::<ApiKey>::new(url, None, Patience::OF_A_TURN).is_err(), "{url}");
        }
        let key = Some(ApiKey::new("secret"));
        let connection = Connection::new("https://host:6334", key, Patience::OF_A_TURN).unwrap();
        assert!(!format!("{connection:?}").contains("secret"));
    }
}
