//! What the derive can't say of the closed shapes: a bucket that a kind forbids must not be there
//! (AGN-033 §3.5), and a user turn needs some input (AGN-034 §2.1).
//!
//! The derive spells a flattened struct and a tag as parts of an `allOf`, and such parts can't be closed
//! one by one. Here they become one object.

use utoipa::openapi::{
    AllOfBuilder, ArrayBuilder, Object, ObjectBuilder, Ref, RefOr, Schema,
    schema::{AdditionalProperties, AnyOfBuilder, OneOfBuilder, SchemaType, Type},
};

use super::Named;

/// No other members than the named ones.
pub(super) const NOTHING: AdditionalProperties<Schema> = AdditionalProperties::FreeForm(false);

/// The two kinds of response, each a closed object that holds its `Kind`.
const KINDS: [(&str, &str); 2] = [("Final", "final"), ("ClientToolContinuation", "client_tool_continuation")];

/// Closes both kinds of response, and the choice between them.
pub(super) fn kinds(all: &mut Vec<Named>) {
    let metadata = object(all, "Metadata");
    let mut response = OneOfBuilder::new();
    let mut discriminator = utoipa::openapi::Discriminator::new("Kind");
    for (name, kind) in KINDS {
        let Some(RefOr::T(Schema::AllOf(parts))) = find(all, name) else { continue };
        let tag = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([kind]));
        let mut whole = ObjectBuilder::new().property("Kind", tag).required("Kind").build();
        let own = parts.items.iter().filter_map(|part| match part {
            RefOr::T(Schema::Object(object)) => Some(object),
            _ => None,
        });
        for part in metadata.iter().chain(own) {
            whole.properties.extend(part.properties.clone());
            whole.required.extend(part.required.iter().cloned());
        }
        whole.description = parts.description.clone();
        whole.additional_properties = Some(Box::new(NOTHING));
        set(all, name, Schema::Object(whole));
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

/// Requires some input of a user turn.
pub(super) fn some_input(all: &mut [Named]) {
    if let Some(turn) = object(all, "UserTurn") {
        set(all, "UserTurn", with_input(turn));
    }
}

/// The object, with at least one input: an instruction that is not blank, an artifact or an image.
pub(super) fn with_input(object: Object) -> Schema {
    let says = ObjectBuilder::new().schema_type(Type::String).pattern(Some(r"\S"));
    let anything = || ObjectBuilder::new().schema_type(SchemaType::AnyValue);
    let one = || ArrayBuilder::new().items(anything()).min_items(Some(1));
    let inputs = AnyOfBuilder::new()
        .item(with_member("Instruction", says.into()))
        .item(with_member("InputArtifacts", one().into()))
        .item(with_member("ClipboardImages", one().into()));
    let description = object.description.clone();
    AllOfBuilder::new().item(object).item(inputs).description(description).into()
}

fn with_member(name: &str, schema: Schema) -> Object {
    ObjectBuilder::new().schema_type(SchemaType::AnyValue).property(name, schema).required(name).build()
}

fn object(all: &[Named], name: &str) -> Option<Object> {
    match find(all, name) {
        Some(RefOr::T(Schema::Object(object))) => Some(object.clone()),
        _ => None,
    }
}

fn find<'a>(all: &'a [Named], name: &str) -> Option<&'a RefOr<Schema>> {
    all.iter().find(|(found, _)| found == name).map(|(_, schema)| schema)
}

fn set(all: &mut [Named], name: &str, schema: Schema) {
    if let Some((_, found)) = all.iter_mut().find(|(found, _)| found == name) {
        *found = schema.into();
    }
}
