// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * LIA (RFC 6356) as a congestion control of Linux, loaded as a BPF struct_ops program. With it the figures of K6 with LIA in
 * docs/reference/profiles.md were measured. Nothing here builds it:
 *
 *     bpftool btf dump file /sys/kernel/btf/vmlinux format c > vmlinux.h
 *     clang -O2 -g -target bpf -D__TARGET_ARCH_x86 -c lia.bpf.c -o lia.bpf.o
 *     bpftool struct_ops register lia.bpf.o
 *
 * The kernel grows a window by one segment for every `w` segments acknowledged (tcp_cong_avoid_ai). RFC 6356, section 3, asks for
 * w = total / alpha = (sum of cwnd_i / rtt_i)^2 / max(cwnd_i / rtt_i^2), and for no less than cwnd. Losses are those of Reno.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define MOST_SUBFLOWS 8
#define ESTABLISHED 1
/* Rates are segments per this many microseconds, so that integers keep five digits of them. */
#define UNIT 64000000ULL
#define MOST_SEGMENTS 1000000ULL

/* The kernel lets programs call its functions if it reads "GPL" here. */
char _license[] SEC("license") = "Dual MIT/GPL";

extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* Segments to acknowledge for one segment of growth; `cwnd` for a connection with one subflow, and for plain TCP. */
static __u32 segments_per_growth(struct sock *sk, __u32 cwnd)
{
	struct inet_connection_sock *icsk = (void *)sk;
	struct mptcp_subflow_context *context = (void *)BPF_CORE_READ(icsk, icsk_ulp_data);
	struct mptcp_sock *connection;
	struct list_head *head, *node;
	__u64 sum = 0, best = 0;
	int coupled = 0;

	connection = context ? (void *)BPF_CORE_READ(context, conn) : NULL;
	if (!connection)
		return cwnd;

	head = (void *)connection + bpf_core_field_offset(struct mptcp_sock, conn_list);
	node = BPF_CORE_READ(head, next);
	for (int i = 0; i < MOST_SUBFLOWS && node && node != head; i++) {
		struct mptcp_subflow_context *sibling = (void *)node - bpf_core_field_offset(struct mptcp_subflow_context, node);
		struct tcp_sock *tp = (void *)BPF_CORE_READ(sibling, tcp_sock);
		__u64 rtt_us = BPF_CORE_READ(tp, srtt_us) >> 3;

		if (rtt_us && BPF_CORE_READ((struct sock *)tp, __sk_common.skc_state) == ESTABLISHED) {
			__u64 rate = BPF_CORE_READ(tp, snd_cwnd) * UNIT / rtt_us;
			__u64 quality = rate * UNIT / rtt_us;

			sum += rate;
			best = quality > best ? quality : best;
			coupled++;
		}
		node = BPF_CORE_READ(node, next);
	}
	if (coupled < 2 || !best)
		return cwnd;
	sum = sum * sum / best;
	sum = sum < MOST_SEGMENTS ? sum : MOST_SEGMENTS;
	return sum > cwnd ? sum : cwnd;
}

/* tcp_is_cwnd_limited, which programs may not call. */
static int is_cwnd_limited(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD_PROBED(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

SEC("struct_ops/lia_cong_avoid")
void BPF_PROG(lia_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (!is_cwnd_limited(tp))
		return;
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, segments_per_growth(sk, tp->snd_cwnd), acked);
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
struct tcp_congestion_ops lia = {
	.ssthresh = (void *)lia_ssthresh,
	.cong_avoid = (void *)lia_cong_avoid,
	.undo_cwnd = (void *)lia_undo_cwnd,
	.flags = 1, /* TCP_CONG_NON_RESTRICTED */
	.name = "lia_bpf",
};
