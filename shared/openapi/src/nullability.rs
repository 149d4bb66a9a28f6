//! Nullability of response members: an optional member is absent, never null.
//!
//! The derive macro adds null to every `Option` field, but a member that may be omitted needs no null.

use utoipa::openapi::{
    RefOr, Schema,
    schema::{SchemaType, Type},
};

/// Removes null from every optional member.
pub(crate) fn remove_optional_null(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::T(Schema::Object(object)) => {
            let required = object.required.clone();
            for (name, member) in &mut object.properties {
                if !required.contains(name) {
                    remove_null(member);
                }
            }
        }
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().for_each(remove_optional_null),
        RefOr::T(Schema::OneOf(one)) => one.items.iter_mut().for_each(remove_optional_null),
        RefOr::T(_) | RefOr::Ref(_) => {}
    }
}

fn remove_null(member: &mut RefOr<Schema>) {
    match member {
        RefOr::T(Schema::Object(object)) => remove_null_type(&mut object.schema_type),
        RefOr::T(Schema::Array(array)) => remove_null_type(&mut array.schema_type),
        RefOr::T(Schema::OneOf(one)) => {
            one.items.retain(|item| !is_null(item));
            if let [only] = one.items.as_slice() {
                *member = only.clone();
            }
        }
        RefOr::T(_) | RefOr::Ref(_) => {}
    }
}

fn remove_null_type(types: &mut SchemaType) {
    let SchemaType::Array(several) = types else { return };
    several.retain(|one| *one != Type::Null);
    if let [only] = several.as_slice() {
        *types = SchemaType::Type(only.clone());
    }
}

fn is_null(item: &RefOr<Schema>) -> bool {
    matches!(item, RefOr::T(Schema::Object(object)) if object.schema_type == SchemaType::Type(Type::Null))
}
