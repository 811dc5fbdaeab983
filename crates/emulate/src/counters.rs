//! Counters of a namespace: `/proc/net/netstat` and `/proc/net/snmp`, which `nstat` shows.

use std::collections::BTreeMap;
use std::fs;

use crate::fault::Fault;

/// Counters by name, the name of the group before it: `TcpRetransSegs`, `MPTcpExtMPJoinSynAckRx`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<String, u64>);

impl Counters {
    /// Counters of the namespace of the calling thread.
    pub(crate) fn read() -> Result<Self, Fault> {
        let mut counters = Self::default();
        for path in ["/proc/thread-self/net/snmp", "/proc/thread-self/net/netstat"] {
            counters.add(&fs::read_to_string(path).map_err(Fault::io(path))?);
        }
        Ok(counters)
    }

    /// A counter; 0 if this kernel does not have it.
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// All of them that are not 0, by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().filter(|(_, count)| **count > 0).map(|(name, count)| (name.as_str(), *count))
    }

    /// Pairs of lines: names, then values, both after the group.
    fn add(&mut self, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        for pair in lines.chunks_exact(2) {
            let Some((group, names)) = pair[0].split_once(':') else { continue };
            let Some((_, values)) = pair[1].split_once(':') else { continue };
            for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
                // MaxConn of TCP is -1.
                if let Ok(value) = value.parse() {
                    self.0.insert(format!("{group}{name}"), value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_in_two_lines() {
        let mut counters = Counters::default();
        counters
            .add("Tcp: MaxConn RetransSegs\nTcp: -1 7\nMPTcpExt: MPCapableSYNTX AddAddr\nMPTcpExt: 1 0\n");
        assert_eq!((counters.get("TcpRetransSegs"), counters.get("TcpMaxConn")), (7, 0));
        assert_eq!(
            counters.all().collect::<Vec<_>>(),
            [("MPTcpExtMPCapableSYNTX", 1), ("TcpRetransSegs", 7)]
        );
    }
}
