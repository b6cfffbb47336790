package dev.dovetail;

import dev.dovetail.Message.Error;
import dev.dovetail.Message.Ping;
import dev.dovetail.Message.Reply;
import dev.dovetail.Message.Saved;
import dev.dovetail.Message.Welcome;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** An experiment's or observer's requests, their answers and the events in between, without the socket. */
final class Conversation {
    private final Encoder encoder = new Encoder();
    private final Map<Long, byte[]> open = new LinkedHashMap<>();
    private final Map<Long, Message> answers = new HashMap<>();
    private final Inbox inbox = new Inbox();
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

    /** Begins a request, whose fields get an id; its frame is to be sent. It must be able to travel. */
    long ask(Map<String, Object> request, List<byte[]> out) {
        long id = ++ids;
        request.put("id", id);
        byte[] frame = encoder.message(() -> request);
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

    /** True if the broker no longer knows this experiment. */
    boolean lost() {
        return lost;
    }

    /** Takes messages of the broker, in order; appends frames to be sent. */
    void take(List<Message> messages, List<byte[]> out) {
        for (Message message : messages) {
            if (!inbox.take(message, out)) {
                continue;
            }
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
            } else if (!(message instanceof Ping)) {
                listener.accept(message);
            }
        }
    }

    private void welcome(Welcome welcome, List<byte[]> out) {
        encoder.limit(welcome.limits().frame());
        inbox.begin(welcome);
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
}
