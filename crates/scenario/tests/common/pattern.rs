//! The regular expressions of the schema: groups, alternatives, classes, `\s`, `^`, `$` and `* + ?`.

use std::collections::BTreeSet;

/// Whether `pattern` is found in `text`, which is ASCII.
///
/// # Panics
///
/// Where `pattern` is not such an expression.
pub fn found(pattern: &str, text: &str) -> bool {
    assert!(pattern.is_ascii() && text.is_ascii(), "{pattern}: {text}");
    let mut reader = Reader { pattern: pattern.as_bytes(), at: 0, text: text.as_bytes() };
    let ends = reader.alternatives(&(0..=text.len()).collect());
    assert_eq!(reader.at, pattern.len(), "{pattern}: a bracket too many");
    !ends.is_empty()
}

/// Reads the pattern once and carries all places of the text that it may have come to.
struct Reader<'a> {
    pattern: &'a [u8],
    at: usize,
    text: &'a [u8],
}

impl Reader<'_> {
    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.pattern.get(self.at) == Some(&wanted);
        self.at += usize::from(found);
        found
    }

    fn next(&mut self) -> u8 {
        self.at += 1;
        self.pattern[self.at - 1]
    }

    fn alternatives(&mut self, from: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut ends = BTreeSet::new();
        loop {
            let mut places = from.clone();
            while self.pattern.get(self.at).is_some_and(|c| !b"|)".contains(c)) {
                places = self.repeated(&places);
            }
            ends.extend(places);
            if !self.eat(b'|') {
                return ends;
            }
        }
    }

    fn repeated(&mut self, from: &BTreeSet<usize>) -> BTreeSet<usize> {
        let start = self.at;
        let mut ends = self.one(from);
        let after = self.at;
        let (many, none) = match self.pattern.get(after) {
            Some(b'*') => (true, true),
            Some(b'+') => (true, false),
            Some(b'?') => (false, true),
            _ => return ends,
        };
        let mut before = 0;
        while many && ends.len() > before {
            before = ends.len();
            self.at = start;
            let more = self.one(&ends);
            ends.extend(more);
        }
        self.at = after + 1;
        if none {
            ends.extend(from);
        }
        ends
    }

    fn one(&mut self, from: &BTreeSet<usize>) -> BTreeSet<usize> {
        let wanted: Vec<u8> = match self.next() {
            b'(' => {
                let ends = self.alternatives(from);
                assert!(self.eat(b')'), "a group that does not end");
                return ends;
            }
            b'^' => return from.iter().copied().filter(|at| *at == 0).collect(),
            b'$' => return from.iter().copied().filter(|at| *at == self.text.len()).collect(),
            b'[' => self.class(),
            b'\\' => match self.next() {
                b's' => b" \t\r\n".to_vec(),
                other => vec![other],
            },
            literal => vec![literal],
        };
        let fits = |at: &&usize| self.text.get(**at).is_some_and(|c| wanted.contains(c));
        from.iter().filter(fits).map(|at| at + 1).collect()
    }

    fn class(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while !self.eat(b']') {
            let first = self.next();
            if self.pattern[self.at] == b'-' && self.pattern[self.at + 1] != b']' {
                self.at += 1;
                all.extend(first..=self.next());
            } else {
                all.push(first);
            }
        }
        all
    }
}
