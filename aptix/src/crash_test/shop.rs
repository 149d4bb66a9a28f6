//! The tool server: it refunds what it is asked to, and counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::random_up_to;

/// The tool whose calls have a key.
const KEYED: &str = "refund_keyed";
/// Header with the key of a call.
const KEY_HEADER: &str = "idempotency-key";
/// The longest time from a refund to its response, so that kills come in between.
const MAX_LATENCY: Duration = Duration::from_millis(500);

/// The refunds by order: each with the key of its call.
type Refunds = BTreeMap<String, Vec<String>>;

/// A shop. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Shop {
    refunds: Arc<Mutex<Refunds>>,
    /// Notified of each call.
    called: Arc<Notify>,
}

/// A running server, which is stopped on drop.
pub(super) struct Server(JoinHandle<()>);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Shop {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn serve(&self, listener: TcpListener) -> Server {
        let router = Router::new().route("/{tool}", post(refund)).with_state(self.clone());
        Server(tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        }))
    }

    /// Returns the number of refunds of each order.
    pub(super) fn performed(&self) -> BTreeMap<String, usize> {
        self.refunds().iter().map(|(order, keys)| (order.clone(), keys.len())).collect()
    }

    /// Waits for a call that arrived since the last wait.
    pub(super) async fn next_call(&self) {
        self.called.notified().await;
    }

    fn refunds(&self) -> MutexGuard<'_, Refunds> {
        self.refunds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn refund(
    State(shop): State<Shop>,
    Path(tool): Path<String>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Json<Value> {
    let order = body.get("order").and_then(Value::as_str).unwrap_or_default().to_owned();
    let key = headers.get(KEY_HEADER).and_then(|key| key.to_str().ok()).unwrap_or_default().to_owned();
    {
        let mut refunds = shop.refunds();
        let keys = refunds.entry(order.clone()).or_default();
        // A target that honours keys performs a call once per key.
        if tool != KEYED || !keys.contains(&key) {
            keys.push(key);
        }
    }
    shop.called.notify_one();
    tokio::time::sleep(random_up_to(MAX_LATENCY)).await;
    Json(json!({ "refunded": order }))
}
