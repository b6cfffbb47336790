#include <doctest/doctest.h>

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
    for (int i = 0; i < 50; ++i) CHECK(all.contains(all.sample(random)));
    CHECK(Space::from(all.value()).value() == all.value());
    CHECK_THROWS_AS(Space(spaces::Box{{2}}).sample(random), Error);
    const std::size_t huge = std::size_t{1} << 33;
    CHECK_THROWS_AS(Space(spaces::Box{{huge, huge}, Value(0), Value(1)}).sample(random), Error);
    CHECK_THROWS_AS(Space(spaces::MultiBinary{{huge, 0}}).sample(random), Error);
}

TEST_CASE("values of a space") {
    CHECK(Space(spaces::Discrete{3, 1}).contains(3));
    CHECK_FALSE(Space(spaces::Discrete{3, 1}).contains(0));
    CHECK_FALSE(Space(spaces::Discrete{3}).contains(1.0));
    const Space box = spaces::Box{{2}, Value(0), Value(1), "uint8"};
    CHECK(box.contains(Tensor::of<std::uint8_t>({2}, {0, 1})));
    CHECK(box.contains(List{0, 1}));
    CHECK_FALSE(box.contains(Tensor::of<std::int8_t>({2}, {0, 1})));
    CHECK_FALSE(box.contains(List{0, 2}));
    CHECK_FALSE(box.contains(List{0}));
    for (const auto& [dtype, most] : {std::pair{"int8", 127}, {"uint8", 255}, {"int16", 32767}}) {
        const Space any = spaces::Box{{}, -1e9, 1e9, dtype};
        CHECK(any.contains(most));
        CHECK_FALSE(any.contains(most + 1));
        CHECK(any.contains(-1) == (*dtype == 'i'));
    }
    CHECK_FALSE(Space(spaces::Box{{}, -1e30, 1e30, "int64"}).contains(UINT64_MAX));
    CHECK(Space(spaces::Box{{}, -1e30, 1e30, "uint64"}).contains(UINT64_MAX));
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
    limits.frame = frame.size();
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
