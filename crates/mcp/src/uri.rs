//! URIs of resources: `bethink://memory/{scope}/{name}` and `bethink://notes/{session}`.

use bethink_api::{MemoryScope, parse_word, percent_decode, percent_encode};

const MEMORY: &str = "bethink://memory/";
const NOTES: &str = "bethink://notes/";

/// The resource that a URI names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResourceUri {
    Memory { scope: MemoryScope, name: String },
    Notes { session: String },
}

pub(crate) fn memory(scope: MemoryScope, name: &str) -> String {
    format!("{MEMORY}{scope}/{}", percent_encode(name))
}

pub(crate) fn parse(uri: &str) -> Option<ResourceUri> {
    if let Some(rest) = uri.strip_prefix(MEMORY) {
        let (scope, name) = rest.split_once('/')?;
        return Some(ResourceUri::Memory {
            scope: parse_word(&percent_decode(scope)?)?,
            name: percent_decode(name)?,
        });
    }
    Some(ResourceUri::Notes { session: percent_decode(uri.strip_prefix(NOTES)?)? })
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
