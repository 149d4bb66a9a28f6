//! Schemas of the envelope of every response body.
//!
//! The status distinguishes results from errors, so each has its own schema.

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        AllOfBuilder, ArrayBuilder, ObjectBuilder, Ref, RefOr, Schema,
        schema::{SchemaType, Type},
    },
};

use contracts::schema::NamedSchema;
use contracts::{
    error::{Error, ErrorCode},
    invoke_result::{InvokeResult, Warning},
};

const FAILURE: &str = "InvokeResult_Failure";

/// The name of the envelope schema for a result.
pub(crate) fn envelope_name(result: &str) -> String {
    format!("InvokeResult_{result}")
}

pub(crate) fn success(result: &str) -> Schema {
    envelope(true, Ref::from_schema_name(result).into(), array("Error").max_items(Some(0)))
        .description(Some("A successful result."))
        .into()
}

/// Adds the envelope with errors, and the schemas that it refers to.
pub(crate) fn failure(all: &mut Vec<NamedSchema>) {
    let null = ObjectBuilder::new().schema_type(Type::Null).build();
    let example = InvokeResult::<()>::err(ErrorCode::SessionNotFound.into());
    let failure = envelope(false, null.into(), array("Error").min_items(Some(1)))
        .description(Some("A failure with at least one error and no result."))
        .examples(serde_json::to_value(example).ok());
    all.push((FAILURE.to_owned(), Schema::from(failure).into()));
    all.push((Error::name().into_owned(), Error::schema()));
    Error::schemas(all);
    all.push((Warning::name().into_owned(), Warning::schema()));
}

/// The schema of a failure with only these codes.
pub(crate) fn failure_with_codes(codes: &[ErrorCode]) -> Schema {
    let codes = text().enum_values(Some(codes.iter().map(|code| code.as_str())));
    let error = ObjectBuilder::new().property("ErrorCode", codes);
    let errors = ArrayBuilder::new().items(error);
    AllOfBuilder::new()
        .item(Ref::from_schema_name(FAILURE))
        .item(ObjectBuilder::new().property("Errors", errors))
        .into()
}

fn envelope(successful: bool, result: RefOr<Schema>, errors: ArrayBuilder) -> ObjectBuilder {
    let flag = ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([successful]));
    ObjectBuilder::new()
        .property("Successful", flag)
        .property("Result", result)
        .property("Errors", errors)
        .property("Warnings", array("Warning"))
        .required("Successful")
        .required("Result")
        .required("Errors")
        .required("Warnings")
        .additional_properties(Some(crate::closed_schemas::NO_OTHER_MEMBERS))
}

fn array(of: &str) -> ArrayBuilder {
    ArrayBuilder::new().items(Ref::from_schema_name(of))
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::Type(Type::String))
}
