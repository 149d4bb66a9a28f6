//! A setting and its behaviour when it is absent.

use crate::kind::Kind;

/// An environment variable that the functions read.
#[derive(Debug, Clone)]
pub struct Setting<K, A> {
    /// The variable's name.
    pub name: &'static str,
    /// The effect of the setting, a phrase of Markdown.
    pub description: &'static str,
    /// The kind of its value.
    pub kind: K,
    /// Required, optional or defaulted. A blank value counts as absent.
    pub presence: A,
    /// The functions that read the setting.
    pub readers: &'static [&'static str],
    /// The party that sets it.
    pub set_by: SetBy,
}

/// The party that sets a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetBy {
    /// `template.yaml`.
    Template,
    /// An operator who wants another value than the default: add it to the function's variables in `template.yaml`.
    Anyone,
    /// A developer on a local machine. A function on AWS refuses to start with it.
    Developer,
    /// The Lambda service.
    Lambda,
}

/// The behaviour of a setting that is absent.
pub trait Presence {
    /// The type that reading the setting returns.
    type Output<V>;

    /// Returns the value to use. `set` is the valid value of the variable, if any; `parse` parses a default.
    fn resolve<V: Default>(&self, set: Option<V>, parse: impl FnOnce(&str) -> Option<V>) -> Self::Output<V>;

    /// True if an absent value is a fault.
    fn is_required(&self) -> bool;

    /// The behaviour in words, for the reference page.
    fn describe(&self) -> String;
}

/// The setting must be set.
#[derive(Debug, Clone, Copy)]
pub struct Required;

/// The setting defaults to this value.
#[derive(Debug, Clone, Copy)]
pub struct DefaultsTo(pub &'static str);

/// The setting has no default. The text says what happens without it.
#[derive(Debug, Clone, Copy)]
pub struct Optional(pub &'static str);

impl Presence for Required {
    type Output<V> = V;

    fn resolve<V: Default>(&self, set: Option<V>, _: impl FnOnce(&str) -> Option<V>) -> V {
        set.unwrap_or_default()
    }

    fn is_required(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        "required".to_owned()
    }
}

impl Presence for DefaultsTo {
    type Output<V> = V;

    fn resolve<V: Default>(&self, set: Option<V>, parse: impl FnOnce(&str) -> Option<V>) -> V {
        set.or_else(|| parse(self.0)).unwrap_or_default()
    }

    fn is_required(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        format!("`{}`", self.0)
    }
}

impl Presence for Optional {
    type Output<V> = Option<V>;

    fn resolve<V: Default>(&self, set: Option<V>, _: impl FnOnce(&str) -> Option<V>) -> Option<V> {
        set
    }

    fn is_required(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        self.0.to_owned()
    }
}

/// A setting of any kind, as the reference page lists it.
pub trait SettingInfo: Sync {
    /// The variable's name.
    fn name(&self) -> &'static str;
    /// The effect of the setting.
    fn description(&self) -> &'static str;
    /// The rule for its value.
    fn rule(&self) -> String;
    /// The behaviour when the setting is absent, in words.
    fn when_absent(&self) -> String;
    /// True if the default satisfies the rule, or if there is no default.
    fn has_valid_default(&self) -> bool;
    /// The functions that read the setting.
    fn readers(&self) -> &'static [&'static str];
    /// The party that sets it.
    fn set_by(&self) -> SetBy;
}

impl<K: Kind + Sync, A: Presence + Sync> SettingInfo for Setting<K, A> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn rule(&self) -> String {
        self.kind.rule()
    }

    fn when_absent(&self) -> String {
        self.presence.describe()
    }

    fn has_valid_default(&self) -> bool {
        let mut is_valid = true;
        self.presence.resolve(None, |default| {
            let parsed = self.kind.parse(default);
            is_valid = parsed.is_some();
            parsed
        });
        is_valid
    }

    fn readers(&self) -> &'static [&'static str] {
        self.readers
    }

    fn set_by(&self) -> SetBy {
        self.set_by
    }
}
