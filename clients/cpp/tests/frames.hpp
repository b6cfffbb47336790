// Messages of a broker as a host takes them, and frames as what they say.
#pragma once

#include <dovetail/codec.hpp>
#include <string>
#include <vector>

namespace frames {

using dovetail::Frame;
using dovetail::Map;
using dovetail::Value;

/// Decodes a broker's message as a peer of this role does.
inline dovetail::messages::Incoming incoming(dovetail::Role role, Map message) {
    dovetail::codec::Decoder decoder(role);
    return decoder.decode(dovetail::codec::encode(message));
}

inline Map said(const Frame& frame) {
    return dovetail::codec::decode(frame).as_map();
}

inline std::string type(const Frame& frame) {
    return said(frame).at("type").as_text();
}

/// A host and what it has said.
template <class Host>
struct Talk {
    Host& host;

    std::vector<Frame> operator()(Map message) {
        std::vector<Frame> out;
        host.handle(incoming(host.role(), std::move(message)), out);
        return out;
    }
    /// The only answer to a message.
    Frame one(Map message) {
        const std::vector<Frame> out = (*this)(std::move(message));
        if (out.size() != 1) throw dovetail::Error(std::to_string(out.size()) + " answers instead of one");
        return out[0];
    }
};

}  // namespace frames
