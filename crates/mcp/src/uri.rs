//! URIs of resources: `bethink://memory/{scope}/{name}` and `bethink://notes/{session}`.

use bethink_api::{MemoryScope, parse_word};

const MEMORY: &str = "bethink://memory/";
const NOTES: &str = "bethink://notes/";

/// The resource that a URI names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResourceUri {
    Memory { scope: MemoryScope, name: String },
    Notes { session: String },
}

pub(crate) fn memory(scope: MemoryScope, name: &str) -> String {
    format!("{MEMORY}{scope}/{}", encoded(name))
}

pub(crate) fn parse(uri: &str) -> Option<ResourceUri> {
    if let Some(rest) = uri.strip_prefix(MEMORY) {
        let (scope, name) = rest.split_once('/')?;
        return Some(ResourceUri::Memory {
            scope: parse_word(&decoded(scope)?)?,
            name: decoded(name)?,
        });
    }
    Some(ResourceUri::Notes { session: decoded(uri.strip_prefix(NOTES)?)? })
}

/// Percent-encodes a name, except for letters, digits and characters that never separate.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (code, after) = rest.split_at_checked(2)?;
        rest = after;
        bytes.push(u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_were() {
        for name in ["fog", "plans/fog", "a b", "über", "100%", "a?b#c"] {
            let place = parse(&memory(MemoryScope::Private, name));
            let expect = ResourceUri::Memory { scope: MemoryScope::Private, name: name.to_owned() };
            assert_eq!(place, Some(expect), "{name}");
        }
        let plain = ResourceUri::Memory { scope: MemoryScope::Team, name: "plans/fog".to_owned() };
        assert_eq!(parse("bethink://memory/team/plans/fog"), Some(plain));
        assert_eq!(
            parse("bethink://notes/x"),
            Some(ResourceUri::Notes { session: "x".to_owned() })
        );
        for uri in [
            "",
            "file:///etc/passwd",
            "bethink://memory/fog",
            "bethink://memory/a/%",
            "bethink://memory/a/%ff",
            "bethink://other/x",
        ] {
            assert_eq!(parse(uri), None, "{uri}");
        }
    }
}
