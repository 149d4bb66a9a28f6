//! A request's JSON as it was written: members in their order, doubled ones kept.
//!
//! The contract has to see what a map would hide: that a member is there twice, in which spelling,
//! and in which order. Reading is strict (RFC 8259, UTF-8, no byte order mark, nothing after the
//! value) and bounded in depth and count, so a hostile body costs no more than an error.

use std::{borrow::Cow, cell::Cell, fmt};

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::limits::{MAX_JSON_DEPTH, MAX_JSON_VALUES, MAX_SAFE_INTEGER};

/// One JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    /// A whole number within ±(2^53 − 1), however it is spelled: `1`, `1.0` and `1e0` are one.
    Integer(i64),
    /// A fraction within ±(2^53 − 1).
    Fraction(f64),
    /// A number too large to be exact. No member takes one, so its value is not kept.
    OtherNumber,
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// Why a body can't be read as JSON, or may not.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("is empty")]
    Empty,
    #[error("begins with a byte order mark; send UTF-8 without one")]
    ByteOrderMark,
    #[error("is not UTF-8 from byte {0} on")]
    NotUtf8(usize),
    #[error("is not a JSON text: {0}")]
    NotJson(String),
    #[error("nests deeper than {MAX_JSON_DEPTH} levels")]
    TooDeep,
    #[error("holds more than {MAX_JSON_VALUES} JSON values")]
    TooMany,
}

impl<'a> Json<'a> {
    /// Reads one JSON text.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        if bytes.starts_with(b"\xEF\xBB\xBF") {
            return Err(Unreadable::ByteOrderMark);
        }
        let text = std::str::from_utf8(bytes).map_err(|e| Unreadable::NotUtf8(e.valid_up_to()))?;
        if text.trim().is_empty() {
            return Err(Unreadable::Empty);
        }
        let bounds = Bounds::default();
        let mut source = serde_json::Deserializer::from_str(text);
        let seed = Level { depth: 0, bounds: &bounds };
        seed.deserialize(&mut source).and_then(|json| source.end().map(|()| json)).map_err(|e| {
            match bounds.passed.take() {
                Some(limit) => limit,
                None => Unreadable::NotJson(e.to_string()),
            }
        })
    }

    /// What kind of value it is, for a message.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "a number",
            Self::Fraction(_) => "a fraction",
            Self::OtherNumber => "too large a number",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

struct Bounds {
    values_left: Cell<usize>,
    // Which bound ended the reading; serde's own error can carry only text.
    passed: Cell<Option<Unreadable>>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { values_left: Cell::new(MAX_JSON_VALUES), passed: Cell::new(None) }
    }
}

/// Reads the values at one depth.
#[derive(Clone, Copy)]
struct Level<'b> {
    depth: usize,
    bounds: &'b Bounds,
}

impl Level<'_> {
    fn pass<E: de::Error>(self, bound: Unreadable) -> E {
        self.bounds.passed.set(Some(bound));
        E::custom("a bound was passed")
    }

    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_JSON_DEPTH {
            return Err(self.pass(Unreadable::TooDeep));
        }
        Ok(Self { depth: self.depth + 1, bounds: self.bounds })
    }

    fn count<E: de::Error>(self) -> Result<(), E> {
        let Some(left) = self.bounds.values_left.get().checked_sub(1) else {
            return Err(self.pass(Unreadable::TooMany));
        };
        self.bounds.values_left.set(left);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = Json<'de>;
    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Json<'de>, D::Error> {
        self.count()?;
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Json<'de>, E> {
        let exact = (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&value);
        Ok(if exact { Json::Integer(value) } else { Json::OtherNumber })
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Json<'de>, E> {
        i64::try_from(value).map_or(Ok(Json::OtherNumber), |value| self.visit_i64(value))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "the value is whole and the bound is exact in both types"
    )]
    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(match value.abs() <= MAX_SAFE_INTEGER as f64 {
            true if value.fract() == 0.0 => Json::Integer(value as i64),
            true => Json::Fraction(value),
            false => Json::OtherNumber,
        })
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Json<'de>, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = source.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<Json<'de>, A::Error> {
        let inner = self.deeper()?;
        let mut members = Vec::new();
        while let Some(name) = source.next_key_seed(Name)? {
            members.push((name, source.next_value_seed(inner)?));
        }
        Ok(Json::Object(members))
    }
}

/// Reads a member's name, borrowed where it holds no escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;
    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Cow<'de, str>, D::Error> {
        source.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_doubled_members() {
        let json = Json::read(br#"{"b":1,"a":null,"b":"\u00e9"}"#).unwrap();
        let Json::Object(members) = json else { panic!("{json:?}") };
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
        assert_eq!(names, ["b", "a", "b"]);
        assert_eq!(members[2].1, Json::Text("é".into()));
    }

    #[test]
    fn whole_numbers_are_one_however_they_are_spelled() {
        for text in ["1", "1.0", "1e0", "10e-1"] {
            assert_eq!(Json::read(text.as_bytes()), Ok(Json::Integer(1)), "{text}");
        }
        assert_eq!(Json::read(b"1.5"), Ok(Json::Fraction(1.5)));
        for text in ["9007199254740992", "-9007199254740992", "1e300", "18446744073709551615"] {
            assert_eq!(Json::read(text.as_bytes()), Ok(Json::OtherNumber), "{text}");
        }
        assert_eq!(Json::read(b"-0"), Ok(Json::Integer(0)));
    }

    #[test]
    fn depth_and_count_are_bounded() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(Json::read(deep(MAX_JSON_DEPTH).as_bytes()).is_ok());
        for n in [MAX_JSON_DEPTH + 1, 127, 128, 129, 1_000_000] {
            assert_eq!(Json::read(deep(n).as_bytes()), Err(Unreadable::TooDeep), "{n}");
        }
        let wide = |n: usize| format!("[{}0]", "0,".repeat(n - 2));
        assert!(Json::read(wide(MAX_JSON_VALUES).as_bytes()).is_ok());
        assert_eq!(Json::read(wide(MAX_JSON_VALUES + 1).as_bytes()), Err(Unreadable::TooMany));
    }

    #[test]
    fn anything_but_one_json_text_in_utf8_is_refused() {
        assert_eq!(Json::read(b""), Err(Unreadable::Empty));
        assert_eq!(Json::read(b" \n"), Err(Unreadable::Empty));
        assert_eq!(Json::read(b"\xEF\xBB\xBF{}"), Err(Unreadable::ByteOrderMark));
        assert_eq!(Json::read(b"\"a\xFF\""), Err(Unreadable::NotUtf8(2)));
        for text in [
            "{} x",
            "{}{}",
            "{\"a\":1,}",
            "{'a':1}",
            "nul",
            "1e999",
            r#""\ud800""#,
            r#""\udc00x""#,
            "\"\n\"",
            "01",
            "{",
            "NaN",
        ] {
            assert!(matches!(Json::read(text.as_bytes()), Err(Unreadable::NotJson(_))), "{text}");
        }
    }
}
