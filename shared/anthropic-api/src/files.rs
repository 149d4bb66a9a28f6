//! Uploaded files, from the form that OpenAI's API gives them.

use contracts::Timestamp;
use serde_json::{Value, json};

/// The media types of files by the ends of their names. OpenAI's form has none.
const MEDIA_TYPES: &[(&str, &str)] = &[
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("txt", "text/plain"),
    ("webp", "image/webp"),
];

/// Returns a file, a deleted one, or a page of files.
#[must_use]
pub fn from_openai(files: &Value) -> Value {
    if let Some(list) = files["data"].as_array() {
        let data: Vec<Value> = list.iter().map(file).collect();
        let next = Some(&files["last_id"]).filter(|_| files["has_more"] == true);
        return json!({"data": data, "next_page": next});
    }
    match files["deleted"] == true {
        true => json!({"id": files["id"], "type": "file_deleted"}),
        false => file(files),
    }
}

fn file(file: &Value) -> Value {
    let name = file["filename"].as_str().unwrap_or_default();
    let end = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let media_type = MEDIA_TYPES.iter().find(|(known, _)| *known == end);
    let created =
        Timestamp::from_millis(file["created_at"].as_i64().unwrap_or_default().saturating_mul(1_000));
    json!({
        "id": file["id"], "type": "file", "filename": name, "size_bytes": file["bytes"],
        "mime_type": media_type.map_or("application/octet-stream", |(_, media_type)| media_type),
        "created_at": created.to_string(), "downloadable": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_form_of_the_protocol() {
        let file =
            json!({"id": "file-1", "object": "file", "bytes": 5, "created_at": 1, "filename": "a.PDF"});
        let expected = json!({
            "id": "file-1", "type": "file", "filename": "a.PDF", "size_bytes": 5, "mime_type": "application/pdf",
            "created_at": "1970-01-01T00:00:01.000Z", "downloadable": true,
        });
        assert_eq!(from_openai(&file), expected);
        let page =
            from_openai(&json!({"object": "list", "data": [file], "has_more": true, "last_id": "file-1"}));
        assert_eq!((&page["data"][0], &page["next_page"]), (&expected, &json!("file-1")));
        let deleted = from_openai(&json!({"id": "file-1", "object": "file", "deleted": true}));
        assert_eq!(deleted, json!({"id": "file-1", "type": "file_deleted"}));
    }
}
