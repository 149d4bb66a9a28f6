//! The service: a pool of processes for each function.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::init_check::InitError;
use super::instance::Instance;
use super::invocation::{InvokeError, Reply};
use super::logs::{LogFile, log_path};
use super::pool::Pool;
use super::process::{self, Launcher};
use super::recording::Recording;
use crate::function::Function;
use crate::options::Logs;

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

    /// Starts a process of each of these functions, and waits until their inits have ended. The error has the reasons of all.
    pub(crate) async fn check_inits(&self, functions: &[Function]) -> Result<(), InitError> {
        let pools = functions.iter().filter_map(|function| self.pools.get(function));
        let inits = futures::future::join_all(pools.map(Pool::check_init)).await;
        match inits.into_iter().filter_map(Result::err).reduce(InitError::merge) {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }

    /// Returns the number of processes of a function.
    pub(crate) fn processes(&self, function: Function) -> usize {
        self.pools.get(&function).map_or(0, |pool| pool.processes())
    }

    /// Returns the time at which a process of a function last received an invocation.
    pub(crate) fn last_delivery(&self, function: Function) -> Option<Instant> {
        self.pools.get(&function)?.last_delivery()
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

    /// Waits until an invocation of a function waits for a process.
    pub(super) async fn starved(&self, function: Function) {
        match self.pools.get(&function) {
            Some(pool) => pool.starved().await,
            None => std::future::pending().await,
        }
    }

    pub(super) fn instance(&self, function: &str, id: &str) -> Option<Arc<Instance>> {
        let function = Function::ALL.into_iter().find(|candidate| candidate.name() == function)?;
        self.pools.get(&function)?.instance(id)
    }
}
