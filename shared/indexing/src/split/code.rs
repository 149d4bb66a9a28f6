//! Splits programs by their syntax tree. Each chunk has the symbol that it declares or is part of.

use std::ops::Range;

use text_splitter::CodeSplitter;
use tree_sitter::{Node, Parser, TreeCursor};

use super::chunk::{ChunkLength, Split, Symbol, chunk};
use super::line_index::LineIndex;
use crate::language::Syntax;

/// The maximum depth of the tree in which declarations are collected.
const MAX_DEPTH: usize = 64;
/// The maximum length of a title, in bytes.
const MAX_TITLE_BYTES: usize = 200;

/// A declaration and its position.
struct Declaration {
    symbol: Symbol,
    bytes: Range<usize>,
}

/// Splits a text; none if it can't be parsed as this language at all.
pub(super) fn split(text: &str, syntax: Syntax, lines: &LineIndex, length: ChunkLength) -> Option<Split> {
    let grammar = syntax.grammar()?;
    let mut parser = Parser::new();
    parser.set_language(&grammar).ok()?;
    let tree = parser.parse(text, None)?;
    let mut declarations = Vec::new();
    collect(&mut tree.walk(), text, &mut Vec::new(), 0, &mut declarations);

    let splitter = CodeSplitter::new(grammar, length.config()).ok()?;
    let chunks = splitter.chunk_indices(text).filter_map(|(begin, part)| {
        let mut chunk = chunk(text, begin..begin + part.len(), lines)?;
        let begins = begin + (part.len() - part.trim_start().len());
        chunk.symbol = symbol_of(&(begins..begin + part.trim_end().len()), &declarations);
        Some(chunk)
    });
    let chunks = chunks.collect();
    Some(Split { title: title(tree.root_node(), text), chunks })
}

/// Returns the innermost declaration that contains the chunk, or else the first one that begins in it.
fn symbol_of(chunk: &Range<usize>, declarations: &[Declaration]) -> Option<Symbol> {
    let encloses = |declaration: &&Declaration| {
        declaration.bytes.start <= chunk.start && chunk.end <= declaration.bytes.end
    };
    let begins_in = |declaration: &&Declaration| chunk.contains(&declaration.bytes.start);
    let declaration =
        declarations.iter().filter(encloses).max_by_key(|declaration| declaration.symbol.within.len());
    let declaration = declaration.or_else(|| declarations.iter().find(begins_in))?;
    Some(declaration.symbol.clone())
}

fn collect(
    cursor: &mut TreeCursor<'_>,
    text: &str,
    within: &mut Vec<String>,
    depth: usize,
    declarations: &mut Vec<Declaration>,
) {
    let node = cursor.node();
    let symbol = symbol(node, text);
    let is_declaration = symbol.is_some();
    if let Some((name, kind)) = symbol {
        let symbol = Symbol { name: name.clone(), kind, within: within.clone() };
        declarations.push(Declaration { symbol, bytes: node.byte_range() });
        within.push(name);
    }
    if depth < MAX_DEPTH && cursor.goto_first_child() {
        loop {
            collect(cursor, text, within, depth + 1, declarations);
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
    }
    if is_declaration {
        within.pop();
    }
}

/// Returns the name and the kind of a declaration. The node kinds are the grammars' own; no two grammars use one
/// with different meanings.
fn symbol(node: Node<'_>, text: &str) -> Option<(String, &'static str)> {
    let kind = match node.kind() {
        "function_item"
        | "function_declaration"
        | "function_definition"
        | "generator_function_declaration" => "function",
        "method_declaration" | "method_definition" => "method",
        "constructor_declaration" => "constructor",
        "struct_item" | "struct_specifier" | "struct_declaration" => "struct",
        "enum_item" | "enum_specifier" | "enum_declaration" => "enum",
        "class_declaration" | "class_definition" | "class_specifier" | "abstract_class_declaration" => {
            "class"
        }
        "record_declaration" => "record",
        "interface_declaration" => "interface",
        "trait_item" => "trait",
        "impl_item" => "impl",
        "mod_item" | "namespace_definition" | "namespace_declaration" => "module",
        "type_item" | "type_alias_declaration" | "type_spec" => "type",
        "const_item" | "static_item" => "constant",
        "macro_definition" => "macro",
        "variable_declarator" if holds_function(node) => "function",
        _ => return None,
    };
    let name_node = node.child_by_field_name("name").or_else(|| match node.kind() {
        "impl_item" => node.child_by_field_name("type"),
        "function_definition" => node.child_by_field_name("declarator").and_then(innermost_declarator),
        _ => None,
    })?;
    // A use and not a declaration if it has no body: `struct a b;`.
    if node.kind().ends_with("_specifier") && node.child_by_field_name("body").is_none() {
        return None;
    }
    let name = name_node.utf8_text(text.as_bytes()).ok()?;
    Some((name.split('<').next().unwrap_or(name).trim().to_owned(), kind))
        .filter(|(name, _)| !name.is_empty())
}

fn holds_function(node: Node<'_>) -> bool {
    let value = node.child_by_field_name("value");
    value.is_some_and(|value| matches!(value.kind(), "arrow_function" | "function_expression" | "function"))
}

/// In C the name is nested within its declarators: `char *(*name)(int)`.
fn innermost_declarator(node: Node<'_>) -> Option<Node<'_>> {
    let mut node = node;
    while let Some(inner) = node.child_by_field_name("declarator") {
        node = inner;
    }
    Some(node)
}

/// Returns the first sentence of the comment or docstring at the beginning of the file, unless it is a licence.
fn title(root: Node<'_>, text: &str) -> Option<String> {
    let first = root.child(0)?;
    let is_comment = first.kind().contains("comment");
    let is_docstring = first.kind() == "expression_statement"
        && first.child(0).is_some_and(|child| child.kind() == "string");
    if !is_comment && !is_docstring {
        return None;
    }
    // Each line comment is a separate node.
    let mut comment = String::new();
    let mut cursor = root.walk();
    for node in root.children(&mut cursor).take_while(|node| node.kind() == first.kind()) {
        let line = node.utf8_text(text.as_bytes()).unwrap_or_default();
        let text_of_line = line.trim().trim_matches(|c: char| "/*!#\"'".contains(c) || c.is_whitespace());
        if text_of_line.is_empty() && !comment.is_empty() {
            break;
        }
        comment.push_str(text_of_line);
        comment.push(' ');
    }
    let paragraph = comment.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().filter(|word| *word != "*").collect();
    let title_text = words.join(" ");
    let sentence = title_text.split_inclusive(". ").next().unwrap_or(&title_text).trim();
    let cut = sentence.floor_char_boundary(MAX_TITLE_BYTES);
    let title = sentence.get(..cut).unwrap_or(sentence).trim_end_matches('.');
    let is_licence =
        ["copyright", "license", "licence", "spdx"].iter().any(|word| title.to_lowercase().contains(word));
    (!title.is_empty() && !is_licence).then(|| title.to_owned())
}
