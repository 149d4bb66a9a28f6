//! The wiring of the functions, from their settings.
//!
//! A resumed turn runs exactly like a new one, so `execute` and `tool-continuation` build the same [`app::App`] and
//! respond through [`respond::respond`]. The other functions run no turns: they use [`providers`] to delete stored
//! responses, [`titles`] and [`session_index`]. Routes and decisions about turns are out of scope.

pub mod app;
pub mod connections;
mod diagnostics;
pub mod handlers;
mod model_clients;
pub mod providers;
pub mod respond;
pub mod session_index;
pub mod sources;
pub mod titles;
pub mod webhooks;
