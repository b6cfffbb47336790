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
import java.util.Set;

/** A peer's end of a session, without the socket: hello, heartbeats, resumption. Times are in nanoseconds. */
final class Session {
    static final String SOFTWARE = "dovetail-java 0.1.0";

    /** Errors in answer to {@code hello} that saying it again does not mend. */
    private static final Set<String> FINAL =
            Set.of(Code.VERSION.toWire(), Code.ACCESS.toWire(), Code.NAME_TAKEN.toWire());

    private static final long PATIENCE = 2_000_000_000L;

    private final Role role;
    private final String name;
    private final List<Offer> offers;
    private final String token;
    private final Encoder encoder = new Encoder();
    private final Decoder decoder = new Decoder();
    private Welcome welcome;
    private boolean greeted;
    private boolean departed;
    private int lost;
    private long heard;

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

    /** Whether the broker said {@code bye}. */
    boolean departed() {
        return departed;
    }

    /** How often a welcome said that the session before is gone. */
    int lost() {
        return lost;
    }

    /** The frame of a {@code hello}, asking for the session that there was. */
    byte[] greet(long now) {
        heard = now;
        greeted = true;
        String resume = welcome == null ? null : welcome.session();
        return encoder.message(Hello.of(Message.VERSION, role)
                .withName(name)
                .withOffers(offers)
                .withToken(token)
                .withResume(resume)
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
                answers.add(encoder.message(
                        Error.of(error.code().toWire(), Host.oneLine(error.getMessage()))));
                continue;
            }
            if (message instanceof Ping ping) {
                answers.add(encoder.message(Pong.of().withNumber(ping.number())));
            } else if (message instanceof Bye) {
                departed = true;
            } else if (message instanceof Welcome found) {
                lost += welcome != null && !found.resumed() ? 1 : 0;
                welcome = found;
                greeted = false;
                Limits usual = Limits.of();
                decoder.limit(usual.withFrame(Math.max(found.limits().frame(), usual.frame()))
                        .withDepth(Math.max(found.limits().depth(), usual.depth()))
                        .withElements(Math.max(found.limits().elements(), usual.elements())));
                messages.add(found);
            } else if (message instanceof Error error) {
                if (error.code().equals(Code.HELLO_FIRST.toWire())) {
                    if (!greeted) { // else the answer to our hello is still to come
                        answers.add(greet(now));
                    }
                } else if (greeted && refuses(error)) {
                    throw new RefusedException(error.code(), "the broker refuses: " + error.message());
                } else {
                    messages.add(error);
                }
            } else if (!(message instanceof Pong)) {
                messages.add(message);
            }
        }
    }

    private boolean refuses(Error error) {
        return FINAL.contains(error.code()) || welcome == null && error.code().equals(Code.INVALID.toWire());
    }

    /** Whether the broker was not heard for so long that the connection must be made anew. */
    boolean silent(long now) {
        long patience = welcome == null ? PATIENCE : Math.max(PATIENCE, (long) (4e9 * welcome.heartbeat()));
        return now - heard > patience;
    }
}
