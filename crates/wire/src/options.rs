//! Options of a TCP header (RFC 9293 section 3.2).

use std::fmt;

use transport::seq::Seq32;

use crate::mptcp::{self, Mptcp};

/// Bytes of options that a header can have.
pub const OPTION_SPACE: usize = 40;

mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    pub(super) const SCPS_CAPABLE: u8 = 20;
    pub(super) const SNACK: u8 = 21;
}

/// `N` bytes at `at`; `None` if the slice ends before.
pub(crate) fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The blocks of a SACK option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackList<'a>(&'a [u8]);

impl SackList<'_> {
    /// First number and the number after the last, of each block.
    pub fn blocks(&self) -> impl Iterator<Item = [Seq32; 2]> + '_ {
        let number = |bytes: &[u8]| Seq32(bytes_at(bytes, 0).map_or(0, u32::from_be_bytes));
        self.0.chunks_exact(8).map(move |block| [number(block), number(&block[4..])])
    }
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption<'a> {
    /// Maximum segment size.
    Mss(u16),
    /// Window scale: a shift (RFC 7323).
    WindowScale(u8),
    /// SACK permitted (RFC 2018).
    SackPermitted,
    /// SACK.
    Sack(SackList<'a>),
    /// Timestamps (RFC 7323).
    Timestamps {
        /// TSval.
        value: u32,
        /// TSecr.
        echo: u32,
    },
    /// MPTCP.
    Mptcp(Mptcp<'a>),
    /// SCPS capabilities (CCSDS 714.0-B section 3.2.3): bits, and a connection ID.
    ScpsCapable([u8; 2]),
    /// SNACK (CCSDS 714.0-B section 3.2.5).
    Snack {
        /// Start of the first hole, in MSS.
        offset: u16,
        /// Its size, in MSS.
        size: u16,
        /// Bit vector, the first bit is the highest.
        vector: &'a [u8],
    },
    /// Another kind, or a length that its kind does not have.
    Unknown {
        /// Its kind.
        kind: u8,
        /// The bytes after kind and length.
        body: &'a [u8],
    },
    /// The rest is cut off, or is no option: its length is below 2 or beyond the end.
    Broken(&'a [u8]),
}

/// The header has no room for a further option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSpaceFull;

impl fmt::Display for OptionSpaceFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {OPTION_SPACE} bytes of TCP options")
    }
}

impl std::error::Error for OptionSpaceFull {}

/// The options of one header, while they are written.
#[derive(Clone, Copy, Debug)]
pub struct OptionBytes {
    bytes: [u8; OPTION_SPACE],
    len: usize,
}

impl Default for OptionBytes {
    fn default() -> Self {
        Self { bytes: [kind::NOP; OPTION_SPACE], len: 0 }
    }
}

impl OptionBytes {
    /// The bytes so far.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Without the options behind the first `len` bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends `count` NOPs.
    ///
    /// # Errors
    /// There is no room for them.
    pub fn nops(&mut self, count: usize) -> Result<(), OptionSpaceFull> {
        let end = self.len + count;
        self.bytes.get_mut(self.len..end).ok_or(OptionSpaceFull)?.fill(kind::NOP);
        self.len = end;
        self.check();
        Ok(())
    }

    /// NOPs up to the end of a 32-bit word.
    ///
    /// # Errors
    /// Never: the space ends with a word.
    pub fn align(&mut self) -> Result<(), OptionSpaceFull> {
        self.nops(self.len.next_multiple_of(4) - self.len)
    }

    /// Bytes of an option, as many as their type has: written without a call.
    #[inline]
    pub(crate) fn part<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), OptionSpaceFull> {
        let end = self.len + N;
        self.bytes.get_mut(self.len..end).ok_or(OptionSpaceFull)?.copy_from_slice(&bytes);
        self.len = end;
        Ok(())
    }

    /// An option of this kind whose body is written in parts. Nothing is added if there is no room for one of them.
    #[inline]
    pub(crate) fn option(
        &mut self,
        kind: u8,
        body: impl FnOnce(&mut Self) -> Result<(), OptionSpaceFull>,
    ) -> Result<(), OptionSpaceFull> {
        let start = self.len;
        let written = self.part([kind, 0]).and_then(|()| body(self));
        match written {
            // The option space is below 256 bytes.
            Ok(()) => self.bytes[start + 1] = (self.len - start) as u8,
            Err(_) => self.len = start,
        }
        self.check();
        written
    }

    /// An option of this kind.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn put(&mut self, kind: u8, body: &[u8]) -> Result<(), OptionSpaceFull> {
        let end = self.len + 2 + body.len();
        let place = self.bytes.get_mut(self.len..end).ok_or(OptionSpaceFull)?;
        // The option space is below 256 bytes.
        (place[0], place[1]) = (kind, (2 + body.len()) as u8);
        place[2..].copy_from_slice(body);
        self.len = end;
        self.check();
        Ok(())
    }

    /// A SACK option of up to four blocks.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn sack(&mut self, blocks: &[[Seq32; 2]]) -> Result<(), OptionSpaceFull> {
        let mut body = [0; 8 * 4];
        let bytes = body.get_mut(..8 * blocks.len()).ok_or(OptionSpaceFull)?;
        for (place, number) in bytes.chunks_exact_mut(4).zip(blocks.iter().flatten()) {
            place.copy_from_slice(&number.0.to_be_bytes());
        }
        self.put(kind::SACK, bytes)
    }

    /// One option.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn push(&mut self, option: &TcpOption<'_>) -> Result<(), OptionSpaceFull> {
        match *option {
            TcpOption::Mss(mss) => self.put(kind::MSS, &mss.to_be_bytes()),
            TcpOption::WindowScale(shift) => self.put(kind::WINDOW_SCALE, &[shift]),
            TcpOption::SackPermitted => self.put(kind::SACK_PERMITTED, &[]),
            TcpOption::Sack(SackList(blocks)) => self.put(kind::SACK, blocks),
            TcpOption::Timestamps { value, echo } => self.option(kind::TIMESTAMPS, |to| {
                to.part(value.to_be_bytes())?;
                to.part(echo.to_be_bytes())
            }),
            TcpOption::Mptcp(option) => option.write(self),
            TcpOption::ScpsCapable(body) => self.put(kind::SCPS_CAPABLE, &body),
            TcpOption::Snack { offset, size, vector } => {
                let mut body = [0; OPTION_SPACE];
                body[..2].copy_from_slice(&offset.to_be_bytes());
                body[2..4].copy_from_slice(&size.to_be_bytes());
                body.get_mut(4..4 + vector.len()).ok_or(OptionSpaceFull)?.copy_from_slice(vector);
                self.put(kind::SNACK, &body[..4 + vector.len()])
            }
            TcpOption::Unknown { kind, body } => self.put(kind, body),
            TcpOption::Broken(bytes) => {
                let end = self.len + bytes.len();
                self.bytes.get_mut(self.len..end).ok_or(OptionSpaceFull)?.copy_from_slice(bytes);
                self.len = end;
                Ok(())
            }
        }
    }

    fn check(&self) {
        debug_assert!(self.len <= OPTION_SPACE, "{} bytes of options", self.len);
    }
}

/// The options of a header in their order, without padding.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a>(pub &'a [u8]);

impl<'a> Iterator for Options<'a> {
    type Item = TcpOption<'a>;

    #[inline]
    fn next(&mut self) -> Option<TcpOption<'a>> {
        loop {
            let (&kind, rest) = self.0.split_first()?;
            match kind {
                kind::END => {
                    self.0 = &[];
                    return None;
                }
                kind::NOP => self.0 = rest,
                _ => return Some(self.option(kind)),
            }
        }
    }
}

impl<'a> Options<'a> {
    #[inline]
    fn option(&mut self, kind: u8) -> TcpOption<'a> {
        let all = self.0;
        let len = all.get(1).copied().map_or(0, usize::from);
        let Some(body) = all.get(2..len) else {
            self.0 = &[];
            return TcpOption::Broken(all);
        };
        self.0 = &all[len..];
        let known = match (kind, len) {
            (kind::MSS, 4) => bytes_at(body, 0).map(|mss| TcpOption::Mss(u16::from_be_bytes(mss))),
            (kind::WINDOW_SCALE, 3) => Some(TcpOption::WindowScale(body[0])),
            (kind::SACK_PERMITTED, 2) => Some(TcpOption::SackPermitted),
            (kind::SACK, 10 | 18 | 26 | 34) => Some(TcpOption::Sack(SackList(body))),
            (kind::TIMESTAMPS, 10) => {
                let number = |at| bytes_at(body, at).map(u32::from_be_bytes);
                number(0).zip(number(4)).map(|(value, echo)| TcpOption::Timestamps { value, echo })
            }
            (mptcp::KIND, 3..) => Some(TcpOption::Mptcp(Mptcp::decode(body))),
            (kind::SCPS_CAPABLE, 4) => bytes_at(body, 0).map(TcpOption::ScpsCapable),
            (kind::SNACK, 6..) => {
                let number = |at| bytes_at(body, at).map(u16::from_be_bytes);
                number(0).zip(number(2)).map(|(offset, size)| TcpOption::Snack {
                    offset,
                    size,
                    vector: &body[4..],
                })
            }
            _ => None,
        };
        known.unwrap_or(TcpOption::Unknown { kind, body })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 9293 section 3.1: "A TCP implementation MUST ignore without error any TCP Option it does not implement, assuming that the option
    /// has a length field."
    ///
    /// RFC 9293 section 3.1: "TCP implementations MUST be prepared to handle an illegal option length (e.g., zero)"
    #[test]
    fn options_survive_and_padding_does_not() {
        let options = [
            TcpOption::Mss(1460),
            TcpOption::SackPermitted,
            TcpOption::Timestamps { value: 7, echo: 0 },
            TcpOption::WindowScale(7),
            TcpOption::Unknown { kind: 253, body: &[1, 2, 3] },
            TcpOption::ScpsCapable([0x40, 0]),
            TcpOption::Unknown { kind: 2, body: &[] },
        ];
        let mut bytes = OptionBytes::default();
        for option in &options {
            bytes.push(option).expect("they fit");
            bytes.align().expect("the space ends with a word");
        }
        assert!(Options(bytes.as_slice()).eq(options));
        assert_eq!(bytes.nops(100), Err(OptionSpaceFull));
        assert_eq!(Options(&[kind::NOP, kind::END, 8]).next(), None);
        assert!(Options(&[kind::NOP, 8, 10, 0]).eq([TcpOption::Broken(&[8, 10, 0])]));
        assert!(Options(&[253, 0, kind::NOP]).eq([TcpOption::Broken(&[253, 0, kind::NOP])]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_options(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            for option in Options(&bytes) {
                let mut again = OptionBytes::default();
                if again.push(&option).is_ok() {
                    prop_assert_eq!(Options(again.as_slice()).next(), Some(option));
                }
            }
        }
    }
}
