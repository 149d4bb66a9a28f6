//! Settings of orgs are replaced as a whole, under their revision.

use contracts::{id::OrgId, request::OrgSettings};
use turns::ports::{OrgSettingsStore, StoredOrgSettings, WriteError};

/// Tests the settings of orgs. `run` must differ for each call on the same table.
pub async fn org_settings(store: &impl OrgSettingsStore, run: &str) {
    let org = OrgId::new(format!("settings-{run}")).unwrap();
    assert_eq!(store.stored_org_settings(&org).await.unwrap(), StoredOrgSettings::default());
    assert_eq!(*store.org_settings(&org).await.unwrap(), OrgSettings::default());
    let parse = |body: &str| OrgSettings::parse(body.as_bytes()).unwrap();
    let full = parse(
        r#"{"SessionVisibility":"participants","RetentionDays":3,"Titles":{"Model":"mini"},"Policy":{"Models":[]},"Disabled":{"Users":["eve"]}}"#,
    );
    let first = StoredOrgSettings { revision: 1, settings: full };
    let skipped = StoredOrgSettings { revision: 2, settings: parse("{}") };
    let refused = store.replace_org_settings(&org, &skipped).await;
    assert!(matches!(refused, Err(WriteError::ConditionFailed)), "{refused:?}");
    for next in [&first, &skipped] {
        store.replace_org_settings(&org, next).await.unwrap();
        assert_eq!(store.stored_org_settings(&org).await.unwrap(), *next);
        assert_eq!(
            *store.org_settings(&org).await.unwrap(),
            next.settings,
            "the writer sees its write at once"
        );
        let again = store.replace_org_settings(&org, next).await;
        assert!(matches!(again, Err(WriteError::ConditionFailed)), "{again:?}");
    }
    let other = OrgId::new(format!("settings-{run}-other")).unwrap();
    assert_eq!(store.stored_org_settings(&other).await.unwrap(), StoredOrgSettings::default());
}
