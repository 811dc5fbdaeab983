/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * BALIA, draft-walid-mptcp-congestion-control-04 section 2: with x_i = cwnd_i / rtt_i and alpha_i = max x / x_i a segment acknowledged
 * on path i adds x_i / (rtt_i (sum x)^2) (1 + alpha_i) / 2 (4 + alpha_i) / 5 segments, and a loss takes min(alpha_i, 1.5) / 2 of
 * the window.
 */
#ifndef BALIA_H
#define BALIA_H

#include "paths.h"

#define ONE 1024ULL

struct balia_rates {
	/* max x / x_i and (sum x) / x_i, in parts of ONE. */
	__u64 alpha;
	__u64 sum;
	__u32 cwnd;
};

PURE struct balia_rates balia_rates(const struct paths *paths)
{
	__u32 shortest = shortest_rtt(paths);
	__u64 mine = 1, best = 1, sum = 0;
	struct balia_rates found = {};

	for (int i = 0; i < MOST_SUBFLOWS; i++) {
		if (paths->all[i].cwnd) {
			__u64 rate = rate_of(&paths->all[i], shortest);

			sum += rate;
			best = rate > best ? rate : best;
			if (i == paths->me) {
				mine = rate ? rate : 1;
				found.cwnd = paths->all[i].cwnd;
			}
		}
	}
	found.alpha = best * ONE / mine;
	found.sum = sum * ONE / mine;
	return found;
}

/* Segments to acknowledge for one segment of growth; 0 if the socket has no subflow that counts. */
RULE __u32 balia_segments(const struct paths *paths)
{
	struct balia_rates rates;
	__u64 square, divisor, one = ONE;

	if (!paths)
		return 0;
	rates = balia_rates(paths);
	if (!rates.cwnd)
		return 0;
	/* Squares have room; beside so large an alpha the one and the four are nothing. */
	for (int i = 0; i < 3; i++) {
		if (rates.sum >> 30) {
			rates.sum >>= 10;
			rates.alpha >>= 10;
			one >>= 10;
		}
	}
	square = rates.sum * rates.sum;
	divisor = (one + rates.alpha) * (4 * one + rates.alpha);
	if (square >> 40) {
		/* The sum is at most MOST_SUBFLOWS times the best: the divisor keeps its digits. */
		square >>= 20;
		divisor >>= 20;
	}
	/* Their relation has 10 digits. */
	square = square * 10 * ONE / (divisor ? divisor : 1);
	if (square >> 40)
		return MOST_SEGMENTS;
	/* To the nearest. */
	return within((rates.cwnd * square + ONE / 2) / ONE, rates.cwnd, MOST_SEGMENTS);
}

/* Slow-start threshold after a loss; 0 if the socket has no subflow that counts. */
RULE __u32 balia_ssthresh(const struct paths *paths)
{
	struct balia_rates rates;
	__u64 alpha;

	if (!paths)
		return 0;
	rates = balia_rates(paths);
	if (!rates.cwnd)
		return 0;
	alpha = rates.alpha < ONE * 3 / 2 ? rates.alpha : ONE * 3 / 2;
	return within(rates.cwnd - rates.cwnd * alpha / (2 * ONE), 2, MOST_SEGMENTS);
}

#endif
