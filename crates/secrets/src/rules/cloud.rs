//! Clouds, hosting and databases.

use super::{Rule, named, token};
use crate::judge;

pub(super) const RULES: &[Rule] = &[
    token(
        "aws-access-key",
        "an AWS access key",
        &["akia", "asia", "abia", "acca"],
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    ),
    named(
        "aws-secret-key",
        "an AWS secret key",
        &["secret", "aws"],
        r"aws[\w.\-]{0,20}(?:secret|key)|secret[_\-]?access[_\-]?key|aws[\w.\-]{0,10}sk",
        r"[A-Za-z0-9/+]{40}",
    ),
    named(
        "aws-session-token",
        "an AWS session token",
        &["session"],
        r"session[_\-]?token",
        r"[A-Za-z0-9/+]{100,2000}={0,2}",
    ),
    token("gcp-api-key", "a Google API key", &["aiza"], r"AIza[\w\-]{35}"),
    token(
        "gcp-service-account",
        "a key of a Google service account",
        &["private_key_id"],
        r#"private_key_id\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?([0-9a-f]{40})"#,
    ),
    token("gcp-oauth-secret", "a Google OAuth secret", &["gocspx-"], r"GOCSPX-[\w\-]{28}"),
    token("google-access-token", "a Google access token", &["ya29."], r"ya29\.[\w\-]{20,2000}"),
    token(
        "azure-storage-key",
        "a key of an Azure storage account",
        &["accountkey"],
        r"(?i:AccountKey)\s{0,3}=\s{0,3}([A-Za-z0-9+/]{86}==)",
    ),
    token(
        "azure-connection-string",
        "a connection string of Azure",
        &["sharedaccesskey"],
        r"(?i:SharedAccessKey)\s{0,3}=\s{0,3}([A-Za-z0-9+/]{42,43}=)",
    ),
    token(
        "azure-shared-signature",
        "a shared access signature of Azure",
        &["sig="],
        r#"[?&]sig=([A-Za-z0-9%+/]{42,100}={0,2})"#,
    ),
    token(
        "azure-client-secret",
        "a client secret of Azure",
        &["q~"],
        r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.\-]{31,34}",
    ),
    token("alibaba-access-key", "an Alibaba access key", &["ltai"], r"LTAI[A-Za-z0-9]{17,21}"),
    token("tencent-secret-id", "a Tencent secret id", &["akid"], r"AKID[A-Za-z0-9]{32}"),
    token("digitalocean-token", "a DigitalOcean token", &["_v1_"], r"do[opr]_v1_[a-f0-9]{64}"),
    token("heroku-token", "a Heroku token", &["hrku-"], r"HRKU-[\w\-]{36,80}"),
    Rule {
        judge: judge::uuid,
        ..named(
            "heroku-token",
            "a Heroku token",
            &["heroku"],
            r"heroku[\w .\-]{0,20}(?:key|token|secret)|heroku",
            r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
        )
    },
    token(
        "fly-token",
        "a Fly.io token",
        &["fo1_", "fm1", "fm2"],
        r"(?:fo1_[\w\-]{43}|fm[12][ar]?_[A-Za-z0-9+/=]{80,2000})",
    ),
    named(
        "cloudflare-token",
        "a Cloudflare token",
        &["cloudflare", "cf_api", "cf-api"],
        r"cloudflare[\w .\-]{0,20}|cf[_\-]api[_\-](?:token|key)",
        r"(?:[a-f0-9]{37}|[A-Za-z0-9_\-]{40})",
    ),
    token(
        "cloudflare-origin-key",
        "an origin key of Cloudflare",
        &["v1.0-"],
        r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}",
    ),
    named("fastly-token", "a Fastly token", &["fastly"], r"fastly", r"[A-Za-z0-9_\-]{32}"),
    token("netlify-token", "a Netlify token", &["nf"], r"nf[pcuo]_[A-Za-z0-9]{36,60}"),
    named("netlify-token", "a Netlify token", &["netlify"], r"netlify", r"[A-Za-z0-9_\-]{40,46}"),
    token("vercel-token", "a Vercel token", &["vc"], r"vc[piark]_[A-Za-z0-9]{24,80}"),
    named("vercel-token", "a Vercel token", &["vercel"], r"vercel", r"[A-Za-z0-9]{24}"),
    token("supabase-token", "a Supabase token", &["sbp_"], r"sbp_(?:v0_)?[a-f0-9]{40}"),
    token("supabase-secret", "a Supabase secret key", &["sb_secret_"], r"sb_secret_[\w\-]{20,60}"),
    token(
        "planetscale-token",
        "a PlanetScale token or password",
        &["pscale_"],
        r"pscale_(?:tkn|pw|oauth|app_secret)_[\w=.\-]{32,64}",
    ),
    token("neon-token", "a Neon token", &["napi_"], r"napi_[a-z0-9]{40,80}"),
    token("databricks-token", "a Databricks token", &["dapi"], r"dapi[a-f0-9]{32}(?:-\d)?"),
    token(
        "hashicorp-vault-token",
        "a Vault token",
        &["hvs.", "hvb.", "hvr."],
        r"hv[sbr]\.[\w\-]{24,300}",
    ),
    token(
        "terraform-token",
        "a Terraform token",
        &["atlasv1"],
        r"[A-Za-z0-9]{14}\.atlasv1\.[\w\-]{60,70}",
    ),
    token("pulumi-token", "a Pulumi token", &["pul-"], r"pul-[a-f0-9]{40}"),
    token(
        "doppler-token",
        "a Doppler token",
        &["dp."],
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_\-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    ),
];
