//! Starts, supervises and stops one function process.
//!
//! The process is this same executable with the function's name as an argument. It gets a clean environment, and a
//! pipe as its standard input. It exits when the pipe closes, which also happens if this process is killed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, Command};

use crate::environment::QDRANT_URL;
use crate::function::Function;
use crate::programs::{DOCUMENT_TEXT, Locations, Program};
use crate::services::qdrant::EmbeddedQdrant;

use super::instance::{DesiredState, Instance};
use super::logs::LogFile;

/// Time that a process gets to exit before it is killed.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(1);
/// Memory size reported to a function; not enforced here.
const MEMORY_MB: usize = 512;
/// Smallest memory size of a function on Managed Instances.
const SHARED_MEMORY_MB: usize = 2_048;
/// Largest memory size of a function.
const MAX_MEMORY_MB: usize = 32_768;
/// Memory per concurrent invocation.
const SLOT_MEMORY_MB: usize = 32;
/// Variable with the memory size.
const MEMORY_VARIABLE: &str = settings::AWS_LAMBDA_FUNCTION_MEMORY_SIZE.name;
/// Variable with the program that extracts the text of documents.
const DOCUMENT_TEXT_VARIABLE: &str = settings::DOCUMENT_TEXT_PROGRAM.name;
/// Variable with the number of concurrent invocations.
const CONCURRENCY_VARIABLE: &str = settings::AWS_LAMBDA_MAX_CONCURRENCY.name;
/// Variable with the address of the Runtime API.
pub(crate) const RUNTIME_API_VARIABLE: &str = "AWS_LAMBDA_RUNTIME_API";
/// Variables that a process inherits from the developer's environment. No AWS profile, proxy or key is among them.
const INHERITED: [&str; 6] = ["PATH", "HOME", "TMPDIR", "TZ", "SystemRoot", "RUST_BACKTRACE"];

/// Configuration of every process.
#[derive(Debug)]
pub(crate) struct Launcher {
    /// Executable that can run as any function.
    pub(crate) executable: PathBuf,
    /// URL of the Runtime API.
    pub(crate) runtime_api: String,
    /// Invocations that a process of an API function serves at a time, at least one.
    pub(crate) concurrency_per_process: usize,
    /// Timeout of an API function's invocations, if it differs from the deployed one.
    pub(crate) timeout: Option<Duration>,
    /// Environment variables of every function.
    pub(crate) environment: BTreeMap<String, String>,
    /// The embedded vector database.
    pub(crate) vectors: Option<Arc<EmbeddedQdrant>>,
}

/// A started process.
pub(crate) struct Process {
    child: Child,
    log: Arc<LogFile>,
}

impl Launcher {
    /// Returns true if a process that starts now can search. Processes started before the first collection existed
    /// can't, and are not reused afterwards.
    pub(crate) fn can_search(&self) -> bool {
        self.vectors.as_ref().is_some_and(|vectors| vectors.has_collections())
    }

    /// Returns the number of invocations that a process of a function serves at a time. Messages and authorizations are
    /// never served concurrently.
    pub(crate) fn slots(&self, function: Function) -> usize {
        match function {
            Function::Execute | Function::ToolContinuation | Function::SessionRead => {
                self.concurrency_per_process.max(1)
            }
            Function::TurnFinalizer | Function::KnowledgeIndexer | Function::Authorizer => 1,
        }
    }

    /// Returns the program that extracts the text of documents, for the function that indexes them.
    fn document_text(&self, function: Function) -> Option<PathBuf> {
        let is_indexer = function == Function::KnowledgeIndexer;
        let program = is_indexer.then(|| Locations::of(&DOCUMENT_TEXT, &self.executable).find().ok());
        program.flatten().and_then(Program::file)
    }

    /// Makes the vector database and the program that extracts the text of documents ready for the function that indexes
    /// documents. In a checkout, both are built first if necessary. Without them, the function says what it lacks.
    pub(crate) async fn prepare_indexer(&self) {
        if let Some(vectors) = &self.vectors {
            let _ = vectors.ensure_ready().await;
        }
        if let Ok(program) = Locations::of(&DOCUMENT_TEXT, &self.executable).find() {
            let _ = program.build().await;
        }
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
                self.vectors
                    .iter()
                    .filter(|_| instance.can_search || instance.function == Function::KnowledgeIndexer)
                    .map(|vectors| (QDRANT_URL, vectors.url())),
            )
            .envs(self.document_text(instance.function).map(|file| (DOCUMENT_TEXT_VARIABLE, file)))
            .envs(&self.environment)
            // One Runtime API serves every process; the path identifies the process.
            .env(RUNTIME_API_VARIABLE, format!("{}/{name}/{}", self.runtime_api, instance.id))
            .env("AWS_LAMBDA_FUNCTION_NAME", name)
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env(MEMORY_VARIABLE, memory_mb(instance.slots).to_string())
            .env("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")
            .env("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{name}"))
            .env("AWS_LAMBDA_LOG_STREAM_NAME", &instance.id)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // As on AWS, where only Managed Instances set it.
        match instance.slots {
            1 => command.env_remove(CONCURRENCY_VARIABLE),
            slots => command.env(CONCURRENCY_VARIABLE, slots.to_string()),
        };
        // Ctrl-C in a terminal reaches the whole process group. A group of its own lets the cloud stop the children
        // in order.
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

/// Returns the memory size of a process that serves so many invocations at a time.
fn memory_mb(slots: usize) -> usize {
    match slots {
        1 => MEMORY_MB,
        slots => slots.saturating_mul(SLOT_MEMORY_MB).clamp(SHARED_MEMORY_MB, MAX_MEMORY_MB),
    }
}

impl Process {
    /// Supervises the process until it has exited, and stops it on request.
    pub(crate) async fn supervise(mut self, instance: &Instance) {
        // Held open but unused: the process exits when this closes.
        let stdin = self.child.stdin.take();
        tokio::select! {
            status = self.child.wait() => {
                let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                self.log.note(&format!("process {} exited: {status}", instance.id));
            }
            () = instance.reached_desired(DesiredState::Stopped) => {
                drop(stdin);
                tokio::select! {
                    _ = self.child.wait() => {}
                    () = instance.reached_desired(DesiredState::Killed) => {}
                    () = tokio::time::sleep(STOP_GRACE) => {}
                }
                // No effect if the process has already exited.
                let _ = self.child.kill().await;
            }
        }
        instance.mark_exited();
    }
}
