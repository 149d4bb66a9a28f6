//! Images pasted from the clipboard (AGN-034 §4.3).

use super::{
    base64,
    json::Json,
    limits::MAX_IMAGE_ID_CHARS,
    report::{At, Report},
    table::{Member, Scenario, peek, read_object},
    value::{line, text, word},
};

/// An image without provenance (AGN-034 §4.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClipboardImage {
    /// The client's name for it; its place among the images, as `clipboard-1`, where the client gave none.
    pub id: String,
    /// Its kind; the bytes were checked against it.
    pub image_type: ImageType,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The kinds of image that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageType {
    /// `image/png`
    Png,
    /// `image/jpeg`
    Jpeg,
    /// `image/gif`
    Gif,
    /// `image/webp`
    Webp,
}

impl ImageType {
    const WORDS: &[(&str, Self)] = &[
        ("image/png", Self::Png),
        ("image/jpeg", Self::Jpeg),
        ("image/gif", Self::Gif),
        ("image/webp", Self::Webp),
    ];

    /// The media type.
    #[must_use]
    pub fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// The kind that the bytes have, by their signature.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Self::Png),
            [0xFF, 0xD8, 0xFF, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Draft {
    id: Option<String>,
    image_type: Option<ImageType>,
    bytes: Option<Vec<u8>>,
}

const MEMBERS: &[Member<Draft>] = &[
    Member::optional("Id", |json, at, draft, report| {
        draft.id = line(json, MAX_IMAGE_ID_CHARS, at, report).map(str::to_owned);
    }),
    Member::required("MimeType", |json, at, draft, report| {
        draft.image_type = word(json, ImageType::WORDS, at, report);
    }),
    Member::required("DataBase64", |json, at, draft, report| {
        draft.bytes = text(json, usize::MAX, at, report).and_then(|text| base64::decode(text, at, report));
    }),
];

/// Reads one item of `ClipboardImages`.
pub(super) fn read(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<ClipboardImage> {
    let mut draft = Draft::default();
    read_object(json, MEMBERS, Scenario::UserTurn, at, &mut draft, report);
    let (image_type, bytes) = (draft.image_type?, draft.bytes?);
    let found = ImageType::of_bytes(&bytes);
    if found != Some(image_type) {
        let found = found.map_or("no image that is accepted", ImageType::mime_type);
        report.invalid(
            &at.member("DataBase64"),
            format_args!("must be what MimeType says, {}; its bytes are {found}", image_type.mime_type()),
        );
        return None;
    }
    let named = peek(json, "Id").any(|id| !matches!(id, Json::Null));
    let id = match draft.id {
        None if !named => format!("clipboard-{}", at.index().unwrap_or_default() + 1),
        id => id?,
    };
    Some(ClipboardImage { id, image_type, bytes })
}
