//! Names of the documents of vector stores. They encode the store and the file, so no table maps them.

use contracts::request::RelativePath;

use crate::files::{FileId, Purpose};

/// The letter of each purpose. Single letters aren't terms of a search, while the names of purposes would be.
const PURPOSES: [(Purpose, &str); 3] =
    [(Purpose::UserData, "u"), (Purpose::Assistants, "a"), (Purpose::Vision, "v")];

/// Returns the name of the document for a file of a vector store. `None` if it is too long.
#[must_use]
pub fn document_name(store: &str, file: &FileId) -> Option<RelativePath> {
    let FileId { created, expires, purpose, nonce, name } = file;
    let (_, letter) = PURPOSES.iter().find(|(known, _)| known == purpose)?;
    RelativePath::new(&format!("{store}/{nonce}-{created}-{expires}-{letter}/{name}")).ok()
}

/// Returns the store and the file of a document. `None` for any other document.
#[must_use]
pub fn file_of_document(document: &str) -> Option<(&str, FileId)> {
    let (store, rest) = document.split_once('/')?;
    let (file, name) = rest.split_once('/')?;
    let mut parts = file.splitn(4, '-');
    let mut part = || parts.next();
    let (nonce, created, expires) = (part()?.to_owned(), part()?.parse().ok()?, part()?.parse().ok()?);
    let letter = part()?;
    let (purpose, _) = PURPOSES.iter().find(|(_, known)| *known == letter)?;
    Some((store, FileId { created, expires, purpose: *purpose, nonce, name: name.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_document_round_trips() {
        let purpose = Purpose::Assistants;
        let file = FileId {
            created: 7,
            expires: 9,
            purpose,
            nonce: "abc".to_owned(),
            name: "notes/a-b c.txt".to_owned(),
        };
        let name = document_name("vs_1", &file).unwrap();
        assert_eq!(name.as_str(), "vs_1/abc-7-9-a/notes/a-b c.txt");
        assert_eq!(file_of_document(name.as_str()), Some(("vs_1", file)));
        for other in ["guides/a.md", "a", "vs_1/abc-7-9-x/a", "vs_1/abc-7-a/a"] {
            assert_eq!(file_of_document(other), None, "{other}");
        }
    }
}
