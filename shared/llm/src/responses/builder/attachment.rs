//! Files and images of a message, as `data:` URLs.

use agent::model::Attachment;

use crate::prompt::data_url;
use crate::responses::request as wire;

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
