package dev.dovetail;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.dovetail.Message.Code;
import dev.dovetail.Message.Error;
import dev.dovetail.Message.Offer;
import dev.dovetail.Message.Ping;
import dev.dovetail.Message.Role;
import dev.dovetail.Message.Welcome;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * The program around agents or environments, without a socket: messages of the broker in, frames to the broker out.
 *
 * <p>Answers are encoded when they are made, so that a value that cannot travel is a failure of the code that made it.
 */
abstract class Host {
    private static final boolean DEBUG =
            !List.of("", "0").contains(System.getenv().getOrDefault("DOVETAIL_DEBUG", ""));

    /** Line ends, control characters, and those that turn the reading order (S13.5). */
    private static final Pattern OBEYED =
            Pattern.compile("[\\s\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u206f]+");

    final Inbox inbox = new Inbox();
    private final Encoder encoder = new Encoder();

    abstract Role role();

    abstract List<Offer> offers();

    /** Takes one new message and appends the frames that it causes; ignores a message that it does not know. */
    abstract void take(Message message, List<byte[]> out);

    /** Sends again what the broker must not miss and no answer to a numbered frame is. */
    void resume(List<byte[]> out) {}

    /** Drops everything of a session that is over. */
    abstract void reset();

    /** Ends everything, as the program does. */
    void leave() {
        reset();
    }

    /** Takes the messages that are waiting, in order; returns the frames to be sent together. */
    List<byte[]> handle(List<Message> messages) {
        List<byte[]> out = new ArrayList<>(messages.size());
        for (Message message : messages) {
            if (!inbox.take(message, out)) {
                continue;
            }
            if (message instanceof Welcome welcome) {
                encoder.limit(welcome.limits().frame());
                inbox.begin(welcome);
                if (welcome.resumed()) {
                    resume(out);
                } else {
                    out.clear(); // the new session may use its numbers for others
                    reset();
                }
            } else if (message instanceof Ping ping) {
                inbox.settle(ping.settled());
            } else {
                take(message, out);
            }
        }
        return out;
    }

    byte[] encode(Message message) {
        return encoder.message(message);
    }

    /** Answers the frame of a number with what some work returns, unless that is null, or with an error. */
    void answer(long seq, List<byte[]> out, Supplier<Message> work, Function<Throwable, Error> failed) {
        byte[] answer;
        try {
            Message found = work.get();
            if (found == null) {
                return;
            }
            answer = encode(found);
        } catch (Throwable error) {
            answer = encode(failed.apply(error));
        }
        inbox.answer(seq, answer, out);
    }

    /** Answers a request. */
    void reply(long id, long seq, String where, List<byte[]> out, Supplier<Message> work) {
        answer(seq, out, work, error -> refusal(error, where).withId(id));
    }

    /** Answers the frame of a number with an error. */
    void refuse(long seq, Code code, String text, List<byte[]> out) {
        inbox.answer(seq, encode(Error.of(code.toWire(), text).withAnswers(seq)), out);
    }

    /** The error for something thrown: by a program that says it cannot, or that tried and failed. */
    static Error refusal(Throwable error, String where) {
        return error instanceof DovetailException && !(error instanceof Encoder.CannotTravel)
                ? Error.of(Code.UNAVAILABLE.toWire(), oneLine(error.getMessage()))
                : crash(error, where);
    }

    /**
     * The error for a call of the user's code that failed: where it failed, and what was thrown. The line also goes to
     * standard error, followed by the stack if the variable DOVETAIL_DEBUG is set.
     */
    static Error crash(Throwable error, String where) {
        String text = error.getMessage() == null ? "" : ": " + error.getMessage();
        String verb = error instanceof DovetailException ? " failed" : " threw " + error.getClass().getSimpleName();
        String line = oneLine(where + verb + text);
        System.err.println(line);
        if (DEBUG) {
            error.printStackTrace();
        }
        return Error.of(Code.CRASHED.toWire(), line);
    }

    static String oneLine(String text) {
        String line = OBEYED.matcher(String.valueOf(text)).replaceAll(" ").strip();
        // Half a surrogate pair, at the cut or elsewhere, could not travel: it becomes a question mark.
        return new String(line.substring(0, Math.min(300, line.length())).getBytes(UTF_8), UTF_8);
    }
}
