//! The response chain: decides if a turn continues from the provider's stored response or replays the session's
//! earlier turns.
//!
//! The decision is made once, when a turn starts, on values alone. The turn's head stores it, so that a takeover
//! repeats it wherever it still can ([`after_takeover`]).

use std::str::FromStr;

use contracts::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    ancestry::{LossReason, ParentRef},
    session::{ChainHead, Session},
};

/// The operator's choice of who stores conversation state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConversationStatePolicy {
    /// The provider, or this service for a provider that turned out to be stateless.
    #[default]
    Auto,
    /// Always the provider.
    Provider,
    /// Always this service.
    Local,
}

/// Error for a string that is not a [`ConversationStatePolicy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be `auto`, `provider` or `local`")]
pub struct InvalidPolicy;

impl FromStr for ConversationStatePolicy {
    type Err = InvalidPolicy;

    fn from_str(text: &str) -> Result<Self, InvalidPolicy> {
        match text {
            "auto" => Ok(Self::Auto),
            "provider" => Ok(Self::Provider),
            "local" => Ok(Self::Local),
            _ => Err(InvalidPolicy),
        }
    }
}

/// The party that stores a conversation's history for one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HistoryOwner {
    /// The provider. The turn refers to it by `previous_response_id`.
    #[default]
    Provider,
    /// This service. Nothing is stored at the provider, and every request carries the history.
    Local,
}

/// Returns the provider id that records use: the host of the base URL, prefixed with the name that the deployment
/// gave the provider, if any. Port and path don't count, since stored responses are the same under all of them. The
/// same name with another host is another provider, and so are two names with the same host.
#[must_use]
pub fn provider_id(name: Option<&str>, host: &str) -> String {
    name.map_or_else(|| host.to_owned(), |name| format!("{name}{NAME_SEPARATOR}{host}"))
}

/// Separates name and host. It can't occur in a host.
pub const NAME_SEPARATOR: char = '@';

/// True if a chain recorded for `recorded` is stored at `provider`. A chain from before providers were recorded
/// belongs to the unnamed provider, which was the only one then.
fn is_same_provider(recorded: Option<&str>, provider: &str) -> bool {
    recorded.map_or_else(|| !provider.contains(NAME_SEPARATOR), |recorded| recorded == provider)
}

/// The model and provider that a turn's contexts ask for, with this process's knowledge of the provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Target {
    /// The provider's model id.
    pub model: String,
    /// The provider, see [`provider_id`].
    pub provider: String,
    /// The policy on conversation state.
    pub policy: ConversationStatePolicy,
    /// True if this process learned that the provider stores no responses.
    pub is_stateless: bool,
}

impl Target {
    /// Resolves the upstream for a turn of this session. The session's knowledge of one provider doesn't apply to
    /// another.
    #[must_use]
    pub fn upstream_for(&self, session: &Session) -> Upstream {
        let is_stateless = self.is_stateless || session.stateless_provider.as_ref() == Some(&self.provider);
        Self { is_stateless, ..self.clone() }.upstream()
    }

    /// Resolves the upstream without a session's knowledge of its provider.
    #[must_use]
    pub fn upstream(self) -> Upstream {
        let history_owner = match self.policy {
            ConversationStatePolicy::Auto if self.is_stateless => HistoryOwner::Local,
            ConversationStatePolicy::Auto | ConversationStatePolicy::Provider => HistoryOwner::Provider,
            ConversationStatePolicy::Local => HistoryOwner::Local,
        };
        Upstream { model: self.model, provider: self.provider, history_owner }
    }
}

/// The model and provider that a turn is sent to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Upstream {
    /// The provider's model id.
    pub model: String,
    /// The provider, see [`provider_id`].
    pub provider: String,
    /// The party that stores the history.
    pub history_owner: HistoryOwner,
}

/// The reason for which a turn replays the session's earlier turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayReason {
    /// The provider stored no response: the context turned storage off, now or then, or no turn was completed.
    NotStored,
    /// The provider's retention of the response has ended.
    Expired,
    /// The chain was written by another model.
    ModelChanged,
    /// The chain is stored at another provider.
    ProviderChanged,
    /// The provider does not know the response, although it should.
    NotFound,
    /// The chain no longer fits into the model's context.
    TooLong,
    /// The session that the chain started in was purged.
    Purged,
    /// The session that the chain started in became private or was deleted, and the user may not see it.
    Hidden,
    /// The session that the chain started in is out of reach: a fork checks a limited number of ancestors.
    ForkDepth,
}

/// The starting point of a turn's first model request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainStart {
    /// The first turn of its ancestry, without any history.
    First,
    /// Continues from this response, which the provider stores.
    Continue(String),
    /// Replays the earlier turns for this reason.
    Replay(ReplayReason),
}

/// Returns the starting point of a turn that goes to `upstream` and whose parent left `chain` with its provider.
#[must_use]
pub fn start(
    parent: &ParentRef,
    chain: Option<&ChainHead>,
    upstream: &Upstream,
    now: Timestamp,
) -> ChainStart {
    match chain {
        _ if parent.is_none() => ChainStart::First,
        None => ChainStart::Replay(ReplayReason::NotStored),
        Some(_) if upstream.history_owner == HistoryOwner::Local => {
            ChainStart::Replay(ReplayReason::NotStored)
        }
        Some(head) if !is_same_provider(head.provider.as_deref(), &upstream.provider) => {
            ChainStart::Replay(ReplayReason::ProviderChanged)
        }
        Some(head) if head.model != upstream.model => ChainStart::Replay(ReplayReason::ModelChanged),
        Some(head) if now >= head.expires => ChainStart::Replay(ReplayReason::Expired),
        Some(head) => ChainStart::Continue(head.response_id.clone()),
    }
}

/// Returns the starting point after the takeover of a turn whose attempt died before a reply came. It stays as it
/// was, unless edited contexts now name another model or provider or turn storage off.
#[must_use]
pub fn after_takeover(start: &ChainStart, before: &Upstream, now: &Upstream) -> ChainStart {
    match start {
        ChainStart::First | ChainStart::Replay(_) => start.clone(),
        ChainStart::Continue(_) if now.history_owner == HistoryOwner::Local => {
            ChainStart::Replay(ReplayReason::NotStored)
        }
        ChainStart::Continue(_) if !is_same_provider(recorded_provider(&before.provider), &now.provider) => {
            ChainStart::Replay(ReplayReason::ProviderChanged)
        }
        ChainStart::Continue(_) if now.model != before.model => {
            ChainStart::Replay(ReplayReason::ModelChanged)
        }
        ChainStart::Continue(_) => start.clone(),
    }
}

/// Returns a turn's provider, or `None` for turns from before providers were recorded.
fn recorded_provider(provider: &str) -> Option<&str> {
    Some(provider).filter(|provider| !provider.is_empty())
}

impl ChainStart {
    /// Returns the id of the response to continue from.
    #[must_use]
    pub fn previous_response_id(&self) -> Option<&str> {
        match self {
            Self::Continue(id) => Some(id),
            Self::First | Self::Replay(_) => None,
        }
    }

    /// Returns the reason for replaying the earlier turns, if they are replayed.
    #[must_use]
    pub fn replay_reason(&self) -> Option<ReplayReason> {
        match self {
            Self::Replay(reason) => Some(*reason),
            Self::First | Self::Continue(_) => None,
        }
    }
}

impl From<LossReason> for ReplayReason {
    fn from(reason: LossReason) -> Self {
        match reason {
            LossReason::Purged => Self::Purged,
            LossReason::Hidden => Self::Hidden,
            LossReason::ForkDepth => Self::ForkDepth,
        }
    }
}

impl ReplayReason {
    /// Returns the warning for the user, or `None` if the replay is what the operator configured.
    #[must_use]
    pub fn warning(self) -> Option<&'static str> {
        Some(match self {
            Self::NotStored => return None,
            Self::Expired => {
                "The model provider keeps conversations for a limited time, and this one's is over. Its earlier turns \
                 were sent again from the session's own records."
            }
            Self::ModelChanged => {
                "Another model answers now. The session's earlier turns were sent to it from the session's own records."
            }
            Self::ProviderChanged => {
                "Another model provider answers now. The session's earlier turns were sent to it from the session's own \
                 records."
            }
            Self::NotFound => {
                "The model provider no longer has the earlier part of this conversation. Its earlier turns were sent \
                 again from the session's own records."
            }
            Self::TooLong => {
                "The conversation had outgrown the model. Its newest turns were sent again from the session's own records."
            }
            Self::Hidden => {
                "You can't see the session that this one was forked from: it is private or deleted. From now on the \
                 conversation goes on without its turns."
            }
            Self::ForkDepth => {
                "This session is the fork of more than 16 forks, the most that are checked. From now on the conversation \
                 goes on without the turns before them."
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

    fn upstream(model: &str, provider: &str, history_owner: HistoryOwner) -> Upstream {
        Upstream { model: model.to_owned(), provider: provider.to_owned(), history_owner }
    }

    fn original() -> Upstream {
        upstream("a", "p", HistoryOwner::Provider)
    }

    fn continues() -> ChainStart {
        ChainStart::Continue("resp_1".to_owned())
    }

    #[test]
    fn takeover_with_same_contexts_keeps_chain_start() {
        assert_eq!(after_takeover(&continues(), &original(), &original()), continues());
    }

    #[test]
    fn takeover_without_chained_response_ignores_context_edits() {
        let rebuilds = [
            ReplayReason::NotStored,
            ReplayReason::Expired,
            ReplayReason::ModelChanged,
            ReplayReason::ProviderChanged,
            ReplayReason::NotFound,
            ReplayReason::TooLong,
            ReplayReason::Purged,
            ReplayReason::Hidden,
            ReplayReason::ForkDepth,
        ]
        .map(ChainStart::Replay);
        for start in [ChainStart::First].into_iter().chain(rebuilds) {
            for now in [
                original(),
                upstream("b", "p", HistoryOwner::Provider),
                upstream("a", "q", HistoryOwner::Provider),
                upstream("a", "p", HistoryOwner::Local),
            ] {
                assert_eq!(after_takeover(&start, &original(), &now), start, "{now:?}");
            }
        }
    }

    #[test]
    fn takeover_with_other_model_replays_history() {
        let now = upstream("b", "p", HistoryOwner::Provider);
        assert_eq!(
            after_takeover(&continues(), &original(), &now),
            ChainStart::Replay(ReplayReason::ModelChanged)
        );
    }

    #[test]
    fn takeover_with_other_provider_replays_history() {
        for model in ["a", "b"] {
            let now = upstream(model, "q", HistoryOwner::Provider);
            assert_eq!(
                after_takeover(&continues(), &original(), &now),
                ChainStart::Replay(ReplayReason::ProviderChanged)
            );
        }
    }

    #[test]
    fn takeover_with_local_history_replays_it() {
        for (model, provider) in [("a", "p"), ("b", "p"), ("a", "q"), ("b", "q")] {
            let now = upstream(model, provider, HistoryOwner::Local);
            assert_eq!(
                after_takeover(&continues(), &original(), &now),
                ChainStart::Replay(ReplayReason::NotStored)
            );
        }
    }

    #[test]
    fn takeover_without_recorded_provider_keeps_chain_start() {
        let with = upstream("a", "", HistoryOwner::Provider);
        assert_eq!(after_takeover(&continues(), &with, &original()), continues());
        let named = upstream("a", &provider_id(Some("n"), "p"), HistoryOwner::Provider);
        assert_eq!(
            after_takeover(&continues(), &with, &named),
            ChainStart::Replay(ReplayReason::ProviderChanged)
        );
    }

    #[test]
    fn provider_id_distinguishes_name_and_host() {
        let ids = [(None, "p"), (Some("n"), "p"), (Some("m"), "p"), (Some("n"), "q")]
            .map(|(name, host)| provider_id(name, host));
        for (recorded, id) in ids.iter().enumerate() {
            for (provider, other) in ids.iter().enumerate() {
                assert_eq!(is_same_provider(Some(id), other), recorded == provider, "{id} and {other}");
            }
        }
        assert!(
            is_same_provider(None, &ids[0]) && ids[1..].iter().all(|named| !is_same_provider(None, named))
        );
    }
}
