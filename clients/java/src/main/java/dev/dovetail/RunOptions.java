package dev.dovetail;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a run is to be: the fields of {@code run} in SPEC.md. Those that are not set have its defaults. */
public final class RunOptions {
    private final Map<String, Object> fields = new LinkedHashMap<>();
    private final Map<String, Object> clock = new LinkedHashMap<>();
    private final Map<String, Object> configuration = new LinkedHashMap<>();

    private RunOptions() {}

    /**
     * Begins a run of one episode.
     *
     * @param environment the name of an environment on offer
     * @param agents seat by seat an instance number, or the name of an agent that offers itself
     * @return the options
     */
    public static RunOptions of(String environment, Object... agents) {
        RunOptions options = new RunOptions();
        options.fields.put("environment", environment);
        options.fields.put("agents", new ArrayList<>(List.of(agents)));
        return options;
    }

    /**
     * Sets an option of the environment.
     *
     * @param name its name
     * @param value its value
     * @return these options
     */
    public RunOptions configured(String name, Object value) {
        configuration.put(name, value);
        return set("configuration", configuration);
    }

    /**
     * Says how many episodes to play.
     *
     * @param count how many
     * @return these options
     */
    public RunOptions episodes(long count) {
        return set("episodes", count);
    }

    /**
     * Says how many episodes to play at once.
     *
     * @param count how many, as far as the agents' capacity allows
     * @return these options
     */
    public RunOptions concurrency(long count) {
        return set("concurrency", count);
    }

    /**
     * Sets the master seed.
     *
     * @param seed the seed
     * @return these options
     */
    public RunOptions seed(long seed) {
        return set("seed", seed);
    }

    /**
     * Says that agents must not change.
     *
     * @return these options
     */
    public RunOptions evaluate() {
        return set("mode", "evaluate");
    }

    /**
     * Has agents change seats from episode to episode.
     *
     * @return these options
     */
    public RunOptions rotate() {
        return set("rotate", true);
    }

    /**
     * Waits for {@link Run#start} and {@link Run#step}.
     *
     * @return these options
     */
    public RunOptions stepwise() {
        return set("stepwise", true);
    }

    /**
     * Says how long seats may think.
     *
     * @param decision seconds for one decision; null is no limit
     * @param episode seconds for all decisions of an episode; null is no limit
     * @param increment added to {@code episode} after each decision
     * @param margin forgiven, for the way to the agent and back
     * @return these options
     */
    public RunOptions clock(Double decision, Double episode, double increment, double margin) {
        clock.put("decision", decision);
        clock.put("episode", episode);
        clock.put("increment", increment);
        clock.put("margin", margin);
        return set("clock", clock);
    }

    /**
     * Sets any field of {@code run}.
     *
     * @param field its name in SPEC.md
     * @param value its value
     * @return these options
     */
    public RunOptions set(String field, Object value) {
        fields.put(field, value);
        return this;
    }

    Map<String, Object> fields() {
        return fields;
    }
}
