/* A disk that is slow or full, and a clock that jumps, for the program that is started with this library.

   It is loaded with LD_PRELOAD, and does nothing until the variable DOVETAIL_DISTURB names a file, which is
   mapped and read at each call.  Another process writes there what is to happen, and reads how often it did.
   Standard input, output and error are spared, as is all that is not a regular file.

   Nothing is forced to the device: a program that is killed loses nothing by that, and tests are faster. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct orders { /* as in disturb.py */
    int64_t shift; /* nanoseconds that the clock of the day is ahead */
    int64_t delay; /* nanoseconds that each call for a file takes longer */
    int64_t full;  /* whether the disk is full */
    int64_t shifted, delayed, refused; /* how often each happened */
};

static struct orders *orders;

static struct orders *ordered(void) {
    if (orders == NULL) {
        const char *path = getenv("DOVETAIL_DISTURB");
        if (path == NULL) return NULL;
        int file = open(path, O_RDWR | O_CLOEXEC);
        if (file < 0) return NULL;
        void *found = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        if (found == MAP_FAILED) return NULL;
        orders = found;
    }
    return orders;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* -- the clock -------------------------------------------------------------------------------------- */

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime);
    int result = real(clock, now);
    struct orders *to = ordered();
    if (result == 0 && to != NULL && to->shift != 0 &&
        (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t moved = now->tv_sec * INT64_C(1000000000) + now->tv_nsec + to->shift;
        now->tv_sec = moved / 1000000000;
        now->tv_nsec = moved % 1000000000;
        to->shifted++;
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (result != NULL) *result = exact.tv_sec;
    return exact.tv_sec;
}

/* -- the disk --------------------------------------------------------------------------------------- */

/* Waits, and returns whether a call for a file is refused. */
static int refused(int file) {
    struct orders *to = ordered();
    struct stat status;
    if (to == NULL || (to->delay == 0 && to->full == 0)) return 0;
    if (file <= STDERR_FILENO || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    if (to->delay != 0) {
        struct timespec wait = {to->delay / 1000000000, to->delay % 1000000000};
        nanosleep(&wait, NULL);
        to->delayed++;
    }
    if (to->full == 0) return 0;
    to->refused++;
    return 1;
}

/* A full disk takes half of every other write, as disks do, before it refuses the rest. */
static size_t half(size_t size) { return orders->refused % 2 ? size / 2 : 0; }

ssize_t write(int file, const void *data, size_t size) {
    REAL(write);
    if (refused(file) && (size = half(size)) == 0) {
        errno = ENOSPC;
        return -1;
    }
    return real(file, data, size);
}

static ssize_t put(int file, const void *data, size_t size, off64_t offset) {
    REAL(pwrite64);
    if (refused(file) && (size = half(size)) == 0) {
        errno = ENOSPC;
        return -1;
    }
    return real(file, data, size, offset);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t offset) { return put(file, data, size, offset); }
ssize_t pwrite64(int file, const void *data, size_t size, off64_t offset) { return put(file, data, size, offset); }

int posix_fallocate64(int file, off64_t offset, off64_t size) {
    REAL(posix_fallocate64);
    return refused(file) ? ENOSPC : real(file, offset, size);
}

int posix_fallocate(int file, off_t offset, off_t size) { return posix_fallocate64(file, offset, size); }

static int force(int file) {
    if (!refused(file)) return 0;
    errno = ENOSPC;
    return -1;
}

int fsync(int file) { return force(file); }
int fdatasync(int file) { return force(file); }
