//! One line of a conversation: `<ms> <what> <details>`.

use transport::mptcp::option::ResetReason;
use transport::packet::{Ecn, Packet};
use transport::seq::{Dsn, Seq};
use transport::space::{Snack, SpaceSignal as Space};
use transport::tcp::ranges::Range;
use transport::tcp::segment::{Flags, SackBlocks};
use units::{Bytes, SimTime};

/// The request of a line.
#[derive(Clone, Debug)]
pub(super) enum Line {
    /// `>`: the connection sends this.
    Out(Pattern),
    /// `<`: the peer sends this.
    In(Pattern),
    /// `=`: pairs of a name and a value to be read off the connection.
    Check(usize, Vec<(String, String)>),
    /// Anything else: something the application does.
    Do(String, u64),
}

/// Connection-level part of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mp {
    pub capable: bool,
    pub join: bool,
    /// The proof of MP_JOIN is a wrong one.
    pub forged: bool,
    pub data_ack: Option<Dsn>,
    pub dsn: Option<Dsn>,
    pub data_fin: bool,
    /// ADD_ADDR or its echo.
    pub address: Option<(u8, bool)>,
    /// No MPTCP option at all.
    pub plain: bool,
    /// B of MP_JOIN and MP_PRIO.
    pub backup: bool,
    /// Address ID in MP_JOIN, if it matters.
    pub id: Option<u8>,
    /// Addresses in the SYN of MP_JOIN, at both ends; the subflow's number unless said.
    pub over: Option<u8>,
    /// One of the signals that stand alone.
    pub signal: Option<Signal>,
}

/// A signal that stands alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    Remove(u8),
    Priority,
    FastClose,
    Reset(ResetReason),
}

fn reason(word: &str) -> ResetReason {
    let all = [
        ResetReason::Unspecified,
        ResetReason::Protocol,
        ResetReason::Resources,
        ResetReason::Administrative,
        ResetReason::Performance,
        ResetReason::Middlebox,
    ];
    let code = word.parse().unwrap_or(u8::MAX);
    all.into_iter().find(|r| r.code() == code).unwrap_or_else(|| panic!("{word:?} is no reason code"))
}

/// The pattern of a segment; fields that the line does not name are not compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Pattern {
    pub subflow: u8,
    pub flags: Flags,
    /// PSH must be set, or must not (`p`); otherwise it is not compared.
    pub psh: Option<bool>,
    pub range: Option<Range<Seq>>,
    pub ack: Option<Seq>,
    pub window: Option<u64>,
    pub sack: Option<SackBlocks>,
    /// ECN codepoint.
    pub ecn: Option<Ecn>,
    pub again: bool,
    pub size: Option<u64>,
    /// Timestamps: value and echo.
    pub stamps: Option<(SimTime, SimTime)>,
    /// Signal of SCPS-TP, STP or TCP-Peach; `Some(None)`: there must be none.
    pub signal: Option<Option<Space>>,
    pub mp: Mp,
}

impl Pattern {
    /// Splits a long range into full segments, which is what a sender makes of it.
    pub(super) fn split(self, mss: u64) -> Vec<Self> {
        let Some(range) = self.range.filter(|r| r.len() > mss) else { return vec![self] };
        let offsets = (0..range.len()).step_by(mss as usize).map(Bytes);
        offsets
            .map(|offset| Self {
                range: Some(Range::new(
                    range.start + offset,
                    (range.start + offset + Bytes(mss)).min(range.end),
                )),
                mp: Mp { dsn: self.mp.dsn.map(|dsn| dsn + offset), ..self.mp },
                ..self.clone()
            })
            .collect()
    }
}

/// Milliseconds with decimals, exactly.
pub(super) fn milliseconds(word: &str) -> SimTime {
    let (whole, part) = word.split_once('.').unwrap_or((word, ""));
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|e| panic!("{word:?} is no time: {e}"));
    let nanos = if part.is_empty() { 0 } else { number(&format!("{part:0<6}")) };
    SimTime(number(whole) * 1_000_000 + nanos)
}

/// A sequence number: `123`, `s4` (where the fifth full segment begins), `s4+10`, `s4-1`.
fn sequence(word: &str, mss: u64) -> u64 {
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|e| panic!("{word:?} is no number: {e}"));
    let Some(rest) = word.strip_prefix('s') else { return number(word) };
    if let Some((segment, offset)) = rest.split_once('-') {
        return 1 + number(segment) * mss - number(offset);
    }
    let (segment, offset) = rest.split_once('+').unwrap_or((rest, "0"));
    1 + number(segment) * mss + number(offset)
}

fn range(word: &str, mss: u64) -> Option<Range<Seq>> {
    let (start, end) = word.split_once("..")?;
    Some(Range::new(Seq(sequence(start, mss)), Seq(sequence(end, mss))))
}

fn flags(word: &str) -> Flags {
    let flags = Flags {
        syn: word.contains('S'),
        ack: word.contains('.'),
        fin: word.contains('F'),
        rst: word.contains('R'),
        psh: word.contains('P'),
        ece: word.contains('E'),
        cwr: word.contains('W'),
    };
    assert!(word.chars().all(|c| "SFRPpEW.".contains(c)), "{word:?} are no flags");
    flags
}

fn stamp(word: &str) -> SimTime {
    if word == "-" { SimTime::NEVER } else { milliseconds(word) }
}

fn subflow<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> u8 {
    let bracketed = words.peek().and_then(|w| w.strip_prefix('[')).and_then(|w| w.strip_suffix(']'));
    let Some(number) = bracketed.map(|n| n.parse().expect("a subflow number")) else { return 0 };
    words.next();
    number
}

fn pattern<'a>(words: impl Iterator<Item = &'a str>, mss: u64) -> Pattern {
    let mut words = words.peekable();
    let mut p = Pattern { subflow: subflow(&mut words), ..Pattern::default() };
    let word = words.next().expect("flags");
    p.flags = flags(word);
    p.psh = word.contains(['P', 'p']).then_some(p.flags.psh);
    p.range = words.peek().and_then(|w| range(w, mss));
    if p.range.is_some() {
        words.next();
    }
    while let Some(word) = words.next() {
        match word {
            "ect" => {
                p.ecn = Some(Ecn::Ect0);
                continue;
            }
            "ce" => {
                p.ecn = Some(Ecn::Ce);
                continue;
            }
            "not-ect" => {
                p.ecn = Some(Ecn::NotEct);
                continue;
            }
            "sack" => {
                let mut blocks = SackBlocks::default();
                while let Some(block) = words.peek().and_then(|w| range(w, mss)) {
                    assert!(blocks.push(block), "more than four SACK blocks");
                    words.next();
                }
                p.sack = Some(blocks);
                continue;
            }
            "again" => p.again = true,
            "scps" => p.signal = Some(Some(Space::ScpsCapable)),
            "ustat" => p.signal = Some(Some(Space::Ustat)),
            "bare" => p.signal = Some(None),
            "dummy" => p.signal = Some(Some(Space::Dummy { len: mss as u32 })),
            "answer" => p.signal = Some(Some(Space::DummyAnswer)),
            "snack" => p.signal = words.next().map(|option| Some(Space::Snack(snack(option)))),
            "capable" => p.mp.capable = true,
            "join" => p.mp.join = true,
            "forged" => p.mp.forged = true,
            "dfin" => p.mp.data_fin = true,
            "plain" => p.mp.plain = true,
            "backup" => p.mp.backup = true,
            "prio" => p.mp.signal = Some(Signal::Priority),
            "fastclose" => p.mp.signal = Some(Signal::FastClose),
            _ => {
                let value = words.next().unwrap_or_else(|| panic!("{word:?} needs a value"));
                with_value(&mut p, word, value, mss);
            }
        }
    }
    p
}

/// `offset+size`, and `/1001` for the bits of the vector.
fn snack(word: &str) -> Snack {
    let (hole, vector) = word.split_once('/').unwrap_or((word, ""));
    let (offset, size) = hole.split_once('+').expect("snack offset+size");
    let number = |text: &str| text.parse().unwrap_or_else(|e| panic!("{word:?}: {e}"));
    let bits = vector.bytes().enumerate().map(|(i, bit)| u64::from(bit == b'1') << i).sum();
    Snack { offset: number(offset), size: number(size), bits: vector.len() as u8, vector: bits }
}

fn with_value(p: &mut Pattern, word: &str, value: &str, mss: u64) {
    let number = sequence(value, mss);
    match word {
        "ack" => p.ack = Some(Seq(number)),
        "win" => p.window = Some(number),
        "size" => p.size = Some(number),
        "poll" => p.signal = Some(Some(Space::Poll { number: number as u32 })),
        "stat" => p.signal = Some(Some(Space::Stat { number: number as u32 })),
        "dack" => p.mp.data_ack = Some(Dsn(number)),
        "dsn" => p.mp.dsn = Some(Dsn(number)),
        "add" => p.mp.address = Some((number as u8, false)),
        "echo" => p.mp.address = Some((number as u8, true)),
        "over" => p.mp.over = Some(number as u8),
        "id" => p.mp.id = Some(number as u8),
        "remove" => p.mp.signal = Some(Signal::Remove(number as u8)),
        "reason" => p.mp.signal = Some(Signal::Reset(reason(value))),
        _ => panic!("{word:?} means nothing here"),
    }
}

/// Parses a line; `None` for an empty one.
pub(super) fn parse(text: &str, mss: u64) -> Option<(SimTime, Line)> {
    let text = text.split('#').next().unwrap_or_default();
    // Timestamps contain a slash and two times: taken out first.
    let (stamps, text) = take_stamps(text);
    let mut words = text.split_whitespace();
    let at = milliseconds(words.next()?);
    let what = words.next().expect("a line says what happens");
    let with_stamps = |p: Pattern| Pattern { stamps, ..p };
    let line = match what {
        ">" => Line::Out(with_stamps(pattern(words, mss))),
        "<" => Line::In(with_stamps(pattern(words, mss))),
        "=" => {
            let mut words = words.peekable();
            let subflow = usize::from(subflow(&mut words));
            let mut pairs = Vec::new();
            while let Some(name) = words.next() {
                let rest: Vec<_> = if name == "failure" { words.by_ref().collect() } else { Vec::new() };
                let value =
                    if rest.is_empty() { words.next().unwrap_or_default().into() } else { rest.join(" ") };
                pairs.push((name.to_owned(), value));
            }
            Line::Check(subflow, pairs)
        }
        // `write s10` means ten full segments.
        what => {
            let amount = |w: &str| sequence(w, mss) - u64::from(w.starts_with('s'));
            Line::Do(what.to_owned(), words.next().map_or(0, amount))
        }
    };
    Some((at, line))
}

fn take_stamps(text: &str) -> (Option<(SimTime, SimTime)>, String) {
    let Some((before, after)) = text.split_once(" ts ") else { return (None, text.to_owned()) };
    let after = after.trim_start();
    let (word, rest) = after.split_once(' ').unwrap_or((after.trim_end(), ""));
    let (value, echo) = word.split_once('/').expect("ts value/echo");
    (Some((stamp(value), stamp(echo))), format!("{before} {rest}"))
}

/// A packet in the form of a line.
pub(super) fn show(packet: &Packet) -> String {
    let mut text = String::new();
    let mut add = |word: String| {
        if !text.is_empty() {
            text.push(' ');
        }
        text += &word;
    };
    let Some(segment) = packet.segment() else { return format!("{packet:?}") };
    if packet.path.0 > 0 {
        add(format!("[{}]", packet.path));
    }
    let f = segment.flags;
    let letters =
        [(f.syn, 'S'), (f.fin, 'F'), (f.rst, 'R'), (f.psh, 'P'), (f.ece, 'E'), (f.cwr, 'W'), (f.ack, '.')];
    add(letters.iter().filter(|(set, _)| *set).map(|(_, c)| *c).collect());
    add(format!("{}..{}", segment.seq, segment.end()));
    if f.ack {
        add(format!("ack {}", segment.ack));
    }
    add(format!("win {}", segment.window.0));
    if !segment.sack.as_slice().is_empty() {
        add("sack".into());
        segment.sack.as_slice().iter().for_each(|b| add(format!("{}..{}", b.start, b.end)));
    }
    match packet.ecn {
        Ecn::NotEct => {}
        Ecn::Ect0 => add("ect".into()),
        Ecn::Ce => add("ce".into()),
    }
    if packet.retransmission {
        add("again".into());
    }
    let Bytes(size) = packet.size;
    add(format!("size {size}"));
    if let Some(t) = segment.timestamps {
        let ms = |at: SimTime| if at.is_never() { "-".into() } else { (at.0 as f64 / 1e6).to_string() };
        add(format!("ts {}/{}", ms(t.value), ms(t.echo)));
    }
    if let Some(signal) = packet.signal() {
        text += &format!(" {signal:?}");
    }
    text + &format!(" {:?}", segment.mptcp)
}
