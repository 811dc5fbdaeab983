/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * LIA, RFC 6356 section 3: a window grows by a segment for every w segments acknowledged, where
 * w = total / alpha = (sum of cwnd_i / rtt_i)^2 / max(cwnd_i / rtt_i^2), and no less than its own cwnd.
 */
#ifndef LIA_H
#define LIA_H

#include "paths.h"

/* Segments to acknowledge for one segment of growth: cwnd to MOST_SEGMENTS; 0 if the socket has no subflow that counts. */
RULE __u32 lia_segments(const struct paths *paths)
{
	__u32 shortest, cwnd = 0;
	__u64 sum = 0, best = 1, ratio;

	if (!paths)
		return 0;
	shortest = shortest_rtt(paths);
	for (int i = 0; i < MOST_SUBFLOWS; i++) {
		if (paths->all[i].cwnd) {
			const struct path *path = &paths->all[i];
			__u64 rate = rate_of(path, shortest);
			/* That of the shortest path has all of its digits, and the best is no less. */
			__u64 quality = rate * shortest / (path->rtt_us ? path->rtt_us : 1);

			sum += rate;
			best = quality > best ? quality : best;
			if (i == paths->me)
				cwnd = path->cwnd;
		}
	}
	if (!cwnd)
		return 0;
	/* 12 digits, at least 1: the best path is no better than its rate. */
	ratio = (sum << 12) / best;
	if (ratio >> RATE_DIGITS)
		return MOST_SEGMENTS;
	/* To the nearest. */
	return within((ratio * sum + (1ULL << (11 + RATE_DIGITS))) >> (12 + RATE_DIGITS), cwnd, MOST_SEGMENTS);
}

#endif
