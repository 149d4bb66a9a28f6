//! Clients of others, unmodified. Skipped where they are not installed: `scripts/ag-ui-clients` installs them and runs this.

use std::path::PathBuf;

use tokio::process::Command;

use super::{BASE, turn_counts};
use crate::support::System;

#[tokio::test]
async fn ag_ui_clients_work_unmodified() {
    let Some(folder) = std::env::var_os("AG_UI_CLIENTS").map(PathBuf::from) else {
        println!("skipped: AG_UI_CLIENTS is not set; run scripts/ag-ui-clients");
        return;
    };
    let clients = std::env::var("AG_UI_CLIENTS_RUN").unwrap_or_default();
    let scripts = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/behaviour/clients"));
    for client in clients.split(',') {
        let (packages, script) = match client {
            "http-agent" => ("http-agent", "http-agent.mjs"),
            "http-agent-0.0.59" => ("http-agent-0.0.59", "http-agent.mjs"),
            "copilotkit-page" => ("copilotkit", "copilotkit-page.mjs"),
            other => panic!("unknown client {other:?}"),
        };
        // A module finds its packages beside it.
        let beside = folder.join(packages).join(script);
        std::fs::copy(scripts.join(script), &beside).unwrap();
        let system = System::start().await;
        let ada = system.client("acme", "ada");
        let (base, headers) = ada.request_parts(BASE);
        let mut command = Command::new("node");
        command.arg(beside).env("AG_UI_CLIENT", client).env("AG_UI_CLIENTS", &folder);
        command.env("AG_UI_URL", base).env("AG_UI_AUTHORIZATION", &headers[0].1);
        let status = command.status().await.unwrap();
        assert!(status.success(), "{client}");
        println!(
            "{client}: sessions of {:?} turns, {} model calls",
            turn_counts(&ada).await,
            system.model_calls().len()
        );
    }
}
