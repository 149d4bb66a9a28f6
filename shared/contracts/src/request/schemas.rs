//! Schemas of requests, from their field tables.

use utoipa::openapi::{
    Object, ObjectBuilder, OneOfBuilder, Ref, RefOr, Schema,
    schema::{AdditionalProperties, ArrayBuilder, KnownFormat, SchemaFormat, SchemaType, Type},
};

use super::{
    field_table::{Field, Presence, Scenario},
    kind::Shape,
};
use crate::schema::NamedSchema;

/// Returns the schema of an object.
pub(super) fn object<D>(description: &str, fields: &[Field<D>], scenario: Scenario) -> Object {
    let mut object = ObjectBuilder::new()
        .description(Some(description.trim()))
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
    for field in fields {
        let is_optional = match field.presence(scenario) {
            Presence::Forbidden => continue,
            Presence::Required => false,
            Presence::Optional => true,
        };
        object = object.property(field.name, member(field.value.shape(), field.description, is_optional));
        if !is_optional {
            object = object.required(field.name);
        }
    }
    object.build()
}

/// Returns the schema of an object without further rules.
pub(super) fn object_schema<D>(description: &str, fields: &[Field<D>], scenario: Scenario) -> RefOr<Schema> {
    Schema::Object(object(description, fields, scenario)).into()
}

/// Returns the schema of an object that the service writes too. It stays open, since a later version may add members.
pub(super) fn written_schema<D>(description: &str, fields: &[Field<D>]) -> RefOr<Schema> {
    let mut object = object(description, fields, Scenario::UserTurn);
    object.additional_properties = None;
    Schema::Object(object).into()
}

/// Adds the schemas that a table names.
pub(super) fn collect<D>(fields: &[Field<D>], all: &mut Vec<NamedSchema>) {
    for field in fields {
        if let Shape::Named(schema) | Shape::List { items: schema, .. } = field.value.shape() {
            (schema.collect)(schema.name, all);
        }
    }
}

/// Returns the schema of a member. Null counts as absent, so an optional one may be null.
fn member(shape: Shape, description: &str, is_optional: bool) -> RefOr<Schema> {
    let description = Some(description.trim()).filter(|description| !description.is_empty());
    let nullable = |only: Type| match is_optional {
        true => SchemaType::from_iter([only, Type::Null]),
        false => SchemaType::Type(only),
    };
    let of_type = |only: Type| ObjectBuilder::new().schema_type(nullable(only)).description(description);
    match shape {
        Shape::Named(schema) => {
            let mut reference = Ref::from_schema_name(schema.name);
            reference.description = description.unwrap_or_default().to_owned();
            match is_optional {
                true => {
                    let null = ObjectBuilder::new().schema_type(Type::Null);
                    OneOfBuilder::new().item(reference).item(null).into()
                }
                false => reference.into(),
            }
        }
        Shape::Text { max_chars, pattern, media_type } => {
            let max_chars = Some(max_chars).filter(|max| *max < usize::MAX);
            let text = of_type(Type::String).max_length(max_chars).pattern(pattern);
            text.content_media_type(media_type.unwrap_or_default()).into()
        }
        Shape::Integer { min, max, is_long } => of_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(match is_long {
                true => KnownFormat::Int64,
                false => KnownFormat::Int32,
            })))
            .minimum(Some(min))
            .maximum(Some(max).filter(|max| is_long || *max < i64::from(u32::MAX)))
            .into(),
        Shape::Milliseconds { max } => of_type(Type::Number)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Double)))
            .minimum(Some(0))
            .maximum(Some(max))
            .into(),
        Shape::Flag => of_type(Type::Boolean).into(),
        Shape::Lines { max } => ArrayBuilder::new()
            .schema_type(nullable(Type::Array))
            .items(ObjectBuilder::new().schema_type(Type::String))
            .description(description)
            .max_items(Some(max))
            .into(),
        Shape::List { items, min, max } => ArrayBuilder::new()
            .schema_type(nullable(Type::Array))
            .items(Ref::from_schema_name(items.name))
            .description(description)
            .min_items(Some(min).filter(|min| *min > 0))
            .max_items(Some(max))
            .into(),
    }
}

/// Returns the schema of one of several words.
pub(super) fn words<T>(description: &str, words: &[(&'static str, T)]) -> RefOr<Schema> {
    let words = words.iter().map(|(word, _)| *word);
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
        .enum_values(Some(words))
        .into()
}

/// Returns the schema of one of several objects, each with its description.
pub(super) fn one_of<const N: usize>(description: &str, objects: [(&str, &str); N]) -> RefOr<Schema> {
    let objects = objects.into_iter().map(|(name, description)| {
        let mut reference = Ref::from_schema_name(name);
        reference.description = description.to_owned();
        reference
    });
    let all = objects.fold(OneOfBuilder::new(), OneOfBuilder::item);
    RefOr::T(all.description(Some(description)).into())
}

/// Returns the schema of a value of a retrieval condition.
pub(super) fn rag_value(description: &str) -> RefOr<Schema> {
    let integer = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)));
    let all = OneOfBuilder::new()
        .item(Ref::from_schema_name("RagText"))
        .item(integer)
        .item(ObjectBuilder::new().schema_type(Type::Boolean));
    RefOr::T(all.description(Some(description)).into())
}
