//! The identity provider's public keys: fetched on demand, cached, and fetched again if a token names an unknown key.
//!
//! [`cache`] decides when to fetch, and [`source`] fetches.

mod cache;
mod source;

use std::time::SystemTime;

use contracts::error::causes;
use jsonwebtoken::jwk::Jwk;
use tokio::sync::Mutex;

use cache::{Action, JwksCache};
use source::FetchError;
use source::Source;

/// The reason why there is no key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyError {
    /// The issuer has no key with this id.
    #[error("the issuer has no key with the token's key id")]
    Unknown,
    /// The keys can't be fetched.
    #[error(transparent)]
    Unavailable(#[from] FetchError),
}

/// The keys of one issuer.
pub(crate) struct Keys {
    source: Source,
    cache: Mutex<JwksCache>,
}

impl Keys {
    /// Creates the keys of `issuer`, at the URL `jwks` or at the one in the issuer's discovery document.
    ///
    /// # Errors
    /// If the HTTP client can't be created.
    pub(crate) fn new(issuer: String, jwks: Option<String>) -> Result<Self, FetchError> {
        Ok(Self { source: Source::new(issuer, jwks)?, cache: Mutex::default() })
    }

    /// Returns the key with this id. Without an id, returns the issuer's only key.
    pub(crate) async fn find(&self, id: Option<&str>, now: SystemTime) -> Result<Jwk, KeyError> {
        let mut cache = self.cache.lock().await;
        if cache.decide(id, now) == Action::Fetch {
            cache.record_attempt(now);
            match self.source.fetch().await {
                Ok((keys, malformed)) => {
                    tracing::info!(keys = keys.keys.len(), malformed, "{}", contracts::log::JWKS_FETCHED);
                    cache.replace(keys, now);
                }
                Err(unavailable) if cache.is_expired(now) => return Err(unavailable.into()),
                Err(unavailable) => {
                    let error = causes(&unavailable);
                    tracing::warn!(%error, "{}", contracts::log::JWKS_STALE);
                }
            }
        }
        cache.find(id).cloned().ok_or(KeyError::Unknown)
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

    /// The documents of a provider, and the number of fetches.
    #[derive(Default)]
    struct Published {
        discovery: Value,
        keys: std::sync::Mutex<Value>,
        fetches: AtomicU32,
    }

    async fn serve(published: &Arc<Published>, listener: tokio::net::TcpListener) {
        async fn keys(State(published): State<Arc<Published>>) -> Json<Value> {
            published.fetches.fetch_add(1, Ordering::Relaxed);
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

    /// Starts a provider with these keys and this discovery document.
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
    async fn rotated_key_is_found_and_withdrawn_key_is_unknown() {
        let (issuer, published) = provider(&["first"], honest).await;
        let keys = Keys::new(issuer, None).unwrap();
        keys.find(Some("first"), after(0)).await.unwrap();
        *published.keys.lock().unwrap() = set(&["second"]);
        keys.find(Some("first"), after(5)).await.unwrap();
        keys.find(Some("second"), after(20)).await.unwrap();
        assert!(matches!(keys.find(Some("first"), after(40)).await, Err(KeyError::Unknown)));
    }

    #[tokio::test]
    async fn forged_key_ids_fetch_at_most_once_in_ten_seconds() {
        let (issuer, published) = provider(&["first"], honest).await;
        let keys = Keys::new(issuer, None).unwrap();
        for second in 0..40 {
            assert!(keys.find(Some(&format!("made-up-{second}")), after(second)).await.is_err());
        }
        assert_eq!(published.fetches.load(Ordering::Relaxed), 4);
    }

    #[tokio::test]
    async fn key_of_unknown_type_does_not_break_the_set() {
        let (issuer, published) = provider(&["first"], honest).await;
        let odd = json!({"kty": "AKP", "alg": "ML-DSA-65", "kid": "new", "pub": "AA"});
        published.keys.lock().unwrap()["keys"].as_array_mut().unwrap().push(odd);
        let keys = Keys::new(issuer.clone(), Some(format!("{issuer}/keys"))).unwrap();
        keys.find(Some("first"), after(0)).await.unwrap();
    }

    #[tokio::test]
    async fn malformed_key_does_not_break_the_set() {
        let (issuer, published) = provider(&["first"], honest).await;
        for malformed in [
            json!({"kty": "RSA", "kid": "no-modulus"}),
            json!({"kty": "EC", "crv": 7, "kid": "x", "x": [], "y": null}),
            json!({"kid": "first"}),
            json!("a key"),
            json!(null),
        ] {
            published.keys.lock().unwrap()["keys"].as_array_mut().unwrap().insert(0, malformed);
        }
        let keys = Keys::new(issuer, None).unwrap();
        keys.find(Some("first"), after(0)).await.unwrap();
    }

    #[tokio::test]
    async fn foreign_oversized_or_broken_discovery_is_an_error() {
        let other = |_: &str| json!({"issuer": "http://127.0.0.1:1", "jwks_uri": "http://127.0.0.1:1/keys"});
        let long = |issuer: &str| json!({"issuer": issuer, "jwks_uri": "x".repeat(600_000)});
        let broken = |_: &str| json!(["issuer"]);
        for (discovery, what) in
            [(&other as &dyn Fn(&str) -> Value, "another"), (&long, "read"), (&broken, "read")]
        {
            let (issuer, _) = provider(&["first"], discovery).await;
            let keys = Keys::new(issuer, None).unwrap();
            let Err(KeyError::Unavailable(fault)) = keys.find(Some("first"), after(0)).await else {
                panic!("{what}")
            };
            assert!(fault.to_string().contains(what), "{fault}");
        }
    }
}
