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

/* Window, threshold and smallest queueing delay, which the end of a round changes. */
struct wvegas_window {
	__u32 cwnd;
	__u32 ssthresh;
	/* Smallest queueing delay since the last drain; 0: none. */
	__u32 delay_us;
};

/* A smaller window, with which slow start is over. */
PURE void wvegas_step_down(struct wvegas_window *window, __u32 cwnd)
{
	cwnd = cwnd < 2 ? 2 : cwnd;
	if (cwnd < window->cwnd)
		window->cwnd = cwnd;
	cwnd = window->cwnd > 3 ? window->cwnd - 1 : 2;
	if (window->ssthresh > cwnd)
		window->ssthresh = cwnd;
}

/* A round in avoidance; `limited`: the window was all that held data back. */
PURE void wvegas_avoid(struct wvegas_window *window, __u32 alpha, __u32 limited, __u32 base_us, __u32 rtt_us)
{
	__u64 queued = wvegas_queued(window->cwnd, base_us, rtt_us);
	__u32 delay_us = rtt_us > base_us ? rtt_us - base_us : 0;

	if (queued > (__u64)alpha << QUEUED_DIGITS)
		wvegas_step_down(window, window->cwnd - 1);
	else if (queued < (__u64)alpha << QUEUED_DIGITS && limited)
		window->cwnd += 1;
	if (!window->delay_us || delay_us < window->delay_us)
		window->delay_us = delay_us;
	if (delay_us && delay_us / 2 >= window->delay_us) {
		__u32 drained = wvegas_drained(window->cwnd, base_us, rtt_us);

		/* ssthresh stays: slow start fills what the drain has emptied. */
		if (drained < window->cwnd)
			window->cwnd = drained;
		window->delay_us = 0;
	}
}

#endif
