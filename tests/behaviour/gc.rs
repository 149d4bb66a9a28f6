//! `local gc`: what no item refers to goes, what is needed stays.

use std::process::Output;

use tokio::process::Command;

use crate::{
    client_tools::{results, submit},
    support::{System, turn_path, workspace_turn},
};

impl System {
    async fn gc(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aptix"));
        command.arg("gc").arg("--data").arg(self.cloud.data_folder()).args(arguments);
        let Output { status, stdout, stderr } = command.output().await.expect("it runs");
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    async fn store(&self, key: &str) {
        let body = b"left behind".to_vec().into();
        let put = self.cloud.s3().put_object().bucket(self.cloud.bucket()).key(key).body(body);
        put.send().await.expect("it is stored");
    }
}

#[tokio::test]
async fn gc_lists_and_removes_only_unreferenced_objects() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let read = |path: &str| format!("call workspace_read_file {{\"path\":\"{path}\"}}; then; ");
    let done = workspace_turn(&format!("Read [[script: {}{}say \"Read.\"]]", read("1"), read("2")));
    let first = results(&ada.execute(&done).await.result(), "1");
    let second = results(&submit(&ada, &first).await.result(), "2");
    let answer = submit(&ada, &second).await;
    let waits = workspace_turn(&format!("Wait [[script: {}say \"Read.\"]]", read("1")));
    let continuation = ada.execute(&waits).await;
    let head = format!("TURN#{}", done["TurnId"].as_str().unwrap());
    system.until_attribute(&head, "Status", "completed").await;
    let before = system.objects().await;

    let fingerprint = "0".repeat(64);
    let orphans = [
        format!("acme/s/never-begun/{fingerprint}/a1/instruction.json"),
        format!("acme/s/never-begun/{fingerprint}/instruction.json"),
        "acme/s/never-begun/a2/result.json".to_owned(),
    ];
    for key in orphans.iter().map(String::as_str).chain(["somebody/elses.txt"]) {
        system.store(key).await;
    }
    let stored = system.objects().await;

    let young = system.gc(&["--remove"]).await;
    assert!(young.starts_with("0 of "), "nothing is a day old: {young}");
    let listed = system.gc(&["--older-than", "0"]).await;
    for key in &orphans {
        assert!(listed.contains(key.as_str()), "{key} in {listed}");
    }
    assert!(!listed.contains("elses.txt") && listed.contains("1 with an unrecognized key"), "{listed}");
    assert_eq!(system.objects().await, stored, "a list removes nothing");

    let removed = system.gc(&["--older-than", "0", "--remove"]).await;
    assert_eq!(removed.lines().count(), listed.lines().count());
    let left = system.objects().await;
    assert!(left.iter().all(|key| before.contains(key) || key == "somebody/elses.txt"), "{left:?}");
    assert!(system.gc(&["--older-than", "0"]).await.starts_with("0 of "));

    assert_eq!(ada.execute(&waits).await.text, continuation.text);
    for again in [&first, &second] {
        assert_eq!(submit(&ada, again).await.text, answer.text);
    }
    for payload in ["instruction", "answer"] {
        let link = ada.get(&format!("{}/payloads/{payload}", turn_path(&done))).await;
        let read = reqwest::get(link.header("location").unwrap()).await.unwrap();
        assert_eq!(read.status().as_u16(), 200, "{payload}");
    }
    let right = results(&continuation.result(), "1");
    assert_eq!(submit(&ada, &right).await.result()["PrimaryOutputText"], "Read.");
}
