//! Tables of members: one row declares a member of a context or a mode, documents it and bounds it.
//!
//! A row is a member of a struct in [`table!`]. Its doc comment is the description in the JSON Schema, its type and its
//! `serde` attributes say how it is read, and its rule has the bounds, which the schema shows and the check enforces.
//! Rules across members, and rules that depend on a deployment, are checked beside the tables.

mod rules;
mod words;

use contracts::id::{AgentContextId, ConversationContextId, ModeKey};
use protocol::{chain::ConversationStatePolicy, cost::Amount};
use serde_json::{Map, Value, json};

use crate::fault::FaultCollector;
pub(crate) use rules::{
    Count, Fits, INVALID_NAME, MAX_PROVIDER_NAME_CHARS, MAX_TOOL_DESCRIPTION_CHARS, NAME_PATTERN,
    PROVIDER_NAME, Pattern, Strings, Text, at_most, deprecation, is_valid_name, line, text,
};
pub(crate) use words::{words, words_of};

/// A row, as the JSON Schema shows it.
pub(crate) struct Member {
    /// The name, in PascalCase.
    pub(crate) name: String,
    /// True if a document is invalid without it.
    pub(crate) is_required: bool,
    /// The schema of its values, with its description.
    pub(crate) schema: Value,
}

/// An object with a table of members.
pub(crate) trait Members {
    /// The name of its schema.
    const NAME: &'static str;
    /// The description of its schema.
    const DESCRIPTION: &'static str;

    /// Returns the rows.
    fn members() -> Vec<Member>;

    /// Checks each member by its rule, in the order of the rows. `at` is the path of the object.
    fn check_members(&self, at: &str, faults: &mut FaultCollector);
}

/// A type of values, by its JSON Schema.
pub(crate) trait Typed {
    /// Returns the schema.
    fn schema() -> Value;

    /// Checks the members of the value, if it has any.
    fn check(&self, _at: &str, _faults: &mut FaultCollector) {}
}

/// The bounds of a member's values.
pub(crate) trait Rule<T> {
    /// Adds the bounds to the schema of the type.
    fn bound(&self, schema: &mut Value);

    /// Adds a fault for each bound that the value exceeds.
    fn check(&self, value: &T, at: &str, faults: &mut FaultCollector);
}

/// Declares a struct, or describes one of another crate, with a row per member.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        #[derive($($derived:path),+)]
        $(#[serde($($container:tt)+)])?
        pub struct $type:ident as $name:literal {
            $(
                $(#[doc = $doc:literal])+
                $(#[serde($($serde:tt)+)])?
                pub $member:ident: $value:ty $(= $rule:expr)?,
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(serde::Serialize, serde::Deserialize, $($derived),+)]
        #[serde(rename_all = "PascalCase", deny_unknown_fields $(, $($container)+)?)]
        pub struct $type {
            $($(#[doc = $doc])+ $(#[serde($($serde)+)])? pub $member: $value,)+
        }

        $crate::members::table! {
            $(#[doc = $about])+
            $(#[serde($($container)+)])?
            impl $type as $name {
                $($(#[doc = $doc])+ $(#[serde($($serde)+)])? $member: $value $(= $rule)?,)+
            }
        }
    };
    (
        $(#[doc = $about:literal])+
        $(#[serde($($container:tt)+)])?
        impl $type:ident as $name:literal {
            $(
                $(#[doc = $doc:literal])+
                $(#[serde($($serde:tt)+)])?
                $member:ident: $value:ty $(= $rule:expr)?,
            )+
        }
    ) => {
        impl $crate::members::Members for $type {
            const NAME: &'static str = $name;
            const DESCRIPTION: &'static str = concat!($($about),+);

            fn members() -> Vec<$crate::members::Member> {
                // What has a default may be left out.
                let container = concat!($(stringify!($($container)+))?);
                vec![$({
                    #[allow(unused_mut, reason = "not every row has a rule")]
                    let mut schema = <$value as $crate::members::Typed>::schema();
                    $($crate::members::Rule::<$value>::bound(&$rule, &mut schema);)?
                    let serde = concat!($(stringify!($($serde)+))?);
                    $crate::members::Member {
                        name: $crate::members::wire_name(stringify!($member)),
                        is_required: !container.contains("default") && !serde.contains("default"),
                        schema: $crate::members::describe(schema, concat!($($doc),+)),
                    }
                }),+]
            }

            fn check_members(&self, at: &str, faults: &mut $crate::fault::FaultCollector) {
                $(
                    let here = format!("{at}.{}", $crate::members::wire_name(stringify!($member)));
                    $crate::members::Typed::check(&self.$member, &here, faults);
                    $($crate::members::Rule::<$value>::check(&$rule, &self.$member, &here, faults);)?
                )+
            }
        }
    };
}

pub(crate) use table;

/// Returns the name of a member on the wire.
pub(crate) fn wire_name(member: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    member.split('_').map(word).collect()
}

/// Adds the description to a schema. A reference has that of its target, and a constant needs none.
pub(crate) fn describe(mut schema: Value, description: &str) -> Value {
    if let Value::Object(keywords) = &mut schema
        && !keywords.contains_key("$ref")
        && !keywords.contains_key("const")
    {
        keywords.insert("description".to_owned(), description.trim().into());
    }
    schema
}

/// Returns the schema of an object that has the members of its table and no others. A tag is a member with only one
/// value.
pub(crate) fn object<T: Members>(tag: Option<(&str, &str)>) -> Value {
    let (mut required, mut properties) = (Vec::new(), Map::new());
    if let Some((name, value)) = tag {
        required.push(name.to_owned());
        properties.insert(name.to_owned(), json!({ "const": value }));
    }
    for Member { name, is_required, schema } in T::members() {
        if is_required {
            required.push(name.clone());
        }
        properties.insert(name, schema);
    }
    json!({
        "type": "object", "description": T::DESCRIPTION.trim(), "required": required, "properties": properties,
        "additionalProperties": false,
    })
}

impl<T: Members> Typed for T {
    fn schema() -> Value {
        reference(T::NAME)
    }

    fn check(&self, at: &str, faults: &mut FaultCollector) {
        self.check_members(at, faults);
    }
}

/// Returns a reference to a named schema.
pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

impl<T: Typed> Typed for Option<T> {
    fn schema() -> Value {
        T::schema()
    }

    fn check(&self, at: &str, faults: &mut FaultCollector) {
        if let Some(value) = self {
            value.check(at, faults);
        }
    }
}

impl<T: Typed> Typed for Vec<T> {
    fn schema() -> Value {
        json!({ "type": "array", "items": T::schema() })
    }

    fn check(&self, at: &str, faults: &mut FaultCollector) {
        for (n, item) in self.iter().enumerate() {
            item.check(&format!("{at}[{n}]"), faults);
        }
    }
}

impl<T, R: Rule<T>> Rule<Option<T>> for R {
    fn bound(&self, schema: &mut Value) {
        Rule::<T>::bound(self, schema);
    }

    fn check(&self, value: &Option<T>, at: &str, faults: &mut FaultCollector) {
        if let Some(value) = value {
            Rule::<T>::check(self, value, at, faults);
        }
    }
}

/// Implements the schema of types that are one JSON type each.
macro_rules! simple {
    ($($type:ty: $schema:tt;)+) => {$(
        impl Typed for $type {
            fn schema() -> Value {
                json!($schema)
            }
        }
    )+};
}

simple! {
    String: { "type": "string" };
    AgentContextId: { "type": "string" };
    ConversationContextId: { "type": "string" };
    ModeKey: { "type": "string" };
    bool: { "type": "boolean" };
    u32: { "type": "integer" };
    f64: { "type": "number" };
    Amount: { "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$" };
    // Values that are JSON Schemas themselves: of arguments, or of an answer.
    Value: { "type": "object" };
}

words!(ConversationStatePolicy);
