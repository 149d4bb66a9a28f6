//! The kinds of values that a setting can have.

use std::{ops::RangeInclusive, time::Duration};

use http::Uri;

/// A kind of value: how it is parsed, and its rule in words.
pub trait Kind {
    /// The parsed type.
    type Value: Default;

    /// Parses a value that is not blank. Returns `None` if it breaks the rule.
    fn parse(&self, text: &str) -> Option<Self::Value>;

    /// The rule, worded to follow "must be".
    fn rule(&self) -> String;
}

/// Any non-blank text.
#[derive(Debug, Clone, Copy)]
pub struct Text;

/// A comma-separated list of names.
#[derive(Debug, Clone, Copy)]
pub struct Names;

/// `true` or `false`.
#[derive(Debug, Clone, Copy)]
pub struct Flag;

/// One of a fixed set of words.
#[derive(Debug, Clone, Copy)]
pub struct OneOf(pub &'static [&'static str]);

/// A whole number within bounds.
#[derive(Debug, Clone)]
pub struct Count {
    /// The accepted values.
    pub bounds: RangeInclusive<u32>,
    /// The unit, in the plural.
    pub unit: &'static str,
}

/// A duration in seconds; fractions are allowed.
#[derive(Debug, Clone)]
pub struct Seconds(pub RangeInclusive<f64>);

/// A duration in days; fractions are allowed.
#[derive(Debug, Clone)]
pub struct Days(pub RangeInclusive<f64>);

/// An `http` or `https` URL.
#[derive(Debug, Clone, Copy)]
pub struct Url;

impl Kind for Text {
    type Value = String;

    fn parse(&self, text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn rule(&self) -> String {
        "text".to_owned()
    }
}

impl Kind for Names {
    type Value = Vec<String>;

    fn parse(&self, text: &str) -> Option<Vec<String>> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        names.iter().all(|name| !name.is_empty()).then_some(names)
    }

    fn rule(&self) -> String {
        "a comma-separated list of names".to_owned()
    }
}

impl Kind for Flag {
    type Value = bool;

    fn parse(&self, text: &str) -> Option<bool> {
        text.parse().ok()
    }

    fn rule(&self) -> String {
        "true or false".to_owned()
    }
}

impl Kind for OneOf {
    type Value = &'static str;

    fn parse(&self, text: &str) -> Option<&'static str> {
        self.0.iter().copied().find(|word| *word == text)
    }

    fn rule(&self) -> String {
        match self.0 {
            [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            words => words.concat(),
        }
    }
}

impl Kind for Count {
    type Value = u32;

    fn parse(&self, text: &str) -> Option<u32> {
        text.parse().ok().filter(|count| self.bounds.contains(count))
    }

    fn rule(&self) -> String {
        format!("{} to {} {}", self.bounds.start(), self.bounds.end(), self.unit)
    }
}

impl Kind for Seconds {
    type Value = Duration;

    fn parse(&self, text: &str) -> Option<Duration> {
        let seconds = text.parse().ok().filter(|seconds| self.0.contains(seconds))?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    fn rule(&self) -> String {
        format!("{} to {} seconds", self.0.start(), self.0.end())
    }
}

impl Kind for Days {
    type Value = Duration;

    fn parse(&self, text: &str) -> Option<Duration> {
        let days = text.parse().ok().filter(|days| self.0.contains(days))?;
        Duration::try_from_secs_f64(days * 24.0 * 60.0 * 60.0).ok()
    }

    fn rule(&self) -> String {
        format!("{} to {} days", self.0.start(), self.0.end())
    }
}

impl Kind for Url {
    type Value = String;

    fn parse(&self, text: &str) -> Option<String> {
        let url: Uri = text.parse().ok()?;
        let is_http = matches!(url.scheme_str(), Some("http" | "https"));
        (is_http && url.host().is_some_and(|host| !host.is_empty())).then(|| text.to_owned())
    }

    fn rule(&self) -> String {
        "an http or https URL".to_owned()
    }
}
