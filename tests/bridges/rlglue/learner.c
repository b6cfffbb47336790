/* A tabular Sarsa learner in the style of RL-Glue's agents of 2009, on the wire alone.

   It believes that it is alone in an environment of one integer observation and one integer action, as its task spec
   says; it has never heard of seats, legal actions or opponents.  RLGLUE_PORT is the only thing that it can be told.
   It knows the messages "freeze learning", "freeze exploring", "unfreeze ...", "save_policy FILE", "load_policy FILE". */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INIT = 4, START, STEP, END, CLEANUP, MESSAGE = 10, TERM = 35 };

static int wire;
static unsigned char in[1 << 16];
static double *values, epsilon = 0.1, rate = 0.1, discount = 1.0;
static int states, actions, learning = 1, exploring = 1, last_state, last_action;
static uint32_t noise = 2463534242u;

static uint32_t integer(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put(unsigned char *at, uint32_t value) {
    at[0] = value >> 24, at[1] = value >> 16, at[2] = value >> 8, at[3] = value;
}

static double number(const unsigned char *at) {
    uint64_t bits = (uint64_t)integer(at) << 32 | integer(at + 4);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void exactly(unsigned char *at, size_t count) {
    while (count) {
        ssize_t got = recv(wire, at, count, 0);
        if (got <= 0) exit(0);
        at += got, count -= (size_t)got;
    }
}

static void say(int code, const unsigned char *payload, uint32_t length) {
    unsigned char out[8 + 256];
    put(out, (uint32_t)code), put(out + 4, length);
    memcpy(out + 8, payload, length);
    if (send(wire, out, 8 + length, 0) < 0) exit(1);
}

static uint32_t draw(void) { /* xorshift */
    noise ^= noise << 13, noise ^= noise >> 17, noise ^= noise << 5;
    return noise;
}

/* Reads the greatest value of "SECTION INTS (low high)", the only shape it can learn. */
static int greatest(const char *spec, const char *section) {
    int low, high;
    const char *at = strstr(spec, section);
    char end;
    if (at && sscanf(at + strlen(section), " INTS (%d %d%c", &low, &high, &end) == 3 && end == ')') return high;
    fprintf(stderr, "cannot learn this task: %s\n", spec);
    exit(1);
}

static void init(const char *spec) {
    states = greatest(spec, "OBSERVATIONS") + 1, actions = greatest(spec, "ACTIONS") + 1;
    values = calloc((size_t)(states * actions), sizeof *values);
}

static int greedy(int state) {
    int best = 0, ties = 0;
    for (int a = 0; a < actions; a++) {
        double difference = values[state * actions + a] - values[state * actions + best];
        if (difference > 0) best = a, ties = 1;
        else if (difference == 0 && draw() % (uint32_t)++ties == 0) best = a;
    }
    return best;
}

static int choose(int state) {
    if (exploring && draw() % 1000 < (uint32_t)(1000 * epsilon)) return (int)(draw() % (uint32_t)actions);
    return greedy(state);
}

static void learn(double target) {
    double *value = values + last_state * actions + last_action;
    if (learning) *value += rate * (target - *value);
}

static void act(int code, int state, int action) {
    unsigned char out[16] = {0};
    last_state = state, last_action = action;
    put(out, 1), put(out + 12, (uint32_t)action);
    say(code, out, sizeof out);
}

static int observed(const unsigned char *at) {
    if (integer(at) != 1 || integer(at + 4) || integer(at + 8)) exit(1); /* exactly one int */
    int state = (int)integer(at + 12);
    if (state < 0 || state >= states) exit(1);
    return state;
}

static int policy(const char *path, const char *mode) {
    FILE *file = fopen(path, mode);
    if (!file) return 0;
    size_t count = (size_t)(states * actions);
    size_t done = *mode == 'r' ? fread(values, sizeof *values, count, file) : fwrite(values, sizeof *values, count, file);
    return !fclose(file) && done == count;
}

static void message(char *text) {
    unsigned char out[64];
    const char *answer = "message understood";
    if (!strcmp(text, "freeze learning")) learning = 0;
    else if (!strcmp(text, "unfreeze learning")) learning = 1;
    else if (!strcmp(text, "freeze exploring")) exploring = 0;
    else if (!strcmp(text, "unfreeze exploring")) exploring = 1;
    else if (!strncmp(text, "save_policy ", 12)) { if (!policy(text + 12, "wb")) answer = "cannot save"; }
    else if (!strncmp(text, "load_policy ", 12)) { if (!policy(text + 12, "rb")) answer = "cannot load"; }
    else answer = "I do not know this message";
    put(out, (uint32_t)strlen(answer));
    memcpy(out + 4, answer, strlen(answer));
    say(MESSAGE, out, 4 + (uint32_t)strlen(answer));
}

int main(void) {
    const char *port = getenv("RLGLUE_PORT");
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    where.sin_port = htons((uint16_t)(port ? atoi(port) : 4096));
    wire = socket(AF_INET, SOCK_STREAM, 0);
    while (connect(wire, (struct sockaddr *)&where, sizeof where)) { /* the codecs try again, too */
        close(wire);
        sleep(1);
        wire = socket(AF_INET, SOCK_STREAM, 0);
    }
    setsockopt(wire, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    noise += (uint32_t)where.sin_port;
    say(2, in, 0);
    for (;;) {
        exactly(in, 8);
        int code = (int)integer(in);
        uint32_t length = integer(in + 4);
        if (length >= sizeof in) return 1;
        exactly(in, length);
        in[length] = 0;
        switch (code) {
        case INIT: init((char *)in + 4), say(code, in, 0); break;
        case START: { int state = observed(in); act(code, state, choose(state)); break; }
        case STEP: {
            int state = observed(in + 8), action = choose(state);
            learn(number(in) + discount * values[state * actions + action]);
            act(code, state, action);
            break;
        }
        case END: learn(number(in)), say(code, in, 0); break;
        case CLEANUP: free(values), values = NULL, say(code, in, 0); break;
        case MESSAGE: message((char *)in + 4); break;
        case TERM: say(code, in, 0); return 0;
        default: return 1;
        }
    }
}
