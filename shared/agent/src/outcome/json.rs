//! Reads and writes the outcome object as JSON.

use contracts::{error::JsonError, json_bytes};
use protocol::{
    detail::{Report, StagedMode},
    version::UnsupportedVersion,
};
use serde::{Deserialize, Deserializer, de};

use super::{Ending, Outcome, Response, object::SCHEMA_VERSION};
use crate::{
    attempt::{RecoveryPoint, history_window::HistoryWindow},
    model::TextPart,
    tool::rounds::{ModelCallInfo, Round},
};

/// The members of the stored object, of every kind.
///
/// They are deserialized in one pass. For a flattened enum, serde would buffer every member that has no field yet,
/// and compile each type in it a second time.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OutcomeFields {
    schema_version: u32,
    response: Response,
    report: Report,
    kind: Kind,
    #[serde(default)]
    staged_mode: Option<StagedMode>,
    #[serde(default)]
    earlier_modes: Vec<StagedMode>,
    #[serde(default)]
    tool_rounds: Vec<Round>,
    #[serde(default)]
    history_window: Option<Box<HistoryWindow>>,
    #[serde(default)]
    context_block: Option<String>,
    #[serde(default)]
    model_call: Option<Box<ModelCallInfo>>,
    #[serde(default)]
    answer_parts: Vec<TextPart>,
    #[serde(default)]
    partial: Option<String>,
    #[serde(default)]
    recovery_point: Option<Box<RecoveryPoint>>,
}

/// The kind of an [`Ending`].
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Completed,
    Failed,
    Suspended,
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = OutcomeFields::deserialize(deserializer)?;
        let OutcomeFields { schema_version, response, report, tool_rounds, model_call, .. } = fields;
        let ending = match fields.kind {
            Kind::Completed => Ending::Completed {
                staged_mode: fields.staged_mode,
                earlier_modes: fields.earlier_modes,
                tool_rounds,
                history_window: fields.history_window,
                context_block: fields.context_block,
                model_call,
                answer_parts: fields.answer_parts,
            },
            Kind::Failed => Ending::Failed { tool_rounds, model_call, partial: fields.partial },
            Kind::Suspended => {
                let missing = || de::Error::missing_field("RecoveryPoint");
                Ending::Suspended { recovery_point: fields.recovery_point.ok_or_else(missing)? }
            }
        };
        Ok(Self { schema_version, response, report, ending })
    }
}

impl Outcome {
    /// Serializes the object for storage.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads a stored object.
    ///
    /// # Errors
    /// If the bytes are not an outcome object of a known version.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ReadError> {
        let read: Result<Self, _> = json_bytes::from_slice(bytes);
        // A newer object may have any schema.
        let version = match &read {
            Ok(outcome) => Some(outcome.schema_version),
            Err(_) => json_bytes::from_slice(bytes).ok().map(|Version { schema_version }| schema_version),
        };
        UnsupportedVersion::check(version.unwrap_or_default(), SCHEMA_VERSION)?;
        read.map_err(|error| ReadError::Malformed(JsonError::from(&error)))
    }
}

/// A stored object can't be read by this version. It contains the answer, so the error shows nothing of it (I14).
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The bytes are not the expected JSON.
    #[error("the outcome object is malformed")]
    Malformed(#[source] JsonError),
    /// A later version wrote the object.
    #[error("the outcome object can't be read")]
    Newer(#[from] UnsupportedVersion),
}

/// The member that every version of the object has.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Version {
    schema_version: u32,
}

#[cfg(test)]
mod tests {
    use contracts::{ErrorCode, error::causes};

    use super::*;

    #[test]
    fn newer_version_is_detected_whatever_its_schema() {
        for newer in [r#"{"SchemaVersion":2}"#, r#"{"SchemaVersion":2,"Response":[],"Kind":"other"}"#] {
            let refused = Outcome::from_json(newer.as_bytes()).unwrap_err();
            assert!(
                matches!(refused, ReadError::Newer(UnsupportedVersion { found: 2, supported: 1 })),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn read_error_reveals_no_content() {
        let stored =
            String::from_utf8(Outcome::failed(ErrorCode::Internal.into(), Report::default()).to_json());
        let stored = stored.unwrap();
        let spoilt = [
            stored.replace(r#""failed""#, r#""marker""#),
            stored.replace(r#""SchemaVersion":1"#, r#""SchemaVersion":"marker""#),
            stored.replace(r#""Report":{"#, r#""Report":{"Marker":marker,"#),
            format!(r#"{stored}marker"#),
            r#""marker""#.to_owned(),
        ];
        for bytes in spoilt {
            assert_ne!(bytes, stored);
            let error = Outcome::from_json(bytes.as_bytes()).unwrap_err();
            let text = causes(&error).to_string();
            assert!(
                text.starts_with("the outcome object is malformed: ") && text.contains(" column "),
                "{text}"
            );
            assert!(!format!("{text}{error:?}").to_lowercase().contains("marker"), "{error:?}");
        }
    }
}
