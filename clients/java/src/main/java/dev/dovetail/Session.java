package dev.dovetail;

import dev.dovetail.Message.Bye;
import dev.dovetail.Message.Code;
import dev.dovetail.Message.Error;
import dev.dovetail.Message.Hello;
import dev.dovetail.Message.Limits;
import dev.dovetail.Message.Offer;
import dev.dovetail.Message.Ping;
import dev.dovetail.Message.Pong;
import dev.dovetail.Message.Role;
import dev.dovetail.Message.Welcome;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A peer's end of a session, without the socket: hello, heartbeats, resumption. Times are in nanoseconds. */
final class Session {
    static final String SOFTWARE = "dovetail-java 0.2.0";

    /** Errors in answer to {@code hello} that saying it again does not mend. */
    private static final Set<String> FINAL =
            Set.of(Code.VERSION.toWire(), Code.ACCESS.toWire(), Code.NAME_TAKEN.toWire());

    /** Errors that come before a {@code welcome} only if the {@code hello} itself is at fault. */
    private static final Set<String> UNREADABLE =
            Set.of(Code.INVALID.toWire(), Code.MALFORMED.toWire(), Code.LIMIT.toWire());

    private static final long PATIENCE = 2_000_000_000L;

    /** For how long a {@code hello} may be without an answer at first, and at most; each time it is twice as long. */
    private static final long FIRST_ANSWER = 4_000_000_000L;

    private static final long LAST_ANSWER = 16_000_000_000L;

    private final Role role;
    private final String name;
    private final List<Offer> offers;
    private final String token;
    private final Encoder encoder = new Encoder();
    private final Decoder decoder = new Decoder();
    private Welcome welcome;
    /** For how long to wait for the answer to {@code hello}; 0 if none is under way. */
    private long answer;

    private boolean departed;
    private int lost;
    private long heard;
    /** The highest number of a frame that has arrived in this session. */
    private long seen;

    Session(Role role, String name, List<Offer> offers, String token) {
        this.role = role;
        this.name = name;
        this.offers = offers;
        this.token = token;
    }

    /** The broker's latest; null before the first. */
    Welcome welcome() {
        return welcome;
    }

    /** True if the broker said {@code bye}. */
    boolean departed() {
        return departed;
    }

    /** How often a welcome said that the session before is gone. */
    int lost() {
        return lost;
    }

    /** Returns the frame of a {@code hello} that resumes an earlier session, if any. */
    byte[] greet(long now) {
        heard = now;
        answer = Math.min(Math.max(2 * answer, FIRST_ANSWER), LAST_ANSWER);
        String resume = welcome == null ? null : welcome.session();
        return encoder.message(Hello.of(Message.VERSION, role)
                .withName(name)
                .withOffers(offers)
                .withToken(token)
                .withResume(resume)
                .withSeen(seen)
                .withSoftware(SOFTWARE));
    }

    byte[] goodbye() {
        return encoder.message(Bye.of());
    }

    /**
     * Takes frames of the broker.
     *
     * @param messages gets what is for the role
     * @param answers gets frames to be sent at once
     * @throws DovetailException if the broker refuses this peer
     */
    void receive(List<byte[]> frames, long now, List<Message> messages, List<byte[]> answers) {
        heard = now;
        for (byte[] frame : frames) {
            Message message;
            try {
                message = Message.read(role, decoder.message(frame));
            } catch (ProtocolException error) {
                answers.add(encoder.message(refusal(error, decoder.about(frame))));
                continue;
            }
            if (message instanceof Ping ping) {
                answers.add(encoder.message(Pong.of().withNumber(ping.number()).withSeen(seen)));
                messages.add(ping);
            } else if (message instanceof Bye) {
                departed = true;
            } else if (message instanceof Welcome found) {
                answer = 0;
                if (!found.resumed() && welcome != null && welcome.session().equals(found.session())) {
                    continue; // the answer to a hello that was said twice
                }
                if (!found.resumed()) {
                    lost += welcome != null ? 1 : 0;
                    seen = 0;
                }
                welcome = found;
                Limits usual = Limits.of();
                decoder.limit(usual.withFrame(Math.max(found.limits().frame(), usual.frame()))
                        .withDepth(Math.max(found.limits().depth(), usual.depth()))
                        .withElements(Math.max(found.limits().elements(), usual.elements())));
                messages.add(found);
            } else if (message instanceof Error error && error.code().equals(Code.HELLO_FIRST.toWire())) {
                if (answer == 0) { // else the answer to our hello is still to come
                    answers.add(greet(now));
                }
            } else if (message instanceof Error error && (answer > 0 && refuses(error) || expels(error))) {
                answer = 0;
                throw new RefusedException(error.code(), "the broker refuses: " + error.message());
            } else if (!(message instanceof Pong)) {
                seen = Math.max(seen, message.seq());
                messages.add(message);
            }
        }
    }

    private boolean refuses(Error error) {
        return FINAL.contains(error.code()) || welcome == null && UNREADABLE.contains(error.code());
    }

    /** True if an error says that this peer may not stay, because its key was revoked, for instance. */
    private static boolean expels(Error error) {
        return error.code().equals(Code.ACCESS.toWire()) && error.id() == null && error.answers() == null;
    }

    /** The error for a frame that cannot be read; it answers what the frame asks, which an answer does not. */
    private static Error refusal(ProtocolException error, Map<String, Object> about) {
        Error refusal = Error.of(error.code().toWire(), Host.oneLine(error.getMessage()));
        if (Set.of("reply", "saved", "error").contains(about.getOrDefault("type", ""))) {
            return refusal;
        }
        return about.get("id") instanceof Long id ? refusal.withId(id) : refusal.withAnswers((Long) about.get("seq"));
    }

    /** Nanoseconds of silence that mean nothing yet. */
    long patience() {
        if (welcome == null) {
            return PATIENCE;
        }
        return welcome.heartbeat() == 0 ? Long.MAX_VALUE : Math.max(PATIENCE, (long) (4e9 * welcome.heartbeat()));
    }

    /** True if the broker has been silent for so long that this peer must say {@code hello} again. */
    boolean silent(long now) {
        return now - heard > Math.max(patience(), answer);
    }
}
