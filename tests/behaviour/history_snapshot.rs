//! A replayed conversation is read from one object, whatever its length, and from the turns' own objects without it.

use local::call_proxy::Service;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    client_tools::{results, submit},
    export::operator,
    fork::fork,
    import::text,
    support::{Client, System, history, id, in_context, reading_tool, session_path, turn_in, turn_path},
};

const SNAPSHOT: &str = "/history.json";

/// Creates the context `c`, whose conversations this service replays.
async fn replayed(system: &System) -> Client {
    system.put_context(json!({"Chain": "local", "ClientTools": [reading_tool()]})).await;
    system.client("acme", "ada")
}

/// Runs turns `from` to `to`, of which there may be none. Returns the last one, once it is finalized.
async fn talk(system: &System, ada: &Client, from: usize, to: usize) -> Value {
    let mut last = Value::Null;
    for number in from..=to {
        last = in_context(&format!("Turn {number} [[script: say \"Yes {number}.\"]]"));
        ada.execute(&last).await.result();
    }
    if !last.is_null() {
        until_finalized(system, &last).await;
    }
    last
}

async fn until_finalized(system: &System, turn: &Value) {
    let head = format!("TURN#{}", turn["TurnId"].as_str().unwrap());
    system.until_attribute(&head, "Status", "completed").await;
}

/// Returns the number of objects that `execute` has read since the last time.
fn take_reads(system: &System) -> usize {
    let calls = system.take_calls();
    let is_read = |call: &&local::call_proxy::Call| {
        call.function == "execute" && call.service == Service::Bucket && call.operation == "GET"
    };
    calls.iter().filter(is_read).count()
}

async fn rerun(system: &System, ada: &Client, of: &Value) -> Value {
    let made = json!({"SessionId": of["SessionId"], "TurnId": id()});
    let path = format!("{}/rerun", turn_path(of));
    ada.post(&path, json!({"TurnId": made["TurnId"]}).to_string()).await.result();
    until_finalized(system, &made).await;
    made
}

impl System {
    async fn snapshots(&self) -> Vec<String> {
        self.objects().await.into_iter().filter(|key| key.ends_with(SNAPSHOT)).collect()
    }

    async fn overwrite(&self, key: &str, body: Vec<u8>) {
        let put = self.cloud.s3().put_object().bucket(self.cloud.bucket()).key(key).body(body.into());
        put.send().await.unwrap();
    }

    async fn body(&self, key: &str) -> Vec<u8> {
        let get = self.cloud.s3().get_object().bucket(self.cloud.bucket()).key(key);
        get.send().await.unwrap().body.collect().await.unwrap().to_vec()
    }

    fn last_text(&self) -> String {
        self.cloud.model().unwrap().texts().pop().unwrap()
    }
}

#[tokio::test]
async fn turn_60_reads_no_more_objects_than_turn_2() {
    let system = System::metered().await;
    let ada = replayed(&system).await;
    let mut done = 1;
    talk(&system, &ada, 1, done).await;
    for (number, most) in [(2, 2), (3, 1), (20, 1), (60, 1)] {
        talk(&system, &ada, done + 1, number - 1).await;
        take_reads(&system);
        let turn = in_context(&format!("Turn {number} [[script: say \"Yes {number}.\"]]"));
        ada.execute(&turn).await.result();
        let reads = take_reads(&system);
        println!("turn {number}: {reads} objects");
        assert!((1..=most).contains(&reads), "turn {number}: {reads} objects");
        assert_eq!(history(&system.last_call()).len(), 2 * (number - 1), "turn {number}");
        until_finalized(&system, &turn).await;
        done = number;
    }
}

#[tokio::test]
async fn reruns_and_forks_share_the_snapshots_of_their_ancestors() {
    let system = System::metered().await;
    let ada = replayed(&system).await;
    let tenth = talk(&system, &ada, 1, 10).await;
    take_reads(&system);
    rerun(&system, &ada, &tenth).await;
    // The request of the turn to run again is one of them.
    assert!(take_reads(&system) <= 3);
    assert_eq!(history(&system.last_call()).len(), 18);

    let body = json!({"SessionId": id(), "TurnId": tenth["TurnId"]});
    fork(&ada, &tenth, &body).await.result();
    let session = body["SessionId"].as_str().unwrap();
    for (number, most) in [(1, 1), (2, 3), (3, 2), (4, 2)] {
        take_reads(&system);
        let own = turn_in(session, &format!("Own {number}"));
        ada.execute(&own).await.result();
        let reads = take_reads(&system);
        assert!(reads <= most, "turn {number} of the fork: {reads} objects");
        assert_eq!(history(&system.last_call()).len(), 20 + 2 * (number - 1));
        until_finalized(&system, &own).await;
    }
    // The source may be purged before its fork.
    for key in system.snapshots().await.iter().filter(|key| key.contains(session)) {
        let stored = String::from_utf8(system.body(key).await).unwrap();
        assert!(stored.contains("Own") && !stored.contains("Yes"), "{stored}");
    }
    let purged = format!("{}?purge=true", session_path(&tenth));
    ada.send(Method::DELETE, &purged, None).await.result();
    let is_gone = async || !system.objects().await.iter().any(|key| key.starts_with("acme/s/"));
    while !is_gone().await {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    ada.execute(&turn_in(session, "Own 5")).await.result();
    assert!(!system.last_text().contains("Yes 1."), "{}", system.last_text());
    assert!(system.last_text().contains("Own 4"));
}

#[tokio::test]
async fn unusable_snapshot_changes_no_byte_of_the_request() {
    let system = System::start().await;
    let ada = replayed(&system).await;
    let list = "call agent_list_modes {}; then; ";
    let modes =
        "call agent_change_mode {\"mode\":\"ddr_authoring\",\"branch\":false,\"reason\":\"r\"}; then; ";
    let mut last = Value::Null;
    for number in 1..=8 {
        let tools = match number % 3 {
            0 => format!("think \"Look.\"; {list}"),
            1 => "call workspace_read_file {\"path\":\"a.rs\"}; then; ".to_owned(),
            _ if number == 5 => modes.to_owned(),
            _ => String::new(),
        };
        last = in_context(&format!("Turn {number} [[script: {tools}say \"Yes {number}.\"]]"));
        if number % 2 == 0 {
            last["InputArtifacts"] = json!([{
                "RelativePath": format!("src/{number}.rs"), "FileName": format!("{number}.rs"),
                "Contents": "fn main() {}\n", "Origin": "ide",
            }]);
            last["ClipboardImages"] =
                json!([{"Id": "shot", "MimeType": "image/png", "DataBase64": "iVBORw0KGgpyZXN0"}]);
        }
        if number % 4 == 2 {
            last["SolutionContextText"] = json!(format!("A workspace, seen in turn {number}."));
        }
        let answer = ada.execute(&last).await.result();
        if answer["Kind"] == "client_tool_continuation" {
            submit(&ada, &results(&answer, &"r".repeat(3_000))).await.result();
        }
    }
    until_finalized(&system, &last).await;
    let request = system.last_text();
    let snapshots = system.snapshots().await;
    assert_eq!(snapshots.len(), 7, "one for every turn but the first: {snapshots:?}");
    rerun(&system, &ada, &last).await;
    assert_eq!(system.last_text(), request);

    let (own, other) = (system.body(&snapshots[0]).await, system.body(&snapshots[1]).await);
    let newer = String::from_utf8(own.clone()).unwrap().replace("\"SchemaVersion\":1", "\"SchemaVersion\":2");
    let half = own[..own.len() / 2].to_vec();
    for unusable in [half, other, newer.into_bytes(), b"[]".to_vec(), Vec::new()] {
        for key in &snapshots {
            system.overwrite(key, unusable.clone()).await;
        }
        rerun(&system, &ada, &last).await;
        assert_eq!(system.last_text(), request);
    }
    for key in system.snapshots().await {
        system.cloud.s3().delete_object().bucket(system.cloud.bucket()).key(key).send().await.unwrap();
    }
    rerun(&system, &ada, &last).await;
    assert_eq!(system.last_text(), request);
    assert_eq!(system.snapshots().await.len(), 1, "and the turn left one again");
}

#[tokio::test]
async fn snapshot_is_not_exported_nor_written_if_the_provider_remembers() {
    let system = System::start().await;
    let ada = replayed(&system).await;
    let last = talk(&system, &ada, 1, 3).await;
    assert_eq!(system.snapshots().await.len(), 2);
    let document = text(&operator(&system, "acme"), &last).await;
    assert!(document.contains("result.json") && !document.contains("history.json"), "{document}");
    let chained = turn_in("chained", "First");
    for instruction in ["First", "Second", "Third"] {
        let mut next = chained.clone();
        (next["TurnId"], next["Instruction"]) = (json!(id()), json!(instruction));
        ada.execute(&next).await.result();
    }
    assert_eq!(system.snapshots().await.len(), 2);
}
