//! Paths whose change, or whose contents, need an approval of their own.

use std::path::{Component, Path};

use super::error::Error;
use super::folder::Workspace;

/// Names of files and folders that hold secrets.
const SECRET_NAMES: [&str; 14] = [
    ".env",
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".htpasswd",
    "credentials",
    "secrets",
];
/// Extensions of keys and key stores.
const SECRET_EXTENSIONS: [&str; 10] =
    ["env", "pem", "key", "p12", "pfx", "jks", "keystore", "kdbx", "ppk", "gpg"];

/// Reason for which a path is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protection {
    /// Git's own folder: a hook or a setting in it runs programs.
    Git,
    /// A file that may hold a key, a password or a token.
    Secret,
    /// A hidden file, or a file in a hidden folder.
    Hidden,
}

impl Protection {
    /// Returns the protection of a path by its names.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let names = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
            _ => None,
        });
        names.filter_map(|name| Self::of_name(&name)).min_by_key(|protection| *protection as u8)
    }

    fn of_name(name: &str) -> Option<Self> {
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        if name == ".git" {
            return Some(Self::Git);
        }
        let is_secret = SECRET_NAMES.contains(&name)
            || SECRET_NAMES.contains(&stem)
            || name.starts_with(".env.")
            || SECRET_EXTENSIONS.contains(&extension)
            || ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"].iter().any(|key| name.starts_with(key));
        if is_secret {
            return Some(Self::Secret);
        }
        name.starts_with('.').then_some(Self::Hidden)
    }

    /// Returns true if the contents are not for the model without approval.
    pub(crate) fn covers_reads(self) -> bool {
        matches!(self, Self::Git | Self::Secret)
    }

    /// Returns a noun phrase for a question.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Git => "a file of Git itself",
            Self::Secret => "a file that may hold secrets",
            Self::Hidden => "a hidden file",
        }
    }
}

impl Workspace {
    /// Returns the protection of a path, as it is written and as its links resolve.
    pub(crate) fn protection(&self, path: &str) -> Result<Option<Protection>, Error> {
        let target = Protection::of(&self.resolve(path)?);
        let spelled = Protection::of(Path::new(path));
        Ok(target.into_iter().chain(spelled).min_by_key(|protection| *protection as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_files_keys_and_git_are_protected() {
        use Protection::{Git, Hidden, Secret};
        for (path, protection) in [
            (".git/hooks/post-commit", Some(Git)),
            ("sub/.GIT/config", Some(Git)),
            (".env", Some(Secret)),
            ("app/.env.production", Some(Secret)),
            ("prod.env", Some(Secret)),
            ("tls/server.KEY", Some(Secret)),
            ("id_ed25519.pub", Some(Secret)),
            ("credentials.json", Some(Secret)),
            (".ssh/config", Some(Secret)),
            (".github/workflows/ci.yml", Some(Hidden)),
            (".bashrc", Some(Hidden)),
            ("./src/lib.rs", None),
            ("src/environment.rs", None),
            ("src/key.rs", None),
        ] {
            assert_eq!(Protection::of(Path::new(path)), protection, "{path}");
        }
    }
}
