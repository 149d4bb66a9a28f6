//! How a collection is laid out, and what is known of one that is there.

use std::collections::BTreeSet;

use agent::retrieval::key;
use qdrant_client::qdrant::{
    CollectionInfo, CreateCollection, CreateCollectionBuilder, CreateFieldIndexCollection,
    CreateFieldIndexCollectionBuilder, Distance, FieldType, KeywordIndexParamsBuilder, Modifier,
    PayloadSchemaType, SparseVectorParamsBuilder, SparseVectorsConfigBuilder, TextIndexParamsBuilder,
    TokenizerType, VectorParamsBuilder, VectorsConfigBuilder, vectors_config::Config,
};

/// The name of the vector that an embedding model made.
pub const DENSE: &str = "dense";

/// The name of the sparse vector that [`crate::terms`] made. A collection of another indexer that has none of this name
/// is searched by its dense vector alone, since terms that were hashed in another way would match at random.
pub const TERMS: &str = "terms";

/// The payload keys that hold a word or a list of words.
const KEYWORDS: &[&str] = &[
    key::PROJECT_ID,
    key::REPO,
    key::PATH,
    key::LANGUAGE,
    key::DOC_ID,
    key::CONTENT_TYPE,
    key::SUBTYPE,
    key::SECTION_KEY,
    key::SYMBOL,
    key::SYMBOL_TYPE,
    key::LABEL_SLUGS,
    key::CONTENT_HASH,
];

/// The payload keys that hold text, in which a condition looks for words.
pub const TEXTS: &[&str] = &[key::TITLE, key::TEXT];

/// A collection with both vectors.
#[must_use]
pub fn create(name: &str, dimensions: u64) -> CreateCollection {
    let mut dense = VectorsConfigBuilder::default();
    dense.add_named_vector_params(DENSE, VectorParamsBuilder::new(dimensions, Distance::Cosine));
    let mut sparse = SparseVectorsConfigBuilder::default();
    sparse.add_named_vector_params(TERMS, SparseVectorParamsBuilder::default().modifier(Modifier::Idf));
    CreateCollectionBuilder::new(name).vectors_config(dense).sparse_vectors_config(sparse).build()
}

/// The indexes of its payload: the tenant's first, then what conditions and hints ask for.
#[must_use]
pub fn indexes(name: &str) -> Vec<CreateFieldIndexCollection> {
    let keyword = |key: &str| CreateFieldIndexCollectionBuilder::new(name, key, FieldType::Keyword);
    let tenant =
        keyword(key::ORG_ID).field_index_params(KeywordIndexParamsBuilder::default().is_tenant(true));
    let words = KEYWORDS.iter().map(|key| keyword(key));
    let texts = TEXTS.iter().map(|key| {
        let by_word = TextIndexParamsBuilder::new(TokenizerType::Word).lowercase(true);
        CreateFieldIndexCollectionBuilder::new(name, *key, FieldType::Text).field_index_params(by_word)
    });
    let indexes = std::iter::once(tenant).chain(words).chain(texts);
    indexes.map(|index| index.wait(true).build()).collect()
}

/// What a search has to know of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The vector to search by: its name, none for the one that has none, and its length.
    pub dense: (Option<String>, u64),
    /// Whether it has the sparse vector of [`crate::terms`].
    pub has_terms: bool,
    /// The payload keys that are texts.
    pub texts: BTreeSet<String>,
}

impl Layout {
    /// Reads it; none where there is no dense vector, or none that is clearly meant.
    #[must_use]
    pub fn of(info: CollectionInfo) -> Option<Self> {
        let params = info.config?.params?;
        let dense = match params.vectors_config?.config? {
            Config::Params(only) => (None, only.size),
            Config::ParamsMap(named) if named.map.len() == 1 => {
                named.map.into_iter().next().map(|(name, params)| (Some(name), params.size))?
            }
            Config::ParamsMap(named) => (Some(DENSE.to_owned()), named.map.get(DENSE)?.size),
        };
        let has_terms = params.sparse_vectors_config.is_some_and(|sparse| sparse.map.contains_key(TERMS));
        let is_text = |data_type: i32| data_type == i32::from(PayloadSchemaType::Text);
        let indexed = info.payload_schema.into_iter().filter(|(_, schema)| is_text(schema.data_type));
        let known = TEXTS.iter().map(|key| (*key).to_owned());
        Some(Self { dense, has_terms, texts: indexed.map(|(key, _)| key).chain(known).collect() })
    }
}

#[cfg(test)]
mod tests {
    use qdrant_client::qdrant::{
        CollectionConfig, CollectionParams, PayloadSchemaInfo, VectorParams, VectorsConfig,
    };

    use super::*;

    fn info(created: CreateCollection) -> CollectionInfo {
        let params = CollectionParams {
            vectors_config: created.vectors_config,
            sparse_vectors_config: created.sparse_vectors_config,
            ..CollectionParams::default()
        };
        let config = Some(CollectionConfig { params: Some(params), ..CollectionConfig::default() });
        CollectionInfo { config, ..CollectionInfo::default() }
    }

    #[test]
    fn a_collection_of_ours_is_recognized() {
        let mut info = info(create("c", 384));
        let notes =
            PayloadSchemaInfo { data_type: PayloadSchemaType::Text.into(), ..PayloadSchemaInfo::default() };
        info.payload_schema.insert("Notes".to_owned(), notes);
        let texts = ["Notes", "Text", "Title"].map(str::to_owned).into();
        let layout = Layout { dense: (Some(DENSE.to_owned()), 384), has_terms: true, texts };
        assert_eq!(Layout::of(info), Some(layout));
    }

    #[test]
    fn one_of_another_indexer_is_searched_by_the_vector_it_has() {
        let only = VectorParams { size: 8, ..VectorParams::default() };
        let unnamed = CreateCollection {
            vectors_config: Some(VectorsConfig { config: Some(Config::Params(only)) }),
            ..CreateCollection::default()
        };
        let layout = Layout::of(info(unnamed)).unwrap();
        assert_eq!((layout.dense, layout.has_terms), ((None, 8), false));
        assert_eq!(Layout::of(info(CreateCollection::default())), None);
    }

    #[test]
    fn the_tenant_is_indexed_as_one_before_anything_else() {
        let indexes = indexes("c");
        assert_eq!(indexes[0].field_name, "OrgId");
        assert_eq!(indexes.len(), 1 + KEYWORDS.len() + TEXTS.len());
    }
}
