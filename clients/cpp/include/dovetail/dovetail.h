/**
 * \file
 * Agents in C, or in any language that can call C. Everything that has no function of its own here is handed
 * over as MessagePack, in the form of SPEC.md. No function throws; texts are UTF-8 and end with a zero.
 */
#ifndef DOVETAIL_H
#define DOVETAIL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Additions that an agent wants in its decisions; combine them with `|`. */
enum { DOVETAIL_WANTS_AFTERSTATES = 1, DOVETAIL_WANTS_TEXT = 2, DOVETAIL_WANTS_SCENE = 4 };

/** The call that a method of an agent answers; it lives until the method returns. */
typedef struct dovetail_call dovetail_call;

/** A tensor inside an observation; it lives as long as the call. */
typedef struct {
    const char* dtype; /**< a dtype of SPEC.md, such as `uint8` */
    size_t dimensions;
    const size_t* shape;
    size_t elements;
    const void* data; /**< the elements in C order */
} dovetail_tensor;

/**
 * An agent type on offer. A method may be null but `step`; each returns 0, or another number if it failed:
 * then `dovetail_fail` may have said why. `self` is what `create` made, `data` is the type's own.
 */
typedef struct {
    const char* name;
    const char* description;
    unsigned wants;
    uint64_t capacity; /**< episodes that one instance plays at once; 0 means any number */
    int instance;      /**< whether the program is this one agent, which experiments seat by its name */
    void* data;
    /** Makes an instance: puts it into `*self`. `dovetail_parameters` returns the parameters. */
    int (*create)(dovetail_call* call, int64_t seed, void* data, void** self);
    /** Takes a seat of a match; fails if it cannot play this game, which `dovetail_spec` returns. */
    int (*init)(dovetail_call* call, void* self);
    /** Answers a decision with one of the `dovetail_act` functions. */
    int (*step)(dovetail_call* call, void* self);
    /** Handles the end of an episode. */
    int (*end)(dovetail_call* call, void* self);
    /** Answers a message of the experiment: `dovetail_body`, and `dovetail_answer`. */
    int (*message)(dovetail_call* call, void* self);
    /** Answers with its state, by `dovetail_answer`; any bytes will do. */
    int (*save)(dovetail_call* call, void* self);
    /** Resumes from such a state: `dovetail_body`. */
    int (*load)(dovetail_call* call, void* self);
    /** Releases the instance. */
    void (*destroy)(void* self);
} dovetail_agent_type;

/**
 * Serves agents until the broker leaves, or SIGINT or SIGTERM. Where `address` is null, the environment
 * variable DOVETAIL_BROKER says it, and DOVETAIL_TOKEN for `token`. DOVETAIL_KEY names the key file, for a
 * broker that lets in only keys. Returns 0, or 1 after a failure, with one line about it in `error` (which may
 * be null) of `size` bytes.
 */
int dovetail_serve_agents(const dovetail_agent_type* types, size_t count, const char* address,
                          const char* token, char* error, size_t size);
/** A nonzero number keeps `dovetail_serve_agents` from printing a line once the broker has answered. */
void dovetail_quiet(int quiet);

/* The contents of a call. Missing numbers are 0, missing texts and bytes null. */

int64_t dovetail_match(const dovetail_call* call);
int64_t dovetail_seat(const dovetail_call* call);
int64_t dovetail_episode(const dovetail_call* call);
int64_t dovetail_turn(const dovetail_call* call);
/** The seat's reward since its last decision. */
double dovetail_reward(const dovetail_call* call);
/** At the end: all rewards of the seat in the episode. */
double dovetail_total(const dovetail_call* call);
/** At the end: scores by seat, and how many there are; 0 if the game is not scored. */
size_t dovetail_outcome(const dovetail_call* call, const double** scores);
/** True if the mode is `learn`; in `evaluate` the agent must not change. */
int dovetail_learning(const dovetail_call* call);
/** The seed of the seat in this episode. */
int64_t dovetail_seed(const dovetail_call* call);
/** The legal actions in rising order, and how many; 0 if every action of the space is legal. */
size_t dovetail_legal(const dovetail_call* call, const int64_t** actions);
/** The position for a person, if it is wanted. */
const char* dovetail_text(const dovetail_call* call);
/** True if the observation is a tensor; if so it is put into `tensor`. */
int dovetail_observation_tensor(const dovetail_call* call, dovetail_tensor* tensor);

/* MessagePack, and how many bytes it has. */

const unsigned char* dovetail_observation(dovetail_call* call, size_t* size);
const unsigned char* dovetail_afterstates(dovetail_call* call, size_t* size);
const unsigned char* dovetail_scene(dovetail_call* call, size_t* size);
const unsigned char* dovetail_parameters(dovetail_call* call, size_t* size);
const unsigned char* dovetail_spec(dovetail_call* call, size_t* size);
/** The body of the `message` (MessagePack), or for `load` the bytes that `save` returned. */
const unsigned char* dovetail_body(dovetail_call* call, size_t* size);

/* Random numbers of the seat in this episode: the same seeds replay the same. */

/** An integer in 0 .. `n - 1`; 0 if `n` is 0. */
uint64_t dovetail_random_below(dovetail_call* call, uint64_t n);

/* Answers; each returns 0, or another number if it was refused. */

/** An action that is an integer. */
int dovetail_act(dovetail_call* call, int64_t action);
/** An action of any kind, as MessagePack. */
int dovetail_act_value(dovetail_call* call, const void* data, size_t size);
/** A legal action drawn at random. */
int dovetail_act_random(dovetail_call* call);
/** Gives up the episode instead of acting: the seat loses. */
int dovetail_resign(dovetail_call* call);
/** Adds what the agent measured since its last answer, such as a loss; its mean is in the result of the episode. */
int dovetail_measure(dovetail_call* call, const char* name, double value);
/** True if a watcher may see `dovetail_thoughts`; it must not change the action. */
int dovetail_think(const dovetail_call* call);
/**
 * Sets the thoughts that watchers see: a value for each legal action, in their order (`count` may be 0), and a text
 * for people, which may be null. They are sent only if `dovetail_think`.
 */
int dovetail_thoughts(dovetail_call* call, const double* values, size_t count, const char* text);
/** To `message`: MessagePack; to `save`: any bytes. */
int dovetail_answer(dovetail_call* call, const void* data, size_t size);
/** Says why the method is about to fail, in one line; returns 1, so that `return dovetail_fail(…)` will do.
 */
int dovetail_fail(dovetail_call* call, const char* text);

#ifdef __cplusplus
}
#endif

#endif
