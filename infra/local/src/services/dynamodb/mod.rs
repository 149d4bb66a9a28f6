//! DynamoDB: dynoxide, on a file in the data folder or in memory. Its own HTTP server is not used, since it verifies no
//! signatures and answers every web page.

mod operations;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use dynoxide::Database;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::error::{Error, listen};
use super::signature::{Verifier, verify};
use crate::listener::Server;
use crate::service_keys::ServiceKeys;

/// Largest request, as on AWS.
const MAX_REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// Time between removals of expired items. AWS takes up to days, so nothing may depend on it.
const EXPIRY_PERIOD: Duration = Duration::from_secs(60);

/// Message of SQLite about a full disk.
const DISK_FULL: &str = "database or disk is full";

/// A running DynamoDB.
pub(crate) struct DynamoDb {
    server: Server,
    database: Database,
    expiry: JoinSet<()>,
}

impl DynamoDb {
    /// Starts a DynamoDB on the database in `file`, or on an in-memory one. Requests have to be signed with one of the
    /// keys. Items don't expire yet.
    pub(super) async fn start(
        address: SocketAddr,
        file: Option<&Path>,
        keys: &ServiceKeys,
    ) -> Result<Self, Error> {
        let database = open(file)?;
        let server = listen(address).await?.serve(router(database.clone(), keys));
        Ok(Self { server, database, expiry: JoinSet::new() })
    }

    pub(crate) fn url(&self) -> &str {
        self.server.url()
    }

    /// Starts to remove expired items, now and then periodically. Call it once the table has its TTL: the first
    /// removal would find nothing before, and the next one is a minute later.
    pub(crate) fn start_expiry(&mut self) {
        self.expiry.spawn(expire(self.database.clone()));
    }
}

impl std::fmt::Debug for DynamoDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DynamoDb").field("server", &self.server).finish_non_exhaustive()
    }
}

fn open(file: Option<&Path>) -> Result<Database, Error> {
    let opened = match file {
        None => Database::memory(),
        Some(file) => match file.to_str() {
            Some(path) => Database::new(path),
            None => return Err(Error::Database(format!("{} is not UTF-8", file.display()))),
        },
    };
    opened.map_err(|error| Error::Database(error.to_string()))
}

fn router(database: Database, keys: &ServiceKeys) -> Router {
    let verifier = Verifier { keys: keys.clone(), service: "dynamodb", max_bytes: MAX_REQUEST_BYTES };
    Router::new()
        .fallback(handle)
        .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
        .layer(from_fn_with_state(Arc::new(verifier), verify))
        .with_state(database)
}

async fn handle(State(database): State<Database>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let (status, body) = match operations::answer(&database, target, &body) {
        Ok(body) => (StatusCode::OK, body),
        Err(error) => {
            // Trying again does not help, so the status is none that the SDK retries.
            let is_full = error.to_string().contains(DISK_FULL);
            let status = if is_full {
                Ok(StatusCode::INSUFFICIENT_STORAGE)
            } else {
                StatusCode::from_u16(error.status_code())
            };
            (status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), error.to_json())
        }
    };
    let headers = [
        (header::CONTENT_TYPE, "application/x-amz-json-1.0".to_owned()),
        (header::HeaderName::from_static("x-amzn-requestid"), Uuid::new_v4().to_string()),
    ];
    (status, headers, body).into_response()
}

/// Removes expired items at the start and then periodically, until dropped.
async fn expire(database: Database) {
    let mut period = tokio::time::interval(EXPIRY_PERIOD);
    loop {
        period.tick().await;
        let database = database.clone();
        // A failed removal is retried in the next period. Until then readers check the expiry themselves.
        let _ = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
    }
}

#[cfg(test)]
mod tests {
    /// The database is opened by dynoxide, so the setting comes from `.cargo/config.toml`.
    #[test]
    fn deleted_data_is_overwritten() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let mode: i64 = connection.query_row("PRAGMA secure_delete", [], |row| row.get(0)).unwrap();
        assert_eq!(mode, 1);
    }
}
