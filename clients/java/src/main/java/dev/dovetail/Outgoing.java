package dev.dovetail;

import java.util.List;
import java.util.Map;

/** The messages that a peer sends, by the names of SPEC.md. */
sealed interface Outgoing {
    /** Writes the message's map. */
    void write(Encoder out);

    record Hello(Role role, String name, List<Offer> offers, String token, String resume) implements Outgoing {
        static final String SOFTWARE = "dovetail-java 0.1.0";

        @Override
        public void write(Encoder out) {
            out.message("hello", 7)
                    .field("version", 1)
                    .field("role", role.text())
                    .field("name", name)
                    .field("token", token)
                    .field("resume", resume)
                    .field("software", SOFTWARE)
                    .key("offers")
                    .array(offers.size());
            offers.forEach(each -> out.any(each.toMap()));
        }
    }

    record Pong(Number number) implements Outgoing {
        @Override
        public void write(Encoder out) {
            out.message("pong", 1).field("number", number);
        }
    }

    record Bye() implements Outgoing {
        @Override
        public void write(Encoder out) {
            out.message("bye", 0);
        }
    }

    record Error(String code, String message, Long id, Long episode, Integer seat, Long match) implements Outgoing {
        static Error of(String code, String message) {
            return new Error(code, message, null, null, null, null);
        }

        static Error request(String code, String message, long id) {
            return new Error(code, message, id, null, null, null);
        }

        static Error episode(String code, String message, long episode, Integer seat) {
            return new Error(code, message, null, episode, seat, null);
        }

        static Error match(String code, String message, long match, Integer seat) {
            return new Error(code, message, null, null, seat, match);
        }

        @Override
        public void write(Encoder out) {
            out.message("error", 6)
                    .field("code", code)
                    .field("message", message)
                    .field("id", id)
                    .field("episode", episode)
                    .field("seat", seat)
                    .field("match", match);
        }
    }

    record Reply(long id, Object body) implements Outgoing {
        @Override
        public void write(Encoder out) {
            out.message("reply", 2).field("id", id).field("body", body);
        }
    }

    record Action(long episode, long turn, int seat, Object action) implements Outgoing {
        @Override
        public void write(Encoder out) {
            out.message("action", 4)
                    .field("episode", episode)
                    .field("turn", turn)
                    .field("seat", seat)
                    .field("action", action);
        }
    }

    record Lookahead(long id, long episode, int seat, long turn, Object lines, long seed) implements Outgoing {
        @Override
        public void write(Encoder out) {
            out.message("lookahead", 6)
                    .field("id", id)
                    .field("episode", episode)
                    .field("seat", seat)
                    .field("turn", turn)
                    .field("lines", lines)
                    .field("seed", seed);
        }
    }

    record Saved(long id, byte[] state) implements Outgoing {
        @Override
        public void write(Encoder out) {
            out.message("saved", 2).field("id", id).field("state", state);
        }
    }

    record Specified(long match, String offer, Spec spec) implements Outgoing {
        @Override
        public void write(Encoder out) {
            spec.write(out, match, offer);
        }
    }

    record Turned(long episode, long number, Turn turn, List<View> views, String text) implements Outgoing {
        @Override
        public void write(Encoder out) {
            int fields = 4
                    + (turn.terminated() ? 1 : 0)
                    + (turn.truncated() ? 1 : 0)
                    + (turn.outcome() == null ? 0 : 1)
                    + (text == null ? 0 : 1)
                    + (turn.info() == null ? 0 : 1);
            out.message("turn", fields)
                    .field("episode", episode)
                    .field("turn", number)
                    .field("to_act", turn.toAct())
                    .key("seats")
                    .array(views.size());
            for (View view : views) {
                view.write(out);
            }
            if (turn.terminated()) {
                out.field("terminated", true);
            }
            if (turn.truncated()) {
                out.field("truncated", true);
            }
            if (turn.outcome() != null) {
                out.field("outcome", turn.outcome());
            }
            if (text != null) {
                out.field("text", text);
            }
            if (turn.info() != null) {
                out.field("info", turn.info());
            }
        }
    }

    /** Positions in answer to a lookahead. */
    record Positions(long id, List<Position> positions) implements Outgoing {
        @Override
        public void write(Encoder out) {
            out.message("reply", 2).field("id", id).key("body").array(positions.size());
            for (Position each : positions) {
                each.write(out);
            }
        }
    }

    /** A request of an experiment, with fields as they are. */
    record Request(long id, String type, Map<String, Object> fields) implements Outgoing {
        @Override
        public void write(Encoder out) {
            out.message(type, fields.size() + 1).field("id", id);
            fields.forEach((key, value) -> out.any(key).any(value));
        }
    }
}
