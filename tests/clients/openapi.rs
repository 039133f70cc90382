//! Tests `openapi.json` with other tools: two validators find no errors, and two generators make clients from it.

use std::fs;
use std::path::{Path, PathBuf};

use bethink_test_clients::{Kit, kit};

/// The programs in `openapi/package.json`, with their own TypeScript, because openapi-typescript cannot use version 7.
pub(crate) const OWN: &str = "../../openapi/node_modules/.bin";

/// What `openapi-python-client` leaves out: it writes bodies only as JSON, forms or binary data, and reads no JSON lines.
const UNSUPPORTED: [&str; 4] = [
    "PUT /v1/memories/{scope}/{name} ",
    "PUT /v1/sessions/{id}/notes ",
    "POST /v1/import ",
    "GET /v1/sessions/{id}/export ",
];

pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Makes an empty folder for generated files.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn redocly_finds_no_error() {
    let Some(node) = kit(Kit::Node) else { return };
    let lint = node.script("redocly").arg("lint").arg(file("openapi.json"));
    let lint = lint.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    lint.dir(scratch("openapi-redocly")).run().good();
}

#[test]
fn openapi_spec_validator_finds_no_error() {
    let Some(python) = kit(Kit::Python) else { return };
    python.script("openapi-spec-validator").arg(file("openapi.json")).run().good();
}

#[test]
fn types_for_typescript_compile() {
    let Some(node) = kit(Kit::Node) else { return };
    let dir = scratch("openapi-typescript");
    let types = node.script(&format!("{OWN}/openapi-typescript")).arg(file("openapi.json"));
    types.arg("-o").arg(dir.join("api.d.ts")).run().good();
    fs::copy(file("tests/clients/openapi/example.ts"), dir.join("example.ts")).unwrap();
    let tsc = node.script("tsc").args(["--strict", "--noEmit", "--target", "es2022", "example.ts"]);
    tsc.dir(dir).run().good();
}

#[test]
fn a_client_for_python_is_generated() {
    let Some(python) = kit(Kit::Python) else { return };
    let dir = scratch("openapi-python");
    let generate = python.script("openapi-python-client").arg("generate").arg("--path");
    let generate = generate.arg(file("openapi.json")).args(["--meta", "none"]);
    let log = generate.arg("--output-path").arg(dir.join("bethink_client")).run().good().stderr;
    let warnings: Vec<&str> =
        log.lines().filter(|line| line.starts_with("WARNING parsing ")).collect();
    assert_eq!(warnings.len(), UNSUPPORTED.len(), "{log}");
    assert!(UNSUPPORTED.iter().all(|one| log.contains(one)), "{log}");
    assert!(!log.contains("Unable to process schema"), "{log}");
    let example = python.script("python").arg(file("tests/clients/openapi/example.py"));
    example.env("PYTHONPATH", &dir).env("PYTHONDONTWRITEBYTECODE", "1").run().good();
}
