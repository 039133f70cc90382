//! The files of the page, as built by `vite build`.
//!
//! The four files are part of the program. A test checks that there is no fifth one, and `tests/dashboard` checks that they
//! are built from the current `page/`.

/// A file and its path on the server.
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
