//! The random value that a client asks a daemon to sign.

use std::fmt;

use uuid::Uuid;

/// The number of hexadecimal digits: 32 bytes.
const DIGITS: usize = 64;

/// A value that is used for one proof, so that a recorded proof is of no use later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// Creates a nonce from two random UUIDs, which have 244 random bits.
    pub fn random() -> Self {
        Self(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()))
    }

    /// Returns `None` unless the text has exactly 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        (text.len() == DIGITS && is_hex).then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_has_64_digits() {
        let random = Nonce::random().to_string();
        assert_eq!(Nonce::parse(&random).unwrap().to_string(), random);
        let short = "a".repeat(63);
        for wrong in ["", &short, &"a".repeat(65), &format!("{short}g"), &format!("{short}\n")] {
            assert_eq!(Nonce::parse(wrong), None, "{wrong:?}");
        }
    }
}
