//! Starting, watching and ending one function process.
//!
//! The process is this executable again, told which function to be. It gets a clean environment and
//! a pipe as its standard input: when the pipe closes, also because this process was killed, it ends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, Command};

use crate::environment::QDRANT_URL;
use crate::services::qdrant::Embedded;

use super::instance::{Instance, Wanted};
use super::logs::LogFile;

/// How long a process that was asked to end may take.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(1);
/// What a function is said to have; nothing enforces it here.
const MEMORY_MB: &str = "512";
/// What tells a function process where its Runtime API is.
pub(crate) const RUNTIME_API_VARIABLE: &str = "AWS_LAMBDA_RUNTIME_API";
/// What a process may keep from the developer's environment. No AWS profile, no proxy, no key.
const INHERITED: [&str; 6] = ["PATH", "HOME", "TMPDIR", "TZ", "SystemRoot", "RUST_BACKTRACE"];

/// What every process is started with.
#[derive(Debug)]
pub(crate) struct Launcher {
    /// The executable that can be every function.
    pub(crate) executable: PathBuf,
    /// Where the Runtime API is.
    pub(crate) runtime_api: String,
    /// How long an invocation of an API function may take, when that is not what is deployed.
    pub(crate) timeout: Option<Duration>,
    /// What every function is configured with.
    pub(crate) environment: BTreeMap<String, String>,
    /// The embedded vector database.
    pub(crate) vectors: Option<Arc<Embedded>>,
}

/// A started process.
pub(crate) struct Process {
    child: Child,
    log: Arc<LogFile>,
}

impl Launcher {
    /// Whether a process that is started now can search: one that was started before there was anything to search is
    /// not used any more.
    pub(crate) fn searches(&self) -> bool {
        self.vectors.as_ref().is_some_and(|vectors| vectors.is_used())
    }

    /// Starts the process of an instance.
    pub(crate) fn spawn(&self, instance: &Instance, log: &Arc<LogFile>) -> std::io::Result<Process> {
        let name = instance.function.name();
        let mut command = Command::new(&self.executable);
        command
            .args(["function", name])
            .env_clear()
            .envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("AWS_ACCESS_KEY_ID", instance.function.access_key())
            .envs(
                self.vectors.iter().filter(|_| instance.searches).map(|vectors| (QDRANT_URL, vectors.url())),
            )
            .envs(&self.environment)
            // One Runtime API serves every process; the path tells them apart.
            .env(RUNTIME_API_VARIABLE, format!("{}/{name}/{}", self.runtime_api, instance.id))
            .env("AWS_LAMBDA_FUNCTION_NAME", name)
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", MEMORY_MB)
            .env("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")
            .env("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{name}"))
            .env("AWS_LAMBDA_LOG_STREAM_NAME", &instance.id)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // Ctrl-C in a terminal goes to the whole process group: the children are ended in order instead.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(Arc::clone(log).copy(stdout));
        }
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(Arc::clone(log).copy(stderr));
        }
        let log = Arc::clone(log);
        Ok(Process { child, log })
    }
}

impl Process {
    /// Watches the process until it is gone, ending it when that is wanted.
    pub(crate) async fn supervise(mut self, instance: &Instance) {
        // Kept, not used: the process ends when this closes.
        let stdin = self.child.stdin.take();
        tokio::select! {
            status = self.child.wait() => {
                let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                self.log.note(&format!("process {} ended by itself: {status}", instance.id));
            }
            () = instance.wanted(Wanted::Stopped) => {
                drop(stdin);
                tokio::select! {
                    _ = self.child.wait() => {}
                    () = instance.wanted(Wanted::Killed) => {}
                    () = tokio::time::sleep(STOP_GRACE) => {}
                }
                // Does nothing when it is gone already.
                let _ = self.child.kill().await;
            }
        }
        instance.mark_exited();
    }
}
