//! A Rust client for the API.
//!
//! [`Api::follow`] reads a turn's events until its result, across connections, and [`Api::call`] sends any other
//! request. Both retry the same request as long as that can help. This is safe, because requests are idempotent and
//! the model is called once.
//!
//! ```no_run
//! use aptix_client::{Api, Error, Event, Position, Request, Token};
//! use serde_json::json;
//!
//! # async fn example(token: String) -> Result<(), Error> {
//! let api = Api::new("http://127.0.0.1:9000", Token::Static(token))?;
//! // Ids are made before anything is sent: the turn's id is the idempotency key.
//! let turn = json!({
//!     "SessionId": "my-session", "TurnId": "turn-1", "Instruction": "What is a lease?", "Streaming": true,
//! });
//! let request = Request::post("/api/ai/agent/execute", &turn);
//! let mut text = String::new();
//! let mut show = |event| match event {
//!     Event::Delta(delta) => text.push_str(&delta),
//!     // The text so far is not the answer.
//!     Event::Reset(_) => text.clear(),
//!     Event::Status(_) | Event::Reasoning { .. } | Event::Retry(_) => {}
//! };
//! let result = api.follow(&request, &mut Position::default(), &mut show).await?;
//! assert_eq!(result["PrimaryOutputText"], text);
//!
//! let session = api.call(&Request::get("/api/ai/agent/sessions/my-session")).await?;
//! assert_eq!(session["TurnCount"], 1);
//! # Ok(())
//! # }
//! ```
//!
//! Deliberately absent: types of requests and responses. They are JSON, and the OpenAPI document has their schemas.

mod api;
mod backoff;
mod error;
mod follow;

pub use api::{Api, Request, Token};
pub use error::{ApiError, Error, Retry};
pub use follow::{Event, Position};
