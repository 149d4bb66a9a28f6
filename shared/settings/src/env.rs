//! Settings, read once at start-up: a wrong or missing one stops the function with its name.

use std::collections::HashMap;

use crate::{
    kind::Kind,
    setting::{Absent, Given, Setting},
};

/// The environment, and everything that was wrong with it so far.
#[derive(Debug)]
pub struct Env {
    variables: HashMap<String, String>,
    faults: Vec<String>,
}

/// The settings can't be used; names each fault.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the function's settings are wrong: {}", .0.join("; "))]
pub struct Invalid(Vec<String>);

impl Invalid {
    /// What is wrong, a sentence without its full stop for each setting.
    pub fn faults(&self) -> &[String] {
        &self.0
    }
}

impl Env {
    /// The process's own environment.
    pub fn of_process() -> Self {
        let utf8 = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::of(std::env::vars_os().filter_map(utf8))
    }

    /// An environment of these variables. Blank ones count as left out.
    pub fn of<N: Into<String>, V: Into<String>>(variables: impl IntoIterator<Item = (N, V)>) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self {
            variables: variables.filter(|(_, value)| !value.trim().is_empty()).collect(),
            faults: Vec::new(),
        }
    }

    /// The value of a setting.
    pub fn read<K: Kind, A: Absent>(&mut self, setting: &Setting<K, A>) -> A::Read<K::Value> {
        let Setting { name, kind, absent, .. } = setting;
        let text = self.variables.get(*name);
        let parsed = text.and_then(|text| kind.parse(text.trim()));
        let is_there = text.is_some();
        if is_there && setting.given == Given::Developer && self.is_on_aws() {
            self.fault(format!("{name} is for a developer's machine, and is refused on AWS"));
        } else if is_there && parsed.is_none() {
            self.fault(format!("{name} must be {}", kind.rule()));
        } else if !is_there && absent.is_needed() {
            self.fault(format!("{name} must be set"));
        }
        absent.settle(parsed, |default| kind.parse(default))
    }

    /// A variable that another setting names.
    pub fn named(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Whether the Lambda service itself runs this process: it says how it began. The Lambda of `sam local` says so too,
    /// and whose it is; and nothing that runs on AWS reaches its services without TLS.
    pub fn is_on_aws(&self) -> bool {
        let is_set = |name: &str| self.variables.contains_key(name);
        let is_plain = |name: &str| self.named(name).is_some_and(|url| url.starts_with("http://"));
        is_set("AWS_LAMBDA_INITIALIZATION_TYPE")
            && !is_set("AWS_SAM_LOCAL")
            && !is_plain("AWS_ENDPOINT_URL")
            && !is_plain("AWS_ENDPOINT_URL_DYNAMODB")
    }

    /// Notes what is wrong with a setting that is read in more than one step.
    pub fn fault(&mut self, what: String) {
        self.faults.push(what);
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// Everything that was wrong, at once.
    pub fn finish(self) -> Result<(), Invalid> {
        if self.faults.is_empty() { Ok(()) } else { Err(Invalid(self.faults)) }
    }
}
