//! The dashboard: a page for a browser, which uses the daemon's public routes.
//!
//! This crate contains the page (`page/`, TypeScript), the committed files built from it (`dist/`), and their headers. The
//! guard and the login are in `server`, and everything that the page shows comes from the API: no route here serves a person's
//! data.
//!
//! Reading order: [`router`] → `files` → `headers`; for the page, `page/src/main.ts` → `shell.ts` → `views/`.

mod files;
mod headers;

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::IF_NONE_MATCH;
use http::{HeaderMap, StatusCode};

use crate::files::{FILES, PageFile};
use crate::headers::{ETag, dressed};

/// Method and path of each route.
pub const ROUTES: &[(&str, &str)] = &[
    ("GET", "/"),
    ("GET", "/assets/app.js"),
    ("GET", "/assets/app.css"),
    ("GET", "/assets/icon.svg"),
];

/// The page and its files. They are the same for everybody and contain no data, so no login is needed to read them.
pub fn router() -> Router {
    FILES.iter().fold(Router::new(), |router, file| {
        let etag = ETag::of(file.bytes);
        router.route(
            file.path,
            get(async move |request: Request| serve(file, etag, request.headers())),
        )
    })
}

fn serve(file: &PageFile, etag: ETag, asked: &HeaderMap) -> Response {
    let known = asked.get_all(IF_NONE_MATCH).iter().any(|tags| etag.is_among(tags));
    let answer = match known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => file.bytes.into_response(),
    };
    dressed(answer, file.media_type, etag)
}

#[cfg(test)]
mod tests;
