package dev.dovetail;

import dev.dovetail.Message.Offer;
import java.util.function.Function;

/**
 * An environment that a program offers; each match has one made for it.
 *
 * @param offer its public description; its parameters are those of {@code options}
 * @param options what a configuration may set
 * @param factory makes an environment of a configuration
 */
public record EnvironmentType(
        Offer offer, Options options, Function<Options.Values, ? extends Environment> factory) {
    /**
     * Returns an environment with options.
     *
     * @param name its name in runs and in the catalogue
     * @param options what a configuration may set
     * @param factory makes an environment of a configuration; throws a {@link DovetailException} if it makes none
     * @return the type
     */
    public static EnvironmentType of(
            String name, Options options, Function<Options.Values, ? extends Environment> factory) {
        return new EnvironmentType(Offer.of(name).withParameters(options.describe()), options, factory);
    }

    /** {@return its name in runs and in the catalogue} */
    public String name() {
        return offer.name();
    }

    /**
     * Describes the environment.
     *
     * @param text one sentence for a person
     * @return the type with it
     */
    public EnvironmentType described(String text) {
        return new EnvironmentType(offer.withDescription(text), options, factory);
    }
}
