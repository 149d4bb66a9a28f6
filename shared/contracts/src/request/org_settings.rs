//! Settings of an org: defaults of its sessions, its policy, and what its operators have disabled.

use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    body::{json_request, parse_body, validate},
    field_table::{Field, Scenario, read_object, slot, table},
    json::Json,
    kind::{FLAG, Kind, Shape, Words, integer, line, named, word},
    limits::{
        MAX_DISABLED, MAX_ENTITY_TAG_CHARS, MAX_FILE_BYTES, MAX_POLICY_NAME_CHARS, MAX_POLICY_NAMES,
        MAX_RETENTION_DAYS,
    },
    value::{id, list},
    violations::{Location, Violations},
};
use crate::{
    error::Error,
    id::{AgentContextId, OrgId, UserId},
    read::Visibility,
    schema::Schema,
};

table! {
    /// The settings of an org. What it leaves out is as the deployment says.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct OrgSettings as "OrgSettings", SettingsDraft {
        /// Id of the org. A write may leave it out; otherwise it must be the caller's.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "Org" org: Option<OrgId> = ORG_ID,
        /// Entity tag of the settings. A write may leave it out; otherwise it must be the stored one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "ETag" etag: Option<String> = line(MAX_ENTITY_TAG_CHARS),
        /// Visibility of new sessions.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "SessionVisibility" session_visibility: Option<SessionVisibility> = VISIBILITY,
        /// Days from a session's deletion to its purge. A context's `RetentionDays` takes precedence.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "RetentionDays" retention_days: Option<u32> = number(MAX_RETENTION_DAYS),
        /// The model that writes titles of sessions. An empty object turns titles off.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "Titles" titles: Option<TitleSettings> = TITLES,
        /// What turns may use.
        #[serde(default)]
        defaulted "Policy" policy: OrgPolicy = POLICY,
        /// What new turns are refused for.
        #[serde(default)]
        defaulted "Disabled" disabled: DisabledSubjects = DISABLED,
        /// True if requests of the OpenAI-compatible API are refused for a member that the service doesn't know.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        defaulted "StrictRequests" strict_requests: bool = FLAG,
        /// True if every turn is stored: requests with `store: false` are refused.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        defaulted "MandatoryStorage" mandatory_storage: bool = FLAG,
    }
}

/// Visibility of an org's new sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionVisibility {
    /// Visible to every member of the org. The owner may restrict a session to its participants.
    #[default]
    Org,
    /// Visible to the participants. The owner may open a session to the org.
    Participants,
    /// Visible to the participants. Only operators may open a session to the org, and a fork of one that is open is not.
    ParticipantsOnly,
}

impl SessionVisibility {
    /// Every value with its wire name.
    pub const ALL: [(&str, Self); 3] = [
        ("org", Self::Org),
        ("participants", Self::Participants),
        ("participants_only", Self::ParticipantsOnly),
    ];

    /// Returns the visibility of a new session.
    #[must_use]
    pub fn initial(self) -> Visibility {
        match self {
            Self::Org => Visibility::Org,
            Self::Participants | Self::ParticipantsOnly => Visibility::Participants,
        }
    }

    /// Returns the visibility of a fork of a session.
    #[must_use]
    pub fn of_fork(self, source: Visibility) -> Visibility {
        match self {
            Self::Org | Self::Participants => source,
            Self::ParticipantsOnly => Visibility::Participants,
        }
    }

    /// True if users who aren't operators may open their sessions to the org.
    #[must_use]
    pub fn may_open(self) -> bool {
        self != Self::ParticipantsOnly
    }
}

table! {
    /// The model that writes titles of sessions. Without one, a session keeps the excerpt of its first instruction.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct TitleSettings as "TitleSettings", TitleDraft {
        /// Id of the model.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "Model" model: Option<String> = NAME,
        /// Name of its provider. Without one, the deployment's default. Needs a `Model`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "Provider" provider: Option<String> = NAME,
    }
}

table! {
    /// What the turns of an org may use. A list that is left out allows everything, an empty one nothing.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct OrgPolicy as "OrgPolicy", PolicyDraft {
        /// Ids of the models that may answer.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "Models" models: Option<Vec<String>> = NAMES,
        /// Names of the model providers that may answer. The default provider without a name has that of its host.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "Providers" providers: Option<Vec<String>> = NAMES,
        /// Names of the server's tools and types of hosted tools. `agent_change_mode` is always allowed.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "Tools" tools: Option<Vec<String>> = NAMES,
        /// Tools of connections whose calls a person has to approve, such as `shop.refund`, or `shop` for all of a
        /// connection, or `*` for all. No connection can loosen it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "RequireApproval" require_approval: Option<Vec<String>> = NAMES,
        /// The largest file or image of a request, in bytes.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        optional "MaxFileBytes" max_file_bytes: Option<u64> = number(MAX_FILE_BYTES),
    }
}

table! {
    /// What the operators of an org have disabled. New turns are refused; running ones may finish, and reads work.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct DisabledSubjects as "DisabledSubjects", DisabledDraft {
        /// True if the whole org is disabled.
        #[serde(default)]
        defaulted "Org" org: bool = FLAG,
        /// Ids of users.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        defaulted "Users" users: Vec<UserId> = USERS,
        /// Ids of agents; `default` is the built-in one.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        defaulted "Agents" agents: Vec<AgentContextId> = AGENTS,
        /// Ids of models.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        defaulted "Models" models: Vec<String> = DISABLED_MODELS,
    }
}

const ORG_ID: Kind<OrgId> =
    named(Schema::of::<OrgId>("OrgId"), |_, json, at, violations| id(json, at, violations));

impl Words for SessionVisibility {
    const WORDS: &[(&str, Self)] = &Self::ALL;
}

const VISIBILITY: Kind<SessionVisibility> = word(Schema::of::<SessionVisibility>("SessionVisibility"));

const TITLES: Kind<TitleSettings> =
    named(Schema::of::<TitleSettings>("TitleSettings"), |_, json, at, violations| {
        let titles = TitleDraft::read(json, at, violations);
        if titles.provider.is_some() && titles.model.is_none() {
            violations.invalid(&at.member("Provider"), "needs a Model");
        }
        titles.build()
    });

const POLICY: Kind<OrgPolicy> = named(Schema::of::<OrgPolicy>("OrgPolicy"), |_, json, at, violations| {
    PolicyDraft::read(json, at, violations).build()
});

const DISABLED: Kind<DisabledSubjects> =
    named(Schema::of::<DisabledSubjects>("DisabledSubjects"), |_, json, at, violations| {
        DisabledDraft::read(json, at, violations).build()
    });

/// The name of a model, a provider or a tool.
const NAME: Kind<String> = line(MAX_POLICY_NAME_CHARS);
const NAMES: Kind<Vec<String>> = names(MAX_POLICY_NAMES);
const DISABLED_MODELS: Kind<Vec<String>> = names(MAX_DISABLED);

const fn names(max: usize) -> Kind<Vec<String>> {
    Kind {
        shape: Shape::Lines { max },
        read: |shape, json, at, violations| {
            list(json, shape.max(), at, violations, |json, at, violations| {
                (NAME.read)(&NAME.shape, json, at, violations)
            })
        },
    }
}

const USERS: Kind<Vec<UserId>> = Kind {
    shape: Shape::List { items: Schema::of::<UserId>("UserId"), min: 0, max: MAX_DISABLED },
    read: |shape, json, at, violations| list(json, shape.max(), at, violations, id),
};

const AGENTS: Kind<Vec<AgentContextId>> = Kind {
    shape: Shape::List { items: Schema::of::<AgentContextId>("AgentContextId"), min: 0, max: MAX_DISABLED },
    read: |shape, json, at, violations| list(json, shape.max(), at, violations, id),
};

/// A whole number from 0.
const fn number<T: TryFrom<i64>>(max: i64) -> Kind<T> {
    Kind {
        shape: integer::<T>(0, max),
        read: |shape, json, at, violations| {
            let number = shape.integer(json);
            if number.is_none() {
                let Shape::Integer { max, .. } = shape else { return None };
                violations.invalid(at, format_args!("must be a whole number from 0 to {max}"));
            }
            number
        },
    }
}

json_request!(OrgSettings);

impl OrgSettings {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::OrgSettings;
    ///
    /// let body = br#"{"Policy": {"Models": ["gpt-5"]}, "Disabled": {"Users": ["eve"]}}"#;
    /// let settings = OrgSettings::parse(body).expect("settings");
    /// assert_eq!(settings.disabled.users[0].as_str(), "eve");
    /// assert!(OrgSettings::parse(br#"{"Disabled": {"Users": "eve"}}"#).is_err());
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, settings)
    }
}

fn settings(json: &Json<'_>, violations: &mut Violations) -> Option<OrgSettings> {
    SettingsDraft::read(json, &Location::ROOT, violations).build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    fn violations(body: &str) -> Vec<(ErrorCode, String)> {
        let errors = OrgSettings::parse(body.as_bytes()).unwrap_err();
        errors.into_iter().map(|error| (error.error_code, error.details.unwrap_or_default())).collect()
    }

    #[test]
    fn settings_round_trip_and_absent_lists_differ_from_empty_ones() {
        let full = r#"{"Org":"acme","ETag":"t","SessionVisibility":"participants","RetentionDays":7,"Titles":{"Model":"mini","Provider":"cheap"},"Policy":{"Models":[],"Providers":["bedrock"],"Tools":["publish_file"],"RequireApproval":["shop"],"MaxFileBytes":9},"Disabled":{"Org":true,"Users":["eve"],"Agents":["support"],"Models":["m"]},"StrictRequests":true,"MandatoryStorage":true}"#;
        let settings = OrgSettings::parse(full.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&settings).unwrap(), full);
        assert_eq!(settings.policy.models, Some(Vec::new()));
        let off = OrgSettings::parse(br#"{"Titles":{}}"#).unwrap();
        assert_eq!(off.titles, Some(TitleSettings::default()));
        assert_eq!(OrgSettings::parse(b"{}").unwrap(), OrgSettings::default());
        assert_eq!(serde_json::from_str::<OrgSettings>("{}").unwrap(), OrgSettings::default());
    }

    #[test]
    fn violations_name_their_member() {
        use ErrorCode::{MemberInvalid, MemberTooLarge, MemberUnknown};
        let many = vec!["\"m\""; MAX_POLICY_NAMES + 1].join(",");
        let many = format!(r#"{{"Policy":{{"Models":[{many}]}}}}"#);
        for (body, code, at) in [
            (r#"{"SessionVisibility":"Participants"}"#, MemberInvalid, "SessionVisibility"),
            (r#"{"SessionVisibility":"all"}"#, MemberInvalid, "SessionVisibility"),
            (r#"{"RetentionDays":3651}"#, MemberInvalid, "RetentionDays"),
            (r#"{"RetentionDays":1.5}"#, MemberInvalid, "RetentionDays"),
            (r#"{"Titles":"mini"}"#, MemberInvalid, "Titles"),
            (r#"{"Titles":{"Model":""}}"#, MemberInvalid, "Titles.Model"),
            (r#"{"Titles":{"Provider":"cheap"}}"#, MemberInvalid, "Titles.Provider"),
            (r#"{"Policy":[]}"#, MemberInvalid, "Policy"),
            (r#"{"StrictRequests":"yes"}"#, MemberInvalid, "StrictRequests"),
            (r#"{"MandatoryStorage":1}"#, MemberInvalid, "MandatoryStorage"),
            (r#"{"Policy":{"Models":["a","b\n"]}}"#, MemberInvalid, "Policy.Models[1]"),
            (r#"{"Policy":{"MaxFileBytes":-1}}"#, MemberInvalid, "Policy.MaxFileBytes"),
            (r#"{"Policy":{"Sizes":1}}"#, MemberUnknown, "Policy.Sizes"),
            (r#"{"Disabled":{"Org":"true"}}"#, MemberInvalid, "Disabled.Org"),
            (r#"{"Disabled":{"Users":[".."]}}"#, MemberInvalid, "Disabled.Users[0]"),
            (many.as_str(), MemberTooLarge, "Policy.Models"),
        ] {
            assert_eq!(violations(body), [(code, at.to_owned())], "{body}");
        }
    }
}
