//! Delay of a streamed chunk in the function, depending on the Runtime API's acknowledgements.
//!
//! `scripts/bench-nagle [ROUNDS]`: this process is the Runtime API, and starts itself as the function. The function
//! streams pieces of eight bytes, each the time at which it was handed over, once over `lambda_http` as it is and
//! once as our functions do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement that can't go on has failed, and tells its terminal what it saw"
)]

use std::{
    collections::BTreeMap,
    convert::Infallible,
    env, io,
    net::SocketAddr,
    pin::Pin,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    http::{Response, StatusCode},
    routing::{get, post},
    serve::Listener,
};
use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body_util::BodyExt;
use runtime::api::{ResponseMode, serve, with_middleware};
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    sync::{Mutex, mpsc},
    time::{Instant, sleep, sleep_until, timeout},
};

/// Says to this program that it is the function, and which.
const ROLE: &str = "NAGLE_FUNCTION";
/// The milliseconds between two pieces, and how many pieces.
const PACES: [(u64, usize); 3] = [(1, 300), (5, 300), (20, 100)];
/// Number of single-chunk answers; their pause is 0 in the table.
const ANSWERS: usize = 20;
/// The senders: `lambda_http` as it is; our functions; and with `PATCHED=PROGRAM`, a build of this program with another
/// `lambda_runtime_api_client`, `lambda_http` over that.
const SENDERS: [&str; 3] = ["lambda_http", "ours", "patched"];

/// Acknowledgement strategies of the Runtime API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Receiver {
    /// As the local cloud does: at once, told so after every read.
    AtOnce,
    /// As Linux does; the invocation had been waiting for the function.
    Busy,
    /// As Linux does; the function had been waiting for the invocation.
    Idle,
    /// Puts them off, told so after every read.
    PutOff,
}

impl Receiver {
    const ALL: [Self; 4] = [Self::AtOnce, Self::Busy, Self::Idle, Self::PutOff];

    fn name(self) -> &'static str {
        match self {
            Self::AtOnce => "acknowledges at once",
            Self::Busy => "Linux's habit, busy",
            Self::Idle => "Linux's habit, idle",
            Self::PutOff => "puts off",
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    match env::var(ROLE) {
        Ok(role) => function(&role).await,
        Err(_) => measure().await,
    }
}

async fn function(role: &str) {
    let routes = Router::new().route("/{milliseconds}/{pieces}", get(pieces));
    let ended = match role {
        "ours" => serve(routes, ResponseMode::Streaming).await,
        _ => lambda_http::run_with_streaming_response(with_middleware(routes)).await,
    };
    ended.expect("the Runtime API is there");
}

async fn pieces(Path((milliseconds, pieces)): Path<(u64, u32)>) -> Body {
    let (began, pause) = (Instant::now(), Duration::from_millis(milliseconds));
    let pieces = stream::iter(1..=pieces).then(move |piece| async move {
        sleep_until(began + pause * piece).await;
        Ok::<_, Infallible>(Bytes::copy_from_slice(&nanos().to_be_bytes()))
    });
    Body::from_stream(pieces)
}

fn nanos() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_nanos()).unwrap()
}

async fn measure() {
    let rounds = env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!(
        "{cores} cores, load {}, {rounds} rounds by turns, medians of them",
        load.split(' ').next().unwrap()
    );
    let senders =
        SENDERS.into_iter().filter(|sender| *sender != "patched" || env::var_os("PATCHED").is_some());
    let mut runs: BTreeMap<_, Vec<Run>> = BTreeMap::new();
    for _ in 0..rounds {
        for receiver in Receiver::ALL {
            for sender in senders.clone() {
                let mut api = RuntimeApi::start(receiver, sender).await;
                // The first answers of a connection are acknowledged at once, whatever it carries.
                api.invoke(2, 30).await;
                let mut whole = Run::default();
                for _ in 0..ANSWERS {
                    whole.add(api.invoke(0, 1).await);
                }
                runs.entry((0, receiver, sender)).or_default().push(whole);
                for (pause, pieces) in PACES {
                    let run = api.invoke(pause, pieces).await;
                    runs.entry((pause, receiver, sender)).or_default().push(run);
                }
                api.function.kill().await.unwrap();
            }
        }
    }
    let [pause, receiver, sender] = ["pause", "receiver", "sender"];
    print!("{pause:>5}  {receiver:21} {sender:11}");
    println!("{:>8}{:>8}{:>8}{:>8}{:>11}  pieces a read", "p50", "p90", "p99", "max", "first ten");
    for ((pause, receiver, sender), runs) in &runs {
        let median = |of: &dyn Fn(&Run) -> f64| {
            let mut all: Vec<f64> = runs.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let [p50, p90, p99, max] = [50, 90, 99, 100].map(|percent| median(&|run| run.at(percent)));
        let (first, together) = (median(&|run| run.first), median(&|run| run.together));
        print!("{pause:>2} ms  {:21} {sender:11}", receiver.name());
        println!("{p50:8.2}{p90:8.2}{p99:8.2}{max:8.2}{first:11.2}  {together:.2}");
    }
}

/// One streamed answer, or many of one piece.
#[derive(Default)]
struct Run {
    /// Returns the delay of each chunk in milliseconds, shortest first.
    waits: Vec<f64>,
    /// The longest wait among the first ten.
    first: f64,
    together: f64,
}

impl Run {
    fn add(&mut self, other: Self) {
        self.waits.extend(other.waits);
        self.waits.sort_by(f64::total_cmp);
        (self.first, self.together) = (self.first.max(other.first), other.together);
    }

    fn at(&self, percent: usize) -> f64 {
        self.waits[(self.waits.len() - 1) * percent / 100]
    }
}

/// The Runtime API of one function process.
struct RuntimeApi {
    events: mpsc::Sender<String>,
    runs: mpsc::Receiver<Run>,
    function: Child,
    idle: bool,
}

struct Shared {
    events: Mutex<mpsc::Receiver<String>>,
    runs: mpsc::Sender<Run>,
    reads: Arc<AtomicUsize>,
}

impl RuntimeApi {
    async fn start(receiver: Receiver, sender: &str) -> Self {
        let listen = env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1".into());
        let listener = TcpListener::bind((listen.as_str(), 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let reads = Arc::new(AtomicUsize::new(0));
        let (events, taken) = mpsc::channel(1);
        let (told, runs) = mpsc::channel(1);
        let shared = Arc::new(Shared { events: Mutex::new(taken), runs: told, reads: Arc::clone(&reads) });
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
            .with_state(shared);
        let connections = Connections { listener, receiver, reads };
        tokio::spawn(async move { axum::serve(connections, router).await });
        // `FUNCTION_IN="ip netns exec NAME"` puts the function behind another network.
        let within = env::var("FUNCTION_IN").unwrap_or_default();
        let patched = env::var_os("PATCHED").filter(|_| sender == "patched");
        let program = patched.unwrap_or_else(|| env::current_exe().unwrap().into_os_string());
        let mut words = within.split_whitespace().map(Into::into).chain([program]);
        let function = Command::new(words.next().unwrap())
            .args(words)
            .env(ROLE, sender)
            .env("AWS_LAMBDA_RUNTIME_API", address.to_string())
            .env("AWS_LAMBDA_FUNCTION_NAME", "nagle")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
            .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { events, runs, function, idle: receiver == Receiver::Idle }
    }

    async fn invoke(&mut self, pause: u64, pieces: usize) -> Run {
        if self.idle {
            sleep(Duration::from_millis(400)).await;
        }
        let path = format!("/{pause}/{pieces}");
        let event = json!({"resource": path, "path": path, "httpMethod": "GET", "headers": {}, "multiValueHeaders": {},
                           "requestContext": {"httpMethod": "GET", "identity": {}}, "body": null,
                           "isBase64Encoded": false});
        self.events.send(event.to_string()).await.unwrap();
        let run = timeout(Duration::from_secs(60), self.runs.recv()).await;
        let run = run.ok().flatten().expect("the function answers");
        assert_eq!(run.waits.len(), pieces, "every piece arrived");
        run
    }
}

async fn next(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let event = shared.events.lock().await.recv().await;
    let deadline = nanos() / 1_000_000 + 60_000;
    Response::builder()
        .header("lambda-runtime-aws-request-id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
        .header("lambda-runtime-deadline-ms", deadline)
        .body(event.map_or_else(Body::empty, Body::from))
        .unwrap()
}

async fn response(State(shared): State<Arc<Shared>>, mut body: Body) -> StatusCode {
    let (mut unread, mut waits, mut in_reads) = (Vec::new(), Vec::new(), Vec::new());
    let mut head_is_over = false;
    while let Some(frame) = body.frame().await {
        let (now, read) = (nanos(), shared.reads.load(Ordering::Relaxed));
        unread.extend_from_slice(&frame.unwrap().into_data().unwrap_or_default());
        if !head_is_over {
            let Some(ends) = unread.windows(8).position(|bytes| bytes == [0; 8]) else { continue };
            unread.drain(..ends + 8);
            head_is_over = true;
        }
        let whole = unread.len() - unread.len() % 8;
        for sent in unread.drain(..whole).collect::<Vec<_>>().chunks_exact(8) {
            let sent = u64::from_be_bytes(sent.try_into().unwrap());
            waits.push(now.saturating_sub(sent) as f64 / 1e6);
            in_reads.push(read);
        }
    }
    let first = waits.iter().take(10).copied().fold(0.0, f64::max);
    waits.sort_by(f64::total_cmp);
    let pieces = in_reads.len();
    in_reads.dedup();
    let together = pieces as f64 / in_reads.len() as f64;
    let _ = shared.runs.send(Run { waits, first, together }).await;
    StatusCode::ACCEPTED
}

struct Connections {
    listener: TcpListener,
    receiver: Receiver,
    reads: Arc<AtomicUsize>,
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, peer) = self.listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        (Connection { stream, receiver: self.receiver, reads: Arc::clone(&self.reads) }, peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that acknowledges as it is told, and counts its reads.
struct Connection {
    stream: TcpStream,
    receiver: Receiver,
    reads: Arc<AtomicUsize>,
}

#[cfg(target_os = "linux")]
fn acknowledge(stream: &TcpStream, at_once: bool) -> io::Result<()> {
    socket2::SockRef::from(stream).set_tcp_quickack(at_once)
}

#[cfg(not(target_os = "linux"))]
fn acknowledge(_: &TcpStream, _: bool) -> io::Result<()> {
    Ok(())
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        self.reads.fetch_add(1, Ordering::Relaxed);
        // Linux forgets it after a while, so it is told each time.
        match self.receiver {
            Receiver::AtOnce => acknowledge(&self.stream, true)?,
            Receiver::PutOff => acknowledge(&self.stream, false)?,
            Receiver::Busy | Receiver::Idle => {}
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
