//! The dashboard login: launch tokens, which work once, and the secrets of logged-in pages.
//!
//! A browser sends a cookie to every port of a host, and other programs may serve other ports, so a cookie is not
//! enough. A page also sends a value that it received when it logged in. Only pages of the daemon's own origin can read
//! that value. The tabs of a browser share the cookie, and each has its own value.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use http::header::{COOKIE, HeaderName};
use subtle::ConstantTimeEq;
use tokio::time::Instant;
use uuid::Uuid;

/// The header with the value that a page received when it logged in.
pub(crate) const PAGE: HeaderName = HeaderName::from_static("x-bethink-page");

/// How long a launch token is valid.
const LAUNCH_WITHIN: Duration = Duration::from_secs(60);
/// Maximum number of unused launch tokens. If there are more, the oldest one is dropped.
const LAUNCHES: usize = 8;
/// An unused page is logged out after this time.
const IDLE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Maximum number of logged-in pages. If there are more, the least recently used one is logged out.
const PAGES: usize = 32;

/// The logins since the daemon was started. They are lost when it restarts.
#[derive(Debug, Default)]
pub(crate) struct Pages(Mutex<KnownPages>);

#[derive(Debug, Default)]
struct KnownPages {
    launches: VecDeque<(Secret, Instant)>,
    /// Least recently used first.
    pages: VecDeque<PageLogin>,
}

#[derive(Debug)]
struct PageLogin {
    cookie: Secret,
    value: Secret,
    used: Instant,
}

/// What a page receives when it logs in.
pub(crate) struct Admitted {
    pub(crate) cookie: String,
    pub(crate) page: String,
}

impl Pages {
    /// Creates a token for one login.
    pub(crate) fn launch(&self, now: Instant) -> String {
        let (secret, text) = Secret::new();
        let mut known = self.lock();
        if known.launches.len() >= LAUNCHES {
            known.launches.pop_front();
        }
        known.launches.push_back((secret, now + LAUNCH_WITHIN));
        text
    }

    /// Consumes the token; `None` if it is unknown, used or expired. Keeps the browser's cookie if one of its tabs is
    /// logged in, because a new cookie would log that tab out.
    pub(crate) fn log_in(
        &self,
        launch: &str,
        headers: &HeaderMap,
        port: u16,
        now: Instant,
    ) -> Option<Admitted> {
        let mut known = self.lock();
        known.launches.retain(|(_, until)| *until > now);
        let place = known.launches.iter().position(|(secret, _)| secret.is(launch.as_bytes()))?;
        known.launches.remove(place);
        known.retain_used(now);
        let is_known = |text: &&str| known.pages.iter().any(|page| page.cookie.is(text.as_bytes()));
        let (cookie, cookie_text) = match cookies(headers, &cookie_name(port)).find(is_known) {
            Some(text) => (Secret::of(text), text.to_owned()),
            None => Secret::new(),
        };
        let (value, value_text) = Secret::new();
        if known.pages.len() >= PAGES {
            known.pages.pop_front();
        }
        known.pages.push_back(PageLogin { cookie, value, used: now });
        Some(Admitted { cookie: cookie_text, page: value_text })
    }

    /// Returns whether a request comes from a logged-in page: its cookie and value belong to the same login.
    pub(crate) fn admits(&self, headers: &HeaderMap, port: u16, now: Instant) -> bool {
        let Some(value) = headers.get(PAGE) else { return false };
        let mut known = self.lock();
        known.retain_used(now);
        let found = cookies(headers, &cookie_name(port)).find_map(|cookie| {
            known.pages.iter().position(|page| {
                page.cookie.is(cookie.as_bytes()) && page.value.is(value.as_bytes())
            })
        });
        let Some(page) = found.and_then(|place| known.pages.remove(place)) else {
            return false;
        };
        known.pages.push_back(PageLogin { used: now, ..page });
        true
    }

    /// Logs out all pages, and forgets the launch tokens.
    pub(crate) fn clear(&self) {
        *self.lock() = KnownPages::default();
    }

    fn lock(&self) -> MutexGuard<'_, KnownPages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownPages {
    fn retain_used(&mut self, now: Instant) {
        self.pages.retain(|page| now.duration_since(page.used) < IDLE);
    }
}

/// Returns the name of the login cookie. All ports of a host share cookies, so each daemon uses its own name.
pub(crate) fn cookie_name(port: u16) -> String {
    format!("bethink-{port}")
}

fn cookies<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).filter_map(move |pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    })
}

/// A secret, stored as a hash so that the process's memory contains nothing usable.
struct Secret(blake3::Hash);

impl Secret {
    /// Creates a secret from two random UUIDs, which have 244 random bits.
    fn new() -> (Self, String) {
        let text = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        (Self::of(&text), text)
    }

    fn of(text: &str) -> Self {
        Self(blake3::hash(text.as_bytes()))
    }

    fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(blake3::hash(given).as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: u16 = 4747;

    fn headers(cookie: &str, page: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, format!("a=b; bethink-{PORT}={cookie}; c=d").parse().unwrap());
        headers.insert(PAGE, page.parse().unwrap());
        headers
    }

    fn logged_in(pages: &Pages, now: Instant) -> Admitted {
        log_in(pages, &pages.launch(now), now).unwrap()
    }

    fn log_in(pages: &Pages, launch: &str, now: Instant) -> Option<Admitted> {
        pages.log_in(launch, &HeaderMap::new(), PORT, now)
    }

    #[test]
    fn a_launch_token_works_once_and_not_for_long() {
        let (pages, now) = (Pages::default(), Instant::now());
        let launch = pages.launch(now);
        assert!(log_in(&pages, "", now).is_none());
        assert!(log_in(&pages, &launch, now).is_some());
        assert!(log_in(&pages, &launch, now).is_none(), "used");
        let late = pages.launch(now);
        assert!(log_in(&pages, &late, now + LAUNCH_WITHIN).is_none(), "too old");
    }

    #[test]
    fn a_page_needs_its_cookie_and_its_value() {
        let (pages, now) = (Pages::default(), Instant::now());
        let (one, two) = (logged_in(&pages, now), logged_in(&pages, now));
        assert!(pages.admits(&headers(&one.cookie, &one.page), PORT, now));
        assert!(pages.admits(&headers(&two.cookie, &two.page), PORT, now));
        assert!(
            !pages.admits(&headers(&one.cookie, &two.page), PORT, now),
            "the values belong to different logins"
        );
        assert!(!pages.admits(&headers(&one.cookie, ""), PORT, now));
        assert!(!pages.admits(&headers("", &one.page), PORT, now));
        assert!(
            !pages.admits(&headers(&one.cookie, &one.page), PORT + 1, now),
            "the cookie of another daemon"
        );
        let mut bare = headers(&one.cookie, &one.page);
        bare.remove(PAGE);
        assert!(!pages.admits(&bare, PORT, now), "a cookie alone gives no access");
        let after = now + IDLE;
        assert!(
            !pages.admits(&headers(&one.cookie, &one.page), PORT, after),
            "the login was not used"
        );
    }

    #[test]
    fn the_tabs_of_a_browser_share_its_cookie() {
        let (pages, now) = (Pages::default(), Instant::now());
        let one = logged_in(&pages, now);
        let again = |cookie: &str, now: Instant| {
            pages.log_in(&pages.launch(now), &headers(cookie, ""), PORT, now).unwrap()
        };
        let two = again(&one.cookie, now);
        assert!(two.cookie == one.cookie && two.page != one.page);
        for tab in [&one, &two] {
            assert!(pages.admits(&headers(&one.cookie, &tab.page), PORT, now));
        }
        assert_ne!(again("unknown", now).cookie, "unknown", "only the daemon's own cookie is kept");
        assert_ne!(again(&one.cookie, now + IDLE).cookie, one.cookie, "nor one that has ended");
    }

    #[test]
    fn no_login_is_left_after_all_were_cleared() {
        let (pages, now) = (Pages::default(), Instant::now());
        let (page, launch) = (logged_in(&pages, now), pages.launch(now));
        pages.clear();
        assert!(!pages.admits(&headers(&page.cookie, &page.page), PORT, now));
        assert!(log_in(&pages, &launch, now).is_none());
    }

    #[test]
    fn what_waits_and_what_is_logged_in_is_bounded() {
        let (pages, now) = (Pages::default(), Instant::now());
        let first = pages.launch(now);
        (0..LAUNCHES).for_each(|_| drop(pages.launch(now)));
        assert!(log_in(&pages, &first, now).is_none(), "the oldest token was dropped");
        let old = logged_in(&pages, now);
        (0..PAGES).for_each(|_| drop(logged_in(&pages, now)));
        assert!(!pages.admits(&headers(&old.cookie, &old.page), PORT, now));
    }

    #[test]
    fn nothing_shows_a_secret() {
        let pages = Pages::default();
        let launch = pages.launch(Instant::now());
        assert!(!format!("{pages:?}").contains(&launch));
    }
}
