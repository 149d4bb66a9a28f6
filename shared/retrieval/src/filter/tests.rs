use contracts::NonEmpty;
use proptest::prelude::*;
use qdrant_client::qdrant::condition::ConditionOneOf;

use super::*;

fn org() -> OrgId {
    OrgId::new("acme").unwrap()
}

fn condition(key: &str, operator: RagOperator, values: &[RagValue]) -> RagCondition {
    RagCondition { key: key.to_owned(), operator, values: NonEmpty::new(values.to_vec()).unwrap() }
}

fn text(value: &str) -> RagValue {
    RagValue::Text(value.to_owned())
}

fn keys() -> FilterKeys {
    FilterKeys { texts: ["Text", "Title"].map(str::to_owned).into(), indexed: None }
}

/// The keys of a collection in strict mode.
fn strict_keys() -> FilterKeys {
    use PayloadSchemaType::{Integer, Keyword, Text};
    let indexed = [("Path", Keyword), ("LineStart", Integer), ("Title", Text)];
    let indexed = indexed.map(|(key, kind)| (key.to_owned(), kind)).into();
    FilterKeys { indexed: Some(indexed), ..keys() }
}

fn whole_matches(scope: &[RagCondition]) -> Filter {
    filters(&org(), None, scope, &[], &keys()).whole_matches.unwrap()
}

fn base_filter(scope: &[RagCondition]) -> Filter {
    filters(&org(), None, scope, &[], &keys()).base
}

/// Returns every field condition of a filter at any depth, and whether it is in the filter's own `must`.
fn fields(filter: &Filter) -> Vec<(bool, FieldCondition)> {
    let mut conditions = Vec::new();
    let lists = [(true, &filter.must), (false, &filter.should), (false, &filter.must_not)];
    for (is_must, condition) in
        lists.into_iter().flat_map(|(must, list)| list.iter().map(move |one| (must, one)))
    {
        match condition.condition_one_of.clone().unwrap() {
            ConditionOneOf::Field(field) => conditions.push((is_must, field)),
            ConditionOneOf::Filter(inner) => {
                conditions.extend(fields(&inner).into_iter().map(|(_, field)| (false, field)))
            }
            ConditionOneOf::HasId(_) | ConditionOneOf::IsEmpty(_) => {}
            other => panic!("{other:?} is never built"),
        }
    }
    conditions
}

/// Asserts that the filter has the tenant's condition exactly once, and that nothing else names its key.
pub(crate) fn assert_of_tenant(filter: &Filter, org: &OrgId) {
    let is_tenants = |field: &FieldCondition| {
        let bare = field.key.to_lowercase().replace(['"', ' ', '_', '-'], "");
        bare.split(['.', '[', ']']).any(|name| name == "orgid")
    };
    let tenants: Vec<(bool, FieldCondition)> =
        fields(filter).into_iter().filter(|(_, field)| is_tenants(field)).collect();
    let [(is_must, field)] = tenants.as_slice() else { panic!("{tenants:?}") };
    assert!(is_must);
    assert_eq!(field.key, "OrgId");
    let value = field.r#match.clone().unwrap().match_value.unwrap();
    assert_eq!(value, MatchValue::Keyword(org.as_str().to_owned()));
    assert!(filter.min_should.is_none());
}

/// The condition that finds a number as an integer and as a double.
fn number(key: &str, number: f64) -> Condition {
    Condition::range(key, Range { gte: Some(number), lte: Some(number), ..Range::default() })
}

#[test]
fn equals_matches_any_value_once() {
    let values =
        [text("b"), text("a"), text("b"), RagValue::Integer(3), RagValue::Integer(3), RagValue::Flag(true)];
    let filter = base_filter(&[condition("Repo", RagOperator::Equals, &values)]);
    let any = Filter::should([
        Condition::matches("Repo", vec!["a".to_owned(), "b".to_owned()]),
        number("Repo", 3.0),
        Condition::matches("Repo", true),
    ]);
    assert_eq!(filter.must[..2], base_filter(&[]).must);
    assert_eq!(filter.must[2..], [any.into()]);
}

/// The client library's own conversion would make such a text a word search.
#[test]
fn name_with_a_space_is_matched_exactly() {
    let org = OrgId::new("acme corp").unwrap();
    let built = filters(&org, None, &[], &[Hint::new("Repo", "the core")], &keys());
    let exact: Vec<MatchValue> = fields(&built.hinted.unwrap())
        .into_iter()
        .map(|(_, field)| field.r#match.unwrap().match_value.unwrap())
        .collect();
    assert_eq!(exact, ["acme corp", "the core"].map(|name| MatchValue::Keyword(name.to_owned())));
}

#[test]
fn conditions_are_combined() {
    let filter = base_filter(&[
        condition("Repo", RagOperator::Equals, &[text("core")]),
        condition("Level", RagOperator::Contains, &[RagValue::Integer(1)]),
    ]);
    assert_eq!((filter.must.len(), filter.must_not.len()), (4, 0));
}

#[test]
fn negative_operators_exclude_every_value() {
    for operator in [RagOperator::NotEquals, RagOperator::DoesNotContain] {
        let filter = base_filter(&[condition("LabelSlugs", operator, &[text("a"), RagValue::Integer(1)])]);
        assert_eq!(filter.must.len(), 2);
        let none = [Condition::matches("LabelSlugs", vec!["a".to_owned()]), number("LabelSlugs", 1.0)];
        assert_eq!(filter.must_not, none);
    }
}

#[test]
fn contains_is_left_to_the_payload_and_equals_compares_the_whole() {
    let contains = [condition("Text", RagOperator::Contains, &[text("lease end")])];
    assert_eq!(base_filter(&contains), base_filter(&[]), "words are not the parts of a text");
    let by_word = Filter::should([Condition::matches_text("Text", "lease end")]);
    assert_eq!(whole_matches(&contains).must[2], by_word.into());
    let path = [condition("path", RagOperator::Contains, &[text("b"), text("a")])];
    let whole = Filter::should([Condition::matches("Path", vec!["a".to_owned(), "b".to_owned()])]);
    assert_eq!((base_filter(&path).must.len(), whole_matches(&path).must[2].clone()), (2, whole.into()));
    let equals = base_filter(&[condition("Title", RagOperator::Equals, &[text("Leases")])]);
    let exact = Filter::should([Condition::matches("Title", vec!["Leases".to_owned()])]);
    assert_eq!(equals.must[2], exact.into());
}

#[test]
fn ignored_and_custom_keys_are_reported() {
    let scope = ["OrgId", "a\"b", "Level", "path", "LabelSlugs[0]", "Repo.x"]
        .map(|key| condition(key, RagOperator::Equals, &[text("x")]));
    let filters = filters(&org(), None, &scope, &[], &keys());
    assert_eq!(filters.ignored_keys, ["OrgId", "a\"b"]);
    let custom_keys = ["Level", "Repo.x"].map(|key| (key.to_owned(), key.to_owned()));
    assert_eq!(filters.custom_keys, custom_keys);
}

#[test]
fn workspace_id_maps_to_project_id() {
    for key in [" WorkspaceId ", "workspaceId"] {
        let filter = base_filter(&[condition(key, RagOperator::Equals, &[text("backend")])]);
        assert_eq!(fields(&filter)[1].1.key, "ProjectId");
    }
}

#[test]
fn unknown_keys_are_quoted_and_invalid_ones_dropped() {
    for (key, path) in [
        ("Team", Some("Team")),
        ("labelSlugs[]", Some("LabelSlugs[]")),
        ("PATH", Some("Path")),
        ("a.b[].c[0]", Some("a.b[].c[0]")),
        ("two words", Some("\"two words\"")),
        ("a..b", Some("\"a..b\"")),
        ("a[x]", Some("\"a[x]\"")),
        ("ä", Some("\"ä\"")),
        ("a\"b", None),
        ("a\\b", None),
        (" ", None),
    ] {
        assert_eq!(key_path(key).as_deref(), path, "{key}");
    }
}

#[test]
fn tenant_key_is_dropped_in_every_spelling() {
    for key in [
        "OrgId",
        "orgid",
        "ORGID",
        " OrgId ",
        "OrgId[]",
        "OrgId[0]",
        "OrgId[][]",
        "a.OrgId",
        "OrgId.b",
        "\"OrgId\"",
        "Org Id",
        "org_id",
        "Org-Id",
        ".OrgId",
        "OrgId.",
        "a[].OrgId[]",
        "/OrgId",
        "OrgId\t",
        "Org\u{200B}Id",
    ] {
        let operators =
            [RagOperator::Equals, RagOperator::NotEquals, RagOperator::Contains, RagOperator::DoesNotContain];
        for operator in operators {
            let hints = [Hint::new(key, "other")];
            let built = filters(&org(), None, &[condition(key, operator, &[text("other")])], &hints, &keys());
            let alone = base_filter(&[]);
            assert_eq!((built.base, built.hinted, built.whole_matches), (alone, None, None), "{key:?}");
            assert_eq!(built.payload_conditions, [], "{key:?}");
            assert_eq!(built.ignored_keys, [key], "{key:?}");
        }
    }
}

#[test]
fn hints_leave_the_base_filter_unchanged() {
    let hints = [Hint::new("Repo", "core"), Hint::new("Title", "leases")];
    let built = filters(&org(), None, &[], &hints, &keys());
    assert_eq!(built.base, base_filter(&[]));
    let any = [Condition::matches("Repo", "core".to_owned()), Condition::matches_text("Title", "leases")];
    assert_eq!(built.hinted.unwrap().must[2], Filter::should(any).into());
}

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ \t]{0,2}[oO][rR][gG][ _-]?[iI][dD](\\[[0-9]{0,2}\\]){0,2}[ .]{0,2}",
        "[a-zA-Z\"]{0,4}\\.?OrgId\\.?[a-z]{0,3}",
        Just("WorkspaceId".to_owned()),
        Just("Text".to_owned()),
        "\\PC{0,12}",
    ]
}

fn any_condition() -> impl Strategy<Value = RagCondition> {
    let operator = prop_oneof![
        Just(RagOperator::Equals),
        Just(RagOperator::NotEquals),
        Just(RagOperator::Contains),
        Just(RagOperator::DoesNotContain)
    ];
    let value = prop_oneof![
        "\\PC{0,8}".prop_map(RagValue::Text),
        any::<i64>().prop_map(RagValue::Integer),
        any::<bool>().prop_map(RagValue::Flag)
    ];
    (any_key(), operator, proptest::collection::vec(value, 1..5))
        .prop_map(|(key, operator, values)| condition(&key, operator, &values))
}

pub(crate) fn any_scope() -> impl Strategy<Value = (OrgId, Vec<RagCondition>, Vec<Hint>)> {
    let org = "[a-zA-Z0-9 _.-]{1,12}".prop_filter_map("no org", |org| OrgId::new(org).ok());
    let hints = (any_key(), "\\PC{0,8}").prop_map(|(key, value)| Hint { key, value });
    (org, proptest::collection::vec(any_condition(), 0..6), proptest::collection::vec(hints, 0..4))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_500))]

    #[test]
    fn every_filter_is_limited_to_the_callers_org((org, scope, hints) in any_scope()) {
        let Filters { base, whole_matches, hinted, .. } = filters(&org, None, &scope, &hints, &keys());
        for filter in [Some(base), whole_matches, hinted].into_iter().flatten() {
            assert_of_tenant(&filter, &org);
        }
    }
}

#[test]
fn strict_mode_filters_by_indexed_keys_and_compares_the_rest() {
    use RagOperator::{Contains, DoesNotContain, Equals, NotEquals};
    let number = RagValue::Integer(3);
    for (key, operator, value, in_database, in_payload, unindexed) in [
        ("Path", Equals, text("a"), 1, 0, false),
        ("Path", NotEquals, text("a"), 1, 0, false),
        ("Path", Contains, text("a"), 0, 1, false),
        ("Path", Equals, number.clone(), 0, 1, true),
        ("LineStart", Equals, number.clone(), 1, 0, false),
        ("Title", Equals, text("A guide"), 1, 1, false),
        ("Title", Equals, text("--"), 0, 1, false),
        ("Title", NotEquals, text("A guide"), 0, 1, false),
        ("Title", Contains, text("gui"), 0, 1, false),
        ("Owner", Equals, text("ada"), 0, 1, true),
        ("Owner", NotEquals, text("ada"), 0, 1, true),
        ("Owner", Contains, text("ada"), 0, 1, false),
        ("Owner", DoesNotContain, text("ada"), 0, 1, false),
        ("Path[]", Equals, text("a"), 0, 1, true),
    ] {
        let scope = [condition(key, operator, std::slice::from_ref(&value))];
        let built = filters(&org(), None, &scope, &[Hint::new("Repo", "core")], &strict_keys());
        let of_database = built.base.must.len() - 1 + built.base.must_not.len();
        let found = (of_database, built.payload_conditions.len(), !built.unindexed_keys.is_empty());
        assert_eq!(found, (in_database, in_payload, unindexed), "{key} {operator:?} {value:?}");
        assert_eq!(built.hinted, None, "the hint's key has no index");
        let all = [Some(&built.base), built.whole_matches.as_ref()];
        for (_, field) in all.into_iter().flatten().flat_map(fields).filter(|(_, field)| field.key != "OrgId")
        {
            assert!(strict_keys().indexed.unwrap().contains_key(&field.key), "{field:?}");
        }
    }
}
