//! Field tables: each describes the members of a JSON object and how to read them.
//!
//! Each object of the contract has one table. The rules for all members (spelling, duplicates, presence, unknown
//! names) are implemented here once. A row adds the name, the description and the kind of the value, so the same row reads,
//! checks and documents a member.

use strsim::damerau_levenshtein;

use super::{
    json::Json,
    kind::{Kind, Shape},
    server_owned,
    violations::{Location, Violations},
};
use crate::error::ErrorCode;

/// The purpose of a body: one of the two scenarios of an execute request, told apart by the presence of
/// `ToolResults`, or the body of another path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// A new turn.
    UserTurn,
    /// Tool results for a waiting turn.
    ToolContinuation,
    /// A rerun of a turn.
    Rerun,
    /// A fork of a session.
    Fork,
    /// Feedback on a turn.
    Feedback,
    /// A rollback of a context.
    Rollback,
    /// A rollout of a version of a context.
    Rollout,
    /// The secret of a connection.
    ConnectionSecret,
    /// A call of a connection's tool.
    ToolTrial,
    /// A comparison of a connection with its server.
    ConnectionRefresh,
    /// The resolution of a call whose outcome is unknown.
    EffectResolution,
    /// The approval of a call.
    Approval,
    /// The denial of a call.
    Denial,
    /// A replay of a webhook's deliveries.
    WebhookReplay,
    /// An upload of a document.
    Knowledge,
}

impl Scenario {
    fn name(self) -> &'static str {
        match self {
            Self::UserTurn => "a user turn",
            Self::ToolContinuation => "a tool continuation",
            Self::Rerun => "a rerun",
            Self::Fork => "a fork",
            Self::Feedback => "a feedback",
            Self::Rollback => "a rollback",
            Self::Rollout => "a rollout",
            Self::ConnectionSecret => "a secret",
            Self::ToolTrial => "a call of a tool",
            Self::ConnectionRefresh => "a comparison with a server",
            Self::EffectResolution => "a resolution",
            Self::Approval => "an approval",
            Self::Denial => "a denial",
            Self::WebhookReplay => "a replay",
            Self::Knowledge => "an upload",
        }
    }
}

/// The presence of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The request is invalid without it.
    Required,
    /// The request may leave it out.
    Optional,
    /// The request is invalid with it.
    Forbidden,
}

/// The value of a member: reads it into the draft of its object, or adds a violation.
pub(crate) trait Value<D>: Sync {
    /// Reads the value.
    fn read(&self, json: &Json<'_>, at: &Location<'_>, draft: &mut D, violations: &mut Violations);

    /// The form of the value.
    #[cfg_attr(not(feature = "openapi"), allow(dead_code, reason = "only the document shows it"))]
    fn shape(&self) -> Shape;
}

/// A value of a kind, and its place in the draft. An invalid value arrives there as none.
pub(crate) struct Slot<T, D>(pub(crate) Kind<T>, pub(crate) fn(&mut D, Option<T>));

/// Creates a slot: a kind, the type of the draft, and the member of the draft.
macro_rules! slot {
    ($kind:expr, $draft:ty, $($member:ident).+) => {
        &crate::request::field_table::Slot($kind, |draft: &mut $draft, value| draft.$($member).+ = value)
    };
}

pub(crate) use slot;

impl<T, D> Value<D> for Slot<T, D> {
    fn read(&self, json: &Json<'_>, at: &Location<'_>, draft: &mut D, violations: &mut Violations) {
        let Self(kind, set) = self;
        set(draft, (kind.read)(&kind.shape, json, at, violations));
    }

    fn shape(&self) -> Shape {
        self.0.shape
    }
}

/// A value that is read with what the draft holds.
pub(crate) struct Dependent<D>(
    pub(crate) Shape,
    pub(crate) fn(&Json<'_>, &Location<'_>, &mut D, &mut Violations),
);

impl<D> Value<D> for Dependent<D> {
    fn read(&self, json: &Json<'_>, at: &Location<'_>, draft: &mut D, violations: &mut Violations) {
        (self.1)(json, at, draft, violations);
    }

    fn shape(&self) -> Shape {
        self.0
    }
}

/// A row of a field table.
pub(crate) struct Field<D: 'static> {
    /// The name, in PascalCase.
    pub(crate) name: &'static str,
    /// Description for callers, as Markdown. Empty if that of its type says enough.
    #[cfg_attr(not(feature = "openapi"), allow(dead_code, reason = "only the document shows it"))]
    pub(crate) description: &'static str,
    pub(crate) value: &'static dyn Value<D>,
    user_turn: Presence,
    tool_continuation: Presence,
    /// What to do in place of sending the member where it is forbidden.
    alternative: &'static str,
}

impl<D> Field<D> {
    /// Creates a field whose presence depends on the scenario.
    pub(crate) const fn new(
        name: &'static str,
        description: &'static str,
        user_turn: Presence,
        tool_continuation: Presence,
        value: &'static dyn Value<D>,
    ) -> Self {
        Self { name, description, value, user_turn, tool_continuation, alternative: "leave it out" }
    }

    /// Names another way to the same end where the member is forbidden.
    pub(crate) const fn with_alternative(self, alternative: &'static str) -> Self {
        Self { alternative, ..self }
    }

    /// Creates a required field.
    pub(crate) const fn required(
        name: &'static str,
        description: &'static str,
        value: &'static dyn Value<D>,
    ) -> Self {
        Self::new(name, description, Presence::Required, Presence::Required, value)
    }

    /// Creates an optional field.
    pub(crate) const fn optional(
        name: &'static str,
        description: &'static str,
        value: &'static dyn Value<D>,
    ) -> Self {
        Self::new(name, description, Presence::Optional, Presence::Optional, value)
    }

    /// Requires the field, for the document of an object that always has it.
    #[cfg(feature = "openapi")]
    pub(crate) const fn always(self) -> Self {
        Self { user_turn: Presence::Required, tool_continuation: Presence::Required, ..self }
    }

    /// The presence of the member in a scenario.
    pub(crate) fn presence(&self, scenario: Scenario) -> Presence {
        match scenario {
            Scenario::UserTurn
            | Scenario::Rerun
            | Scenario::Fork
            | Scenario::Feedback
            | Scenario::Rollback
            | Scenario::Rollout
            | Scenario::ConnectionSecret
            | Scenario::ToolTrial
            | Scenario::ConnectionRefresh
            | Scenario::EffectResolution
            | Scenario::Approval
            | Scenario::Denial
            | Scenario::WebhookReplay
            | Scenario::Knowledge => self.user_turn,
            Scenario::ToolContinuation => self.tool_continuation,
        }
    }
}

/// Implements the schema of a type with an expression, and the collection of the schemas that it names.
macro_rules! documented {
    ($type:ty, $name:literal, $schema:expr, $collect:expr) => {
        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $schema
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed($name)
            }

            fn schemas(all: &mut Vec<crate::schema::NamedSchema>) {
                let collect: fn(&mut Vec<crate::schema::NamedSchema>) = $collect;
                collect(all);
            }
        }
    };
}

pub(crate) use documented;

/// Declares an object that the service reads and writes, with a row per member: its description, its presence, its name,
/// its type and its kind.
///
/// The rows become the struct, its schema, and a draft that reads them. `required` members have a value, `optional` ones
/// are an `Option`, and `defaulted` ones have a default.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        #[derive($($derived:path),+)]
        $(#[$attribute:meta])*
        pub struct $type:ident as $schema:literal, $draft:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[serde($($serde:tt)+)])?
                $presence:ident $name:literal $member:ident: $value:ty = $kind:expr,
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(serde::Serialize, serde::Deserialize, $($derived),+)]
        $(#[$attribute])*
        pub struct $type {
            $($(#[doc = $doc])+ #[serde(rename = $name $(, $($serde)+)?)] pub $member: $value,)+
        }

        #[derive(Default)]
        struct $draft {
            $($member: crate::request::field_table::member!(@draft $presence $value),)+
        }

        impl $draft {
            const FIELDS: &[crate::request::field_table::Field<Self>] = &[
                $(crate::request::field_table::member!(
                    @row $presence $name, concat!($($doc),+), slot!($kind, $draft, $member)
                ),)+
            ];

            /// Reads the members.
            fn read(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Self {
                let mut draft = Self::default();
                read_object(json, Self::FIELDS, Scenario::UserTurn, at, &mut draft, violations);
                draft
            }

            /// Returns the object, unless a required member is absent or invalid.
            fn build(self) -> Option<$type> {
                Some($type { $($member: crate::request::field_table::member!(@value $presence self.$member),)+ })
            }
        }

        crate::request::field_table::documented!(
            $type,
            $schema,
            schemas::written_schema(concat!($($about),+), $draft::FIELDS),
            |all| schemas::collect($draft::FIELDS, all)
        );
    };
}

pub(crate) use table;

/// The parts of a row of [`table!`] that depend on the presence of its member.
macro_rules! member {
    (@draft optional $value:ty) => { $value };
    (@draft $presence:ident $value:ty) => { Option<$value> };
    (@row required $name:expr, $doc:expr, $slot:expr) => { Field::required($name, $doc, $slot) };
    (@row $presence:ident $name:expr, $doc:expr, $slot:expr) => { Field::optional($name, $doc, $slot) };
    (@value required $value:expr) => { $value? };
    (@value optional $value:expr) => { $value };
    (@value defaulted $value:expr) => { $value.unwrap_or_default() };
}

pub(crate) use member;

/// True if `spelling` is the PascalCase name or its camelCase form.
pub(crate) fn is_spelling_of(name: &str, spelling: &str) -> bool {
    let mut left = name.chars();
    let mut right = spelling.chars();
    match (left.next(), right.next()) {
        (Some(a), Some(b)) => (a == b || a.to_ascii_lowercase() == b) && left.as_str() == right.as_str(),
        _ => false,
    }
}

/// Returns the values of a member in either spelling, before the whole object is read.
pub(crate) fn peek<'j>(json: &'j Json<'j>, name: &str) -> impl Iterator<Item = &'j Json<'j>> {
    let members = match json {
        Json::Object(members) => members.as_slice(),
        _ => &[],
    };
    members.iter().filter(move |(spelling, _)| is_spelling_of(name, spelling)).map(|(_, value)| value)
}

/// Reads an object with its field table.
///
/// A null member counts as absent, because common serializers write null for unset members. An unknown or
/// server-owned name is rejected, whatever its value. Missing members are reported last, since they have no
/// position in the document.
pub(crate) fn read_object<D>(
    json: &Json<'_>,
    table: &[Field<D>],
    scenario: Scenario,
    at: &Location<'_>,
    draft: &mut D,
    violations: &mut Violations,
) {
    let Json::Object(members) = json else {
        return violations.invalid(at, format_args!("must be an object, not {}", json.kind()));
    };
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let mut present: Vec<&str> = Vec::new();
    for (spelling, value) in members {
        let Some(row) = table.iter().find(|row| is_spelling_of(row.name, spelling)) else {
            report_unknown(spelling, table, at, violations);
            continue;
        };
        let here = at.member(row.name);
        if let Some((_, first)) = seen.iter().find(|(name, _)| *name == row.name) {
            violations.add(
                ErrorCode::MemberDuplicated,
                &here,
                format_args!("is given twice, as {first} and as {spelling}; send it once"),
            );
            continue;
        }
        seen.push((row.name, spelling));
        if matches!(value, Json::Null) {
            continue;
        }
        present.push(row.name);
        match row.presence(scenario) {
            Presence::Forbidden => violations.add(
                ErrorCode::MemberForbidden,
                &here,
                format_args!("is forbidden in {}; {}", scenario.name(), row.alternative),
            ),
            Presence::Required | Presence::Optional => row.value.read(value, &here, draft, violations),
        }
    }
    for row in table {
        if row.presence(scenario) == Presence::Required && !present.contains(&row.name) {
            report_missing(row, scenario, at, violations);
        }
    }
}

fn report_missing<D>(row: &Field<D>, scenario: Scenario, at: &Location<'_>, violations: &mut Violations) {
    let here = at.member(row.name);
    if at.is_root() {
        let text = format_args!("is required in {}; it is absent or null", scenario.name());
        violations.add(ErrorCode::MemberRequired, &here, text);
    } else {
        violations.add(ErrorCode::MemberRequired, &here, "is required; it is absent or null");
    }
}

fn report_unknown<D>(spelling: &str, table: &[Field<D>], at: &Location<'_>, violations: &mut Violations) {
    let here = at.member(spelling);
    if at.is_root() && server_owned::is_server_owned(spelling) {
        return violations.add(
            ErrorCode::MemberForbidden,
            &here,
            "is owned by the server and may never be sent; leave it out",
        );
    }
    match closest_field(spelling, table) {
        Some(name) => {
            violations.add(
                ErrorCode::MemberUnknown,
                &here,
                format_args!("is not a member of the contract, {name} is"),
            );
        }
        None => {
            violations.add(ErrorCode::MemberUnknown, &here, "is not a member of the contract; leave it out")
        }
    }
}

/// The largest edit distance between a misspelled name and its suggestion. Swapped neighbours count once.
const MAX_TYPO_DISTANCE: usize = 2;

/// Finds the member that an unknown name probably means: another naming style, or a typo.
fn closest_field<D>(spelling: &str, table: &[Field<D>]) -> Option<&'static str> {
    let normalized = server_owned::normalize(spelling);
    let distance = |row: &Field<D>| damerau_levenshtein(&server_owned::normalize(row.name), &normalized);
    let nearest = table.iter().map(|row| (distance(row), row.name)).min_by_key(|(distance, _)| *distance)?;
    // Short names are close to many others.
    (nearest.0 <= MAX_TYPO_DISTANCE.min(nearest.1.len() / 3)).then_some(nearest.1)
}
