//! Redirects: answers that lead elsewhere, and cost a round trip each.

use registry::Options;
use units::Bytes;

/// Size of such an answer: a status line, a few fields, and a short body.
pub(super) const ANSWER: Bytes = Bytes(300);
/// Tags of messages: of objects from 0 on, then of redirects by domain, then of the flights of TLS.
pub(super) const REDIRECTS: u64 = 1 << 40;
pub(super) const GREETINGS: u64 = 1 << 48;

/// The tag of a redirect of this domain.
pub(super) fn tag(domain: usize) -> u64 {
    REDIRECTS + domain as u64
}

/// The domain of a redirect.
pub(super) fn domain(tag: u64) -> usize {
    (tag - REDIRECTS) as usize
}

/// Redirects of the page under way.
#[derive(Clone, Debug)]
pub(super) struct Redirects {
    /// Redirects of the address of the page, and of each further domain.
    most: [u64; 2],
    /// By domain: those to come, and whether one is under way.
    left: Vec<(u64, bool)>,
}

impl Redirects {
    /// As the options say.
    pub(super) fn new(options: &Options) -> Self {
        Self { most: ["redirects", "domain_redirects"].map(|name| options.integer(name)), left: Vec::new() }
    }

    /// A page with this number of domains is fetched.
    pub(super) fn begin(&mut self, domains: usize) {
        self.left = (0..domains).map(|domain| (self.most[usize::from(domain > 0)], false)).collect();
    }

    /// One of this domain is under way.
    pub(super) fn are_under_way(&self, domain: usize) -> bool {
        self.left[domain].1
    }

    /// The next one of this domain is asked for. False if there is none.
    pub(super) fn take(&mut self, domain: usize) -> bool {
        let (left, under_way) = &mut self.left[domain];
        debug_assert!(!*under_way, "one after the other");
        *under_way = *left > 0;
        *left = left.saturating_sub(1);
        *under_way
    }

    /// It has reached the browser.
    pub(super) fn arrived(&mut self, domain: usize) {
        debug_assert!(self.left[domain].1, "no request has asked for it");
        self.left[domain].1 = false;
    }
}
