// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* BALIA (draft-walid-mptcp-congestion-control-04) for MPTCP of Linux. A connection with one subflow is Reno. */
#include "subflows.h"
#include "balia.h"

char _license[] SEC("license") = "Dual MIT/GPL";

SEC("struct_ops/balia_init")
void BPF_PROG(balia_init, struct sock *sk)
{
	limit_unsent(sk);
}

SEC("struct_ops/balia_cong_avoid")
void BPF_PROG(balia_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct paths paths = {};
	__u32 segments;

	limit_unsent(sk);
	acked = left_of_slow_start(tp, acked);
	if (!acked)
		return;
	read_paths(sk, &paths);
	segments = balia_segments(&paths);
	tcp_cong_avoid_ai(tp, segments ? segments : tp->snd_cwnd, acked);
}

SEC("struct_ops/balia_on_loss")
__u32 BPF_PROG(balia_on_loss, struct sock *sk)
{
	struct paths paths = {};
	__u32 ssthresh;

	read_paths(sk, &paths);
	ssthresh = balia_ssthresh(&paths);
	return ssthresh ? ssthresh : tcp_reno_ssthresh(sk);
}

SEC("struct_ops/balia_undo_cwnd")
__u32 BPF_PROG(balia_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops control = {
	.init = (void *)balia_init,
	.ssthresh = (void *)balia_on_loss,
	.cong_avoid = (void *)balia_cong_avoid,
	.undo_cwnd = (void *)balia_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = NAME,
};
