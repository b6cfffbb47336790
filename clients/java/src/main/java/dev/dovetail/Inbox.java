package dev.dovetail;

import dev.dovetail.Message.Welcome;
import java.util.List;
import java.util.TreeMap;

/**
 * The frames of this session and their answers. A frame that comes again is answered as before if it was
 * answered, and ignored if not: the rule of SPEC.md, Delivery.
 */
final class Inbox {
    /** Bytes of answers that are kept at the most, and what counts for each beside its own (S11.4). */
    private static final long MOST = 1 << 28;
    private static final long EACH = 64;

    private final TreeMap<Long, byte[]> answers = new TreeMap<>();
    private long kept;
    private long seen;
    private boolean keeping = true;

    /** Begins another session, unless the old one continues. */
    void begin(Welcome welcome) {
        if (!welcome.resumed()) {
            seen = 0;
            kept = 0;
            answers.clear();
        }
        keeping = welcome.heartbeat() > 0; // else nothing is ever sent again
    }

    /** Returns whether a message is new; a repeated one is answered as before. */
    boolean take(Message message, List<byte[]> out) {
        long seq = message.seq();
        if (seq == 0) {
            return true;
        }
        if (seq > seen) {
            seen = seq;
            return true;
        }
        byte[] answer = answers.get(seq);
        if (answer != null) {
            out.add(answer);
        }
        return false;
    }

    /** Answers a message, and keeps the answer. */
    void answer(long seq, byte[] answer, List<byte[]> out) {
        out.add(answer);
        forget(seq);
        if (keeping && seq > 0 && kept + answer.length + EACH <= MOST) {
            kept += answer.length + EACH;
            answers.put(seq, answer);
        }
    }

    /** Forgets an answer that has arrived, since what follows from it came. */
    void forget(long seq) {
        byte[] answer = answers.remove(seq);
        if (answer != null) {
            kept -= answer.length + EACH;
        }
    }

    /** Forgets all answers up to a number: the broker says that they have arrived. */
    void settle(long settled) {
        while (!answers.isEmpty() && answers.firstKey() <= settled) {
            forget(answers.firstKey());
        }
    }
}
