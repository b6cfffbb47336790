package dev.dovetail;

import dev.dovetail.Message.Offer;
import dev.dovetail.Message.Want;
import java.util.List;
import java.util.function.Supplier;

/**
 * An agent type that a program offers; experiments make instances of it.
 *
 * @param offer its public description; its parameters are those of {@code options}
 * @param options the parameters that {@code create} may set
 * @param factory makes an instance
 */
public record AgentType(Offer offer, Options options, Factory factory) {
    /** Makes instances. */
    @FunctionalInterface
    public interface Factory {
        /**
         * Makes an instance.
         *
         * @param parameters checked, and with their defaults
         * @param seed for random choices that belong to no episode
         * @return the agent
         * @throws DovetailException if the parameters are invalid; the text says why
         */
        Agent make(Options.Values parameters, long seed);
    }

    /**
     * Returns a type without parameters, whose instances play one episode at a time.
     *
     * @param name its name in runs and in the catalogue
     * @param maker makes an instance
     * @return the type
     */
    public static AgentType of(String name, Supplier<? extends Agent> maker) {
        return of(name, new Options(), (parameters, seed) -> maker.get());
    }

    /**
     * Returns a type with parameters, whose instances play one episode at a time.
     *
     * @param name its name in runs and in the catalogue
     * @param options its parameters
     * @param factory makes an instance
     * @return the type
     */
    public static AgentType of(String name, Options options, Factory factory) {
        return new AgentType(Offer.of(name).withParameters(options.describe()), options, factory);
    }

    /** {@return its name in runs and in the catalogue} */
    public String name() {
        return offer.name();
    }

    /**
     * Describes the type.
     *
     * @param text one sentence for a person
     * @return the type with it
     */
    public AgentType described(String text) {
        return new AgentType(offer.withDescription(text), options, factory);
    }

    /**
     * Sets the additions to decisions.
     *
     * @param wants the additions
     * @return the type with them
     */
    public AgentType wanting(Want... wants) {
        return new AgentType(offer.withWants(List.of(wants)), options, factory);
    }

    /**
     * Sets how many episodes an instance plays at once.
     *
     * @param episodes the number; 0 for any number
     * @return the type with it
     */
    public AgentType playing(int episodes) {
        return new AgentType(offer.withCapacity(episodes), options, factory);
    }
}
