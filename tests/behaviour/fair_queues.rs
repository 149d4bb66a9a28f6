//! Fair queues: the messages of an org have a group of their own, so that SQS delivers those of a quiet org before the backlog
//! of a busy one.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::MessageSystemAttributeName;
use contracts::paths::KNOWLEDGE;
use protocol::queue_message::group_of;
use reqwest::Method;
use serde_json::{Value, json};

use crate::agents::editor;
use crate::support::{System, options, turn};

/// Longer than any test, so that no message is received twice.
const VISIBILITY_SECONDS: i32 = 3_600;
/// Orgs with ids that SQS would refuse as a group.
const BUSY: &str = "acme corp";
const QUIET: &str = "globex ü";

/// Receives all messages of a queue, one at a time, once there are so many. Returns the org of each, and fails for a message
/// without the group of its org.
async fn orgs_in_order(system: &System, queue: &str, count: usize) -> Vec<String> {
    let sqs = system.cloud.sqs();
    system.until_visible(queue, count).await;
    let mut orgs = Vec::new();
    for _ in 0..count {
        let received = sqs
            .receive_message()
            .queue_url(queue)
            .visibility_timeout(VISIBILITY_SECONDS)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .send();
        let message = received.await.unwrap().messages.unwrap().remove(0);
        let body: Value = serde_json::from_str(message.body().unwrap()).unwrap();
        let org = body["Org"].as_str().unwrap().to_owned();
        let group = message.attributes.unwrap().remove(&MessageSystemAttributeName::MessageGroupId);
        assert_eq!(group, Some(group_of(&org.parse().unwrap())), "{body}");
        orgs.push(org);
    }
    orgs
}

/// Counts the messages before the one of the quiet org.
fn position_of_quiet(orgs: &[String]) -> usize {
    let mut counts = BTreeMap::<&str, usize>::new();
    orgs.iter().for_each(|org| *counts.entry(org.as_str()).or_default() += 1);
    assert_eq!(counts, BTreeMap::from([(BUSY, orgs.len() - 1), (QUIET, 1)]));
    orgs.iter().position(|org| org == QUIET).unwrap()
}

#[tokio::test]
async fn settled_turns_of_a_quiet_org_pass_the_backlog_of_another() {
    let system = System::with(options()).await;
    system.cloud.pause_finalizer().await;
    let (busy, quiet) = (system.client(BUSY, "ada"), system.client(QUIET, "bob"));
    for client in [&busy, &busy, &busy, &busy, &quiet] {
        client.execute(&turn("Hello.")).await.result();
    }
    let queue = system.cloud.endpoints().finalize_queue.clone();
    // Without groups, it would be the last one.
    assert_eq!(position_of_quiet(&orgs_in_order(&system, &queue, 5).await), 1);
}

#[tokio::test]
async fn documents_of_a_quiet_org_pass_the_backlog_of_another() {
    let system = System::with(options()).await;
    system.cloud.pause_indexer().await;
    let (busy, quiet) = (editor(&system, BUSY), editor(&system, QUIET));
    for (number, client) in [&busy, &busy, &busy, &busy, &quiet].into_iter().enumerate() {
        let document = json!({"Name": format!("{number}.md"), "Text": "Hello."});
        client.send(Method::POST, KNOWLEDGE, Some(document.to_string())).await.result();
    }
    let queue = system.cloud.endpoints().knowledge_queue.clone();
    assert_eq!(position_of_quiet(&orgs_in_order(&system, &queue, 5).await), 1);
}

/// Redriven messages queue behind those of other orgs too.
#[tokio::test]
async fn redriven_messages_keep_the_group_of_their_org() {
    let system = System::with(options()).await;
    system.cloud.pause_finalizer().await;
    let dead = &system.cloud.endpoints().dead_letter_queue;
    for org in [BUSY, BUSY, BUSY, QUIET] {
        let body = json!({"Kind": "turn_settled", "Org": org, "Session": "s", "Turn": "t"}).to_string();
        system.cloud.sqs().send_message().queue_url(dead).message_body(body).send().await.unwrap();
    }
    assert_eq!(system.admin(&["dead-letters", "redrive"]).await, "Messages moved back: 4.\n");
    let queue = system.cloud.endpoints().finalize_queue.clone();
    assert_eq!(position_of_quiet(&orgs_in_order(&system, &queue, 4).await), 1);
}
