//! Runs the program on documents of each format, and on hostile ones.

use std::io::{Cursor, Write};
use std::process::{Command, Output, Stdio};
use std::thread;

use zip::write::SimpleFileOptions;

const TYPES: &str = "http://schemas.openxmlformats.org/package/2006/content-types";
const RELATIONSHIPS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const WORD: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
const SLIDES: &str = "http://schemas.openxmlformats.org/presentationml/2006/main";
const DRAWING: &str = "http://schemas.openxmlformats.org/drawingml/2006/main";
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

/// A workbook with a sheet of these rows.
fn xlsx(rows: &str) -> Vec<u8> {
    let workbook = format!(
        r#"<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets><sheet name="Costs" sheetId="1" r:id="r1"/></sheets></workbook>"#
    );
    let links = relationships(&format!(
        r#"<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>"#
    ));
    let sheet = format!(r#"<worksheet xmlns="{SHEET}"><sheetData>{rows}</sheetData></worksheet>"#);
    let parts = [
        ("xl/workbook.xml", workbook),
        ("xl/_rels/workbook.xml.rels", links),
        ("xl/worksheets/sheet1.xml", sheet),
    ];
    package("xl/workbook.xml", &parts)
}

/// A presentation with a slide of these shapes.
fn pptx(shapes: &str) -> Vec<u8> {
    let presentation = format!(
        r#"<p:presentation xmlns:p="{SLIDES}" xmlns:r="{OFFICE}"><p:sldIdLst><p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>"#
    );
    let links = relationships(&format!(
        r#"<Relationship Id="r1" Type="{OFFICE}/slide" Target="slides/slide1.xml"/>"#
    ));
    let slide = format!(
        r#"<p:sld xmlns:p="{SLIDES}" xmlns:a="{DRAWING}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"#
    );
    let parts = [
        ("ppt/presentation.xml", presentation),
        ("ppt/_rels/presentation.xml.rels", links),
        ("ppt/slides/slide1.xml", slide),
    ];
    package("ppt/presentation.xml", &parts)
}

/// A PDF document whose objects and trailer are these, with a table of offsets at `LAST`.
fn raw_pdf(objects: &[&str], trailer: &str) -> Vec<u8> {
    let (mut text, mut offsets) = ("%PDF-1.5\n".to_owned(), String::new());
    for (object, number) in objects.iter().zip(1..) {
        offsets.push_str(&format!("{:010} 00000 n \n", text.len()));
        text.push_str(&format!("{number} 0 obj\n{object}\nendobj\n"));
    }
    let (last, size) = (text.len().to_string(), objects.len() + 1);
    let trailer = trailer.replace("LAST", &last);
    format!(
        "{text}xref\n0 {size}\n0000000000 65535 f \n{offsets}trailer\n{trailer}\nstartxref\n{last}\n%%EOF\n"
    )
    .into_bytes()
}

#[test]
fn xlsx_has_a_heading_for_each_sheet() {
    let row = r#"<row r="1"><c r="A1" t="inlineStr"><is><t>Rent</t></is></c><c r="B1"><v>1200</v></c></row>"#;
    let text = markdown("xlsx", xlsx(row));
    assert!(text.contains("## Sheet 1: Costs") && text.contains("Rent") && text.contains("1200"), "{text}");
}

/// How the program ends on a hostile document.
#[derive(Debug, PartialEq)]
enum End {
    /// It has a text, of a bounded size.
    Text,
    /// It isn't valid.
    Invalid,
    /// It passes a limit of the process, or crashes its parser.
    Limit,
}

#[test]
fn hostile_documents_of_each_kind_end_by_their_limits() {
    let text = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    let nested =
        |open: &str, close: &str, times: usize| format!("{}{}", open.repeat(times), close.repeat(times));
    let table = |row: &str, cell: &str, end: &str| format!("{row}{}{end}", cell.repeat(1_000)).repeat(10_000);
    let far: String =
        (1..=100_000).map(|row| format!(r#"<row r="{row}"><c r="XFD{row}"><v>1</v></c></row>"#)).collect();
    let entities: String = ('b'..='j')
        .zip('a'..)
        .map(|(name, before)| format!(r#"<!ENTITY {name} "{}">"#, format!("&{before};").repeat(10)))
        .collect();
    let entities = format!(
        r#"<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa">{entities}]><w:document xmlns:w="{WORD}"><w:body>{}</w:body></w:document>"#,
        text("&j;")
    );
    let catalog = "<</Type/Catalog/Pages 2 0 R>>";
    let page = |contents: &str| {
        format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9e99 9e99]/Resources<</XObject<</A 4 0 R>>>>/Contents {contents}>>"
        )
    };
    let form = "<</Type/XObject/Subtype/Form/BBox[0 0 1 1]/Resources<</XObject<</A 4 0 R>>>>/Length 11>>\nstream\n/A Do /A Do\nendstream";
    let pages = "<</Type/Pages/Kids[3 0 R]/Count 1>>";
    let draw = "<</Length 5>>\nstream\n/A Do\nendstream";
    for (name, extension, document, end) in [
        ("bomb", "docx", docx(&text(&"A".repeat(1 << 29))), End::Invalid),
        (
            "tables in tables",
            "docx",
            docx(&nested("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>", 200_000)),
            End::Invalid,
        ),
        (
            "ten million cells",
            "docx",
            docx(&format!("<w:tbl>{}</w:tbl>", table("<w:tr>", "<w:tc><w:p/></w:tc>", "</w:tr>"))),
            End::Invalid,
        ),
        (
            "entities of entities",
            "docx",
            package("word/document.xml", &[("word/document.xml", entities)]),
            End::Text,
        ),
        (
            "bomb",
            "pptx",
            pptx(&format!(
                "<p:sp><p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>",
                "A".repeat(1 << 28)
            )),
            End::Invalid,
        ),
        ("groups in groups", "pptx", pptx(&nested("<p:grpSp>", "</p:grpSp>", 500_000)), End::Invalid),
        ("no package", "pptx", b"PK\x03\x04".to_vec(), End::Invalid),
        ("ten million cells", "xlsx", xlsx(&table("<row>", "<c><v>1</v></c>", "</row>")), End::Invalid),
        ("cells in the last column", "xlsx", xlsx(&far), End::Limit),
        (
            "a cell out of range",
            "xlsx",
            xlsx(r#"<row r="99999999999999999999"><c r="ZZZZZZZZ99999999999"><v>1</v></c></row>"#),
            End::Text,
        ),
        ("nothing", "xlsx", Vec::new(), End::Invalid),
        (
            "nested arrays",
            "pdf",
            [
                b"%PDF-1.4\n1 0 obj".to_vec(),
                vec![b'['; 2_000_000],
                b"\nendobj\ntrailer<</Root 1 0 R>>".to_vec(),
            ]
            .concat(),
            End::Limit,
        ),
        (
            "a table of offsets before itself",
            "pdf",
            raw_pdf(&[catalog, pages, &page("5 0 R"), form, draw], "<</Root 1 0 R/Size 6/Prev LAST>>"),
            End::Text,
        ),
        (
            "a form that draws itself",
            "pdf",
            raw_pdf(&[catalog, pages, &page("5 0 R"), form, draw], "<</Root 1 0 R/Size 6>>"),
            End::Text,
        ),
        (
            "a page that is its own child",
            "pdf",
            raw_pdf(&[catalog, "<</Type/Pages/Kids[2 0 R 2 0 R]/Count 1>>"], "<</Root 1 0 R/Size 3>>"),
            End::Text,
        ),
    ] {
        let output = convert(extension, document);
        let found = match output.status.code() {
            Some(0) => End::Text,
            Some(1) => End::Invalid,
            _ => End::Limit,
        };
        assert_eq!(found, end, "{name} in {extension}");
        assert!(output.stdout.len() < 1_000, "{name} in {extension}: {} bytes", output.stdout.len());
    }
}
