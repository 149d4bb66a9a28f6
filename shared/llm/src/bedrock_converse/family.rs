//! The family of a model: the API leaves some members to the vendors, and refuses others for most of them.

use agent::model::model_settings::Effort;
use serde_json::{Value, json};

use crate::block_reply::SUMMARIZED;

/// A family of models, by the name of its vendor in the model's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Anthropic's Claude.
    Claude,
    /// Amazon's Nova.
    Nova,
    /// OpenAI's open models.
    GptOss,
    /// Any other, and inference profiles whose id doesn't name the model.
    Other,
}

impl Family {
    /// Returns the family of a model, an inference profile or an ARN.
    pub(super) fn of(model: &str) -> Self {
        let names = [("anthropic.", Self::Claude), ("amazon.nova", Self::Nova), ("openai.", Self::GptOss)];
        names.into_iter().find(|(name, _)| model.contains(name)).map_or(Self::Other, |(_, family)| family)
    }

    /// True if requests may have cache points. Other models refuse them.
    pub(super) fn has_cache_points(self) -> bool {
        matches!(self, Self::Claude | Self::Nova)
    }

    /// True if the result of a tool may have a status.
    pub(super) fn has_result_status(self) -> bool {
        matches!(self, Self::Claude | Self::Nova)
    }

    /// Returns the family's own member for reasoning. `None` if it has none, or for no reasoning, which is the default.
    pub(super) fn reasoning(self, effort: Effort, is_summarized: bool) -> Option<Value> {
        // Nova and OpenAI's open models have three efforts.
        let level = match effort {
            Effort::None => return None,
            Effort::Minimal | Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High | Effort::Xhigh | Effort::Max => "high",
        };
        match self {
            Self::Claude if is_summarized => {
                Some(json!({ "thinking": { "type": "adaptive", "display": SUMMARIZED } }))
            }
            Self::Claude => Some(json!({ "thinking": { "type": "adaptive" } })),
            Self::Nova => {
                Some(json!({ "reasoningConfig": { "type": "enabled", "maxReasoningEffort": level } }))
            }
            Self::GptOss => Some(json!({ "reasoning_effort": level })),
            Self::Other => None,
        }
    }

    /// Returns the effort in `outputConfig`, which Claude reads.
    pub(super) fn effort(self, effort: Effort) -> Option<&'static str> {
        match (self, effort) {
            (Self::Nova | Self::GptOss | Self::Other, _) | (_, Effort::None) => None,
            (Self::Claude, Effort::Minimal | Effort::Low) => Some("low"),
            (Self::Claude, Effort::Medium) => Some("medium"),
            (Self::Claude, Effort::High) => Some("high"),
            (Self::Claude, Effort::Xhigh) => Some("xhigh"),
            (Self::Claude, Effort::Max) => Some("max"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_is_in_ids_profiles_and_arns() {
        for (model, expected) in [
            ("anthropic.claude-sonnet-4-6", Family::Claude),
            ("us.anthropic.claude-opus-4-7-v1:0", Family::Claude),
            ("arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-v2", Family::Claude),
            ("eu.amazon.nova-2-lite-v1:0", Family::Nova),
            ("openai.gpt-oss-120b-1:0", Family::GptOss),
            ("meta.llama4-maverick-17b-instruct-v1:0", Family::Other),
            ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1", Family::Other),
        ] {
            assert_eq!(Family::of(model), expected, "{model}");
        }
    }
}
