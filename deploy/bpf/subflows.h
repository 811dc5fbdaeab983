/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The subflows of the connection of a socket, read from the kernel. */
#ifndef SUBFLOWS_H
#define SUBFLOWS_H

#include "kernel.h"
#include "paths.h"

/* A program keeps what its siblings may read at the beginning of its private area. */
struct shared {
	__u64 measured;
};

static __attribute__((always_inline)) inline void read_path(struct tcp_sock *tp, struct mptcp_subflow_context *context,
							    const void *control, struct path *path)
{
	struct inet_connection_sock *icsk = (void *)tp;
	__u32 rtt_us = BPF_CORE_READ(tp, srtt_us) >> 3, cwnd = BPF_CORE_READ(tp, snd_cwnd);
	__u8 state = BPF_CORE_READ_BITFIELD_PROBED(icsk, icsk_ca_state);

	if (!rtt_us || BPF_CORE_READ((struct sock *)tp, __sk_common.skc_state) != TCP_ESTABLISHED ||
	    BPF_CORE_READ_BITFIELD_PROBED(context, stale))
		return;
	if (state == TCP_CA_CWR || state == TCP_CA_RECOVERY)
		cwnd = BPF_CORE_READ(tp, snd_ssthresh);
	path->cwnd = within(cwnd, 1, MOST_SEGMENTS);
	path->rtt_us = within(rtt_us, 1, LONGEST_RTT_US);
	/* Of another control the private area means something else. */
	if (BPF_CORE_READ(icsk, icsk_ca_ops) == control)
		path->measured = BPF_CORE_READ(icsk, icsk_ca_priv[0]);
}

/*
 * A subflow takes no more from its connection while this many bytes wait on it to be sent; 0: no limit. The loader writes it.
 * What waits on a subflow whose window collapses leaves at its pace, and the connection waits for it.
 */
const volatile __u32 subflow_unsent_limit SEC(".rodata.limit") = 0;

/* MPTCP sets it to no limit where it gives the options of the connection to a subflow, as at a join. */
static __attribute__((always_inline)) inline void limit_unsent(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 limit = subflow_unsent_limit;

	if (limit && tp->is_mptcp && tp->notsent_lowat != limit)
		bpf_setsockopt(sk, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &limit, sizeof(limit));
}

/* The subflows of the connection of `sk`, as far as they count. */
static __attribute__((always_inline)) inline void read_paths(struct sock *sk, struct paths *paths)
{
	struct inet_connection_sock *icsk = (void *)sk;
	const void *control = BPF_CORE_READ(icsk, icsk_ca_ops);
	struct mptcp_subflow_context *context = (void *)BPF_CORE_READ(icsk, icsk_ulp_data);
	struct mptcp_sock *connection = context ? (void *)BPF_CORE_READ(context, conn) : NULL;
	struct list_head *head, *node;

	paths->me = MOST_SUBFLOWS;
	if (!connection || !BPF_CORE_READ((struct tcp_sock *)sk, is_mptcp))
		return;
	head = (void *)connection + bpf_core_field_offset(struct mptcp_sock, conn_list);
	node = BPF_CORE_READ(head, next);
	for (int i = 0; i < MOST_SUBFLOWS; i++) {
		struct mptcp_subflow_context *sibling =
			(void *)node - bpf_core_field_offset(struct mptcp_subflow_context, node);
		struct tcp_sock *tp;

		if (!node || node == head)
			break;
		tp = (void *)BPF_CORE_READ(sibling, tcp_sock);
		read_path(tp, sibling, control, &paths->all[i]);
		if ((void *)tp == (void *)sk)
			paths->me = i;
		node = BPF_CORE_READ(node, next);
	}
}

/* Slow start is that of the kernel. Segments that are left for avoidance; 0 if there are none. */
static __attribute__((always_inline)) inline __u32 left_of_slow_start(struct tcp_sock *tp, __u32 acked)
{
	if (!is_cwnd_limited(tp))
		return 0;
	if (tp->snd_cwnd < tp->snd_ssthresh)
		return tcp_slow_start(tp, acked);
	return acked;
}

#endif
