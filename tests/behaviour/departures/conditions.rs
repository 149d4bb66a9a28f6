//! The departures of servers and models, one a line.

use serde_json::{Value, json};

use super::replies::{Api, Api::*, Draft, Part, brotli, gzip, zstd};

/// A departure.
pub struct Condition {
    pub name: String,
    pub api: Api,
    pub is_streamed: bool,
    pub parts: Vec<Part>,
    pub change: fn(&mut Draft),
}

const ALL: &[Api] = &[Responses, Chat, Messages, Converse];
/// APIs whose stream is text.
const TEXT: &[Api] = &[Responses, Chat, Messages];
/// APIs that keep the order of a reply's parts.
const ORDERED: &[Api] = &[Responses, Messages, Converse];
const BOTH: &[bool] = &[true, false];
const STREAMED: &[bool] = &[true];
const BUFFERED: &[bool] = &[false];

/// The arguments of the usual call.
const AT_1: &str = r#"{"at":1}"#;

fn text() -> Part {
    Part::Text(vec!["Let me ", "look", " 👍", "."])
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::Call(id.to_owned(), name.to_owned(), arguments.to_owned())
}

/// The usual reply: a text, and a call.
fn look() -> Vec<Part> {
    vec![text(), call("call_1", "look", AT_1)]
}

#[derive(Default)]
struct Table(Vec<Condition>);

impl Table {
    fn add(&mut self, name: &str, apis: &[Api], forms: &[bool], parts: Vec<Part>, change: fn(&mut Draft)) {
        for (api, is_streamed) in apis.iter().flat_map(|api| forms.iter().map(move |form| (*api, *form))) {
            let (name, parts) = (name.to_owned(), parts.clone());
            self.0.push(Condition { name, api, is_streamed, parts, change });
        }
    }
}

/// Returns every departure on each API and in each form that has it.
pub fn conditions() -> Vec<Condition> {
    let mut table = Table::default();
    table.add("published form", ALL, BOTH, look(), |_| ());
    table.add("text alone", ALL, BOTH, vec![text()], |_| ());
    places(&mut table);
    calls(&mut table);
    values(&mut table);
    bodies(&mut table);
    what_models_write(&mut table);
    table.0
}

/// Where text and items stand.
fn places(table: &mut Table) {
    let mut add =
        |name: &str, change: fn(&mut Draft)| table.add(name, &[Responses], STREAMED, look(), change);
    add("content index per delta", |draft| {
        let mut count = 0;
        draft.of_kind("response.output_text.delta", |data| {
            data["content_index"] = json!(count);
            count += 1;
        });
    });
    add("no indices", |draft| {
        draft.of_kind("response.", |data| {
            let members = data.as_object_mut().unwrap();
            members.retain(|name, _| !name.ends_with("_index"));
        });
    });
    add("no item ids", |draft| {
        draft.of_kind("response.", |data| drop(data.as_object_mut().unwrap().remove("item_id")));
    });
    add("new item id in each event", |draft| {
        let mut count = 0;
        draft.of_kind("response.", |data| {
            count += 1;
            if data.get("item_id").is_some() {
                data["item_id"] = json!(format!("item_{count}_new"));
            }
        });
    });
    add("no announced items", |draft| draft.drop(&[".added"]));
    add("no ended items", |draft| draft.drop(&["output_item.done", "content_part.done"]));
    add("deltas alone", |draft| {
        draft.drop(&[".done"]);
        draft.of_kind("response.completed", |data| data["response"]["output"] = json!([]));
    });
    add("no deltas", |draft| draft.drop(&[".delta"]));
    add("whole texts and arguments alone", |draft| {
        draft.drop(&[".delta", "output_item.done", "content_part"]);
        draft.of_kind("response.completed", |data| data["response"]["output"] = json!([]));
    });
    add("final output alone", |draft| draft.drop(&[".delta", ".done", ".added"]));
    add("no final output", |draft| {
        draft.of_kind("response.completed", |data| {
            drop(data["response"].as_object_mut().unwrap().remove("output"))
        });
    });
    add("final output with less text", |draft| {
        draft.of_kind("response.completed", |data| {
            data["response"]["output"][0]["content"][0]["text"] = json!("Let")
        });
    });
    add("final output without content", |draft| {
        draft.of_kind("response.completed", |data| data["response"]["output"][0]["content"] = Value::Null);
    });
    add("final output with reasoning alone", |draft| {
        let thought = json!([{ "type": "reasoning", "id": "rs_0", "summary": [] }]);
        draft.of_kind("response.completed", |data| data["response"]["output"] = thought.clone());
    });
    add("final output without the call", |draft| {
        draft.of_kind("response.completed", |data| {
            drop(data["response"]["output"].as_array_mut().unwrap().pop())
        });
    });
    add("final output without the text", |draft| {
        draft.of_kind("response.completed", |data| {
            drop(data["response"]["output"].as_array_mut().unwrap().remove(0))
        });
    });
    add("type in the event's name alone", |draft| {
        draft.of_kind("response.", |data| drop(data.as_object_mut().unwrap().remove("type")));
    });
    add("type in the data alone", |draft| draft.events.iter_mut().for_each(|(kind, _)| *kind = ""));
    add("terminal event above the limit", |draft| {
        let padding = "x".repeat(9 << 20);
        draft.of_kind("response.completed", |data| data["response"]["instructions"] = json!(padding));
    });
    add("terminal event that breaks off", |draft| {
        let data = &mut draft.events.last_mut().unwrap().1;
        data.truncate(data.len() / 2);
    });
    table.add("no indices", &[Messages, Converse], STREAMED, look(), |draft| {
        draft.of_kind("content", |data| {
            data.as_object_mut()
                .unwrap()
                .retain(|name, _| !["index", "contentBlockIndex"].contains(&name.as_str()));
        });
    });
    table.add("no ended blocks", &[Messages, Converse], STREAMED, look(), |draft| {
        draft.drop(&["content_block_stop", "contentBlockStop"]);
    });
    table.add("no last event", &[Chat, Messages, Converse], STREAMED, look(), |draft| {
        drop(draft.events.pop())
    });
    table.add("type in the data alone", &[Messages], STREAMED, look(), |draft| {
        draft.events.iter_mut().for_each(|(kind, _)| *kind = "");
    });
    table.add("type in the event's name alone", &[Messages], STREAMED, look(), |draft| {
        draft.of_kind("", |data| drop(data.as_object_mut().unwrap().remove("type")));
    });
}

/// How the pieces of calls are told apart.
fn calls(table: &mut Table) {
    let mut add = |name: &str, change: fn(&mut Draft)| table.add(name, &[Chat], STREAMED, look(), change);
    add("new id in each chunk", |draft| {
        draft.call_chunks(&[
            (json!(0), "call_1", "look", json!("")),
            (json!(0), "call_2", "", json!("{\"at\"")),
            (json!(0), "call_3", "", json!(":1}")),
        ]);
    });
    add("one id at several indices", |draft| {
        draft.call_chunks(&[
            (json!(0), "call_1", "look", json!("{\"at\"")),
            (json!(1), "call_1", "", json!(":1}")),
        ]);
    });
    add("same call twice", |draft| {
        draft.call_chunks(&[
            (json!(0), "call_1", "look", json!(AT_1)),
            (json!(0), "call_1", "look", json!(AT_1)),
        ]);
    });
    add("same call again at another index", |draft| {
        draft.call_chunks(&[
            (json!(0), "call_1", "look", json!(AT_1)),
            (json!(1), "call_1", "look", json!(AT_1)),
        ]);
    });
    add("name in pieces", |draft| {
        draft.call_chunks(&[
            (json!(0), "call_1", "lo", json!("")),
            (json!(0), "", "ok", json!("")),
            (json!(0), "", "", json!(AT_1)),
        ]);
    });
    add("name in each chunk", |draft| {
        draft.call_chunks(&[
            (json!(0), "call_1", "look", json!("{\"at\"")),
            (json!(0), "call_1", "look", json!(":1}")),
        ]);
    });
    add("empty object before the arguments", |draft| {
        draft.call_chunks(&[
            (json!(0), "call_1", "look", json!("{}")),
            (json!(0), "", "", json!("{\"at\"")),
            (json!(0), "", "", json!(":1}")),
        ]);
    });
    add("arguments as an object", |draft| {
        draft.call_chunks(&[(json!(0), "call_1", "look", json!({ "at": 1 }))])
    });
    add("no indices", |draft| {
        draft.call_chunks(&[
            (Value::Null, "call_1", "look", json!("{\"at\"")),
            (Value::Null, "", "", json!(":1}")),
        ]);
    });
    add("indices as text", |draft| {
        draft.call_chunks(&[
            (json!("0"), "call_1", "look", json!("{\"at\"")),
            (json!("0"), "", "", json!(":1}")),
        ]);
    });
    add("no finish reason", |draft| draft.events.retain(|(_, data)| !data.contains("finish_reason")));
    add("stop as the finish reason of calls", |draft| draft.replace("\"tool_calls\"}", "\"stop\"}"));
    let two = || vec![text(), call("call_1", "look", AT_1), call("call_2", "look", "{\"at\":2}")];
    table.add("two calls", ALL, BOTH, two(), |_| ());
    table.add("two calls at one index", &[Chat], STREAMED, two(), |draft| {
        draft.replace("\"index\":1", "\"index\":0")
    });
    table.add("input in the block's start", &[Messages], STREAMED, look(), |draft| {
        draft.replace("\"input\":{}", "\"input\":{\"at\":1}");
        draft.events.retain(|(_, data)| !data.contains("partial_json"));
    });
    table.add("input in the block's start, as text", &[Messages], STREAMED, look(), |draft| {
        draft.replace("\"input\":{}", "\"input\":\"{\\\"at\\\":1}\"");
        draft.events.retain(|(_, data)| !data.contains("partial_json"));
    });
    table.add("empty object before the input", &[Messages, Converse], STREAMED, look(), |draft| {
        let at = draft.events.iter().position(|(_, data)| data.contains("{\\\"")).unwrap();
        let first = draft.events[at].clone();
        let piece = if first.1.contains("partial_json") { "partial_json" } else { "input" };
        let mut value: Value = serde_json::from_str(&first.1).unwrap();
        let delta = &mut value["delta"];
        let holder = if piece == "input" { &mut delta["toolUse"] } else { delta };
        holder[piece] = json!("{}");
        draft.events.insert(at, (first.0, value.to_string()));
    });
    table.add("input as text", &[Messages, Converse], BUFFERED, look(), |draft| {
        draft.replace("\"input\":{\"at\":1}", "\"input\":\"{\\\"at\\\":1}\"");
    });
    table.add("arguments as an object", &[Responses, Chat], BUFFERED, look(), |draft| {
        draft.replace("\"arguments\":\"{\\\"at\\\":1}\"", "\"arguments\":{\"at\":1}");
    });
}

/// Values that are no JSON, or not needed.
fn values(table: &mut Table) {
    let halves = vec![Part::Text(vec!["Let me look \\ud83d", "\\udc4d."]), call("call_1", "look", AT_1)];
    table.add("character split between deltas", ALL, BOTH, halves, |_| ());
    let half = vec![Part::Text(vec!["Let me look ", "\\ud83d", "."]), call("call_1", "look", AT_1)];
    table.add("half of a character", ALL, BOTH, half, |_| ());
    table.add("values that are no JSON", ALL, BOTH, look(), |draft| {
        draft.each(|data| {
            format!("{},\"x\":[NaN,-Infinity],\"y\":\"a\tb\",/* z */}}", &data[..data.len() - 1])
        });
    });
    table.add("deep member", ALL, BOTH, look(), |draft| {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        draft.each(|data| format!("{},\"x\":{deep}}}", &data[..data.len() - 1]));
    });
    table.add("odd usage", ALL, BOTH, look(), |draft| {
        for count in ["3", "4", "7"] {
            draft.replace(&format!("okens\":{count}"), "okens\":\"many\"");
        }
    });
    table.add("line that is no JSON", TEXT, STREAMED, look(), |draft| draft.insert(("", "keep-alive")));
    table.add("pings", ALL, STREAMED, look(), |draft| draft.insert(("ping", "{\"type\":\"ping\"}")));
    table.add("unknown events", ALL, STREAMED, look(), |draft| {
        draft.insert(("novelty", "{\"type\":\"novelty\"}"))
    });
    table.add("empty events", TEXT, STREAMED, look(), |draft| draft.insert(("", "")));
}

/// A change of a draft.
type Change = fn(&mut Draft);

/// Forms of the body.
fn bodies(table: &mut Table) {
    let changes: [(&str, Change); 8] = [
        ("media type of another form", |draft| {
            let other = if draft.is_streamed { "application/json" } else { "text/event-stream" };
            draft.content_type = Some(other);
        }),
        ("media type of plain text", |draft| draft.content_type = Some("text/plain; charset=utf-8")),
        ("no media type", |draft| draft.content_type = None),
        ("gzip", |draft| (draft.content_encoding, draft.encode) = (Some("gzip"), gzip)),
        ("Brotli", |draft| (draft.content_encoding, draft.encode) = (Some("br"), brotli)),
        ("Zstandard", |draft| (draft.content_encoding, draft.encode) = (Some("zstd"), zstd)),
        ("gzip without a header", |draft| draft.encode = gzip),
        ("header of gzip on a plain body", |draft| draft.content_encoding = Some("gzip")),
    ];
    for (name, change) in changes {
        table.add(name, ALL, BOTH, look(), change);
    }
    let lines: [(&str, Change); 5] = [
        ("one newline between events", |draft| draft.event_ends = 1),
        ("lines that end with CRLF", |draft| draft.line_end = "\r\n"),
        ("lines that end with CR", |draft| draft.line_end = "\r"),
        ("comment first", |draft| draft.prefix = ": waiting\n\n"),
        ("byte order mark", |draft| draft.prefix = "\u{feff}"),
    ];
    for (name, change) in lines {
        table.add(name, TEXT, STREAMED, look(), change);
    }
    table.add("white space first", ALL, BUFFERED, look(), |draft| draft.prefix = "\n \n");
    table.add("byte order mark", ALL, BUFFERED, look(), |draft| draft.prefix = "\u{feff}");
}

/// Names, arguments, ids and orders.
fn what_models_write(table: &mut Table) {
    let calls = |calls: &[(&str, &str)]| {
        let calls = calls.iter().enumerate();
        let calls = calls.map(|(at, (name, arguments))| call(&format!("call_{at}"), name, arguments));
        [text()].into_iter().chain(calls).collect::<Vec<_>>()
    };
    let long = "x".repeat(65);
    let names = ["functions.look", "browser.tabs.open", "m\u{fc}nze", "look me up", "", &long];
    table.add("names of no tool", ALL, BOTH, calls(&names.map(|name| (name, "{}"))), |_| ());
    let nested = |levels: usize| format!("{{\"at\":1,\"in\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    let invalid = [
        "[1]",
        "null",
        "\"x\"",
        r#""{\"at\":1}""#,
        "7",
        "{\"at\":",
        "{\"at\":\"one\"}",
        "{\"at\":NaN}",
        "{'at':1}",
        "{\"at\":1}{\"at\":2}",
    ];
    let invalid = invalid.map(|arguments| ("look", arguments));
    table.add("arguments that are no object or don't fit", ALL, BOTH, calls(&invalid), |_| ());
    let (deep, deeper) = (nested(70), nested(110));
    let valid = ["", "{\"at\":1} ", "{\"at\":1,\"at\":2}", r#"{"in":"\ud83d\udc4d"}"#, &deep, &deeper];
    table.add(
        "arguments that are odd",
        ALL,
        BOTH,
        calls(&valid.map(|arguments| ("look", arguments))),
        |_| (),
    );
    let too_deep = [200, 5_000].map(nested);
    let too_deep = too_deep.each_ref().map(|arguments| ("look", arguments.as_str()));
    table.add("arguments that are too deep", ALL, BOTH, calls(&too_deep), |_| ());
    let halves = calls(&[("look", r#"{"in":"\ud800"}"#)]);
    table.add("half of a character in arguments", ALL, BOTH, halves, |_| ());
    table.add("number beyond limits in arguments", ALL, BOTH, calls(&[("look", "{\"in\":1e999}")]), |_| ());
    let signed =
        |length: usize| "sig_".chars().chain("Ab+/".chars().cycle()).take(length).collect::<String>();
    let ids = ["c".to_owned(), signed(65), signed(300), signed(4_600), "call 1:\u{e9}\"\\{}".to_owned()];
    let ids = ids.iter().enumerate().map(|(at, id)| call(id, "look", &format!("{{\"at\":{at}}}")));
    table.add("ids of any length and characters", ALL, BOTH, ids.collect(), |_| ());
    let repeated = |id: &str| vec![text(), call(id, "look", AT_1), call(id, "look", "{\"at\":2}")];
    table.add("one id for two calls", ALL, BOTH, repeated("call_1"), |_| ());
    table.add("two calls without ids", ALL, BOTH, repeated(""), |_| ());
    table.add("one odd id for two calls", ALL, BOTH, repeated("a+/="), |_| ());
    let (one, two) = (|| Part::Text(vec!["One."]), || Part::Text(vec!["Two."]));
    let thought = || Part::Think("Hm.");
    let (first, second) = (call("call_1", "look", AT_1), call("call_2", "look", "{\"at\":2}"));
    let order = vec![thought(), one(), first.clone(), two(), second];
    table.add("thought, text, call, text, call", ALL, BOTH, order, |_| ());
    let blank = vec![thought(), Part::Text(vec!["\\n\\n"]), Part::Think("So."), one(), first.clone()];
    table.add("blank text between thoughts", ALL, BOTH, blank, |_| ());
    table.add("blank text before a call", ALL, BOTH, vec![Part::Text(vec![" \\n"]), first.clone()], |_| ());
    table.add("call before the text", ORDERED, BOTH, vec![first.clone(), one()], |_| ());
    table.add("call alone", ALL, BOTH, vec![first], |_| ());
}
