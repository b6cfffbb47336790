#include <cstdio>

#include "dovetail/codec.hpp"
#include "dovetail/dovetail.h"
#include "dovetail/serve.hpp"

using dovetail::Agent;
using dovetail::Bytes;
using dovetail::Decision;
using dovetail::Frame;
using dovetail::Map;
using dovetail::Value;

/// The input and output of a method of an agent in C; most fields are unset in any one call.
struct dovetail_call {
    const Decision* decision = nullptr;
    const dovetail::End* end = nullptr;
    const dovetail::Seat* seat = nullptr;
    const Map* parameters = nullptr;
    const Value* message = nullptr;
    const Bytes* state = nullptr;
    std::optional<Value> action;
    std::optional<dovetail::Thoughts> thoughts;
    std::vector<std::pair<std::string, double>> measures;
    bool resigned = false;
    std::optional<Frame> answer;
    std::string why;
    Frame packed[5];  // what was asked for as MessagePack; it must live as long as the call
};

namespace {

void settle(const char* what, int status, const dovetail_call& call) {
    if (status == 0) return;
    throw dovetail::Error(call.why.empty() ? std::string(what) + " failed" : call.why);
}

class CAgent : public Agent {
public:
    CAgent(const dovetail_agent_type& type, const Map& parameters, std::int64_t seed) : type_(type) {
        if (type_.create == nullptr) return;
        dovetail_call call;
        call.parameters = &parameters;
        settle("create", type_.create(&call, seed, type_.data, &self_), call);
    }
    ~CAgent() override {
        if (type_.destroy != nullptr) type_.destroy(self_);
    }

    void init(const dovetail::Seat& seat) override {
        if (type_.init == nullptr) return;
        dovetail_call call;
        call.seat = &seat;
        settle("init", type_.init(&call, self_), call);
    }
    dovetail::Answer step(const Decision& decision) override {
        dovetail_call call;
        call.decision = &decision;
        call.seat = &decision.seat;
        settle("step", type_.step(&call, self_), call);
        if (!call.action && !call.resigned) throw dovetail::Error("step gave no action");
        dovetail::Answer answer = call.resigned ? dovetail::Answer(dovetail::Resign())
                                                : dovetail::Answer(std::move(*call.action));
        answer.measures = std::move(call.measures);
        answer.thoughts = std::move(call.thoughts);
        return answer;
    }
    void end(const dovetail::End& end) override {
        if (type_.end == nullptr) return;
        dovetail_call call;
        call.end = &end;
        call.seat = &end.seat;
        settle("end", type_.end(&call, self_), call);
    }
    Value message(const Value& body) override {
        if (type_.message == nullptr) return {};
        dovetail_call call;
        call.message = &body;
        settle("message", type_.message(&call, self_), call);
        return call.answer ? dovetail::codec::decode(*call.answer) : Value();
    }
    Bytes save() override {
        if (type_.save == nullptr) return {};
        dovetail_call call;
        settle("save", type_.save(&call, self_), call);
        return call.answer ? Bytes(call.answer->begin(), call.answer->end()) : Bytes();
    }
    void load(const Bytes& state) override {
        if (type_.load == nullptr) return;
        dovetail_call call;
        call.state = &state;
        settle("load", type_.load(&call, self_), call);
    }

private:
    const dovetail_agent_type& type_;
    void* self_ = nullptr;
};

/// Parameters are told as they came: a C program knows by itself what it takes.
dovetail::AgentType type_of(const dovetail_agent_type& type) {
    if (type.name == nullptr || type.step == nullptr)
        throw dovetail::Error("an agent type without a name or step");
    dovetail::AgentType out;
    out.name = type.name;
    if (type.description != nullptr) out.description = type.description;
    if ((type.wants & DOVETAIL_WANTS_AFTERSTATES) != 0) out.wants.push_back(dovetail::Want::afterstates);
    if ((type.wants & DOVETAIL_WANTS_TEXT) != 0) out.wants.push_back(dovetail::Want::text);
    if ((type.wants & DOVETAIL_WANTS_SCENE) != 0) out.wants.push_back(dovetail::Want::scene);
    out.capacity = type.capacity;
    out.instance = type.instance != 0;
    out.parameters = dovetail::Options::open();
    out.make = [&type](const Map& parameters, std::int64_t seed) {
        return std::make_unique<CAgent>(type, parameters, seed);
    };
    return out;
}

Frame pack(const Value& value) {
    return dovetail::codec::encode(value);
}
Frame pack(const dovetail::Spec& spec) {
    return dovetail::codec::encode_message(spec);
}

/// Null, and no bytes, if there is no such value.
template <class T>
const unsigned char* packed(dovetail_call* call, std::size_t place, const T* value, std::size_t* size) {
    Frame& frame = call->packed[place];
    try {
        if (value != nullptr && frame.empty()) frame = pack(*value);
    } catch (...) {
        // Then it is as if it were not there.
    }
    if (size != nullptr) *size = frame.size();
    return frame.empty() ? nullptr
                         : static_cast<const unsigned char*>(static_cast<const void*>(frame.data()));
}

template <class T>
const T* part(const dovetail_call* call, T Decision::*of_decision, T dovetail::End::*of_end) {
    if (call->decision != nullptr) return &(call->decision->*of_decision);
    if (call->end != nullptr) return &(call->end->*of_end);
    return nullptr;
}

int act(dovetail_call* call, const std::function<Value()>& make) {
    if (call->decision == nullptr) return dovetail_fail(call, "only a decision is answered with an action");
    try {
        call->action = make();
        return 0;
    } catch (const std::exception& error) {
        return dovetail_fail(call, error.what());
    }
}

std::atomic<bool> quiet{false};

}  // namespace

extern "C" {

void dovetail_quiet(int wanted) {
    quiet = wanted != 0;
}

int dovetail_serve_agents(const dovetail_agent_type* types, size_t count, const char* address,
                          const char* token, char* error, size_t size) {
    try {
        std::vector<dovetail::AgentType> all;
        for (std::size_t i = 0; i < count; ++i) all.push_back(type_of(types[i]));
        dovetail::Serve how;
        how.quiet = quiet;
        if (address != nullptr) how.address = address;
        if (token != nullptr) how.token = token;
        dovetail::serve(std::move(all), how);
        return 0;
    } catch (const std::exception& failed) {
        if (error != nullptr) std::snprintf(error, size, "%s", failed.what());
        return 1;
    }
}

int64_t dovetail_match(const dovetail_call* call) {
    return call->seat != nullptr ? call->seat->match : 0;
}

int64_t dovetail_seat(const dovetail_call* call) {
    return call->seat != nullptr ? call->seat->seat : 0;
}

int64_t dovetail_episode(const dovetail_call* call) {
    const auto* found = part(call, &Decision::episode, &dovetail::End::episode);
    return found != nullptr ? *found : 0;
}

int64_t dovetail_turn(const dovetail_call* call) {
    return call->decision != nullptr ? call->decision->turn : 0;
}

double dovetail_reward(const dovetail_call* call) {
    const auto* found = part(call, &Decision::reward, &dovetail::End::reward);
    return found != nullptr ? *found : 0;
}

double dovetail_total(const dovetail_call* call) {
    return call->end != nullptr ? call->end->total : 0;
}

size_t dovetail_outcome(const dovetail_call* call, const double** scores) {
    const bool known = call->end != nullptr && call->end->outcome;
    if (scores != nullptr) *scores = known ? call->end->outcome->data() : nullptr;
    return known ? call->end->outcome->size() : 0;
}

int dovetail_learning(const dovetail_call* call) {
    const auto* found = part(call, &Decision::mode, &dovetail::End::mode);
    return found != nullptr && *found == dovetail::Mode::learn ? 1 : 0;
}

int64_t dovetail_seed(const dovetail_call* call) {
    return call->decision != nullptr ? call->decision->seed : 0;
}

size_t dovetail_legal(const dovetail_call* call, const int64_t** actions) {
    const bool known = call->decision != nullptr && call->decision->legal;
    if (actions != nullptr) *actions = known ? call->decision->legal->data() : nullptr;
    return known ? call->decision->legal->size() : 0;
}

const char* dovetail_text(const dovetail_call* call) {
    const auto* found = part(call, &Decision::text, &dovetail::End::text);
    return found != nullptr && *found ? (*found)->c_str() : nullptr;
}

int dovetail_observation_tensor(const dovetail_call* call, dovetail_tensor* tensor) {
    const auto* found = part(call, &Decision::observation, &dovetail::End::observation);
    if (found == nullptr || !found->is_tensor()) return 0;
    const dovetail::Tensor& held = found->as_tensor();
    tensor->dtype = dovetail::name_of(held.dtype());
    tensor->dimensions = held.shape().size();
    tensor->shape = held.shape().data();
    tensor->elements = held.size();
    tensor->data = held.data().data();
    return 1;
}

const unsigned char* dovetail_observation(dovetail_call* call, size_t* size) {
    return packed(call, 0, part(call, &Decision::observation, &dovetail::End::observation), size);
}

const unsigned char* dovetail_afterstates(dovetail_call* call, size_t* size) {
    return packed(call, 1, call->decision != nullptr ? &call->decision->afterstates : nullptr, size);
}

const unsigned char* dovetail_scene(dovetail_call* call, size_t* size) {
    return packed(call, 2, part(call, &Decision::scene, &dovetail::End::scene), size);
}

const unsigned char* dovetail_parameters(dovetail_call* call, size_t* size) {
    return packed(call, 3, call->parameters, size);
}

const unsigned char* dovetail_spec(dovetail_call* call, size_t* size) {
    return packed(call, 4, call->seat != nullptr ? &call->seat->spec : nullptr, size);
}

const unsigned char* dovetail_body(dovetail_call* call, size_t* size) {
    if (call->state == nullptr) return packed(call, 0, call->message, size);
    if (size != nullptr) *size = call->state->size();
    return call->state->data();
}

uint64_t dovetail_random_below(dovetail_call* call, uint64_t n) {
    return call->decision != nullptr && n > 0 ? call->decision->random.below(n) : 0;
}

int dovetail_act(dovetail_call* call, int64_t action) {
    return act(call, [&] { return Value(action); });
}

int dovetail_act_value(dovetail_call* call, const void* data, size_t size) {
    return act(call, [&] { return dovetail::codec::decode({static_cast<const char*>(data), size}); });
}

int dovetail_act_random(dovetail_call* call) {
    return act(call, [&] { return call->decision->random_action(); });
}

int dovetail_resign(dovetail_call* call) {
    if (call->decision == nullptr) return dovetail_fail(call, "only a decision is answered by resigning");
    call->resigned = true;
    return 0;
}

int dovetail_measure(dovetail_call* call, const char* name, double value) {
    if (call->decision == nullptr) return dovetail_fail(call, "only a decision is answered with measures");
    if (name == nullptr) return dovetail_fail(call, "a measure without a name; give one, such as \"loss\"");
    try {
        call->measures.emplace_back(name, value);
        return 0;
    } catch (const std::exception& error) {
        return dovetail_fail(call, error.what());
    }
}

int dovetail_think(const dovetail_call* call) {
    return call->decision != nullptr && call->decision->think ? 1 : 0;
}

int dovetail_thoughts(dovetail_call* call, const double* values, size_t count, const char* text) {
    if (call->decision == nullptr) return dovetail_fail(call, "only a decision is answered with thoughts");
    try {
        dovetail::Thoughts& thoughts = call->thoughts.emplace();
        if (count > 0) thoughts.values.assign(values, values + count);
        if (text != nullptr) thoughts.text = text;
        return 0;
    } catch (const std::exception& error) {
        return dovetail_fail(call, error.what());
    }
}

int dovetail_answer(dovetail_call* call, const void* data, size_t size) {
    try {
        call->answer = Frame(static_cast<const char*>(data), size);
        return 0;
    } catch (...) {
        return 1;
    }
}

int dovetail_fail(dovetail_call* call, const char* text) {
    try {
        call->why = text != nullptr ? text : "";
    } catch (...) {
        // Then it fails without saying why.
    }
    return 1;
}

}  // extern "C"
