/* An agent in C that plays any legal action. */
#include <dovetail/dovetail.h>
#include <stdio.h>

static int step(dovetail_call* call, void* self) {
    const int64_t* legal;
    size_t count = dovetail_legal(call, &legal);
    (void)self;
    if (count == 0) return dovetail_act_random(call); /* every action of the space is legal */
    return dovetail_act(call, legal[dovetail_random_below(call, count)]);
}

int main(void) {
    dovetail_agent_type type = {0};
    char error[300] = "";
    type.name = "random-c";
    type.description = "Plays any legal action, from C.";
    type.step = step;
    if (dovetail_serve_agents(&type, 1, NULL, NULL, error, sizeof error) == 0) return 0;
    fprintf(stderr, "%s\n", error);
    return 1;
}
