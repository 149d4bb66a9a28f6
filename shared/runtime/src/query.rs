//! Reads query strings for every route.
//!
//! The contract lists the parameters of each operation ([`operations`]). Unknown and repeated parameters are
//! rejected by name before anything else happens. [`Query`] deserializes the values into types that validate themselves.

use std::{collections::BTreeSet, fmt::Display};

use axum::{
    extract::{FromRequestParts, MatchedPath, Query as Pairs, Request},
    middleware::Next,
    response::{IntoResponse, Response},
};
use contracts::{
    Error, ErrorCode,
    operations::{self, Operation},
    paths,
};
use http::{Uri, request::Parts};
use percent_encoding::percent_decode_str;
use serde::{
    Deserializer,
    de::{self, DeserializeOwned, IntoDeserializer, Visitor, value::MapDeserializer},
    forward_to_deserialize_any,
};

use crate::Reply;

/// The most characters of a parameter's name that an error repeats.
const MAX_NAME_CHARS: usize = 64;

/// Rejects a query with parameters that its method and path don't accept.
pub async fn reject_unknown_params(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    // The other API checks its parameters itself, with errors in its own shape.
    let path = path.filter(|path| !path.as_str().starts_with(paths::OPENAI_PREFIX));
    // Most requests have no query, and need no look at the table.
    let path = path.filter(|_| request.uri().query().is_some());
    let faults = path.map(|path| {
        let operation = operations::find(request.method().as_str(), path.as_str());
        let takes: Vec<&str> = operation.into_iter().flat_map(Operation::query).collect();
        faults(request.uri(), &takes)
    });
    let faults = faults.unwrap_or_default();
    match faults.is_empty() {
        true => next.run(request).await,
        false => Reply::errors(faults).into_response(),
    }
}

fn pairs(uri: &Uri) -> Vec<(String, String)> {
    // Any text is a list of pairs, so malformed pairs are taken as they are.
    Pairs::try_from_uri(uri).map(|Pairs(pairs)| pairs).unwrap_or_default()
}

fn faults(uri: &Uri, takes: &[&str]) -> Vec<Error> {
    let mut seen = BTreeSet::new();
    let fault = |(name, _): (String, String)| {
        let excerpt: String = name.chars().filter(|char| !char.is_control()).take(MAX_NAME_CHARS).collect();
        let unknown = !takes.contains(&name.as_str());
        let message = match (unknown, takes) {
            (true, []) => {
                format!(
                    "Unknown query parameter \"{excerpt}\". This request has no query parameters. Omit it."
                )
            }
            (true, takes) => {
                format!("Unknown query parameter \"{excerpt}\". This request takes {}.", takes.join(", "))
            }
            (false, _) if !seen.insert(name) => {
                format!("Query parameter \"{excerpt}\" may be given only once.")
            }
            (false, _) => return None,
        };
        Some(Error::new(ErrorCode::ParameterInvalid, message).with_details(&excerpt))
    };
    pairs(uri).into_iter().filter_map(fault).collect()
}

/// The parameters of a query: a struct with a field for each.
///
/// An absent parameter and an empty one are the same: `None`, false, the first variant of an enum, or else an empty
/// text. A field that is a struct itself has its parameters in the same query. A rule between them is reported under
/// the name of that field.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> Query<T> {
    /// Reads the query of a URI.
    ///
    /// # Errors
    /// Fails at the first parameter with an invalid value.
    pub fn from_uri(uri: &Uri) -> Result<Self, Error> {
        let parameters = Parameter { query: &pairs(uri), name: "" };
        serde_path_to_error::deserialize(parameters).map(Self).map_err(|fault| {
            let path = fault.path().to_string();
            let name = path.rsplit('.').next().unwrap_or_default();
            let message = format!("{name} {}.", fault.inner());
            Error::new(ErrorCode::ParameterInvalid, message).with_details(name)
        })
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Reply> {
        Self::from_uri(&parts.uri).map_err(Reply::error)
    }
}

/// The rule that a value breaks.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Rule(String);

impl de::Error for Rule {
    fn custom<T: Display>(rule: T) -> Self {
        Self(rule.to_string())
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self(format!("must be one of {}", expected.join(", ")))
    }
}

/// Deserializes the parameter with this name, or a struct of parameters.
#[derive(Clone, Copy)]
struct Parameter<'a> {
    query: &'a [(String, String)],
    name: &'static str,
}

impl<'a> Parameter<'a> {
    fn text(self) -> &'a str {
        self.query.iter().find(|(name, _)| name == self.name).map_or("", |(_, value)| value.as_str())
    }
}

impl<'de> IntoDeserializer<'de, Rule> for Parameter<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Parameter<'_> {
    type Error = Rule;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rule> {
        visitor.visit_str(self.text())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rule> {
        if self.text().is_empty() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rule> {
        match self.text() {
            "true" => visitor.visit_bool(true),
            "false" | "" => visitor.visit_bool(false),
            _ => Err(Rule("must be true or false".to_owned())),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &str,
        variants: &[&str],
        visitor: V,
    ) -> Result<V::Value, Rule> {
        let text = Some(self.text()).filter(|text| !text.is_empty()).or(variants.first().copied());
        visitor.visit_enum(text.unwrap_or_default().into_deserializer())
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Rule> {
        let parameters = fields.iter().map(|&name| (name, Self { name, ..self }));
        visitor.visit_map(MapDeserializer::new(parameters))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// The identity of a list: its path and its filters. Pages of different sizes belong to the same list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListScope(pub String);

impl ListScope {
    /// Returns the list at a path without filters.
    #[must_use]
    pub fn unfiltered(path: &str) -> Self {
        Self(format!("{path}?"))
    }

    /// Returns the list that a URI asks for a page of.
    fn from_uri(uri: &Uri) -> Self {
        let narrows = |(name, value): &(String, String)| {
            !value.is_empty() && !["pageSize", "continuationToken"].contains(&name.as_str())
        };
        let path = percent_decode_str(uri.path()).decode_utf8_lossy();
        let mut filters: Vec<_> = pairs(uri).into_iter().filter(narrows).collect();
        filters.sort();
        // With lengths, so that no value can pass for another parameter.
        let filters = filters.iter().map(|(name, value)| format!("{name}={}:{value}", value.len()));
        Self(format!("{path}?{}", filters.collect::<Vec<_>>().join("&")))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ListScope {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Reply> {
        Ok(Self::from_uri(&parts.uri))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn unknown_parameter_is_rejected_by_name() {
        let messages = |query: &str, takes: &[&str]| -> Vec<String> {
            let uri = format!("/x{query}").parse().unwrap();
            faults(&uri, takes).into_iter().map(|fault| fault.message).collect()
        };
        assert!(messages("", &[]).is_empty() && messages("?", &[]).is_empty());
        assert!(messages("?pageSize=2", &["pageSize"]).is_empty());
        assert_eq!(
            messages("?banana=1&pageSize=2&PageSize=3", &["pageSize", "userId"]),
            [
                "Unknown query parameter \"banana\". This request takes pageSize, userId.",
                "Unknown query parameter \"PageSize\". This request takes pageSize, userId.",
            ]
        );
        assert_eq!(
            messages("?b", &[]),
            ["Unknown query parameter \"b\". This request has no query parameters. Omit it."]
        );
        assert_eq!(messages("?a=1&a=1", &["a"]), ["Query parameter \"a\" may be given only once."]);
        assert!(messages(&format!("?{}=1", "x".repeat(5_000)), &[])[0].len() < 200);
    }

    #[test]
    fn invalid_value_is_rejected_by_parameter_and_rule() {
        #[derive(Debug, Deserialize)]
        struct Outer {
            flag: bool,
            order: Option<Order>,
            nested: Nested,
        }
        #[derive(Debug, Deserialize)]
        struct Nested {
            order: Order,
            text: String,
        }
        #[derive(Debug, Deserialize, PartialEq)]
        #[serde(rename_all = "lowercase")]
        enum Order {
            Asc,
            Desc,
        }
        let parse = |query: &str| Query::<Outer>::from_uri(&format!("/x?{query}").parse().unwrap());
        let Query(empty) = parse("flag=&order=").unwrap();
        assert!(!empty.flag && empty.order.is_none() && empty.nested.order == Order::Asc);
        let Query(all) = parse("flag=true&order=desc&text=a%20b").unwrap();
        assert!(all.flag && all.order == Some(Order::Desc) && all.nested.order == Order::Desc);
        assert_eq!(all.nested.text, "a b");
        for (query, name, message) in [
            ("flag=yes", "flag", "flag must be true or false."),
            ("order=up", "order", "order must be one of asc, desc."),
        ] {
            let error = parse(query).unwrap_err();
            assert_eq!((error.message.as_str(), error.details.as_deref()), (message, Some(name)));
            assert_eq!(error.error_code, ErrorCode::ParameterInvalid);
        }
    }

    #[test]
    fn list_is_identified_by_its_filters() {
        let list = |query: &str| ListScope::from_uri(&format!("/x?{query}").parse().unwrap());
        let narrowed = list("mode=a&userId=b&pageSize=3");
        assert_eq!(narrowed, list("continuationToken=t&userId=b&mode=a"));
        assert_eq!(narrowed, ListScope("/x?mode=1:a&userId=1:b".to_owned()));
        assert_ne!(narrowed, list("mode=a%26userId%3D1:b"));
        assert_eq!(list("mode="), ListScope::unfiltered("/x"));
    }
}
