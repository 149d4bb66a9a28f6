use super::*;

const AT: &str = "ClipboardImages[0]";

#[test]
fn image_id_is_unique() {
    let named = |id: &str| image(json!({"Id": id}))["ClipboardImages"][0].clone();
    let turn = accepted_turn(&user_turn(json!({"ClipboardImages": [named("a"), named("b")]})));
    let ids: Vec<&str> = turn.clipboard_images.iter().map(|image| image.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    let twice = user_turn(json!({"ClipboardImages": [named("a"), named("b"), named("a")]}));
    refused(&twice, ErrorCode::MemberInvalid, "ClipboardImages[2].Id");
    refused(&image(json!({"Id": ""})), ErrorCode::MemberInvalid, &format!("{AT}.Id"));
}

#[test]
fn three_members_are_required() {
    for name in ["Id", "MimeType", "DataBase64"] {
        refused(&image(json!({name: null})), ErrorCode::MemberRequired, &format!("{AT}.{name}"));
    }
}

#[test]
fn declared_type_must_match_signature() {
    for (mime_type, data, image_type) in [
        ("image/png", PNG, ImageType::Png),
        ("image/jpeg", "/9j/4AAQ", ImageType::Jpeg),
        ("image/gif", "R0lGODlhAQAB", ImageType::Gif),
        ("image/gif", "R0lGODdhAQAB", ImageType::Gif),
        ("image/webp", "UklGRgAAAABXRUJQ", ImageType::Webp),
    ] {
        let turn = accepted_turn(&image(json!({"MimeType": mime_type, "DataBase64": data})));
        assert_eq!(turn.clipboard_images[0].image_type, image_type);
        let other = if mime_type == "image/png" { "image/gif" } else { "image/png" };
        let body = image(json!({"MimeType": other, "DataBase64": data}));
        refused(&body, ErrorCode::MemberInvalid, &format!("{AT}.DataBase64"));
    }
}

#[test]
fn non_image_bytes_rejected() {
    for data in ["", "aGVsbG8=", "PHN2Zz48L3N2Zz4=", "UklGRgAAAABXQVZF"] {
        refused(&image(json!({"DataBase64": data})), ErrorCode::MemberInvalid, &format!("{AT}.DataBase64"));
    }
}

#[test]
fn data_must_be_bare_base64() {
    for data in [&format!("data:image/png;base64,{PNG}"), "***", "iVBORw0K\n"] {
        refused(&image(json!({"DataBase64": data})), ErrorCode::MemberInvalid, &format!("{AT}.DataBase64"));
    }
}

#[test]
fn other_mime_types_rejected() {
    for mime_type in ["image/svg+xml", "image/bmp", "IMAGE/PNG", "text/plain", ""] {
        refused(&image(json!({"MimeType": mime_type})), ErrorCode::MemberInvalid, &format!("{AT}.MimeType"));
    }
}

#[test]
fn more_than_16_images_rejected() {
    let picture = image(json!({}))["ClipboardImages"][0].clone();
    let numbered = |number: usize| {
        let mut picture = picture.clone();
        picture["Id"] = json!(format!("i{number}"));
        picture
    };
    let pictures =
        |n: usize| user_turn(json!({"ClipboardImages": (0..n).map(numbered).collect::<Vec<Value>>()}));
    assert_eq!(accepted_turn(&pictures(16)).clipboard_images.len(), 16);
    refused(&pictures(17), ErrorCode::MemberTooLarge, "ClipboardImages");
}
