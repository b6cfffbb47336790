#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <dovetail/dovetail.hpp>

#include "dovetail/codec.hpp"

using namespace dovetail;

TEST_CASE("integers of 64 bits are exact") {
    for (const Value& value : {Value(INT64_MIN), Value(-1), Value(0), Value(INT64_MAX), Value(UINT64_MAX)}) {
        CHECK(codec::decode(codec::encode(value)) == value);
    }
    CHECK(codec::decode(codec::encode(Value(3.0))).is_integer() == false);
}

TEST_CASE("seeds are derived by the rule of the contract") {
    CHECK(derive(1, {"episode", "0"}) == 4384949654484100906);
    CHECK(derive(7, {"seat", "1"}) == 2741667346559110548);
}

TEST_CASE("random numbers are the same everywhere and stay below their bound") {
    Random random(0);
    CHECK(random() == 0xE220A8397B1DCDAFU);
    for (std::uint64_t n = 1; n < 50; ++n) CHECK(random.below(n) < n);
}

TEST_CASE("masks") {
    CHECK(mask({0, 9}, 10) == Bytes{1, 2});
    CHECK(unmask({1, 2}) == std::vector<std::int64_t>{0, 9});
    CHECK_THROWS_AS(mask({10}, 10), Error);
}

TEST_CASE("what is drawn from a space is in it") {
    Random random(1);
    const Space all = spaces::Tuple{{
        spaces::Discrete{3, -1},
        spaces::Box{{2, 3}, Value(0), Value(2), "int8"},
        spaces::Box{{}, Value(-1.0), Value(1.0), "float32"},
        spaces::MultiDiscrete{{3, 2}},
        spaces::MultiBinary{{2, 2}},
        spaces::Text{8, 1, "abc"},
        spaces::Dict{{{"phase", spaces::Discrete{2}}}},
    }};
    const auto within = [](const Value& value, std::int64_t low, std::int64_t high) {
        return value.as_int() >= low && value.as_int() <= high;
    };
    for (int i = 0; i < 50; ++i) {
        const Value sample = all.sample(random);
        const List& drawn = sample.as_list();
        REQUIRE(drawn.size() == 7);
        CHECK(within(drawn[0], -1, 1));
        CHECK(drawn[1].as_list().size() == 2);
        for (const Value& row : drawn[1].as_list()) {
            CHECK(row.as_list().size() == 3);
            for (const Value& each : row.as_list()) CHECK(within(each, 0, 2));
        }
        CHECK(std::abs(drawn[2].as_number()) <= 1);
        CHECK(within(drawn[3].as_list().at(0), 0, 2));
        CHECK(within(drawn[3].as_list().at(1), 0, 1));
        CHECK(within(drawn[4].as_list().at(1).as_list().at(1), 0, 1));
        CHECK(drawn[5].as_text().size() >= 1);
        CHECK(drawn[5].as_text().size() <= 8);
        CHECK(drawn[5].as_text().find_first_not_of("abc") == std::string::npos);
        CHECK(within(drawn[6].as_map().at("phase"), 0, 1));
    }
    CHECK(Space::from(all.value()).value() == all.value());
    CHECK_THROWS_AS(Space(spaces::Box{{2}, Value(0.2), Value(0.8), "int8"}).sample(random), Error);
    const std::int64_t huge = std::int64_t{1} << 33;
    CHECK_THROWS_AS(Space(spaces::Box{{huge, huge}, Value(0), Value(1)}).sample(random), Error);
    CHECK_THROWS_AS(Space(spaces::MultiBinary{{huge, 0}}).sample(random), Error);
    CHECK_THROWS_AS(Space(spaces::Text{huge, huge}).sample(random), Error);
    const Space bits = spaces::Sequence{Space(spaces::Discrete{2}), 10'000, 10'000};
    CHECK_THROWS_AS(Space(spaces::Sequence{bits, 10'000, 10'000}).sample(random), Error);
    CHECK_THROWS_AS(Space(spaces::Tuple{std::vector<Space>(1000, bits)}).sample(random), Error);
}

TEST_CASE("the time to check and to draw grows with what is checked and drawn") {
    std::string charset;
    List letters;
    for (int i = 0; i < 1 << 17; ++i) {
        const char letter[] = {char(0xF0), char(0xA0 | i >> 12), char(0x80 | (i >> 6 & 63)), char(0x80 | (i & 63))};
        charset.append(letter, 4);
        letters.push_back(std::string(letter, 4));
    }
    const Space text = spaces::Text{INT64_MAX, 0, charset};
    const auto begun = std::chrono::steady_clock::now();
    CHECK(text.contains(charset));
    CHECK(Space(spaces::Sequence{text, INT64_MAX}).contains(letters));
    std::vector<Space> inside(1'000'000, spaces::Discrete{1});
    for (int depth = 0; depth < 3000; ++depth) {
        Space outside = spaces::Tuple{std::move(inside)};
        inside.clear();
        inside.push_back(std::move(outside));
    }
    Random random(1);
    CHECK(inside.front().sample(random).is_list());
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(10));
}

TEST_CASE("a space that the contract does not know is refused") {
    CHECK(Space::from(Map{{"space", "Box"}, {"shape", List{2}}}).as<spaces::Box>()->low == Value(-INFINITY));
    CHECK_THROWS_AS(Space::from(Map{{"space", "Ball"}}), Error);
    CHECK_THROWS_AS(Space::from(Map{{"n", 1}}), Error);
    CHECK_THROWS_AS(Space::from(Map{{"space", "Discrete"}}), Error);
    CHECK_THROWS_AS(Space::from(Map{{"space", "Discrete"}, {"n", 0}}), Error);
    CHECK_THROWS_AS(Space::from(Map{{"space", "MultiDiscrete"}, {"nvec", List{2, 0}}}), Error);
    CHECK_THROWS_AS(Space::from(Map{{"space", "Box"}, {"shape", List()}, {"low", "deep"}}), Error);
    CHECK_THROWS_AS(Space::from(Map{{"space", "Dict"}, {"spaces", Map{{"x", 1}}}}), Error);
}

TEST_CASE("tensors that contradict themselves cannot be made") {
    CHECK_THROWS_AS(Tensor(Dtype::int16, {2}, Bytes(3)), Error);
    CHECK_THROWS_AS(Tensor(Dtype::boolean, {1}, Bytes{2}), Error);
}

TEST_CASE("a tensor may be as large as the frame") {
    Limits limits;
    const Value large = Tensor::zeros(Dtype::uint8, {static_cast<std::size_t>(limits.frame)});
    const Frame frame = codec::encode(large);
    CHECK_THROWS_AS(codec::decode(frame, limits), ProtocolError);
    limits.frame = static_cast<std::int64_t>(frame.size());
    CHECK((codec::decode(frame, limits) == large));
}

TEST_CASE("options") {
    const Options options{{"depth", 8, "how deep", 1, 42}, {"name", "x", "", {}, {}, {"x", "y"}}};
    CHECK(options.read({{"depth", 3}}, "it") == Map{{"depth", 3}, {"name", "x"}});
    CHECK_THROWS_WITH(options.read({{"colour", 1}}, "it"), "it has no option 'colour'; it has depth, name");
    CHECK_THROWS_AS(options.read({{"depth", 3.5}}, "it"), Error);
    CHECK_THROWS_AS(options.read({{"depth", 0}}, "it"), Error);
    CHECK_THROWS_AS(options.read({{"name", "z"}}, "it"), Error);
    const Options rate{{"rate", 0.5, "", 0, 1}};
    CHECK_THROWS_AS(rate.read({{"rate", std::nan("")}}, "it"), Error);
    CHECK(options.schema().at("depth").as_map().at("type") == Value("integer"));
}
