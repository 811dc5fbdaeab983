// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* OLIA (draft-khalili-mptcp-congestion-control-05) for MPTCP of Linux. A connection with one subflow is Reno. */
#include "subflows.h"
#include "olia.h"

char _license[] SEC("license") = "Dual MIT/GPL";

struct state {
	/* The larger of the bytes between the last two losses and those since the last one. */
	struct shared shared;
	__u64 between_losses;
	__u64 acked_at_loss;
	/* Part of a segment that the window has beyond snd_cwnd, with WINDOW_DIGITS. */
	__u64 part;
};

static __attribute__((always_inline)) inline struct state *state_of(struct sock *sk)
{
	return (struct state *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __attribute__((always_inline)) inline __u64 window_of(struct tcp_sock *tp, struct state *state)
{
	return ((__u64)within(tp->snd_cwnd, 1, MOST_SEGMENTS) << WINDOW_DIGITS) + state->part;
}

SEC("struct_ops/olia_init")
void BPF_PROG(olia_init, struct sock *sk)
{
	struct state *state = state_of(sk);

	state->shared.measured = 0;
	state->between_losses = 0;
	state->acked_at_loss = ((struct tcp_sock *)sk)->bytes_acked;
	state->part = 0;
	limit_unsent(sk);
}

SEC("struct_ops/olia_cong_avoid")
void BPF_PROG(olia_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct state *state = state_of(sk);
	struct paths paths = {};
	__u64 since = tp->bytes_acked - state->acked_at_loss;
	__u64 window;

	state->shared.measured = since > state->between_losses ? since : state->between_losses;
	limit_unsent(sk);
	acked = left_of_slow_start(tp, acked);
	if (!acked)
		return;
	read_paths(sk, &paths);
	window = olia_grown(window_of(tp, state), olia_share(&paths), acked);
	tp->snd_cwnd = within(window >> WINDOW_DIGITS, 1, tp->snd_cwnd_clamp);
	state->part = window % ONE_SEGMENT;
	/* A window that shrinks does not fall into slow start. */
	if (tp->snd_ssthresh > tp->snd_cwnd)
		tp->snd_ssthresh = tp->snd_cwnd;
}

SEC("struct_ops/olia_ssthresh")
__u32 BPF_PROG(olia_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct state *state = state_of(sk);
	__u64 acked = tp->bytes_acked, window = olia_halved(window_of(tp, state));

	/* A second loss before anything was acknowledged belongs to the first. */
	if (acked > state->acked_at_loss) {
		state->between_losses = acked - state->acked_at_loss;
		state->acked_at_loss = acked;
		state->shared.measured = state->between_losses;
	}
	state->part = window % ONE_SEGMENT;
	return window >> WINDOW_DIGITS;
}

SEC("struct_ops/olia_undo_cwnd")
__u32 BPF_PROG(olia_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops control = {
	.init = (void *)olia_init,
	.ssthresh = (void *)olia_ssthresh,
	.cong_avoid = (void *)olia_cong_avoid,
	.undo_cwnd = (void *)olia_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = NAME,
};
