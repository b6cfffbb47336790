// The codec against protocol/vectors.
#include <doctest/doctest.h>

#include <fstream>

#include "dovetail/codec.hpp"
#include "dovetail/names.hpp"
#include "reading.hpp"

using namespace dovetail;
using reading::Json;

namespace {

Json vectors(const char* name) {
    std::ifstream file(std::string(VECTORS) + "/" + name);
    REQUIRE_MESSAGE(file.good(), "there are no vectors at " VECTORS);
    return Json::parse(file);
}

Frame frame_of(const Json& vector) {
    const Bytes bytes = reading::unhex(vector.at("hex").get<std::string>());
    return Frame(bytes.begin(), bytes.end());
}

/// Equal but for the order of keys and the kind of numbers.
bool same(const Json& a, const Json& b) {
    return nlohmann::json::parse(a.dump()) == nlohmann::json::parse(b.dump());
}

Limits limits_of(const Json& vector) {
    Limits limits;
    if (!vector.contains("limits")) return limits;
    limits.frame = vector["limits"]["frame"].get<std::int64_t>();
    limits.depth = vector["limits"]["depth"].get<std::int64_t>();
    limits.elements = vector["limits"]["elements"].get<std::int64_t>();
    return limits;
}

Frame again(const messages::Incoming& message) {
    return std::visit([](const auto& each) { return codec::encode_message(each); }, message);
}

}  // namespace

TEST_CASE("every message and value is read as its JSON says, and written back without loss") {
    const Json valid = vectors("valid.json");
    int count = 0;
    for (const char* part : {"messages", "values"}) {
        for (const Json& vector : valid.at(part)) {
            INFO(vector.at("name").get<std::string>());
            const Value value = codec::decode(frame_of(vector));
            CHECK(same(reading::of(value), vector.at("json")));
            CHECK(codec::encode(codec::decode(codec::encode(value))) == codec::encode(value));
            CHECK(same(reading::of(codec::decode(codec::encode(value))), vector.at("json")));
            CHECK(same(reading::of(reading::to_value(vector.at("json"))), vector.at("json")));
            ++count;
        }
    }
    CHECK(count > 100);
}

TEST_CASE("every message to a peer is read into its type, and written back with the same fields") {
    int count = 0;
    const Json valid = vectors("valid.json");
    for (const Json& vector : valid.at("messages")) {
        Role role = Role::agent;
        if (!find_name(vector.at("receiver").get<std::string>(), role)) continue;
        INFO(vector.at("name").get<std::string>());
        codec::Decoder decoder(role);
        const Frame frame = again(decoder.decode(frame_of(vector)));
        // Fields with default values are left out; the others are there, and nothing else.
        const Json json = reading::of(codec::decode(frame));
        for (const auto& [key, each] : json.items()) {
            INFO(key);
            REQUIRE(vector.at("json").contains(key));
            if (key != "spec" && key != "offers" && key != "limits" && key != "seats") {
                CHECK(same(each, vector.at("json").at(key)));
            }
        }
        CHECK(again(decoder.decode(frame)) == frame);
        ++count;
    }
    CHECK(count > 60);
}

TEST_CASE("frames that must be refused are, with the right code") {
    int count = 0;
    const Json malformed = vectors("malformed.json");
    for (const Json& vector : malformed.at("malformed")) {
        const std::string code = vector.at("code").get<std::string>();
        INFO(vector.at("name").get<std::string>());
        Role role = Role::agent;
        std::string got = "nothing";
        try {
            if (find_name(vector.at("receiver").get<std::string>(), role)) {
                codec::Decoder decoder(role);
                decoder.decode(frame_of(vector), limits_of(vector));
            } else if (code == "malformed" || code == "limit") {  // those are the same at a broker
                codec::decode(frame_of(vector), limits_of(vector));
            } else {
                continue;
            }
        } catch (const ProtocolError& error) {
            got = name_of(error.code);
        }
        CHECK(got == code);
        ++count;
    }
    CHECK(count > 50);
}

TEST_CASE("what a space contains") {
    const Json all = vectors("members.json");
    const Json& members = all.at("members");
    CHECK(members.size() > 200);
    Random random(1);
    for (const Json& vector : members) {
        INFO(vector.dump());
        const auto value = [&](const char* key) {
            const Bytes bytes = reading::unhex(vector.at(key).get<std::string>());
            return codec::decode(Frame(bytes.begin(), bytes.end()));
        };
        const Space space = Space::from(value("space_hex"));
        const bool member = vector.at("member").get<bool>();
        CHECK(space.contains(value("value_hex")) == member);
        if (member) CHECK(space.contains(space.sample(random)));
    }
}
