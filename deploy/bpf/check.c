// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The rules of the programs without a kernel: each line of the input is a question, each line of the output its answer. A test of
 * crates/congestion compares them.
 *
 *     lia ME [CWND RTT_US 0]...          segments
 *     olia ME [CWND RTT_US BYTES]...     share * 2^40, segments
 *     balia ME [CWND RTT_US 0]...        segments, threshold
 *     wvegas CWND BASE_US RTT_US OTHERS  queued * 2^10, rate, alpha, fitting, drained
 *     rounds CWND BASE_US RTT_US RTT_US  of wVegas alone: window and threshold after each of two
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "balia.h"
#include "lia.h"
#include "olia.h"
#include "wvegas.h"

static void wvegas(const char *rest)
{
	__u32 cwnd = 0, base = 0, rtt = 0;
	__u64 others = 0, rate;

	sscanf(rest, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64, &cwnd, &base, &rtt, &others);
	rate = wvegas_rate(cwnd, rtt);
	printf("%" PRIu64 " %" PRIu64 " %u %u %u\n", wvegas_queued(cwnd, base, rtt), rate, wvegas_alpha(rate, others),
	       wvegas_fitting(cwnd, base, rtt), wvegas_drained(cwnd, base, rtt));
}

static void rounds(const char *rest)
{
	struct wvegas_window window = {};
	__u32 base = 0, rtt[2] = {}, alpha = LEAST_ALPHA;

	sscanf(rest, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32, &window.cwnd, &base, &rtt[0], &rtt[1]);
	window.ssthresh = window.cwnd;
	for (int i = 0; i < 2; i++) {
		if (wvegas_queued(window.cwnd, base, rtt[i]) >= (__u64)alpha << QUEUED_DIGITS)
			alpha = wvegas_alpha(wvegas_rate(window.cwnd, rtt[i]), 0);
		wvegas_avoid(&window, alpha, 1, base, rtt[i]);
		printf("%u %u%c", window.cwnd, window.ssthresh, i ? '\n' : ' ');
	}
}

int main(void)
{
	char line[1024], name[16];

	while (fgets(line, sizeof(line), stdin)) {
		struct paths paths = { .me = MOST_SUBFLOWS };
		int used = 0, more = 0;
		char *rest = line;

		if (sscanf(rest, "%15s%n", name, &used) != 1)
			return 1;
		rest += used;
		if (!strcmp(name, "wvegas")) {
			wvegas(rest);
			continue;
		}
		if (!strcmp(name, "rounds")) {
			rounds(rest);
			continue;
		}
		if (!strcmp(name, "half")) {
			printf("%" PRIu64 "\n", (uint64_t)olia_halved(strtoull(rest, NULL, 10)));
			continue;
		}
		sscanf(rest, "%" SCNu32 "%n", &paths.me, &used);
		rest += used;
		for (int i = 0; i < MOST_SUBFLOWS; i++, rest += more) {
			struct path *path = &paths.all[i];

			if (sscanf(rest, "%" SCNu32 " %" SCNu32 " %" SCNu64 "%n", &path->cwnd, &path->rtt_us, &path->measured,
				   &more) != 3)
				break;
		}
		if (!strcmp(name, "lia"))
			printf("%u\n", lia_segments(&paths));
		else if (!strcmp(name, "balia"))
			printf("%u %u\n", balia_segments(&paths), balia_ssthresh(&paths));
		else if (!strcmp(name, "olia"))
			printf("%" PRIu64 "\n",
			       (uint64_t)olia_grown(paths.all[paths.me % MOST_SUBFLOWS].cwnd * ONE_SEGMENT, olia_share(&paths), 1));
		else
			return 1;
	}
	return 0;
}
