//! `aptix admin verify`: every fault of a table and its bucket is named.

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;

use crate::export::full;
use crate::fork::fork;
use crate::provider_start::aptix;
use crate::session_edits::session_of;
use crate::support::{System, id, turn};

impl System {
    async fn verify(&self) -> (Option<i32>, Vec<String>, String) {
        let folder = self.cloud.data_folder().to_str().unwrap();
        let output = aptix(&["admin", "verify", "--data", folder], &[]).output().await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().map(str::to_owned).collect();
        (output.status.code(), lines, String::from_utf8(output.stderr).unwrap())
    }

    /// Verifies, and returns the only fault.
    async fn fault(&self) -> String {
        let (status, lines, errors) = self.verify().await;
        assert_eq!((status, lines.len()), (Some(1), 2), "{lines:#?} {errors}");
        assert_eq!(errors, "error: faults found: 1\n");
        lines[0].clone()
    }

    /// Replaces an object, or deletes it. Returns what it was.
    async fn replace(&self, key: &str, body: Option<Vec<u8>>) -> Vec<u8> {
        let (s3, bucket) = (self.cloud.s3(), self.cloud.bucket());
        let found = s3.get_object().bucket(bucket).key(key).send().await.unwrap();
        let before = found.body.collect().await.unwrap().into_bytes().to_vec();
        match body {
            Some(body) => {
                s3.put_object().bucket(bucket).key(key).body(body.into()).send().await.unwrap();
            }
            None => {
                s3.delete_object().bucket(bucket).key(key).send().await.unwrap();
            }
        }
        before
    }

    async fn restore_object(&self, key: &str, body: Vec<u8>) {
        let put = self.cloud.s3().put_object().bucket(self.cloud.bucket()).key(key).body(body.into());
        put.send().await.unwrap();
    }
}

#[tokio::test]
async fn sound_backup_verifies_and_each_damaged_object_is_named() {
    let system = System::start().await;
    let turns = full(&system, "acme").await;
    let ada = system.client("acme", "ada");
    let forked = json!({"SessionId": id(), "TurnId": turns[0]["TurnId"]});
    fork(&ada, &turns[0], &forked).await.result();
    let (status, lines, errors) = system.verify().await;
    assert_eq!(status, Some(0), "{lines:#?} {errors}");
    assert!(
        lines[0].starts_with("Verified 2 sessions with 5 turns, and ")
            && lines[0].ends_with("Purged sessions: 0. No faults."),
        "{lines:?}"
    );

    let of_turn = |number: usize| format!("/{}/", turns[number]["TurnId"].as_str().unwrap());
    let completed = system.object(|key| key.contains(&of_turn(1)) && key.ends_with("/result.json")).await;
    let file = system.object(|key| key.contains("/files/") && key.ends_with("b.bin")).await;
    let results = system.object(|key| key.contains(&of_turn(2)) && key.ends_with("/tool-results.json")).await;
    let request = system.object(|key| key.contains(&of_turn(3)) && key.ends_with("/instruction.json")).await;
    for (key, body, problem) in [
        (&completed, None, "is missing"),
        (&completed, Some("{}"), "can't be read"),
        (&file, None, "is missing"),
        (&file, Some("other"), "has another hash than its key"),
        (&results, Some("{}"), "has another hash than its turn says"),
        (&request, None, "is missing"),
        (&request, Some("{}"), "can't be read"),
    ] {
        let before = system.replace(key, body.map(Into::into)).await;
        assert_eq!(system.fault().await, format!("{key}: {problem}"));
        system.restore_object(key, before).await;
    }
    assert_eq!(system.verify().await.0, Some(0));
}

#[tokio::test]
async fn missing_items_are_named() {
    let system = System::start().await;
    let turns = full(&system, "acme").await;
    let session = session_of(&turns[0]);
    let delete = async |sk: String| {
        let key = |name: &str, value: &str| (name.to_owned(), AttributeValue::S(value.to_owned()));
        let (pk, sk) = (key("PK", &format!("O#acme#S#{session}")), key("SK", &sk));
        let (dynamodb, table) = (system.cloud.dynamodb(), system.cloud.table());
        let deleted = dynamodb
            .delete_item()
            .table_name(table)
            .set_key(Some([pk, sk].into()))
            .return_values(aws_sdk_dynamodb::types::ReturnValue::AllOld);
        deleted.send().await.unwrap().attributes.expect("an item")
    };
    let put = async |item| {
        let (dynamodb, table) = (system.cloud.dynamodb(), system.cloud.table());
        dynamodb.put_item().table_name(table).set_item(Some(item)).send().await.unwrap();
    };
    let id = turns[1]["TurnId"].as_str().unwrap();
    let result = delete(format!("TURN#{id}#RESULT")).await;
    assert_eq!(system.fault().await, format!("acme/{session} TURN#{id}: has no result"));
    put(result).await;
    let head = delete(format!("TURN#{id}")).await;
    assert_eq!(system.fault().await, format!("acme/{session}: no complete turn has the sequence number 2"));
    put(head).await;

    let alone = turn("alone");
    system.client("acme", "ada").execute(&alone).await.result();
    system.until_finalized(session_of(&alone), 1).await;
    let (status, lines, errors) = system.verify().await;
    assert_eq!(status, Some(0), "{lines:#?} {errors}");
}

#[tokio::test]
async fn verify_needs_a_bucket_with_a_table() {
    let output = aptix(&["admin", "verify", "--table", "t"], &[]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "error: --table needs --bucket.\n");
}
