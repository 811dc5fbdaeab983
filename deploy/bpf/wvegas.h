/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * wVegas, draft-xu-mptcp-congestion-control-05 section 3: once per round trip, with rtt the mean of its samples and base the smallest ever,
 * cwnd (rtt - base) / rtt segments are queued. Slow start ends at GAMMA of them. At alpha_i of them the share of the path in the
 * rate of the connection sets alpha_i anew. The window loses a segment where more than alpha_i are queued, and gains one
 * where fewer are. When the queueing delay has doubled, the window shrinks until the queue is empty.
 */
#ifndef WVEGAS_H
#define WVEGAS_H

#include "paths.h"

/* Segments queued on all paths, on one path at least, and at the end of slow start. */
#define TOTAL_ALPHA 10
#define LEAST_ALPHA 2
#define GAMMA 1
/* A round trip with fewer samples is left to Reno. */
#define LEAST_SAMPLES 3
#define QUEUED_DIGITS 10

/* Queued segments, with QUEUED_DIGITS. */
PURE __u64 wvegas_queued(__u32 cwnd, __u32 base_us, __u32 rtt_us)
{
	if (rtt_us <= base_us)
		return 0;
	return ((__u64)cwnd << QUEUED_DIGITS) * (rtt_us - base_us) / rtt_us;
}

/* Segments per 2^32 us. */
PURE __u64 wvegas_rate(__u32 cwnd, __u32 rtt_us)
{
	return ((__u64)cwnd << 32) / (rtt_us ? rtt_us : 1);
}

/* Rate of the siblings that have one. */
RULE __u64 wvegas_others(const struct paths *paths)
{
	__u64 sum = 0;

	if (!paths)
		return 0;
	for (int i = 0; i < MOST_SUBFLOWS; i++)
		if (paths->all[i].cwnd && i != paths->me)
			sum += paths->all[i].measured;
	return sum;
}

/* alpha_i of a path with this rate; `others` is the rate of its siblings. */
PURE __u32 wvegas_alpha(__u64 rate, __u64 others)
{
	__u64 sum = rate + others;

	/* Halves of one another do not make 4.99. */
	return within((rate * TOTAL_ALPHA + sum / 1024) / (sum ? sum : 1), LEAST_ALPHA, TOTAL_ALPHA);
}

/* Window at the end of slow start. */
PURE __u32 wvegas_fitting(__u32 cwnd, __u32 base_us, __u32 rtt_us)
{
	__u64 fitting = (__u64)cwnd * base_us / (rtt_us ? rtt_us : 1) + 1;

	return within(fitting < cwnd ? fitting : cwnd, 2, MOST_SEGMENTS);
}

/* Window that lets the queue run empty. */
PURE __u32 wvegas_drained(__u32 cwnd, __u32 base_us, __u32 rtt_us)
{
	return within((__u64)cwnd * base_us / (2 * (__u64)(rtt_us ? rtt_us : 1)), 2, MOST_SEGMENTS);
}

#endif
