//! Long results, which the model gets by reference: a part of each in the call's result, and the rest with `read_result`.
//!
//! A result is data. Nothing in it is interpreted, and no part of it is left out without a word.

use contracts::{FileAddress, id::TurnId};
use serde_json::{Value, json};

use crate::text::truncate;

/// The most bytes of a result that the model gets as it is.
pub const MAX_DIRECT_BYTES: usize = 16 * 1024;
/// The bytes of the head in a reference.
const HEAD_BYTES: usize = 2 * 1024;
/// The most bytes of a part.
const MAX_PART_BYTES: usize = 12 * 1024;
/// The most bytes of a shape.
const MAX_SHAPE_BYTES: usize = 1_024;
/// The levels of a shape, and the members that it shows of each object.
const SHAPE_LEVELS: usize = 3;
const SHAPE_MEMBERS: usize = 16;

/// The id of a stored result: its turn, and the address of its file there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultId {
    /// The turn.
    pub turn: TurnId,
    /// The address of the file.
    pub address: FileAddress,
}

/// A part of a stored result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The text from this byte on.
    FromByte(usize),
    /// The text from this line on. The first is 1.
    FromLine(usize),
    /// The value at a JSON pointer (RFC 6901).
    At(String),
}

impl ResultId {
    /// Reads an id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (turn, address) = text.rsplit_once('/')?;
        Some(Self { turn: TurnId::new(turn).ok()?, address: address.parse().ok()? })
    }
}

impl std::fmt::Display for ResultId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.turn, self.address)
    }
}

/// Returns what the model gets in place of a long result.
#[must_use]
pub fn reference(id: &ResultId, result: &str) -> Value {
    let value: Value = serde_json::from_str(result).unwrap_or_default();
    let text = text_of(&value);
    json!({
        "result": id.to_string(),
        "bytes": text.len(),
        "lines": text.lines().count(),
        "shape": truncate(shape(&value, SHAPE_LEVELS), MAX_SHAPE_BYTES),
        "head": &text[..text.floor_char_boundary(HEAD_BYTES)],
        "note": "The result is too long to be shown. This is its head. Read the rest with read_result.",
    })
}

/// Returns a part of a result for the model.
///
/// # Errors
/// Returns the reason that there is no such part.
pub fn read(result: &str, part: &Part) -> Result<Value, String> {
    let value: Value = serde_json::from_str(result).unwrap_or_default();
    let text = text_of(&value);
    match part {
        Part::At(pointer) => {
            let found = value.pointer(pointer).ok_or_else(|| {
                format!(
                    "The result has no value at {:?}. Its shape is {}",
                    truncate(pointer.clone(), 200),
                    shape(&value, 2)
                )
            })?;
            let json = found.to_string();
            if json.len() <= MAX_PART_BYTES {
                return Ok(json!({ "value": found }));
            }
            Ok(json!({
                "bytes": json.len(),
                "shape": truncate(shape(found, SHAPE_LEVELS), MAX_SHAPE_BYTES),
                "head": &json[..json.floor_char_boundary(HEAD_BYTES)],
                "note": "The value is too long to be shown. Name a part of it with a longer pointer.",
            }))
        }
        Part::FromByte(from) => from_byte(&text, *from),
        Part::FromLine(line) => {
            let skipped = line.saturating_sub(1);
            let from: usize = text.split_inclusive('\n').take(skipped).map(str::len).sum();
            match text.lines().count() {
                lines if skipped >= lines => Err(format!("The result has {lines} lines.")),
                _ => from_byte(&text, from),
            }
        }
    }
}

fn from_byte(text: &str, from: usize) -> Result<Value, String> {
    if from >= text.len() {
        return Err(format!("The result has {} bytes.", text.len()));
    }
    let from = text.floor_char_boundary(from);
    let to = text.floor_char_boundary(from.saturating_add(MAX_PART_BYTES));
    let line = text[..from].matches('\n').count() + 1;
    let rest = text.len() - to;
    let mut part =
        json!({ "text": &text[from..to], "from": from, "to": to, "line": line, "bytes": text.len() });
    if let (Value::Object(part), true) = (&mut part, rest > 0) {
        part.insert("note".to_owned(), format!("{rest} bytes follow. Read on from {to}.").into());
    }
    Ok(part)
}

/// Returns the text whose bytes and lines are read: that of a plain text result, or the JSON with one value a line.
fn text_of(value: &Value) -> String {
    match value {
        Value::Object(members) if members.len() == 1 => match members.get("text") {
            Some(Value::String(text)) => text.clone(),
            _ => format!("{value:#}"),
        },
        _ => format!("{value:#}"),
    }
}

/// Returns the types in a value, such as `{items: [200 × {id: number, title: string}]}`.
fn shape(value: &Value, levels: usize) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(text) if text.len() > 256 => format!("string of {} bytes", text.len()),
        Value::String(_) => "string".to_owned(),
        Value::Array(items) => match (items.first(), levels.checked_sub(1)) {
            (Some(first), Some(below)) => format!("[{} × {}]", items.len(), shape(first, below)),
            (first, _) => format!("[{}{}]", items.len(), if first.is_some() { " × …" } else { "" }),
        },
        Value::Object(members) => {
            let Some(below) = levels.checked_sub(1) else { return format!("{{{} members}}", members.len()) };
            let shown = members.iter().take(SHAPE_MEMBERS);
            let mut parts: Vec<String> = shown
                .map(|(name, member)| format!("{}: {}", truncate(name.clone(), 64), shape(member, below)))
                .collect();
            let more = members.len().saturating_sub(SHAPE_MEMBERS);
            parts.extend((more > 0).then(|| format!("{more} more")));
            format!("{{{}}}", parts.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long() -> Value {
        let items: Vec<Value> =
            (0..2_000).map(|n| json!({ "id": n, "title": format!("Ticket ü {n}"), "tags": ["a"] })).collect();
        json!({ "items": items, "total": 2_000 })
    }

    fn id() -> ResultId {
        ResultId {
            turn: TurnId::new("t/1".replace('/', "-")).unwrap(),
            address: FileAddress::hash_bytes(b"x"),
        }
    }

    #[test]
    fn id_is_read_as_it_is_written() {
        assert_eq!(ResultId::parse(&id().to_string()), Some(id()));
        for wrong in ["", "t", "t/", "t/xyz", "/"] {
            assert_eq!(ResultId::parse(wrong), None);
        }
    }

    #[test]
    fn reference_is_short_and_says_what_there_is() {
        let result = long().to_string();
        let reference = reference(&id(), &result);
        assert!(reference.to_string().len() < 4_096);
        assert_eq!(
            reference["shape"],
            "{items: [2000 × {id: number, tags: [1 × …], title: string}], total: number}"
        );
        assert_eq!(reference["bytes"], format!("{:#}", long()).len());
        assert!(reference["head"].as_str().unwrap().starts_with("{\n  \"items\": ["));
    }

    #[test]
    fn parts_together_are_the_whole_result() {
        for value in [long(), json!({ "text": "é\n".repeat(20_000) })] {
            let (result, mut text, mut from) = (value.to_string(), String::new(), 0);
            let whole = text_of(&value);
            while from < whole.len() {
                let part = read(&result, &Part::FromByte(from)).unwrap();
                assert!(part.to_string().len() < MAX_DIRECT_BYTES * 2);
                text += part["text"].as_str().unwrap();
                from = usize::try_from(part["to"].as_u64().unwrap()).unwrap();
                assert_eq!(part.get("note").is_some(), from < whole.len());
            }
            assert_eq!(text, whole);
        }
    }

    #[test]
    fn lines_and_values_are_found_or_refused_by_name() {
        let result = long().to_string();
        assert_eq!(read(&result, &Part::At("/items/7/id".to_owned())), Ok(json!({ "value": 7 })));
        let items = read(&result, &Part::At("/items".to_owned())).unwrap();
        assert!(items["note"].as_str().unwrap().contains("longer pointer"));
        assert!(read(&result, &Part::At("/none".to_owned())).unwrap_err().contains("\"/none\""));
        let text = json!({ "text": "one\ntwo\nthree" }).to_string();
        let part = read(&text, &Part::FromLine(2)).unwrap();
        assert_eq!((&part["text"], &part["line"]), (&json!("two\nthree"), &json!(2)));
        assert_eq!(read(&text, &Part::FromLine(4)), Err("The result has 3 lines.".to_owned()));
        assert_eq!(read(&text, &Part::FromByte(13)), Err("The result has 13 bytes.".to_owned()));
    }
}
