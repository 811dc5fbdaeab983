//! Pages: how many objects of which sizes from how many domains. The descriptions are data, see `pages/`.

use registry::Options;
use units::Bytes;

use crate::AppContext;
use crate::phases::normal;

/// Which of two ways to fetch a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// Composition of a page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Description {
    pub(crate) name: &'static str,
    pub(crate) protocol: Protocol,
    /// Domains, that of the page itself included.
    pub(crate) domains: u64,
    /// Main object first.
    pub(crate) objects: Vec<Bytes>,
    /// Part of the embedded objects that are of the domain of the page; 0: as many as of each other domain.
    pub(crate) main_share: f64,
    /// The sizes of objects are not known one by one: their sum is.
    pub(crate) only_total: bool,
}

/// Names of the descriptions, and the word for one that is written in the scenario.
pub(crate) const NAMES: &[&str] = &[
    "omueti2007",
    "wikipedia",
    "amazon",
    "huffington-post",
    "wikipedia-2014",
    "amazon-2014",
    "huffington-post-2014",
    "viveris",
    "cnes",
    "thales",
    "lefigaro",
    "lemonde",
    "lequipe",
    "custom",
];

const FILES: [&str; 13] = [
    include_str!("../pages/omueti2007.toml"),
    include_str!("../pages/wikipedia.toml"),
    include_str!("../pages/amazon.toml"),
    include_str!("../pages/huffington-post.toml"),
    include_str!("../pages/wikipedia-2014.toml"),
    include_str!("../pages/amazon-2014.toml"),
    include_str!("../pages/huffington-post-2014.toml"),
    include_str!("../pages/viveris.toml"),
    include_str!("../pages/cnes.toml"),
    include_str!("../pages/thales.toml"),
    include_str!("../pages/lefigaro.toml"),
    include_str!("../pages/lemonde.toml"),
    include_str!("../pages/lequipe.toml"),
];

/// The page that the options name or describe.
pub(crate) fn page(options: &Options) -> Description {
    let wanted = options.choice("page");
    let known = NAMES.iter().zip(FILES).find(|(name, _)| **name == wanted);
    let mut page = match known {
        Some((name, text)) => parse(name, text),
        None => {
            let objects = options.integer("objects") as usize;
            let mut sizes = vec![options.size("object"); objects + 1];
            sizes[0] = options.size("main");
            let (domains, protocol) = (options.integer("domains"), Protocol::Http1);
            Description {
                name: "custom",
                protocol,
                domains,
                objects: sizes,
                main_share: 0.0,
                only_total: false,
            }
        }
    };
    match options.choice("protocol").as_str() {
        "http/1.1" => page.protocol = Protocol::Http1,
        "http/2" => page.protocol = Protocol::Http2,
        _ => {}
    }
    page.main_share = options.number("main_share");
    page
}

/// Lines `key = value` of a description, and the list `sizes` where each object has a size of its own.
fn parse(name: &'static str, text: &str) -> Description {
    let value = |key: &str| {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        lines.map(|(k, v)| (k.trim(), v.trim())).find(|(k, _)| *k == key).map(|(_, v)| v)
    };
    let number = |key: &str| value(key).and_then(|v| v.parse::<u64>().ok());
    let listed: Vec<Bytes> = text.split_once("sizes = [").map_or_else(Vec::new, |(_, list)| {
        let list = list.split_once(']').map_or(list, |(list, _)| list);
        list.split(',').filter_map(|size| size.trim().parse().ok().map(Bytes)).collect()
    });
    let count = if listed.is_empty() { number("objects").unwrap_or(0) as usize + 1 } else { listed.len() };
    let (objects, only_total) = match (number("main"), number("object"), number("total")) {
        (Some(main), Some(object), None) => {
            let mut sizes = vec![Bytes(object); count];
            sizes[0] = Bytes(main);
            (sizes, false)
        }
        _ if !listed.is_empty() => (listed, false),
        (_, _, total) => (split(total.unwrap_or(0), &vec![1.0; count]), true),
    };
    let protocol = if value("protocol") == Some("\"http/2\"") { Protocol::Http2 } else { Protocol::Http1 };
    debug_assert_eq!(objects.len(), count, "the page {name} has a main object and those embedded in it");
    let domains = number("domains").unwrap_or(1);
    Description { name, protocol, domains, objects, main_share: 0.0, only_total }
}

impl Description {
    /// The domain of an embedded object, from 1: that of the page is 0. Objects of a kind are spread evenly over the page.
    pub(crate) fn domain(&self, object: usize) -> usize {
        let domains = self.domains as usize;
        if self.main_share == 0.0 || domains == 1 {
            return object % domains;
        }
        let of_main = |objects: usize| libm::floor(objects as f64 * self.main_share) as usize;
        let (before, until) = (of_main(object - 1), of_main(object));
        if until > before { 0 } else { 1 + (object - 1 - before) % (domains - 1) }
    }

    /// Sizes drawn from a log-normal distribution with the same sum, for pages of which only that is known.
    pub(crate) fn redraw(&mut self, sigma: f64, ctx: &mut dyn AppContext) {
        let total = self.objects.iter().map(|size| size.0).sum();
        let weights: Vec<f64> = self.objects.iter().map(|_| libm::exp(sigma * normal(ctx))).collect();
        self.objects = split(total, &weights);
    }
}

/// `total` in parts of these weights, none of them empty.
fn split(total: u64, weights: &[f64]) -> Vec<Bytes> {
    let sum: f64 = weights.iter().sum();
    let spare = total.saturating_sub(weights.len() as u64);
    let (mut reached, mut given) = (0.0, 0);
    let part = |weight: &f64| {
        reached += weight;
        // By the running sum, so that rounding does not add up.
        let until = libm::round(reached / sum * spare as f64) as u64;
        let size = Bytes(1 + until - given);
        given = until;
        size
    };
    let parts: Vec<Bytes> = weights.iter().map(part).collect();
    debug_assert_eq!(
        parts.iter().copied().sum::<Bytes>(),
        Bytes(total.max(weights.len() as u64)),
        "the parts add up to the whole"
    );
    parts
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;

    use super::*;
    use crate::testing::Notes;

    #[test]
    fn the_main_domain_has_its_share_and_the_others_take_turns() {
        let options = Options::defaults(crate::http::ROW.options);
        let with = |share: f64| {
            let options = options.clone().with("page", OptionValue::Choice("lefigaro".into()));
            let page = page(&options.with("main_share", OptionValue::Number(share)));
            let mut counts = vec![0; page.domains as usize];
            (1..page.objects.len()).for_each(|object| counts[page.domain(object)] += 1);
            (page.domain(1), page.domain(2), counts)
        };
        // 1416 embedded objects and 33 domains.
        let (first, second, even) = with(0.0);
        assert_eq!((first, second, even[0], even[32]), (1, 2, 42, 42));
        let (first, second, half) = with(0.5);
        assert_eq!((first, second, half[0]), (1, 0, 708));
        assert!(half[1..].iter().all(|count| [22, 23].contains(count)), "{half:?}");
        assert_eq!(with(1.0).2[0], 1416);
    }

    #[test]
    fn descriptions_add_up() {
        let of = |name: &str| {
            let i = NAMES.iter().position(|n| *n == name).unwrap();
            let page = parse(NAMES[i], FILES[i]);
            let total: u64 = page.objects.iter().map(|size| size.0).sum();
            (page.objects.len(), total, page.domains, page.protocol)
        };
        assert_eq!(NAMES.len(), FILES.len() + 1);
        assert_eq!(of("omueti2007"), (16, 127_080, 1, Protocol::Http1));
        assert_eq!(of("wikipedia"), (15, 72 * 1024, 1, Protocol::Http1));
        assert_eq!(of("amazon"), (54, 1024 * 1024, 1, Protocol::Http1));
        assert_eq!(of("huffington-post"), (138, 3994 * 1024, 1, Protocol::Http1));
        assert_eq!(of("wikipedia-2014"), (16, 72 * 1024, 1, Protocol::Http1));
        assert_eq!(of("amazon-2014"), (55, 1024 * 1024, 1, Protocol::Http1));
        assert_eq!(of("huffington-post-2014"), (139, 3994 * 1024, 1, Protocol::Http1));
        assert_eq!(of("viveris"), (75, 1_120_000, 4, Protocol::Http2));
        assert_eq!(of("cnes"), (561, 8_420_000, 5, Protocol::Http1));
        assert_eq!(of("thales"), (825, 12_380_000, 9, Protocol::Http1));
        assert_eq!(of("lefigaro"), (1417, 21_250_000, 33, Protocol::Http2));
        assert_eq!(of("lemonde"), (101, 1_510_000, 6, Protocol::Http2));
        assert_eq!(of("lequipe"), (232, 3_480_000, 37, Protocol::Http2));
    }

    #[test]
    fn redrawn_sizes_keep_their_sum_and_differ() {
        let mut page = parse("amazon", FILES[2]);
        page.redraw(1.0, &mut Notes::default());
        assert_eq!(page.objects.iter().map(|size| size.0).sum::<u64>(), 1024 * 1024);
        let (least, most) = (page.objects.iter().min().unwrap(), page.objects.iter().max().unwrap());
        assert!(least.0 >= 1 && most.0 > 10 * least.0, "{least} to {most}");
    }
}
