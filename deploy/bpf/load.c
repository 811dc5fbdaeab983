// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Registers a congestion control of this directory with the kernel:
 *
 *     load FILE.bpf.o NAME LIMIT        until the standard input ends, or this process does, however it does
 *     load FILE.bpf.o NAME LIMIT PIN    until the file PIN, in a BPF file system, is removed
 *
 * LIMIT is the number of bytes of subflow_unsent_limit (subflows.h), 0 for none.
 *
 * It writes "ready" once the control can be used. Each line of the standard input is the path of a network namespace:
 * at the end all TCP connections in it are aborted. Those of a process that was killed would keep the program of the
 * control for a minute or two, since the kernel goes on to send their data.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "name-of-control"
#define LONGEST 15
/* enum values that headers older than the kernel lack. */
#define FLAG_LINK (1U << 13)
#define ATTACH_STRUCT_OPS 44

static int verbose;

static int print(enum libbpf_print_level level, const char *format, va_list rest)
{
	return level == LIBBPF_WARN || verbose ? vfprintf(stderr, format, rest) : 0;
}

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return 1;
}

/* The file, with the name in the place that the program leaves for it. */
static char *read_named(const char *path, const char *name, long *size)
{
	FILE *file = fopen(path, "rb");
	char *bytes = NULL;
	int found = 0;

	if (!file || fseek(file, 0, SEEK_END) || (*size = ftell(file)) < (long)sizeof(NAME) || fseek(file, 0, SEEK_SET))
		return NULL;
	bytes = malloc(*size);
	if (!bytes || fread(bytes, 1, *size, file) != (size_t)*size)
		return NULL;
	fclose(file);
	for (long at = 0; at + (long)sizeof(NAME) <= *size; at++) {
		if (!memcmp(bytes + at, NAME, sizeof(NAME))) {
			memset(bytes + at, 0, sizeof(NAME));
			memcpy(bytes + at, name, strlen(name));
			found++;
		}
	}
	errno = EINVAL;
	return found == 1 ? bytes : NULL;
}

/* Writes the limit of what waits on a subflow into the program; 0 on success. */
static int set_limit(struct bpf_object *object, const char *text)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata.limit");
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	unsigned int limit = number;

	errno = EINVAL;
	/* The kernel takes an int. */
	if (*end || end == text || number > INT_MAX)
		return -1;
	if (!limit)
		return 0;
	if (!map)
		return -1;
	return bpf_map__set_initial_value(map, &limit, sizeof(limit));
}

/* A link to the registered control, whose end is that of the registration; negative: an error. */
static int attach(struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, "control");
	struct bpf_link *link;

	if (!map)
		return -1;
	/* A registration that belongs to a link, and not to nothing. */
	bpf_map__set_map_flags(map, FLAG_LINK);
	if (bpf_object__load(object))
		return -1;
	link = bpf_map__attach_struct_ops(map);
	if (!link)
		return -1;
	/* libbpf before 1.2 fills the map and knows no such links. */
	if (libbpf_major_version() > 1 || (libbpf_major_version() == 1 && libbpf_minor_version() >= 2))
		return bpf_link__fd(link);
	return bpf_link_create(bpf_map__fd(map), 0, ATTACH_STRUCT_OPS, NULL);
}

/* Opens the namespaces that are named, and aborts the connections in them when the input ends. */
static int wait_and_abort(void)
{
	int *namespaces = NULL, count = 0;
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		int *more = realloc(namespaces, (count + 1) * sizeof(*more));

		line[strcspn(line, "\n")] = 0;
		if (!more)
			return fail("namespaces");
		namespaces = more;
		namespaces[count] = open(line, O_RDONLY | O_CLOEXEC);
		/* It has gone, and its connections with it. */
		count += namespaces[count] >= 0;
	}
	for (int i = 0; i < count; i++)
		if (setns(namespaces[i], CLONE_NEWNET) || system("ss -K -t -a >/dev/null 2>&1"))
			return fail("connections are not aborted");
	return 0;
}

int main(int count, char **arguments)
{
	struct bpf_object *object;
	char *bytes;
	long size;
	int link;

	if (count < 4 || count > 5 || !*arguments[2] || strlen(arguments[2]) > LONGEST) {
		fprintf(stderr, "usage: load FILE.bpf.o NAME LIMIT [PIN]; a name has 15 characters at most\n");
		return 2;
	}
	verbose = getenv("VERBOSE") != NULL;
	libbpf_set_print(print);
	bytes = read_named(arguments[1], arguments[2], &size);
	if (!bytes)
		return fail(arguments[1]);
	object = bpf_object__open_mem(bytes, size, NULL);
	if (!object)
		return fail("no BPF object");
	if (set_limit(object, arguments[3]))
		return fail("the limit cannot be set");
	link = attach(object);
	if (link < 0)
		return fail("the kernel does not take it");
	if (count == 5) {
		if (bpf_obj_pin(link, arguments[4]))
			return fail(arguments[4]);
		puts("ready");
		return 0;
	}
	puts("ready");
	fflush(stdout);
	return wait_and_abort();
}
