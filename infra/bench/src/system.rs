//! The system under test: a local cloud with the functions of one program, and its client.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use local::call_proxy::{CallProxy, ProxyOptions};
use local::token::Identity;
use local::{Cloud, Options};

use crate::client::Client;
use crate::failure::Failure;
use crate::usage::{self, Process, Usage};

/// Variable that marks the processes of one system.
const MARKER_VARIABLE: &str = "APTIX_BENCH";

pub(crate) struct System {
    pub(crate) cloud: Cloud,
    pub(crate) client: Client,
    marker: String,
}

impl System {
    /// Starts a cloud with the functions of this program.
    pub(crate) async fn start(program: &Path, number: usize) -> Result<Self, Failure> {
        Self::with_environment(program, number, BTreeMap::new()).await
    }

    /// Starts such a cloud, with a proxy that records the calls of its functions.
    pub(crate) async fn start_recorded(program: &Path, number: usize) -> Result<(Self, CallProxy), Failure> {
        let proxy = CallProxy::start(ProxyOptions { is_metered: true, policy: None }).await?;
        let system = Self::with_environment(program, number, proxy.environment().clone()).await?;
        proxy.set_target(&system.cloud);
        Ok((system, proxy))
    }

    /// Starts such a cloud with additional variables for the functions.
    pub(crate) async fn with_environment(
        program: &Path,
        number: usize,
        environment: BTreeMap<String, String>,
    ) -> Result<Self, Failure> {
        // Twice the highest number of concurrent turns, since a process becomes idle slightly after its response was
        // read.
        let options = Options { concurrency: 32, environment, ..Options::default() };
        Self::with_options(program, number, options).await
    }

    /// Starts such a cloud with these options, without sweeps.
    pub(crate) async fn with_options(
        program: &Path,
        number: usize,
        mut options: Options,
    ) -> Result<Self, Failure> {
        let value = format!("{}-{number}", std::process::id());
        let marker = format!("{MARKER_VARIABLE}={value}");
        options.environment.insert(MARKER_VARIABLE.to_owned(), value);
        let options = Options { executable: Some(program.to_owned()), sweep: None, ..options };
        let cloud = Cloud::start(options).await?;
        let client = Client::new(&cloud, "bench")?;
        Ok(Self { cloud, client, marker })
    }

    /// Returns a client of another org.
    pub(crate) fn client_of(&self, org: &str) -> Result<Client, Failure> {
        Client::new(&self.cloud, org)
    }

    /// Returns the functions' resource usage so far, by name.
    pub(crate) fn usage(&self) -> BTreeMap<String, Usage> {
        usage::of_functions(&self.marker)
    }

    /// Returns the processes of the functions.
    pub(crate) fn processes(&self) -> Vec<Process> {
        usage::processes(&self.marker)
    }

    /// Returns the CPU time that all functions have used so far.
    pub(crate) fn cpu(&self) -> Duration {
        self.usage().values().map(|usage| usage.cpu).sum()
    }

    /// Clears the requests that the mock model has recorded, which would otherwise accumulate.
    pub(crate) fn clear_model_requests(&self) {
        if let Some(model) = self.cloud.model() {
            model.clear();
        }
    }

    pub(crate) async fn shutdown(self) {
        self.cloud.shutdown().await;
    }
}

impl Client {
    fn new(cloud: &Cloud, org: &str) -> Result<Self, Failure> {
        Ok(Self {
            http: reqwest::Client::builder().no_proxy().build()?,
            api: cloud.url().to_owned(),
            token: cloud.token(&Identity::user(org, "ada"))?,
            org: org.to_owned(),
            table: (cloud.dynamodb().clone(), cloud.table()),
            queue: (cloud.sqs().clone(), cloud.endpoints().finalize_queue.clone()),
        })
    }
}
