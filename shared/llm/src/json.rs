//! Lenient parsing of JSON, and the halves of characters that JSON can hold and Rust's strings can't.
//!
//! A reply is paid for, so a value that nothing reads must not cost it: what isn't JSON becomes null. JavaScript gateways
//! cut characters between two chunks. Their halves are kept until [`whole_characters`] joins them: each stands as one
//! character of a private use area that no known font or application has.

use std::borrow::Cow;

use memchr::memchr;
use serde_json::{Map, Number, Value};

/// The distance from a half (U+D800 to U+DFFF) to the character that stands for it.
const HALF_OFFSET: u32 = 0x10_0000;

/// The first UTF-8 byte of every character that stands for a half.
const HALF_BYTE: u8 = 0xF4;

/// The most levels of nesting that a repair keeps. `serde_json` refuses 128.
const MAX_DEPTH: usize = 100;

/// The names of members that hold the arguments of a call.
const ARGUMENTS: [&str; 3] = ["\"arguments\"", "\"input\"", "\"partial_json\""];

/// Parses JSON. If it is invalid, repairs it first: tokens that aren't JSON and too deep values become null; comments,
/// trailing commas and unescaped control characters are accepted. Invalid arguments of a call become their text, since a
/// tool must not run with repaired ones. `None` if it still can't be read.
pub(crate) fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&Repair::run(text)?).ok())
}

/// Parses a JSON object, as [`parse`] does.
pub(crate) fn parse_object(text: &str) -> Option<Map<String, Value>> {
    match parse(text)? {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

/// Returns an index or a count: a number, also as a float or a string.
pub(crate) fn number(value: &Value) -> Option<u64> {
    let float = |number: f64| {
        let rounded = number.round();
        // A larger number is no plausible count. Below this, rounding is exact.
        (0.0..1e15).contains(&rounded).then(|| format!("{rounded:.0}").parse().ok())?
    };
    match value {
        Value::Number(number) => number.as_u64().or_else(|| float(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok().or_else(|| float(text.trim().parse().ok()?)),
        _ => None,
    }
}

/// Returns an index, if it is one.
pub(crate) fn index(value: Option<&Value>) -> Option<u32> {
    u32::try_from(number(value?)?).ok()
}

/// Returns a string, or any other value but null as JSON text. Some servers send arguments as an object.
pub(crate) fn string_or_json(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Joins the halves of characters in a text. A lone half becomes U+FFFD.
pub(crate) fn whole_characters(text: &str) -> Cow<'_, str> {
    if !has_half(text) {
        return Cow::Borrowed(text);
    }
    let units = text.chars().flat_map(|character| match half(character) {
        Some(half) => vec![half],
        None => character.encode_utf16(&mut [0; 2]).to_vec(),
    });
    Cow::Owned(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// Joins the halves of characters in every string of a value.
pub(crate) fn make_whole(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(whole) = whole_characters(text) {
                *text = whole;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(make_whole),
        Value::Object(members) => members.values_mut().for_each(make_whole),
        _ => {}
    }
}

/// Splits a text before its last character if that is the first half of one.
pub(crate) fn split_open_half(text: &str) -> (&str, &str) {
    let last = text.chars().next_back();
    let is_open = last.and_then(half).is_some_and(|half| (0xD800..0xDC00).contains(&half));
    let length = last.filter(|_| is_open).map_or(0, char::len_utf8);
    text.split_at_checked(text.len() - length).unwrap_or((text, ""))
}

/// True if the text has a half of a character.
pub(crate) fn has_half(text: &str) -> bool {
    memchr(HALF_BYTE, text.as_bytes()).is_some() && text.chars().any(|it| half(it).is_some())
}

/// Returns the half that a character stands for.
fn half(character: char) -> Option<u16> {
    let half = u32::from(character).checked_sub(HALF_OFFSET)?;
    u16::try_from(half).ok().filter(|half| (0xD800..=0xDFFF).contains(half))
}

/// A pass over invalid JSON that rewrites what can't be parsed.
struct Repair<'a> {
    rest: &'a str,
    out: String,
    depth: usize,
}

impl<'a> Repair<'a> {
    /// Returns the repaired text. `None` if a string or a comment doesn't end.
    fn run(text: &'a str) -> Option<String> {
        let mut repair = Self { rest: text, out: String::with_capacity(text.len()), depth: 0 };
        while let Some(next) = repair.rest.chars().next() {
            match next {
                '"' => repair.member()?,
                '/' => repair.comment()?,
                '{' | '[' => repair.open(),
                '}' | ']' => repair.close(),
                _ if next.is_whitespace() || ",:".contains(next) => repair.copy(next),
                _ => repair.token(),
            }
        }
        Some(repair.out)
    }

    /// Takes this many bytes of the rest.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// True if the current value is too deep to keep.
    fn is_too_deep(&self) -> bool {
        self.depth > MAX_DEPTH
    }

    fn put(&mut self, text: &str) {
        if !self.is_too_deep() {
            self.out.push_str(text);
        }
    }

    fn copy(&mut self, next: char) {
        let text = self.take(next.len_utf8());
        self.put(text);
    }

    fn open(&mut self) {
        let bracket = self.take(1);
        self.depth += 1;
        if self.depth == MAX_DEPTH + 1 {
            self.out.push_str("null");
        }
        self.put(bracket);
    }

    fn close(&mut self) {
        let bracket = self.take(1);
        if !self.is_too_deep() {
            let length = self.out.trim_end().strip_suffix(',').map_or(self.out.len(), str::len);
            self.out.truncate(length);
            self.out.push_str(bracket);
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn comment(&mut self) -> Option<()> {
        let length = match self.rest.strip_prefix("/*") {
            Some(rest) => rest.find("*/")? + 4,
            None => self.rest.find('\n').unwrap_or(self.rest.len()),
        };
        self.take(length);
        Some(())
    }

    /// Copies a number, `true`, `false` or `null`, and writes null for any other token.
    fn token(&mut self) {
        let is_end = |next: char| next.is_whitespace() || ",:{}[]\"/".contains(next);
        let length = self.rest.find(is_end).unwrap_or(self.rest.len());
        let token = self.take(length);
        let is_valid = matches!(token, "true" | "false" | "null") || token.parse::<Number>().is_ok();
        self.put(if is_valid { token } else { "null" });
    }

    /// Copies a string. If it names invalid arguments of a call, writes them as text.
    fn member(&mut self) -> Option<()> {
        let start = self.rest;
        self.string()?;
        let name = start.strip_suffix(self.rest)?;
        let value = self.rest.trim_start().strip_prefix(':').map(str::trim_start);
        let value = value.filter(|value| ARGUMENTS.contains(&name) && value.starts_with(['{', '[']));
        if let Some(value) = value.filter(|_| !self.is_too_deep()) {
            let (arguments, rest) = split_value(value)?;
            let nested = format!("{}{arguments}{}", "[".repeat(self.depth), "]".repeat(self.depth));
            let is_valid = serde_json::from_str::<Value>(&nested).is_ok();
            self.put(":");
            self.put(&if is_valid { arguments.to_owned() } else { Value::from(arguments).to_string() });
            self.rest = rest;
        }
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        self.take(1);
        self.put("\"");
        loop {
            let end = self.rest.find(|next: char| matches!(next, '"' | '\\') || next.is_control())?;
            let text = self.take(end);
            self.put(text);
            let next = self.rest.chars().next()?;
            self.take(next.len_utf8());
            match next {
                '"' => {
                    self.put("\"");
                    return Some(());
                }
                '\\' => self.escape()?,
                control => self.put(&format!("\\u{:04x}", u32::from(control))),
            }
        }
    }

    /// Copies an escape after its backslash. One that JSON doesn't have stands for its character.
    fn escape(&mut self) -> Option<()> {
        let kind = self.rest.chars().next()?;
        let text = self.take(kind.len_utf8());
        match kind {
            'u' => {
                let unit = self.unit().unwrap_or(0xFFFD);
                match char::from_u32(unit) {
                    Some(character) => self.put(&escaped(character)),
                    None => self.half(unit),
                }
            }
            '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => {
                self.put("\\");
                self.put(text);
            }
            other => self.put(&escaped(other)),
        }
        Some(())
    }

    /// Writes a pair of halves as their character, and a lone one as the character that stands for it.
    fn half(&mut self, unit: u32) {
        let rest = self.rest;
        if (0xD800..0xDC00).contains(&unit) && rest.starts_with("\\u") {
            self.take(2);
            match self.unit() {
                Some(low @ 0xDC00..=0xDFFF) => {
                    let pair = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                    return self.put(&char::from_u32(pair).unwrap_or_default().to_string());
                }
                _ => self.rest = rest,
            }
        }
        self.put(&char::from_u32(HALF_OFFSET + unit).unwrap_or_default().to_string());
    }

    /// Takes the four digits of an escaped code unit.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.rest.get(..4).filter(|digits| digits.bytes().all(|it| it.is_ascii_hexdigit()))?;
        self.take(4);
        u32::from_str_radix(digits, 16).ok()
    }
}

/// Splits a text after the object or list that it starts with. `None` if that doesn't end.
fn split_value(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b'{' | b'[' if !is_string => depth += 1,
            b'}' | b']' if !is_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return text.split_at_checked(at + 1);
        }
    }
    None
}

/// Escapes a character if it can't stand in a string by itself.
fn escaped(character: char) -> String {
    match character {
        '"' | '\\' => format!("\\{character}"),
        control if control.is_control() => format!("\\u{:04x}", u32::from(control)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_that_are_no_json_become_null() {
        for (text, expected) in [
            (
                r#"{"a":NaN,"b":-Infinity,"c":1e999,"d":01,"e":undefined,"f":1.50}"#,
                json!({"a":null,"b":null,"c":null,"d":null,"e":null,"f":1.5}),
            ),
            ("{\"a\":1, // why\n \"b\" /* not */ : \"//c\",}", json!({"a":1,"b":"//c"})),
            (r#"{"a":"\x\'\u00e9\/\n","b":[1,2,],"n":nan}"#, json!({"a":"x'é/\n","b":[1,2],"n":null})),
            ("{\"a\":\"b\tc\nd\",\"n\":NaN}", json!({"a":"b\tc\nd","n":null})),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        for text in ["", "{", "keep-alive", "{\"a\":\"b", "{\"a\":NaN", "{a:1}", "{\"a\":1}}", "/*"] {
            assert_eq!(parse_object(text), None, "{text}");
        }
    }

    #[test]
    fn invalid_arguments_are_kept_as_text() {
        let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        // The second is valid by itself, and too deep within the reply.
        let (deep, deeper) = (nested(200), nested(124));
        let half = r#"{"a":"\ud800"}"#.to_owned();
        for arguments in [
            deep,
            deeper,
            half,
            r#"{"a":NaN,"b":"\"}"}"#.to_owned(),
            "{'a':1}".to_owned(),
            "[1e999]".to_owned(),
        ] {
            for name in ["input", "arguments", "partial_json"] {
                let text = format!("{{\"b\":[{{\"{name}\" : {arguments} ,\"c\":NaN}}]}}");
                assert_eq!(parse(&text), Some(json!({"b":[{name:arguments,"c":null}]})), "{text}");
            }
        }
        let valid = r#"{"input":{"a":[1]},"b":"input","c":NaN}"#;
        assert_eq!(parse(valid), Some(json!({"input":{"a":[1]},"b":"input","c":null})));
        assert_eq!(parse(r#"{"input":{"a":NaN"#), None);
    }

    #[test]
    fn nesting_beyond_the_limit_becomes_null() {
        let deep = format!("{{\"a\":{}1{},\"b\":2}}", "[".repeat(5_000), "]".repeat(5_000));
        assert_eq!(parse_object(&deep).unwrap()["b"], 2);
    }

    #[test]
    fn halves_of_characters_are_joined_or_replaced() {
        let text = |json: &str| parse(json).unwrap().as_str().unwrap().to_owned();
        let (first, second) = (text(r#""a\ud83d""#), text(r#""\uDE00b""#));
        assert_eq!(whole_characters(&format!("{first}{second}")), "a😀b");
        assert_eq!(whole_characters(&format!("{second}{first}")), "\u{fffd}ba\u{fffd}");
        assert_eq!(split_open_half(&first).0, "a");
        assert_eq!(split_open_half(&second).1, "");
        assert_eq!(text(r#""\ud83d\ude00\ud83dx\ud83d\ud83d\ude00""#).chars().count(), 5);
        let mut value = parse(r#"{"a":["\ud83d"]}"#).unwrap();
        make_whole(&mut value);
        assert_eq!(value, json!({"a":["\u{fffd}"]}));
    }

    #[test]
    fn numbers_are_read_in_every_notation() {
        for (value, expected) in [
            (json!(7), Some(7)),
            (json!(7.4), Some(7)),
            (json!("7"), Some(7)),
            (json!(" 7.0 "), Some(7)),
            (json!(-1), None),
            (json!("many"), None),
            (json!("NaN"), None),
            (json!(null), None),
        ] {
            assert_eq!(number(&value), expected, "{value}");
        }
    }

    proptest! {
        #[test]
        fn repair_keeps_what_is_valid(text in "(?s).{0,60}", number in any::<f64>()) {
            let value = json!({ "a": [text, number, null, true], "b": { "c": text } });
            let repaired = Repair::run(&value.to_string()).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&repaired).unwrap(), value);
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in r#"[\\"{}\[\],:/*ud8cN1 \n]{0,60}"#) {
            let _ = parse(&text);
        }
    }
}
