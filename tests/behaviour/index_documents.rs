//! PDF documents become points by page. What can't be read is named.

use std::fs;

use crate::{index_secrets::token, indexing::write, support::System};

/// A PDF document with a page for each of these texts.
pub fn pdf(pages: &[&str]) -> String {
    let kids: String = (0..pages.len()).map(|page| format!("{} 0 R ", 4 + 2 * page)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Kids[{kids}]/Count {}>>", pages.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
    ];
    for (text, page) in pages.iter().zip(0..) {
        let content = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET");
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents {} 0 R>>",
            5 + 2 * page
        ));
        objects.push(format!("<</Length {}>>\nstream\n{content}\nendstream", content.len()));
    }
    let numbered =
        objects.iter().zip(1..).map(|(object, number)| format!("{number} 0 obj\n{object}\nendobj\n"));
    format!(
        "%PDF-1.4\n{}trailer\n<</Root 1 0 R/Size {}>>\n%%EOF\n",
        numbered.collect::<String>(),
        objects.len() + 1
    )
}

#[tokio::test]
async fn documents_are_found_by_page_and_unreadable_ones_are_named() {
    let system = System::start().await;
    let folder = tempfile::tempdir().unwrap();
    let handbook = pdf(&[
        "Visitors wait in the lobby.",
        "Blue badges open the north door.",
        "The canteen closes at three.",
    ]);
    let keys = pdf(&[&format!("The key is {}.", token())]);
    let nested = format!("%PDF-1.4\n1 0 obj{}\nendobj\ntrailer<</Root 1 0 R>>", "[".repeat(2_000_000));
    write(
        folder.path(),
        &[
            ("handbook.pdf", &handbook),
            ("keys.pdf", &keys),
            ("nested.PDF", &nested),
            ("not.docx", "text"),
            ("scan.pdf", &pdf(&[""])),
        ],
    );
    let told = system.index_with(folder.path(), "acme", &["--verbose"]).await;
    assert!(told.starts_with("1 files indexed, 0 unchanged, 0 deleted, 4 skipped"), "{told}");
    for (reason, path) in [
        ("may hold a secret", "keys.pdf"),
        ("exceeds the limits of a document", "nested.PDF"),
        ("not a valid document", "not.docx"),
        ("has no text", "scan.pdf"),
    ] {
        let named = told.lines().skip_while(|line| !line.contains(reason)).any(|line| line.contains(path));
        assert!(named, "{reason}: {told}");
    }
    let found = system.search("Which badge opens the north door?", "acme").await;
    let first = found.lines().next().unwrap();
    assert!(first.starts_with("handbook.pdf:") && found.contains("Page 2"), "{found}");

    // The text of an unchanged document isn't extracted again.
    let again = system.index(folder.path(), "acme").await;
    assert!(again.starts_with("0 files indexed, 1 unchanged, 0 deleted, 4 skipped; 0 chunks"), "{again}");
    fs::write(folder.path().join("handbook.pdf"), pdf(&["Green badges open the south door."])).unwrap();
    let changed = system.index(folder.path(), "acme").await;
    assert!(changed.starts_with("1 files indexed, 0 unchanged"), "{changed}");
    let found = system.search("Which badge opens the north door?", "acme").await;
    assert!(found.contains("Green badges") && !found.contains("Blue badges"), "{found}");
}
