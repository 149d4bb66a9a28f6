//! Contexts, put as an operator does: with the command line of the local cloud.

use std::process::Output;

use serde_json::Value;
use tokio::process::Command;

use super::System;

impl System {
    /// Runs `contexts put` and returns its output.
    pub async fn try_put_contexts(&self, org: &str, contexts: &Value) -> Output {
        let folder = self.cloud.data_folder();
        let file = folder.join("contexts.json");
        std::fs::write(&file, contexts.to_string()).expect("a file of contexts");
        let mut command = Command::new(env!("CARGO_BIN_EXE_aptix"));
        command.args(["contexts", "put", "--org", org, "--data"]).arg(folder).arg(file);
        command.output().await.expect("it runs")
    }

    /// Returns the output of `contexts` with these arguments.
    pub async fn contexts(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aptix"));
        command.arg("contexts").args(arguments).arg("--data").arg(self.cloud.data_folder());
        command.output().await.expect("it runs")
    }

    /// Puts valid contexts.
    pub async fn put_contexts(&self, org: &str, contexts: &Value) {
        let output = self.try_put_contexts(org, contexts).await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
