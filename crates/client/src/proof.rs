//! The question that a client asks before it sends anything over TCP: does the program there have the home's token?
//!
//! Any user of the machine can listen on a port that a daemon has left. Without a proof, such a program would get the
//! token and the user's prompts, and its answers would reach the agent.

use bethink_credentials::{HomeToken, Nonce};
use serde_json::Value;

use crate::address::DaemonAddress;
use crate::exchange;

/// Maximum size of an answer with a proof, in bytes: its headers take a few hundred.
pub(crate) const MOST_PROOF_BYTES: usize = 4 << 10;

/// Why a program is not trusted. The program was sent neither the token nor any data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    #[error(
        "could not check which program answers on {address}, because {place} could not be read; set BETHINK_TOKEN"
    )]
    NoToken { address: String, place: String },
    #[error(
        "the program on {address} did not prove that it is {expected} ({found}), so neither the token nor any data was sent to it"
    )]
    NotProven { address: String, expected: String, found: &'static str },
}

/// The daemon that should answer at an address.
#[derive(Clone, Debug)]
pub(crate) struct ExpectedDaemon {
    pub(crate) address: DaemonAddress,
    pub(crate) token: HomeToken,
    /// The daemon's name in errors, such as "the daemon of HOME".
    pub(crate) name: String,
}

impl ExpectedDaemon {
    pub(crate) fn question(&self, nonce: &Nonce) -> String {
        exchange::get(&format!("/v1/proof?nonce={nonce}"), &self.address.authority())
    }

    /// Checks the answer to the question with this nonce.
    pub(crate) fn check(&self, nonce: &Nonce, answer: &[u8]) -> Result<(), ProofError> {
        let answer = exchange::parse(answer).filter(|answer| answer.status == 200);
        let answer = answer.and_then(|answer| serde_json::from_str::<Value>(&answer.body).ok());
        let found = match answer.as_ref().and_then(|answer| answer["proof"].as_str()) {
            Some(proof) if self.token.is_proof(self.address.port(), nonce, proof) => return Ok(()),
            Some(_) => "its proof is wrong",
            None => "it gave no proof",
        };
        Err(ProofError::NotProven {
            address: self.address.authority(),
            expected: self.name.clone(),
            found,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_daemon_with_the_token_on_this_port_is_trusted() {
        let token = HomeToken::new("0123456789abcdef0123456789abcdef");
        let address = DaemonAddress::parse("http://127.0.0.1:4747").unwrap();
        let name = "the daemon of /home".to_owned();
        let daemon = ExpectedDaemon { address, token: token.clone(), name };
        let nonce = Nonce::random();
        let answer = |status: u16, body: &str| {
            let length = body.len();
            let text = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n\r\n{body}");
            daemon.check(&nonce, text.as_bytes()).map_err(|error| error.to_string())
        };
        let body = |proof: &str| format!(r#"{{"proof":"{proof}"}}"#);
        let right = token.proof(4747, &nonce);
        assert_eq!(answer(200, &body(&right)), Ok(()));
        for wrong in [
            body(&token.proof(4748, &nonce)),
            body(&token.proof(4747, &Nonce::random())),
            body(&HomeToken::random().proof(4747, &nonce)),
            body(""),
        ] {
            let error = answer(200, &wrong).unwrap_err();
            assert!(
                error.contains("that it is the daemon of /home (its proof is wrong)"),
                "{error}"
            );
        }
        assert!(answer(404, &body(&right)).unwrap_err().contains("it gave no proof"));
        for wrong in ["", "{}", "[]", "{\"proof\":1}"] {
            assert!(answer(200, wrong).is_err(), "{wrong}");
        }
        assert!(daemon.check(&nonce, b"SSH-2.0-OpenSSH\r\n").is_err());
        assert!(
            daemon
                .question(&nonce)
                .contains(&format!("?nonce={nonce} HTTP/1.1\r\nHost: 127.0.0.1:4747"))
        );
    }
}
