//! Short forms of ids.

use uuid::Uuid;

/// Number of hex digits of the shortest id that is printed.
const SHORTEST: usize = 8;

/// Returns the short form of a single id.
pub fn short_id(id: Uuid) -> String {
    short_ids(&[id]).concat()
}

/// Returns the shortest suffixes that distinguish the ids, all of the same length. Prefixes would not distinguish them:
/// an id begins with its creation time, so ids from the same day begin with the same digits.
pub fn short_ids(ids: &[Uuid]) -> Vec<String> {
    let full: Vec<String> = ids.iter().map(|id| id.simple().to_string()).collect();
    let longest = full.first().map_or(0, String::len);
    let end = |id: &str, length: usize| id[id.len() - length..].to_owned();
    let is_enough = |&length: &usize| {
        let mut ends: Vec<_> = full.iter().map(|id| end(id, length)).collect();
        ends.sort_unstable();
        ends.windows(2).all(|pair| pair[0] != pair[1])
    };
    let length = (SHORTEST..=longest).find(is_enough).unwrap_or(longest);
    full.iter().map(|id| end(id, length)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(texts: &[&str]) -> Vec<Uuid> {
        texts.iter().map(|text| Uuid::parse_str(text).unwrap()).collect()
    }

    const A: &str = "019aa8f2-1111-7aaa-8000-000000000001";
    const C: &str = "119aa8f2-1111-7aaa-8000-000000000003";

    #[test]
    fn short_ids_are_as_long_as_needed() {
        assert_eq!(short_ids(&ids(&[A, C])), ["00000001", "00000003"]);
        let alike = "019aa8f2-1111-7aaa-8000-000a00000001";
        assert_eq!(short_ids(&ids(&[A, alike])), ["000000001", "a00000001"]);
        assert_eq!(short_ids(&[]), Vec::<String>::new());
    }
}
