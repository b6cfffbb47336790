package dev.dovetail;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.dovetail.Message.Code;
import dev.dovetail.Message.Error;
import dev.dovetail.Message.Offer;
import dev.dovetail.Message.Role;
import dev.dovetail.Message.Welcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The program around agents or environments, without a socket: messages of the broker in, frames to the broker out.
 *
 * <p>Answers are encoded when they are made, so that a value that cannot travel is a failure of the code that made it.
 * Their bytes are kept, so that a repeated message gets the same answer and is not carried out twice.
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

    /** Takes one message and appends the frames that it causes; ignores a message that it does not know. */
    abstract void take(Message message, List<byte[]> out);

    /** Drops everything of a session that the broker no longer knows. */
    abstract void reset();

    /** Takes the messages that are waiting, in order; returns the frames to be sent together. */
    List<byte[]> handle(List<Message> messages) {
        List<byte[]> out = new ArrayList<>(messages.size());
        for (Message message : messages) {
            if (message instanceof Welcome welcome) {
                encoder.limit(welcome.limits().frame());
                if (!welcome.resumed()) {
                    out.clear(); // the new session may use its ids and episodes for others
                    answers.clear();
                    reset();
                }
            } else {
                take(message, out);
            }
        }
        return out;
    }

    byte[] encode(Message message) {
        return encoder.message(message);
    }

    /** Answers a request once, and again with the same bytes. */
    void answer(long id, String where, List<byte[]> out, Supplier<Message> work) {
        byte[] answer = answers.get(id);
        if (answer == null) {
            try {
                answer = encode(work.get());
            } catch (Throwable error) {
                answer = encode(error(Code.CRASHED, describe(error, where)).withId(id));
            }
            answers.put(id, answer);
        }
        out.add(answer);
    }

    static Error error(Code code, String text) {
        return Error.of(code.toWire(), text);
    }

    /** One line for a person about something thrown; a {@link DovetailException} says everything itself. */
    static String describe(Throwable error, String where) {
        return error instanceof DovetailException ? oneLine(error.getMessage()) : failure(error, where);
    }

    /**
     * One line about a call of the user's code that failed: where it failed, and what was thrown. The line also goes
     * to standard error, followed by the stack if the variable DOVETAIL_DEBUG is set.
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
