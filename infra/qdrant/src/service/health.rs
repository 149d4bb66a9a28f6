//! Health check and version.

use qdrant_client::qdrant::qdrant_server::Qdrant;
use qdrant_client::qdrant::{HealthCheckReply, HealthCheckRequest};
use tonic::{Request, Response, Status};

use super::Service;

#[tonic::async_trait]
impl Qdrant for Service {
    async fn health_check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckReply>, Status> {
        Ok(Response::new(HealthCheckReply {
            title: "embedded-qdrant".to_owned(),
            // The server whose engine this is: clients compare it with their own version.
            version: "1.18.0".to_owned(),
            commit: None,
        }))
    }
}
