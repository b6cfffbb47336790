/* An agent in C that uses every method: it counts, and plays the highest action. */
#include <dovetail/dovetail.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t decisions;
    uint8_t ends;
    uint8_t wins;
} Counter;

static int create(dovetail_call* call, int64_t seed, void* data, void** self) {
    size_t size;
    const unsigned char* parameters = dovetail_parameters(call, &size);
    (void)seed;
    if (data != NULL || size != 1 || parameters[0] != 0x80)
        return dovetail_fail(call, "no parameters, please");
    *self = calloc(1, sizeof(Counter));
    return *self == NULL;
}

static int init(dovetail_call* call, void* self) {
    size_t size;
    const unsigned char* spec = dovetail_spec(call, &size);
    size_t i;
    (void)self;
    /* `max_turns` is left out, and the heap of nim is n - 1 of its observation space: {"n": 2} is too small.
     */
    for (i = 0; i + 3 <= size; ++i) {
        if (memcmp(spec + i, "\xA1n\x02", 3) == 0) return dovetail_fail(call, "the heap is too small");
    }
    return 0;
}

static int step(dovetail_call* call, void* self) {
    Counter* counter = self;
    const int64_t* legal;
    size_t count = dovetail_legal(call, &legal), size;
    const unsigned char* seen = dovetail_observation(call, &size);
    dovetail_tensor tensor;
    if (count == 0 || size != 1 || dovetail_observation_tensor(call, &tensor))
        return dovetail_fail(call, "no nim");
    if (legal[count - 1] > seen[0] || dovetail_text(call) != NULL || dovetail_seat(call) != 0) return 1;
    if (dovetail_learning(call)) ++counter->decisions;
    return dovetail_act_value(call, &"\x00\x01\x02\x03"[legal[count - 1]], 1);
}

static int end(dovetail_call* call, void* self) {
    Counter* counter = self;
    const double* scores;
    size_t count = dovetail_outcome(call, &scores);
    ++counter->ends;
    if (count == 2 && scores[dovetail_seat(call)] == 1 && dovetail_total(call) == 1) ++counter->wins;
    return 0;
}

static int message(dovetail_call* call, void* self) {
    Counter* counter = self;
    size_t size;
    const unsigned char* body = dovetail_body(call, &size);
    if (size > 1 && memcmp(body + 1, "decisions", size - 1) == 0)
        return dovetail_answer(call, &counter->decisions, 1);
    if (size > 1 && memcmp(body + 1, "ends", size - 1) == 0) return dovetail_answer(call, &counter->ends, 1);
    if (size > 1 && memcmp(body + 1, "wins", size - 1) == 0) return dovetail_answer(call, &counter->wins, 1);
    return dovetail_fail(call, "no such question");
}

static int save(dovetail_call* call, void* self) {
    return dovetail_answer(call, self, sizeof(Counter));
}

static int load(dovetail_call* call, void* self) {
    size_t size;
    const unsigned char* state = dovetail_body(call, &size);
    if (size != sizeof(Counter)) return dovetail_fail(call, "these bytes are no counter");
    memcpy(self, state, size);
    return 0;
}

int main(void) {
    dovetail_agent_type type = {0};
    char error[300] = "";
    type.name = "counter-c";
    type.capacity = 1;
    type.create = create;
    type.init = init;
    type.step = step;
    type.end = end;
    type.message = message;
    type.save = save;
    type.load = load;
    type.destroy = free;
    if (dovetail_serve_agents(&type, 1, NULL, NULL, error, sizeof error) == 0) return 0;
    fprintf(stderr, "%s\n", error);
    return 1;
}
