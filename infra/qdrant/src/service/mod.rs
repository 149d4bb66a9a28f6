//! The server: the protocol's services over the engine.

mod collections;
mod health;
mod points;
mod unsupported;

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use qdrant_client::qdrant::qdrant_server::QdrantServer;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Error, Server};
use tonic::{Response, Status};

use crate::engine::Engine;
use crate::refusal::Refusal;

/// Maximum size of a message in bytes: a batch of a few hundred points.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// The services; clones share the engine.
#[derive(Clone)]
struct Service(Arc<Engine>);

/// Serves until `end`, then until the calls under way are answered.
pub(crate) async fn serve(
    listener: TcpListener,
    engine: Arc<Engine>,
    end: impl Future<Output = ()>,
) -> Result<(), Error> {
    let service = Service(engine);
    Server::builder()
        .add_service(QdrantServer::new(service.clone()))
        .add_service(CollectionsServer::new(service.clone()))
        .add_service(
            PointsServer::new(service)
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(MAX_MESSAGE_BYTES),
        )
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), end)
        .await
}

impl Service {
    /// Runs blocking work on the engine and responds with its result and the seconds it took.
    async fn answer<T, R>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, Refusal> + Send + 'static,
        to_response: impl FnOnce(T, f64) -> R,
    ) -> Result<Response<R>, Status>
    where
        T: Send + 'static,
    {
        let (engine, began) = (Arc::clone(&self.0), Instant::now());
        let done = tokio::task::spawn_blocking(move || work(&engine)).await.map_err(Refusal::from)??;
        Ok(Response::new(to_response(done, began.elapsed().as_secs_f64())))
    }
}
