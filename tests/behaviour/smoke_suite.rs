//! `aptix smoke`: the suite that anyone can run against a deployment, against the local cloud.

use local::token::Identity;
use tokio::process::Command;

use crate::support::System;

/// Runs the suite. Returns true if it passed, and its report.
async fn smoke(system: &System, token: &str) -> (bool, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_aptix"))
        .args(["smoke", "--api-url", system.cloud.url(), "--token", token])
        .output()
        .await
        .unwrap();
    (ran.status.success(), String::from_utf8(ran.stdout).unwrap())
}

#[tokio::test]
async fn smoke_suite_passes_and_reports_its_checks() {
    let system = System::start().await;
    let token = system.cloud.token(&Identity::user("acme", "ada")).unwrap();
    let (is_passed, report) = smoke(&system, &token).await;
    assert!(is_passed, "{report}");
    assert_eq!(report.lines().filter(|line| line.starts_with("ok ")).count(), 11, "{report}");
    assert!(report.contains("ok      models of the OpenAI-compatible API: "), "{report}");
}

#[tokio::test]
async fn smoke_suite_fails_on_wrong_answers() {
    let system = System::start().await;
    let (is_passed, report) = smoke(&system, "none").await;
    assert!(!is_passed, "{report}");
    assert!(report.contains("FAILED  turn and replay: expected 200, got 401"), "{report}");
}
