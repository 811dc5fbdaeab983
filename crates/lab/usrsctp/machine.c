#define _GNU_SOURCE
#include "machine.h"

#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

/* Numbers that no open file of this process has. */
enum { RAW_SOCKET = 100000, OTHER_SOCKET };

/* Threads that usrsctp_init creates, in this order: the iterator, which nothing here needs, and the reader of the raw
   socket for IPv4. Timers run where the caller wants them to (usrsctp_handle_timers). */
enum { ITERATOR_THREAD, READER_THREAD };

/* Any date will do, as long as it is the same in each run. */
#define EPOCH_S 1000000000L

#define MTU 1500

static struct {
	uint64_t now, random;
	packet_sink sink;
	int checksums;
	int addresses, threads;
	struct sockaddr_in address[MAX_ADDRESSES];
	struct ifaddrs list[MAX_ADDRESSES];
	char name[MAX_ADDRESSES][IFNAMSIZ];
	void *(*reader)(void *);
	void *reader_argument;
	const unsigned char *arrived;
	size_t arrived_length;
} machine;

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

void machine_start(uint64_t seed, packet_sink sink)
{
	machine.random = seed;
	machine.sink = sink;
}

void machine_add_address(struct in_addr address)
{
	int i = machine.addresses++;

	if (i >= MAX_ADDRESSES)
		fail("too many addresses");
	snprintf(machine.name[i], IFNAMSIZ, "path%d", i);
	machine.address[i].sin_family = AF_INET;
	machine.address[i].sin_addr = address;
	machine.list[i].ifa_name = machine.name[i];
	machine.list[i].ifa_flags = IFF_UP | IFF_RUNNING | IFF_MULTICAST;
	machine.list[i].ifa_addr = (struct sockaddr *)&machine.address[i];
	if (i > 0)
		machine.list[i - 1].ifa_next = &machine.list[i];
}

void machine_set_clock(uint64_t now)
{
	if (now < machine.now)
		fail("the clock goes back");
	machine.now = now;
}

void machine_checksums(int on)
{
	machine.checksums = on;
}

void machine_receive(const unsigned char *bytes, size_t length)
{
	if (machine.reader == NULL)
		fail("the library has created no reader of packets");
	machine.arrived = bytes;
	machine.arrived_length = length;
	/* It reads packets until an error, which the second recvmsg returns. */
	machine.reader(machine.reader_argument);
}

/* splitmix64 (Steele, Lea and Flood 2014). */
static uint64_t random_bits(void)
{
	uint64_t z = machine.random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* From here on: what the library calls. */

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	(void)zone;
	time->tv_sec = (time_t)(EPOCH_S + (long)(machine.now / 1000000000u));
	time->tv_usec = (suseconds_t)(machine.now % 1000000000u / 1000u);
	return 0;
}

long syscall(long number, ...)
{
	va_list arguments;
	unsigned char *bytes;
	size_t length, i;

	if (number != SYS_getrandom)
		fail("a system call that is not intercepted");
	va_start(arguments, number);
	bytes = va_arg(arguments, unsigned char *);
	length = va_arg(arguments, size_t);
	va_end(arguments);
	for (i = 0; i < length; i++)
		bytes[i] = (unsigned char)random_bits();
	return (long)length;
}

int socket(int domain, int type, int protocol)
{
	/* IPv6 is absent. */
	if (domain != AF_INET) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return type == SOCK_RAW && protocol == IPPROTO_SCTP ? RAW_SOCKET : OTHER_SOCKET;
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	(void)fd, (void)address, (void)length;
	return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	(void)fd, (void)level, (void)name, (void)value, (void)length;
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	struct ifreq *interface;

	(void)fd;
	if (request == SIOCGIFMTU) {
		va_start(arguments, request);
		interface = va_arg(arguments, struct ifreq *);
		va_end(arguments);
		interface->ifr_mtu = MTU;
	}
	return 0;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	static unsigned char packet[MAX_PACKET];
	size_t length = 0, i;

	(void)flags;
	if (fd != RAW_SOCKET)
		fail("a packet on a socket other than the raw one");
	for (i = 0; i < message->msg_iovlen; i++) {
		const struct iovec *part = &message->msg_iov[i];

		if (length + part->iov_len > sizeof packet)
			fail("a packet of more than 64 KiB");
		memcpy(packet + length, part->iov_base, part->iov_len);
		length += part->iov_len;
	}
	machine.sink(packet, length);
	return (ssize_t)length;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	size_t given = 0, i;

	(void)flags;
	if (fd != RAW_SOCKET || machine.arrived == NULL) {
		errno = EBADF;
		return -1;
	}
	for (i = 0; i < message->msg_iovlen && given < machine.arrived_length; i++) {
		const struct iovec *part = &message->msg_iov[i];
		size_t rest = machine.arrived_length - given;
		size_t length = part->iov_len < rest ? part->iov_len : rest;

		memcpy(part->iov_base, machine.arrived + given, length);
		given += length;
	}
	machine.arrived = NULL;
	return (ssize_t)given;
}

int getifaddrs(struct ifaddrs **list)
{
	*list = machine.addresses > 0 ? machine.list : NULL;
	return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
	(void)list;
}

unsigned int if_nametoindex(const char *name)
{
	int i;

	for (i = 0; i < machine.addresses; i++)
		if (strcmp(name, machine.name[i]) == 0)
			return (unsigned int)i + 1;
	return 0;
}

char *if_indextoname(unsigned int index, char name[IFNAMSIZ])
{
	if (index == 0 || index > (unsigned int)machine.addresses)
		return NULL;
	return strcpy(name, machine.name[index - 1]);
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*routine)(void *),
		   void *restrict argument)
{
	(void)attributes;
	memset(thread, 0, sizeof *thread);
	if (machine.threads++ == READER_THREAD) {
		machine.reader = routine;
		machine.reader_argument = argument;
	}
	return 0;
}

int pthread_join(pthread_t thread, void **result)
{
	(void)thread, (void)result;
	return 0;
}

int prctl(int option, ...)
{
	(void)option;
	return 0;
}

/* CRC32c is 40 % of the CPU time of the library. Both ends compute 0 instead unless packets are to be looked at. */
uint32_t sctp_calculate_cksum(void *packet, int32_t offset)
{
	static uint32_t (*of_library)(void *, int32_t);

	if (!machine.checksums)
		return 0;
	if (of_library == NULL)
		*(void **)&of_library = dlsym(RTLD_NEXT, "sctp_calculate_cksum");
	if (of_library == NULL)
		fail("the library has no sctp_calculate_cksum");
	return of_library(packet, offset);
}
