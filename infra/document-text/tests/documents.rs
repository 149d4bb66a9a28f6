//! Runs the program on documents of each format, and on hostile ones.

use std::io::{Cursor, Write};
use std::process::{Command, Output, Stdio};
use std::thread;

use zip::write::SimpleFileOptions;

const TYPES: &str = "http://schemas.openxmlformats.org/package/2006/content-types";
const RELATIONSHIPS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const WORD: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
const SHEET: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";

fn convert(extension: &str, document: Vec<u8>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_document-text"));
    command.arg(extension).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = thread::spawn(move || _ = input.write_all(&document));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn markdown(extension: &str, document: Vec<u8>) -> String {
    let output = convert(extension, document);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Packs parts and the relationships of the package.
fn package(main: &str, parts: &[(&str, String)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let types =
        format!(r#"<Types xmlns="{TYPES}"><Default Extension="xml" ContentType="application/xml"/></Types>"#);
    let link = |target: &str| {
        relationships(&format!(r#"<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="{target}"/>"#))
    };
    let all = [("[Content_Types].xml", types), ("_rels/.rels", link(main))];
    for (name, text) in all.iter().chain(parts) {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn relationships(links: &str) -> String {
    format!(r#"<Relationships xmlns="{RELATIONSHIPS}">{links}</Relationships>"#)
}

fn docx(body: &str) -> Vec<u8> {
    let document = format!(r#"<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>"#);
    package("word/document.xml", &[("word/document.xml", document)])
}

/// A PDF document with a page for each of these texts.
fn pdf(pages: &[&str]) -> Vec<u8> {
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
    let body: String = numbered.collect();
    format!("%PDF-1.4\n{body}trailer\n<</Root 1 0 R/Size {}>>\n%%EOF\n", objects.len() + 1).into_bytes()
}

#[test]
fn pdf_has_a_heading_for_each_page() {
    let text = markdown("pdf", pdf(&["The first page.", "Badges open the north door."]));
    let (first, second) = text.split_once("## Page 2").unwrap();
    assert!(first.contains("## Page 1") && first.contains("The first page."), "{text}");
    assert!(second.contains("Badges open the north door."), "{text}");
}

#[test]
fn docx_keeps_paragraphs_and_tables() {
    let cell = |text: &str| format!("<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>");
    let table = format!("<w:tbl><w:tr>{}{}</w:tr></w:tbl>", cell("Room"), cell("Door"));
    let text = markdown("docx", docx(&format!("<w:p><w:r><w:t>Badges are blue.</w:t></w:r></w:p>{table}")));
    assert!(text.contains("Badges are blue.") && text.contains("| Room | Door |"), "{text}");
}

#[test]
fn xlsx_has_a_heading_for_each_sheet() {
    let workbook = format!(
        r#"<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets><sheet name="Costs" sheetId="1" r:id="r1"/></sheets></workbook>"#
    );
    let links = relationships(&format!(
        r#"<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>"#
    ));
    let sheet = format!(
        r#"<worksheet xmlns="{SHEET}"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>Rent</t></is></c><c r="B1"><v>1200</v></c></row></sheetData></worksheet>"#
    );
    let parts = [
        ("xl/workbook.xml", workbook),
        ("xl/_rels/workbook.xml.rels", links),
        ("xl/worksheets/sheet1.xml", sheet),
    ];
    let text = markdown("xlsx", package("xl/workbook.xml", &parts));
    assert!(text.contains("## Sheet 1: Costs") && text.contains("Rent") && text.contains("1200"), "{text}");
}

#[test]
fn hostile_documents_fail_and_do_not_hang() {
    let bomb = docx(&format!("<w:p><w:r><w:t>{}</w:t></w:r></w:p>", "A".repeat(1 << 30)));
    let nested =
        [b"%PDF-1.4\n1 0 obj".to_vec(), vec![b'['; 2_000_000], b"\nendobj\ntrailer<</Root 1 0 R>>".to_vec()]
            .concat();
    for (extension, document) in
        [("docx", bomb), ("pdf", nested), ("pptx", b"PK\x03\x04".to_vec()), ("xlsx", Vec::new())]
    {
        let size = document.len();
        let output = convert(extension, document);
        assert!(!output.status.success() && output.stdout.is_empty(), "{extension} of {size} bytes");
    }
    // A page that is its own child has no text.
    let cycle = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[2 0 R]/Count 1>>endobj\ntrailer<</Root 1 0 R/Size 3>>\n%%EOF";
    assert_eq!(convert("pdf", cycle.into()).stdout, b"");
}
