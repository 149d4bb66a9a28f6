//! Optional members of what we write: absent, never null (AGN-033 §3.5).
//!
//! The derive says null wherever a field is an `Option`; what may be left out needs no null.

use utoipa::openapi::{
    RefOr, Schema,
    schema::{SchemaType, Type},
};

/// Removes null from every member that may be left out.
pub(super) fn never_null(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::T(Schema::Object(object)) => {
            let required = object.required.clone();
            for (name, member) in &mut object.properties {
                if !required.contains(name) {
                    without_null(member);
                }
            }
        }
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().for_each(never_null),
        RefOr::T(Schema::OneOf(one)) => one.items.iter_mut().for_each(never_null),
        RefOr::T(_) | RefOr::Ref(_) => {}
    }
}

fn without_null(member: &mut RefOr<Schema>) {
    match member {
        RefOr::T(Schema::Object(object)) => not_null(&mut object.schema_type),
        RefOr::T(Schema::Array(array)) => not_null(&mut array.schema_type),
        RefOr::T(Schema::OneOf(one)) => {
            one.items.retain(|item| !is_null(item));
            if let [only] = one.items.as_slice() {
                *member = only.clone();
            }
        }
        RefOr::T(_) | RefOr::Ref(_) => {}
    }
}

fn not_null(types: &mut SchemaType) {
    let SchemaType::Array(several) = types else { return };
    several.retain(|one| *one != Type::Null);
    if let [only] = several.as_slice() {
        *types = SchemaType::Type(only.clone());
    }
}

fn is_null(item: &RefOr<Schema>) -> bool {
    matches!(item, RefOr::T(Schema::Object(object)) if object.schema_type == SchemaType::Type(Type::Null))
}
