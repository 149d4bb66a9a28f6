//! Webhooks: receivers outside that get the events of an org's turns.
//!
//! A [`Webhook`] is a document of the org, with versions like a context. Deliberately absent: its secret, which is stored
//! elsewhere, and the state of its deliveries.

use contracts::{id::WebhookId, webhook::WebhookEvent};
use protocol::webhook::Subscription;
use serde_json::{Value, json};

use crate::{
    fault::FaultCollector,
    members::{Count, Members, Strings, Typed, deprecation, line, table, words},
};

/// The most webhooks of an org. A turn's last transaction has an item for each event of each.
pub const MAX_WEBHOOKS: usize = 10;

/// The maximum length of `Name`.
const MAX_NAME_CHARS: usize = 128;
/// The maximum length of `Url`.
const MAX_URL_CHARS: usize = 1_024;
/// The maximum number of types.
const MAX_EVENTS: Count = Count(WebhookEvent::ALL.len(), "types");
/// The maximum number of agents, and the length of their ids.
const AGENTS: Strings<crate::members::Text> = Strings(Count(64, "agents"), line(128));

table! {
    /// A webhook: a receiver outside that gets events of the org.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Webhook as "Webhook" {
        /// The id.
        pub id: WebhookId,
        /// The name for people.
        pub name: String = line(MAX_NAME_CHARS),
        /// The replacement to use. Set it to deprecate the document.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub deprecated: Option<String> = deprecation(),
        /// The URL that gets a `POST` for each event.
        pub url: String = line(MAX_URL_CHARS),
        /// The types of events that it gets.
        pub events: Vec<WebhookEvent> = MAX_EVENTS,
        /// The ids of the agents whose events it gets. Absent: all agents of the org.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub agents: Option<Vec<String>> = AGENTS,
        /// True to send instruction and answer too. Without it, an event has ids, numbers and links alone.
        #[serde(default)]
        pub with_content: bool,
        /// True to hold events back. They are delivered once it is false again, unless they are more than three days old.
        #[serde(default)]
        pub paused: bool,
    }
}

words!(WebhookEvent);

impl Typed for WebhookId {
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[a-z][a-z0-9-]{0,31}$" })
    }
}

impl Webhook {
    /// Returns what it subscribes to.
    #[must_use]
    pub fn subscription(&self) -> Subscription {
        Subscription {
            webhook: self.id.clone(),
            events: self.events.iter().copied().collect(),
            agents: self.agents.clone(),
        }
    }
}

/// Checks a webhook. Its URL is checked by the guard of the deployment besides.
pub(crate) fn check(webhook: &Webhook, at: &str, faults: &mut FaultCollector) {
    webhook.check_members(at, faults);
    let events = &webhook.events;
    faults.require(!events.is_empty(), format!("{at}.Events"), "must name at least one type");
    for (n, event) in events.iter().enumerate() {
        let is_first = !events.iter().take(n).any(|other| other == event);
        faults.require(is_first, format!("{at}.Events[{n}]"), "is listed twice");
    }
}
