//! The part of `execute`: everything until the client has its answer.

use std::{
    future::ready,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::{
    StreamExt,
    channel::mpsc::{self, UnboundedSender},
    future::try_join,
    stream::{self, BoxStream},
};
use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use lambda_runtime::{Error, LambdaEvent, MetadataPrelude, StreamResponse, service_fn};
use serde_json::{Value, json};

use crate::{
    items::{self, text},
    model::Reply,
    services::Services,
    turn::{Event, Turn},
};

/// The shortest time between two deltas, as in a turn's stream.
const DELTA_INTERVAL: Duration = Duration::from_millis(20);
/// The delay of the finalizer's message, in seconds.
const MESSAGE_DELAY: i32 = 1;

type Chunks = BoxStream<'static, Result<Bytes, Error>>;

/// Serves invocations until the local cloud stops.
pub(crate) async fn serve(services: Arc<Services>) -> Result<(), Error> {
    let handler = service_fn(move |event: LambdaEvent<Event>| respond(Arc::clone(&services), event.payload));
    lambda_runtime::run(handler).await
}

async fn respond(services: Arc<Services>, event: Event) -> Result<StreamResponse<Chunks>, Error> {
    let turn = Turn::from_event(event)?;
    if !turn.is_streamed {
        let answer = run(&services, &turn, |_: &str| {}).await?;
        return Ok(response("application/json", stream::once(ready(Ok(answer))).boxed()));
    }
    let (chunks, received) = mpsc::unbounded();
    tokio::spawn(async move {
        let mut deltas = Deltas::new(chunks.clone());
        let answer = run(&services, &turn, |text: &str| deltas.push(text)).await;
        deltas.flush();
        let last = answer.map(|answer| event_of(usize::MAX, "result", &answer));
        // Fails if the client is gone.
        let _ = chunks.unbounded_send(last);
    });
    Ok(response("text/event-stream", received.boxed()))
}

fn response(media_type: &'static str, stream: Chunks) -> StreamResponse<Chunks> {
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media_type))]);
    StreamResponse { metadata_prelude: MetadataPrelude { headers, ..MetadataPrelude::default() }, stream }
}

/// Makes the calls of a turn, those around the model's in the order in which `execute` makes them. Returns the body of a
/// buffered response.
async fn run(services: &Services, turn: &Turn, on_text: impl FnMut(&str) + Send) -> Result<Bytes, Error> {
    let id = &turn.id;
    let [stored, _] = services.items(id, ["SESSION".to_owned(), id.head()]).await?;

    let (session, rev) = items::started_session(stored, turn);
    let head = items::running_head(turn, &session);
    let previous = Some(text(&session, "ChainResponseId").to_owned()).filter(|previous| !previous.is_empty());
    let mut writes = vec![services.creation(head.clone())?, services.creation(items::request(turn))?];
    match rev {
        Some(rev) => writes.push(services.replacement(items::session_write(session, rev))?),
        None => {
            writes.push(services.creation(session)?);
            writes.push(services.creation(items::participant(id, &turn.user, &turn.created))?);
        }
    }
    services.transact(writes).await?;

    let reply = services.model.reply(&turn.instruction, previous.as_deref(), on_text).await?;

    let answer = answer(turn, &reply);
    let outcome = outcome(&answer, &reply)?;
    services.put_object(id.object(&format!("{}/result.json", turn.attempt)), outcome).await?;
    let message = json!({"Kind": "turn_settled", "Org": id.org, "Session": id.session, "Turn": id.turn,
                         "Correlation": turn.submission});
    let announced = async {
        let message =
            services.sqs.send_message().queue_url(&services.queue_url).message_body(message.to_string());
        message.delay_seconds(MESSAGE_DELAY).send().await.map_err(Error::from)
    };
    try_join(services.update(items::settlement(head)), announced).await?;
    Ok(Bytes::from(answer.to_string()))
}

/// Returns the answer for the client.
fn answer(turn: &Turn, reply: &Reply) -> Value {
    json!({
        "Successful": true,
        "Result": {
            "Kind": "final", "SessionId": turn.id.session, "TurnId": turn.id.turn, "ModeDisplayName": "General",
            "PrimaryOutputText": reply.text, "Files": [], "UserWarnings": [],
            "Usage": {"PromptTokens": reply.usage.input_tokens, "CompletionTokens": reply.usage.output_tokens,
                      "TotalTokens": reply.usage.total_tokens},
        },
        "Errors": [], "Warnings": [],
    })
}

/// Returns the outcome object: the answer, and the report that the finalizer reads.
fn outcome(answer: &Value, reply: &Reply) -> Result<Vec<u8>, serde_json::Error> {
    let report =
        Reply { text: items::excerpt(&reply.text).to_owned(), id: reply.id.clone(), usage: reply.usage };
    let request =
        json!({"Model": "scripted", "Provider": "127.0.0.1", "ChainMode": "general", "ModelCalls": 1});
    serde_json::to_vec(&json!({
        "SchemaVersion": 1, "Response": {"Body": answer}, "Report": report, "ModelRequest": request, "Kind": "completed",
    }))
}

/// The text of a streamed turn: the first leaves at once, later text at most every [`DELTA_INTERVAL`].
struct Deltas {
    chunks: UnboundedSender<Result<Bytes, Error>>,
    unsent: String,
    sent_bytes: usize,
    sent_at: Option<Instant>,
}

impl Deltas {
    fn new(chunks: UnboundedSender<Result<Bytes, Error>>) -> Self {
        Self { chunks, unsent: String::new(), sent_bytes: 0, sent_at: None }
    }

    fn push(&mut self, text: &str) {
        self.unsent.push_str(text);
        if self.sent_at.is_none_or(|sent| sent.elapsed() >= DELTA_INTERVAL) {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.unsent.is_empty() {
            return;
        }
        let data = json!({"Index": self.sent_bytes, "Text": self.unsent}).to_string();
        self.sent_bytes += self.unsent.len();
        self.unsent.clear();
        self.sent_at = Some(Instant::now());
        // Fails if the client is gone.
        let _ = self.chunks.unbounded_send(Ok(event_of(self.sent_bytes, "delta", data.as_bytes())));
    }
}

/// Formats a server-sent event.
fn event_of(id: usize, kind: &str, data: &[u8]) -> Bytes {
    let mut event = format!("id: {id}\nevent: {kind}\ndata: ").into_bytes();
    event.extend_from_slice(data);
    event.extend_from_slice(b"\n\n");
    Bytes::from(event)
}
