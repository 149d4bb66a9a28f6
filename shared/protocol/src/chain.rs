//! The chain: whether a turn can go on from what the provider remembers, or has to tell the session's
//! earlier turns itself.
//!
//! Decided once, when a turn starts, on values alone; the turn's head keeps it, so that a takeover does
//! the same wherever it still can ([`after_takeover`]).

use std::str::FromStr;

use contracts::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    line::After,
    session::{ChainHead, Session},
};

/// Who remembers conversations, as an operator wants it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChainPolicy {
    /// The provider where it does, this service where it turned out that it does not.
    #[default]
    Auto,
    /// The provider, whatever it says.
    Provider,
    /// This service, always.
    Local,
}

/// Not a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be auto, provider or local")]
pub struct NoPolicy;

impl FromStr for ChainPolicy {
    type Err = NoPolicy;

    fn from_str(word: &str) -> Result<Self, NoPolicy> {
        match word {
            "auto" => Ok(Self::Auto),
            "provider" => Ok(Self::Provider),
            "local" => Ok(Self::Local),
            _ => Err(NoPolicy),
        }
    }
}

/// Who remembers a conversation, as it is done now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keeper {
    /// The provider, by `previous_response_id`.
    #[default]
    Provider,
    /// This service: nothing is stored upstream, and the history is sent each time.
    Local,
}

/// What a provider is in records: the host of its base URL, since it has what it stored under another port or path
/// too; of one that the deployment has given a name, the name before it. The same name with another host is
/// another provider, and so are two names with the same host.
#[must_use]
pub fn provider_id(name: Option<&str>, host: &str) -> String {
    name.map_or_else(|| host.to_owned(), |name| format!("{name}{NAMED}{host}"))
}

/// Stands in no host.
const NAMED: char = '@';

/// Whether what `keeper` has is with `provider`. What was kept before providers were told apart is with the one
/// that has no name: there was no other.
fn is_with(keeper: Option<&str>, provider: &str) -> bool {
    keeper.map_or_else(|| !provider.contains(NAMED), |keeper| keeper == provider)
}

/// Where a turn is to go by its contexts and by what its process knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Target {
    /// The provider's model id.
    pub model: String,
    /// The provider, see [`provider_id`].
    pub provider: String,
    /// Who is to remember the conversation.
    pub policy: ChainPolicy,
    /// Whether this process learned that the provider keeps no chains.
    pub keeps_none: bool,
}

impl Target {
    /// Where a turn of this session goes. What the session learned of a provider says nothing of another.
    #[must_use]
    pub fn of(&self, session: &Session) -> Upstream {
        let learned = session.keeps_no_chain.as_ref() == Some(&self.provider);
        Self { keeps_none: self.keeps_none || learned, ..self.clone() }.upstream()
    }

    /// Where it goes as far as its session has learned nothing.
    #[must_use]
    pub fn upstream(self) -> Upstream {
        let keeper = match self.policy {
            ChainPolicy::Auto if self.keeps_none => Keeper::Local,
            ChainPolicy::Auto | ChainPolicy::Provider => Keeper::Provider,
            ChainPolicy::Local => Keeper::Local,
        };
        Upstream { model: self.model, provider: self.provider, keeper }
    }
}

/// Which model of which provider a turn goes to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Upstream {
    /// The provider's model id.
    pub model: String,
    /// The provider, see [`provider_id`].
    pub provider: String,
    /// Who remembers the conversation.
    pub keeper: Keeper,
}

/// Why a turn tells the session's earlier turns itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rebuild {
    /// Nothing was left with the provider: the context wants or wanted it so, or no turn was completed.
    Unkept,
    /// The provider keeps no response for that long.
    Expired,
    /// Another model wrote the chain.
    OtherModel,
    /// Another provider has the chain.
    OtherProvider,
    /// The provider does not know the chain, though it should.
    Lost,
    /// The chain has outgrown the model's context.
    TooLong,
    /// What the chain began with was purged.
    Purged,
}

/// What a turn begins with.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// The first turn of its line: there is nothing to tell.
    First,
    /// The provider remembers: goes on from this response.
    Continues(String),
    /// The provider can't be asked to remember.
    Rebuilds(Rebuild),
}

/// How a turn begins that goes to `upstream` after a turn that left `chain` with its provider.
#[must_use]
pub fn start(after: &After, chain: Option<&ChainHead>, upstream: &Upstream, now: Timestamp) -> Start {
    match chain {
        _ if after.is_nothing() => Start::First,
        None => Start::Rebuilds(Rebuild::Unkept),
        Some(_) if upstream.keeper == Keeper::Local => Start::Rebuilds(Rebuild::Unkept),
        Some(head) if !is_with(head.provider.as_deref(), &upstream.provider) => {
            Start::Rebuilds(Rebuild::OtherProvider)
        }
        Some(head) if head.model != upstream.model => Start::Rebuilds(Rebuild::OtherModel),
        Some(head) if now >= head.expires => Start::Rebuilds(Rebuild::Expired),
        Some(head) => Start::Continues(head.response_id.clone()),
    }
}

/// How a turn goes on whose attempt died before a reply came: as it began, unless its contexts were edited
/// since so that a response of the model and provider it began with can't be gone on from.
#[must_use]
pub fn after_takeover(began: &Start, with: &Upstream, now: &Upstream) -> Start {
    match began {
        Start::First | Start::Rebuilds(_) => began.clone(),
        Start::Continues(_) if now.keeper == Keeper::Local => Start::Rebuilds(Rebuild::Unkept),
        Start::Continues(_) if !is_with(recorded(&with.provider), &now.provider) => {
            Start::Rebuilds(Rebuild::OtherProvider)
        }
        Start::Continues(_) if now.model != with.model => Start::Rebuilds(Rebuild::OtherModel),
        Start::Continues(_) => began.clone(),
    }
}

/// A turn's provider; none of one that was begun before providers were recorded.
fn recorded(provider: &str) -> Option<&str> {
    Some(provider).filter(|provider| !provider.is_empty())
}

impl Start {
    /// The response to go on from.
    #[must_use]
    pub fn previous_response_id(&self) -> Option<&str> {
        match self {
            Self::Continues(id) => Some(id),
            Self::First | Self::Rebuilds(_) => None,
        }
    }

    /// Why the earlier turns have to be told.
    #[must_use]
    pub fn rebuild(&self) -> Option<Rebuild> {
        match self {
            Self::Rebuilds(why) => Some(*why),
            Self::First | Self::Continues(_) => None,
        }
    }
}

impl Rebuild {
    /// What the user is told; nothing where it is as the operator wants it.
    #[must_use]
    pub fn warning(self) -> Option<&'static str> {
        Some(match self {
            Self::Unkept => return None,
            Self::Expired => {
                "The model provider keeps conversations for a limited time, and this one's is over. Its earlier turns \
                 were sent again from the session's own records."
            }
            Self::OtherModel => {
                "Another model answers now. The session's earlier turns were sent to it from the session's own records."
            }
            Self::OtherProvider => {
                "Another model provider answers now. The session's earlier turns were sent to it from the session's own \
                 records."
            }
            Self::Lost => {
                "The model provider no longer has the earlier part of this conversation. Its earlier turns were sent \
                 again from the session's own records."
            }
            Self::TooLong => {
                "The conversation had outgrown the model. Its newest turns were sent again from the session's own records."
            }
            Self::Purged => {
                "The session that this one was forked from was purged. From now on the conversation goes on without its \
                 turns."
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(model: &str, provider: &str, keeper: Keeper) -> Upstream {
        Upstream { model: model.to_owned(), provider: provider.to_owned(), keeper }
    }

    fn began() -> Upstream {
        upstream("a", "p", Keeper::Provider)
    }

    fn goes_on() -> Start {
        Start::Continues("resp_1".to_owned())
    }

    #[test]
    fn a_takeover_with_the_contexts_as_they_were_goes_on_as_the_turn_began() {
        assert_eq!(after_takeover(&goes_on(), &began(), &began()), goes_on());
    }

    #[test]
    fn a_turn_that_began_without_a_response_to_go_on_from_is_taken_over_as_it_began_whatever_was_edited() {
        let rebuilds = [
            Rebuild::Unkept,
            Rebuild::Expired,
            Rebuild::OtherModel,
            Rebuild::OtherProvider,
            Rebuild::Lost,
            Rebuild::TooLong,
            Rebuild::Purged,
        ]
        .map(Start::Rebuilds);
        for start in [Start::First].into_iter().chain(rebuilds) {
            for now in [
                began(),
                upstream("b", "p", Keeper::Provider),
                upstream("a", "q", Keeper::Provider),
                upstream("a", "p", Keeper::Local),
            ] {
                assert_eq!(after_takeover(&start, &began(), &now), start, "{now:?}");
            }
        }
    }

    #[test]
    fn a_takeover_by_another_model_tells_the_earlier_turns() {
        let now = upstream("b", "p", Keeper::Provider);
        assert_eq!(after_takeover(&goes_on(), &began(), &now), Start::Rebuilds(Rebuild::OtherModel));
    }

    #[test]
    fn a_takeover_by_another_provider_tells_the_earlier_turns_whichever_model_it_has() {
        for model in ["a", "b"] {
            let now = upstream(model, "q", Keeper::Provider);
            assert_eq!(after_takeover(&goes_on(), &began(), &now), Start::Rebuilds(Rebuild::OtherProvider));
        }
    }

    #[test]
    fn a_takeover_that_leaves_nothing_behind_tells_the_earlier_turns_wherever_it_goes() {
        for (model, provider) in [("a", "p"), ("b", "p"), ("a", "q"), ("b", "q")] {
            let now = upstream(model, provider, Keeper::Local);
            assert_eq!(after_takeover(&goes_on(), &began(), &now), Start::Rebuilds(Rebuild::Unkept));
        }
    }

    #[test]
    fn a_takeover_of_a_turn_whose_provider_was_not_recorded_yet_goes_on_as_it_began() {
        let with = upstream("a", "", Keeper::Provider);
        assert_eq!(after_takeover(&goes_on(), &with, &began()), goes_on());
        let named = upstream("a", &provider_id(Some("n"), "p"), Keeper::Provider);
        assert_eq!(after_takeover(&goes_on(), &with, &named), Start::Rebuilds(Rebuild::OtherProvider));
    }

    #[test]
    fn a_provider_is_its_name_and_its_host() {
        let ids = [(None, "p"), (Some("n"), "p"), (Some("m"), "p"), (Some("n"), "q")]
            .map(|(name, host)| provider_id(name, host));
        for (keeper, id) in ids.iter().enumerate() {
            for (provider, other) in ids.iter().enumerate() {
                assert_eq!(is_with(Some(id), other), keeper == provider, "{id} and {other}");
            }
        }
        assert!(is_with(None, &ids[0]) && ids[1..].iter().all(|named| !is_with(None, named)));
    }
}
