//! The JSON of a request as written: members in order, duplicates included.
//!
//! Validation needs details that a map would hide: duplicate members, their spelling and their order. Parsing is
//! strict (RFC 8259, UTF-8, no byte order mark, nothing after the value) and bounded in depth and count, so a
//! hostile body costs no more than an error.

use std::{borrow::Cow, cell::Cell, fmt};

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::limits::{MAX_JSON_DEPTH, MAX_JSON_VALUES, MAX_SAFE_INTEGER};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    /// A whole number within ±(2^53 − 1). `1`, `1.0` and `1e0` are equal.
    Integer(i64),
    /// A fraction within ±(2^53 − 1).
    Fraction(f64),
    /// A number too large to be exact. No member accepts one, so its value is dropped.
    InexactNumber,
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// The reason why a body is rejected as JSON.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
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
    /// Parses one JSON text.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        if bytes.starts_with(b"\xEF\xBB\xBF") {
            return Err(ParseError::ByteOrderMark);
        }
        let text = std::str::from_utf8(bytes).map_err(|e| ParseError::NotUtf8(e.valid_up_to()))?;
        if text.trim().is_empty() {
            return Err(ParseError::Empty);
        }
        let bounds = Bounds::default();
        let mut source = serde_json::Deserializer::from_str(text);
        let seed = Level { depth: 0, bounds: &bounds };
        seed.deserialize(&mut source).and_then(|json| source.end().map(|()| json)).map_err(|e| {
            match bounds.exceeded.take() {
                Some(limit) => limit,
                None => ParseError::NotJson(e.to_string()),
            }
        })
    }

    /// The kind of the value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "a number",
            Self::Fraction(_) => "a fraction",
            Self::InexactNumber => "too large a number",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

struct Bounds {
    values_left: Cell<usize>,
    // The bound that was exceeded. An error of serde can carry only text.
    exceeded: Cell<Option<ParseError>>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { values_left: Cell::new(MAX_JSON_VALUES), exceeded: Cell::new(None) }
    }
}

/// Reads the values at one depth.
#[derive(Clone, Copy)]
struct Level<'b> {
    depth: usize,
    bounds: &'b Bounds,
}

impl Level<'_> {
    fn exceed<E: de::Error>(self, bound: ParseError) -> E {
        self.bounds.exceeded.set(Some(bound));
        E::custom("a bound was exceeded")
    }

    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_JSON_DEPTH {
            return Err(self.exceed(ParseError::TooDeep));
        }
        Ok(Self { depth: self.depth + 1, bounds: self.bounds })
    }

    fn count<E: de::Error>(self) -> Result<(), E> {
        let Some(left) = self.bounds.values_left.get().checked_sub(1) else {
            return Err(self.exceed(ParseError::TooMany));
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
        Ok(if exact { Json::Integer(value) } else { Json::InexactNumber })
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Json<'de>, E> {
        i64::try_from(value).map_or(Ok(Json::InexactNumber), |value| self.visit_i64(value))
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
            false => Json::InexactNumber,
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

/// Reads a member's name. Borrows it if it has no escapes.
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
    fn order_and_duplicates_kept() {
        let json = Json::parse(br#"{"b":1,"a":null,"b":"\u00e9"}"#).unwrap();
        let Json::Object(members) = json else { panic!("{json:?}") };
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
        assert_eq!(names, ["b", "a", "b"]);
        assert_eq!(members[2].1, Json::Text("é".into()));
    }

    #[test]
    fn equal_integers_parse_alike() {
        for text in ["1", "1.0", "1e0", "10e-1"] {
            assert_eq!(Json::parse(text.as_bytes()), Ok(Json::Integer(1)), "{text}");
        }
        assert_eq!(Json::parse(b"1.5"), Ok(Json::Fraction(1.5)));
        for text in ["9007199254740992", "-9007199254740992", "1e300", "18446744073709551615"] {
            assert_eq!(Json::parse(text.as_bytes()), Ok(Json::InexactNumber), "{text}");
        }
        assert_eq!(Json::parse(b"-0"), Ok(Json::Integer(0)));
    }

    #[test]
    fn depth_and_count_are_bounded() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(Json::parse(deep(MAX_JSON_DEPTH).as_bytes()).is_ok());
        for n in [MAX_JSON_DEPTH + 1, 127, 128, 129, 1_000_000] {
            assert_eq!(Json::parse(deep(n).as_bytes()), Err(ParseError::TooDeep), "{n}");
        }
        let wide = |n: usize| format!("[{}0]", "0,".repeat(n - 2));
        assert!(Json::parse(wide(MAX_JSON_VALUES).as_bytes()).is_ok());
        assert_eq!(Json::parse(wide(MAX_JSON_VALUES + 1).as_bytes()), Err(ParseError::TooMany));
    }

    #[test]
    fn only_one_utf8_json_text_accepted() {
        assert_eq!(Json::parse(b""), Err(ParseError::Empty));
        assert_eq!(Json::parse(b" \n"), Err(ParseError::Empty));
        assert_eq!(Json::parse(b"\xEF\xBB\xBF{}"), Err(ParseError::ByteOrderMark));
        assert_eq!(Json::parse(b"\"a\xFF\""), Err(ParseError::NotUtf8(2)));
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
            assert!(matches!(Json::parse(text.as_bytes()), Err(ParseError::NotJson(_))), "{text}");
        }
    }
}
