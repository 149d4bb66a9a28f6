//! Contexts and their versions change together, under their conditions.

use agent::context::{ContextId, ContextKind, Rollout};
use contracts::{Fingerprint, Timestamp, id::OrgId};
use protocol::caller::User;
use turns::ports::{Authorship, ContextChange, ContextHead, ContextStore, StoredVersion, WriteError};

use crate::build;

/// Checks that a table implements [`ContextStore`].
pub async fn context_versions(store: &impl ContextStore, run: &str) {
    let org = OrgId::new(format!("{run}#context versions/o|ü")).unwrap();
    for kind in ContextKind::ALL {
        let id = kind.id("An-0dd.id_of~its-own").unwrap();
        assert_eq!(store.context_head(&org, &id).await.unwrap(), None);
        let first = change(None, Some("{}"), 1);
        store.change_context(&org, &id, &first).await.unwrap();
        failed(store, &org, &id, &first).await;
        let second = change(Some(first.after.clone()), Some("[2]"), 2);
        store.change_context(&org, &id, &second).await.unwrap();
        // The head that it was decided on is gone.
        failed(store, &org, &id, &change(Some(first.after), Some("[3]"), 3)).await;
        // The number is taken.
        failed(store, &org, &id, &change(Some(second.after.clone()), Some("[3]"), 2)).await;
        assert_eq!(store.context_head(&org, &id).await.unwrap(), Some(second.after.clone()));
        let listed = store.context_heads(&org, kind, None, 10).await.unwrap();
        assert_eq!(listed, [(id.clone(), second.after.clone())]);

        // A rollout keeps the number, and replaces the head all the same.
        let rolled_out =
            ContextHead { rollout: Some(Rollout { version: 1, percent: 10 }), ..second.after.clone() };
        let rollout =
            ContextChange { before: Some(second.after.clone()), after: rolled_out, versions: Vec::new() };
        store.change_context(&org, &id, &rollout).await.unwrap();
        failed(store, &org, &id, &rollout).await;
        failed(store, &org, &id, &change(Some(second.after), Some("[3]"), 3)).await;
        assert_eq!(store.context_head(&org, &id).await.unwrap(), Some(rollout.after.clone()));

        let deletion = change(Some(rollout.after), None, 3);
        store.change_context(&org, &id, &deletion).await.unwrap();
        assert_eq!(store.context_head(&org, &id).await.unwrap(), Some(deletion.after.clone()));
        assert_eq!(store.context_heads(&org, kind, None, 10).await.unwrap(), []);
        let numbers = async |before, limit| {
            let versions = store.context_versions(&org, &id, before, limit).await.unwrap();
            versions.iter().map(|version| version.number).collect::<Vec<_>>()
        };
        assert_eq!((numbers(None, 10).await, numbers(None, 2).await), (vec![3, 2, 1], vec![3, 2]));
        assert_eq!((numbers(Some(3), 10).await, numbers(Some(1), 10).await), (vec![2, 1], vec![]));
        let kept = store.context_version(&org, &id, 2).await.unwrap().unwrap();
        assert_eq!(kept, version(2, Some("[2]")));
        let listed = store.context_versions(&org, &id, None, 2).await.unwrap();
        assert_eq!(listed, [version(3, None), StoredVersion { content: None, ..kept }]);
        assert_eq!(store.context_version(&org, &id, 9).await.unwrap(), None);

        store.change_context(&org, &id, &change(Some(deletion.after), Some("[4]"), 4)).await.unwrap();
        assert_eq!(store.context_heads(&org, kind, None, 10).await.unwrap().len(), 1, "it is back");
        let other = OrgId::new(format!("{run}#context versions/other")).unwrap();
        assert_eq!(store.context_head(&other, &id).await.unwrap(), None);
        assert_eq!(store.context_versions(&other, &id, None, 10).await.unwrap(), []);
    }
    pages(store, &org).await;
}

/// Checks that lists continue after an id and leave deleted contexts out.
async fn pages(store: &impl ContextStore, org: &OrgId) {
    let id = |number: u32| ContextKind::Agent.id(&format!("page-{number}")).unwrap();
    for number in 0..5 {
        let written = change(None, Some("{}"), 1);
        store.change_context(org, &id(number), &written).await.unwrap();
        if number == 2 {
            store.change_context(org, &id(2), &change(Some(written.after), None, 2)).await.unwrap();
        }
    }
    let page = store.context_heads(org, ContextKind::Agent, Some(&id(0)), 2).await.unwrap();
    let ids: Vec<ContextId> = page.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [id(1), id(3)]);
}

async fn failed(store: &impl ContextStore, org: &OrgId, id: &ContextId, change: &ContextChange) {
    let refused = store.change_context(org, id, change).await;
    assert!(matches!(refused, Err(WriteError::ConditionFailed)), "{refused:?}");
}

fn authorship() -> Authorship {
    Authorship {
        at: Timestamp::from_millis(1),
        by: Some(User { name: "Ada".to_owned(), id: build::user("ada").id }),
    }
}

fn change(before: Option<ContextHead>, content: Option<&str>, number: u32) -> ContextChange {
    let after = ContextHead {
        content: content.map(str::to_owned),
        version: Some(number),
        change: Some(authorship()),
        rollout: None,
    };
    ContextChange { before, after, versions: vec![version(number, content)] }
}

fn version(number: u32, content: Option<&str>) -> StoredVersion {
    StoredVersion {
        number,
        change: authorship(),
        restored: Some(1).filter(|_| number == 2),
        hash: content.map(|content| Fingerprint::hash_bytes(content.as_bytes())),
        content: content.map(str::to_owned),
    }
}
