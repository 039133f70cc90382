//! The files of the page, as `vite build` left them.
//!
//! Four files in the program itself: no crate that embeds folders weighs less than four lines. A test holds that
//! there is no fifth, and the suite of `tests/dashboard` that they are built from `page/` as it stands.

/// A file and where it is served.
#[derive(Debug)]
pub(crate) struct PageFile {
    pub(crate) path: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) bytes: &'static [u8],
}

pub(crate) const FILES: &[PageFile] = &[
    PageFile {
        path: "/",
        media_type: "text/html; charset=utf-8",
        bytes: include_bytes!("../dist/index.html"),
    },
    PageFile {
        path: "/assets/app.js",
        media_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../dist/assets/app.js"),
    },
    PageFile {
        path: "/assets/app.css",
        media_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../dist/assets/app.css"),
    },
    PageFile {
        path: "/assets/icon.svg",
        media_type: "image/svg+xml",
        bytes: include_bytes!("../dist/assets/icon.svg"),
    },
];
