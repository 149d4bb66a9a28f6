//! The model of a local cloud: the console checks, saves and removes the user's choice, and the cloud restarts with it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use contracts::{Error as WireError, ErrorCode, InvokeResult};

use super::response::{error_response, respond};
use super::{Console, Machine, not_local};
use crate::model_setup::{self, SavedModel};
use crate::options::{Model, ModelSetup};

/// Time between the response and the restart, which closes the connection of the response.
const RESTART_DELAY: Duration = Duration::from_millis(300);
/// Most characters of a member.
const MAX_CHARS: usize = 2_048;

/// Checks a choice with its provider, saves it, and restarts the cloud with it.
pub(super) async fn set(State(console): State<Arc<Console>>, body: Bytes) -> Response {
    let Some(machine) = &console.machine else { return not_local() };
    let Some(setup) = &machine.model_setup else { return is_fixed() };
    let Ok(choice) = serde_json::from_slice::<SavedModel>(&body) else {
        let message = "Send Provider, and optionally ApiKey, BaseUrl and Name, as strings.";
        return error_response(ErrorCode::MemberInvalid, message);
    };
    let SavedModel { provider, api_key, base_url, name } = &choice;
    let members = [Some(provider), api_key.as_ref(), base_url.as_ref(), name.as_ref()];
    if members.into_iter().flatten().any(|member| member.trim().is_empty() || member.len() > MAX_CHARS) {
        let message =
            "Provider, ApiKey, BaseUrl and Name have 1 to 2048 characters. Leave out what has a default.";
        return error_response(ErrorCode::MemberInvalid, message);
    }
    match (setup.check)(choice.clone()).await {
        Ok(model) => change(machine, setup, Some(&choice), model),
        Err(reason) => error_response(ErrorCode::MemberInvalid, &reason),
    }
}

/// Removes the choice, and restarts the cloud with the mock model.
pub(super) async fn remove(State(console): State<Arc<Console>>) -> Response {
    let Some(machine) = &console.machine else { return not_local() };
    let Some(setup) = &machine.model_setup else { return is_fixed() };
    change(machine, setup, None, Model::Mock(mock_model::Provider::default()))
}

fn is_fixed() -> Response {
    let message = "The options or the environment of this local cloud set its model. Start it without them.";
    error_response(ErrorCode::Forbidden, message)
}

fn change(machine: &Machine, setup: &ModelSetup, choice: Option<&SavedModel>, model: Model) -> Response {
    if let Err(error) = model_setup::save(&machine.data, choice) {
        let errors = vec![WireError::new(ErrorCode::StorageUnavailable, error.to_string())];
        return respond(&InvokeResult::<()>::from(Err(errors)));
    }
    let changes = setup.changes.clone();
    tokio::spawn(async move {
        tokio::time::sleep(RESTART_DELAY).await;
        // Without a receiver, the program is ending.
        let _ = changes.send(model).await;
    });
    respond(&InvokeResult::ok(()))
}
