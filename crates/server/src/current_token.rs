//! The token that is valid now. A rotation replaces it while the daemon is running.

use std::sync::{PoisonError, RwLock};

use bethink_config::Home;
use bethink_credentials::HomeToken;
use tokio_util::sync::CancellationToken;

use crate::token::{self, TokenError};

/// The token of a home, for everything that checks or derives a credential.
#[derive(Debug)]
pub(crate) struct CurrentToken {
    home: Home,
    stopping: CancellationToken,
    held: RwLock<ValidToken>,
}

#[derive(Clone, Debug)]
struct ValidToken {
    token: HomeToken,
    ended: CancellationToken,
}

impl CurrentToken {
    /// Reads the token of a home, or creates it. `stopping` is cancelled when the daemon stops.
    pub(crate) fn of(home: Home, stopping: CancellationToken) -> Result<Self, TokenError> {
        let token = token::of(&home)?;
        Ok(Self::new(home, stopping, token))
    }

    pub(crate) fn new(home: Home, stopping: CancellationToken, token: HomeToken) -> Self {
        let held = RwLock::new(ValidToken { token, ended: stopping.child_token() });
        Self { home, stopping, held }
    }

    pub(crate) fn get(&self) -> HomeToken {
        self.valid().token
    }

    /// Returns a `CancellationToken` that is cancelled when the home's token is replaced or the daemon stops.
    /// Everything that was opened with the home's token must end then.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.valid().ended
    }

    /// Replaces the token, on disk first. From then on, the old token and everything derived from it are refused.
    /// Blocks until the new token is durable.
    pub(crate) fn rotate(&self) -> Result<(), TokenError> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let token = HomeToken::random();
        token::replace(&self.home, &token)?;
        held.ended.cancel();
        *held = ValidToken { token, ended: self.stopping.child_token() };
        Ok(())
    }

    fn valid(&self) -> ValidToken {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_replaces_the_file_and_ends_what_the_old_token_opened() {
        let dir = tempfile::tempdir().unwrap();
        let (home, stopping) = (Home::new(dir.path()), CancellationToken::new());
        let current = CurrentToken::of(home.clone(), stopping.clone()).unwrap();
        let (old, ended) = (current.get(), current.ended());
        current.rotate().unwrap();
        let new = current.get();
        assert!(!new.is(old.expose().as_bytes()) && ended.is_cancelled());
        assert!(token::of(&home).unwrap().is(new.expose().as_bytes()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left");
        assert!(!current.ended().is_cancelled());
        stopping.cancel();
        assert!(current.ended().is_cancelled());
    }

    #[test]
    fn a_token_that_cannot_be_stored_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("gone"));
        let old = HomeToken::random();
        let current = CurrentToken::new(home, CancellationToken::new(), old.clone());
        current.rotate().unwrap_err();
        assert!(current.get().is(old.expose().as_bytes()) && !current.ended().is_cancelled());
    }
}
