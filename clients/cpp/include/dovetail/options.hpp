/// \file
/// Options: the parameters of agents and the configuration of environments, declared once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dovetail/value.hpp"

namespace dovetail {

/// One option. A value must be of the kind of the default, unless `any`; a number that is whole may stand for
/// a float.
struct Option {
    std::string name;
    Value standard;
    std::string description = {};
    /// The least and greatest value of a number.
    std::optional<double> least = {};
    std::optional<double> most = {};
    /// The texts that are allowed, if not all are.
    std::vector<std::string> choices = {};
    /// True to allow values of every kind.
    bool any = false;
};

/// The options of a type, with their defaults.
class Options {
public:
    Options() = default;
    Options(std::initializer_list<Option> options) : options_(options) {}
    /// Accepts any options, and declares none.
    static Options open() {
        Options options;
        options.open_ = true;
        return options;
    }
    /// JSON Schema of each option by its name, for offers.
    Map schema() const;
    /// The given options completed by the defaults.
    /// Throws Error if one is unknown, of a wrong type or out of range; `owner` names the type in errors.
    Map read(const Map& given, const std::string& owner) const;

private:
    std::vector<Option> options_;
    bool open_ = false;
};

}  // namespace dovetail
