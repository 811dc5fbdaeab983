/* One end of an SCTP association, run by libusrsctp in the time of its caller.

   The caller writes requests to standard input and reads one reply to each from standard output. Numbers are
   little-endian. A request: u32 length of the rest, u8 kind, u64 time in nanoseconds, body. A reply: u32 length of the rest,
   then records: u8 kind, u32 length of the body, body. Kinds and bodies are listed where they are read and written.
   Nothing happens between requests, so the same requests give the same replies. An error ends the process with a
   line on standard error. */

#define _GNU_SOURCE
#include "machine.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <usrsctp.h>

enum { MAX_MESSAGE = 1 << 20, MAX_WAITING = 4096, MAX_REQUEST = 1 << 20 };

/* Messages of one request that the socket has not taken. */
struct waiting {
	uint64_t next, left;
	uint32_t size;
	uint16_t stream, flags;
};

static struct {
	struct socket *listener, *socket;
	struct sockaddr_in local[MAX_ADDRESSES], peer[MAX_ADDRESSES];
	int locals, peers, up;
	/* A ring: waiting[first] is the oldest of `count`. */
	struct waiting waiting[MAX_WAITING];
	unsigned first, count;
	/* Bytes of the message that is being read, and the number in its first 8 bytes. */
	uint32_t read;
	uint64_t number;
} end;

static struct {
	unsigned char *bytes;
	size_t length, size;
} reply;

static void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

static void put(const void *bytes, size_t length)
{
	if (reply.length + length > reply.size) {
		reply.size = 2 * (reply.length + length);
		reply.bytes = realloc(reply.bytes, reply.size);
		if (reply.bytes == NULL)
			fail("out of memory");
	}
	memcpy(reply.bytes + reply.length, bytes, length);
	reply.length += length;
}

static void record(char kind, const void *body, size_t length)
{
	uint32_t size = (uint32_t)length;

	put(&kind, 1);
	put(&size, 4);
	put(body, length);
}

/* 'p': a packet leaves; body: the IPv4 packet. */
static void on_packet(const unsigned char *bytes, size_t length)
{
	record('p', bytes, length);
}

/* 'e': the association is up (1), lost (2) or closed (3); body: u8. */
static void on_event(uint8_t what)
{
	record('e', &what, 1);
}

static void on_up(void)
{
	if (!end.up)
		on_event(1);
	end.up = 1;
}

static void set(struct socket *so, int level, int name, const void *value, socklen_t length, const char *what)
{
	if (usrsctp_setsockopt(so, level, name, value, length) != 0)
		fail("%s: %s", what, strerror(errno));
}

static struct socket *new_socket(void)
{
	static const uint16_t types[] = {SCTP_ASSOC_CHANGE, SCTP_SHUTDOWN_EVENT};
	struct socket *so = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	struct sctp_event event;
	int on = 1;
	size_t i;

	if (so == NULL)
		fail("usrsctp_socket: %s", strerror(errno));
	set(so, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on, "SCTP_NODELAY");
	set(so, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on, "SCTP_RECVRCVINFO");
	for (i = 0; i < sizeof types / sizeof *types; i++) {
		memset(&event, 0, sizeof event);
		event.se_assoc_id = SCTP_FUTURE_ASSOC;
		event.se_type = types[i];
		event.se_on = 1;
		set(so, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event, "SCTP_EVENT");
	}
	if (usrsctp_set_non_blocking(so, 1) != 0)
		fail("usrsctp_set_non_blocking: %s", strerror(errno));
	return so;
}

static void set_streams(struct socket *so, uint32_t streams)
{
	struct sctp_initmsg initmsg;

	memset(&initmsg, 0, sizeof initmsg);
	initmsg.sinit_num_ostreams = (uint16_t)streams;
	initmsg.sinit_max_instreams = (uint16_t)streams;
	set(so, IPPROTO_SCTP, SCTP_INITMSG, &initmsg, sizeof initmsg, "SCTP_INITMSG");
}

/* Sets sysctl `name` of the library, which has a function for each. */
static void set_sysctl(const char *name, uint32_t value)
{
	char function[128];
	int (*setter)(uint32_t);

	snprintf(function, sizeof function, "usrsctp_sysctl_set_%s", name);
	*(void **)&setter = dlsym(RTLD_DEFAULT, function);
	if (setter == NULL)
		fail("the library has no sysctl %s", name);
	if (setter(value) != 0)
		fail("the library refuses %u for sysctl %s", value, name);
}

static struct sockaddr_in address(const char *text, int port)
{
	struct sockaddr_in found;

	memset(&found, 0, sizeof found);
	found.sin_family = AF_INET;
	found.sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, text, &found.sin_addr) != 1)
		fail("%s is no address", text);
	return found;
}

static int by_name(const char *text, const char *name, char *value, size_t size)
{
	size_t length = strlen(name);

	if (strncmp(text, name, length) != 0 || text[length] != ' ')
		return 0;
	snprintf(value, size, "%s", text + length + 1);
	return 1;
}

/* 'C': lines "key value". Addresses and the seed come before the sysctls, which come before the end itself. */
static void configure(char *text)
{
	int port = 5001, started = 0, server = 0;
	uint32_t streams = 1;
	uint64_t seed = 1;
	char *line, *rest, value[128], name[96];
	unsigned long number;

	for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		if (by_name(line, "seed", value, sizeof value)) {
			seed = strtoull(value, NULL, 10);
		} else if (by_name(line, "checksums", value, sizeof value)) {
			machine_checksums(atoi(value));
		} else if (by_name(line, "port", value, sizeof value)) {
			port = atoi(value);
		} else if (by_name(line, "streams", value, sizeof value)) {
			streams = (uint32_t)atoi(value);
		} else if (by_name(line, "local", value, sizeof value) && end.locals < MAX_ADDRESSES) {
			end.local[end.locals] = address(value, port);
			machine_add_address(end.local[end.locals++].sin_addr);
		} else if (by_name(line, "peer", value, sizeof value) && end.peers < MAX_ADDRESSES) {
			end.peer[end.peers++] = address(value, port);
		} else if (by_name(line, "role", value, sizeof value)) {
			server = strcmp(value, "server") == 0;
		} else if (by_name(line, "sysctl", value, sizeof value)) {
			if (!started++) {
				machine_start(seed, on_packet);
				usrsctp_init(0, NULL, NULL);
			}
			if (sscanf(value, "%95s %lu", name, &number) != 2)
				fail("sysctl %s: a name and a number were expected", value);
			set_sysctl(name, (uint32_t)number);
		} else {
			fail("unknown setting: %s", line);
		}
	}
	if (!started || end.locals == 0)
		fail("the settings lack a sysctl or an address");
	end.socket = new_socket();
	set_streams(end.socket, streams);
	if (usrsctp_bindx(end.socket, (struct sockaddr *)end.local, end.locals, SCTP_BINDX_ADD_ADDR) != 0)
		fail("usrsctp_bindx: %s", strerror(errno));
	if (server) {
		end.listener = end.socket;
		end.socket = NULL;
		if (usrsctp_listen(end.listener, 1) != 0)
			fail("usrsctp_listen: %s", strerror(errno));
	}
}

/* 'O': opens the association; no body. The peer tells its other addresses itself. */
static void open_association(void)
{
	if (end.socket == NULL || end.peers == 0)
		fail("this end listens");
	if (usrsctp_connectx(end.socket, (struct sockaddr *)end.peer, 1, NULL) != 0 && errno != EINPROGRESS)
		fail("usrsctp_connectx: %s", strerror(errno));
}

/* 'M': u16 stream, u16 flags (1: unordered), u32 size, u64 number of the first, u64 how many. */
static void add_messages(const unsigned char *body, size_t length)
{
	struct waiting *added = &end.waiting[(end.first + end.count) % MAX_WAITING];

	if (length != 24 || end.count == MAX_WAITING)
		fail("messages: %zu bytes, %u waiting", length, end.count);
	memcpy(&added->stream, body, 2);
	memcpy(&added->flags, body + 2, 2);
	memcpy(&added->size, body + 4, 4);
	memcpy(&added->next, body + 8, 8);
	memcpy(&added->left, body + 16, 8);
	if (added->size < 8 || added->size > MAX_MESSAGE)
		fail("a message of %u bytes", added->size);
	end.count++;
}

static void write_messages(void)
{
	static unsigned char text[MAX_MESSAGE];

	while (end.up && end.count > 0 && usrsctp_get_events(end.socket) & SCTP_EVENT_WRITE) {
		struct waiting *oldest = &end.waiting[end.first];
		struct sctp_sndinfo info;

		memset(&info, 0, sizeof info);
		info.snd_sid = oldest->stream;
		info.snd_flags = oldest->flags & 1 ? SCTP_UNORDERED : 0;
		memcpy(text, &oldest->next, 8);
		if (usrsctp_sendv(end.socket, text, oldest->size, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) < 0) {
			if (errno == EWOULDBLOCK || errno == EAGAIN)
				return;
			fail("usrsctp_sendv: %s", strerror(errno));
		}
		/* 'a': the socket has taken a message; body: u64 number. */
		record('a', &oldest->next, 8);
		oldest->next++;
		if (--oldest->left == 0) {
			end.first = (end.first + 1) % MAX_WAITING;
			end.count--;
		}
	}
}

static void on_notification(const union sctp_notification *note)
{
	if (note->sn_header.sn_type == SCTP_ASSOC_CHANGE) {
		switch (note->sn_assoc_change.sac_state) {
		case SCTP_COMM_UP:
			on_up();
			break;
		case SCTP_COMM_LOST:
		case SCTP_CANT_STR_ASSOC:
			end.up = 0;
			on_event(2);
			break;
		case SCTP_SHUTDOWN_COMP:
			end.up = 0;
			on_event(3);
			break;
		default:
			break;
		}
	}
}

static void read_messages(void)
{
	static unsigned char text[MAX_MESSAGE];

	while (end.socket != NULL && usrsctp_get_events(end.socket) & SCTP_EVENT_READ) {
		struct sctp_rcvinfo info;
		socklen_t info_length = sizeof info, from_length = sizeof(struct sockaddr_in);
		struct sockaddr_in from;
		unsigned int type = 0;
		int flags = 0;
		ssize_t length = usrsctp_recvv(end.socket, text, sizeof text, (struct sockaddr *)&from, &from_length, &info,
					       &info_length, &type, &flags);

		if (length < 0 && (errno == EWOULDBLOCK || errno == EAGAIN))
			return;
		if (length <= 0) {
			/* The peer has closed, or the association is lost. */
			end.up = 0;
			return;
		}
		if (flags & MSG_NOTIFICATION) {
			on_notification((const union sctp_notification *)text);
			continue;
		}
		if (end.read == 0)
			memcpy(&end.number, text, 8);
		end.read += (uint32_t)length;
		if (flags & MSG_EOR) {
			/* 'd': a message has been delivered; body: u64 number, u32 size, u16 stream. */
			unsigned char body[14];

			memcpy(body, &end.number, 8);
			memcpy(body + 8, &end.read, 4);
			memcpy(body + 12, &info.rcv_sid, 2);
			record('d', body, sizeof body);
			end.read = 0;
		}
	}
}

static void serve(void)
{
	if (end.listener != NULL && end.socket == NULL && usrsctp_get_events(end.listener) & SCTP_EVENT_READ) {
		end.socket = usrsctp_accept(end.listener, NULL, NULL);
		if (end.socket != NULL && usrsctp_set_non_blocking(end.socket, 1) != 0)
			fail("usrsctp_set_non_blocking: %s", strerror(errno));
		if (end.socket != NULL)
			on_up();
	}
	read_messages();
	if (end.socket != NULL)
		write_messages();
}

/* 'S': state. Replies with an 's' for each peer address: u32 address in network order, u32 state, cwnd in bytes, srtt in ms,
   RTO in ms; and one 'c': u32 receive window of the peer, fast retransmissions, expiries of T3, retransmitted DATA chunks,
   repeated DATA chunks that have arrived, and the CPU time of this process in ms. */
static void tell_state(void)
{
	struct sctpstat stat;
	struct sctp_status status;
	socklen_t length = sizeof status;
	uint32_t counters[6] = {0};
	int i;

	for (i = 0; end.socket != NULL && i < end.peers; i++) {
		struct sctp_paddrinfo path;
		socklen_t size = sizeof path;
		uint32_t body[5];

		memset(&path, 0, sizeof path);
		memcpy(&path.spinfo_address, &end.peer[i], sizeof end.peer[i]);
		if (usrsctp_getsockopt(end.socket, IPPROTO_SCTP, SCTP_GET_PEER_ADDR_INFO, &path, &size) != 0)
			continue;
		body[0] = end.peer[i].sin_addr.s_addr;
		body[1] = (uint32_t)path.spinfo_state;
		body[2] = path.spinfo_cwnd;
		body[3] = path.spinfo_srtt;
		body[4] = path.spinfo_rto;
		record('s', body, sizeof body);
	}
	memset(&status, 0, sizeof status);
	if (end.socket != NULL && usrsctp_getsockopt(end.socket, IPPROTO_SCTP, SCTP_STATUS, &status, &length) == 0)
		counters[0] = status.sstat_rwnd;
	usrsctp_get_stat(&stat);
	counters[1] = stat.sctps_sendfastretrans;
	counters[2] = stat.sctps_timodata;
	counters[3] = stat.sctps_sendretransdata;
	counters[4] = stat.sctps_recvdupdata;
	counters[5] = (uint32_t)(clock() / (CLOCKS_PER_SEC / 1000));
	record('c', counters, sizeof counters);
}

/* 'T': u32 milliseconds since timers ran last, u32 how often in a row they are due, the first time at the time of the
   request. Stops after the first that has an effect outside; a 't' says how many have run: u32. */
static void run_timers(uint64_t now, const unsigned char *body, size_t length)
{
	uint32_t elapsed, due, done = 0;
	size_t before = reply.length;

	if (length != 8)
		fail("timers: %zu bytes", length);
	memcpy(&elapsed, body, 4);
	memcpy(&due, body + 4, 4);
	while (done < due && reply.length == before) {
		machine_set_clock(now + (uint64_t)done++ * elapsed * 1000000u);
		usrsctp_handle_timers(elapsed);
		serve();
	}
	record('t', &done, sizeof done);
}

static void take_request(char kind, uint64_t now, unsigned char *body, size_t length)
{
	switch (kind) {
	case 'C':
		body[length] = 0;
		return configure((char *)body);
	case 'O':
		open_association();
		break;
	case 'M':
		add_messages(body, length);
		break;
	case 'P': /* A packet has arrived: from its IPv4 header on. */
		machine_receive(body, length);
		break;
	case 'T':
		return run_timers(now, body, length);
	case 'S':
		return tell_state();
	default:
		fail("unknown request %d", kind);
	}
	serve();
}

/* Requests come one at a time, so one call of read takes in most of them whole. */
static int read_all(unsigned char *bytes, size_t length)
{
	static unsigned char buffer[1 << 16];
	static size_t from, to;

	while (length > 0) {
		size_t taken;

		if (from == to) {
			ssize_t done = read(STDIN_FILENO, buffer, sizeof buffer);

			if (done <= 0)
				return 0;
			from = 0;
			to = (size_t)done;
		}
		taken = length < to - from ? length : to - from;
		memcpy(bytes, buffer + from, taken);
		from += taken;
		bytes += taken;
		length -= taken;
	}
	return 1;
}

static void write_all(const unsigned char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t done = write(STDOUT_FILENO, bytes, length);

		if (done <= 0)
			exit(1);
		bytes += done;
		length -= (size_t)done;
	}
}

int main(void)
{
	static unsigned char request[MAX_REQUEST + 1];
	uint32_t length;
	uint64_t now;

	while (read_all((unsigned char *)&length, 4)) {
		if (length < 9 || length > MAX_REQUEST || !read_all(request, length))
			fail("a request of %u bytes", length);
		memcpy(&now, request + 1, 8);
		machine_set_clock(now);
		/* Room for the length of the reply. */
		reply.length = 0;
		put(&length, 4);
		take_request((char)request[0], now, request + 9, length - 9);
		length = (uint32_t)reply.length - 4;
		memcpy(reply.bytes, &length, 4);
		write_all(reply.bytes, reply.length);
	}
	return 0;
}
