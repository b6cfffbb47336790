/// \file
/// The errors of the contract; `what()` is always one line.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "dovetail/enumerations.hpp"

namespace dovetail {

/// Anything a user can meet. Throw it from an agent or environment to refuse something: its text reaches
/// the broker as it is.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A frame that the contract refuses.
class ProtocolError : public Error {
public:
    ProtocolError(Code code_, const std::string& text) : Error(text), code(code_) {}
    Code code;
};

/// A request that the broker, or whom it was passed to, answered with an `error`. `code` is one of the
/// contract's error codes, or one of a later version.
class Refused : public Error {
public:
    Refused(std::string code_, const std::string& text) : Error(text), code(std::move(code_)) {}
    std::string code;
};

/// The broker is gone, or no longer knows this session.
class Lost : public Error {
public:
    using Error::Error;
};

/// Thrown by an environment's `step`: the rules refuse an action, and the episode is as before.
class IllegalAction : public Error {
public:
    explicit IllegalAction(const std::string& text, std::optional<std::int64_t> seat_ = std::nullopt)
        : Error(text), seat(seat_) {}
    /// The seat at fault, if it is a single one.
    std::optional<std::int64_t> seat;
};

}  // namespace dovetail
