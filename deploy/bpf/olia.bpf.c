// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* OLIA (draft-khalili-mptcp-congestion-control-05) for MPTCP of Linux. Losses halve the window; a connection with one subflow grows as Reno. */
#include "subflows.h"
#include "olia.h"

char _license[] SEC("license") = "Dual MIT/GPL";

struct state {
	/* The larger of the bytes between the last two losses and those since the last one. */
	struct shared shared;
	__u64 between_losses;
	__u64 acked_at_loss;
	/* Segments acknowledged towards the next step down. */
	__u32 towards_less;
};

static __attribute__((always_inline)) inline struct state *state_of(struct sock *sk)
{
	return (struct state *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

SEC("struct_ops/olia_init")
void BPF_PROG(olia_init, struct sock *sk)
{
	struct state *state = state_of(sk);

	state->shared.measured = 0;
	state->between_losses = 0;
	state->acked_at_loss = ((struct tcp_sock *)sk)->bytes_acked;
	state->towards_less = 0;
}

SEC("struct_ops/olia_cong_avoid")
void BPF_PROG(olia_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct state *state = state_of(sk);
	struct paths paths = {};
	__u64 since = tp->bytes_acked - state->acked_at_loss;
	__u32 segments;
	__s64 share;

	state->shared.measured = since > state->between_losses ? since : state->between_losses;
	acked = left_of_slow_start(tp, acked);
	if (!acked)
		return;
	read_paths(sk, &paths);
	share = olia_share(&paths);
	segments = olia_segments(share, tp->snd_cwnd);
	if (share >= 0) {
		tcp_cong_avoid_ai(tp, segments, acked);
		return;
	}
	state->towards_less += acked;
	if (state->towards_less < segments)
		return;
	state->towards_less = 0;
	if (tp->snd_cwnd > 1)
		tp->snd_cwnd -= 1;
	/* A window that shrinks does not fall into slow start. */
	if (tp->snd_ssthresh > tp->snd_cwnd)
		tp->snd_ssthresh = tp->snd_cwnd;
}

SEC("struct_ops/olia_ssthresh")
__u32 BPF_PROG(olia_ssthresh, struct sock *sk)
{
	struct state *state = state_of(sk);
	__u64 acked = ((struct tcp_sock *)sk)->bytes_acked;

	/* A second loss before anything was acknowledged belongs to the first. */
	if (acked > state->acked_at_loss) {
		state->between_losses = acked - state->acked_at_loss;
		state->acked_at_loss = acked;
		state->shared.measured = state->between_losses;
	}
	return half_of_window(((struct tcp_sock *)sk)->snd_cwnd);
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
