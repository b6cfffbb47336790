package dev.dovetail;

import dev.dovetail.Message.Cancel;
import dev.dovetail.Message.Done;
import dev.dovetail.Message.DoneReason;
import dev.dovetail.Message.Drain;
import dev.dovetail.Message.Episode;
import dev.dovetail.Message.ExperimentStart;
import dev.dovetail.Message.ExperimentStep;
import dev.dovetail.Message.Pause;
import dev.dovetail.Message.Progress;
import dev.dovetail.Message.WatchedTurn;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * A run in progress: iterate over it for the results, in the order in which episodes end. Leaving a
 * {@code try (RunHandle run = ...)} ends it.
 */
public final class RunHandle implements Iterable<Episode>, AutoCloseable {
    private static final double WAIT = 0.5;

    private final Experiment experiment;
    private final long number;
    private final Deque<Episode> results = new ArrayDeque<>();
    private Progress progress;
    private Done done;
    private DoneReason askedFor = DoneReason.FINISHED;

    RunHandle(Experiment experiment, long number) {
        this.experiment = experiment;
        this.number = number;
    }

    /** {@return the broker's number of the run} */
    public long number() {
        return number;
    }

    /** {@return the broker's last report; null before the first} */
    public Progress progress() {
        return progress;
    }

    /** {@return how it ended; null while it continues} */
    public Done done() {
        return done;
    }

    void hear(Message message) {
        if (message instanceof Episode episode) {
            results.add(episode);
        } else if (message instanceof Progress found) {
            if (!found.waiting().isEmpty() && (progress == null || !found.waiting().equals(progress.waiting()))) {
                System.err.println(Host.oneLine("run " + number + " waits: " + found.waiting()));
            }
            progress = found;
        } else if (message instanceof Done found) {
            done = found;
        }
    }

    /**
     * Takes the next result.
     *
     * @param seconds to wait for it
     * @return the result; null if none came, or, if {@link #done} is set, none will
     * @throws DovetailException if the run failed, was ended by another program, or the broker is gone
     */
    public Episode poll(double seconds) {
        double end = System.nanoTime() / 1e9 + seconds;
        for (double left = seconds; results.isEmpty() && done == null && left >= 0; ) {
            experiment.poll(left);
            left = end - System.nanoTime() / 1e9;
        }
        Episode found = results.poll();
        if (found == null && done != null && done.reason() != DoneReason.FINISHED && done.reason() != askedFor) {
            String why = done.message().isEmpty() ? "" : ": " + Host.oneLine(done.message());
            throw new DovetailException("the run "
                    + (done.reason() == DoneReason.FAILED ? "failed" : "was " + done.reason().toWire()) + " after "
                    + done.finished() + " episodes" + why);
        }
        return found;
    }

    /** {@inheritDoc} Taking the next one waits for it, and throws as {@link #poll} does. */
    @Override
    public Iterator<Episode> iterator() {
        return new Iterator<>() {
            private Episode next;

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
            public Episode next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                Episode found = next;
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
    public List<Episode> await() {
        List<Episode> all = new ArrayList<>();
        forEach(all::add);
        return all;
    }

    /** Starts no new episodes for now. */
    public void pause() {
        experiment.request(Pause.of(0, number));
    }

    /** Resumes after {@link #pause}. */
    public void resume() {
        experiment.request(Pause.of(0, number).withPaused(false));
    }

    /** Finishes the episodes in progress, then ends the run. */
    public void drain() {
        askedFor = DoneReason.DRAINED;
        experiment.request(Drain.of(0, number));
    }

    /** Ends this run at once. */
    public void cancel() {
        askedFor = DoneReason.CANCELLED;
        experiment.request(Cancel.of(0).withRun(number));
    }

    /** Ends this run at once, unless it is over; {@link #done} is then set. */
    @Override
    public void close() {
        if (done == null) {
            cancel();
        }
        while (done == null) {
            experiment.poll(WAIT);
        }
    }

    /**
     * Stepwise: begins the next episode.
     *
     * @return its first turn
     */
    public WatchedTurn start() {
        return start(false);
    }

    /**
     * Stepwise: begins the next episode.
     *
     * @param abandon whether an episode in progress is truncated first; if not, it is an error that there is one
     * @return its first turn
     */
    public WatchedTurn start(boolean abandon) {
        return WatchedTurn.read(
                experiment.request(ExperimentStart.of(0, number).withAbandon(abandon)));
    }

    /**
     * Stepwise: lets the seats act once.
     *
     * @return the turn that follows
     */
    public WatchedTurn step() {
        return WatchedTurn.read(experiment.request(ExperimentStep.of(0, number)));
    }

    /**
     * Sends a message to the first environment of this run.
     *
     * @param body any value that both sides understand
     * @return its answer
     */
    public Object message(Object body) {
        return experiment.message(message -> message.withRun(number).withBody(body));
    }
}
