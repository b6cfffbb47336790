/* RL-Glue's programs for the bench, written from the wire's description.

   As in the original and its C codec, a frame is sent by two calls, its header and its payload, and received by two;
   and the core decodes each observation and action and encodes it again.

     rlglue agent PORT          answers each percept with the action of as many ints
     rlglue environment PORT    shows INTS ints, ends an episode after STEPS steps
     rlglue experiment SECONDS CODE PORT...   asks each core by turns for an episode, in one request (27) or in
                                single steps (22); prints for each its steps and seconds
     rlglue core                prints a port, serves one trio, waits to be killed

   INTS and STEPS are environment variables. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EXPERIMENT = 1, AGENT, ENVIRONMENT };
enum { AGENT_START = 5, AGENT_STEP, AGENT_END, ENV_INIT = 11, ENV_START, ENV_STEP };
enum { RL_INIT = 20, RL_START, RL_STEP, RL_EPISODE = 27, TERM = 35 };
enum { ROOM = 1 << 22, COUNTS = 12, OUTCOME = 12 };

typedef struct {
    int code;
    uint32_t length;
    unsigned char data[ROOM];
} Frame;

typedef struct {
    uint32_t counts[3];
    int32_t *ints;
    double *doubles;
    char *chars;
} Adt;

static Frame in, out;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void all_sent(int wire, const void *at, size_t count) {
    while (count) {
        ssize_t sent = send(wire, at, count, MSG_NOSIGNAL);
        if (sent < 0) fail("send");
        at = (const char *)at + sent, count -= (size_t)sent;
    }
}

static int all_received(int wire, void *at, size_t count) {
    while (count) {
        ssize_t got = recv(wire, at, count, 0);
        if (got <= 0) return 0;
        at = (char *)at + got, count -= (size_t)got;
    }
    return 1;
}

static void say(int wire, const Frame *frame) {
    uint32_t header[2] = {htonl((uint32_t)frame->code), htonl(frame->length)};
    all_sent(wire, header, sizeof header);
    if (frame->length) all_sent(wire, frame->data, frame->length);
}

static int hear(int wire, Frame *frame) {
    uint32_t header[2];
    if (!all_received(wire, header, sizeof header)) return 0;
    frame->code = (int)ntohl(header[0]), frame->length = ntohl(header[1]);
    if (frame->length > ROOM) exit(1);
    return all_received(wire, frame->data, frame->length);
}

static void swapped(void *to, const void *from, size_t size, size_t count) {
    for (size_t n = 0; n < count; n++)
        for (size_t i = 0; i < size; i++)
            ((char *)to)[n * size + i] = ((const char *)from)[n * size + size - 1 - i];
}

static uint32_t decoded(const unsigned char *from, Adt *adt) {
    const unsigned char *at = from + COUNTS;
    swapped(adt->counts, from, 4, 3);
    uint32_t ints = adt->counts[0], doubles = adt->counts[1], chars = adt->counts[2];
    free(adt->ints), free(adt->doubles), free(adt->chars);
    adt->ints = calloc(ints + 1, 4), adt->doubles = calloc(doubles + 1, 8);
    adt->chars = calloc(chars + 1, 1);
    swapped(adt->ints, at, 4, ints), at += 4 * ints;
    swapped(adt->doubles, at, 8, doubles), at += 8 * doubles;
    memcpy(adt->chars, at, chars), at += chars;
    return (uint32_t)(at - from);
}

static uint32_t encoded(unsigned char *to, const Adt *adt) {
    unsigned char *at = to + COUNTS;
    swapped(to, adt->counts, 4, 3);
    swapped(at, adt->ints, 4, adt->counts[0]), at += 4 * adt->counts[0];
    swapped(at, adt->doubles, 8, adt->counts[1]), at += 8 * adt->counts[1];
    memcpy(at, adt->chars, adt->counts[2]), at += adt->counts[2];
    return (uint32_t)(at - to);
}

static int joined(int port, int role) {
    int wire = socket(PF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(wire, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(wire, (struct sockaddr *)&there, sizeof there)) fail("connect");
    out.code = role, out.length = 0;
    say(wire, &out);
    return wire;
}

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static void program(int wire, int role) {
    Adt seen = {0}, shown = {.counts = {(uint32_t)number("INTS", 9), 0, 0}};
    int steps = number("STEPS", 42), made = 0;
    double reward = 1.0;
    shown.ints = calloc(shown.counts[0] + 1, 4), shown.doubles = calloc(1, 8), shown.chars = calloc(1, 1);
    while (hear(wire, &in)) {
        out.code = in.code, out.length = 0;
        if (role == AGENT && (in.code == AGENT_START || in.code == AGENT_STEP)) {
            decoded(in.data + (in.code == AGENT_STEP ? 8 : 0), &seen);
            out.length = encoded(out.data, &seen);
        } else if (in.code == ENV_INIT) {
            memset(out.data, 0, out.length = 4);
        } else if (in.code == ENV_START) {
            made = 0;
            out.length = encoded(out.data, &shown);
        } else if (in.code == ENV_STEP) {
            int32_t terminal = ++made == steps;
            decoded(in.data, &seen);
            swapped(out.data, &terminal, 4, 1), swapped(out.data + 4, &reward, 8, 1);
            out.length = OUTCOME + encoded(out.data + OUTCOME, &shown);
        }
        say(wire, &out);
        if (in.code == TERM) break;
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void asked(int wire, int code) {
    out.code = code, out.length = 0;
    if (code == RL_EPISODE) memset(out.data, 0, out.length = 4);
    say(wire, &out);
    if (!hear(wire, &in) || in.code != code) exit(1);
}

static void burst(int wire, int code, int steps, double *seconds, long *made) {
    double begun = now();
    if (code == RL_STEP) {
        asked(wire, RL_START);
        for (int step = 0; step < steps; step++) asked(wire, RL_STEP);
    } else {
        asked(wire, RL_EPISODE);
    }
    *seconds += now() - begun, *made += steps;
}

/* Drives several cores by turns, an episode each, so that what else the machine does meets all of them. */
static void experiment(int count, char **ports, double seconds, int code) {
    int wires[8], steps = number("STEPS", 42);
    double taken[8] = {0};
    long made[8] = {0};
    for (int i = 0; i < count; i++) {
        wires[i] = joined(atoi(ports[i]), EXPERIMENT);
        asked(wires[i], RL_INIT);
        for (int warm = 0; warm < 50; warm++) burst(wires[i], code, steps, &taken[i], &made[i]);
        taken[i] = 0, made[i] = 0;
    }
    for (double end = now() + seconds; now() < end;)
        for (int i = 0; i < count; i++) burst(wires[i], code, steps, &taken[i], &made[i]);
    for (int i = 0; i < count; i++) printf("%ld %.9f\n", made[i], taken[i]);
}

static int agent, environment;

static void answered(int wire, int code) {
    out.code = code;
    say(wire, &out);
    if (!hear(wire, &in) || in.code != code) exit(1);
}

static void core(void) {
    int listener = socket(PF_INET, SOCK_STREAM, 0), yes = 1, peers[4] = {0};
    struct sockaddr_in here = {.sin_family = AF_INET};
    socklen_t size = sizeof here;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&here, size) || listen(listener, 10)) fail("listen");
    getsockname(listener, (struct sockaddr *)&here, &size);
    printf("%d\n", ntohs(here.sin_port));
    fflush(stdout);
    for (int count = 0; count < 3; count++) {
        int wire = accept(listener, NULL, NULL);
        if (!hear(wire, &in) || in.code < EXPERIMENT || in.code > ENVIRONMENT) exit(1);
        peers[in.code] = wire;
    }
    agent = peers[AGENT], environment = peers[ENVIRONMENT];
    Adt seen = {0}, action = {0};
    int32_t terminal = 0;
    double reward;
    while (hear(peers[EXPERIMENT], &in)) {
        int code = in.code;
        out.length = 0;
        if (code == RL_INIT) {
            answered(environment, ENV_INIT);
            memcpy(out.data, in.data, out.length = in.length);
            answered(agent, 4);
            memset(out.data, 0, out.length = 4);
        }
        if (code == RL_START || code == RL_EPISODE) {
            answered(environment, ENV_START);
            decoded(in.data, &seen);
            out.length = encoded(out.data, &seen);
            answered(agent, AGENT_START);
            decoded(in.data, &action);
            out.length = encoded(out.data, &seen);
            out.length += encoded(out.data + out.length, &action);
        }
        if (code == RL_STEP || code == RL_EPISODE) {
            do {
                out.length = encoded(out.data, &action);
                answered(environment, ENV_STEP);
                swapped(&terminal, in.data, 4, 1), swapped(&reward, in.data + 4, 8, 1);
                decoded(in.data + OUTCOME, &seen);
                swapped(out.data, &reward, 8, 1);
                out.length = 8;
                if (terminal == 1) {
                    answered(agent, AGENT_END);
                } else {
                    out.length += encoded(out.data + 8, &seen);
                    answered(agent, AGENT_STEP);
                    decoded(in.data, &action);
                }
            } while (code == RL_EPISODE && !terminal);
            swapped(out.data, &terminal, 4, 1), swapped(out.data + 4, &reward, 8, 1);
            out.length = code == RL_EPISODE ? 4 : OUTCOME;
            if (code == RL_STEP) {
                out.length += encoded(out.data + out.length, &seen);
                out.length += encoded(out.data + out.length, &action);
            }
        }
        out.code = code;
        say(peers[EXPERIMENT], &out);
        if (code == TERM) break;
    }
}

int main(int count, char **words) {
    if (count == 2 && !strcmp(words[1], "core")) {
        core();
        pause(); /* until its processor time has been read */
    } else if (count == 3 && !strcmp(words[1], "agent")) {
        program(joined(atoi(words[2]), AGENT), AGENT);
    } else if (count == 3 && !strcmp(words[1], "environment")) {
        program(joined(atoi(words[2]), ENVIRONMENT), ENVIRONMENT);
    } else if (count > 4 && count < 13 && !strcmp(words[1], "experiment")) {
        experiment(count - 4, words + 4, atof(words[2]), atoi(words[3]));
    } else {
        fputs("usage: rlglue core | agent PORT | environment PORT | experiment SECONDS CODE PORT...\n", stderr);
        return 2;
    }
    return 0;
}
