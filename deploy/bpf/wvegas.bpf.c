// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* wVegas (draft-xu-mptcp-congestion-control-05) for MPTCP of Linux. Losses are those of Reno. */
#include "subflows.h"
#include "wvegas.h"

char _license[] SEC("license") = "Dual MIT/GPL";

struct state {
	/* Segments per 2^32 us at the last weighing; 0: unknown. */
	struct shared shared;
	/* The present round: it ends when this is acknowledged. */
	__u32 end;
	__u32 samples;
	__u64 sum_us;
	/* Smallest round-trip time ever; 0: none. */
	__u32 base_us;
	__u32 alpha;
	/* Smallest queueing delay since the last drain; 0: none. */
	__u32 delay_us;
	/* Rounds left that decide nothing: the one in which a recovery or a timeout began. */
	__u32 skip;
};

static __attribute__((always_inline)) inline struct state *state_of(struct sock *sk)
{
	return (struct state *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __attribute__((always_inline)) inline void new_round(struct state *state, struct tcp_sock *tp)
{
	state->end = tp->snd_nxt;
	state->samples = 0;
	state->sum_us = 0;
}

SEC("struct_ops/wvegas_init")
void BPF_PROG(wvegas_init, struct sock *sk)
{
	struct state *state = state_of(sk);

	state->shared.measured = 0;
	state->base_us = 0;
	state->alpha = LEAST_ALPHA;
	state->delay_us = 0;
	state->skip = 0;
	new_round(state, (struct tcp_sock *)sk);
	limit_unsent(sk);
}

SEC("struct_ops/wvegas_pkts_acked")
void BPF_PROG(wvegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct state *state = state_of(sk);
	__s32 rtt_us = sample->rtt_us;

	if (rtt_us <= 0)
		return;
	if (!state->base_us || rtt_us < state->base_us)
		state->base_us = rtt_us;
	state->sum_us += rtt_us;
	state->samples += 1;
}

/* Measures the rate, and sets alpha_i by its share. */
static __attribute__((always_inline)) inline void weigh(struct sock *sk, struct state *state, __u32 rtt_us)
{
	struct paths paths = {};
	__u64 rate = wvegas_rate(((struct tcp_sock *)sk)->snd_cwnd, rtt_us);

	read_paths(sk, &paths);
	state->shared.measured = rate;
	state->alpha = wvegas_alpha(rate, wvegas_others(&paths));
}

static __attribute__((always_inline)) inline void decide(struct sock *sk, struct state *state, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct wvegas_window window = { tp->snd_cwnd, tp->snd_ssthresh, state->delay_us };
	__u32 rtt_us = state->sum_us / state->samples, base_us = state->base_us;
	__u64 queued = wvegas_queued(tp->snd_cwnd, base_us, rtt_us);

	if (tp->snd_cwnd >= tp->snd_ssthresh) {
		if (queued >= (__u64)state->alpha << QUEUED_DIGITS)
			weigh(sk, state, rtt_us);
		wvegas_avoid(&window, state->alpha, is_cwnd_limited(tp), base_us, rtt_us);
	} else if (queued > GAMMA << QUEUED_DIGITS) {
		wvegas_step_down(&window, wvegas_fitting(tp->snd_cwnd, base_us, rtt_us));
	} else {
		if (is_cwnd_limited(tp))
			tcp_slow_start(tp, acked);
		return;
	}
	tp->snd_cwnd = window.cwnd;
	tp->snd_ssthresh = window.ssthresh;
	state->delay_us = window.delay_us;
}

SEC("struct_ops/wvegas_cong_avoid")
void BPF_PROG(wvegas_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct state *state = state_of(sk);

	limit_unsent(sk);
	if ((__s32)(tp->snd_una - state->end) < 0) {
		if (tp->snd_cwnd < tp->snd_ssthresh && is_cwnd_limited(tp))
			tcp_slow_start(tp, acked);
		return;
	}
	if (state->skip)
		state->skip -= 1;
	else if (state->samples < LEAST_SAMPLES)
		tcp_reno_cong_avoid(sk, ack, acked);
	else
		decide(sk, state, acked);
	new_round(state, tp);
}

SEC("struct_ops/wvegas_set_state")
void BPF_PROG(wvegas_set_state, struct sock *sk, __u8 new_state)
{
	struct state *state = state_of(sk);

	if (new_state == TCP_CA_LOSS)
		state->shared.measured = 0;
	if (new_state >= TCP_CA_RECOVERY)
		state->skip = 1;
}

SEC("struct_ops/wvegas_ssthresh")
__u32 BPF_PROG(wvegas_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/wvegas_undo_cwnd")
__u32 BPF_PROG(wvegas_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops control = {
	.init = (void *)wvegas_init,
	.ssthresh = (void *)wvegas_ssthresh,
	.cong_avoid = (void *)wvegas_cong_avoid,
	.set_state = (void *)wvegas_set_state,
	.pkts_acked = (void *)wvegas_pkts_acked,
	.undo_cwnd = (void *)wvegas_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = NAME,
};
