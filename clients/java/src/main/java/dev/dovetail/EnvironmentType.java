package dev.dovetail;

import java.util.List;
import java.util.function.Function;

/**
 * An environment that a program offers; each match has one made for it.
 *
 * @param name how others call it
 * @param description one sentence for a person
 * @param options what a configuration may set
 * @param factory makes an environment of a configuration
 */
public record EnvironmentType(
        String name, String description, Options options, Function<Options.Values, ? extends Environment> factory) {
    /**
     * An environment with options.
     *
     * @param name how others call it
     * @param options what a configuration may set
     * @param factory makes an environment of a configuration; throws a {@link DovetailException} if it makes none
     * @return the type
     */
    public static EnvironmentType of(
            String name, Options options, Function<Options.Values, ? extends Environment> factory) {
        return new EnvironmentType(name, "", options, factory);
    }

    /**
     * Describes the environment.
     *
     * @param text one sentence for a person
     * @return the type with it
     */
    public EnvironmentType described(String text) {
        return new EnvironmentType(name, text, options, factory);
    }

    Offer offer() {
        return new Offer(name, description, options, List.of(), 1, false);
    }
}
