//! One load of a page, from the first request to the last object.

use units::{Bytes, SimTime};

use super::Description;
use crate::Page;

/// The page under way, or the last one.
#[derive(Clone, Debug)]
pub(super) struct PageLoad {
    /// By object: when it was asked for.
    asked: Vec<SimTime>,
    /// By object: the link on which it was asked for, and the bytes of it that have not arrived.
    links: Vec<usize>,
    missing: Vec<Bytes>,
    began: SimTime,
    /// Objects that have arrived, and their bytes.
    arrived: u64,
    bytes: Bytes,
    /// Connections opened for it.
    opened: u64,
    loading: bool,
}

impl PageLoad {
    /// No page is being loaded; each page has this number of objects.
    pub fn new(objects: usize) -> Self {
        let asked = vec![SimTime::ZERO; objects];
        let (links, missing) = (vec![0; objects], vec![Bytes::ZERO; objects]);
        Self {
            asked,
            links,
            missing,
            began: SimTime::ZERO,
            arrived: 0,
            bytes: Bytes::ZERO,
            opened: 0,
            loading: false,
        }
    }

    /// A load begins.
    pub fn begin(&mut self, now: SimTime) {
        debug_assert!(!self.loading, "the page before is under way");
        (self.began, self.arrived, self.bytes, self.opened) = (now, 0, Bytes::ZERO, 0);
        self.loading = true;
        self.check();
    }

    /// An object of this size is asked for on a link.
    pub fn ask(&mut self, object: usize, (now, link): (SimTime, usize), size: Bytes) {
        debug_assert!(self.loading && now >= self.began, "object {object} is asked for outside a load");
        self.asked[object] = now;
        (self.links[object], self.missing[object]) = (link, size);
    }

    /// The link on which an object was asked for.
    pub fn link(&self, object: usize) -> usize {
        self.links[object]
    }

    /// A part of an object has arrived. True if that is all of it.
    pub fn is_whole(&mut self, object: usize, part: Bytes) -> bool {
        debug_assert!(part <= self.missing[object], "more of object {object} than it has");
        self.missing[object] -= part;
        self.missing[object] == Bytes::ZERO
    }

    /// A connection is opened for it.
    pub fn open(&mut self) {
        self.opened += 1;
    }

    /// An object of `size` has arrived. Returns when it was asked for.
    pub fn arrive(&mut self, object: usize, size: Bytes) -> SimTime {
        self.arrived += 1;
        self.bytes += size;
        self.check();
        self.asked[object]
    }

    /// All objects have arrived.
    pub fn is_complete(&self) -> bool {
        self.arrived == self.asked.len() as u64
    }

    /// The load is over.
    pub fn end(&mut self) {
        debug_assert!(self.loading && self.is_complete(), "ends after {} objects", self.arrived);
        self.loading = false;
    }

    /// A load is under way.
    pub fn is_loading(&self) -> bool {
        self.loading
    }

    /// When it began.
    pub fn began(&self) -> SimTime {
        self.began
    }

    /// Objects that have arrived.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// The row of the table of pages.
    pub fn row(&self, page: &Description) -> Page {
        Page {
            name: page.name,
            objects: page.objects.len() as u64,
            arrived: self.arrived,
            size: self.bytes,
            connections: self.opened,
            start: self.began,
            complete: self.is_complete(),
        }
    }

    fn check(&self) {
        debug_assert!(
            self.arrived <= self.asked.len() as u64,
            "{} of {} objects",
            self.arrived,
            self.asked.len()
        );
        debug_assert!(self.arrived > 0 || self.bytes == Bytes::ZERO, "{} of no object", self.bytes);
    }
}
