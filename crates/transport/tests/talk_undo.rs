//! Conversations in which a reduction of the window proves needless: `undo_rule = "linux"`. Segments are 1460 bytes.

use testkit::setups;
use transport::config::{RecoveryKind, TcpConfig, UndoRule};
use units::Nanos;

fn taking_back() -> TcpConfig {
    setups::tcp().with(|c| {
        c.timers.rto.min = Nanos::from_secs(1);
        c.options.timestamps = true;
        c.options.sack = true;
        c.recovery.kind = RecoveryKind::Rack;
        c.recovery.undo_rule = UndoRule::Linux;
    })
}

/// Linux takes back a timeout under any controller. The echo shows that the original has arrived, so that RACK does not take
/// what was sent before the retransmission for lost.
#[test]
fn linux_takes_back_a_needless_timeout() {
    setups::talk(&taking_back(), "newreno").play(
        "   0  open
            0  > S 0..1 ts 0/-
          100  < S. 0..1 ack 1 ts 50/0
          100  > . ack 1 ts 100/50
          100  write s9
          100  > . s0..s9 ts 100/50
          # a probe of the tail, then the timeout
          300  > . s8..s9 again ts 300/50
         1300  > . s0..s1 again ts 1300/50
         1300  = cwnd 1460 state loss timeouts 1
         1400  < . ack s1 ts 1350/100
         1400  = cwnd 16060 state slow-start
         1450  < . ack s4 ts 1400/100
         1500  < . ack s9 ts 1450/100
         1500  = pipe 0",
    );
}

/// The window that a needless fast recovery has reduced comes back when each retransmission is reported as a duplicate.
#[test]
fn linux_takes_back_a_fast_recovery_whose_retransmissions_were_duplicates() {
    let config = taking_back().with(|c| c.options.timestamps = false);
    setups::established(&config, "newreno", 100).play(
        "  100  write s10
           100  > . s0..s10
           200  < . ack 1 sack s1..s4
           200  > . s0..s1 again
           200  = state recovery
           230  < . ack s10
           230  = cwnd 7300
           300  < . ack s10 sack 1..s1
           300  = cwnd 14600 ssthresh inf",
    );
}
