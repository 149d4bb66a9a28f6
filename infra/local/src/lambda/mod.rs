//! The Lambda service: function processes, the Runtime API they poll, and who may invoke them.
//!
//! One process serves one invocation at a time, as on AWS. A pool per function starts processes on
//! demand up to a cap, reuses idle ones first and ends those that stay idle.

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

/// How often idle processes are looked at.
const REAP_EVERY: Duration = Duration::from_secs(30);
/// How often a shutdown looks whether every process is gone.
const SHUTDOWN_POLL: Duration = Duration::from_millis(10);

/// Every function of the cloud.
pub(crate) struct Lambda {
    pools: BTreeMap<Function, Arc<Pool>>,
    recording: Option<Recording>,
}

impl Lambda {
    /// No process is started before it is needed. Logs go into `logs`, one file per function.
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

    /// Invokes a function. The invocation goes on when the returned future or reply is dropped.
    pub(crate) async fn invoke(&self, function: Function, event: Bytes) -> Result<Reply, InvokeError> {
        if let Some(recording) = &self.recording {
            recording.note(function, &event);
        }
        match self.pools.get(&function) {
            Some(pool) => pool.invoke(event).await,
            None => Err(InvokeError::Closed),
        }
    }

    /// How many processes a function has.
    pub(crate) fn processes(&self, function: Function) -> usize {
        self.pools.get(&function).map_or(0, |pool| pool.processes())
    }

    /// Kills every process of a function at once, as a crash would.
    pub(crate) fn crash(&self, function: Function) {
        if let Some(pool) = self.pools.get(&function) {
            pool.kill_all();
        }
    }

    /// Ends processes that stay idle; runs until dropped.
    pub(crate) async fn reap(self: Arc<Self>) {
        loop {
            tokio::time::sleep(REAP_EVERY).await;
            for pool in self.pools.values() {
                pool.reap();
            }
        }
    }

    /// Refuses new invocations and asks every process to end.
    pub(crate) fn close(&self) {
        for pool in self.pools.values() {
            pool.close();
        }
    }

    /// Waits at most `patience` for the invocations under way, then ends every process and waits
    /// until it is gone.
    pub(crate) async fn shutdown(&self, patience: Duration) {
        for pool in self.pools.values() {
            pool.refuse();
        }
        let idle = async {
            while self.pools.values().any(|pool| pool.busy()) {
                tokio::time::sleep(SHUTDOWN_POLL).await;
            }
        };
        let _ = tokio::time::timeout(patience, idle).await;
        self.close();
        let gone = async {
            while self.pools.values().any(|pool| pool.processes() > 0) {
                tokio::time::sleep(SHUTDOWN_POLL).await;
            }
        };
        let _ = tokio::time::timeout(process::STOP_GRACE * 2, gone).await;
    }

    fn instance(&self, function: &str, id: &str) -> Option<Arc<Instance>> {
        let function = Function::ALL.into_iter().find(|known| known.name() == function)?;
        self.pools.get(&function)?.instance(id)
    }
}

/// Where a function's log is.
pub(crate) fn log_path(logs: &Path, function: Function) -> PathBuf {
    logs.join(format!("{}.log", function.name()))
}
