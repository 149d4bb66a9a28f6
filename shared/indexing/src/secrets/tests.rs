//! Planted secrets are refused, ordinary files are not.

use super::catalog::Catalog;
use super::planted::{BASE62, Random, planted};
use super::{AllowedSecrets, Finding, find_in_name, find_in_text};

fn find(path: &str, text: &str) -> Option<Finding> {
    find_in_name(path).or_else(|| find_in_text(path, text))
}

#[test]
fn rules_are_valid() {
    let catalog = Catalog::read().expect("a valid data file");
    assert_eq!(catalog.invalid_rules(), Vec::<&str>::new());
}

#[test]
fn secrets_of_thirty_forms_are_refused_without_quoting_them() {
    for seed in [7, 11, 1_234_567] {
        let files = planted(seed);
        assert_eq!(files.len(), 30);
        for (path, text) in files {
            let finding = find(&path, &text).unwrap_or_else(|| panic!("{path} is not refused"));
            let shown = finding.to_string();
            assert!(shown.len() < 60, "{path}: {shown}");
        }
    }
}

#[test]
fn secret_is_refused_wherever_it_is_in_a_file() {
    let secret = format!("ghp_{}", Random(3).text(BASE62, 36));
    for before in [0, 1, 100, 500, 511, 512, 513, 1_000, 100_000] {
        // Keywords in front of the secret must not hide it.
        for filler in ["a ", "ghp_ ", "token = 1\n"] {
            let text = format!("{}{secret}{}", filler.repeat(before), filler.repeat(200));
            let finding = find_in_text("a.txt", &text);
            assert!(
                matches!(finding, Some(Finding::Content { rule: "github-pat", .. })),
                "{before} {filler:?}"
            );
        }
    }
    let text = format!("\n\n\nkey = {secret}\n");
    assert_eq!(find_in_text("a.txt", &text), Some(Finding::Content { rule: "github-pat", line: 4 }));
}

#[test]
fn ordinary_texts_and_placeholders_are_not_refused() {
    for (path, text) in [
        (".env.example", "API_KEY=\nPASSWORD=changeme-1234567\n"),
        ("id_rsa.pub", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ user@host\n"),
        ("docs/aws.md", "Set `AWS_ACCESS_KEY_ID` to `AKIAIOSFODNN7EXAMPLE`.\n"),
        (
            "docs/keys.md",
            "The file begins with `-----BEGIN PRIVATE KEY-----` and ends with `-----END PRIVATE KEY-----`.\n",
        ),
        ("ci.yml", "env:\n  TOKEN: ${{ secrets.GITHUB_TOKEN }}\n  password: \"{{ vault_password }}\"\n"),
        (
            "src/lexer.rs",
            "let token = self.next_token(TokenKind::Identifier2);\nlet secret_name = \"database-password\";\n",
        ),
        ("src/db.py", "url = 'postgres://user:password@localhost:5432/name'\n"),
        ("main.tf", "variable \"db_password\" {}\npassword = var.db_password\n"),
        ("src/style.css", ".sk-folding-cube-with-a-very-long-class-name-of-words {}\n"),
        ("src/environment.rs", "fn read_credentials() {}\n"),
    ] {
        assert_eq!(find(path, text), None, "{path}");
    }
}

#[test]
fn allowed_files_and_folders_match_in_any_case() {
    let allowed = AllowedSecrets::new(["tests/fixtures", "*.tfstate", "/deploy/prod.env"]).unwrap();
    for (path, is_allowed) in [
        ("tests/fixtures/a/key.txt", true),
        ("infra/Terraform.TFSTATE", true),
        ("deploy/prod.env", true),
        ("old/deploy/prod.env", false),
        ("src/key.txt", false),
    ] {
        assert_eq!(allowed.contains(path), is_allowed, "{path}");
    }
    assert!(!AllowedSecrets::default().contains("prod.env"));
    assert!(AllowedSecrets::new(["{a"]).is_err());
}

#[test]
fn repeated_keywords_are_scanned_in_linear_time() {
    let started = std::time::Instant::now();
    for keyword in
        ["token = \"", "ghp_", "-----BEGIN PRIVATE KEY-----", "://a:", "\"auths\"", "eyJ", "kind: Secret\n"]
    {
        let text = keyword.repeat((1 << 20) / keyword.len());
        let _ = find_in_text("a.yaml", &text);
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
