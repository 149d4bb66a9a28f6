//! Planted secrets, which are put together at run time: a literal that looks like a secret would be reported by scanners
//! of this repository. The tests over HTTP include this file.

pub(crate) const BASE62: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// A generator of random texts that are the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn text(&mut self, alphabet: &[u8], length: usize) -> String {
        let mut next = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            char::from(alphabet[usize::try_from(self.0 % alphabet.len() as u64).unwrap()])
        };
        (0..length).map(|_| next()).collect()
    }

    /// Returns a key in PEM, with `separator` between its lines.
    pub(crate) fn key(&mut self, kind: &str, separator: &str) -> String {
        let dashes = "-".repeat(5);
        let lines: Vec<String> = (0..6).map(|_| self.text(BASE62, 64)).collect();
        let body = lines.join(separator);
        format!(
            "{dashes}BEGIN {kind}PRIVATE KEY{dashes}{separator}{body}{separator}{dashes}END {kind}PRIVATE KEY{dashes}{separator}"
        )
    }
}

/// Returns thirty files with a secret each.
pub(crate) fn planted(seed: u64) -> Vec<(String, String)> {
    let mut random = Random(seed);
    let mut files: Vec<(&str, String)> = Vec::new();
    let mut plant = |path, text: String| files.push((path, text));
    // By name.
    let value = random.text(BASE62, 24);
    plant("prod.env", format!("DATABASE_PASSWORD={value}\n"));
    plant(".env.local", format!("S={value}\n"));
    plant(".git-credentials", format!("https://bot:{value}@github.com\n"));
    plant("keys/id_ecdsa", random.key("EC ", "\n"));
    plant("home/.docker/config.json", format!("{{\"auths\":{{\"r.io\":{{\"auth\":\"{value}\"}}}}}}\n"));
    plant(".pgpass", format!("db:5432:app:app:{value}\n"));
    plant("infra/terraform.tfstate", format!("{{\"outputs\":{{\"p\":\"{value}\"}}}}\n"));
    plant("kubeconfig", format!("users:\n- user:\n    token: {value}\n"));
    plant("server.key", value.clone());
    // Renamed files of programs.
    let value = random.text(BASE62, 48);
    plant(
        "backup/docker.txt",
        format!("{{\n \"auths\": {{\n  \"r.io\": {{ \"auth\": \"{value}\" }}\n }}\n}}\n"),
    );
    plant("notes/cluster.yaml", format!("kind: Config\nusers:\n- user:\n    client-key-data: {value}\n"));
    plant(
        "deploy/secret.yaml",
        format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\ndata:\n  key: {value}\n"),
    );
    plant(
        "old/state.json",
        "{\n \"terraform_version\": \"1.9\",\n \"serial\": 4,\n \"lineage\": \"a\"\n}\n".to_owned(),
    );
    plant("old/netrc.txt", format!("machine api.host login bot password {value}\n"));
    plant(".npmrc", format!("//registry.npmjs.org/:_authToken={value}\n"));
    // Keys in other files.
    let key = random.key("", "\\n");
    plant("service-account.json", format!("{{\"type\": \"service_account\", \"private_key\": \"{key}\"}}\n"));
    let key = random.key("RSA ", "\n");
    plant("src/keys.py", format!("KEY = \"\"\"{key}\"\"\"\n"));
    let key = random.key("OPENSSH ", "\n");
    plant("docs/key.md", format!("# Access\n\n```\n{key}```\n"));
    plant(
        "src/signer.js",
        format!(
            "const jwk = {{\"kty\": \"EC\", \"crv\": \"P-256\", \"d\": \"{}\"}};\n",
            random.text(BASE62, 43)
        ),
    );
    // Tokens of providers.
    plant("scripts/deploy.sh", format!("#!/bin/sh\nexport AWS_KEY=AKIA{}\n", random.text(UPPER, 16)));
    plant("src/github.ts", format!("const auth = 'ghp_{}';\n", random.text(BASE62, 36)));
    plant(
        "src/slack.go",
        format!(
            "var bot = \"xoxb-{}-{}-{}\"\n",
            123_456_781_234_u64,
            987_654_321_098_u64,
            random.text(BASE62, 24)
        ),
    );
    plant("Billing.java", format!("class B {{ String k = \"sk_live_{}\"; }}\n", random.text(BASE62, 24)));
    plant("src/model.rs", format!("const MODEL: &str = \"sk-proj-{}\";\n", random.text(BASE62, 48)));
    plant(
        "src/maps.html",
        format!("<script src=\"https://maps/js?key=AIza{}\"></script>\n", random.text(BASE62, 35)),
    );
    let notebook = format!("import os\\nhf = \\\"hf_{}\\\"\\n", random.text(&BASE62[..52], 34));
    plant("train.ipynb", format!("{{\"cells\": [{{\"source\": [\"{notebook}\"]}}]}}\n"));
    // Values with a high entropy.
    plant("src/settings.py", format!("API_SECRET_KEY = '{}'\n", random.text(BASE62, 40)));
    plant("config/app.properties", format!("spring.datasource.password={}\n", random.text(BASE62, 14)));
    plant(
        "src/db.cs",
        format!("var url = \"postgres://app:{}@db.internal/app\";\n", random.text(BASE62, 20)),
    );
    plant("http/call.txt", format!("POST /\nAuthorization: Bearer {}\n", random.text(BASE62, 40)));
    files.into_iter().map(|(path, text)| (path.to_owned(), text)).collect()
}
