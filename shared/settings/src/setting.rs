//! A setting, and what counts where it is left out.

use crate::kind::Kind;

/// An environment variable that functions read.
#[derive(Debug, Clone)]
pub struct Setting<K, A> {
    /// The variable.
    pub name: &'static str,
    /// What it decides, a phrase of Markdown.
    pub meaning: &'static str,
    /// What its value may be.
    pub kind: K,
    /// What counts where it is absent. Blank is absent.
    pub absent: A,
    /// The functions that read it.
    pub readers: &'static [&'static str],
    /// Who sets it.
    pub given: Given,
}

/// Who sets a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// `template.yaml`.
    Template,
    /// Nobody has to: to change it, add it to the function's variables in `template.yaml`.
    Anyone,
    /// A developer, on a machine of theirs: a function on AWS refuses it.
    Developer,
    /// The Lambda service.
    Lambda,
}

/// What counts where a setting is left out.
pub trait Absent {
    /// What reading gives.
    type Read<V>;

    /// What is read: `set` where the variable is there and right. `parse` reads a default.
    fn settle<V: Default>(&self, set: Option<V>, parse: impl FnOnce(&str) -> Option<V>) -> Self::Read<V>;

    /// Whether leaving it out is a fault.
    fn is_needed(&self) -> bool;

    /// The same in words, for the page.
    fn words(&self) -> String;
}

/// It has to be there.
#[derive(Debug, Clone, Copy)]
pub struct Needed;

/// This value counts.
#[derive(Debug, Clone, Copy)]
pub struct Or(pub &'static str);

/// There is none, and this is what comes of it.
#[derive(Debug, Clone, Copy)]
pub struct Nothing(pub &'static str);

impl Absent for Needed {
    type Read<V> = V;

    fn settle<V: Default>(&self, set: Option<V>, _: impl FnOnce(&str) -> Option<V>) -> V {
        set.unwrap_or_default()
    }

    fn is_needed(&self) -> bool {
        true
    }

    fn words(&self) -> String {
        "must be set".to_owned()
    }
}

impl Absent for Or {
    type Read<V> = V;

    fn settle<V: Default>(&self, set: Option<V>, parse: impl FnOnce(&str) -> Option<V>) -> V {
        set.or_else(|| parse(self.0)).unwrap_or_default()
    }

    fn is_needed(&self) -> bool {
        false
    }

    fn words(&self) -> String {
        format!("`{}`", self.0)
    }
}

impl Absent for Nothing {
    type Read<V> = Option<V>;

    fn settle<V: Default>(&self, set: Option<V>, _: impl FnOnce(&str) -> Option<V>) -> Option<V> {
        set
    }

    fn is_needed(&self) -> bool {
        false
    }

    fn words(&self) -> String {
        self.0.to_owned()
    }
}

/// A setting of whatever kind, to be listed.
pub trait Described: Sync {
    /// The variable.
    fn name(&self) -> &'static str;
    /// What it decides.
    fn meaning(&self) -> &'static str;
    /// What its value must be.
    fn rule(&self) -> String;
    /// What counts where it is left out.
    fn absent(&self) -> String;
    /// Whether the default keeps the rule; a setting without one does.
    fn has_a_right_default(&self) -> bool;
    /// The functions that read it.
    fn readers(&self) -> &'static [&'static str];
    /// Who sets it.
    fn given(&self) -> Given;
}

impl<K: Kind + Sync, A: Absent + Sync> Described for Setting<K, A> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn meaning(&self) -> &'static str {
        self.meaning
    }

    fn rule(&self) -> String {
        self.kind.rule()
    }

    fn absent(&self) -> String {
        self.absent.words()
    }

    fn has_a_right_default(&self) -> bool {
        let mut right = true;
        self.absent.settle(None, |default| {
            let parsed = self.kind.parse(default);
            right = parsed.is_some();
            parsed
        });
        right
    }

    fn readers(&self) -> &'static [&'static str] {
        self.readers
    }

    fn given(&self) -> Given {
        self.given
    }
}
