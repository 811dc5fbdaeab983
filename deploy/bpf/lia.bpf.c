// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* LIA (RFC 6356) for MPTCP of Linux. Losses are those of Reno; a connection with one subflow is Reno. */
#include "subflows.h"
#include "lia.h"

char _license[] SEC("license") = "Dual MIT/GPL";

SEC("struct_ops/lia_init")
void BPF_PROG(lia_init, struct sock *sk)
{
	limit_unsent(sk);
}

SEC("struct_ops/lia_cong_avoid")
void BPF_PROG(lia_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct paths paths = {};
	__u32 segments;

	limit_unsent(sk);
	acked = left_of_slow_start(tp, acked);
	if (!acked)
		return;
	read_paths(sk, &paths);
	segments = lia_segments(&paths);
	tcp_cong_avoid_ai(tp, segments ? segments : tp->snd_cwnd, acked);
}

SEC("struct_ops/lia_ssthresh")
__u32 BPF_PROG(lia_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/lia_undo_cwnd")
__u32 BPF_PROG(lia_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops control = {
	.init = (void *)lia_init,
	.ssthresh = (void *)lia_ssthresh,
	.cong_avoid = (void *)lia_cong_avoid,
	.undo_cwnd = (void *)lia_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = NAME,
};
