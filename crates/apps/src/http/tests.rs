//! The requests of a browser, as a script answers them.

use registry::OptionValue;
use units::SimTime;

use super::*;
use crate::testing::{Asked, Script};

fn browser(set: &[(&str, OptionValue)]) -> Script<Http> {
    let options = Options::defaults(ROW.options).with("page", OptionValue::Choice("custom".into()));
    let options = set.iter().fold(options, |options, (name, value)| options.with(name, value.clone()));
    let mut script = Script::new(Http::new(&options));
    script.start();
    script
}

/// Connections opened and requests or frames sent.
fn counts(asked: &[Asked]) -> (usize, usize) {
    let count = |test: fn(&&Asked) -> bool| asked.iter().filter(test).count();
    (count(|a| matches!(a, Asked::Open(_))), count(|a| matches!(a, Asked::Send(..))))
}

#[test]
fn six_connections_with_one_request_each() {
    let mut script = browser(&[]);
    assert_eq!(counts(&script.take()), (1, 1));
    script.arrive(SimTime::from_secs(1), 0, Side::Sender);
    assert_eq!(counts(&script.take()), (0, 1));
    script.arrive(SimTime::from_secs(2), 0, Side::Receiver);
    assert_eq!(counts(&script.take()), (5, 6), "the connection of the page and five more");
    script.arrive(SimTime::from_secs(3), 0, Side::Sender);
    script.take();
    // The answer was sent last, after five requests.
    script.arrive(SimTime::from_secs(4), 5, Side::Receiver);
    assert_eq!(counts(&script.take()), (0, 1), "the next object, on the connection that is idle");
}

/// At most two connections at a time, each closed after its object; the page itself has one of its own.
#[test]
fn a_connection_for_each_object() {
    let set = [
        ("objects", OptionValue::Integer(3)),
        ("connections", OptionValue::Integer(2)),
        ("objects_per_connection", OptionValue::Integer(1)),
    ];
    let mut script = browser(&set);
    let (mut opened, mut closed) = (0, 0);
    for second in 1..=8 {
        let asked = script.take();
        opened += counts(&asked).0;
        closed += asked.iter().filter(|one| matches!(one, Asked::Close(..))).count();
        assert!((1..=2).contains(&(opened - closed)), "{opened} opened, {closed} closed");
        let side = if [1, 3, 4, 7].contains(&second) { Side::Sender } else { Side::Receiver };
        script.arrive(SimTime::from_secs(second), 0, side);
    }
    closed += script.take().iter().filter(|one| matches!(one, Asked::Close(..))).count();
    assert_eq!((opened, closed), (4, 4));
}

#[test]
fn other_domains_may_be_plain_servers() {
    let set = [
        ("domains", OptionValue::Integer(2)),
        ("objects", OptionValue::Integer(4)),
        ("mptcp_domains", OptionValue::Choice("main".into())),
    ];
    let mut script = browser(&set);
    script.arrive(SimTime::from_secs(1), 0, Side::Sender);
    script.take();
    script.arrive(SimTime::from_secs(2), 0, Side::Receiver);
    let asked = script.take();
    let opened = |test: fn(&Asked) -> bool| asked.iter().filter(|one| test(one)).count();
    // Objects 1 and 3 are of the other domain; the main one has a connection that is idle and opens one more.
    assert_eq!(opened(|one| matches!(one, Asked::OpenPlain(_))), 2);
    assert_eq!(opened(|one| matches!(one, Asked::Open(_))), 1);
    let options = Options::defaults(ROW.options).with("page", OptionValue::Choice("custom".into()));
    let options = options.with("mptcp_domains", OptionValue::Choice("main".into()));
    assert_eq!(check(&options).unwrap_err().option, "mptcp_domains");
}

#[test]
fn pipelined_requests_leave_at_once() {
    let set = [("pipelining", OptionValue::Flag(true)), ("connections", OptionValue::Integer(1))];
    let mut script = browser(&set);
    script.arrive(SimTime::from_secs(1), 0, Side::Sender);
    script.take();
    script.arrive(SimTime::from_secs(2), 0, Side::Receiver);
    assert_eq!(counts(&script.take()), (0, 10));
}

/// One connection with all requests at once, unless the scenario says how many connections.
#[test]
fn the_page_of_omueti_is_fetched_as_it_was_published() {
    let fetched = |set: &[(&'static str, OptionValue)]| {
        let page = ("page", OptionValue::Choice("omueti2007".into()));
        let mut script = browser(&[&[page], set].concat());
        script.arrive(SimTime::from_secs(1), 0, Side::Sender);
        script.take();
        script.arrive(SimTime::from_secs(2), 0, Side::Receiver);
        counts(&script.take())
    };
    assert_eq!(fetched(&[]), (0, 15));
    assert_eq!(fetched(&[("connections", OptionValue::Integer(6))]), (5, 6));
    assert_eq!(fetched(&[("connections", OptionValue::Integer(1))]), (0, 1));
}

#[test]
fn frames_of_all_objects_in_turn() {
    let set = [
        ("protocol", OptionValue::Choice("http/2".into())),
        ("objects", OptionValue::Integer(2)),
        ("object", OptionValue::Size(Bytes(40_000))),
    ];
    let mut script = browser(&set);
    script.arrive(SimTime::from_secs(1), 0, Side::Sender);
    script.accept(0, Side::Sender);
    script.arrive(SimTime::from_secs(2), 0, Side::Receiver);
    script.take();
    script.arrive(SimTime::from_secs(3), 0, Side::Sender);
    script.arrive(SimTime::from_secs(3), 0, Side::Sender);
    (0..6).for_each(|_| script.accept(0, Side::Sender));
    let frames: Vec<_> = script
        .take()
        .into_iter()
        .filter_map(|asked| match asked {
            Asked::Send(_, Side::Sender, message) => Some((message.tag, message.size.0)),
            _ => None,
        })
        .collect();
    let full = 16_384;
    let rest = 40_000 - 2 * full;
    // The first frame leaves before the second request is there.
    assert_eq!(frames, [(1, full), (1, full), (2, full), (1, rest), (2, full), (2, rest)]);
    // The rest of the first object overtakes its second frame: the object is complete with that.
    let objects = |asked: Vec<Asked>| asked.iter().filter(|one| matches!(one, Asked::Log(_))).count();
    for (skip, complete) in [(0, 0), (2, 0), (0, 1)] {
        script.arrive(SimTime::from_secs(4), skip, Side::Receiver);
        assert_eq!(objects(script.take()), complete);
    }
}

/// Three streams of one association take the place of three connections; it is closed once.
#[test]
fn streams_take_the_place_of_connections() {
    let set = [("objects", OptionValue::Integer(4))];
    let options = Options::defaults(ROW.options).with("page", OptionValue::Choice("custom".into()));
    let options = set.iter().fold(options, |options, (name, value)| options.with(name, value.clone()));
    let mut script = Script::new(Http::new(&options)).with_streams(3);
    script.start();
    script.arrive(SimTime::from_secs(1), 0, Side::Sender);
    assert_eq!(counts(&script.take()), (1, 2), "one association, a request and its answer");
    script.arrive(SimTime::from_secs(2), 0, Side::Receiver);
    assert_eq!(
        counts(&script.take()),
        (0, 3),
        "two requests beside the first, and none that waits for an answer"
    );
    for _ in 0..3 {
        script.arrive(SimTime::from_secs(3), 0, Side::Sender);
    }
    assert_eq!(script.take_streams(), [0, 0, 0, 1, 2, 0, 1, 2], "answers have the streams of their requests");
    script.arrive(SimTime::from_secs(4), 1, Side::Receiver);
    assert_eq!(script.take_streams(), [1], "the last object goes to the stream that is idle");
    script.arrive(SimTime::from_secs(5), 2, Side::Sender);
    (0..3).for_each(|_| script.arrive(SimTime::from_secs(6), 0, Side::Receiver));
    let closed = script.take().into_iter().filter(|one| matches!(one, Asked::Close(..))).count();
    assert_eq!(closed, 1);
}

#[test]
fn a_page_ends_with_its_last_object_and_the_next_waits_its_time() {
    let set = [
        ("objects", OptionValue::Integer(0)),
        ("pages", OptionValue::Integer(2)),
        ("interval", OptionValue::Duration(Nanos::from_secs(30))),
    ];
    let mut script = browser(&set);
    script.arrive(SimTime::from_secs(1), 0, Side::Sender);
    script.take();
    script.arrive(SimTime::from_secs(2), 0, Side::Receiver);
    let asked = script.take();
    assert!(matches!(asked[1], Asked::Page(page) if page.complete && page.size == Bytes(10_000)));
    assert_eq!(asked[2], Asked::Close(0, Side::Receiver));
    assert_eq!(script.next_wake(), Some(SimTime::from_secs(30)));
    script.wake();
    assert_eq!(counts(&script.take()), (1, 1));
}

/// Side and size of each message before the page; each arrives before the next one is sent.
fn greetings(set: &[(&str, OptionValue)]) -> Vec<(Side, u64)> {
    let mut script = browser(set);
    let mut sent: Vec<(Side, u64)> = Vec::new();
    for turn in 0..20 {
        let sends = script.take().into_iter().filter_map(|one| match one {
            Asked::Send(_, side, message) => Some((side, message.size.0)),
            _ => None,
        });
        sent.extend(sends);
        if sent.last() == Some(&(Side::Sender, 10_000)) {
            sent.pop();
            return sent;
        }
        script.arrive(SimTime::from_secs(1 + turn), 0, sent[turn as usize].0.other());
    }
    panic!("no page after {sent:?}");
}

/// Messages before the request of the page: two round trips with TLS 1.2, one with 1.3, none with 0-RTT.
#[test]
fn tls_takes_its_round_trips() {
    use Side::{Receiver, Sender};
    let with = |version: &str| greetings(&[("tls", OptionValue::Choice(version.into()))]);
    assert_eq!(with("none"), [(Receiver, 350)]);
    assert_eq!(
        with("1.2"),
        [(Receiver, 250), (Sender, 3350), (Receiver, 130), (Sender, 60), (Receiver, 350)]
    );
    assert_eq!(with("1.3"), [(Receiver, 320), (Sender, 3250), (Receiver, 80), (Receiver, 350)]);
    assert_eq!(with("0-rtt"), [(Receiver, 600), (Receiver, 350), (Sender, 250)]);
}

#[test]
fn redirects_come_one_after_the_other_over_connections_of_their_own() {
    use Side::{Receiver, Sender};
    let mut script = browser(&[("redirects", OptionValue::Integer(2))]);
    let mut opened = 0;
    for (second, (from, size)) in (1..).zip([(Receiver, 350), (Sender, 300), (Receiver, 350), (Sender, 300)])
    {
        let asked = script.take();
        opened += counts(&asked).0;
        let send = asked.iter().rfind(|one| matches!(one, Asked::Send(..)));
        assert!(
            matches!(send, Some(Asked::Send(_, side, message)) if (*side, message.size.0) == (from, size)),
            "{asked:?}"
        );
        script.arrive(SimTime::from_secs(second), 0, from.other());
    }
    assert_eq!((opened, counts(&script.take())), (2, (1, 1)), "the page has a third connection");
}

#[test]
fn further_domains_redirect_on_their_connection() {
    let set = [
        ("domains", OptionValue::Integer(2)),
        ("objects", OptionValue::Integer(1)),
        ("domain_redirects", OptionValue::Integer(1)),
    ];
    let mut script = browser(&set);
    script.take();
    script.arrive(SimTime::from_secs(1), 0, Side::Sender);
    script.take();
    script.arrive(SimTime::from_secs(2), 0, Side::Receiver);
    assert_eq!(counts(&script.take()), (1, 1), "the redirect");
    script.arrive(SimTime::from_secs(3), 0, Side::Sender);
    script.take();
    script.arrive(SimTime::from_secs(4), 0, Side::Receiver);
    assert_eq!(counts(&script.take()), (0, 1), "the object, over the same connection");
    let options = Options::defaults(ROW.options).with("page", OptionValue::Choice("custom".into()));
    let fault = check(&options.clone().with("domain_redirects", OptionValue::Integer(1))).unwrap_err();
    assert_eq!(fault.option, "domain_redirects");
    let fault = check(&options.with("certificate", OptionValue::Size(Bytes(9)))).unwrap_err();
    assert_eq!(fault.option, "certificate");
}
