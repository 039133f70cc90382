//! The committed page is what its source builds to, and its pure parts do what they say.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bethink_test_clients::{Kit, kit};

use crate::browser::root;

/// Two cores that other suites are busy on.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn the_committed_page_is_built_from_its_source() {
    let Some(kit) = kit(Kit::Node) else { return };
    let page = root().join("crates/dashboard/page");
    kit.script("tsc").arg("-p").arg(&page).within(PATIENCE).run().good();
    let fresh = tempfile::tempdir().unwrap();
    kit.script("vite")
        .arg("build")
        .arg("--outDir")
        .arg(fresh.path())
        .dir(&page)
        .within(PATIENCE)
        .run()
        .good();
    let committed = root().join("crates/dashboard/dist");
    for file in ["index.html", "assets/app.js", "assets/app.css", "assets/icon.svg"] {
        let read = |folder: &Path| fs::read_to_string(folder.join(file)).unwrap();
        assert!(
            read(fresh.path()) == read(&committed),
            "{file} is not what the source builds to: run `npm ci && npm run build` in {}",
            page.display()
        );
    }
}

#[test]
fn the_pure_parts_of_the_page() {
    let Some(kit) = kit(Kit::Node) else { return };
    let page = root().join("crates/dashboard/page");
    let mut tests: Vec<_> =
        fs::read_dir(page.join("test")).unwrap().map(|file| file.unwrap().path()).collect();
    tests.sort();
    assert!(!tests.is_empty());
    let script =
        tests.iter().fold(kit.script("node").arg("--test"), bethink_test_clients::Script::arg);
    script.within(PATIENCE).run().good();
}

/// The suite builds with the kit's tools and people with the page's own: they are the same.
#[test]
fn both_lists_of_tools_name_the_same_versions() {
    let read = |path: &str| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(root().join(path)).unwrap()).unwrap()
    };
    let (page, kit) =
        (read("crates/dashboard/page/package.json"), read("tests/clients/package.json"));
    for (name, version) in page["devDependencies"].as_object().unwrap() {
        assert_eq!(kit["dependencies"][name], *version, "{name}");
    }
    let lock = fs::read_to_string(root().join("crates/dashboard/page/package-lock.json")).unwrap();
    assert!(!lock.contains("\"resolved\""), "the lock file names no registry");
}
