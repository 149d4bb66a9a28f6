//! Replies of a model as each API has them, streamed or whole, and the places where a server departs from them.

use std::io::Write as _;

use serde_json::{Value, json};

/// An API of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    Responses,
    Chat,
    Messages,
    Converse,
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Think(&'static str),
    /// The deltas of a text, each as JSON has it within a string.
    Text(Vec<&'static str>),
    /// The id of a call, its name, and its arguments.
    Call(String, String, String),
}

/// An event of a stream: its name, and its data.
pub type Event = (&'static str, String);

/// A response before it is sent.
pub struct Draft {
    pub api: Api,
    /// The events of a stream, or the document of a response without streaming.
    pub events: Vec<Event>,
    pub is_streamed: bool,
    pub line_end: &'static str,
    /// The lines that end an event.
    pub event_ends: usize,
    pub prefix: &'static str,
    pub content_type: Option<&'static str>,
    pub content_encoding: Option<&'static str>,
    pub encode: fn(&[u8]) -> Vec<u8>,
}

impl Draft {
    pub fn new(api: Api, is_streamed: bool, parts: &[Part], id: &str) -> Self {
        let events = match (api, is_streamed) {
            (Api::Responses, true) => responses(parts, id),
            (Api::Responses, false) => vec![("", responses_document(parts, id))],
            (Api::Chat, true) => chat(parts),
            (Api::Chat, false) => vec![("", chat_document(parts))],
            (Api::Messages, true) => messages(parts),
            (Api::Messages, false) => vec![("", messages_document(parts))],
            (Api::Converse, true) => converse(parts),
            (Api::Converse, false) => vec![("", converse_document(parts))],
        };
        let content_type = match (api, is_streamed) {
            (_, false) => "application/json",
            (Api::Converse, true) => "application/vnd.amazon.eventstream",
            (_, true) => "text/event-stream",
        };
        Self {
            api,
            events,
            is_streamed,
            line_end: "\n",
            event_ends: 2,
            prefix: "",
            content_type: Some(content_type),
            content_encoding: None,
            encode: <[u8]>::to_vec,
        }
    }

    /// Returns the bytes of the body.
    pub fn body(&self) -> Vec<u8> {
        let Self { line_end, prefix, .. } = self;
        let framed: Vec<u8> = match (self.is_streamed, self.api) {
            (false, _) => format!("{prefix}{}", self.events[0].1).into_bytes(),
            (true, Api::Converse) => {
                let frames = self.events.iter().map(|(kind, data)| mock_wires::converse_frame(kind, data));
                frames.flatten().collect()
            }
            (true, _) => {
                let event = |(kind, data): &Event| {
                    let name =
                        if kind.is_empty() { String::new() } else { format!("event: {kind}{line_end}") };
                    format!("{name}data: {data}{}", line_end.repeat(self.event_ends))
                };
                let events: String = self.events.iter().map(event).collect();
                format!("{prefix}{events}").into_bytes()
            }
        };
        (self.encode)(&framed)
    }

    /// Changes the data of each event.
    pub fn each(&mut self, change: impl Fn(&str) -> String) {
        let is_json = |data: &str| data.ends_with('}');
        self.events.iter_mut().filter(|(_, data)| is_json(data)).for_each(|(_, data)| *data = change(data));
    }

    /// Changes the parsed data of the events of this name.
    pub fn of_kind(&mut self, kind: &str, mut change: impl FnMut(&mut Value)) {
        for (name, data) in self.events.iter_mut().filter(|(name, _)| name.starts_with(kind)) {
            let mut value = serde_json::from_str(data).unwrap_or_else(|_| panic!("{name}: {data}"));
            change(&mut value);
            *data = value.to_string();
        }
    }

    pub fn replace(&mut self, from: &str, to: &str) {
        self.each(|data| data.replace(from, to));
    }

    /// Drops the events with such a name.
    pub fn drop(&mut self, kinds: &[&str]) {
        self.events.retain(|(name, _)| !kinds.iter().any(|kind| name.contains(kind)));
    }

    /// Adds an event before each other one.
    pub fn insert(&mut self, event: (&'static str, &str)) {
        let events = std::mem::take(&mut self.events);
        let added = |other| [(event.0, event.1.to_owned()), other];
        self.events = events.into_iter().flat_map(added).collect();
    }

    /// Replaces the calls of a stream of chunks by these pieces: index, id, name, and arguments.
    pub fn call_chunks(&mut self, pieces: &[(Value, &str, &str, Value)]) {
        let at = self.events.iter().position(|(_, data)| data.contains("\"tool_calls\":[")).unwrap();
        self.events.retain(|(_, data)| !data.contains("\"tool_calls\":["));
        for (number, (index, id, name, arguments)) in pieces.iter().enumerate() {
            let member = |text: &&str| if text.is_empty() { Value::Null } else { json!(text) };
            let call = json!({ "index": index, "id": member(id), "function": { "name": member(name), "arguments": arguments } });
            self.events.insert(at + number, chunk(&json!({ "tool_calls": [call] }).to_string()));
        }
    }
}

/// A text as JSON has it within a string.
fn literal(pieces: &[&str]) -> String {
    format!("\"{}\"", pieces.concat())
}

/// Splits arguments, as models write them.
fn pieces(arguments: &str) -> Vec<String> {
    let characters: Vec<char> = arguments.chars().collect();
    characters.chunks(characters.len().div_ceil(3).max(1)).map(|piece| piece.iter().collect()).collect()
}

/// Arguments as the member of a document: one object or list, or else the text.
fn input(arguments: &str) -> String {
    let is_one =
        arguments.starts_with(['{', '[']) && arguments.ends_with(['}', ']']) && !arguments.contains("}{");
    if is_one { arguments.to_owned() } else { json!(arguments).to_string() }
}

fn event(kind: &'static str, members: &str) -> Event {
    (kind, format!("{{\"type\":\"{kind}\",{members}}}"))
}

fn responses_item(at: usize, part: &Part, is_whole: bool) -> String {
    match part {
        Part::Think(text) => json!({
            "type": "reasoning", "id": format!("rs_{at}"), "encrypted_content": format!("scripted_rs_{at}"),
            "summary": [{ "type": "summary_text", "text": text }],
        })
        .to_string(),
        Part::Text(_) if !is_whole => {
            format!(r#"{{"type":"message","id":"item_{at}","role":"assistant","content":[]}}"#)
        }
        Part::Text(deltas) => {
            let text = literal(deltas);
            format!(
                r#"{{"type":"message","id":"item_{at}","role":"assistant","content":[{{"type":"output_text","text":{text},"annotations":[]}}]}}"#
            )
        }
        Part::Call(id, name, arguments) => json!({
            "type": "function_call", "id": format!("item_{at}"), "call_id": id, "name": name,
            "arguments": if is_whole { arguments } else { "" },
        })
        .to_string(),
    }
}

fn responses_document(parts: &[Part], id: &str) -> String {
    let output: Vec<String> =
        parts.iter().enumerate().map(|(at, part)| responses_item(at, part, true)).collect();
    format!(
        r#"{{"object":"response","id":"{id}","model":"scripted","store":true,"status":"completed","output":[{}],"usage":{{"input_tokens":3,"output_tokens":4,"total_tokens":7}}}}"#,
        output.join(",")
    )
}

fn responses(parts: &[Part], id: &str) -> Vec<Event> {
    let created = format!(
        r#""response":{{"id":"{id}","model":"scripted","store":true,"previous_response_id":null,"output":[]}}"#
    );
    let mut events = vec![event("response.created", &created)];
    for (at, part) in parts.iter().enumerate() {
        let place = format!(r#""item_id":"item_{at}","output_index":{at}"#);
        let item = |kind, is_whole| {
            event(kind, &format!("\"output_index\":{at},\"item\":{}", responses_item(at, part, is_whole)))
        };
        events.push(item("response.output_item.added", false));
        match part {
            Part::Think(_) => {}
            Part::Text(deltas) => {
                let place = format!("{place},\"content_index\":0");
                let part = |text: &str| {
                    format!(
                        "{place},\"part\":{{\"type\":\"output_text\",\"text\":{text},\"annotations\":[]}}"
                    )
                };
                events.push(event("response.content_part.added", &part("\"\"")));
                for delta in deltas {
                    let members = format!("{place},\"delta\":\"{delta}\"");
                    events.push(event("response.output_text.delta", &members));
                }
                let whole = literal(deltas);
                events.push(event("response.output_text.done", &format!("{place},\"text\":{whole}")));
                events.push(event("response.content_part.done", &part(&whole)));
            }
            Part::Call(_, name, arguments) => {
                for piece in pieces(arguments) {
                    let members = format!("{place},\"delta\":{}", json!(piece));
                    events.push(event("response.function_call_arguments.delta", &members));
                }
                let members = format!("{place},\"name\":{},\"arguments\":{}", json!(name), json!(arguments));
                events.push(event("response.function_call_arguments.done", &members));
            }
        }
        events.push(item("response.output_item.done", true));
    }
    let response = format!("\"response\":{}", responses_document(parts, id));
    events.push(event("response.completed", &response));
    events
}

fn chunk(delta: &str) -> Event {
    let data = format!(
        r#"{{"id":"c1","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{delta}}}]}}"#
    );
    ("", data)
}

fn finish_reason(parts: &[Part], calls: &'static str, stop: &'static str) -> &'static str {
    if parts.iter().any(|part| matches!(part, Part::Call(..))) { calls } else { stop }
}

fn chat(parts: &[Part]) -> Vec<Event> {
    let mut events = vec![chunk(r#"{"role":"assistant","content":""}"#)];
    let mut index = 0;
    for part in parts {
        match part {
            Part::Think(text) => events.push(chunk(&json!({ "reasoning_content": text }).to_string())),
            Part::Text(deltas) => {
                events.extend(deltas.iter().map(|delta| chunk(&format!("{{\"content\":\"{delta}\"}}"))));
            }
            Part::Call(id, name, arguments) => {
                let call = json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": "" } });
                events.push(chunk(&json!({ "tool_calls": [call] }).to_string()));
                for piece in pieces(arguments) {
                    let call = json!({ "index": index, "function": { "arguments": piece } });
                    events.push(chunk(&json!({ "tool_calls": [call] }).to_string()));
                }
                index += 1;
            }
        }
    }
    let reason = finish_reason(parts, "tool_calls", "stop");
    events.push((
        "",
        format!(r#"{{"id":"c1","choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#),
    ));
    events.push((
        "",
        r#"{"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#.to_owned(),
    ));
    events.push(("", "[DONE]".to_owned()));
    events
}

fn chat_document(parts: &[Part]) -> String {
    let (mut text, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Think(thought) => thoughts.push_str(thought),
            Part::Text(deltas) => text.push_str(&deltas.concat()),
            Part::Call(id, name, arguments) => calls.push(
                json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }),
            ),
        }
    }
    let reason = finish_reason(parts, "tool_calls", "stop");
    format!(
        r#"{{"id":"c1","object":"chat.completion","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}","reasoning_content":{},"tool_calls":{}}},"finish_reason":"{reason}"}}],"usage":{{"prompt_tokens":3,"completion_tokens":4}}}}"#,
        json!(thoughts),
        json!(calls)
    )
}

fn messages_block(part: &Part) -> String {
    match part {
        Part::Think(text) => {
            json!({ "type": "thinking", "thinking": text, "signature": mock_wires::sign(text) }).to_string()
        }
        Part::Text(deltas) => format!("{{\"type\":\"text\",\"text\":{}}}", literal(deltas)),
        Part::Call(id, name, arguments) => format!(
            r#"{{"type":"tool_use","id":{},"name":{},"input":{}}}"#,
            json!(id),
            json!(name),
            input(arguments)
        ),
    }
}

fn messages(parts: &[Part]) -> Vec<Event> {
    let usage = r#""usage":{"input_tokens":3,"output_tokens":1}"#;
    let start = format!(
        r#""message":{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],{usage}}}"#
    );
    let mut events = vec![event("message_start", &start)];
    for (at, part) in parts.iter().enumerate() {
        let mut start = |block: &str| {
            events.push(event("content_block_start", &format!("\"index\":{at},\"content_block\":{block}")))
        };
        let deltas: Vec<String> = match part {
            Part::Think(text) => {
                start(r#"{"type":"thinking","thinking":"","signature":""}"#);
                let signature = mock_wires::sign(text);
                vec![
                    json!({ "type": "thinking_delta", "thinking": text }).to_string(),
                    json!({ "type": "signature_delta", "signature": signature }).to_string(),
                ]
            }
            Part::Text(deltas) => {
                start(r#"{"type":"text","text":""}"#);
                deltas.iter().map(|delta| format!(r#"{{"type":"text_delta","text":"{delta}"}}"#)).collect()
            }
            Part::Call(id, name, arguments) => {
                start(&json!({ "type": "tool_use", "id": id, "name": name, "input": {} }).to_string());
                let delta = |piece| json!({ "type": "input_json_delta", "partial_json": piece }).to_string();
                pieces(arguments).into_iter().map(delta).collect()
            }
        };
        for delta in deltas {
            events.push(event("content_block_delta", &format!("\"index\":{at},\"delta\":{delta}")));
        }
        events.push(event("content_block_stop", &format!("\"index\":{at}")));
    }
    let reason = finish_reason(parts, "tool_use", "end_turn");
    events.push(event(
        "message_delta",
        &format!(
            r#""delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":4}}"#
        ),
    ));
    events.push(event("message_stop", "\"p\":0"));
    events
}

fn messages_document(parts: &[Part]) -> String {
    let content: Vec<String> = parts.iter().map(messages_block).collect();
    let reason = finish_reason(parts, "tool_use", "end_turn");
    format!(
        r#"{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{}],"stop_reason":"{reason}","usage":{{"input_tokens":3,"output_tokens":4}}}}"#,
        content.join(",")
    )
}

fn converse_block(part: &Part) -> String {
    match part {
        Part::Think(text) => {
            let thought = json!({ "text": text, "signature": mock_wires::sign(text) });
            json!({ "reasoningContent": { "reasoningText": thought } }).to_string()
        }
        Part::Text(deltas) => format!("{{\"text\":{}}}", literal(deltas)),
        Part::Call(id, name, arguments) => format!(
            r#"{{"toolUse":{{"toolUseId":{},"name":{},"input":{}}}}}"#,
            json!(id),
            json!(name),
            input(arguments)
        ),
    }
}

fn converse(parts: &[Part]) -> Vec<Event> {
    let mut events = vec![("messageStart", r#"{"role":"assistant","p":"ab"}"#.to_owned())];
    for (at, part) in parts.iter().enumerate() {
        let deltas: Vec<String> = match part {
            Part::Think(text) => vec![
                json!({ "reasoningContent": { "text": text } }).to_string(),
                json!({ "reasoningContent": { "signature": mock_wires::sign(text) } }).to_string(),
            ],
            Part::Text(deltas) => deltas.iter().map(|delta| format!("{{\"text\":\"{delta}\"}}")).collect(),
            Part::Call(id, name, arguments) => {
                let start = json!({ "contentBlockIndex": at, "start": { "toolUse": { "toolUseId": id, "name": name } } });
                events.push(("contentBlockStart", start.to_string()));
                let delta = |piece| json!({ "toolUse": { "input": piece } }).to_string();
                pieces(arguments).into_iter().map(delta).collect()
            }
        };
        for delta in deltas {
            let data = format!("{{\"contentBlockIndex\":{at},\"delta\":{delta},\"p\":\"ab\"}}");
            events.push(("contentBlockDelta", data));
        }
        events.push(("contentBlockStop", json!({ "contentBlockIndex": at }).to_string()));
    }
    let reason = finish_reason(parts, "tool_use", "end_turn");
    events.push(("messageStop", json!({ "stopReason": reason }).to_string()));
    let usage = json!({ "inputTokens": 3, "outputTokens": 4, "totalTokens": 7 });
    events.push(("metadata", json!({ "usage": usage, "metrics": { "latencyMs": 1 } }).to_string()));
    events
}

fn converse_document(parts: &[Part]) -> String {
    let content: Vec<String> = parts.iter().map(converse_block).collect();
    let reason = finish_reason(parts, "tool_use", "end_turn");
    format!(
        r#"{{"output":{{"message":{{"role":"assistant","content":[{}]}}}},"stopReason":"{reason}","usage":{{"inputTokens":3,"outputTokens":4,"totalTokens":7}}}}"#,
        content.join(",")
    )
}

pub fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(body: &[u8]) -> Vec<u8> {
    zstd::encode_all(body, 3).unwrap()
}

/// Encodes a body of at most 64 KiB as Brotli has it: one block that isn't compressed, and an empty last one.
pub fn brotli(body: &[u8]) -> Vec<u8> {
    let header = (u32::try_from(body.len()).unwrap() - 1) << 4 | 1 << 20;
    [&header.to_le_bytes()[..3], body, &[3]].concat()
}
