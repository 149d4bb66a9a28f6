//! Documents change under their conditions, and contexts together with their versions.

use agent::context::{ContextId, ContextKind, Rollout};
use contracts::{Fingerprint, Timestamp, id::OrgId};
use protocol::caller::User;
use turns::ports::{Authorship, DocumentChange, DocumentHead, DocumentId, Store, StoredVersion, WriteError};

use crate::build;

/// Checks that a table implements the documents.
pub async fn documents(store: &impl Store, run: &str) {
    let org = OrgId::new(format!("{run}#context versions/o|ü")).unwrap();
    for kind in ContextKind::ALL {
        let id = match kind {
            ContextKind::Connection | ContextKind::Webhook => kind.id("an-0dd-id-of-its-own").unwrap(),
            _ => kind.id("An-0dd.id_of~its-own").unwrap(),
        };
        assert_eq!(store.document(&org, &id.clone().into()).await.unwrap(), None);
        let first = new(None, Some("{}"), 1);
        change(store, &org, &id, &first).await;
        failed(store, &org, &id.clone().into(), &first).await;
        let second = new(Some(first.after.clone()), Some("[2]"), 2);
        change(store, &org, &id, &second).await;
        // The head that it was decided on is gone.
        failed(store, &org, &id.clone().into(), &new(Some(first.after), Some("[3]"), 3)).await;
        // The number is taken.
        failed(store, &org, &id.clone().into(), &new(Some(second.after.clone()), Some("[3]"), 2)).await;
        assert_eq!(store.document(&org, &id.clone().into()).await.unwrap(), Some(second.after.clone()));
        let listed = store.contexts(&org, kind, None, 10).await.unwrap();
        assert_eq!(listed, [(id.clone(), second.after.clone())]);

        // A rollout keeps the number, and replaces the head all the same.
        let rolled_out =
            DocumentHead { rollout: Some(Rollout { version: 1, percent: 10 }), ..second.after.clone() };
        let rollout =
            DocumentChange { before: Some(second.after.clone()), after: rolled_out, versions: Vec::new() };
        change(store, &org, &id, &rollout).await;
        failed(store, &org, &id.clone().into(), &rollout).await;
        failed(store, &org, &id.clone().into(), &new(Some(second.after), Some("[3]"), 3)).await;
        assert_eq!(store.document(&org, &id.clone().into()).await.unwrap(), Some(rollout.after.clone()));

        let deletion = new(Some(rollout.after), None, 3);
        change(store, &org, &id, &deletion).await;
        assert_eq!(store.document(&org, &id.clone().into()).await.unwrap(), Some(deletion.after.clone()));
        assert_eq!(store.contexts(&org, kind, None, 10).await.unwrap(), []);
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

        change(store, &org, &id, &new(Some(deletion.after), Some("[4]"), 4)).await;
        assert_eq!(store.contexts(&org, kind, None, 10).await.unwrap().len(), 1, "it is back");
        let other = OrgId::new(format!("{run}#context versions/other")).unwrap();
        assert_eq!(store.document(&other, &id.clone().into()).await.unwrap(), None);
        assert_eq!(store.context_versions(&other, &id, None, 10).await.unwrap(), []);
    }
    pages(store, &org).await;
    singles(store, &org).await;
}

/// Checks that lists continue after an id and leave deleted contexts out.
async fn pages(store: &impl Store, org: &OrgId) {
    let id = |number: u32| ContextKind::Agent.id(&format!("page-{number}")).unwrap();
    for number in 0..5 {
        let written = new(None, Some("{}"), 1);
        change(store, org, &id(number), &written).await;
        if number == 2 {
            change(store, org, &id(2), &new(Some(written.after), None, 2)).await;
        }
    }
    let page = store.contexts(org, ContextKind::Agent, Some(&id(0)), 2).await.unwrap();
    let ids: Vec<ContextId> = page.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [id(1), id(3)]);
}

/// Checks that budgets and settings are replaced as a whole, and that the writer sees its write at once.
async fn singles(store: &impl Store, org: &OrgId) {
    for id in [DocumentId::Budgets, DocumentId::OrgSettings] {
        let head = |version: u32| DocumentHead {
            content: Some(format!("[{version}]")),
            version: Some(version),
            ..DocumentHead::default()
        };
        let replace = |before, after| DocumentChange { before, after: head(after), versions: Vec::new() };
        assert_eq!(store.document(org, &id).await.unwrap(), None);
        assert_eq!(store.live_document(org, &id).await.unwrap(), None);
        failed(store, org, &id, &replace(Some(head(1)), 2)).await;
        for number in 1..4 {
            let before = Some(number - 1).filter(|before| *before > 0).map(head);
            let next = replace(before, number);
            store.change_document(org, &id, &next).await.unwrap();
            assert_eq!(store.document(org, &id).await.unwrap(), Some(head(number)));
            assert_eq!(store.live_document(org, &id).await.unwrap(), Some(head(number)));
            failed(store, org, &id, &next).await;
        }
        let other = OrgId::new(format!("{org}-other")).unwrap();
        assert_eq!(store.document(&other, &id).await.unwrap(), None);
    }
}

async fn change(store: &impl Store, org: &OrgId, id: &ContextId, change: &DocumentChange) {
    store.change_document(org, &id.clone().into(), change).await.unwrap();
}

async fn failed(store: &impl Store, org: &OrgId, id: &DocumentId, change: &DocumentChange) {
    let refused = store.change_document(org, id, change).await;
    assert!(matches!(refused, Err(WriteError::ConditionFailed)), "{refused:?}");
}

fn authorship() -> Authorship {
    Authorship {
        at: Timestamp::from_millis(1),
        by: Some(User { name: "Ada".to_owned(), id: build::user("ada").id }),
    }
}

fn new(before: Option<DocumentHead>, content: Option<&str>, number: u32) -> DocumentChange {
    let after = DocumentHead {
        content: content.map(str::to_owned),
        version: Some(number),
        change: Some(authorship()),
        rollout: None,
    };
    DocumentChange { before, after, versions: vec![version(number, content)] }
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
