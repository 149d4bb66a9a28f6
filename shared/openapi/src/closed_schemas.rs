//! Closes schemas in ways that the derive macro can't express: a response kind must not have the members of the
//! other kind, and a user turn needs some input.
//!
//! The derive macro writes a flattened struct and a tag as parts of an `allOf`, and such parts can't be closed one
//! by one. Here they become one object.

use utoipa::openapi::{
    AllOfBuilder, ArrayBuilder, Object, ObjectBuilder, Ref, RefOr, Schema,
    schema::{AdditionalProperties, AnyOfBuilder, OneOfBuilder, SchemaType, Type},
};

use contracts::schema::NamedSchema;

/// Forbids members other than the named ones.
pub(crate) const NO_OTHER_MEMBERS: AdditionalProperties<Schema> = AdditionalProperties::FreeForm(false);

/// The response kinds and the values of `Kind`.
const KINDS: [(&str, &str); 2] = [("Final", "final"), ("ClientToolContinuation", "client_tool_continuation")];

/// Closes both response kinds, and the union of them.
pub(crate) fn close_response_kinds(all: &mut Vec<NamedSchema>) {
    let metadata = object(all, "Metadata");
    let mut response = OneOfBuilder::new();
    let mut discriminator = utoipa::openapi::Discriminator::new("Kind");
    for (name, kind) in KINDS {
        let Some(RefOr::T(Schema::AllOf(parts))) = find(all, name) else { continue };
        let tag = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([kind]));
        let mut closed = ObjectBuilder::new().property("Kind", tag).required("Kind").build();
        let own = parts.items.iter().filter_map(|part| match part {
            RefOr::T(Schema::Object(object)) => Some(object),
            _ => None,
        });
        for part in metadata.iter().chain(own) {
            closed.properties.extend(part.properties.clone());
            closed.required.extend(part.required.iter().cloned());
        }
        closed.description = parts.description.clone();
        closed.additional_properties = Some(Box::new(NO_OTHER_MEMBERS));
        set(all, name, Schema::Object(closed));
        let target = Ref::from_schema_name(name);
        discriminator.mapping.insert(kind.to_owned(), target.ref_location.clone());
        response = response.item(target);
    }
    if let Some(RefOr::T(Schema::OneOf(derived))) = find(all, "AgentExecuteResponse") {
        let response =
            response.description(derived.description.clone()).discriminator(Some(discriminator)).build();
        set(all, "AgentExecuteResponse", Schema::OneOf(response));
    }
    all.retain(|(name, _)| name != "Metadata");
}

/// Requires at least one input in a user turn.
pub(crate) fn require_user_turn_input(all: &mut [NamedSchema]) {
    if let Some(turn) = object(all, "UserTurn") {
        set(all, "UserTurn", require_input(turn));
    }
}

/// Requires at least one input in an object: an instruction that is not blank, an artifact or an image.
pub(crate) fn require_input(object: Object) -> Schema {
    let instruction = ObjectBuilder::new().schema_type(Type::String).pattern(Some(r"\S"));
    let any_value = || ObjectBuilder::new().schema_type(SchemaType::AnyValue);
    let non_empty = || ArrayBuilder::new().items(any_value()).min_items(Some(1));
    let inputs = AnyOfBuilder::new()
        .item(with_member("Instruction", instruction.into()))
        .item(with_member("InputArtifacts", non_empty().into()))
        .item(with_member("ClipboardImages", non_empty().into()));
    let description = object.description.clone();
    AllOfBuilder::new().item(object).item(inputs).description(description).into()
}

fn with_member(name: &str, schema: Schema) -> Object {
    ObjectBuilder::new().schema_type(SchemaType::AnyValue).property(name, schema).required(name).build()
}

fn object(all: &[NamedSchema], name: &str) -> Option<Object> {
    match find(all, name) {
        Some(RefOr::T(Schema::Object(object))) => Some(object.clone()),
        _ => None,
    }
}

fn find<'a>(all: &'a [NamedSchema], name: &str) -> Option<&'a RefOr<Schema>> {
    all.iter().find(|(found, _)| found == name).map(|(_, schema)| schema)
}

fn set(all: &mut [NamedSchema], name: &str, schema: Schema) {
    if let Some((_, found)) = all.iter_mut().find(|(found, _)| found == name) {
        *found = schema.into();
    }
}
