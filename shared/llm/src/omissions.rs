//! Settings that requests to a provider leave out: those that its API has no member for, and those that a model refused.
//!
//! They are hints: a reply without one is what was asked for all the same. So a refusal costs one request and no turn.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent::model::model_settings::ModelSettings;

/// The most settings of models to remember, since a request may name any model.
const MAX_ENTRIES: usize = 512;

/// A setting that a request can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hint {
    /// `Temperature`.
    Temperature,
    /// `TopP`.
    TopP,
    /// `ReasoningEffort`.
    ReasoningEffort,
    /// `ReasoningSummary`.
    ReasoningSummary,
    /// `Verbosity`.
    Verbosity,
    /// `ServiceTier`.
    ServiceTier,
    /// `ParallelToolCalls`.
    ParallelToolCalls,
    /// The wish for the usage of a streamed reply, on a wire where it comes only if asked for.
    StreamUsage,
}

impl Hint {
    const ALL: [Self; 8] = [
        Self::Temperature,
        Self::TopP,
        Self::ReasoningEffort,
        Self::ReasoningSummary,
        Self::Verbosity,
        Self::ServiceTier,
        Self::ParallelToolCalls,
        Self::StreamUsage,
    ];

    /// Returns the name of the setting, as contexts have it. `None` for what no context sets.
    pub(crate) fn setting(self) -> Option<&'static str> {
        Some(match self {
            Self::Temperature => "Temperature",
            Self::TopP => "TopP",
            Self::ReasoningEffort => "ReasoningEffort",
            Self::ReasoningSummary => "ReasoningSummary",
            Self::Verbosity => "Verbosity",
            Self::ServiceTier => "ServiceTier",
            Self::ParallelToolCalls => "ParallelToolCalls",
            Self::StreamUsage => return None,
        })
    }

    /// Returns the setting that a parameter of a provider carries.
    pub(crate) fn of_parameter(name: &str) -> Option<Self> {
        Some(match name {
            "temperature" => Self::Temperature,
            "top_p" => Self::TopP,
            "reasoning.effort" | "reasoning_effort" | "output_config.effort" => Self::ReasoningEffort,
            "reasoning.summary" | "thinking.display" => Self::ReasoningSummary,
            "text.verbosity" | "verbosity" => Self::Verbosity,
            "service_tier" => Self::ServiceTier,
            "parallel_tool_calls" => Self::ParallelToolCalls,
            "stream_options" => Self::StreamUsage,
            _ => return None,
        })
    }

    /// True if the settings have it.
    pub(crate) fn is_set(self, settings: &ModelSettings) -> bool {
        match self {
            Self::Temperature => settings.temperature.is_some(),
            Self::TopP => settings.top_p.is_some(),
            Self::ReasoningEffort => settings.reasoning_effort.is_some(),
            Self::ReasoningSummary => settings.reasoning_summary.is_some(),
            Self::Verbosity => settings.verbosity.is_some(),
            Self::ServiceTier => settings.service_tier.is_some(),
            Self::ParallelToolCalls => settings.parallel_tool_calls.is_some(),
            Self::StreamUsage => false,
        }
    }

    /// Removes it from the settings.
    pub(crate) fn clear(self, settings: &mut ModelSettings) {
        match self {
            Self::Temperature => settings.temperature = None,
            Self::TopP => settings.top_p = None,
            Self::ReasoningEffort => settings.reasoning_effort = None,
            Self::ReasoningSummary => settings.reasoning_summary = None,
            Self::Verbosity => settings.verbosity = None,
            Self::ServiceTier => settings.service_tier = None,
            Self::ParallelToolCalls => settings.parallel_tool_calls = None,
            Self::StreamUsage => {}
        }
    }

    /// Returns the settings that these have.
    pub(crate) fn all_of(settings: &ModelSettings) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|hint| hint.is_set(settings))
    }
}

/// The settings that requests to a provider leave out, by model. Kept for the life of the process.
#[derive(Debug, Default)]
pub(crate) struct Omissions(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    refused: BTreeSet<(String, Hint)>,
    logged: BTreeSet<(String, &'static str)>,
}

impl Omissions {
    /// Returns the settings that the model refused.
    pub(crate) fn refused(&self, model: &str) -> Vec<Hint> {
        let entries = self.entries();
        entries.refused.iter().filter(|(of, _)| of == model).map(|(_, hint)| *hint).collect()
    }

    /// Records that the model refused a setting.
    pub(crate) fn refuse(&self, model: &str, hint: Hint) {
        let mut entries = self.entries();
        if entries.refused.len() < MAX_ENTRIES {
            entries.refused.insert((model.to_owned(), hint));
        }
    }

    /// Logs that settings are not sent to a model, each once.
    pub(crate) fn log(&self, model: &str, settings: &[&'static str]) {
        for setting in self.take_new(model, settings) {
            tracing::warn!(setting, model, "{}", contracts::log::MODEL_SETTING_OMITTED);
        }
    }

    /// Returns the settings that were not logged yet for this model. None once the memory is full.
    fn take_new(&self, model: &str, settings: &[&'static str]) -> Vec<&'static str> {
        let mut entries = self.entries();
        let is_new = |setting: &&&'static str| {
            entries.logged.len() < MAX_ENTRIES && entries.logged.insert((model.to_owned(), setting))
        };
        settings.iter().filter(is_new).copied().collect()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_is_logged_once_for_each_model_within_a_limit() {
        let omissions = Omissions::default();
        assert_eq!(omissions.take_new("a", &["TopP", "Verbosity"]), ["TopP", "Verbosity"]);
        assert_eq!(omissions.take_new("a", &["TopP", "ServiceTier"]), ["ServiceTier"]);
        assert_eq!(omissions.take_new("b", &["TopP"]), ["TopP"]);
        let all = (0..2 * MAX_ENTRIES).flat_map(|n| omissions.take_new(&format!("m{n}"), &["TopP"]));
        assert_eq!(all.count(), MAX_ENTRIES - 4);
    }

    #[test]
    fn refusals_are_of_one_model_within_a_limit() {
        let omissions = Omissions::default();
        omissions.refuse("a", Hint::TopP);
        omissions.refuse("a", Hint::Temperature);
        assert_eq!(omissions.refused("a"), [Hint::Temperature, Hint::TopP]);
        assert_eq!(omissions.refused("b"), []);
        (0..2 * MAX_ENTRIES).for_each(|n| omissions.refuse(&format!("m{n}"), Hint::TopP));
        assert_eq!(omissions.entries().refused.len(), MAX_ENTRIES);
    }

    #[test]
    fn hints_are_found_and_removed() {
        let mut settings =
            ModelSettings { temperature: Some(0.5), top_p: Some(1.0), ..ModelSettings::default() };
        assert_eq!(Hint::all_of(&settings).collect::<Vec<_>>(), [Hint::Temperature, Hint::TopP]);
        Hint::ALL.into_iter().for_each(|hint| hint.clear(&mut settings));
        assert_eq!(settings, ModelSettings::default());
    }
}
