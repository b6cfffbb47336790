package dev.dovetail;

import java.util.List;
import java.util.function.Supplier;

/**
 * An agent type that a program offers; experiments make instances of it.
 *
 * @param name how others call it
 * @param description one sentence for a person
 * @param options the parameters that {@code create} may set
 * @param wants what environments are to add to decisions: {@code afterstates}, {@code text}, {@code scene}
 * @param capacity episodes that one instance plays at once; 0 is no limit
 * @param factory makes an instance
 */
public record AgentType(
        String name, String description, Options options, List<String> wants, int capacity, Factory factory) {
    /** Makes instances. */
    @FunctionalInterface
    public interface Factory {
        /**
         * Makes an instance.
         *
         * @param parameters checked, and with their defaults
         * @param seed for random choices that belong to no episode
         * @return the agent
         * @throws DovetailException if the parameters make no agent; the text says why
         */
        Agent make(Options.Values parameters, long seed);
    }

    /**
     * A type without parameters, whose instances play one episode at a time.
     *
     * @param name how others call it
     * @param maker makes an instance
     * @return the type
     */
    public static AgentType of(String name, Supplier<? extends Agent> maker) {
        return new AgentType(name, "", new Options(), List.of(), 1, (parameters, seed) -> maker.get());
    }

    /**
     * A type with parameters, whose instances play one episode at a time.
     *
     * @param name how others call it
     * @param options its parameters
     * @param factory makes an instance
     * @return the type
     */
    public static AgentType of(String name, Options options, Factory factory) {
        return new AgentType(name, "", options, List.of(), 1, factory);
    }

    /**
     * Describes the type.
     *
     * @param text one sentence for a person
     * @return the type with it
     */
    public AgentType described(String text) {
        return new AgentType(name, text, options, wants, capacity, factory);
    }

    /**
     * Says what decisions should have besides.
     *
     * @param more {@code afterstates}, {@code text} or {@code scene}
     * @return the type with them
     */
    public AgentType wanting(String... more) {
        return new AgentType(name, description, options, List.of(more), capacity, factory);
    }

    /**
     * Says how many episodes an instance plays at once.
     *
     * @param episodes the number; 0 is no limit
     * @return the type with it
     */
    public AgentType playing(int episodes) {
        return new AgentType(name, description, options, wants, episodes, factory);
    }

    Offer offer() {
        return new Offer(name, description, options, wants, capacity, false);
    }
}
