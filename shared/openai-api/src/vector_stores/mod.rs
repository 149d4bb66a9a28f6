//! Vector stores: the names of their documents, and their objects.

mod document_name;
mod object;

pub use document_name::{document_name, file_of_document};
pub use object::{StoreObject, file_object, page, search_page};
