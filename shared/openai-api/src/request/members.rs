//! Reads the members of a JSON object. Unknown ones are ignored and named, or refused.

use serde_json::{Map, Number, Value};

use super::ignored::{ignore, is_hint_anywhere, is_promise};
use crate::error::ApiError;

/// The members of an object, with its path.
#[derive(Debug, Clone)]
pub(crate) struct Members<'a> {
    members: &'a Map<String, Value>,
    path: String,
}

impl<'a> Members<'a> {
    /// Reads an object with these members. Null counts as absent. Others are ignored where a request is parsed, unless
    /// they carry state or a promise.
    pub(crate) fn read(value: &'a Value, path: &str, known: &[&str]) -> Result<Self, ApiError> {
        let Value::Object(members) = value else {
            return Err(ApiError::value(path, "must be an object"));
        };
        let read = Self { members, path: path.to_owned() };
        for (name, value) in members {
            if known.contains(&name.as_str()) || value.is_null() || is_hint_anywhere(name) {
                continue;
            }
            let param = read.param(name);
            if is_promise(name) {
                return Err(read.unsupported(name, "Omit it."));
            }
            if !ignore(param.clone()) {
                return Err(ApiError::unknown(&param));
            }
        }
        Ok(read)
    }

    /// Returns the path of a member.
    pub(crate) fn param(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Returns a member, unless it is null.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// Returns a text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, ApiError> {
        self.get(name)
            .map(|value| value.as_str().ok_or_else(|| self.rule(name, "must be a string")))
            .transpose()
    }

    /// Returns a text that must be there.
    pub(crate) fn required_text(&self, name: &str) -> Result<&'a str, ApiError> {
        self.text(name)?.ok_or_else(|| self.missing(name))
    }

    /// Returns a flag.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, ApiError> {
        self.get(name)
            .map(|value| value.as_bool().ok_or_else(|| self.rule(name, "must be a boolean")))
            .transpose()
    }

    /// Returns a number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<Number>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number.clone())),
            Some(_) => Err(self.rule(name, "must be a number")),
        }
    }

    /// Returns a count.
    pub(crate) fn count(&self, name: &str) -> Result<Option<u32>, ApiError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
        count.map(Some).ok_or_else(|| self.rule(name, "must be a whole number"))
    }

    /// Returns a list.
    pub(crate) fn list(&self, name: &str) -> Result<&'a [Value], ApiError> {
        match self.get(name) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => Err(self.rule(name, "must be an array")),
        }
    }

    /// Returns an error about a member that must be there.
    pub(crate) fn missing(&self, name: &str) -> ApiError {
        let param = self.param(name);
        ApiError::invalid(
            &param,
            "missing_required_parameter",
            format!("Missing required parameter: '{param}'."),
        )
    }

    /// Returns an error about a member whose value breaks a rule.
    pub(crate) fn rule(&self, name: &str, rule: &str) -> ApiError {
        ApiError::value(&self.param(name), rule)
    }

    /// Returns an error about a member that the service can't honour.
    pub(crate) fn unsupported(&self, name: &str, alternative: &str) -> ApiError {
        ApiError::unsupported(&self.param(name), alternative)
    }
}
