package dev.dovetail;

import java.util.List;
import java.util.Set;

/** A peer's end of a session, without the socket: hello, heartbeats, resumption. Times are in nanoseconds. */
final class Session {
    /** Errors in answer to {@code hello} that saying it again does not mend. */
    private static final Set<String> FINAL = Set.of("version", "access", "name-taken");

    private static final long PATIENCE = 2_000_000_000L;

    private final Role role;
    private final String name;
    private final List<Offer> offers;
    private final String token;
    private final Encoder encoder = new Encoder();
    private final Decoder decoder = new Decoder();
    private Incoming.Welcome welcome;
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
    Incoming.Welcome welcome() {
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
        return encoder.encode(new Outgoing.Hello(role, name, offers, token, resume));
    }

    byte[] goodbye() {
        return encoder.encode(new Outgoing.Bye());
    }

    /**
     * Takes frames of the broker.
     *
     * @param messages gets what is for the role
     * @param answers gets frames to be sent at once
     * @throws DovetailException if the broker refuses this peer
     */
    void receive(List<byte[]> frames, long now, List<Incoming> messages, List<byte[]> answers) {
        heard = now;
        for (byte[] frame : frames) {
            Incoming message;
            try {
                message = Incoming.read(role, decoder.message(frame));
            } catch (ProtocolException error) {
                answers.add(encoder.encode(Outgoing.Error.of(error.code(), Host.oneLine(error.getMessage()))));
                continue;
            }
            if (message instanceof Incoming.Ping ping) {
                answers.add(encoder.encode(new Outgoing.Pong(ping.number())));
            } else if (message instanceof Incoming.Bye) {
                departed = true;
            } else if (message instanceof Incoming.Welcome found) {
                lost += welcome != null && !found.resumed() ? 1 : 0;
                welcome = found;
                greeted = false;
                Limits said = found.limits();
                Limits usual = Limits.DEFAULT;
                decoder.limit(new Limits(
                        Math.max(said.frame(), usual.frame()),
                        Math.max(said.depth(), usual.depth()),
                        Math.max(said.elements(), usual.elements())));
                messages.add(found);
            } else if (message instanceof Incoming.Error error) {
                if (error.code().equals("hello-first")) {
                    if (!greeted) { // else the answer to our hello is still to come
                        answers.add(greet(now));
                    }
                } else if (greeted
                        && (FINAL.contains(error.code()) || welcome == null && error.code().equals("invalid"))) {
                    throw new RefusedException(error.code(), "the broker refuses: " + error.message());
                } else {
                    messages.add(error);
                }
            } else if (!(message instanceof Incoming.Pong)) {
                messages.add(message);
            }
        }
    }

    /** Whether the broker was not heard for so long that the connection must be made anew. */
    boolean silent(long now) {
        long patience = welcome == null ? PATIENCE : Math.max(PATIENCE, (long) (4e9 * welcome.heartbeat()));
        return now - heard > patience;
    }
}
