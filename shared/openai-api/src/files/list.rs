//! Lists of files.

use std::cmp::Reverse;

use http::Uri;
use serde_json::{Value, json};

use super::{FileId, Purpose};
use crate::{error::ApiError, http::Parameters};

/// The default and the largest `limit`.
const MAX_LIMIT: u64 = 10_000;

/// The part of a user's files that a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileQuery {
    newest_first: bool,
    after: Option<String>,
    limit: usize,
    purpose: Option<Purpose>,
}

impl FileQuery {
    /// Reads the parameters of a list.
    ///
    /// # Errors
    /// If a parameter is unknown or invalid.
    pub fn read(uri: &Uri) -> Result<Self, ApiError> {
        let parameters = Parameters::read(uri, &["after", "limit", "order", "purpose"])?;
        let newest_first = parameters.newest_first()?;
        let limit = parameters.number("limit")?.unwrap_or(MAX_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(ApiError::value("limit", "must be from 1 to 10000"));
        }
        let given = |name: &str| parameters.text(name).filter(|text| !text.is_empty());
        let purpose = given("purpose").map(|name| {
            Purpose::from_name(name)
                .ok_or_else(|| ApiError::value("purpose", "must be user_data, assistants or vision"))
        });
        Ok(Self {
            newest_first,
            after: given("after").map(str::to_owned),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            purpose: purpose.transpose()?,
        })
    }

    /// Returns the page of these files, which have their sizes.
    ///
    /// # Errors
    /// If `after` names none of them.
    pub fn page(&self, mut files: Vec<(FileId, u64)>) -> Result<Value, ApiError> {
        files.retain(|(id, _)| self.purpose.is_none_or(|purpose| purpose == id.purpose));
        match self.newest_first {
            true => files.sort_by_key(|(id, _)| Reverse((id.created, id.nonce.clone()))),
            false => files.sort_by_key(|(id, _)| (id.created, id.nonce.clone())),
        }
        let skip = match &self.after {
            None => 0,
            Some(after) => {
                let position = files.iter().position(|(id, _)| id.to_string() == *after);
                position
                    .ok_or_else(|| ApiError::value("after", "names no file of the list"))?
                    .saturating_add(1)
            }
        };
        let has_more = files.len().saturating_sub(skip) > self.limit;
        let page = files.iter().skip(skip).take(self.limit);
        let data: Vec<Value> = page.map(|(id, bytes)| id.object(*bytes)).collect();
        let id = |object: Option<&Value>| object.and_then(|object| object.get("id")).cloned();
        Ok(json!({
            "object": "list", "first_id": id(data.first()), "last_id": id(data.last()), "has_more": has_more,
            "data": data,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<(FileId, u64)> {
        let file = |created: u64, purpose| {
            let (nonce, name) = (created.to_string(), format!("{created}.txt"));
            (FileId { created, expires: 100, purpose, nonce, name }, created)
        };
        vec![file(2, Purpose::UserData), file(1, Purpose::UserData), file(3, Purpose::Vision)]
    }

    fn page(query: &str) -> Result<(Vec<u64>, bool), String> {
        let uri = format!("/v1/files?{query}").parse().unwrap();
        let page = FileQuery::read(&uri).and_then(|query| query.page(files()));
        let page = page.map_err(|error| error.param.unwrap_or_default())?;
        let created =
            page["data"].as_array().unwrap().iter().map(|file| file["created_at"].as_u64().unwrap());
        Ok((created.collect(), page["has_more"] == true))
    }

    #[test]
    fn pages_are_ordered_and_follow_each_other() {
        assert_eq!(page(""), Ok((vec![3, 2, 1], false)));
        assert_eq!(page("order=asc&limit=2"), Ok((vec![1, 2], true)));
        let last = files()[0].0.to_string();
        assert_eq!(page(&format!("order=asc&limit=2&after={last}")), Ok((vec![3], false)));
        assert_eq!(page("purpose=user_data"), Ok((vec![2, 1], false)));
    }

    #[test]
    fn invalid_parameters_are_refused_by_name() {
        for (query, name) in [
            ("limit=0", "limit"),
            ("order=up", "order"),
            ("purpose=batch", "purpose"),
            ("after=file-1", "after"),
            ("page=2", "page"),
        ] {
            assert_eq!(page(query), Err(name.to_owned()));
        }
    }
}
