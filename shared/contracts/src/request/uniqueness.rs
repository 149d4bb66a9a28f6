//! Rules between the files and images of a request: distinct paths and ids, and names that match paths.

use super::{
    field_table::peek,
    json::Json,
    relative_path::{FileName, RelativePath},
    violations::{Location, Violations},
};

/// Adds a violation per file or image that contradicts itself or repeats an earlier one. Invalid values have
/// violations of their own.
pub(super) fn check(json: &Json<'_>, violations: &mut Violations) {
    let paths = items(json, "InputArtifacts").map(|(index, artifact)| {
        let path = member(artifact, "RelativePath").and_then(|path| RelativePath::new(path).ok());
        if let (Some(path), Some(name)) = (&path, member(artifact, "FileName")) {
            check_name(path, name, index, violations);
        }
        (index, path)
    });
    let paths: Vec<(usize, Option<RelativePath>)> = paths.collect();
    repeated(&paths, "InputArtifacts", "RelativePath", violations);
    let ids: Vec<_> =
        items(json, "ClipboardImages").map(|(index, image)| (index, member(image, "Id"))).collect();
    repeated(&ids, "ClipboardImages", "Id", violations);
}

fn check_name(path: &RelativePath, name: &str, index: usize, violations: &mut Violations) {
    if FileName::new(name).is_ok() && name != path.file_name() {
        let list = Location::ROOT.member("InputArtifacts");
        let item = list.item(index);
        let rule = format_args!("must be the last part of RelativePath, {:?}", path.file_name());
        violations.invalid(&item.member("FileName"), rule);
    }
}

fn repeated<T: PartialEq>(
    values: &[(usize, Option<T>)],
    list: &str,
    name: &str,
    violations: &mut Violations,
) {
    for (place, (index, value)) in values.iter().enumerate() {
        let Some(value) = value else { continue };
        let earlier = values.iter().take(place).find(|(_, earlier)| earlier.as_ref() == Some(value));
        if let Some((earlier, _)) = earlier {
            let list_location = Location::ROOT.member(list);
            let item = list_location.item(*index);
            violations
                .invalid(&item.member(name), format_args!("must be unique, {list}[{earlier}] has the same"));
        }
    }
}

fn items<'j>(json: &'j Json<'j>, name: &str) -> impl Iterator<Item = (usize, &'j Json<'j>)> {
    let lists = peek(json, name).map(|list| match list {
        Json::List(items) => items.as_slice(),
        _ => &[],
    });
    lists.flat_map(|items| items.iter().enumerate())
}

fn member<'j>(item: &'j Json<'j>, name: &str) -> Option<&'j str> {
    match peek(item, name).next()? {
        Json::Text(text) => Some(text),
        _ => None,
    }
}
