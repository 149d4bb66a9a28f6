//! The form of `POST /v1/files`.

use bytes::Bytes;
use contracts::{
    encoding::Encoding,
    request::{RelativePath, is_mime_type, limits::MAX_MIME_TYPE_CHARS},
};
use http::{HeaderMap, header::CONTENT_TYPE};
use runtime::{
    dialect::ANTHROPIC_VERSION,
    form::{FormPart, read_form},
};

use super::{FileId, MAX_FILE_BYTES, Purpose};
use crate::error::ApiError;

/// The longest name of a file in bytes, as file systems limit it.
const MAX_NAME_BYTES: usize = 255;
/// The shortest lifetime of a file, in seconds.
const MIN_LIFETIME: u64 = 60 * 60;
/// The longest lifetime of a file, in seconds. The bucket's lifecycle rule removes it then.
const MAX_LIFETIME: u64 = 30 * 24 * 60 * 60;
/// The media type of a file whose part names none.
const ANY_MEDIA_TYPE: &str = "application/octet-stream";

/// A file to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUpload {
    /// The name.
    pub name: String,
    /// The media type.
    pub media_type: String,
    /// The purpose.
    pub purpose: Purpose,
    /// The lifetime, in seconds.
    pub lifetime: u64,
    /// The content.
    pub bytes: Bytes,
}

/// The fields of the form.
#[derive(Default)]
struct Fields {
    file: Option<FormPart>,
    purpose: Option<FormPart>,
    anchor: Option<FormPart>,
    seconds: Option<FormPart>,
}

impl FileUpload {
    /// Reads a form.
    ///
    /// # Errors
    /// If the body is no form, or a field is missing, unknown or invalid.
    pub async fn read(headers: &HeaderMap, body: Bytes) -> Result<Self, ApiError> {
        let fields = fields(headers, body).await?;
        let purpose = match &fields.purpose {
            Some(purpose) => text(purpose)?,
            // Anthropic's API has no purposes.
            None if headers.contains_key(ANTHROPIC_VERSION) => Purpose::UserData.name(),
            None => return Err(missing("purpose")),
        };
        let purpose = Purpose::from_name(purpose).ok_or_else(|| {
            let alternative = "Use 'user_data', 'assistants' or 'vision': files are the input of requests.";
            ApiError::unsupported("purpose", alternative)
        })?;
        let lifetime = lifetime(fields.anchor.as_ref(), fields.seconds.as_ref())?;
        let file = fields.file.ok_or_else(|| missing("file"))?;
        let name = name(&file)?;
        match file.bytes.len() {
            0 => return Err(ApiError::value("file", "must not be empty")),
            bytes if bytes > MAX_FILE_BYTES => {
                return Err(ApiError::too_large("file", bytes, MAX_FILE_BYTES));
            }
            _ => {}
        }
        let media_type =
            file.content_type.filter(|kind| kind.len() <= MAX_MIME_TYPE_CHARS && is_mime_type(kind));
        let media_type = media_type.unwrap_or_else(|| ANY_MEDIA_TYPE.to_owned());
        Ok(Self { name, media_type, purpose, lifetime, bytes: file.bytes })
    }

    /// Returns the id of the file. `nonce` tells equal files apart.
    #[must_use]
    pub fn id(&self, now: u64, nonce: String) -> FileId {
        let (purpose, name) = (self.purpose, self.name.clone());
        FileId { created: now, expires: now.saturating_add(self.lifetime), purpose, nonce, name }
    }
}

/// Reads the fields, each of which may occur once.
async fn fields(headers: &HeaderMap, body: Bytes) -> Result<Fields, ApiError> {
    let announced = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let Ok(Encoding::Multipart { boundary }) = Encoding::from_content_type(announced) else {
        let message = "Send the file as multipart/form-data with its boundary.";
        let error = ApiError::invalid("Content-Type", "invalid_content_type", message);
        return Err(ApiError { status: 415, ..error });
    };
    let parts = read_form(body, boundary).await;
    let parts = parts.map_err(|error| ApiError::invalid("", "invalid_form", format!("{error}.")))?;
    let mut fields = Fields::default();
    for part in parts {
        let field = match part.name.as_str() {
            "file" => &mut fields.file,
            "purpose" => &mut fields.purpose,
            "expires_after[anchor]" => &mut fields.anchor,
            "expires_after[seconds]" => &mut fields.seconds,
            name => {
                let message = format!("Unknown parameter: '{name}'.");
                return Err(ApiError::invalid(name, "unknown_parameter", message));
            }
        };
        if field.is_some() {
            return Err(ApiError::value(&part.name, "may be sent once"));
        }
        *field = Some(part);
    }
    Ok(fields)
}

fn missing(name: &str) -> ApiError {
    ApiError::invalid(name, "missing_required_parameter", format!("Missing required parameter: '{name}'."))
}

fn text(part: &FormPart) -> Result<&str, ApiError> {
    std::str::from_utf8(&part.bytes).map_err(|_| ApiError::value(&part.name, "must be UTF-8"))
}

fn name(file: &FormPart) -> Result<String, ApiError> {
    let name = file.file_name.as_deref().unwrap_or_default();
    if name.len() > MAX_NAME_BYTES {
        return Err(ApiError::value("file", "has a name of more than 255 bytes"));
    }
    match RelativePath::new(name) {
        Ok(_) => Ok(name.to_owned()),
        Err(fault) => Err(ApiError::invalid("file", "invalid_value", format!("The filename {fault}."))),
    }
}

fn lifetime(anchor: Option<&FormPart>, seconds: Option<&FormPart>) -> Result<u64, ApiError> {
    let (anchor, seconds) = match (anchor, seconds) {
        (None, None) => return Ok(MAX_LIFETIME),
        (Some(anchor), Some(seconds)) => (text(anchor)?, text(seconds)?),
        (None, Some(_)) => return Err(missing("expires_after[anchor]")),
        (Some(_), None) => return Err(missing("expires_after[seconds]")),
    };
    if anchor != "created_at" {
        return Err(ApiError::value("expires_after[anchor]", "must be 'created_at'"));
    }
    let seconds =
        seconds.parse::<u64>().ok().filter(|seconds| (MIN_LIFETIME..=MAX_LIFETIME).contains(seconds));
    let rule = "must be from 3600 to 2592000, an hour to 30 days";
    seconds.ok_or_else(|| ApiError::value("expires_after[seconds]", rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, file_name: Option<&str>, content: &str) -> String {
        let file_name = file_name.map(|name| format!("; filename=\"{name}\"")).unwrap_or_default();
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"{file_name}\r\n\r\n{content}\r\n")
    }

    async fn read(parts: &[String]) -> Result<FileUpload, (u16, String)> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, "multipart/form-data; boundary=b".parse().unwrap());
        let body = format!("{}--b--\r\n", parts.concat());
        let read = FileUpload::read(&headers, Bytes::from(body)).await;
        read.map_err(|error| (error.status, error.param.unwrap_or_default()))
    }

    #[tokio::test]
    async fn form_becomes_a_file() {
        let file = part("file", Some("a.txt"), "Hello");
        let upload = read(&[part("purpose", None, "user_data"), file]).await.unwrap();
        assert_eq!((upload.name.as_str(), upload.media_type.as_str()), ("a.txt", ANY_MEDIA_TYPE));
        let id = upload.id(5, "n".to_owned());
        assert_eq!((id.created, id.expires), (5, 5 + MAX_LIFETIME));
    }

    #[tokio::test]
    async fn invalid_forms_are_refused_by_field() {
        let (file, purpose) = (part("file", Some("a.txt"), "Hello"), part("purpose", None, "user_data"));
        let anchor = |value| part("expires_after[anchor]", None, value);
        let seconds = |value| part("expires_after[seconds]", None, value);
        let large = part("file", Some("a"), &"a".repeat(MAX_FILE_BYTES + 1));
        for (parts, status, param) in [
            (vec![file.clone()], 400, "purpose"),
            (vec![purpose.clone()], 400, "file"),
            (vec![purpose.clone(), file.clone(), file.clone()], 400, "file"),
            (vec![part("purpose", None, "fine-tune"), file.clone()], 400, "purpose"),
            (vec![purpose.clone(), part("file", None, "Hello")], 400, "file"),
            (vec![purpose.clone(), part("file", Some("../a"), "Hello")], 400, "file"),
            (vec![purpose.clone(), part("file", Some("a"), "")], 400, "file"),
            (vec![purpose.clone(), large], 413, "file"),
            (vec![purpose.clone(), file.clone(), part("name", None, "x")], 400, "name"),
            (vec![purpose.clone(), file.clone(), anchor("created_at")], 400, "expires_after[seconds]"),
            (vec![purpose.clone(), file.clone(), seconds("7200")], 400, "expires_after[anchor]"),
            (
                vec![purpose.clone(), file.clone(), anchor("created_at"), seconds("60")],
                400,
                "expires_after[seconds]",
            ),
            (
                vec![purpose.clone(), file.clone(), anchor("now"), seconds("7200")],
                400,
                "expires_after[anchor]",
            ),
        ] {
            assert_eq!(read(&parts).await, Err((status, param.to_owned())));
        }
        let json = FileUpload::read(&HeaderMap::new(), Bytes::from_static(b"{}")).await;
        assert_eq!(json.unwrap_err().status, 415);
    }
}
