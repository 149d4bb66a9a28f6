//! The call of the model, read to its end.

use std::borrow::Cow;

use lambda_runtime::Error;
use memchr::memchr;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The prefix of a line with an event's data.
const DATA: &[u8] = b"data: ";
/// The length of the instructions, in bytes. A turn sends about as much in its tools and the parts around the question.
const INSTRUCTIONS_BYTES: usize = 9_000;

/// The client of the model.
pub(crate) struct Model {
    http: reqwest::Client,
    url: String,
    key: String,
    instructions: String,
}

impl Model {
    /// Creates the client with the settings of the functions' own.
    pub(crate) fn load() -> Result<Self, Error> {
        let config = llm::Config { base_url: std::env::var("OPENAI_BASE_URL")?, ..llm::Config::default() };
        Ok(Self {
            http: config.http_client()?,
            url: format!("{}/responses", config.base_url),
            key: std::env::var("OPENAI_API_KEY")?,
            instructions: "Answer. ".repeat(INSTRUCTIONS_BYTES / 8),
        })
    }

    /// Asks the model, and passes on each text as it arrives.
    pub(crate) async fn reply(
        &self,
        instruction: &str,
        previous: Option<&str>,
        mut on_text: impl FnMut(&str) + Send,
    ) -> Result<Reply, Error> {
        let content = json!([{"type": "input_text", "text": instruction}]);
        let mut body = json!({
            "model": "scripted", "stream": true, "store": true, "instructions": self.instructions,
            "input": [{"type": "message", "role": "user", "content": content}],
        });
        if let (Some(previous), Some(members)) = (previous, body.as_object_mut()) {
            members.insert("previous_response_id".to_owned(), previous.into());
        }
        let request = self.http.post(&self.url).bearer_auth(&self.key);
        let request = request.header(CONTENT_TYPE, "application/json").header(ACCEPT, "text/event-stream");
        let mut response = request.body(serde_json::to_vec(&body)?).send().await?.error_for_status()?;
        let mut events = Events::default();
        while let Some(chunk) = response.chunk().await? {
            events.push(&chunk, &mut on_text)?;
        }
        Ok(events.reply)
    }
}

/// The reply of the model.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) id: String,
    pub(crate) usage: Usage,
}

/// The tokens of a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Usage {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) total_tokens: u64,
}

/// An event of the stream, as far as it is read.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Cow<'a, str>,
    response: Option<Response>,
}

#[derive(Deserialize)]
struct Response {
    id: String,
    usage: Option<Usage>,
}

/// The events of a stream.
#[derive(Debug, Default)]
struct Events {
    /// The start of an unfinished line.
    unread: Vec<u8>,
    reply: Reply,
}

impl Events {
    /// Reads a chunk.
    fn push(&mut self, chunk: &[u8], on_text: &mut impl FnMut(&str)) -> Result<(), serde_json::Error> {
        let Self { unread, reply } = self;
        unread.extend_from_slice(chunk);
        let mut rest = unread.as_slice();
        while let Some(end) = memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            let Some(data) = line.strip_prefix(DATA) else { continue };
            let event: Event<'_> = serde_json::from_slice(data)?;
            match (&*event.kind, event.response) {
                ("response.output_text.delta", _) => {
                    reply.text.push_str(&event.delta);
                    on_text(&event.delta);
                }
                ("response.completed", Some(Response { id, usage })) => {
                    (reply.id, reply.usage) = (id, usage.unwrap_or_default());
                }
                _ => {}
            }
        }
        let read = unread.len() - rest.len();
        unread.drain(..read);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"usage\":null}}\n\n\
        event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"One\\n\"}\n\n\
        data: {\"type\":\"response.output_text.delta\",\"delta\":\"two\"}\n\n\
        data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"usage\":{\"input_tokens\":3,\"output_tokens\":2,\"total_tokens\":5}}}\n\n";

    #[test]
    fn reply_is_the_same_for_any_chunking() {
        for size in [1, 7, STREAM.len()] {
            let (mut events, mut texts) = (Events::default(), String::new());
            for chunk in STREAM.as_bytes().chunks(size) {
                events.push(chunk, &mut |text: &str| texts.push_str(text)).unwrap();
            }
            assert_eq!((events.reply.text.as_str(), texts.as_str()), ("One\ntwo", "One\ntwo"), "{size}");
            assert_eq!((events.reply.id.as_str(), events.reply.usage.total_tokens), ("resp_1", 5));
            assert!(events.unread.is_empty());
        }
    }
}
