//! The token of a home, and what is derived from it: the proof that a daemon has it, the token of hooks, and the
//! gateway's capability.
//!
//! The daemon and its clients derive the same values, so they share this crate. This crate reads no file: the daemon creates
//! the token's file, and the daemon and its clients read it. No derived value reveals the token.
//!
//! Reading order: [`HomeToken`] → [`Nonce`].

mod nonce;

use std::fmt;

use ring::hmac;
use subtle::ConstantTimeEq;
use uuid::Uuid;

pub use nonce::Nonce;

/// The first line of the message that a proof signs. No other derived value signs a message that begins with it.
const PROOF: &str = "bethink-proof-1\n";
/// The message that the token of hooks signs.
const HOOK: &str = "bethink-hook-1\n";
/// Context of the gateway's capability. Changing it would invalidate every gateway address that clients use.
const CAPABILITY: &str = "bethink 2026-11-22 capability of the gateway";

/// The bearer token of a home. The token is never printed.
#[derive(Clone)]
pub struct HomeToken(String);

impl HomeToken {
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Creates a token from two random UUIDs, which have 244 random bits.
    pub fn random() -> Self {
        Self(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()))
    }

    /// Returns the token as it is sent and stored.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares in constant time.
    pub fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }

    /// Returns the proof of the daemon on this port for a client's nonce. The proof depends on the port: otherwise a
    /// program on another port could pass the nonce on to the daemon, and the proof back to the client.
    pub fn proof(&self, port: u16, nonce: &Nonce) -> String {
        self.sign(&format!("{PROOF}{port}\n{nonce}"))
    }

    /// Compares in constant time.
    pub fn is_proof(&self, port: u16, nonce: &Nonce, given: &str) -> bool {
        self.proof(port, nonce).as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// Returns the token that hooks send. That token only lets hooks report events.
    pub fn of_hooks(&self) -> Self {
        Self(self.sign(HOOK))
    }

    /// Returns the secret in the gateway's addresses, for clients that can only send the provider's credential. The secret
    /// gives access only to the gateway.
    pub fn capability(&self) -> Self {
        let key = blake3::derive_key(CAPABILITY, self.0.as_bytes());
        Self(blake3::Hash::from_bytes(key).to_hex().to_string())
    }

    /// Returns the HMAC-SHA256 of a message with the token's bytes as the key, in hexadecimal digits.
    fn sign(&self, message: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        let tag = hmac::sign(&key, message.as_bytes());
        tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for HomeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HomeToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn only_the_whole_token_is_right() {
        let token = HomeToken::new(TEXT);
        assert!(token.is(TEXT.as_bytes()));
        for wrong in [&b""[..], b"0", b"0123456789abcdef0123456789abcdeF"] {
            assert!(!token.is(wrong));
        }
        assert_eq!(format!("{token:?}"), "HomeToken(…)");
        assert_ne!(HomeToken::random().expose(), HomeToken::random().expose());
        assert_eq!(HomeToken::random().expose().len(), 64);
    }

    /// The expected value comes from Python's `hmac`: clients in other languages compute the same proof.
    #[test]
    fn a_proof_is_the_one_that_other_languages_compute() {
        let nonce = Nonce::parse(&"ab".repeat(32)).unwrap();
        let proof = HomeToken::new(TEXT).proof(4747, &nonce);
        assert_eq!(proof, "47bad8de5a0cfcf85d885088f71111eb7b406528663119fcadaef4c6aabee48b");
    }

    #[test]
    fn a_proof_is_of_one_token_port_and_nonce() {
        let (token, nonce) = (HomeToken::new(TEXT), Nonce::random());
        let proof = token.proof(4747, &nonce);
        assert!(token.is_proof(4747, &nonce, &proof));
        assert!(!token.is_proof(4748, &nonce, &proof), "relayed from another port");
        assert!(!token.is_proof(4747, &Nonce::random(), &proof), "recorded earlier");
        assert!(!HomeToken::random().is_proof(4747, &nonce, &proof));
        for wrong in ["", &proof[1..], TEXT] {
            assert!(!token.is_proof(4747, &nonce, wrong));
        }
    }

    #[test]
    fn what_is_derived_belongs_to_one_token_and_one_use() {
        let (one, two) = (HomeToken::new(TEXT), HomeToken::new("another"));
        let texts = |token: &HomeToken| {
            [token.expose(), token.of_hooks().expose(), token.capability().expose()]
                .map(str::to_owned)
        };
        let mut all: Vec<String> = texts(&one).into_iter().chain(texts(&two)).collect();
        assert_eq!(texts(&one), texts(&HomeToken::new(TEXT)));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6);
    }
}
