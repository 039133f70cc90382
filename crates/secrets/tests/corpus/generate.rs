//! Generates keys of many kinds, and harmless memories, from a seed. No key here is a real one.

/// SplitMix64: small, and gives the same numbers on every platform.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    pub(super) fn one<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    fn of(&mut self, alphabet: &str, len: usize) -> String {
        let letters = alphabet.as_bytes();
        (0..len).map(|_| char::from(letters[self.below(letters.len())])).collect()
    }
}

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const MIXED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const B64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const HEX: &str = "0123456789abcdef";
const DIGITS: &str = "0123456789";

/// The rules and the forms of their keys: literal text, and `{A16}` for sixteen characters of the alphabet that the
/// letter names.
pub(super) const KINDS: &[(&str, &str)] = &[
    ("aws-access-key", "AKIA{U16}"),
    ("aws-access-key", "ASIA{U16}"),
    ("aws-secret-key", "aws_secret_access_key={B40}"),
    ("gcp-api-key", "AIza{W35}"),
    ("gcp-service-account", "\"private_key_id\":\"{H40}\""),
    ("azure-storage-key", "AccountKey={B86}=="),
    ("azure-connection-string", "SharedAccessKey={B43}="),
    ("digitalocean-token", "dop_v1_{H64}"),
    ("heroku-token", "HEROKU_API_KEY={H8}-{H4}-{H4}-{H4}-{H12}"),
    ("cloudflare-token", "CLOUDFLARE_API_TOKEN={W40}"),
    ("fastly-token", "FASTLY_API_TOKEN={W32}"),
    ("netlify-token", "nfp_{M40}"),
    ("vercel-token", "VERCEL_TOKEN={M24}"),
    ("supabase-token", "sbp_{H40}"),
    ("planetscale-token", "pscale_tkn_{W43}"),
    ("databricks-token", "dapi{H32}"),
    ("hashicorp-vault-token", "hvs.{W90}"),
    ("terraform-token", "{M14}.atlasv1.{W67}"),
    ("doppler-token", "dp.pt.{M43}"),
    ("github-token", "ghp_{M36}"),
    ("github-token", "gho_{M36}"),
    ("github-token", "ghs_{M36}"),
    ("github-fine-grained-token", "github_pat_{M22}_{M59}"),
    ("gitlab-token", "glpat-{W20}"),
    ("npm-token", "npm_{M36}"),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc{W100}"),
    ("rubygems-token", "rubygems_{H48}"),
    ("docker-token", "dckr_pat_{W27}"),
    ("postman-key", "PMAK-{H24}-{H34}"),
    ("anthropic-key", "sk-ant-api03-{W93}AA"),
    ("openai-key", "sk-proj-{W74}T3BlbkFJ{W74}"),
    ("openai-key", "sk-{M20}T3BlbkFJ{M20}"),
    ("huggingface-token", "hf_{L34}"),
    ("groq-key", "gsk_{M52}"),
    ("replicate-token", "r8_{M37}"),
    ("slack-token", "xoxb-{D12}-{D13}-{M24}"),
    ("slack-webhook", "https://hooks.slack.com/services/T{U8}/B{U10}/{M24}"),
    ("discord-webhook", "https://discord.com/api/webhooks/{D18}/{W68}"),
    ("discord-token", "M{M23}.{W6}.{W27}"),
    ("telegram-token", "{D10}:AA{W33}"),
    ("sendgrid-key", "SG.{W22}.{W43}"),
    ("twilio-key", "SK{H32}"),
    ("mailgun-key", "key-{H32}"),
    ("mailchimp-key", "{H32}-us14"),
    ("stripe-key", "sk_live_{M24}"),
    ("stripe-key", "rk_live_{M99}"),
    ("stripe-webhook-secret", "whsec_{M32}"),
    ("square-token", "sq0atp-{W22}"),
    ("shopify-token", "shpat_{H32}"),
    ("linear-key", "lin_api_{M40}"),
    ("notion-token", "ntn_{M46}"),
    ("figma-token", "figd_{W43}"),
    ("grafana-token", "glsa_{M32}_{H8}"),
    ("newrelic-key", "NRAK-{U27}"),
    ("datadog-key", "DD_API_KEY={H32}"),
    ("sentry-token", "sntryu_{H64}"),
    ("posthog-key", "phx_{M43}"),
    ("jwt", "eyJ{W34}.eyJ{W60}.{W43}"),
    ("private-key", "-----BEGIN RSA PRIVATE KEY-----\\n{B120}"),
    ("private-key", "-----BEGIN OPENSSH PRIVATE KEY-----\\n{B120}"),
    ("private-key", "-----BEGIN PGP PRIVATE KEY BLOCK-----\\n\\n{B120}"),
    ("password-in-url", "postgres://app:{M16}@db.internal:5432/app"),
    ("bethink-token", "BETHINK_TOKEN={H64}"),
];

pub(super) fn key(form: &str, random: &mut Random) -> String {
    let mut out = String::new();
    let mut rest = form;
    while let Some(open) = rest.find('{') {
        let close = open + rest[open..].find('}').unwrap();
        out.push_str(&rest[..open]);
        let alphabet = match &rest[open + 1..open + 2] {
            "U" => UPPER,
            "l" => LOWER,
            "M" => MIXED,
            "W" => URL,
            "B" => B64,
            "L" => LETTERS,
            "H" => HEX,
            _ => DIGITS,
        };
        out.push_str(&random.of(alphabet, rest[open + 2..close].parse().unwrap()));
        rest = &rest[close + 1..];
    }
    out + rest
}

const ABOUT: &[&str] = &[
    "deploys",
    "the parser",
    "billing",
    "fog rendering",
    "search",
    "the CI",
    "retries",
    "migrations",
    "login",
    "the importer",
];
const DOES: &[&str] = &[
    "goes through",
    "depends on",
    "is owned by",
    "was moved to",
    "must never skip",
    "waits for",
    "is tested with",
    "replaces",
];
const WHAT: &[&str] = &[
    "the staging cluster",
    "`cargo test -p core`",
    "Dana's team",
    "src/net/retry.rs",
    "the weekly release",
    "a feature flag",
    "https://example.com/docs/v2?page=3#top",
    "PostgreSQL 16.4",
    "`make lint && make test`",
];

/// Returns a sentence of the kind that people keep, with values that look like keys but are not.
fn sentence(random: &mut Random) -> String {
    let commit = random.of(HEX, 40);
    let uuid = key("{H8}-{H4}-{H4}-{H4}-{H12}", random);
    let sha = random.of(HEX, 64);
    let short = random.of(HEX, 8);
    let integrity = random.of(B64, 86);
    match random.below(26) {
        0 => format!("Fixed in commit {commit}."),
        1 => format!("Session {uuid} has the discussion."),
        2 => format!("The image is pinned: `sha256:{sha}`."),
        3 => "The password: ask the person on call, it is in the vault.".to_owned(),
        4 => "Set `API_KEY=${API_KEY}` before `make run`.".to_owned(),
        5 => "Use `Authorization: Bearer <token>` in every call.".to_owned(),
        6 => "postgres://postgres:postgres@localhost:5432/app is the local database.".to_owned(),
        7 => format!("See `git show {short}` and branch feature/auth-token-refresh-{short}."),
        8 => format!("lock file: integrity sha512-{integrity}=="),
        9 => "Tokens: the budget is 200000 tokens, 4096 a file.".to_owned(),
        10 => "Example key: AKIAIOSFODNN7EXAMPLE, secret: <your-secret-key>.".to_owned(),
        11 => format!("`etag: \"{sha}\"`, checksum {commit}, uuid {uuid}."),
        12 => "token_count: 18234, password_min_length: 12, key_id: primary-2024".to_owned(),
        13 => "let token = std::env::var(\"BETHINK_TOKEN_2\")?; // never printed".to_owned(),
        14 => format!("![chart](data:image/png;base64,{})", random.of(B64, 400)),
        15 => "secrets live in `vault/kv/prod/db2`, auth: src/auth/oauth2_client.rs".to_owned(),
        16 => format!("Trace {} took 12.5 ms at 2026-11-22T07:18:56Z.", random.of(HEX, 32)),
        17 => format!("cache_key: {sha}; node {}", random.of(LOWER, 12)),
        18 => "The header `-----BEGIN CERTIFICATE-----` starts each block.".to_owned(),
        19 => "key: value pairs such as `retry_after_ms: 1500` are kept as they are.".to_owned(),
        20 => format!("s3://builds-eu-west-1/app/{short}/bundle-v1.24.3.tar.gz"),
        21 => "Passwords: hashed with argon2id, secret: rotated every 90 days.".to_owned(),
        22 => format!("access token: expires after 3600s, refresh token id {uuid}"),
        _ => {
            let (about, does, what) = (random.one(ABOUT), random.one(DOES), random.one(WHAT));
            format!("{about} {does} {what}.")
        }
    }
}

/// Returns a topic's name and file.
pub(super) fn memory(random: &mut Random) -> (String, String) {
    let name = format!("{}-{}", random.one(ABOUT).replace(' ', "-"), random.below(10_000));
    let mut text =
        format!("---\nname: {name}\ndescription: {}\ntype: project\n---\n\n", sentence(random));
    for _ in 0..3 + random.below(12) {
        let start = random.one(&["", "", "- ", "> ", "  "]);
        text.push_str(&format!("{start}{}\n", sentence(random)));
    }
    (name, text)
}

const WRITTEN: &[&str] = &[
    "قاعدة البيانات الرئيسية تعمل على الخادم الثاني",
    "ההגדרות נמצאות בקובץ config.toml \u{200f}(ראו README)\u{200f}",
    "मुख्य सर्वर क्\u{200d}षेत्र में है और र\u{94d}\u{200d}य ठीक है",
    "می\u{200c}خواهم که آزمون\u{200c}ها پیش از ادغام اجرا شوند",
    "کتاب\u{200c}خانه\u{200c}های قدیمی را نگه می\u{200c}داریم",
    "family 👨\u{200d}👩\u{200d}👧\u{200d}👦 and dev 👩🏽\u{200d}💻 ❤\u{fe0f} ☎\u{fe0e}",
    "flags 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} 🇩🇪 and keys 1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
    "🏳\u{fe0f}\u{200d}🌈 and 🏴\u{200d}☠\u{fe0f} on the banner",
    "ภาษาไทย\u{200b}ตัด\u{200b}คำ",
    "葛\u{e0100}城市 と 辻\u{e0101}さん",
    "שלום – הבדיקות עברו ב-CI‏, גרסה 1.2.3",
    "naïve café, Straße, 中文，日本語、한국어",
];

/// Returns harmless text in scripts that need invisible characters.
pub(super) fn written(random: &mut Random) -> String {
    let lines = (0..1 + random.below(8)).map(|_| random.one(WRITTEN));
    lines.collect::<Vec<_>>().join(random.one(&["\n", " ", "\n\n- "]))
}
