//! The provider's public keys: fetched when they are needed, kept, and looked for again when a token names another.
//!
//! [`kept`] decides when to ask, [`source`] asks.

mod kept;
mod source;

use std::time::SystemTime;

use contracts::error::causes;
use jsonwebtoken::jwk::Jwk;
use tokio::sync::Mutex;

use kept::{Kept, Next};
use source::Source;
use source::Unavailable;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoKey {
    /// The issuer has none of this id.
    #[error("the issuer has no key of the token's id")]
    Unknown,
    /// Nothing can be said.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// The keys of one issuer.
pub(crate) struct Keys {
    source: Source,
    kept: Mutex<Kept>,
}

impl Keys {
    /// The keys of this issuer: at this URL, or where its discovery document says.
    ///
    /// # Errors
    /// When there can be no HTTP client.
    pub(crate) fn new(issuer: String, jwks: Option<String>) -> Result<Self, Unavailable> {
        Ok(Self { source: Source::new(issuer, jwks)?, kept: Mutex::default() })
    }

    /// The key of this id. Of a token that names none, the issuer's only one.
    pub(crate) async fn find(&self, id: Option<&str>, now: SystemTime) -> Result<Jwk, NoKey> {
        let mut kept = self.kept.lock().await;
        if kept.next(id, now) == Next::Ask {
            kept.tried(now);
            match self.source.fetch().await {
                Ok(keys) => {
                    tracing::info!(keys = keys.keys.len(), "the provider's keys were fetched");
                    kept.replace(keys, now);
                }
                Err(unavailable) if kept.is_too_old(now) => return Err(unavailable.into()),
                Err(unavailable) => {
                    let error = causes(&unavailable);
                    tracing::warn!(%error, "the provider's keys can't be had; those of before count on");
                }
            }
        }
        kept.find(id).cloned().ok_or(NoKey::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
        time::Duration,
    };

    use axum::{Json, Router, extract::State, routing::get};
    use serde_json::{Value, json};

    use super::*;

    /// What a provider publishes, and how often it was asked.
    #[derive(Default)]
    struct Published {
        discovery: Value,
        keys: std::sync::Mutex<Value>,
        asked: AtomicU32,
    }

    async fn serve(published: &Arc<Published>, listener: tokio::net::TcpListener) {
        async fn keys(State(published): State<Arc<Published>>) -> Json<Value> {
            published.asked.fetch_add(1, Ordering::Relaxed);
            Json(published.keys.lock().unwrap().clone())
        }
        let discovery =
            |State(published): State<Arc<Published>>| async move { Json(published.discovery.clone()) };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .with_state(Arc::clone(published));
        tokio::spawn(async move { axum::serve(listener, router).await });
    }

    /// A provider with these keys whose discovery document says this of it.
    async fn provider(ids: &[&str], discovery: impl FnOnce(&str) -> Value) -> (String, Arc<Published>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let published = Published { discovery: discovery(&issuer), ..Published::default() };
        *published.keys.lock().unwrap() = set(ids);
        let published = Arc::new(published);
        serve(&published, listener).await;
        (issuer, published)
    }

    fn honest(issuer: &str) -> Value {
        json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys"), "more": 1})
    }

    fn set(ids: &[&str]) -> Value {
        let key = |id: &&str| json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": "AA"});
        json!({"keys": ids.iter().map(key).collect::<Vec<_>>()})
    }

    fn after(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
    }

    #[tokio::test]
    async fn a_key_that_the_provider_changed_to_is_found_and_one_that_it_withdrew_is_not() {
        let (issuer, published) = provider(&["first"], honest).await;
        let keys = Keys::new(issuer, None).unwrap();
        keys.find(Some("first"), after(0)).await.unwrap();
        *published.keys.lock().unwrap() = set(&["second"]);
        keys.find(Some("first"), after(5)).await.unwrap();
        keys.find(Some("second"), after(20)).await.unwrap();
        assert!(matches!(keys.find(Some("first"), after(40)).await, Err(NoKey::Unknown)));
    }

    #[tokio::test]
    async fn many_requests_with_made_up_keys_ask_once_in_ten_seconds() {
        let (issuer, published) = provider(&["first"], honest).await;
        let keys = Keys::new(issuer, None).unwrap();
        for second in 0..40 {
            assert!(keys.find(Some(&format!("made-up-{second}")), after(second)).await.is_err());
        }
        assert_eq!(published.asked.load(Ordering::Relaxed), 4);
    }

    #[tokio::test]
    async fn a_key_of_an_unknown_kind_does_no_harm_to_the_others() {
        let (issuer, published) = provider(&["first"], honest).await;
        let odd = json!({"kty": "AKP", "alg": "ML-DSA-65", "kid": "new", "pub": "AA"});
        published.keys.lock().unwrap()["keys"].as_array_mut().unwrap().push(odd);
        let keys = Keys::new(issuer.clone(), Some(format!("{issuer}/keys"))).unwrap();
        keys.find(Some("first"), after(0)).await.unwrap();
    }

    #[tokio::test]
    async fn a_document_of_another_issuer_a_long_one_and_a_broken_one_are_no_keys() {
        let other = |_: &str| json!({"issuer": "http://127.0.0.1:1", "jwks_uri": "http://127.0.0.1:1/keys"});
        let long = |issuer: &str| json!({"issuer": issuer, "jwks_uri": "x".repeat(600_000)});
        let broken = |_: &str| json!(["issuer"]);
        for (discovery, what) in
            [(&other as &dyn Fn(&str) -> Value, "another"), (&long, "read"), (&broken, "read")]
        {
            let (issuer, _) = provider(&["first"], discovery).await;
            let keys = Keys::new(issuer, None).unwrap();
            let Err(NoKey::Unavailable(fault)) = keys.find(Some("first"), after(0)).await else {
                panic!("{what}")
            };
            assert!(fault.to_string().contains(what), "{fault}");
        }
    }
}
