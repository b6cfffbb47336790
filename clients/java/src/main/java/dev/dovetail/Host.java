package dev.dovetail;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The program around agents or environments, without a socket: messages of the broker in, frames to the broker out.
 *
 * <p>Answers are encoded when they are made, so that what cannot travel is its maker's failure; and their bytes are
 * kept, so that what comes twice is answered without being done twice.
 */
abstract class Host {
    /** Requests whose answers are kept: what SPEC.md, Repeats, calls enough. */
    static final int ANSWERS_KEPT = 64;

    private static final boolean DEBUG =
            !List.of("", "0").contains(System.getenv().getOrDefault("DOVETAIL_DEBUG", ""));

    private final Encoder encoder = new Encoder();
    private final Map<Long, byte[]> answers = new Recent<>(ANSWERS_KEPT);

    abstract Role role();

    abstract List<Offer> offers();

    /** Takes one message; appends what it brings about. */
    abstract void take(Incoming message, List<byte[]> out);

    /** Drops everything of a session that the broker does not know any more. */
    abstract void reset();

    /** Takes the messages that are waiting, in order; returns the frames to be sent together. */
    List<byte[]> handle(List<Incoming> messages) {
        List<byte[]> out = new ArrayList<>(messages.size());
        for (Incoming message : messages) {
            if (message instanceof Incoming.Welcome welcome) {
                encoder.limit(welcome.limits().frame());
                if (!welcome.resumed()) {
                    out.clear(); // its ids and episodes may be others' now
                    answers.clear();
                    reset();
                }
            } else {
                take(message, out);
            }
        }
        return out;
    }

    byte[] encode(Outgoing message) {
        return encoder.encode(message);
    }

    /** Something that a request asks for. */
    interface Work {
        Outgoing work();
    }

    /** Answers a request once, and again with the same bytes. */
    void answer(long id, String where, List<byte[]> out, Work work) {
        byte[] answer = answers.get(id);
        if (answer == null) {
            try {
                answer = encode(work.work());
            } catch (Throwable error) {
                answer = encode(Outgoing.Error.request("crashed", describe(error, where), id));
            }
            answers.put(id, answer);
        }
        out.add(answer);
    }

    /** One line for a person about something thrown; a {@link DovetailException} says all by itself. */
    static String describe(Throwable error, String where) {
        return error instanceof DovetailException ? oneLine(error.getMessage()) : failure(error, where);
    }

    /**
     * One line about a call of the user's code that failed: whose it is and when, and what was thrown. It goes to
     * standard error, too, and if the variable DOVETAIL_DEBUG is set, the stack after it.
     */
    static String failure(Throwable error, String where) {
        String text = error.getMessage() == null ? "" : ": " + error.getMessage();
        String verb = error instanceof DovetailException ? " failed" : " threw " + error.getClass().getSimpleName();
        String line = oneLine(where + verb + text);
        System.err.println(line);
        if (DEBUG) {
            error.printStackTrace();
        }
        return line;
    }

    static String oneLine(String text) {
        String line = String.valueOf(text).strip().replaceAll("\\s+", " ");
        // Half a surrogate pair, at the cut or elsewhere, could not travel: it becomes a question mark.
        return new String(line.substring(0, Math.min(300, line.length())).getBytes(UTF_8), UTF_8);
    }
}
