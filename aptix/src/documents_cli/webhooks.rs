//! `aptix webhooks`: the editor of documents, secrets, test events, deliveries and replays.

use std::fmt::Write;

use clap::Subcommand;
use client::Request;
use contracts::{
    id::SessionId,
    paths,
    read::{DeliveryState, ListResponse, WebhookDelivery, WebhookReplay, WebhookStatus, WebhookTest},
};
use serde_json::json;

use super::{Documents, Target, WEBHOOKS, run, send, text};
use crate::{
    escape::escape_line,
    failure::{Failure, InvalidOption},
};

/// The deliveries that a list shows.
const PAGE_SIZE: &str = "50";

/// Commands on webhooks.
#[derive(Debug, Subcommand)]
pub(crate) enum Webhooks {
    #[command(flatten)]
    Document(Documents),
    /// Create the secret that signs deliveries and print it; a secret before it signs for another 24 hours
    Secret {
        /// Id of the webhook
        id: String,
        #[command(flatten)]
        target: Target,
    },
    /// Send a test event and print what came back
    Test {
        /// Id of the webhook
        id: String,
        #[command(flatten)]
        target: Target,
    },
    /// Print the status and the newest deliveries
    Deliveries {
        /// Id of the webhook
        id: String,
        #[command(flatten)]
        target: Target,
    },
    /// Deliver one event again, or every dead one since a time
    Replay {
        /// Id of the webhook
        id: String,
        /// Id of the delivery, as the list has it
        #[arg(requires = "session", conflicts_with = "since")]
        delivery: Option<String>,
        /// Session of the delivery
        #[arg(long)]
        session: Option<SessionId>,
        /// Time of the first dead event, such as `2026-11-29T21:00:00Z`
        #[arg(long)]
        since: Option<String>,
        #[command(flatten)]
        target: Target,
    },
}

/// Runs a command on webhooks, and returns its output.
pub(crate) async fn run_webhooks(command: Webhooks) -> Result<String, Failure> {
    match command {
        Webhooks::Document(command) => run(WEBHOOKS, command).await,
        Webhooks::Secret { id, target } => {
            let (api, _) = target.open(WEBHOOKS).await?;
            let created = send(&api, Request::post(paths::webhook_secret(&id), &json!({}))).await?;
            let mut printed = format!("{}\n", text(&created, "Secret"));
            if created.get("PreviousExpires").is_some() {
                writeln!(
                    printed,
                    "The secret before it signs too until {}.",
                    text(&created, "PreviousExpires")
                )?;
            }
            Ok(printed)
        }
        Webhooks::Test { id, target } => {
            let (api, _) = target.open(WEBHOOKS).await?;
            let tested = send(&api, Request::post(paths::webhook_test(&id), &json!({}))).await?;
            let tested: WebhookTest = serde_json::from_value(tested)?;
            let (milliseconds, status) =
                (tested.duration_milliseconds, tested.status_code.unwrap_or_default());
            match tested.message {
                None => Ok(format!("Delivered with status {status} in {milliseconds} ms.\n")),
                Some(message) => Err(format!("{message} (after {milliseconds} ms)").into()),
            }
        }
        Webhooks::Deliveries { id, target } => {
            let (api, _) = target.open(WEBHOOKS).await?;
            let status = send(&api, Request::get(paths::webhook_status(&id))).await?;
            let status: WebhookStatus = serde_json::from_value(status)?;
            let request = Request::get(paths::webhook_deliveries(&id)).with_query(&[("pageSize", PAGE_SIZE)]);
            let page: ListResponse<WebhookDelivery> = serde_json::from_value(send(&api, request).await?)?;
            shown(&status, &page.items)
        }
        Webhooks::Replay { id, delivery, session, since, target } => {
            let body = match (delivery, session, since) {
                (Some(delivery), Some(session), None) => {
                    json!({ "DeliveryId": delivery, "SessionId": session })
                }
                (None, None, Some(since)) => json!({ "Since": since }),
                _ => {
                    return Err(InvalidOption::new(
                        "Name a delivery with --session, or a time with --since.",
                    )
                    .into());
                }
            };
            let (api, _) = target.open(WEBHOOKS).await?;
            let replayed = send(&api, Request::post(paths::webhook_replay(&id), &body)).await?;
            let WebhookReplay { replayed, next_since } = serde_json::from_value(replayed)?;
            let mut printed = format!("{replayed} deliveries are queued again.\n");
            if let Some(since) = next_since {
                writeln!(printed, "More may be dead. Replay with --since {since}.")?;
            }
            Ok(printed)
        }
    }
}

/// Returns the status, and a line for each delivery.
fn shown(status: &WebhookStatus, deliveries: &[WebhookDelivery]) -> Result<String, Failure> {
    let mut printed = String::new();
    if status.secret_date.is_none() {
        let id = &status.webhook_id;
        writeln!(printed, "There is no secret, so nothing is sent. Create one: aptix webhooks secret {id}")?;
    }
    if status.is_paused {
        writeln!(printed, "Paused.")?;
    }
    if let Some(since) = &status.disabled_since {
        writeln!(printed, "Disabled since {since}. A successful test or a new version enables it.")?;
    } else if let Some(since) = &status.failing_since {
        writeln!(printed, "Failing since {since}.")?;
    }
    for delivery in deliveries {
        let state = match delivery.state {
            DeliveryState::Pending => "pending",
            DeliveryState::Delivered => "delivered",
            DeliveryState::Dead => "dead",
            DeliveryState::Dropped => "dropped",
        };
        let code = delivery.last_status_code.map_or_else(|| "-".to_owned(), |code| code.to_string());
        writeln!(
            printed,
            "{}  {state:<9}  {:<14}  {} attempts, last {code}\n  {} {} {}",
            delivery.creation_date,
            delivery.event.name(),
            delivery.attempts,
            delivery.delivery_id,
            delivery.session_id,
            delivery.turn_id,
        )?;
        if let Some(message) = &delivery.last_message {
            writeln!(printed, "  {}", escape_line(message))?;
        }
    }
    Ok(if printed.is_empty() { "There are no deliveries.\n".to_owned() } else { printed })
}
