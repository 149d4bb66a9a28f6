//! `aptix crash-test`: a public test of the promise about effects. A tool server of its own counts refunds, turns ask for
//! them, and functions are killed meanwhile. What the server performed is compared with what the deployment says.

mod shop;
mod table;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use client::{Api, Error, Request, Retry, Token};
use contracts::id::{SessionId, TurnId};
use contracts::paths::{self, AGENTS, CONNECTIONS, EFFECTS};
use contracts::read::{ListResponse, TurnStep, UnknownEffect};
use futures::{StreamExt, TryStreamExt, stream};
use local::token::Identity;
use local::{Cloud, Function, Options};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::api_args::{ApiArgs, Target};
use crate::failure::{Failure, INTERRUPTED, InvalidOption};
use crate::folder_args::FolderArgs;
use crate::output::print;
use crate::serve;
use crate::shutdown_signals::ShutdownSignals;
use shop::Shop;
use table::{Refund, Table};

/// Id of the connection and of the agent that the test writes.
const NAME: &str = "crash-test";
/// Turns at a time.
const CLIENTS: usize = 8;
/// The lease of the test's own cloud. A killed turn continues that long after its last renewal.
const LEASE: Duration = Duration::from_secs(5);
/// Time between sweeps of the test's own cloud.
const SWEEP: Duration = Duration::from_secs(2);
/// Time until an ended turn shows, and its unknown outcomes are listed.
const FINALIZE_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest time without a kill.
const MAX_KILL_INTERVAL: Duration = Duration::from_secs(10);
/// The longest time from the arrival of a call to a kill. The tool server takes half a second.
const MAX_KILL_DELAY: Duration = Duration::from_millis(700);
/// The longest pause after a kill.
const MAX_PAUSE: Duration = Duration::from_secs(3);
/// Time until a turn is given up. It is counted as unfinished.
const TURN_TIMEOUT: Duration = Duration::from_secs(20 * 60);
/// Time between reads of a turn that has not ended.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The most calls on a page of the list of unknown outcomes.
const PAGE_SIZE: &str = "100";

#[derive(Debug, Args)]
pub(crate) struct CrashTest {
    #[command(flatten)]
    api: ApiArgs,
    #[command(flatten)]
    folder: FolderArgs,
    /// Number of turns, each with one refund
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    turns: u32,
    /// Address on which the tool server listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// URL under which a deployment reaches the tool server [default: its address]
    #[arg(long, value_name = "URL")]
    tool_url: Option<String>,
}

/// Runs the test and prints its table. The exit status is 1 if the promise is broken.
pub(crate) async fn run(arguments: CrashTest) -> Result<ExitCode, Failure> {
    let CrashTest { api, folder, turns, listen, tool_url } = arguments;
    let mut signals = ShutdownSignals::listen()?;
    let shop = Shop::new();
    let listener =
        TcpListener::bind(listen).await.map_err(|error| format!("can't listen on {listen}: {error}"))?;
    let url = tool_url.unwrap_or(format!("http://{}", listener.local_addr()?));
    let _server = shop.serve(listener);
    let identity = Identity { operator: true, ..Identity::user("acme", "crash-test") };
    let (api, cloud) = match api.resolve()? {
        Target::Deployment(access) => {
            (Api::new(&access.url, access.token.into_client()).map_err(InvalidOption::new)?, None)
        }
        Target::Local(target) if target.has_token_or_cloud() => {
            let (url, token) = target.or_find(&folder)?.access(identity)?;
            (Api::new(&url, token).map_err(InvalidOption::new)?, None)
        }
        Target::Local(_) => {
            let options = Options { lease: Some(LEASE), sweep: Some(SWEEP), ..Options::default() };
            let cloud = serve::start(options).await?;
            let token = Token::Static(cloud.token(&identity)?);
            (Api::new(cloud.url(), token).map_err(InvalidOption::new)?, Some(cloud))
        }
    };
    let test = Test { api: &api, shop: &shop, url: &url, cloud: cloud.as_ref() };
    let tested = tokio::select! {
        tested = test.run(turns) => Some(tested),
        () = signals.wait() => None,
    };
    if let Some(cloud) = cloud {
        cloud.shutdown().await;
    }
    let Some(table) = tested.transpose()? else { return Ok(ExitCode::from(INTERRUPTED)) };
    print(&table.to_string())?;
    Ok(if table.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns a random duration.
fn random_up_to(most: Duration) -> Duration {
    most.mul_f64(f64::from(Uuid::new_v4().as_bytes()[0]) / 255.0)
}

/// A test of a deployment.
struct Test<'a> {
    api: &'a Api,
    shop: &'a Shop,
    /// URL of the tool server, as the deployment reaches it.
    url: &'a str,
    /// The test's own cloud, whose functions it kills.
    cloud: Option<&'a Cloud>,
}

/// A turn of the test.
struct Turn {
    session: SessionId,
    turn: TurnId,
    order: String,
}

impl Test<'_> {
    async fn run(&self, turns: u32) -> Result<Table, Failure> {
        self.write_documents().await?;
        let (is_over, kills) = (AtomicBool::new(false), AtomicUsize::new(0));
        let work = async {
            let work = stream::iter(0..turns).map(|number| self.refund(number));
            let turns: Result<Vec<Turn>, Failure> = work.buffer_unordered(CLIENTS).try_collect().await;
            is_over.store(true, Ordering::Relaxed);
            turns
        };
        let (turns, ()) = futures::join!(work, self.kill(&is_over, &kills));
        let turns = turns?;
        let reads = stream::iter(&turns).map(|turn| self.read(turn));
        let mut asked: Vec<Refund> = reads.buffered(CLIENTS).try_collect().await?;
        let (kills, ended) = (kills.into_inner(), Instant::now());
        let table = loop {
            let unknown = self.unknown().await?;
            for (asked, turn) in asked.iter_mut().zip(&turns) {
                asked.is_unknown = unknown.contains(&turn.turn);
            }
            let table = Table::new(&asked, &self.shop.performed(), turns.len(), kills);
            // Ended turns are finalized a little later, and the list may be a few seconds old.
            if table.holds() || ended.elapsed() > FINALIZE_TIMEOUT {
                break table;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        };
        self.remove_documents().await;
        Ok(table)
    }

    /// Kills every process of the function that runs turns, at random moments. At most once per call, so that a slow machine
    /// gets some work done.
    async fn kill(&self, is_over: &AtomicBool, kills: &AtomicUsize) {
        let Some(cloud) = self.cloud else { return };
        while !is_over.load(Ordering::Relaxed) {
            let _ = tokio::time::timeout(MAX_KILL_INTERVAL, self.shop.next_call()).await;
            tokio::time::sleep(random_up_to(MAX_KILL_DELAY)).await;
            cloud.crash(Function::Execute);
            kills.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(random_up_to(MAX_PAUSE)).await;
        }
    }

    async fn write_documents(&self) -> Result<(), Failure> {
        let parameters = json!({
            "type": "object", "properties": { "order": { "type": "string" } }, "required": ["order"],
        });
        let tool = |name: &str, class: &str| {
            json!({
                "Name": name, "Description": "Refunds an order.", "Class": class, "Method": "POST",
                "Path": format!("/{name}"), "Parameters": parameters,
            })
        };
        let tools = [tool("refund", "effect"), tool("refund_keyed", "keyed")];
        let connection = json!({
            "Name": "Crash test", "Protocol": "http", "Url": self.url, "Agents": [NAME], "Tools": tools,
        });
        let agent = json!({ "Name": "Crash test", "Tools": [NAME] });
        for (path, document) in [(CONNECTIONS.context(NAME), connection), (AGENTS.context(NAME), agent)] {
            self.api.call(&Request::put(path, document.to_string())).await?;
        }
        Ok(())
    }

    /// Removes the documents. Its failure doesn't change what was found.
    async fn remove_documents(&self) {
        for path in [AGENTS.context(NAME), CONNECTIONS.context(NAME)] {
            let _ = self.api.call(&Request::delete(path)).await;
        }
    }

    /// Runs a turn that refunds one order, and sends the same request again until it is answered.
    async fn refund(&self, number: u32) -> Result<Turn, Failure> {
        let id = || Uuid::new_v4().simple().to_string();
        let (session, turn) = (SessionId::new(id())?, TurnId::new(id())?);
        let tool = if number % 4 == 3 { "refund_keyed" } else { "refund" };
        let order = format!("{}-{number}", &id()[..8]);
        let instruction = format!(
            "Refund the order {order} with the tool {tool}, exactly once. \
             [[script: call {NAME}__{tool} {}; then; say \"Done.\"]]",
            json!({ "order": order })
        );
        let request = Request::post(
            paths::EXECUTE,
            &json!({ "SessionId": session, "TurnId": turn, "AgentContextId": NAME, "Instruction": instruction }),
        );
        let started = Instant::now();
        loop {
            match self.api.call(&request).await {
                // A failed turn has refunded too, perhaps.
                Err(Error::Api(error)) if error.retry == Retry::SameRequest => {}
                Err(Error::Interrupted | Error::UnexpectedResponse(_)) => {}
                Ok(_) | Err(Error::Api(_)) => break,
                Err(error) => return Err(error.into()),
            }
            if started.elapsed() > TURN_TIMEOUT {
                break;
            }
        }
        Ok(Turn { session, turn, order })
    }

    /// Lists the turns that have a call with an unknown outcome.
    async fn unknown(&self) -> Result<Vec<TurnId>, Failure> {
        let (mut turns, mut token) = (Vec::new(), None::<String>);
        loop {
            let mut query = vec![("pageSize", PAGE_SIZE)];
            query.extend(token.as_deref().map(|token| ("continuationToken", token)));
            let page = self.api.call(&Request::get(EFFECTS).with_query(&query)).await?;
            let page: ListResponse<UnknownEffect> = serde_json::from_value(page)?;
            turns.extend(page.items.into_iter().map(|effect| effect.turn_id));
            token = page.continuation_token;
            if token.is_none() {
                return Ok(turns);
            }
        }
    }

    /// Reads what the deployment knows of a turn's refund.
    async fn read(&self, turn: &Turn) -> Result<Refund, Failure> {
        let started = Instant::now();
        let ended = Request::get(paths::SUMMARY.fill(&turn.session, &turn.turn));
        while started.elapsed() < FINALIZE_TIMEOUT {
            let read = match self.api.call(&ended).await {
                Ok(read) => read,
                // It never began.
                Err(Error::Api(_)) => break,
                Err(error) => return Err(error.into()),
            };
            if read.pointer("/Status/Id").and_then(Value::as_str) != Some("pending") {
                break;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let steps = match self.api.call(&Request::get(paths::STEPS.fill(&turn.session, &turn.turn))).await {
            Ok(steps) => serde_json::from_value::<ListResponse<TurnStep>>(steps)?.items,
            Err(Error::Api(_)) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let mut calls = steps.iter().flat_map(|step| &step.calls);
        let has_result = calls.clone().any(|call| call.result_json.is_some());
        Ok(Refund {
            order: turn.order.clone(),
            was_asked: calls.next().is_some(),
            has_result,
            is_unknown: false,
        })
    }
}
