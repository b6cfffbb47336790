#include "dovetail/options.hpp"

#include <algorithm>

#include "utf8.hpp"

namespace dovetail {

namespace {

const char* json_type(const Value& value) {
    if (value.is_bool()) return "boolean";
    if (value.is_integer()) return "integer";
    if (value.is_number()) return "number";
    if (value.is_text()) return "string";
    if (value.is_list()) return "array";
    if (value.is_map()) return "object";
    return nullptr;
}

bool same_kind(const Value& value, const Value& standard) {
    if (standard.is_integer()) return value.is_integer();
    if (standard.is_number()) return value.is_number();
    return value.held().index() == standard.held().index();
}

void check(const Option& option, const Value& value, const std::string& where) {
    if (option.any) return;
    if (!same_kind(value, option.standard)) {
        throw Error(where + ": expected " + option.standard.kind() + ", got " + value.kind());
    }
    if (value.is_number()) {
        if (option.least && !(value.as_number() >= *option.least)) throw Error(where + ": it is too small");
        if (option.most && !(value.as_number() <= *option.most)) throw Error(where + ": it is too large");
    }
    if (value.is_text() && !option.choices.empty() &&
        std::find(option.choices.begin(), option.choices.end(), value.as_text()) == option.choices.end()) {
        throw Error(where + ": \"" + utf8::line(value.as_text().substr(0, 40)) + "\" is none of the choices");
    }
}

}  // namespace

Map Options::schema() const {
    Map out;
    for (const Option& option : options_) {
        Map about;
        const char* type = option.any ? nullptr : json_type(option.standard);
        if (type != nullptr) about["type"] = type;
        if (!option.description.empty()) about["description"] = option.description;
        if (option.least) about["minimum"] = *option.least;
        if (option.most) about["maximum"] = *option.most;
        if (!option.choices.empty()) about["enum"] = List(option.choices.begin(), option.choices.end());
        about["default"] = option.standard;
        out.append(option.name, std::move(about));
    }
    return out;
}

Map Options::read(const Map& given, const std::string& owner) const {
    if (open_) return given;
    for (const auto& entry : given) {
        const auto& name = entry.first;
        const auto known = [&](const Option& option) { return option.name == name; };
        if (std::any_of(options_.begin(), options_.end(), known)) continue;
        std::string allowed;
        for (const Option& option : options_) allowed += (allowed.empty() ? "it has " : ", ") + option.name;
        throw Error(owner + " has no option '" + utf8::line(name.substr(0, 40)) + "'; " +
                    (allowed.empty() ? "it has none" : allowed));
    }
    Map out;
    for (const Option& option : options_) {
        const Value* found = given.find(option.name);
        if (found != nullptr) check(option, *found, owner + ", option '" + option.name + "'");
        out.append(option.name, found != nullptr ? *found : option.standard);
    }
    return out;
}

}  // namespace dovetail
