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

/// The largest message: a batch of a few hundred points.
const LARGEST_MESSAGE: usize = 64 << 20;

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
                .max_decoding_message_size(LARGEST_MESSAGE)
                .max_encoding_message_size(LARGEST_MESSAGE),
        )
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), end)
        .await
}

impl Service {
    /// Does something with the engine where it may block, and answers with it and the seconds that it took.
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
