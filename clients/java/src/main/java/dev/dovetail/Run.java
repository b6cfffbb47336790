package dev.dovetail;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;

/** A run in progress: iterate over it for the results, in the order in which episodes end. */
public final class Run implements Iterable<Event.Episode> {
    private static final double WAIT = 0.5;

    private final Experiment experiment;
    private final long number;
    private final Deque<Event.Episode> results = new ArrayDeque<>();
    private Event.Progress progress;
    private Event.Done done;
    private String askedFor = "finished";

    Run(Experiment experiment, long number) {
        this.experiment = experiment;
        this.number = number;
    }

    /** {@return the broker's number of the run} */
    public long number() {
        return number;
    }

    /** {@return how far it is, as was told last; null if nothing was told} */
    public Event.Progress progress() {
        return progress;
    }

    /** {@return how it ended; null while it goes on} */
    public Event.Done done() {
        return done;
    }

    void hear(Event event) {
        if (event instanceof Event.Episode episode) {
            results.add(episode);
        } else if (event instanceof Event.Progress told) {
            progress = told;
        } else if (event instanceof Event.Done told) {
            done = told;
        }
    }

    /**
     * Takes the next result.
     *
     * @param seconds to wait for it
     * @return the result; null if none came, or, if {@link #done} is set, none will
     * @throws DovetailException if the run failed, was ended by somebody else, or the broker is gone
     */
    public Event.Episode poll(double seconds) {
        double end = System.nanoTime() / 1e9 + seconds;
        for (double left = seconds; results.isEmpty() && done == null && left >= 0; ) {
            experiment.poll(left);
            left = end - System.nanoTime() / 1e9;
        }
        Event.Episode found = results.poll();
        if (found == null && done != null && !done.reason().equals("finished") && !done.reason().equals(askedFor)) {
            String why = done.message().isEmpty() ? "" : ": " + done.message();
            throw new DovetailException("the run "
                    + (done.reason().equals("failed") ? "failed" : "was " + done.reason()) + " after "
                    + done.finished() + " episodes" + why);
        }
        return found;
    }

    /** {@inheritDoc} Taking the next one waits for it, and throws as {@link #poll} does. */
    @Override
    public Iterator<Event.Episode> iterator() {
        return new Iterator<>() {
            private Event.Episode next;

            @Override
            public boolean hasNext() {
                while (next == null) {
                    next = poll(WAIT);
                    if (next == null && done != null) {
                        return false;
                    }
                }
                return true;
            }

            @Override
            public Event.Episode next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                Event.Episode found = next;
                next = null;
                return found;
            }
        };
    }

    /**
     * Waits until the run is over.
     *
     * @return the results that were not taken before
     * @throws DovetailException as {@link #poll} does
     */
    public List<Event.Episode> await() {
        List<Event.Episode> all = new ArrayList<>();
        forEach(all::add);
        return all;
    }

    /** Starts no new episodes for now. */
    public void pause() {
        experiment.request("pause", Map.of("run", number));
    }

    /** Goes on after {@link #pause}. */
    public void resume() {
        experiment.request("pause", Map.of("run", number, "paused", false));
    }

    /** Finishes the episodes in progress and starts no other. */
    public void drain() {
        askedFor = "drained";
        experiment.request("drain", Map.of("run", number));
    }

    /** Ends everything of this run now. */
    public void cancel() {
        askedFor = "cancelled";
        experiment.request("cancel", Map.of("run", number));
    }

    /**
     * Stepwise: begins the next episode.
     *
     * @return its first turn
     */
    public Event.WatchedTurn start() {
        return turn("start");
    }

    /**
     * Stepwise: lets the seats act once.
     *
     * @return the turn that follows
     */
    public Event.WatchedTurn step() {
        return turn("step");
    }

    private Event.WatchedTurn turn(String type) {
        return Event.WatchedTurn.read(Fields.of(experiment.request(type, Map.of("run", number)), "turn"));
    }

    /**
     * Sends a message to the first environment of this run.
     *
     * @param body whatever they have agreed on
     * @return its answer
     */
    public Object message(Object body) {
        return experiment.request("message", Fields.pairs("run", number, "body", body));
    }
}
