package dev.dovetail;

import dev.dovetail.Message.Done;
import dev.dovetail.Message.Episode;
import dev.dovetail.Message.Error;
import dev.dovetail.Message.Reply;
import dev.dovetail.Message.Saved;
import dev.dovetail.Message.Welcome;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongFunction;

/** An experiment's or observer's requests, their answers and the events in between, without the socket. */
final class Conversation {
    private static final int RESULTS_KEPT = 65_536;

    private final Encoder encoder = new Encoder();
    private final Map<Long, byte[]> open = new LinkedHashMap<>();
    private final Map<Long, Message> answers = new HashMap<>();
    /** Episodes and runs whose ends were reported; the broker repeats only what a pong has not confirmed. */
    private final Map<Long, Boolean> reported = new Recent<>(RESULTS_KEPT);
    private final Map<Long, Boolean> over = new Recent<>(RESULTS_KEPT);
    private final Consumer<Message> listener;
    private final Consumer<String> problems;
    private long ids;
    private boolean welcomed;
    private boolean lost;

    /**
     * @param listener gets each message that is not an answer, in the order of arrival and without repeats
     * @param problems gets the text of each error that answers no request
     */
    Conversation(Consumer<Message> listener, Consumer<String> problems) {
        this.listener = listener;
        this.problems = problems;
    }

    /** Begins a request, made with the id that it gets; its frame is to be sent. It must be able to travel. */
    long ask(LongFunction<? extends Encodable> request, List<byte[]> out) {
        long id = ++ids;
        byte[] frame = encoder.message(request.apply(id));
        open.put(id, frame);
        out.add(frame);
        return id;
    }

    /** The answer to a request: a reply, a saved state, or an error; null as long as there is none. */
    Message answer(long id) {
        Message found = answers.remove(id);
        if (found != null) {
            open.remove(id);
        }
        return found;
    }

    /** Whether the broker no longer knows this experiment. */
    boolean lost() {
        return lost;
    }

    /** Takes messages of the broker, in order; appends frames to be sent. */
    void take(List<Message> messages, List<byte[]> out) {
        for (Message message : messages) {
            if (message instanceof Reply reply) {
                settle(reply.id(), reply);
            } else if (message instanceof Saved saved) {
                settle(saved.id(), saved);
            } else if (message instanceof Error error) {
                if (error.id() != null) {
                    settle(error.id(), error);
                } else {
                    problems.accept(error.message());
                }
            } else if (message instanceof Welcome welcome) {
                welcome(welcome, out);
            } else if (!repeated(message)) {
                listener.accept(message);
            }
        }
    }

    private void welcome(Welcome welcome, List<byte[]> out) {
        encoder.limit(welcome.limits().frame());
        if (welcomed && !welcome.resumed()) {
            lost = true;
        } else if (welcomed) {
            out.addAll(open.values());
        }
        welcomed = true;
    }

    private void settle(long id, Message answer) {
        if (open.containsKey(id)) {
            answers.putIfAbsent(id, answer);
        }
    }

    private boolean repeated(Message message) {
        return message instanceof Episode episode && reported.put(episode.episode(), true) != null
                || message instanceof Done done && over.put(done.run(), true) != null;
    }
}
