//! Path, query and header parameters.

use utoipa::openapi::{
    ObjectBuilder, Ref, RefOr, Required, Schema,
    path::{self, ParameterBuilder, ParameterIn},
    schema::{KnownFormat, SchemaFormat, Type},
};

use contracts::operations::{Parameter, ParameterLocation, Value};

pub(crate) fn parameter(parameter: &Parameter) -> path::Parameter {
    let location = match parameter.location {
        ParameterLocation::Path => ParameterIn::Path,
        ParameterLocation::Query => ParameterIn::Query,
        ParameterLocation::Header => ParameterIn::Header,
    };
    ParameterBuilder::new()
        .name(parameter.name)
        .parameter_in(location)
        .required(if parameter.is_required { Required::True } else { Required::False })
        .description(Some(parameter.description))
        .schema(Some(schema(parameter.value)))
        .build()
}

fn schema(value: Value) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    match value {
        Value::Named(name) => return Ref::from_schema_name(name).into(),
        Value::Text(min, max, pattern) => text.min_length(min).max_length(max).pattern(pattern),
        Value::Words(words, default) => text.enum_values(Some(words())).default(default.map(Into::into)),
        Value::Timestamp => text.format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))),
        Value::Number(min, max, default) => ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(min))
            .maximum(Some(max))
            .default(default.map(Into::into)),
    }
    .into()
}
