package dev.dovetail;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** An experiment's or observer's requests, their answers and the events in between, without the socket. */
final class Conversation {
    private static final int TOLD_KEPT = 65_536;

    private final Encoder encoder = new Encoder();
    private final Map<Long, byte[]> open = new LinkedHashMap<>();
    private final Map<Long, Incoming> answers = new HashMap<>();
    /** Episodes and runs whose results were told; what comes again is not old, for a pong would have confirmed it. */
    private final Map<Long, Boolean> told = new Recent<>(TOLD_KEPT);
    private final Map<Long, Boolean> over = new Recent<>(TOLD_KEPT);
    private final Consumer<Event> listener;
    private final Consumer<String> problems;
    private long ids;
    private boolean welcomed;
    private boolean lost;

    /**
     * @param listener gets each event once, in the order of arrival
     * @param problems gets what the broker complains of that answers no request
     */
    Conversation(Consumer<Event> listener, Consumer<String> problems) {
        this.listener = listener;
        this.problems = problems;
    }

    /** Begins a request; its frame is to be sent. Nothing is begun that cannot travel. */
    long ask(String type, Map<String, Object> fields, List<byte[]> out) {
        long id = ++ids;
        byte[] frame = encoder.encode(new Outgoing.Request(id, type, fields));
        open.put(id, frame);
        out.add(frame);
        return id;
    }

    /** The answer to a request: a reply, what was saved, or an error; null as long as there is none. */
    Incoming answer(long id) {
        Incoming found = answers.remove(id);
        if (found != null) {
            open.remove(id);
        }
        return found;
    }

    /** Whether the broker knows nothing of this experiment any more. */
    boolean lost() {
        return lost;
    }

    /** Takes messages of the broker, in order; appends frames to be sent. */
    void take(List<Incoming> messages, List<byte[]> out) {
        for (Incoming message : messages) {
            if (message instanceof Incoming.Reply reply) {
                settle(reply.id(), reply);
            } else if (message instanceof Incoming.Saved saved) {
                settle(saved.id(), saved);
            } else if (message instanceof Incoming.Error error) {
                if (error.id() != null) {
                    settle(error.id(), error);
                } else {
                    problems.accept(error.message());
                }
            } else if (message instanceof Incoming.Told event) {
                tell(event.event());
            } else if (message instanceof Incoming.Welcome welcome) {
                encoder.limit(welcome.limits().frame());
                if (welcomed && !welcome.resumed()) {
                    lost = true;
                } else if (welcomed) {
                    out.addAll(open.values());
                }
                welcomed = true;
            }
        }
    }

    private void settle(long id, Incoming answer) {
        if (open.containsKey(id)) {
            answers.putIfAbsent(id, answer);
        }
    }

    /** Each result is told once, however often it comes. */
    private void tell(Event event) {
        boolean known = event instanceof Event.Episode episode
                ? told.put(episode.episode(), true) != null
                : event instanceof Event.Done && over.put(event.run(), true) != null;
        if (!known) {
            listener.accept(event);
        }
    }
}
