//! Files and images of a message, as `data:` URLs.

use agent::model::Attachment;
use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::wire::request as wire;

pub(super) fn part(attachment: &Attachment) -> wire::Part<'_> {
    match attachment {
        Attachment::Image { media_type, bytes } => {
            wire::Part::InputImage { image_url: data_url(media_type, bytes), detail: "auto" }
        }
        Attachment::File { name, media_type, bytes } => {
            wire::Part::InputFile { filename: name, file_data: data_url(media_type, bytes) }
        }
    }
}

/// Encodes a `data:` URL (RFC 2397).
fn data_url(media_type: &str, bytes: &[u8]) -> String {
    let mut url = format!("data:{media_type};base64,");
    STANDARD.encode_string(bytes, &mut url);
    url
}
