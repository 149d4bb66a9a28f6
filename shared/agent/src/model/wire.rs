//! The wires: the APIs that model providers offer.

use serde::{Deserialize, Serialize};

/// The API through which a provider is called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// OpenAI's Responses API.
    #[default]
    Responses,
    /// OpenAI's Chat Completions API.
    ChatCompletions,
    /// Anthropic's Messages API.
    AnthropicMessages,
}

impl Wire {
    /// Every wire.
    pub const ALL: [Self; 3] = [Self::Responses, Self::ChatCompletions, Self::AnthropicMessages];

    /// Returns its name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::ChatCompletions => "chat-completions",
            Self::AnthropicMessages => "anthropic-messages",
        }
    }

    /// Returns the wire of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wire| wire.name() == name)
    }

    /// True if a request can continue from a response that the provider stores. Other wires get the whole conversation
    /// with every request.
    #[must_use]
    pub const fn continues_responses(self) -> bool {
        matches!(self, Self::Responses)
    }

    /// True if a request asks for reasoning. On other wires, reasoning comes unasked.
    #[must_use]
    pub const fn requests_reasoning(self) -> bool {
        matches!(self, Self::Responses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_settings() {
        for wire in Wire::ALL {
            assert_eq!(serde_json::to_value(wire).unwrap(), wire.name());
            assert_eq!(Wire::from_name(wire.name()), Some(wire));
        }
        assert_eq!(Wire::from_name("soap"), None);
    }
}
