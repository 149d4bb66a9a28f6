//! The wires: the APIs that model providers offer.

use serde::{Deserialize, Serialize};

use crate::model::model_settings::ModelSettings;

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
    /// Amazon Bedrock's Converse API.
    BedrockConverse,
}

impl Wire {
    /// Every wire.
    pub const ALL: [Self; 4] =
        [Self::Responses, Self::ChatCompletions, Self::AnthropicMessages, Self::BedrockConverse];

    /// Returns its name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::ChatCompletions => "chat-completions",
            Self::AnthropicMessages => "anthropic-messages",
            Self::BedrockConverse => "bedrock-converse",
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

    /// Returns the name of a setting that the wire can't carry, as contexts have it. A reply without it would not be the one
    /// that was asked for.
    #[must_use]
    pub fn unsupported_setting(self, settings: &ModelSettings) -> Option<&'static str> {
        let (runs_hosted_tools, has_guardrails) = match self {
            Self::Responses => (true, false),
            Self::ChatCompletions | Self::AnthropicMessages => (false, false),
            Self::BedrockConverse => (false, true),
        };
        let needed = [
            ("HostedTools", !settings.hosted_tools.is_empty() && !runs_hosted_tools),
            ("Guardrail", settings.guardrail.is_some() && !has_guardrails),
        ];
        needed.into_iter().find_map(|(name, is_missing)| is_missing.then_some(name))
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
    use crate::model::{
        hosted_tools::{HostedTool, WebSearch},
        model_settings::Guardrail,
    };

    #[test]
    fn names_are_those_of_the_settings() {
        for wire in Wire::ALL {
            assert_eq!(serde_json::to_value(wire).unwrap(), wire.name());
            assert_eq!(Wire::from_name(wire.name()), Some(wire));
        }
        assert_eq!(Wire::from_name("soap"), None);
    }

    #[test]
    fn settings_that_a_wire_cannot_carry_are_named() {
        let mut settings = ModelSettings::default();
        assert!(Wire::ALL.iter().all(|wire| wire.unsupported_setting(&settings).is_none()));
        settings.hosted_tools = vec![HostedTool::WebSearch(WebSearch::default())];
        let named = |settings: &ModelSettings| Wire::ALL.map(|wire| wire.unsupported_setting(settings));
        assert_eq!(named(&settings), [None, Some("HostedTools"), Some("HostedTools"), Some("HostedTools")]);
        settings.hosted_tools.clear();
        settings.guardrail = Some(Guardrail { id: "g".to_owned(), version: "1".to_owned() });
        assert_eq!(named(&settings), [Some("Guardrail"), Some("Guardrail"), Some("Guardrail"), None]);
    }
}
