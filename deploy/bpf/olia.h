/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * OLIA, draft-khalili-mptcp-congestion-control-05 section 2: a segment acknowledged on path i adds
 * (cwnd_i / rtt_i^2) / (sum of cwnd / rtt)^2 + alpha_i / cwnd_i segments. M are the paths with the largest window, B those with
 * the largest l / rtt^2, C those of B that are not in M. alpha_i is 1 / (n |C|) in C, -1 / (n |M|) in M if C is not empty, else 0.
 */
#ifndef OLIA_H
#define OLIA_H

#include "paths.h"

/* Binary digits of a share of Reno's growth behind the point. */
#define SHARE_DIGITS 40

/* l / rtt^2 in relation to the shortest path: bytes up to 2^40 count. */
RULE __u64 olia_rank(const struct path *path, __u32 shortest)
{
	__u64 bytes, relation;

	if (!path || !path->cwnd)
		return 0;
	bytes = path->measured < 1ULL << 40 ? path->measured : 1ULL << 40;
	/* 20 digits of the relation. */
	relation = ((__u64)shortest << 20) / (path->rtt_us ? path->rtt_us : 1);
	/* Two steps keep what a path with 1000 times the round trip has. */
	return ((bytes * relation) >> 10) / 1024 * relation >> 20;
}

RULE __u32 olia_largest(const struct paths *paths)
{
	__u32 largest = 0;

	if (!paths)
		return 0;
	for (int i = 0; i < MOST_SUBFLOWS; i++)
		if (paths->all[i].cwnd > largest)
			largest = paths->all[i].cwnd;
	return largest;
}

RULE __u64 olia_best(const struct paths *paths, __u32 shortest)
{
	__u64 best = 0;

	if (!paths)
		return 0;
	for (int i = 0; i < MOST_SUBFLOWS; i++) {
		__u64 rank = olia_rank(&paths->all[i], shortest);

		best = rank > best ? rank : best;
	}
	return best;
}

/* Subflows that count, and those of them that are in M and in C, eight bits each. */
RULE __u32 olia_sets(const struct paths *paths, __u32 shortest, __u32 largest, __u64 best)
{
	__u32 sets = 0;

	if (!paths)
		return 0;
	for (int i = 0; i < MOST_SUBFLOWS; i++) {
		__u32 cwnd = paths->all[i].cwnd;

		if (cwnd)
			sets += cwnd >= largest ? 0x101 : olia_rank(&paths->all[i], shortest) >= best ? 0x10001 : 1;
	}
	return sets;
}

RULE __u64 olia_sum(const struct paths *paths, __u32 shortest)
{
	__u64 sum = 0;

	if (!paths)
		return 0;
	for (int i = 0; i < MOST_SUBFLOWS; i++)
		if (paths->all[i].cwnd)
			sum += rate_of(&paths->all[i], shortest);
	return sum;
}

RULE __u32 olia_shortest(const struct paths *paths)
{
	return paths ? shortest_rtt(paths) : 0;
}

/* Growth in relation to Reno's, which is 1 / cwnd for each segment; negative where the window shrinks. Reno's without siblings. */
RULE __s64 olia_share(const struct paths *paths)
{
	__u32 shortest, largest, sets, count, in_largest, in_collected;
	__u64 sum, best, part;
	struct path me;

	if (!paths || paths->me >= MOST_SUBFLOWS)
		return 1ULL << SHARE_DIGITS;
	me = paths->all[paths->me];
	shortest = olia_shortest(paths);
	largest = olia_largest(paths);
	best = olia_best(paths, shortest);
	sets = olia_sets(paths, shortest, largest, best);
	sum = olia_sum(paths, shortest);
	count = sets & 0xff;
	in_largest = sets >> 8 & 0xff;
	in_collected = sets >> 16 & 0xff;
	if (!me.cwnd || count < 2 || !sum)
		return 1ULL << SHARE_DIGITS;
	part = (rate_of(&me, shortest) << RATE_DIGITS) / sum;
	if (!in_collected)
		return part * part;
	if (me.cwnd >= largest)
		return part * part - (1ULL << SHARE_DIGITS) / (count * in_largest);
	if (olia_rank(&me, shortest) >= best)
		return part * part + (1ULL << SHARE_DIGITS) / (count * in_collected);
	return part * part;
}

/* Binary digits of a window behind the point. */
#define WINDOW_DIGITS 32
#define ONE_SEGMENT (1ULL << WINDOW_DIGITS)

/* A window of one segment to MOST_SEGMENTS after `acked` segments, with its part of a segment. */
RULE __u64 olia_grown(__u64 window, __s64 share, __u32 acked)
{
	__u64 size = share < 0 ? -share : share, cwnd = window >> WINDOW_DIGITS, change;

	change = (size >> (SHARE_DIGITS - WINDOW_DIGITS)) * within(acked, 0, MOST_SEGMENTS) / (cwnd ? cwnd : 1);
	if (share < 0)
		return window > change + ONE_SEGMENT ? window - change : ONE_SEGMENT;
	return window + change < ONE_SEGMENT * MOST_SEGMENTS ? window + change : ONE_SEGMENT * MOST_SEGMENTS;
}

/*
 * The window after a loss. Linux forgets the part of a segment that a window has grown beyond the whole ones (snd_cwnd_cnt) and
 * halves downwards: half a segment too little in the mean, and the windows of OLIA are small.
 */
PURE __u64 olia_halved(__u64 window)
{
	return window > 4 * ONE_SEGMENT ? window / 2 : 2 * ONE_SEGMENT;
}

#endif
