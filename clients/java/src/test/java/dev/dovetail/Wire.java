package dev.dovetail;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Messages by their fields, for tests that play the broker. */
final class Wire {
    private static final long SECOND = 1_000_000_000L;

    private Wire() {}

    /** The map of some keys and values, in turns; {@code Map.of} takes no null. */
    static Map<String, Object> map(Object... keysAndValues) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            map.put((String) keysAndValues[i], keysAndValues[i + 1]);
        }
        return map;
    }

    static byte[] frame(String type, Object... pairs) {
        Map<String, Object> map = map("type", type);
        map.putAll(map(pairs));
        return new Encoder().encode(map);
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> open(byte[] frame) {
        return (Map<String, Object>) new Decoder().decode(frame);
    }

    private static int sessions;

    /** A welcome to the session there was, or to another. */
    static byte[] welcome(boolean resumed) {
        sessions += resumed ? 0 : 1;
        return frame("welcome", "session", "session " + sessions, "name", "x", "resumed", resumed);
    }

    /** A resumption by a broker that reads no more than 500 bytes of a message. */
    static byte[] narrowed() {
        return frame("welcome", "session", "session " + sessions, "name", "x", "resumed", true,
                "limits", map("frame", 500L));
    }

    /** A host behind its session, as a program has it. */
    static final class Program {
        final Session session;
        final Host host;
        private long now;
        private long seq;

        Program(Host host) {
            this.host = host;
            session = new Session(host.role(), "", host.offers(), null);
            session.greet(0);
            hear(welcome(false));
        }

        /** A frame that must arrive. */
        byte[] frame(String type, Object... pairs) {
            Map<String, Object> map = map("type", type, "seq", ++seq);
            map.putAll(map(pairs));
            return new Encoder().encode(map);
        }

        /** Returns the answers to a ZeroMQ message of these frames. */
        List<Map<String, Object>> hear(byte[]... frames) {
            now += SECOND / 10;
            List<Message> messages = new ArrayList<>();
            List<byte[]> out = new ArrayList<>();
            session.receive(Arrays.asList(frames), now, messages, out);
            out.addAll(host.handle(messages));
            return out.stream().map(Wire::open).toList();
        }

        Map<String, Object> ask(byte[] frame) {
            List<Map<String, Object>> found = hear(frame);
            if (found.size() != 1) {
                throw new AssertionError("one answer was expected, not " + found);
            }
            return found.get(0);
        }
    }

    /** Equality of decoded values, bytes included; NaN equals itself. */
    static boolean same(Object one, Object other) {
        if (one instanceof byte[] first && other instanceof byte[] second) {
            return Arrays.equals(first, second);
        }
        if (one instanceof List<?> first && other instanceof List<?> second) {
            if (first.size() != second.size()) {
                return false;
            }
            for (int i = 0; i < first.size(); i++) {
                if (!same(first.get(i), second.get(i))) {
                    return false;
                }
            }
            return true;
        }
        if (one instanceof Map<?, ?> first && other instanceof Map<?, ?> second) {
            return first.keySet().equals(second.keySet())
                    && first.keySet().stream().allMatch(each -> same(first.get(each), second.get(each)));
        }
        return one == null ? other == null : one.equals(other);
    }
}
