//! What a process finds out about model providers, so that none of its sessions pays for it again.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use agent::conversation::Lesson;

/// A provider that refused so many sessions in a row to go on from what it replied keeps no chains. One alone
/// may have lost that one.
const REFUSALS: u32 = 2;

/// What is known of providers, by their names. Each process learns for itself; what matters for a session is
/// kept with the session.
#[derive(Debug, Default)]
pub(super) struct Learned(Mutex<BTreeMap<String, Known>>);

#[derive(Debug, Default)]
struct Known {
    keeps_none: bool,
    refusals: u32,
    tells_no_reasoning: bool,
}

impl Learned {
    /// Whether the provider keeps no chains.
    pub(super) fn keeps_none(&self, provider: &str) -> bool {
        self.of(provider, |known| known.keeps_none)
    }

    /// Whether it answers those alone that don't ask for a model's reasoning.
    pub(super) fn tells_no_reasoning(&self, provider: &str) -> bool {
        self.of(provider, |known| known.tells_no_reasoning)
    }

    /// Takes in what a reply showed.
    pub(super) fn take_in(&self, provider: &str, lesson: Lesson) {
        self.of(provider, |known| match lesson {
            Lesson::KeptChain => known.refusals = 0,
            Lesson::KeepsNone => known.keeps_none = true,
            Lesson::TellsNoReasoning => known.tells_no_reasoning = true,
            Lesson::RefusedChain => {
                known.refusals = known.refusals.saturating_add(1);
                known.keeps_none |= known.refusals >= REFUSALS;
            }
        });
    }

    fn of<T>(&self, provider: &str, what: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        what(known.entry(provider.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_provider_says_of_itself_counts_at_once_and_a_refusal_the_second_time() {
        let learned = Learned::default();
        learned.take_in("says", Lesson::KeepsNone);
        for lesson in [Lesson::RefusedChain, Lesson::KeptChain, Lesson::RefusedChain] {
            learned.take_in("refuses", lesson);
        }
        assert_eq!((learned.keeps_none("says"), learned.keeps_none("refuses")), (true, false));
        learned.take_in("refuses", Lesson::RefusedChain);
        assert!(learned.keeps_none("refuses") && !learned.keeps_none("another"));
    }
}
