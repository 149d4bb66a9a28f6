//! Images pasted from the clipboard.

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    base64,
    field_table::{Field, Scenario, documented, read_object, slot},
    json::Json,
    kind::{ImageData, ImageId, Kind, Shape, Words, named, word},
    limits::{MAX_IMAGE_ID_CHARS, MAX_IMAGES},
    value::{line, list, text},
    violations::{Location, Violations},
};
use crate::schema::Schema;

/// An image pasted from the clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClipboardImage {
    /// The client's id for the image, unique within the request.
    pub id: String,
    /// The image type. Matches the signature of the bytes.
    pub image_type: ImageType,
    /// The bytes of the image.
    pub bytes: Vec<u8>,
}

/// The accepted image types.
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

impl Words for ImageType {
    const WORDS: &[(&str, Self)] = &[
        ("image/png", Self::Png),
        ("image/jpeg", Self::Jpeg),
        ("image/gif", Self::Gif),
        ("image/webp", Self::Webp),
    ];
}

impl ImageType {
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

    /// Detects the image type from the signature of the bytes.
    #[must_use]
    pub fn from_signature(bytes: &[u8]) -> Option<Self> {
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

const FIELDS: &[Field<Draft>] = &[
    Field::required("Id", "Client's id of the image, unique within the request.", slot!(IMAGE_ID, Draft, id)),
    Field::required("MimeType", "", slot!(IMAGE_TYPE, Draft, image_type)),
    Field::required(
        "DataBase64",
        "Image data, Base64 with the standard alphabet. The bytes must match `MimeType`.",
        slot!(IMAGE_DATA, Draft, bytes),
    ),
];

/// The images of a turn.
pub(super) const IMAGES: Kind<Vec<ClipboardImage>> = Kind {
    shape: Shape::List { items: Schema::of::<ClipboardImage>("ClipboardImage"), min: 0, max: MAX_IMAGES },
    read: |shape, json, at, violations| list(json, shape.max(), at, violations, read),
};

const IMAGE_ID: Kind<String> = named(Schema::of::<ImageId>("ImageId"), |_, json, at, violations| {
    line(json, MAX_IMAGE_ID_CHARS, at, violations).map(str::to_owned)
});

const IMAGE_TYPE: Kind<ImageType> = word(Schema::of::<ImageType>("ImageMimeType"));

const IMAGE_DATA: Kind<Vec<u8>> = named(Schema::of::<ImageData>("ImageData"), |_, json, at, violations| {
    base64::decode(text(json, usize::MAX, at, violations)?, at, violations)
});

documented!(
    ClipboardImage,
    "ClipboardImage",
    schemas::object_schema("A pasted image.", FIELDS, Scenario::UserTurn),
    |all| schemas::collect(FIELDS, all)
);
documented!(ImageType, "ImageMimeType", schemas::words("Accepted image types.", ImageType::WORDS), |_| {});

/// Reads an item of `ClipboardImages`.
fn read(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<ClipboardImage> {
    let mut draft = Draft::default();
    read_object(json, FIELDS, Scenario::UserTurn, at, &mut draft, violations);
    let (id, image_type, bytes) = (draft.id, draft.image_type?, draft.bytes?);
    let found = ImageType::from_signature(&bytes);
    if found != Some(image_type) {
        let found = found.map_or("no image that is accepted", ImageType::mime_type);
        violations.invalid(
            &at.member("DataBase64"),
            format_args!("must be what MimeType says, {}; its bytes are {found}", image_type.mime_type()),
        );
        return None;
    }
    Some(ClipboardImage { id: id?, image_type, bytes })
}
