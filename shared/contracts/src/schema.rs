//! Names of schemas. Rows of operations and of field tables name the types that they hold, so that the OpenAPI document
//! collects them without a list of its own.

#[cfg(feature = "openapi")]
use crate::read::ListResponse;

/// A type of the contract, by its name in the OpenAPI document.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// The name.
    pub name: &'static str,
    /// Adds the schema under the name, and the schemas that it refers to.
    #[cfg(feature = "openapi")]
    pub collect: fn(&str, &mut Vec<NamedSchema>),
}

/// A schema and its name.
#[cfg(feature = "openapi")]
pub type NamedSchema = (String, utoipa::openapi::RefOr<utoipa::openapi::Schema>);

#[cfg(feature = "openapi")]
impl Schema {
    /// Names the schema of a type.
    #[must_use]
    pub const fn of<T: utoipa::ToSchema>(name: &'static str) -> Self {
        Self { name, collect: collect::<T> }
    }

    /// Names the schema of a page of items. The derived one holds the items' schema without its name.
    #[must_use]
    pub const fn list<T: utoipa::ToSchema>(name: &'static str) -> Self {
        Self {
            name,
            collect: |name, all| {
                collect::<ListResponse<T>>(name, all);
                collect::<T>(&T::name(), all);
            },
        }
    }
}

#[cfg(feature = "openapi")]
fn collect<T: utoipa::ToSchema>(name: &str, all: &mut Vec<NamedSchema>) {
    all.push((name.to_owned(), T::schema()));
    T::schemas(all);
}

/// Functions have no schemas: they would carry the OpenAPI library into every binary.
#[cfg(not(feature = "openapi"))]
impl Schema {
    /// Names the schema of a type.
    #[must_use]
    pub const fn of<T>(name: &'static str) -> Self {
        Self { name }
    }

    /// Names the schema of a page of items.
    #[must_use]
    pub const fn list<T>(name: &'static str) -> Self {
        Self { name }
    }
}
