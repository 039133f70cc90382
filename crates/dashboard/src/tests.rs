//! How the page is served, and what none of its files may contain.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use axum::body::Body;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_TYPE, ETAG};
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::*;

async fn ask(path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    router().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn every_file_comes_with_its_type_and_the_strict_headers() {
    for (_, path) in ROUTES {
        let answer = ask(path, &[]).await;
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
        assert_eq!(header(&answer, "referrer-policy"), "no-referrer");
        assert_eq!(header(&answer, "x-frame-options"), "DENY");
        assert_eq!(header(&answer, "cross-origin-opener-policy"), "same-origin");
        assert_eq!(header(&answer, "cross-origin-resource-policy"), "same-origin");
        let policy = header(&answer, "content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; "));
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"));
        assert!(!policy.contains("unsafe") && !policy.contains("data:") && !policy.contains('*'));
    }
    assert_eq!(header(&ask("/", &[]).await, CONTENT_TYPE.as_str()), "text/html; charset=utf-8");
    assert_eq!(ask("/assets/app.ts", &[]).await.status(), 404);
    assert_eq!(ask("/assets/../index.html", &[]).await.status(), 404);
}

#[tokio::test]
async fn what_a_browser_has_is_not_sent_again() {
    let first = ask("/assets/app.js", &[]).await;
    let tag = header(&first, ETAG.as_str()).to_owned();
    for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
        let again = ask("/assets/app.js", &[("if-none-match", &known)]).await;
        assert_eq!(again.status(), 304, "{known}");
        assert!(header(&again, "content-security-policy").contains("default-src 'none'"));
        assert!(again.into_body().collect().await.unwrap().to_bytes().is_empty());
    }
    let other = ask("/assets/app.js", &[("if-none-match", "\"other\"")]).await;
    assert_eq!(other.status(), 200);
}

#[test]
fn the_routes_are_the_files_and_the_files_are_the_folder() {
    let served: BTreeSet<_> = FILES.iter().map(|file| file.path.to_owned()).collect();
    let named: BTreeSet<_> = ROUTES.iter().map(|(_, path)| (*path).to_owned()).collect();
    assert_eq!(served, named);
    let dist = here("dist");
    let built: BTreeSet<_> = under(&dist)
        .iter()
        .map(|file| file.strip_prefix(&dist).unwrap().to_string_lossy().into_owned())
        .map(|name| if name == "index.html" { "/".to_owned() } else { format!("/{name}") })
        .collect();
    assert_eq!(served, built);
}

/// Neither the source nor the built page uses anything that makes markup, code or styles from text.
#[test]
fn no_text_can_become_markup_or_code() {
    let ways = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "createContextualFragment",
        "DOMParser",
        "setHTMLUnsafe",
        "document.write",
        "srcdoc=",
        "eval(",
        "new Function",
        "import(",
        "setAttribute(\"style\"",
        "cssText",
        "WebSocket",
        "sendBeacon",
        "new Image",
        "serviceWorker",
    ];
    for file in under(&here("page/src")).iter().chain(&under(&here("dist"))) {
        let text = fs::read_to_string(file).unwrap();
        for way in ways {
            assert!(!text.contains(way), "{way} in {}", file.display());
        }
    }
}

#[test]
fn the_page_loads_its_own_files_and_holds_nothing_inline() {
    let page = fs::read_to_string(here("dist/index.html")).unwrap();
    for part in
        page.split('<').filter(|part| part.starts_with("script") || part.starts_with("link"))
    {
        let from = part.split_once("src=\"").or_else(|| part.split_once("href=\"")).unwrap().1;
        assert!(from.starts_with("./assets/"), "{part}");
    }
    assert!(!page.contains("<style") && !page.contains("style="));
    let handler =
        |rest: &str| rest.trim_start_matches(|c: char| c.is_alphabetic()).starts_with('=');
    assert!(!page.split(" on").skip(1).any(handler));
    let inline = page
        .split("<script")
        .skip(1)
        .any(|part| part.split_once('>').is_some_and(|(_, rest)| !rest.starts_with("</script>")));
    assert!(!inline, "{page}");
    let style = fs::read_to_string(here("dist/assets/app.css")).unwrap();
    assert!(!style.contains("url(") && !style.contains("@import"));
}

/// A larger script or style sheet probably contains something that it should not.
#[test]
fn script_and_style_stay_small() {
    let compressed = |file: &PageFile| {
        let mut out = GzEncoder::new(Vec::new(), Compression::default());
        out.write_all(file.bytes).unwrap();
        out.finish().unwrap().len()
    };
    let grows = |file: &&PageFile| matches!(file.path, "/assets/app.js" | "/assets/app.css");
    let bytes: usize = FILES.iter().filter(grows).map(compressed).sum();
    assert!(bytes < 64_000, "{bytes} bytes");
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn under(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { under(&path) } else { vec![path] }).collect()
}
