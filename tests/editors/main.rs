//! The editors' extensions, each against real daemons: what VS Code's and Neovim's own suites say.
//!
//! Node and the packages that check, bundle and package the one, and the editor itself for the other, come
//! from the kit; a suite whose kit can't be had says why and passes.

// A test that can't go on stops.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bethink_test_clients::{Kit, Script, kit};
use tempfile::TempDir;

/// A suite starts some dozen daemons, one after the other, on a machine that may be busy.
const PATIENCE: Duration = Duration::from_secs(240);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The directory that contains `bethink` and `bethinkd`.
fn programs() -> PathBuf {
    let dir = Path::new(env!("CARGO_BIN_EXE_bethink")).parent().unwrap().to_path_buf();
    assert!(
        dir.join("bethinkd").is_file(),
        "run `cargo build -p bethinkd` with this profile first"
    );
    dir
}

/// A copy of the clients and an editor's extension, so that the build leaves the sources unchanged. Returns the directory
/// of the extension, too.
fn copied(editor: &str) -> (TempDir, PathBuf) {
    let copy = TempDir::with_prefix("bethink-editor-").unwrap();
    let extension = Path::new("editors").join(editor);
    for part in [Path::new("clients"), &extension] {
        copy_tree(&root().join("deploy").join(part), &copy.path().join(part));
    }
    let dir = copy.path().join(extension);
    (copy, dir)
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        let built = ["node_modules", "dist"].iter().any(|built| name.eq_ignore_ascii_case(built));
        match entry.file_type().unwrap() {
            kind if kind.is_dir() && !built => copy_tree(&entry.path(), &to.join(name)),
            kind if kind.is_file() => drop(fs::copy(entry.path(), to.join(name)).unwrap()),
            _ => {}
        }
    }
}

#[test]
fn vs_code() {
    let Some(kit) = kit(Kit::Node) else { return };
    let (_copy, dir) = copied("vscode");
    let dir = dir.as_path();
    for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(root().join(license), dir.join(license)).unwrap();
    }
    let modules = kit.place().join("node_modules");
    std::os::unix::fs::symlink(&modules, dir.join("node_modules")).unwrap();
    let npm = |script: &str| kit.script("node").arg("--run").arg(script).dir(dir);
    npm("check").run().good();
    npm("build").run().good();
    let ran = npm("test").env("BETHINK_BIN", programs()).within(PATIENCE).run().good();
    println!("{}", ran.stdout);
    packaged(npm("package").run().good().stdout.as_str(), dir);
}

/// What people install holds what it needs, and nothing of how it was made.
fn packaged(told: &str, dir: &Path) {
    let told: Vec<&str> = told.lines().filter(|line| line.contains('─')).collect();
    let names: Vec<&str> =
        told.iter().map(|line| line.trim_start_matches([' ', '│', '├', '└', '─'])).collect();
    let names: Vec<&str> = names.iter().filter_map(|name| name.split(' ').next()).collect();
    let expect = [
        "[Content_Types].xml",
        "extension.vsixmanifest",
        "extension/",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "package.json",
        "readme.md",
        "dist/",
        "extension.js",
        "media/",
        "bethink.svg",
        "find.md",
        "grammar.json",
        "icon.png",
        "remember.md",
        "start.md",
    ];
    assert_eq!(names, expect);
    assert!(dir.join("bethink-0.1.0.vsix").is_file());
    let bundle = fs::read_to_string(dir.join("dist/extension.js")).unwrap();
    assert!(!bundle.contains("https://"), "nothing but the daemon is asked");
}

/// The packages that people build with are those that the tests use.
#[test]
fn one_version_of_every_tool() {
    let read = |path: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(root().join(path)).unwrap()).unwrap()
    };
    let kit = &read("tests/clients/package.json")["dependencies"];
    let own = &read("deploy/editors/vscode/package.json")["devDependencies"];
    let own = own.as_object().unwrap();
    assert!(!own.is_empty());
    for (package, version) in own {
        assert_eq!(version, &kit[package], "{package}");
    }
}

#[test]
fn neovim() {
    let Some(kit) = kit(Kit::Neovim) else { return };
    let (_copy, dir) = copied("neovim");
    let words = ["--headless", "-u", "NONE", "-c", "luafile test/run.lua"];
    let ran = words
        .iter()
        .fold(kit.script("nvim"), Script::arg)
        .dir(dir)
        .env("BETHINK_BIN", programs())
        .within(PATIENCE)
        .run();
    println!("{}", ran.stdout);
    ran.good();
}
