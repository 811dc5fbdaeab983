/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The subflows of a connection as coupled congestion controls see them, and their rates in integers.
 *
 * Nothing here needs a kernel: BPF programs include it, and so does the test that compares it with crates/congestion.
 * All segments of a connection are taken to be of one size. Divisors are never 0.
 */
#ifndef PATHS_H
#define PATHS_H

#define MOST_SUBFLOWS 8
#define MOST_SEGMENTS (1u << 20)
#define LONGEST_RTT_US (1u << 23)
/* Binary digits of a rate behind the point. */
#define RATE_DIGITS 20

#ifdef __BPF__
#define PURE static __attribute__((always_inline)) inline
/* The verifier of the kernel checks such a function once, for any argument. */
#define RULE __attribute__((noinline))
#else
#include <stdint.h>
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int64_t __s64;
#define PURE static inline
#define RULE static inline
#endif

/* A subflow. */
struct path {
	/*
	 * Segments: 1 to MOST_SEGMENTS; the slow-start threshold while it is in recovery. 0: it does not count, since it is
	 * not established or has no round-trip time.
	 */
	__u32 cwnd;
	/* 1 to LONGEST_RTT_US. */
	__u32 rtt_us;
	/* OLIA: bytes acknowledged between two losses. wVegas: its rate at the last weighing. */
	__u64 measured;
};

struct paths {
	struct path all[MOST_SUBFLOWS];
	/* That of the socket; MOST_SUBFLOWS: none. */
	__u32 me;
	__u32 unused;
};

PURE __u32 within(__u64 value, __u32 least, __u32 most)
{
	return value < least ? least : value > most ? most : (__u32)value;
}

PURE __u32 shortest_rtt(const struct paths *paths)
{
	__u32 shortest = LONGEST_RTT_US;

	for (int i = 0; i < MOST_SUBFLOWS; i++)
		if (paths->all[i].cwnd && paths->all[i].rtt_us < shortest)
			shortest = paths->all[i].rtt_us;
	return shortest;
}

/* cwnd / rtt in segments per round trip of the shortest path, with RATE_DIGITS: less than 2^41. */
PURE __u64 rate_of(const struct path *path, __u32 shortest)
{
	return ((__u64)path->cwnd << RATE_DIGITS) * shortest / (path->rtt_us ? path->rtt_us : 1);
}

#endif
