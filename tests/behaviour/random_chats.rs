//! Chats of random shape over each protocol: strings or parts, parallel calls, messages after results, edits, cut heads,
//! compaction, other models. The model gets the client's messages, role by role, whatever the service recognizes.
//!
//! `RANDOM_CHATS` is the number of chats of each protocol.

use std::time::{Duration, Instant};

use futures::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    openai::histories::{assistant, called, joined, line, received, result, turns, user},
    support::{Answer, Client, PATIENCE, System, options},
};

/// Chats that run at once, over one system.
const AT_ONCE: usize = 4;

/// A small generator of numbers, so that a seed names a chat.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        // The constants of Knuth's MMIX.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }
}

/// A message, whatever the protocol. `id` is the one of an item of the Responses API.
#[derive(Debug, Clone)]
enum Message {
    User(String),
    Assistant { id: Option<String>, text: String },
    Call { id: String, arguments: String },
    Result { id: String, output: String },
}

impl Message {
    fn is_user(&self) -> bool {
        matches!(self, Self::User(_))
    }

    fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. })
    }
}

/// What the client sent, role by role.
fn sent(messages: &[Message]) -> Vec<(String, String)> {
    let lines = messages.iter().map(|message| match message {
        Message::User(text) => line("user", text),
        Message::Assistant { text, .. } => line("assistant", text),
        Message::Call { arguments, .. } => line("call", &format!("get_weather{arguments}")),
        Message::Result { output, .. } => line("result", output),
    });
    joined(lines.collect())
}

/// A protocol: its path, the body of a chat in a random spelling, and the messages of a reply.
struct Protocol {
    name: &'static str,
    path: &'static str,
    body: fn(&[Message], &mut Numbers) -> Value,
    reply: fn(&Value) -> Vec<Message>,
}

const CHAT: Protocol =
    Protocol { name: "chat-completions", path: "/v1/chat/completions", body: chat_body, reply: chat_reply };
const RESPONSES: Protocol =
    Protocol { name: "responses", path: "/v1/responses", body: responses_body, reply: responses_reply };
const MESSAGES: Protocol =
    Protocol { name: "messages", path: "/v1/messages", body: messages_body, reply: messages_reply };

const SCHEMA: fn() -> Value =
    || json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});

/// A text as a string, or as one part of this type.
fn content(kind: &str, text: &str, numbers: &mut Numbers) -> Value {
    if numbers.one_in(2) { json!([{"type": kind, "text": text}]) } else { json!(text) }
}

/// Texts beside calls are one message with them, as the protocol has it.
fn chat_body(messages: &[Message], numbers: &mut Numbers) -> Value {
    let mut list: Vec<Value> = Vec::new();
    for message in messages {
        let next = match message {
            Message::User(text) => {
                let mut message = user(text);
                message["content"] = content("text", text, numbers);
                message
            }
            Message::Assistant { text, .. } => assistant(text),
            Message::Call { id, arguments } => {
                let call = called(id, arguments);
                match list.last_mut().filter(|last| last["role"] == "assistant") {
                    Some(last) => {
                        let mut calls = last["tool_calls"].as_array().cloned().unwrap_or_default();
                        calls.push(call["tool_calls"][0].clone());
                        last["tool_calls"] = json!(calls);
                        continue;
                    }
                    None => call,
                }
            }
            Message::Result { id, output } => result(id, output),
        };
        list.push(next);
    }
    let function = json!({"name": "get_weather", "description": "Weather", "parameters": SCHEMA()});
    json!({"messages": list, "tools": [{"type": "function", "function": function}]})
}

fn chat_reply(answer: &Value) -> Vec<Message> {
    let message = &answer["choices"][0]["message"];
    let text = message["content"].as_str().filter(|text| !text.is_empty());
    let text = text.map(|text| Message::Assistant { id: None, text: text.to_owned() });
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| Message::Call {
        id: call["id"].as_str().unwrap().to_owned(),
        arguments: call["function"]["arguments"].as_str().unwrap().to_owned(),
    });
    text.into_iter().chain(calls).collect()
}

/// Some clients keep the ids of all items, some those of calls alone, and some spell messages without a type.
fn responses_body(messages: &[Message], numbers: &mut Numbers) -> Value {
    let keeps_ids = numbers.one_in(2);
    let items = messages.iter().map(|message| match message {
        Message::User(text) => json!({"role": "user", "content": content("input_text", text, numbers)}),
        Message::Assistant { id: Some(id), text } if keeps_ids => json!({
            "type": "message", "id": id, "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Message::Assistant { text, .. } => assistant(text),
        Message::Call { id, arguments } => {
            json!({"type": "function_call", "call_id": id, "name": "get_weather", "arguments": arguments})
        }
        Message::Result { id, output } => {
            json!({"type": "function_call_output", "call_id": id, "output": output})
        }
    });
    let tool =
        json!({"type": "function", "name": "get_weather", "description": "Weather", "parameters": SCHEMA()});
    json!({"input": items.collect::<Vec<_>>(), "tools": [tool]})
}

fn responses_reply(answer: &Value) -> Vec<Message> {
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    let items = answer["output"].as_array().unwrap().iter().map(|item| match item["type"].as_str() {
        Some("function_call") => {
            Message::Call { id: text(item, "call_id"), arguments: text(item, "arguments") }
        }
        _ => Message::Assistant { id: Some(text(item, "id")), text: text(&item["content"][0], "text") },
    });
    items.collect()
}

/// Blocks of one role are one message, at random for the user's, as the protocol allows both.
fn messages_body(messages: &[Message], numbers: &mut Numbers) -> Value {
    let mut list: Vec<Value> = Vec::new();
    for message in messages {
        let text = |text: &str| json!({"type": "text", "text": text});
        let (role, block) = match message {
            Message::User(said) => ("user", text(said)),
            Message::Assistant { text: said, .. } => ("assistant", text(said)),
            Message::Call { id, arguments } => {
                let input: Value = serde_json::from_str(arguments).unwrap();
                ("assistant", json!({"type": "tool_use", "id": id, "name": "get_weather", "input": input}))
            }
            Message::Result { id, output } => {
                ("user", json!({"type": "tool_result", "tool_use_id": id, "content": output}))
            }
        };
        match list.last_mut().filter(|last| last["role"] == role && last["content"].is_array()) {
            Some(last) if role == "assistant" || block["type"] == "tool_result" || numbers.one_in(2) => {
                last["content"].as_array_mut().unwrap().push(block);
            }
            _ if block["type"] == "text" && numbers.one_in(2) => {
                list.push(json!({"role": role, "content": block["text"]}));
            }
            _ => list.push(json!({"role": role, "content": [block]})),
        }
    }
    let tool = json!({"name": "get_weather", "description": "Weather", "input_schema": SCHEMA()});
    json!({"max_tokens": 1024, "messages": list, "tools": [tool]})
}

fn messages_reply(answer: &Value) -> Vec<Message> {
    let blocks = answer["content"].as_array().unwrap().iter().map(|block| match block["type"].as_str() {
        Some("tool_use") => Message::Call {
            id: block["id"].as_str().unwrap().to_owned(),
            arguments: block["input"].to_string(),
        },
        _ => Message::Assistant { id: None, text: block["text"].as_str().unwrap().to_owned() },
    });
    blocks.collect()
}

/// A chat of one client.
struct Chat<'a> {
    system: &'a System,
    client: Client,
    protocols: &'a [Protocol],
    numbers: Numbers,
    messages: Vec<Message>,
    seed: u64,
    /// The beginning of the newest instruction, which no other chat has.
    instruction: String,
    /// The sessions that the chat may have.
    sessions: usize,
}

impl Chat<'_> {
    /// Sends the chat, compares what the model got, and adds the reply. True if it calls.
    async fn send(&mut self) -> bool {
        let protocol = self.numbers.pick(self.protocols);
        // A first message over this protocol has an id that doesn't follow from its text, and not every client sends it back.
        let is_first = self.messages.iter().all(Message::is_user);
        self.sessions += usize::from(is_first && protocol.name == RESPONSES.name);
        let mut body = (protocol.body)(&self.messages, &mut self.numbers);
        body["model"] = json!(self.numbers.pick(&["scripted", "agent/default"]));
        let answer = self.post(protocol.path, &body.to_string()).await;
        assert_eq!(answer.status, 200, "seed {}, {}: {}\n{body}", self.seed, protocol.name, answer.text);
        let model = self.system.cloud.model().unwrap();
        let got = received(&model.last_body_with(&self.instruction).unwrap());
        assert_eq!(got, sent(&self.messages), "seed {}, {}\n{body}", self.seed, protocol.name);
        let reply = (protocol.reply)(&answer.json());
        let calls = reply.iter().any(Message::is_call);
        self.messages.extend(reply);
        calls
    }

    /// Posts a request, and repeats it as the SDKs do, with the count of retries. A busy machine refuses some.
    async fn post(&self, path: &str, body: &str) -> Answer {
        let give_up = Instant::now() + PATIENCE;
        for retry in 0.. {
            let count = retry.to_string();
            let headers = [("content-type", "application/json"), ("x-stainless-retry-count", count.as_str())];
            let headers = if retry == 0 { &headers[..1] } else { &headers };
            let answer = self.client.raw(Method::POST, path, headers, body.as_bytes().to_vec()).await;
            if !matches!(answer.status, 409 | 429 | 500..) || Instant::now() > give_up {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        unreachable!("the loop ends with an answer")
    }

    /// Adds the results of the calls that have none, and at random a message after them.
    fn run_calls(&mut self) {
        let results: Vec<Message> =
            self.messages.iter().rev().take_while(|message| message.is_call()).cloned().collect();
        for call in results.into_iter().rev() {
            let Message::Call { id, .. } = call else { continue };
            self.messages.push(Message::Result { id, output: "sunny".to_owned() });
        }
        if self.numbers.one_in(3) {
            let number = self.messages.len();
            self.messages.push(Message::User(format!("Only today {number}.")));
        }
    }

    /// Changes the history as clients do, which may begin another session.
    fn change(&mut self) {
        let users: Vec<usize> = (0..self.messages.len()).filter(|at| self.messages[*at].is_user()).collect();
        if users.len() < 2 {
            return;
        }
        match self.numbers.below(12) {
            // The user edits an earlier message.
            0 | 1 => self.messages.truncate(*self.numbers.pick(&users)),
            // The client sends no more than the newest messages.
            2 => drop(self.messages.drain(..users[1])),
            // The client replaces the messages by a summary.
            3 => {
                self.messages =
                    vec![Message::User(format!("A summary of {} messages.", self.messages.len()))];
                if self.numbers.one_in(2) {
                    self.messages.push(Message::Assistant { id: None, text: "I see.".to_owned() });
                }
            }
            _ => return,
        }
        self.sessions += 1;
    }

    /// Runs the chat, and returns the number of sessions that it may have.
    async fn run(mut self) -> usize {
        let seed = self.seed;
        for n in 0..5 {
            self.change();
            let calls: String = (0..self.numbers.below(3))
                .map(|at| format!("call get_weather {{\"city\":\"{seed}-{n}-{at}\"}}; "))
                .collect();
            let says = if self.numbers.one_in(3) { "say \"Let me look.\"; " } else { "" };
            let begin = if calls.is_empty() { String::new() } else { format!("{says}{calls}then; ") };
            self.instruction = format!("Message {seed} {n} [[script: ");
            let text = format!("{}{begin}say \"Answer {n}.\"]]", self.instruction);
            self.messages.push(Message::User(text));
            while self.send().await {
                self.run_calls();
            }
        }
        self.sessions
    }
}

/// Runs chats over protocols. Each request takes one of them.
async fn run(name: &str, protocols: &[Protocol]) {
    let mut options = options();
    options.environment.insert("CONVERSATION_STATE".to_owned(), "local".to_owned());
    // Other tests check permissions and count calls, which takes a proxy and time.
    let system = System::measured(options).await;
    let chats: u64 = std::env::var("RANDOM_CHATS").ok().and_then(|count| count.parse().ok()).unwrap_or(8);
    let system = &system;
    let outcomes = futures::stream::iter(0..chats).map(async |seed| {
        let user = format!("{name}-{seed}");
        let client = system.client("acme", &user);
        let (numbers, messages, instruction) = (Numbers(seed), Vec::new(), String::new());
        let chat = Chat { system, client, protocols, numbers, messages, seed, instruction, sessions: 1 };
        let most = chat.run().await;
        let sessions = turns(&system.client("acme", &user), &user).await;
        assert!(
            sessions.len() <= most,
            "{name}, seed {seed}: sessions of {sessions:?} turns, at most {most}"
        );
        sessions.len()
    });
    let sessions: Vec<usize> = outcomes.buffer_unordered(AT_ONCE).collect().await;
    let model = system.cloud.model().unwrap();
    println!(
        "{name}: {chats} chats, {} sessions, {} requests",
        sessions.iter().sum::<usize>(),
        model.count()
    );
}

#[tokio::test]
async fn chat_completions_reach_the_model_as_sent() {
    run("chat-completions", &[CHAT]).await;
}

#[tokio::test]
async fn responses_reach_the_model_as_sent() {
    run("responses", &[RESPONSES]).await;
}

#[tokio::test]
async fn messages_reach_the_model_as_sent() {
    run("messages", &[MESSAGES]).await;
}

/// One chat that changes its protocol between requests.
#[tokio::test]
async fn chats_over_all_protocols_reach_the_model_as_sent() {
    run("all", &[CHAT, RESPONSES, MESSAGES]).await;
}
