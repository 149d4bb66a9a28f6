//! Strings with a rule: ids, hashes, instants.

use std::borrow::Cow;

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, RefOr, Schema, SchemaFormat,
        schema::{KnownFormat, Type},
    },
};

use crate::{
    hash::{ContentHash, Fingerprint},
    id::{AgentContextId, ConversationContextId, MAX_ID_CHARS, OrgId, SessionId, TurnId, UserId},
    timestamp::Timestamp,
};

/// Gives a type a named schema that a function builds.
macro_rules! named {
    ($($name:ident: $build:expr;)+) => {$(
        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let build: fn(ObjectBuilder) -> ObjectBuilder = $build;
                build(ObjectBuilder::new().schema_type(Type::String)).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }
    )+};
}

named! {
    SessionId: minted;
    TurnId: minted;
    AgentContextId: minted;
    ConversationContextId: minted;
    OrgId: opaque;
    UserId: opaque;
    ContentHash: sha256;
    Fingerprint: sha256;
    Timestamp: |string| string.format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
}

/// The unreserved characters, and none of the reserved words (see [`crate::id`]).
fn minted(string: ObjectBuilder) -> ObjectBuilder {
    opaque(string).pattern(Some(r"^(?!(\.|\.\.|last)$)[A-Za-z0-9._~-]+$"))
}

fn opaque(string: ObjectBuilder) -> ObjectBuilder {
    string.min_length(Some(1)).max_length(Some(MAX_ID_CHARS))
}

fn sha256(string: ObjectBuilder) -> ObjectBuilder {
    string.pattern(Some("^[0-9a-f]{64}$"))
}
