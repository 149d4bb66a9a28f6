//! Settings from the environment, read once at start-up. Any invalid or missing setting stops the function.

use std::collections::HashMap;

use crate::{
    kind::Kind,
    setting::{Presence, SetBy, Setting},
};

/// A mark that editors on Windows begin a file with. A value may come from a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The environment variables of a process and the faults found in them so far.
#[derive(Debug)]
pub struct Env {
    variables: HashMap<String, String>,
    faults: Vec<String>,
}

/// An error that lists every invalid setting.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid settings: {}", .0.join("; "))]
pub struct Invalid(Vec<String>);

impl Invalid {
    /// The faults, one per setting: a sentence without a full stop.
    pub fn faults(&self) -> &[String] {
        &self.0
    }
}

impl Env {
    /// Reads the environment of this process. Variables that are not UTF-8 are skipped.
    pub fn from_process() -> Self {
        let utf8 = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::from_vars(std::env::vars_os().filter_map(utf8))
    }

    /// Creates an environment from these variables. Blank values count as presence.
    pub fn from_vars<N: Into<String>, V: Into<String>>(variables: impl IntoIterator<Item = (N, V)>) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self {
            variables: variables.filter(|(_, value)| !value.trim().is_empty()).collect(),
            faults: Vec::new(),
        }
    }

    /// Reads a setting. An invalid value is recorded as a fault, and a fallback is returned.
    pub fn read<K: Kind, A: Presence>(&mut self, setting: &Setting<K, A>) -> A::Output<K::Value> {
        let Setting { name, kind, presence, .. } = setting;
        let text = self.variables.get(*name);
        let parsed = text.and_then(|text| kind.parse(text.trim_start_matches(BYTE_ORDER_MARK).trim()));
        let is_set = text.is_some();
        if is_set && setting.set_by == SetBy::Developer && self.is_on_aws() {
            self.add_fault(format!("{name} is for a developer's machine, and is refused on AWS"));
        } else if is_set && parsed.is_none() {
            self.add_fault(format!("{name} must be {}", kind.rule()));
        } else if !is_set && presence.is_required() {
            self.add_fault(format!("{name} must be set"));
        }
        presence.resolve(parsed, |default| kind.parse(default))
    }

    /// Replaces the value of a setting by one from another source.
    pub fn replace<K: Kind, A: Presence>(&mut self, setting: &Setting<K, A>, value: String) {
        self.variables.insert(setting.name.to_owned(), value);
    }

    /// The value of a variable whose name comes from another setting.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// True if the AWS Lambda service runs this process. Lambda sets the initialization type, and so does `sam
    /// local`, which also sets `AWS_SAM_LOCAL`. An endpoint without TLS means a local cloud.
    pub fn is_on_aws(&self) -> bool {
        let is_set = |name: &str| self.variables.contains_key(name);
        let is_plain = |name: &str| self.get(name).is_some_and(|url| url.starts_with("http://"));
        is_set("AWS_LAMBDA_INITIALIZATION_TYPE")
            && !is_set("AWS_SAM_LOCAL")
            && !is_plain("AWS_ENDPOINT_URL")
            && !is_plain("AWS_ENDPOINT_URL_DYNAMODB")
    }

    /// Records a fault of a setting that is read in more than one step.
    pub fn add_fault(&mut self, what: String) {
        self.faults.push(what);
    }

    /// Finishes reading.
    ///
    /// # Errors
    /// Every fault at once.
    pub fn finish(self) -> Result<(), Invalid> {
        if self.faults.is_empty() { Ok(()) } else { Err(Invalid(self.faults)) }
    }
}
