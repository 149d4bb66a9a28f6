//! A local cloud whose functions are those of one program, and its client.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::cloud::Cloud;
use crate::options::Options;
use crate::token::Identity;

use super::Failure;
use super::client::Client;
use super::used::{self, Used};

/// Tells the processes of one system from all others.
const MARK: &str = "APTIX_BENCH";

pub(super) struct System {
    pub(super) cloud: Cloud,
    pub(super) client: Client,
    mark: String,
}

impl System {
    /// Starts a cloud with the functions of this program.
    pub(super) async fn start(program: &Path, number: usize) -> Result<Self, Failure> {
        Self::with(program, number, BTreeMap::new()).await
    }

    /// The same, with more in the functions' environment.
    pub(super) async fn with(
        program: &Path,
        number: usize,
        mut environment: BTreeMap<String, String>,
    ) -> Result<Self, Failure> {
        let value = format!("{}-{number}", std::process::id());
        let mark = format!("{MARK}={value}");
        environment.insert(MARK.to_owned(), value);
        let options = Options {
            executable: Some(program.to_owned()),
            // Twice as many as turns are asked for at once: a process is free a moment after its answer was read.
            concurrency: 32,
            sweep: None,
            environment,
            ..Options::default()
        };
        let cloud = Cloud::start(options).await?;
        let client = Client::new(&cloud, "bench")?;
        Ok(Self { cloud, client, mark })
    }

    /// A client of another org.
    pub(super) fn client_of(&self, org: &str) -> Result<Client, Failure> {
        Client::new(&self.cloud, org)
    }

    /// What the functions have used so far, by name.
    pub(super) fn used(&self) -> BTreeMap<String, Used> {
        used::used(&self.mark)
    }

    /// The CPU time that all functions have used so far.
    pub(super) fn cpu(&self) -> Duration {
        self.used().values().map(|used| used.cpu).sum()
    }

    /// Forgets what the model was asked: requests are kept by it.
    pub(super) fn forget(&self) {
        if let Some(model) = self.cloud.model() {
            model.clear();
        }
    }

    pub(super) async fn shutdown(self) {
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
