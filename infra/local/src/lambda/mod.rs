//! The Lambda service: function processes, the Runtime API that they poll, and invocations.
//!
//! As on AWS, one process serves one invocation at a time. A pool per function starts processes on demand up to a
//! cap, prefers idle ones, and stops those that stay idle.

mod function;
mod instance;
mod invocation;
mod logs;
mod pool;
mod process;
mod recording;
mod runtime_api;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

pub use function::Function;
pub(crate) use invocation::{InvokeError, Part, Reply};
pub(crate) use process::{Launcher, RUNTIME_API_VARIABLE};
pub(crate) use recording::Recording;
pub(crate) use runtime_api::router;

use crate::options::Logs;
use instance::Instance;
use logs::LogFile;
use pool::Pool;

/// Time between checks for idle processes.
const REAP_INTERVAL: Duration = Duration::from_secs(30);
/// Time between checks of a shutdown for remaining processes.
const SHUTDOWN_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Every function of the cloud.
pub(crate) struct Lambda {
    pools: BTreeMap<Function, Arc<Pool>>,
    recording: Option<Recording>,
}

impl Lambda {
    /// Creates the service. No process is started before it is needed. Logs are written to `logs`, one file per
    /// function.
    pub(crate) fn new(
        launcher: &Arc<Launcher>,
        cap: usize,
        logs: &Path,
        echo: Logs,
        recording: Option<Recording>,
    ) -> std::io::Result<Self> {
        let mut pools = BTreeMap::new();
        for function in Function::ALL {
            let log = LogFile::create(log_path(logs, function), function, echo)?;
            let pool = Pool::new(function, cap, Arc::clone(launcher), Arc::new(log));
            pools.insert(function, Arc::new(pool));
        }
        Ok(Self { pools, recording })
    }

    /// Invokes a function. The invocation continues if the returned future or reply is dropped.
    pub(crate) async fn invoke(&self, function: Function, event: Bytes) -> Result<Reply, InvokeError> {
        if let Some(recording) = &self.recording {
            recording.record(function, &event);
        }
        match self.pools.get(&function) {
            Some(pool) => pool.invoke(event).await,
            None => Err(InvokeError::Closed),
        }
    }

    /// Returns the number of processes of a function.
    pub(crate) fn processes(&self, function: Function) -> usize {
        self.pools.get(&function).map_or(0, |pool| pool.processes())
    }

    /// Kills every process of a function at once, as a crash would.
    pub(crate) fn crash(&self, function: Function) {
        if let Some(pool) = self.pools.get(&function) {
            pool.kill_all();
        }
    }

    /// Stops processes that stay idle, until dropped.
    pub(crate) async fn reap(self: Arc<Self>) {
        loop {
            tokio::time::sleep(REAP_INTERVAL).await;
            for pool in self.pools.values() {
                pool.reap();
            }
        }
    }

    /// Refuses new invocations and requests every process to stop.
    pub(crate) fn close(&self) {
        for pool in self.pools.values() {
            pool.close();
        }
    }

    /// Waits at most `timeout` for running invocations, then stops every process and waits until it has exited.
    pub(crate) async fn shutdown(&self, timeout: Duration) {
        for pool in self.pools.values() {
            pool.stop_accepting();
        }
        let idle = async {
            while self.pools.values().any(|pool| pool.is_busy()) {
                tokio::time::sleep(SHUTDOWN_POLL_INTERVAL).await;
            }
        };
        let _ = tokio::time::timeout(timeout, idle).await;
        self.close();
        let gone = async {
            while self.pools.values().any(|pool| pool.processes() > 0) {
                tokio::time::sleep(SHUTDOWN_POLL_INTERVAL).await;
            }
        };
        let _ = tokio::time::timeout(process::STOP_GRACE * 2, gone).await;
    }

    fn instance(&self, function: &str, id: &str) -> Option<Arc<Instance>> {
        let function = Function::ALL.into_iter().find(|candidate| candidate.name() == function)?;
        self.pools.get(&function)?.instance(id)
    }
}

/// Returns the path of a function's log.
pub(crate) fn log_path(logs: &Path, function: Function) -> PathBuf {
    logs.join(format!("{}.log", function.name()))
}
