//! `aptix smoke`: the suite that anyone can run against a deployment, against the local cloud.

use bench::smoke::{DEFAULT_INSTRUCTION, Deployment, run};
use local::token::Identity;

use crate::support::System;

#[tokio::test]
async fn smoke_suite_passes_and_reports_its_checks() {
    let system = System::start().await;
    let deployment = Deployment {
        api_url: system.cloud.url().to_owned(),
        token: system.cloud.token(&Identity::user("acme", "ada")).unwrap(),
        instruction: DEFAULT_INSTRUCTION.to_owned(),
    };
    let report = run(&deployment).await;
    assert!(report.passed(), "{report}");
    assert_eq!(report.to_string().lines().filter(|line| line.starts_with("ok ")).count(), 10, "{report}");
}

#[tokio::test]
async fn smoke_suite_fails_on_wrong_answers() {
    let system = System::start().await;
    let deployment = Deployment {
        api_url: system.cloud.url().to_owned(),
        token: "none".to_owned(),
        instruction: DEFAULT_INSTRUCTION.to_owned(),
    };
    let report = run(&deployment).await;
    assert!(!report.passed(), "{report}");
    assert!(report.to_string().contains("FAILED  turn and replay: expected 200, got 401"), "{report}");
}
