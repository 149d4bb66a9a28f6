//! Deltas are coalesced by time.

use std::time::Duration;

use contracts::stream::{Event, Kind};
use futures::{FutureExt, StreamExt, channel::oneshot, future::BoxFuture};
use tokio::time::{Instant, sleep};

use super::{
    feed::DELTA_INTERVAL,
    tests::{completed, turn},
    *,
};
use crate::refusal::Refusal;
use agent::outcome::Response;

const TIMEOUTS: StartTimeouts =
    StartTimeouts { streamed: Duration::from_secs(10), buffered: Duration::from_secs(10) };

/// A streamed turn that a test writes and ends.
struct Live {
    writer: Arc<Writer>,
    end: oneshot::Sender<Response>,
    events: Events,
}

impl Live {
    /// Starts the stream of a turn that begins with these words.
    async fn start(words: &str) -> Self {
        let (writer, feed) = open(true, None);
        writer.begin(&turn(1));
        writer.push_text(&turn(1).key, words);
        let (end, ended) = oneshot::channel();
        let work: BoxFuture<'static, Result<Response, Refusal>> = ended.map(|end| Ok(end.unwrap())).boxed();
        let ResponseStart::Streaming(events) = feed.start(work, TIMEOUTS).await else {
            panic!("the turn is streamed")
        };
        Self { writer, end, events }
    }
}

fn text(event: &Event) -> &str {
    match &event.kind {
        Kind::Delta(delta) => &delta.text,
        other => panic!("{other:?} is no delta"),
    }
}

#[tokio::test]
async fn first_delta_leaves_at_once_and_later_ones_every_20_ms() {
    let Live { writer, end, mut events } = Live::start("First.\n\n").await;
    assert_eq!(text(&events.next().await.unwrap()), "First.\n\n");
    let started = Instant::now();
    let write = async {
        for number in 0..100 {
            writer.push_text(&turn(1).key, &format!("Line {number}.\n\n"));
            sleep(Duration::from_millis(1)).await;
        }
        started.elapsed()
    };
    let read = async {
        let (mut read, mut took) = (String::new(), Vec::new());
        while !read.ends_with("Line 99.\n\n") {
            read.push_str(text(&events.next().await.unwrap()));
            took.push(started.elapsed());
        }
        (read, took)
    };
    let (wrote, (read, took)) = futures::future::join(write, read).await;
    assert_eq!(read.lines().filter(|line| !line.is_empty()).count(), 100);
    assert!(took.windows(2).all(|pair| pair[1] - pair[0] >= DELTA_INTERVAL), "{took:?}");
    let most = wrote.as_millis() / DELTA_INTERVAL.as_millis() + 2;
    assert!(took.len() as u128 <= most, "{} deltas in {wrote:?}", took.len());
    drop(end);
}

#[tokio::test]
async fn held_text_leaves_without_another_delta() {
    let Live { writer, end, mut events } = Live::start("First.\n\n").await;
    events.next().await.unwrap();
    let read = Instant::now();
    writer.push_text(&turn(1).key, "Second.\n\n");
    assert_eq!(text(&events.next().await.unwrap()), "Second.\n\n");
    assert!(read.elapsed() >= DELTA_INTERVAL - Duration::from_millis(1));
    drop(end);
}

#[tokio::test]
async fn end_does_not_wait_for_the_interval() {
    let Live { writer, end, mut events } = Live::start("First.\n\n").await;
    events.next().await.unwrap();
    writer.push_text(&turn(1).key, "Last.\n\n");
    end.send(completed("First.\n\nLast.\n\n", writer.segment())).unwrap();
    // Without waiting: whatever is left is ready.
    let rest = events.next().now_or_never().unwrap().unwrap();
    assert!(text(&rest).starts_with("Last."), "{rest:?}");
    let result = events.next().now_or_never().unwrap().unwrap();
    assert!(matches!(result.kind, Kind::Result(_)), "{result:?}");
    assert!(events.next().now_or_never().unwrap().is_none());
}
