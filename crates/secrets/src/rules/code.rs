//! Where code is kept, built and published.

use super::{Rule, token};

pub(super) const RULES: &[Rule] = &[
    token(
        "github-token",
        "a GitHub token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        r"gh[pousr]_[A-Za-z0-9]{36,255}",
    ),
    token(
        "github-fine-grained-token",
        "a GitHub token",
        &["github_pat_"],
        r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
    ),
    token(
        "gitlab-token",
        "a GitLab token",
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-",
            "gloas-", "glsoat-",
        ],
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[\w\-.]{20,300}",
    ),
    token("bitbucket-token", "a Bitbucket token", &["atbb"], r"ATBB[A-Za-z0-9]{32}"),
    token("atlassian-token", "an Atlassian token", &["atatt3"], r"ATATT3[\w\-=]{60,250}"),
    token("npm-token", "an npm token", &["npm_"], r"npm_[A-Za-z0-9]{36}"),
    token("pypi-token", "a PyPI token", &["pypi-"], r"pypi-[A-Za-z0-9_\-]{50,1000}"),
    token("rubygems-token", "a RubyGems key", &["rubygems_"], r"rubygems_[a-f0-9]{48}"),
    token("crates-token", "a token of crates.io", &["cio"], r"cio[A-Za-z0-9]{32}"),
    token("nuget-key", "a NuGet key", &["oy2"], r"oy2[a-z0-9]{43}"),
    token("clojars-token", "a Clojars token", &["clojars_"], r"CLOJARS_[a-z0-9]{60}"),
    token("docker-token", "a Docker token", &["dckr_"], r"dckr_(?:pat|oat)_[\w\-]{27,60}"),
    token("artifactory-key", "an Artifactory key", &["akcp"], r"AKCp[A-Za-z0-9]{69}"),
    token("sonar-token", "a Sonar token", &["sqp_", "squ_", "sqa_"], r"sq[upa]_[a-f0-9]{40}"),
    token(
        "circleci-token",
        "a CircleCI token",
        &["ccipat_"],
        r"CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}",
    ),
    token("buildkite-token", "a Buildkite token", &["bkua_"], r"bkua_[a-z0-9]{40}"),
    token("postman-key", "a Postman key", &["pmak-"], r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    token(
        "age-key",
        "a secret key of age",
        &["age-secret-key-1"],
        r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
    ),
    token(
        "onepassword-token",
        "a 1Password service token",
        &["ops_ey"],
        r"ops_ey[A-Za-z0-9+/=_\-]{100,2000}",
    ),
];
