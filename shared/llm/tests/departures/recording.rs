//! Streams of one reply as servers send it that depart from the published schema. The choices come from bytes, so that a
//! property test and the fuzzer share them.

use llm::Wire;
use serde_json::{Value, json};

/// Decisions, taken from bytes. Without bytes left, the first choice, which is the published form.
pub(crate) struct Choices<'a>(pub(crate) &'a [u8]);

impl Choices<'_> {
    /// Picks one of `count` choices.
    pub(crate) fn pick(&mut self, count: usize) -> usize {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                usize::from(*first) % count
            }
            None => 0,
        }
    }

    /// Decides on a departure.
    pub(crate) fn departs(&mut self) -> bool {
        self.pick(3) == 1
    }
}

/// A reply, and its stream.
pub(crate) struct Recording {
    pub(crate) text: String,
    /// Names and arguments.
    pub(crate) calls: Vec<(String, Value)>,
    /// The bytes of the response.
    pub(crate) stream: Vec<u8>,
}

/// Texts of a reply, in deltas.
const TEXTS: [&[&str]; 5] = [
    &["Hello", " there", "."],
    &["Grüße ", "😀", "👍🏽", " – “ok”"],
    &["one"],
    &["a\n\n", "b", "\n", "{}"],
    &["日本", "語\u{1F1EF}\u{1F1F5}"],
];

/// Calls of a reply.
fn calls(choices: &mut Choices<'_>) -> Vec<(String, Value)> {
    let all = [
        ("look", json!({ "at": 1, "in": { "a": ["}", "\\\"{", "😀"] } })),
        ("list", json!({})),
        ("look", json!({ "at": 2 })),
        ("write_file", json!({ "path": "a.rs", "text": "fn main() {}\n" })),
    ];
    let (from, count) = (choices.pick(4), choices.pick(4));
    let calls = all.iter().cycle().skip(from).take(count);
    calls.map(|(name, arguments)| ((*name).to_owned(), arguments.clone())).collect()
}

/// Records a reply on this wire.
pub(crate) fn record(wire: Wire, choices: &mut Choices<'_>) -> Recording {
    let mut texts = vec![TEXTS[choices.pick(TEXTS.len())]];
    let calls = calls(choices);
    // A second text after the calls. A completion of a chat has only one.
    if wire != Wire::ChatCompletions && choices.departs() {
        texts.push(TEXTS[choices.pick(TEXTS.len())]);
    }
    let mut events = match wire {
        Wire::Responses => responses(&texts, &calls, choices),
        Wire::ChatCompletions => chat_completions(texts[0], &calls, choices),
        Wire::AnthropicMessages => anthropic_messages(&texts, &calls, choices),
        Wire::BedrockConverse => bedrock_converse(&texts, &calls, choices),
    };
    if choices.departs() {
        insert_noise(&mut events, choices);
    }
    let stream = frame(wire, &events, choices);
    let text = texts.iter().map(|text| text.concat()).collect::<Vec<_>>().join("\n\n");
    Recording { text, calls, stream }
}

/// A named event, and its data.
type Event = (String, String);

fn event(kind: &str, data: Value) -> Event {
    (kind.to_owned(), data.to_string())
}

/// Splits the text of deltas, if chosen also within characters: such a half is written as its own escape.
fn deltas(text: &[&str], choices: &mut Choices<'_>) -> Vec<String> {
    let json = |units: &[u16]| {
        let parts = char::decode_utf16(units.iter().copied()).map(|unit| match unit {
            Ok(character) => {
                let quoted = json!(character.to_string()).to_string();
                quoted[1..quoted.len() - 1].to_owned()
            }
            Err(half) => format!("\\u{:04x}", half.unpaired_surrogate()),
        });
        format!("\"{}\"", parts.collect::<String>())
    };
    match choices.departs() {
        false => text.iter().map(|delta| json!(delta).to_string()).collect(),
        true => {
            text.concat().encode_utf16().collect::<Vec<_>>().chunks(1 + choices.pick(3)).map(json).collect()
        }
    }
}

/// Splits arguments in pieces.
fn pieces(arguments: &Value, choices: &mut Choices<'_>) -> Vec<String> {
    let size = [7, 1, 3, 1_000][choices.pick(4)];
    let characters: Vec<char> = arguments.to_string().chars().collect();
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// An index as servers write it.
fn index(number: usize, style: usize) -> Value {
    match style {
        1 => json!(number.to_string()),
        2 => json!(number as f64),
        _ => json!(number),
    }
}

fn usage(choices: &mut Choices<'_>) -> Value {
    match choices.pick(4) {
        1 => Value::Null,
        2 => {
            json!({ "input_tokens": "3", "prompt_tokens": "3", "output_tokens": null, "completion_tokens": [] })
        }
        3 => json!("none"),
        _ => json!({ "input_tokens": 3, "output_tokens": 4, "prompt_tokens": 3, "completion_tokens": 4 }),
    }
}

fn responses(texts: &[&[&str]], calls: &[(String, Value)], choices: &mut Choices<'_>) -> Vec<Event> {
    let (ids, counting, style) = (choices.pick(4), choices.departs(), choices.pick(3));
    // Where the text stands: in deltas and at the end, in deltas alone, in the whole text of the part, or at the end.
    let place = choices.pick(4);
    let (announces, ends_items) = (!choices.departs(), !choices.departs());
    let output = choices.pick(4);
    let text_is_last = place == 3 || output == 3;
    let mut events =
        vec![event("response.created", json!({ "response": { "id": "resp_1", "created_at": 1.5 } }))];
    let mut count = 0;
    let mut id = |item: usize| {
        count += 1;
        match ids {
            1 => Value::Null,
            // An id that each event encrypts anew.
            2 if announces => json!(format!("item_{count}")),
            _ => json!(format!("item_{item}")),
        }
    };
    let message = |id: Value, text: &str| json!({ "type": "message", "id": id, "content": [{ "type": "output_text", "text": text, "annotations": [] }] });
    let mut items = Vec::new();
    for at in 0..texts.len() + calls.len() {
        let Some((name, arguments)) = at.checked_sub(1).and_then(|call| calls.get(call)) else {
            let text = texts[usize::from(at > 0)];
            let (deltas, whole) = (deltas(text, choices), text.concat());
            if announces {
                let item = json!({ "type": "message", "id": id(at), "content": [] });
                events.push(event(
                    "response.output_item.added",
                    json!({ "output_index": index(at, style), "item": item }),
                ));
                let part = json!({ "item_id": id(at), "output_index": index(at, style), "content_index": 0, "part": {} });
                events.push(event("response.content_part.added", part));
            }
            if place < 2 {
                for (number, delta) in deltas.iter().enumerate() {
                    // A server without ids has only the index.
                    let counting = counting && !matches!(ids, 1 | 2);
                    let content_index = index(if counting { number } else { 0 }, style);
                    let data = format!(
                        "{{\"item_id\":{},\"output_index\":{},\"content_index\":{content_index},\"delta\":{delta}}}",
                        id(at),
                        index(at, style),
                    );
                    events.push(("response.output_text.delta".to_owned(), data));
                }
            }
            if place == 0 || place == 2 {
                let done = json!({ "item_id": id(at), "output_index": index(at, style), "content_index": 0, "text": whole });
                events.push(event("response.output_text.done", done));
            }
            if ends_items && place != 1 {
                events.push(event(
                    "response.output_item.done",
                    json!({ "output_index": index(at, style), "item": message(id(at), &whole) }),
                ));
            }
            items.push(message(id(at), &whole));
            continue;
        };
        let call = |id: Value, arguments: Value| json!({ "type": "function_call", "id": id, "call_id": format!("call_{at}"), "name": name, "arguments": arguments });
        let (in_deltas, in_done) = (!choices.departs(), !choices.departs());
        let added = call(id(at), [json!(""), Value::Null, json!("{}")][choices.pick(3)].clone());
        events.push(event(
            "response.output_item.added",
            json!({ "output_index": index(at, style), "item": added }),
        ));
        let place = |id: Value| json!({ "item_id": id, "output_index": index(at, style) });
        if in_deltas {
            for piece in pieces(arguments, choices) {
                let mut delta = place(id(at));
                delta["delta"] = json!(piece);
                events.push(event("response.function_call_arguments.delta", delta));
            }
        }
        if in_done || !in_deltas {
            let mut done = place(id(at));
            done["arguments"] =
                if choices.departs() { arguments.clone() } else { json!(arguments.to_string()) };
            events.push(event("response.function_call_arguments.done", done));
        }
        let item = call(id(at), json!(arguments.to_string()));
        if ends_items {
            events.push(event(
                "response.output_item.done",
                json!({ "output_index": index(at, style), "item": item }),
            ));
        }
        items.push(item);
    }
    let output = match output {
        _ if text_is_last => Value::Array(items),
        1 => json!([]),
        2 => json!([{ "type": "reasoning", "summary": [] }]),
        _ => Value::Array(items),
    };
    let response =
        json!({ "id": "resp_1", "status": "completed", "output": output, "usage": usage(choices) });
    // Its end can't be read, as if it were beyond the limit.
    if !text_is_last && choices.departs() {
        events.push(("response.completed".to_owned(), "{\"response\":{\"id\":\"resp_1\",\"instr".to_owned()));
    } else {
        events.push(event("response.completed", json!({ "response": response })));
    }
    // Most servers name the type in the data too.
    if !choices.departs() {
        for (kind, data) in &mut events {
            *data = data.replacen('{', &format!("{{\"type\":\"{kind}\","), 1).replace(",}", "}");
        }
    }
    events
}

fn chat_completions(text: &[&str], calls: &[(String, Value)], choices: &mut Choices<'_>) -> Vec<Event> {
    let chunk = |delta: &str| {
        format!(
            "{{\"id\":\"c1\",\"created\":1.5,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}"
        )
    };
    let mut events: Vec<Event> = Vec::new();
    let mut push = |data: String| events.push(("message".to_owned(), data));
    push(chunk("{\"role\":\"assistant\",\"content\":null,\"tool_calls\":null}"));
    for delta in deltas(text, choices) {
        push(chunk(&format!("{{\"content\":{delta}}}")));
    }
    // One departure in how a call's pieces are told apart; several at once can't be.
    let (departure, style, start) = (choices.pick(8), choices.pick(3), choices.pick(3));
    let repeats = choices.departs() && departure != 7;
    for (at, (name, arguments)) in calls.iter().enumerate() {
        let id = |piece: usize| match (departure, piece) {
            (1, 1..) => json!(format!("call_{at}_{piece}")),
            (2 | 3, _) | (_, 0) => json!(format!("call_{at}")),
            _ => Value::Null,
        };
        let place = |piece: usize| match departure {
            2 => index(100 * at + piece, style),
            5 => json!(0),
            6 => Value::Null,
            _ => index(at, style),
        };
        let whole = [arguments.clone(), json!(arguments.to_string())][choices.pick(2)].clone();
        let mut parts: Vec<(Value, Value)> = match departure {
            7 => vec![(json!(name), whole.clone())],
            _ => {
                let named =
                    |piece: usize| if piece == 0 || departure == 4 { json!(name) } else { Value::Null };
                let pieces = pieces(arguments, choices);
                let pieces = pieces.into_iter().map(|piece| json!(piece));
                pieces.enumerate().map(|(piece, text)| (named(piece), text)).collect()
            }
        };
        if start > 0 && departure <= 2 {
            if let Some((first, _)) = parts.first_mut() {
                *first = Value::Null;
            }
            parts.insert(0, (json!(name), if start == 1 { json!("") } else { json!({}) }));
        }
        if departure == 3 {
            // The name in pieces, before the arguments.
            let (head, tail) = name.split_at(2);
            if let Some((first, _)) = parts.first_mut() {
                *first = Value::Null;
            }
            parts.insert(0, (json!(tail), json!("")));
            parts.insert(0, (json!(head), Value::Null));
        }
        for (piece, (name, text)) in parts.into_iter().enumerate() {
            let call = json!({ "index": place(piece), "id": id(piece), "function": { "name": name, "arguments": text } });
            push(chunk(&json!({ "tool_calls": [call] }).to_string()));
        }
        if repeats {
            let call =
                json!({ "index": place(0), "id": id(0), "function": { "name": name, "arguments": whole } });
            push(chunk(&json!({ "tool_calls": call }).to_string()));
        }
    }
    let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    push(json!({ "choices": [{ "index": "0", "delta": null, "finish_reason": reason }], "usage": usage(choices) }).to_string());
    if choices.departs() {
        push("{\"usage\":{\"promp".to_owned());
    } else {
        push("[DONE]".to_owned());
    }
    events
}

/// Adds an event: its name, the index of its block, and a member with its value.
type Push<'a> = dyn FnMut(&str, Option<usize>, &str, String) + 'a;

fn anthropic_messages(texts: &[&[&str]], calls: &[(String, Value)], choices: &mut Choices<'_>) -> Vec<Event> {
    let (style, has_index, typed) = (choices.pick(3), !choices.departs(), !choices.departs());
    let mut events = Vec::new();
    let mut push = |kind: &str, at: Option<usize>, member: &str, value: String| {
        let kind_member = if typed { format!("\"type\":\"{kind}\",") } else { String::new() };
        let at =
            at.filter(|_| has_index).map(|at| format!("\"index\":{},", index(at, style))).unwrap_or_default();
        events.push((kind.to_owned(), format!("{{{kind_member}{at}\"{member}\":{value}}}")));
    };
    let start = json!({ "id": "msg_1", "model": "m", "usage": usage(choices) });
    push("message_start", None, "message", start.to_string());
    let write_text = |push: &mut Push<'_>, at: usize, text: &[&str], choices: &mut Choices<'_>| {
        let block = json!({ "type": "text", "text": "" });
        push("content_block_start", Some(at), "content_block", block.to_string());
        for delta in deltas(text, choices) {
            let delta = format!("{{\"type\":\"text_delta\",\"text\":{delta}}}");
            push("content_block_delta", Some(at), "delta", delta);
        }
        push("content_block_stop", Some(at), "ignored", "NaN".to_owned());
    };
    write_text(&mut push, 0, texts[0], choices);
    let repeats = choices.departs();
    for (at, (name, arguments)) in
        calls.iter().enumerate().flat_map(|it| [it; 2]).skip(1).step_by(if repeats { 1 } else { 2 })
    {
        let place = Some(at + 1);
        let (in_start, empty_first) = (choices.pick(4), choices.departs());
        let input = match in_start {
            1 => arguments.clone(),
            2 => json!(arguments.to_string()),
            3 => Value::Null,
            _ => json!({}),
        };
        let block = json!({ "type": "tool_use", "id": format!("toolu_{at}"), "name": name, "input": input });
        push("content_block_start", place, "content_block", block.to_string());
        let mut input = |piece: Value| {
            let delta = json!({ "type": "input_json_delta", "partial_json": piece });
            push("content_block_delta", place, "delta", delta.to_string());
        };
        if empty_first {
            input(json!("{}"));
        }
        if !matches!(in_start, 1 | 2) {
            match choices.departs() {
                true => input(arguments.clone()),
                false => pieces(arguments, choices).into_iter().for_each(|piece| input(json!(piece))),
            }
        }
        push("content_block_stop", place, "ignored", "0".to_owned());
    }
    if let Some(text) = texts.get(1) {
        write_text(&mut push, calls.len() + 1, text, choices);
    }
    let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
    push("message_delta", None, "delta", json!({ "stop_reason": reason }).to_string());
    push("message_stop", None, "ignored", if choices.departs() { "{".to_owned() } else { "0".to_owned() });
    events
}

fn bedrock_converse(texts: &[&[&str]], calls: &[(String, Value)], choices: &mut Choices<'_>) -> Vec<Event> {
    let style = choices.pick(3);
    let delta = |at: usize, delta: &str| {
        let data = format!("{{\"contentBlockIndex\":{},\"delta\":{delta},\"p\":\"ab\"}}", index(at, style));
        ("contentBlockDelta".to_owned(), data)
    };
    let mut events = vec![event("messageStart", json!({ "role": "assistant" }))];
    let text_at = |at: usize, text: &[&str], choices: &mut Choices<'_>| -> Vec<Event> {
        deltas(text, choices).iter().map(|text| delta(at, &format!("{{\"text\":{text}}}"))).collect()
    };
    events.extend(text_at(0, texts[0], choices));
    for (at, (name, arguments)) in calls.iter().enumerate() {
        let at = at + 1;
        let start = json!({ "toolUse": { "toolUseId": format!("tooluse_{at}"), "name": name } });
        events.push(event(
            "contentBlockStart",
            json!({ "contentBlockIndex": index(at, style), "start": start }),
        ));
        let mut input =
            |piece: Value| events.push(delta(at, &json!({ "toolUse": { "input": piece } }).to_string()));
        if choices.departs() {
            input(json!("{}"));
        }
        match choices.departs() {
            true => input(arguments.clone()),
            false => pieces(arguments, choices).into_iter().for_each(|piece| input(json!(piece))),
        }
    }
    if let Some(text) = texts.get(1) {
        events.extend(text_at(calls.len() + 1, text, choices));
    }
    let reason = if choices.departs() { Value::Null } else { json!("end_turn") };
    events.push(event("messageStop", json!({ "stopReason": reason })));
    events.push(event("metadata", json!({ "usage": usage(choices) })));
    events
}

/// Inserts what no reply needs: comments in place of values, events of no known type, and words that aren't JSON.
fn insert_noise(events: &mut Vec<Event>, choices: &mut Choices<'_>) {
    let noise = [
        ("ping", "{\"type\": \"ping\"}"),
        ("message", "keep-alive"),
        ("novelty", "{\"type\":\"novelty\",\"depth\":NaN}"),
        ("message", ""),
        ("novelty", "nov{"),
        ("ping", "undefined"),
    ];
    for _ in 0..choices.pick(4) {
        let (kind, data) = noise[choices.pick(noise.len())];
        let at = choices.pick(events.len());
        events.insert(at, (kind.to_owned(), data.to_owned()));
    }
    for (_, data) in events.iter_mut() {
        if data.ends_with('}') && choices.departs() {
            let member =
                [",\"x\":NaN}", ",\"x\":-Infinity}", "/* x */}", ",\"x\":\"\\ud800\"}", ",}", ",\"x\":0x1F}"];
            data.truncate(data.len() - 1);
            data.push_str(member[choices.pick(member.len())]);
        }
    }
}

/// Writes the events as bytes.
fn frame(wire: Wire, events: &[Event], choices: &mut Choices<'_>) -> Vec<u8> {
    let end = ["\n", "\r\n", "\r"][choices.pick(3)];
    // Some servers end an event with one newline, which only documents survive.
    let is_tight =
        choices.departs() && events.iter().all(|(_, data)| data.ends_with('}') || data == "[DONE]");
    let names = !choices.departs()
        || wire == Wire::BedrockConverse
        || !events.iter().all(|(_, data)| data.contains("\"type\""));
    let mut stream = ["", "\n\n", ": waiting\n\n", "\u{feff}"][choices.pick(4)].to_owned();
    for (kind, data) in events {
        if names && kind != "message" {
            stream.push_str(&format!("event: {kind}{end}"));
        }
        stream.push_str(&format!("data: {data}{end}"));
        if !is_tight {
            stream.push_str(end);
        }
    }
    stream.into_bytes()
}
